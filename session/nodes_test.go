package session_test

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// cluster has the sessions of nodes, in memory, as e2e/app keeps them in records.
type cluster struct {
	mu     sync.Mutex
	living map[string]bool
	all    map[string]*record // by caller and session
	last   int64
	broken error // what a node keeps is not written
}

type record struct {
	home  string // "" while it waits for one
	epoch int64
	pages map[string][]byte // by site
}

// node is a process of the cluster.
type node struct {
	*cluster
	here   string
	opened map[int64]opened
}

type opened struct {
	key, site string
	epoch     int64
	inherited []byte
}

var _ session.Takeovers = (*node)(nil)

func (n *node) Here() string      { return n.here }
func (n *node) Lives(string) bool { return false }
func (n *node) Routed() bool      { return true }

func (n *node) Elsewhere(context.Context, bridge.SessionName) (bool, error) { return false, nil }

func (n *node) Open(ctx context.Context, s bridge.SessionName) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := opened{key: s.Caller + " " + s.ID, site: s.Site}
	r := n.all[o.key]
	switch {
	case r == nil:
		r = &record{pages: map[string][]byte{}}
		n.all[o.key] = r
	case r.home != n.here && n.living[r.home]:
		return 0, bridge.ErrElsewhere
	}
	if r.home != n.here {
		r.home = n.here
		r.epoch++
	}
	if !n.has(o) {
		o.inherited = r.pages[s.Site]
	}
	n.last++
	o.epoch = r.epoch
	n.opened[n.last] = o
	return n.last, ctx.Err()
}

func (n *node) Close(ctx context.Context, id int64) error { return n.end(ctx, id, false) }
func (n *node) Leave(ctx context.Context, id int64) error { return n.end(ctx, id, true) }

func (n *node) end(_ context.Context, id int64, leaves bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	o, r := n.opened[id], n.all[n.opened[id].key]
	delete(n.opened, id)
	if r == nil || !n.living[n.here] || r.home != n.here || r.epoch != o.epoch {
		return nil
	}
	last := true
	for _, other := range n.opened {
		last = last && other.key != o.key
	}
	if !leaves && !n.has(o) {
		delete(r.pages, o.site)
	}
	switch {
	case last && len(r.pages) == 0:
		delete(n.all, o.key)
	case last:
		r.home = ""
	}
	return nil
}

// has reports whether the node has the same page. Called with mu held.
func (n *node) has(o opened) bool {
	for _, other := range n.opened {
		if other.key == o.key && other.site == o.site {
			return true
		}
	}
	return false
}

func (n *node) at(id int64) opened {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opened[id]
}

func (n *node) Inherited(id int64) []byte { return n.at(id).inherited }

func (n *node) Owner(id int64) session.Owner {
	return session.Owner{Epoch: n.at(id).epoch, Holds: func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.living[n.here]
	}}
}

func (n *node) Keep(ctx context.Context, id int64, page []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.opened[id]
	r := n.all[o.key]
	switch {
	case n.broken != nil || ctx.Err() != nil:
		return cmp.Or(n.broken, ctx.Err())
	case r.home != n.here || r.epoch != o.epoch:
		return bridge.ErrElsewhere
	}
	r.pages[o.site] = page
	return nil
}

// kill ends a node as SIGKILL does.
func (c *cluster) kill(w *world, here string) {
	c.lose(here)
	w.engine.Cut()
}

// lose makes a node count as dead, which goes on.
func (c *cluster) lose(here string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.living, here)
}

// breaks makes what nodes keep fail with an error; nil is no failure.
func (c *cluster) breaks(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

// start starts a node over the browser of another world, which shows the pages of the sites.
func (c *cluster) start(t *testing.T, here string, of *sessiontest.Engine, change func(*session.Options)) *world {
	t.Helper()
	w := &world{t: t, engine: of.Another(), began: time.Now()}
	o := session.Options{MaxSessions: 4, Sites: []session.SiteOptions{site("shop", address), site("mail", mailAddress)}}
	o.Engine, o.Homes = w.engine, c.node(here)
	if change != nil {
		change(&o)
	}
	w.Manager = session.New(o)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if n := w.Counts(); n != (session.Counts{}) {
			t.Errorf("after Close %s has %+v", here, n)
		}
	})
	_ = w.WaitOpened(t.Context())
	return w
}

func (c *cluster) node(here string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.living[here] = true
	return &node{cluster: c, here: here, opened: map[int64]opened{}}
}

const mailAddress = "https://mail.test/"

// counting is a document that counts how often `count` ran in it.
func counting(d *sessiontest.Document) {
	n := 0
	d.Register(sessiontest.Tool{Name: "count", Run: func(*sessiontest.Call) (json.RawMessage, error) {
		n++
		return json.Marshal(n)
	}}, slow("slow", time.Second))
}

// inCluster runs a test with a node "a" that has a session of the agent, whose page was asked to count twice.
func inCluster(t *testing.T, test func(t *testing.T, c *cluster, a *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		browser := sessiontest.NewEngine()
		browser.Handle(address, counting)
		browser.Handle(mailAddress, counting)
		c := &cluster{living: map[string]bool{}, all: map[string]*record{}}
		t.Cleanup(func() {
			if n := browser.Pages(); n != 0 {
				t.Errorf("%d pages are left", n)
			}
		})
		a := c.start(t, "a", browser, nil)
		for _, want := range []string{"1", "2"} {
			a.counts(want)
		}
		test(t, c, a)
	})
}

// agents is a reference to the session of the agent.
func agents() bridge.Ref { return ofToken("agent", "s") }

// counts calls the agent's page.
func (w *world) counts(want string) {
	w.t.Helper()
	if got := w.must(agents(), "count"); got != want {
		w.t.Errorf("it counts %s, and not %s", got, want)
	}
}
