package recordstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

func testWatch(t *testing.T, open Open) {
	a, b := open(t), open(t)
	for _, kind := range kinds {
		k := key(kind)
		gone := create(t, a, k+".gone", "gone")
		one := create(t, a, k+".1", "one")
		two := create(t, a, k+".2", "two")
		one = update(t, a, k+".1", "one again", one)
		is(t, a.Delete(t.Context(), k+".gone", gone), nil)

		w := watch(t, b, k+".")
		all := w.all(t)
		if len(all) != 2 || !same(all[k+".1"], "one again", one) || !same(all[k+".2"], "two", two) {
			t.Fatalf("%v were there", all)
		}
		one = update(t, a, k+".1", "once more", one)
		w.sees(t, k+".1", "once more", one)
		three := create(t, a, k+".3", "three")
		w.sees(t, k+".3", "three", three)
		is(t, a.Delete(t.Context(), k+".2", two), nil)
		if got := w.next(t); got.Key != k+".2" || !got.Deleted || got.Value != nil || got.Revision <= three {
			t.Fatalf("a deletion is told as %+v", got)
		}
		two = create(t, a, k+".2", "two again")
		w.sees(t, k+".2", "two again", two)

		late := watch(t, a, k+".")
		if all := late.all(t); len(all) != 3 || !same(all[k+".1"], "once more", one) || !same(all[k+".2"], "two again", two) {
			t.Fatalf("%v were there for one who came late", all)
		}
	}
}

func testWatchNothing(t *testing.T, open Open) {
	r := open(t)
	for _, kind := range kinds {
		k := key(kind)
		w := watch(t, r, k+".")
		if all := w.all(t); len(all) != 0 {
			t.Fatalf("%v were there", all)
		}
		w.sees(t, k+".1", "first", create(t, r, k+".1", "first"))

		// What was deleted is nothing, too.
		gone := key(kind)
		is(t, r.Delete(t.Context(), gone+".1", create(t, r, gone+".1", "x")), nil)
		if all := watch(t, r, gone+".").all(t); len(all) != 0 {
			t.Fatalf("%v were there after the deletion", all)
		}
	}
}

func testWatchMany(t *testing.T, open Open) {
	r := open(t)
	const many = 600
	k := key("s.")
	for i := range many {
		create(t, r, fmt.Sprintf("%s.%d", k, i), fmt.Sprint(i))
	}
	w := watch(t, r, k+".")
	all := w.all(t)
	for i := range many {
		if got := all[fmt.Sprintf("%s.%d", k, i)]; string(got.Value) != fmt.Sprint(i) {
			t.Fatalf("record %d of %d is %+v", i, len(all), got)
		}
	}
	w.sees(t, k+".more", "more", create(t, r, k+".more", "more"))
}

func testWatchPrefix(t *testing.T, open Open) {
	r := open(t)
	k := key("t.")
	other := strings.Replace(k, "t.", "x.", 1)
	for _, name := range []string{k, k + "X.1", other + ".1", k + ".1"} {
		create(t, r, name, name)
	}
	w := watch(t, r, k+".")
	if all := w.all(t); len(all) != 1 || string(all[k+".1"].Value) != k+".1" {
		t.Fatalf("%v were there", all)
	}
	for _, name := range []string{k + "X.2", other + ".2"} {
		create(t, r, name, name)
	}
	w.sees(t, k+".2.3", "deep", create(t, r, k+".2.3", "deep"))
	if _, there := watch(t, r, "t.").all(t)[k]; !there {
		t.Fatalf("a watch of all tickets misses one")
	}
}

// testWatchWhileWriting: whatever is written while a watch begins, the last of it is seen, in order.
func testWatchWhileWriting(t *testing.T, open Open) {
	a, b := open(t), open(t)
	k := key("n.")
	rev := create(t, a, k+".1", "0")
	var watches []*seen
	for range 5 {
		written := make(chan error, 1)
		go func() {
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				rev, err = a.Update(t.Context(), k+".1", []byte("more"), rev)
			}
			written <- err
		}()
		w := watch(t, b, k+".")
		w.all(t)
		watches = append(watches, w)
		is(t, <-written, nil)
	}
	for _, w := range watches {
		for w.last[k+".1"] < rev {
			w.next(t)
		}
	}
}

func testWatchEnds(t *testing.T, open Open) {
	r := open(t)
	k := key("n.")
	create(t, r, k+".1", "x")
	for _, read := range []bool{true, false} { // a reader that goes, and one that never came
		ctx, cancel := context.WithCancel(t.Context())
		changes, err := r.Watch(ctx, k+".")
		is(t, err, nil)
		w := &seen{changes: changes, last: map[string]uint64{}}
		if read {
			w.all(t)
		}
		cancel()
		for range changes { // it is closed
		}
	}
}

// seen reads a watch, and fails a test where it goes back in time.
type seen struct {
	changes <-chan records.Record
	last    map[string]uint64
}

func watch(t *testing.T, r records.Records, prefix string) *seen {
	t.Helper()
	changes, err := r.Watch(t.Context(), prefix)
	is(t, err, nil)
	return &seen{changes: changes, last: map[string]uint64{}}
}

// next returns the next of a watch.
func (w *seen) next(t *testing.T) records.Record {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r, open := <-w.changes:
		if !open {
			t.Fatal("the watch was closed")
		}
		if !r.IsMark() && r.Revision <= w.last[r.Key] {
			t.Fatalf("%s: revision %d after %d", r.Key, r.Revision, w.last[r.Key])
		}
		w.last[r.Key] = r.Revision
		return r
	case <-timer.C:
		t.Fatal("the watch said nothing")
	}
	return records.Record{}
}

// all reads to the mark, and returns what is there.
func (w *seen) all(t *testing.T) map[string]records.Record {
	t.Helper()
	there := map[string]records.Record{}
	for {
		switch r := w.next(t); {
		case r.IsMark():
			return there
		case r.Deleted:
			delete(there, r.Key)
		default:
			there[r.Key] = r
		}
	}
}

func (w *seen) sees(t *testing.T, key, value string, revision uint64) {
	t.Helper()
	if got := w.next(t); got.Key != key || !same(got, value, revision) {
		t.Fatalf("the watch says %+v, not %s", got, key)
	}
}

func same(r records.Record, value string, revision uint64) bool {
	return string(r.Value) == value && r.Revision == revision && !r.Deleted
}

func create(t *testing.T, r records.Records, key, value string) uint64 {
	t.Helper()
	rev, err := r.Create(t.Context(), key, []byte(value))
	if err != nil || rev == 0 {
		t.Fatalf("creating %s: revision %d, %v", key, rev, err)
	}
	return rev
}

func update(t *testing.T, r records.Records, key, value string, was uint64) uint64 {
	t.Helper()
	rev, err := r.Update(t.Context(), key, []byte(value), was)
	if err != nil || rev <= was {
		t.Fatalf("updating %s: revision %d after %d, %v", key, rev, was, err)
	}
	return rev
}

func holds(t *testing.T, r records.Records, key, value string, revision uint64) {
	t.Helper()
	got, err := r.Get(t.Context(), key)
	if err != nil || got.Key != key || !same(got, value, revision) {
		t.Fatalf("%s is %+v, %v; not %q at %d", key, got, err, value, revision)
	}
}

func isFact(err error) bool {
	for _, fact := range []error{records.ErrNone, records.ErrExists, records.ErrChanged, records.ErrInvalid} {
		if errors.Is(err, fact) {
			return true
		}
	}
	return false
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want != nil && err == nil {
		t.Fatalf("%v, not %v", err, want)
	}
}
