package vault_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
)

// TestLogins: logins of a cluster are as those of a data folder, whatever answers are lost.
func TestLogins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.everyFew(7)
		bridgetest.CheckLogins(t, vault.NewLogins(w.options("A")), time.Now, passes)
	})
}

// TestLoginsOfNodes: a login that began at one node counts at every other until one ends it; of those that many
// nodes begin at once none is lost, and one that ends is used by nobody meanwhile.
func TestLoginsOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewLogins(w.options("A")), vault.NewLogins(w.options("B"))
		w.everyFew(7)
		begin := func(of *vault.Logins, id string) {
			t.Helper()
			no(t, "begin", of.Begin(ctx, bridge.Login{ID: id, Name: "me", Since: time.Now(), Until: time.Now().Add(time.Hour)}, digestOf(id)))
		}
		lives := func(of *vault.Logins, id string, want bool) {
			t.Helper()
			if l, err := of.Find(ctx, digestOf(id)); err != nil || (l.ID == id) != want {
				t.Errorf("%s is %+v, %v; want %v", id, l, err, want)
			}
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { begin([]*vault.Logins{a, b}[i%2], strconv.Itoa(i)) })
		}
		all.Wait()
		for i := range 8 {
			lives([]*vault.Logins{b, a}[i%2], strconv.Itoa(i), true)
		}
		if gone, err := b.End(ctx, "0"); !gone || err != nil {
			t.Errorf("ended: %v, %v", gone, err)
		}
		lives(a, "0", false)
		lives(a, "1", true)
		w.fails(nil)
		passes(time.Minute)
		ended := false
		w.once(recordstest.None, "get", "l.", func() { // between the read and the note that it was used
			gone, err := b.End(ctx, "1")
			if ended = gone; err != nil {
				t.Error(err)
			}
		})
		lives(a, "1", false)
		if !ended {
			t.Error("nobody ended it")
		}
		if gone, err := a.End(ctx, "1"); gone || err != nil {
			t.Errorf("ended again: %v, %v", gone, err)
		}
		// An answer is lost, and another node changes the box before it is asked about.
		w.once(recordstest.Lose, "update", "l.", func() { begin(b, "after its end") })
		if gone, err := a.End(ctx, "2"); !gone || err != nil {
			t.Errorf("ended, without an answer: %v, %v", gone, err)
		}
		w.once(recordstest.Lose, "update", "l.", func() { begin(b, "after its begin") })
		begin(a, "last")
		lived, err := a.All(ctx)
		no(t, "all", err)
		if ids := fmt.Sprint(idsOf(lived)); ids != "[3 4 5 6 7 after its begin after its end last]" {
			t.Errorf("they are %s", ids)
		}
	})
}

// idsOf returns the IDs of logins, sorted.
func idsOf(all []bridge.Login) (ids []string) {
	for _, l := range all {
		ids = append(ids, l.ID)
	}
	slices.Sort(ids)
	return ids
}

// TestLoginsAreReadOnce: who is logged in costs a request one read, and a write once a minute.
func TestLoginsAreReadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		l := vault.NewLogins(w.options("A"))
		no(t, "begin", l.Begin(ctx, bridge.Login{ID: "me", Since: time.Now(), Until: time.Now().Add(time.Hour)}, digestOf("me")))
		var reads, writes atomic.Int64
		w.fails(func(_ string, op recordstest.Op) recordstest.Fault {
			if op.Name == "get" {
				reads.Add(1)
			} else {
				writes.Add(1)
			}
			return recordstest.None
		})
		for _, n := range []int64{0, 1} { // in the first minute, and after it
			reads.Store(0)
			writes.Store(0)
			for range 10 {
				passes(time.Second)
				if found, err := l.Find(ctx, digestOf("me")); err != nil || found.ID != "me" {
					t.Errorf("it is %+v, %v", found, err)
				}
				if used, err := l.Use(ctx, "me"); err != nil || !used {
					t.Errorf("it is used: %v, %v", used, err)
				}
				if found, err := l.Find(ctx, digestOf("another")); err != nil || found.ID != "" {
					t.Errorf("another is %+v, %v", found, err)
				}
			}
			if reads.Load() != 30 || writes.Load() != n {
				t.Errorf("%d reads and %d writes, want 30 and %d", reads.Load(), writes.Load(), n)
			}
			passes(time.Minute)
		}
		w.fails(func(string, recordstest.Op) recordstest.Fault { return recordstest.Fail })
		if _, err := l.Find(ctx, digestOf("me")); bridge.AsError(err).Reason != bridge.NoQuorum {
			t.Errorf("without the engine: %v", err)
		}
		w.fails(nil)
		if found, err := l.Find(ctx, digestOf("me")); err != nil || found.ID != "me" {
			t.Errorf("with it again: %+v, %v", found, err)
		}
	})
}
