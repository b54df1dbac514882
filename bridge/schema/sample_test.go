package schema

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSample(t *testing.T) {
	t.Parallel()
	with := func(s string) string { return `{"type":"object","properties":{"a":` + s + `},"required":["a"]}` }
	for _, c := range []struct {
		schema, want string
		made         bool
	}{
		{`{"type":"object"}`, `{}`, false},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`, false},
		{`{"type":"object","properties":{"a":{"examples":["x","y"]}}}`, `{"a":"x"}`, false},
		{`{"type":"object","examples":[{"a":1}]}`, `{"a":1}`, false},
		{with(`{"const":3}`), `{"a":3}`, false},
		{with(`{"type":"string","default":"d","enum":["e","d"]}`), `{"a":"d"}`, false},
		{with(`{"enum":["e","d"]}`), `{"a":"e"}`, false},
		{with(`{"$ref":"#/$defs/x"}`)[:len(with(`{"$ref":"#/$defs/x"}`))-1] + `,"$defs":{"x":{"enum":[7]}}}`, `{"a":7}`, false},
		{with(`{"anyOf":[{"const":1},{"type":"null"}]}`), `{"a":1}`, false},
		{with(`{"allOf":[{"enum":[2]}]}`), `{"a":2}`, false},
		{with(`{"type":"object","properties":{"b":{"enum":[true]}},"required":["b"]}`), `{"a":{"b":true}}`, false},
		{with(`{"type":"string"}`), `{"a":"example"}`, true},
		{with(`{"type":"string","minLength":9}`), `{"a":"exampleex"}`, true},
		{with(`{"type":"string","maxLength":2}`), `{"a":"ex"}`, true},
		{with(`{"type":"string","format":"date"}`), `{"a":"2026-01-31"}`, true},
		{with(`{"type":["integer","null"],"minimum":5}`), `{"a":5}`, true},
		{with(`{"type":"integer","exclusiveMinimum":5}`), `{"a":6}`, true},
		{with(`{"type":"number","maximum":-0.5}`), `{"a":-0.5}`, true},
		{with(`{"type":"integer","minimum":1.5}`), `{"a":2}`, true},
		{with(`{"type":"array","minItems":2,"items":{"enum":["x"]}}`), `{"a":["x","x"]}`, true},
		{with(`{"type":"boolean"}`), `{"a":false}`, true},
		{with(`{"type":"null"}`), `{"a":null}`, true},
		{`{"type":"object","required":["b"]}`, `{"b":"example"}`, true},
		// Nothing that fits, and no schema.
		{with(`{"type":"string","pattern":"^[0-9]{4}$"}`), ``, false},
		{with(`{"examples":[1],"type":"string"}`), ``, false},
		{with(`{"$ref":"#"}`), ``, false},
		{`{"type":"object"`, ``, false},
	} {
		got, made := Sample([]byte(c.schema))
		if string(got) != c.want || made != c.made {
			t.Errorf("%s: %s, made up %v; want %s, %v", c.schema, got, made, c.want, c.made)
		}
	}
}

// TestSampleFits: what is returned for any schema is valid.
func TestSampleFits(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(`{"type":"object","required":["v"],"properties":` + drawDocument(t, "s")[len(`{"properties":`):])
		s, err := Compile(raw, Limits{})
		if err != nil {
			t.Skip("not admitted")
		}
		if v, _ := Sample(raw); v != nil {
			found++
			if err := s.Validate(v); err != nil {
				t.Fatalf("%s: %s: %v", raw, v, err)
			}
		}
	})
	if found < 10 {
		t.Errorf("only %d samples: the test says nothing", found)
	}
}
