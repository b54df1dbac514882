package session_test

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// otherAddress leads to a second site.
const otherAddress = "https://other.test/"

// twoSites adds a second site, with a spare page.
func twoSites(o *session.Options, e *sessiontest.Engine) {
	e.Handle(otherAddress, shop)
	o.Sites = append(o.Sites, site("other", otherAddress))
	o.Sites[1].Warm = 1
}

// generation returns the site of this generation.
func generation(n int64, o session.SiteOptions) session.SiteOptions {
	o.Generation = n
	return o
}

// TestSetKeepsAndTakesOut: a site that is as before keeps its pages, one that was changed begins
// with fresh ones, and one that is gone is one that never was. What sessions held of these is told
// to be gone, once.
func TestSetKeepsAndTakesOut(t *testing.T) {
	inWorld(t, shop, twoSites, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		mine, theirs := ref("s"), ref("s")
		theirs.Site = "other"
		was, other := w.must(mine, "where"), w.must(theirs, "where")
		_ = sessiontest.Wait(t.Context(), 2*time.Second) // the spare is there
		kept := site("other", otherAddress)
		kept.Warm = 1
		opened := w.engine.Opened()
		w.Set([]session.SiteOptions{site("shop", address), kept})
		synctest.Wait()
		if got := w.must(mine, "where"); got != was || w.engine.Opened() != opened {
			t.Error("sites that are the same got other pages")
		}

		over := 0
		ends := site("shop", address)
		ends.Ended = func() { over++ }
		w.Set([]session.SiteOptions{generation(1, ends), kept})
		_, err := w.call(t.Context(), mine, "where", "{}")
		fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		if got := w.must(mine, "where"); got == was {
			t.Error("a site that was changed has the page from before")
		}
		stale := mine
		stale.Generation = 7 // what was looked up before the change
		_, err = w.Acquire(t.Context(), stale)
		fails(t, err, bridge.InternalError, bridge.Draining, bridge.NotRun)

		w.Set([]session.SiteOptions{kept})
		synctest.Wait()
		_, err = w.call(t.Context(), mine, "where", "{}")
		fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
		if over != 1 || w.Status("shop") != "unknown" || len(w.Sites()) != 1 {
			t.Errorf("it ended %d times; it is %s; %v", over, w.Status("shop"), w.Sites())
		}
		if got := w.must(theirs, "where"); got != other {
			t.Error("another site lost its page")
		}
		// Two pages of the site that stays: its own, and the session's; and its spare.
		_ = sessiontest.Wait(t.Context(), 2*time.Second)
		if got := len(w.engine.Tabs()); got != 3 {
			t.Errorf("%d tabs are there", got)
		}
	})
}

// TestSetWhileCallsRun: a call that has its page goes on, for as long as Drain at most; one that
// has none is refused, and did not run. Pages go with their last call.
func TestSetWhileCallsRun(t *testing.T) {
	const drain = 10 * time.Second
	long := func(d *sessiontest.Document) {
		shop(d)
		d.Register(slow("hour", time.Hour))
	}
	for name, x := range map[string]struct {
		session, tool string
		shared        bool
		lasts         time.Duration
		reason        bridge.Reason // "" for a result
	}{
		"a session's":                {"s", "slow", false, time.Second, ""},
		"a fresh page":               {"", "slow", false, time.Second, ""},
		"the page that all share":    {"", "slow", true, time.Second, ""},
		"a session's, for too long":  {"s", "hour", false, drain, bridge.Draining},
		"a fresh page, for too long": {"", "hour", false, drain, bridge.Draining},
		"shared, for too long":       {"", "hour", true, drain, bridge.Draining},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, long, func(o *session.Options, _ *sessiontest.Engine) {
				o.Drain, o.Sites[0].Shared, o.MaxSessions = drain, x.shared, 1
			}, func(t *testing.T, w *world) {
				_ = w.WaitOpened(t.Context())
				began := w.took()
				ends := func(r bridge.Ref, tool string) <-chan error {
					end := make(chan error, 1)
					go func() { _, err := w.call(t.Context(), r, tool, "{}"); end <- err }()
					synctest.Wait()
					return end
				}
				runs := ends(ref(x.session), x.tool)
				waits := make(<-chan error)
				if !x.shared { // there is no place for another page
					waits = ends(ref("waits"), "where")
				}
				w.Set(nil)
				if !x.shared {
					fails(t, <-waits, bridge.InternalError, bridge.Draining, bridge.NotRun)
				}
				lasts(t, w.took(), began)
				err := <-runs
				lasts(t, w.took(), began+x.lasts)
				if x.reason == "" {
					succeeds(t, err)
				} else {
					fails(t, err, bridge.InternalError, x.reason, bridge.Unknown)
				}
				synctest.Wait()
				if left := len(w.engine.Tabs()); left > 0 || w.Counts() != (session.Counts{}) {
					t.Errorf("%d tabs are left, and %+v", left, w.Counts())
				}
			})
		})
	}
}

// TestSetWhileAPageOpens: a page that opens for a call of a site that is taken out is closed, and
// the call is refused; the session's name is free for the site that comes.
func TestSetWhileAPageOpens(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		w.engine.Arrive(address, func(ctx context.Context) error { return sessiontest.Wait(ctx, time.Second) })
		end := make(chan error, 2)
		for range 2 { // the second waits for the first
			go func() { _, err := w.call(t.Context(), ref("s"), "where", "{}"); end <- err }()
			synctest.Wait()
		}
		w.Set([]session.SiteOptions{generation(1, site("shop", address))})
		for range 2 {
			fails(t, <-end, bridge.InternalError, bridge.Draining, bridge.NotRun)
		}
		w.must(ref("s"), "where") // nothing was there that could be lost
		synctest.Wait()
		if got := len(w.engine.Tabs()); got != 2 {
			t.Errorf("%d tabs are there", got)
		}
	})
}

// TestSetDuringASession: while a call holds the page of a session from before a change, the name
// belongs to another session, which the end of the call leaves alone.
func TestSetDuringASession(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		lease, err := w.Acquire(t.Context(), ref("s"))
		succeeds(t, err)
		w.Set([]session.SiteOptions{generation(1, site("shop", address))})
		_, err = w.call(t.Context(), ref("s"), "where", "{}")
		fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		page := w.must(ref("s"), "where")
		lease.Release()
		synctest.Wait()
		if got := w.must(ref("s"), "where"); got != page {
			t.Error("the end of the old call took the new page")
		}
		if c := w.Counts(); c.Live != 1 || c.Leased != 0 {
			t.Errorf("there are %+v", c)
		}
	})
}

// TestSetManyTimes: sites that come, go and change while calls run leave nothing behind, and no
// call that ran is told not to have run.
func TestSetManyTimes(t *testing.T) {
	count := func(d *sessiontest.Document) {
		d.Register(sessiontest.Tool{Name: "count", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			return json.RawMessage("1"), sessiontest.Wait(c.Context(), 30*time.Millisecond)
		}})
	}
	inWorld(t, count, func(o *session.Options, e *sessiontest.Engine) {
		e.Handle(otherAddress, count)
		o.Sites[0].Warm, o.MaxSessions = 2, 8
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		var mu sync.Mutex
		ran, refused := 0, 0
		stop, calls := make(chan struct{}), sync.WaitGroup{}
		for i := range 6 {
			r := ref([]string{"", "a", "b"}[i%3])
			calls.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					_, err := w.call(t.Context(), r, "count", "{}")
					mu.Lock()
					if e := bridge.AsError(err); e == nil || e.Outcome != bridge.NotRun {
						ran++
					} else {
						refused++
					}
					mu.Unlock()
					_ = sessiontest.Wait(t.Context(), time.Duration(7*i+1)*time.Millisecond)
				}
			})
		}
		for i := range 50 {
			url := []string{address, otherAddress}[i%2]
			next := generation(int64(i+1), site("shop", url))
			next.Warm, next.Shared = i%3, i%5 == 4
			sites := []session.SiteOptions{next}
			if i%7 == 3 {
				sites = nil
			}
			w.Set(sites)
			_ = sessiontest.Wait(t.Context(), time.Duration(i*67%500)*time.Millisecond)
		}
		last := generation(100, site("shop", address))
		w.Set([]session.SiteOptions{last})
		close(stop)
		calls.Wait()
		_ = sessiontest.Wait(t.Context(), time.Minute) // all sessions of one use are over
		if got := w.engine.Runs("count"); got != ran || ran == 0 || refused == 0 {
			t.Errorf("%d ran, %d are told to have, %d not", got, ran, refused)
		}
		w.Set([]session.SiteOptions{generation(101, last)})
		synctest.Wait()
		if n := w.Sparing(); n > 1 {
			t.Errorf("spare pages of %d sites are remembered", n)
		}
		if c := w.Counts(); c != (session.Counts{}) || len(w.engine.Tabs()) != 1 {
			t.Errorf("there are %s tabs, and %+v", strconv.Itoa(len(w.engine.Tabs())), c)
		}
	})
}
