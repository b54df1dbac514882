package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// TestAbout: whoever has the address of a server learns what it is and where to go on, and the
// names of its sites only with a credential that is for them.
func TestAbout(t *testing.T) {
	t.Parallel()
	sites := func(c bridge.Caller) (all []bridge.Site) {
		for _, name := range []string{"shop", "bank"} {
			if c.Sees(name) {
				all = append(all, bridge.Site{Name: name})
			}
		}
		return all
	}
	mux := transport.NewMux(transport.About(sites)...)
	one := transport.Credential{Token: "token-one", Caller: bridge.Caller{Name: "first", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop"}}}
	closed := serve(t, mux, transport.Options{Callers: []transport.Credential{one}, Open: transport.AboutPaths})
	alone := serve(t, mux, transport.Options{})
	for path, want := range map[string]string{"/": `"mcp":"/mcp"`, "/llms.txt": "](/mcp)"} {
		for who, s := range map[string]running{"a stranger": closed, "somebody on this machine": alone} {
			got := s.get(t, path)
			if got.StatusCode != http.StatusOK || !strings.Contains(got.body, want) || strings.Contains(got.body, "shop") || strings.Contains(got.body, "bank") {
				t.Errorf("%s at %s: %d %s", who, path, got.StatusCode, got.body)
			}
		}
		if got := closed.get(t, path, "Authorization: Bearer token-one"); !strings.Contains(got.body, "/webtools/shop") || strings.Contains(got.body, "bank") {
			t.Errorf("a caller at %s: %s", path, got.body)
		}
		closed.get(t, path, "Authorization: Bearer other").wantStatus(t, 200)
		closed.post(t, path, "{}").wantStatus(t, 405)
	}
	if got := closed.get(t, "/llms.txt"); got.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("llms.txt: %v", got.Header)
	}
	closed.get(t, "/llms.txt/x").wantStatus(t, 401)
}
