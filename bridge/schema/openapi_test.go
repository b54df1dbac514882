package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document puts what ForOpenAPI returns where a document of OpenAPI has it, and compiles that with
// the library as 2020-12: a validator that knows nothing of ours.
func document(t *testing.T, root json.RawMessage, components []Member) *jsonschema.Schema {
	t.Helper()
	parts := map[string]json.RawMessage{}
	for _, c := range components {
		if _, twice := parts[c.Name]; twice || !regexp.MustCompile(`^[a-zA-Z0-9._-]+$`).MatchString(c.Name) {
			t.Errorf("the component is called %q", c.Name)
		}
		parts[c.Name] = c.Value
	}
	text, err := json.Marshal(map[string]any{"root": root, "components": map[string]any{"schemas": parts}})
	if err != nil {
		t.Fatalf("%v: %s", err, root)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("doc.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("doc.json#/root")
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// TestForOpenAPI: in the dialect of documents a schema takes what it took, whatever draft it was
// written in, and its arguments are in their place.
func TestForOpenAPI(t *testing.T) {
	t.Parallel()
	const four, seven, nineteen = `"$schema":"http://json-schema.org/draft-04/schema#",`, `"$schema":"http://json-schema.org/draft-07/schema#",`,
		`"$schema":"https://json-schema.org/draft/2019-09/schema",`
	for name, x := range map[string]struct {
		schema  string
		instead string // of the root, "" is not looked at
		good    string // instances, by lines
		bad     string
	}{
		"plain":   {`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, `{"a":"x"}`},
		"nothing": {`{}`, `{"type":"object","properties":{}}`, `{}`, `3`},
		"names":   {`{"$id":"https://x.example/s","$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"string"},"$id":{"type":"integer"}}}`, `{"type":"object","properties":{"id":{"type":"string"},"$id":{"type":"integer"}}}`, `{"id":"a","$id":1}`, `{"$id":"x"}`},
		"defs": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n","description":"B."}},"$defs":{"n":{"type":"integer"},"never used":{}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/components/schemas/shop_add.n"},"b":{"description":"B.","$ref":"#/components/schemas/shop_add.n"}}}`, `{"a":1,"b":2}`, "{\"a\":\"x\"}\n{\"b\":\"x\"}"},
		"strange names": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a b"},"b":{"$ref":"#/$defs/a%20%20b"},"c":{"$ref":"#/$defs/a_b"}},"$defs":{"a b":{"type":"integer"},"a  b":{"type":"string"},"a_b":{"type":"null"}}}`, ``, `{"a":1,"b":"x","c":null}`, "{\"a\":\"x\"}\n{\"b\":1}\n{\"c\":1}"},
		"recursive":     {`{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`, ``, `{"n":1,"next":{"n":2,"next":{}}}`, `{"next":{"next":{"n":"x"}}}`},
		"anchor":        {`{"type":"object","properties":{"a":{"$ref":"#int"}},"$defs":{"x":{"$anchor":"int","type":"integer"}}}`, ``, `{"a":1}`, `{"a":"x"}`},
		"places":        {`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer"}}},"c":{"$ref":"#/properties/a/properties/b"}}}`, ``, `{"a":{"b":1},"c":1}`, `{"c":"x"}`},
		"root is a reference": {`{"$ref":"#/$defs/o","$defs":{"o":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}`,
			`{"type":"object","$ref":"#/components/schemas/shop_add.o","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, `{}`},
		"alternatives":         {`{"type":"object","oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"a":{"const":2},"b":{"$ref":"#/$defs/s"}},"required":["a","b"]}],"$defs":{"s":{"type":"string"}}}`, ``, "{\"a\":1}\n{\"a\":2,\"b\":\"x\"}", "{\"a\":2}\n{\"a\":2,\"b\":3}\n{}"},
		"several types":        {`{"type":["object","null"],"properties":{"a":{"type":"integer"}}}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`, `null`},
		"draft 4":              {`{` + four + `"type":"object","properties":{"n":{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`, `{"type":"object","properties":{"n":{"type":"number","maximum":9,"exclusiveMinimum":1}}}`, "{\"n\":2}\n{\"n\":9}", "{\"n\":1}\n{\"n\":10}"},
		"draft 7 siblings":     {`{` + seven + `"type":"object","properties":{"a":{"$ref":"#/definitions/n","minimum":5}},"definitions":{"n":{"type":"integer"}}}`, ``, `{"a":1}`, `{"a":"x"}`},
		"draft 7 lists":        {`{` + seven + `"type":"object","properties":{"l":{"items":[{"type":"integer"},{"type":"string"}],"additionalItems":{"type":"null"}},"e":{"items":{"type":"integer"},"additionalItems":false}}}`, ``, `{"l":[1,"a",null],"e":[1,2,3]}`, "{\"l\":[\"a\"]}\n{\"l\":[1,\"a\",2]}\n{\"e\":[\"x\"]}"},
		"draft 7 dependencies": {`{` + seven + `"type":"object","properties":{"a":{},"b":{},"c":{}},"dependencies":{"a":["b"],"b":{"required":["c"]}}}`, ``, "{\"a\":1,\"b\":1,\"c\":1}\n{\"c\":1}", "{\"a\":1}\n{\"b\":1}"},
		"draft 2019 recursion": {`{` + nineteen + `"type":"object","properties":{"n":{"$recursiveRef":"#"},"i":{"type":"integer"}}}`, ``, `{"n":{"i":1}}`, `{"n":{"i":"x"}}`},
		"false":                {`{"type":"object","properties":{"a":false,"b":true},"additionalProperties":false}`, ``, `{"b":1}`, "{\"a\":1}\n{\"c\":1}"},
		"booleans": {`{` + nineteen + `"type":"object","properties":{"p":{"items":[{"type":"string"}],"additionalItems":false},"q":{"items":false}},"additionalProperties":false,"unevaluatedProperties":false}`,
			`{"type":"object","properties":{"p":{"prefixItems":[{"type":"string"}],"items":{"not":{}}},"q":{"items":{"not":{}}}},"additionalProperties":false,"unevaluatedProperties":{"not":{}}}`,
			`{"p":["a"],"q":[]}`, "{\"p\":[\"a\",1]}\n{\"q\":[1]}\n{\"r\":1}"},
		"words of OpenAPI": {`{"type":"object","properties":{"xml":{"xml":true,"externalDocs":"x","discriminator":{"propertyName":"k","mapping":{"a":"#/components/schemas/Nowhere"}},"type":"integer"}},"discriminator":"k"}`,
			`{"type":"object","properties":{"xml":{"type":"integer"}}}`, `{"xml":1}`, `{"xml":"x"}`},
		"draft 4 and later words": {`{` + four + `"type":"object","properties":{"a":{"type":"integer","const":1,"examples":{"x":1},"readOnly":"x","contentMediaType":3},"b":{"items":[{"type":"null"}],"prefixItems":[{"type":"string"}]}},"if":{},"then":{"required":["b"]},"propertyNames":false}`,
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"prefixItems":[{"type":"null"}]}}}`, `{"a":2}`, `{"b":["x"]}`},
		"draft 7 and later words": {`{` + seven + `"type":"object","properties":{"a":{"const":1,"deprecated":"yes"},"b":{}},"dependentRequired":{"a":["b"]},"dependencies":{"b":["a"]},"unevaluatedProperties":false}`,
			`{"type":"object","properties":{"a":{"const":1},"b":{}},"dependentRequired":{"b":["a"]}}`, "{\"a\":1}\n{\"c\":1}", "{\"a\":2}\n{\"b\":1}"},
		"vendors": {`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Host"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(x.schema), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			root, components := s.ForOpenAPI("shop_add")
			if x.instead != "" && string(root) != x.instead {
				t.Errorf("the root is %s, want %s", root, x.instead)
			}
			var shape struct {
				Type       string
				Properties map[string]any
			}
			if err := json.Unmarshal(root, &shape); err != nil || shape.Type != "object" || shape.Properties == nil {
				t.Errorf("the root is %s (%v)", root, err)
			}
			got := document(t, root, components)
			for text, want := range map[string]bool{x.good: true, x.bad: false} {
				for _, line := range strings.Split(text, "\n") {
					v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
					if err != nil {
						t.Fatal(err)
					}
					ours, theirs := s.Validate([]byte(line)) == nil, got.Validate(v) == nil
					if ours != want || theirs != want {
						t.Errorf("%s: the schema says %t, the document %t, want %t; %s %s", line, ours, theirs, want, root, components)
					}
				}
			}
		})
	}
}

// TestForOpenAPIBounds: references into each other do not multiply a document.
func TestForOpenAPIBounds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"type":"object","required":["r0"],"properties":{"deep":`)
	const depth = 25
	pointer := "#/properties/deep"
	var refs []string
	for i := range depth {
		fmt.Fprintf(&b, `{"description":"%s","properties":{"d":`, strings.Repeat("x", 2000))
		refs = append(refs, fmt.Sprintf(`"r%d":{"$ref":"%s"}`, i, pointer))
		pointer += "/properties/d"
	}
	b.WriteString(`{}` + strings.Repeat(`}}`, depth) + "," + strings.Join(refs, ",") + `}}`)
	s, err := Compile([]byte(b.String()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	root, components := s.ForOpenAPI("x")
	if len(components) > 0 || !strings.HasPrefix(string(root), `{"type":"object","properties":{"deep":{},"r0":{},`) || !strings.HasSuffix(string(root), `"required":["r0"]}`) {
		t.Errorf("%d components, and %d bytes: %.100s", len(components), len(root), root)
	}
	document(t, root, components)
}

// TestForOpenAPIResults: a schema of results may describe anything.
func TestForOpenAPIResults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`, `{"$ref":"#/$defs/n","$defs":{"n":{"type":["array","null"],"items":{"type":"integer"}}}}`} {
		s, err := CompileResult([]byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		root, components := s.ForOpenAPI("x_result")
		got := document(t, root, components)
		if got.Validate([]any{json.Number("1")}) != nil || got.Validate([]any{"a"}) == nil || strings.Contains(string(root), "properties") {
			t.Errorf("%s %s", root, components)
		}
	}
}
