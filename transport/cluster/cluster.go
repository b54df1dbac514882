package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
	// Place returns the node that gets what this one, which is about to end, begins no more: sessions, and
	// calls without one. It is false, as a nil function, where this one does.
	Place func() (Node, bool)
	// Keys returns the ID of the node that has an open claim on the idempotency key of a caller; "" is none.
	// After an error, whoever serves the request finds out. A nil function knows of no claims.
	Keys func(ctx context.Context, caller, key string) (id string, err error)
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

// The limits of connections between nodes. A node closes what is idle before the other one does.
const (
	dialTime = 3 * time.Second
	peerIdle = 30 * time.Second
	maxIdle  = 64
)

// way leads to one life of a node.
type way struct {
	http.Transport

	silent sync.Once // says once that it cannot be reached
}

// wayTo returns the way to a node. Those to nodes that ended are given up.
func (c *Cluster) wayTo(n Node) *way {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.ways[n.ID]; w != nil {
		return w
	}
	for id, w := range c.ways {
		if other, known := c.o.Nodes.Find(id); !known || other.IsDead() {
			w.CloseIdleConnections()
			delete(c.ways, id)
		}
	}
	w := &way{}
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: c.o.Identity.Client(n.Name)}
	w.Transport = http.Transport{
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTime)
			defer cancel()
			conn, err := d.DialContext(ctx, "tcp", n.Address)
			if err != nil {
				return nil, fmt.Errorf("connecting to the node %s: %w", n.Name, err)
			}
			return conn, nil
		},
		DisableCompression:  true, // replies are passed on as they are
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: peerIdle, DisableKeepAlives: c.ended,
	}
	c.ways[n.ID] = w
	return w
}

// unreachable says in the log that a node cannot be reached, once for each of its lives.
func (c *Cluster) unreachable(n Node, err error) {
	c.wayTo(n).silent.Do(func() {
		c.log.Warn("cluster: a node cannot be reached", slog.String("node", n.Name), slog.String("address", n.Address), slog.Any("error", err))
	})
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
