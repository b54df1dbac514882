package check

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:generate go test . -count=1 -run TestRulePages -update

var update = flag.Bool("update", false, "write docs/rules anew")

const (
	pagesFolder = "../../docs/rules"
	made        = "<!-- Made by go generate from e2e/check. -->\n\n"
)

// TestRulePages: docs/rules has one page for each rule, made from the rule, and their table.
func TestRulePages(t *testing.T) {
	t.Parallel()
	want := rulePages()
	if *update {
		if err := os.MkdirAll(pagesFolder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(pagesFolder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(pagesFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		have, err := os.ReadFile(filepath.Join(pagesFolder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch text, there := want[file.Name()]; {
		case !there:
			t.Errorf("docs/rules/%s is the page of no rule: remove it", file.Name())
		case text != string(have):
			t.Errorf("docs/rules/%s is not current: go generate ./e2e/check", file.Name())
		}
		delete(want, file.Name())
	}
	for _, name := range sortedKeys(want) {
		t.Errorf("there is no docs/rules/%s: go generate ./e2e/check", name)
	}
}

// rulePages are the pages by the names of their files.
func rulePages() map[string]string {
	pages := map[string]string{}
	var table strings.Builder
	table.WriteString(made + "# Rules\n\nWhat `pagetools check` looks for, by group. Each rule has a page with its reason, its options, and an example.\n" +
		"A rule that is off by default runs when you set its severity or an option.\n")
	for _, f := range families {
		fmt.Fprintf(&table, "\n## %s\n\n| rule | severity | what it finds |\n|---|---|---|\n", f.title)
		for _, r := range f.rules {
			fmt.Fprintf(&table, "| [`%s`](%s.md) | %s | %s |\n", r.ID, r.ID, r.level(), strings.ReplaceAll(r.What, "|", `\|`))
			pages[r.ID+".md"] = rulePage(&r, f.title)
		}
	}
	pages["README.md"] = table.String()
	return pages
}

func rulePage(r *Rule, family string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\nSeverity: %s. Group: [%s](README.md#%s).\n\n%s\n\n## Why\n\n%s\n\nSource: %s.\n", made, r.ID, r.level(), family,
		strings.ReplaceAll(strings.ToLower(family), " ", "-"), wrapped(r.What), wrapped(r.Why), r.Source)
	if len(r.Options) > 0 {
		b.WriteString("\n## Options\n\n| option | default | what it is |\n|---|---|---|\n")
		for _, o := range r.Options {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Name, strings.ReplaceAll(o.value(), ", ", " · "), o.What)
		}
	}
	if what := cmp.Or(needs[r.ID], needs[family]); what != "" {
		b.WriteString("\n" + what + "\n")
	}
	if r.Allows {
		b.WriteString("\nThe setting `allow` lists texts that the rule lets pass.\n")
	}
	if said := r.measured(); said != "" {
		fmt.Fprintf(&b, "\n%s\n", wrapped(strings.ReplaceAll(said, "docs/corpus.md", "[corpus](../corpus.md)")))
	}
	fmt.Fprintf(&b, "\n## Bad\n\n```json\n%s\n```\n\n## Good\n\n```json\n%s\n```\n", indented(r.Bad), indented(r.Good))
	return b.String()
}

// needs says what a rule needs besides a page, by its id or its family.
var needs = map[string]string{
	"Smoke": "It needs calls of the tools: `pagetools check --smoke`.", "Effects": "It needs calls that are watched: `pagetools check --smoke --effects`.",
	"Reach": "It needs hosts, or clients of MCP: `pagetools check --host all --client all`.", "OpenTools documents": "It needs a document of OpenAPI as the target of `pagetools check`.",
	"contract-changed": "It needs `pagetools.lock`, which `pagetools lock` writes.", "cross-page-drift": "It needs several pages of a site as targets.",
}

// wrapped is a paragraph in lines of at most 120 characters.
func wrapped(text string) string {
	const most = 120
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > most:
			out.WriteByte('\n')
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, r := range Rules() {
		text, err := Explain(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{r.ID, string(r.Severity), r.What, r.Why, r.Source, "Bad:", "Good:"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in\n%s", r.ID, part, text)
			}
		}
		if n := strings.Count(text, "\n"); n > 110 {
			t.Errorf("%s has %d lines", r.ID, n)
		}
		for _, o := range r.Options {
			if !strings.Contains(text, "Option "+o.Name+": ") {
				t.Errorf("%s: no option %s", r.ID, o.Name)
			}
		}
	}
	if _, err := Explain("too-many-tool"); err == nil || !strings.Contains(err.Error(), "did you mean too-many-tools?") {
		t.Errorf("an unknown rule: %v", err)
	}
	off, err := Explain("tool-name-style")
	if err != nil || !strings.Contains(off, "warning, off by default") || !strings.Contains(off, "(default: snake_case)") {
		t.Errorf("%s, %v", off, err)
	}
}

// TestWordLists: each list of words has comments that say why, no word is there twice, and every
// pattern has a word without which it cannot match.
func TestWordLists(t *testing.T) {
	t.Parallel()
	files, err := wordFiles.ReadDir("words")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := wordFiles.ReadFile("words/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		explained, seen := false, map[string]bool{}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "# ") {
				explained = true
				continue
			}
			if line == "" {
				explained = false
				continue
			}
			if !explained {
				t.Errorf("%s: no comment above %q", file.Name(), line)
			}
			if file.Name() == "injection.txt" {
				continue
			}
			group, words, _ := strings.Cut(line, ":")
			for _, word := range strings.Fields(words) {
				if seen[group+word] {
					t.Errorf("%s: %s is in %s twice", file.Name(), word, group)
				}
				seen[group+word] = true
			}
		}
	}
	if n := len(instructions()); n < 25 {
		t.Errorf("only %d patterns", n)
	}
	// Each pattern has an attack in the tests, or else nobody knows that it works.
	var texts []string
	for _, style := range malicious {
		for _, text := range style {
			texts = append(texts, fold(text))
		}
	}
	for _, p := range instructions() {
		if !slices.ContainsFunc(texts, p.match.MatchString) {
			t.Errorf("no attack of the tests has %s", p.match)
		}
	}
}
