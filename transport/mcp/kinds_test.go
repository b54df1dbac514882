package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
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
	{"properties a list", "refused", withInput(`{"type":"object","properties":[]}`), true},
	{"required a text", "refused", withInput(`{"type":"object","required":"x"}`), true},
	{"a property that is true", "kept", withInput(`{"type":"object","properties":{"a":true}}`), true},
	{"a property that is null", "refused", withInput(`{"type":"object","properties":{"a":null}}`), true},
	{"outputSchema of type array", "refused", withOutput(`{"type":"array"}`), true},
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
			shop := source{site: bridge.Site{Name: "shop", Origin: "https://shop.example"}, version: "1.0.0", tools: catalog.Tools()}
			x := expose([]source{shop}, exposeOptions{mode: modeHybrid})
			for _, e := range []era{mcpgo.ProtocolVersion20241105, mcpgo.ProtocolVersion20251125, mcpgo.ProtocolVersion20260728} {
				checkList(t, x, e)
			}
			list := whole(t, x, mcpgo.ProtocolVersion20251125)
			names := " " + namesOf(list) + " "
			if !strings.Contains(names, " aaa ") || !strings.Contains(names, " zzz ") {
				t.Errorf("good tools are missing in%s", names)
			}
			fate, findings := "refused", append(refused, x.findings()...)
			if target, ok := x.find(c.tool.Name); ok && target.tool != nil {
				fate = "kept"
				if target.name != c.tool.Name {
					fate = "renamed"
				}
			} else if own := findExposed(x, c.tool.Name); own != "" {
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

// findExposed gives the name of the list for a page's own name.
func findExposed(x *exposure, raw string) string {
	for _, e := range x.entries[x.statics:] {
		if e.tool.Name() == raw {
			return e.name
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

// checkList reads a list as the strictest clients do.
func checkList(t *testing.T, x *exposure, e era) {
	t.Helper()
	for _, tool := range whole(t, x, e) {
		name := fmt.Sprint(tool["name"])
		input, _ := tool["inputSchema"].(map[string]any)
		output, _ := tool["outputSchema"].(map[string]any)
		if e.modern() {
			output = nil // any schema is allowed
		}
		if why := strictReader(input, output); why != "" || !legalName.MatchString(name) || tool["description"] == "" {
			t.Errorf("%s, %q: %s", e, name, why)
		}
	}
	list, _, _ := x.page(e, "")
	var decoded mcpgo.ListToolsResult
	if err := json.Unmarshal([]byte(`{"tools":`+string(list)+`}`), &decoded); err != nil {
		t.Errorf("%s: the library's client: %v", e, err)
	}
}
