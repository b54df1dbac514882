package lease_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

// steps is the length of a run, before all faults end.
const steps = 1500

// newWorld starts three nodes.
func newWorld(r rules, draw func(n int) int) *world {
	w := &world{
		rules: r, memory: records.NewMemory(), draw: draw, now: time.Hour,
		pages: map[string]*page{}, ran: map[string]int{}, ended: map[string]string{}, counts: map[string]int{},
	}
	for i := range 3 {
		w.nodes = append(w.nodes, w.start(fmt.Sprint("node ", i), nil))
	}
	for range 6 { // they join, and hear of each other
		w.all()
	}
	return w
}

// simulate runs the model, and returns what went wrong.
func simulate(r rules, draw func(n int) int) *world {
	w := newWorld(r, draw)
	defer w.stop()
	for range steps {
		w.step()
	}
	for _, p := range w.nodes {
		p.frozen, p.cut = false, false
	}
	w.draw = func(n int) int { return n - 1 } // no faults
	waits := func(a *actor) bool { return a.caller }
	for i := 0; i < 2000 && slices.ContainsFunc(w.actors, waits); i++ {
		w.all()
		w.now += modelSpan / 16
	}
	for range 10 { // what was on its way elsewhere
		w.all()
	}
	if slices.ContainsFunc(w.actors, waits) {
		w.wrong = append(w.wrong, "a call has no end")
	}
	w.check()
	return w
}

// stop ends all actors.
func (w *world) stop() {
	for len(w.actors) > 0 {
		w.kill(w.actors[0])
	}
}

// let lets an actor go on.
func (w *world) let(a *actor, f recordstest.Fault) {
	w.running = a
	if !a.step(f) {
		w.remove(a)
	}
}

func (w *world) kill(a *actor) {
	a.kill()
	w.remove(a)
}

func (w *world) remove(a *actor) {
	w.actors = slices.DeleteFunc(w.actors, func(b *actor) bool { return a == b })
}

// all lets each actor go on once.
func (w *world) all() {
	for _, a := range slices.Clone(w.actors) {
		if !a.of.frozen && slices.Contains(w.actors, a) {
			w.let(a, recordstest.None)
		}
	}
}

// step draws what happens next.
func (w *world) step() {
	p := w.nodes[w.draw(len(w.nodes))]
	switch n := w.draw(100); {
	case n < 2:
		p.frozen = !p.frozen
	case n < 4:
		p.cut = !p.cut
	case n < 5:
		if w.draw(4) == 0 {
			w.end(p)
		}
	case n < 6:
		p.wall += time.Duration(w.draw(3)-1) * time.Hour
	case n < 12:
		w.now += modelSpan / 16 * time.Duration(1<<w.draw(4))
	case n < 17 && p.node != nil && w.calls < 24:
		w.calls++
		w.call(p, fmt.Sprint("C", w.calls), fmt.Sprint("S", w.draw(2)))
	default:
		var ready []*actor
		for _, a := range w.actors {
			if !a.of.frozen && (n < 60 || a == a.of.renewer) { // leases are renewed most of the time
				ready = append(ready, a)
			}
		}
		if len(ready) > 0 {
			w.let(ready[w.draw(len(ready))], w.faultOf())
		}
	}
}

// end kills a process, and starts it again.
func (w *world) end(p *process) {
	p.killed = true
	for _, a := range slices.Clone(w.actors) {
		if a.of == p {
			w.kill(a)
		}
	}
	w.counts["killed"]++
	i := slices.Index(w.nodes, p)
	before := p
	if w.draw(2) == 0 {
		before = nil // it does not know who it was
	}
	w.nodes[i] = w.start(p.name, before)
}

// TestModel runs the real steps of three nodes, with faults between any two of them: no effect twice, no
// "not run" of what ran, no older epoch after a newer one.
func TestModel(t *testing.T) {
	t.Parallel()
	gatetest.NoRace(t)
	for name, r := range map[string]rules{"protocol": {}, "stopped before the dispatch": {gap: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range gatetest.Amount(1, 50) {
				rapid.Check(t, func(r2 *rapid.T) {
					var w *world
					var stopped any
					synctest.Test(t, func(*testing.T) {
						defer func() { stopped = recover() }() // rapid ends runs so, and must see it
						w = simulate(r, func(n int) int { return rapid.IntRange(0, n-1).Draw(r2, "n") })
					})
					if stopped != nil {
						panic(stopped)
					}
					if len(w.wrong) > 0 {
						r2.Fatalf("%v", w.wrong)
					}
				})
			}
		})
	}
}

// TestModelBites: the model reaches what it is about, and without a rule it shows the harm.
func TestModelBites(t *testing.T) {
	t.Parallel()
	gatetest.NoRace(t)
	runs := gatetest.Amount(50, 500)
	for name, row := range map[string]struct {
		r     rules
		harms bool
	}{
		"all rules":            {rules{}, false},
		"repeats in time":      {rules{repeats: true}, true},
		"death by silence":     {rules{silence: true}, true},
		"stopped before":       {rules{gap: true}, false},
		"stopped, and silence": {rules{gap: true, silence: true}, false}, // the page itself refuses older epochs
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				counts, harm, first := map[string]int{}, 0, ""
				for i := 0; i < runs || row.harms && harm == 0 && i < 5000; i++ { // a control ends when it has bitten
					w := simulate(row.r, random.IntN)
					for what, n := range w.counts {
						counts[what] += n
					}
					if len(w.wrong) > 0 {
						harm++
						first = w.wrong[0]
					}
				}
				t.Logf("%d runs or more, %d with harm; %v; %s", runs, harm, counts, first)
				if harm > 0 != row.harms {
					t.Errorf("%d of %d runs show harm, such as: %s", harm, runs, first)
				}
				for _, what := range []string{"ok", "unknown", "not run", "taken over", "void", "void, not run", "killed"} {
					if counts[what] == 0 && !row.harms {
						t.Errorf("no run has: %s", what)
					}
				}
			})
		})
	}
}
