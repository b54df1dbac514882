package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// ask makes a request of MCP 2026-07-28 about the site shop, for a client that declares these capabilities.
func (n *node) ask(t *testing.T, method string, can, params map[string]any) suite.Reply {
	t.Helper()
	const version = "2026-07-28"
	params = maps.Clone(params)
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": version,
		"io.modelcontextprotocol/clientInfo": map[string]string{"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": can}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	header := []string{"MCP-Protocol-Version", version, "Mcp-Method", method}
	for _, name := range []string{"name", "uri", "taskId"} {
		if named, ok := params[name].(string); ok {
			header = append(header, "Mcp-Name", named)
		}
	}
	return mcpPost(t, n.Server, http.MethodPost, "/mcp/shop", string(body), header...)
}

// rpc is ask, and returns the result.
func (n *node) rpc(t *testing.T, method string, can, params map[string]any) map[string]any {
	t.Helper()
	r := n.ask(t, method, can, params)
	text := r.Body
	for line := range bytes.Lines(r.Body) { // the reply is the last event of a stream
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			text = data
		}
	}
	var read struct{ Result map[string]any }
	if err := json.Unmarshal(text, &read); err != nil || read.Result == nil {
		t.Fatalf("MCP: %d %s", r.Status, r.Body)
	}
	return read.Result
}

// forms are the capabilities of a client that asks its person.
var forms = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}

// TestNamesOfNodes: what a client or a person got from one node goes on through the other: the state of a
// call of MCP that asks, a call that outlives its request, and a question at a terminal.
func TestNamesOfNodes(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	shop, visited := pageOf(t, draining)
	one, two := c.start(t, "a", clusterCallers, suite.Start, "shop="+shop), c.start(t, "b", clusterCallers, suite.Start, "shop="+shop)

	call := map[string]any{"name": "ask", "arguments": map[string]any{}}
	asked := one.rpc(t, "tools/call", forms, call)
	requests, _ := asked["inputRequests"].(map[string]any)
	if asked["resultType"] != "input_required" || len(requests) != 1 {
		t.Fatalf("a call that asks: %v", asked)
	}
	accepted := map[string]any{}
	for key := range requests {
		accepted[key] = map[string]any{"action": "accept", "content": map[string]any{}}
	}
	call["requestState"], call["inputResponses"] = asked["requestState"], accepted
	if said := two.rpc(t, "tools/call", forms, call); !strings.Contains(fmt.Sprint(said["content"]), "text:yes") {
		t.Errorf("its state at the other node: %v", said)
	}

	r := one.In(t.Context(), suite.AgentToken, http.MethodPost, one.URL+"/webtools/shop", `{"action":"slow","request":{}}`, "Prefer", "respond-async")
	at := r.Header.Get("Location")
	if r.Status != http.StatusAccepted || !strings.HasPrefix(at, "/calls/") {
		t.Fatalf("a call that outlives its request: %d %s", r.Status, r.Body)
	}
	if !suite.Within(suite.ReplyWithin, func() bool { return visited.of("/began") == 1 }) {
		t.Fatal("it does not begin")
	}
	if r := two.As(t, suite.AgentToken, http.MethodGet, two.URL+at+"?wait=60", ""); r.Status != http.StatusOK || !strings.Contains(string(r.Body), `"data":"slow"`) {
		t.Errorf("it, at the other node: %d %s", r.Status, r.Body)
	}
	if r := two.As(t, suite.PersonToken, http.MethodGet, two.URL+at, ""); r.Status != http.StatusNotFound {
		t.Errorf("another caller sees it: %d %s", r.Status, r.Body)
	}

	question, token := suite.AsksFor(t, one.Server, suite.AgentToken, "shop", "s", "ask", "{}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	approve := approver(t, two.data)
	if list := approve(0); !strings.Contains(list, fmt.Sprint(question["id"])) {
		t.Errorf("approve at the other node lists %s", list)
	}
	approve(0, fmt.Sprint(question["id"]), "--yes")
	if r := one.As(t, suite.AgentToken, http.MethodPost, one.URL+"/webtools/shop",
		fmt.Sprintf(`{"action":"ask","sessionId":"s","request":{},"config":{"resume":%q,"wait":20000}}`, token)); !strings.Contains(string(r.Body), `"data":"yes"`) {
		t.Errorf("what it came to: %d %s", r.Status, r.Body)
	}
}
