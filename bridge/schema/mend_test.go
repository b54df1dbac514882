package schema

import (
	"slices"
	"strings"
	"testing"
)

// TestSlips (L8, L7): one slip costs itself. The tool is offered with the rest, and its author
// reads where and how to mend it.
func TestSlips(t *testing.T) {
	for _, c := range []struct{ name, written, admitted, rule, pointer, says string }{
		// of the review
		{"required in a property", `{"type":"object","properties":{"title":{"type":"string","required":true}}}`,
			`{"type":"object","properties":{"title":{"type":"string"}}}`, RuleKeyword, "/properties/title/required", `of the object around it`},
		{"type any", `{"type":"object","properties":{"a":{"type":"any"}}}`, `{"type":"object","properties":{"a":{}}}`, RuleKeyword, "/properties/a/type", "any value is valid"},
		{"type in capitals", `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, RuleKeyword, "/type", `read as "object"`},
		{"a map of parameters", `{"signature":{"type":"string"},"floor":{"type":"integer"}}`,
			`{"type":"object","properties":{"signature":{"type":"string"},"floor":{"type":"integer"}}}`, RuleMap, "", `"signature"`},
		{"parameters that are called like keywords", `{"title":{"type":"string","description":"Title"},"description":{"type":"string"}}`,
			`{"type":"object","properties":{"title":{"type":"string","description":"Title"},"description":{"type":"string"}}}`, RuleMap, "", `"title"`},
		// of the same kinds
		{"type of another language", `{"properties":{"a":{"type":"int"}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/type", `Did you mean "integer"?`},
		{"type that is misspelled", `{"properties":{"a":{"type":"sting"}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/type", `Did you mean "string"?`},
		{"type that is null", `{"properties":{"a":{"type":null}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/type", "left out"},
		{"types twice", `{"properties":{"a":{"type":["string","string"]}}}`, `{"properties":{"a":{"type":["string"]}}}`, RuleKeyword, "/properties/a/type", "read as"},
		{"a length that is a text", `{"properties":{"a":{"minLength":"3"}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/minLength", "a whole number"},
		{"a length below zero", `{"properties":{"a":{"maxLength":-1}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/maxLength", "a whole number"},
		{"a length with a fraction", `{"properties":{"a":{"maxItems":1.5}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/maxItems", "a whole number"},
		{"a bound that is a text", `{"properties":{"a":{"minimum":"0"}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/minimum", "a number"},
		{"a bound of draft 4", `{"properties":{"a":{"minimum":0,"exclusiveMinimum":true}}}`, `{"properties":{"a":{"minimum":0}}}`, RuleKeyword, "/properties/a/exclusiveMinimum", "a number"},
		{"a step of zero", `{"properties":{"a":{"multipleOf":0}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/multipleOf", "above 0"},
		{"an enum that is a text", `{"properties":{"a":{"enum":"x"}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/enum", "a list"},
		{"a format that is a list", `{"properties":{"a":{"format":["date"]}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/format", "a text"},
		{"a pattern that is an object", `{"properties":{"a":{"pattern":{}}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/pattern", "a text"},
		{"a required that is a text", `{"properties":{"a":{}},"required":"a"}`, `{"properties":{"a":{}}}`, RuleKeyword, "/required", "a list of names"},
		{"required twice", `{"properties":{"a":{}},"required":["a","a"]}`, `{"properties":{"a":{}},"required":["a"]}`, RuleKeyword, "/required", "read as"},
		{"a flag that is a text", `{"properties":{"a":{"writeOnly":"true"}}}`, `{"properties":{"a":{"writeOnly":true}}}`, RuleKeyword, "/properties/a/writeOnly", "read as true"},
		{"no more properties, as a text", `{"properties":{},"additionalProperties":"False"}`, `{"properties":{},"additionalProperties":false}`, RuleKeyword, "/additionalProperties", "read as false"},
		{"properties that are a list", `{"properties":[],"additionalProperties":false}`, `{}`, RuleKeyword, "/properties", "an object of schemas"},
		{"a parameter that is the name of a type", `{"properties":{"a":"string"}}`, `{"properties":{"a":{"type":"string"}}}`, RuleKeyword, "/properties", "read as"},
		{"a parameter that is null", `{"properties":{"a":null},"additionalProperties":false}`, `{"properties":{"a":{}},"additionalProperties":false}`, RuleKeyword, "/properties", "read as"},
		{"items that are the name of a type", `{"properties":{"a":{"items":"string"}}}`, `{"properties":{"a":{"items":{"type":"string"}}}}`, RuleKeyword, "/properties/a/items", "read as"},
		{"alternatives that are one", `{"properties":{"a":{"anyOf":{"type":"string"}}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/anyOf", "a list of schemas"},
		{"no alternatives", `{"properties":{"a":{"anyOf":[]}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/anyOf", "a list of schemas"},
		{"a description that is a list", `{"description":["a"]}`, `{}`, RuleKeyword, "/description", "a text"},
		{"a reference that is a number", `{"properties":{"a":{"$ref":5}}}`, `{"properties":{"a":{}}}`, RuleKeyword, "/properties/a/$ref", "a text"},
		{"deep inside", `{"properties":{"a":{"items":{"anyOf":[{"properties":{"b":{"type":"Number","required":false}}}]}}}}`,
			`{"properties":{"a":{"items":{"anyOf":[{"properties":{"b":{"type":"number"}}}]}}}}`, RuleKeyword, "/properties/a/items/anyOf/0/properties/b/type", "read as"},
		{"an empty list of required in draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"required":[]}}}`,
			`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{}}}`, RuleKeyword, "/properties/a/required", "left out"},
		{"what would turn it round goes with it", `{"not":{"minLength":"3"},"required":["a"]}`, `{"required":["a"]}`, RuleKeyword, "/not/minLength", "left out"},
		{"one of several becomes any", `{"oneOf":[{"minLength":"3"},{}]}`, `{"anyOf":[{},{}]}`, RuleKeyword, "/oneOf/0/minLength", "left out"},
		{"not beside it stays", `{"not":{"required":["b"]},"minLength":"3"}`, `{"not":{"required":["b"]}}`, RuleKeyword, "/minLength", "left out"},
		{"a reference may lead to it", `{"not":{"$ref":"#/$defs/x"},"$defs":{"x":{"maxLength":"3"}}}`, `{"$defs":{"x":{}}}`, RuleKeyword, "/$defs/x/maxLength", "left out"},
		{"parameters beside a type", `{"type":"object","q":{"type":"string"},"required":["q"]}`, `{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}`, RuleMap, "", `"q"`},
		{"a parameter called type", `{"type":{"type":"string"},"size":{"enum":["s","m"]}}`, `{"type":"object","properties":{"type":{"type":"string"},"size":{"enum":["s","m"]}}}`, RuleMap, "", `"size"`},
		{"parameters called items and default", `{"items":{"type":"array"},"default":{"type":"string"},"n":{}, "m":{"type":"number"}}`,
			`{"type":"object","properties":{"items":{"type":"array"},"default":{"type":"string"},"n":{},"m":{"type":"number"}}}`, RuleMap, "", `"items"`},
		{"a map in a property", `{"properties":{"address":{"street":{"type":"string"},"zip":{"type":"string"}}}}`,
			`{"properties":{"address":{"type":"object","properties":{"street":{"type":"string"},"zip":{"type":"string"}}}}}`, RuleMap, "/properties/address", `"street"`},
		{"a shape of zod 4", `{"signature":{"def":{"type":"string"},"type":"string"},"floor":{"def":{"type":"optional","innerType":{"def":{"type":"number","checks":[]},"type":"number"}},"type":"optional"}}`,
			`{"type":"object","properties":{"signature":{"type":"string"},"floor":{"type":"number"}},"required":["signature"]}`, RuleMap, "", `"signature"`},
		{"a shape of zod 3", `{"a":{"_def":{"typeName":"ZodString","description":"Sig"},"~standard":{"version":1,"vendor":"zod"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"Sig"}},"required":["a"]}`, RuleMap, "", `"a"`},
		{"an object of zod 4", `{"def":{"type":"object","shape":{"b":{"def":{"type":"optional","innerType":{"def":{"type":"enum","entries":{"x":"x","y":"y"}},"type":"enum"}},"type":"optional"}}},"type":"object"}`,
			`{"type":"object","properties":{"b":{"enum":["x","y"]}}}`, RuleMap, "", "toJSONSchema"},
		{"an object of valibot", `{"kind":"schema","type":"object","entries":{"a":{"kind":"schema","type":"string","~standard":{"version":1,"vendor":"valibot"}}},"~standard":{"version":1,"vendor":"valibot"}}`,
			`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, RuleMap, "", `"valibot"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, slips, err := Admit([]byte(c.written), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(s.JSON()); got != c.admitted {
				t.Errorf("admitted as\n%s, want\n%s", got, c.admitted)
			}
			if len(slips) == 0 || slips[0].Rule != c.rule || slips[0].Pointer != c.pointer || !strings.Contains(slips[0].Message, c.says) {
				t.Errorf("told %+v, want %s at %q that says %q", slips, c.rule, c.pointer, c.says)
			}
			if _, again, err := Admit(s.JSON(), Limits{}); err != nil || len(again) > 0 {
				t.Errorf("what was admitted has slips: %v, %v", again, err)
			}
			// What its author meant has none, either.
			v, err := Read([]byte(c.written), 0)
			if err != nil {
				t.Fatal(err)
			}
			meant, all := Correct(v)
			if _, again := Correct(meant); len(again) > 0 || len(all) == 0 && !strings.Contains(c.written, "draft-04") {
				t.Errorf("corrected: %s has %v", meant.Text(), again)
			}
		})
	}
}

// TestNoSlips: what is right, what is another one's, and what refuses a tool has no slips.
func TestNoSlips(t *testing.T) {
	for _, c := range []struct{ written, refused string }{
		{`{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object","properties":{"required":{"type":"boolean"}}}},"required":["type"]}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string","default":{"type":"string"},"x-ui":{"type":"string"},"examples":[{"type":"any"}]}}}`, ""},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		{`{"not":{"type":"array"},"if":{"required":["a"]},"then":{"required":["b"]}}`, ""},
		{`{"$defs":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, ""},
		{`{"patternProperties":{"^a":{"type":"string"}}}`, ""},
		{`{"type":"object","properties":{"a":{"type":"number","ui":{"type":"slider"},"nullable":true,"example":5,"unit":"cm","label":"A","hint":"x"}}}`, ""},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, ""},
		{`{"properties":{"a":{"$ref":"http://127.0.0.1/x"}}}`, RuleRemoteRef},
		{`{"properties":{"a":{"$ref":"#/nowhere"}}}`, RuleRefNotFound},
		{`{"properties":{"a":{"pattern":"(?>a)"}}}`, RulePattern},
		{`{"properties":{"a":{"pattern":"("}}}`, RuleInvalid},
		{`{"type":"string"}`, RuleRootNotObject},
		{`[]`, RuleRootNotObject},
		{`{"$schema":"file:///etc/passwd"}`, RuleDraft},
	} {
		_, slips, err := Admit([]byte(c.written), Limits{})
		if c.refused == "" && err != nil || c.refused != "" && rule(err) != c.refused {
			t.Errorf("%s: %v, want %q", c.written, err, c.refused)
		}
		v, err := Read([]byte(c.written), 0)
		if err != nil {
			t.Fatal(err)
		}
		meant, all := Correct(v)
		if len(slips)+len(all) > 0 || !meant.Equal(v) {
			t.Errorf("%s: %v %v, corrected to %s", c.written, slips, all, meant.Text())
		}
	}
}

// TestCorrected (L4): keywords that are nearly ones are found at every depth, and the schema is
// corrected as far as that is certain.
func TestCorrected(t *testing.T) {
	for _, c := range []struct{ written, meant string }{
		{`{"type":"object","propertys":{"title":{"type":"sting"}},"require":["title"]}`, `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`},
		{`{"properties":{"a":{"type":"string","minLenght":3,"descrption":"A"}}}`, `{"properties":{"a":{"type":"string","minLength":3,"description":"A"}}}`},
		{`{"properties":{"a":{"type":"string","max":3,"desc":"A"}}}`, `{"properties":{"a":{"type":"string","maxLength":3,"description":"A"}}}`},
		{`{"properties":{"a":{"type":"integer","max":3,"min":1}}}`, `{"properties":{"a":{"type":"integer","maximum":3,"minimum":1}}}`},
		{`{"properties":{"a":{"type":"array","item":{"types":"string"}}}}`, `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`},
		{`{"Properties":{"a":{"Type":"string","enums":["x"]}},"additonalProperties":false}`, `{"properties":{"a":{"type":"string","enum":["x"]}},"additionalProperties":false}`},
		{`{"properties":{"a":{"anyof":[{"type":"string"},{"ref":"#"}]}}}`, `{"properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#"}]}}}`},
		{`{"properties":{"a":{"type":"string","required":true},"b":{"required":false}}}`, `{"properties":{"a":{"type":"string"},"b":{}},"required":["a"]}`},
		{`{"properties":{"a":{"minLength":"3","maximum":"x","type":"int"}},"required":"a"}`, `{"properties":{"a":{"minLength":3,"type":"integer"}},"required":["a"]}`},
		{`{"properties":{"a":{"minimum":0,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":false}}}`, `{"properties":{"a":{"maximum":5,"exclusiveMinimum":0}}}`},
		{`{"q":{"typ":"string","type":"string","descr":"Words"}}`, `{"type":"object","properties":{"q":{"typ":"string","type":"string","description":"Words"}}}`},
	} {
		v, err := Read([]byte(c.written), 0)
		if err != nil {
			t.Fatal(err)
		}
		meant, slips := Correct(v)
		if string(meant.Text()) != c.meant {
			t.Errorf("%s is corrected to\n%s, want\n%s", c.written, meant.Text(), c.meant)
		}
		if _, again := Correct(meant); len(again) > 0 || len(slips) == 0 {
			t.Errorf("%s has slips: %v", meant.Text(), again)
		}
	}
}

// TestSlipsAreBounded: a stranger's slips are told up to a number, and cost no more than the
// schema.
func TestSlipsAreBounded(t *testing.T) {
	members := make([]string, 1500)
	for i := range members {
		members[i] = `"p` + strings.Repeat("x", i%7) + `":{"type":"any","minLength":"` + strings.Repeat("3", 20) + `"}`
		members[i] = strings.Replace(members[i], `"p`, `"`+string(rune('a'+i%26))+strings.Repeat("y", i/26), 1)
	}
	raw := []byte(`{"properties":{` + strings.Join(members[:600], ",") + `}}`)
	within(t, "Admit", func() {
		s, slips, err := Admit(raw, Limits{})
		if err != nil || len(slips) != maxSlips || s.Subschemas() != 601 {
			t.Errorf("%d slips, %v", len(slips), err)
		}
	})
	if slices.ContainsFunc(members, func(m string) bool { return m == "" }) {
		t.Fatal("a member is empty")
	}
}
