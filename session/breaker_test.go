package session_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// breakable is a world whose site can be taken down while its catalog page stays open. The most
// attempts that went on at once are counted.
type breakable struct {
	*world
	down         atomic.Bool
	trying, most atomic.Int64
}

func inBreakableWorld(t *testing.T, change func(*session.Options), test func(t *testing.T, w *breakable)) {
	t.Helper()
	w := &breakable{}
	inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
		o.MaxSessions = 40
		if change != nil {
			change(o)
		}
		e.Arrive(address, func(ctx context.Context) error {
			if n := w.trying.Add(1); w.down.Load() && n > w.most.Load() {
				w.most.Store(n)
			}
			defer w.trying.Add(-1)
			_ = sessiontest.Wait(ctx, 100*time.Millisecond)
			if w.down.Load() {
				return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "The site does not answer.")
			}
			return nil
		})
	}, func(t *testing.T, in *world) {
		w.world = in
		succeeds(t, w.WaitOpened(t.Context()))
		test(t, w)
	})
}

// refused checks that a call fails because the site is down, and returns its error.
func (w *breakable) refused(r bridge.Ref) *bridge.Error {
	w.t.Helper()
	_, err := w.call(w.t.Context(), r, "where", "{}")
	return fails(w.t, err, bridge.InternalError, bridge.Unreachable, bridge.NotRun)
}

// TestBreaker: a site that cannot be reached while its catalog page is open is left alone for a
// growing time, whoever calls; callers are told at once, and when it is tried again; it is tried by
// one page at a time, and calls go on once that came.
func TestBreaker(t *testing.T) {
	inBreakableWorld(t, nil, func(t *testing.T, w *breakable) {
		mine := w.must(ref("mine"), "where")
		w.down.Store(true)
		for range 3 {
			if e := w.refused(ref("")); e.Retry != 0 {
				t.Errorf("the site is left alone too early: %v", e)
			}
		}
		tries, began := w.engine.Opened(), time.Now()
		for range 1000 {
			if e := w.refused(ref("")); e.Retry < time.Second || e.Details[session.DetailNextTry] == nil || e.Message == "The site does not answer." {
				t.Fatalf("it says %v, %v, %v", e, e.Retry, e.Details)
			}
		}
		if took := time.Since(began); took > 0 || w.engine.Opened() > tries {
			t.Errorf("a thousand calls took %s and %d attempts", took, w.engine.Opened()-tries)
		}
		if next, down := session.NextTry(w.Manager, "shop"); !down || next.Sub(began) != time.Second || w.Status("shop") == "open" {
			t.Errorf("it is tried again at %v, %v: %s", next, down, w.Status("shop"))
		}
		if w.must(ref("mine"), "where") != mine {
			t.Error("a page that is open does not go on")
		}
		w.most.Store(0)
		hour, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		for hour.Err() == nil { // callers who try all the time
			w.refused(ref(""))
			_ = sessiontest.Wait(t.Context(), time.Second)
		}
		if n := w.engine.Opened() - tries; n < 12 || n > 30 || w.most.Load() != 1 {
			t.Errorf("%d attempts in an hour, %d at once", n, w.most.Load())
		}
		w.down.Store(false)
		_ = sessiontest.Wait(t.Context(), w.refused(ref("")).Retry+time.Second)
		w.must(ref(""), "where")
		if _, down := session.NextTry(w.Manager, "shop"); down || w.Status("shop") != "open" {
			t.Errorf("it stays %s", w.Status("shop"))
		}
	})
}

// TestBreakerIsNobodysToOpen: what a caller's own options lead to, what it gives up, and what fails
// between successes, keeps nobody from the site.
func TestBreakerIsNobodysToOpen(t *testing.T) {
	inBreakableWorld(t, nil, func(t *testing.T, w *breakable) {
		for range 20 {
			w.refused(asking("", `{"path":"/nowhere"}`))
		}
		w.must(ref(""), "where")
		for range 20 {
			ctx, cancel := context.WithCancelCause(t.Context())
			later(50*time.Millisecond, func() { cancel(errors.New("gave up")) })
			if _, err := w.call(ctx, ref(""), "where", "{}"); err == nil {
				t.Fatal("the control: it came in time")
			}
		}
		w.must(ref(""), "where")
		for range 10 {
			w.down.Store(true)
			w.refused(ref(""))
			w.refused(ref(""))
			w.down.Store(false)
			w.must(ref(""), "where")
		}
		w.engine.OnOpen(func(context.Context) error {
			return bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun, "lost")
		})
		for range 10 {
			_, err := w.call(t.Context(), ref(""), "where", "{}")
			fails(t, err, bridge.InternalError, bridge.BrowserLost, bridge.NotRun)
		}
		w.engine.OnOpen(nil)
		w.must(ref(""), "where")
		if _, down := session.NextTry(w.Manager, "shop"); down {
			t.Error("the site is left alone")
		}
	})
}

// TestBreakerAndCatalog: when the catalog page of a site that is left alone dies, too, the site is
// still tried by one page at a time, and calls go on when it answers.
func TestBreakerAndCatalog(t *testing.T) {
	inBreakableWorld(t, func(o *session.Options) { o.Sites[0].Warm = 2 }, func(t *testing.T, w *breakable) {
		_ = sessiontest.Wait(t.Context(), time.Minute) // spares
		w.down.Store(true)
		for _, tab := range w.engine.Tabs() {
			tab.Crash()
		}
		synctest.Wait()
		w.most.Store(0)
		_ = sessiontest.Wait(t.Context(), time.Hour)
		if w.most.Load() > 2 { // the catalog page, and a spare that was under way
			t.Errorf("%d attempts at once", w.most.Load())
		}
		e := w.refused(ref(""))
		if e.Retry < time.Second || e.Details[session.DetailNextTry] == nil {
			t.Errorf("it says %v, %v", e, e.Details)
		}
		w.down.Store(false)
		_ = sessiontest.Wait(t.Context(), 6*time.Minute)
		w.must(ref(""), "where")
	})
}
