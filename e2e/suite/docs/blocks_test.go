package docs

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesAreListed (D10): every page for users is in the index of docs and in llms.txt, and
// what llms.txt links to is there.
func TestPagesAreListed(t *testing.T) {
	t.Parallel()
	docs := Documents(t)
	llms, err := os.ReadFile(filepath.Join(Root(t), "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range UserPages(t) {
		if path.Dir(doc) == "docs" && doc != "docs/README.md" && !strings.Contains(docs["docs/README.md"], "]("+path.Base(doc)+")") {
			t.Errorf("docs/README.md does not list %s", doc)
		}
		if path.Dir(path.Dir(doc)) == "examples" {
			if !strings.Contains(docs["examples/README.md"], "]("+strings.TrimPrefix(doc, "examples/")+")") {
				t.Errorf("examples/README.md does not list %s", doc)
			}
			continue
		}
		if !strings.Contains(string(llms), "]("+doc+"): ") {
			t.Errorf("llms.txt does not list %s", doc)
		}
	}
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(Root(t), filepath.FromSlash(path)))
		return err == nil
	}
	for _, problem := range deadLinks(map[string]string{"llms.txt": string(llms)}, exists) {
		t.Error(problem)
	}
	for i, form := range []string{`^# \S`, `^$`, `^> \S`} { // llmstxt.org
		if line := strings.Split(string(llms), "\n")[i]; !regexp.MustCompile(form).MatchString(line) {
			t.Errorf("line %d of llms.txt is %q", i+1, line)
		}
	}
}

// TestFindingsReference (D4, D10): each finding that pagetools has about a page is explained to its
// author.
func TestFindingsReference(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(Documents(t)["docs/troubleshoot.md"], "\n## Findings\n")
	rules := map[string]string{}
	Walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") || !strings.HasPrefix(path, "bridge/") && !strings.HasPrefix(path, "session/") &&
			!strings.HasPrefix(path, "transport/") && !strings.HasPrefix(path, "js/src/shim/") {
			return
		}
		for _, match := range findingRule.FindAllStringSubmatch(string(data), -1) {
			rules[match[1]] = path
		}
	})
	if len(rules) < 30 {
		t.Errorf("only %d findings are in the code", len(rules))
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if !strings.Contains(table, "`"+rule+"`") {
			t.Errorf("docs/troubleshoot.md does not explain %s, of %s", rule, rules[rule])
		}
	}
	for _, match := range inlineCode.FindAllString(table, -1) {
		if rule := strings.Trim(match, "`"); strings.Contains(rule, "-") && !strings.ContainsAny(rule, " ") && rules[rule] == "" && len(rule) > 1 && rule[0] != '-' {
			t.Errorf("docs/troubleshoot.md explains %s, which is no finding", rule)
		}
	}
}

var findingRule = regexp.MustCompile(`(?:Rule: +"|\bRule\w* += "|refuse\("|\.find\([^"\n]*"|\brule: ')([a-z]+(?:-[a-z]+)+)["']`)
