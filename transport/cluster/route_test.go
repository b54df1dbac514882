package cluster_test

import (
	"fmt"
	"strings"
	"testing"
)

const on = `"node":"%s"`

// TestNamesFindTheirHome: whatever node a request reaches, what it names is gone on with by the node
// that made it: tokens in the header and in config, answers, long calls, files, and MCP of both kinds.
// Without a name the entry serves it.
func TestNamesFindTheirHome(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	a.send("POST", "/webtools/shop", `{"action":"read","request":{}}`).wants(t, "without a name", 200, fmt.Sprintf(on, "a"))
	if b.hops.Load() != 0 {
		t.Error("it was passed on")
	}

	const call = `{"action":"read","request":{"asks":1}`
	park := func() (token, question string) {
		e := b.send("POST", "/webtools/shop", call+`}`).wants(t, "a question", 409, `"INPUT_REQUIRED"`)
		return e.at(t, "error", "details", "resume"), e.at(t, "error", "details", "question", "id")
	}
	token, question := park()
	a.send("POST", "/webtools/shop", call+`}`, "Pagetools-Resume", token).wants(t, "its token in the header", 409, question)
	a.send("POST", "/webtools/shop", call+`,"config":{"resume":"`+token+`"}}`).wants(t, "its token in config", 409, question)
	answered := a.send("POST", "/webtools/shop", fmt.Sprintf(`%s,"config":{"wait":30000,"resume":%q,"answer":{"question":%q,"ok":true}}}`, call, token, question))
	answered.wants(t, "an answer", 200, fmt.Sprintf(on, "b"))
	token, _ = park()
	a.send("POST", "/tools/shop/read", `{"asks":1}`, "Pagetools-Resume", token).wants(t, "its token at another face", 409, `"INPUT_REQUIRED"`)

	long := b.send("POST", "/webtools/shop", call+`}`, "Prefer", "respond-async, wait=30").wants(t, "a long call", 202)
	path := long.header.Get("Location")
	a.send("GET", path, "").wants(t, "a long call", 200, `"input_required"`)
	asked := a.send("GET", path, "").at(t, "call", "question", "id")
	a.send("POST", path+"/answer", fmt.Sprintf(`{"question":%q,"ok":true}`, asked)).wants(t, "its answer", 200)
	a.send("GET", path+"?wait=30", "").wants(t, "its end", 200, fmt.Sprintf(on, "b"), `"completed"`)
	a.send("DELETE", path, "").wants(t, "forgetting it", 204)
	b.send("GET", path, "").wants(t, "when it is forgotten", 404)

	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	session := b.send("POST", "/mcp", initialize).wants(t, "initialize", 200).header.Get("Mcp-Session-Id")
	message := func(id int, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	}
	version := []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-06-18"}
	a.send("POST", "/mcp", message(2, "tools/list", "{}"), version...).wants(t, "a session of MCP", 200, `"read"`)
	a.send("POST", "/mcp", message(3, "tools/call", `{"name":"read","arguments":{}}`), version...).wants(t, "its call", 200, `\"node\":\"b\"`)
	a.send("DELETE", "/mcp", "", version...).wants(t, "its end", 204)
	b.send("POST", "/mcp", message(4, "tools/list", "{}"), version...).wants(t, "after its end", 404)

	modern := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "write"}
	params := func(more string) string {
		return `{"name":"write","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}` + more + `}`
	}
	state := b.send("POST", "/mcp", message(5, "tools/call", params("")), modern...).wants(t, "consent over MCP", 200, `"input_required"`).at(t, "result", "requestState")
	goOn := params(fmt.Sprintf(`,"requestState":%q,"inputResponses":{"question":{"action":"accept","content":{}}}`, state))
	a.send("POST", "/mcp", message(6, "tools/call", goOn), modern...).wants(t, "its answer", 200, `\"node\":\"b\"`)

	saved := b.send("POST", "/webtools/shop", `{"action":"read","request":{"saves":1}}`).wants(t, "a file", 200, "/files/")
	id := saved.body[strings.Index(saved.body, "/files/"):]
	a.send("GET", id[:strings.IndexByte(id, '"')], "").wants(t, "its content", 200, "hello")
	if n := a.ran.Load(); n != 1 {
		t.Errorf("%d calls ran at a", n)
	}
	if h := answered.header; len(h.Values("Pagetools-Request-Id")) != 1 || len(h.Values("X-Content-Type-Options")) != 1 || len(h.Values("X-Request-Id")) != 1 {
		t.Errorf("the header is %v", h)
	}
}
