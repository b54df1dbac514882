package bridge

import (
	"slices"
	"testing"
)

// TestOrderOfStages guards the one readable list: the order is a promise of the
// design.
func TestOrderOfStages(t *testing.T) {
	var names []string
	for _, s := range (&Bridge{}).pipe.stages() {
		names = append(names, s.name)
	}
	if want := []string{"audit", "resolve", "validate", "limit", "approve"}; !slices.Equal(names, want) {
		t.Errorf("the stages are %v, want %v", names, want)
	}
}
