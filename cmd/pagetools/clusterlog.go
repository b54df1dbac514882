package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

// ofDataDir is the value of log --cluster without one.
const ofDataDir = "-"

// clusterFlag adds the flag of a command that asks all nodes of a cluster. It hides the setting of that
// name, which names the engine.
func clusterFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "cluster", "", "of all nodes of the cluster of --data-dir or of the settings, or, after =, of these `servers`")
	c.Flags().Lookup("cluster").NoOptDefVal = ofDataDir
}

// clusterLogPath is a path of the inbox, and of what nodes ask each other.
const clusterLogPath = clusterPath + "/log"

// nodeLog has the calls of nodes, and the nodes that did not say theirs.
type nodeLog struct {
	Calls  []loggedCall `json:"calls"`
	Silent []string     `json:"silent"`
}

// merge adds those of another node.
func (l *nodeLog) merge(o nodeLog) {
	l.Calls, l.Silent = append(l.Calls, o.Calls...), append(l.Silent, o.Silent...)
}

// newest keeps so many calls, the newest first.
func (l *nodeLog) newest(most int) {
	slices.SortStableFunc(l.Calls, func(a, b loggedCall) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Node, b.Node)) })
	l.Calls = l.Calls[:min(len(l.Calls), cmp.Or(most, 100))]
	slices.Sort(l.Silent)
}

// queryOf returns the query that asks for these calls, and filterOf the filter of such a query.
func queryOf(f bridge.CallFilter) string {
	return url.Values{"site": {f.Site}, "tool": {f.Tool}, "caller": {f.Caller}, "outcome": {f.Outcome}, "limit": {strconv.Itoa(f.Limit)}}.Encode()
}

func filterOf(q url.Values) (f bridge.CallFilter, err error) {
	f = bridge.CallFilter{Site: q.Get("site"), Tool: q.Get("tool"), Caller: q.Get("caller"), Outcome: q.Get("outcome")}
	if f.Limit, err = strconv.Atoi(q.Get("limit")); err != nil || f.Limit < 0 || f.Limit > 1000 {
		return f, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "limit must be a number up to 1000.")
	}
	return f, nil
}

// logRoute serves the calls of this node, and, where all is true, those of all nodes.
func logRoute(n *node, a *app.App, all bool) transport.Route {
	return transport.Route{Pattern: clusterLogPath, Methods: map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter, r *http.Request) {
		f, err := filterOf(r.URL.Query())
		var own []bridge.CallRecord
		if kept := a.Memory(); err == nil && kept != nil {
			own, err = kept.Calls.Calls(r.Context(), f)
		}
		if err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
		l := nodeLog{Calls: []loggedCall{}, Silent: []string{}}
		for i := range own {
			l.Calls = append(l.Calls, asLogged(&own[i], n.name))
		}
		if all {
			l.merge(askLogs(r.Context(), n.cluster.Peers(), f))
		}
		l.newest(f.Limit)
		transport.WriteJSON(w, r, http.StatusOK, l)
	}}}
}

// logPatience limits how long the calls of one node are waited for.
const logPatience = 5 * time.Second

// askLogs asks nodes for their calls, all at once.
func askLogs(ctx context.Context, nodes map[string]http.RoundTripper, f bridge.CallFilter) (all nodeLog) {
	var mu sync.Mutex
	eachNode(nodes, func(name string, to http.RoundTripper) (failed bool) {
		var l nodeLog
		if (&approver{patience: logPatience}).request(ctx, to, http.MethodGet, clusterLogPath+"?"+queryOf(f), nil, &l) != nil {
			return true
		}
		for i := range l.Calls {
			l.Calls[i].Node = name // whatever it says
		}
		mu.Lock()
		defer mu.Unlock()
		all.merge(nodeLog{Calls: l.Calls})
		return false
	}, func(name string) {
		mu.Lock()
		defer mu.Unlock()
		all.Silent = append(all.Silent, name)
	})
	return all
}

// clusterLog prints the calls of all nodes, the oldest first.
func clusterLog(ctx context.Context, p *program, f bridge.CallFilter, servers string) error {
	if servers != ofDataDir {
		p.conf.Cluster = servers
	}
	var l nodeLog
	var err error
	if clustered(p.conf) {
		nodes, done, failed := livingPeers(ctx, p)
		if failed != nil {
			return failed
		}
		defer done()
		l = askLogs(ctx, nodes, f)
		l.newest(f.Limit)
	} else {
		err = p.askNode(ctx, 2*logPatience, http.MethodGet, clusterLogPath+"?"+queryOf(f), nil, &l)
	}
	if err != nil {
		return err
	}
	if len(l.Calls) == 0 && len(l.Silent) == 0 {
		p.say("no call matches")
	}
	if err := printLogged(p.stdout, p.conf.Format, l.Calls); err != nil {
		return err
	}
	for _, name := range l.Silent {
		p.say("warning: the node %s does not answer: its calls are missing", text.Line(name))
	}
	if len(l.Silent) > 0 {
		return &terminal.ShownError{Code: terminal.ExitUnreachable}
	}
	return nil
}
