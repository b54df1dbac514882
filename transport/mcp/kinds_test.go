package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

const (
	legacy protocol = mcpgo.ProtocolVersion20251125
	modern protocol = mcpgo.ProtocolVersion20260728
)

func asMap(raw json.RawMessage) map[string]any {
	var m map[string]any
	_ = json.Unmarshal(raw, &m) // nil is told by strictReader
	return m
}

// strictReader says what makes one of the clients of table 4.3 throw away the list
// that has these schemas: it is as strict as all of them together. "" means that
// they take it.
func strictReader(input, output map[string]any) string {
	if input["type"] != "object" {
		return "inputSchema does not say that it is an object"
	}
	if p, has := input["properties"]; has {
		props, ok := p.(map[string]any)
		if !ok {
			return "properties is not an object"
		}
		for name, s := range props {
			if _, ok := s.(map[string]any); !ok {
				return "the schema of " + name + " is not an object"
			}
		}
	}
	if r, has := input["required"]; has {
		list, ok := r.([]any)
		if !ok {
			return "required is not a list"
		}
		for _, name := range list {
			if _, ok := name.(string); !ok {
				return "required has something that is no name"
			}
		}
	}
	if output == nil {
		return ""
	}
	if output["type"] != "object" {
		return "outputSchema does not say that it is an object"
	}
	return compiles(output, output)
}

// compiles says why a validator of draft 07 throws when it compiles the schema.
func compiles(root, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for key, held := range v {
			text, _ := held.(string)
			switch {
			case key == "$schema":
				return "the validator does not know " + text
			case key == "pattern" && text != "":
				return "the validator may not take the pattern"
			case key == "$ref" && text != "":
				at := root
				for _, step := range strings.Split(strings.TrimPrefix(text, "#"), "/")[1:] {
					m, _ := at.(map[string]any)
					at = m[step]
				}
				if !strings.HasPrefix(text, "#") || at == nil {
					return "$ref leads nowhere"
				}
			}
			if why := compiles(root, held); why != "" {
				return why
			}
		}
	case []any:
		for _, held := range v {
			if why := compiles(root, held); why != "" {
				return why
			}
		}
	}
	return ""
}

// badTools are the kinds of bad tool of table 4.3, and those that tests of our own
// added. What becomes of each: "kept" with the name, "renamed", or "refused" with a
// finding, by admission or by the list.
var badTools = []struct {
	kind, fate string
	tool       bridge.Declaration
	dies       bool // a strict client would throw the list away if it saw the schemas as they came
}{
	{"inputSchema without type", "kept", withInput(`{"properties":{"a":{}}}`), true},
	{"inputSchema of type string", "refused", withInput(`{"type":"string"}`), true},
	{"inputSchema with a list of types", "kept", withInput(`{"type":["object","null"]}`), true},
	{"inputSchema with a list of types without object", "refused", withInput(`{"type":["string","null"]}`), true},
	{"inputSchema true", "refused", withInput(`true`), true},
	{"inputSchema false", "refused", withInput(`false`), true},
	{"inputSchema null", "kept", withInput(`null`), true},
	{"inputSchema a list", "refused", withInput(`[]`), true},
	{"properties a list", "kept", withInput(`{"type":"object","properties":[]}`), true},
	{"required a text", "kept", withInput(`{"type":"object","required":"x"}`), true},
	{"a property that is true", "kept", withInput(`{"type":"object","properties":{"a":true}}`), true},
	{"a property that is null", "kept", withInput(`{"type":"object","properties":{"a":null}}`), true},
	{"outputSchema of type array", "kept", withOutput(`{"type":"array"}`), true},
	{"outputSchema true", "kept", withOutput(`true`), false},
	{"outputSchema a list", "kept", withOutput(`[]`), false},
	{"outputSchema with a list of types", "kept", withOutput(`{"type":["object","null"]}`), true},
	{"outputSchema with an unresolvable $ref", "refused", withOutput(`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`), true},
	{"outputSchema with an http $ref", "refused", withOutput(`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.2/x"}}}`), true},
	{"outputSchema with another $schema", "kept", withOutput(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`), true},
	{"outputSchema with a pattern that clients refuse", "kept", withOutput(`{"type":"object","properties":{"a":{"pattern":"\\-"}}}`), true},
	{"outputSchema without structuredContent in the result", "kept", withOutput(`{"type":"object"}`), false},
	{"a name with a space", "refused", withName("a b"), false},
	{"a name in other letters", "refused", withName("é"), false},
	{"a name with a slash", "refused", withName("a/b"), false},
	{"a name with a dot", "renamed", withName("a.b"), false},
	{"a name of 100 characters", "renamed", withName(strings.Repeat("n", 100)), false},
	{"a name of 200 characters", "refused", withName(strings.Repeat("n", 200)), false},
	{"an empty name", "refused", withName(""), false},
	{"one of our own names", "renamed", withName("pagetools_search"), false},
	{"draft 04", "kept", withInput(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`), false},
	{"a pattern that is none", "refused", withInput(`{"type":"object","properties":{"a":{"pattern":"("}}}`), false},
	{"an http $ref", "refused", withInput(`{"type":"object","properties":{"a":{"$ref":"http://127.0.0.2/x"}}}`), false},
	{"a description of 1 MB", "refused", func() bridge.Declaration {
		d := withInput("")
		d.Description = strings.Repeat("x", 1<<20)
		return d
	}(), false},
	{"headers that the library refuses", "kept", withInput(headers[1]), false},
}

func withInput(s string) bridge.Declaration { return bridgetest.Tool("bad", s) }
func withName(n string) bridge.Declaration  { return bridgetest.Tool(n, "") }
func withOutput(s string) bridge.Declaration {
	return bridgetest.Returning(bridgetest.Tool("bad", ""), s)
}

// TestBadTools is table 4.3: whatever one tool is like, the others are in the list,
// every client reads it, and what happened to the tool is said.
func TestBadTools(t *testing.T) {
	for _, c := range badTools {
		t.Run(c.kind, func(t *testing.T) {
			raw := strictReader(asMap(orObject(c.tool.Input)), asMap(c.tool.Output))
			if (raw != "") != c.dies {
				t.Errorf("as it came, a strict client says %q", raw)
			}
			catalog, refused := bridge.NewCatalog(nil, append(named("aaa", "zzz"), c.tool), bridge.Limits{})
			x := showAll(catalog)
			for _, e := range []protocol{mcpgo.ProtocolVersion20241105, mcpgo.ProtocolVersion20251125, mcpgo.ProtocolVersion20260728} {
				checkList(t, x, e)
			}
			list := whole(t, x, mcpgo.ProtocolVersion20251125)
			names := " " + namesOf(list) + " "
			if !strings.Contains(names, " aaa ") || !strings.Contains(names, " zzz ") {
				t.Errorf("good tools are missing in%s", names)
			}
			fate, findings := "refused", append(refused, x.Findings()...)
			if target, ok := x.Find(c.tool.Name); ok && target.Tool != nil {
				fate = "kept"
				if target.Name != c.tool.Name {
					fate = "renamed"
				}
			} else if own := shownAs(list, c.tool.Name); own != "" {
				fate = "renamed"
			}
			if fate != c.fate || fate != "kept" && len(findings) == 0 {
				t.Errorf("%s, want %s; findings %+v", fate, c.fate, findings)
			}
		})
	}
	if len(badTools) < 25 {
		t.Errorf("the table has %d kinds", len(badTools))
	}
}

// shownAs returns the name in the list of the tool that a page calls raw.
func shownAs(list []map[string]any, raw string) string {
	for _, tool := range list {
		meta, _ := tool["_meta"].(map[string]any)
		if about, _ := meta["pagetools/tool"].(map[string]any); about["name"] == raw {
			return fmt.Sprint(tool["name"])
		}
	}
	return ""
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return raw
}

// everyName is a name that every client takes.
var everyName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkList reads a list as the strictest clients do.
func checkList(t *testing.T, x *toolset.List, e protocol) {
	t.Helper()
	for _, tool := range whole(t, x, e) {
		name := fmt.Sprint(tool["name"])
		input, _ := tool["inputSchema"].(map[string]any)
		output, _ := tool["outputSchema"].(map[string]any)
		if e.Modern() {
			output = nil // any schema is allowed
		}
		if why := strictReader(input, output); why != "" || !everyName.MatchString(name) || tool["description"] == "" {
			t.Errorf("%s, %q: %s", e, name, why)
		}
	}
	list, _, _ := x.Page(e, "")
	var decoded mcpgo.ListToolsResult
	if err := json.Unmarshal([]byte(`{"tools":`+string(list)+`}`), &decoded); err != nil {
		t.Errorf("%s: the library's client: %v", e, err)
	}
}

// headers are schemas that tell a client to send arguments in headers, also in
// letters, and in places, where only a decoder that ignores case sees them.
var headers = []string{
	`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`,
	`{"type":"object","properties":{"a":{"type":"string","X-MCP-HEADER":"not a token"}}}`,
	`{"type":"object","Properties":{"a":{"type":"string","x-mcp-header":""}}}`,
	`{"type":"object","properties":{"a":{"properties":{"b":{"x-mcp-header":7}}}}}`,
	`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
}

// TestHeadersNeverReachClients: a page has no say in how a client sends arguments, and
// a bad word of it makes clients drop the tool.
func TestHeadersNeverReachClients(t *testing.T) {
	for i, raw := range headers {
		bad := mcpgo.NewToolWithRawSchema("bad", "x", json.RawMessage(raw))
		if mcpgo.ValidateParamHeaderAnnotations(&bad) == nil && mcpgo.ExtractParamHeaderBindings(&bad) == nil {
			t.Errorf("%d asks for no header: %s", i, raw)
		}
		x := listOf(bridgetest.Tool("bad", raw), bridgetest.Tool("good", ""))
		for _, e := range []protocol{mcpgo.ProtocolVersion20251125, mcpgo.ProtocolVersion20260728} {
			list := whole(t, x, e)
			if len(list) != 5 { // with the three of our own
				t.Errorf("%d: the list is %v", i, list)
			}
			for _, shown := range list {
				tool := mcpgo.NewToolWithRawSchema("x", "x", encode(shown["inputSchema"]))
				if mcpgo.ValidateParamHeaderAnnotations(&tool) != nil || mcpgo.ExtractParamHeaderBindings(&tool) != nil {
					t.Errorf("%d: the schema still has headers: %s", i, tool.RawInputSchema)
				}
			}
		}
	}
}

func FuzzForClients(f *testing.F) {
	for _, raw := range headers {
		f.Add(raw)
	}
	f.Add(`{"properties":{"a":true},"required":[1],"$defs":[],"items":[{},false]}`)
	f.Add(`{"type":["object"],"dependencies":{"a":["b"]},"é":"\ud83d\ude00"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		admitted, err := schema.Compile([]byte(raw), schema.Limits{})
		if err != nil {
			return
		}
		got := admitted.ForClients(false).JSON
		if why := strictReader(asMap(got), nil); why != "" {
			t.Errorf("adapted: %s: %s", why, got)
		}
		got = admitted.ForClients(true).JSON
		tool := mcpgo.NewToolWithRawSchema("x", "x", got)
		if mcpgo.ValidateParamHeaderAnnotations(&tool) != nil || mcpgo.ExtractParamHeaderBindings(&tool) != nil {
			t.Errorf("headers are left: %s", got)
		}
		if why := strictReader(asMap(got), nil); why != "" {
			t.Errorf("%s: %s", why, got)
		}
		admitted, err = schema.CompileResult([]byte(raw), schema.Limits{})
		if err != nil {
			t.Fatalf("arguments may be this, and results not: %v", err)
		}
		for _, modern := range []bool{false, true} {
			out, _ := admitted.OutputForClients(modern)
			if out == nil {
				continue
			}
			var decoded mcpgo.Tool
			if err := json.Unmarshal([]byte(`{"name":"x","inputSchema":{"type":"object"},"outputSchema":`+string(out)+`}`), &decoded); err != nil {
				t.Errorf("the library's client: %v: %s", err, out)
			}
			if why := strictReader(map[string]any{"type": "object"}, asMap(out)); why != "" && !modern {
				t.Errorf("%s: %s", why, out)
			}
		}
	})
}

// TestRendering: the library reads our lists, and would write the same.
func TestRendering(t *testing.T) {
	x := listOf(append(named("a<b", "x.y"), bridgetest.Returning(bridgetest.Tool("r", ""), `{"type":"object","properties":{"a":true}}`))...)
	for _, e := range []protocol{mcpgo.ProtocolVersion20251125, mcpgo.ProtocolVersion20260728} {
		list, _, _ := x.Page(e, "")
		var read []mcpgo.Tool
		if err := json.Unmarshal(list, &read); err != nil || len(read) != 5 {
			t.Fatalf("%s: %v: %s", e, err, list)
		}
		for i := range read { // the library's own form for what comes from elsewhere
			read[i].RawInputSchema, read[i].InputSchema = asRaw(list, i, "inputSchema"), mcpgo.ToolInputSchema{}
			read[i].RawOutputSchema, read[i].OutputSchema = asRaw(list, i, "outputSchema"), mcpgo.ToolOutputSchema{}
		}
		theirs, err := json.Marshal(read)
		if err != nil || asJSON(t, list) != asJSON(t, json.RawMessage(theirs)) {
			t.Errorf("%s: %v\nours   %s\ntheirs %s", e, err, list, theirs)
		}
	}
}

// asRaw is a member of the i-th tool of a list.
func asRaw(list json.RawMessage, i int, member string) json.RawMessage {
	var tools []map[string]json.RawMessage
	_ = json.Unmarshal(list, &tools) // the caller has read it
	return tools[i][member]
}

// listOf is the list of a site that declares these tools.
func listOf(decls ...bridge.Declaration) *toolset.List {
	c, _ := bridge.NewCatalog(nil, decls, bridge.Limits{})
	return showAll(c)
}

// showAll is a hybrid list in which all tools were found.
func showAll(c *bridge.Catalog) *toolset.List {
	shop := []toolset.Source{{Site: bridge.Site{Name: "shop", Origin: "https://shop.example"}, Version: "1.0.0", Tools: c.Tools()}}
	found, _, _ := toolset.New(shop, toolset.Options{Mode: toolset.Direct}).Page(mcpgo.ProtocolVersion20251125, "")
	var tools []struct{ Name string }
	_ = json.Unmarshal(found, &tools) // checked by who reads the list
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return toolset.New(shop, toolset.Options{Mode: toolset.Hybrid}).Showing(names)
}

// TestAdaptedSchemas: properties have names that APIs of models take, and the page gets
// its own; so with pagetools_call. What is wrong is said in the names that the client
// knows. --mcp-schemas faithful keeps everything. E2.
func TestAdaptedSchemas(t *testing.T) {
	raw := `{"type":"object","properties":{"user[email]":{"type":"string"},"in":{"properties":{"größe":{"type":"integer"}}}},"required":["user[email]"],
		"oneOf":[{"properties":{"kind":{"const":"a"}}},{"properties":{"kind":{"const":"b"},"x":{}},"required":["kind"]}]}`
	every(t, nothing, func(t *testing.T, w *world, c *client) {
		w.router.Declare("shop", bridgetest.Tool("send", raw))
		list := c.call(1, "tools/list", "{}").body
		if strings.Contains(list, `"oneOf"`) || strings.Contains(list, `"user[email]":`) || strings.Contains(list, `"größe":`) ||
			!strings.Contains(list, "exactly one of these forms") {
			t.Fatalf("the list: %s", list)
		}
		email, size := "user_email_5672de", "gr_e_d353a2"
		r := c.tool("send", fmt.Sprintf(`{"%s":"a@b","in":{"%s":7},"kind":"a"}`, email, size))
		if want := `{"user[email]":"a@b","in":{"größe":7},"kind":"a"}`; r.text() != want || w.router.Calls()[0].Input != want {
			t.Errorf("the page gets %s", r.text())
		}
		if r := c.tool("send", `{"user[email]":"a@b","kind":"a"}`); r.Result.IsError {
			t.Errorf("the page's own name: %s", r.text())
		}
		for arguments, want := range map[string]string{
			fmt.Sprintf(`{"in":{"%s":"x"},"kind":"a"}`, size): "- /in/" + size + `: "in.` + size + `" must be an integer`,
			`{"kind":"a"}`: "request/" + email + `: "` + email + `" is required`,
			fmt.Sprintf(`{"%s":1,"user[email]":"x","kind":"a"}`, email):         "are the same property",
			fmt.Sprintf(`{"%s":"x","kind":"c"}`, email):                         "exactly one of the allowed forms",
			fmt.Sprintf(`{"%s":"x","kind":"a","in":{"%s":1e399}}`, email, size): "request/in/" + size,
		} {
			r := c.tool("send", arguments)
			meta, _ := json.Marshal(r.Result.Meta)
			if r.code() != "SCHEMA_ERROR" || !strings.Contains(r.text(), want) || strings.Contains(string(meta), `/größe`) {
				t.Errorf("%s: %s %s", arguments, r.text(), meta)
			}
		}
		if n := len(w.router.Calls()); n != 2 {
			t.Errorf("the page was reached %d times", n)
		}
	})
	w := newWorld(t, Options{Tools: "meta"})
	w.router.Declare("shop", bridgetest.Tool("send", raw))
	c := w.as(agent).since2026(nothing)
	if r := c.tool("pagetools_call", `{"name":"send","arguments":{"user_email_5672de":"a@b","kind":"a"}}`); r.text() != `{"user[email]":"a@b","kind":"a"}` {
		t.Errorf("by pagetools_call: %s", r.text())
	}
	faithful := newWorld(t, Options{Schemas: "faithful"})
	faithful.router.Declare("shop", bridgetest.Tool("send", raw))
	if list := faithful.as(agent).since2026(nothing).call(1, "tools/list", "{}").body; !strings.Contains(list, `"oneOf"`) || !strings.Contains(list, `"user[email]":`) || !strings.Contains(list, `"größe":`) {
		t.Errorf("faithful: %s", list)
	}
	if _, err := New(w.bridge, Options{Schemas: "some"}); err == nil {
		t.Error("another word is taken")
	}
}
