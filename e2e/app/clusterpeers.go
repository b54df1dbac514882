package app

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/transport/cluster"
)

// Peers returns the operators' APIs of the nodes of a cluster that live, by their names, for a process that
// is no node of it. It asks the engine once; done closes the connections.
func Peers(ctx context.Context, o *ClusterOptions) (all map[string]http.RoundTripper, done func(), err error) {
	id, err := cluster.NewIdentity("operator", o.Keys, nil)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	store, err := openExisting(ctx, o, "status")
	if err != nil {
		return nil, nil, err
	}
	defer store.Close()
	nodes, err := lease.Survey(ctx, store, false, time.Now)
	if err != nil {
		return nil, nil, err
	}
	out := outside{self: cluster.Node{ID: rand.Text()[:8]}}
	for i := range nodes {
		if nodes[i].State == lease.Alive {
			out.nodes = append(out.nodes, nodeOf(nodes[i].Member, nil))
		}
	}
	c := cluster.New(cluster.Options{Identity: id, Nodes: out, Log: o.Log})
	return c.Peers(), c.Close, nil
}

// outside are the nodes as a process sees them that is none.
type outside struct {
	self  cluster.Node
	nodes []cluster.Node
}

// Self implements cluster.Nodes.
func (o outside) Self() cluster.Node { return o.self }

// Holds implements cluster.Nodes.
func (o outside) Holds() bool { return false }

// Find implements cluster.Nodes.
func (o outside) Find(id string) (cluster.Node, bool) {
	for _, n := range o.nodes {
		if n.ID == id {
			return n, true
		}
	}
	return cluster.Node{}, false
}

// Others implements cluster.Nodes.
func (o outside) Others() []cluster.Node { return o.nodes }
