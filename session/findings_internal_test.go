package session

import (
	"slices"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestExplainedScripts: of a script that was kept from running, only the reason is told.
func TestExplainedScripts(t *testing.T) {
	t.Parallel()
	const start = "A script did not load, or what it imports: https://a.example/"
	missing := func(file string) bridge.Finding {
		return bridge.Finding{Rule: "script-missing", Message: start + file}
	}
	policy := bridge.Finding{Rule: "content-security-policy",
		Message: "The page's Content-Security-Policy keeps a script from running: script-src-elem does not allow https://a.example/kept.js"}
	refused := bridge.Finding{Rule: "network-refused", Message: "The page was kept from https://a.example/far.js: it is private"}
	got := told([]bridge.Finding{missing("kept.js"), missing("gone.js"), missing("far.js"), policy, refused})
	if want := []bridge.Finding{missing("gone.js"), policy, refused}; !slices.Equal(got, want) {
		t.Errorf("it tells %+v, want %+v", got, want)
	}
}
