package vault_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// draft makes a webtool without actions, which differs by n.
func draft(n int) func() *webtool.Document {
	return func() *webtool.Document {
		return webtool.Draft("shop", fmt.Sprint("Number ", n), nil, webtool.Config{Schema: json.RawMessage(`{}`), Default: json.RawMessage(`{}`)})
	}
}

// TestNumbersOfNodes: nodes that see other releases of a site at once never give one number to two
// definitions, nor two numbers to one, whatever answers are lost, and each serves what another one has made.
func TestNumbersOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w, n := t.Context(), newWorld(), 0
		w.fails(func(string, recordstest.Op) recordstest.Fault {
			n++
			return map[int]recordstest.Fault{0: recordstest.Lose, 1: recordstest.Fail}[n%17]
		})
		var mu sync.Mutex
		numbers, digests := map[string]string{}, map[string]string{}
		var all sync.WaitGroup
		var histories []*webtool.History
		for at, id := range []string{"A", "B", "C"} {
			h := webtool.NewHistory("shop", webtool.Options{Store: vault.NewVersions(w.options(id))})
			histories = append(histories, h)
			if _, err := h.Version(ctx, "1.0.0"); err != nil { // it knows of none, when others make theirs
				t.Fatal(err)
			}
			all.Go(func() {
				for i := range 8 {
					for { // somebody else can be first too often
						d, err := h.Observe(ctx, new(int), draft((i*7+at*4)%12))
						if err != nil {
							if !strings.Contains(err.Error(), webtool.ErrConflict.Error()) {
								t.Error(err)
								return
							}
							continue
						}
						mu.Lock()
						if was := numbers[d.Version]; was != "" && was != d.Digest {
							t.Errorf("%s is two definitions", d.Version)
						}
						if was := digests[d.Digest]; was != "" && was != d.Version {
							t.Errorf("a definition is %s and %s", was, d.Version)
						}
						numbers[d.Version], digests[d.Digest] = d.Digest, d.Version
						mu.Unlock()
						break
					}
				}
			})
		}
		all.Wait()
		if len(numbers) != 12 {
			t.Errorf("%d numbers", len(numbers))
		}
		w.fails(nil)
		last, err := histories[0].Observe(ctx, new(int), draft(99))
		no(t, "one more", err)
		numbers[last.Version] = last.Digest
		for number, digest := range numbers {
			for i, h := range histories {
				if d, err := h.Version(ctx, number); err != nil || d == nil || d.Digest != digest {
					t.Errorf("%s at node %d: %v, %v", number, i, d, err)
				}
			}
		}
	})
}

// TestNumberTaken: a number that another node makes between reading and writing belongs to that node.
func TestNumberTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		version := func(digest string) webtool.Record {
			return webtool.Record{Version: "1.0.1", Digest: digest, Document: json.RawMessage(`1`)}
		}
		a, b := vault.NewVersions(w.options("A")), vault.NewVersions(w.options("B"))
		no(t, "append", a.Append(ctx, "shop", webtool.Record{Version: "1.0.0", Digest: "first", Document: json.RawMessage(`1`)}))
		w.once(recordstest.None, "get", "h.", func() { no(t, "append", b.Append(ctx, "shop", version("b"))) })
		if err := a.Append(ctx, "shop", version("a")); !errors.Is(err, webtool.ErrConflict) {
			t.Errorf("it is another node's: %v", err)
		}
		if all, err := a.Load(ctx, "shop"); len(all) != 2 || all[1].Digest != "b" || err != nil {
			t.Errorf("%v, %v", all, err)
		}
	})
}

// TestVersionsWithoutEngine: no number is given without an engine; what is known is served.
func TestVersionsWithoutEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		h := webtool.NewHistory("shop", webtool.Options{Store: vault.NewVersions(w.options("A"))})
		for i := range 2 {
			if _, err := h.Observe(ctx, new(int), draft(i)); err != nil {
				t.Fatal(err)
			}
		}
		w.fails(func(string, recordstest.Op) recordstest.Fault { return recordstest.Fail })
		_, err := h.Observe(ctx, new(int), draft(2))
		lostKey(t, "a new version", err, recordstest.ErrFault)
		for i := range 2 {
			if d, err := h.Observe(ctx, new(int), draft(i)); err != nil || d == nil {
				t.Errorf("a version that is known: %v, %v", d, err)
			}
		}
		w.fails(nil)
		if d, err := h.Observe(ctx, new(int), draft(2)); err != nil || d.Version != "1.0.2" {
			t.Errorf("afterwards: %v, %v", d, err)
		}
	})
}

// keys returns the keys of the boxes that there are.
func keys(t *testing.T, w *world, prefix string) map[string]bool {
	t.Helper()
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	all, err := w.memory.Watch(watching, prefix)
	no(t, "watch", err)
	found := map[string]bool{}
	for r := range all {
		if r.IsMark() {
			break
		}
		found[strings.Join(strings.SplitN(r.Key, ".", 3)[:2], ".")] = true
	}
	return found
}

// TestDocumentsGo: nothing of a document stays that no version has.
func TestDocumentsGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testDocumentsGo)
}

func testDocumentsGo(t *testing.T) {
	w := newWorld()
	o := w.options("A")
	o.MaxVersionBytes = 200_000
	v := vault.NewVersions(o)
	add := func(version, digest string) error {
		return v.Append(t.Context(), "shop", webtool.Record{Version: version, Digest: digest, LastSeen: time.Now(),
			Document: json.RawMessage(`"` + strings.Repeat("x", 59_998) + `"`)})
	}
	for i := range 10 {
		no(t, "append", add(fmt.Sprintf("%d.0.0", i), fmt.Sprint(i)))
	}
	if add("9.0.0", "other") == nil {
		t.Error("a number has two definitions")
	}
	left, err := v.Load(t.Context(), "shop")
	no(t, "load", err)
	documents := keys(t, w, "d.")
	if len(left) != 3 || len(documents) != 3 {
		t.Errorf("%d versions and %d documents are left", len(left), len(documents))
	}
	// One that another node was faster with leaves none.
	w.once(recordstest.Lose, "create", "d.", func() {
		no(t, "append", vault.NewVersions(w.options("B")).Append(t.Context(), "shop", webtool.Record{Version: "10.0.0", Digest: "b", Document: json.RawMessage(`1`)}))
	})
	if err := add("10.0.0", "a"); !errors.Is(err, webtool.ErrConflict) {
		t.Errorf("a number of another node: %v", err)
	}
	if now := keys(t, w, "d."); len(now) != 4 {
		t.Errorf("%d documents of 4 versions", len(now))
	}
	// One whose document was lost gets it again.
	for key := range documents {
		r, err := w.memory.Get(t.Context(), key)
		no(t, "get", err)
		no(t, "delete", w.memory.Delete(t.Context(), key, r.Revision))
	}
	if d, err := v.Document(t.Context(), "shop", "9.0.0"); d != nil || err != nil {
		t.Errorf("a lost document is %.20s, %v", d, err)
	}
	no(t, "append", add("9.0.0", "9"))
	if d, err := v.Document(t.Context(), "shop", "9.0.0"); len(d) != 60_000 || err != nil {
		t.Errorf("it has %d bytes, %v", len(d), err)
	}
}
