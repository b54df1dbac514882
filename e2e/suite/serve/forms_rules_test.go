package serve_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/check"
)

// formControl has the words that a screen reader reads at a control.
type formControl struct {
	Tag, Type, Value, Label, Placeholder, About string
	Required, Invalid                           bool
	Options                                     []string
}

func (p *formPage) controls() map[string]formControl {
	p.t.Helper()
	var all []formControl
	p.ask(&all, "controls")
	by := map[string]formControl{}
	for _, c := range all {
		if _, twice := by[c.Label]; twice || c.Label == "" {
			p.t.Errorf("the label %q is there twice, or says nothing", c.Label)
		}
		by[c.Label] = c
	}
	return by
}

// over types a text over what a control has.
func (p *formPage) over(label, text string) formState {
	p.t.Helper()
	p.types(p.state("focus", label), text)
	return p.now()
}

// TestFormsRefuseWhatIsNoJSON: a text that is not JSON is never sent, nor an older value in its place,
// and it stays as it was typed.
func TestFormsRefuseWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	p := openForm(t)
	const schema = `{"type":"object","properties":{"n":{"type":"number"},"any":{"type":"object","maxProperties":9}},"additionalProperties":false}`
	p.state("show", schema, `{"n":1}`)
	refused := func(what string, s formState) {
		t.Helper()
		if s.Text != "" || s.Problem == "" {
			t.Errorf("%s: %q is sent, and the problem is %q", what, s.Text, s.Problem)
		}
	}
	for _, text := range []string{"1.", "01", "1e", "Infinity", "0x1", "", "-", "1, \"m\": 2"} {
		refused("the number "+text, p.over("n", text))
		if s := p.state("mode", "json"); s.Text != "" && text != `1, "m": 2` {
			t.Errorf("shown as text, %s is sent: %s", text, s.Text)
		} else if got := p.controls()["Text of the value"].Value; got != `{"n":`+text+`}` {
			t.Errorf("shown as text, %s is %s", text, got)
		}
		p.state("show", schema, `{"n":1}`)
	}
	if s := p.over("n", "2.50"); s.Text != `{"n":2.50}` { // the control
		t.Errorf("a number gives %+v", s)
	}
	p.state("mode", "json")
	for _, text := range []string{`{"n":3`, `{"n":3,"n":4}`, `{'n':3}`, `{"n":3} x`, `{"n":NaN}`, `{"n":"\x"}`, ``} {
		refused(text, p.over("Text of the value", text))
		s := p.state("mode", "form")
		refused(text+", as fields", s)
		if got := p.controls()["Text of the value"]; s.Mode != "json" || got.Value != text || !got.Invalid || !strings.Contains(got.About, "Not sent") || !strings.Contains(p.words(), "The fields are shown when the text is JSON. Line 1") {
			t.Errorf("%s is shown as %s: %+v\n%s", text, s.Mode, got, p.words())
		}
	}
	p.over("Text of the value", `{"n" : 9007199254740993 }`)
	if s := p.state("mode", "form"); s.Mode != "form" || s.Text != `{"n" : 9007199254740993 }` {
		t.Errorf("what is JSON again gives %+v", s)
	}
	// A raw field is one value: it cannot add a member beside it.
	p.state("show", schema, `{"any":5}`)
	refused("more than a value", p.over("any", `5,"n":1`))
	if s := p.over("any", `{"x":[1.0]}`); s.Text != `{"any":{"x":[1.0]}}` {
		t.Errorf("a value in a raw field gives %+v", s)
	}
	// A value that is not JSON comes in: it is shown as it is.
	if s := p.state("show", schema, `{"n":1`); s.Mode != "json" || s.Text != "" || p.controls()["Text of the value"].Value != `{"n":1` {
		t.Errorf("half a value gives %+v", s)
	}
	if s := p.state("mode", "form"); s.Text != "" || s.Problem == "" {
		t.Errorf("half a value, as fields, gives %+v", s)
	}
}

// many joins n texts, each made of its number.
func many(n int, of string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, of+",", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// object is the schema of an object with these properties.
func object(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }

// strangeSchema is a schema that asks for much, and what the form may show of it.
type strangeSchema struct {
	name, schema, value string
	fields, options     int // at most; 0 fields is none
	words               string
}

func strangeSchemas() []strangeSchema {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{"type":"integer"}` + strings.Repeat(`}}`, 60)
	var steps []string
	for i := range 18 {
		steps = append(steps, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	chain := func(from int) string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d` + fmt.Sprint(from) + `"}},"$defs":{` + strings.Join(steps, ",") + `,"d18":{"type":"integer"}}}`
	}
	return []strangeSchema{
		{"500 fields", object(many(500, `"f%d":{"type":"string"}`)), `{}`, 501, 0, "f499"},
		{"2,000 fields", object(many(1999, `"f%d":{"type":"string"}`)), `{}`, 2000, 0, "f1998"},
		{"2,001 fields", object(many(2000, `"f%d":{"type":"string"}`)), `{}`, 1, 0, "more than 2000 fields"},
		{"2,001 fields in two objects", object(`"x":` + object(many(1500, `"f%d":{"type":"string"}`)) + `,"y":` + object(many(1500, `"g%d":{"type":"string"}`))), `{"x":{},"y":{}}`, 1503, 0, "more than 2000 fields"},
		{"3,000 items", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}}}`, `{"l":[` + many(3000, "%d") + `]}`, 2, 0, "more than 2000 fields"},
		{"12 levels", deep, nested(12), 13, 0, ""},
		{"60 levels", deep, nested(60), 13, 0, "more than 12 levels deep"},
		{"a reference to itself", `{"$ref":"#"}`, `{"a":{"b":1}}`, 3, 20, ""},
		{"references in a circle", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`, `{"a":1}`, 2, 10, ""},
		{"16 references", chain(3), `{"a":1}`, 2, 0, "whole number"},
		{"18 references", chain(0), `{"a":1}`, 2, 10, "more than 16 times"},
		{"500 choices", object(`"c":{"enum":[` + many(500, `"c%d"`) + `]}`), `{"c":"c1"}`, 2, 501, "c499"},
		{"5,000 choices", object(`"c":{"enum":[` + many(5000, `"c%d"`) + `]}`), `{"c":"c4999"}`, 2, 102, "100 of 4999 are shown"},
		{"200 variants", object(`"v":{"oneOf":[` + many(200, `{"title":"v%d","type":"string"}`) + `]}`), `{"v":"x"}`, 2, 200, "v199"},
		{"201 variants", object(`"v":{"oneOf":[` + many(201, `{"title":"v%d","type":"string"}`) + `]}`), `{"v":"x"}`, 2, 10, "more than 200"},
		{"a pattern", object(`"p":{"anyOf":[{"type":"string","pattern":"^(a+)+$"},{"type":"integer"}]},"q":{"if":{"pattern":"^(a+)+$"},"then":{"title":"T"}}`), `{"p":"` + strings.Repeat("a", 60) + `!","q":"` + strings.Repeat("a", 60) + `!"}`, 3, 30, "text"},
		{"names with a pattern", `{"type":"object","patternProperties":{"^(a+)+$":{"type":"string"}},"propertyNames":{"pattern":"^(a+)+$"}}`, `{"` + strings.Repeat("a", 60) + `!":"x"}`, 2, 0, "text"},
		{"a description of 100 kB", object(`"d":{"type":"string","description":"` + strings.Repeat("long ", 20000) + `"}`), `{"d":"x"}`, 2, 0, "Show all (98 kB)"},
		{"a schema of 257 kB", `{"type":"object","description":"` + strings.Repeat("x", 257*1024) + `"}`, `{"a":1}`, 0, 0, "more than 256 kB"},
		{"a schema that is not JSON", `{"type":`, `{"a":1}`, 0, 0, "not JSON"},
		{"allOf that doubles", `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + many(15, `"d%[1]d":{"allOf":[{"$ref":"#/$defs/e%[1]d"},{"$ref":"#/$defs/e%[1]d"}]},"e%[1]d":{"properties":{"p%[1]d":{}}}`) + `}}`, `{"a":{}}`, 3, 20, "p0"},
	}
}

// TestFormsAreBounded: whatever a schema is, the form has so many fields and choices, and what is beyond
// is edited as JSON and says so.
func TestFormsAreBounded(t *testing.T) {
	gatetest.Nightly(t, "hostile schemas are large")
	t.Parallel()
	p := openForm(t)
	for _, c := range strangeSchemas() {
		t.Run(c.name, func(t *testing.T) {
			p := p.of(t)
			s := p.state("show", c.schema, c.value)
			if s.Text != c.value || s.Changed {
				t.Errorf("it sends %.200s", s.Text)
			}
			words := p.words()
			if s.Fields > c.fields || s.Fields == 0 && c.fields > 0 || s.Options > c.options || !strings.Contains(words, c.words) {
				t.Errorf("%d fields, want %d; %d choices, want %d at most; it shows\n%.1000s", s.Fields, c.fields, s.Options, c.options, words)
			}
			if len(words) > 100_000 {
				t.Errorf("it shows %d bytes", len(words))
			}
		})
	}
	// A filter finds each of the 5,000.
	p.state("show", object(`"c":{"enum":[`+many(5000, `"c%d"`)+`]}`), `{"c":"c4999"}`)
	p.over("Filter 5000 choices", "c321")
	if c := p.controls()["c"]; !slices.Contains(c.Options, "c3210") || slices.Contains(c.Options, "c1") {
		t.Errorf("the filter c321 shows %v", c.Options)
	}
	p.state("focus", "c")
	for _, key := range []string{"Home", "ArrowDown"} {
		p.key(key, "", 0)
	}
	if s := p.now(); s.Text != `{"c":"c321"}` {
		t.Errorf("the first choice gives %+v", s)
	}
}

// TestFormsTell: each control has a label, and beside it what it must be, what is sent, what is wrong.
func TestFormsTell(t *testing.T) {
	t.Parallel()
	p := openForm(t)
	const schema = `{"type":"object","required":["sku"],"properties":{
		"sku":{"type":"string","title":"Article","description":"Its number\u202e <b>bold</b>"},"count":{"type":"integer","minimum":1,"default":1},
		"Do not send":{"type":"boolean"},"Run":{"type":"string"},"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}}}}}}`
	p.state("show", schema, `{"sku":"","list":[{"x":1}]}`)
	p.state("refuse", []map[string]string{{"pointer": "/sku", "message": "too short\u202e"}, {"pointer": "/list/0/x", "message": "too small"}, {"pointer": "/nowhere", "message": "unknown"}})
	all := p.controls()
	for _, c := range []struct {
		label, about      string
		required, invalid bool
	}{
		{"sku", "required · text · sent: empty text", true, true},
		{"sku", `Its number\u{202e} <b>bold</b>`, true, true},
		{"sku", `too short\u{202e}`, true, true},
		{"count", "whole number, at least 1 · not sent · default 1", false, false},
		{"x", "too small", false, true},
		{"Do not send", "true or false · not sent", false, false},
	} {
		got := all[c.label]
		if !strings.Contains(got.About, c.about) || got.Required != c.required || got.Invalid != c.invalid {
			t.Errorf("%s: %+v does not say %q", c.label, got, c.about)
		}
	}
	if all["count"].Placeholder != "default 1" || all["count"].Value != "" {
		t.Errorf("a default is shown as %+v", all["count"])
	}
	if words := p.words(); !strings.Contains(words, "/nowhere unknown") || !strings.Contains(words, "Article") {
		t.Errorf("an error of no field is not shown:\n%s", words)
	}
	// An empty text is not the same as none; a number that is emptied is none.
	steps := []struct{ label, text, want string }{
		{"count", "20", `{"sku":"","count":20,"list":[{"x":1}]}`}, {"sku", "a\nb", `{"sku":"a\nb","count":20,"list":[{"x":1}]}`},
		{"Run", "x", `{"sku":"a\nb","count":20,"Run":"x","list":[{"x":1}]}`}, {"Run", "", `{"sku":"a\nb","count":20,"Run":"","list":[{"x":1}]}`},
	}
	for _, s := range steps {
		if got := p.over(s.label, s.text); got.Text != s.want {
			t.Errorf("%s = %q gives %s %s, want %s", s.label, s.text, got.Text, got.Problem, s.want)
		}
	}
	p.over("count", "")
	p.key("Tab", "", 0)
	if got := p.now(); got.Text != `{"sku":"a\nb","Run":"","list":[{"x":1}]}` || got.Body {
		t.Errorf("an emptied number gives %+v", got)
	}
}

// TestFormsKeepFocus: what is added has the focus, what goes hands it to its neighbor.
func TestFormsKeepFocus(t *testing.T) {
	t.Parallel()
	p := openForm(t)
	const schema = `{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}},"o":{"type":"object","properties":{"n":{"type":"integer"}}},"k":{"anyOf":[{"type":"string"},{"type":"null"},{"type":"object","properties":{"z":{"type":"string"}}}]}}}`
	p.state("show", schema, `{"list":["a","b"]}`)
	for _, s := range []struct{ press, want, focus string }{
		{"Add item", `{"list":["a","b",""]}`, "Remove item 3"},
		{"Remove item 2", `{"list":["a",""]}`, "Remove item 2"},
		{"Remove item 2", `{"list":["a"]}`, "Remove item 1"},
		{"Remove item 1", `{"list":[]}`, "Add item"},
		{"Add o", `{"list":[],"o":{}}`, "Do not send o"},
		{"Do not send o", `{"list":[]}`, "Add o"},
		{"Do not send list", `{}`, "Add list"},
		{"Send empty text k", `{"k":""}`, "Do not send k"},
	} {
		got := p.state("press", s.press)
		if got.Text != s.want || got.Body || got.Focus.Name != s.focus {
			t.Errorf("%s gives %s %s, the focus at %q, want %s and %q", s.press, got.Text, got.Problem, got.Focus.Name, s.want, s.focus)
		}
	}
	// The variant of a new item is its list's, whatever was added to another one before.
	p.state("show", `{"properties":{"l":{"items":{"anyOf":[{"type":"null"},{"type":"string"}]}},"m":{"items":{"anyOf":[{"type":"object","required":["x"],"properties":{"x":{"const":1}}},{"type":"integer"}]}}}}`, `{"l":[],"m":[]}`)
	p.state("press", "Add item")
	if got := p.state("press", "Add item", 1); got.Text != `{"l":[""],"m":[{"x":1}]}` {
		t.Errorf("an item of another list gives %s %s", got.Text, got.Problem)
	}
	// A property of a new name, by keyboard alone; a name that is there is refused.
	p.state("show", schema, `{}`)
	p.over("Another property", "k")
	p.key("Enter", "\r", 0)
	if s := p.now(); s.Text != `{}` || !strings.Contains(p.words(), "It is there already.") {
		t.Errorf("a name that the schema has gives %+v", s)
	}
	p.over("Another property", "__proto__")
	p.key("Enter", "\r", 0)
	if s := p.now(); s.Text != `{"__proto__":""}` || s.Body || s.Focus.Name != "Remove __proto__" {
		t.Errorf("a new name gives %+v", s)
	}
	if s := p.state("press", "Remove __proto__"); s.Text != `{}` || s.Body {
		t.Errorf("removed, it gives %+v", s)
	}
	// Kinds change under the focus.
	p.state("show", schema, `{"k":"text"}`)
	p.state("focus", "Kind of k")
	for _, want := range []string{`{"k":null}`, `{"k":{}}`} {
		p.key("ArrowDown", "", 0)
		if s := p.now(); s.Text != want || s.Focus.Name != "Kind of k" {
			t.Errorf("another kind gives %s, the focus at %+v", s.Text, s.Focus)
		}
	}
	p.key("Home", "", 0)
	if s := p.now(); s.Text != `{"k":"text"}` { // what it was is not lost
		t.Errorf("back to the first kind, it is %s", s.Text)
	}
}

// TestFormsMask: secrets are hidden until their person wants to see them, as fields and as text.
func TestFormsMask(t *testing.T) {
	t.Parallel()
	p := openForm(t)
	p.state("show", `{"type":"object","properties":{"login":{"type":"string","format":"password"},"apiKey":{"type":"string"},"pem":{"type":"string","writeOnly":true},"pin":{"type":"integer"},
		"name":{"type":"string"},"password":{"type":"string","default":"letmein"}}}`, `{"login":"hunter2","apiKey":"hunter3","pem":"hunter4\nx","pin":1234,"name":"Ada"}`)
	all := p.controls()
	for _, label := range []string{"login", "apiKey", "pin"} {
		if all[label].Type != "password" {
			t.Errorf("%s is shown in a field of type %s", label, all[label].Type)
		}
	}
	if all["name"].Type == "password" || all["pem"].Value != "••••" || strings.Contains(p.words(), "letmein") {
		t.Errorf("name is %+v, pem %+v; the form says\n%s", all["name"], all["pem"], p.words())
	}
	p.state("press", "Show apiKey")
	if all = p.controls(); all["apiKey"].Type == "password" || all["apiKey"].Value != "hunter3" || all["login"].Type != "password" {
		t.Errorf("Show gives %+v", all["apiKey"])
	}
	if s := p.over("login", "new"); s.Text != `{"login":"new","apiKey":"hunter3","pem":"hunter4\nx","pin":1234,"name":"Ada"}` {
		t.Errorf("typed into a hidden field: %+v", s)
	}
	p.state("mode", "json")
	if _, there := p.controls()["Text of the value"]; there {
		t.Error("the text of secrets is shown at once")
	}
	p.state("press", "Show the text")
	if got := p.controls()["Text of the value"].Value; !strings.Contains(got, "hunter4") {
		t.Errorf("Show the text shows %q", got)
	}
	p.state("show", `{"type":"object"}`, `{"name":"Ada"}`) // the control
	p.state("mode", "json")
	if _, there := p.controls()["Text of the value"]; !there {
		t.Error("a text without secrets is hidden")
	}
}

// TestSecretNamesAgree: the form knows the names of secrets that the rule sensitive-params knows.
func TestSecretNamesAgree(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../check/words/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	names := []string{"userPassword", "api-key", "APIKey", "cardNumbers", "pinned", "PIN", "passId", "pageToken", "x2token", "ÉtatPwd", "name", "", "max_tokens", "IBANCode"}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if _, words, ok := strings.Cut(lines.Text(), ": "); ok && !strings.HasPrefix(lines.Text(), "#") {
			for _, word := range strings.Fields(words) {
				names = append(names, word, "my_"+word, word+"s", word+"_id")
			}
		}
	}
	var got []bool
	openForm(t).ask(&got, "secret", names)
	secrets := 0
	for i, name := range names {
		if want := check.IsSecretName(name); got[i] != want {
			t.Errorf("%s: a secret in the form %v, for the rule %v", name, got[i], want)
		} else if want {
			secrets++
		}
	}
	if secrets < 100 || secrets == len(names) {
		t.Errorf("%d of %d names are secrets: the test proves nothing", secrets, len(names))
	}
}
