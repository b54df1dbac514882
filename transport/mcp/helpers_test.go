package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// named declares tools that take anything.
func named(names ...string) []bridge.Declaration {
	decls := make([]bridge.Declaration, len(names))
	for i, n := range names {
		decls[i] = bridgetest.Tool(n, "")
	}
	return decls
}

// manyNames are n names, written with the format.
func manyNames(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

// fataler is a test of the standard library or of rapid.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// whole reads all pages of a list.
func whole(t fataler, x *toolset.List, e protocol) []map[string]any {
	t.Helper()
	var all []map[string]any
	cursor := ""
	for {
		list, next, ok := x.Page(e, cursor)
		var some []map[string]any
		if !ok || json.Unmarshal(list, &some) != nil {
			t.Fatalf("the page behind %q cannot be read: %s", cursor, list)
		}
		all = append(all, some...)
		if next == "" {
			return all
		}
		cursor = next
	}
}

func namesOf(list []map[string]any) string {
	var names []string
	for _, t := range list {
		names = append(names, fmt.Sprint(t["name"]))
	}
	return strings.Join(names, " ")
}

// asJSON is v as JSON with its keys in order, for comparisons.
func asJSON(t fataler, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	var value any
	if err == nil {
		err = json.Unmarshal(b, &value)
	}
	if err == nil {
		b, err = json.Marshal(value)
	}
	if err != nil {
		t.Fatalf("%v: %#v", err, v)
	}
	return string(b)
}
