package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// What follows shows defects of the library's own transports and options, each of
// which is a reason for a piece of this package. When one of these tests fails, the
// library was mended: take the work-around away, and the test.

// theirs serves a tool with the library's own transport.
func theirs(t *testing.T, handler server.ToolHandlerFunc, o ...server.ServerOption) (s *server.MCPServer, post func(body string, header http.Header) (int, string, http.Header), url string) {
	t.Helper()
	s = server.NewMCPServer("theirs", "1", o...)
	s.AddTool(mcpgo.NewToolWithRawSchema("look", "d", json.RawMessage(`{"type":"object"}`)), handler)
	web := httptest.NewServer(server.NewStreamableHTTPServer(s))
	t.Cleanup(web.Close)
	return s, func(body string, header http.Header) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/mcp", strings.NewReader(body))
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
	}, web.URL + "/mcp"
}

func says(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	return mcpgo.NewToolResultText("seen"), nil
}

// modernHeader and modernParams are what a request of 2026-07-28 has.
func modernHeader(method, name string) http.Header {
	h := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}}
	if name != "" {
		h.Set("Mcp-Name", name)
	}
	return h
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestLibraryIDs (defect 14): it changes ids beyond 2^53, and takes null for none.
func TestLibraryIDs(t *testing.T) {
	s := server.NewMCPServer("theirs", "1")
	reply, err := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`)))
	if err != nil || strings.Contains(string(reply), "9007199254740993") {
		t.Errorf("the library keeps large ids now: %s, %v", reply, err)
	}
	if said := s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)); said != nil {
		t.Errorf("the library answers null now: %v", said)
	}
}

// TestLibraryCancelsOthers (defect 4): requests of 2026-07-28 share one session, so
// that anybody cancels everybody's call of an id.
func TestLibraryCancelsOthers(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan error, 1)
	_, post, _ := theirs(t, func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		close(entered)
		<-ctx.Done()
		ended <- ctx.Err()
		return mcpgo.NewToolResultText("ended"), nil
	})
	replied := make(chan string, 1)
	go func() {
		_, body, _ := post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+modernMeta+`,"name":"look"}}`, modernHeader("tools/call", "look"))
		replied <- body
	}()
	<-entered
	post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{`+modernMeta+`,"requestId":1}}`, modernHeader("notifications/cancelled", ""))
	<-ended
	<-replied
}

// TestLibraryGuardsNothing (defect 7): it takes requests of any origin.
func TestLibraryGuardsNothing(t *testing.T) {
	_, post, _ := theirs(t, says)
	status, body, _ := post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+modernMeta+`,"name":"look"}}`,
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"look"}, "Origin": {"http://evil.test"}})
	if status != http.StatusOK || !strings.Contains(body, "seen") {
		t.Errorf("the library refuses foreign origins now: %d %s", status, body)
	}
}

// TestLibraryPanics (defect 11): a schema with a bad x-mcp-header ends the process.
func TestLibraryPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the library does not panic any more")
		}
	}()
	server.NewMCPServer("theirs", "1").AddTool(mcpgo.NewToolWithRawSchema("look", "d",
		json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"bad header\n"}}}`)), says)
}

// TestLibraryReadsFiles (defect 12): its validation of arguments reads files that a
// schema names.
func TestLibraryReadsFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"const":"s3cret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := server.NewMCPServer("theirs", "1", server.WithInputSchemaValidation())
	s.AddTool(mcpgo.NewToolWithRawSchema("look", "d", json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"a":{"$ref":"file://%s"}}}`, secret))), says)
	verdict := func(value string) string {
		reply, err := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"a":"`+value+`"}}}`)))
		if err != nil {
			t.Fatal(err)
		}
		return string(reply)
	}
	if right, wrong := verdict("s3cret"), verdict("guess"); !strings.Contains(right, "seen") || strings.Contains(wrong, "seen") {
		t.Errorf("the library reads no files any more: %s and %s", right, wrong)
	}
}

// TestLibraryErrors (defect 13): whatever a handler's error says, its code is that of
// an internal one.
func TestLibraryErrors(t *testing.T) {
	s := server.NewMCPServer("theirs", "1")
	s.AddTool(mcpgo.NewToolWithRawSchema("look", "d", json.RawMessage(`{"type":"object"}`)), func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return nil, rpcErrorf(mcpgo.INVALID_PARAMS, "not yours")
	})
	reply, err := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`)))
	if err != nil || !strings.Contains(string(reply), "-32603") {
		t.Errorf("the library keeps codes of handlers now: %s, %v", reply, err)
	}
}
