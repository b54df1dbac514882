package serve_test

import (
	"slices"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestLiveList calls tools that change the list. Each call returns only after
// the new list is visible, so the GET behind it needs no patience.
func TestLiveList(t *testing.T) {
	t.Parallel()
	s := tables(t)
	base := []string{"abort", "late", "register", "register-signal", "replace", "unregister"}
	// The page has until 100 ms after its load event, and on a busy machine it is
	// late for that: then the list follows.
	suite.Eventually(t, suite.ReplyWithin, "the page has its tools", func() bool {
		return slices.Equal(s.Ask("/webtools/live", "").Actions(t), base)
	})
	plus := func(more ...string) []string {
		all := slices.Concat(base, more)
		slices.Sort(all)
		return all
	}
	steps := []struct {
		tool string
		want []string
	}{
		{"late", base}, // a fresh page may register it a moment later, and the call waits for it
		{"register", plus("registered")},
		{"register-signal", plus("registered", "signalled")},
		{"abort", plus("registered")},
		{"unregister", base},
		{"register", plus("registered")},
		{"replace", []string{"abort", "register", "register-signal", "replace", "second", "unregister"}},
		{"second", []string{"abort", "register", "register-signal", "replace", "second", "unregister"}},
	}
	for _, step := range steps {
		s.Ask("/webtools/live", `{"sessionId":"live","action":"`+step.tool+`","request":{}}`).Data(t)
		if names := s.Ask("/webtools/live?sessionId=live", "").Actions(t); !slices.Equal(names, step.want) {
			t.Errorf("after %s the session has %q, want %q", step.tool, names, step.want)
		}
	}
	if names := s.Ask("/webtools/live", "").Actions(t); !slices.Equal(names, base) {
		t.Errorf("the site has %q after a session changed its own list", names)
	}
}
