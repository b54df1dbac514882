package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

// TestRecordIsGone: a node whose record somebody removed begins a new life; the others hear of it.
func TestRecordIsGone(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} { // deleted by somebody, or removed by the engine
		synctest.Test(t, func(t *testing.T) {
			r := records.NewMemory()
			a, b := newMachine(r), newMachine(r)
			na, _ := a.join(t, "a")
			nb, _ := b.join(t, "b")
			was := na.Life()
			pass(span)
			if told {
				is, err := r.Get(t.Context(), "n."+was.ID)
				if err != nil || r.Delete(t.Context(), "n."+was.ID, is.Revision) != nil {
					t.Fatal(err)
				}
			} else {
				r.Expire("n." + was.ID)
			}
			until(t, "a new life", span, func() bool { return na.Life() != was && na.Life().Holds() })
			if reborn, _, _ := a.told(); !slices.Equal(reborn, []string{was.ID}) || was.Holds() {
				t.Errorf("%v", reborn)
			}
			until(t, "the other one knows", 2*span, func() bool { return nb.State(was.ID) == lease.Dead })
		})
	}
}

// TestLeave: nobody waits for the death of a node that leaves, also where the answer was lost.
func TestLeave(t *testing.T) {
	t.Parallel()
	for _, fault := range []recordstest.Fault{recordstest.None, recordstest.Lose} {
		synctest.Test(t, func(t *testing.T) {
			r := records.NewMemory()
			a, b := newMachine(r), newMachine(r)
			na, stop := a.join(t, "a")
			nb, _ := b.join(t, "b")
			pass(span)
			stop()
			a.fails(fault, "delete")
			if err := na.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if nb.State(na.Life().ID) != lease.Dead || na.Life().Holds() {
				t.Error("a node that left is not dead")
			}
		})
	}
}

// TestLeaveDead: a life that was declared dead stays so for whoever asks, when its node leaves; and a node that leaves
// while it hears of its death begins no other life.
func TestLeaveDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		a, b := newMachine(r), newMachine(r)
		leaves := make(chan struct{})
		na, stop := a.join(t, "a", func(o *lease.Options) { o.Reborn = func(*lease.Life) { <-leaves } })
		nb, _ := b.join(t, "b")
		was := na.Life()
		pass(span)
		thaw := a.freeze()
		until(t, "it is dead", 2*span, func() bool { return nb.State(was.ID) == lease.Dead })
		thaw()
		until(t, "it knows", span, func() bool { return isClosed(was.Over()) })
		go func() {
			synctest.Wait() // stop has ended the context
			close(leaves)
		}()
		stop()
		if err := na.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if na.Life() != was {
			t.Error("a node that leaves begins a life")
		}
		c := newMachine(r)
		nc, _ := c.join(t, "c")
		pass(span)
		if is := nc.State(was.ID); is != lease.Dead {
			t.Errorf("who comes later knows %v", is)
		}
	})
}

// TestEarlier: a node that has the lock of its data folder declares its own earlier life dead at once.
func TestEarlier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		a, b := newMachine(r), newMachine(r)
		na, stop := a.join(t, "a")
		nb, _ := b.join(t, "b")
		pass(span)
		stop()
		again := newMachine(r)
		again.fails(recordstest.Lose, "update") // the answer is lost
		began := time.Now()
		next, _ := again.join(t, "a", func(o *lease.Options) { o.Earlier = []string{na.Life().ID, "UNKNOWNX", "not a life"} })
		again.fails(recordstest.None, "")
		synctest.Wait()
		if nb.State(na.Life().ID) != lease.Dead || time.Since(began) > span/2 {
			t.Errorf("it is dead: %v, after %v", nb.State(na.Life().ID), time.Since(began))
		}
		if pass(tick); nb.State(next.Life().ID) != lease.Alive {
			t.Error("the new one does not live")
		}
	})
}

// TestAsk: a life that nobody has told of is looked for, and one without a record stays dead.
func TestAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		a, b := newMachine(r), newMachine(r)
		b.fails(recordstest.Hang, "watch")
		nb, _ := b.join(t, "b")
		na, _ := a.join(t, "a")
		pass(tick)
		if s := nb.State(na.Life().ID); s != lease.Unknown {
			t.Errorf("without a watch it knows %v", s)
		}
		if s, err := nb.Ask(t.Context(), na.Life().ID); s != lease.Alive || err != nil {
			t.Errorf("%v, %v", s, err)
		}
		if s, err := nb.Ask(t.Context(), "NOBODYXX"); s != lease.Dead || err != nil {
			t.Errorf("%v, %v", s, err)
		}
		if _, err := r.Create(t.Context(), "n.NOBODYXX", nil); !errors.Is(err, records.ErrExists) {
			t.Errorf("the life that is dead could begin: %v", err)
		}
		if s, err := na.Ask(t.Context(), "NOBODYXX"); s != lease.Dead || err != nil {
			t.Errorf("another one: %v, %v", s, err)
		}
		b.fails(recordstest.Fail, "get")
		if s, err := nb.Ask(t.Context(), "SOMEBODY"); s != lease.Unknown || err == nil {
			t.Errorf("%v, %v", s, err)
		}
		if s := nb.State(nb.Life().ID); s != lease.Alive {
			t.Errorf("its own life is %v", s)
		}
	})
}

// TestNewerVersion: a life whose record is of a newer form is named, and nobody declares it dead.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		if _, err := r.Create(t.Context(), "n.NEWERXXX", []byte(`{"v":2,"node":{"name":"z"}}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Create(t.Context(), "n.BROKENXX", []byte(`{"v":1,"node":7}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Create(t.Context(), "n.LATERXXX", []byte(`{"v":1,"node":"z","more":{"x":[1]}}`)); err != nil {
			t.Fatal(err)
		}
		m := newMachine(r)
		n, _ := m.join(t, "a")
		pass(5 * span)
		if got := n.Newer(); !slices.Equal(got, []string{"NEWERXXX"}) {
			t.Errorf("newer are %v", got)
		}
		for id, want := range map[string]lease.State{"NEWERXXX": lease.Alive, "BROKENXX": lease.Alive, "LATERXXX": lease.Dead} {
			if n.State(id) != want {
				t.Errorf("%s is %v", id, n.State(id))
			}
		}
		if is, err := r.Get(t.Context(), "n.LATERXXX"); err != nil || string(is.Value) != `{"v":1,"dead":"`+n.Life().ID+`","more":{"x":[1]},"node":"z"}` {
			t.Errorf("what another version wrote besides: %s, %v", is.Value, err)
		}
	})
}

// TestManyDeaths: what is known of the dead is bounded.
func TestManyDeaths(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		m := newMachine(r)
		n, _ := m.join(t, "a")
		const many = 10_050
		for i := range many {
			if s, err := n.Ask(t.Context(), fmt.Sprint("D", i)); s != lease.Dead || err != nil {
				t.Fatal(s, err)
			}
			synctest.Wait() // until the watch has told it, too: who hears of one that it forgot knows that again
		}
		known := 0
		for i := range many {
			if n.State(fmt.Sprint("D", i)) == lease.Dead {
				known++
			}
		}
		if known != 10_000 || n.State("D0") == lease.Dead || n.State(fmt.Sprint("D", many-1)) != lease.Dead {
			t.Errorf("%d of %d are known", known, many)
		}
	})
}
