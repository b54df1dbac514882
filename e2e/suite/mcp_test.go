package suite_test

import (
	"bufio"
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
	"time"
)

// overStdio is a client of "pagetools mcp".
type overStdio struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Closer
	lines  chan string
	stderr *lockedBuffer
	tmp    string
}

// startMCP starts pagetools mcp and speaks to it.
func startMCP(t *testing.T, args ...string) *overStdio {
	t.Helper()
	return startMCPWith(t, nil, args...)
}

// startMCPWith does, with a file for standard error; nil keeps what it says.
func startMCPWith(t *testing.T, stderr *os.File, args ...string) *overStdio {
	t.Helper()
	tmp, err := os.MkdirTemp(scratch, "m")
	if err != nil {
		t.Fatal(err)
	}
	c := &overStdio{t: t, cmd: exec.Command(pagetools(t), append([]string{"mcp"}, args...)...), lines: make(chan string, 1000), stderr: &lockedBuffer{}, tmp: tmp}
	c.cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data")
	if c.cmd.Stderr = c.stderr; stderr != nil {
		c.cmd.Stderr = stderr
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(c.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c
}

func (c *overStdio) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// next returns the next message that is no notification.
func (c *overStdio) next() string {
	c.t.Helper()
	hang := time.After(replyWithin)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("it has ended:\n%s", c.stderr)
			}
			if strings.Contains(line, `"id"`) {
				return line
			}
		case <-hang:
			c.t.Fatalf("it says nothing:\n%s", c.stderr)
		}
	}
}

// close closes stdin, and waits for the end.
func (c *overStdio) close() {
	c.t.Helper()
	_ = c.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			c.t.Errorf("it ended with %v:\n%s", err, c.stderr)
		}
	case <-time.After(stopWithin):
		c.t.Errorf("it goes on without stdin:\n%s", c.stderr)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"e2e","version":"1"}}}`

// TestMCPStdio: an assistant's configuration: list, call, a question on the way, and
// the end with stdin, also in the middle of a call.
func TestMCPStdio(t *testing.T) {
	t.Parallel()
	c := startMCP(t, filepath.Join(root(t), "examples", "buyproduct"), "--approval", "auto")
	c.send(initialize)
	if got := c.next(); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) || !strings.Contains(got, `"instructions"`) {
		t.Errorf("initialize gives %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if got := c.next(); !strings.Contains(got, `"name":"buyProduct"`) || !strings.Contains(got, `"name":"listOrders"`) {
		t.Errorf("the list is %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"buyProduct","arguments":{"product_id":"sencha"}}}`)
	var ask struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message string }
	}
	if err := json.Unmarshal([]byte(c.next()), &ask); err != nil || ask.Method != "elicitation/create" || !strings.Contains(ask.Params.Message, "Sencha") {
		t.Fatalf("it asks %+v, %v", ask, err)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, ask.ID))
	if got := c.next(); !strings.Contains(got, "Product sencha purchased.") {
		t.Errorf("the purchase gives %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"listOrders","arguments":{}}}`)
	if got := c.next(); strings.Count(got, "Sencha, 100 g") < 1 || strings.Contains(got, `"isError":true`) {
		t.Errorf("the orders are %s", got)
	}
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"buyProduct","arguments":{"product_id":"assam"}}}`)
	c.next() // it asks, and stdin closes instead of an answer
	c.close()
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
	c := startMCP(t, site.URL, "--warm", "2")
	c.send(initialize)
	c.next()
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if got := c.next(); !strings.Contains(got, `"name":"count"`) {
		t.Errorf("the list is %s", got)
	}
	for n := 1; n <= 3; n++ {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{}}}`, 10+n))
		var ask struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(c.next()), &ask); err != nil || ask.Method != "elicitation/create" {
			t.Fatalf("it asks %+v, %v", ask, err)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, ask.ID))
		if got := c.next(); !strings.Contains(got, fmt.Sprintf("number %d", n)) {
			t.Errorf("the call %d gives %s", n, got)
		}
	}
	c.send(initialize)
	if got := c.next(); !strings.Contains(got, `"title":"One page (`) {
		t.Errorf("of the page it says %s", got)
	}
	c.close()
	if n := opened.Load(); n != 1 {
		t.Errorf("the page was opened %d times", n)
	}
}

// TestMCPClientDies: a client that dies in the middle of a call takes all three streams
// with it. What is written to nobody ends nothing: the browser is ended, and its folder
// goes.
func TestMCPClientDies(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe() // in the place of the buffer, which never goes away
	if err != nil {
		t.Fatal(err)
	}
	c := startMCPWith(t, writer, filepath.Join(root(t), "examples", "buyproduct"), "--approval", "auto", "--verbose")
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
	c.send(initialize)
	c.next()
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"buyProduct","arguments":{"product_id":"sencha"}}}`)
	c.next() // it asks
	browsers := len(descendants(c.cmd.Process.Pid))
	_ = c.out.Close()
	_ = reader.Close()
	<-said
	c.close()
	left, err := filepath.Glob(filepath.Join(c.tmp, "*"))
	if err != nil || len(left) > 0 || browsers == 0 {
		t.Errorf("of %d processes %v is left, %v", browsers, left, err)
	}
}

// TestMCPHTTP: every era on one address, and one state for each caller.
func TestMCPHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(root(t), "examples", "today"), "--approval", "auto", "--warm", "0")
	post := func(body string, header http.Header) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
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
	agent := filepath.Join(scratch, "agent-mcp")
	build := exec.Command("go", "build", "-o", agent, "./examples/agent-mcp")
	build.Dir = root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the agent: %v\n%s", err, out)
	}
	s := serve(t, filepath.Join(root(t), "examples", "today"), "--warm", "0")
	run := func(answers string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), agent, append([]string{s.url + "/mcp"}, args...)...)
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
