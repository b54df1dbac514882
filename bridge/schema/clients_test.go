package schema_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// TestInputSchemas: want is "" where a schema is not admitted.
func TestInputSchemas(t *testing.T) {
	for _, c := range []struct{ why, raw, want, note string }{
		{"good", `{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"]}`, `{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"]}`, ""},
		{"no type", `{"properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{"nothing in it", `{}`, `{"type":"object","properties":{}}`, ""},
		{"a list of types", `{"type":["null","object"],"properties":{}}`, `{"type":"object","properties":{}}`, `the type of the root became "object"`},
		{"true", `true`, "", ""},
		{"null", `null`, "", ""},
		{"false", `false`, "", ""},
		{"a list", `[]`, "", ""},
		{"another type", `{"type":"string"}`, "", ""},
		{"other types", `{"type":["string","null"]}`, "", ""},
		{"a type that is none", `{"type":{"object":true}}`, "", ""},
		{"not JSON", `{`, "", ""},
		{"two values", `{} {}`, "", ""},
		{"properties is a list", `{"type":"object","properties":[]}`, "", ""},
		{"required is a text", `{"type":"object","properties":{},"required":"x"}`, "", ""},
		{"required has a number", `{"type":"object","properties":{},"required":["x",1]}`, "", ""},
		{"a property that is true", `{"type":"object","properties":{"a":true,"b":{"items":true}}}`, `{"type":"object","properties":{"a":{},"b":{"items":{}}}}`, ""},
		{"a property that is false", `{"type":"object","properties":{"a":false}}`, `{"type":"object","properties":{"a":{"not":{}}}}`, ""},
		{"a property that is null", `{"type":"object","properties":{"a":null}}`, "", ""},
		{"booleans in lists", `{"type":"object","properties":{},"anyOf":[true,{"not":false}]}`, `{"type":"object","properties":{},"anyOf":[{},{"not":{"not":{}}}]}`, ""},
		{"lists of items", `{"type":"object","properties":{"a":{"items":[true,{}]}}}`, `{"type":"object","properties":{"a":{"items":[{},{}]}}}`, ""},
		{"flags stay", `{"type":"object","properties":{},"additionalProperties":false,"unevaluatedProperties":true}`, `{"type":"object","properties":{},"additionalProperties":false,"unevaluatedProperties":true}`, ""},
		{"lists of names in dependencies", `{"type":"object","properties":{},"dependencies":{"a":["b"],"c":true}}`, `{"type":"object","properties":{},"dependencies":{"a":["b"],"c":{}}}`, ""},
		{"data is not a schema", `{"type":"object","properties":{"a":{"enum":[true,{"x-mcp-header":1}],"default":{"properties":[]}}}}`, `{"type":"object","properties":{"a":{"enum":[true,{"x-mcp-header":1}],"default":{"properties":[]}}}}`, ""},
		{"numbers keep their digits", `{"type":"object","properties":{"n":{"const":12345678901234567890,"multipleOf":0.10}}}`, `{"type":"object","properties":{"n":{"const":12345678901234567890,"multipleOf":0.10}}}`, ""},
		{"headers", `{"type":"object","properties":{"a":{"x-mcp-header":"A","type":"string"}},"x-mcp-other":1}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"headers far down", `{"type":"object","properties":{"a":{"anyOf":[{"additionalProperties":{"if":{"X-Mcp-Header":1}}}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"additionalProperties":{"if":{}}}]}}}`, `"X-Mcp-Header" was taken out`},
		{"an argument of that name", `{"type":"object","properties":{"x-mcp-header":{"type":"string"},"Type":{}}}`, `{"type":"object","properties":{"x-mcp-header":{"type":"string"},"Type":{}}}`, ""},
		{"keywords that the library takes for others", `{"type":"object","propertieſ":{},"TYPE":1,"properties":{}}`, `{"type":"object","properties":{}}`, `"propertieſ" was taken out`},
		{"2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x"}},"properties":{"p":{"prefixItems":[{"$ref":"#x"}],"items":{"$dynamicRef":"#x"}}},"dependentSchemas":{"p":{}},"allOf":[{"if":{},"then":{},"else":{}}]}`,
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x"}},"properties":{"p":{"prefixItems":[{"$ref":"#x"}],"items":{"$dynamicRef":"#x"}}},"dependentSchemas":{"p":{}},"allOf":[{"if":{},"then":{},"else":{}}]}`, ""},
	} {
		admitted, err := schema.Compile([]byte(c.raw), schema.Limits{})
		if (err != nil) != (c.want == "") {
			t.Errorf("%s: it is admitted: %v", c.why, err)
		}
		if err != nil {
			continue
		}
		form := admitted.ForClients(true)
		got, notes := form.JSON, form.Notes
		if string(got) != c.want {
			t.Errorf("%s: %s; want %s", c.why, got, c.want)
		}
		if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) == 0 || notes[0] != c.note) {
			t.Errorf("%s: notes %q, want %q", c.why, notes, c.note)
		}
		again, err := schema.Compile(got, schema.Limits{})
		if err != nil {
			t.Errorf("%s: what clients get is refused: %v", c.why, err)
			continue
		}
		if twice := again.ForClients(true); string(twice.JSON) != string(got) || len(twice.Notes) > 0 {
			t.Errorf("%s: once more it is %s, %q", c.why, twice.JSON, twice.Notes)
		}
	}
}

// TestOutputSchemas: clients with a handshake get legacy, "" for nothing. Later ones get the page's
// own. A schema with "" for both is not admitted.
func TestOutputSchemas(t *testing.T) {
	const same = "same"
	for _, c := range []struct{ why, raw, legacy, modern string }{
		{"good", `{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],"additionalProperties":false}`, same, same},
		{"no type", `{"required":["n"]}`, `{"type":"object","required":["n"]}`, same},
		{"a list of one type", `{"type":["object"]}`, `{"type":"object"}`, `{"type":"object"}`},
		{"a list of types", `{"type":["object","null"]}`, "", `{"allOf":[{"type":["object","null"]}]}`},
		{"types without object", `{"type":["array","null"],"allOf":[{"minItems":1}]}`, "", `{"allOf":[{"minItems":1},{"type":["array","null"]}]}`},
		{"not an object", `{"type":"array","items":true}`, "", `{"type":"array","items":{}}`},
		{"not an object, by a reference", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"array"}}}`, "", same},
		{"objects or not", `{"anyOf":[{"type":"object"},{"type":"array"}]}`, "", same},
		{"one of two objects", `{"oneOf":[{"type":"object"},{"required":["a"]}]}`, `{"type":"object","oneOf":[{"type":"object"},{"required":["a"]}]}`, same},
		{"an object, among others", `{"allOf":[{},{"type":"object"}]}`, `{"type":"object","allOf":[{},{"type":"object"}]}`, same},
		{"anything", `{}`, "", same},
		{"true", `true`, "", `{}`},
		{"false", `false`, "", `{"not":{}}`},
		{"null", `null`, "", ""},
		{"a list", `[{}]`, "", ""},
		{"not JSON", `{`, "", ""},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a","description":"x"}},"$defs":{"a":{}}}`, same, same},
		{"the root refers", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, same},
		{"a known draft, a name", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://x.example/s","type":"object"}`, `{"type":"object"}`, same},
		{"draft 04", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "", same},
		{"a draft that nobody knows", `{"$schema":"https://x.example/mine","type":"object"}`, "", ""},
		{"limits of draft 04", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, "", same},
		{"the id of draft 04", `{"type":"object","properties":{"a":{"id":"#a"}}}`, "", same},
		{"a property called id", `{"type":"object","properties":{"id":{},"pattern":{}}}`, same, same},
		{"patterns", `{"type":"object","properties":{"a":{"pattern":"\\-"}}}`, "", same},
		{"nullable", `{"type":"object","properties":{"a":{"nullable":true}}}`, "", same},
		{"fractions", `{"type":"object","properties":{"a":{"multipleOf":0.01}}}`, "", same},
		{"2020-12", `{"type":"object","properties":{"a":{"prefixItems":[{}]}}}`, "", same},
		{"lists of items", `{"type":"object","properties":{"a":{"items":[{}]}}}`, "", same},
		{"anchors", `{"type":"object","properties":{"a":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x"}}}`, "", same},
		{"a reference by name", `{"type":"object","properties":{"a":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x"}}}`, "", same},
		{"a reference to itself", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, same, same},
		{"beside a reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a","minLength":1}},"$defs":{"a":{}}}`, "", same},
		{"a draft inside", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`, "", same},
		{"words of the page's own", `{"type":"object","x-order":["a"]}`, same, same},
		{"headers", `{"type":"object","properties":{"a":{"x-mcp-header":"A"}}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
	} {
		for i, want := range []string{c.legacy, c.modern} {
			if want == same {
				want = c.raw
			}
			admitted, err := schema.CompileResult([]byte(c.raw), schema.Limits{})
			if err != nil {
				if c.legacy != "" || c.modern != "" {
					t.Errorf("%s: %v", c.why, err)
				}
				continue
			}
			got, notes := admitted.OutputForClients(i == 1)
			if string(got) != want {
				t.Errorf("%s, modern %v: %s, want %s", c.why, i == 1, got, want)
			}
			if got == nil && len(notes) != 1 {
				t.Errorf("%s, modern %v: left out with the notes %q", c.why, i == 1, notes)
			}
		}
	}
}
