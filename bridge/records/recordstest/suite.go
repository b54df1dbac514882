package recordstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// patience limits what an engine on this machine takes for an answer.
const patience = 20 * time.Second

// Open returns an engine. Called twice in a test it returns the same one, by connections of their
// own where it has connections. Tests use keys of their own, so that they can share one.
type Open func(t *testing.T) records.Records

// Test runs the suite against an engine.
func Test(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"one record":          testOne,
		"revisions":           testRevisions,
		"sizes":               testSizes,
		"keys":                testKeys,
		"contexts":            testContexts,
		"one creates":         testOneCreates,
		"none is lost":        testNoneIsLost,
		"one deletes":         testOneDeletes,
		"own writes are read": testOwnWrites,
		"lost answers":        testLostAnswers,
		"watch":               testWatch,
		"watch of nothing":    testWatchNothing,
		"watch of many":       testWatchMany,
		"watch of one prefix": testWatchPrefix,
		"watch while writing": testWatchWhileWriting,
		"watch ends":          testWatchEnds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// kinds are lifetimes of records that are tested: one of each that an engine has.
var kinds = []string{"n.", "k.", "s."}

var ids atomic.Int64

// key returns a key that no other test has. It begins with the kind.
func key(kind string) string {
	return fmt.Sprintf("%sK%dX%d", kind, time.Now().UnixNano(), ids.Add(1))
}

func testOne(t *testing.T, open Open) {
	r := open(t)
	for _, kind := range kinds {
		k := key(kind)
		_, err := r.Get(t.Context(), k)
		is(t, err, records.ErrNone)
		_, err = r.Update(t.Context(), k, []byte("x"), 1)
		is(t, err, records.ErrChanged)
		is(t, r.Delete(t.Context(), k, 1), records.ErrChanged)

		first := create(t, r, k, "one")
		_, err = r.Create(t.Context(), k, []byte("one"))
		is(t, err, records.ErrExists)
		holds(t, r, k, "one", first)

		second := update(t, r, k, "two", first)
		for _, was := range []uint64{0, first, second + 1} {
			_, err = r.Update(t.Context(), k, []byte("three"), was)
			is(t, err, records.ErrChanged)
			is(t, r.Delete(t.Context(), k, was), records.ErrChanged)
		}
		holds(t, r, k, "two", second)

		is(t, r.Delete(t.Context(), k, second), nil)
		_, err = r.Get(t.Context(), k)
		is(t, err, records.ErrNone)
		is(t, r.Delete(t.Context(), k, second), records.ErrChanged)
		for _, was := range []uint64{0, first, second} {
			_, err = r.Update(t.Context(), k, []byte("four"), was)
			is(t, err, records.ErrChanged)
		}
		again := create(t, r, k, "five")
		if again <= second {
			t.Errorf("%s: revision %d after %d, over a deletion", k, again, second)
		}
		holds(t, r, k, "five", again)
	}
}

func testRevisions(t *testing.T, open Open) {
	r := open(t)
	for _, kind := range kinds {
		a, b := key(kind), key(kind)
		last := create(t, r, a, "a")
		other := create(t, r, b, "b")
		for range 5 {
			if other <= last {
				t.Fatalf("%s: revision %d after %d", kind, other, last)
			}
			last = update(t, r, a, "a", last)
			if last <= other {
				t.Fatalf("%s: revision %d after %d", kind, last, other)
			}
			other = update(t, r, b, "b", other)
		}
	}
}

func testSizes(t *testing.T, open Open) {
	r := open(t)
	whole := bytes.Repeat([]byte("0123456789abcdef\x00\xff\r\n\t{}\""), records.MaxValue/20)[:records.MaxValue]
	for _, kind := range kinds {
		for _, value := range [][]byte{nil, {}, {0}, whole} {
			k := key(kind)
			rev, err := r.Create(t.Context(), k, value)
			is(t, err, nil)
			got, err := r.Get(t.Context(), k)
			is(t, err, nil)
			if !bytes.Equal(got.Value, value) || got.Revision != rev {
				t.Errorf("%d bytes came back as %d, revision %d as %d", len(value), len(got.Value), rev, got.Revision)
			}
			_, err = r.Update(t.Context(), k, append(whole, 'x'), rev)
			is(t, err, records.ErrInvalid)
			_, err = r.Update(t.Context(), k, whole, rev)
			is(t, err, nil)
		}
		k := key(kind)
		_, err := r.Create(t.Context(), k, append(whole, 'x'))
		is(t, err, records.ErrInvalid)
		_, err = r.Get(t.Context(), k)
		is(t, err, records.ErrNone)
	}
}

func testKeys(t *testing.T, open Open) {
	r := open(t)
	for _, bad := range []string{
		"", "n", "n.", ".", ".n", "N.A", "q.A", "nn.A", "n..A", "n.A.", "n.*", "n.>", "n.a b", "n.a\nb", "n.ä", "n.a/b", "n.$A",
		"n." + strings.Repeat("x", records.MaxKey-1),
	} {
		_, err := r.Get(t.Context(), bad)
		is(t, err, records.ErrInvalid)
		_, err = r.Create(t.Context(), bad, []byte("x"))
		is(t, err, records.ErrInvalid)
		_, err = r.Update(t.Context(), bad, []byte("x"), 1)
		is(t, err, records.ErrInvalid)
		is(t, r.Delete(t.Context(), bad, 1), records.ErrInvalid)
	}
	for _, bad := range []string{"", "n", "n.A", ".", "q.", "n..", "n.*.", "n.>."} {
		_, err := r.Watch(t.Context(), bad)
		is(t, err, records.ErrInvalid)
	}
	k := key("t.")
	k += ".1_-=" + strings.Repeat("x", records.MaxKey-len(k)-5)
	holds(t, r, k, "long", create(t, r, k, "long"))
}

func testContexts(t *testing.T, open Open) {
	r := open(t)
	k := key("n.")
	rev := create(t, r, k, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := r.Get(ctx, k)
	_, made := r.Create(ctx, key("n."), nil)
	_, updated := r.Update(ctx, k, nil, rev+7)
	_, watched := r.Watch(ctx, "n.")
	for _, err := range []error{get, made, updated, r.Delete(ctx, k, rev+7), watched} {
		if !errors.Is(err, context.Canceled) || isFact(err) {
			t.Errorf("with a context that has ended: %v", err)
		}
	}
	holds(t, r, k, "one", rev)
}

// racers counts the connections that do one thing at once.
const racers = 8

// race calls do at once, by connections of their own.
func race(t *testing.T, open Open, do func(r records.Records, i int)) {
	t.Helper()
	var engines [racers]records.Records
	for i := range engines {
		engines[i] = open(t) // first: where one cannot, nobody goes on when the test has ended
	}
	var all sync.WaitGroup
	for i, r := range engines {
		all.Go(func() { do(r, i) })
	}
	all.Wait()
}

func testOneCreates(t *testing.T, open Open) {
	for _, kind := range kinds {
		k := key(kind)
		var won atomic.Int64
		race(t, open, func(r records.Records, i int) {
			for round := range 5 {
				switch _, err := r.Create(t.Context(), fmt.Sprintf("%s-%d", k, round), fmt.Append(nil, i)); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, records.ErrExists):
					t.Error(err)
				}
			}
		})
		if won.Load() != 5 {
			t.Errorf("%d creations of 5 records", won.Load())
		}
	}
}

func testNoneIsLost(t *testing.T, open Open) {
	const each = 10
	k := key("n.")
	create(t, open(t), k, "")
	race(t, open, func(r records.Records, _ int) {
		for done := 0; done < each; {
			is, err := r.Get(t.Context(), k)
			if err != nil {
				t.Error(err)
				return
			}
			_, err = r.Update(t.Context(), k, append(is.Value, 'x'), is.Revision)
			if err == nil {
				done++
				continue
			}
			if now, getErr := r.Get(t.Context(), k); !errors.Is(err, records.ErrChanged) || getErr != nil || now.Revision == is.Revision {
				t.Errorf("%v, and it has revision %d after %d: %v", err, now.Revision, is.Revision, getErr)
				return
			}
		}
	})
	got, err := open(t).Get(t.Context(), k)
	is(t, err, nil)
	if len(got.Value) != racers*each {
		t.Errorf("%d of %d updates are there", len(got.Value), racers*each)
	}
}

func testOneDeletes(t *testing.T, open Open) {
	for _, kind := range kinds {
		k := key(kind)
		rev := create(t, open(t), k, "")
		var won atomic.Int64
		race(t, open, func(r records.Records, _ int) {
			switch err := r.Delete(t.Context(), k, rev); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, records.ErrChanged):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Errorf("%d deletions of one record", won.Load())
		}
	}
}

// testOwnWrites: what one connection was told to have happened, another reads at once.
func testOwnWrites(t *testing.T, open Open) {
	a, b := open(t), open(t)
	for _, kind := range kinds {
		k := key(kind)
		rev := create(t, a, k, "0")
		for i := range 50 {
			holds(t, b, k, fmt.Sprint(i), rev)
			a, b = b, a
			rev = update(t, b, k, fmt.Sprint(i+1), rev)
		}
		is(t, a.Delete(t.Context(), k, rev), nil)
		_, err := b.Get(t.Context(), k)
		is(t, err, records.ErrNone)
	}
}

// testLostAnswers: an operation whose answer is lost has happened, and reading says so.
func testLostAnswers(t *testing.T, open Open) {
	r := open(t)
	fault := Lose
	lossy := &Faulty{Records: r, Fault: func(Op) Fault { return fault }}
	k := key("s.")
	_, err := lossy.Create(t.Context(), k, []byte("one"))
	is(t, err, ErrFault)
	_, err = r.Create(t.Context(), k, []byte("one"))
	is(t, err, records.ErrExists)
	got, err := r.Get(t.Context(), k)
	is(t, err, nil)
	_, err = lossy.Update(t.Context(), k, []byte("two"), got.Revision)
	is(t, err, ErrFault)
	_, err = r.Update(t.Context(), k, []byte("two"), got.Revision)
	is(t, err, records.ErrChanged)
	got, err = r.Get(t.Context(), k)
	is(t, err, nil)
	if string(got.Value) != "two" {
		t.Errorf("the record holds %q", got.Value)
	}
	is(t, lossy.Delete(t.Context(), k, got.Revision), ErrFault)
	is(t, r.Delete(t.Context(), k, got.Revision), records.ErrChanged)

	fault = Fail
	_, err = lossy.Create(t.Context(), k, nil)
	is(t, err, ErrFault)
	_, err = lossy.Get(t.Context(), k)
	is(t, err, ErrFault)
	for _, slow := range []Fault{Hang, Drown} {
		fault = slow
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err = lossy.Create(ctx, k, []byte("slow"))
		is(t, err, context.DeadlineExceeded)
		cancel()
		_, err = r.Get(t.Context(), k)
		is(t, err, map[Fault]error{Hang: records.ErrNone, Drown: nil}[slow])
	}
}
