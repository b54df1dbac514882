package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestDrain(t *testing.T) {
	inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
		o.MaxSessions = 2
		o.Sites[0].Warm = 1
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		errs := make(chan error, 4)
		for range 4 { // two run, two wait
			go func() {
				_, err := w.call(t.Context(), ref(""), "slow", "{}")
				errs <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		w.Drain(t.Context())
		lasts(t, time.Since(began), time.Second)
		finished := 0
		for range 4 {
			err := <-errs
			if err == nil {
				finished++
				continue
			}
			fails(t, err, bridge.InternalError, bridge.Draining, bridge.NotRun)
		}
		if finished != 2 {
			t.Errorf("%d calls finished", finished)
		}
		_, err := w.Acquire(t.Context(), ref(""))
		fails(t, err, bridge.InternalError, bridge.Draining, bridge.NotRun)
		w.Drain(t.Context()) // again is nothing
	})
	t.Run("a call whose page is opening", func(t *testing.T) {
		inWorld(t, shop, func(_ *session.Options, e *sessiontest.Engine) {
			e.OnOpen(func(ctx context.Context) error { return sessiontest.Wait(ctx, time.Second) })
		}, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			errs := make(chan error, 1)
			go func() {
				_, err := w.call(t.Context(), ref("s"), "slow", "{}")
				errs <- err
			}()
			synctest.Wait()
			began := time.Now()
			w.Drain(t.Context())
			lasts(t, time.Since(began), 2*time.Second)
			succeeds(t, <-errs)
		})
	})
	t.Run("within its context", func(t *testing.T) {
		inWorld(t, hung, nil, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			errs := make(chan error, 1)
			go func() {
				_, err := w.call(t.Context(), ref("s"), "hang", "{}")
				errs <- err
			}()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			w.Drain(ctx)
			lasts(t, time.Since(began), 5*time.Second)
			go w.Close()
			fails(t, <-errs, bridge.InternalError, bridge.BrowserLost, bridge.Unknown)
		})
	})
}

// hung registers a tool that never answers.
func hung(d *sessiontest.Document) {
	d.Register(sessiontest.Tool{Name: "hang", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
		<-c.Over()
		return nil, nil
	}})
}

// TestClose closes in the middle of everything; inWorld checks what is left.
func TestClose(t *testing.T) {
	never := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	tests := map[string]func(*session.Options, *sessiontest.Engine){
		"in order":         nil,
		"while sites open": func(_ *session.Options, e *sessiontest.Engine) { e.Arrive(address, never) },
		"while tabs open":  func(_ *session.Options, e *sessiontest.Engine) { e.OnOpen(never) },
		"while sites are down": func(_ *session.Options, e *sessiontest.Engine) {
			e.Arrive(address, func(context.Context) error { return sessiontest.Unreachable() })
		},
		"while spares open": func(o *session.Options, e *sessiontest.Engine) {
			o.Sites[0].Warm = 3
			var n atomic.Int32
			e.OnOpen(func(ctx context.Context) error {
				if n.Add(1) > 1 {
					return never(ctx)
				}
				return nil
			})
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hung, change, func(t *testing.T, w *world) {
				ends := make(chan error, 20)
				for i := range 20 {
					go func() {
						_, err := w.call(t.Context(), ref([]string{"", "a", "b"}[i%3]), "hang", "{}")
						ends <- err
					}()
				}
				_ = sessiontest.Wait(t.Context(), time.Second)
				began := time.Now()
				succeeds(t, w.Close())
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
				for range 20 {
					e := bridge.AsError(<-ends)
					if e == nil || e.Reason != bridge.Draining && e.Reason != bridge.BrowserLost && e.Reason != bridge.Unreachable {
						t.Errorf("a call ended with %v", e)
					}
				}
				succeeds(t, w.Close())
				_, err := w.Acquire(t.Context(), ref(""))
				fails(t, err, bridge.InternalError, bridge.Draining, bridge.NotRun)
			})
		})
	}
}

// TestCancelsRace cancels calls at random moments, also the very one at which
// they complete: each has one outcome, runs at most once, and loses no page.
func TestCancelsRace(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	var mu sync.Mutex
	ran := map[string]int{}
	inWorld(t, func(d *sessiontest.Document) {
		d.Register(sessiontest.Tool{Name: "count", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			mu.Lock()
			ran[string(c.Input)]++
			mu.Unlock()
			return c.Input, sessiontest.Wait(c.Context(), 5*time.Millisecond)
		}})
	}, func(o *session.Options, e *sessiontest.Engine) {
		o.Queue = 1000
		o.Sites[0].Warm = 1
		e.OnOpen(func(ctx context.Context) error { return sessiontest.Wait(ctx, 2*time.Millisecond) })
	}, func(t *testing.T, w *world) {
		catalog, err := w.Await(t.Context(), ref(""))
		succeeds(t, err)
		x := catalog.Tool("count")
		var wg sync.WaitGroup
		outcomes := map[string]int{}
		for i := range 1000 {
			start, end := time.Duration(random.IntN(2000))*time.Millisecond, time.Duration(random.IntN(20))*time.Millisecond
			id := []string{"", "", "a", "b"}[random.IntN(4)]
			input := fmt.Sprintf(`{"n":%d}`, i)
			wg.Go(func() {
				_ = sessiontest.Wait(t.Context(), start)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				later(end, cancel)
				how := raced(ctx, w, x, id, input)
				mu.Lock()
				defer mu.Unlock()
				outcomes[how]++
				if n := ran[input]; n > 1 || how == "not_run" && n != 0 || how == "ok" && n != 1 {
					t.Errorf("call %d ended %s and ran %d times", i, how, n)
				}
			})
		}
		wg.Wait()
		_ = sessiontest.Wait(t.Context(), 5*time.Second)
		synctest.Wait()
		t.Log(outcomes)
		if outcomes["ok"] == 0 || outcomes["not_run"] == 0 || outcomes["unknown"] == 0 {
			t.Errorf("not every outcome was seen: %v", outcomes)
		}
		c := w.Counts()
		sessions := c.Live
		if c.Leased != 0 || c.Queued != 0 || c.Opening != 0 || c.Closing != 0 || sessions > 2 || c.Spares != 1 {
			t.Errorf("there are %+v", c)
		}
		if n := len(w.engine.Tabs()); n != 1+c.Spares+sessions {
			t.Errorf("%d tabs are open, for %+v and the catalog page", n, c)
		}
	})
}

func raced(ctx context.Context, w *world, x *bridge.Tool, id, input string) string {
	lease, err := w.Acquire(ctx, ref(id))
	if err == nil {
		defer lease.Release()
		_, err = came(lease.Invoke(ctx, bridge.Invocation{Tool: x, Input: json.RawMessage(input)}))
	}
	e, _ := errors.AsType[*bridge.Error](err)
	switch {
	case err == nil:
		return "ok"
	case e == nil || e.Code != bridge.Cancelled && e.Code != bridge.SessionExpired:
		return err.Error()
	}
	return string(e.Outcome)
}
