package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// What follows shows the defects of the library's transports, as library_test.go does
// those of the rest of it. Which of our tests holds us to the same is in docs/mcp.md.

// tries is how often a test looks for something that goes wrong now and then.
const tries = 5000

// notifies sends progress right before it returns.
func notifies(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p", "progress": 1})
	return mcpgo.NewToolResultText("seen"), err
}

// over1125 is a session with the library's own transport: the headers of requests.
func over1125(t *testing.T, post func(string, http.Header) (int, string, http.Header)) http.Header {
	t.Helper()
	_, body, header := post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	h := http.Header{"Mcp-Session-Id": {header.Get("Mcp-Session-Id")}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if h.Get("Mcp-Session-Id") == "" {
		t.Fatalf("initialize gives %s", body)
	}
	return h
}

// stuck is a response whose client reads nothing of it at first.
type stuck struct {
	http.ResponseWriter
	until <-chan struct{}
}

func (w *stuck) Write(p []byte) (int, error) {
	<-w.until
	return w.ResponseWriter.Write(p)
}

func (w *stuck) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// TestLibraryLosesProgress (defect 1): of what is sent while a client reads slowly, and
// right before the reply, something is lost.
func TestLibraryLosesProgress(t *testing.T) {
	const all = 10
	var returned chan struct{}
	s := server.NewMCPServer("theirs", "1")
	s.AddTool(mcpgo.NewToolWithRawSchema("look", "d", json.RawMessage(`{"type":"object"}`)), func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		defer close(returned)
		for range all - 1 {
			if _, err := notifies(ctx, r); err != nil {
				return nil, err
			}
		}
		return notifies(ctx, r)
	})
	handler := server.NewStreamableHTTPServer(s)
	for range 100 {
		returned = make(chan struct{})
		reads := make(chan struct{})
		go func() {
			<-returned
			time.AfterFunc(20*time.Millisecond, func() { close(reads) }) // so long the reply waits for its turn
		}()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(rpc(1, "tools/call", `{`+modernMeta+`,"name":"look"}`)))
		r.Host = "127.0.0.1"
		r.Header = modernHeader("tools/call", "look")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		got := httptest.NewRecorder()
		handler.ServeHTTP(&stuck{got, reads}, r)
		said := got.Body.String()
		if !strings.Contains(said, "seen") {
			t.Fatalf("it says %d %s", got.Code, said)
		}
		if strings.Count(said, "notifications/progress") < all {
			return
		}
	}
	t.Error("the library loses nothing any more")
}

// TestLibraryMixesStreams (defect 2): what a call tells leaves on the stream that its
// client has open beside it.
func TestLibraryMixesStreams(t *testing.T) {
	entered, release := make(chan context.Context), make(chan struct{})
	s, post, url := theirs(t, func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		entered <- ctx
		<-release
		return mcpgo.NewToolResultText("seen"), nil
	})
	h := over1125(t, post)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h.Clone()
	r.Header.Set("Accept", "text/event-stream")
	beside, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Body.Close()
	replied := make(chan string, 1)
	go func() {
		_, body, _ := post(rpc(2, "tools/call", `{"name":"look"}`), h)
		replied <- body
	}()
	ctx := <-entered
	mixed := make(chan struct{})
	go func() { // ends with the stream
		for range events(beside.Body) {
			close(mixed)
			return
		}
	}()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	deadline := time.After(hang)
	for seen := false; !seen; {
		_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "p", "progress": 1}) // more than it has room for are dropped
		select {
		case <-mixed:
			seen = true
		case <-again.C:
		case <-deadline:
			t.Error("the library keeps streams apart now")
			seen = true
		}
	}
	close(release)
	<-replied
}

// TestLibraryLeaks (defect 5): a session takes memory for ever.
func TestLibraryLeaks(t *testing.T) {
	_, post, _ := theirs(t, says)
	over1125(t, post)
	const n = 500
	before := heap()
	for range n {
		over1125(t, post)
	}
	if grown := heap() - before; grown < 2000*n {
		t.Errorf("%d sessions of the library take %d bytes", n, grown)
	}
}

// heap is how many bytes are in use.
func heap() int {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestLibraryKnowsEverySession (defect 6): an id that was never given, or that was
// deleted, is a session.
func TestLibraryKnowsEverySession(t *testing.T) {
	_, post, _ := theirs(t, says)
	h := over1125(t, post)
	h.Set("Mcp-Session-Id", "mcp-session-00000000-0000-4000-8000-000000000000")
	if status, body, _ := post(rpc(2, "tools/list", "{}"), h); status != http.StatusOK || !strings.Contains(body, "look") {
		t.Errorf("the library refuses ids that it did not give now: %d %s", status, body)
	}
}

// TestLibraryWantsOneHeader (defect 16): a version that is sent twice is refused.
func TestLibraryWantsOneHeader(t *testing.T) {
	_, post, _ := theirs(t, says)
	h := over1125(t, post)
	h.Set("Mcp-Protocol-Version", "2025-11-25, 2025-11-25")
	if status, body, _ := post(rpc(2, "tools/list", "{}"), h); status == http.StatusOK {
		t.Errorf("the library takes the header twice now: %s", body)
	}
}

// TestLibraryAsksAnybody (defect 15): a client that declared no elicitation is asked.
func TestLibraryAsksAnybody(t *testing.T) {
	_, post, _ := theirs(t, func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		form := mcpgo.ElicitationParams{Message: "Sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}}
		return server.NewInputRequestBuilder("state").Elicit("question", form).ToolResult(), nil
	})
	_, body, _ := post(rpc(1, "tools/call", `{`+modernMeta+`,"name":"look"}`), modernHeader("tools/call", "look"))
	if !strings.Contains(body, "elicitation/create") {
		t.Errorf("the library looks at what a client declared now: %s", body)
	}
}

// toolSession is a session with tools of its own.
type toolSession struct {
	mu    sync.Mutex
	tools map[string]server.ServerTool
}

func (*toolSession) SessionID() string                                     { return "own" }
func (*toolSession) NotificationChannel() chan<- mcpgo.JSONRPCNotification { return nil }
func (*toolSession) Initialize()                                           {}
func (*toolSession) Initialized() bool                                     { return false }
func (s *toolSession) GetSessionTools() map[string]server.ServerTool       { return s.swap(nil) }
func (s *toolSession) SetSessionTools(tools map[string]server.ServerTool)  { s.swap(tools) }
func (s *toolSession) swap(to map[string]server.ServerTool) map[string]server.ServerTool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to != nil {
		s.tools = to
	}
	return s.tools
}

// TestLibraryLosesTools (defect 10): tools that are added at once replace each other.
func TestLibraryLosesTools(t *testing.T) {
	for range 50 {
		s, session := server.NewMCPServer("theirs", "1"), &toolSession{}
		if err := s.RegisterSession(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		const n = 1000
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				_ = s.AddSessionTool(session.SessionID(), mcpgo.NewToolWithRawSchema(fmt.Sprintf("t%d", i), "d", json.RawMessage(`{"type":"object"}`)), says)
			})
		}
		all.Wait()
		if len(session.tools) < n {
			return
		}
	}
	t.Error("the library loses no tools any more")
}

// theirStdio is a client of the library's own stdio.
type theirStdio struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
}

func overStdio(t *testing.T, s *server.MCPServer) *theirStdio {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	c := &theirStdio{t: t, in: toServer, lines: make(chan string, 1000)}
	ended := make(chan struct{})
	go func() { // ends with in
		defer close(ended)
		_ = server.NewStdioServer(s).Listen(context.WithoutCancel(t.Context()), fromClient, toClient)
		_ = toClient.Close()
	}()
	read := make(chan struct{})
	go func() { // ends with Listen
		defer close(read)
		lines := bufio.NewScanner(fromServer)
		for lines.Scan() {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = toServer.Close()
		<-ended
		<-read
	})
	c.send(`{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	c.until(`"id":"begin"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *theirStdio) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// until gives the lines up to the first one with the text.
func (c *theirStdio) until(text string) (lines []string) {
	c.t.Helper()
	for {
		select {
		case line := <-c.lines:
			lines = append(lines, line)
			if strings.Contains(line, text) {
				return lines
			}
		case <-time.After(hang):
			c.t.Fatalf("there is no %s after %s", text, lines)
		}
	}
}

// TestLibraryTellsTooLate (defect 3): over stdio, progress comes after the reply.
func TestLibraryTellsTooLate(t *testing.T) {
	s := server.NewMCPServer("theirs", "1")
	s.AddTool(mcpgo.NewToolWithRawSchema("look", "d", json.RawMessage(`{"type":"object"}`)), notifies)
	c := overStdio(t, s)
	for i := range tries {
		c.send(rpc(i, "tools/call", `{"name":"look"}`))
		if before := c.until(fmt.Sprintf(`"id":%d,`, i)); !strings.Contains(strings.Join(before, ""), "notifications/progress") {
			return
		}
	}
	t.Errorf("the library has kept the order in %d calls", tries)
}

// TestLibraryHoldsUp (defect 8): five calls that wait hold up the sixth.
func TestLibraryHoldsUp(t *testing.T) {
	s := server.NewMCPServer("theirs", "1")
	entered, release, ran := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.AddTool(mcpgo.NewToolWithRawSchema("wait", "d", json.RawMessage(`{"type":"object"}`)), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		entered <- struct{}{}
		<-release
		return mcpgo.NewToolResultText("waited"), nil
	})
	s.AddTool(mcpgo.NewToolWithRawSchema("fast", "d", json.RawMessage(`{"type":"object"}`)), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		close(ran)
		return mcpgo.NewToolResultText("ran"), nil
	})
	c := overStdio(t, s)
	for i := range 5 {
		c.send(rpc(i, "tools/call", `{"name":"wait"}`))
		<-entered
	}
	c.send(rpc(`"fast"`, "tools/call", `{"name":"fast"}`))
	for i := range 20 { // each is time for the sixth to run
		c.send(rpc(100+i, "ping", "{}"))
		c.until(fmt.Sprintf(`"id":%d,`, 100+i))
	}
	select {
	case <-ran:
		t.Error("the library holds up nobody any more")
	default:
	}
	close(release)
	c.until(`"id":"fast"`)
}

// TestLibraryHasNoToolsOfStdio (defect 9): the session of stdio has no tools of its own.
func TestLibraryHasNoToolsOfStdio(t *testing.T) {
	s := server.NewMCPServer("theirs", "1")
	overStdio(t, s)
	if err := s.AddSessionTool("stdio", mcpgo.NewToolWithRawSchema("look", "d", json.RawMessage(`{"type":"object"}`)), says); err == nil {
		t.Error("the session of stdio has tools now")
	}
}

// TestLibraryRepeats (defect 17): a burst of changes is told as often as there were.
func TestLibraryRepeats(t *testing.T) {
	s := server.NewMCPServer("theirs", "1", server.WithToolCapabilities(true))
	c := overStdio(t, s)
	c.send(rpc(1, "ping", "{}")) // after this it is initialized
	c.until(`"id":1,`)
	for i := range 20 {
		s.AddTool(mcpgo.NewToolWithRawSchema(fmt.Sprintf("t%d", i), "d", json.RawMessage(`{"type":"object"}`)), says)
	}
	for range 20 {
		c.until("list_changed")
	}
}
