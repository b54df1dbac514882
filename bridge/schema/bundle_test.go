package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
)

// in returns how references of a document are found that has these schemas.
func in(schemas map[string]string) func(ref string) (json.RawMessage, bool) {
	return func(ref string) (json.RawMessage, bool) {
		text, ok := schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
		return json.RawMessage(text), ok
	}
}

// TestBundle: a schema has all that it refers to, once, in the dialect of 2020-12.
func TestBundle(t *testing.T) {
	t.Parallel()
	const to = `{"$ref":"#/components/schemas/`
	schemas := map[string]string{
		"Pet":   `{"type":"object","required":["id","name"],"properties":{"id":{"type":"integer","readOnly":true},"name":{"type":"string","example":"Rex"},"secret":{"type":"string","writeOnly":true},"friend":` + to + `Pet"},"tag":` + to + `a.b"}},"x-go-type":"Pet","discriminator":{"propertyName":"name"}}`,
		"a.b":   `{"type":"string","nullable":true,"enum":["x"]}`,
		"a_b":   `{"type":"integer","minimum":1,"exclusiveMinimum":true}`,
		"True":  `true`,
		"List":  `[1]`,
		"Wrong": `{"a":`,
	}
	for name, x := range map[string]struct {
		root      string
		old       bool
		direction Direction
		want      string
		notes     string
	}{
		"nothing":        {root: `{"type":"object"}`, want: `{"type":"object"}`},
		"anything":       {root: `true`, want: `{}`},
		"no schema":      {root: `3`, want: `{}`, notes: "it is not a schema"},
		"no JSON":        {root: `{`, want: `{}`, notes: "it is not a schema"},
		"a word":         {root: to + `a.b","description":"A tag."}`, want: `{"$ref":"#/$defs/a.b","description":"A tag.","$defs":{"a.b":{"type":"string","nullable":true,"enum":["x"]}}}`},
		"of 3.0":         {root: to + `a.b","description":"A tag."}`, old: true, want: `{"$ref":"#/$defs/a.b","$defs":{"a.b":{"type":["string","null"],"enum":["x",null]}}}`},
		"bounds of 3.0":  {root: to + `a_b"}`, old: true, want: `{"$ref":"#/$defs/a_b","$defs":{"a_b":{"type":"integer","exclusiveMinimum":1}}}`},
		"a request":      {root: to + `Pet"}`, old: true, want: `{"$ref":"#/$defs/Pet","$defs":{"Pet":{"type":"object","required":["name"],"properties":{"name":{"type":"string","examples":["Rex"]},"secret":{"type":"string","writeOnly":true},"friend":{"$ref":"#/$defs/Pet"},"tag":{"$ref":"#/$defs/a.b"}}},"a.b":{"type":["string","null"],"enum":["x",null]}}}`},
		"a response":     {root: to + `Pet"}`, old: true, direction: Response, want: `{"$ref":"#/$defs/Pet","$defs":{"Pet":{"type":"object","required":["id","name"],"properties":{"id":{"type":"integer","readOnly":true},"name":{"type":"string","examples":["Rex"]},"friend":{"$ref":"#/$defs/Pet"},"tag":{"$ref":"#/$defs/a.b"}}},"a.b":{"type":["string","null"],"enum":["x",null]}}}`},
		"a boolean":      {root: to + `True"}`, want: `{"$ref":"#/$defs/True","$defs":{"True":{}}}`},
		"nowhere":        {root: to + `None"}`, want: `{"$ref":"#/$defs/None","$defs":{"None":{}}}`, notes: "leads nowhere"},
		"elsewhere":      {root: `{"$ref":"other.yaml#/Pet"}`, want: `{"$ref":"#/$defs/Pet","$defs":{"Pet":{}}}`, notes: `"other.yaml#/Pet" leads nowhere`},
		"a list":         {root: to + `List"}`, want: `{"$ref":"#/$defs/List","$defs":{"List":{}}}`, notes: "is not a schema"},
		"what is broken": {root: to + `Wrong"}`, want: `{"$ref":"#/$defs/Wrong","$defs":{"Wrong":{}}}`, notes: "is not a schema"},
	} {
		b := Bundler{Find: in(schemas), Direction: x.direction, Old: x.old}
		got, notes := b.Bundle(json.RawMessage(x.root))
		if string(got) != x.want || !strings.Contains(strings.Join(notes, "\n"), x.notes) || x.notes == "" && len(notes) > 0 {
			t.Errorf("%s: %s, %q\nwant %s", name, got, notes, x.want)
		}
		if _, err := CompileResult(got, Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBundleNames: schemas whose names are alike after cleaning stay apart, in each bundle alike.
func TestBundleNames(t *testing.T) {
	t.Parallel()
	b := Bundler{Find: in(map[string]string{"a b": `{"type":"string"}`, "a/b": `{"type":"integer"}`, "": `{"type":"null"}`})}
	got, _ := b.Bundle(json.RawMessage(`{"properties":{"a":{"$ref":"#/components/schemas/a b"},"b":{"$ref":"#/components/schemas/a%20b"},"c":{"$ref":"#/components/schemas/"}}}`))
	if want := `{"properties":{"a":{"$ref":"#/$defs/a_b"},"b":{"$ref":"#/$defs/a_20b"},"c":{"$ref":"#/$defs/_1"}},"$defs":{"_1":{"type":"null"},"a_20b":{},"a_b":{"type":"string"}}}`; string(got) != want {
		t.Errorf("%s", got)
	}
}

// TestBundleFits: what is too long loses its examples first, then what is furthest from its root;
// what is in each other a million times is as long as it is.
func TestBundleFits(t *testing.T) {
	t.Parallel()
	schemas := map[string]string{}
	for i := range 200 {
		var refs strings.Builder
		for j := range 10 { // 10^20 ways through
			fmt.Fprintf(&refs, `"p%d":{"$ref":"#/components/schemas/L%d"},`, j, min(199, (i/10+1)*10+j))
		}
		schemas[fmt.Sprint("L", i)] = `{"type":"object","description":"` + strings.Repeat("d", 100) + `","properties":{` + refs.String() + `"own":{"type":"string","example":"` + strings.Repeat("e", 300) + `"}}}`
	}
	root := json.RawMessage(`{"type":"object","required":["first"],"properties":{"first":{"description":"The first.","$ref":"#/components/schemas/L0"}}}`)
	whole := Bundler{Find: in(schemas), Max: 1 << 20}
	if got, notes := whole.Bundle(root); len(got) < 140_000 || len(got) > 250_000 || len(notes) > 0 {
		t.Errorf("%d bytes, %q", len(got), notes)
	}
	for most, want := range map[int]string{140_000: "its examples were left out", 30_000: "what is deep in it was left out", 2000: "what is deep in it was left out", 100: "all but the names"} {
		b := Bundler{Find: in(schemas), Max: most}
		got, notes := b.Bundle(root)
		if len(got) > most || !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("at most %d: %d bytes, %q", most, len(got), notes)
		}
		if _, err := Compile(got, Limits{Bytes: 1 << 20, Subschemas: 1 << 20}); err != nil {
			t.Errorf("at most %d: %v", most, err)
		}
		if most > 100 && !strings.Contains(string(got), "The first.") {
			t.Errorf("at most %d, the root's own words are gone: %s", most, got)
		}
	}
}

// TestBundleMany: a schema of many properties keeps the beginning of their words where it can, then
// their types, then their names, and at last only what is required.
func TestBundleMany(t *testing.T) {
	t.Parallel()
	var properties strings.Builder
	for i := range 100 {
		fmt.Fprintf(&properties, `"p%d":{"type":"string","description":"Word %d. %s"},`, i, i, strings.Repeat("More words. ", 20))
	}
	root := json.RawMessage(`{"type":"object","properties":{` + properties.String() + `"last":{"type":["integer","null"]}},"required":["last"]}`)
	for most, want := range map[int]struct{ note, has, not string }{
		10_000: {"what is deep in it was left out", `"p9":{"type":"string","description":"Word 9."}`, "More words"},
		3000:   {"all but the names and types of its properties was left out", `"p9":{"type":"string"}`, "Word"},
		1500:   {"all but the names of its properties was left out", `"p99":{}`, "string"},
		300:    {"properties that are not required were left out", `"last":{}`, `"p0"`},
	} {
		b := Bundler{Max: most}
		got, notes := b.Bundle(root)
		if len(got) > most || !strings.Contains(strings.Join(notes, "\n"), want.note) || !strings.Contains(string(got), want.has) || strings.Contains(string(got), want.not) {
			t.Errorf("at most %d: %d bytes, %q: %s", most, len(got), notes, got)
		}
		if _, err := Compile(got, Limits{}); err != nil {
			t.Errorf("at most %d: %v", most, err)
		}
	}
}

// TestBundleHostile: many references to what has one name, one behind the other, and one that is
// too long cost no more than others.
func TestBundleHostile(t *testing.T) {
	t.Parallel()
	gatetest.NoRace(t)
	schemas := map[string]string{"long": `{"description":"` + strings.Repeat("d", maxDef) + `"}`}
	for i := range 30_000 {
		schemas[fmt.Sprintf("%d/a", i)] = fmt.Sprintf(`{"$ref":"#/components/schemas/%d/a"}`, i+1)
	}
	b := Bundler{Find: in(schemas)}
	for i := range 300 { // a chain from each of them
		got, notes := b.Bundle(json.RawMessage(fmt.Sprintf(`{"items":{"$ref":"#/components/schemas/%d/a"}}`, 100*i)))
		if len(got) > defaultBundle || len(notes) == 0 {
			t.Fatalf("%d: %d bytes, %q", i, len(got), notes)
		}
	}
	got, notes := b.Bundle(json.RawMessage(`{"$ref":"#/components/schemas/long"}`))
	if len(got) > 100 || len(notes) != 1 || !strings.Contains(notes[0], "was left out: it is too long") {
		t.Errorf("%s, %q", got, notes)
	}
}
