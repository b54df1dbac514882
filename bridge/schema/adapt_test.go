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
		{"legal", `{"type":"object","properties":{"a.b-C_1":{"type":"string"},"__proto":{"type":"null"}},"required":["a.b-C_1"]}`, `{"type":"object","properties":{"a.b-C_1":{"type":"string"},"__proto":{"type":"null"}},"required":["a.b-C_1"]}`},
		{"a form", `{"type":"object","properties":{"user[email]":{"type":"string"},"tags[]":{"title":"Tags","type":"array","items":{"type":"string"}}},"required":["user[email]","tags[]"]}`,
			`{"type":"object","properties":{"user_email_5672de":{"type":"string","title":"user[email]"},"tags_265461":{"title":"Tags","type":"array","items":{"type":"string"}}},"required":["user_email_5672de","tags_265461"]}`},
		{"nothing legal in it", `{"type":"object","properties":{"größe":{"type":"string"},"":{"type":"string"},"値段":{"type":"string"}}}`, `{"type":"object","properties":{"gr_e_d353a2":{"type":"string","title":"größe"},"_e3b0c4":{"type":"string"},"_801822":{"type":"string","title":"値段"}}}`},
		{"long", `{"type":"object","properties":{"` + long + `":{"type":"string"}}}`, `{"type":"object","properties":{"` + long[:57] + `_d929cd":{"type":"string","title":"` + long + `"}}}`},
		{"deep, and the same everywhere", `{"type":"object","properties":{"a":{"items":{"properties":{"b c":{"type":"string"}},"required":["b c"]}},"b c":{"additionalProperties":{"properties":{"b c":{"type":"null"}}}}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"}},"required":["b_c_47d8a4"]}},"b_c_47d8a4":{"type":"object","additionalProperties":{"type":"object","properties":{"b_c_47d8a4":{"type":"null","title":"b c"}}},"title":"b c"}}}`},
		{"several types", `{"type":"object","properties":{"b c":{"type":["string","boolean"]}}}`, `{"type":"object","properties":{"b_c_47d8a4":{"anyOf":[{"type":"string","title":"b c"},{"type":"boolean"}]}}}`},
		{"references", `{"type":"object","properties":{"b c":{"properties":{"properties":{"type":"null"}}},"d":{"$ref":"#/properties/b%20c/properties/properties"},"e":{"$ref":"#/x/y"}},"x":{"y":{"properties":{"b c":{"type":"null"}}}}}`,
			`{"type":"object","properties":{"b_c_47d8a4":{"type":"object","properties":{"properties":{"type":"null"}},"title":"b c"},"d":{"type":"null"},"e":{"type":"object","properties":{"b_c_47d8a4":{"type":"null","title":"b c"}}}}}`},
		{"taken already", `{"type":"object","properties":{"b c":{"type":"null"},"b_c_47d8a4":{"type":"null"}}}`, `{"type":"object","properties":{"b_c_7fea16":{"type":"null","title":"b c"},"b_c_47d8a4":{"type":"null"}}}`},
	} {
		_, f := adapted(t, c.raw)
		if string(f.JSON) != c.want {
			t.Errorf("%s:\n%s\n%s", c.why, f.JSON, c.want)
		}
		if (len(f.Notes) == 0) != (string(f.JSON) == c.raw) {
			t.Errorf("%s: notes %q", c.why, f.Notes)
		}
		strict(t, f)
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
			{"title":"By card","properties":{"kind":{"const":"card"},"number":{"type":"string"},"cvc":{"type":"string"}},"required":["kind","number"]},
			{"properties":{"kind":{"enum":["cash","check"]},"number":{"type":"string"}},"required":["kind"]}]}`,
			`{"type":"object","properties":{"sum":{"type":"number"},"kind":{"type":"string","enum":["card","cash","check"]},"number":{"type":"string"},"cvc":{"type":"string"}},"required":["sum","kind"]}`,
			"The arguments have exactly one of these forms:\n- By card: with kind = \"card\", number; optional cvc\n- with kind; optional number"},
		{"one or the other", `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]},{}]}`, `{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}}}`,
			"The arguments have at least one of these forms:\n- with id\n- with name\n- anything else"},
		{"parts", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"$ref":"#/$defs/b"}],"$defs":{"b":{"properties":{"b":{"$ref":"#/$defs/b"},"a":{"type":"null"}},"required":["b"]}}}`,
			`{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"object","properties":{"b":{"type":"object","properties":{"b":{"type":"object","description":"The same form again."},"a":{"type":"null"}},"required":["b"]},"a":{"type":"null"}},"required":["b"]}},"required":["a","b"]}`, ""},
		{"the root refers", `{"$ref":"#/definitions/x","definitions":{"x":{"type":"object","oneOf":[{"properties":{"a b":{"const":1}}},{"properties":{"a b":{"const":2}}}]}}}`,
			`{"type":"object","properties":{"a_b_c8687a":{"type":"integer","title":"a b","minimum":1,"maximum":2,"description":"One of 1, 2."}}}`,
			"The arguments have exactly one of these forms:\n- optional a_b_c8687a = 1\n- optional a_b_c8687a = 2"},
		{"what is not allowed", `{"type":"object","properties":{"a":{"type":"number"}},"not":{"required":["a"]},"enum":[{"a":1}]}`, `{"type":"object","properties":{"a":{"type":"number"}}}`, "Not: {\"required\":[\"a\"]}.\nAlways {\"a\":1}."},
		{"something refers to an alternative", `{"type":"object","title":"T","oneOf":[{"properties":{"a":{"type":"null"},"b":{"$ref":"#/oneOf/0/properties/a"}}}]}`, `{"type":"object","title":"T","properties":{"a":{"type":"null"},"b":{"type":"null"}}}`, ""},
		{"conditions", `{"type":"object","properties":{"a b":{"type":"string"},"c":{"type":"string"}},"if":{"required":["a b"]},"then":{"required":["c"]},"dependentRequired":{"c":["a b"]},"propertyNames":{"maxLength":3}}`,
			`{"type":"object","properties":{"a_b_c8687a":{"type":"string","title":"a b"},"c":{"type":"string"}}}`,
			"If {\"required\":[\"a_b_c8687a\"]}, then {\"required\":[\"c\"]}.\nWith c, also a_b_c8687a.\nNames of properties: {\"maxLength\":3}."},
		{"parts that name several types", `{"properties":{"a":{"oneOf":[{},{"type":"null"}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"null is allowed, too."},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}},{"type":"object"}]}}}`, ""},
	} {
		s, f := adapted(t, c.raw)
		if string(f.JSON) != c.want || f.Forms != c.forms {
			t.Errorf("%s:\n%s\n%s\n%q, want %q", c.why, f.JSON, c.want, f.Forms, c.forms)
		}
		strict(t, f)
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
	if _, f := adapted(t, double+"}}"); !strings.Contains(string(f.JSON), `"properties":{"x":{`) {
		t.Errorf("%s", f.JSON)
	}
}

var legal = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// FuzzAdapted: whatever is admitted, APIs of models take what clients get, and names go back.
func FuzzAdapted(f *testing.F) {
	f.Add(`{"properties":{"a b":{"properties":{"ö":{}}}},"oneOf":[{"$ref":"#/properties/a%20b"},{"required":["a b"]}]}`)
	f.Add(`{"allOf":[{"anyOf":[{"properties":{"":true}}]}],"dependencies":{"x y":["z"]},"$defs":{"ä":{"$ref":"#"}}}`)
	for _, c := range kinds {
		f.Add(`{"properties":{"x":` + c.raw + `}}`)
		f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","anyOf":[` + c.raw + `,{"type":["object","array"]}]}`)
	}
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
		strict(t, form)
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
