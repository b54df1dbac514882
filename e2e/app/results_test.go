package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp"
	"github.com/pagetools/pagetools/transport/webtool"
)

// facesOver is both faces over a scripted site, as one handler.
func facesOver(t *testing.T, r *bridgetest.Router, rules policy.Results) http.Handler {
	t.Helper()
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Results: rules}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	face, err := mcp.New(b, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := transport.NewMux(append(webtool.New(b, webtool.Options{}).Routes(), face.Routes()...)...)
	return transport.Guard(mux, transport.Options{Listen: "127.0.0.1:7300"})
}

// TestNoFaceTellsWhatARuleCovers puts a secret anywhere into any result or error, and reads
// what both faces say of it, with the texts in it that are JSON.
func TestNoFaceTellsWhatARuleCovers(t *testing.T) {
	t.Parallel()
	const secret = "S3CRET-77"
	rule := []policy.Redaction{{Pattern: regexp.MustCompile(secret)}}
	router := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""), bridgetest.Returning(bridgetest.Tool("b", ""), `{"type":"object"}`))
	faces := map[bool][]http.Handler{}
	for _, budget := range []int{0, 40} {
		faces[true] = append(faces[true], facesOver(t, router, policy.Results{Redact: rule, Budget: budget}))
	}
	faces[false] = append(faces[false], facesOver(t, router, policy.Results{}))
	ask := func(h http.Handler, path, body string) string {
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Host = "127.0.0.1:7300"
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec.Body.String()
	}
	leaks := 0
	rapid.Check(t, func(t *rapid.T) {
		result, _ := json.Marshal(secretResult(t, secret))
		if rapid.Bool().Draw(t, "escaped") {
			result = []byte(strings.ReplaceAll(string(result), "S3", `\u0053\u0033`))
		}
		var failed error
		if rapid.Bool().Draw(t, "fails") {
			failed = bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", result).Detail("name", secret)
		}
		router.Answer("shop", string(result), failed)
		tool := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tool")
		output := rapid.SampledFrom([]string{"raw", "text", "structured"}).Draw(t, "output")
		for guarded, handlers := range faces {
			for _, h := range handlers {
				for _, said := range []string{
					ask(h, "/webtools/shop", fmt.Sprintf(`{"action":%q,"request":{},"config":{"output":%q}}`, tool, output)),
					ask(h, "/webtools/shop", fmt.Sprintf(`{"action":%q,"payload":{}}`, tool)), ask(h, "/mcp/shop", mcpCall(tool)),
				} {
					switch found := holds(said, secret, 6); {
					case found && guarded:
						t.Fatalf("%s becomes %s", result, said)
					case found:
						leaks++
					}
				}
			}
		}
	})
	if leaks == 0 {
		t.Error("without rules, no secret was told: the test proves nothing")
	}
}

// secretResult is a result with a secret in some of its texts, often in the words of MCP.
func secretResult(t *rapid.T, secret string) any {
	texts := func() string {
		plain := rapid.SampledFrom([]string{"", "a", secret, "x " + secret + " y"}).Draw(t, "text")
		if rapid.Bool().Draw(t, "json") {
			inner, _ := json.Marshal(map[string]any{"k": plain, plain: []any{plain, 1}})
			return string(inner)
		}
		return plain
	}
	if rapid.Bool().Draw(t, "simple") {
		return rapid.SampledFrom([]any{texts(), map[string]any{texts(): texts()}, []any{texts(), nil}}).Draw(t, "value")
	}
	blocks := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "blocks") {
		blocks = append(blocks, rapid.SampledFrom([]any{
			map[string]any{"type": "text", "text": texts()}, map[string]any{"type": "image", "mimeType": "image/png", "data": texts()},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "x:y", "text": texts()}}, map[string]any{"type": texts()},
		}).Draw(t, "block"))
	}
	r := map[string]any{"content": blocks, "_meta": map[string]any{"m": texts()}}
	if rapid.Bool().Draw(t, "structured") {
		r[rapid.SampledFrom([]string{"structuredContent", "StructuredContent"}).Draw(t, "name")] = map[string]any{"s": texts()}
	}
	if rapid.Bool().Draw(t, "failed") {
		r["isError"] = true
	}
	return r
}

// holds reports whether a text holds a secret, or the texts in it do that are JSON.
func holds(text, secret string, depth int) bool {
	var v any
	if strings.Contains(text, secret) || depth == 0 || json.Unmarshal([]byte(text), &v) != nil {
		return strings.Contains(text, secret)
	}
	found := false
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			found = found || holds(v, secret, depth-1)
		case []any:
			for _, item := range v {
				look(item)
			}
		case map[string]any:
			for name, member := range v {
				found = found || holds(name, secret, depth-1)
				look(member)
			}
		}
	}
	look(v)
	return found
}

// mcpCall is a call of a tool over MCP.
func mcpCall(tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)
}
