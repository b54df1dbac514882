package session_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// with returns a reference of the caller of a credential, and a function that revokes it.
func with(name string, r bridge.Ref) (bridge.Ref, func()) {
	revoked := make(chan struct{})
	r.Caller = bridge.Caller{Name: name, May: []bridge.Right{bridge.MayCall}, Revoked: revoked}
	return r, func() { close(revoked) }
}

// TestRevokedSessions (X5): sessions end with the credential that opened them, idle or
// in a call, and who waits for them is refused. Those of others live.
func TestRevokedSessions(t *testing.T) {
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.MaxSessions = 4 }, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		idle, takeBack := with("agent", ref("idle"))
		busy, waits := idle, idle
		busy.Session, waits.Session = "busy", "busy"
		other, _ := with("other", ref("idle"))
		was, theirs := w.must(idle, "where"), w.must(other, "where")
		ends := make(chan error, 2)
		for _, x := range []struct {
			r    bridge.Ref
			tool string
		}{{busy, "slow"}, {waits, "where"}} {
			go func() { _, err := w.call(t.Context(), x.r, x.tool, "{}"); ends <- err }()
			synctest.Wait()
		}
		before := w.took()
		takeBack()
		w.Revoke()
		first, second := <-ends, <-ends
		if e := bridge.AsError(first); e.Code != bridge.Forbidden { // the one that waited is told first
			first, second = second, first
		}
		fails(t, first, bridge.Forbidden, "", bridge.NotRun)
		fails(t, second, bridge.InternalError, bridge.Draining, bridge.Unknown)
		lasts(t, w.took(), before)
		synctest.Wait()
		if c := w.Counts(); c.Live != 1 || c.Leased != 0 || c.Queued != 0 {
			t.Errorf("there are %+v", c)
		}
		if got := w.must(other, "where"); got != theirs {
			t.Error("another caller lost their page")
		}
		for _, r := range []bridge.Ref{idle, busy} { // a request that was let in a moment before
			_, err := w.Acquire(t.Context(), r)
			fails(t, err, bridge.Forbidden, "", bridge.NotRun)
		}
		// The same caller with a new credential: told once that the state is gone.
		rotated, _ := with("agent", ref("idle"))
		_, err := w.call(t.Context(), rotated, "where", "{}")
		fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		if got := w.must(rotated, "where"); got == was {
			t.Error("the old page is there")
		}
		w.Revoke() // again, with nothing to do
		if got := w.must(other, "where"); got != theirs {
			t.Error("another caller lost their page")
		}
	})
}

// TestRevokedWhileItOpens: a page that opens for a credential that is revoked is
// closed, and who waits for it with another one gets their own.
func TestRevokedWhileItOpens(t *testing.T) {
	inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) { o.MaxSessions = 1 }, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		w.engine.Arrive(address, func(ctx context.Context) error { return sessiontest.Wait(ctx, time.Second) })
		begin := func(r bridge.Ref) <-chan error {
			end := make(chan error, 1)
			go func() { _, err := w.call(t.Context(), r, "where", "{}"); end <- err }()
			synctest.Wait()
			return end
		}
		old, takeBack := with("agent", ref("s"))
		queued := old
		queued.Session = ""
		rotated, _ := with("agent", ref("s"))
		opens, waits, renewed := begin(old), begin(queued), begin(rotated)
		takeBack()
		w.Revoke()
		fails(t, <-waits, bridge.Forbidden, "", bridge.NotRun)
		fails(t, <-opens, bridge.Forbidden, "", bridge.NotRun)
		if err := <-renewed; err != nil {
			t.Errorf("the new credential: %v", err)
		}
		synctest.Wait()
		if c := w.Counts(); c.Live != 1 || c.Opening != 0 {
			t.Errorf("there are %+v", c)
		}
	})
}

// TestRevokedSessionIsReplaced: while a call still holds the page of a session that was
// revoked, the session's name is free, and its end ends nothing else.
func TestRevokedSessionIsReplaced(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		old, takeBack := with("agent", ref("s"))
		lease, err := w.Acquire(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		takeBack()
		w.Revoke()
		rotated, _ := with("agent", ref("s"))
		_, err = w.call(t.Context(), rotated, "where", "{}")
		fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		page := w.must(rotated, "where")
		lease.Release()
		synctest.Wait()
		if got := w.must(rotated, "where"); got != page {
			t.Error("the end of the old call took the new page")
		}
		if c := w.Counts(); c.Live != 1 || c.Leased != 0 {
			t.Errorf("there are %+v", c)
		}
	})
}

// TestRevokedWhileItsToolIsLate: a call that waits in its page for a tool is asked about again
// before it is dispatched, and one that does not wait is not.
func TestRevokedWhileItsToolIsLate(t *testing.T) {
	late := func(d *sessiontest.Document) {
		d.Register(named("where"))
		later(2*time.Second, func() { d.Register(named("late")) })
	}
	both := func(d *sessiontest.Document) { d.Register(named("where"), named("late")) }
	for name, x := range map[string]struct {
		page  sessiontest.Script
		says  *bridge.Error
		asked int
		runs  int
	}{
		"it may":           {late, nil, 1, 1},
		"it may not":       {late, bridge.Revoked(), 1, 0},
		"it does not wait": {both, bridge.Revoked(), 0, 1}, // the bridge has asked when it got the page
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, first(both, x.page), nil, func(t *testing.T, w *world) {
				catalog, err := w.Await(t.Context(), ref(""))
				succeeds(t, err)
				lease, err := w.Acquire(t.Context(), ref(""))
				succeeds(t, err)
				defer lease.Release()
				synctest.Wait() // what the page registers at once is there
				asked := 0
				_, err = came(lease.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("late"), Input: json.RawMessage("{}"), MaxBytes: 100,
					Still: func(context.Context) *bridge.Error { asked++; return x.says }}))
				if x.runs == 1 {
					succeeds(t, err)
				} else {
					fails(t, err, bridge.Forbidden, "", bridge.NotRun)
				}
				if runs := w.engine.Runs("late"); asked != x.asked || runs != x.runs {
					t.Errorf("it was asked %d times, and %d ran", asked, runs)
				}
			})
		})
	}
}
