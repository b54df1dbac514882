package main

import (
	"slices"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestFindingsOfOne: what both engines find is no difference.
func TestFindingsOfOne(t *testing.T) {
	t.Parallel()
	shared := bridge.Finding{Rule: "r", Tool: "a", Message: "wrong", Refused: true}
	of := func(more string) []bridge.Finding { return []bridge.Finding{shared, {Rule: "r", Message: more}} }
	want := []string{"only shim finds: one", "only native finds: two"}
	if got := findingsOfOne("shim", of("one"), "native", of("two")); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := findingsOfOne("shim", of("one"), "native", of("one")); len(got) != 0 {
		t.Errorf("the same: %q", got)
	}
}

// TestDifferences: what only one engine sees, and what it sees otherwise.
func TestDifferences(t *testing.T) {
	t.Parallel()
	catalog := func(all ...bridge.Declaration) *bridge.Catalog {
		for i := range all {
			all[i].ID, all[i].Document, all[i].Origin = int64(i+1), "d", "https://shop.test"
		}
		c, findings := bridge.NewCatalog(nil, all, bridge.Limits{})
		if len(findings) > 0 {
			t.Fatalf("findings %v", findings)
		}
		return c
	}
	a := catalog(bridge.Declaration{Name: "both", Description: "d", Input: []byte(`{"type":"object","properties":{"q":{"type":"string"}}}`)},
		bridge.Declaration{Name: "one", Description: "d"}, bridge.Declaration{Name: "other", Title: "T", Description: "d", Output: []byte(`{"type":"object"}`)})
	b := catalog(bridge.Declaration{Name: "both", Description: "d", Input: []byte(`{"properties":{"q":{"type":"string"}},"type":"object"}`)},
		bridge.Declaration{Name: "other", Description: "e"}, bridge.Declaration{Name: "two", Description: "d"})
	want := []string{"one is seen by shim only", "other has another title, description, output schema", "two is seen by native only"}
	if got := differences("shim", a, "native", b); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := differences("shim", a, "native", a); len(got) != 0 {
		t.Errorf("the same: %q", got)
	}
}
