package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport/console"
)

// TestVersions: who sees a site reads the versions of its tools, with how each differed, and what changed
// between two of them, with what was there and what is; words of pages stay text.
func TestVersions(t *testing.T) {
	compare := func(before, now json.RawMessage) ([]console.Change, error) {
		if !strings.Contains(string(before), `"version":"1.0.0"`) || !strings.Contains(string(now), `"version":"2.0.0"`) {
			t.Errorf("compared are %s and %s", before, now)
		}
		return []console.Change{
			{Tool: "add", Pointer: "/inputSchema/properties/sku", Change: schema.Major, What: "it is gone", Reason: "calls fail"},
			{Tool: "add", Was: "buy", Pointer: "/description", Change: schema.Patch}, {Tool: "gone", Change: schema.Minor},
		}, nil
	}
	p := servePage(t, memory(t), console.Options{Compare: compare})
	get := func(token, path string) (int, string) {
		t.Helper()
		return p.as(t, token, http.MethodGet, "/api/sites/shop/versions"+path, "")
	}
	if _, body := get(viewing, ""); !strings.Contains(body, `"items":[{"node":"here","version":"1.0.0","severity":"","since":"20`) || !strings.Contains(body, `"current":true}],"next":null`) {
		t.Errorf("at first they are %s", body)
	}
	add := bridgetest.Asking("add", exactSchema)
	add.Description = "<b>new</b>"
	p.Router.Declare("shop", add, bridgetest.Tool("find", ""))
	if _, body := get(viewing, ""); !strings.Contains(body, `"version":"2.0.0","severity":"breaking"`) || strings.Index(body, "2.0.0") > strings.Index(body, "1.0.0") || strings.Count(body, `"current":true`) != 1 {
		t.Errorf("then they are %s", body)
	}
	status, body := get(viewing, "/1.0.0..2.0.0")
	for _, want := range []string{`"node":"here","from":"1.0.0","to":"2.0.0","severity":"breaking"`, `{"tool":"add","path":"/inputSchema/properties/sku","was":"","is":"{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}","severity":"breaking","what":"it is gone","reason":"calls fail"}`,
		`"before":"buy","path":"/description","was":"\"The tool buy.\"","is":"\"<b>new</b>\"","severity":"text"`, `{"tool":"gone","path":"","was":"","is":"","severity":"addition"`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("without %s: %d %s", want, status, body)
		}
	}
	for _, x := range []struct {
		token, path string
		status      int
	}{{viewing, "/1.0.0..9.9.9", 404}, {viewing, "/1.0.0", 400}, {viewing, "/..2.0.0", 400}, {agent, "", 403}, {agent, "/1.0.0..2.0.0", 403}} {
		if status, body := get(x.token, x.path); status != x.status {
			t.Errorf("%s: %d %s", x.path, status, body)
		}
	}
	if _, err := bridge.Versions(t.Context(), p.Bridge, bridge.Caller{Name: "x", May: []bridge.Right{bridge.MayView}, Sites: []string{"bank"}}, "shop"); bridge.AsError(err).Code != bridge.WebtoolNotFound {
		t.Errorf("who does not see the site gets %v", err)
	}
	if calls := p.Router.Calls(); len(calls) != 0 {
		t.Errorf("it called %v", calls)
	}
}
