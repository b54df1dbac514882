package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

// clusterAuditPath is a path of the inbox, and of what nodes ask each other.
const clusterAuditPath = clusterPath + "/audit"

// auditPatience limits how long a node may read its audit.
const auditPatience = 10 * time.Minute

// nodeAudits has the audits of nodes, as they verified them, and the nodes whose audits nobody looked at.
type nodeAudits struct {
	OK     bool        `json:"ok"`
	Nodes  []nodeAudit `json:"nodes"`
	Silent []string    `json:"silent"`
	// Marked are the nodes that have kept marks.
	Marked []string `json:"marked,omitempty"`
}

// nodeAudit is the audit of a node. None says that it has no folder.
type nodeAudit struct {
	Node string `json:"node"`
	None bool   `json:"none,omitempty"`
	auditReport
}

// merge adds what another node said.
func (l *nodeAudits) merge(o nodeAudits) {
	l.Nodes, l.Silent, l.Marked = append(l.Nodes, o.Nodes...), append(l.Silent, o.Silent...), append(l.Marked, o.Marked...)
}

// settle names the nodes that have marks and did not answer.
func (l *nodeAudits) settle() {
	for _, name := range l.Marked {
		if !slices.ContainsFunc(l.Nodes, func(n nodeAudit) bool { return n.Node == name }) {
			l.Silent = append(l.Silent, name)
		}
	}
	slices.Sort(l.Silent)
	l.Silent, l.Marked = slices.Compact(l.Silent), nil
	slices.SortFunc(l.Nodes, func(a, b nodeAudit) int { return cmp.Compare(a.Node, b.Node) })
	l.OK = len(l.Silent) == 0 && !slices.ContainsFunc(l.Nodes, func(n nodeAudit) bool { return !n.OK })
}

// auditRoute verifies the audit of this node, and, where all is true, those of all nodes.
func auditRoute(n *node, a *app.App, all bool) transport.Route {
	return transport.Route{Pattern: clusterAuditPath, Methods: map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter, r *http.Request) {
		l := nodeAudits{Nodes: []nodeAudit{}, Silent: []string{}}
		own := nodeAudit{Node: n.name, None: true, auditReport: auditReport{OK: true}}
		var err error
		if kept := a.Memory(); kept != nil && kept.Audit != nil {
			own.None = false
			own.Report, err = n.cluster.VerifyAudit(r.Context(), kept)
			own.OK = len(own.Bad) == 0
		}
		if err == nil {
			l.Marked, err = n.cluster.MarkedNodes(r.Context())
		}
		if err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
		l.Nodes = append(l.Nodes, own)
		if all {
			l.merge(askAudits(r.Context(), n.cluster.Peers()))
			l.settle()
		}
		transport.WriteJSON(w, r, http.StatusOK, l)
	}}}
}

// askAudits has nodes verify their audits, all at once.
func askAudits(ctx context.Context, nodes map[string]http.RoundTripper) (all nodeAudits) {
	var mu sync.Mutex
	eachNode(nodes, func(name string, to http.RoundTripper) (failed bool) {
		var l nodeAudits
		if (&approver{patience: auditPatience}).request(ctx, to, http.MethodGet, clusterAuditPath, nil, &l) != nil {
			return true
		}
		for i := range l.Nodes {
			l.Nodes[i].Node = name // whatever it says
		}
		mu.Lock()
		defer mu.Unlock()
		all.merge(nodeAudits{Nodes: l.Nodes, Marked: l.Marked})
		return false
	}, func(name string) {
		mu.Lock()
		defer mu.Unlock()
		all.Silent = append(all.Silent, name)
	})
	return all
}

// verifyAudits prints what the nodes found in their audits.
func verifyAudits(ctx context.Context, p *program, servers string) error {
	if servers != ofDataDir {
		p.conf.Cluster = servers
	}
	l := nodeAudits{Nodes: []nodeAudit{}, Silent: []string{}}
	if clustered(p.conf) {
		nodes, done, err := livingPeers(ctx, p)
		if err != nil {
			return err
		}
		defer done()
		l.merge(askAudits(ctx, nodes))
		l.settle()
	} else if err := p.askNode(ctx, 2*auditPatience, http.MethodGet, clusterAuditPath, nil, &l); err != nil {
		return err
	}
	if p.conf.Format == "text" {
		printAudits(p, &l)
	} else if err := terminal.Encode(p.stdout, l); err != nil {
		return err
	}
	for _, name := range l.Silent {
		p.say("warning: the node %s does not answer: its audit was not verified", text.Line(name))
	}
	for i := range l.Nodes {
		if n := &l.Nodes[i]; len(n.Bad) > 0 {
			return terminal.Found("%s: %s", text.Line(n.Node), badLine(n.Bad[0]))
		}
	}
	if len(l.Silent) > 0 {
		return &terminal.ShownError{Code: terminal.ExitUnreachable}
	}
	return nil
}

// printAudits prints the report of each node, for people.
func printAudits(p *program, l *nodeAudits) {
	for i := range l.Nodes {
		n := &l.Nodes[i]
		fmt.Fprintf(p.stdout, "%s:\n", text.Line(n.Node))
		if n.None {
			fmt.Fprintln(p.stdout, "  it keeps no audit.")
			continue
		}
		var said strings.Builder
		printReport(&said, n.Report)
		for line := range strings.Lines(said.String()) {
			fmt.Fprint(p.stdout, "  ", line)
		}
	}
}
