package session_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// of is the ref of a caller.
func of(caller, session string) bridge.Ref {
	return bridge.Ref{Site: "shop", Session: session, Caller: bridge.Caller{Name: caller, May: []bridge.Right{bridge.MayCall}}}
}

// pages bounds the pages of a world.
func pages(n int) func(*session.Options, *sessiontest.Engine) {
	return func(o *session.Options, _ *sessiontest.Engine) { o.MaxSessions = n }
}

// ends collects what calls end with, in the order in which they end.
type ends struct {
	mu    sync.Mutex
	order []string
	errs  []error
	wg    sync.WaitGroup
}

// calls makes n calls of a caller, one after another in the queue.
func (e *ends) calls(w *world, name string, n int, r func(i int) bridge.Ref) {
	for i := range n {
		e.wg.Go(func() {
			_, err := w.call(w.t.Context(), r(i), "slow", "{}")
			e.mu.Lock()
			defer e.mu.Unlock()
			end := fmt.Sprint(name, i)
			if err != nil {
				e.errs = append(e.errs, err)
				end = "-" + end
			}
			e.order = append(e.order, end)
		})
		synctest.Wait()
	}
}

// TestR40Turns: callers are served in turns, however many calls one of them has in
// the queue, and the calls of one caller in order.
func TestR40Turns(t *testing.T) {
	order := func(t *testing.T, second string) []string {
		var e ends
		inWorld(t, shop, pages(1), func(_ *testing.T, w *world) {
			_ = w.WaitOpened(w.t.Context())
			e.calls(w, "h", 20, func(int) bridge.Ref { return of("heavy", "") })
			e.calls(w, "l", 3, func(int) bridge.Ref { return of(second, "") })
			e.wg.Wait()
		})
		return e.order
	}
	// h0 runs while the others come.
	want := []string{"h0", "h1", "l0", "h2", "l1", "h3", "l2", "h4", "h5"}
	if got := order(t, "light"); !slices.Equal(got[:len(want)], want) || len(got) != 23 || got[22] != "h19" {
		t.Errorf("served: %v", got)
	}
	// The control: as one caller the same calls are served as they came.
	if got := order(t, "heavy"); slices.Index(got, "l0") != 20 || slices.Index(got, "l2") != 22 {
		t.Errorf("served: %v", got)
	}
}

// TestX4FullQueue: one caller has the whole queue when nobody else is there. Who
// comes then takes the place of its newest call.
func TestX4FullQueue(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		var heavy, light, third ends
		heavy.calls(w, "h", 4+32+1, func(int) bridge.Ref { return of("heavy", "") })
		if c := w.Counts(); c.Queued != 32 || len(heavy.errs) != 1 { // alone, it has all of it
			t.Fatalf("%+v, %d refused", c, len(heavy.errs))
		}
		light.calls(w, "l", 17, func(int) bridge.Ref { return of("light", "") })
		if len(heavy.errs) != 1+16 || len(light.errs) != 1 || w.Counts().Queued != 32 {
			t.Errorf("refused: %v and %v", heavy.order, light.order)
		}
		third.calls(w, "t", 1, func(int) bridge.Ref { return of("third", "") })
		for _, err := range append(heavy.errs, light.errs...) {
			if e := fails(t, err, bridge.RateLimit, "", bridge.NotRun); e.Retry < time.Second || e.Retry > time.Minute {
				t.Errorf("retry after %v", e.Retry)
			}
		}
		heavy.wg.Wait()
		light.wg.Wait()
		third.wg.Wait()
		if len(third.errs) != 0 {
			t.Errorf("a third caller's only call was refused: %v", third.errs)
		}
		if waiting, holding := w.Lines(); waiting != 0 || holding != 0 {
			t.Errorf("%d and %d callers are remembered", waiting, holding)
		}
		// The newest calls went, and the oldest of each ran.
		if slices.Contains(heavy.order, "-h0") || !slices.Contains(heavy.order, "-h35") || !slices.Contains(light.order, "-l16") {
			t.Errorf("%v, %v", heavy.order, light.order)
		}
	})
}

// keepBusy keeps sessions of a caller busy with calls that wait for one another,
// until stop.
func (w *world) keepBusy(ctx context.Context, caller string, sessions int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range sessions {
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = w.call(ctx, of(caller, fmt.Sprint("s", i)), "slow", "{}")
					_ = sessiontest.Wait(ctx, time.Millisecond)
				}
			})
		}
	}
	synctest.Wait()
	return func() { cancel(); wg.Wait() }
}

// TestX4BusySessions: a caller that keeps every session busy keeps them as long as
// nobody waits who holds no page.
func TestX4BusySessions(t *testing.T) {
	for _, n := range []int{1, 4} {
		inWorld(t, shop, pages(n), func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			defer w.keepBusy(t.Context(), "heavy", n)()
			_ = sessiontest.Wait(t.Context(), 10*time.Second)
			opened := w.engine.Opened()
			if opened != 1+n { // the control: alone, it loses none
				t.Errorf("%d pages were opened", opened)
			}
			for i := range 5 {
				began := time.Now()
				if _, err := w.call(t.Context(), of("light", ""), "slow", "{}"); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
				if took := time.Since(began); took > 3*time.Second { // a turn, its own second, and the time that a page takes to open
					t.Errorf("call %d took %v", i, took)
				}
			}
			if w.engine.Opened() < opened+5 {
				t.Error("the light caller got no page of its own")
			}
		})
	}
}

// TestX4TurnOfWhoHoldsNothing: a page that a busy session gives up is for the caller
// who holds none, also when its owner has calls in the queue that came before.
func TestX4TurnOfWhoHoldsNothing(t *testing.T) {
	inWorld(t, shop, pages(2), func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		stop := w.keepBusy(t.Context(), "heavy", 2)
		var all ends
		all.calls(w, "h", 3, func(int) bridge.Ref { return of("heavy", "") })
		all.calls(w, "l", 1, func(int) bridge.Ref { return of("light", "") })
		_ = sessiontest.Wait(t.Context(), 10*time.Second)
		stop()
		all.wg.Wait()
		if !slices.Equal(all.order, []string{"l0", "h0", "h1", "h2"}) {
			t.Errorf("served: %v", all.order)
		}
	})
}

// TestX4SessionsWithoutEnd: a caller that makes sessions without end loses its own,
// and not those of a caller who has fewer.
func TestX4SessionsWithoutEnd(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) { // four pages
		_ = w.WaitOpened(t.Context())
		tick := func() { _ = sessiontest.Wait(t.Context(), time.Second) }
		lost := 0
		use := func(r bridge.Ref) string {
			page, err := w.call(t.Context(), r, "where", "{}")
			if err != nil {
				fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
				lost++
			}
			tick()
			return page
		}
		for i := range 8 {
			use(of("heavy", fmt.Sprint("before", i%4)))
		}
		first := use(of("light", "a")) // it holds none, and takes one
		if lost != 0 || first == "" {
			t.Fatalf("%d calls were told that their session is gone", lost)
		}
		for i := range 40 {
			use(of("heavy", fmt.Sprint("s", i/2)))
			if page := use(of("light", "a")); page != first {
				t.Fatalf("the light caller's page %s became %s after %d sessions", first, page, i)
			}
		}
		// Its part is half of the pages: a second session takes one of the other's, a third its
		// own.
		second := use(of("light", "b"))
		if use(of("light", "a")) != first || use(of("light", "b")) != second || lost != 0 {
			t.Error("a second session cost the first one")
		}
		use(of("light", "c"))
		use(of("light", "c"))
		if use(of("heavy", "s19")); lost != 0 {
			t.Error("a third session cost the other caller one of two")
		}
		use(of("light", "a")) // the least recently used
		if lost != 1 {
			t.Errorf("%d sessions were lost", lost)
		}
	})
	t.Run("of the caller who holds most", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			use := func(r bridge.Ref) {
				_, err := w.call(t.Context(), r, "where", "{}")
				succeeds(t, err)
				_ = sessiontest.Wait(t.Context(), time.Second)
			}
			for _, r := range []bridge.Ref{of("light", "a"), of("heavy", "a"), of("heavy", "b"), of("heavy", "c")} {
				use(r)
				use(r)
			}
			use(of("third", "")) // light's is the least recently used
			use(of("light", "a"))
			_, err := w.Acquire(t.Context(), of("heavy", "a"))
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		})
	})
	t.Run("single-use ones first", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			tick := func() { _ = sessiontest.Wait(t.Context(), time.Second) }
			for _, r := range []bridge.Ref{of("heavy", "a"), of("heavy", "a"), of("heavy", "b"), of("heavy", "b"), of("heavy", "c"), of("heavy", "c"), of("light", "once")} {
				_, err := w.call(t.Context(), r, "where", "{}")
				succeeds(t, err)
				tick()
			}
			_, err := w.call(t.Context(), of("third", ""), "where", "{}")
			succeeds(t, err)
			_, err = w.Acquire(t.Context(), of("light", "once"))
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		})
	})
}

// TestHonestRetryAfter: who is refused waits as long as it is told, in whole
// seconds, and is served at once, when the load has ended. And it is not told to
// wait for much longer than that takes.
func TestHonestRetryAfter(t *testing.T) {
	tool := func(d time.Duration) sessiontest.Script {
		return func(d2 *sessiontest.Document) { d2.Register(slow("slow", d), named("where")) }
	}
	for _, d := range []time.Duration{50 * time.Millisecond, time.Second, 3 * time.Second} {
		for _, r := range []bridge.Ref{of("a", ""), of("a", "s")} {
			t.Run(fmt.Sprint(d, r.Session), func(t *testing.T) {
				inWorld(t, tool(d), func(o *session.Options, _ *sessiontest.Engine) { o.Idle, o.FirstIdle = time.Hour, time.Hour }, func(t *testing.T, w *world) {
					_ = w.WaitOpened(t.Context())
					if r.Session != "" {
						w.must(r, "where") // it is open
					}
					_ = sessiontest.Wait(t.Context(), time.Second)
					for round := range 3 { // the first knows nothing
						running, waiting := 4, 32
						if r.Session != "" {
							running, waiting = 1, 128
						}
						var load ends
						load.calls(w, "h", running+waiting, func(int) bridge.Ref { return r })
						_, err := w.Acquire(t.Context(), r)
						e := fails(t, err, bridge.RateLimit, "", bridge.NotRun)
						began := time.Now()
						whole := (e.Retry + time.Second - 1).Truncate(time.Second)
						if whole < time.Second || whole > time.Minute {
							t.Errorf("it says %v", e.Retry)
						}
						<-time.After(whole)
						if round > 0 && whole < time.Minute { // what was observed holds
							if c := w.Counts(); c.Queued > 8 {
								t.Errorf("round %d: after %v %d still wait", round, whole, c.Queued)
							}
						}
						page, err := w.Acquire(t.Context(), r)
						succeeds(t, err)
						page.Release()
						load.wg.Wait()
						took := time.Since(began)
						if round > 0 && whole > 3*took+2*time.Second {
							t.Errorf("round %d: it said %v, and all was over in %v", round, whole, took)
						}
					}
				})
			})
		}
	}
}

// TestOverloadSaysWhenToRepeat: so does a call whose turn did not come in time.
func TestOverloadSaysWhenToRepeat(t *testing.T) {
	for _, id := range []string{"", "s"} {
		inWorld(t, shop, pages(1), func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			held, err := w.Acquire(t.Context(), of("a", id))
			succeeds(t, err)
			for _, how := range []func(*bridge.Ref){func(r *bridge.Ref) { r.Turn = 5 * time.Second }, func(r *bridge.Ref) { r.Patience = 5 * time.Second }} {
				for range 3 {
					go func() {
						_, _ = w.Acquire(t.Context(), bridge.Ref{Site: "shop", Session: id, Caller: of("a", "").Caller, Patience: 20 * time.Second})
					}()
				}
				synctest.Wait()
				r := of("a", id)
				how(&r)
				_, err = w.Acquire(t.Context(), r)
				// Three wait, and nobody was served for five seconds.
				if e := fails(t, err, bridge.InternalError, bridge.Overload, bridge.NotRun); e.Retry < 5*time.Second || e.Retry > time.Minute {
					t.Errorf("it says %v", e.Retry)
				}
				_ = sessiontest.Wait(t.Context(), 30*time.Second)
			}
			held.Release()
		})
	}
}

// TestR39QueueFlood: 500 calls a second for half a minute. What is held does not
// grow, everybody gets an answer, and the first call after it is served at once.
func TestR39QueueFlood(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		var mu sync.Mutex
		var wg sync.WaitGroup
		served, refused, last := 0, 0, time.Duration(0)
		for i := range 30 * 500 {
			wg.Go(func() {
				_, err := w.call(t.Context(), of(fmt.Sprint(i%3), ""), "slow", "{}")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					served++
					return
				}
				e := fails(t, err, bridge.RateLimit, "", bridge.NotRun)
				refused, last = refused+1, e.Retry
				if e.Retry < time.Second || e.Retry > 20*time.Second {
					t.Errorf("retry after %v", e.Retry)
				}
			})
			if i%500 == 0 {
				synctest.Wait()
				waiting, holding := w.Lines()
				if c := w.Counts(); c.Live > 4 || c.Queued > 32 || waiting > 3 || holding > 3 || len(w.engine.Tabs()) > 1+4+4 {
					t.Fatalf("there are %+v, %d callers wait, %d tabs", c, waiting, len(w.engine.Tabs()))
				}
			}
			_ = sessiontest.Wait(t.Context(), 2*time.Millisecond)
		}
		ended := time.Now()
		wg.Wait()
		if served+refused != 30*500 || served < 4*29/2 || refused == 0 {
			t.Errorf("%d were served, %d refused", served, refused)
		}
		if took := time.Since(ended); took > 20*time.Second {
			t.Errorf("it took %v to serve those who waited", took)
		}
		_ = sessiontest.Wait(t.Context(), max(0, last-time.Since(ended)))
		began := time.Now()
		page, err := w.Acquire(t.Context(), of("0", ""))
		succeeds(t, err)
		lasts(t, time.Since(began), 0)
		page.Release()
		synctest.Wait()
		if waiting, holding := w.Lines(); waiting+holding != 0 {
			t.Errorf("%d and %d callers are remembered", waiting, holding)
		}
	})
}

// TestRoomOfEngine: calls and sessions hold no more pages than the engine has places for, beside those of
// catalogs, and a call that waits for one gets it when there are more.
func TestRoomOfEngine(t *testing.T) {
	var room atomic.Int64
	room.Store(3)
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) {
		o.MaxSessions, o.Room = 0, func() int { return int(room.Load()) }
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		if p := w.Pool(); p.Limit != 2 { // the page of the catalog has the third
			t.Errorf("there is room for %d", p.Limit)
		}
		room.Store(1)
		if p := w.Pool(); p.Limit != 1 {
			t.Errorf("with a place less there is room for %d", p.Limit)
		}
		var e ends
		e.calls(w, "a", 1, func(int) bridge.Ref { return of("ann", "one") })
		e.calls(w, "b", 1, func(int) bridge.Ref { return of("bob", "two") })
		if p := w.Pool(); p.Held != 1 || p.Queued != 1 {
			t.Errorf("%d pages are held, and %d calls wait", p.Held, p.Queued)
		}
		room.Store(5)
		session.RoomChanged(w.Manager)
		synctest.Wait()
		if p := w.Pool(); p.Held != 2 || p.Queued != 0 || p.Limit != 3 {
			t.Errorf("%d pages of %d are held, and %d calls wait", p.Held, p.Limit, p.Queued)
		}
		e.wg.Wait()
	})
}
