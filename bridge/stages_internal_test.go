package bridge

import (
	"fmt"
	"slices"
	"testing"
	"time"
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

// TestTaintsOfManyCallers: issuers can name any number of callers; those that have read nothing of
// late are forgotten, and no other.
func TestTaintsOfManyCallers(t *testing.T) {
	var all taints
	now := time.Unix(1000, 0)
	for n := range 1000 {
		all.note(fmt.Sprint("acme:", n), "https://ads.example", now)
	}
	now = now.Add(taintFor / 2)
	all.note("acme:late", "https://ads.example", now)
	now = now.Add(taintFor/2 + taintStep)
	all.note("acme:now", "https://ads.example", now)
	if len(all.byCaller) != 2 || !all.of("acme:late", "https://shop.example", now) || all.of("acme:1", "https://shop.example", now) {
		t.Errorf("%d callers are kept", len(all.byCaller))
	}
}
