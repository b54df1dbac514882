package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ofCommand matches a flag or a command of pagetools in a message.
var ofCommand = regexp.MustCompile("(^|[^-a-z])--[a-z]|pagetools (serve|mcp|tools|call|attach|login|auth|demo|" +
	"approve|pair|console|reload|audit|log|lock|check|test|diff|init|record|doctor|config)\\b")

// mayName are the literals below cmd that may name a flag or a command: pieces of them, by file.
var mayName = []struct{ file, literal, why string }{
	{"session/cdp/chrome/flags.go", "", "flags of the browser"},
	{"session/cdp/chrome/caches.go", "@stable --path ", "a flag of another program"},
	{"session/cdp/chrome/proc_linux.go", "--user-data-dir=", "a flag of the browser"},
	{"session/cdp/chrome/proc_windows.go", "--remote-debugging-io-pipes=", "a flag of the browser"},
	{"e2e/scenario/draft.go", "pagetools init wrote", "a file says which program wrote it"},
	{"e2e/scenario/scenario.go", "rules of pagetools check", "the name of a set of rules"},
	{"bridge/store/postgres/postgrestest/server.go", "", "flags of other programs"},
	{"bridge/store/mark.go", "pagetools audit ", "what a signature is for"},
	{"bridge/store/record.go", "pagetools audit record 1", "what a digest is for"},
}

// TestNoFlagsBelowCmd: only cmd names a flag or a command of pagetools, because that is wrong
// advice for callers from Go.
func TestNoFlagsBelowCmd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"give --client-id ID", "use (--warm)", "run pagetools lock again", "pagetools auth login X"} {
		if !ofCommand.MatchString(text) {
			t.Errorf("%q passes", text)
		}
	}
	var below []string
	used := make([]bool, len(mayName))
	for file, literals := range literalsBelowCmd(t) {
		below = append(below, literals...)
		for _, literal := range literals {
			if !ofCommand.MatchString(literal) {
				continue
			}
			i := 0
			for i < len(mayName) && (mayName[i].file != file || !strings.Contains(literal, mayName[i].literal)) {
				i++
			}
			if i == len(mayName) {
				t.Errorf("%s has %q: cmd words flags and commands (bridge/text.Words)", file, literal)
				continue
			}
			used[i] = true
		}
	}
	for i, there := range used {
		if !there {
			t.Errorf("%s has no %q any more", mayName[i].file, mayName[i].literal)
		}
	}
	words := rewordings(t)
	if len(words) == 0 {
		t.Fatal("cmd rewords nothing")
	}
	verbs := regexp.MustCompile(`%(?:\.\d+)?[a-z%]`)
	for key, value := range words {
		if !slices.ContainsFunc(below, func(s string) bool { return s == key }) {
			t.Errorf("nothing below cmd says %q", key)
		}
		if !slices.Equal(verbs.FindAllString(key, -1), verbs.FindAllString(value, -1)) {
			t.Errorf("%q has other verbs than %q", value, key)
		}
	}
}

// literalsBelowCmd returns the texts of our product's code below cmd, by file; those that a plus
// joins are one.
func literalsBelowCmd(t *testing.T) map[string][]string {
	all := map[string][]string{}
	Walk(t, func(file string, source []byte) {
		top, _, _ := strings.Cut(file, "/")
		if !slices.Contains([]string{"bridge", "e2e", "js", "session", "shim", "transport"}, top) ||
			strings.HasPrefix(file, "e2e/suite/") || !strings.HasSuffix(file, ".go") ||
			strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(parsed(t, source), func(n ast.Node) bool {
			text, ok := joined(n)
			if ok {
				all[file] = append(all[file], text)
			}
			return !ok
		})
	})
	return all
}

// rewordings returns the table of cmd.
func rewordings(t *testing.T) map[string]string {
	words := map[string]string{}
	source, err := os.ReadFile(filepath.Join(Root(t), "cmd/pagetools/words.go"))
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed(t, source), func(n ast.Node) bool {
		if pair, ok := n.(*ast.KeyValueExpr); ok {
			key, _ := joined(pair.Key)
			words[key], _ = joined(pair.Value)
		}
		return true
	})
	return words
}

func parsed(t *testing.T, source []byte) *ast.File {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// joined returns the text of a literal, or of several with plus between them.
func joined(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, n.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := joined(n.X)
		right, also := joined(n.Y)
		return left + right, ok && also
	}
	return "", false
}
