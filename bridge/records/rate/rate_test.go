package rate_test

import (
	"context"
	"encoding/hex"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/rate"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

func name(parts ...string) string { return hex.EncodeToString([]byte(strings.Join(parts, "/"))) }

// node is one of so many nodes, on these records.
func node(r records.Records, nodes int) *rate.Rates {
	return rate.New(rate.Options{Records: r, Name: name, Nodes: func() int { return nodes }})
}

// site is a rate of a site, of a caller.
func site(n int, per time.Duration, caller string) policy.Use {
	return policy.Use{Limit: policy.LimitSite, Of: "shop", Caller: caller, Rate: policy.Rate{N: n, Per: per}}
}

// take makes calls, and returns how many are let through and how long the last refusal asks to wait.
func take(t *testing.T, n *rate.Rates, u policy.Use, calls int) (got int, wait time.Duration) {
	t.Helper()
	for range calls {
		one, after, err := n.Take(t.Context(), u, 1, time.Now())
		if err != nil || one == 0 && after <= 0 || one > 1 {
			t.Fatalf("%d, %v, %v", one, after, err)
		}
		if got += one; one == 0 {
			wait = after
		}
	}
	return got, wait
}

// TestTogether: nodes together let as many calls through as one, of all callers of a site, and of each
// caller by its own rate; after the wait that they say there is one more.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		a, b := node(m, 2), node(m, 2)
		first, _ := take(t, a, site(6, time.Minute, "agent"), 4)
		second, wait := take(t, b, site(6, time.Minute, "other"), 6)
		if first != 4 || second != 2 || wait != 10*time.Second {
			t.Errorf("%d and %d, then %v", first, second, wait)
		}
		<-time.After(wait)
		if got, _ := take(t, a, site(6, time.Minute, "agent"), 3); got != 1 {
			t.Errorf("after the wait %d", got)
		}
		for _, caller := range []string{"agent", "other"} {
			own := policy.Use{Limit: policy.LimitCaller, Caller: caller, Rate: policy.Rate{N: 3, Per: time.Hour}}
			first, _ := take(t, a, own, 2)
			second, _ := take(t, b, own, 2)
			if first+second != 3 {
				t.Errorf("%s has %d", caller, first+second)
			}
		}
		if got, _ := take(t, b, site(7, time.Minute, "agent"), 8); got != 7 {
			t.Errorf("another rate of the site lets %d through", got)
		}
	})
}

// load counts calls to ten nodes, of which one has half, and those that are let through.
type load struct{ calls, passed int64 }

// run makes so many calls a second for a time, and lets them through by take, of a node.
func run(perSecond int, d time.Duration, take func(node int) bool) (l load) {
	var all sync.WaitGroup
	for i := range 10 {
		every := 2 * time.Second / time.Duration(perSecond)
		if i > 0 {
			every *= 9
		}
		all.Go(func() {
			<-time.After(time.Duration(i) * 7 * time.Millisecond)
			for began := time.Now(); time.Since(began) < d; <-time.After(every) {
				atomic.AddInt64(&l.calls, 1)
				if take(i) {
					atomic.AddInt64(&l.passed, 1)
				}
			}
		})
	}
	all.Wait()
	return l
}

// TestTenNodes: of ten nodes, one has half of the load. Below the rate nearly nobody is refused, which
// dividing the rate by the nodes does to many; above it, no more is let through than the rate.
func TestTenNodes(t *testing.T) {
	t.Parallel()
	const n, d = 200, 30 * time.Second
	for _, perSecond := range []int{150, 1000} {
		synctest.Test(t, func(t *testing.T) {
			m := &recordstest.Faulty{Records: records.NewMemory(), Fault: func(recordstest.Op) recordstest.Fault {
				<-time.After(200 * time.Microsecond)
				return recordstest.None
			}}
			var batches atomic.Int64
			nodes := make([]*rate.Rates, 10)
			for i := range nodes {
				nodes[i] = rate.New(rate.Options{Records: m, Name: name, Nodes: func() int { return 10 }, Taken: func() { batches.Add(1) }})
			}
			ours := run(perSecond, d, func(node int) bool {
				got, _, err := nodes[node].Take(t.Context(), site(n, time.Second, "agent"), 1, time.Now())
				if err != nil {
					t.Error(err)
				}
				return got == 1
			})
			split := make([]*policy.Rates, 10)
			for i := range split {
				split[i] = policy.NewRates(policy.RatesOptions{Sites: map[string]policy.SiteRates{"shop": {Rate: policy.Rate{N: n / 10, Per: time.Second}}}})
			}
			divided := run(perSecond, d, func(node int) bool {
				refused, _ := split[node].Take("agent", "shop", "", time.Now())
				return refused == ""
			})
			due := min(ours.calls, int64(n*d/time.Second)+n)
			wrongly, dividedWrongly := float64(due-ours.passed)/float64(due)*100, float64(due-divided.passed)/float64(due)*100
			t.Logf("%d a second of %d: refused wrongly %.1f %%, divided by the nodes %.1f %%; %.0f batches a second",
				perSecond, n, wrongly, dividedWrongly, float64(batches.Load())/d.Seconds())
			if ours.passed > int64(n*(d+100*time.Millisecond)/time.Second)+n {
				t.Errorf("%d let through", ours.passed)
			}
			if wrongly > 2 || perSecond < n && dividedWrongly < 10 {
				t.Errorf("refused wrongly: %.1f %%, and %.1f %% where the rate is divided", wrongly, dividedWrongly)
			}
		})
	}
}

// TestGivenUp: what a node took and does not need is lost after a second, and not kept for later.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := node(records.NewMemory(), 1)
		u := site(100, time.Hour, "agent")
		take(t, n, u, 16) // it takes 1, then as many as it had of late: the last time ten, for one
		<-time.After(time.Second)
		got, _ := take(t, n, u, 100)
		if got != 75 {
			t.Errorf("%d more", got)
		}
	})
}

// TestApart: without the engine a node lets its part of the rate through, at once and not after a
// time-out for each call; it goes on with what it knew, and asks again after a second.
func TestApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fault atomic.Int64
		fault.Store(int64(recordstest.Hang))
		m := records.NewMemory()
		r := &recordstest.Faulty{Records: m, Fault: func(recordstest.Op) recordstest.Fault { return recordstest.Fault(fault.Load()) }}
		n := node(r, 3)
		began := time.Now()
		if got, wait := take(t, n, site(60, time.Minute, "agent"), 30); got != 20 || wait <= 0 || time.Since(began) > time.Second {
			t.Errorf("of a third of 60: %d, after %v, wait %v", got, time.Since(began), wait)
		}
		fault.Store(int64(recordstest.None))
		<-time.After(time.Second)
		if got, _ := take(t, n, site(60, time.Minute, "agent"), 70); got < 39 || got > 42 {
			t.Errorf("with the engine again, which is told of those 20: %d", got)
		}
		// What was used before counts in the part, too.
		fault.Store(int64(recordstest.Fail))
		<-time.After(time.Second)
		if got, _ := take(t, n, site(60, time.Minute, "agent"), 70); got > 2 {
			t.Errorf("without it once more: %d", got)
		}
	})
}

// TestLongRates: an engine that forgets what does not change does not forget a rate of hours, and a
// clock that was wrong blocks nobody for as long as it was.
func TestLongRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		a, b := node(m, 2), node(m, 2)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		u := site(6, 2*time.Hour, "agent")
		if got, _ := take(t, a, u, 9); got != 6 {
			t.Fatal(got)
		}
		key := "r." + name("rate", "site", "shop", "", "6/2h0m0s")
		r, err := m.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(records.ShortAge - time.Minute)
		if is, err := m.Get(t.Context(), key); err != nil || is.Revision == r.Revision || string(is.Value) != string(r.Value) {
			t.Errorf("it was not written again: %v, %s", err, is.Value)
		}
		m.Expire(key) // the engine forgot it all the same
		if got, _ := take(t, a, u, 3); got > 0 {
			t.Errorf("a node that knows it lets %d through", got)
		}
		<-time.After(10 * time.Minute)
		if got, _ := take(t, b, u, 9); got > 2 {
			t.Errorf("the other one lets %d through", got)
		}
		stop()
		running.Wait()

		u = site(60, time.Minute, "agent")
		fast := time.Now().Add(time.Hour)
		if got, _, err := a.Take(t.Context(), u, 1, fast); got != 1 || err != nil {
			t.Fatal(err)
		}
		take(t, b, u, 1)
		<-time.After(10 * time.Second)
		if got, _ := take(t, b, u, 20); got < 8 || got > 12 {
			t.Errorf("after another node's clock was wrong: %d", got)
		}
	})
}

// TestLostAnswers: a call whose batch may have been taken is not taken twice as often as the rate.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		lost := 0
		n := node(&recordstest.Faulty{Records: m, Fault: func(op recordstest.Op) recordstest.Fault {
			if lost++; op.Name != "get" && lost%3 == 0 {
				return recordstest.Lose
			}
			return recordstest.None
		}}, 1)
		got := 0
		for range 200 {
			one, _ := take(t, n, site(60, time.Minute, "agent"), 1)
			got += one
			<-time.After(100 * time.Millisecond)
		}
		if got > 60+20+2 || got < 40 {
			t.Errorf("%d in 20 s", got)
		}
	})
}
