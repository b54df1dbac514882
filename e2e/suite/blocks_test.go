package suite_test

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

// block is one fenced block of a document.
type block struct {
	lang, info string // the first word after the fence, and the rest
	text       string
}

var fenced = regexp.MustCompile("(?ms)^([ \t]*)```([^\n]*)\n(.*?)^[ \t]*```[ \t]*$")

// blocksOf returns the fenced blocks of a text, in their order.
func blocksOf(text string) (all []block) {
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		lang, info, _ := strings.Cut(strings.TrimSpace(match[2]), " ")
		var lines strings.Builder
		for line := range strings.Lines(match[3]) {
			lines.WriteString(strings.TrimPrefix(line, match[1]))
		}
		all = append(all, block{lang, info, lines.String()})
	}
	return all
}

// forUsers reports whether people read a document to use pagetools: the README, the pages
// of docs that are in no folder of it, and those of the examples.
func forUsers(doc string) bool {
	folder := path.Dir(doc)
	return doc == "README.md" || folder == "docs" || doc == "examples/README.md" || path.Dir(folder) == "examples" && path.Base(doc) == "README.md"
}

// userPages are those documents, in their order.
func userPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, doc := range slices.Sorted(maps.Keys(documents(t))) {
		if forUsers(doc) {
			pages = append(pages, doc)
		}
	}
	return pages
}

// expected is what a document says that its last command printed: an ellipsis stands for
// anything.
func expected(text string) (lines []*regexp.Regexp) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line == "…" {
			continue
		}
		lines = append(lines, regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")))
	}
	return lines
}

// notRunHere are command lines of documents that TestBlocks cannot run, with the reason.
var notRunHere = map[string]string{
	"npm install": "npm's packages are not here; make clients runs these agents with them",
	"bin/pagetools tools https://api.shop.example/openapi.json":                                      "it needs an API; TestScripts has one",
	"bin/pagetools serve shop=https://shop.example/ --opentools only":                                "the same",
	"bin/pagetools auth login http://127.0.0.1:8001/":                                                "it waits for a person; TestScripts has one",
	"bin/pagetools call http://127.0.0.1:8001/openapi.json search-recipes query=eggs cuisine=french": "it needs the login",
	"bin/pagetools auth login https://shop.example/":                                                 "it waits for a person; TestAuth is one",
	"node agent-sdk.mjs http://127.0.0.1:7300/mcp/today":                                             "the same",
	"node agent-aisdk.mjs http://127.0.0.1:7300/mcp/today?session=model":                             "the same",
	"node agent-url.mjs http://127.0.0.1:8001/":                                                      "the same",
	`node agent-url.mjs http://127.0.0.1:8001/ search-recipes '{"query":"eggs"}'`:                    "the same",
	`node agent-url.mjs http://127.0.0.1:8001/ plan-week '{"days":2}'`:                               "the same",
	"bin/pagetools login https://shop.example/ --save-storage-state work.json":                       "it opens a window for a person",
}

// notRunKinds are kinds of blocks that no program here reads, with the reason.
var notRunKinds = map[string]string{"nginx": "there is no nginx here"}

// runnable returns the commands of a block that can be run here, and what it left out.
func runnable(text string) (commands string, left []string) {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		command := strings.TrimSpace(line)
		if _, out := notRunHere[command]; out {
			left = append(left, command)
			continue
		}
		kept.WriteString(line)
	}
	return kept.String(), left
}

// TestNotRunHere: each command that no test runs is one that a document has.
func TestNotRunHere(t *testing.T) {
	t.Parallel()
	var seen []string
	docs := documents(t)
	for _, doc := range userPages(t) {
		for _, b := range blocksOf(docs[doc]) {
			_, left := runnable(b.text)
			seen = append(seen, left...)
		}
	}
	for command := range notRunHere {
		if !slices.Contains(seen, command) {
			t.Errorf("no document has %q", command)
		}
	}
}

// TestPagesAreListed (D10): every page for users is in the index of docs and in llms.txt, and
// what llms.txt links to is there.
func TestPagesAreListed(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	llms, err := os.ReadFile(filepath.Join(root(t), "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range userPages(t) {
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
		_, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(path)))
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

// TestFindingsReference (D4, D10): each finding that pagetools has about a page is explained to its author.
func TestFindingsReference(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(documents(t)["docs/troubleshoot.md"], "\n## Findings\n")
	rules := map[string]string{}
	walk(t, func(path string, data []byte) {
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
