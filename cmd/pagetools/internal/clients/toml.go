package clients

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

// tomlTable writes the table of a server, whose keys need no quotes.
func tomlTable(key, name string, e entry) string {
	out := "[" + key + "." + name + "]\n"
	for _, m := range e.tree().Members {
		out += nameOf(m) + " = " + tomlValue(m.Value.Value) + "\n"
	}
	return out
}

func tomlValue(v hujson.ValueTrimmed) string {
	var items []string
	switch x := v.(type) {
	case *hujson.Array:
		for _, e := range x.Elements {
			items = append(items, tomlValue(e.Value))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *hujson.Object:
		for _, m := range x.Members {
			items = append(items, nameOf(m)+" = "+tomlValue(m.Value.Value))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	case hujson.Literal:
		return quoteTOML(x.String())
	}
	return ""
}

// quoteTOML writes a string on one line.
func quoteTOML(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return `"` + b.String() + `"`
}
