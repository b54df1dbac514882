package oauth

import (
	"context"
	"encoding/base32"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
)

// cluster has the records of a cluster, and whether its engine is away.
type cluster struct {
	memory *records.Memory
	away   atomic.Bool
	after  func(node string, op recordstest.Op) // nil: nothing
}

// store opens the credentials as a node does.
func (c *cluster) store(t *testing.T, node string) *Store {
	t.Helper()
	faulty := &recordstest.Faulty{Records: c.memory, Fault: func(recordstest.Op) recordstest.Fault {
		if c.away.Load() {
			return recordstest.Fail
		}
		return recordstest.None
	}, After: func(op recordstest.Op) {
		if c.after != nil {
			c.after(node, op)
		}
	}}
	f := vault.NewFile(vault.Options{Records: faulty, Sealer: recordstest.Sealer{}, Self: func() string { return node },
		Name: func(parts ...string) string {
			return strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(strings.Join(parts[1:], "/"))), "=")[:8]
		},
		Dead: func(context.Context, string) (bool, error) { return false, nil }}, "credentials of tests")
	s, err := ShareStore(t.Context(), f, make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSharedWriters: of many writers at several machines none loses what another one wrote.
func TestSharedWriters(t *testing.T) {
	t.Parallel()
	c := &cluster{memory: records.NewMemory()}
	var all sync.WaitGroup
	for node := range 3 {
		k := New(Options{Store: c.store(t, fmt.Sprint("NODE", node))})
		for i := range 5 {
			target := targetOf(t, "https://api.example", []Scheme{bearer})
			target.Principal = fmt.Sprintf("p%d-%d", node, i)
			all.Go(func() {
				if err := k.Keep(t.Context(), target, bearer, "s3cret"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	kept, err := New(Options{Store: c.store(t, "LAST")}).Status()
	if len(kept) != 15 || err != nil {
		t.Errorf("%d credentials are kept, %v", len(kept), err)
	}
	for _, e := range kept {
		if e.Damaged {
			t.Errorf("%+v", e)
		}
	}
}

// TestSharedChange: what another node writes between reading and writing is not lost.
func TestSharedChange(t *testing.T) {
	t.Parallel()
	c := &cluster{memory: records.NewMemory()}
	keep := func(s *Store, principal string) {
		target := targetOf(t, "https://api.example", []Scheme{bearer})
		target.Principal = principal
		if err := New(Options{Store: s}).Keep(t.Context(), target, bearer, "s3cret"); err != nil {
			t.Error(err)
		}
	}
	a, b := c.store(t, "A"), c.store(t, "B")
	done := false
	c.after = func(node string, op recordstest.Op) {
		if node == "A" && op.Name == "get" && !done {
			done = true
			keep(b, "bob")
		}
	}
	keep(a, "ann")
	if kept, err := New(Options{Store: c.store(t, "C")}).Status(); len(kept) != 2 || err != nil {
		t.Errorf("%+v, %v", kept, err)
	}
}

// TestSharedRenewal: a token is renewed once, whichever nodes need it; and what was read lasts while the
// engine is away, but no renewal begins that cannot be kept.
func TestSharedRenewal(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	c := &cluster{memory: records.NewMemory()}
	w.store = c.store(t, "A")
	w.keeper = New(Options{Store: w.store, Client: w.api.Client()})
	wants(t, "the login", w.try(t), "")
	w.spoil(t, expire)
	before := f.count("/token")
	keepers := []*Keeper{w.keeper, New(Options{Store: c.store(t, "B"), Client: w.api.Client()})}
	sign := func(k *Keeper) (string, error) {
		r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
		err := k.Sign(t.Context(), w.target, r)
		return r.Header.Get("Authorization"), err
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if got, err := sign(keepers[i%2]); err != nil || got != "Bearer access-2" {
				t.Errorf("signed as %q: %v", got, err)
			}
		})
	}
	all.Wait()
	if n := f.count("/token") - before; n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
	c.away.Store(true)
	for _, k := range keepers {
		k.store.until = k.store.until.Add(-readFor) // it would read again
		if got, err := sign(k); err != nil || got != "Bearer access-2" {
			t.Errorf("without the engine, signed as %q: %v", got, err)
		}
	}
	c.away.Store(false)
	w.spoil(t, expire)
	c.away.Store(true)
	before = f.count("/token")
	if _, err := sign(w.keeper); err == nil || f.count("/token") != before {
		t.Errorf("without the engine, %d renewals: %v", f.count("/token")-before, err)
	}
}
