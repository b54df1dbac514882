package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestToolsInBox: one tool is one.
func TestToolsInBox(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{"  no tools": nil, "  1 tool: a": {"a"}, "  2 tools: a, b": {"a", "b"}} {
		if said := toolsLine(names, ""); said != want {
			t.Errorf("%q: %q", names, said)
		}
	}
	if said := toolsLine(nil, ": its document has no operations. Is it the right document?"); said != "  no tools: its document has no operations. Is it the right document?" {
		t.Errorf("of an API without tools: %q", said)
	}
}

// TestBoxFits: the box is as wide as the terminal at most, and addresses stay whole (D13).
func TestBoxFits(t *testing.T) {
	t.Parallel()
	names := make([]string, 60)
	for i := range names {
		names[i] = fmt.Sprintf("tool-number-%d", i)
	}
	const url = "http://127.0.0.1:7300/webtools/shop"
	text := []string{"pagetools serves " + url, "", "  60 tools: " + strings.Join(names, ", ")}
	for _, width := range []int{60, 80, 200} {
		drawn := box(text, width)
		for _, line := range strings.Split(strings.TrimSpace(drawn), "\n") {
			if utf8.RuneCountInString(line) > width {
				t.Errorf("in %d columns there is a line of %d: %s", width, utf8.RuneCountInString(line), line)
			}
		}
		for _, want := range slices.Concat(names, []string{url}) {
			if !strings.Contains(drawn, want) {
				t.Errorf("in %d columns %s is missing:\n%s", width, want, drawn)
			}
		}
	}
}
