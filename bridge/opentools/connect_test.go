package opentools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport/mcp"
)

// TestConnect: paste a URL, get tools; a user's no is data (O1, O16).
func TestConnect(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/pets", "get", "list", free)+","+operation("/pets", "post", "save", `{}`))
	s.change(func() {
		s.document = documentOf(`"/pets":{"get":{"operationId":"list","x-llm":` + free + `,"parameters":[{"name":"a b","in":"query","schema":{}}]},
			"post":{"operationId":"save","summary":"Saves.","x-llm":{"hint":"Use it.","rendering":{"as":"card"},"chaining":[{"operationId":"list"}]}}}`)
	})
	s.on("/pets", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Method+" "+r.URL.RawQuery) })
	yes := false
	site, err := opentools.Connect(t.Context(), s.URL+"/anything", opentools.Options{Transport: direct(nil),
		Approve: asking(func(bridge.Question) bridge.Answer { return bridge.Answer{OK: yes} })})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	if site.About.Route != opentools.WellKnown {
		t.Errorf("found by %s", site.About.Route)
	}
	for _, x := range []struct {
		tool, arguments, want string
		yes                   bool
	}{
		{"list", `{"a b":1}`, `"GET a%20b=1" false <nil>`, false},
		{"list", `{"a_b_c8687a":2}`, `"GET a%20b=2" false <nil>`, false}, // as For shows it
		{"save", `{}`, `{"denied":true} true <nil>`, false},
		{"save", `{}`, `"POST " false <nil>`, true},
		{"list", `[]`, ` false SCHEMA_ERROR`, false},
		{"list", `{`, ` false SCHEMA_ERROR`, false},
		{"none", `{}`, ` false WEBTOOL_NOT_FOUND`, false},
	} {
		yes = x.yes
		r, err := site.Call(t.Context(), x.tool, json.RawMessage(x.arguments))
		if got := fmt.Sprintf("%s %t %v", r.Data, r.Denied, err); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s %s: %s, want %s", x.tool, x.arguments, got, x.want)
		}
	}
	if x := site.Operation("save"); x == nil || string(x.Terms.Rendering) != `{"as":"card"}` || string(x.Terms.Chaining) != `[{"operationId":"list"}]` {
		t.Errorf("%+v", x)
	}
	tools, err := site.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[opentools.Dialect]string{
		opentools.OpenAI:    `{"function":{"description":"Saves.\nUse it.","name":"save","parameters":{"type":"object","properties":{}`,
		opentools.Anthropic: `{"description":"Saves.\nUse it.","input_schema":{"type":"object","properties":{}`,
	} {
		if got := string(opentools.For(d, tools)); !strings.Contains(got, want) || !strings.Contains(got, `"a_b_c8687a"`) {
			t.Errorf("%s: %s", d, got)
		}
	}
}

// TestConnectFails: what is no site of OpenTools is an error that says so, and without a user
// nothing that needs one runs.
func TestConnectFails(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/pets", "post", "save", `{}`))
	site, err := opentools.Connect(t.Context(), s.URL, opentools.Options{Transport: direct(nil), Approval: policy.Operator{Mode: policy.ModeAuto}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.Call(t.Context(), "save", json.RawMessage(`{}`)); bridge.AsError(err).Code != bridge.ApprovalRequired {
		t.Error(err)
	}
	site.Close()
	s.change(func() { s.status = http.StatusNotFound })
	if _, err := opentools.Connect(t.Context(), s.URL, opentools.Options{Transport: direct(nil)}); !errors.Is(err, opentools.ErrNotFound) {
		t.Error(err)
	}
	if _, err := opentools.Connect(t.Context(), "shop", opentools.Options{}); err == nil {
		t.Error("shop is an address")
	}
}

// shop is a site that publishes one operation.
func shop() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/llm.json":
			_, _ = io.WriteString(w, `{"openapi":"/openapi.json","auth":"none"}`)
		case "/openapi.json":
			_, _ = io.WriteString(w, `{"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"x-llm":{"version":"0.1","name":"Shop"},"paths":{"/search":{"get":{
				"operationId":"search","summary":"Finds products","x-llm":{"approval":"auto","hint":"Use it first."},
				"parameters":[{"name":"query","in":"query","required":true,"schema":{"type":"string"}}]}}}}`)
		case "/search":
			_, _ = fmt.Fprintf(w, `{"found":[%q]}`, r.URL.Query().Get("query"))
		default:
			http.NotFound(w, r)
		}
	}))
}

// Paste a URL, get tools.
func ExampleConnect() {
	server := shop()
	defer server.Close()
	site, err := opentools.Connect(context.Background(), server.URL, opentools.Options{Transport: direct(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	tools, _ := site.Tools(context.Background())
	fmt.Println(string(opentools.For(opentools.Anthropic, tools)))
	r, err := site.Call(context.Background(), "search", json.RawMessage(`{"query":"rye"}`))
	fmt.Println(string(r.Data), err)
	// Output:
	// [{"description":"Finds products\nUse it first.","input_schema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false},"name":"search"}]
	// {"found":["rye"]} <nil>
}

// A site as an MCP server: any face of package transport serves Site.Bridge.
func ExampleSite_mcp() {
	server := shop()
	defer server.Close()
	site, err := opentools.Connect(context.Background(), server.URL, opentools.Options{Transport: direct(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer site.Close()
	face, err := mcp.New(site.Bridge, mcp.Options{Version: "1.0.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"rye"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	out := &strings.Builder{}
	err = face.ServeStdio(context.Background(), in, out, bridge.Local(), opentools.Name)
	fmt.Println(strings.Contains(out.String(), `"structuredContent":{"found":["rye"]}`), err)
	// Output: true <nil>
}
