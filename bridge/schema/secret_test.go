package schema_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// TestSecrets holds S2: what a schema marks is found wherever it is in the value.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const mark = `{"type":"string","writeOnly":true}`
	for _, x := range []struct{ schema, value, want string }{
		{`{"properties":{"a":` + mark + `,"b":{"type":"string"}}}`, `{"a":"x","b":"y"}`, "/a"},
		{`{"properties":{"a":{"format":"password"}}}`, `{"a":1}`, "/a"},
		{`{"properties":{"a":{"properties":{"b/c":` + mark + `}}}}`, `{"a":{"b/c":"x"}}`, "/a/b~1c"},
		{`{"properties":{"a":{"items":` + mark + `}}}`, `{"a":["x","y"]}`, "/a/0 /a/1"},
		{`{"properties":{"a":{"prefixItems":[{},` + mark + `]}}}`, `{"a":["y","x"]}`, "/a/1"},
		{`{"allOf":[{"properties":{"a":` + mark + `}}]}`, `{"a":"x"}`, "/a"},
		{`{"oneOf":[{"properties":{"a":{}}},{"properties":{"a":` + mark + `}}]}`, `{"a":"x"}`, "/a"},
		{`{"if":{},"then":{"properties":{"a":` + mark + `}}}`, `{"a":"x"}`, "/a"},
		{`{"$ref":"#/$defs/s","$defs":{"s":{"properties":{"a":{"$ref":"#/$defs/p"}}},"p":` + mark + `}}`, `{"a":"x"}`, "/a"},
		{`{"properties":{"a":{"$ref":"#p"}},"$defs":{"p":{"$anchor":"p","writeOnly":true}}}`, `{"a":"x"}`, "/a"},
		{`{"additionalProperties":` + mark + `,"properties":{"b":{}}}`, `{"a":"x","b":"y"}`, "/a"},
		{`{"patternProperties":{"^p":` + mark + `}}`, `{"pw":"x"}`, "/pw"},
		{`{"dependentSchemas":{"b":{"properties":{"a":` + mark + `}}}}`, `{"a":"x","b":1}`, "/a"},
		{`{"properties":{"a":{"writeOnly":true,"type":"object"}}}`, `{"a":{"b":"x"}}`, "/a"},
		{`{"properties":{"a":{"$ref":"#"},"b":` + mark + `}}`, `{"a":{"a":{"b":"x"}}}`, "/a/a/b"},

		{`{"properties":{"a":{"writeOnly":false},"b":{"format":"date"}}}`, `{"a":"x","b":"y"}`, ""},
		{`{"properties":{"a":{"const":"writeOnly"},"writeOnly":{"type":"string"}}}`, `{"a":"x","writeOnly":"y"}`, ""},
		{`{"properties":{"a":` + mark + `}}`, `{"b":"x"}`, ""},
		{`true`, `{"a":"x"}`, ""},
	} {
		declared, err := schema.Read([]byte(x.schema), 0)
		if err != nil {
			t.Fatal(err)
		}
		value, err := schema.Read([]byte(x.value), 0)
		if err != nil {
			t.Fatal(err)
		}
		marked := schema.Secrets(declared, value)
		if got := strings.Join(slices.Sorted(maps.Keys(marked)), " "); got != x.want {
			t.Errorf("%s in %s: %q, want %q", x.value, x.schema, got, x.want)
		}
		masked := string(value.Mask(marked).Text())
		if strings.Contains(masked, schema.Masked) != (x.want != "") || x.want != "" && strings.Contains(masked, `"x"`) {
			t.Errorf("%s in %s is masked as %s", x.value, x.schema, masked)
		}
	}
	deep, err := schema.Read([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"items":{"$ref":"#/$defs/a"}}]}}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	long, err := schema.Read([]byte("["+strings.Repeat("0,", 100_000)+"0]"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := schema.Secrets(deep, long); !got[""] {
		t.Errorf("behind too much: %d marked", len(got))
	}
}
