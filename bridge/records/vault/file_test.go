package vault_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
)

// TestFile: of several nodes that change a file at once nothing is lost, however long it is and whatever
// answers are lost, and nothing of an old one stays.
func TestFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, n := newWorld(), 0
		w.fails(func(string, recordstest.Op) recordstest.Fault {
			n++
			return map[int]recordstest.Fault{0: recordstest.Lose, 1: recordstest.Fail}[n%29]
		})
		line := strings.Repeat("x", 20_000)
		add := func(f *vault.File, word string) {
			for {
				text, revision, err := f.Read(t.Context())
				no(t, "read", err)
				if strings.Contains(string(text), word) { // it was written after all
					return
				}
				_, err = f.Write(t.Context(), fmt.Appendf(text, "%s%s\n", word, line), revision)
				no(t, "write", err)
			}
		}
		var all sync.WaitGroup
		for _, id := range []string{"A", "B", "C"} {
			f := vault.NewFile(w.options(id), "logins")
			all.Go(func() {
				for i := range 4 {
					add(f, fmt.Sprintf("%s%d:", id, i))
				}
			})
		}
		all.Wait()
		w.fails(nil)
		text, _, err := vault.NewFile(w.options("D"), "logins").Read(t.Context())
		if lines := strings.Count(string(text), "\n"); lines != 12 || err != nil {
			t.Errorf("%d lines, %v", lines, err)
		}
		d := vault.NewFile(w.options("D"), "logins")
		_, old, err := d.Read(t.Context())
		no(t, "read", err)
		_, err = vault.NewFile(w.options("E"), "logins").Write(t.Context(), []byte("new"), old)
		no(t, "write", err)
		_, _, err = d.Read(t.Context())
		no(t, "read", err)
		if written, err := d.Write(t.Context(), []byte("late"), old); written || err != nil {
			t.Errorf("a file that has changed is written: %v, %v", written, err)
		}
		if other, _, err := vault.NewFile(w.options("D"), "other").Read(t.Context()); len(other) != 0 || err != nil {
			t.Errorf("another file has %d bytes, %v", len(other), err)
		}
	})
}

// TestLock: one has a lock, at all nodes, whatever answers are lost. That of a node that has ended is free,
// and that of no node until its time is over.
func TestLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, n := newWorld(), 0
		w.fails(func(string, recordstest.Op) recordstest.Fault {
			n++
			return map[int]recordstest.Fault{0: recordstest.Lose, 1: recordstest.Fail}[n%7]
		})
		var all sync.WaitGroup
		var has, had atomic.Int64
		for _, id := range []string{"A", "B", ""} {
			f := vault.NewFile(w.options(id), "logins")
			for range 5 {
				all.Go(func() {
					unlock, err := f.Lock(t.Context(), "one")
					no(t, "lock", err)
					if has.Add(1) != 1 {
						t.Error("two have it")
					}
					pause(10)
					has.Add(-1)
					had.Add(1)
					unlock()
				})
			}
		}
		all.Wait()
		if had.Load() != 15 {
			t.Errorf("%d had it", had.Load())
		}
		w.fails(nil)

		short := func(id, name string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			unlock, err := vault.NewFile(w.options(id), "logins").Lock(ctx, name)
			if err == nil {
				unlock()
			}
			return err
		}
		for _, holder := range []string{"C", ""} {
			_, err := vault.NewFile(w.options(holder), "logins").Lock(t.Context(), "held by "+holder)
			no(t, "lock", err)
		}
		for _, name := range []string{"held by C", "held by "} {
			for _, id := range []string{"A", ""} {
				if short(id, name) == nil {
					t.Errorf("%q got the lock %q", id, name)
				}
			}
		}
		w.kill("C")
		no(t, "of a node that has ended", short("A", "held by C"))
		w.kill("")
		if short("A", "held by ") == nil {
			t.Error("the lock of no node was taken")
		}
	})
}
