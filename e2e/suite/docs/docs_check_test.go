package docs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The checks of docs_test.go pass when they look at nothing. These tests plant
// what they must find.

func TestDeadLinksCatch(t *testing.T) {
	t.Parallel()
	docs := map[string]string{
		"README.md": "# Title here\n[ok](docs/a.md) [web](https://example.org/x) [self](#title-here)\n" +
			"```\n[code](nowhere.md)\n```\n`[code](nowhere.md)` [gone](docs/gone.md) [out](../x.md) [noheading](docs/a.md#no)\n[ref]: missing.md\n",
		"docs/a.md": "## One, `two`: three\n[up](../README.md) [there](#one-two-three)\n",
	}
	problems := deadLinks(docs, func(path string) bool { return docs[path] != "" || path == "docs" })
	want := []string{"docs/gone.md leads nowhere", "../x.md leaves", "docs/a.md#no names no heading", "missing.md leads nowhere"}
	if len(problems) != len(want) {
		t.Fatalf("found %q", problems)
	}
	for i := range want {
		if !strings.Contains(problems[i], want[i]) {
			t.Errorf("problem %d is %q, want %q", i, problems[i], want[i])
		}
	}
}

func TestUnindexedCatch(t *testing.T) {
	t.Parallel()
	docs := map[string]string{
		"docs/decisions/README.md":              "- [listed](2026-01-01-listed.md)\n- [twice](2026-01-03-twice.md) [twice](2026-01-03-twice.md)\n- [x](note.md)",
		"docs/decisions/2026-01-01-listed.md":   "x",
		"docs/decisions/2026-01-02-unlisted.md": "x",
		"docs/decisions/2026-01-03-twice.md":    "x",
		"docs/decisions/note.md":                "x",
	}
	problems := strings.Join(unindexed(docs), "\n")
	for _, want := range []string{"unlisted.md: docs/decisions/README.md lists it 0 times", "twice.md: docs/decisions/README.md lists it 2 times", "note.md: a decision is named"} {
		if !strings.Contains(problems, want) {
			t.Errorf("no problem %q in:\n%s", want, problems)
		}
	}
	if strings.Contains(problems, "01-listed.md") {
		t.Errorf("a listed decision is a problem:\n%s", problems)
	}
	if len(unindexed(map[string]string{})) != 1 {
		t.Error("a missing index is no problem")
	}
}

func TestMisshapenCatch(t *testing.T) {
	t.Parallel()
	const head, decision, why, last = "# Title\n\nStatus: accepted\n\n", "## Decision\n\n", "## Why\n\n", "## Not chosen\n"
	for name, test := range map[string]struct{ text, want string }{
		"whole":         {head + decision + why + last, ""},
		"without why":   {head + decision + last, ""},
		"replaced":      {"# Title\n\nStatus: replaced\n\n" + decision + last, "follows the title"},
		"more":          {"# Title\n\nStatus: accepted, 2026-01-01\n\n" + decision + last, "follows the title"},
		"two":           {head + decision + "\nStatus: accepted\n" + last, "one status"},
		"order":         {head + why + decision + last, "the sections are"},
		"another":       {head + decision + "## What is left\n" + last, "the sections are"},
		"nothing else":  {head + decision, "the sections are"},
		"why after all": {head + decision + last + why, "the sections are"},
		"long":          {head + decision + strings.Repeat("x\n", mostDecisionLines) + last, "has at most"},
	} {
		problems := misshapen(map[string]string{"docs/decisions/x.md": test.text, "docs/decisions/README.md": "", "README.md": ""})
		switch {
		case test.want == "" && len(problems) > 0:
			t.Errorf("%s: found %q", name, problems)
		case test.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], test.want)):
			t.Errorf("%s: found %q, want one problem with %q", name, problems, test.want)
		}
	}
}

func TestMakeCommandsCatch(t *testing.T) {
	t.Parallel()
	text := "Run `make demo`, or\n```\nmake test && make lint\ncd x; make bench\n```\nand make sure of it.\n"
	got := makeCommands(text)
	slices.Sort(got)
	if want := []string{"bench", "demo", "lint", "test"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := makeTargets("GO ?= go\n.PHONY: test\ntest: build\n\techo x: y\nbuild:\n"); !slices.Equal(got, []string{"test", "build"}) {
		t.Errorf("targets %q", got)
	}
}

func TestPagetoolsCommandsCatch(t *testing.T) {
	t.Parallel()
	text := "Text about pagetools serve --not-code.\n```\n$ bin/pagetools call x add name=\"a --quoted b\" \\\n    --approval auto -e p\n" +
		"pagetools tools x | wc -l\ngo build -o bin/pagetools ./cmd/pagetools\n```\n"
	got := pagetoolsCommands(text)
	want := []command{{"call", []string{"--approval", "-e"}}, {"tools", nil}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %+v, want %+v", got, want)
	}
	help := "  -e, --executable-path PATH\n  --approval-mode M\n"
	if problems := unknownFlags(got[0], help); len(problems) != 1 || !strings.Contains(problems[0], "--approval") {
		t.Errorf("problems %q", problems)
	}
}
