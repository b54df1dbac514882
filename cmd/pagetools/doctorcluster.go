package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

// cluster checks what a node needs, where the settings name a cluster: the key, the engine, and that the
// nodes that live reach each other.
func (d *doctor) cluster(ctx context.Context) error {
	c := d.p.conf
	if !clustered(c) {
		return nil
	}
	o, err := places(d.p)
	if err != nil {
		return d.fail(terminal.ExitUsage, "cluster", "", err)
	}
	if o.Keys, err = clusterKeys(c); err != nil {
		return d.fail(terminal.ExitUsage, "cluster key", "", err)
	}
	if err = proved(o, c); err != nil {
		return d.fail(terminal.ExitUsage, "cluster key", "", err)
	}
	d.ok("cluster key", "%s", c.ClusterKeyFile)
	s := app.ReadCluster(ctx, o)
	if !s.Engine.Quorum {
		return d.fail(terminal.ExitUnreachable, "engine", "Start the servers that --cluster names, of which more than half must run, with JetStream; "+
			"see --cluster-credentials for their account.", errors.New(strings.Join(s.Warnings, "; ")))
	}
	d.ok("engine", "%s takes writes, %.1f ms", s.Engine.URL, s.Engine.RoundTripMs)
	if v := s.Vault; v.Writes != nil && !*v.Writes {
		return d.fail(terminal.ExitUnreachable, "vault", "Start the PostgreSQL server that --cluster-memory names, and let its user make tables, or make them and let it "+
			"change them.", errors.New(strings.Join(s.Warnings, "; ")))
	} else if v.Writes != nil {
		d.ok("vault", "%s takes writes, %.1f ms", v.Kind, v.RoundTripMs)
	}
	for _, warning := range s.Warnings { // clocks, builds and settings that differ, too
		d.add(doctorStep{Step: "cluster", OK: true, Detail: "warning: " + warning})
	}
	nodes, done, err := app.Peers(ctx, o)
	if err != nil {
		return d.fail(terminal.ExitUnreachable, "peers", "", err)
	}
	defer done()
	if broken := brokenWays(ctx, nodes, ""); len(broken) > 0 {
		return d.fail(terminal.ExitUnreachable, "peers", "Let each node reach the --peer-address of each other one, and give all the same cluster key.",
			errors.New(strings.Join(broken, "; ")))
	}
	d.ok("peers", "%s, which all reach each other", text.Count(len(nodes), "node"))
	return nil
}

// waysPath is a path of what nodes ask each other.
const waysPath = clusterPath + "/peers"

// ways names the nodes that a node does not reach, and Broken, for who asks for all, what does not work
// between any two.
type ways struct {
	Misses []string `json:"misses"`
	Broken []string `json:"broken"`
}

// waysRoute says which other nodes this one does not reach; where all is true, what all do not reach.
func waysRoute(n *node, all bool) transport.Route {
	return transport.Route{Pattern: waysPath, Methods: map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter, r *http.Request) {
		if all {
			transport.WriteJSON(w, r, http.StatusOK, ways{Broken: brokenWays(r.Context(), n.cluster.Peers(), n.name)})
			return
		}
		misses := []string{}
		eachNode(n.cluster.Peers(), func(name string, to http.RoundTripper) (failed bool) {
			var who struct{}
			return (&approver{patience: logPatience}).request(r.Context(), to, http.MethodGet, "/api/me", nil, &who) != nil
		}, func(name string) { misses = append(misses, name) })
		slices.Sort(misses)
		transport.WriteJSON(w, r, http.StatusOK, ways{Misses: misses})
	}}}
}

// clusterWays returns what does not work between nodes, for who has the key or the data directory of one.
func clusterWays(ctx context.Context, p *program) (broken []string, err error) {
	if !clustered(p.conf) {
		var is ways
		err = p.askNode(ctx, 4*logPatience, http.MethodGet, waysPath, nil, &is)
		return is.Broken, err
	}
	nodes, done, err := p.clusterPeers(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return brokenWays(ctx, nodes, ""), nil
}

// brokenWays asks each node which others it does not reach, and returns what does not work. The node from
// asks; "" is none.
func brokenWays(ctx context.Context, nodes map[string]http.RoundTripper, from string) (broken []string) {
	var mu sync.Mutex
	eachNode(nodes, func(name string, to http.RoundTripper) (failed bool) {
		var is ways
		if (&approver{patience: 2 * logPatience}).request(ctx, to, http.MethodGet, waysPath, nil, &is) != nil {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		for _, other := range is.Misses {
			broken = append(broken, fmt.Sprintf("the node %s does not reach %s", text.Line(name), text.Line(other)))
		}
		return false
	}, func(name string) {
		mu.Lock()
		defer mu.Unlock()
		if from == "" {
			broken = append(broken, fmt.Sprintf("the node %s is not reached from here", text.Line(name)))
		} else {
			broken = append(broken, fmt.Sprintf("the node %s does not reach %s", text.Line(from), text.Line(name)))
		}
	})
	slices.Sort(broken)
	return broken
}

// eachNode asks all nodes at once, and tells of those that failed, one after the other.
func eachNode(nodes map[string]http.RoundTripper, ask func(name string, to http.RoundTripper) (failed bool), failed func(name string)) {
	var asked sync.WaitGroup
	var mu sync.Mutex
	for name, to := range nodes {
		asked.Go(func() {
			if ask(name, to) {
				mu.Lock()
				defer mu.Unlock()
				failed(name)
			}
		})
	}
	asked.Wait()
}
