package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// later is a tool that takes its time, and notes that its signal was aborted.
type later struct {
	time.Duration

	aborted atomic.Int64
}

func (l *later) run(ctx context.Context, inv bridge.Invocation) bridge.Step {
	select {
	case <-time.After(l.Duration):
		return bridge.Step{Data: inv.Input}
	case <-ctx.Done():
		l.aborted.Add(1)
		if e, ok := errors.AsType[*bridge.Error](context.Cause(ctx)); ok {
			stopped := *e
			stopped.Outcome = bridge.Unknown
			return stopped.Step()
		}
		return bridge.GaveUp(bridge.Unknown).Step()
	}
}

// shopOf is a bridge whose tools read and write take a second, in a bubble.
func shopOf(t *testing.T, l *later, limits bridge.Limits) (*bridge.Bridge, *bridgetest.Router) {
	t.Helper()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
	r.Handle("shop", l.run)
	b, err := bridge.New(r, bridge.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

func reads(input string) *bridge.Call {
	return &bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(input)}
}

// found is the call of an id, for its caller.
func found(t *testing.T, b *bridge.Bridge, id string) *bridge.LongCall {
	t.Helper()
	c, err := b.LongCall(bridge.Local(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantState checks how far a call is.
func wantState(t *testing.T, c *bridge.LongCall, status bridge.Status) bridge.State {
	t.Helper()
	s, _ := c.State()
	if s.Status != status {
		t.Fatalf("it is %s with %v, want %s", s.Status, s.End.Err, status)
	}
	return s
}

// TestDetachedOutlivesItsRequest: a detached call goes on when its request ends, runs once, and its
// outcome can be read more than once, for 15 minutes.
func TestDetachedOutlivesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{Duration: time.Second}
		b, r := shopOf(t, l, bridge.Limits{})
		defer b.Close()

		gone, leave := context.WithCancel(t.Context()) // the control: a call that is not detached
		time.AfterFunc(time.Millisecond, leave)
		_, end := b.Serve(gone, reads(`{}`))
		want(t, end.Err, bridge.Cancelled, "", bridge.Unknown)
		if l.aborted.Load() != 1 {
			t.Error("the end of a request aborts nothing")
		}

		gone, leave = context.WithCancel(t.Context())
		run, s := b.Detach(gone, reads(`{"a":1}`), 0)
		if s.Status != bridge.Working || s.ID == "" || s.ID != run.Token() || s.Site != "shop" || s.Tool != "read" {
			t.Fatalf("it is %+v", s)
		}
		if got := s.Expires.Sub(s.Created); got != 15*time.Minute+30*time.Second {
			t.Errorf("it expires after %s", got)
		}
		leave()
		pass(time.Second)
		for range 2 {
			done := wantState(t, found(t, b, s.ID), bridge.Completed)
			if string(done.End.Data) != `{"a":1}` || done.Version <= s.Version || !done.Updated.After(s.Updated) {
				t.Errorf("it came to %+v, after %+v", done, s)
			}
		}
		if l.aborted.Load() != 1 || len(r.Calls()) != 2 {
			t.Errorf("%d were aborted, %d ran", l.aborted.Load(), len(r.Calls()))
		}
		pass(15*time.Minute - time.Second)
		found(t, b, s.ID)
		pass(time.Second)
		_, err := b.LongCall(bridge.Local(), s.ID)
		want(t, bridge.AsError(err), bridge.ResumeNotFound, "", bridge.Unknown)
	})
}

// TestDetachWaits: a call that is over in time has its outcome at once, and nothing of it is kept;
// so has one that fails before it begins. One that asks is handed out at once.
func TestDetachWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := shopOf(t, &later{Duration: time.Second}, bridge.Limits{})
		defer b.Close()
		run, s := b.Detach(t.Context(), reads(`{}`), 2*time.Second)
		if s.Status != bridge.Completed || s.ID != "" || string(s.End.Data) != `{}` {
			t.Errorf("it is %+v", s)
		}
		_ = run.Deliver(func() error { return context.Canceled })
		if _, err := b.LongCall(bridge.Local(), run.Token()); err == nil {
			t.Error("a call whose caller has no id is kept")
		}
		began := time.Now()
		if _, s = b.Detach(t.Context(), reads(`{}`), 500*time.Millisecond); s.Status != bridge.Working || time.Since(began) != 500*time.Millisecond {
			t.Errorf("it is %+v after %s", s, time.Since(began))
		}
		bad := reads(`{}`)
		bad.Tool = "none"
		if _, s = b.Detach(t.Context(), bad, 0); s.Status != bridge.Completed || s.ID != "" || s.End.Err.Code != bridge.WebtoolNotFound {
			t.Errorf("it is %+v", s)
		}
		began = time.Now()
		c := write(`{}`)
		if _, s = b.Detach(t.Context(), &c, time.Minute); s.Status != bridge.InputAwaited || s.Question == nil || time.Since(began) != 0 {
			t.Errorf("it is %+v after %s", s, time.Since(began))
		}
		opened := r.Opening("shop") // nobody waits long for a site that opens
		if _, s = b.Detach(t.Context(), reads(`{}`), 0); s.Status != bridge.Working || s.ID == "" {
			t.Errorf("it is %+v", s)
		}
		opened()
	})
}

// TestCancel: a call that runs is aborted in its page, and that is an end of its own. One that
// waits for consent does not run. One that waits in its page goes on with a no.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{Duration: time.Second}
		b, r := shopOf(t, l, bridge.Limits{})
		defer b.Close()
		_, s := b.Detach(t.Context(), reads(`{}`), 0)
		c := found(t, b, s.ID)
		if !c.Cancel(bridge.Local()) {
			t.Error("a call that runs is over")
		}
		synctest.Wait()
		s = wantState(t, c, bridge.CancelledCall)
		want(t, s.End.Err, bridge.Cancelled, "", bridge.Unknown)
		if l.aborted.Load() != 1 || c.Cancel(bridge.Local()) || strings.Contains(s.End.Err.Message, "gave up") {
			t.Errorf("%d were aborted; %v", l.aborted.Load(), s.End.Err)
		}

		w := write(`{}`)
		_, s = b.Detach(t.Context(), &w, 0)
		c = found(t, b, s.ID)
		c.Cancel(bridge.Local())
		synctest.Wait()
		s = wantState(t, c, bridge.CancelledCall)
		want(t, s.End.Err, bridge.Cancelled, "", bridge.NotRun)
		if len(r.Calls()) != 1 || b.OpenQuestions() != 0 {
			t.Errorf("%d ran, %d ask", len(r.Calls()), b.OpenQuestions())
		}

		r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
			return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm}, func(a *bridge.Answer) bridge.Step {
				return bridge.Step{Data: json.RawMessage(fmt.Sprint(a != nil && a.OK))}
			})
		})
		_, s = b.Detach(t.Context(), reads(`{}`), time.Minute)
		c = found(t, b, s.ID)
		c.Cancel(bridge.Local())
		synctest.Wait()
		if s = wantState(t, c, bridge.Completed); string(s.End.Data) != "false" {
			t.Errorf("the page got %s, %v", s.End.Data, s.End.Err)
		}

		_, s = b.Detach(t.Context(), reads(`{}`), time.Minute) // by a yes, a call ends by itself
		c = found(t, b, s.ID)
		if err := b.Answer(operator, s.Question.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Cancel(bridge.Local())
		wantState(t, c, bridge.Completed)
	})
}

// TestCancelRaces: a cancel that comes while a call goes from one state to the next is never lost.
func TestCancelRaces(t *testing.T) {
	b, r := shopOf(t, &later{}, bridge.Limits{})
	defer b.Close()
	r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridge.Step{Pause: &bridge.Pause{Question: bridge.Question{Kind: bridge.Approve}, Continue: func(ctx context.Context, _ *bridge.Answer) bridge.Step {
			<-ctx.Done() // without the cancel, until the bridge is closed
			return bridge.AsError(context.Cause(ctx)).Step()
		}}}
	})
	for range 300 {
		c := reads(`{}`)
		c.Session = "s"
		_, s := b.Detach(t.Context(), c, time.Minute)
		long := found(t, b, s.ID)
		var both sync.WaitGroup
		both.Go(func() { _ = b.Answer(operator, s.Question.ID, bridge.Answer{OK: true}) })
		both.Go(func() { long.Cancel(bridge.Local()) })
		both.Wait()
		for {
			s, changed := long.State()
			if s.Status == bridge.CancelledCall {
				break
			}
			select {
			case <-changed:
				continue
			case <-time.After(10 * time.Second):
				t.Fatalf("a cancelled call is %s", s.Status)
			}
		}
		long.Forget()
	}
}

// TestDetachedKeys (rule 10): the same key is the same call; what ended is never run again by it,
// also when its outcome was forgotten, or when it was cancelled before it ran.
func TestDetachedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := shopOf(t, &later{Duration: time.Second}, bridge.Limits{})
		defer b.Close()
		keyed := func(c *bridge.Call, key string) *bridge.Call {
			c.Key = key
			return c
		}
		_, first := b.Detach(t.Context(), keyed(reads(`{}`), "k"), 0)
		_, again := b.Detach(t.Context(), keyed(reads(`{}`), "k"), 0)
		if again.ID != first.ID || again.Status != bridge.Working {
			t.Errorf("the second is %+v, the first %+v", again, first)
		}
		if _, s := b.Serve(t.Context(), keyed(reads(`{}`), "k")); s.Err == nil || s.Err.Code != bridge.Conflict {
			t.Errorf("who waits for the call of another request gets %v", s.Err)
		}
		pass(time.Second)
		if _, again = b.Detach(t.Context(), keyed(reads(`{}`), "k"), 0); again.ID != first.ID || again.Status != bridge.Completed {
			t.Errorf("after its end it is %+v", again)
		}
		found(t, b, first.ID).Forget()
		if _, again = b.Detach(t.Context(), keyed(reads(`{}`), "k"), 0); again.ID != "" || string(again.End.Data) != "{}" {
			t.Errorf("after it was forgotten it is %+v", again)
		}
		_, s := b.Detach(t.Context(), keyed(reads(`{"b":1}`), "k"), 0)
		want(t, s.End.Err, bridge.Conflict, "", bridge.NotRun)

		w := write(`{}`)
		_, first = b.Detach(t.Context(), keyed(&w, "w"), 0)
		found(t, b, first.ID).Cancel(bridge.Local())
		synctest.Wait()
		if _, again = b.Detach(t.Context(), keyed(&w, "w"), 0); again.ID != first.ID || again.Status != bridge.CancelledCall {
			t.Errorf("after its cancel it is %+v", again)
		}
		if len(r.Calls()) != 1 {
			t.Errorf("%d calls ran", len(r.Calls()))
		}
		found(t, b, first.ID).Forget()
		if _, again = b.Detach(t.Context(), keyed(&w, "w"), 0); again.Status != bridge.InputAwaited {
			t.Errorf("a call that never ran, and was forgotten, is %+v", again)
		}
	})
}

// TestLongCallIsItsCallersOwn (rule 3): to another caller the id is one that never was.
func TestLongCallIsItsCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := shopOf(t, &later{Duration: time.Second}, bridge.Limits{})
		defer b.Close()
		_, s := b.Detach(t.Context(), reads(`{}`), 0)
		never := []byte(s.ID)
		if last := &never[len(never)-1]; *last == 'A' { // another token, of the same form
			*last = 'B'
		} else {
			*last = 'A'
		}
		other := bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall, bridge.MayAnswer}}
		_, foreign := b.LongCall(other, s.ID)
		_, none := b.LongCall(bridge.Local(), string(never))
		want(t, bridge.AsError(foreign), bridge.ResumeNotFound, "", bridge.Unknown)
		if foreign.Error() != none.Error() {
			t.Errorf("%v and %v are told apart", foreign, none)
		}
		found(t, b, s.ID)
		noCalls := bridge.Caller{Name: "local", May: []bridge.Right{bridge.MayAnswer}}
		_, err := b.LongCall(noCalls, s.ID)
		want(t, bridge.AsError(err), bridge.Forbidden, "", bridge.NotRun)
		blind := bridge.Local()
		blind.Sites = []string{"bank"}
		_, err = b.LongCall(blind, s.ID)
		want(t, bridge.AsError(err), bridge.ResumeNotFound, "", bridge.Unknown)
	})
}

// TestAnswerOfALongCall: only with both rights, only of what was told, and once.
func TestAnswerOfALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := shopOf(t, &later{Duration: time.Second}, bridge.Limits{})
		defer b.Close()
		w := write(`{}`)
		_, s := b.Detach(t.Context(), &w, 0)
		c, both := found(t, b, s.ID), bridge.Caller{Name: "local", May: []bridge.Right{bridge.MayCall, bridge.MayAnswer}}
		want(t, bridge.AsError(c.Answer(bridge.Local(), s.Question.ID, bridge.Answer{OK: true})), bridge.Forbidden, "", bridge.NotRun)
		want(t, bridge.AsError(c.Answer(both, "another", bridge.Answer{OK: true})), bridge.Conflict, "", bridge.NotRun)
		want(t, bridge.AsError(c.Answer(both, s.Question.ID, bridge.Answer{OK: true, Value: json.RawMessage("1")})), bridge.SchemaError, "", bridge.NotRun)
		var counted atomic.Int64
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				if c.Answer(both, s.Question.ID, bridge.Answer{OK: true}) == nil {
					counted.Add(1)
				}
			})
		}
		all.Wait()
		pass(time.Second)
		wantState(t, c, bridge.Completed)
		if counted.Load() != 1 || len(r.Calls()) != 1 {
			t.Errorf("%d answers count, %d calls ran", counted.Load(), len(r.Calls()))
		}
	})
}

// TestDetachedIsBounded: in calls, in bytes and in time.
func TestDetachedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{Duration: 10 * time.Minute}
		b, r := shopOf(t, l, bridge.Limits{CallerBytes: 600 << 10})
		defer b.Close()
		n := 0
		for ; n < 100; n++ {
			c := reads(`{"a":"` + strings.Repeat("x", 50<<10) + `"}`)
			c.Config = json.RawMessage(`{"timeout":900000}`)
			_, s := b.Detach(t.Context(), c, 0)
			if s.Status == bridge.Working {
				continue
			}
			want(t, s.End.Err, bridge.RateLimit, "", bridge.NotRun)
			break
		}
		if n < 3 || n > 6 {
			t.Errorf("%d calls of 50 KiB run in 600 KiB", n)
		}
		pass(10 * time.Minute)
		large := json.RawMessage(`"` + strings.Repeat("x", 200<<10) + `"`)
		r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
			<-time.After(time.Second)
			return bridge.Step{Data: large}
		})
		kept := 0
		for range 3 {
			_, s := b.Detach(t.Context(), reads(`{}`), 0)
			pass(time.Second)
			if s, _ := found(t, b, s.ID).State(); s.End.Err == nil {
				kept++
			} else {
				want(t, s.End.Err, bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown)
			}
		}
		if kept < 1 || kept > 2 {
			t.Errorf("%d results of 200 KiB are kept in what is left of 600 KiB", kept)
		}
		r.Handle("shop", l.run)
		pass(15 * time.Minute)
		_, s := b.Detach(t.Context(), reads(`{}`), 0)
		if s.Status != bridge.Working {
			t.Errorf("when nothing is kept any more, it is %+v", s)
		}
		pass(time.Minute)
		want(t, wantState(t, found(t, b, s.ID), bridge.Completed).End.Err, bridge.InternalError, bridge.Timeout, bridge.Unknown)
		over := reads(`{}`)
		over.Config = json.RawMessage(`{"timeout":300001}`)
		if _, s := b.Serve(t.Context(), over); s.Err == nil || s.Err.Code != bridge.ConfigError || s.Err.Details["errors"] == nil {
			t.Errorf("a call that is waited for may take so long: %+v", s)
		}
		over.Config = json.RawMessage(`{"timeout":900001}`)
		_, s = b.Detach(t.Context(), over, 0)
		want(t, s.End.Err, bridge.ConfigError, "", bridge.NotRun)
	})
}

// TestDetachedEndsWithTheBridge: and with its caller's credential.
func TestDetachedEndsWithTheBridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &later{Duration: time.Hour}
		b, _ := shopOf(t, l, bridge.Limits{})
		revoked := make(chan struct{})
		c := reads(`{}`)
		c.Caller.Revoked = revoked
		_, s := b.Detach(t.Context(), c, 0)
		_, others := b.Detach(t.Context(), reads(`{}`), 0)
		close(revoked)
		b.Revoke()
		synctest.Wait()
		if _, err := b.LongCall(bridge.Local(), s.ID); err == nil || l.aborted.Load() != 1 {
			t.Errorf("a revoked caller's call is there still; %d were aborted", l.aborted.Load())
		}
		long := found(t, b, others.ID)
		b.Close()
		want(t, wantState(t, long, bridge.Completed).End.Err, bridge.InternalError, bridge.Draining, bridge.Unknown)
		_, s = b.Detach(t.Context(), reads(`{}`), 0)
		want(t, s.End.Err, bridge.InternalError, bridge.Draining, bridge.NotRun)
	})
}

// TestProgressOfALongCall: each part is a change.
func TestProgressOfALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := shopOf(t, &later{}, bridge.Limits{})
		defer b.Close()
		next := make(chan bridge.Progress)
		r.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
			for p := range next {
				inv.Progress(p)
			}
			return bridge.Step{Data: json.RawMessage("1")}
		})
		_, s := b.Detach(t.Context(), reads(`{}`), 0)
		c := found(t, b, s.ID)
		before, changed := c.State()
		next <- bridge.Progress{Parts: 3, Last: json.RawMessage(`"half"`)}
		<-changed
		if s = wantState(t, c, bridge.Working); s.Version == before.Version || s.Progress == nil || s.Progress.Parts != 3 {
			t.Errorf("it is %+v", s)
		}
		close(next)
		synctest.Wait()
		wantState(t, c, bridge.Completed)
	})
}
