package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testBody    = regexp.MustCompile(`(?ms)^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}`)
	skipsByDay  = regexp.MustCompile(`(?m)\A(?:#.*\n)*(?:env .*\n)?\[!nightly\] skip$`)
	leftToGates = map[string]*regexp.Regexp{ // to a target of the Makefile with such a variable
		"WHOLE":   regexp.MustCompile(`\b(?:needsWhole|inBothKinds|inBoth)\(t\b`),
		"LANDING": regexp.MustCompile(`\bgatetest\.Landing\(t\)`),
	}
)

// TestGates: what make test leaves to make contract and make landing runs there.
func TestGates(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	left := map[string][]string{}
	Walk(t, func(path string, data []byte) {
		if script, ok := strings.CutSuffix(filepath.Base(path), ".txtar"); ok && skipsByDay.Match(data) {
			left["LANDING"] = append(left["LANDING"], "TestScripts/"+script)
		}
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, test := range testBody.FindAllSubmatch(data, -1) {
			for gate, mark := range leftToGates {
				if mark.Match(test[2]) {
					left[gate] = append(left[gate], string(test[1]))
				}
			}
		}
	})
	for gate := range leftToGates {
		match := regexp.MustCompile(`(?m)^` + gate + ` := (.*)$`).FindSubmatch(makefile)
		if match == nil || len(left[gate]) < 10 {
			t.Fatalf("the Makefile says %q, and %q are left to it", match, left[gate])
		}
		runs := regexp.MustCompile(strings.ReplaceAll(strings.ReplaceAll(string(match[1]), "$$", "$"), "/^", "/"))
		for _, name := range slices.Compact(left[gate]) {
			if !runs.MatchString(name) {
				t.Errorf("%s in the Makefile does not match %s", gate, name)
			}
		}
	}
}
