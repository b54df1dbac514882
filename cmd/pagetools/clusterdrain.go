package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

func clusterDrainCommand(p *program) *cobra.Command {
	wait := false
	c := &cobra.Command{
		Use:   "drain NODE",
		Short: "Have a node end, when its sessions and calls have ended",
		Long: "Asks a node of a cluster to end, as SIGTERM does, and returns when it has said yes. Other nodes get what begins; its\n" +
			"sessions go on until they are idle, and calls until they have ended, for --drain-time of the node at most.\n" +
			"The node is found by --cluster and --cluster-key-file, or through the node of --data-dir.",
		Args: exactly(1, "the name of a node"),
		RunE: func(cmd *cobra.Command, args []string) error { return drainNode(cmd.Context(), p, args[0], wait) },
	}
	c.Flags().BoolVar(&wait, "wait", false, "return when its sessions are gone")
	return c
}

// drainPath is a path of the inbox, and of what nodes ask each other.
const drainPath = clusterPath + "/drain"

// drained is the answer of a node that ends.
type drained struct {
	Node     string `json:"node"`
	Draining bool   `json:"draining"`
}

// drainRoute serves `pagetools cluster drain`: for this node, and for others where through is true.
func drainRoute(n *node, through bool) transport.Route {
	return transport.Route{Pattern: drainPath, Methods: map[string]http.HandlerFunc{http.MethodPost: func(w http.ResponseWriter, r *http.Request) {
		var in named
		body, err := transport.ReadBody(r)
		if err == nil {
			err = json.Unmarshal(body, &in)
		}
		out := drained{in.Name, true}
		switch {
		case err != nil:
		case in.Name == n.name:
			n.askToEnd()
		case through:
			err = askToEnd(r.Context(), n.cluster.Peers(), in.Name, &out)
		default:
			err = noNode(in.Name, nil)
		}
		if err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
		transport.WriteJSON(w, r, http.StatusOK, out)
	}}}
}

// askToEnd has the node end, as SIGTERM does.
func (n *node) askToEnd() { n.asked.Do(func() { close(n.drains) }) }

// askToEnd asks one of these nodes to end.
func askToEnd(ctx context.Context, nodes map[string]http.RoundTripper, name string, out *drained) error {
	to := nodes[name]
	if to == nil {
		return noNode(name, slices.Sorted(maps.Keys(nodes)))
	}
	return (&approver{}).request(ctx, to, http.MethodPost, drainPath, named{name}, out)
}

// noNode is the error of a node that does not live.
func noNode(name string, others []string) *bridge.Error {
	said := "No node of the name " + text.Quote(name) + " lives."
	if len(others) > 0 {
		said += " Others do: " + text.Few(others, 20) + "."
	}
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "%s", said)
}

// drainNode asks a node to end, through the engine or through the node of the data directory.
func drainNode(ctx context.Context, p *program, name string, wait bool) error {
	out := drained{Node: name}
	var err error
	if clustered(p.conf) {
		var nodes map[string]http.RoundTripper
		var done func()
		if nodes, done, err = p.clusterPeers(ctx); err != nil {
			return err
		}
		defer done()
		err = askToEnd(ctx, nodes, name, &out)
	} else {
		err = p.askNode(ctx, 0, http.MethodPost, drainPath, named{name}, &out)
	}
	if err != nil {
		return err
	}
	if p.conf.Format == "text" {
		p.say("%s is draining: other nodes get what begins", text.Line(out.Node))
	}
	if wait {
		if err := awaitDrained(ctx, p, name); err != nil {
			return err
		}
	}
	if p.conf.Format != "text" {
		return terminal.Encode(p.stdout, out)
	}
	return nil
}

// drainedEvery sets how often cluster drain --wait looks.
const drainedEvery = 500 * time.Millisecond

// awaitDrained waits until a node that drains has no session.
func awaitDrained(ctx context.Context, p *program, name string) error {
	defer p.waiting("waiting for the sessions of %s", text.Line(name))()
	for {
		s, err := readStatus(ctx, p)
		if err != nil {
			if e, ok := errors.AsType[*terminal.ExitError](err); ok && e.Code == terminal.ExitUnreachable && !clustered(p.conf) {
				return nil // it was the node of the data directory
			}
			return err
		}
		if s.Engine.Quorum && !slices.ContainsFunc(s.Nodes, func(n app.NodeStatus) bool { return n.Name == name && n.State == "draining" && n.Sessions > 0 }) {
			return nil
		}
		select {
		case <-time.After(drainedEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// clusterPeers returns the nodes of the cluster that the settings name.
func (p *program) clusterPeers(ctx context.Context) (map[string]http.RoundTripper, func(), error) {
	o, err := clusterOptions(p)
	if err != nil {
		return nil, nil, err
	}
	nodes, done, err := app.Peers(ctx, o)
	if err != nil {
		return nil, nil, terminal.Unreachable("the engine of the cluster does not answer: %s", text.Line(err.Error()))
	}
	return nodes, done, nil
}

// livingPeers is clusterPeers, and an error where there is none.
func livingPeers(ctx context.Context, p *program) (map[string]http.RoundTripper, func(), error) {
	nodes, done, err := p.clusterPeers(ctx)
	if err == nil && len(nodes) == 0 {
		done()
		err = terminal.Unreachable("no node of the cluster lives")
	}
	return nodes, done, err
}

// askNode asks the node of the data directory.
func (p *program) askNode(ctx context.Context, patience time.Duration, method, path string, body, into any) error {
	a := &approver{p: p, patience: patience}
	live, err := a.live()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		err = a.request(ctx, live[name], method, path, body, into)
		if err == nil || bridge.AsError(err).Code != bridge.WebtoolNotFound {
			return err
		}
	}
	return terminal.Usage("no pagetools with this data directory is a node: --cluster names the engine of the cluster, as in --cluster nats://10.0.0.5:4222")
}
