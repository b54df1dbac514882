package catalog_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/catalog"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

const lease = 4 * time.Second

// name hides names as the cluster's does.
func name(parts ...string) string {
	mac := hmac.New(sha256.New, []byte("names"))
	fmt.Fprintf(mac, "%q", parts)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil))[:26]
}

// shut opens nothing.
type shut struct{ recordstest.Sealer }

func (shut) Open(string, string, []byte) ([]byte, error) { return nil, errors.New("another key") }

// world has nodes over one engine.
type world struct {
	t       *testing.T
	records records.Records
	mu      sync.Mutex
	alive   []string
	nodes   map[string]*catalog.Catalogs
	stops   map[string]func()
}

func newWorld(t *testing.T, r records.Records, ids ...string) *world {
	w := &world{t: t, records: r, alive: ids, nodes: map[string]*catalog.Catalogs{}, stops: map[string]func(){}}
	for _, id := range ids {
		w.start(id)
	}
	t.Cleanup(func() {
		for _, stop := range w.stops {
			stop()
		}
	})
	return w
}

func (w *world) start(id string) *catalog.Catalogs {
	c := catalog.New(catalog.Options{Records: w.records, Sealer: recordstest.Sealer{}, Name: name, Lease: lease, MaxContent: 1 << 20,
		Self: func() string { return id },
		Others: func() []string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.DeleteFunc(slices.Clone(w.alive), func(other string) bool { return other == id })
		},
		Dead: func(_ context.Context, other string) (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !slices.Contains(w.alive, other), nil
		}})
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	w.nodes[id], w.stops[id] = c, func() { cancel(); <-ended }
	return c
}

// kill ends a node without a word; the others hear that it is dead.
func (w *world) kill(id string) {
	w.stops[id]()
	w.mu.Lock()
	w.alive = slices.DeleteFunc(w.alive, func(other string) bool { return other == id })
	w.mu.Unlock()
	for _, c := range w.nodes {
		c.Kick()
	}
}

// follow has these nodes follow a site.
func (w *world) follow(site string, ids ...string) map[string]*catalog.Site {
	all := map[string]*catalog.Site{}
	for _, id := range ids {
		all[id] = w.nodes[id].Follow(site, "https://"+site+".example")
		w.t.Cleanup(all[id].Close)
	}
	return all
}

// owner waits until one of these nodes has the site, and no other one.
func owner(t *testing.T, sites map[string]*catalog.Site) string {
	t.Helper()
	for range 1000 {
		synctest.Wait()
		var all []string
		for id, s := range sites {
			if own, _, _ := s.Now(); own {
				all = append(all, id)
			}
		}
		if len(all) == 1 {
			return all[0]
		}
		if len(all) > 1 {
			t.Fatalf("%q have the site", all)
		}
		<-time.After(lease / 8)
	}
	t.Fatal("nobody has the site")
	return ""
}

// shows checks what a node reads of a site.
func shows(t *testing.T, why string, s *catalog.Site, want string) {
	t.Helper()
	synctest.Wait()
	if got, set, err := s.Read(t.Context()); string(got) != want || err != nil || set == "" {
		t.Errorf("%s: %.40q of %q, %v", why, got, set, err)
	}
}

func tell(t *testing.T, s *catalog.Site, content string) {
	t.Helper()
	if err := s.Tell(t.Context(), []byte(content), nil); err != nil {
		t.Fatal(err)
	}
}

// keys lists the records.
func (w *world) keys(prefix string) (all []string) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	records, err := w.records.Watch(ctx, prefix)
	if err != nil {
		w.t.Fatal(err)
	}
	for r := range records {
		if r.IsMark() {
			break
		}
		all = append(all, r.Key)
	}
	return all
}

// TestOwner: the node whose name is first for a site takes it, a living owner keeps it, and the death of
// the owner makes another one the owner, at once, with what the last one told.
func TestOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, records.NewMemory(), "A", "B", "C")
		had := map[string]bool{}
		for i := range 12 {
			site := fmt.Sprintf("site%d", i)
			sites := w.follow(site, "A", "B", "C")
			key := name("catalog", site, "https://"+site+".example")
			best := slices.MaxFunc([]string{"A", "B", "C"}, func(a, b string) int {
				return strings.Compare(name("owner", a, key), name("owner", b, key))
			})
			if got := owner(t, sites); got != best {
				t.Errorf("%s has %s, and %s is first", got, site, best)
			}
			had[best] = true
		}
		if len(had) < 2 {
			t.Errorf("all sites are of %v", had)
		}
		sites := w.follow("shop", "A", "B", "C")
		first := owner(t, sites)
		tell(t, sites[first], "one")
		late := w.start("D")
		w.mu.Lock()
		w.alive = append(w.alive, "D")
		w.mu.Unlock()
		sites["D"] = late.Follow("shop", "https://shop.example")
		defer sites["D"].Close()
		<-time.After(3 * lease)
		if got := owner(t, sites); got != first {
			t.Errorf("a living owner lost the site to %s", got)
		}
		shows(t, "a node that came later", sites["D"], "one")
		w.kill(first)
		delete(sites, first)
		died := time.Now()
		second := owner(t, sites)
		if took := time.Since(died); took > lease/4 {
			t.Errorf("a new owner after %v", took)
		}
		for id, s := range sites {
			shows(t, "after the owner died, "+id, s, "one")
		}
		tell(t, sites[second], "two")
		for id, s := range sites {
			shows(t, "of the new owner, "+id, s, "two")
			if o := w.nodes[id].Owner("shop"); o != second {
				t.Errorf("%s says that %s has it", id, o)
			}
		}
	})
}

// TestSites: the same name with another target is another site, with another list.
func TestSites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, records.NewMemory(), "A", "B")
		a, b := w.nodes["A"].Follow("shop", "https://one.example"), w.nodes["B"].Follow("shop", "https://two.example")
		defer a.Close()
		defer b.Close()
		owner(t, map[string]*catalog.Site{"A": a})
		owner(t, map[string]*catalog.Site{"B": b})
		tell(t, a, "one")
		tell(t, b, "two")
		shows(t, "one target", a, "one")
		shows(t, "the other", b, "two")
		list, err := catalog.Survey(t.Context(), w.records, recordstest.Sealer{})
		if err != nil || len(list) != 2 || list[0].Site != "shop" || list[0].Owner == list[1].Owner {
			t.Errorf("%v, %v", list, err)
		}
		if list, err = catalog.Survey(t.Context(), w.records, shut{}); err != nil || len(list) != 2 || len(list[0].Site) != 26 {
			t.Errorf("without the key: %v, %v", list, err)
		}
		for _, key := range w.keys("c.h.") {
			r, err := w.records.Get(t.Context(), key)
			if err != nil || strings.Contains(string(r.Value), "shop") || strings.Contains(key, "shop") || !strings.HasPrefix(string(r.Value), `{"v":1,"owner":`) {
				t.Errorf("%s: %s, %v", key, r.Value, err)
			}
		}
	})
}

// TestContent: content of any length is read as it was written, and its parts are removed when there is
// another one; content that is too long, or not as it was written, is refused.
func TestContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, records.NewMemory(), "A", "B")
		sites := w.follow("shop", "A", "B")
		first := owner(t, sites)
		other := map[string]string{"A": "B", "B": "A"}[first]
		for _, n := range []int{0, 1, 45<<10 - 1, 45 << 10, 45<<10 + 1, 1 << 20} {
			content := strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
			tell(t, sites[first], content)
			shows(t, fmt.Sprint(n), sites[other], content)
			if got, want := len(w.keys("c.p.")), max(1, (n+45<<10-1)/(45<<10)); got != want {
				t.Errorf("%d bytes are in %d parts, want %d", n, got, want)
			}
		}
		if err := sites[first].Tell(t.Context(), make([]byte, 1<<20+1), nil); err == nil {
			t.Error("content that is too long is taken")
		}
		if err := sites[other].Tell(t.Context(), []byte("x"), nil); !errors.Is(err, catalog.ErrNotOwner) {
			t.Errorf("who is not the owner: %v", err)
		}
		tell(t, sites[first], "small")
		_, before, _ := sites[other].Now()
		tell(t, sites[first], "small")
		if _, after, _ := sites[other].Now(); after != before {
			t.Error("the same content was written again")
		}
		shows(t, "before it was changed", sites[other], "small")
		key := w.keys("c.p.")[0]
		r, err := w.records.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		forged, err := records.Encode(struct {
			Box []byte `json:"box"`
		}{recordstest.Sealer{}.Seal("PT_KEEP", key, []byte("smell"))})
		if err == nil {
			_, err = w.records.Update(t.Context(), key, forged, r.Revision)
		}
		if got, _, readErr := sites[other].Read(t.Context()); err != nil || readErr == nil {
			t.Errorf("%s, %v, %v", got, readErr, err)
		}
	})
}

// TestFailed: an owner whose page does not open says why, and another node tries; alone, it stays the
// owner. Who left comes last, and is asked again where nobody else comes.
func TestFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, records.NewMemory(), "A", "B")
		sites := w.follow("shop", "A", "B")
		first := owner(t, sites)
		if err := sites[first].Tell(t.Context(), nil, []byte("no")); err != nil {
			t.Fatal(err)
		}
		second := owner(t, sites)
		if second == first {
			t.Error("who failed tries again, and not the other")
		}
		tell(t, sites[second], "yes")
		shows(t, "of the other", sites[first], "yes")
		w.kill(second)
		delete(sites, second)
		owner(t, sites)
		if err := sites[first].Tell(t.Context(), nil, []byte("no")); err != nil {
			t.Fatal(err)
		}
		owner(t, sites)
		shows(t, "what it told before", sites[first], "yes")
		if _, _, why := sites[first].Now(); string(why) != "no" {
			t.Errorf("why: %q", why)
		}
		tell(t, sites[first], "again")
		synctest.Wait()
		if _, _, why := sites[first].Now(); why != nil {
			t.Errorf("after it opened: %q", why)
		}
	})
}

// TestNotServed: a node that does not have the site does not keep others from taking it, however its name
// comes; and one that lets go leaves nothing to wait for.
func TestNotServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, records.NewMemory(), "A", "B", "C", "D")
		for i := range 8 {
			sites := w.follow(fmt.Sprintf("site%d", i), "A", "B")
			first := owner(t, sites)
			begun := time.Now()
			w.nodes[first].LetGo()
			tells := sites[first].Tell(t.Context(), []byte("x"), nil)
			if own, _, _ := sites[first].Now(); !own || !errors.Is(tells, catalog.ErrNotOwner) {
				t.Errorf("who let go has its page: %v, and tells: %v", own, tells)
			}
			delete(sites, first)
			owner(t, sites)
			if took := time.Since(begun); took > 2*lease {
				t.Errorf("another owner after %v", took)
			}
			for _, s := range sites {
				s.Close()
			}
			w.start(first)
		}
	})
}

// TestOrphans: what an owner wrote before it died, and nobody reads, is removed by the next one; what no
// node serves any more, after a while.
func TestOrphans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, records.NewMemory(), "A", "B")
		sites := w.follow("shop", "A", "B")
		first := owner(t, sites)
		tell(t, sites[first], "one")
		orphan := strings.Replace(w.keys("c.p.")[0], first+"-", first+"-z", 1)
		if _, err := w.records.Create(t.Context(), orphan, []byte(`{"v":1}`)); err != nil {
			t.Fatal(err)
		}
		w.kill(first)
		delete(sites, first)
		second := owner(t, sites)
		tell(t, sites[second], "two")
		if all := w.keys("c.p."); len(all) != 1 || strings.Contains(all[0], first+"-") {
			t.Errorf("%q are left", all)
		}
		sites[second].Close()
		<-time.After(30 * time.Minute)
		if all := w.keys("c."); len(all) != 2 {
			t.Errorf("too early: %q", all)
		}
		<-time.After(time.Hour)
		if all := w.keys("c."); len(all) != 0 {
			t.Errorf("too late: %q", all)
		}
	})
}

// TestLostAnswers: with answers that are lost at random, there is one owner, and the others read what it
// told.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		over := false
		random := rand.New(rand.NewPCG(1, 2))
		engine := &recordstest.Faulty{Records: records.NewMemory(), Fault: func(op recordstest.Op) recordstest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if over || op.Name == "watch" || op.Name == "get" {
				return recordstest.None
			}
			return []recordstest.Fault{recordstest.Lose, recordstest.Fail, recordstest.None}[random.IntN(3)]
		}}
		w := newWorld(t, engine, "A", "B")
		sites := w.follow("shop", "A", "B")
		first := owner(t, sites)
		for i := range 20 {
			content := fmt.Sprint(i, strings.Repeat("x", 100<<10))
			for range 20 {
				if err := sites[first].Tell(t.Context(), []byte(content), nil); err == nil {
					break
				}
			}
			for id, s := range sites {
				shows(t, id, s, content)
			}
		}
		if got := owner(t, sites); got != first {
			t.Errorf("the owner is %s now", got)
		}
		mu.Lock()
		over = true
		mu.Unlock()
		tell(t, sites[first], "end")
		if all := w.keys("c.p."); len(all) != 1 {
			t.Errorf("%q are left", all)
		}
	})
}
