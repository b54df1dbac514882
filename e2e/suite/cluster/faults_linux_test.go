package cluster_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

var (
	faultCount = flag.Int("faults", 20, "how many faults TestFaults makes")
	faultSeed  = flag.Uint64("faults-seed", 1, "the seed of TestFaults; 0 takes one by the clock")
)

// fault breaks something for a while.
type fault struct {
	name string
	fire func(ctx context.Context, w *world, d *rand.Rand)
}

// between draws a time.
func between(d *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)))
}

var faults = []fault{
	{"node killed", func(ctx context.Context, w *world, d *rand.Rand) {
		n := w.draw(d)
		n.down.Lock()
		defer n.down.Unlock()
		n.signal(syscall.SIGKILL)
		pause(ctx, between(d, 0, 2*time.Second))
	}},
	{"node stopped", func(ctx context.Context, w *world, d *rand.Rand) {
		n := w.draw(d)
		n.signal(syscall.SIGSTOP)
		pause(ctx, between(d, 200*time.Millisecond, 4500*time.Millisecond))
		n.signal(syscall.SIGCONT)
	}},
	{"node cut from the engine", func(ctx context.Context, w *world, d *rand.Rand) {
		defer w.network.cut(w.ways(w.draw(d), false)...)()
		pause(ctx, between(d, time.Second, 4500*time.Millisecond))
	}},
	{"node cut from the engine and the others", func(ctx context.Context, w *world, d *rand.Rand) {
		defer w.network.cut(w.ways(w.draw(d), true)...)()
		pause(ctx, between(d, time.Second, 4500*time.Millisecond))
	}},
	{"engine killed", func(ctx context.Context, w *world, d *rand.Rand) {
		w.servers.Kill()
		pause(ctx, between(d, 0, 2*time.Second))
		w.servers.Servers[0].Restart()
	}},
}

// draw returns a node that serves.
func (w *world) draw(d *rand.Rand) *node {
	for {
		if n := w.nodes[d.IntN(len(w.nodes))]; n.is.Load() != nil {
			return n
		}
		pause(context.Background(), 10*time.Millisecond)
	}
}

// breakThings makes faults, each kind once before any of them again, while most nodes serve.
func (w *world) breakThings(ctx context.Context, d *rand.Rand, n int, until func() bool) map[string]int {
	fired := map[string]int{}
	for i := 0; i < n && !until(); {
		for _, kind := range d.Perm(len(faults)) {
			if i++; i > n || until() {
				break
			}
			pause(ctx, between(d, 300*time.Millisecond, 800*time.Millisecond))
			suite.Within(suite.ReadyWithin, func() bool { return w.count() >= 2 })
			began := time.Now()
			faults[kind].fire(ctx, w, d)
			w.t.Logf("%s, for %v", faults[kind].name, time.Since(began).Round(time.Millisecond))
			fired[faults[kind].name]++
		}
	}
	return fired
}

// count returns how many nodes serve.
func (w *world) count() (n int) {
	for _, m := range w.nodes {
		if m.is.Load() != nil {
			n++
		}
	}
	return n
}

// client makes calls of a caller until ctx ends: in two sessions of its own, or without one, and every
// third with a key, which it repeats at any node until it has an end.
func (w *world) client(ctx context.Context, caller string, d *rand.Rand) {
	for i := 0; pause(ctx, between(d, 0, 100*time.Millisecond)); i++ {
		c := call{caller: caller, tool: "work", id: fmt.Sprintf("%s-%d-%d", caller, d.Uint32(), i)}
		if strings.HasPrefix(caller, "s") {
			c.session = fmt.Sprint("session-", d.IntN(2))
		}
		if d.IntN(2) == 0 {
			c.tool = "slow"
		}
		if d.IntN(3) == 0 {
			c.key = "key-" + c.id
		}
		for e := w.at(nil, c); c.key != "" && !e.isEnd() && pause(ctx, between(d, 0, 300*time.Millisecond)); {
			e = w.at(nil, c)
		}
	}
}

// isEnd reports whether repeating a key cannot tell more: it ran, or nobody will ever know.
func (e entry) isEnd() bool {
	return e.outcome == "ok" || e.outcome == "unknown" && e.status != http.StatusConflict && e.why != "INTERNAL_ERROR NO_QUORUM"
}

// load runs clients while what breaks things runs.
func (w *world) load(seed uint64, breaks func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var clients sync.WaitGroup
	for i, caller := range []string{"s0", "s0", "s1", "s2", "s3", "n0", "n1"} {
		clients.Go(func() { w.client(ctx, caller, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	breaks(ctx)
	cancel()
	clients.Wait()
}

// problems lists what must not be: an effect twice, a call that is said not to have run and did, a result
// without an effect, an older page of a session after a newer one, and an error that says nothing to callers.
func (w *world) problems() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sessions := map[string]string{} // by call
	last := map[string]int{}        // of the entries of a call
	for i, e := range w.entries {
		last[e.id] = i
	}
	for i, e := range w.entries {
		if repeated := last[e.id] > i; repeated && e.outcome != "ok" {
			continue // it may run, or be known, the next time
		}
		if p := w.site.Problem(e.id, e.outcome, false); p != "" {
			all = append(all, fmt.Sprintf("%s: %d %s, %+v", p, e.status, e.why, e.call))
		}
		if e.why == "INTERNAL_ERROR INTERNAL" || e.why == "CONFLICT ELSEWHERE" { // no caller can do anything about it
			all = append(all, fmt.Sprintf("%d %s, %s: %+v", e.status, e.why, e.message, e.call))
		}
		if e.session != "" {
			sessions[e.id] = e.caller + " " + e.session
		}
	}
	pages := map[string][]string{} // of a session, in their order
	for _, x := range w.site.Executions() {
		s := sessions[x.Call]
		had := pages[s]
		switch {
		case s == "" || len(had) > 0 && had[len(had)-1] == x.Page:
		case slices.Contains(had, x.Page):
			all = append(all, fmt.Sprintf("the call %s of %s ran in page %s, after %v", x.Call, s, x.Page, had))
		default:
			pages[s] = append(had, x.Page)
		}
	}
	return all
}

// report says what calls ended with.
func (w *world) report(fired map[string]int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := map[string]int{}
	var longest entry
	for _, e := range w.entries {
		ends[strings.TrimSpace(e.outcome+" "+e.why)]++
		if e.took > longest.took {
			longest = e
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls, %d executions; the longest took %v: %+v\n", len(w.entries), len(w.site.Executions()), longest.took.Round(time.Millisecond), longest)
	for _, of := range []map[string]int{fired, ends} {
		for _, k := range slices.Sorted(maps.Keys(of)) {
			fmt.Fprintf(&b, "%6d %s\n", of[k], k)
		}
	}
	return b.String()
}

// killed is the exit code of a process that a signal ended.
const killed = -1

// TestFaults breaks nodes, their connections and their engine under a load of calls. Nothing runs twice,
// what is said not to have run did not, and what succeeded ran. Afterwards all nodes serve.
func TestFaults(t *testing.T) {
	w := newWorld(t, 1)
	seed := cmp.Or(*faultSeed, uint64(time.Now().UnixNano()))
	var fired map[string]int
	w.load(seed, func(ctx context.Context) {
		d := rand.New(rand.NewPCG(seed, 1000))
		fired = w.breakThings(ctx, d, *faultCount, func() bool { return false })
	})
	w.serves()
	t.Logf("to repeat: go test ./e2e/suite/cluster -run 'TestFaults$' -faults %d -faults-seed %d\n%s", *faultCount, seed, w.report(fired))
	for _, p := range w.problems() {
		t.Error(p)
	}
	for _, n := range w.nodes {
		for len(n.codes) > 0 {
			if code := <-n.codes; code != killed {
				t.Errorf("the node %s ended with %d", n.name, code)
			}
		}
		for _, word := range []string{"reason=INTERNAL ", "panic", "DATA RACE"} {
			if said := n.said(word); len(said) > 0 {
				t.Error(strings.Join(said, ""))
			}
		}
	}
	ok := 0
	for _, e := range w.entries {
		if e.outcome == "ok" {
			ok++
		}
	}
	if len(fired) < min(*faultCount, len(faults)) || ok < 20 {
		t.Errorf("%d kinds of faults, %d calls succeeded: the test proves nothing", len(fired), ok)
	}
}

// TestFaultsSeen is the control of TestFaults: with a balancer that repeats a call at the next node when a
// node does not answer in time, the same load and faults show calls that ran twice.
func TestFaultsSeen(t *testing.T) {
	w := newWorld(t, 1)
	w.repeats = 600 * time.Millisecond
	twice := func() bool {
		return slices.ContainsFunc(w.problems(), func(p string) bool { return strings.HasPrefix(p, suite.RanTwice) })
	}
	var fired map[string]int
	w.load(1, func(ctx context.Context) {
		fired = w.breakThings(ctx, rand.New(rand.NewPCG(1, 1000)), 100, twice)
	})
	t.Log(w.report(fired))
	if !twice() {
		t.Error("no call ran twice: the ledger sees nothing")
	}
}
