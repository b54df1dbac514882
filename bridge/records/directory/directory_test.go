package directory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// world has records, and who is dead.
type world struct {
	memory *records.Memory
	mu     sync.Mutex
	fault  recordstest.Fault
	only   string
	gets   int
	dead   map[string]bool
}

func (w *world) fails(f recordstest.Fault, only string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.only = f, only
}

func (w *world) node() *directory.Directory { return w.nodeThat(nil) }

// nodeThat is a node that disposes of pages so.
func (w *world) nodeThat(disposes func(context.Context, []byte)) *directory.Directory {
	faulty := &recordstest.Faulty{Records: w.memory, Fault: func(op recordstest.Op) recordstest.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()
		if op.Name == "get" {
			w.gets++
		}
		if w.only != "" && op.Name != w.only {
			return recordstest.None
		}
		return w.fault
	}}
	return directory.New(directory.Options{Records: faulty, Sealer: recordstest.Sealer{}, Dispose: disposes, Dead: func(_ context.Context, id string) (bool, error) {
		if id == "UNKNOWN" {
			return false, recordstest.ErrFault
		}
		return w.dead[id], nil
	}})
}

func newWorld() *world { return &world{memory: records.NewMemory(), dead: map[string]bool{}} }

// is checks an entry.
func is(t *testing.T, e directory.Entry, err error, home string, epoch int64, box string) directory.Entry {
	t.Helper()
	if err != nil || e.Home != home || e.Epoch != epoch || string(e.Box) != box || e.Expired {
		t.Fatalf("%+v, %v; not %s, epoch %d, %q", e, err, home, epoch, box)
	}
	return e
}

func TestSession(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a, b := w.node(), w.node()
	if _, _, err := a.Home(t.Context(), "S"); !errors.Is(err, records.ErrNone) {
		t.Fatal(err)
	}
	e, err := a.Open(t.Context(), "S", "A", []byte("page"))
	e = is(t, e, err, "A", 1, "page")
	r, err := w.memory.Get(t.Context(), "s.S")
	if err != nil || !strings.HasPrefix(string(r.Value), `{"v":1,"home":"A","epoch":1,"state":"open","box":"`) || strings.Contains(string(r.Value), "page") {
		t.Errorf("%s, %v", r.Value, err)
	}
	// Another node, and the same once more.
	there, err := b.Open(t.Context(), "S", "B", nil)
	if !errors.Is(err, directory.ErrTaken) || there.Home != "A" || string(there.Box) != "page" {
		t.Errorf("%+v, %v", there, err)
	}
	if _, err := a.Open(t.Context(), "S", "A", []byte("page")); !errors.Is(err, directory.ErrTaken) {
		t.Errorf("a session opens twice: %v", err)
	}
	if home, epoch, err := b.Home(t.Context(), "S"); home != "A" || epoch != 1 || err != nil {
		t.Errorf("%s, %d, %v", home, epoch, err)
	}
	// It is taken over when its home is dead, and not before.
	if got, err := b.Take(t.Context(), there, "B"); !errors.Is(err, directory.ErrTaken) || got.Home != "A" {
		t.Errorf("a session of a living node: %+v, %v", got, err)
	}
	e, err = a.Note(t.Context(), e, []byte("another page"))
	is(t, e, err, "A", 1, "another page")
	w.dead["A"] = true
	if got, err := b.Take(t.Context(), there, "B"); !errors.Is(err, directory.ErrTaken) || string(got.Box) != "another page" {
		t.Errorf("with an old record: %+v, %v", got, err)
	}
	there, err = b.Find(t.Context(), "S")
	there, err = b.Take(t.Context(), is(t, there, err, "A", 1, "another page"), "B")
	there = is(t, there, err, "B", 2, "another page")
	if _, err := a.Note(t.Context(), e, nil); !errors.Is(err, directory.ErrTaken) {
		t.Errorf("who lost it changes it: %v", err)
	}
	// It waits for a home, and then expires; one is told.
	there, err = b.Detach(t.Context(), there)
	there, err = a.Take(t.Context(), is(t, there, err, "", 2, "another page"), "C")
	there = is(t, there, err, "C", 3, "another page")
	there, err = a.Expire(t.Context(), there)
	if err != nil || !there.Expired || there.Box != nil || there.Epoch != 3 {
		t.Errorf("%+v, %v", there, err)
	}
	if _, err := a.Take(t.Context(), there, "A"); !errors.Is(err, directory.ErrTaken) {
		t.Errorf("an expired session has a home again: %v", err)
	}
	seen, err := b.Find(t.Context(), "S")
	if err != nil || !seen.Expired {
		t.Fatal(seen, err)
	}
	if _, err := b.Open(t.Context(), "S", "B", nil); !errors.Is(err, directory.ErrTaken) {
		t.Errorf("an expired session opens before its caller was told: %v", err)
	}
	for i, d := range []*directory.Directory{a, b} {
		if removed, err := d.Remove(t.Context(), seen); removed != (i == 0) || err != nil {
			t.Errorf("removed %v by %d, %v", removed, i, err)
		}
	}
	e, err = b.Open(t.Context(), "S", "B", nil)
	is(t, e, err, "B", 1, "")
}

// TestLostAnswers: what was done is known to be done, also where its answer was lost.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	d := w.node()
	w.dead["A"] = true
	w.fails(recordstest.Lose, "create")
	e, err := d.Open(t.Context(), "S", "A", []byte("x"))
	e = is(t, e, err, "A", 1, "x")
	if _, err := d.Open(t.Context(), "S", "B", []byte("x")); !errors.Is(err, directory.ErrTaken) {
		t.Errorf("%v", err)
	}
	w.fails(recordstest.Lose, "update")
	e, err = d.Take(t.Context(), e, "B")
	e = is(t, e, err, "B", 2, "x")
	e, err = d.Note(t.Context(), e, []byte("y"))
	e = is(t, e, err, "B", 2, "y")
	w.fails(recordstest.Lose, "delete")
	if removed, err := d.Remove(t.Context(), e); !removed || err != nil {
		t.Errorf("%v, %v", removed, err)
	}
	// What did not happen is not known to have happened: it still can.
	w.fails(recordstest.Fail, "create")
	if _, err := d.Open(t.Context(), "T", "A", nil); !errors.Is(err, recordstest.ErrFault) || errors.Is(err, directory.ErrTaken) {
		t.Errorf("%v", err)
	}
	w.fails(recordstest.None, "")
	e, err = d.Open(t.Context(), "T", "A", nil)
	e = is(t, e, err, "A", 1, "")
	w.fails(recordstest.Fail, "update")
	if _, err := d.Take(t.Context(), e, "B"); !errors.Is(err, recordstest.ErrFault) || errors.Is(err, directory.ErrTaken) {
		t.Errorf("%v", err)
	}
	w.fails(recordstest.Fail, "") // nothing can be read, either
	if _, err := d.Take(t.Context(), e, "B"); !errors.Is(err, recordstest.ErrFault) {
		t.Errorf("%v", err)
	}
	if removed, err := d.Remove(t.Context(), e); removed || !errors.Is(err, recordstest.ErrFault) {
		t.Errorf("%v, %v", removed, err)
	}
	if home, _, err := d.Home(t.Context(), "T"); home != "" || !errors.Is(err, recordstest.ErrFault) {
		t.Errorf("%s, %v", home, err)
	}
	w.fails(recordstest.None, "")
	e.Home = "UNKNOWN"
	if _, err := d.Take(t.Context(), e, "B"); !errors.Is(err, recordstest.ErrFault) {
		t.Errorf("a home of which nobody knows whether it is dead: %v", err)
	}
}

// TestRacers: of several who take a session over at once one wins, and the others learn who.
func TestRacers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	first := w.node()
	w.dead["A"] = true
	for i := range 50 {
		key := fmt.Sprint("S", i)
		e, err := first.Open(t.Context(), key, "A", nil)
		is(t, e, err, "A", 1, "")
		var won atomic.Int64
		var homes sync.Map
		var all sync.WaitGroup
		for j := range 8 {
			all.Go(func() {
				d := w.node()
				got, err := d.Take(t.Context(), e, fmt.Sprint("N", j))
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, directory.ErrTaken) {
					t.Error(err)
				}
				homes.Store(got.Home, true)
			})
		}
		all.Wait()
		n := 0
		homes.Range(func(any, any) bool { n++; return true })
		if won.Load() != 1 || n != 1 {
			t.Fatalf("%d won, and %d homes are told", won.Load(), n)
		}
	}
}

// TestCache: homes are remembered, without the engine, until somebody says that they are wrong; others
// are not, and there is a limit.
func TestCache(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a, b := w.node(), w.node()
	const many = 12_000
	for i := range many {
		if _, err := a.Open(t.Context(), fmt.Sprint("S", i), "A", nil); err != nil {
			t.Fatal(err)
		}
	}
	count := func(d *directory.Directory, key string) int {
		w.gets = 0
		if home, _, err := d.Home(t.Context(), key); home == "" && !errors.Is(err, records.ErrNone) {
			t.Fatalf("%s: %q, %v", key, home, err)
		}
		return w.gets
	}
	if count(b, "S1") != 1 || count(b, "S1") != 0 || count(b, "none") != 1 || count(b, "none") != 1 {
		t.Error("a home is asked for twice, or its absence is remembered")
	}
	b.Forget("S1")
	if count(b, "S1") != 1 {
		t.Error("a home that is wrong is remembered")
	}
	remembered := 0
	for i := range many {
		if count(a, fmt.Sprint("S", i)) == 0 {
			remembered++
		}
	}
	if remembered > 10_000 {
		t.Errorf("%d homes are remembered", remembered)
	}
	c := w.node()
	for i := range many {
		count(c, fmt.Sprint("S", i))
		if count(c, "S0") != 0 {
			t.Fatalf("a home that is asked for all the time is forgotten after %d", i)
		}
	}
}

// TestForms: a record that was moved does not open, and one of a newer form is not guessed at.
func TestForms(t *testing.T) {
	t.Parallel()
	w := newWorld()
	d := w.node()
	if _, err := d.Open(t.Context(), "S", "A", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	r, err := w.memory.Get(t.Context(), "s.S")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.memory.Create(t.Context(), "s.T", r.Value); err != nil {
		t.Fatal(err)
	}
	if e, err := d.Find(t.Context(), "T"); err == nil {
		t.Errorf("a record that was moved: %+v", e)
	}
	if _, err := w.memory.Create(t.Context(), "s.N", []byte(`{"v":2,"home":"A","epoch":1,"state":"open"}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Home(t.Context(), "N"); !errors.Is(err, records.ErrNewer) {
		t.Error(err)
	}
	if _, err := d.Open(t.Context(), "big", "A", make([]byte, 47<<10)); err != nil {
		t.Errorf("47 KiB: %v", err)
	}
	if _, err := d.Open(t.Context(), "bigger", "A", make([]byte, 64<<10)); !errors.Is(err, records.ErrInvalid) {
		t.Errorf("64 KiB: %v", err)
	}
}
