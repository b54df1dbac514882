package e2e_test

import (
	"slices"
	"strings"
	"testing"
)

// TestHostile: texts of pages and files command neither a terminal nor GitHub's runner. That they
// are there is the control.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t testing.TB){
		"a result": func(t testing.TB) {
			open(t, "/hostile.html").Call(t, "attack", nil).Match(t, `{"text": "blue"}`)
		},
		"a question":   func(t testing.TB) { open(t, "/hostile.html").Call(t, "ask", nil) },
		"an error":     func(t testing.TB) { open(t, "/hostile.html").Call(t, "fail", nil) },
		"a lock file":  func(t testing.TB) { open(t, "/hostile.html").MatchLock(t, "testdata/hostile.lock") },
		"a wrong name": func(t testing.TB) { open(t, "/hostile.html").Call(t, "a\x1b[31m\u202e\n::error::x", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := try(t, test)
			said := strings.Join(slices.Concat(f.said, f.logs), "\n")
			if !f.failed || !strings.Contains(said, "error::") {
				t.Errorf("it did not print the text:\n%s", said)
			}
			if strings.ContainsAny(said, "\x1b\u202e") {
				t.Errorf("it obeys the page: %q", said)
			}
			for line := range strings.SplitSeq(said, "\n") {
				if strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("a line is a command: %q", line)
				}
			}
		})
	}
}
