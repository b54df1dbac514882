package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"e2e","version":"1"}}}`

// TestMCPStdio: an assistant's configuration: list, call, a question on the way, and
// the end with stdin, also in the middle of a call.
func TestMCPStdio(t *testing.T) {
	t.Parallel()
	c := suite.StartMCP(t, filepath.Join(docs.Root(t), "examples", "buyproduct"), "--approval", "auto")
	c.Send(initialize)
	if got := c.Next(); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) || !strings.Contains(got, `"instructions"`) {
		t.Errorf("initialize gives %s", got)
	}
	c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if got := c.Next(); !strings.Contains(got, `"name":"buyProduct"`) || !strings.Contains(got, `"name":"listOrders"`) {
		t.Errorf("the list is %s", got)
	}
	c.Send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"buyProduct","arguments":{"product_id":"sencha"}}}`)
	var ask struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message string }
	}
	if err := json.Unmarshal([]byte(c.Next()), &ask); err != nil || ask.Method != "elicitation/create" || !strings.Contains(ask.Params.Message, "Sencha") {
		t.Fatalf("it asks %+v, %v", ask, err)
	}
	c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, ask.ID))
	if got := c.Next(); !strings.Contains(got, "Product sencha purchased.") {
		t.Errorf("the purchase gives %s", got)
	}
	c.Send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"listOrders","arguments":{}}}`)
	if got := c.Next(); strings.Count(got, "Sencha, 100 g") < 1 || strings.Contains(got, `"isError":true`) {
		t.Errorf("the orders are %s", got)
	}
	c.Send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"buyProduct","arguments":{"product_id":"assam"}}}`)
	c.Next() // it asks, and stdin closes instead of an answer
	c.Close()
}

// TestMCPOnePage (E13): the one caller of stdio has one page: what is listed, what consent is
// about, and what calls run in. No spare page is opened, whatever --warm says.
func TestMCPOnePage(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		opened.Add(1)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>One page</title><link rel=icon href=data:,><script>
			let n = 0;
			navigator.modelContext.registerTool({name: 'count', description: 'c', inputSchema: {type: 'object'}, execute: () => 'number ' + ++n});
		</script>`)
	}))
	defer site.Close()
	c := suite.StartMCP(t, site.URL, "--warm", "2")
	c.Send(initialize)
	c.Next()
	c.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if got := c.Next(); !strings.Contains(got, `"name":"count"`) {
		t.Errorf("the list is %s", got)
	}
	for n := 1; n <= 3; n++ {
		c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{}}}`, 10+n))
		var ask struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(c.Next()), &ask); err != nil || ask.Method != "elicitation/create" {
			t.Fatalf("it asks %+v, %v", ask, err)
		}
		c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, ask.ID))
		if got := c.Next(); !strings.Contains(got, fmt.Sprintf("number %d", n)) {
			t.Errorf("the call %d gives %s", n, got)
		}
	}
	c.Send(initialize)
	if got := c.Next(); !strings.Contains(got, `"title":"One page (`) {
		t.Errorf("of the page it says %s", got)
	}
	c.Close()
	if n := opened.Load(); n != 1 {
		t.Errorf("the page was opened %d times", n)
	}
}

// TestMCPClientDies: a client that dies in the middle of a call takes all three streams with it.
// Writing to the closed streams does not end the server early: it ends the browser and removes its
// folder.
func TestMCPClientDies(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe() // in the place of the buffer, which never goes away
	if err != nil {
		t.Fatal(err)
	}
	c := suite.StartMCPWith(t, writer, filepath.Join(docs.Root(t), "examples", "buyproduct"), suite.OwnBrowser, "--approval", "auto", "--verbose")
	_ = writer.Close()
	said := make(chan struct{})
	go func() { // reads until it goes away
		defer close(said)
		b := make([]byte, 4096)
		for {
			if _, err := reader.Read(b); err != nil {
				return
			}
		}
	}()
	c.Send(initialize)
	c.Next()
	c.Send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"buyProduct","arguments":{"product_id":"sencha"}}}`)
	c.Next() // it asks
	browsers := len(suite.Descendants(c.Cmd.Process.Pid))
	_ = c.Out.Close()
	_ = reader.Close()
	<-said
	c.Close()
	left, err := filepath.Glob(filepath.Join(c.Tmp, "*"))
	if err != nil || len(left) > 0 || browsers == 0 {
		t.Errorf("of %d processes %v is left, %v", browsers, left, err)
	}
}

// TestMCPHTTP: every protocol version on one address, and one state for each caller.
func TestMCPHTTP(t *testing.T) {
	t.Parallel()
	s := suite.Serve(t, filepath.Join(docs.Root(t), "examples", "today"), "--approval", "auto", "--warm", "0")
	post := func(body string, header http.Header) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for name, values := range header {
			r.Header[name] = values
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header
	}
	_, body, h := post(initialize, nil)
	session := http.Header{"Mcp-Session-Id": {h.Get("Mcp-Session-Id")}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if !strings.Contains(body, `"serverInfo"`) || session.Get("Mcp-Session-Id") == "" {
		t.Fatalf("initialize gives %s", body)
	}
	if _, body, _ = post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add-to-cart","arguments":{"product":"rye","quantity":2}}}`, session); !strings.Contains(body, "The cart has 2 x Dark rye") {
		t.Errorf("the first era gives %s", body)
	}
	modern := func(method, name, params string) string {
		t.Helper()
		header := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
		if name != "" {
			header.Set("Mcp-Name", name)
		}
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		status, body, _ := post(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{%s%s}}`, method, meta, params), header)
		if status != http.StatusOK {
			t.Errorf("%s gives %d %s", method, status, body)
		}
		return body
	}
	if got := modern("server/discover", "", ""); !strings.Contains(got, `"2026-07-28"`) {
		t.Errorf("discover gives %s", got)
	}
	// The same caller's page: what was put in the cart is there, and so are the tools
	// that came with it.
	if got := modern("tools/list", "", ""); !strings.Contains(got, `"name":"check-out"`) || !strings.Contains(got, `"ttlMs"`) {
		t.Errorf("the list is %s", got)
	}
	if got := modern("tools/call", "view-cart", `,"name":"view-cart","arguments":{}`); !strings.Contains(got, "Dark rye") {
		t.Errorf("the cart is %s", got)
	}
}

// TestAgentMCP follows the README of examples/agent-mcp: a person agrees, and the
// tools that come with the call are noticed.
func TestAgentMCP(t *testing.T) {
	t.Parallel()
	agent := filepath.Join(suite.Scratch, "agent-mcp")
	build := exec.Command("go", "build", "-o", agent, "./examples/agent-mcp")
	build.Dir = docs.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the agent: %v\n%s", err, out)
	}
	s := suite.Serve(t, filepath.Join(docs.Root(t), "examples", "today"), "--warm", "0")
	run := func(answers string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), agent, append([]string{s.URL + "/mcp"}, args...)...)
		c.Stdin = strings.NewReader(answers)
		out, err := c.CombinedOutput()
		if err != nil && answers != "n\n" {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	if got := run(""); !strings.Contains(got, "add-to-cart: ") || strings.Contains(got, "view-cart") {
		t.Errorf("the list is %s", got)
	}
	cart := `{"product":"rye","quantity":2}`
	if got := run("n\n", "add-to-cart", cart); !strings.Contains(got, "[y/n]") || strings.Contains(got, "The cart has") {
		t.Errorf("refused: %s", got)
	}
	if got := run("y\n", "add-to-cart", cart); !strings.Contains(got, cart) || !strings.Contains(got, "The cart has 2 x Dark rye") || !strings.Contains(got, "new: view-cart: ") {
		t.Errorf("allowed: %s", got)
	}
	if got := run("", "view-cart"); !strings.Contains(got, "Dark rye") {
		t.Errorf("the cart is %s", got)
	}
}
