package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/catalog"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/store/jetstream"
	"github.com/pagetools/pagetools/bridge/store/postgres"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// ClusterStatus says how a cluster is.
type ClusterStatus struct {
	Engine EngineStatus `json:"engine"`
	Vault  VaultStatus  `json:"vault"`
	Nodes  []NodeStatus `json:"nodes"`
	// Sites have the nodes that open their catalog pages. Without the key of the cluster, the words that
	// stand for their names.
	Sites    []SiteOwner `json:"sites"`
	Warnings []string    `json:"warnings"`
}

// EngineStatus is the engine of the records. Quorum says that it takes writes.
type EngineStatus struct {
	URL         string  `json:"url"`
	RoundTripMs float64 `json:"roundTripMs"`
	Quorum      bool    `json:"quorum"`
}

// Living counts the nodes that live, their sessions, and the pages that they have room for.
func (s *ClusterStatus) Living() (nodes, sessions, free int) {
	for _, n := range s.Nodes {
		if n.State != stateDead {
			nodes, sessions, free = nodes+1, sessions+n.Sessions, free+n.Free
		}
	}
	return nodes, sessions, free
}

// NodeStatus is one node; State is alive, draining or dead.
type NodeStatus struct {
	Name         string `json:"name"`
	Incarnation  string `json:"incarnation"`
	Address      string `json:"addr"`
	State        string `json:"state"`
	LeaseAgeMs   int64  `json:"leaseAgeMs"`
	Sessions     int    `json:"sessions"`
	Free         int    `json:"free"`
	Build        string `json:"build"`
	ConfigDigest string `json:"configDigest"`
}

// SiteOwner says which node opens the catalog page of a site: its name, "" for nobody.
type SiteOwner struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// IsWell reports whether the engine takes writes, and the vault too where it was looked at, and no node is dead.
func (s *ClusterStatus) IsWell() bool {
	return s.Engine.Quorum && (s.Vault.Writes == nil || *s.Vault.Writes) && !slices.ContainsFunc(s.Nodes, func(n NodeStatus) bool { return n.State == stateDead })
}

const stateAlive, stateDraining, stateDead = "alive", "draining", "dead"

// statusTime limits how long it takes to look at a cluster, besides a lease that may have to pass.
const statusTime = 5 * time.Second

// ReadCluster looks at a cluster from outside: this process is no node of it. An engine that does not
// answer is in the status.
func ReadCluster(ctx context.Context, o *ClusterOptions) ClusterStatus {
	connecting, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	store, err := openExisting(connecting, o, "status")
	if err != nil {
		s := newStatus()
		s.Engine.URL = jetstream.Redacted(o.Servers)
		s.warn("the engine does not answer: %s", text.Line(err.Error()))
		return s
	}
	defer store.Close()
	return statusOf(ctx, store, o.Keys, func(ctx context.Context) (*postgres.Store, func(), error) {
		if o.Memory == "" {
			return nil, func() {}, nil
		}
		memory, err := openMemory(ctx, o, "status", true)
		if err != nil {
			return nil, nil, err
		}
		return memory, memory.Close, nil
	})
}

// openExisting connects to the engine of a cluster that there is, where the connection gets a name.
func openExisting(ctx context.Context, o *ClusterOptions, name string) (*jetstream.Store, error) {
	return jetstream.Open(ctx, jetstream.Options{Servers: o.Servers, Credentials: o.Credentials, TLS: o.TLS, Name: name, Existing: true, Log: o.Log})
}

// Status looks at the cluster of this node.
func (c *Cluster) Status(ctx context.Context) ClusterStatus {
	return statusOf(ctx, c.store, c.keys, func(context.Context) (*postgres.Store, func(), error) { return c.memory, func() {}, nil })
}

func newStatus() ClusterStatus {
	return ClusterStatus{Vault: VaultStatus{Kind: vaultInNATS}, Nodes: []NodeStatus{}, Sites: []SiteOwner{}, Warnings: []string{}}
}

func (s *ClusterStatus) warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

func statusOf(ctx context.Context, store *jetstream.Store, keys key.Keys, vault vaultOf) ClusterStatus {
	s := newStatus()
	s.Engine.URL = store.URL()
	if took, err := store.RoundTrip(); err == nil {
		s.Engine.RoundTripMs = float64(took.Microseconds()) / 1000
	}
	writing, cancel := context.WithTimeout(ctx, statusTime)
	err := records.Probe(writing, store)
	cancel()
	if s.Engine.Quorum = err == nil; err != nil {
		s.warn("the engine takes no writes: %s", text.Line(err.Error()))
	}
	s.lookAtVault(ctx, store, vault)
	looking, cancel := context.WithTimeout(ctx, lease.MaxLease+statusTime)
	defer cancel()
	nodes, err := lease.Survey(looking, store, s.Engine.Quorum, time.Now)
	if err != nil {
		s.warn("the nodes cannot be listed: %s", text.Line(err.Error()))
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, nodeStatus(&nodes[i]))
	}
	sites, err := catalog.Survey(looking, store, keys.Sealer(key.Records))
	if err != nil {
		s.warn("the owners of sites cannot be listed: %s", text.Line(err.Error()))
	}
	for _, o := range sites {
		s.Sites = append(s.Sites, SiteOwner{text.Brief(o.Site, 64), s.living(o.Owner)})
	}
	s.judge(nodes, store.Copies())
	return s
}

// living returns the name of the node with that incarnation, "" where none lives.
func (s *ClusterStatus) living(id string) string {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Incarnation == id && n.State != stateDead {
			return n.Name
		}
	}
	return ""
}

func nodeStatus(n *lease.Sighting) NodeStatus {
	is := NodeStatus{Name: text.Brief(n.Node, 64), Incarnation: text.Brief(n.ID, 16), Address: text.Brief(n.Address, 256), State: stateAlive, LeaseAgeMs: n.Age.Milliseconds(),
		Sessions: n.Sessions, Free: n.Free, Build: text.Brief(n.Build, 64), ConfigDigest: text.Brief(n.Config, 64)}
	switch {
	case n.State == lease.Dead:
		is.State = stateDead
	case n.Drain:
		is.State = stateDraining
	}
	return is
}

// judge adds what an operator should know.
func (s *ClusterStatus) judge(nodes []lease.Sighting, copies int) {
	var alive []lease.Sighting
	names := map[string]int{}
	for _, n := range nodes {
		if n.State == lease.Dead {
			s.warn("the node %s has ended without a word, and none of its name has begun since", text.Brief(n.Node, 64))
			continue
		}
		alive = append(alive, n)
		names[n.Node]++
	}
	for i := range alive {
		n := &alive[i]
		if n.Newer {
			s.warn("the record of the node %s is of a newer version of pagetools", text.Brief(n.ID, 16))
		}
		if n.Ahead != 0 {
			s.warn("the clock of the node %s differs from this machine's by %v", text.Brief(n.Node, 64), n.Ahead.Round(10*time.Millisecond))
		}
		if names[n.Node] > 1 {
			s.warn("several nodes have the name %s: each needs one of its own", text.Brief(n.Node, 64))
			names[n.Node] = 0
		}
	}
	for what, of := range map[string]func(*lease.Sighting) string{
		"builds of pagetools":  func(n *lease.Sighting) string { return n.Build },
		"sites and callers":    func(n *lease.Sighting) string { return n.Config },
		"lengths of the lease": func(n *lease.Sighting) string { return n.Lease.String() },
	} {
		if said := differ(alive, of); said != "" {
			s.warn("the nodes have different %s: %s", what, said)
		}
	}
	if copies == 1 && len(alive) > 1 {
		s.warn("the engine keeps one copy of the records: while its server is away, no session of any node goes on")
	}
	slices.Sort(s.Warnings)
}

// differ returns what nodes say that do not say the same; "" where they do.
func differ(nodes []lease.Sighting, of func(*lease.Sighting) string) string {
	by := map[string][]string{}
	var order []string
	for i := range nodes {
		said := cmp.Or(text.Brief(of(&nodes[i]), 64), "unknown")
		if by[said] == nil {
			order = append(order, said)
		}
		by[said] = append(by[said], text.Brief(nodes[i].Node, 64))
	}
	if len(order) < 2 {
		return ""
	}
	parts := make([]string, 0, len(order))
	for _, said := range order {
		parts = append(parts, said+" ("+strings.Join(by[said], ", ")+")")
	}
	return strings.Join(parts, ", ")
}
