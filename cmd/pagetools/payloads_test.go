package main

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
)

// TestObservers: calls are observed for the operators' page only where the operator says so, and beside
// whoever records them.
func TestObservers(t *testing.T) {
	recorded := 0
	record := func(bridge.Observed) { recorded++ }
	for _, x := range []struct {
		keeps    string
		observe  func(bridge.Observed)
		observed bool
		want     int
	}{{"own", nil, false, 0}, {"own", record, true, 1}, {"all", nil, true, 0}, {"all", record, true, 1}} {
		p := &program{conf: &config.Config{ConsolePayloads: x.keeps}}
		recorded = 0
		got := observers(p, plan{observe: x.observe})
		if got != nil {
			got(bridge.Observed{Call: &bridge.Call{ID: "C"}})
		}
		if (got != nil) != x.observed || recorded != x.want {
			t.Errorf("%s: %t, and %d are recorded", x.keeps, got != nil, recorded)
		}
	}
}
