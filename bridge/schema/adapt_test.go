package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

func adapted(t *testing.T, raw string) (*schema.Schema, *schema.ClientForm) {
	t.Helper()
	s, err := schema.Compile([]byte(raw), schema.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s, s.ForClients(false)
}

// TestPropertyNames: names that APIs of models refuse are replaced at every depth, wherever the
// schema says them; legal ones stay, and nothing else changes. E2.
func TestPropertyNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	for _, c := range []struct{ why, raw, want string }{
		{"legal", `{"type":"object","properties":{"a.b-C_1":{},"__proto__":{}},"required":["a.b-C_1"]}`, `{"type":"object","properties":{"a.b-C_1":{},"__proto__":{}},"required":["a.b-C_1"]}`},
		{"a form", `{"type":"object","properties":{"user[email]":{"type":"string"},"tags[]":{"title":"Tags","type":"array"}},"required":["user[email]","tags[]"]}`,
			`{"type":"object","properties":{"user_email_5672de":{"type":"string","title":"user[email]"},"tags_265461":{"title":"Tags","type":"array"}},"required":["user_email_5672de","tags_265461"]}`},
		{"nothing legal in it", `{"type":"object","properties":{"größe":{},"":{},"値段":{}}}`, `{"type":"object","properties":{"gr_e_d353a2":{"title":"größe"},"_e3b0c4":{},"_801822":{"title":"値段"}}}`},
		{"long", `{"type":"object","properties":{"` + long + `":{}}}`, `{"type":"object","properties":{"` + long[:57] + `_d929cd":{"title":"` + long + `"}}}`},
		{"deep, and the same everywhere", `{"type":"object","properties":{"a":{"items":{"properties":{"b c":{}},"required":["b c"]}},"b c":{"additionalProperties":{"properties":{"b c":{"type":"null"}}}}}}`,
			`{"type":"object","properties":{"a":{"items":{"properties":{"b_c_47d8a4":{"title":"b c"}},"required":["b_c_47d8a4"]}},"b_c_47d8a4":{"additionalProperties":{"properties":{"b_c_47d8a4":{"type":"null","title":"b c"}}},"title":"b c"}}}`},
		{"other keywords", `{"type":"object","properties":{"b c":{},"d":{}},"dependentRequired":{"b c":["d"],"d":["b c"]},"dependentSchemas":{"b c":{"required":["b c"]}},"propertyNames":{"pattern":" "},"if":{"required":["b c"]}}`,
			`{"type":"object","properties":{"b_c_47d8a4":{"title":"b c"},"d":{}},"dependentRequired":{"b_c_47d8a4":["d"],"d":["b_c_47d8a4"]},"dependentSchemas":{"b_c_47d8a4":{"required":["b_c_47d8a4"]}},"if":{"required":["b_c_47d8a4"]}}`},
		{"references", `{"type":"object","properties":{"b c":{"properties":{"properties":{}}},"d":{"$ref":"#/properties/b%20c/properties/properties"},"e":{"$ref":"#/x/y"}},"x":{"y":{"properties":{"b c":{}}}}}`,
			`{"type":"object","properties":{"b_c_47d8a4":{"properties":{"properties":{}},"title":"b c"},"d":{"$ref":"#/properties/b_c_47d8a4/properties/properties"},"e":{"$ref":"#/x/y"}},"x":{"y":{"properties":{"b_c_47d8a4":{"title":"b c"}}}}}`},
		{"data stays", `{"type":"object","properties":{"b c":{"default":{"b c":1},"enum":[{"b c":1}]}},"required":[]}`, `{"type":"object","properties":{"b_c_47d8a4":{"default":{"b c":1},"enum":[{"b c":1}],"title":"b c"}},"required":[]}`},
		{"taken already", `{"type":"object","properties":{"b c":{},"b_c_47d8a4":{}}}`, `{"type":"object","properties":{"b_c_7fea16":{"title":"b c"},"b_c_47d8a4":{}}}`},
	} {
		_, f := adapted(t, c.raw)
		if string(f.JSON) != c.want {
			t.Errorf("%s:\n%s\n%s", c.why, f.JSON, c.want)
		}
		if (len(f.Notes) == 0) != (string(f.JSON) == c.raw) {
			t.Errorf("%s: notes %q", c.why, f.Notes)
		}
		if s, err := schema.Compile(f.JSON, schema.Limits{}); err != nil {
			t.Errorf("%s: what clients get is refused: %v", c.why, err)
		} else if again := s.ForClients(false); string(again.JSON) != string(f.JSON) {
			t.Errorf("%s: once more it is %s", c.why, again.JSON)
		}
	}
}

// TestNamesReturn: arguments in clients' names are the page's again, and what is wrong with them is
// said in the names that clients know.
func TestNamesReturn(t *testing.T) {
	s, f := adapted(t, `{"type":"object","properties":{"user[email]":{"type":"string"},"in":{"properties":{"größe":{"type":"integer"}},"required":["größe"],"additionalProperties":false},
		"one":{"anyOf":[{"required":["user[email]"]},{"type":"null"}]}},"dependentRequired":{"user[email]":["größe"]},"additionalProperties":false,"patternProperties":{"größe":{}}}`)
	email, size := f.Name("user[email]"), f.Name("größe")
	restore := func(text string) (string, error) {
		v, err := schema.Read([]byte(text), 100)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Restore(v)
		return string(got.Text()), err
	}
	for _, c := range []struct{ given, want string }{
		{fmt.Sprintf(`{"%s":"a@b","in":{"%s": 1.50},"l":[{"%s":12345678901234567890}]}`, email, size, size), `{"user[email]":"a@b","in":{"größe":1.50},"l":[{"größe":12345678901234567890}]}`},
		{`{"user[email]": "a@b"}`, `{"user[email]": "a@b"}`},
		{fmt.Sprintf(`{"in": %q}`, size), fmt.Sprintf(`{"in": %q}`, size)},
		{`[]`, `[]`},
	} {
		if got, err := restore(c.given); got != c.want || err != nil {
			t.Errorf("%s is %s, %v; want %s", c.given, got, err, c.want)
		}
	}
	if got, err := restore(fmt.Sprintf(`{"in":{"%s":1,"größe":2}}`, size)); err == nil {
		t.Errorf("both names of one property are %s", got)
	}
	err := s.Validate([]byte(`{"user[email]":1,"in":{"größe":"x"},"one":{},"other":1}`))
	var v *schema.Violations
	if !errors.As(err, &v) {
		t.Fatal(err)
	}
	var got []string
	for _, x := range v.Named(f.Name) {
		got = append(got, x.Pointer+" "+x.Message)
	}
	told := strings.Join(got, "\n")
	want := fmt.Sprintf(`/%[2]s "%[2]s" is required when "%[1]s" is there
/in/%[2]s "in.%[2]s" must be an integer, but is a string
/one "one" must match at least one of the allowed forms ("one.%[1]s" is required; or: "one" must be null, but is an object)
/other "other" is not a known field
/%[1]s "%[1]s" must be a string, but is a number`, email, size)
	if sorted := sortLines(told); sorted != sortLines(want) {
		t.Errorf("told\n%s\nwant\n%s", told, want)
	}
	if p := f.Pointer("/in/größe/0"); p != "/in/"+size+"/0" {
		t.Error(p)
	}
}

func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	for range lines {
		for i := 1; i < len(lines); i++ {
			if lines[i] < lines[i-1] {
				lines[i], lines[i-1] = lines[i-1], lines[i]
			}
		}
	}
	return strings.Join(lines, "\n")
}

// TestOneRoot: a root of alternatives is one object for clients, and the alternatives are words.
// The schema itself is as strict as before. E2.
func TestOneRoot(t *testing.T) {
	for _, c := range []struct{ why, raw, want, forms string }{
		{"forms of payment", `{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"oneOf":[
			{"title":"By card","properties":{"kind":{"const":"card"},"number":{"type":"string"},"cvc":{}},"required":["kind","number"]},
			{"properties":{"kind":{"enum":["cash","check"]},"number":{"type":"string"}},"required":["kind"]}]}`,
			`{"type":"object","properties":{"sum":{"type":"number"},"kind":{"enum":["card","cash","check"]},"number":{"type":"string"},"cvc":{}},"required":["sum","kind"]}`,
			"The arguments have exactly one of these forms:\n- By card: with kind = \"card\", number; optional cvc\n- with kind; optional number"},
		{"one or the other", `{"type":"object","properties":{"id":{},"name":{}},"anyOf":[{"required":["id"]},{"required":["name"]},{}]}`, `{"type":"object","properties":{"id":{},"name":{}}}`,
			"The arguments have at least one of these forms:\n- with id\n- with name\n- anything else"},
		{"parts", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"$ref":"#/$defs/b"}],"$defs":{"b":{"properties":{"b":{"$ref":"#/$defs/b"},"a":{"type":"null"}},"required":["b"]}}}`,
			`{"type":"object","$defs":{"b":{"properties":{"b":{"$ref":"#/$defs/b"},"a":{"type":"null"}},"required":["b"]}},"properties":{"a":{"anyOf":[{},{"type":"null"}]},"b":{"$ref":"#/$defs/b"}},"required":["a","b"]}`, ""},
		{"the root refers", `{"$ref":"#/definitions/x","definitions":{"x":{"type":"object","oneOf":[{"properties":{"a b":{"const":1}}},{"properties":{"a b":{"const":2}}}]}}}`,
			`{"type":"object","definitions":{"x":{"type":"object","oneOf":[{"properties":{"a_b_c8687a":{"const":1,"title":"a b"}}},{"properties":{"a_b_c8687a":{"const":2,"title":"a b"}}}]}},"properties":{"a_b_c8687a":{"enum":[1,2]}}}`,
			"The arguments have exactly one of these forms:\n- optional a_b_c8687a = 1\n- optional a_b_c8687a = 2"},
		{"what is not allowed", `{"type":"object","properties":{"a":{}},"not":{"required":["a"]},"enum":[{"a":1}]}`, `{"type":"object","properties":{"a":{}}}`, ""},
		{"something refers to an alternative", `{"type":"object","title":"T","oneOf":[{"properties":{"a":{"type":"null"},"b":{"$ref":"#/oneOf/0/properties/a"}}}]}`, `{"type":"object","title":"T","properties":{}}`,
			"The arguments have exactly one of these forms:\n- optional a, b"},
		{"alternatives elsewhere stay", `{"type":"object","properties":{"a":{"oneOf":[{},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"oneOf":[{},{"type":"null"}]}}}`, ""},
	} {
		s, f := adapted(t, c.raw)
		if string(f.JSON) != c.want || f.Forms != c.forms {
			t.Errorf("%s:\n%s\n%s\n%s", c.why, f.JSON, c.want, f.Forms)
		}
		faithful := s.ForClients(true)
		if strings.Contains(c.raw, "oneOf") != strings.Contains(string(faithful.JSON), "oneOf") || faithful.Forms != "" {
			t.Errorf("%s: faithful is %s", c.why, faithful.JSON)
		}
	}
}

// TestManyForms: a hostile root costs no more than its size.
func TestManyForms(t *testing.T) {
	var forms []string
	for i := range 1500 {
		forms = append(forms, fmt.Sprintf(`{"properties":{"a":{"const":%d}}}`, i))
	}
	_, f := adapted(t, `{"oneOf":[`+strings.Join(forms[:900], ",")+`]}`)
	if len(f.Forms) > 4<<10 || !strings.Contains(f.Forms, "and 880 more") {
		t.Errorf("%d bytes: %s", len(f.Forms), f.Forms)
	}
	double := `{"$ref":"#/$defs/d0","$defs":{"d10":{"properties":{"x":{}}}`
	for i := range 10 {
		double += fmt.Sprintf(`,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	if _, f := adapted(t, double+"}}"); !strings.Contains(string(f.JSON), `"properties":{"x":{}}`) {
		t.Errorf("%s", f.JSON)
	}
}

var legal = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// FuzzAdapted: whatever is admitted, APIs of models take what clients get, and names go back.
func FuzzAdapted(f *testing.F) {
	f.Add(`{"properties":{"a b":{"properties":{"ö":{}}}},"oneOf":[{"$ref":"#/properties/a%20b"},{"required":["a b"]}]}`)
	f.Add(`{"allOf":[{"anyOf":[{"properties":{"":true}}]}],"dependencies":{"x y":["z"]},"$defs":{"ä":{"$ref":"#"}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := schema.Compile([]byte(raw), schema.Limits{})
		if err != nil {
			return
		}
		form := s.ForClients(false)
		root, err := schema.Read(form.JSON, 200)
		if err != nil || root.Get("type").String() != "object" || !root.Get("properties").IsObject() {
			t.Fatalf("%v: %s", err, form.JSON)
		}
		for _, refused := range []string{"oneOf", "anyOf", "allOf", "enum", "not", "$ref"} {
			if root.Get(refused).Exists() {
				t.Fatalf("%s: %s", refused, form.JSON)
			}
		}
		for name := range root.Get("properties").Members() {
			if !legal.MatchString(name) {
				t.Fatalf("%q: %s", name, form.JSON)
			}
		}
		names, _ := s.Words()
		for _, name := range names {
			text, _ := json.Marshal(map[string]int{form.Name(name): 1})
			v, err := schema.Read(text, 10)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := form.Restore(v); err != nil || !legal.MatchString(form.Name(name)) || !back.Get(name).Exists() {
				t.Fatalf("%q is %q, and %s", name, form.Name(name), back.Text())
			}
		}
	})
}
