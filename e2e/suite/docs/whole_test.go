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
	wholePattern = regexp.MustCompile(`(?m)^WHOLE := (.*)$`)
	testBody     = regexp.MustCompile(`(?ms)^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}`)
	wantsWhole   = regexp.MustCompile(`\b(?:needsWhole|inBothKinds)\(t\b`)
)

// TestWholeBrowser: what make test leaves to a whole browser runs with make contract.
func TestWholeBrowser(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	match := wholePattern.FindSubmatch(makefile)
	if match == nil {
		t.Fatal("the Makefile has no WHOLE")
	}
	runs := regexp.MustCompile(string(match[1]))
	var left []string
	Walk(t, func(path string, data []byte) {
		if !strings.HasPrefix(path, "session/cdp/") || !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, test := range testBody.FindAllSubmatch(data, -1) {
			if wantsWhole.Match(test[2]) {
				left = append(left, string(test[1]))
			}
		}
	})
	if len(left) < 15 {
		t.Errorf("only %q leave something to a whole browser", left)
	}
	for _, name := range slices.Compact(left) {
		if !runs.MatchString(name) {
			t.Errorf("WHOLE in the Makefile does not match %s", name)
		}
	}
}
