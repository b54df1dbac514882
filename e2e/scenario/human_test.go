package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/check"
	. "github.com/pagetools/pagetools/e2e/scenario"
)

func humans(t *testing.T, entries string) *Humans {
	t.Helper()
	f := mustRead(t, "cases: [{name: a, human: "+entries+", steps: [{call: x}]}]")
	h := &Humans{}
	if err := h.Add(&Scope{Unique: "u"}, f.Cases[0].Human...); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHumans(t *testing.T) {
	t.Parallel()
	buy := Question{Kind: bridge.Confirm, Tool: "buyProduct", Title: "The page asks.", Message: "Buy product 42?"}
	name := Question{Kind: bridge.Prompt, Tool: "add-stamp", Title: "The page asks.", Message: "Your name?"}
	approve := Question{Kind: bridge.Approve, Tool: "buyProduct", Title: "Run buyProduct?"}
	for _, c := range []struct {
		entries string
		asked   []Question
		want    string // what was answered, or the first word of why not
		left    int
	}{
		{`[{answer: accept}, {answer: decline}]`, []Question{buy, buy}, "accept decline", 0},
		{`[{on: dialog, message: {$pattern: "^Buy product"}, answer: accept}]`, []Question{buy}, "accept", 0},
		{`[{on: dialog, answer: accept}]`, []Question{approve}, "error", 1},
		{`[{on: prompt, answer: {value: "${unique}"}}, {on: confirm, answer: dismiss}]`, []Question{buy, name}, `decline accept="u"`, 0},
		{`[{answer: {value: x}}, {answer: accept}]`, []Question{buy, name}, `accept accept="x"`, 0},
		{`[{answer: accept, times: 2}]`, []Question{buy, name, buy}, "accept accept error", 0},
		{`[{answer: accept, times: 3}]`, []Question{buy}, "accept", 1},
		{`[{on: {tool: buyProduct, kind: approve, title: {$contains: Run}}, answer: refused}, {answer: late}]`, []Question{approve, approve}, "refused late", 0},
		{`[{title: other, answer: twice}]`, []Question{buy}, "error", 1},
		{`[{on: {tool: {$pattern: "^add"}}, answer: ignore}]`, []Question{name, buy}, "ignore error", 0},
	} {
		h := humans(t, c.entries)
		var got []string
		for _, q := range c.asked {
			a, err := h.Next(q)
			word := string(a.Act)
			if err != nil {
				word = "error"
			}
			if text, err := a.Value.JSON(); err == nil {
				word += "=" + string(text)
			}
			got = append(got, word)
		}
		if s := strings.Join(got, " "); s != c.want || len(h.Left()) != c.left {
			t.Errorf("%s: %s, and %d left", c.entries, s, len(h.Left()))
		}
	}
	h := humans(t, `[{on: prompt, answer: accept, after: 2s, from: console}]`)
	_, err := h.Next(Question{Kind: bridge.Confirm, Tool: "a\u202e", Message: "\x1b[2J"})
	want := `a question was asked that nobody answers: confirm by "a\u202e": "" "\u001b[2J"; of human, line 1 is for the kind prompt`
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
	if a, err := h.Next(name); err != nil || a.After != 2*time.Second || a.From != "console" {
		t.Errorf("the answer is %+v, %v", a, err)
	}
	f := mustRead(t, "cases: [{name: a, human: [{answer: {value: '${env.X}'}}], steps: [{call: x}]}]")
	if err := h.Add(&Scope{}, f.Cases[0].Human...); err == nil || !strings.Contains(err.Error(), "line 1: human: the environment variable X") {
		t.Errorf("a reference to nothing: %v", err)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	f := mustRead(t, `
cases:
  - name: a
    steps:
      - call: x
        effects: {network: [{method: POST, url: {$contains: "/${unique}"}}], storage: none, navigation: none}
      - call: x
        effects: {network: [{method: GET}, {method: POST}], storage: [cookie, {$contains: local}]}
`)
	post := check.Request{Method: "POST", URL: "https://x.example/u?a=1", Body: "b"}
	get := check.Request{Method: "GET", URL: "https://x.example/logo.png"}
	for i, c := range []struct {
		step int
		got  check.Effects
		want string // the path and why, "" when it matches
	}{
		{0, check.Effects{Requests: []check.Request{get, post, post}, Windows: []string{"about:blank"}}, ""},
		{0, check.Effects{Requests: []check.Request{get}}, `network: network has nothing that matches entry 1: { "method": "POST", "url": { "$contains": "/u" } }.`},
		{0, check.Effects{Requests: []check.Request{post, {Method: "DELETE", URL: "/\u202e"}}},
			`network[1]: network[1] was touched, and is not expected: {"body":"","method":"DELETE","url":"/\u202e"}.`},
		{0, check.Effects{Requests: []check.Request{post}, Storage: []string{"cookie"}}, `storage[0]: storage[0] was touched, and is not expected: "cookie".`},
		{0, check.Effects{Requests: []check.Request{post}, Navigated: []string{"/x"}}, `navigation[0]: navigation[0] was touched, and is not expected: "/x".`},
		{1, check.Effects{Requests: []check.Request{get, post}, Storage: []string{"localStorage", "cookie"}}, ""},
		{1, check.Effects{Requests: []check.Request{post}, Storage: []string{"localStorage", "cookie"}},
			`network: network has nothing that matches entry 1: { "method": "GET" }.`},
	} {
		e, err := f.Cases[0].Steps[c.step].Effects.Expand(&Scope{Unique: "u"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if m := e.Match(c.got); m != nil {
			got = m.Path + ": " + m.Why
			if !strings.HasPrefix(m.Actual, "  [") && !strings.HasPrefix(m.Actual, "> [") {
				t.Errorf("%d: actual is %s", i, m.Actual)
			}
		}
		if got != c.want {
			t.Errorf("%d: %s\nwant %s", i, got, c.want)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tools, want string }{
		{`{include: add, exclude: delete}`, ""},
		{`{include: [add, gett]}`, `the tool "gett" is missing; there is "get".`},
		{`{exclude: [add]}`, `the tool "add" is there, and must not be.`},
		{`{exactly: [get, add]}`, ""},
		{`{exactly: [add]}`, `the tool "get" is not expected.`},
		{`{exactly: []}`, `the tool "add" is not expected.`},
		{`{exactly: [add, get, more]}`, `the tool "more" is missing.`},
	} {
		f := mustRead(t, "cases: [{name: a, steps: [{tools: "+c.tools+"}]}]")
		got := ""
		if m := f.Cases[0].Steps[0].Tools.Match([]string{"add", "get"}); m != nil {
			got = m.Why
		}
		if got != c.want {
			t.Errorf("%s: %s", c.tools, got)
		}
	}
}
