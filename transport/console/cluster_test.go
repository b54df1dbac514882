package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport/console"
)

// TestCluster: who sees all sites sees the nodes, and is told that there are some; nobody else is.
func TestCluster(t *testing.T) {
	t.Parallel()
	node := console.Options{Cluster: func(context.Context) any { return json.RawMessage(`{"nodes":[]}`) }}
	for name, x := range map[string]struct {
		options console.Options
		token   string
		status  int
	}{
		"a node": {node, viewing, http.StatusOK}, "for some sites": {node, shopper, http.StatusForbidden},
		"without the right": {node, agent, http.StatusForbidden}, "a process by itself": {console.Options{}, viewing, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := servePage(t, memory(t), x.options)
			if status, body := p.as(t, x.token, http.MethodGet, "/api/cluster", ""); status != x.status || status == http.StatusOK && strings.TrimSpace(body) != `{"nodes":[]}` {
				t.Errorf("it is %d: %s", status, body)
			}
			if _, body := p.as(t, x.token, http.MethodGet, "/api/me", ""); strings.Contains(body, `"cluster"`) != (x.status == http.StatusOK) {
				t.Errorf("it is told: %s", body)
			}
		})
	}
}
