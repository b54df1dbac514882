package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// twoNodes starts two nodes of a cluster, for a site with a counter and a tool that asks, and one whose
// content is untrusted. Each has its own data folder, as on machines of their own.
func twoNodes(t *testing.T) (one, two *suite.Server) {
	t.Helper()
	engine := natstest.Start(t, natstest.Newest(t), natstest.Options{})
	page := func(script string) string {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Site</title><script>%s</script>", script)
		}))
		t.Cleanup(site.Close)
		return site.URL + "/"
	}
	shop := page(`let n = 0
document.modelContext.registerTool({name: 'inc', description: 'Counts.', execute: () => ++n});
document.modelContext.registerTool({name: 'buy', description: 'Buys.', execute: () => confirm('Buy?') ? 'bought' : 'left'});`)
	mail := page(`document.modelContext.registerTool({name: 'read', description: 'Reads.', annotations: {readOnlyHint: true, untrustedContentHint: true}, execute: () => 'spam'});`)
	folder := t.TempDir()
	secret := filepath.Join(folder, "cluster.key")
	made, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "key").Output()
	if err == nil {
		err = os.WriteFile(secret, made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf("callers:\n  - {name: agent, token: %s, may: [call, elicit]}\n  - {name: person, token: %s, may: [call]}\n",
		suite.AgentToken, suite.PersonToken))
	start := func(name string) *suite.Server {
		s, err := suite.Start(suite.Pagetools(t), "", suite.TempDir(t), "serve", "--config", config, "--data-dir", filepath.Join(folder, name), "--approval", "auto",
			"--warm", "0", "--console-listen", "127.0.0.1:0", "--cluster", engine.URLs()[0], "--cluster-key-file", secret, "--node", name,
			"--peer-listen", "127.0.0.1:0", "--lease", "2s", "shop="+shop, "mail="+mail)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Cmd.Process.Kill(); <-s.Ended })
		return s
	}
	return start("a"), start("b")
}

// TestTwoNodes: a session, a question, a token and the operators' page of one node are reached through
// the other. When a node is killed, what it had is told as lost, its session ends once, and then goes
// on at the other node; a node that is stopped leaves nothing to wait for.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	one, two := twoNodes(t)
	counts := func(why string, s *suite.Server, session string, want float64) {
		t.Helper()
		if got := suite.AsksFor(t, s, suite.AgentToken, "shop", session, "inc", "{}").OK(t); got != want {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	counts("the first call", one, "s", 1)
	counts("at the other node", two, "s", 2)
	counts("at its home", one, "s", 3)
	counts("no session", two, "", 1)
	call := func(s *suite.Server, body string) suite.Reply {
		return s.In(t.Context(), suite.AgentToken, http.MethodPost, s.URL+"/webtools/shop", body)
	}
	const inc = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"inc","arguments":{}}}`
	mcp := begin(t, two, "/mcp/shop")
	for i, s := range []*suite.Server{one, two, one} {
		if r := mcpPost(t, s, http.MethodPost, "/mcp/shop", inc, "Mcp-Session-Id", mcp); !strings.Contains(string(r.Body), fmt.Sprintf(`"text":"%d"`, i+1)) {
			t.Errorf("MCP, call %d: %d %s", i, r.Status, r.Body)
		}
	}

	tainted(t, one, two)

	const buy = `{"action":"buy","sessionId":"t","request":{}`
	question, token := call(one, buy+"}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	page := two.Ready.Console
	if r := two.In(t.Context(), page.Token, http.MethodGet, page.URL+"/api/questions", ""); !strings.Contains(string(r.Body), fmt.Sprint(question["id"])) {
		t.Errorf("the inbox of the other node: %d %s", r.Status, r.Body)
	}
	answers(t, two, question)
	if r := call(two, fmt.Sprintf(`%s,"config":{"resume":%q,"wait":60000}}`, buy, token)); !strings.Contains(string(r.Body), "bought") {
		t.Errorf("its outcome at the other node: %d %s", r.Status, r.Body)
	}

	_, token = call(one, strings.Replace(buy, `"t"`, `"u"`, 1)+"}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	_ = one.Cmd.Process.Kill()
	<-one.Ended
	if r := call(two, fmt.Sprintf(`%s,"config":{"resume":%q}}`, strings.Replace(buy, `"t"`, `"u"`, 1), token)); r.Status != http.StatusBadGateway ||
		!strings.Contains(string(r.Body), `"reason":"NODE_LOST","outcome":"unknown"`) {
		t.Errorf("a token of a node that was killed: %d %s", r.Status, r.Body)
	}
	if r := call(two, `{"action":"inc","sessionId":"s","request":{}}`); r.Status != http.StatusGone {
		t.Errorf("its session: %d %s", r.Status, r.Body)
	}
	counts("after that", two, "s", 1)
	if err := two.Stop(); err != nil {
		t.Error(err)
	}
}

// tainted: what a caller read through one node counts at once through the other, and for it alone.
func tainted(t *testing.T, one, two *suite.Server) {
	t.Helper()
	counts := func(why, token string, status int) {
		t.Helper()
		if r := suite.AsksFor(t, two, token, "shop", "", "inc", "{}"); r.Status != status {
			t.Errorf("%s: %d %s", why, r.Status, r.Body)
		}
	}
	counts("before it read anything", suite.PersonToken, http.StatusOK)
	if got := suite.AsksFor(t, one, suite.PersonToken, "mail", "", "read", "{}").OK(t); got != "spam" {
		t.Fatalf("reading: %v", got)
	}
	counts("after it read through the other node", suite.PersonToken, http.StatusForbidden)
	counts("another caller", suite.AgentToken, http.StatusOK)
}
