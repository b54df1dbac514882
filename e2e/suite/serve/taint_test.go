package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestTaintsOfTheFolder (N1): what a caller read through one process counts in each process of the
// data folder, and after a restart; for who shares nothing with them it does not.
func TestTaintsOfTheFolder(t *testing.T) {
	t.Parallel()
	page := func(tool, hints string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Site</title><script>
document.modelContext.registerTool({name: %q, description: 'Does it.', annotations: {%s}, execute: () => 'done'});
</script>`, tool, hints)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/"
	}
	mail, bank := page("read", "readOnlyHint: true, untrustedContentHint: true"), page("pay", "")
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf("callers:\n  - {name: agent, token: %s, may: [call]}\n  - {name: person, token: %s, may: [call]}\n", suite.AgentToken, suite.PersonToken))
	data := filepath.Join(t.TempDir(), "data")
	serve := func(data string) *suite.Server {
		return suite.Serve(t, "--config", config, "--data-dir", data, "--approval", "auto", "--warm", "0", "mail="+mail, "bank="+bank)
	}
	one, two, apart := serve(data), serve(data), serve(filepath.Join(t.TempDir(), "other"))
	pays := func(why string, s *suite.Server, token string, status int) {
		t.Helper()
		if r := suite.AsksFor(t, s, token, "bank", "", "pay", "{}"); r.Status != status {
			t.Errorf("%s: %d %s", why, r.Status, r.Body)
		}
	}
	pays("before it read anything", two, suite.AgentToken, http.StatusOK)
	if got := suite.AsksFor(t, one, suite.AgentToken, "mail", "", "read", "{}").OK(t); got != "done" {
		t.Fatalf("reading: %v", got)
	}
	pays("through the same process", one, suite.AgentToken, http.StatusForbidden)
	pays("through another process", two, suite.AgentToken, http.StatusForbidden)
	pays("another caller", two, suite.PersonToken, http.StatusOK)
	pays("a process with another folder", apart, suite.AgentToken, http.StatusOK)
	if err := two.Stop(); err != nil {
		t.Fatal(err)
	}
	pays("after a restart", serve(data), suite.AgentToken, http.StatusForbidden)
}

// TestRatesOfTheFolder (N7): the rate of a caller is one for all processes of the data folder, and
// after a restart.
func TestRatesOfTheFolder(t *testing.T) {
	t.Parallel()
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf("callers:\n  - {name: agent, token: %s, may: [call], rate: 6/1h}\n  - {name: person, token: %s, may: [call], rate: 6/1h}\n",
		suite.AgentToken, suite.PersonToken))
	data := filepath.Join(t.TempDir(), "data")
	serve := func() *suite.Server {
		return suite.Serve(t, "--config", config, "--data-dir", data, "--warm", "0", "shop="+suite.PageServer().Page("good.html"))
	}
	one, two := serve(), serve()
	count := func(token string, among ...*suite.Server) (taken int) {
		for i := range 10 {
			r := suite.AsksFor(t, among[i%len(among)], token, "shop", "", "nowhere", "{}")
			switch r.Status {
			case http.StatusNotFound:
				taken++
			case http.StatusTooManyRequests:
			default:
				t.Errorf("%d %s", r.Status, r.Body)
			}
		}
		return taken
	}
	if n := count(suite.AgentToken, one, two); n != 6 {
		t.Errorf("%d of ten calls of six", n)
	}
	if err := two.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := count(suite.AgentToken, serve()); n != 0 {
		t.Errorf("after a restart %d more", n)
	}
	if n := count(suite.PersonToken, one); n != 6 {
		t.Errorf("another caller: %d", n)
	}
}
