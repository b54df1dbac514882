package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
)

// TestReadingsOnEveryFace (F9): a result has the same reading on every face, and none that loses a
// part without a word: what no JSON can hold is RESULT_INVALID.
func TestReadingsOnEveryFace(t *testing.T) {
	t.Parallel()
	s := tables(t)
	const noMembers = "an object of a class without members of its own"
	for tool, want := range map[string]struct{ data, says string }{
		"private": {says: "result: " + noMembers}, "inherited": {says: "result: " + noMembers}, "inside": {says: "result.price: " + noMembers},
		"names": {says: "two names in one object differ only in half characters"}, "half": {data: "{\"a\uFFFD\":\"\uFFFD\"}"},
		"failure": {data: `{"ok":false,"error":{"name":"Error","message":"sold out","code":7,"cause":{"name":"RangeError","message":"0 left"}}}`},
		"map":     {data: `[["a",[1]]]`}, "date": {data: `["1970-01-01T00:00:00.000Z","https://a.example/","18446744073709551616",[1]]`},
		"headers": {says: "Object.fromEntries(headers)"}, "form": {says: "Object.fromEntries(data)"}, "params": {says: "Object.fromEntries(params)"},
		"weak": {says: "WeakMap"}, "promise": {says: "result[0]: a value of the kind Promise"}, "response": {says: "result.answer: a value of the kind Response"},
		"node": {says: "HTMLBodyElement"}, "symbol": {says: "result[0]: a symbol"},
		"generator": {data: `["a",1]`}, "parts": {data: `{"all":1}`}, "sync": {says: "a value of the kind Generator"},
		"plain": {data: `{"a":1}`}, "empty": {data: `{}`}, "frame": {data: `{"theirs":{},"list":[{}]}`},
	} {
		t.Run(tool, func(t *testing.T) {
			if !strings.Contains(" private names failure map node generator plain ", " "+tool+" ") {
				gatetest.Nightly(t, "another one like it is looked at by day, and each takes six processes")
			}
			same := func(face string, got []byte) {
				t.Helper()
				if want.data != "" && string(bytes.TrimSpace(got)) != want.data {
					t.Errorf("%s: %s, want %s", face, got, want.data)
				}
			}
			refused := func(face, message, reason string) {
				t.Helper()
				if want.says != "" && (reason != "RESULT_INVALID" || !strings.Contains(message, want.says)) {
					t.Errorf("%s: %s %s, want RESULT_INVALID that says %q", face, reason, message, want.says)
				}
			}
			current := s.Ask("/webtools/readings", fmt.Sprintf(`{"action":%q,"request":{}}`, tool))
			bare := s.Ask("/tools/readings/"+tool, `{}`)
			older := s.Ask("/webtools/readings", fmt.Sprintf(`{"action":%q,"payload":{}}`, tool))
			mcp := s.In(t.Context(), "", http.MethodPost, s.URL+"/mcp/readings", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool),
				"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
			var told struct {
				Result struct {
					Content           []struct{ Text string }
					StructuredContent json.RawMessage
					Meta              map[string]struct{ Reason, Message string } `json:"_meta"`
				}
			}
			if err := json.Unmarshal(mcp.Body[max(0, bytes.IndexByte(mcp.Body, '{')):], &told); err != nil || len(told.Result.Content) != 1 {
				t.Fatalf("MCP: %v: %s", err, mcp.Body)
			}
			if want.data != "" {
				same("webtool", current.Data(t))
				same("tools", bare.Body)
				same("older dialect", older.Body)
				same("MCP", []byte(told.Result.Content[0].Text))
				if strings.HasPrefix(want.data, "{") {
					same("MCP, structured", told.Result.StructuredContent)
				}
				return
			}
			f := current.Failed(t)
			refused("webtool", f.Message, f.Reason)
			f = bare.Failed(t)
			refused("tools", f.Message, f.Reason)
			older.Older(t, http.StatusBadRequest, want.says)
			e := told.Result.Meta["pagetools/error"]
			refused("MCP", told.Result.Content[0].Text, e.Reason)
		})
	}
}
