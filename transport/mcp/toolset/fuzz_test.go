package toolset

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// FuzzCursor: from any cursor that is taken, a list can be read to its end, without a name
// twice and without one that a walk from the start does not have.
func FuzzCursor(f *testing.F) {
	decls := named("a.b", "a_b", "search")
	for i := range 400 {
		d := bridgetest.Tool(fmt.Sprintf("t%04d", i), "")
		d.Document = fmt.Sprint("frame", i/200)
		decls = append(decls, d)
	}
	x := New([]Source{siteOf("shop", decls...)}, Options{Mode: Direct})
	all := map[string]bool{}
	for _, tool := range whole(f, x, legacy) {
		all[fmt.Sprint(tool["name"])] = true
	}
	_, next, _ := x.Page(legacy, "")
	if next == "" {
		f.Fatal("the list has one page")
	}
	for _, seed := range []string{"", next, "AA", "?", "dDAyOTY", "cGFnZXRvb2xzX2Rlc2NyaWJl", "enp6"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		seen := map[string]bool{}
		for first := true; first || cursor != ""; first = false {
			list, next, ok := x.Page(legacy, cursor)
			if !ok {
				if !first {
					t.Errorf("our own cursor %q is refused", cursor)
				}
				return
			}
			var tools []struct{ Name string }
			if err := json.Unmarshal(list, &tools); err != nil {
				t.Fatalf("%v: %s", err, list)
			}
			for _, tool := range tools {
				if seen[tool.Name] || !all[tool.Name] {
					t.Fatalf("%q is twice in the list, or never was", tool.Name)
				}
				seen[tool.Name] = true
			}
			cursor = next
		}
	})
}
