package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// TestClusterKey: cluster key prints a new key and a line end, and nothing else.
func TestClusterKey(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for range 2 {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"cluster", "key"}, strings.NewReader(""), &out, &errs); code != 0 || errs.Len() > 0 {
			t.Fatalf("%d, %s", code, errs.String())
		}
		text, ended := strings.CutSuffix(out.String(), "\n")
		if k, err := key.Parse(text); err != nil || !ended || k.Text() != text || made[text] {
			t.Errorf("it prints %d characters: %v", out.Len(), err)
		}
		made[text] = true
	}
}
