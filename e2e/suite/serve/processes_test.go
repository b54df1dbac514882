package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// processes starts two pagetools serve with one data folder, for a site with a counter and a tool
// that asks. Nobody stops the first one.
func processes(t *testing.T) (one, two *suite.Server) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Site</title><script>
let n = 0
document.modelContext.registerTool({name: 'inc', description: 'Counts.', execute: () => ++n});
document.modelContext.registerTool({name: 'buy', description: 'Buys.', execute: () => confirm('Buy?') ? 'bought' : 'left'});
</script>`)
	}))
	t.Cleanup(site.Close)
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf("callers:\n  - {name: agent, token: %s, may: [call, elicit]}\n  - {name: person, token: %s, may: [call, answer]}\n",
		suite.AgentToken, suite.PersonToken))
	args := []string{"--config", config, "--data-dir", filepath.Join(t.TempDir(), "data"), "--approval", "auto", "--warm", "1", "--console-listen", "127.0.0.1:0", "shop=" + site.URL + "/"}
	one, err := suite.Start(suite.Pagetools(t), "", suite.TempDir(t), append([]string{"serve"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return one, suite.Serve(t, args...)
}

// mcpPost sends a message of MCP.
func mcpPost(t *testing.T, s *suite.Server, method, path, body string, header ...string) suite.Reply {
	t.Helper()
	return s.In(t.Context(), suite.AgentToken, method, s.URL+path, body, append(header, "Accept", "application/json, text/event-stream")...)
}

// begin is the handshake of an older protocol version.
func begin(t *testing.T, s *suite.Server, path string) (session string) {
	t.Helper()
	r := mcpPost(t, s, http.MethodPost, path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session = r.Header.Get("Mcp-Session-Id")
	if r.Status != http.StatusOK || session == "" {
		t.Fatalf("initialize: %d %s", r.Status, r.Body)
	}
	return session
}

// answers says yes at the operators' page of a process.
func answers(t *testing.T, s *suite.Server, question map[string]any) {
	t.Helper()
	page := s.Ready.Console
	r := s.In(t.Context(), page.Token, http.MethodPost, page.URL+"/api/questions/"+fmt.Sprint(question["id"]), `{"ok":true}`, "Origin", page.URL)
	if r.Status != http.StatusNoContent && r.Status != http.StatusOK {
		t.Fatalf("the answer: %d %s", r.Status, r.Body)
	}
}

const listTools = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`

// TestTwoProcessesOfAFolder (N2, N3, C3): behind what takes turns, a session, a token, a key and a
// session of MCP that ended are told at the other process; when the first one is killed, nothing of
// it is in the way.
func TestTwoProcessesOfAFolder(t *testing.T) {
	t.Parallel()
	one, two := processes(t)
	t.Cleanup(func() { _ = one.Cmd.Process.Kill(); <-one.Ended })
	counts := func(why string, s *suite.Server, token, session string, want float64) {
		t.Helper()
		if got := suite.AsksFor(t, s, token, "shop", session, "inc", "{}").OK(t); got != want {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	counts("the first call", one, suite.AgentToken, "s", 1)
	call := func(path, body string, header ...string) suite.Reply {
		return two.In(t.Context(), suite.AgentToken, http.MethodPost, two.URL+path, body, header...)
	}
	elsewhere := func(why string, r suite.Reply, outcome string) {
		t.Helper()
		for _, part := range []string{`"code":"CONFLICT"`, `"reason":"ELSEWHERE"`, `"outcome":"` + outcome + `"`} {
			if r.Status != http.StatusConflict || !strings.Contains(string(r.Body), part) {
				t.Errorf("%s: %d %s", why, r.Status, r.Body)
				return
			}
		}
	}
	elsewhere("a session", call("/webtools/shop", `{"sessionId":"s","action":"inc","request":{}}`), "not_run")
	elsewhere("a session, in a webtool of one action", call("/webtools/shop/actions/inc", `{"sessionId":"s","request":{}}`), "not_run")
	elsewhere("a session, by the OpenAPI document", call("/tools/shop/inc?sessionId=s", `{}`), "not_run")
	elsewhere("a session, to another path", call("/webtools/shop", `{"sessionId":"s","action":"nowhere","request":{}}`), "not_run")
	const inc = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"inc","arguments":{}}}`
	named := begin(t, two, "/mcp/shop?session=s")
	if r := mcpPost(t, two, http.MethodPost, "/mcp/shop?session=s", inc, "Mcp-Session-Id", named); !strings.Contains(string(r.Body), `"ELSEWHERE"`) {
		t.Errorf("a session of MCP: %d %s", r.Status, r.Body)
	}
	counts("it is as it was", one, suite.AgentToken, "s", 2)
	counts("another caller's", two, suite.PersonToken, "s", 1)
	counts("no session", two, suite.AgentToken, "", 1)
	both := begin(t, one, "/mcp/shop")
	for _, s := range []*suite.Server{one, two} {
		if r := mcpPost(t, s, http.MethodPost, "/mcp/shop", inc, "Mcp-Session-Id", both); !strings.Contains(string(r.Body), `"text":"1"`) {
			t.Errorf("MCP without a name has a page in each: %d %s", r.Status, r.Body)
		}
	}
	if r := mcpPost(t, one, http.MethodDelete, "/mcp/shop", "", "Mcp-Session-Id", both); r.Status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", r.Status, r.Body)
	}
	for _, s := range []*suite.Server{one, two} {
		if r := mcpPost(t, s, http.MethodPost, "/mcp/shop", listTools, "Mcp-Session-Id", both); r.Status != http.StatusNotFound {
			t.Errorf("a session of MCP that ended: %d %s", r.Status, r.Body)
		}
	}
	const buy = `{"sessionId":"q","action":"buy","request":{}%s}`
	question, token := one.In(t.Context(), suite.AgentToken, http.MethodPost, one.URL+"/webtools/shop", fmt.Sprintf(buy, ""), "Idempotency-Key", "k").
		Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	resume := fmt.Sprintf(`,"config":{"resume":%q}`, token)
	elsewhere("a token", call("/webtools/shop", fmt.Sprintf(buy, resume)), "unknown")
	elsewhere("a token in the header", call("/tools/shop/buy?sessionId=q", `{}`, "Pagetools-Resume", token), "unknown")
	older := call("/webtools/shop", `{"action":"buy","payload":{}}`, "Pagetools-Resume", token)
	if older.Status != http.StatusConflict || !strings.Contains(string(older.Body), "runs twice") {
		t.Errorf("the older dialect: %d %s", older.Status, older.Body)
	}
	if f := call("/webtools/shop", fmt.Sprintf(buy, ""), "Idempotency-Key", "k").Failed(t); f.Code != "CONFLICT" || !strings.Contains(f.Message, "same key") {
		t.Errorf("a key: %+v", f)
	}
	answers(t, two, question)
	if got := suite.AsksFor(t, one, suite.AgentToken, "shop", "q", "buy", fmt.Sprintf(`{"resume":%q}`, token)).OK(t); got != "bought" {
		t.Errorf("it was answered at the other process: %v", got)
	}
	_, lost := suite.AsksFor(t, one, suite.AgentToken, "shop", "r", "buy", "{}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	if err := one.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-one.Ended
	f := suite.AsksFor(t, two, suite.AgentToken, "shop", "r", "buy", fmt.Sprintf(`{"resume":%q}`, lost)).Failed(t)
	if f.Code != "RESUME_NOT_FOUND" || f.Outcome != "unknown" {
		t.Errorf("a token of a process that was killed: %+v", f)
	}
	counts("a session of a process that was killed", two, suite.AgentToken, "s", 1)
}

// TestTwoProcessesBehindABalancer (N3): with one that sends each credential to one process, all is
// as with one process.
func TestTwoProcessesBehindABalancer(t *testing.T) {
	t.Parallel()
	one, two := processes(t)
	t.Cleanup(func() {
		if err := one.Stop(); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	of := map[string]*suite.Server{}
	sticky := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		mu.Lock()
		defer mu.Unlock()
		by := p.In.Header.Get("Authorization")
		if of[by] == nil {
			of[by] = []*suite.Server{one, two}[len(of)%2]
		}
		to, err := url.Parse(of[by].URL)
		if err != nil {
			panic(err)
		}
		p.SetURL(to)
	}})
	t.Cleanup(sticky.Close)
	both := &suite.Server{URL: sticky.URL}
	for i := range 3 {
		for _, token := range []string{suite.AgentToken, suite.PersonToken} {
			if got := suite.AsksFor(t, both, token, "shop", "s", "inc", "{}").OK(t); got != float64(i+1) {
				t.Errorf("call %d: %v", i+1, got)
			}
		}
	}
	if len(of) != 2 || of["Bearer "+suite.AgentToken] == of["Bearer "+suite.PersonToken] {
		t.Errorf("one process has all: %v", of)
	}
	for i, token := range []string{suite.AgentToken, suite.PersonToken} {
		question, resume := suite.AsksFor(t, both, token, "shop", "q", "buy", "{}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
		answers(t, []*suite.Server{two, one}[i], question) // the operators' page of the other process
		if got := suite.AsksFor(t, both, token, "shop", "q", "buy", fmt.Sprintf(`{"resume":%q,"wait":10000}`, resume)).OK(t); got != "bought" {
			t.Errorf("resumed: %v", got)
		}
	}
	session := begin(t, both, "/mcp/shop")
	if r := mcpPost(t, both, http.MethodPost, "/mcp/shop", listTools, "Mcp-Session-Id", session); r.Status != http.StatusOK || !strings.Contains(string(r.Body), `"inc"`) {
		t.Errorf("MCP: %d %s", r.Status, r.Body)
	}
	agent := &suite.MCPAgent{Version: "2025-11-25"}
	if err := agent.OverHTTP(t.Context(), both.URL+"/mcp/shop", suite.AgentToken); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	if names, err := agent.Names(t.Context()); err != nil || !strings.Contains(names, "inc") {
		t.Errorf("a client of MCP: %s, %v", names, err)
	}
}
