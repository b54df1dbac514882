package session_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// board is a SharedCatalog of several processes in the memory of a test. The first of the names has the
// page, and who fails to open it comes last.
type board struct {
	mu      sync.Mutex
	names   []string
	content []byte
	set     int
	why     []byte
	told    int
	broken  bool // nothing can be read or told
	changes bridge.Changes
}

type seat struct {
	*board
	name string
}

func (b *board) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	b.changes.Signal()
}

// count returns how often a list was told.
func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

func (s seat) Next() <-chan struct{} { return s.changes.Next() }

func (s seat) Now() (own bool, set string, why []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set > 0 {
		set = fmt.Sprint(s.set)
	}
	return len(s.names) > 0 && s.names[0] == s.name, set, s.why
}

func (s seat) Read(context.Context) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return nil, "", errors.New("it cannot be read")
	}
	return s.content, fmt.Sprint(s.set), nil
}

func (s seat) Tell(_ context.Context, content, why []byte) (err error) {
	s.change(func() {
		switch {
		case s.broken || s.names[0] != s.name:
			err = errors.New("it cannot be told")
		case why != nil:
			s.why, s.names = why, append(s.names[1:], s.names[0])
		default:
			s.content, s.why = content, nil
			s.set++
			s.told++
		}
	})
	return err
}

func (s seat) Close() {
	s.change(func() { s.names = slices.DeleteFunc(s.names, func(name string) bool { return name == s.name }) })
}

// shares makes the world of the test the process "a" of a board.
func shares(b *board, more func(*session.Options)) func(*session.Options, *sessiontest.Engine) {
	return func(o *session.Options, _ *sessiontest.Engine) {
		o.Share = func(bridge.Site) session.SharedCatalog { return seat{b, "a"} }
		if more != nil {
			more(o)
		}
	}
}

// grows has tools that a call adds to.
func grows(d *sessiontest.Document) {
	d.Register(named("where"))
	d.Register(sessiontest.Tool{Name: "grow", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
		c.Document.Register(named("more"))
		return json.RawMessage(`1`), nil
	}})
}

// second starts the process "b" of a board.
func second(t *testing.T, b *board, more func(*session.Options)) *world {
	t.Helper()
	w := &world{t: t, engine: sessiontest.NewEngine(), began: time.Now()}
	w.engine.Handle(address, grows)
	o := session.Options{Engine: w.engine, MaxSessions: 4, Sites: []session.SiteOptions{site("shop", address)},
		Share: func(bridge.Site) session.SharedCatalog { return seat{b, "b"} }}
	if more != nil {
		more(&o)
	}
	w.Manager = session.New(o)
	return w
}

func (w *world) has(why string, tools ...string) {
	w.t.Helper()
	_ = sessiontest.Wait(w.t.Context(), time.Second)
	c, err := w.Await(w.t.Context(), ref(""))
	if err != nil {
		w.t.Errorf("%s: %v", why, err)
		return
	}
	var names []string
	for _, x := range c.Tools() {
		names = append(names, x.Name())
	}
	if !slices.Equal(names, tools) {
		w.t.Errorf("%s: it lists %q, want %q", why, names, tools)
	}
}

// TestSharedCatalog: one process opens the catalog page; the other lists what it shows, and each change,
// and runs calls in pages of its own. When the owner goes, the last list stays, and the other opens the page.
func TestSharedCatalog(t *testing.T) {
	b := &board{names: []string{"a", "b"}}
	inWorld(t, grows, shares(b, func(o *session.Options) { o.Sites[0].Shared = true }), func(t *testing.T, a *world) {
		other := second(t, b, nil)
		changed := make(chan string, 100)
		other.Notify(func(site string) { changed <- site })
		a.has("the owner", "grow", "where")
		other.has("the other", "grow", "where")
		if n := other.engine.Opened(); n != 0 {
			t.Errorf("the other opened %d pages", n)
		}
		ours, _ := a.Catalog(ref(""))
		theirs, _ := other.Catalog(ref(""))
		if ours.Digest() != theirs.Digest() || other.Status("shop") != "open" || !other.Tried() {
			t.Errorf("the lists differ, or the site is %q", other.Status("shop"))
		}
		if url, _, _ := other.Page("shop"); url != address {
			t.Errorf("its page is %q", url)
		}
		other.must(ref("s"), "where")
		if n := other.engine.Opened(); n != 1 {
			t.Errorf("a call of the other opened %d pages", n)
		}
		before := b.count()
		for len(changed) > 0 {
			<-changed
		}
		a.must(ref(""), "grow")
		other.has("after a call changed the list", "grow", "more", "where")
		if n := b.count() - before; n != 1 || len(changed) == 0 {
			t.Errorf("it was told %d times, and %d changes", n, len(changed))
		}
		b.change(func() { b.names = []string{} })
		other.has("nobody has it", "grow", "more", "where")
		b.change(func() { b.names = []string{"b"} })
		other.has("it has the page itself", "grow", "where")
		if n := other.engine.Opened(); n != 2 {
			t.Errorf("the other opened %d pages", n)
		}
		if n := len(a.engine.Tabs()); n != 0 {
			t.Errorf("who was the owner has %d pages", n)
		}
		a.has("who was the owner", "grow", "where")
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSharedPageElsewhere: a call that belongs on the page that all share runs on no other one. Who is about
// to open it lets calls wait.
func TestSharedPageElsewhere(t *testing.T) {
	b := &board{names: []string{"b", "a"}}
	share := func(o *session.Options) { o.Sites[0].Shared = true }
	inWorld(t, grows, shares(b, share), func(t *testing.T, a *world) {
		other := second(t, b, share)
		a.has("the list", "grow", "where")
		_, err := a.call(t.Context(), ref(""), "where", "{}")
		fails(t, err, bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
		a.must(ref("s"), "where") // a session has its own
		other.must(ref(""), "where")
		if !session.SharesPage(a.Manager, "shop") || session.SharesPage(a.Manager, "other") {
			t.Error("which sites have one page")
		}
		a.engine.OnOpen(func(ctx context.Context) error { return sessiontest.Wait(ctx, time.Second) })
		b.change(func() { b.names = []string{"a", "b"} })
		began := time.Now()
		a.must(ref(""), "where")
		lasts(t, time.Since(began), time.Second+100*time.Millisecond)
		a.engine.OnOpen(func(context.Context) error { return errors.New("no more") })
		a.engine.Lose()
		synctest.Wait()
		if _, err := a.call(t.Context(), ref(""), "where", "{}"); err == nil || bridge.AsError(err).Outcome != bridge.NotRun {
			t.Errorf("without a page: %v", err)
		}
		_ = other.Close()
	})
}

// TestSharedFailure: where the owner cannot open the page, the other tries; where none can, both say why,
// and one tries again. A list that was there stays.
func TestSharedFailure(t *testing.T) {
	b := &board{names: []string{"a", "b"}}
	inWorld(t, nil, shares(b, nil), func(t *testing.T, a *world) {
		other := second(t, b, nil)
		other.has("the other can", "grow", "where")
		a.has("and the first has its list", "grow", "where")
		other.engine.Handle(address, nil)
		other.engine.Arrive(address, func(context.Context) error { return errors.New("down") })
		other.engine.Lose()
		other.has("the other cannot any more", "grow", "where")
		a.has("nor the first", "grow", "where")
		_ = sessiontest.Wait(t.Context(), 5*time.Minute)
		a.engine.Handle(address, grows)
		_ = sessiontest.Wait(t.Context(), 3*time.Minute)
		if len(a.engine.Tabs()) == 0 {
			t.Error("the page is not opened when it can be")
		}
		_ = other.Close()
	})
	t.Run("never", func(t *testing.T) {
		b := &board{names: []string{"a", "b"}}
		inWorld(t, nil, shares(b, nil), func(t *testing.T, a *world) {
			other := second(t, b, nil)
			other.engine.Arrive(address, func(context.Context) error {
				return bridge.Errorf(bridge.InternalError, bridge.Certificate, bridge.NotRun, "No.")
			})
			third := second(t, b, func(o *session.Options) { // it is never the owner
				o.Share = func(bridge.Site) session.SharedCatalog { return seat{b, "c"} }
			})
			_ = third.WaitOpened(t.Context())
			for why, w := range map[string]*world{"the first": a, "the other": other, "who waits": third} {
				if _, err := w.Await(t.Context(), ref("")); err == nil || !w.Tried() || w.Status("shop") == "open" || w.Status("shop") == "opening" {
					t.Errorf("%s: %v, %q", why, err, w.Status("shop"))
				}
			}
			_ = third.Close()
			_ = other.Close()
		})
	})
}

// TestStrangeLists: what another process tells goes through the gate as what a page declares, with the
// limits of a page, and what cannot be read changes nothing.
func TestStrangeLists(t *testing.T) {
	b := &board{names: []string{"b", "a"}, set: 1, content: []byte(`{"url":"https://shop.test/","tools":[
		{"id":1,"origin":"https://shop.test","name":"own","description":"Own.","annotations":"` + base64.StdEncoding.EncodeToString([]byte(`{"readOnlyHint":true}`)) + `"},
		{"id":2,"origin":"https://evil.test","name":"foreign","description":"Foreign."},
		{"id":3,"origin":"https://shop.test","name":"no name","description":"No."},
		{"id":4,"origin":"https://shop.test","name":"bad","description":"Bad.","input":"` + base64.StdEncoding.EncodeToString([]byte(`{{{`)) + `"},
		{"id":5,"origin":"https://shop.test","name":"hidden","description":"Hid\u202eden."}],
		"findings":[{"rule":"x","message":"two\nlines"}]}`)}
	inWorld(t, nil, shares(b, func(o *session.Options) { o.Limits.PageBytes = 64 << 10 }), func(t *testing.T, a *world) {
		a.has("what is right of it", "foreign", "hidden", "own")
		c, _ := a.Catalog(ref(""))
		if c.Tool("hidden").Description() != "Hidden." {
			t.Errorf("%q", c.Tool("hidden").Description())
		}
		if f := fmt.Sprint(a.Findings("shop")); !strings.Contains(f, "name-illegal") || strings.Contains(f, "\n") {
			t.Errorf("%s", f)
		}
		for _, bad := range []string{"", "{", `[]`, `{"tools":[{"id":"x"}]}`} {
			b.change(func() { b.content = []byte(bad); b.set++ })
			a.has(bad, "foreign", "hidden", "own")
		}
		long := strings.Repeat("x", 10<<10)
		var tools []string
		for i := range 20 {
			tools = append(tools, fmt.Sprintf(`{"id":%d,"origin":"https://shop.test","name":"t%d","description":%q}`, i, i, long))
		}
		b.change(func() { b.content = []byte(`{"tools":[` + strings.Join(tools, ",") + `]}`); b.set++ })
		a.has("more than a page may declare", "t0", "t1", "t2", "t3", "t4", "t5")
		if f := fmt.Sprint(a.Findings("shop")); !strings.Contains(f, "declarations-too-large") {
			t.Errorf("%s", f)
		}
		b.change(func() { b.content = []byte(`{"tools":[{"id":1,"name":"small","description":"Small."}]}`); b.set++ })
		a.has("a list that fits again", "small")
		synctest.Wait()
	})
}

// TestTellsInTurn: a page that never stops changing is told from time to time.
func TestTellsInTurn(t *testing.T) {
	b := &board{names: []string{"a"}}
	inWorld(t, func(d *sessiontest.Document) {
		d.Register(named("where"))
		for i := range 100 {
			later(time.Second+time.Duration(10*i)*time.Millisecond, func() { d.Register(named(fmt.Sprintf("t%d", i))) })
		}
	}, shares(b, nil), func(t *testing.T, a *world) {
		_ = sessiontest.Wait(t.Context(), 10*time.Second)
		if n := b.count(); n < 3 || n > 8 {
			t.Errorf("it was told %d times in a second", n)
		}
	})
}
