package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Clients of MCP take fewer schemas than JSON Schema has, and some of them throw a whole list away
// over one. What is rewritten here only takes words away, or says what holds anyway, or in other
// words (models.go): arguments and results are checked against the schema itself.

// ForClients returns the schema of arguments such that no known client stumbles over it. Unless it
// is to be faithful, no API of a model does either: it is made of the words that every [Subset]
// takes, and what these cannot say is in descriptions.
func (s *Schema) ForClients(faithful bool) *ClientForm {
	if !faithful {
		return s.adapted()
	}
	root, notes := s.rewrite()
	sayObject(root)
	root.putNew("properties", &value{kind: '{'}) // some model APIs demand it, and it says nothing
	return &ClientForm{JSON: s.shared(root), Notes: notes}
}

func addNote(notes []string, format string, args ...any) []string {
	if text := fmt.Sprintf(format, args...); !slices.Contains(notes, text) {
		notes = append(notes, text)
	}
	return notes
}

// OutputForClients is ForClients for the schema of results. Clients before 2026-07-28 compile it
// when they read the list, most with a validator of draft 07, and know objects only: they get it
// when it describes one and is made of words that all validators take alike, and else nil, with a
// note that says why. Later ones get the page's own.
func (s *Schema) OutputForClients(modern bool) (json.RawMessage, []string) {
	root, notes := s.rewrite()
	if modern {
		return s.shared(root), notes
	}
	if !s.objects {
		return nil, []string{"it describes other results than objects; clients before 2026-07-28 do not get it"}
	}
	sayObject(root)
	if why := unportable(root, true); why != "" {
		return nil, []string{"not every validator reads " + why + " alike; clients before 2026-07-28 do not get it"}
	}
	// A validator of another draft refuses these.
	root.remove(func(key string) bool { return key == "$schema" || key == "$id" })
	return s.shared(root), notes
}

// shared is the JSON of what was made of the schema: its own where it is the same.
func (s *Schema) shared(root *value) json.RawMessage {
	text := root.appendJSON(make([]byte, 0, len(s.raw)))
	if bytes.Equal(text, s.raw) {
		return s.raw
	}
	return text
}

// rewrite returns a copy of the schema that clients can read.
func (s *Schema) rewrite() (root *value, notes []string) {
	root = parseOwn(s.raw)
	note := func(format string, args ...any) { notes = addNote(notes, format, args...) }
	rewrite(root, note)
	// Clients in Go read one text only.
	switch t := root.get("type"); {
	case !t.isArray():
	case s.objects: // an admitted list has "object"
		note("the type of the root became \"object\"")
		*t = value{kind: '"', text: "object"}
	default:
		root.narrow("type", t)
	}
	return root, notes
}

// narrow moves a keyword of a schema into its allOf, where it means the same.
func (v *value) narrow(key string, held *value) {
	v.remove(func(k string) bool { return k == key })
	all := v.get("allOf")
	if all == nil {
		all = &value{kind: '['}
		v.put("allOf", all)
	}
	all.vals = append(all.vals, &value{kind: '{', keys: []string{key}, vals: []*value{held}})
}

func rewrite(v *value, note func(format string, args ...any)) {
	v.remove(func(key string) bool {
		if forClients(key) {
			note("%s was taken out", text.Quote(key))
			return true
		}
		return false
	})
	for _, c := range children(v) {
		switch {
		case c.val.isObject():
			rewrite(c.val, note)
		case c.mayBeFlag():
		case c.val.isBool(): // half of the clients know schemas as objects only
			*c.val = *asObject(c.val)
		}
	}
}

// asObject writes a schema that is a boolean as an object.
func asObject(v *value) *value {
	if v.kind == 't' {
		return &value{kind: '{'}
	}
	return &value{kind: '{', keys: []string{"not"}, vals: []*value{{kind: '{'}}}
}

// mayBeFlag reports whether the subschema is a boolean as often as not.
func (c child) mayBeFlag() bool {
	return strings.HasPrefix(c.keyword, "additional") || strings.HasPrefix(c.keyword, "unevaluated")
}

// sayObject makes a root without a type say that it describes an object, as it does anyway.
func sayObject(root *value) {
	if root.get("type") == nil {
		root.keys = slices.Insert(root.keys, 0, "type")
		root.vals = slices.Insert(root.vals, 0, &value{kind: '"', text: "object"})
		root.buildIndex()
	}
}

// forClients reports whether a keyword would tell a client how to send arguments, or pass for one
// that a decoder reads: some ignore case, so that "X-MCP-Header" is "x-mcp-header" to them, and
// what is in "Properties" are properties. A page has no say in that.
func forClients(key string) bool {
	for _, known := range []string{"properties", "type"} {
		if key != known && strings.EqualFold(key, known) {
			return true
		}
	}
	n := len(vendorPrefix)
	return len(key) >= n && strings.EqualFold(key[:n], vendorPrefix)
}

// portableWords are keywords that mean the same from draft 06 to 2020-12, and to Ajv without strict
// mode.
var portableWords = wordSet(`$schema $comment title description default examples deprecated readOnly
	writeOnly contentEncoding contentMediaType format type enum const properties required
	additionalProperties items minItems maxItems uniqueItems minProperties maxProperties minLength
	maxLength minimum maximum exclusiveMinimum exclusiveMaximum allOf anyOf oneOf not if then else
	$ref $defs definitions`)

// besideRef are the keywords that may stand beside "$ref", where old drafts ignore what new ones
// check.
var besideRef = wordSet(`$ref $schema $id $comment title description default examples deprecated
	readOnly writeOnly $defs definitions`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// unportable names what is not portable in a schema that was rewritten, or returns "".
func unportable(v *value, root bool) string {
	ref := v.get("$ref") != nil
	for i, key := range v.keys {
		if why := unportableWord(key, v.vals[i], root); why != "" {
			return why
		}
		if ref && !besideRef[key] && (!root || key != "type") { // the type of the root holds anyway
			return "keywords beside $ref"
		}
	}
	for _, c := range children(v) {
		if why := unportable(c.val, false); why != "" {
			return why
		}
	}
	return ""
}

func unportableWord(key string, v *value, root bool) string {
	switch {
	case key == "$schema" && root && draftOf(v) == 4:
		return "this $schema"
	case key == "$id" && root:
		return ""
	case !portableWords[key] && !strings.HasPrefix(key, "x-"):
		return text.Quote(key)
	case key == "items" && v.isArray(),
		key == "$schema" && !root,
		key == "enum" && len(v.vals) == 0,
		key == "$ref" && v.text != "#" && !strings.HasPrefix(v.text, "#/"):
		return fmt.Sprintf("this form of %q", key)
	}
	return ""
}

// maxWordsAt limits how many levels of a schema Words looks at.
const maxWordsAt = 16

// Words returns the names of properties at every level of the schema, and the texts that describe
// them, in the order of the schema.
func (s *Schema) Words() (names, texts []string) {
	var walk func(v *value, level int)
	walk = func(v *value, level int) {
		if level > maxWordsAt || !v.isObject() {
			return
		}
		for _, key := range []string{"title", "description"} {
			if t := v.get(key); t.isString() {
				texts = append(texts, t.text)
			}
		}
		for _, c := range children(v) {
			if c.keyword == "properties" {
				names = append(names, c.name)
			}
			walk(c.val, level+1)
		}
	}
	walk(s.form().graph.doc, 0)
	return names, texts
}
