package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

func clusterStatusCommand(p *program) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "status",
		Short: "Say which nodes of a cluster live, and whether its engine takes writes",
		Long: "Lists the nodes of a cluster with the age of their leases, their sessions and the pages that they have room for, and\n" +
			"the sites with the nodes that open their catalog pages, and says what differs between nodes. With --cluster, the names of\n" +
			"sites need --cluster-key-file. The engine is that of --cluster, of the configuration file, or of the node of\n" +
			"--data-dir. A node that seems late is given a lease to show that it lives, and each\n" +
			"node is asked which others it reaches, where the key or the node of --data-dir lets this command ask.\n" +
			"Ends with 1 when a node is dead and none of its name lives, and when the engine or the vault takes no writes.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readStatus(cmd.Context(), p)
			if err != nil {
				return err
			}
			if s.Engine.Quorum && (!clustered(p.conf) || p.conf.ClusterKeyFile != "") {
				broken, err := clusterWays(cmd.Context(), p)
				if err != nil { // such as a node of an older build
					broken = []string{"it is not known which nodes reach each other: " + text.Line(err.Error())}
				}
				s.Warnings = append(s.Warnings, broken...)
			}
			if asJSON || p.conf.Format != "text" {
				err = terminal.Encode(p.stdout, s)
			} else {
				err = printStatus(p, &s)
			}
			if err == nil && !s.IsWell() {
				err = &terminal.ShownError{Code: terminal.ExitFindings}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as --format json does")
	return c
}

// clusterPath begins paths that are about the cluster.
const clusterPath = "/api/cluster"

// clusterRoutes serve `pagetools cluster` to who has the data directory of a node.
func (o *operators) clusterRoutes() []transport.Route {
	n := o.who.plan.node
	if n == nil {
		return nil
	}
	return []transport.Route{drainRoute(n, true), logRoute(n, o.app, true), auditRoute(n, o.app, true), waysRoute(n, true)}
}

// readStatus asks the engine, or the node of the data directory.
func readStatus(ctx context.Context, p *program) (s app.ClusterStatus, err error) {
	if clustered(p.conf) {
		o, err := places(p)
		if err != nil {
			return s, err
		}
		if p.conf.ClusterKeyFile != "" || p.conf.ClusterEmbed {
			if o.Keys, err = clusterKeys(p.conf); err != nil {
				return s, err
			}
		}
		if err := proved(o, p.conf); err != nil {
			return s, err
		}
		return app.ReadCluster(ctx, o), nil
	}
	const patience = time.Minute + 10*time.Second // a lease may have to pass
	err = p.askNode(ctx, patience, http.MethodGet, clusterPath, nil, &s)
	return s, err
}

// printStatus prints a status for people.
func printStatus(p *program, s *app.ClusterStatus) error {
	quorum := "takes writes"
	if !s.Engine.Quorum {
		quorum = "TAKES NO WRITES"
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "engine\t%s, %s, %.1f ms\n", text.Line(s.Engine.URL), quorum, s.Engine.RoundTripMs)
	switch v := s.Vault; {
	case v.Writes != nil && *v.Writes:
		fmt.Fprintf(w, "vault\t%s, takes writes, %.1f ms\n", text.Line(v.Kind), v.RoundTripMs)
	case v.Writes != nil:
		fmt.Fprintf(w, "vault\t%s, TAKES NO WRITES\n", text.Line(v.Kind))
	case v.Copies > 0:
		fmt.Fprintf(w, "vault\t%s, copies: %d\n", text.Line(v.Kind), v.Copies)
	}
	if len(s.Nodes) > 0 {
		fmt.Fprintf(w, "\nnode\tincarnation\tstate\tlease\tsessions\tfree\tbuild\taddress\n")
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f s\t%d\t%d\t%s\t%s\n", text.Line(n.Name), text.Line(n.Incarnation), n.State,
			float64(n.LeaseAgeMs)/1000, n.Sessions, n.Free, text.Line(n.Build), text.Line(n.Address))
	}
	if n, sessions, free := s.Living(); n > 1 {
		fmt.Fprintf(w, "%d live\t\t\t\t%d\t%d\n", n, sessions, free)
	}
	if len(s.Sites) > 0 {
		fmt.Fprintf(w, "\nsite\towner\n")
	}
	for _, o := range s.Sites {
		fmt.Fprintf(w, "%s\t%s\n", text.Line(o.Name), text.Line(cmp.Or(o.Owner, "nobody")))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the status: %w", err)
	}
	if len(s.Nodes) == 0 && s.Engine.Quorum {
		p.say("note: no node lives")
	}
	for _, warning := range s.Warnings {
		p.say("warning: %s", text.Line(warning))
	}
	return nil
}

// configDigest names what all nodes must have in common: their sites and callers. It is told to the
// engine, which cannot guess from it what they are.
func (n *node) configDigest(targets []*target, c *config.Config) string {
	type site struct {
		Name, Target string
		Config       config.Site
	}
	all := struct {
		Token   string
		Sites   []site
		Callers []config.Caller
		OAuth   any
	}{Token: c.Token, Callers: slices.Clone(c.Callers), OAuth: c.OAuth}
	for _, t := range targets {
		all.Sites = append(all.Sites, site{t.Name, t.Text, t.config})
	}
	slices.SortFunc(all.Sites, func(a, b site) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(all.Callers, func(a, b config.Caller) int { return strings.Compare(a.Name, b.Name) })
	whole, err := json.Marshal(all)
	var tree any
	if err == nil {
		err = json.Unmarshal(whole, &tree)
	}
	if err != nil {
		n.log.Warn("cluster: the configuration has no digest", "error", err)
		return ""
	}
	withoutLines(tree)
	if whole, err = json.Marshal(tree); err != nil {
		return ""
	}
	return n.keys.Namers()[0].Name("config", string(whole))
}

// withoutLines removes from a configuration where its parts stood in the file.
func withoutLines(tree any) {
	switch v := tree.(type) {
	case map[string]any:
		delete(v, "Line")
		for _, of := range v {
			withoutLines(of)
		}
	case []any:
		for _, of := range v {
			withoutLines(of)
		}
	}
}
