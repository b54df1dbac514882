// Package clustertest has the nodes and the directory of a cluster in the memory of a test.
package clustertest

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/pagetools/pagetools/transport/cluster"
)

// Members are the nodes of a cluster, which live until a test kills them. All nodes see the same. It is
// safe for concurrent use.
type Members struct {
	mu   sync.Mutex
	all  []cluster.Node
	dead map[string]chan struct{}
	cut  map[string]bool // they cannot renew their lease
}

// Add begins a life of a node.
func (m *Members) Add(name, address string) cluster.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead == nil {
		m.dead, m.cut = map[string]chan struct{}{}, map[string]bool{}
	}
	n := cluster.Node{ID: rand.Text()[:8], Name: name, Address: address}
	m.dead[n.ID] = make(chan struct{})
	n.Dead = m.dead[n.ID]
	m.all = append(m.all, n)
	return n
}

// Kill lets all nodes know that a node has ended.
func (m *Members) Kill(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.dead[id]; d != nil {
		close(d)
		delete(m.dead, id)
	}
}

// Cut says whether a node can renew its lease.
func (m *Members) Cut(id string, cut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[id] = cut
}

// As returns the nodes as one of them sees them.
func (m *Members) As(self cluster.Node) cluster.Nodes { return seen{m, self} }

type seen struct {
	m    *Members
	self cluster.Node
}

// Self returns the node that sees the others.
func (s seen) Self() cluster.Node { return s.self }

// Holds reports whether that node can renew its lease.
func (s seen) Holds() bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return !s.m.cut[s.self.ID]
}

// Find returns a node.
func (s seen) Find(id string) (cluster.Node, bool) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for _, n := range s.m.all {
		if n.ID == id {
			return n, true
		}
	}
	return cluster.Node{}, false
}

// Others lists the others that live.
func (s seen) Others() (all []cluster.Node) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for _, n := range s.m.all {
		if n.ID != s.self.ID && !n.IsDead() {
			all = append(all, n)
		}
	}
	return all
}

// Directory is a directory that a test writes. Each node has one of its own, over the same homes, and
// remembers what it was told until it forgets it. It is safe for concurrent use.
type Directory struct {
	Homes *Homes

	mu     sync.Mutex
	cached map[string]home
}

// Homes are the homes of sessions, by key.
type Homes struct {
	mu  sync.Mutex
	all map[string]home
	err error
}

type home struct {
	id    string
	epoch int64
}

// Put makes a node the home of a session.
func (h *Homes) Put(key, id string, epoch int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[string]home{}
	}
	h.all[key] = home{id, epoch}
}

// Fail has everybody who asks get an error, until it is nil.
func (h *Homes) Fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

// Home returns the home of a session.
func (d *Directory) Home(_ context.Context, key string) (string, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.cached[key]; ok {
		return known.id, known.epoch, nil
	}
	d.Homes.mu.Lock()
	defer d.Homes.mu.Unlock()
	is, ok := d.Homes.all[key]
	switch {
	case d.Homes.err != nil:
		return "", 0, d.Homes.err
	case !ok:
		return "", 0, cluster.ErrNone
	}
	if d.cached == nil {
		d.cached = map[string]home{}
	}
	d.cached[key] = is
	return is.id, is.epoch, nil
}

// Forget forgets the home of a session.
func (d *Directory) Forget(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.cached, key)
}

var (
	_ cluster.Nodes     = seen{}
	_ cluster.Directory = (*Directory)(nil)
)
