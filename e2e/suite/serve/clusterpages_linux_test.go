package serve_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// slowPage counts, and has a tool that goes on when its caller's node has ended.
const slowPage = `let n = 0, over = 0;
document.modelContext.registerTool({name: 'inc', description: 'Counts.', execute: () => ++n});
document.modelContext.registerTool({name: 'over', description: 'Says how often slow ended.', execute: async () => {
  while (!over) await new Promise((go) => setTimeout(go, 20));
  return over;
}});
document.modelContext.registerTool({name: 'slow', description: 'Takes its time.', execute: async () => {
  await fetch('/began');
  await new Promise((go) => setTimeout(go, 1000));
  return ++over;
}});`

// TestPagesOutliveNodes: the session of a node that is killed goes on in its page, at another node, where a browser
// elsewhere has it; a call that was under way is unknown, and runs once. A node that ends in order leaves its idle
// sessions to others. Where pages end with their connections, which is the control, the caller is told once.
func TestPagesOutliveNodes(t *testing.T) {
	t.Parallel()
	for name, reattach := range map[string]string{"auto": "", "never": ", reattach: never"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newNodes(t)
			browser, _ := suite.UsersBrowser(t)
			page, visits := pageOf(t, slowPage)
			config := clusterCallers + "browsers: [{name: pool, url: \"" + browser + "\", max: 20" + reattach + "}]\nsites: [{name: shop, target: \"" + page + "\"}]\n"
			start := func(name string) *node { return c.start(t, name, config, suite.Start, suite.OwnBrowser) }
			one, two := start("a"), start("b")
			asks := func(n *node, tool string) suite.Reply {
				return suite.AsksFor(t, n.Server, suite.AgentToken, "shop", "s", tool, "{}")
			}
			counts := func(why string, n *node, want float64) {
				t.Helper()
				if got := asks(n, "inc").OK(t); got != want {
					t.Errorf("%s: %v, want %v", why, got, want)
				}
			}
			counts("the first call", one, 1)
			counts("through the other node", two, 2)
			lost := make(chan suite.Reply, 1)
			go func() { lost <- asks(two, "slow") }()
			suite.Eventually(t, suite.ReplyWithin, "the call runs", func() bool { return visits.of("/began") == 1 })
			_ = one.Cmd.Process.Kill()
			<-one.Ended
			died := time.Now()
			if r := <-lost; r.Status != http.StatusBadGateway || !strings.Contains(string(r.Body), `"reason":"NODE_LOST","outcome":"unknown"`) {
				t.Errorf("the call that was under way: %d %s", r.Status, r.Body)
			}
			took := func(n *node, result string) string {
				text := string(n.In(t.Context(), suite.AgentToken, http.MethodGet, n.URL+"/metrics", "").Body)
				_, value, _ := strings.Cut(text, `pagetools_cluster_takeovers_total{result="`+result+`"} `)
				value, _, _ = strings.Cut(value, "\n")
				return value
			}
			if reattach != "" {
				if r := asks(two, "inc"); r.Status != http.StatusGone {
					t.Errorf("the next call: %d %s", r.Status, r.Body)
				}
				counts("after that", two, 1)
				if took(two, "expired") != "1" || took(two, "attached") != "0" {
					t.Errorf("it took over %s and %s", took(two, "attached"), took(two, "expired"))
				}
				return
			}
			t.Logf("the call that was under way: 502 after %v", time.Since(died))
			counts("the next call", two, 3)
			t.Logf("the next call went on in the page after %v", time.Since(died))
			if got := asks(two, "over").OK(t); got != 1.0 || visits.of("/began") != 1 {
				t.Errorf("the call that was under way ended %v times, and began %d times", got, visits.of("/began"))
			}
			three := start("c")
			counts("through a new node", three, 4)
			_ = two.Cmd.Process.Signal(syscall.SIGTERM)
			<-two.Ended
			counts("after its node has ended in order", three, 5)
			for what, is := range map[string]string{"attached": "1", "expired": "0", "fresh": "0"} {
				if got := took(three, what); got != is {
					t.Errorf("%s: %s", what, got)
				}
			}
		})
	}
}
