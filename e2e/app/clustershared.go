package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/rate"
	"github.com/pagetools/pagetools/bridge/records/revoked"
	"github.com/pagetools/pagetools/bridge/records/taint"
	"github.com/pagetools/pagetools/bridge/records/vault"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// shared has what the nodes of a cluster keep together.
type shared struct {
	// Logins has the logins at APIs of all nodes.
	Logins *oauth.Store
	// Clients, Connections, Browsers and Once serve the built-in authorization server of all nodes, and SignIn
	// seals its pages.
	Clients     bridge.Clients
	Connections bridge.Connections
	Browsers    bridge.Browsers
	Once        bridge.Once
	SignIn      []byte
	// Operators has who is logged in at the operators' page of any node. Codes of its links are in Once.
	Operators bridge.Logins
	// Revoked knows the credentials that were revoked at any node.
	Revoked *revoked.List

	taints  *taint.Taints
	rates   *rate.Rates
	replies *vault.Replies
	kept    bridge.Memory // that must not be lost with this node
	places  vault.Options // of it
	batches atomic.Int64  // of rates
}

// Shared puts what the nodes keep together in the place of what one process keeps.
func (c *Cluster) Shared(m *bridge.Memory) {
	m.Taints, m.Rates = c.taints, c.rates
	m.Replies, m.Grants, m.KnownTools, m.Versions = c.kept.Replies, c.kept.Grants, c.kept.KnownTools, c.kept.Versions
}

// keep opens what must not be lost with this node.
func (c *Cluster) keep(ctx context.Context, o *ClusterOptions) error {
	keys, err := vaultKey(ctx, c.vault, o.Keys)
	if err == nil && c.memory != nil {
		err = pinVault(ctx, c.records, keys.Now)
	}
	if err != nil {
		return err
	}
	v := vaultOptions(c.vault, keys)
	v.Self, v.Dead = func() string { return c.node.Life().ID }, c.isDead
	if c.Logins, err = logins(ctx, v, keys); err != nil {
		return err
	}
	c.Clients, c.Connections, c.Browsers = vault.NewClients(v), vault.NewConnections(v), vault.NewBrowsers(v)
	c.Once, c.SignIn, c.Operators = vault.NewOnce(v), keys.Now.Subkey(key.SignIn), vault.NewLogins(v)
	c.places, c.replies = v, vault.NewReplies(v)
	grants := vault.NewGrants(v)
	_, _ = grants.All(ctx) // it is asked again; what it says counts while the engine is away
	c.kept = bridge.Memory{Replies: c.replies, Grants: grants, KnownTools: vault.NewKnown(v), Versions: vault.NewVersions(v)}
	return nil
}

// isDead reports whether a life of a node has ended for good.
func (c *Cluster) isDead(ctx context.Context, id string) (bool, error) {
	is, err := c.node.Ask(ctx, id)
	return is == lease.Dead, err
}

// share opens it, and reads what was revoked before anybody is served.
func (c *Cluster) share(ctx context.Context, o *ClusterOptions) error {
	c.taints = taint.New(taint.Options{Records: c.records, Names: namesOf(o), Lease: cmp.Or(o.Lease, lease.DefaultLease)})
	c.rates = rate.New(rate.Options{Records: c.records, Name: namesOf(o)[0], Nodes: func() int { return len(c.node.Members()) + 1 },
		Taken: func() { c.batches.Add(1) }, Log: o.Log})
	c.Revoked = revoked.New(revoked.Options{Records: c.records, Names: namesOf(o), Log: o.Log})
	if err := c.keep(ctx, o); err != nil {
		return err
	}
	return c.Revoked.Read(ctx)
}

// goOn does what a node does besides serving, until running ends.
func (c *Cluster) goOn(running context.Context, o *ClusterOptions) {
	self := func() (string, bool) { life := c.node.Life(); return life.ID, life.Holds() }
	h := housekeeper{self: self, others: c.node.Members, config: o.Config, differs: o.Differs, every: cmp.Or(o.Lease, lease.DefaultLease),
		sweep: c.sweep, log: o.Log}
	h.tidy = func(ctx context.Context, idle, age time.Duration) (int, error) { return tidy(ctx, c, idle, age) }
	c.run.Go(func() { h.run(running) })
	c.run.Go(func() { c.rates.Run(running) })
	c.run.Go(func() { c.Revoked.Run(running) })
	c.run.Go(func() { markOn(running, c, o.Log) })
}

// tidy removes what nodes that ended have left: sessions that nobody asks for, and pages that no session has.
func tidy(ctx context.Context, c *Cluster, idle, age time.Duration) (int, error) {
	n, err := c.dir.Tidy(ctx, idle, age)
	if a := c.app.Load(); a != nil {
		s := sweeper{c.dir, c.keys.Namers(), c.isDead}
		closed, failed := s.sweep(ctx, a.Manager)
		if err = errors.Join(err, failed); closed > 0 {
			c.log.Info("cluster: pages that no session has are closed", slog.Int("pages", closed))
		}
	}
	return n, err
}

// namesOf hide names from the engine: under the key of now first.
func namesOf(o *ClusterOptions) (all []func(parts ...string) string) {
	for _, n := range o.Keys.Namers() {
		all = append(all, n.Name)
	}
	return all
}
