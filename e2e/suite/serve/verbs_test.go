package serve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// verb is one command of the binary, with its help.
type verb struct{ path, help string }

var listedVerb = regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)

// verbsOf returns all commands below one, by asking the binary.
func verbsOf(t *testing.T, binary string, path ...string) (all []verb) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, append(path, "--help")...).Output()
	if err != nil {
		t.Fatalf("%s --help: %v", path, err)
	}
	if len(path) > 0 {
		all = append(all, verb{strings.Join(path, " "), string(out)})
	}
	_, list, _ := strings.Cut(string(out), "\nAvailable Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, match := range listedVerb.FindAllStringSubmatch(list, -1) {
		if match[1] != "help" {
			all = append(all, verbsOf(t, binary, append(path[:len(path):len(path)], match[1])...)...)
		}
	}
	return all
}

// TestVerbs checks that each command has a help with an example, a mention in the README, and a
// test that runs it (D16).
func TestVerbs(t *testing.T) {
	t.Parallel()
	binary := suite.Pagetools(t)
	readme, err := os.ReadFile(filepath.Join(docs.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	docs.Walk(t, func(path string, data []byte) {
		if strings.HasPrefix(path, "e2e/suite/") && (strings.HasSuffix(path, ".txtar") || strings.HasSuffix(path, "_test.go")) && path != "e2e/suite/serve/verbs_test.go" {
			tests.Write(data)
		}
	})
	verbs := verbsOf(t, binary)
	if len(verbs) < 20 {
		t.Fatalf("the help lists %d commands", len(verbs))
	}
	for _, v := range verbs {
		for _, problem := range lacks(v, string(readme), tests.String()) {
			t.Errorf("pagetools %s: %s", v.path, problem)
		}
	}
	nothing := lacks(verb{"made up", "Usage:\n  pagetools made up\n"}, "", "")
	if len(nothing) != 3 {
		t.Errorf("a command without anything lacks %q", nothing)
	}
}

// lacks lists what a command lacks.
func lacks(v verb, readme, tests string) (problems []string) {
	if _, examples, _ := strings.Cut(v.help, "\nExamples:\n"); !strings.Contains(examples, "pagetools "+v.path) {
		problems = append(problems, "its help has no example (help.go)")
	}
	words := regexp.MustCompile("[`\\s/]" + strings.ReplaceAll(v.path, " ", `\s+`) + "[`\\s|]") // as code
	first, _, nested := strings.Cut(v.path, " ")
	if !words.MatchString(readme) && (!nested || first != "completion") {
		problems = append(problems, "README.md does not mention it")
	}
	if !regexp.MustCompile(`(pagetools|start) ` + v.path + `\b|[{"(]` + v.path + `[" ]|"` + strings.ReplaceAll(v.path, " ", `", "`) + `"`).MatchString(tests) {
		problems = append(problems, "no test of e2e/suite runs it")
	}
	return problems
}
