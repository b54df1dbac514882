package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestWhosePage(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		a := w.must(ref("a"), "where")
		if again := w.must(ref("a"), "where"); again != a {
			t.Errorf("one session has the pages %s and %s", a, again)
		}
		other := ref("a")
		other.Caller = bridge.Caller{Name: "other"}
		seen := []string{a, w.must(ref("b"), "where"), w.must(other, "where"), w.must(ref(""), "where"), w.must(ref(""), "where")}
		slices.Sort(seen)
		if n := len(slices.Compact(seen)); n != 5 {
			t.Errorf("three sessions and two calls without have %d pages", n)
		}
		synctest.Wait()
		if c := w.Counts(); c != (session.Counts{Live: 3}) {
			t.Errorf("there are %+v", c)
		}
	})
}

// warm makes a session, and waits until its page is opened.
func (w *world) warm(id, tool string) {
	w.t.Helper()
	w.must(ref(id), tool)
	_ = sessiontest.Wait(w.t.Context(), time.Second)
}

func TestOneSessionRunsInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	inWorld(t, func(d *sessiontest.Document) {
		d.Register(sessiontest.Tool{Name: "note", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			mu.Lock()
			order = append(order, "in "+string(c.Input))
			mu.Unlock()
			_ = sessiontest.Wait(c.Context(), 100*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, "out "+string(c.Input))
			return nil, nil
		}})
	}, nil, func(t *testing.T, w *world) {
		w.warm("s", "note")
		order = nil
		for _, err := range together(5, func(i int) error {
			_, err := w.call(t.Context(), ref("s"), "note", fmt.Sprintf(`{"n":%d}`, i))
			return err
		}) {
			succeeds(t, err)
		}
		for i := range 5 {
			if order[2*i] != fmt.Sprintf(`in {"n":%d}`, i) || order[2*i+1] != fmt.Sprintf(`out {"n":%d}`, i) {
				t.Fatalf("they ran as %v", order)
			}
		}
	})
}

// expires waits until the session is gone, and returns when.
func (w *world) expires(id string, limit time.Duration) time.Duration {
	w.t.Helper()
	began := time.Now()
	live := w.Counts().Live
	for w.Counts().Live == live {
		if time.Since(began) > limit {
			w.t.Fatalf("session %s is still there after %s", id, limit)
		}
		_ = sessiontest.Wait(w.t.Context(), time.Second)
		synctest.Wait()
	}
	return time.Since(began)
}

func TestIdleAndAge(t *testing.T) {
	t.Run("used once", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			page := w.must(ref("s"), "where")
			lasts(t, w.expires("s", time.Hour), time.Minute)
			_, err := w.call(t.Context(), ref("s"), "where", "{}")
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
			if again := w.must(ref("s"), "where"); again == page {
				t.Error("the page lived on")
			}
		})
	})
	t.Run("used twice", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			w.must(ref("s"), "where")
			_ = sessiontest.Wait(t.Context(), 59*time.Second)
			w.must(ref("s"), "where")
			lasts(t, w.expires("s", time.Hour), 15*time.Minute)
		})
	})
	t.Run("a question about it", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			page := w.must(ref("s"), "where")
			_ = sessiontest.Wait(t.Context(), 50*time.Second)
			asking := ref("s")
			asking.Asking = true
			if w.Shows(asking) == nil {
				t.Fatal("it has no page")
			}
			_ = sessiontest.Wait(t.Context(), 5*time.Minute)
			if w.must(ref("s"), "where") != page {
				t.Error("it was lost while a person read the question")
			}
		})
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			w.must(ref("s"), "where")
			w.Shows(ref("s")) // whoever only looks keeps nothing
			lasts(t, w.expires("s", time.Hour), time.Minute)
		})
	})
	t.Run("a call keeps it", func(t *testing.T) {
		inWorld(t, func(d *sessiontest.Document) { d.Register(slow("slow", 2*time.Minute), named("where")) }, nil, func(t *testing.T, w *world) {
			page := w.must(ref("s"), "slow")
			if w.must(ref("s"), "where") != page {
				t.Error("it was lost during a call of two minutes")
			}
		})
	})
	t.Run("its age", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			page := w.must(ref("s"), "where")
			for time.Since(w.began) < 8*time.Hour {
				if w.must(ref("s"), "where") != page {
					t.Fatalf("it was lost after %s", w.took())
				}
				_ = sessiontest.Wait(t.Context(), 10*time.Minute)
			}
			_, err := w.call(t.Context(), ref("s"), "where", "{}")
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		})
	})
	t.Run("its age, always busy", func(t *testing.T) {
		age := gatetest.Amount(time.Hour, 8*time.Hour) // at night the default
		short := func(o *session.Options, _ *sessiontest.Engine) { o.MaxAge = gatetest.Amount(age, 0) }
		inWorld(t, shop, short, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 2 {
				go func() {
					for ctx.Err() == nil {
						_, err := w.call(ctx, ref("s"), "slow", "{}")
						if err != nil {
							cancel()
						}
					}
				}()
			}
			<-ctx.Done()
			if took := w.took(); took < age || took > age+time.Minute {
				t.Errorf("it ended after %s", took)
			}
		})
	})
}

func TestToldOnce(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		// Who was told by the call itself is not told again.
		w.must(ref("s"), "where")
		_, err := w.call(t.Context(), ref("s"), "crash", "{}")
		fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
		w.must(ref("s"), "where")
		// A death between calls is told once.
		synctest.Wait() // until the page that crashed is closed: it is none of the tabs then
		w.engine.Tabs()[1].Crash()
		synctest.Wait()
		_, err = w.call(t.Context(), ref("s"), "where", "{}")
		fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		w.must(ref("s"), "where")
		// Who used a session before another's death is not told of that.
		w.must(ref("t"), "where")
		w.engine.Tabs()[1].Crash()
		synctest.Wait()
		w.must(ref("t"), "where")
	})
	t.Run("by a lost browser", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			w.warm("busy", "where")
			w.warm("idle", "where")
			errs := make(chan error, 1)
			go func() {
				_, err := w.call(t.Context(), ref("busy"), "slow", "{}")
				errs <- err
			}()
			synctest.Wait()
			w.engine.Lose()
			fails(t, <-errs, bridge.InternalError, bridge.BrowserLost, bridge.Unknown)
			synctest.Wait() // until the other page has heard of it, too
			w.must(ref("busy"), "where")
			_, err := w.call(t.Context(), ref("idle"), "where", "{}")
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
			w.must(ref("idle"), "where")
		})
	})
	t.Run("who waited behind the call", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			w.warm("s", "where")
			errs := together(3, func(i int) error {
				tool := "where"
				if i == 0 {
					tool = "crash"
				}
				_, err := w.call(t.Context(), ref("s"), tool, "{}")
				return err
			})
			fails(t, errs[0], bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
			succeeds(t, errs[1])
			succeeds(t, errs[2])
		})
	})
}

func TestEviction(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) { // four pages at most
		tick := func() { _ = sessiontest.Wait(t.Context(), time.Second) }
		for _, id := range []string{"old", "twice", "once", "twice", "young"} {
			w.must(ref(id), "where")
			tick()
		}
		w.must(ref("young"), "where")
		tick()
		w.must(ref("old"), "where")
		tick() // now only "once" was used once; then twice, young, old by age
		for _, victim := range []string{"once", "twice", "young"} {
			w.must(ref("new-"+victim), "where")
			w.must(ref("new-"+victim), "where")
			tick()
			catalog, err := w.Await(t.Context(), ref(""))
			succeeds(t, err)
			_, err = w.Acquire(t.Context(), ref(victim))
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
			_ = catalog
		}
		if c := w.Counts(); c.Live != 4 {
			t.Errorf("there are %+v", c)
		}
	})
}

func TestQueue(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		errs := together(4+32+3, func(i int) error {
			_, err := w.call(t.Context(), ref(fmt.Sprint("s", i)), "slow", "{}")
			return err
		})
		refused := 0
		for i, err := range errs {
			if i < 36 {
				succeeds(t, err)
				continue
			}
			refused++
			if e := fails(t, err, bridge.RateLimit, "", bridge.NotRun); e.Retry <= 0 {
				t.Error("it does not say when to try again")
			}
		}
		if n := w.engine.Runs("slow"); n != 36 || refused != 3 {
			t.Errorf("%d ran, %d were refused", n, refused)
		}
	})
	t.Run("of one session", func(t *testing.T) {
		inWorld(t, shop, nil, func(t *testing.T, w *world) {
			w.warm("s", "where")
			errs := together(1+128+1, func(int) error {
				_, err := w.call(t.Context(), ref("s"), "slow", "{}")
				return err
			})
			for _, err := range errs[:129] {
				succeeds(t, err)
			}
			fails(t, errs[129], bridge.RateLimit, "", bridge.NotRun)
		})
	})
	t.Run("past the deadline", func(t *testing.T) {
		inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.MaxSessions = 1 }, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			errs := together(2, func(int) error {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer cancel()
				_, err := w.call(ctx, ref(""), "slow", "{}")
				if err == nil { // the next one has half a second left
					_, err = w.call(ctx, ref(""), "slow", "{}")
				}
				return err
			})
			for _, err := range errs {
				e := bridge.AsError(err)
				if e == nil || e.Reason != bridge.Overload && e.Reason != bridge.Timeout || e.Reason == bridge.Overload && e.Outcome != bridge.NotRun {
					t.Errorf("it ended with %v", err)
				}
			}
		})
	})
	t.Run("who leaves gives up the place", func(t *testing.T) {
		inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.MaxSessions, o.Queue = 1, 2 }, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			lease, err := w.Acquire(t.Context(), ref("s"))
			succeeds(t, err)
			for _, id := range []string{"", "s"} {
				ctx, cancel := context.WithCancel(t.Context())
				for range 40 {
					go func() { _, _ = w.Acquire(ctx, ref(id)) }()
				}
				synctest.Wait()
				cancel()
				synctest.Wait()
				if c := w.Counts(); c.Queued != 0 {
					t.Errorf("%d who left still wait", c.Queued)
				}
			}
			lease.Release()
		})
	})
}

func TestShared(t *testing.T) {
	shared := func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }
	inWorld(t, shop, shared, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		began := time.Now()
		var mu sync.Mutex
		pages := map[string]bool{}
		for _, err := range together(50, func(int) error {
			page, err := w.call(t.Context(), ref(""), "slow", "{}")
			mu.Lock()
			defer mu.Unlock()
			pages[page] = true
			return err
		}) {
			succeeds(t, err)
		}
		lasts(t, time.Since(began), time.Second)
		if len(pages) != 1 || w.engine.Opened() != 1 {
			t.Errorf("they ran on %v, of %d tabs", pages, w.engine.Opened())
		}
		if page := w.must(ref("s"), "where"); pages[page] {
			t.Error("a session has the shared page")
		}
	})
	t.Run("its page dies", func(t *testing.T) {
		inWorld(t, shop, shared, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			_, err := w.call(t.Context(), ref(""), "crash", "{}")
			fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
			w.must(ref(""), "where")
		})
	})
}

// TestSiteDownThenUp (B4): a site that is down is tried again after a while, however many
// callers ask for it, and each is told at once why, and when to come back.
func TestSiteDownThenUp(t *testing.T) {
	inWorld(t, nil, nil, func(t *testing.T, w *world) {
		succeeds(t, w.WaitOpened(t.Context()))
		_ = sessiontest.Wait(t.Context(), time.Hour)
		tries := w.engine.Opened()
		if tries < 60 || tries > 75 {
			t.Errorf("%d attempts in an hour", tries)
		}
		began := time.Now()
		for range 1000 {
			_, err := w.call(t.Context(), ref(""), "where", "{}")
			if e := fails(t, err, bridge.InternalError, bridge.Unreachable, bridge.NotRun); e.Retry < time.Second || e.Retry > time.Minute || e.Details[session.DetailNextTry] == nil {
				t.Fatalf("it says to come back in %v", e.Retry)
			}
		}
		if took := time.Since(began); took > 0 || w.engine.Opened() > tries {
			t.Errorf("a thousand calls took %s and %d attempts", took, w.engine.Opened()-tries)
		}
		w.engine.Handle(address, shop)
		_, err := w.call(t.Context(), ref(""), "where", "{}")
		_ = sessiontest.Wait(t.Context(), bridge.AsError(err).Retry+time.Second)
		w.must(ref(""), "where")
	})
}

func TestSiteNeverAnswers(t *testing.T) {
	inWorld(t, shop, func(_ *session.Options, e *sessiontest.Engine) {
		e.Arrive(address, func(ctx context.Context) error { <-ctx.Done(); return errors.New("no answer") })
	}, func(t *testing.T, w *world) {
		_, err := w.Await(t.Context(), ref(""))
		fails(t, err, bridge.InternalError, bridge.Unreachable, bridge.NotRun)
		lasts(t, w.took(), 30*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = w.Acquire(ctx, ref("s"))
		fails(t, err, bridge.InternalError, bridge.Overload, bridge.NotRun)
	})
}

func TestCatalogPageDies(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		before, err := w.Await(t.Context(), ref(""))
		succeeds(t, err)
		w.engine.Tabs()[0].Crash()
		synctest.Wait()
		after, err := w.Await(t.Context(), ref(""))
		succeeds(t, err)
		if after.Digest() != before.Digest() || w.engine.Opened() != 2 {
			t.Errorf("%d tabs were opened", w.engine.Opened())
		}
	})
}

// TestQuestionsBeyondTheLimit: a question that nobody is asked refuses nobody who waits
// for the session.
func TestQuestionsBeyondTheLimit(t *testing.T) {
	page := func(d *sessiontest.Document) {
		shop(d)
		d.Register(sessiontest.Tool{Name: "ask", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			for range 6 {
				_ = sessiontest.Wait(c.Context(), time.Second)
				c.Ask(bridge.Confirm, "Sure?", nil)
			}
			return json.RawMessage("1"), nil
		}})
	}
	inWorld(t, page, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		auto := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}
		b, err := bridge.New(w.Manager, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": auto}})
		succeeds(t, err)
		defer b.Close()
		in, err := bridge.ReadValue("request", json.RawMessage(`{}`))
		succeeds(t, err)
		call := bridge.Call{Site: "shop", Session: "s", Tool: "ask", Caller: bridge.Local(), Input: in}
		run := b.Start(t.Context(), &call)
		for range 5 {
			q, end := run.Next(t.Context())
			if q == nil {
				t.Fatal(end.Err)
			}
			succeeds(t, run.Elicited(q.ID, bridge.Answer{OK: true}, bridge.Local()))
		}
		waits := call
		waits.Tool = "where"
		_, err = b.Do(t.Context(), &waits)
		succeeds(t, err)
	})
}

// TestSessionUntil: a session that was opened until something is over ends with that, or with the
// call that has its page then; and its name is free.
func TestSessionUntil(t *testing.T) {
	inWorld(t, func(d *sessiontest.Document) {
		d.Register(named("where"))
		d.Register(slow("slow", time.Second))
	}, nil, func(t *testing.T, w *world) {
		for _, tool := range []string{"where", "slow"} {
			until := make(chan struct{})
			r := ref("batch-1")
			r.Until = until
			first := w.must(r, "where")
			if again := w.must(r, "where"); again != first {
				t.Error("it has two pages")
			}
			later(500*time.Millisecond, func() { close(until) })
			if got := w.must(r, tool); got != first {
				t.Error("the last call has another page")
			}
			_ = sessiontest.Wait(w.t.Context(), time.Second)
			synctest.Wait()
			if c := w.Counts(); c != (session.Counts{}) {
				t.Errorf("%s: there are %+v", tool, c)
			}
			if next := w.must(ref("batch-1"), "where"); next == first {
				t.Error("the page goes on")
			}
			_ = sessiontest.Wait(w.t.Context(), time.Hour) // this one ends by itself
			if _, err := w.call(w.t.Context(), ref("batch-1"), "where", "{}"); err == nil {
				t.Error("the control: a session that idles out tells so, once")
			}
		}
	})
}
