package lease_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

// judged wraps records so that a declaration of death fails the test while its life believes in itself.
func judged(t *testing.T, r records.Records, lives *[]*lease.Life) records.Records {
	t.Helper()
	return &recordstest.Faulty{Records: r, After: func(op recordstest.Op) {
		if op.Name != "update" && op.Name != "delete" {
			return
		}
		is, err := r.Get(context.Background(), op.Key)
		if err == nil && !strings.Contains(string(is.Value), `"dead"`) {
			return
		}
		for _, life := range *lives {
			if op.Key == "n."+life.ID && life.Holds() {
				t.Errorf("%s is dead, and believes in its life", life.ID)
			}
		}
	}}
}

// TestDeath: a node that ends is declared dead by one of the others within little more than a lease, and
// each is told once.
func TestDeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		var lives []*lease.Life
		shared := judged(t, r, &lives)
		var machines []*machine
		var nodes []*lease.Node
		var stops []func()
		for i := range 5 {
			m := newMachine(shared)
			n, stop := m.join(t, fmt.Sprint(i))
			lives = append(lives, n.Life())
			machines, nodes, stops = append(machines, m), append(nodes, n), append(stops, stop)
		}
		pass(3 * span)
		for i, m := range machines {
			if reborn, joined, died := m.told(); len(reborn) > 0 || len(joined) != 4 || len(died) > 0 || len(nodes[i].Members()) != 4 {
				t.Fatalf("node %d was told of %v, %v, %v", i, reborn, joined, died)
			}
		}
		victim := lives[0].ID
		if _, over, ok := nodes[1].Member(victim); !ok || isClosed(over) || nodes[1].State(victim) != lease.Alive {
			t.Fatal("it is not there")
		}
		_, over, _ := nodes[1].Member(victim)
		stops[0]()
		took := until(t, "it is dead", 2*span, func() bool { return nodes[1].State(victim) == lease.Dead })
		if took < span-span/4 || took > span+span/4 {
			t.Errorf("it was declared dead after %v", took)
		}
		pass(tick)
		if !isClosed(over) {
			t.Error("who waits for its death is not told")
		}
		declared := 0
		for i, m := range machines[1:] {
			reborn, _, died := m.told()
			if len(reborn) > 0 || !slices.Equal(died, []string{victim}) {
				t.Errorf("node %d was told of %v, %v", i+1, reborn, died)
			}
			if nodes[i+1].State(victim) != lease.Dead || len(nodes[i+1].Members()) != 3 {
				t.Errorf("node %d: %v", i+1, nodes[i+1].Members())
			}
		}
		is, err := r.Get(t.Context(), "n."+victim)
		if err != nil || !strings.HasPrefix(string(is.Value), `{"v":1,`) || !strings.Contains(string(is.Value), `"node":"0"`) {
			t.Errorf("%s, %v", is.Value, err)
		}
		for _, life := range lives[1:] {
			declared += strings.Count(string(is.Value), `"dead":"`+life.ID+`"`)
		}
		if declared != 1 {
			t.Errorf("it was declared dead by %d: %s", declared, is.Value)
		}
		pass(5 * span)
		if is2, err := r.Get(t.Context(), "n."+victim); err != nil || is2.Revision != is.Revision {
			t.Errorf("%s was written again, %v", is2.Value, err)
		}
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestFrozen: a process that was stopped believes nothing when it goes on, ends all of its life, and
// only then begins another one.
func TestFrozen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		var lives []*lease.Life
		shared := judged(t, r, &lives)
		a, b := newMachine(shared), newMachine(shared)
		ended := make(chan struct{})
		na, _ := a.join(t, "a", func(o *lease.Options) {
			o.Reborn = func(was *lease.Life) {
				if was.Holds() || !isClosed(was.Over()) {
					t.Error("a life that is over holds")
				}
				a.tell(&a.reborn, was.ID)
				<-ended // everything of it ends now, which takes time
			}
		})
		nb, _ := b.join(t, "b")
		was := na.Life()
		lives = append(lives, was, nb.Life())
		pass(2 * span)
		thaw := a.freeze()
		until(t, "it is dead", 2*span, func() bool { return nb.State(was.ID) == lease.Dead })
		if was.Holds() {
			t.Error("it holds while it is frozen, and dead")
		}
		thaw()
		pass(2 * span)
		if reborn, _, _ := a.told(); !slices.Equal(reborn, []string{was.ID}) || na.Life() != was {
			t.Fatalf("another life began before the one before had ended: %v", reborn)
		}
		close(ended)
		pass(span)
		now := na.Life()
		if now == was || !now.Holds() || was.Holds() {
			t.Fatal("there is no new life")
		}
		if nb.State(now.ID) != lease.Alive || nb.State(was.ID) != lease.Dead || len(nb.Members()) != 1 {
			t.Errorf("the other one sees %v", nb.Members())
		}
		if _, joined, died := b.told(); len(joined) != 2 || len(died) != 1 {
			t.Errorf("the other one was told of %v, %v", joined, died)
		}
	})
}

// TestPartition: a node that is cut from the engine stops before the other one may take over, whenever
// that happens and however long it takes.
func TestPartition(t *testing.T) {
	t.Parallel()
	for step := range 8 {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := records.NewMemory()
				var lives []*lease.Life
				shared := judged(t, r, &lives)
				a, b := newMachine(shared), newMachine(shared)
				na, _ := a.join(t, "a")
				pass(span / 3)
				nb, _ := b.join(t, "b")
				was := na.Life()
				lives = append(lives, was, nb.Life())
				pass(3*span + time.Duration(step)*span/32)
				a.fails(recordstest.Hang, "")
				until(t, "it is dead", 2*span, func() bool { return nb.State(was.ID) == lease.Dead })
				pass(span)
				if !nb.Life().Holds() || na.Life() != was {
					t.Error("the one that was not cut off is dead, or the other one knows that it is")
				}
				a.fails(recordstest.None, "")
				until(t, "a new life", span, func() bool { return na.Life() != was && na.Life().Holds() })
			})
		})
	}
}

// TestSilence: not having heard of a node proves nothing.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		a, b := newMachine(r), newMachine(r)
		na, _ := a.join(t, "a")
		deaf := &deaf{Records: b.records}
		nb, _ := b.join(t, "b", func(o *lease.Options) { o.Records = deaf })
		pass(20 * span)
		if reborn, _, _ := a.told(); len(reborn) > 0 || nb.State(na.Life().ID) != lease.Alive || !na.Life().Holds() {
			t.Errorf("a node lost its lease to one that heard nothing: %v", reborn)
		}
		if ops := b.count(); ops["get"] == 0 {
			t.Errorf("it did not even look: %v", ops)
		}
	})
}

// deaf tells of the first part of a watch, and of no change.
type deaf struct{ records.Records }

func (d *deaf) Watch(ctx context.Context, prefix string) (<-chan records.Record, error) {
	all, err := d.Records.Watch(ctx, prefix)
	if err != nil {
		return nil, err
	}
	first := make(chan records.Record)
	go func() {
		defer close(first)
		told := false
		for r := range all {
			if !told {
				first <- r
			}
			told = told || r.IsMark()
		}
	}()
	return first, nil
}

// TestWatchCloses: a node watches again, and learns what it missed. A watch that is behind kills nobody.
func TestWatchCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		a, b, c := newMachine(r), newMachine(r), newMachine(r)
		na, _ := a.join(t, "a")
		nb, stopB := b.join(t, "b")
		broken := &breaking{Records: c.records}
		nc, _ := c.join(t, "c", func(o *lease.Options) { o.Records = broken })
		pass(span)
		if len(nc.Members()) != 2 {
			t.Fatalf("%v", nc.Members())
		}
		broken.miss("n." + na.Life().ID) // of the next one
		stopB()
		if err := nb.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		broken.cut()
		pass(span)
		if nc.State(nb.Life().ID) != lease.Dead || nc.State(na.Life().ID) != lease.Alive {
			t.Errorf("after a gap it knows %v", nc.Members())
		}
		if reborn, _, _ := a.told(); len(reborn) > 0 || !na.Life().Holds() {
			t.Errorf("a watch that was behind ended a life: %v", reborn)
		}
		d := newMachine(r)
		nd, _ := d.join(t, "d")
		pass(span)
		if nc.State(nd.Life().ID) != lease.Alive {
			t.Error("it does not hear of a node that came after the gap")
		}
	})
}

// breaking closes watches, and begins others that are behind.
type breaking struct {
	records.Records

	skip string
	stop context.CancelFunc
}

func (b *breaking) miss(key string) { b.skip = key }
func (b *breaking) cut()            { b.stop() }

func (b *breaking) Watch(ctx context.Context, prefix string) (<-chan records.Record, error) {
	ctx, b.stop = context.WithCancel(ctx)
	all, err := b.Records.Watch(ctx, prefix)
	if err != nil {
		return nil, err
	}
	out := make(chan records.Record)
	skip := b.skip
	go func() {
		defer close(out)
		for r := range all {
			if r.IsMark() {
				out <- r
				skip = ""
				continue
			}
			if r.Key != skip {
				select {
				case out <- r:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

// TestEngineReturns: when the engine was gone for all, nobody is declared dead because of it. Whoever
// did not come back is, after a lease.
func TestEngineReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		var machines []*machine
		var nodes []*lease.Node
		var stops []func()
		for i := range 4 {
			m := newMachine(r)
			n, stop := m.join(t, fmt.Sprint(i))
			pass(span / 5)
			machines, nodes, stops = append(machines, m), append(nodes, n), append(stops, stop)
		}
		pass(span)
		for _, m := range machines {
			m.fails(recordstest.Fail, "")
		}
		pass(10 * span)
		stops[3]()
		dead := nodes[3].Life()
		for _, m := range machines {
			m.fails(recordstest.None, "")
		}
		took := until(t, "the one that ended is dead", 3*span, func() bool { return nodes[0].State(dead.ID) == lease.Dead })
		if took > span+span/2 {
			t.Errorf("it took %v", took)
		}
		for i, m := range machines[:3] {
			if reborn, _, died := m.told(); len(reborn) > 0 || len(died) != 1 || !nodes[i].Life().Holds() {
				t.Errorf("node %d: %v, %v", i, reborn, died)
			}
		}
	})
}
