package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

// kinds has a schema of each kind that pages were seen to have, and of each that an API or a client
// was seen to refuse: each is a property of a tool. Clients get want. C1.
var kinds = []struct{ why, raw, want string }{
	// The cases of the finding.
	{"array without items", `{"type":"array"}`, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}}`},
	{"tuple of draft 7", `{"type":"array","items":[{"type":"number"},{"type":"number","title":"Y"}],"additionalItems":false}`,
		`{"type":"array","maxItems":2,"items":{"type":"number"},"description":"Items in this order: {\"type\":\"number\"}, Y {\"type\":\"number\"}, and no more."}`},
	{"exclusive bound of draft 4", `{"type":"number","minimum":0,"exclusiveMinimum":true}`, `{"type":"number","minimum":0,"description":"More than 0."}`},
	{"definitions", `{"$ref":"#/properties/x/definitions/D","definitions":{"D":{"type":"object","properties":{"d":{"type":"string"}}}}}`,
		`{"type":"object","properties":{"d":{"type":"string"}}}`},
	// More of their kinds.
	{"list of types with an array", `{"type":["array","null"],"description":"Tags"}`,
		`{"type":"array","description":"Tags. null is allowed, too.","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}}`},
	{"array in anyOf, which has company", `{"anyOf":[{"type":"array","minItems":1},{"type":"string"}],"description":"One or many"}`,
		`{"anyOf":[{"type":"string","description":"One or many"},{"type":"array","minItems":1,"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}}]}`},
	{"array of arrays", `{"type":"array","items":{"type":"array","items":{"type":"number"}}}`, `{"type":"array","items":{"type":"array","items":{"type":"number"}}}`},
	{"items true", `{"type":"array","items":true}`, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}},{"type":"object"}]}}`},
	{"tuple of 2020-12", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`,
		`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"description":"Items in this order: {\"type\":\"string\"}, {\"type\":\"integer\"}."}`},
	{"exclusive bounds of whole numbers", `{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10}`, `{"type":"integer","minimum":1,"maximum":9}`},
	{"exclusive bounds of numbers", `{"type":"number","exclusiveMinimum":0.5}`, `{"type":"number","minimum":0.5,"description":"More than 0.5."}`},
	{"anything", `{}`, `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}},{"type":"object"}]}`},
	{"a description only", `{"description":"Words"}`, `{"anyOf":[{"type":"string","description":"Words"},{"type":"number"},{"type":"boolean"},{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}},{"type":"object"}]}`},
	{"a type that its keywords tell", `{"minLength":2}`, `{"type":"string","minLength":2}`},
	{"several types", `{"type":["string","number"],"minLength":2,"minimum":1,"description":"Size"}`,
		`{"anyOf":[{"type":"string","minLength":2,"description":"Size"},{"type":"number","minimum":1}]}`},
	{"nullable, by a list", `{"type":["string","null"],"default":null}`, `{"type":"string","default":null,"description":"null is allowed, too."}`},
	{"nullable, by anyOf", `{"anyOf":[{"type":"string","description":"Name"},{"type":"null"}],"default":null,"title":"T"}`,
		`{"type":"string","default":null,"title":"T","description":"Name. null is allowed, too."}`},
	{"null", `{"type":"null"}`, `{"type":"null"}`},
	{"list of texts", `{"enum":["a","b"]}`, `{"type":"string","enum":["a","b"]}`},
	{"list of numbers", `{"type":"integer","enum":[3,1,2],"description":"Stars"}`, `{"type":"integer","minimum":1,"maximum":3,"description":"Stars. One of 3, 1, 2."}`},
	{"list with an empty text", `{"type":"string","enum":["","asc"]}`, `{"type":"string","enum":["asc"],"description":"\"\" is allowed, too."}`},
	{"list with null", `{"type":["string","null"],"enum":["a",null]}`, `{"type":"string","enum":["a"],"description":"null is allowed, too."}`},
	{"list of several types", `{"enum":["auto",0,1]}`, `{"anyOf":[{"type":"string","enum":["auto"]},{"type":"integer","minimum":0,"maximum":1,"description":"One of 0, 1."}]}`},
	{"list of booleans", `{"type":"boolean","enum":[true]}`, `{"type":"boolean","description":"Always true."}`},
	{"constant text", `{"const":"card"}`, `{"type":"string","enum":["card"]}`},
	{"constant number", `{"const":5}`, `{"type":"integer","minimum":5,"maximum":5,"description":"Always 5."}`},
	{"titled constants", `{"oneOf":[{"const":"a","title":"Apple"},{"const":"b","title":"Pear"}]}`,
		`{"type":"string","enum":["a","b"],"description":"One of:\n- \"a\": Apple\n- \"b\": Pear"}`},
	{"formats", `{"type":"string","format":"email","description":"Where to."}`, `{"type":"string","description":"Where to. Format: email."}`},
	{"a format that stays", `{"type":"string","format":"date-time"}`, `{"type":"string","format":"date-time"}`},
	{"formats of numbers", `{"type":"integer","format":"int32"}`, `{"type":"integer","format":"int32"}`},
	{"a format of another type", `{"type":"number","format":"int32"}`, `{"type":"number","description":"Format: int32."}`},
	{"multiples", `{"type":"number","multipleOf":0.5}`, `{"type":"number","description":"A multiple of 0.5."}`},
	{"different items", `{"type":"array","items":{"type":"string"},"uniqueItems":true}`, `{"type":"array","items":{"type":"string"},"description":"No item twice."}`},
	{"some items", `{"type":"array","items":{"type":"string"},"contains":{"const":"a"},"minContains":2}`,
		`{"type":"array","items":{"type":"string"},"description":"At least 2 of the items: {\"const\":\"a\"}."}`},
	{"not", `{"type":"string","not":{"enum":["root"]}}`, `{"type":"string","description":"Not: {\"enum\":[\"root\"]}."}`},
	{"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"minProperties":2}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"description":"If {\"required\":[\"a\"]}, then {\"minProperties\":2}."}`},
	{"dependent", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"description":"With a, also b."}`},
	{"required and not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"description":"Required, too: b."}`},
	{"a map", `{"type":"object","additionalProperties":{"type":"array"}}`,
		`{"type":"object","additionalProperties":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"}]}}}`},
	{"a map by names", `{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`,
		`{"type":"object","description":"Properties named like ^x-: {\"type\":\"string\"}."}`},
	{"a property that must not be", `{"type":"object","properties":{"a":false,"b":{"type":"string"}},"required":["b"]}`,
		`{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"description":"Without a."}`},
	{"parts", `{"allOf":[{"type":"object","properties":{"a":{"type":"string","minLength":1}}},{"properties":{"a":{"maxLength":5},"b":{"type":"boolean"}},"required":["b"]}]}`,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":5},"b":{"type":"boolean"}},"required":["b"]}`},
	{"forms", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"card"},"n":{"type":"string"}},"required":["kind","n"]},{"type":"object","properties":{"kind":{"const":"cash"}},"required":["kind"]}]}`,
		`{"type":"object","properties":{"kind":{"type":"string","enum":["card","cash"]},"n":{"type":"string"}},"required":["kind"],"description":"It has exactly one of these forms:\n- with kind = \"card\", n\n- with kind = \"cash\""}`},
	{"kinds of text", `{"anyOf":[{"type":"string","format":"date"},{"type":"string","pattern":"^now$"}]}`,
		`{"type":"string","description":"At least one of these holds:\n- string. format \"date\"\n- string. pattern \"^now$\""}`},
	{"a schema inside of itself", `{"type":"object","properties":{"name":{"type":"string"},"in":{"$ref":"#/properties/x"}}}`,
		`{"type":"object","properties":{"name":{"type":"string"},"in":{"type":"object","properties":{"name":{"type":"string"},"in":{"type":"object","description":"The same form again."}}}}}`},
	{"words that nobody knows", `{"type":"string","x-order":1,"enumNames":["A"],"markdownDescription":"M","$comment":"C"}`, `{"type":"string"}`},
	{"a value twice", `{"type":"string","enum":["a","a","b"]}`, `{"type":"string","enum":["a","b"]}`},
	{"a number twice", `{"enum":[1,1.0,2]}`, `{"type":"integer","minimum":1,"maximum":2,"description":"One of 1, 2."}`},
	{"nothing but an empty text", `{"const":""}`, `{"type":"string","description":"Always \"\"."}`},
	{"titled numbers", `{"oneOf":[{"const":1,"title":"One"},{"const":2,"title":"Two"}]}`,
		`{"type":"integer","minimum":1,"maximum":2,"description":"One of:\n- 1: One\n- 2: Two"}`},
	{"titled texts, or null", `{"oneOf":[{"const":"a","title":"Apple"},{"const":"b","title":"Pear"},{"type":"null"}]}`,
		`{"type":"string","enum":["a","b"],"description":"One of:\n- \"a\": Apple\n- \"b\": Pear\nnull is allowed, too."}`},
	{"a list, or null", `{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}],"default":null}`,
		`{"type":"string","default":null,"enum":["a","b"],"description":"null is allowed, too."}`},
	{"constants, or null", `{"anyOf":[{"const":1},{"const":2},{"type":"null"}]}`,
		`{"type":"integer","minimum":1,"maximum":2,"description":"null is allowed, too. One of 1, 2."}`},
	{"a list without null, or null", `{"enum":["a","b"],"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"string","enum":["a","b"]}`},
	{"objects, or null", `{"oneOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},{"type":"object","properties":{"b":{"type":"array","items":{"type":"string"}}}},{"type":"null"}]}`,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":1,"description":"Always 1."},"b":{"type":"array","items":{"type":"string"}}},"description":"It has exactly one of these forms:\n- with a = 1\n- optional b\nnull is allowed, too."}`},
	{"titled numbers, fewer of them", `{"oneOf":[{"const":1,"title":"One"},{"const":2,"title":"Two"}],"enum":[2]}`,
		`{"type":"integer","minimum":2,"maximum":2,"description":"One of:\n- 1: One\n- 2: Two\nAlways 2."}`},
	{"only required", `{"type":"object","required":["q"]}`, `{"type":"object","description":"Required, too: q."}`},
	{"no more items", `{"type":"array","prefixItems":[{"type":"string"}],"unevaluatedItems":false}`,
		`{"type":"array","items":{"type":"string"},"description":"No other items. Items in this order: {\"type\":\"string\"}."}`},
	{"what is encoded", `{"type":"string","contentMediaType":"application/json","contentSchema":{"type":"array"}}`,
		`{"type":"string","description":"Its content is \"application/json\". Its content fits {\"type\":\"array\"}."}`},
	{"types that exclude each other", `{"type":"object","properties":{"a":{"type":"string","enum":[1,2]},"b":{"allOf":[{"type":"string"},{"type":"integer"}]},"c":{"type":"null"}}}`,
		`{"type":"object","properties":{"c":{"type":"null"}},"description":"Without a. Without b."}`},
	{"deprecated", `{"type":"string","deprecated":true,"readOnly":false}`, `{"type":"string","description":"Deprecated."}`},
	{"plain", `{"type":"object","properties":{"q":{"type":"string","description":"Words","maxLength":10}},"required":["q"],"additionalProperties":false}`,
		`{"type":"object","properties":{"q":{"type":"string","description":"Words","maxLength":10}},"required":["q"],"additionalProperties":false}`},
}

// draftOf is the draft that a kind is written in.
func draftOf(raw string) string {
	switch {
	case strings.Contains(raw, `"exclusiveMinimum":true`):
		return `"$schema":"http://json-schema.org/draft-04/schema#",`
	case strings.Contains(raw, `"items":[`), strings.Contains(raw, `"definitions"`):
		return `"$schema":"http://json-schema.org/draft-07/schema#",`
	}
	return ""
}

// strict fails where a subset refuses what clients get.
func strict(t *testing.T, f *schema.ClientForm) {
	t.Helper()
	for _, subset := range schema.Subsets() {
		if refused := subset.Check(f.JSON); len(refused) > 0 {
			t.Errorf("%s refuses %s: %q", subset.Name, f.JSON, refused)
		}
	}
}

func TestEverySubsetTakesEveryKind(t *testing.T) {
	for _, c := range kinds {
		raw := `{` + draftOf(c.raw) + `"type":"object","properties":{"x":` + c.raw + `}}`
		want := `{"type":"object","properties":{"x":` + c.want + `}}`
		s, f := adapted(t, raw)
		if string(f.JSON) != want {
			t.Errorf("%s:\n%s\n%s", c.why, f.JSON, want)
		}
		strict(t, f)
		again, err := schema.Compile(f.JSON, schema.Limits{})
		if err != nil {
			t.Errorf("%s: what clients get is refused: %v", c.why, err)
			continue
		}
		if twice := again.ForClients(false); string(twice.JSON) != string(f.JSON) || len(twice.Notes) > 0 {
			t.Errorf("%s: once more it is %s, %q", c.why, twice.JSON, twice.Notes)
		}
		// What the page takes, clients may send: the page's own samples fit what clients see.
		for _, sample := range schema.Samples(s.JSON(), false) {
			if err := again.Validate(sample.Input); sample.Valid && err != nil && !strings.Contains(c.want, "is allowed, too") {
				t.Errorf("%s: clients would not send %s: %v", c.why, sample.Input, err)
			}
		}
	}
}

// TestSubsetsRefuse is the control: each subset refuses what it was seen to refuse.
func TestSubsetsRefuse(t *testing.T) {
	for _, c := range []struct{ raw, by string }{
		{`{"type":"object","properties":{"x":{"type":"array"}}}`, "openai gemini vscode"},
		{`{"type":"object","properties":{"x":{"type":["array","null"]}}}`, "openai gemini vscode"},
		{`{"type":"object","properties":{"x":{"type":"array","items":[{"type":"number"}]}}}`, "anthropic claude-code openai gemini vscode"},
		{`{"type":"object","properties":{"x":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, "anthropic claude-code gemini"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, "anthropic claude-code gemini"},
		{`{"type":"object","anyOf":[{"required":["a"]}]}`, "anthropic claude-code openai gemini"},
		{`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`, "claude-code openai gemini vscode"},
		{`{"type":"object","properties":{"user[email]":{"type":"string"}}}`, "anthropic claude-code"},
		{`{"type":"object","properties":{"x":{"type":"integer","enum":[1,2]}}}`, "gemini"},
		{`{"type":"object","properties":{"x":{"type":"string","enum":[""]}}}`, "gemini"},
		{`{"type":"object","properties":{"x":{"type":"string","format":"email"}}}`, "gemini"},
		{`{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"number"}],"description":"X"}}}`, "gemini"},
		{`{"type":"object","properties":{"x":{"description":"X"}}}`, "gemini"},
		{`{"type":"object","properties":{"x":{"type":"object","required":["y"]}}}`, "gemini"},
		{`{"type":"object","properties":{"x":{"type":"string","not":{"const":"a"}}}}`, "openai gemini"},
		{`{"type":"object","properties":{"x":{"$dynamicRef":"#"}}}`, "gemini vscode"},
		{`{"type":"array"}`, "anthropic claude-code openai gemini vscode"},
	} {
		var by []string
		for _, subset := range schema.Subsets() {
			if len(subset.Check(json.RawMessage(c.raw))) > 0 {
				by = append(by, subset.Name)
			}
		}
		if got := strings.Join(by, " "); got != c.by {
			t.Errorf("%s is refused by %s, want %s", c.raw, got, c.by)
		}
	}
	for _, subset := range schema.Subsets() {
		if subset.Date == "" || len(subset.Source) == 0 || subset.Title == "" || subset.Note == "" {
			t.Errorf("%s has no date, source, title or note", subset.Name)
		}
	}
}

// TestOneNameInOneSchema: defaults and examples have the names that clients know. C10.
func TestOneNameInOneSchema(t *testing.T) {
	for _, c := range []struct{ why, raw, want string }{
		{"of an object", `{"type":"object","required":["address"],"properties":{"address":{"type":"object","properties":{"zip code":{"type":"string"}},"default":{"zip code":"1000"},"examples":[{"zip code":"2000"}]}}}`,
			`{"type":"object","required":["address"],"properties":{"address":{"type":"object","properties":{"zip_code_f91482":{"type":"string","title":"zip code"}},"default":{"zip_code_f91482":"1000"},"examples":[{"zip_code_f91482":"2000"}]}}}`},
		{"of the root", `{"type":"object","properties":{"b c":{"type":"string"}},"default":{"b c":"x"},"examples":[{"b c":"y"}]}`,
			`{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"}},"default":{"b_c_47d8a4":"x"},"examples":[{"b_c_47d8a4":"y"}]}`},
		{"in a list", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"b c":{"type":"string"}}},"default":[{"b c":"x"}]}}}`,
			`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"}}},"default":[{"b_c_47d8a4":"x"}]}}}`},
		{"of one that encloses it", `{"type":"object","properties":{"o":{"type":"object","default":{"in":{"b c":"x"}},"properties":{"in":{"type":"object","properties":{"b c":{"type":"string"}}}}}}}`,
			`{"type":"object","properties":{"o":{"type":"object","default":{"in":{"b_c_47d8a4":"x"}},"properties":{"in":{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"}}}}}}}`},
		{"a list of values", `{"type":"object","properties":{"o":{"type":"object","properties":{"b c":{"type":"string"}},"enum":[{"b c":"x"}]}}}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"}},"description":"Always {\"b_c_47d8a4\":\"x\"}."}}}`},
		{"what is required", `{"type":"object","properties":{"b c":{"type":"string"},"d":{"type":"string"}},"required":["b c"],"additionalProperties":false}`,
			`{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"},"d":{"type":"string"}},"required":["b_c_47d8a4"],"additionalProperties":false}`},
		{"conditions", `{"type":"object","properties":{"o":{"type":"object","properties":{"b c":{"type":"string"}},"not":{"required":["b c"]},"dependentRequired":{"b c":["b c"]}}}}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"b_c_47d8a4":{"type":"string","title":"b c"}},"description":"Not: {\"required\":[\"b_c_47d8a4\"]}. With b_c_47d8a4, also b_c_47d8a4."}}}`},
	} {
		_, f := adapted(t, c.raw)
		if string(f.JSON) != c.want {
			t.Errorf("%s:\n%s\n%s", c.why, f.JSON, c.want)
		}
		strict(t, f)
	}
}

// TestPropertiesOfEveryObject: a name that every object of JavaScript has is another one to
// clients, and comes back. C5.
func TestPropertiesOfEveryObject(t *testing.T) {
	for _, name := range []string{"constructor", "__proto__", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "__defineGetter__", "__lookupSetter__", "toLocaleString", "propertyIsEnumerable"} {
		_, f := adapted(t, `{"type":"object","properties":{"`+name+`":{"type":"string"}},"required":["`+name+`"]}`)
		shown := f.Name(name)
		if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,57}_[0-9a-f]{6}$`).MatchString(shown) || strings.Contains(string(f.JSON), `"`+name+`":`) {
			t.Errorf("%s is %s: %s", name, shown, f.JSON)
		}
		v, err := schema.Read([]byte(`{"`+shown+`":"x"}`), 10)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := f.Restore(v); err != nil || string(back.Text()) != `{"`+name+`":"x"}` {
			t.Errorf("%s comes back as %s, %v", shown, back.Text(), err)
		}
	}
	for _, name := range []string{"Constructor", "prototype", "name", "length", "__proto", "tostring"} {
		if _, f := adapted(t, `{"type":"object","properties":{"`+name+`":{"type":"string"}}}`); f.Name(name) != name {
			t.Errorf("%s is %s", name, f.Name(name))
		}
	}
}

// TestAdaptedIsBounded: a hostile schema costs little more than its size, however often its parts
// refer to each other.
func TestAdaptedIsBounded(t *testing.T) {
	var wide, deep strings.Builder
	for i := range 10 {
		deep.WriteString(`"d` + string(rune('0'+i)) + `":{"type":"object","description":"` + strings.Repeat("x", 500) + `","properties":{"a":{"$ref":"#/$defs/d` + string(rune('0'+(i+1)%10)) +
			`"},"b":{"$ref":"#/$defs/d` + string(rune('0'+(i+3)%10)) + `"},"c":{"$ref":"#/$defs/d` + string(rune('0'+(i+7)%10)) + `"}}},`)
	}
	for range 700 {
		wide.WriteString(`{"$ref":"#/$defs/d0"},`)
	}
	defs := `"$defs":{` + strings.TrimSuffix(deep.String(), ",") + `}`
	var names strings.Builder
	for i := range 6000 {
		names.WriteString(`"n` + strconv.Itoa(i) + `",`)
	}
	many := func(n int) string {
		list := make([]string, 0, 2*n)
		for i := range n {
			list = append(list, strconv.Itoa(i), `"`+strconv.Itoa(i)+`"`)
		}
		return strings.Join(list, ",")
	}
	for why, raw := range map[string]string{
		"references in references": `{"$ref":"#/$defs/d0",` + defs + `}`,
		"many of them":             `{"anyOf":[` + strings.TrimSuffix(wide.String(), ",") + `],` + defs + `}`,
		"a list of many":           `{"properties":{"a":{"enum":[` + many(5000) + `]}}}`,
		"what is required":         `{"required":[` + names.String() + `"z"]}`,
	} {
		_, f := adapted(t, raw)
		if most := 4*len(raw) + 16<<10; len(f.JSON)+len(f.Forms) > most {
			t.Errorf("%s: %d bytes of %d", why, len(f.JSON)+len(f.Forms), len(raw))
		}
		strict(t, f)
	}
}

// TestSubsetsTakeTheTestSuite: scripts/schemas.sh fetches the examples of the JSON Schema test
// suite.
func TestSubsetsTakeTheTestSuite(t *testing.T) {
	gatetest.Landing(t)
	folder := os.Getenv("PAGETOOLS_SCHEMAS")
	if folder == "" {
		t.Skip("NOT CHECKED: the JSON Schema test suite. PAGETOOLS_SCHEMAS is the folder that scripts/schemas.sh prints")
	}
	files, err := filepath.Glob(filepath.Join(folder, "draft*", "*.json"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d tests in %s: %v", len(files), folder, err)
	}
	admitted := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct{ Schema json.RawMessage }
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, group := range groups {
			raw := `{"type":"object","properties":{"x":` + string(group.Schema) + `}}`
			if s, err := schema.Compile([]byte(raw), schema.Limits{}); err == nil {
				strict(t, s.ForClients(false))
				admitted++
			}
			if s, err := schema.Compile(group.Schema, schema.Limits{}); err == nil {
				strict(t, s.ForClients(false))
				admitted++
			}
		}
	}
	t.Logf("%d schemas of %d files", admitted, len(files))
	if admitted < 500 {
		t.Errorf("only %d schemas were admitted", admitted)
	}
}
