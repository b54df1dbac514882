package session_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestSessionsOf: operators see the sessions that have a page, and the pool; one is closed with its page, and
// its caller hears that once. Where a call runs, nothing is closed unless that is meant, and the call hears why it ended.
func TestSessionsOf(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) { // four pages at most
		all := session.SessionsOf(w.Manager)
		var told atomic.Int32
		all.NotifyOf(func() { told.Add(1) })
		w.must(ref("busy"), "where")
		_ = sessiontest.Wait(t.Context(), time.Second)
		w.must(ref("idle"), "where")
		w.must(ref("idle"), "where")
		errs := make(chan error, 1)
		go func() {
			_, err := w.call(t.Context(), ref("busy"), "slow", "{}")
			errs <- err
		}()
		synctest.Wait()
		if n := told.Load(); n != 2 {
			t.Errorf("after two sessions were opened, it was told %d times", n)
		}
		find := func(name string) bridge.SessionState {
			for _, s := range all.All() {
				if s.Session == name {
					return s
				}
			}
			return bridge.SessionState{}
		}
		busy, idle := find("busy"), find("idle")
		if len(all.All()) != 2 || busy.Calls != 2 || busy.Running != 1 || idle.Calls != 2 || idle.Running != 0 || idle.ID == busy.ID || idle.Caller != "local" || idle.Site != "shop" ||
			idle.Address != address || !busy.Since.Before(idle.Since) || idle.Used.Before(idle.Since) {
			t.Errorf("they are %+v", all.All())
		}
		if p := w.Pool(); p.Held != 2 || p.Limit != 4 || p.Caller != "local" || p.Of != 2 || p.Oldest != "local" || !p.Since.Equal(busy.Since) || p.Queued != 0 {
			t.Errorf("the pool is %+v", p)
		}
		if n, there := all.CloseOne("none", true); n != 0 || there {
			t.Error("one that is not there was closed")
		}
		if n, there := all.CloseOne(idle.ID, false); n != 0 || !there || len(all.All()) != 1 {
			t.Errorf("the idle one: %d %v", n, there)
		}
		if n, there := all.CloseOne(busy.ID, false); n != 1 || !there || len(all.All()) != 1 {
			t.Errorf("the busy one: %d %v", n, there)
		}
		if n, there := all.CloseOne(busy.ID, true); n != 1 || !there || len(all.All()) != 0 {
			t.Errorf("the busy one, meant: %d %v", n, there)
		}
		if e := fails(t, <-errs, bridge.InternalError, bridge.PageCrashed, bridge.Unknown); e.Message != "An operator closed the session of this call." {
			t.Errorf("its call hears %q", e.Message)
		}
		for _, name := range []string{"idle", "busy"} {
			_, err := w.call(t.Context(), ref(name), "where", "{}")
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
			w.must(ref(name), "where")
		}
		if ids := []string{find("idle").ID, find("busy").ID}; slices.Contains(ids, idle.ID) || slices.Contains(ids, busy.ID) || told.Load() != 6 {
			t.Errorf("the new ones are %v; told %d times", ids, told.Load())
		}
	})
}
