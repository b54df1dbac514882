package suite_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
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

// resultsConfig has one page twice: with rules for results, and without.
const resultsConfig = `
results: {budget: 1500, redact: [{pattern: 'sk-[a-z0-9]+'}, {pattern: '4[0-9]{15}'}, {pointer: /customer/email}, {pattern: '[a-z]+@shop[.]example'}], mark-untrusted: true}
sites:
  - {name: guarded, target: %[1]s}
  - {name: open, target: %[1]s, results: {}}
`

var resultSecrets = []string{"sk-live", "ada@", "4111111111111111"}

// mcpCall is a call of a tool over MCP.
func mcpCall(tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)
}

// TestRulesForResults calls every tool of a page in a browser over both faces: what the rules
// cover reaches neither, and where there are none, all of it does.
func TestRulesForResults(t *testing.T) {
	t.Parallel()
	s := serve(t, "--config", writeFile(t, "results.yaml", fmt.Sprintf(resultsConfig, pages(t).page("private.html"))))
	told := map[string]string{}
	for _, site := range []string{"guarded", "open"} {
		for _, tool := range []string{"object", "text", "blocks", "promised", "throws", "fails", "long", "strange"} {
			for _, output := range []string{"raw", "text", "structured"} {
				r := s.ask("/webtools/"+site, fmt.Sprintf(`{"action":%q,"request":{},"config":{"output":%q}}`, tool, output))
				told[site+" "+tool+" "+output] = string(r.body)
			}
			told[site+" "+tool+" mcp"] = string(s.ask("/mcp/"+site, mcpCall(tool)).body)
		}
	}
	for what, said := range told {
		site, tool, _ := strings.Cut(what, " ")
		found := slices.ContainsFunc(resultSecrets, func(secret string) bool { return strings.Contains(said, secret) })
		secretive := !strings.HasPrefix(tool, "long") && !strings.HasPrefix(tool, "strange")
		if found != (secretive && site == "open") || strings.Contains(said, "[redacted]") != (secretive && site == "guarded") {
			t.Errorf("%s: %s", what, said)
		}
	}
	for what, want := range map[string]string{
		"guarded long raw": `"details":{"leftOut":500}`, "guarded long mcp": `"pagetools/leftOut":500`,
		"guarded strange raw": "untrusted content", "guarded strange mcp": "untrusted content",
		"guarded promised mcp": `"structuredContent":{"customer":{"email":"[redacted]","id":7},"key":"[redacted]"}`,
		"guarded fails raw":    `"code":"TOOL_ERROR"`, "guarded throws mcp": `"isError":true`,
	} {
		if !strings.Contains(told[what], want) {
			t.Errorf("%s: %s, want %s", what, told[what], want)
		}
		if strings.Contains(told["open"+strings.TrimPrefix(what, "guarded")], "leftOut") {
			t.Errorf("without a budget, %s is cut", what)
		}
	}
	if list := s.ask("/mcp/guarded", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(string(list.body), `"outputSchema":`) {
		t.Errorf("an outputSchema is listed that a redacted result may break: %s", list.body)
	}
	if list := s.ask("/mcp/open", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(string(list.body), `"outputSchema":`) {
		t.Errorf("no outputSchema is listed: %s", list.body)
	}
}

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

// TestForbiddenParameters: a tool that asks for what the operator keeps from tools is not offered,
// not called, and said.
func TestForbiddenParameters(t *testing.T) {
	t.Parallel()
	page := pages(t).page("weather.html")
	s := serve(t, "--config", writeFile(t, "forbid.yaml", fmt.Sprintf(
		"approval: auto\nsites:\n- {name: open, target: %q}\n- {name: guarded, target: %q, forbid-params: [\"*locat*\"]}\n", page, page)))
	const call = `{"action":"get_current","request":{"location":"Riga"}}`
	if r := s.ask("/webtools/open", call); r.status != http.StatusOK {
		t.Errorf("where nothing forbids it: %s", r.body)
	}
	if f := s.ask("/webtools/guarded", call).failed(t); f.Code != "WEBTOOL_NOT_FOUND" || f.Outcome != "not_run" {
		t.Errorf("a tool that asks for what is forbidden: %+v", f)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if said := s.stderr.String(); !strings.Contains(said, "parameter-forbidden") || !strings.Contains(said, "location") {
		t.Errorf("it says %s", said)
	}
}
