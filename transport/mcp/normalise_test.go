package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func TestInputSchemas(t *testing.T) {
	for _, c := range []struct{ why, raw, want, note string }{
		{"good", `{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"]}`, `{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"]}`, ""},
		{"no type", `{"properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{"nothing in it", `{}`, `{"type":"object","properties":{}}`, ""},
		{"a list of types", `{"type":["null","object"],"properties":{}}`, `{"type":"object","properties":{}}`, `the type of the root became "object"`},
		{"true", `true`, `{"type":"object","properties":{}}`, "a root that is true became an object"},
		{"null", `null`, `{"type":"object","properties":{}}`, "a root that is null became an object"},
		{"false", `false`, "", ""},
		{"a list", `[]`, "", ""},
		{"another type", `{"type":"string"}`, "", ""},
		{"other types", `{"type":["string","null"]}`, "", ""},
		{"a type that is none", `{"type":{"object":true}}`, "", ""},
		{"not JSON", `{`, "", ""},
		{"two values", `{} {}`, "", ""},
		{"properties is a list", `{"type":"object","properties":[]}`, `{"type":"object","properties":{}}`, `"properties" is not an object, and became an empty one`},
		{"required is a text", `{"type":"object","properties":{},"required":"x"}`, `{"type":"object","properties":{}}`, `"required" is not a list of names, and was taken out`},
		{"required has a number", `{"type":"object","properties":{},"required":["x",1]}`, `{"type":"object","properties":{}}`, `"required" is not a list of names, and was taken out`},
		{"a property that is true", `{"type":"object","properties":{"a":true,"b":{"items":true}}}`, `{"type":"object","properties":{"a":{},"b":{"items":{}}}}`, ""},
		{"a property that is false", `{"type":"object","properties":{"a":false}}`, `{"type":"object","properties":{"a":{"not":{}}}}`, ""},
		{"a property that is null", `{"type":"object","properties":{"a":null}}`, `{"type":"object","properties":{"a":{}}}`, "what is neither an object nor a boolean became a schema that takes anything"},
		{"booleans in lists", `{"type":"object","properties":{},"anyOf":[true,{"not":false}]}`, `{"type":"object","properties":{},"anyOf":[{},{"not":{"not":{}}}]}`, ""},
		{"lists of items", `{"type":"object","properties":{"a":{"items":[true,{}]}}}`, `{"type":"object","properties":{"a":{"items":[{},{}]}}}`, ""},
		{"flags stay", `{"type":"object","properties":{},"additionalProperties":false,"unevaluatedProperties":true}`, `{"type":"object","properties":{},"additionalProperties":false,"unevaluatedProperties":true}`, ""},
		{"lists of names in dependencies", `{"type":"object","properties":{},"dependencies":{"a":["b"],"c":true}}`, `{"type":"object","properties":{},"dependencies":{"a":["b"],"c":{}}}`, ""},
		{"data is no schema", `{"type":"object","properties":{"a":{"enum":[true,{"x-mcp-header":1}],"default":{"properties":[]}}}}`, `{"type":"object","properties":{"a":{"enum":[true,{"x-mcp-header":1}],"default":{"properties":[]}}}}`, ""},
		{"numbers keep their digits", `{"type":"object","properties":{"n":{"const":12345678901234567890,"multipleOf":0.10}}}`, `{"type":"object","properties":{"n":{"const":12345678901234567890,"multipleOf":0.10}}}`, ""},
		{"headers", `{"type":"object","properties":{"a":{"x-mcp-header":"A","type":"string"}},"x-mcp-other":1}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `"x-mcp-other" was taken out`},
		{"headers far down", `{"type":"object","properties":{"a":{"anyOf":[{"additionalProperties":{"if":{"X-Mcp-Header":1}}}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"additionalProperties":{"if":{}}}]}}}`, `"X-Mcp-Header" was taken out`},
		{"an argument of that name", `{"type":"object","properties":{"x-mcp-header":{"type":"string"},"Type":{}}}`, `{"type":"object","properties":{"x-mcp-header":{"type":"string"},"Type":{}}}`, ""},
		{"keywords that the library takes for others", `{"type":"object","propertieſ":{},"TYPE":1,"properties":{}}`, `{"type":"object","properties":{}}`, `"propertieſ" was taken out`},
		{"2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x"}},"properties":{"p":{"prefixItems":[{"$ref":"#x"}],"items":{"$dynamicRef":"#x"}}},"dependentSchemas":{"p":{}},"allOf":[{"if":{},"then":{},"else":{}}]}`,
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x"}},"properties":{"p":{"prefixItems":[{"$ref":"#x"}],"items":{"$dynamicRef":"#x"}}},"dependentSchemas":{"p":{}},"allOf":[{"if":{},"then":{},"else":{}}]}`, ""},
	} {
		got, notes, err := normaliseInput(json.RawMessage(c.raw))
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v; want %s", c.why, got, err, c.want)
		}
		if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) == 0 || notes[0] != c.note) {
			t.Errorf("%s: notes %q, want %q", c.why, notes, c.note)
		}
		if err != nil {
			continue
		}
		if again, notes, err := normaliseInput(got); string(again) != string(got) || len(notes) > 0 || err != nil {
			t.Errorf("%s: once more it is %s, %q, %v", c.why, again, notes, err)
		}
	}
}

// TestOutputSchemas: legacy is what clients with a handshake get, "" for nothing.
// The modern list has the page's own.
func TestOutputSchemas(t *testing.T) {
	const same = "same"
	for _, c := range []struct{ why, raw, legacy, modern string }{
		{"good", `{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],"additionalProperties":false}`, same, same},
		{"no type", `{"required":["n"]}`, `{"type":"object","required":["n"]}`, same},
		{"a list of types", `{"type":["object","null"]}`, `{"type":"object"}`, `{"type":"object"}`},
		{"types without object", `{"type":["array","null"]}`, "", ""},
		{"not an object", `{"type":"array"}`, "", same},
		{"true", `true`, `{"type":"object"}`, ""},
		{"not JSON", `{`, "", ""},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a","description":"x"}},"$defs":{"a":{}}}`, same, same},
		{"the root refers", `{"$ref":"#/$defs/a","$defs":{"a":{}}}`, `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`, same},
		{"a known draft, a name", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://x.example/s","type":"object"}`, `{"type":"object"}`, same},
		{"draft 04", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "", same},
		{"a draft that nobody knows", `{"$schema":"https://x.example/mine","type":"object"}`, "", same},
		{"limits of draft 04", `{"type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, "", same},
		{"the id of draft 04", `{"type":"object","properties":{"a":{"id":"#a"}}}`, "", same},
		{"a property called id", `{"type":"object","properties":{"id":{},"pattern":{}}}`, same, same},
		{"patterns", `{"type":"object","properties":{"a":{"pattern":"\\-"}}}`, "", same},
		{"nullable", `{"type":"object","properties":{"a":{"nullable":true}}}`, "", same},
		{"fractions", `{"type":"object","properties":{"a":{"multipleOf":0.01}}}`, "", same},
		{"2020-12", `{"type":"object","properties":{"a":{"prefixItems":[{}]}}}`, "", same},
		{"lists of items", `{"type":"object","properties":{"a":{"items":[{}]}}}`, "", same},
		{"anchors", `{"type":"object","properties":{"a":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x"}}}`, "", same},
		{"a reference by name", `{"type":"object","properties":{"a":{"$ref":"#x"}}}`, "", same},
		{"a reference to itself", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, same, same},
		{"beside a reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a","minLength":1}},"$defs":{"a":{}}}`, "", same},
		{"a draft inside", `{"type":"object","properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`, "", same},
		{"words of the page's own", `{"type":"object","x-order":["a"]}`, same, same},
		{"headers", `{"type":"object","properties":{"a":{"x-mcp-header":"A"}}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
	} {
		for i, want := range []string{c.legacy, c.modern} {
			if want == same {
				want = c.raw
			}
			got, notes := normaliseOutput(json.RawMessage(c.raw), i == 1)
			if string(got) != want {
				t.Errorf("%s, modern %v: %s, want %s", c.why, i == 1, got, want)
			}
			if got == nil && len(notes) != 1 {
				t.Errorf("%s, modern %v: left out with the notes %q", c.why, i == 1, notes)
			}
		}
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
		x := expose([]source{siteOf("shop", bridgetest.Tool("bad", raw), bridgetest.Tool("good", ""))}, exposeOptions{})
		for _, e := range []era{mcpgo.ProtocolVersion20251125, mcpgo.ProtocolVersion20260728} {
			list := whole(t, x, e)
			if len(list) != 2 {
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

func FuzzNormalise(f *testing.F) {
	for _, raw := range headers {
		f.Add(raw)
	}
	f.Add(`{"properties":{"a":true},"required":[1],"$defs":[],"items":[{},false]}`)
	f.Add(`{"type":["object"],"dependencies":{"a":["b"]},"é":"\ud83d\ude00"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if !strings.Contains(raw, "{") && raw != "true" && raw != "null" {
			return
		}
		got, _, err := normaliseInput(json.RawMessage(raw))
		if err == nil {
			tool := mcpgo.NewToolWithRawSchema("x", "x", got)
			if mcpgo.ValidateParamHeaderAnnotations(&tool) != nil || mcpgo.ExtractParamHeaderBindings(&tool) != nil {
				t.Errorf("headers are left: %s", got)
			}
			if why := strictReader(asMap(got), nil); why != "" {
				t.Errorf("%s: %s", why, got)
			}
		}
		for _, modern := range []bool{false, true} {
			out, _ := normaliseOutput(json.RawMessage(raw), modern)
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
