package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pagetools/pagetools"

// listed holds go list's facts about one package.
type listed struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	Deps         []string
	TestImports  []string
	XTestImports []string
}

// TestImportRules checks the whole repository against the tables in deps_rules_test.go.
func TestImportRules(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Standard,Imports,Deps,TestImports,XTestImports", "./...")
	cmd.Dir = Root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package")
	}
	for _, problem := range checkImports(packages) {
		t.Error(problem)
	}
}

// checkImports returns every import that the tables do not allow.
func checkImports(packages []listed) []string {
	var problems []string
	for _, p := range packages {
		name, ours := relative(p.ImportPath)
		if !ours {
			continue
		}
		for _, imported := range p.Imports {
			problems = append(problems, checkImport(name, imported, false)...)
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			problems = append(problems, checkImport(name, imported, true)...)
		}
		for _, rule := range unreachables {
			for _, dep := range p.Deps {
				if matches(rule.packages, name) && matchesAny(rule.imports, dep) {
					problems = append(problems, fmt.Sprintf("%s reaches %s: %s", name, dep, rule.reason))
				}
			}
		}
		if layerOf(name) == nil {
			problems = append(problems, fmt.Sprintf("%s is in no row of layers in e2e/suite/docs/deps_rules_test.go: say what it may import", name))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// checkImport checks one import. A test file may import any package of ours,
// fakes above all, but no library that its package does not own.
func checkImport(name, imported string, test bool) []string {
	if target, ours := relative(imported); ours {
		row := layerOf(name)
		if test || row == nil || !matchesAny(leaves, name) && matchesAny(leaves, target) || matchesAny(row.may, target) {
			return nil
		}
		return []string{fmt.Sprintf("%s imports %s: %s", name, target, row.reason)}
	}
	if test && matchesAny(testOwners, imported) {
		return nil
	}
	owned := false
	for _, rule := range owners {
		if !matches(rule.imports, imported) {
			continue
		}
		owned = true
		if matchesAny(rule.packages, name) || test && matches("e2e/...", name) {
			return nil
		}
	}
	if owned || !isStandard(imported) {
		return []string{fmt.Sprintf("%s imports %s: %s", name, imported, ownerReason(imported))}
	}
	return nil
}

func ownerReason(imported string) string {
	for _, rule := range owners {
		if matches(rule.imports, imported) {
			return fmt.Sprintf("%s (only %s)", rule.reason, strings.Join(rule.packages, ", "))
		}
	}
	return "a dependency is a decision: write it down in docs/decisions and give it an owner in e2e/suite/docs/deps_rules_test.go"
}

func layerOf(name string) *layer {
	for i := range layers {
		if matches(layers[i].packages, name) {
			return &layers[i]
		}
	}
	return nil
}

// relative cuts the module path off. The module's root package is ".".
func relative(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// isStandard tells by the name, as the go command does: only a path of
// somebody else has a dot in its first element.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == prefix || strings.HasPrefix(name, prefix+"/")
	}
	return pattern == name
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}

// TestImportRulesCatch plants violations: a checker that finds nothing proves
// nothing.
func TestImportRulesCatch(t *testing.T) {
	t.Parallel()
	of := func(name string, imports ...string) listed {
		return listed{ImportPath: module + "/" + name, Imports: imports, Deps: imports}
	}
	tests := []struct {
		name string
		pkg  listed
		want string // part of the one problem, or empty
	}{
		{"leaf", of("bridge", module+"/bridge/schema", "fmt"), ""},
		{"domain imports an adapter", of("bridge", module+"/session"), "bridge imports session: bridge is the domain"},
		{"transport imports session", of("transport/webtool", module+"/session"), "adapters do not know each other"},
		{"transport imports transport", of("transport/webtool", module+"/transport/mcp"), "adapters do not know each other"},
		{"transport imports the guards", of("transport/webtool", module+"/transport", "net/http"), ""},
		{"openapi shares documents", of("transport/openapi", module+"/bridge/opentools"), ""},
		{"session imports an engine", of("session", module+"/session/cdp"), "session imports no engine"},
		{"chromedp in its place", of("session/cdp", "github.com/chromedp/cdproto/page"), ""},
		{"chromedp elsewhere", of("session", "github.com/chromedp/cdproto/page"), "one folder pays for it"},
		{"a name that only starts alike", of("session/cdp", "github.com/chromedpother/x"), "a dependency is a decision"},
		{"unknown library", of("transport", "example.org/new"), "a dependency is a decision"},
		{"testing ships", of("transport", "testing"), "what ships does not import testing"},
		{"SQL elsewhere", of("cmd/pagetools", "database/sql"), "SQL only in the store"},
		{"cmd is imported", of("transport", module+"/cmd/pagetools"), "the shared guards"},
		{"cmd imports the wiring", of("cmd/pagetools", module+"/e2e/app"), ""},
		{"cmd imports the root of the kit", of("cmd/pagetools", module+"/e2e"), "cmd has the verbs"},
		{"the wiring imports the command", of("e2e/app", module+"/cmd/pagetools/internal/config"), "it knows neither"},
		{"a check opens something", of("e2e/check", module+"/e2e/app"), "checks are pure"},
		{"the kit imports an engine", of("e2e/run", module+"/session/cdp"), "knows no engine"},
		{"the format runs something", of("e2e/scenario", module+"/e2e/app"), "the format of scenarios is pure"},
		{"configuration elsewhere", of("cmd/pagetools", "go.yaml.in/yaml/v3"), "only the configuration file is YAML"},
		{"unlisted package", of("util"), "is in no row of layers"},
		{"root package", listed{ImportPath: module}, "is in no row of layers"},
		{"reached through a library", listed{ImportPath: module + "/bridge/schema", Deps: []string{"net/http"}}, "bridge/schema reaches net/http"},
		{"test with fakes", listed{ImportPath: module + "/transport/webtool", TestImports: []string{"testing", module + "/bridge/bridgetest", "pgregory.net/rapid"}}, ""},
		{"test with a foreign library", listed{ImportPath: module + "/session", XTestImports: []string{"github.com/chromedp/chromedp"}}, "one folder pays for it"},
		{"somebody else's package", listed{ImportPath: "example.org/x", Imports: []string{"testing"}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			problems := checkImports([]listed{test.pkg})
			switch {
			case test.want == "" && len(problems) > 0:
				t.Errorf("found %q, want nothing", problems)
			case test.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], test.want)):
				t.Errorf("found %q, want one problem with %q", problems, test.want)
			}
		})
	}
}

// TestImportTablesHaveReasons keeps a row from failing without saying why.
func TestImportTablesHaveReasons(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range layers {
		if row.reason == "" || seen[row.packages] {
			t.Errorf("layers: %s has no reason, or two rows", row.packages)
		}
		seen[row.packages] = true
	}
	for _, row := range owners {
		if row.reason == "" || len(row.packages) == 0 {
			t.Errorf("owners: %s has no reason, or no package", row.imports)
		}
	}
	for _, row := range unreachables {
		if row.reason == "" {
			t.Errorf("unreachables: %s has no reason", row.packages)
		}
	}
}
