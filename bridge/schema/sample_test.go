package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSamples: arguments fit the schema that they are made from, or do not, as they say.
func TestSamples(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ schema, valid, invalid string }{
		"nothing":  {``, `{}`, ``},
		"examples": {`{"type":"object","properties":{"q":{"type":"string"}},"examples":[{"q":"jenny"}]}`, `{"q":"jenny"} {} {"q":"example"}`, `{"q":{"not":"a text"}}`},
		"required and all": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["b"]}`,
			`{"b":true} {"a":"example","b":true}`, `{"a":"example"} {"a":{"not":"a text"},"b":true}`},
		"lists": {`{"type":"object","properties":{"e":{"type":"string","enum":["x","y"]}},"required":["e"]}`, `{"e":"x"}`, `{} {"e":"none of the list"}`},
		"bounds": {`{"type":"object","properties":{"i":{"type":"integer","minimum":7,"multipleOf":5},"n":{"type":"number","exclusiveMaximum":-2},"f":{"type":"number","minimum":0.2,"maximum":0.4}},"required":["i","n","f"]}`,
			`{"f":0.4,"i":10,"n":-3}`, ``},
		"texts": {`{"type":"object","properties":{"d":{"type":"string","format":"date"},"p":{"type":"string","pattern":"^[A-Z]{3}-[0-9]+$"},"l":{"type":"string","minLength":3}},"required":["d","p","l"]}`,
			`{"d":"2026-01-31","l":"example","p":"ABC-123"}`, ``},
		"formats that are patterns": {`{"type":"object","properties":{"w":{"type":"string","format":"^[0-9]{4}-W[0-9]{2}$"}},"required":["w"]}`, `{"w":"2026-W05"}`, ``},
		"nested": {`{"type":"object","properties":{"o":{"$ref":"#/$defs/o"}},"required":["o"],"$defs":{"o":{"type":"object","properties":{"l":{"type":"array","minItems":2,"items":{"anyOf":[{"const":3},{"type":"null"}]}}},"required":["l"]}}}`,
			`{"o":{"l":[3,3]}}`, ``},
		"recursive":        {`{"type":"object","properties":{"n":{"$ref":"#"}}}`, `{}`, ``},
		"defaults":         {`{"type":"object","properties":{"a":{"type":"integer","default":4}},"required":["a"]}`, `{"a":4}`, ``},
		"an empty default": {`{"type":"object","properties":{"a":{"type":"string","default":""}},"required":["a"]}`, `{"a":"example"}`, ``},
		"a text":           {`{"type":"string","minLength":9}`, `"exampleex"`, ``},
		"a number":         {`{"type":"integer","minimum":7}`, `7`, ``},
		"a list":           {`{"enum":["x","y"]}`, `"x"`, ``},
		"no way":           {`{"type":"object","properties":{"a":{"type":"string","pattern":"^q{17}z$"}},"required":["a"]}`, ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var valid, invalid []string
			for _, a := range Samples(json.RawMessage(x.schema), true) {
				text, _ := Canonical(a.Input)
				if a.Valid {
					valid = append(valid, string(text))
				} else {
					invalid = append(invalid, string(text))
				}
			}
			if got := strings.Join(valid, " "); !strings.HasPrefix(got, x.valid) || x.valid == "" && got != "" {
				t.Errorf("valid are %s, want %s", got, x.valid)
			}
			if got := strings.Join(invalid, " "); x.invalid != "" && got != x.invalid {
				t.Errorf("invalid are %s, want %s", got, x.invalid)
			}
			if x.valid != "" && len(Samples(json.RawMessage(x.schema), false)) != len(valid) {
				t.Error("without invalid ones there are others")
			}
		})
	}
	deep := strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 12) + `{"type":"string"}` + strings.Repeat(`}}`, 12)
	if got := Samples(json.RawMessage(deep), true); len(got) > 0 {
		t.Errorf("a schema that is too deep: %v", got)
	}
}

// TestInvented: a value that the schema names is not invented.
func TestInvented(t *testing.T) {
	t.Parallel()
	for property, want := range map[string]bool{
		`{"type":"string"}`: true, `{"type":"string","format":"uuid"}`: true, `{"type":"integer"}`: true, `{"type":"integer","minimum":1}`: true,
		`{"type":"array","minItems":1,"items":{"type":"string"}}`: true, `{"type":"string","examples":["a"]}`: false, `{"enum":["a"]}`: false,
		`{"default":"a"}`: false, `{"const":1}`: false, `{"type":"boolean"}`: false, `{"type":"number","minimum":1,"maximum":2}`: false,
		`{"type":"array","minItems":1,"items":{"enum":[1]}}`: false,
	} {
		input := json.RawMessage(`{"type":"object","properties":{"a":` + property + `,"b":{"type":"string"}},"required":["a"]}`)
		all := Samples(input, false)
		if len(all) != 2 || all[0].Invented != want || !all[1].Invented { // b is in the second one only
			t.Errorf("%s: %+v", property, all)
		}
	}
	given := Samples(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"examples":[{"a":"b"}]}`), false)
	if len(given) != 2 || given[0].Invented || !given[1].Invented {
		t.Errorf("an example of the schema: %+v", given)
	}
}
