package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// lists waits until a node lists these tools of a site.
func (n *node) lists(t *testing.T, why, site string, want ...string) {
	t.Helper()
	var names []string
	if !suite.Within(suite.ReplyWithin, func() bool {
		var d struct{ Actions []struct{ Name string } }
		r := n.In(t.Context(), suite.AgentToken, http.MethodGet, n.URL+"/webtools/"+site, "")
		names = []string{}
		if json.Unmarshal(r.Body, &d) == nil {
			for _, a := range d.Actions {
				names = append(names, a.Name)
			}
		}
		return slices.Equal(names, want)
	}) {
		t.Errorf("%s: %q, want %q", why, names, want)
	}
}

// ownersAre checks the owners of sites in cluster status.
func ownersAre(t *testing.T, n *node, want map[string]string) {
	t.Helper()
	var status struct {
		Sites []struct{ Name, Owner string }
	}
	got := map[string]string{}
	if !suite.Within(suite.ReplyWithin, func() bool {
		out, _ := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--json", "--data-dir", n.data).Output()
		clear(got)
		if json.Unmarshal(out, &status) == nil {
			for _, s := range status.Sites {
				got[s.Name] = s.Owner
			}
		}
		return fmt.Sprint(got) == fmt.Sprint(want)
	}) {
		t.Errorf("cluster status says %v, want %v", got, want)
	}
}

// logsOfAll checks that log --cluster lists the calls of both nodes, through one of them and from outside.
func logsOfAll(t *testing.T, n *node, c *nodes) {
	t.Helper()
	for _, args := range [][]string{{"--cluster", "--data-dir", n.data}, {"--cluster=" + c.engine.URLs()[0], "--cluster-key-file", c.secret}} {
		out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"log", "--limit", "3"}, args...)...).Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(lines) != 3 || !strings.Contains(lines[1], "more on desk for agent at a") || !strings.Contains(lines[2], "inc on shop for agent at b") {
			t.Errorf("log %q: %v\n%s", args, err, out)
		}
	}
}

// TestOneCatalog: nodes open one catalog page of a site, and all list what it shows, as it changes. The
// page that calls of a site share is one in the cluster. When its node is killed, the list stays, and the
// other node opens the page.
func TestOneCatalog(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	const script = `let n = 0
const add = (name, execute) => document.modelContext.registerTool({name, description: 'Does it.', execute});
add('inc', () => ++n);
add('more', () => { add('rest', () => 'rest'); return 'added'; });`
	desk, desks := pageOf(t, script)
	shop, shops := pageOf(t, script)
	config := clusterCallers + "sites:\n  - {name: desk, target: '" + desk + "', state: shared}\n  - {name: shop, target: '" + shop + "'}\n"
	one, two := c.start(t, "a", config, suite.Start), c.start(t, "b", config, suite.Start)
	loaded := func(why string, desk, shop int) {
		t.Helper()
		if desks.of("/") != desk || shops.of("/") != shop {
			t.Errorf("%s: %d and %d pages were loaded, want %d and %d", why, desks.of("/"), shops.of("/"), desk, shop)
		}
	}
	counts := func(n *node, want float64) {
		t.Helper()
		if got := suite.AsksFor(t, n.Server, suite.AgentToken, "desk", "", "inc", "{}").OK(t); got != want {
			t.Errorf("the shared page counts to %v, want %v", got, want)
		}
	}
	two.lists(t, "the other node", "desk", "inc", "more")
	two.lists(t, "the other node", "shop", "inc", "more")
	ownersAre(t, two, map[string]string{"desk": "a", "shop": "a"})
	loaded("two nodes", 1, 1)
	for i, n := range []*node{one, two, one, two} {
		counts(n, float64(i+1))
	}
	suite.AsksFor(t, two.Server, suite.AgentToken, "desk", "", "more", "{}").OK(t)
	one.lists(t, "the owner, after a change", "desk", "inc", "more", "rest")
	two.lists(t, "the other node, after a change", "desk", "inc", "more", "rest")
	suite.AsksFor(t, two.Server, suite.AgentToken, "shop", "", "inc", "{}").OK(t)
	loaded("a call without a session, on a page of its own", 1, 2)

	logsOfAll(t, two, c)
	out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "doctor", "--cluster", c.engine.URLs()[0], "--cluster-key-file", c.secret).Output()
	if err != nil || !strings.Contains(string(out), "takes writes") || !strings.Contains(string(out), "2 nodes, which all reach each other") {
		t.Errorf("doctor: %v\n%s", err, out)
	}

	_ = one.Cmd.Process.Kill()
	<-one.Ended
	two.lists(t, "after the owner was killed", "desk", "inc", "more", "rest")
	if r := suite.AsksFor(t, two.Server, suite.AgentToken, "shop", "", "inc", "{}"); r.Status != http.StatusOK {
		t.Errorf("a call meanwhile: %d %s", r.Status, r.Body)
	}
	counts(two, 1) // as soon as the page is there
	ownersAre(t, two, map[string]string{"desk": "b", "shop": "b"})
	two.lists(t, "of the new page", "desk", "inc", "more")
	loaded("in the end", 2, 4)
}
