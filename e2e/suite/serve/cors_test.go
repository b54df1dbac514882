package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// mcpInPage is a client of MCP as libraries for browsers are: it sends the headers of both kinds of
// protocol version, and reads those of replies.
const mcpInPage = `<!doctype html><title>client</title><script type=module>
const at = new URLSearchParams(location.search).get('at');
const steps = [];
const send = async (method, body, headers = {}) => {
  const r = await fetch(at, {method, headers: {Authorization: 'Bearer secret', Accept: 'application/json, text/event-stream', ...(body ? {'Content-Type': 'application/json'} : {}), ...headers},
    body: body && JSON.stringify({jsonrpc: '2.0', ...body})});
  const text = method === 'GET' ? '' : await r.text();
  return {status: r.status, session: r.headers.get('Mcp-Session-Id'), challenge: r.headers.get('WWW-Authenticate'), text};
};
const step = async (name, run) => {
  try { steps.push(name + ' ' + await run()); } catch (e) { steps.push(name + ' ' + e); }
};
let session = '';
const old = () => ({'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25'});
await step('initialize', async () => {
  const r = await send('POST', {id: 1, method: 'initialize', params: {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'page', version: '1'}}});
  session = r.session;
  return r.status + ' ' + (session !== null);
});
await step('initialized', async () => (await send('POST', {method: 'notifications/initialized'}, old())).status);
await step('list', async () => { const r = await send('POST', {id: 2, method: 'tools/list', params: {}}, old()); return r.status + ' ' + r.text.includes('"greet"') });
await step('stream', async () => (await send('GET', null, {...old(), 'Last-Event-ID': '1'})).status);
await step('end', async () => (await send('DELETE', null, old())).status);
await step('ended', async () => (await send('POST', {id: 3, method: 'tools/list', params: {}}, old())).status);
const _meta = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}};
await step('call', async () => {
  const r = await send('POST', {id: 4, method: 'tools/call', params: {name: 'greet', arguments: {name: 'Ada'}, _meta}},
    {'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'greet'});
  return r.status + ' ' + r.text.includes('Hello, Ada');
});
await step('a wrong token', async () => { const r = await send('POST', {id: 5, method: 'ping'}, {Authorization: 'Bearer wrong'}); return r.status + ' ' + (r.challenge !== null) });
await fetch('/done', {method: 'POST', body: steps.join('\n')});
</script>`

// TestMCPFromAPage: a page of an origin that --cors names speaks MCP: it sends every header that
// clients send, and reads those that they need. Pages of other origins do not. C6.
func TestMCPFromAPage(t *testing.T) {
	t.Parallel()
	done := make(chan string, 1)
	serve := func() *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/done" {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, mcpInPage)
				return
			}
			text, _ := io.ReadAll(r.Body)
			done <- string(text)
		}))
		t.Cleanup(s.Close)
		return s
	}
	allowed, foreign := serve(), serve()
	s := suite.Serve(t, "greet="+filepath.Dir(suite.WriteFile(t, "index.html", `<!doctype html><title>g</title><script>
		document.modelContext.registerTool({name: 'greet', description: 'Greets somebody.', annotations: {readOnlyHint: true},
			inputSchema: {type: 'object', properties: {name: {type: 'string'}}}, execute: async ({name}) => 'Hello, ' + name});
	</script>`)), "--cors", allowed.URL, "--approval", "auto", "--token", "secret")
	e := operatorsBrowser(t)
	for _, c := range []struct{ origin, want string }{
		{allowed.URL, "initialize 200 true\ninitialized 202\nlist 200 true\nstream 200\nend 204\nended 404\ncall 200 true\na wrong token 401 true"},
		{foreign.URL, "initialize TypeError: Failed to fetch\ninitialized TypeError: Failed to fetch\nlist TypeError: Failed to fetch\nstream TypeError: Failed to fetch\n" +
			"end TypeError: Failed to fetch\nended TypeError: Failed to fetch\ncall TypeError: Failed to fetch\na wrong token TypeError: Failed to fetch"},
	} {
		showInBrowser(t, e, fmt.Sprintf("%s/?at=%s/mcp/greet", c.origin, s.URL), "title")
		select {
		case got := <-done:
			if got != c.want {
				t.Errorf("a page of %s:\n%s\nwant\n%s", c.origin, got, c.want)
			}
		case <-time.After(suite.StopWithin):
			t.Fatal("the page did not end")
		}
	}
}
