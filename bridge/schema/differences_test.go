package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pagetools/pagetools/bridge/text"
)

// failer is a test, a fuzzer or rapid's.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// agree holds the list of differences to what Compare says of the whole.
func agree(t failer, old, new []byte) {
	t.Helper()
	for _, d := range []Direction{Request, Response} {
		worst := Same
		all := Differences(old, new, d)
		for _, one := range all {
			worst = max(worst, one.Change)
			if one.What == "" || one.Reason == "" || one.Change == Same {
				t.Fatalf("%s\nto %s: %+v says too little", old, new, one)
			}
			in := new
			if one.Gone {
				in = old
			}
			if !points(in, one.Pointer) && len(one.Pointer) < maxPointer-100 {
				t.Fatalf("%s\nto %s: nothing is at %q (gone %v)", old, new, one.Pointer, one.Gone)
			}
		}
		if whole := Compare(old, new, d); whole != worst {
			t.Fatalf("%s\nto %s\nin direction %d is %v, and the worst of %+v is %v", old, new, d, whole, all, worst)
		}
	}
}

// points reports whether a pointer leads to a value of a document.
func points(doc []byte, at string) bool {
	v, err := parse(doc, defaultDepth)
	if err != nil {
		return at == ""
	}
	tokens, ok := SplitPointer(at)
	return ok && v.lookup(tokens) != nil
}

// direction is a change of a schema, and what it is in each direction.
type direction struct {
	name, old, new    string
	request, response Change
	at                string // of the worst difference
}

// directions is our table of what breaks whom: what takes less breaks who sends, and what may
// return more breaks who receives.
func directions() []direction {
	a := func(s string) string {
		return `{"type":"object","properties":{"a":` + s + `},"additionalProperties":false}`
	}
	open := func(s string) string { return `{"type":"object","properties":{` + s + `}}` }
	ref := func(s string) string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":` + s + `}}`
	}
	const p = "/properties/a"
	return []direction{
		{"type widened", a(`{"type":"integer"}`), a(`{"type":"number"}`), Minor, Major, p + "/type"},
		{"type narrowed", a(`{"type":"number"}`), a(`{"type":"integer"}`), Major, Minor, p + "/type"},
		{"type replaced", a(`{"type":"string"}`), a(`{"type":"boolean"}`), Major, Major, p + "/type"},
		{"type added", a(`{"minLength":1}`), a(`{"minLength":1,"type":"string"}`), Major, Minor, p + "/type"},
		{"type removed", a(`{"minLength":1,"type":"string"}`), a(`{"minLength":1}`), Minor, Major, p + "/type"},
		{"type of anything", a(`{}`), a(`{"type":"string"}`), Major, Minor, p + "/type"},
		{"type anything", a(`{"type":"string"}`), a(`{"title":"x"}`), Minor, Major, p + "/type"},
		{"list of types longer", a(`{"type":["string"]}`), a(`{"type":["string","number"]}`), Minor, Major, p + "/type"},
		{"list of types shorter", a(`{"type":["string","number"]}`), a(`{"type":"string"}`), Major, Minor, p + "/type"},
		{"type as a list of one", a(`{"type":"string"}`), a(`{"type":["string"]}`), Patch, Patch, p + "/type"},
		{"nullable", a(`{"type":"string"}`), a(`{"type":["string","null"]}`), Minor, Major, p + "/type"},
		{"not nullable", a(`{"type":["string","null"]}`), a(`{"type":"string"}`), Major, Minor, p + "/type"},
		{"nullable by anyOf", a(`{"anyOf":[{"type":"string"}]}`), a(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), Minor, Major, p + "/anyOf"},
		{"required added", open(`"a":{}`), `{"type":"object","properties":{"a":{}},"required":["a"]}`, Major, Minor, "/required"},
		{"required removed", `{"type":"object","required":["a"]}`, `{"type":"object"}`, Minor, Major, "/required"},
		{"required longer", `{"required":["a"]}`, `{"required":["a","b"]}`, Major, Minor, "/required"},
		{"required shorter", `{"required":["a","b"]}`, `{"required":["b"]}`, Minor, Major, "/required"},
		{"required in another order", `{"required":["a","b"]}`, `{"required":["b","a"]}`, Patch, Patch, "/required"},
		{"property added, closed", a(`{}`), `{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}`, Minor, Major, "/properties/b"},
		{"property removed, closed", `{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}`, a(`{}`), Major, Minor, "/properties/b"},
		{"property added, open", open(`"a":{}`), open(`"a":{},"b":{"type":"string"}`), Minor, Minor, "/properties/b"},
		{"property removed, open", open(`"a":{},"b":{"type":"string"}`), open(`"a":{}`), Minor, Major, "/properties/b"},
		{"property renamed, closed", a(`{"type":"string"}`), strings.ReplaceAll(a(`{"type":"string"}`), `"a"`, `"b"`), Major, Major, "/properties/"},
		{"enum longer", a(`{"enum":["x"]}`), a(`{"enum":["x","y"]}`), Minor, Major, p + "/enum"},
		{"enum shorter", a(`{"enum":["x","y"]}`), a(`{"enum":["x"]}`), Major, Minor, p + "/enum"},
		{"enum with other values", a(`{"enum":["x","y"]}`), a(`{"enum":["x","z"]}`), Major, Major, p + "/enum"},
		{"enum in another order", a(`{"enum":["x","y"]}`), a(`{"enum":["y","x"]}`), Patch, Patch, p + "/enum"},
		{"enum added", a(`{"type":"string"}`), a(`{"type":"string","enum":["x"]}`), Major, Minor, p + "/enum"},
		{"enum removed", a(`{"type":"string","enum":["x"]}`), a(`{"type":"string"}`), Minor, Major, p + "/enum"},
		{"const changed", a(`{"const":1}`), a(`{"const":2}`), Major, Major, p + "/const"},
		{"const added", a(`{"type":"string"}`), a(`{"type":"string","const":"x"}`), Major, Minor, p + "/const"},
		{"const becomes enum", a(`{"const":1}`), a(`{"enum":[1,2]}`), Minor, Major, p + "/enum"},
		{"const spelled otherwise", a(`{"const":1,"title":"x"}`), a(`{"const":1.0}`), Patch, Patch, p + "/title"},
		{"maximum lower", a(`{"maximum":10}`), a(`{"maximum":9}`), Major, Minor, p + "/maximum"},
		{"maximum higher", a(`{"maximum":10}`), a(`{"maximum":11}`), Minor, Major, p + "/maximum"},
		{"minimum higher", a(`{"minimum":1}`), a(`{"minimum":2}`), Major, Minor, p + "/minimum"},
		{"minimum lower", a(`{"minimum":1}`), a(`{"minimum":0}`), Minor, Major, p + "/minimum"},
		{"minimum added", a(`{"type":"number"}`), a(`{"type":"number","minimum":0}`), Major, Minor, p + "/minimum"},
		{"exclusive maximum", a(`{"exclusiveMaximum":10}`), a(`{"exclusiveMaximum":20}`), Minor, Major, p + "/exclusiveMaximum"},
		{"maximum becomes exclusive", a(`{"maximum":10}`), a(`{"exclusiveMaximum":10}`), Major, Major, p + "/"},
		{"multipleOf added", a(`{"type":"number"}`), a(`{"type":"number","multipleOf":2}`), Major, Minor, p + "/multipleOf"},
		{"multipleOf changed", a(`{"multipleOf":2}`), a(`{"multipleOf":4}`), Major, Major, p + "/multipleOf"},
		{"maxLength lower", a(`{"maxLength":9}`), a(`{"maxLength":8}`), Major, Minor, p + "/maxLength"},
		{"minLength removed", a(`{"type":"string","minLength":1}`), a(`{"type":"string"}`), Minor, Major, p + "/minLength"},
		{"maxItems lower", a(`{"maxItems":9}`), a(`{"maxItems":8}`), Major, Minor, p + "/maxItems"},
		{"minItems lower", a(`{"minItems":2}`), a(`{"minItems":1}`), Minor, Major, p + "/minItems"},
		{"uniqueItems added", a(`{"type":"array"}`), a(`{"type":"array","uniqueItems":true}`), Major, Minor, p + "/uniqueItems"},
		{"maxProperties added", a(`{"type":"object"}`), a(`{"type":"object","maxProperties":3}`), Major, Minor, p + "/maxProperties"},
		{"pattern added", a(`{"type":"string"}`), a(`{"type":"string","pattern":"^a"}`), Major, Minor, p + "/pattern"},
		{"pattern removed", a(`{"type":"string","pattern":"^a"}`), a(`{"type":"string"}`), Minor, Major, p + "/pattern"},
		{"pattern changed", a(`{"pattern":"^a"}`), a(`{"pattern":"^b"}`), Major, Major, p + "/pattern"},
		{"format added", a(`{"type":"string"}`), a(`{"type":"string","format":"email"}`), Major, Minor, p + "/format"},
		{"format removed", a(`{"type":"string","format":"email"}`), a(`{"type":"string"}`), Minor, Major, p + "/format"},
		{"format changed", a(`{"format":"uri"}`), a(`{"format":"email"}`), Major, Major, p + "/format"},
		{"closed", open(`"a":{}`), a(`{}`), Major, Minor, "/additionalProperties"},
		{"opened", a(`{}`), open(`"a":{}`), Minor, Major, "/additionalProperties"},
		{"other properties of a type", `{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":{"type":["string","null"]}}`, Minor, Major, "/additionalProperties/type"},
		{"nested required", a(`{"type":"object"}`), a(`{"type":"object","required":["b"]}`), Major, Minor, p + "/required"},
		{"nested property", a(open(`"b":{"type":"string"}`)), a(open(`"b":{"type":"number"}`)), Major, Major, p + p[:len(p)-1] + "b/type"},
		{"elements narrower", a(`{"type":"array","items":{"type":["string","null"]}}`), a(`{"type":"array","items":{"type":"string"}}`), Major, Minor, p + "/items/type"},
		{"elements of a type", a(`{"type":"array"}`), a(`{"type":"array","items":{"type":"string"}}`), Major, Minor, p + "/items/type"},
		{"nested elements", a(`{"items":{"items":{"maximum":1}}}`), a(`{"items":{"items":{"maximum":2}}}`), Minor, Major, p + "/items/items/maximum"},
		{"first elements", a(`{"prefixItems":[{"type":"string"}]}`), a(`{"prefixItems":[{"type":"number"}]}`), Major, Major, p + "/prefixItems/0/type"},
		{"anyOf shorter", a(`{"anyOf":[{"type":"null"},{"type":"string"}]}`), a(`{"anyOf":[{"type":"null"}]}`), Major, Minor, p + "/anyOf"},
		{"anyOf wider inside", a(`{"anyOf":[{"maximum":1}]}`), a(`{"anyOf":[{"maximum":2}]}`), Minor, Major, p + "/anyOf/0/maximum"},
		{"oneOf added", a(`{"type":"string"}`), a(`{"type":"string","oneOf":[{"minLength":1}]}`), Major, Minor, p + "/oneOf"},
		{"oneOf longer", a(`{"oneOf":[{"type":"null"}]}`), a(`{"oneOf":[{"type":"null"},{"type":"string"}]}`), Major, Major, p + "/oneOf"},
		{"oneOf changed inside", a(`{"oneOf":[{"maximum":1}]}`), a(`{"oneOf":[{"maximum":2}]}`), Major, Major, p + "/oneOf/0/maximum"},
		{"not added", a(`{"type":"string"}`), a(`{"type":"string","not":{"const":"x"}}`), Major, Minor, p + "/not"},
		{"if changed", a(`{"if":{"minLength":1},"then":{"maxLength":2}}`), a(`{"if":{"minLength":2},"then":{"maxLength":2}}`), Major, Major, p + "/if/minLength"},
		{"dependentRequired added", `{"type":"object"}`, `{"type":"object","dependentRequired":{"a":["b"]}}`, Major, Minor, "/dependentRequired"},
		{"default changed", a(`{"type":"number","default":1}`), a(`{"type":"number","default":2}`), Patch, Patch, p + "/default"},
		{"default added", a(`{"type":"number"}`), a(`{"type":"number","default":2}`), Patch, Patch, p + "/default"},
		{"description changed", a(`{"description":"x"}`), a(`{"description":"y"}`), Patch, Patch, p + "/description"},
		{"title removed", a(`{"title":"x"}`), a(`{}`), Patch, Patch, p + "/title"},
		{"definition wider", ref(`{"type":"string"}`), ref(`{"type":["string","null"]}`), Minor, Major, "/$defs/x/type"},
		{"definition narrower", ref(`{"maximum":2}`), ref(`{"maximum":1}`), Major, Minor, "/$defs/x/maximum"},
		{"definition that nothing uses", `{"$defs":{"x":{}}}`, `{"$defs":{"x":{"type":"null"}}}`, Patch, Patch, "/$defs/x/type"},
		{"inlined reference", ref(`{"type":"string"}`), open(`"a":{"type":"string"}`), Major, Major, p + "/"},
		{"unknown keyword", `{"x-order":1}`, `{"x-order":2}`, Major, Major, "/x-order"},
		{"property called required", open(`"required":{"type":"string"}`), open(`"required":{"type":"number"}`), Major, Major, "/properties/required/type"},
	}
}

// TestDirections has, for each row, the change in both directions, the place of the worst
// difference, and that the reverse is the same in the other direction wherever no open schema
// and no limit is involved.
func TestDirections(t *testing.T) {
	t.Parallel()
	rows := directions()
	if len(rows) < 60 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, row := range rows {
		old, now := []byte(row.old), []byte(row.new)
		agree(t, old, now)
		agree(t, now, old)
		for d, want := range []Change{row.request, row.response} {
			all := Differences(old, now, Direction(d))
			if len(all) == 0 || all[0].Change != want {
				t.Errorf("%s, direction %d: %+v, want %v", row.name, d, all, want)
				continue
			}
			if at := all[0].Pointer; at != row.at && (!strings.HasSuffix(row.at, "/") || !strings.HasPrefix(at, row.at)) {
				t.Errorf("%s, direction %d: at %s, want %s: %+v", row.name, d, at, row.at, all)
			}
		}
	}
}

// TestDifferencesAreAll: each of several changes is listed once, in its place.
func TestDifferencesAreAll(t *testing.T) {
	t.Parallel()
	old := `{"type":"object","properties":{"a":{"type":"string","description":"x"},"b":{},"c":{"enum":["p","q"]}},"required":["a"]}`
	now := `{"type":"object","properties":{"a":{"type":"integer","description":"y"},"c":{"enum":["q","r"]},"d":{"type":"string"}},"required":["a","c"],"additionalProperties":false}`
	var got []string
	for _, d := range Differences([]byte(old), []byte(now), Request) {
		got = append(got, fmt.Sprintf("%s %s: %s", d.Change, d.Pointer, d.What))
	}
	want := []string{
		`major /additionalProperties: additionalProperties false is new`,
		`major /properties/a/type: type was "string" and is "integer" now`,
		`major /properties/b: the property "b" is gone`,
		`major /properties/c/enum: "p" is not a value any more`,
		`major /required: "c" must be given now`,
		`minor /properties/c/enum: "r" is a new value`,
		`minor /properties/d: the property "d" is new`,
		`patch /properties/a/description: description was "x" and is "y" now`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if all := Differences([]byte(old), []byte(old), Request); len(all) > 0 {
		t.Errorf("a schema and itself: %+v", all)
	}
}

// TestDifferencesAreVisible: texts of strangers are short, and have no character that a terminal
// obeys.
func TestDifferencesAreVisible(t *testing.T) {
	t.Parallel()
	evil := "\u202e\\u001b[31m" + strings.Repeat("x", 5000)
	old := `{"properties":{"` + evil + `":{"enum":["` + evil + `"]}},"` + evil + `":"` + evil + `"}`
	all := Differences([]byte(old), []byte(`{"required":["`+evil+`"]}`), Request)
	if len(all) < 3 || !strings.Contains(fmt.Sprint(all), `\u202e`) {
		t.Fatalf("%+v", all)
	}
	for _, d := range all {
		if words := d.What + d.Reason; len(words) > 1000 || strings.ContainsFunc(words, unicode.IsControl) ||
			strings.ContainsFunc(words, text.Invisible) {
			t.Errorf("%q", words)
		}
	}
}

func BenchmarkDifferences(b *testing.B) {
	old := []byte(`{"type":"object","properties":{` + numbered(`"k%":{"type":"string","description":"x"}`, ",", 20) + `}}`)
	now := []byte(strings.Replace(string(old), "string", "integer", 1))
	for b.Loop() {
		Differences(old, now, Request)
	}
}
