package session_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestSpares(t *testing.T) {
	warm := func(n int) func(*session.Options, *sessiontest.Engine) {
		return func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Warm = n }
	}
	t.Run("make calls fast and are refilled", func(t *testing.T) {
		inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
			warm(2)(o, e)
			e.OnOpen(func(ctx context.Context) error { return sessiontest.Wait(ctx, time.Second) })
		}, func(t *testing.T, w *world) {
			_ = sessiontest.Wait(t.Context(), 10*time.Second)
			if c := w.Counts(); c.Spares != 2 {
				t.Fatalf("there are %+v", c)
			}
			began := time.Now()
			lease, err := w.Acquire(t.Context(), ref(""))
			succeeds(t, err)
			lasts(t, time.Since(began), 0)
			_ = sessiontest.Wait(t.Context(), 5*time.Second) // while the call still runs
			if c := w.Counts(); c.Spares != 2 || c.Live != 1 {
				t.Errorf("there are %+v", c)
			}
			lease.Release()
			w.engine.Tabs()[1].Crash()
			_ = sessiontest.Wait(t.Context(), 5*time.Second)
			if c := w.Counts(); c.Spares != 2 || c.Live != 0 {
				t.Errorf("after a death there are %+v", c)
			}
		})
	})
	t.Run("are opened when it is quiet, and soon when it never is", func(t *testing.T) {
		inWorld(t, shop, warm(2), func(t *testing.T, w *world) {
			var opens atomic.Int32
			w.engine.OnOpen(func(context.Context) error { opens.Add(1); return nil })
			_ = sessiontest.Wait(t.Context(), 10*time.Second)
			begin := func(session string) bridge.Source {
				lease, err := w.Acquire(t.Context(), ref(session))
				succeeds(t, err)
				return lease
			}
			before := opens.Load()
			after := func(wait time.Duration, want int32) {
				t.Helper()
				_ = sessiontest.Wait(t.Context(), wait)
				synctest.Wait()
				if got := opens.Load() - before; got != want {
					t.Errorf("after %v more, %d pages were opened, want %d", wait, got, want)
				}
			}
			lease := begin("")
			after(49*time.Millisecond, 0)
			lease.Release()
			after(49*time.Millisecond, 0)
			after(2*time.Millisecond, 1)
			_ = sessiontest.Wait(t.Context(), 5*time.Second)
			before = opens.Load()
			lease = begin("")
			for range 33 { // calls all the time
				lease.Release()
				lease = begin("s")
				after(30*time.Millisecond, 0)
			}
			after(30*time.Millisecond, 1)
			lease.Release()
		})
	})
	t.Run("never refuse a call", func(t *testing.T) {
		inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
			warm(4)(o, e)
			o.Queue = 1
			o.Sites = append(o.Sites, site("other", "https://other.test/"))
			o.Sites[1].Warm = 4
			e.Handle("https://other.test/", shop)
		}, func(t *testing.T, w *world) {
			_ = sessiontest.Wait(t.Context(), 10*time.Second)
			if c := w.Counts(); c.Spares != 4 {
				t.Fatalf("there are %+v", c)
			}
			for _, err := range together(4, func(i int) error {
				r := ref(fmt.Sprint(i))
				r.Site = "other"
				_, err := w.call(t.Context(), r, "slow", "{}")
				return err
			}) {
				succeeds(t, err)
			}
			if c := w.Counts(); c.Live != 4 || c.Spares != 0 {
				t.Errorf("there are %+v", c)
			}
			if n := len(w.engine.Tabs()); n != 4+2 {
				t.Errorf("%d tabs are open", n)
			}
		})
	})
	t.Run("give their memory to calls", func(t *testing.T) {
		var free atomic.Uint64
		inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
			warm(1)(o, e)
			o.FreeMemory = free.Load
			o.Sites = append(o.Sites, site("other", "https://other.test/"))
			o.Sites[1].Warm = 1
			e.Handle("https://other.test/", shop)
		}, func(t *testing.T, w *world) {
			spares := func(want int) {
				t.Helper()
				_ = sessiontest.Wait(t.Context(), 10*time.Second)
				if c := w.Counts(); c.Spares != want {
					t.Errorf("there are %+v, want %d spares", c, want)
				}
			}
			spares(2)
			free.Store(1)
			for range 2 { // its own spare, then in the place of the other site's
				_, err := w.call(t.Context(), ref(""), "slow", "{}")
				succeeds(t, err)
			}
			spares(0)
			_, err := w.call(t.Context(), ref(""), "slow", "{}")
			if e := fails(t, err, bridge.InternalError, bridge.Overload, bridge.NotRun); e.Retry != 5*time.Second {
				t.Errorf("it may be repeated after %v", e.Retry)
			}
			free.Store(130 << 20) // a page, and no spare beside it
			_, err = w.call(t.Context(), ref(""), "slow", "{}")
			succeeds(t, err)
			spares(0)
			free.Store(1 << 30)
			_, err = w.call(t.Context(), ref(""), "slow", "{}")
			succeeds(t, err)
			spares(2)
		})
	})
	t.Run("that do not open are not tried for ever", func(t *testing.T) {
		inWorld(t, first(shop, func(d *sessiontest.Document) { d.Crash() }), warm(2), func(t *testing.T, w *world) {
			_ = sessiontest.Wait(t.Context(), time.Minute)
			if n := w.engine.Opened(); n > 10 {
				t.Errorf("%d tabs were opened in a minute", n)
			}
		})
	})
}
