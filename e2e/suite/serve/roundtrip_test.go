package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// answering are tools that answer in each of the ways of pages. All but save claim that they only
// read.
const answering = `<!doctype html><title>Answering</title><script>
const all = {
  echo: (args) => args, list: () => [1, {a: 2}], text: () => 'hi', nothing: () => null, number: () => 1.5,
  picture: () => ({content: [{type: 'image', data: 'iVBORw==', mimeType: 'image/png'}]}),
  refuses: () => ({content: [{type: 'text', text: 'Not today.'}], isError: true}),
  fails: () => { throw new Error('No such pet'); }, save: (args) => ({saved: args}),
};
for (const [name, execute] of Object.entries(all)) {
  document.modelContext.registerTool({name, description: 'Answers with ' + name + '.', execute, annotations: {readOnlyHint: name !== 'save'},
    inputSchema: {type: 'object', properties: {text: {type: 'string', maxLength: 5}}}});
}
</script>`

// TestRoundTrip: a page published by one pagetools and attached by another has equal results and
// errors through webtool and MCP, and consent is asked once.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := suite.TempDir(t)
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(answering), 0o600); err != nil {
		t.Fatal(err)
	}
	here := suite.Serve(t, "pets="+dir, "--approval", "auto", "--console-listen", "off")
	// The operator trusts what this site says of its operations: they are all POST.
	const token = "abcdefghijklmnopqrstuvwxyz"
	config := filepath.Join(suite.TempDir(t), "pagetools.yaml")
	text := "callers: [{name: person, token: " + token + ", may: [call, answer]}]\n" +
		"sites: [{name: pets, target: \"" + here.URL + "/sites/pets/openapi.json\", approval: {tools: {\"*\": auto}}}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	away := suite.Serve(t, "--config", config, "--console-listen", "off")
	at := func(s *suite.Server, path, body string, header ...string) suite.Reply {
		ctx, cancel := context.WithTimeout(t.Context(), suite.ReplyWithin)
		defer cancel()
		return s.In(ctx, token, http.MethodPost, s.URL+path, body, header...)
	}
	// The calls here have two pages.
	session := at(here, "/mcp/pets", mcpHello).Header.Get("Mcp-Session-Id")
	// same compares the webtool's answer with MCP's, without what names the call.
	same := func(s *suite.Server, tool, arguments string) string {
		var web struct {
			Status string
			Data   json.RawMessage
			Error  struct{ Code, Reason, Outcome, Message string }
		}
		r := at(s, "/webtools/pets", fmt.Sprintf(`{"sessionId":"a","action":%q,"request":%s}`, tool, arguments))
		if err := json.Unmarshal(r.Body, &web); err != nil {
			t.Fatalf("%s: %v: %s", tool, err, suite.Shorten(r.Body))
		}
		var rpc struct {
			Result struct {
				Content           json.RawMessage
				StructuredContent json.RawMessage
				IsError           bool
			}
		}
		var header []string
		if s == here {
			header = []string{"Mcp-Session-Id", session}
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			tool, arguments)
		m := at(s, "/mcp/pets", body, header...)
		if json.Unmarshal(m.Body, &rpc) != nil || len(rpc.Result.Content) == 0 {
			t.Fatalf("%s over MCP: %s", tool, suite.Shorten(m.Body))
		}
		return fmt.Sprintf("%d %s %s %v / %s %s %t", r.Status, web.Status, web.Data, web.Error, rpc.Result.Content, rpc.Result.StructuredContent, rpc.Result.IsError)
	}
	for _, x := range []struct{ tool, arguments string }{
		{"echo", `{"text":"\u00e9"}`}, {"list", `{}`}, {"text", `{}`}, {"nothing", `{}`}, {"number", `{}`}, {"picture", `{}`},
		{"refuses", `{}`}, {"fails", `{}`}, {"echo", `{"text":"too long"}`},
	} {
		near, far := same(here, x.tool, x.arguments), same(away, "pets_"+x.tool, x.arguments)
		if near != far {
			t.Errorf("%s %s\nhere %s\naway %s", x.tool, x.arguments, near, far)
		}
	}
	f := at(away, "/webtools/pets", `{"action":"pets_save","request":{"text":"a"}}`).Failed(t)
	q, _ := f.Details["question"].(map[string]any)
	if f.Code != "APPROVAL_REQUIRED" || q == nil {
		t.Fatalf("save is not asked about: %+v", f)
	}
	body := fmt.Sprintf(`{"action":"pets_save","request":{"text":"a"},"config":{"resume":%q,"wait":20000,"answer":{"question":%q,"ok":true}}}`, f.Details["resume"], q["id"])
	if got := string(at(away, "/webtools/pets", body).Data(t)); got != `{"saved":{"text":"a"}}` {
		t.Errorf("after one yes: %s", got)
	}
}
