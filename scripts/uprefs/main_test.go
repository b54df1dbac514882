package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestBest: layers have no reference upwards, whatever order their files come in; of a
// circle the weakest reference is the one that runs upwards.
func TestBest(t *testing.T) {
	t.Parallel()
	layers := &graph{files: []string{"b", "a", "d", "c"}, uses: [][]int{{0, 0, 1, 4}, {5, 0, 2, 1}, {0, 0, 0, 0}, {0, 0, 7, 0}}}
	if order, up, all := layers.best(); up != 0 || all != 20 || layers.files[order[0]] != "a" || layers.files[order[3]] != "d" {
		t.Errorf("layers: %v, %d of %d upwards", order, up, all)
	}
	circle := &graph{files: []string{"a", "b", "c"}, uses: [][]int{{0, 9, 0}, {0, 0, 8}, {2, 0, 0}}}
	if order, up, all := circle.best(); up != 2 || all != 19 {
		t.Errorf("a circle: %v, %d of %d upwards", order, up, all)
	}
}

// TestReport reads a real package: this one has no other file to refer to, and
// bridge/policy has.
func TestReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if failed, err := report(&out, []string{"../../bridge/policy", "."}, 100, true); err != nil || failed {
		t.Fatal(failed, err)
	}
	if text := out.String(); !strings.Contains(text, "bridge/policy") || !strings.Contains(text, "rates.go") || strings.Contains(text, "scripts/uprefs") {
		t.Errorf("it says\n%s", text)
	}
}
