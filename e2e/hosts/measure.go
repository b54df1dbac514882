package hosts

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
)

// members lists a declaration's members that can count as bytes, in the order in which they
// are written.
var members = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"}

// deepest limits how far values of a declaration are read. The rest of one that goes deeper is not.
const deepest = 256

// descriptorBytes is the length of a tool as compact JSON of the named members, in UTF-8. Members
// that are empty are left out.
func descriptorBytes(t check.Tool, of []string) int {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range members {
		value := memberJSON(t, name)
		if !slices.Contains(of, name) || value == nil {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(schema.MustEncode(name))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Len()
}

// memberJSON returns a member as compact JSON, or nil when it is empty.
func memberJSON(t check.Tool, name string) []byte {
	text := func(s string) []byte {
		if s == "" {
			return nil
		}
		return schema.MustEncode(s)
	}
	switch name {
	case "name":
		return text(t.Name)
	case "title":
		return text(t.Title)
	case "description":
		return text(t.Description)
	case "inputSchema":
		return compact(t.Input)
	case "outputSchema":
		return compact(t.Output)
	default:
		return compact(t.Annotations)
	}
}

// compact returns JSON without its spaces. What is not JSON counts as it is.
func compact(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// has reports whether a tool has a member, such as "title" or "annotations.readOnlyHint".
func has(t check.Tool, path string) bool {
	name, rest, nested := strings.Cut(path, ".")
	raw := memberJSON(t, name)
	if raw == nil || !nested {
		return raw != nil
	}
	value, err := schema.Read(raw, deepest)
	if err != nil {
		return false
	}
	member := value.Get(rest)
	return member.Exists() && !member.IsNull()
}

type measured struct {
	depth, properties int
	names             []string        // of properties, as they come
	root, any         map[string]bool // keywords of the root, and of all schemas
}

// measure walks the schemas of an input schema. A value that is not a schema has no
// keywords.
func measure(raw json.RawMessage) measured {
	m := measured{root: map[string]bool{}, any: map[string]bool{}}
	value, err := schema.Read(raw, deepest)
	if err != nil || !value.IsObject() {
		return m
	}
	for key := range value.Members() {
		m.root[key] = true
	}
	m.walk(value, 1)
	return m
}

func (m *measured) walk(v schema.Value, depth int) {
	m.depth = max(m.depth, depth)
	for key := range v.Members() {
		m.any[key] = true
	}
	for s := range v.Subschemas() {
		if s.Property {
			m.properties++
			m.names = append(m.names, s.Name)
		}
		if s.Value.IsObject() {
			m.walk(s.Value, depth+1)
		}
	}
}

// Page holds what hosts look at besides the tools.
type Page struct {
	// URL names the page in findings; "" is a list from a file.
	URL string
	// Insecure is true when the origin is known not to be secure.
	Insecure bool
	// Changes says how often the list of tools changed after it was first complete.
	Changes int
}

// moment sets how long changes of a list count as one.
const moment = 100 * time.Millisecond

// Facts returns what a page that was opened says to hosts: its address and origin, and how often
// its list changed. Registrations less than 100 ms apart are one change, and the first one is the
// list itself.
func Facts(p check.Page) Page {
	facts := Page{URL: p.URL}
	if u, err := url.Parse(p.URL); err == nil && p.URL != "" {
		facts.Insecure = !check.Trustworthy(u)
	}
	for i, event := range p.Timeline {
		if i > 0 && event.At-p.Timeline[i-1].At > moment {
			facts.Changes++
		}
	}
	return facts
}
