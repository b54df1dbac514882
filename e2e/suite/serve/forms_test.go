package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/js/build"
	"github.com/pagetools/pagetools/session/cdp"
)

// formFolder has the page of the form, and schemas with values.
const formFolder = "../testdata/form"

// formBundle returns the script of the form's page, made of the form's sources.
func formBundle(t *testing.T) []byte {
	t.Helper()
	made, err := build.Make("../../../js", build.Bundle{Entry: "../e2e/suite/testdata/form/main.jsx", Out: "form.js", Result: "page", Small: true})
	if err != nil {
		t.Fatal(err)
	}
	return made["form.js"]
}

// formPage is the form, alone on a page with the policy of the operators' page.
type formPage struct {
	*shownPage
	t    *testing.T
	keys *int // that were pressed
}

// formState describes the page after a step.
type formState struct {
	Text, Problem, Mode string
	Changed, Body       bool
	Fields, Options     int
	Violations          []string
	Focus               struct {
		Tag, Type, Value, Name string
		Index, Options         int
		ReadOnly               bool
	}
}

func openForm(t *testing.T) *formPage {
	t.Helper()
	script := formBundle(t)
	page, err := os.ReadFile(filepath.Join(formFolder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'")
		content, body := "text/html; charset=utf-8", page
		if r.URL.Path == "/main.js" {
			content, body = "text/javascript; charset=utf-8", script
		}
		w.Header().Set("Content-Type", content)
		_, _ = w.Write(body) // a client that is gone
	}))
	t.Cleanup(web.Close)
	return &formPage{shownPage: showInBrowser(t, operatorsBrowser(t), web.URL, "body[data-ready]"), t: t, keys: new(int)}
}

// of returns the page for a subtest.
func (p *formPage) of(t *testing.T) *formPage {
	return &formPage{shownPage: p.shownPage, t: t, keys: p.keys}
}

// ask calls a function of the page with texts, and reads what it returns.
func (p *formPage) ask(into any, function string, args ...any) {
	p.t.Helper()
	text, err := json.Marshal(append([]any{}, args...))
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := cdp.Evaluate(p.t.Context(), p.Tab, "forms."+function+"(..."+string(text)+")")
	if err == nil {
		err = json.Unmarshal([]byte(answer), into)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", function, err)
	}
}

func (p *formPage) state(function string, args ...any) (s formState) {
	p.t.Helper()
	p.ask(&s, function, args...)
	if len(s.Violations) > 0 {
		p.t.Errorf("%s: the page's policy was violated: %v", function, s.Violations)
	}
	return s
}

// key presses a key with modifiers: 2 is Control, 8 Shift.
func (p *formPage) key(key, text string, modifiers int) {
	p.t.Helper()
	in := bridge.Input{Key: key, Code: key, Text: text, Modifiers: modifiers}
	for _, in.Type = range []bridge.InputType{bridge.KeyDown, bridge.KeyUp} {
		err := p.Act(context.WithoutCancel(p.t.Context()), in)
		for tries := 0; err != nil && tries < 100; tries++ { // the page has more keys than it has taken
			p.state("mode", "")
			err = p.Act(context.WithoutCancel(p.t.Context()), in)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	*p.keys++
}

// now returns the state after the keys that were pressed.
func (p *formPage) now() formState { return p.state("state", *p.keys) }

// types selects what a control has and types a text over it.
func (p *formPage) types(s formState, text string) {
	p.t.Helper()
	if s.Focus.Type == "date" { // year, month and day are three parts of it, in the order of the browser's language
		part := strings.Split(text, "-")
		for _, digit := range part[1] + part[2] + part[0] {
			p.key(string(digit), string(digit), 0)
		}
		return
	}
	p.key("a", "", 2)
	p.key("Delete", "", 0)
	for _, c := range text {
		if c == '\n' {
			p.key("Enter", "\r", 0)
			continue
		}
		p.key(string(c), string(c), 0)
	}
}

// retypes goes through a form with Tab alone, and types into every control what it shows. In a list it
// goes to each choice and comes back.
func (p *formPage) retypes() (steps int) {
	p.t.Helper()
	for {
		p.key("Tab", "", 0)
		s := p.now()
		f := s.Focus
		if s.Body {
			p.t.Fatalf("after %d steps the focus is nowhere", steps)
		}
		if f.Name == "After" {
			return steps
		}
		if steps++; steps > 400 {
			p.t.Fatalf("Tab leads to no end: %+v", f)
		}
		switch {
		case f.Tag == "select" && f.Index >= 0:
			p.key("Home", "", 0)
			for range f.Options - 1 {
				p.key("ArrowDown", "", 0)
			}
			for range f.Options - 1 - f.Index {
				p.key("ArrowUp", "", 0)
			}
			if now := p.now(); now.Focus.Index != f.Index || now.Body {
				p.t.Fatalf("%s: from choice %d to %d with the keyboard, the focus at %+v", f.Name, f.Index, now.Focus.Index, now.Focus)
			}
		case f.ReadOnly, f.Value == "", f.Tag != "input" && f.Tag != "textarea":
		default:
			p.types(s, f.Value)
		}
	}
}

// formCase is a schema with a value.
type formCase struct {
	Name, Source  string
	Schema, Value json.RawMessage
}

func formCases(t *testing.T, file string) (cases []formCase) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(formFolder, file))
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// formPages is the number of pages that type at once: most of the time a key waits for its frame.
const formPages = 4

// TestFormsKeepValues: what comes into a form goes out of it byte for byte, untouched, after it was shown
// as text and back, and after a person typed every field anew.
func TestFormsKeepValues(t *testing.T) {
	gatetest.Nightly(t, "real keys in 37 forms")
	t.Parallel()
	cases := append(formCases(t, "kinds.json"), formCases(t, "public.json")...)
	for page := range formPages {
		t.Run(fmt.Sprint(page), func(t *testing.T) {
			t.Parallel()
			p := openForm(t)
			for i := page; i < len(cases); i += formPages {
				t.Run(cases[i].Name, func(t *testing.T) { p.of(t).keeps(string(cases[i].Schema), string(cases[i].Value)) })
			}
		})
	}
}

// keeps shows a value, leads it through all that a person can do without changing it, and compares.
func (p *formPage) keeps(schema, want string) {
	p.t.Helper()
	for _, step := range []struct {
		what string
		do   func() formState
	}{
		{"untouched", func() formState { return p.state("show", schema, want) }},
		{"as text", func() formState { return p.state("mode", "json") }},
		{"as fields again", func() formState { return p.state("mode", "form") }},
		{"retyped", func() formState {
			if p.retypes() < 3 {
				p.t.Error("Tab leads to nothing")
			}
			return p.now()
		}},
		{"retyped, as text and as fields", func() formState {
			p.state("mode", "json")
			return p.state("mode", "form")
		}},
	} {
		if got := step.do(); got.Text != want || got.Problem != "" || got.Changed {
			p.t.Fatalf("%s:\n%s %s\nwant\n%s\n%s", step.what, got.Text, got.Problem, want, p.words())
		}
	}
}

// words returns what the form shows.
func (p *formPage) words() (text string) {
	p.t.Helper()
	p.ask(&text, "words")
	return text
}

// TestFormsOfMadeUpSchemas: the same holds for schemas and values that nobody wrote.
func TestFormsOfMadeUpSchemas(t *testing.T) {
	gatetest.Nightly(t, "it makes up schemas")
	t.Parallel()
	p := openForm(t)
	rounds := gatetest.Amount(400, 40_000)
	seed := gatetest.Amount(1, int(time.Now().UnixNano()&0xffffff)) // by day the same ones
	const at = 200                                                  // so many in one question to the page
	fields := 0
	for n := 0; n < rounds; n += at {
		var got struct {
			Failures []string
			Fields   int
		}
		p.ask(&got, "fuzz", seed+n, at)
		fields += got.Fields
		for _, f := range got.Failures {
			t.Error(f)
		}
		if t.Failed() {
			break
		}
	}
	if fields < rounds {
		t.Errorf("%d schemas have %d fields: the test proves nothing", rounds, fields)
	}
}

// TestFormsTakeTheTestSuite: so does what the examples of the JSON Schema test suite have.
func TestFormsTakeTheTestSuite(t *testing.T) {
	gatetest.Nightly(t, "it shows some thousand forms")
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(os.Getenv("PAGETOOLS_SCHEMAS"), "draft*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("PAGETOOLS_SCHEMAS names no folder with the examples: %v", err)
	}
	p := openForm(t)
	shown := 0
	for _, file := range files {
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct{ Data json.RawMessage }
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &groups)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			for _, test := range g.Tests {
				for _, mode := range []string{"", "json", "form"} {
					s := p.state("mode", mode)
					if mode == "" {
						s = p.state("show", string(g.Schema), string(test.Data))
						shown++
					}
					if s.Text != string(test.Data) {
						t.Fatalf("%s, %s: %s as %q gives %s %s", file, g.Description, test.Data, mode, s.Text, s.Problem)
					}
				}
			}
		}
	}
	if shown < 1000 {
		t.Errorf("%d examples: the test proves nothing", shown)
	}
}
