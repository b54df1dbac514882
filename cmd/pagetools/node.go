package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/app/embed"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// node is this process as a node of a cluster. A nil node is none.
type node struct {
	cluster *app.Cluster
	name    string
	keys    key.Keys
	config  atomic.Pointer[string] // the digest of sites and callers
	listen  net.Listener
	log     *slog.Logger
	server  *http.Server
	drains  chan struct{} // closed when an operator wants it to end
	asked   sync.Once
}

// clusterKeys reads the key of the cluster, and the one that is accepted beside it.
func clusterKeys(c *config.Config) (keys key.Keys, err error) {
	if c.ClusterKeyFile == "" {
		return keys, terminal.Usage("--cluster needs --cluster-key-file: the file with the secret that all nodes have, " +
			"which `(umask 077; pagetools cluster key > cluster.key)` makes")
	}
	if keys.Now, err = key.Load(c.ClusterKeyFile); err != nil {
		return keys, terminal.Usage("--cluster-key-file: %w", err)
	}
	if c.ClusterKeyOld != "" {
		if keys.Also, err = key.Load(c.ClusterKeyOld); err != nil {
			return keys, terminal.Usage("--cluster-key-old: %w", err)
		}
	}
	return keys, nil
}

// clustered reports whether the settings name a cluster.
func clustered(c *config.Config) bool { return c.Cluster != "" || c.ClusterEmbed }

// engines reads where the engines of the cluster are.
func engines(c *config.Config) ([]string, error) {
	if c.ClusterEmbed {
		peers, err := enginePeers(c)
		return embed.Servers(peers), err
	}
	var all []string
	for _, one := range strings.Split(c.Cluster, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return nil, terminal.Usage("--cluster must name NATS servers, such as nats://10.0.0.5:4222,nats://10.0.0.6:4222, or tls:// ones")
		}
		all = append(all, u.String())
	}
	return all, nil
}

// enginePeers reads --cluster-peers.
func enginePeers(c *config.Config) ([]embed.Peer, error) {
	switch {
	case c.Cluster != "":
		return nil, terminal.Usage("--cluster-embed cannot be combined with --cluster: it starts engines, and the other names those that run")
	case c.ClusterPeers == "":
		return nil, terminal.Usage("--cluster-embed needs --cluster-peers, the nodes with where their engines are reached, such as a=10.0.0.11,b=10.0.0.12,c=10.0.0.13")
	}
	peers, err := embed.ParsePeers(c.ClusterPeers)
	if err != nil {
		return nil, terminal.Usage("invalid value for --cluster-peers: %w", err)
	}
	return peers, nil
}

// proved adds what engines that nodes start want to see of a node.
func proved(o *app.ClusterOptions, c *config.Config) (err error) {
	if c.ClusterEmbed {
		o.TLS, err = cluster.EngineClient(o.Keys)
	}
	return err
}

// memoryInNATS is the value of --cluster-memory for the engine of the cluster.
const memoryInNATS = "nats"

// places reads where the cluster of the settings is: its engine, and what must not be lost with a node.
func places(p *program) (*app.ClusterOptions, error) {
	o := &app.ClusterOptions{Credentials: p.conf.ClusterCredentials, Log: p.log}
	var err error
	if o.Servers, err = engines(p.conf); err != nil || p.conf.ClusterMemory == memoryInNATS {
		return o, err
	}
	if err := app.CheckMemory(p.conf.ClusterMemory); err != nil {
		return nil, terminal.Usage("invalid value for --cluster-memory: must be nats, or the address of a PostgreSQL database, such as " +
			"postgres://pagetools:PASSWORD@db.example/pagetools, with parameters that PostgreSQL has")
	}
	o.Memory = p.conf.ClusterMemory
	return o, nil
}

// clusterOptions reads where the cluster of the settings is, and its key.
func clusterOptions(p *program) (*app.ClusterOptions, error) {
	o, err := places(p)
	if err == nil {
		o.Keys, err = clusterKeys(p.conf)
	}
	if err == nil {
		err = proved(o, p.conf)
	}
	return o, err
}

// nodeName returns the name of this node: --node, or that of the machine.
func nodeName(c *config.Config) (string, error) {
	name := c.Node
	if name == "" {
		host, _ := os.Hostname()
		name, _, _ = strings.Cut(strings.ToLower(host), ".")
		if !cluster.ValidName(name) {
			return "", terminal.Usage("--cluster needs --node, a name for this node: that of the machine, %q, cannot be one", text.Line(host))
		}
	}
	if !cluster.ValidName(name) {
		return "", terminal.Usage("invalid value %q for --node: must be 1 to 63 small letters, digits and hyphens", text.Line(name))
	}
	return name, nil
}

// ofCluster are the settings that mean nothing without --cluster.
var ofCluster = []string{"cluster-key-file", "cluster-key-old", "cluster-credentials", "cluster-memory", "cluster-peers", "node", "peer-listen", "peer-address", "lease"}

// nodeOptions reads what serve is told of a cluster, and refuses what cannot be, before the engine is
// asked. It is nil without --cluster.
func nodeOptions(p *program, targets []*target) (*app.ClusterOptions, error) {
	c := p.conf
	if !clustered(c) {
		for _, name := range ofCluster {
			forEgress := strings.HasPrefix(name, "cluster-key") && c.EgressListen+c.EgressAddress != ""
			if !c.IsDefault(name) && c.From(name) != "environment" && !forEgress {
				return nil, terminal.Usage("--%s needs --cluster, which names the engine of the cluster, or --cluster-embed", name)
			}
		}
		return nil, nil //nolint:nilnil // there is none
	}
	o, err := places(p)
	if err != nil {
		return nil, err
	}
	o.Lease, o.Limits, o.Version = c.Lease, c.Limits.Bridge(), ownVersion()
	if o.Name, err = nodeName(c); err != nil {
		return nil, err
	}
	if o.Keys, err = clusterKeys(c); err != nil {
		return nil, err
	}
	if err := errors.Join(proved(o, c), hasEngine(o, c)); err != nil {
		return nil, err
	}
	if o.DataDir, err = dataFolder(c); err != nil && !errors.Is(err, config.ErrNoDataDir) {
		return nil, err
	}
	host, _, err := net.SplitHostPort(c.PeerListen)
	switch ip := net.ParseIP(host); {
	case c.PeerListen == "":
		return nil, terminal.Usage("--cluster needs --peer-listen, the address at which the other nodes reach this one, such as 10.0.0.11:7302")
	case err != nil:
		return nil, terminal.Usage("invalid value %q for --peer-listen: must be host:port, such as 10.0.0.11:7302", text.Line(c.PeerListen))
	case (host == "" || ip != nil && ip.IsUnspecified()) && c.PeerAddress == "":
		return nil, terminal.Usage("--peer-listen %s is every address of this machine: --peer-address https://HOST:PORT says under which one the other nodes reach it", text.Line(c.PeerListen))
	}
	if u, err := url.Parse(c.PeerAddress); c.PeerAddress != "" && (err != nil || u.Scheme != "https" || u.Port() == "" || u.Path != "") {
		return nil, terminal.Usage("invalid value %q for --peer-address: must be an address such as https://10.0.0.11:7302", text.Line(c.PeerAddress))
	}
	return o, fitsCluster(p, targets)
}

// hasEngine refuses a node that cannot start an engine, where the settings say that it does.
func hasEngine(o *app.ClusterOptions, c *config.Config) error {
	if !c.ClusterEmbed {
		return nil
	}
	peers, err := enginePeers(c)
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(peers, func(p embed.Peer) bool { return p.Node == o.Name }):
		return terminal.Usage("--cluster-peers does not name the node %s, which is this one: --node says its name", text.Line(o.Name))
	case c.DataDir == config.Off:
		return terminal.Usage("--cluster-embed needs a data directory: its engine keeps there what the nodes share")
	}
	return nil
}

// startEngine starts the engine of this node, where the settings say so; nil is none.
func (p *program) startEngine(ctx context.Context, o *app.ClusterOptions) (*embed.Engine, error) {
	if !p.conf.ClusterEmbed {
		return nil, nil //nolint:nilnil // there is none
	}
	peers, err := enginePeers(p.conf)
	if err != nil {
		return nil, err
	}
	dir, err := dataFolder(p.conf)
	if err != nil {
		return nil, err
	}
	e, err := embed.Start(ctx, embed.Options{Folder: filepath.Join(dir, "engine"), Node: o.Name, Peers: peers, Keys: o.Keys, Log: p.log})
	if err != nil {
		return nil, terminal.Unreachable("--cluster-embed: %v", err)
	}
	return e, nil
}

// fitsCluster refuses what only one process can have.
func fitsCluster(p *program, targets []*target) error {
	c := p.conf
	for _, t := range targets {
		if t.Folder != "" {
			return terminal.Usage("%s is a folder, and nodes of a cluster cannot serve one: each would give it an address of its own, so that "+
				"consent and versions of one count nowhere else. Serve it with a web server, and name that address", text.Line(t.Text))
		}
	}
	switch {
	case c.UserDataDir != "":
		return terminal.Usage("--user-data-dir cannot be combined with --cluster: a profile belongs to one browser, and callers reach any node")
	case c.AutoConnect:
		return terminal.Usage("--auto-connect cannot be combined with --cluster: the browser that you run is on one machine, and callers reach any node")
	case c.Token == "" && len(c.Callers) == 0:
		return terminal.Usage("--cluster needs callers with tokens: nobody is on this machine for all nodes. Set PAGETOOLS_TOKEN, or callers in the configuration file, the same on each node")
	}
	return nil
}

// listenPeers listens for the other nodes, and starts the engine that is ours.
func (s *lives) listenPeers(ctx context.Context, o *app.ClusterOptions) (err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.p.conf.PeerListen)
	if err != nil {
		return cannotListen("--peer-listen", s.p.conf.PeerListen, err)
	}
	s.peers = newLasting(l)
	if o.Address = s.p.conf.PeerAddress; o.Address == "" {
		o.Address = "https://" + l.Addr().String()
	}
	s.engine, err = s.p.startEngine(ctx, o)
	return err
}

// join makes this process a node; nil without options. It waits for the engine, and calls waiting first.
func (s *lives) join(ctx context.Context, again bool, waiting func()) (*node, error) {
	p, o := s.p, s.who.plan.cluster
	if o == nil {
		return nil, nil //nolint:nilnil // there is no cluster
	}
	if s.peers == nil {
		if err := s.listenPeers(ctx, o); err != nil {
			return nil, err
		}
	}
	o.Waiting = func(err error) {
		p.say("warning: the engine of the cluster does not answer; waiting for it, and refusing calls until then: %s", text.Line(err.Error()))
		waiting()
	}
	o.Differs = func(name string) {
		p.say("warning: the node %s of the cluster has other sites or callers than this one: what a caller may do depends on which it reaches", text.Line(name))
	}
	n := &node{name: o.Name, keys: o.Keys, listen: s.peers.lend(), log: p.log, drains: make(chan struct{})}
	n.configured(s.who.plan.targets, s.who.read())
	o.Config = func() string { return *n.config.Load() }
	var err error
	if n.cluster, err = app.JoinCluster(ctx, o); err != nil {
		if errors.Is(err, app.ErrOtherKey) {
			return nil, terminal.Usage("--cluster-key-file: %w. While the key is replaced, --cluster-key-old names the old one; where that is lost, "+
				"remove the record: consent, versions and results that are kept are given up with it", err)
		}
		if errors.Is(err, app.ErrOtherVault) {
			return nil, terminal.Usage("--cluster-memory: %w. All nodes need the same; to move for good, end all nodes and remove that record: "+
				"what is kept in the other place is given up with it", err)
		}
		return nil, fmt.Errorf("joining the cluster: %w", err)
	}
	if again {
		return n, nil
	}
	if warning := n.cluster.Warning(); warning != "" {
		p.say("warning: %s", warning)
	}
	p.say("note: this is the node %s of a cluster, and other nodes reach it at %s", o.Name, o.Address)
	return n, nil
}

// configured tells the other nodes which sites and callers this one has; without a cluster nobody.
func (n *node) configured(targets []*target, c *config.Config) {
	if n != nil {
		digest := n.configDigest(targets, c)
		n.config.Store(&digest)
	}
}

// configure adds to the options of the app what those of a node have.
func (n *node) configure(o *app.Options) {
	if n != nil {
		n.cluster.Bridge(&o.Bridge)
		_ = o.Credentials.Close() // of this machine
		o.Homes, o.Shared, o.Catalog, o.Credentials = n.cluster.Homes, n.cluster.Shared, n.cluster.Catalog, n.cluster.Logins
	}
}

// serve serves the other nodes, and returns what serves agents.
func (n *node) serve(a *app.App, mux http.Handler, guards transport.Options, operators http.Handler) http.Handler {
	if n == nil {
		return mux
	}
	n.cluster.Serve(a)
	n.server = transport.Server(n.cluster.Listener(mux, guards, operators), n.log)
	n.server.TLSConfig = n.cluster.Identity.Server()
	go func() { _ = n.server.ServeTLS(n.listen, "", "") }() // ends with leave
	return n.cluster.Route(mux)
}

// await waits until ctx ends or an operator wants the node to end, or until serving has failed or other nodes took this one for dead.
func (n *node) await(ctx context.Context, failed <-chan error) error {
	var taken, asked <-chan struct{} // never, where there is no cluster
	if n != nil {
		taken, asked = n.cluster.Ended(), n.drains
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-taken:
		return errTaken
	case <-ctx.Done():
		return nil
	case <-asked:
		return nil
	}
}

// errTaken ends the life of a node that others took for dead.
var errTaken = errors.New("the other nodes took this one for dead, because it could not renew its lease in time: it ends what it had, and joins again")

// leave ends the node.
func (n *node) leave(p *program) {
	if n == nil {
		return
	}
	if n.server != nil {
		_ = n.server.Close()
	}
	if err := n.cluster.Leave(); err != nil {
		p.say("warning: the other nodes wait for the end of this one: %v", err)
	}
}

// peers adds the other nodes to the processes that the operators' page shows.
func (n *node) peers(others func() map[string]http.RoundTripper) func() map[string]http.RoundTripper {
	if n == nil {
		return others
	}
	return func() map[string]http.RoundTripper {
		all := others()
		maps.Copy(all, n.cluster.Peers())
		return all
	}
}

// operatorOfNode is the caller of requests that the operators' page of another node passes on.
func operatorOfNode() bridge.Caller {
	operator := operatorAt("node")
	operator.May = append(operator.May, bridge.MayCall)
	return operator
}
