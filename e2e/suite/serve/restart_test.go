package serve_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestMCPSessionOutlivesARestart: a client of an older protocol version goes on after serve was
// started again on the same data folder, and on another one it does not. C3.
func TestMCPSessionOutlivesARestart(t *testing.T) {
	t.Parallel()
	page := filepath.Dir(suite.WriteFile(t, "index.html", `<!doctype html><title>t</title><script>
		document.modelContext.registerTool({name: 'look', description: 'Looks.', inputSchema: {type: 'object', properties: {}}, execute: () => 'seen'});
	</script>`))
	folder, elsewhere := suite.TempDir(t), suite.TempDir(t)
	start := func(data string) *suite.Server {
		s, err := suite.Start(suite.Pagetools(t), "", suite.TempDir(t), "serve", "shop="+page, "--data-dir", data, "--console-listen", "off")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	post := func(s *suite.Server, body string, header ...string) suite.Reply {
		return s.In(t.Context(), "", "POST", s.URL+"/mcp/shop", body, append(header, "Accept", "application/json, text/event-stream")...)
	}
	stop := func(s *suite.Server) {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	first := start(folder)
	begun := post(first, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	stop(first)
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for data, want := range map[string]int{folder: 200, elsewhere: 404} {
		again := start(data)
		r := post(again, list, "Mcp-Session-Id", begun.Header.Get("Mcp-Session-Id"))
		if r.Status != want || strings.Contains(string(r.Body), `"look"`) != (want == 200) {
			t.Errorf("it gives %d %s, want %d", r.Status, r.Body, want)
		}
		stop(again)
	}
}
