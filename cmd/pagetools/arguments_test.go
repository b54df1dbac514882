package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

func TestReadInput(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"b":{"type":"boolean"},"o":{"type":"object"},"a":{"type":"array"},` +
		`"n":{"type":["string","null"]},"m":{"type":["integer","string"]},"x":{},"t":true,` +
		`"e":{"enum":[1,2]},"u":{"anyOf":[{"const":3},{"const":4}]},"f":{"enum":["on","off"]},"r":{"$ref":"#/$defs/r"}},"$defs":{"r":{"type":"integer"}},` +
		`"allOf":[{"properties":{"l":{"type":"boolean"}}}],"patternProperties":{"^x-":{"type":"integer"}}}`)
	tests := []struct {
		pair, want string
	}{
		{"s=1918", `{"s":"1918"}`}, {"s=", `{"s":""}`}, {"s=a=b", `{"s":"a=b"}`}, {`s="q"`, `{"s":"\"q\""}`}, {"s=null", `{"s":"null"}`},
		{"i=7", `{"i":7}`}, {"i=1e2", `{"i":1e2}`}, {"i=seven", ""}, {"i=", ""}, {`i="7"`, ""},
		{"b=true", `{"b":true}`}, {"b=yes", ""}, {`o={"k":1}`, `{"o":{"k":1}}`}, {"o=k", ""}, {"a=[1,2]", `{"a":[1,2]}`}, {"a=1,2", ""},
		{"n=null", `{"n":null}`}, {"n=text", `{"n":"text"}`}, {"m=7", `{"m":7}`}, {"m=seven", `{"m":"seven"}`},
		{"x=1918", `{"x":"1918"}`}, {"x=[1]", `{"x":[1]}`}, {"x=", `{"x":""}`}, {"t=z", `{"t":"z"}`}, {"unknown=1", `{"unknown":"1"}`},
		{"nothing", ""}, {"=x", ""},
		{"e=2", `{"e":2}`}, {"e=x", ""}, {"u=3", `{"u":3}`}, {"f=on", `{"f":"on"}`}, {"r=7", `{"r":7}`}, {"l=true", `{"l":true}`}, {"x-a=4", `{"x-a":4}`},
	}
	for _, test := range tests {
		got, err := readInput(schema, "", []string{test.pair}, strings.NewReader(""))
		if (err != nil) != (test.want == "") || string(got.Text()) != test.want {
			t.Errorf("%s gives %s (%v), want %s", test.pair, got.Text(), err, test.want)
		}
	}
	got, err := readInput(schema, `{"i":1,"s":"a"}`, []string{"s=b", "s=c"}, nil)
	if err != nil || string(got.Text()) != `{"i":1,"s":"c"}` {
		t.Errorf("pairs over --input give %s (%v)", got.Text(), err)
	}
	got, err = readInput(schema, "-", nil, strings.NewReader(`{"i":2}`))
	if err != nil || string(got.Text()) != `{"i":2}` {
		t.Errorf("standard input gives %s (%v)", got.Text(), err)
	}
	for _, bad := range []string{"{", `{"a":1}{}`, `{"a":1,"a":2}`, "@/nowhere/x.json", "@", "@.", "@\x00", "null"} {
		if _, err := readInput(schema, bad, nil, nil); err == nil {
			t.Errorf("--input %s is taken", bad)
		}
	}
	if _, err := readInput(schema, "[]", []string{"s=b"}, nil); err == nil {
		t.Error("pairs are added to an array")
	}
}

// TestWhatParametersTake (U5): all that a caller needs to write a right call is in the list.
func TestWhatParametersTake(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"integer","minimum":1,"maximum":8}`:                                     "integer, 1 to 8",
		`{"type":"string","enum":["inside","terrace"],"default":"inside"}`:               "inside or terrace, inside by default",
		`{"type":"number","exclusiveMinimum":0,"multipleOf":0.5}`:                        "number, more than 0, a multiple of 0.5",
		`{"type":"string","minLength":2,"maxLength":10,"pattern":"^[a-z]+$"}`:            "string, 2 to 10 characters, matching ^[a-z]+$",
		`{"type":"string","format":"date","default":""}`:                                 `string, as a date, "" by default`,
		`{"type":"array","items":{"enum":["a",1,null]},"maxItems":3,"uniqueItems":true}`: "array of a, 1 or null, at most 3 items, each once",
		`{"const":true}`: "only true",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`: "string or null",
		`{"$ref":"#/$defs/day"}`:                        "mon or tue",
		`{"type":["boolean","null"],"default":null}`:    "boolean or null, null by default",
		`true`: "any",
		`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`:     "object | x.city: string, required",
		`{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"}}}}`: "array of object | x[].sku: string",
		// as libraries write them
		`{"$ref":"#/$defs/day","default":"tue"}`:                                                         "mon or tue, tue by default",
		`{"allOf":[{"$ref":"#/$defs/day"}],"default":"tue"}`:                                             "mon or tue, tue by default",
		`{"anyOf":[{"$ref":"#/$defs/day"},{"type":"null"}],"default":null}`:                              "mon, tue or null, null by default",
		`{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"default":3}`:                         "integer, at least 1, or null, 3 by default",
		`{"anyOf":[{"const":"s","title":"Small"},{"const":"m","title":"Medium"}]}`:                       "s or m",
		`{"type":"string","oneOf":[{"const":"s"},{"const":"m"}]}`:                                        "s or m",
		`{"type":"array","items":{"type":"string","maxLength":5},"minItems":1}`:                          "array of (string, at most 5 characters), at least 1 item",
		`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`:                      "array of string or integer",
		`{"type":"array","items":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2}}`:  "array of (array of number, exactly 2 items)",
		`{"type":"array","prefixItems":[{"type":"number","minimum":-90},{"type":"number"}]}`:             "array of, in this order, (number, at least -90), number",
		`{"type":"object","additionalProperties":{"type":"integer","minimum":0}}`:                        "object | x.*: integer, at least 0 (Any name)",
		`{"type":"object","propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"integer"}}`: "object | x.*: integer (Its names: a or b)",
		`{"type":"object","patternProperties":{"^x-":{"type":"string"}}}`:                                "object | x.*: string (Names that match ^x-)",
		`{"type":"object","minProperties":1}`:                                                            "object, at least 1 member",
		`{"type":"string","contentEncoding":"base64"}`:                                                   "string, as base64",
		`{"enum":["1",1,"a, b","c or d"," e","null"]}`:                                                   `"1", 1, "a, b", "c or d", " e" or "null"`,
		`{"type":"object","oneOf":[{"properties":{"kind":{"const":"card"},"number":{"type":"string"}},"required":["kind","number"]},{"properties":{"kind":{"const":"cash"}},"required":["kind"]}]}`: "object | x.kind: card or cash, required | x.number: string",
		`{"type":"object","required":["a"],"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"],"properties":{"b":{}}}]}`:                                                              "object | x.a: string, required | x.b: any, required",
		`{"type":"object","properties":{"a":{}},"if":{},"then":{"properties":{"b":{"type":"integer"}},"required":["b"]}}`:                                                                           "object | x.a: any | x.b: integer",
	} {
		var lines []string
		for _, p := range nested(json.RawMessage(`{"properties":{"x":` + schema + `},"$defs":{"day":{"enum":["mon","tue"]}}}`)) {
			line := p.takes
			if p.description != "" {
				line += " (" + p.description + ")"
			}
			if p.name != "x" {
				line = p.name + ": " + line
			}
			if p.required {
				line += ", required"
			}
			lines = append(lines, line)
		}
		if got := strings.Join(lines, " | "); got != want {
			t.Errorf("%s takes %s, want %s", schema, got, want)
		}
	}
	wide := `{"properties":{"a":{"$ref":"#/$defs/w"}},"$defs":{"w":{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/w"},`, 300) + `{}]}}}`
	if n := len(nested(json.RawMessage(wide))); n != 1 {
		t.Errorf("%d parameters", n)
	}
	deep := `{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"items":{"$ref":"#"}},"d":{"anyOf":[{"$ref":"#"}]}}}`
	if n := len(nested(json.RawMessage(deep))); n > maxListed {
		t.Errorf("%d parameters", n)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	got := parameters(json.RawMessage(`{"properties":{"z":{"type":"string","description":"d"},"a":{"type":["integer","null"]},"m":true},"required":["a"]}`))
	names := make([]string, 0, len(got))
	for _, p := range got {
		names = append(names, p.name)
	}
	if !slices.Equal(names, []string{"z", "a", "m"}) || got[0].description != "d" || !got[1].required || got[2].types[0] != "any" {
		t.Errorf("parameters gives %+v", got)
	}
	for _, odd := range []string{``, `null`, `[]`, `{"properties":7}`, `{"properties":[]}`, `{"properties":{"a":7}}`} {
		parameters(json.RawMessage(odd)) // must not panic
	}
}

// TestMisspelled (U15): an argument that is nearly a declared one is named, at any depth, and one
// that the schema declares in another way is not.
func TestMisspelled(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"text":{"type":"string"},"line":{},"address":{"$ref":"#/$defs/address"},
		"items":{"type":"array","items":{"type":"object","properties":{"count":{"type":"integer"}}}}},
		"allOf":[{"properties":{"texts":{"type":"string"}}}],"anyOf":[{"properties":{"colour":{}}},{"properties":{"weight":{}}}],
		"patternProperties":{"^line[0-9]+$":{}},"$defs":{"address":{"properties":{"street":{},"city":{}}}}}`
	for given, want := range map[string]string{
		`{"txt":"b"}`:                          "txt: text",
		`{"Text":"b"}`:                         "Text: text",
		`{"text":"a","tetx":"b"}`:              "tetx: text",
		`{"texts":"b"}`:                        "",
		`{"textss":"b"}`:                       "textss: texts",
		`{"line1":"b"}`:                        "",
		`{"lines":"b"}`:                        "lines: line",
		`{"address":{"stret":"b","city":"c"}}`: "address.stret: address.street",
		`{"adddress":{"stret":"b"}}`:           "adddress: address",
		`{"items":[{"count":1},{"cuont":2},{"cuont":3}]}`: "items.cuont: items.count, items.cuont: items.count",
		`{"color":1}`:            "color: colour",
		`{"weigth":1,"other":2}`: "weigth: weight",
		`{"items":{"cuont":2},"address":[{"stret":1}]}`: "",
		`[]`: "",
	} {
		v, err := bridge.ReadValue("the arguments", json.RawMessage(given))
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		misspelled(json.RawMessage(schema), v, func(name, near string) { said = append(said, name+": "+near) })
		if got := strings.Join(said, ", "); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// TestBeginning (U13): so much of an ID as no other has is enough.
func TestBeginning(t *testing.T) {
	t.Parallel()
	all := []string{"ABCDEF", "ABCXYZ", "QRSTUV", "ab-lower"}
	for id, want := range map[string]string{
		"ABCDEF": "ABCDEF", "abcd": "ABCDEF", "ABCX": "ABCXYZ", "qrs": "QRSTUV", "QRSTUV": "QRSTUV", "AB-": "ab-lower",
		"ABC": "error: \"ABC\" is the beginning of ABCDEF and ABCXYZ", "Q": "error: \"Q\" is too little", "ab": "error: \"ab\" is too little",
		"": "", "ZZZ": "", "QRSTUVW": "", "BCD": "", "Q\x00R": "",
	} {
		got, err := beginning(id, all)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}
