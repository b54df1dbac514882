package bridge_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestResumedIntoALongCall: a call that stopped has a token, and so is one from then on.
func TestResumedIntoALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{Duration: time.Second}
		b, r := shopOf(t, l, bridge.Limits{})
		defer b.Close()
		call := write(`{}`)
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		wantState(t, found(t, b, token), bridge.InputAwaited)
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		again := call
		again.Config = json.RawMessage(resuming(token))
		gone, leave := context.WithCancel(t.Context())
		_, s := b.Detach(gone, &again, 0)
		leave()
		if s.ID != token || s.Status != bridge.Working {
			t.Errorf("it is %+v", s)
		}
		waits := call // who waits for it may leave, too
		waits.Config = json.RawMessage(resuming(token))
		gone, leave = context.WithTimeout(t.Context(), 100*time.Millisecond)
		want(t, serve(gone, b, &waits).Err, bridge.Cancelled, "", bridge.Unknown)
		leave()
		pass(time.Second)
		wantState(t, found(t, b, token), bridge.Completed)
		if got, e := resume(t, b, call, resuming(token)); e != nil || got != `{}` || l.aborted.Load() != 0 || len(r.Calls()) != 1 {
			t.Errorf("it came to %s, %v", got, e)
		}
		wantState(t, found(t, b, token), bridge.Completed) // readable still
	})
}

// TestNobodyKnowsIt: nothing is kept of a call that was left before anybody got its token, however
// it was made.
func TestNobodyKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{Duration: time.Second}
		b, _ := shopOf(t, l, bridge.Limits{})
		defer b.Close()
		for range 3 {
			gone, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
			b.Detach(gone, reads(`{}`), time.Minute) // it goes on to its end
			leave()
			gone, leave = context.WithTimeout(t.Context(), 100*time.Millisecond)
			c := reads(`{}`)
			c.Detached = true
			_, end := b.Start(gone, c).Next(gone) // it does not
			want(t, end.Err, bridge.Cancelled, "", bridge.Unknown)
			leave()
		}
		pass(time.Second)
		if held := b.Held(); slices.Max(held) > 0 || l.aborted.Load() != 3 {
			t.Errorf("it holds %v, %d were aborted", held, l.aborted.Load())
		}
	})
}

// TestCancelMeetsAnAnswer: a cancel that comes when a question was answered and its call does not
// run again yet is not lost.
func TestCancelMeetsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
		l := &later{Duration: time.Second}
		r.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
			return bridge.Step{Pause: &bridge.Pause{Question: bridge.Question{Kind: bridge.Confirm},
				Continue: func(ctx context.Context, _ *bridge.Answer) bridge.Step { return l.run(ctx, inv) }}}
		})
		var long *bridge.LongCall
		b, err := bridge.New(r, bridge.Options{Observe: func(o bridge.Observed) {
			if o.Question != nil {
				long.Cancel(bridge.Local())
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		_, s := b.Detach(t.Context(), reads(`{}`), time.Minute)
		long = found(t, b, s.ID)
		if err := b.Answer(operator, s.Question.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		wantState(t, long, bridge.CancelledCall)
	})
}
