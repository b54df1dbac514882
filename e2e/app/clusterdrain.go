package app

import (
	"context"
	"maps"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport/cluster"
)

// Retire takes nothing new: other nodes get what begins, and the pages of sites. It returns when the
// sessions of this node and its calls have ended or were left to other nodes with their pages, or with ctx; at once where there is no other node.
func (c *Cluster) Retire(ctx context.Context, a *App) {
	a.draining.Store(true)
	c.node.Renew()
	c.catalogs.LetGo()
	if _, others := c.place(); others {
		session.SessionsOf(a.Manager).Leave()
		a.awaitQuiet(ctx)
	}
	c.ending.Store(true)
}

// place returns the node with most room for what begins, where this one takes nothing new.
func (c *Cluster) place() (best cluster.Node, ok bool) {
	a := c.app.Load()
	if a == nil || !a.draining.Load() {
		return best, false
	}
	free := -1
	for _, m := range c.node.Members() {
		if n, known := c.nodes.Find(m.ID); known && !m.Drain && m.Node != c.nodes.name && m.Free > free {
			best, ok, free = n, true, m.Free
		}
	}
	return best, ok
}

// awaitQuiet waits until there is no session, and no call that goes on, or until ctx ends.
func (a *App) awaitQuiet(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running := map[int64]bool{}
	everything := bridge.Interest{Caller: bridge.Caller{Name: "drain", May: []bridge.Right{bridge.MayAnswer}}, Calls: true, Sessions: true}
	for ev := range a.Bridge.Watch(ctx, everything) {
		if ev.Kind == bridge.Snapshot {
			clear(running)
		}
		for _, r := range ev.Runs {
			running[r.Run] = !r.Over
		}
		maps.DeleteFunc(running, func(_ int64, runs bool) bool { return !runs })
		if len(running) == 0 && len(session.SessionsOf(a.Manager).All()) == 0 {
			return
		}
	}
}
