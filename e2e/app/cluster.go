package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/catalog"
	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/store/jetstream"
	"github.com/pagetools/pagetools/bridge/store/postgres"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// ClusterOptions say which node of which cluster this process is.
type ClusterOptions struct {
	// Servers are the addresses of the engine, such as nats://10.0.0.5:4222, and Credentials a file for
	// it; "" is none.
	Servers     []string
	Credentials string
	// TLS is for engines that nodes start; nil is the system's.
	TLS *tls.Config
	// Memory is the address of a PostgreSQL database with what must not be lost with a node; "" keeps it in
	// the engine. It is a secret.
	Memory string
	Keys   key.Keys
	// Name is the node's, and Address that of its listener for other nodes, as those reach it.
	Name, Address string
	// DataDir is the data folder of the node; "" is none. The next node with it knows at once that this
	// one has ended.
	DataDir string
	// Lease sets how long a node that is not heard of counts as alive; zero means 4 s.
	Lease time.Duration
	// Config is a digest of what all nodes must have in common, their sites and callers.
	Config func() string
	// Waiting is called when the engine does not answer at the start, with the reason, once.
	Waiting func(error)
	// Limits bound what pages declare.
	Limits bridge.Limits
	// Differs is called when a node says another Config, once for each life and digest.
	Differs func(node string)
	Version string
	Log     *slog.Logger // nil is silent

	waiting sync.Once    // of one join
	lost    atomic.Int64 // lives of this process that others declared dead
}

// Cluster is this process among the nodes of a cluster.
type Cluster struct {
	*cluster.Cluster
	shared

	Identity *cluster.Identity
	// Homes say which node has a session.
	Homes bridge.Homes

	keys    key.Keys
	store   *jetstream.Store
	records *measured // in store
	vault   *measured // what must not be lost with this node: in memory, or in store where that is nil
	memory  *postgres.Store
	meter   *transport.ClusterMeter
	took    tookOver
	node    *lease.Node
	life    *heldLife
	// catalogs say which node opens the page of a site.
	catalogs *catalog.Catalogs
	nodes    nodesOf
	dir      *directory.Directory
	ending   atomic.Bool         // sessions that are closed were to go on
	app      atomic.Pointer[App] // nil until Serve
	log      *slog.Logger
	ended    chan struct{} // closed when other nodes took this one for dead
	lost     *atomic.Int64
	stop     context.CancelFunc
	run      sync.WaitGroup
}

// errNoWrites says that the servers of an engine have no majority.
var errNoWrites = errors.New("it takes no writes")

// engineWait is waited before an engine that does not answer is asked again.
const engineWait = time.Second

// waits says why the start takes its time.
func (o *ClusterOptions) waits(why error) {
	if o.Waiting != nil {
		o.waiting.Do(func() { o.Waiting(why) })
	}
}

// OpenRecords connects to the engine of a cluster, and waits for it until ctx ends.
func OpenRecords(ctx context.Context, o *ClusterOptions) (*jetstream.Store, error) {
	for {
		store, err := jetstream.Open(ctx, jetstream.Options{Servers: o.Servers, Credentials: o.Credentials, TLS: o.TLS, Name: o.Name, Log: o.Log})
		if err == nil {
			return store, nil
		}
		o.waits(err)
		select {
		case <-time.After(engineWait):
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

// JoinCluster makes this process a node, for one life. It waits for the engine until ctx ends. The caller must
// call Leave. Then it can join with the same options again.
func JoinCluster(ctx context.Context, o *ClusterOptions) (*Cluster, error) {
	o.Log, o.waiting = cmp.Or(o.Log, slog.New(slog.DiscardHandler)), sync.Once{}
	id, err := cluster.NewIdentity(o.Name, o.Keys, nil)
	if err != nil {
		return nil, err
	}
	store, err := OpenRecords(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Identity: id, keys: o.Keys, store: store, records: &measured{Records: store}, meter: transport.NewClusterMeter(), log: o.Log, ended: make(chan struct{}), lost: &o.lost}
	if err = c.openVault(ctx, o); err != nil {
		c.closeStores()
		return nil, err
	}
	about := func() lease.Facts {
		f := lease.Facts{Node: o.Name, Address: o.Address, Build: o.Version}
		if o.Config != nil {
			f.Config = o.Config()
		}
		if a := c.app.Load(); a != nil {
			f.Sessions, f.Free = a.room()
			f.Drain = a.draining.Load()
		}
		return f
	}
	late := time.AfterFunc(engineWait, func() { o.waits(errNoWrites) })
	defer late.Stop()
	if err = c.share(ctx, o); err != nil {
		c.closeStores()
		return nil, err
	}
	c.newCatalogs(o)
	running, stop := context.WithCancel(context.Background())
	c.stop = stop
	err = c.join(ctx, o.DataDir, lease.Options{Records: c.records, Lease: o.Lease, About: about, Log: o.Log,
		Reborn: func(*lease.Life) { endTaken(running, c) },
		Joined: func(m lease.Member) {
			o.Log.Info("cluster: joined", slog.String("node", m.Node), slog.String("id", m.ID))
		},
		Died: func(id string) {
			o.Log.Info("cluster: has ended", slog.String("id", id))
			c.catalogs.Kick()
		}})
	if err != nil {
		stop()
		c.closeStores()
		return nil, err
	}
	dispose := func(ctx context.Context, box []byte) { disposeIn(ctx, c, box) }
	c.dir = directory.New(directory.Options{Records: c.records, Sealer: o.Keys.Sealer(key.Records), Dead: c.isDead, Dispose: dispose})
	namer := o.Keys.Namers()[0]
	c.nodes = nodesOf{c.node, o.Name}
	c.Homes = &homes{nodes: c.nodes, dir: c.dir, namer: namer, took: &c.took, ending: &c.ending, dispose: dispose,
		held: map[string]*heldHome{}, opened: map[int64]*openedPage{}}
	c.Cluster = cluster.New(cluster.Options{Identity: id, Nodes: c.nodes, Directory: sessionsIn{c.dir}, Namer: namer,
		Keys: c.replies.Home, Owner: c.owner, Place: c.place, Meter: c.meter, Tickets: tickets{c.records, c.node}, Log: o.Log})
	c.run.Go(func() { c.node.Run(running) })
	c.run.Go(func() { c.catalogs.Run(running) })
	c.goOn(running, o)
	return c, nil
}

// Serve tells the other nodes what this one has room for.
func (c *Cluster) Serve(a *App) {
	c.app.Store(a)
	c.measure(a.Metrics)
	c.node.Renew()
}

// endTaken ends the life of a node that others took for dead, and returns when running ends: another join begins the
// next one. A life that ended before anybody heard of it does not count.
func endTaken(running context.Context, c *Cluster) {
	if c.node == nil { // joining goes on
		return
	}
	c.lost.Add(1)
	c.ending.Store(true) // callers of what nobody took over are told
	close(c.ended)
	<-running.Done()
}

// Ended is closed when other nodes took this one for dead: its sessions are theirs, and it must leave.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// Bridge adds to the options of a bridge what those of a node have.
func (c *Cluster) Bridge(o *bridge.Options) {
	o.Node = func() string { return c.node.Life().ID }
	o.Holds = func() bool { return c.node.Life().Holds() }
	o.While = func(ctx context.Context) (context.Context, context.CancelFunc) { return c.node.Life().While(ctx) }
	o.Lost = func(id string) bool { return c.node.State(id) == lease.Dead }
}

// leaveTime limits how long it may take to tell the others that a node has ended.
const leaveTime = 2 * time.Second

// Leave ends the node: nobody has to wait for its death.
func (c *Cluster) Leave() error {
	c.stop()
	c.run.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	err := c.node.Leave(ctx)
	c.life.end(err == nil)
	err = errors.Join(err, markLast(c))
	c.Close()
	c.closeStores()
	return err
}

// nodesOf are the nodes as leases tell of them.
type nodesOf struct {
	node *lease.Node
	name string
}

// Self returns this node's life.
func (n nodesOf) Self() cluster.Node {
	life := n.node.Life()
	return cluster.Node{ID: life.ID, Name: n.name, Dead: life.Over()}
}

// Holds reports whether this node may believe in its lease.
func (n nodesOf) Holds() bool { return n.node.Life().Holds() }

// gone is the Dead of nodes that are known to have ended.
var gone = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Find returns a node.
func (n nodesOf) Find(id string) (cluster.Node, bool) {
	if self := n.Self(); self.ID == id {
		return self, true
	}
	if m, over, ok := n.node.Member(id); ok {
		return nodeOf(m, over), true
	}
	return cluster.Node{ID: id, Dead: gone}, n.node.State(id) == lease.Dead
}

// Others lists the other nodes that live.
func (n nodesOf) Others() (all []cluster.Node) {
	for _, m := range n.node.Members() {
		if _, over, ok := n.node.Member(m.ID); ok && m.Node != n.name {
			all = append(all, nodeOf(m, over))
		}
	}
	return all
}

func nodeOf(m lease.Member, over <-chan struct{}) cluster.Node {
	return cluster.Node{ID: m.ID, Name: m.Node, Address: strings.TrimPrefix(m.Address, "https://"), Dead: over}
}

// sessionsIn is the directory as requests are routed by it.
type sessionsIn struct{ *directory.Directory }

// Home returns the home of a session.
func (s sessionsIn) Home(ctx context.Context, key string) (string, int64, error) {
	id, epoch, err := s.Directory.Home(ctx, key)
	if errors.Is(err, records.ErrNone) || err == nil && id == "" {
		return "", 0, cluster.ErrNone
	}
	return id, epoch, err
}
