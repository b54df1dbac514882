package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestReadInput(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"b":{"type":"boolean"},"o":{"type":"object"},"a":{"type":"array"},` +
		`"n":{"type":["string","null"]},"m":{"type":["integer","string"]},"x":{},"t":true}}`)
	tests := []struct {
		pair, want string
	}{
		{"s=1918", `{"s":"1918"}`}, {"s=", `{"s":""}`}, {"s=a=b", `{"s":"a=b"}`}, {`s="q"`, `{"s":"\"q\""}`}, {"s=null", `{"s":"null"}`},
		{"i=7", `{"i":7}`}, {"i=1e2", `{"i":1e2}`}, {"i=seven", ""}, {"i=", ""}, {`i="7"`, ""},
		{"b=true", `{"b":true}`}, {"b=yes", ""}, {`o={"k":1}`, `{"o":{"k":1}}`}, {"o=k", ""}, {"a=[1,2]", `{"a":[1,2]}`}, {"a=1,2", ""},
		{"n=null", `{"n":null}`}, {"n=text", `{"n":"text"}`}, {"m=7", `{"m":7}`}, {"m=seven", `{"m":"seven"}`},
		{"x=1918", `{"x":"1918"}`}, {"x=[1]", `{"x":[1]}`}, {"x=", `{"x":""}`}, {"t=z", `{"t":"z"}`}, {"unknown=1", `{"unknown":"1"}`},
		{"nothing", ""}, {"=x", ""},
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
	} {
		var lines []string
		for _, p := range nested(json.RawMessage(`{"properties":{"x":` + schema + `},"$defs":{"day":{"enum":["mon","tue"]}}}`)) {
			line := p.takes
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
