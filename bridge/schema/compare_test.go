package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	closed := func(props string) string { return `{"additionalProperties":false,"properties":{` + props + `}}` }
	for _, c := range []struct {
		name, old, new    string
		request, response Change
	}{
		{"the same", `{"type":"object","required":["a","b"]}`, `{"required":["a","b"],"type":"object"}`, Same, Same},
		{"x-mcp only", `{"type":"object"}`, `{"type":"object","x-mcp-a":1}`, Same, Same},
		{"description", `{"description":"a"}`, `{"description":"b"}`, Patch, Patch},
		{"description inside", closed(`"a":{"type":"string"}`), closed(`"a":{"type":"string","description":"b","default":"x","examples":["y"],"title":"t","$comment":"c"}`), Patch, Patch},
		{"description below oneOf", `{"oneOf":[{"required":["a"]},{}]}`, `{"oneOf":[{"required":["a"],"title":"x"},{}]}`, Patch, Patch},
		{"description behind a reference", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"null"}}}`, `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"null","title":"x"}}}`, Patch, Patch},
		{"order of required", `{"required":["a","b"]}`, `{"required":["b","a"]}`, Patch, Patch},
		{"unused definition", `{"$defs":{"a":{}}}`, `{"$defs":{"a":{"type":"null"}}}`, Patch, Patch},
		{"required added", `{"required":["a"]}`, `{"required":["a","b"]}`, Major, Minor},
		{"required removed", `{"required":["a"]}`, `{}`, Minor, Major},
		{"property added, closed", closed(`"a":{}`), closed(`"a":{},"b":{}`), Minor, Major},
		{"property removed, closed", closed(`"a":{},"b":{}`), closed(`"a":{}`), Major, Minor},
		{"property added, open", `{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{"type":"string"}}}`, Minor, Minor},
		{"property of anything added, open", `{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{"title":"b"}}}`, Minor, Patch},
		{"property removed, open", `{"properties":{"a":{"type":"null"}}}`, `{"properties":{}}`, Minor, Major},
		{"closed", `{}`, `{"additionalProperties":false}`, Major, Minor},
		{"opened", `{"additionalProperties":false}`, `{}`, Minor, Major},
		{"type wider", closed(`"a":{"type":"integer"}`), closed(`"a":{"type":"number"}`), Minor, Major},
		{"type narrower", closed(`"a":{"type":["string","null"]}`), closed(`"a":{"type":"string"}`), Major, Minor},
		{"type other", closed(`"a":{"type":"string"}`), closed(`"a":{"type":"number"}`), Major, Major},
		{"enum added", closed(`"a":{"enum":[1,"x"]}`), closed(`"a":{"enum":["x",1.0,2]}`), Minor, Major},
		{"enum removed", closed(`"a":{"enum":[1,2]}`), closed(`"a":{"const":2}`), Major, Minor},
		{"bound tighter", closed(`"a":{"maximum":10}`), closed(`"a":{"maximum":9.5}`), Major, Minor},
		{"bound looser", closed(`"a":{"minLength":2}`), closed(`"a":{"minLength":1}`), Minor, Major},
		{"bound beyond doubles", closed(`"a":{"maximum":9007199254740993}`), closed(`"a":{"maximum":9007199254740992}`), Major, Minor},
		{"exclusive of draft 04", `{"$schema":"http://json-schema.org/draft-04/schema","properties":{"a":{"maximum":3}}}`, `{"$schema":"http://json-schema.org/draft-04/schema","properties":{"a":{"maximum":3,"exclusiveMaximum":true}}}`, Major, Major},
		{"pattern added", closed(`"a":{}`), closed(`"a":{"pattern":"a"}`), Major, Minor},
		{"pattern changed", closed(`"a":{"pattern":"b"}`), closed(`"a":{"pattern":"a"}`), Major, Major},
		{"format added", closed(`"a":{"type":"string"}`), closed(`"a":{"type":"string","format":"email"}`), Major, Minor},
		{"format changed", closed(`"a":{"format":"uri"}`), closed(`"a":{"format":"email"}`), Major, Major},
		{"items wider", closed(`"a":{"items":{"maximum":1}}`), closed(`"a":{"items":{"maximum":2}}`), Minor, Major},
		{"prefix longer", closed(`"a":{"prefixItems":[{}],"items":false}`), closed(`"a":{"prefixItems":[{},{"type":"null"}],"items":false}`), Minor, Major},
		{"anyOf longer", closed(`"a":{"anyOf":[{"type":"null"}]}`), closed(`"a":{"anyOf":[{"type":"null"},{"type":"string"}]}`), Minor, Major},
		{"allOf longer", `{"allOf":[{}]}`, `{"allOf":[{},{"required":["a"]}]}`, Major, Minor},
		{"oneOf rewritten", `{"oneOf":[{"required":["a"]}]}`, `{"oneOf":[{"required":["b"]}]}`, Major, Major},
		{"wider below not", `{"not":{"required":["a","b"]}}`, `{"not":{"required":["a"]}}`, Major, Major},
		{"then without if", `{"then":{"required":["a"]}}`, `{"then":{}}`, Patch, Patch},
		{"moved behind a reference", closed(`"a":{"type":"null"}`), `{"additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"null"}}}`, Major, Major},
		{"definition wider", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"null"}}}`, `{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":["null","string"]}}}`, Minor, Major},
		{"definition wider and negated", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"a":{"not":{"$ref":"#/$defs/n"}},"b":{"maximum":1}}}}}`, `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"a":{"not":{"$ref":"#/$defs/n"}},"b":{"maximum":2}}}}}`, Major, Major},
		{"recursion wider", `{"properties":{"a":{"$ref":"#"},"b":{"maximum":1}}}`, `{"properties":{"a":{"$ref":"#"},"b":{"maximum":2}}}`, Minor, Major},
		{"branch wider below unevaluated", `{"anyOf":[{"properties":{"a":{"maximum":1}}}],"unevaluatedProperties":false}`, `{"anyOf":[{"properties":{"a":{"maximum":2}}}],"unevaluatedProperties":false}`, Major, Major},
		{"property of anything removed below unevaluated", `{"properties":{"a":{},"b":{}},"unevaluatedProperties":false}`, `{"properties":{"a":{}},"unevaluatedProperties":false}`, Major, Major},
		{"description of a property below unevaluated", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"properties":{"a":{"title":"A"}},"unevaluatedProperties":false}`, Patch, Patch},
		{"prefix of anything shorter below unevaluated", `{"prefixItems":[{},{}],"unevaluatedItems":false}`, `{"prefixItems":[{}],"unevaluatedItems":false}`, Major, Major},
		{"definition wider below unevaluated", `{"properties":{"a":{"unevaluatedProperties":{"$ref":"#/$defs/a"}}},"$defs":{"a":{"type":"null"}}}`, `{"properties":{"a":{"unevaluatedProperties":{"$ref":"#/$defs/a"}}},"$defs":{"a":{}}}`, Major, Major},
		{"definition inside of nothing", `{"properties":{"a":{"unevaluatedItems":{"$ref":"#/properties/b/$defs/b"}},"b":{"$defs":{"b":{}}}}}`, `{"properties":{"a":{"unevaluatedItems":{"$ref":"#/properties/b/$defs/b"}},"b":{"$defs":{"b":{"type":"null"}}}}}`, Major, Major},
		{"dynamic definition wider", `{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"a":{"$dynamicAnchor":"n","type":"null"}}}`, `{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"a":{"$dynamicAnchor":"n"}}}`, Major, Major},
		{"dynamic anchor moved", `{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"a":{"$dynamicAnchor":"n","type":"null"},"b":{"type":"string"}}}`, `{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"a":{"type":"null"},"b":{"$dynamicAnchor":"n","type":"string"}}}`, Major, Major},
		{"pattern properties beside a new one", `{"patternProperties":{"^a":{"type":"null"}}}`, `{"patternProperties":{"^a":{"type":"null"}},"properties":{"ab":{"type":"null"}}}`, Major, Major},
		{"unknown keyword", `{"x-order":1}`, `{"x-order":2}`, Major, Major},
		{"draft", `{"$schema":"http://json-schema.org/draft-07/schema"}`, `{"$schema":"http://json-schema.org/draft-06/schema"}`, Major, Major},
		{"beside a reference in draft 07", `{"$schema":"http://json-schema.org/draft-07/schema","$ref":"#/definitions/a","definitions":{"a":{}},"required":["a"]}`, `{"$schema":"http://json-schema.org/draft-07/schema","$ref":"#/definitions/a","definitions":{"a":{}}}`, Patch, Patch},
		{"not JSON", `{`, `{}`, Major, Major},
	} {
		if got := Compare([]byte(c.old), []byte(c.new), Request); got != c.request {
			t.Errorf("%s: request %v, want %v", c.name, got, c.request)
		}
		if got := Compare([]byte(c.old), []byte(c.new), Response); got != c.response {
			t.Errorf("%s: response %v, want %v", c.name, got, c.response)
		}
		agree(t, []byte(c.old), []byte(c.new))
		// Only what an open schema did not list is minor for a version and unsafe for a pin.
		if got := Accepts([]byte(c.old), []byte(c.new)); got != (c.request < Major && c.name != "property added, open") {
			t.Errorf("%s: Accepts %v", c.name, got)
		}
	}
}

func TestCompareWorstCases(t *testing.T) {
	for name, s := range map[string]string{
		"enum":     `{"enum":[` + numbered("[[],{},%]", ",", 5000) + `]}`,
		"required": `{"required":[` + numbered(`"k%"`, ",", 7000) + `]}`,
		"laughs":   laughs(300, "{}"),
		"wide":     `{"properties":{` + numbered(`"k%":{"type":"string"}`, ",", 1990) + `}}`,
		"deep":     chain(1900, "#"),
	} {
		changed := strings.Replace(s, "{", `{"title":"x",`, 1)
		within(t, name, func() { Compare([]byte(s), []byte(changed), Request) })
		within(t, name+", listed", func() { Differences([]byte(s), []byte(changed), Request) })
	}
}

// drawSchema makes schemas over few names and values, so that values meet them.
func drawSchema(t *rapid.T, depth int, label string) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{`true`, `{}`, `false`, `{"type":"string"}`, `{"type":"integer"}`, `{"type":["number","null"]}`, `{"$ref":"#/$defs/d"}`, `{"maximum":1}`, `{"enum":[1,{}]}`, `{"required":["a"]}`}).Draw(t, label)
	}
	sub := func(l string) string { return drawSchema(t, depth-1, label+l) }
	keywords := map[string]func() string{
		"type": func() string {
			return rapid.SampledFrom([]string{`"object"`, `"array"`, `["object","integer"]`, `"number"`, `["array","object","null"]`}).Draw(t, label+"type")
		},
		"properties":           func() string { return fmt.Sprintf(`{"a":%s,"b":%s}`, sub("a"), sub("b")) },
		"additionalProperties": func() string { return sub("ap") },
		"patternProperties":    func() string { return fmt.Sprintf(`{"^a":%s}`, sub("pp")) },
		"propertyNames": func() string {
			return `{"maxLength":` + rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+"pn") + `}`
		},
		"required":      func() string { return rapid.SampledFrom([]string{`[]`, `["a"]`, `["a","b"]`}).Draw(t, label+"req") },
		"items":         func() string { return sub("items") },
		"prefixItems":   func() string { return fmt.Sprintf(`[%s]`, sub("pi")) },
		"contains":      func() string { return sub("contains") },
		"minContains":   func() string { return rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, label+"mc") },
		"maximum":       func() string { return rapid.SampledFrom([]string{"0", "1", "1.5"}).Draw(t, label+"max") },
		"minItems":      func() string { return rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, label+"mi") },
		"maxProperties": func() string { return rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, label+"mp") },
		"enum": func() string {
			return rapid.SampledFrom([]string{`[1,{}]`, `[1,{},{"a":1}]`, `["x",{}]`}).Draw(t, label+"enum")
		},
		"uniqueItems":           func() string { return rapid.SampledFrom([]string{"true", "false"}).Draw(t, label+"u") },
		"anyOf":                 func() string { return fmt.Sprintf(`[%s,%s]`, sub("any0"), sub("any1")) },
		"allOf":                 func() string { return fmt.Sprintf(`[%s]`, sub("all")) },
		"oneOf":                 func() string { return fmt.Sprintf(`[%s,%s]`, sub("one0"), sub("one1")) },
		"not":                   func() string { return sub("not") },
		"if":                    func() string { return sub("if") },
		"then":                  func() string { return sub("then") },
		"dependentSchemas":      func() string { return fmt.Sprintf(`{"a":%s}`, sub("ds")) },
		"unevaluatedProperties": func() string { return sub("up") },
		"unevaluatedItems":      func() string { return sub("ui") },
	}
	names := []string{"type", "properties", "additionalProperties", "patternProperties", "propertyNames", "required", "items", "prefixItems", "contains", "minContains",
		"maximum", "minItems", "maxProperties", "enum", "uniqueItems", "anyOf", "allOf", "oneOf", "not", "if", "then", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"}
	var parts []string
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, label+"keys") {
		parts = append(parts, fmt.Sprintf("%q:%s", key, keywords[key]()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// drawDocument wraps a schema with the definition that its references lead to.
func drawDocument(t *rapid.T, label string) string {
	inner := drawSchema(t, rapid.IntRange(1, 2).Draw(t, label+"depth"), label)
	def := rapid.SampledFrom([]string{`{"type":"string"}`, `{"type":["string","null"]}`, `{"properties":{"a":{"$ref":"#/$defs/d"}},"maxProperties":1}`, `{}`}).Draw(t, label+"def")
	return fmt.Sprintf(`{"properties":{"v":%s},"$defs":{"d":%s}}`, inner, def)
}

func drawValue(t *rapid.T, depth int, label string) string {
	kinds := 4
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, label) {
	case 0:
		return rapid.SampledFrom([]string{"0", "1", "1.5", "2"}).Draw(t, label+"n")
	case 1:
		return `"x"`
	case 2:
		return "null"
	case 3:
		return "{}"
	case 4:
		return fmt.Sprintf("[%s,%s]", drawValue(t, depth-1, label+"0"), drawValue(t, depth-1, label+"1"))
	case 5:
		return fmt.Sprintf(`{"a":%s}`, drawValue(t, depth-1, label+"a"))
	default:
		return fmt.Sprintf(`{"a":%s,"b":%s}`, drawValue(t, depth-1, label+"a"), drawValue(t, depth-1, label+"b"))
	}
}

// TestCompareNeverPromisesTooMuch is the property that pinned versions rest on.
func TestCompareNeverPromisesTooMuch(t *testing.T) {
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		old := drawDocument(t, "old")
		var changed string
		if rapid.Bool().Draw(t, "mutate") {
			changed = mutate(t, old)
		} else {
			changed = drawDocument(t, "new")
		}
		a, errA := Compile([]byte(old), Limits{})
		b, errB := Compile([]byte(changed), Limits{})
		if Compare([]byte(old), []byte(old), Request) != Same {
			t.Fatalf("%s differs from itself", old)
		}
		agree(t, []byte(old), []byte(changed))
		if errA != nil || errB != nil {
			t.Skip("not admitted")
		}
		request, response := compare([]byte(old), []byte(changed), Request, false), Compare([]byte(old), []byte(changed), Response)
		if request == Major && response == Major {
			return
		}
		decided++
		for i := range 20 {
			v := []byte(`{"v":` + drawValue(t, 2, fmt.Sprint("value", i)) + `}`)
			before, after := a.Validate(v) == nil, b.Validate(v) == nil
			if request < Major && before && !after {
				t.Fatalf("%s\nto %s\nis %v for requests, but %s is refused now", old, changed, request, v)
			}
			if response < Major && after && !before {
				t.Fatalf("%s\nto %s\nis %v for responses, but %s is possible now", old, changed, response, v)
			}
		}
	})
	if decided < 10 {
		t.Errorf("only %d comparisons were below major: the test says nothing", decided)
	}
}

// mutate replaces one small thing, so that most of a pair is the same.
func mutate(t *rapid.T, s string) string {
	swaps := [][2]string{{`"maximum":1`, `"maximum":2`}, {`"type":"integer"`, `"type":"number"`}, {`["a"]`, `["a","b"]`}, {`["a","b"]`, `["a"]`}, {`["number","null"]`, `"number"`},
		{`true`, `false`}, {`false`, `true`}, {`{}`, `{"title":"x"}`}, {`"minItems":1`, `"minItems":0`}, {`"type":"string"`, `"type":["string","null"]`}, {`[1,{}]`, `[1,{},{"a":1}]`}, {`"b":`, `"c":`}}
	swap := rapid.SampledFrom(swaps).Draw(t, "swap")
	n := strings.Count(s, swap[0])
	if n == 0 {
		return s
	}
	nth := rapid.IntRange(0, n-1).Draw(t, "nth")
	at := 0
	for range nth + 1 {
		i := strings.Index(s[at:], swap[0])
		at += i + len(swap[0])
	}
	return s[:at-len(swap[0])] + swap[1] + s[at:]
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}}}`), []byte(`{"properties":{"a":{"type":"null"}},"required":["a"]}`))
	f.Add([]byte(`{"anyOf":[{"enum":[1,2]}],"items":[{}]}`), []byte(`{"anyOf":[{"const":1}],"prefixItems":[{}]}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"not":{}}}}`), []byte(`{"$ref":"#x","$defs":{"a":{"$anchor":"x","not":true}}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if CheckJSON(a, 0) == nil && Compare(a, a, Request) != Same {
			t.Fatal("differs from itself")
		}
		agree(t, a, b)
		request, response := compare(a, b, Request, false), Compare(a, b, Response)
		if compare(b, a, Request, false) != response && request < Minor {
			t.Fatal("words only, but not the other way round")
		}
		if (request == Same) != (response == Same) || (request == Patch) != (response == Patch) {
			t.Fatalf("request %v, response %v", request, response)
		}
	})
}

func FuzzCompileAndValidate(f *testing.F) {
	for _, c := range []string{`{"properties":{"a":{"pattern":"^(a|b)+$"}},"required":["a"]}`, `{"items":[{"$ref":"#"}],"unevaluatedProperties":false}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","properties":{"a":{"maximum":3,"exclusiveMaximum":true}}}`,
		`{"$dynamicAnchor":"n","additionalProperties":{"$dynamicRef":"#n"}}`, `{"dependencies":{"a":["b"]},"if":{},"then":{"enum":[{}]}}`, laughs(4, "{}")} {
		f.Add([]byte(c), []byte(`{"a":["b",{"c":1.5}]}`))
	}
	f.Fuzz(func(t *testing.T, raw, value []byte) {
		s, err := Compile(raw, Limits{})
		if err != nil {
			if strings.Contains(err.Error(), "urn:") || strings.Contains(err.Error(), "json.") || !strings.HasPrefix(rule(err), "schema-") {
				t.Fatalf("%v", err)
			}
			return
		}
		if _, err := Compile(s.JSON(), Limits{Bytes: 1 << 20}); err != nil {
			t.Fatalf("admitted, but not as %s: %v", s.JSON(), err)
		}
		if err := s.Validate(value); err != nil {
			v, ok := errors.AsType[*Violations](err)
			if !ok || len(v.List) == 0 || len(v.List) > maxViolations {
				t.Fatalf("%#v", err)
			}
		} else if CheckJSON(value, 0) != nil {
			t.Fatal("accepts what is not JSON")
		}
	})
}
