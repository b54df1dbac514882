package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestBackToTheStartOverMCP: a tool leaves for a page without tools; the caller is told how to come
// back, does, and still has its session.
func TestBackToTheStartOverMCP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": `<!doctype html><title>Shop</title><script>
			const none = {type: 'object', properties: {}};
			document.modelContext.registerTool({name: 'leave', description: 'Leaves.', inputSchema: none,
				execute: () => { document.cookie = 'who=ada'; setTimeout(() => { location.href = 'thanks.html?order=7'; }); return 'gone'; }});
			document.modelContext.registerTool({name: 'who', description: 'Says who is there.', inputSchema: none,
				annotations: {readOnlyHint: true}, execute: () => document.cookie});
			</script>`,
		"thanks.html": `<!doctype html><title>Thanks</title>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := suite.StartMCP(t, dir, "--approval", "auto", "--warm", "0")
	do := func(line string, wants ...string) {
		t.Helper()
		c.Send(line)
		got := c.Next()
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s\ngives %s\nwant %s", line, got, want)
			}
		}
	}
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`
	}
	do(initialize, `"instructions"`)
	c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	do(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"name":"leave"`, `"name":"who"`)
	do(call("leave"), "gone")
	c.ListChanged()
	do(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`, `"name":"pagetools_open"`, "/thanks.html, which has no tools")
	do(call("who"), `There is no tool \"who\" here.`, "the page went to ", "/thanks.html since.", "pagetools_open goes back")
	do(call("pagetools_open"), "There are: leave, who.")
	do(call("who"), "who=ada")
	c.Close()
}
