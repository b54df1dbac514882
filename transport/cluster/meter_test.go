package cluster_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/cluster"
)

// counted returns what a meter has counted, as lines of /metrics.
func counted(t *testing.T, meter *transport.ClusterMeter) string {
	t.Helper()
	m := transport.NewMetrics(nil, func() transport.Load { return transport.Load{} })
	m.AddCluster(func() transport.ClusterLoad { return transport.ClusterLoad{} }, meter)
	w := httptest.NewRecorder()
	transport.Trusted(transport.NewMux(m.Routes(nil)...), bridge.Local(), transport.Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// TestMeter: a request that is passed on is counted with the reason, at both ends, and no reply says how long
// its node took.
func TestMeter(t *testing.T) {
	m := newMembers(t)
	meters := map[string]*transport.ClusterMeter{}
	metered := func(name string) func(*cluster.Options) {
		meters[name] = transport.NewClusterMeter()
		return func(o *cluster.Options) { briefly(o); o.Meter = meters[name] }
	}
	a, b := m.start("a", metered("a")), m.start("b", metered("b"))
	is := func(why, node string, want ...string) {
		t.Helper()
		all := counted(t, meters[node])
		for _, line := range want {
			if !regexp.MustCompile(`(?m)^pagetools_cluster_` + line + `$`).MatchString(all) {
				t.Errorf("%s: %s is not in\n%s", why, line, strings.Join(regexp.MustCompile(`(?m)^pagetools_cluster_.*$`).FindAllString(all, -1), "\n"))
			}
		}
	}
	a.send("POST", "/webtools/shop", inSession).wants(t, "here", 200, fmt.Sprintf(on, "a"))
	is("nothing is passed on", "a", `routed_total{why="session"} 0`, `route_seconds_count 0`)
	m.put("s", b, 3)
	a.cluster.Forget(m.namer().Name("agent", "s"))
	for range 3 {
		r := a.send("POST", "/webtools/shop", inSession)
		r.wants(t, "there", 200, fmt.Sprintf(on, "b"))
		if r.header.Get("Pagetools-Hop-Took") != "" {
			t.Error("a reply says how long its node took")
		}
	}
	is("passed on", "a", `routed_total{why="session"} 3`, `route_seconds_count 3`, `unknown_total{why="dead"} 0`, `moved_total{why="lease"} 0`)
	is("which the other node is not", "b", `routed_total{why="session"} 0`, `moved_total{why="lease"} 0`)
	m.Cut(b.ID, true)
	a.send("POST", "/webtools/shop", inSession).wants(t, "without its lease", 503)
	is("not taken", "b", `moved_total{why="lease"} [1-9]`)
	is("and no reply", "a", `route_seconds_count 3`)
}
