package cluster

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// Options configures a Cluster.
type Options struct {
	// Identity proves that this is a node. It is needed, as Nodes is.
	Identity *Identity
	// Nodes knows the nodes.
	Nodes Nodes
	// Directory knows who has the sessions of callers, by the names that the namer of now gives them;
	// nil: the entry has them.
	Directory Directory
	Namer     key.Namer
	// Owner returns the ID of the node that has the page of a site, "" for nobody now, where all calls
	// without a session run in that page. It is false, as a nil function, for other sites.
	Owner func(site string) (id string, shared bool)
	// Keys returns the ID of the node that has an open claim on the idempotency key of a caller; "" is none.
	// After an error, whoever serves the request finds out. A nil function knows of no claims.
	Keys func(ctx context.Context, caller, key string) (id string, err error)
	// Place returns the node that gets what this one, which is about to end, begins no more: sessions, and
	// calls without one. It is false, as a nil function, where this one does.
	Place func() (Node, bool)
	// Tickets say of a request that starts calls whether it did; nil: nobody knows.
	Tickets Tickets
	// Patience limits how long a request looks for a home that answers; zero means 30 s.
	Patience time.Duration
	// Meter counts what becomes of requests; nil counts nothing.
	Meter *transport.ClusterMeter
	// Log gets a line when a node cannot be reached, and at the level debug each request that is passed
	// on; nil is silent.
	Log *slog.Logger
}

// Cluster passes requests on to other nodes, and serves theirs. It is safe for concurrent use.
type Cluster struct {
	o   Options
	log *slog.Logger

	mu    sync.Mutex
	ways  map[string]*way // to other nodes, by ID
	ended bool

	ending atomic.Bool  // no call of another node is taken
	calls  atomic.Int64 // requests with calls that are under way, here or at other nodes
	fewer  bridge.Changes
}

// New makes the cluster of a node.
func New(o Options) *Cluster {
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	return &Cluster{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), ways: map[string]*way{}}
}

// Drain takes no more calls from other nodes, which go on with them elsewhere when this one has ended, and
// waits until those that are under way are over, or ctx ends.
func (c *Cluster) Drain(ctx context.Context) {
	c.ending.Store(true)
	for {
		fewer := c.fewer.Next()
		if c.calls.Load() == 0 {
			return
		}
		select {
		case <-fewer:
		case <-ctx.Done():
			return
		}
	}
}

// counted counts a request until it is over.
func (c *Cluster) counted(w *want) (over func()) {
	if !w.calls && !w.resumes {
		return func() {}
	}
	c.calls.Add(1)
	return func() {
		c.calls.Add(-1)
		c.fewer.Signal()
	}
}

// Close closes the connections to other nodes that nothing uses.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, w := range c.ways {
		w.CloseIdleConnections()
	}
	clear(c.ways)
}

// lost is the error of a call whose node ended, or does not answer, after the request was sent there.
func lost(dead bool) *bridge.Error {
	if dead {
		return bridge.LostNode()
	}
	return bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.Unknown,
		"The node of pagetools that has this call does not answer any more. The call may have run: look at the page before you make it again.")
}

// noQuorum is the error of a request whose home cannot be found, or does not take it.
func noQuorum() *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun,
		"It cannot be found out now which node of pagetools has this, or that node does not answer. Nothing ran.")
	e.Retry = bridge.QuorumRetry
	return e
}

// Forget has this node ask who has a session, by its key in the directory: it is not as it was.
func (c *Cluster) Forget(key string) {
	if c.o.Directory != nil {
		c.o.Directory.Forget(key)
	}
}
