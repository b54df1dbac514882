package scenario_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/pagetools/pagetools/e2e/scenario"
)

func newScope() *Scope {
	s := &Scope{Unique: "u-1", Env: func(name string) (string, bool) { return "https://x.example", name == "BASE" }}
	s.Keep("add", json.RawMessage(`{"id":9007199254740993,"list":[{"a b":true}],"text":"t","none":null}`))
	s.Keep("shop.add", json.RawMessage(`"dotted"`))
	return s
}

func TestReferences(t *testing.T) {
	t.Parallel()
	f := mustRead(t, `
cases:
  - name: a
    steps:
      - {call: add}
      - {call: shop.add}
      - call: use
        with:
          whole: ${steps.add.id}
          all: ${steps.add}
          embedded: "n${steps.add.id}, ${steps.add.text}, ${steps.add.list}"
          deep: ${steps.add.list[0]["a b"]}
          dots: ${steps.shop.add}
          env: "${env.BASE}/a"
          unique: "${unique}${unique}"
          escaped: "$${unique} $1 $$"
        expect: {text: {$pattern: "^${steps.add.text}$"}, n: {$gt: "${steps.add.id}"}}
`)
	with, err := newScope().Expand(f.Cases[0].Steps[2].With)
	if err != nil {
		t.Fatal(err)
	}
	got, err := with.JSON()
	want := `{"whole":9007199254740993,"all":{"id":9007199254740993,"list":[{"a b":true}],"text":"t","none":null},` +
		`"embedded":"n9007199254740993, t, [{\"a b\":true}]","deep":true,"dots":"dotted","env":"https://x.example/a",` +
		`"unique":"u-1u-1","escaped":"${unique} $1 $$"}`
	if err != nil || string(got) != want {
		t.Errorf("with is %s, %v", got, err)
	}
	expected, err := newScope().Expand(f.Cases[0].Steps[2].Expect)
	if err != nil {
		t.Fatal(err)
	}
	if m := Match(expected, json.RawMessage(`{"text":"t","n":9007199254740994}`)); m != nil {
		t.Error(m)
	}
	if m := Match(expected, json.RawMessage(`{"text":"t","n":9007199254740993}`)); m == nil || m.Path != "n" {
		t.Errorf("a number that is not greater: %v", m)
	}
	if _, err := f.Cases[0].Steps[2].With.JSON(); err == nil {
		t.Error("a value with references has JSON")
	}
}

func TestReferencesThatStandForNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${env.MISSING}":        "the environment variable MISSING is not set",
		"x ${steps.other}":      "${steps.other} names a step that has no result",
		"${steps.add.nothing}":  `add is an object without "nothing"`,
		"${steps.add.list[3]}":  `add.list is an array without "3"`,
		"${steps.add.text.x.y}": `add.text is a string without "x"`,
		"${steps.add.none.x}":   `add.none is null without "x"`,
		"${steps.add[x]}":       "invalid path",
		"${what}":               "unknown reference",
	} {
		if got, err := newScope().Text(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	if got, err := newScope().Text("${env.BASE}/${steps.add.text}/$${x}"); err != nil || got != "https://x.example/t/${x}" {
		t.Errorf("the text is %q, %v", got, err)
	}
	f := mustRead(t, "cases: [{name: a, steps: [{call: add}, {call: b, expect: {$gt: '${steps.add.text}'}}]}]")
	if _, err := newScope().Expand(f.Cases[0].Steps[1].Expect); err == nil || !strings.Contains(err.Error(), "$gt: it must be a number") {
		t.Errorf("a matcher with the wrong type: %v", err)
	}
}
