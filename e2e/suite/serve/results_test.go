package serve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// resultsConfig has one page twice: with rules for results, and without.
const resultsConfig = `
results: {budget: 1500, redact: [{pattern: 'sk-[a-z0-9]+'}, {pattern: '4[0-9]{15}'}, {pointer: /customer/email}, {pattern: '[a-z]+@shop[.]example'}], mark-untrusted: true}
sites:
  - {name: guarded, target: %[1]s}
  - {name: open, target: %[1]s, results: {}}
`

// TestRulesForResults calls every tool of a page in a browser over both faces: what the rules
// cover reaches neither, and where there are none, all of it does.
func TestRulesForResults(t *testing.T) {
	t.Parallel()
	s := suite.Serve(t, "--config", suite.WriteFile(t, "results.yaml", fmt.Sprintf(resultsConfig, suite.Pages(t).Page("private.html"))))
	told := map[string]string{}
	for _, site := range []string{"guarded", "open"} {
		mcp := func(body string, header ...string) suite.Reply {
			return s.In(t.Context(), "", http.MethodPost, s.URL+"/mcp/"+site, body, header...)
		}
		session := mcp(mcpHello).Header.Get("Mcp-Session-Id") // its calls have one page
		for _, tool := range []string{"object", "text", "blocks", "promised", "throws", "fails", "long", "strange"} {
			for _, output := range []string{"raw", "text", "structured"} {
				r := s.Ask("/webtools/"+site, fmt.Sprintf(`{"sessionId":"s","action":%q,"request":{},"config":{"output":%q}}`, tool, output))
				told[site+" "+tool+" "+output] = string(r.Body)
			}
			told[site+" "+tool+" mcp"] = string(mcp(mcpCall(tool), "Mcp-Session-Id", session).Body)
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
	if list := s.Ask("/mcp/guarded", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(string(list.Body), `"outputSchema":`) {
		t.Errorf("an outputSchema is listed that a redacted result may break: %s", list.Body)
	}
	if list := s.Ask("/mcp/open", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(string(list.Body), `"outputSchema":`) {
		t.Errorf("no outputSchema is listed: %s", list.Body)
	}
}

// TestForbiddenParameters: a tool that asks for what the operator keeps from tools is not offered,
// not called, and said.
func TestForbiddenParameters(t *testing.T) {
	t.Parallel()
	page := suite.Pages(t).Page("weather.html")
	s := suite.Serve(t, "--config", suite.WriteFile(t, "forbid.yaml", fmt.Sprintf(
		"approval: auto\nsites:\n- {name: open, target: %q}\n- {name: guarded, target: %q, forbid-params: [\"*locat*\"]}\n", page, page)))
	const call = `{"action":"get_current","request":{"location":"Riga"}}`
	if r := s.Ask("/webtools/open", call); r.Status != http.StatusOK {
		t.Errorf("where nothing forbids it: %s", r.Body)
	}
	if f := s.Ask("/webtools/guarded", call).Failed(t); f.Code != "WEBTOOL_NOT_FOUND" || f.Outcome != "not_run" {
		t.Errorf("a tool that asks for what is forbidden: %+v", f)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if said := s.Stderr.String(); !strings.Contains(said, "parameter-forbidden") || !strings.Contains(said, "location") {
		t.Errorf("it says %s", said)
	}
}

var resultSecrets = []string{"sk-live", "ada@", "4111111111111111"}

// mcpHello opens a session over MCP.
const mcpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
	`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// mcpCall is a call of a tool over MCP.
func mcpCall(tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)
}
