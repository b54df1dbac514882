package bridge_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
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
		pass(time.Second)
		wantState(t, found(t, b, token), bridge.Completed)
		if got, e := resume(t, b, call, resuming(token)); e != nil || got != `{}` || l.aborted.Load() != 0 || len(r.Calls()) != 1 {
			t.Errorf("it came to %s, %v", got, e)
		}
		wantState(t, found(t, b, token), bridge.Completed) // readable still
	})
}

// TestNobodyKnowsIt: nothing is kept of a call that was left before anybody got its token, however it
// was made.
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
