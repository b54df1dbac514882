package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// gestures lists what a person does in checkout.html, with what comes of it: the result as
// expected, or a part of the failure.
var gestures = []struct{ name, tool, human, expect, fails string }{
	{"clicks (K3)", "pay", `{on: interact, answer: {click: "#far"}}`, `{trusted: true, name: nobody}`, ""},
	{"types", "pay", `{answer: [{fill: "#name", with: Ada é!}, {click: "#far"}]}`, `{name: Ada é!, keys: Ada é!}`, ""},
	{"types much", "pay", `{answer: [{fill: "#note", with: "a\nb"}, {fill: "#rich", with: new}, {fill: "#secret", with: pw}, {fill: "#count", with: "12"}, {click: "#far"}]}`,
		`{note: "a\nb", rich: new, secret: pw, count: "12"}`, ""},
	{"types a reference", "pay", `{answer: [{fill: "#name", with: "${env.GREETING}"}, {click: "#far"}]}`, `{name: hello}`, ""},
	{"empties", "pay", `{answer: [{fill: "#name", with: ""}, {click: "#far"}]}`, `{name: ""}`, ""},
	{"chooses a text", "pay", `{answer: [{choose: "#size", with: XL}, {click: "#far"}]}`, `{size: XL, changes: 1}`, ""},
	{"chooses a value", "pay", `{answer: [{choose: "#size", with: large}, {click: "#far"}]}`, `{size: large, changes: 1}`, ""},
	{"chooses what is chosen", "pay", `{answer: [{choose: "#size", with: S}, {click: "#far"}]}`, `{size: S, changes: 0}`, ""},
	{"chooses several", "pay", `{answer: [{choose: "#many", with: c}, {click: "#far"}]}`, `{many: bc}`, ""},
	{"agrees", "pay", `{answer: [{click: "#agree"}, {click: "#far"}]}`, `{box: true}`, ""},
	{"waits for a button", "later", `{answer: {click: "#late"}}`, `late`, ""},
	{"waits for the page", "waits", `{answer: {click: "#far"}}`, `waited`, ""},
	{"meets a dialog", "sure", `{answer: {click: "#far"}}, {on: confirm, answer: accept}`, `sure`, ""},
	{"acts for a class", "classy", `{answer: {click: "#far"}}`, `classy`, ""},
	{"acts for what is frozen", "frozen", `{answer: {click: "#far"}}`, `cold`, ""},
	{"acts twice", "twice", `{answer: [{fill: "#name", with: a}, {click: "#far"}]}, {answer: [{fill: "#name", with: b}, {click: "#far"}]}`, `"a, b"`, ""},
	{"takes time", "pay", `{answer: {click: "#far"}, after: 50ms}`, `{trusted: true}`, ""},
	{"acts and accepts", "deaf", `{answer: [{fill: "#name", with: Ada}, {value: 7}]}`, `7`, ""},
	{"acts and declines", "deaf", `{answer: [{click: "#agree"}, decline]}`, "", "the call failed: TOOL_ERROR: The user declined."},
	{"submits", "order", `{on: interact, answer: {click: "#send"}}`, `{page: {status: 200}}`, ""},
	{"fills and submits", "order", `{on: interact, answer: [{fill: "[name=what]", with: tea}, accept]}`, `{page: {address: {$contains: what=tea}}}`, ""},
	{"leaves the page", "leaves", `{answer: {click: "#far"}}`, "", "PAGE_NAVIGATED"},

	{"picks a day", "pay", `{answer: [{fill: "#day", with: "2026-01-31"}, {click: "#far"}]}`, `{day: "2026-01-31", picks: 1}`, ""},
	{"picks all else", "pay", `{answer: [{fill: "#hours", with: "13:30"}, {fill: "#color", with: "#FF8800"}, {fill: "#loud", with: "11"}, {click: "#far"}]}`,
		`{hours: "13:30", color: "#ff8800", loud: "11", picks: 3}`, ""},
	{"chooses a file", "pay", `{answer: [{choose: "#file", with: testdata/note.txt}, {click: "#far"}]}`, `{file: note.txt text/plain 6, picks: 1}`, ""},
	{"acts in a shadow tree", "shadow", `{answer: [{fill: "#inner", with: new}, {choose: "#card >>> #sizes", with: L}, {click: ".go:first-child"}]}`, `{trusted: true, inner: new, inSize: L}`, ""},
	{"acts in a shadow tree that it names", "shadow", `{answer: {click: "#card >>> #deep >>> .go:first-child"}}`, `{trusted: true}`, ""},
	{"meets nothing", "pay", `{answer: {click: "#pay"}}`, "", `line 4: the person cannot click "#pay": no element matches "#pay"`},
	{"meets several", "pay", `{answer: {click: .two}}`, "", `2 elements match ".two", such as <button class="two"> and <button class="two">: write a selector of one`},
	{"writes no selector", "pay", `{answer: {click: "p["}}`, "", `is not a CSS selector: correct it`},
	{"meets what is hidden", "pay", `{answer: {click: "#hidden"}}`, "", `<button id="hidden"> is hidden: name what the person sees`},
	{"meets what is disabled", "pay", `{answer: {click: "#never"}}`, "", `<button id="never"> is disabled: let the page enable it`},
	{"meets what is covered", "covered", `{answer: {click: "#far"}}`, "", `<div id="curtain"> covers <button id="far">: let the person close it first`},
	{"types into a button", "pay", `{answer: {fill: "#far", with: x}}`, "", `<button id="far"> takes no text: write click in the place of fill, or name a field`},
	{"types into a list", "pay", `{answer: {fill: "#size", with: x}}`, "", `<select id="size"> takes no text: write choose in the place of fill`},
	{"types what is fixed", "pay", `{answer: {fill: "#fixed", with: x}}`, "", `<input id="fixed"> is read-only`},
	{"types too much", "pay", `{answer: {fill: "#short", with: long}}`, "", `<input id="short"> takes 3 characters, and the text has 4: shorten it`},
	{"types no number", "pay", `{answer: {fill: "#count", with: "-"}}`, "", `<input id="count"> of the type number does not take "-"`},
	{"picks no day", "pay", `{answer: {fill: "#day", with: "1.1.2026"}}`, "", `<input id="day"> of the type date does not take "1.1.2026": write 2026-01-31`},
	{"picks too much", "pay", `{answer: {fill: "#loud", with: "12"}}`, "", `of the type range does not take "12"`},
	{"picks what is fixed", "pay", `{answer: {fill: "#locked", with: "2026-01-01"}}`, "", `<input id="locked"> is read-only`},
	{"chooses no file", "pay", `{answer: {choose: "#file", with: nothing.pdf}}`, "", `there is no file "nothing.pdf" beside the scenario`},
	{"chooses a folder", "pay", `{answer: {choose: "#file", with: testdata}}`, "", `"testdata" is not a file of at most 1024 KiB`},
	{"chooses a file in a disabled field", "pay", `{answer: {choose: "#none", with: note.txt}}`, "", `<input id="none"> is disabled`},
	{"types a file", "pay", `{answer: {fill: "#none", with: x}}`, "", `<input id="none"> is disabled`},
	{"meets several in shadow trees", "shadow", `{answer: {click: ".go"}}`, "", `2 elements match ".go", such as <button class="go">`},
	{"meets nothing in a shadow tree", "shadow", `{answer: {click: "#card >>> #far"}}`, "", `no element matches "#card >>> #far"`},
	{"chooses what is not there", "pay", `{answer: {choose: "#size", with: XXL}}`, "", `<select id="size"> has no option "XXL": write one of "S", "M", "L", "XL"`},
	{"chooses what is disabled", "pay", `{answer: {choose: "#size", with: M}}`, "", `the option "M" of <select id="size"> is disabled`},
	{"chooses one of two", "pay", `{answer: {choose: "#twice", with: same}}`, "", `<select id="twice"> has 2 options "same": write the value of one`},
	{"chooses in a button", "pay", `{answer: {choose: "#far", with: x}}`, "", `<button id="far"> is not a <select>: write click in the place of choose`},
	{"clicks a list", "pay", `{answer: {click: "#size"}}`, "", `<select id="size"> is a list: write choose in the place of click`},
	{"is not asked", "order", `{on: interact, answer: accept}, {answer: {click: "#far"}}`, "", "an answer was not asked for: in the page"},
}

// absent lists the cases that the page's own way does not have: it asks nobody, and waits for
// nobody to submit a form.
var absent = []string{"acts and accepts", "acts and declines", "submits", "fills and submits", "is not asked"}

// TestPeopleAct: the person of a case clicks, types and chooses in the page, by trusted input, in
// all three ways; what a person cannot do fails the case, and says why and what to do.
func TestPeopleAct(t *testing.T) {
	t.Parallel()
	rows := gestures[:0:0]
	for i, g := range gestures {
		if gatetest.Runs(i, 2) {
			rows = append(rows, g)
		}
	}
	var b strings.Builder
	b.WriteString("site: {dir: testdata/site, url: /checkout.html}\ncases:\n")
	for i, g := range rows {
		via := "all"
		if !gatetest.IsNightly() && i > 0 { // by day each in one of the ways
			via = string(scenario.Doors()[i%3])
		}
		expect := ""
		if g.expect != "" {
			expect = ", expect: " + g.expect
		}
		fmt.Fprintf(&b, "- name: %s\n  via: %s\n  human: [%s]\n  steps: [{call: %s%s}]\n", g.name, via, g.human, g.tool, expect)
	}
	done, err := run.Files(t.Context(), []*scenario.File{readScenario(t, b.String())}, run.Options{Open: open, Env: env, Parallel: 8,
		CaseTime: 20 * time.Second})
	if err != nil || len(done.Cases) < len(rows)+2 {
		t.Fatalf("%d cases ended: %v", len(done.Cases), err)
	}
	for _, c := range done.Cases {
		for i, g := range rows {
			if g.name != c.Name {
				continue
			}
			want := report.Passed
			switch {
			case c.Door == "page" && slices.Contains(absent, g.name):
				want = report.NotApplicable
			case g.fails != "":
				want = report.Failed
			}
			fails := strings.ReplaceAll(g.fails, "line 4", fmt.Sprintf("line %d", 3+4*i+2))
			if c.Status != want || want == report.Failed && !strings.Contains(c.Failure.Message, fails) {
				t.Errorf("%s (%s) is %s: %s %+v", c.Name, c.Door, c.Status, c.Reason, c.Failure)
			}
		}
	}
}

// TestNoElement (K8): what a selector does not find is said in words, and is never accepted as
// null.
func TestNoElement(t *testing.T) {
	t.Parallel()
	looks := []struct{ look, want string }{
		{`{text: "#gone", matches: x}`, `the page: no element matches "#gone": correct the selector, or let the page show it`},
		{`{text: "#gone", matches: {$contains: x}}`, `no element matches "#gone"`},
		{`{value: "#gone", matches: x}`, `no element matches "#gone"`},
		{`{visible: "#gone"}`, `no element matches "#gone"`},
		{`{count: "#gone", matches: 1}`, `the page, count of "#gone": `},
		{`{text: "#hidden", matches: x}`, `the page, text of "#hidden": `},
		{`{text: "#gone", matches: null}`, ""}, // that it is not there
		{`{visible: "#gone", matches: false}`, ""},
		{`{count: "#gone", matches: 0}`, ""},
	}
	text := "site: {dir: testdata/site, url: /checkout.html}\nvia: webtool\ncases:\n"
	for i, x := range looks {
		text += fmt.Sprintf("- {name: look %d, steps: [{page: %s}]}\n", i, x.look)
	}
	for _, accept := range []func(*scenario.File, []scenario.Change) error{nil, func(*scenario.File, []scenario.Change) error { return nil }} {
		done, err := run.Files(t.Context(), []*scenario.File{readScenario(t, text)}, run.Options{Open: open, Accept: accept, Parallel: len(looks)})
		if err != nil || len(done.Cases) != len(looks) {
			t.Fatalf("%d cases ended: %v", len(done.Cases), err)
		}
		for i, x := range looks {
			got := ""
			if failure := done.Cases[i].Failure; failure != nil {
				got = failure.Message
			}
			if x.want == "" && got != "" || !strings.Contains(got, x.want) && (accept == nil || strings.HasPrefix(x.want, "no")) || strings.Contains(got, "null") {
				t.Errorf("%s (accept: %t): %q, want %q", x.look, accept != nil, got, x.want)
			}
		}
	}
}

// TestNoFileElsewhere (S1): the person of a scenario that was found, and that nobody named, chooses
// no file outside of the folder in which it was found; one of a scenario that was named does.
func TestNoFileElsewhere(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "found")
	if err := os.Mkdir(link, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(link, "note.txt")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, within, file string
		gives              bool
	}{
		{"inside", here, "testdata/note.txt", true},
		{"above", here, "gestures.go", false},
		{"by its whole path", here, filepath.Join(outside, "secret.txt"), false},
		{"by dots", here, "testdata/../../../README.md", false},
		{"by a link", link, filepath.Join(link, "note.txt"), false},
		{"named", "", filepath.Join(outside, "secret.txt"), true},
	} {
		f := readScenario(t, fmt.Sprintf("site: {dir: testdata/site, url: /checkout.html}\nvia: webtool\ncases:\n- {name: gives, "+
			"human: [{answer: [{choose: \"#file\", with: %q}, {click: \"#far\"}]}], steps: [{call: pay, expect: {picks: 1}}]}\n", c.file))
		f.Within = c.within
		done, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{Open: open, Site: scenario.Site{Dir: "testdata/site", URL: "/checkout.html"}})
		if err != nil || len(done.Cases) != 1 {
			t.Fatalf("%s: %d cases ended: %v", c.name, len(done.Cases), err)
		}
		failure := done.Cases[0].Failure
		if c.gives != (failure == nil) || !c.gives && !strings.Contains(failure.Message, "nobody named this scenario") {
			t.Errorf("%s: %+v", c.name, failure)
		}
	}
}
