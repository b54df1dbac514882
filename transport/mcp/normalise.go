package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value whose members keep their order, and whose texts and numbers
// keep their letters.
type node struct {
	kind jsontext.Kind
	raw  jsontext.Value // of anything but an object or an array
	keys []string
	vals []*node
}

// parseNode reads exactly one value.
func parseNode(b []byte) (*node, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	n, err := readNode(dec)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(b[dec.InputOffset():])) > 0 {
		return nil, errors.New("something follows the value")
	}
	return n, nil
}

func readNode(dec *jsontext.Decoder) (*node, error) {
	n := &node{kind: dec.PeekKind()}
	if n.kind != '{' && n.kind != '[' {
		v, err := dec.ReadValue()
		n.raw = v.Clone()
		return n, err
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for end := n.kind + 2; dec.PeekKind() != end; { // '}' and ']' come two behind '{' and '['
		if n.kind == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, name.String())
		}
		v, err := readNode(dec)
		if err != nil {
			return nil, err
		}
		n.vals = append(n.vals, v)
	}
	_, err := dec.ReadToken()
	return n, err
}

// appendTo writes the value without white space.
func (n *node) appendTo(dst []byte) []byte {
	if n.kind != '{' && n.kind != '[' {
		return append(dst, n.raw...)
	}
	dst = append(dst, byte(n.kind))
	for i, v := range n.vals {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(appendText(dst, n.keys[i]), ':')
		}
		dst = v.appendTo(dst)
	}
	return append(dst, byte(n.kind+2))
}

// appendText writes a JSON string. What is not UTF-8 is replaced.
func appendText(dst []byte, s string) []byte {
	dst, err := jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // valid UTF-8 can be quoted
		panic("quoting a text: " + err.Error())
	}
	return dst
}

func (n *node) get(key string) *node {
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.vals[i]
	}
	return nil
}

func (n *node) set(key string, v *node) {
	if i := slices.Index(n.keys, key); i >= 0 {
		n.vals[i] = v
		return
	}
	n.keys, n.vals = slices.Insert(n.keys, 0, key), slices.Insert(n.vals, 0, v)
}

func (n *node) remove(key string) {
	if i := slices.Index(n.keys, key); i >= 0 {
		n.keys, n.vals = slices.Delete(n.keys, i, i+1), slices.Delete(n.vals, i, i+1)
	}
}

// is tells whether the value is this text.
func (n *node) is(text string) bool {
	if n == nil || n.kind != '"' {
		return false
	}
	var s string
	return json.Unmarshal(n.raw, &s) == nil && s == text
}

func textNode(s string) *node { return &node{kind: '"', raw: appendText(nil, s)} }

// holder says how a keyword holds schemas.
type holder uint8

const (
	heldByName holder = iota + 1 // an object of schemas
	heldInList                   // an array of schemas
	heldAlone                    // one schema, or for "items" of older drafts an array of them
	heldOrFlag                   // one schema, which is a boolean as often as not
)

// holders are the keywords of all drafts that hold schemas. What else a schema has
// is data, or of nobody's business.
var holders = map[string]holder{
	"properties": heldByName, "patternProperties": heldByName, "$defs": heldByName, "definitions": heldByName,
	"dependentSchemas": heldByName, "dependencies": heldByName,
	"allOf": heldInList, "anyOf": heldInList, "oneOf": heldInList, "prefixItems": heldInList,
	"items": heldAlone, "contains": heldAlone, "propertyNames": heldAlone, "contentSchema": heldAlone,
	"not": heldAlone, "if": heldAlone, "then": heldAlone, "else": heldAlone,
	"additionalProperties": heldOrFlag, "unevaluatedProperties": heldOrFlag,
	"additionalItems": heldOrFlag, "unevaluatedItems": heldOrFlag,
}

// normaliser collects what was changed, in words for the author.
type normaliser struct{ notes []string }

func (z *normaliser) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(z.notes, text) {
		z.notes = append(z.notes, text)
	}
}

// errNotAnObject is a schema that no list of arguments can fit.
var errNotAnObject = errors.New("it does not describe an object")

// normaliseInput makes an inputSchema that no known client stumbles over, and says
// what it changed. It only ever takes words away or says what holds anyway: what the
// schema demands of the arguments is checked by the bridge, with the page's own. The
// error means that the tool cannot be offered.
func normaliseInput(raw json.RawMessage) (json.RawMessage, []string, error) {
	var z normaliser
	root, err := z.root(raw)
	if err != nil {
		return nil, nil, err
	}
	if root.get("properties") == nil { // some model APIs demand it, and it says nothing
		root.keys, root.vals = append(root.keys, "properties"), append(root.vals, &node{kind: '{'})
	}
	return root.appendTo(nil), z.notes, nil
}

// normaliseOutput makes the outputSchema of the list of an era; nil when the clients
// of the era are better off without. Results were held to the page's own schema.
func normaliseOutput(raw json.RawMessage, modern bool) (json.RawMessage, []string) {
	var z normaliser
	if modern {
		root, err := parseNode(raw)
		if err != nil || root.kind != '{' {
			return nil, []string{"outputSchema: it is not a schema; it is left out"}
		}
		z.schema(root)
		// Clients in Go read the type as one text, and lose the list over another.
		if t := root.get("type"); t != nil && t.kind != '"' {
			if err := z.rootType(root); err != nil {
				return nil, []string{"outputSchema: " + err.Error() + "; it is left out"}
			}
		}
		return root.appendTo(nil), z.notes
	}
	root, err := z.root(raw)
	if err != nil {
		return nil, []string{"outputSchema: " + err.Error() + "; clients before 2026-07-28 do not get it"}
	}
	if why := unportable(root); why != "" {
		return nil, []string{"outputSchema: not every validator reads " + why + " alike; clients before 2026-07-28 do not get it"}
	}
	root.remove("$schema")
	root.remove("$id")
	return root.appendTo(nil), z.notes
}

// root reads a schema and makes its root say that it describes an object.
func (z *normaliser) root(raw json.RawMessage) (*node, error) {
	root, err := parseNode(raw)
	if err != nil {
		return nil, errors.New("it is not JSON")
	}
	if root.kind == 't' || root.kind == 'n' {
		z.note("a root that is %s became an object", root.raw)
		root = &node{kind: '{'}
	}
	if root.kind != '{' {
		return nil, errNotAnObject
	}
	z.schema(root)
	return root, z.rootType(root)
}

// rootType makes the type of the root the one text "object". Arguments are objects
// anyway, and so are results that were held to an outputSchema.
func (z *normaliser) rootType(root *node) error {
	switch t := root.get("type"); {
	case t.is("object"):
	case t == nil:
		root.set("type", textNode("object"))
	case t.kind == '[' && slices.ContainsFunc(t.vals, func(v *node) bool { return v.is("object") }):
		z.note("the type of the root became \"object\"")
		root.set("type", textNode("object"))
	default:
		return errNotAnObject
	}
	return nil
}

// schema normalises one schema and what is in it.
func (z *normaliser) schema(n *node) {
	for i := 0; i < len(n.keys); {
		if key := n.keys[i]; forClients(key) {
			z.note("%q was taken out", clipName(key))
			n.remove(key)
			continue
		}
		i++
	}
	if r := n.get("required"); r != nil && !isTexts(r) {
		z.note("\"required\" is not a list of names, and was taken out")
		n.remove("required")
	}
	for i, key := range n.keys {
		switch holders[key] {
		case heldByName:
			z.byName(n, i)
		case heldInList:
			z.list(n.vals[i])
		case heldAlone:
			if n.vals[i].kind == '[' {
				z.list(n.vals[i])
				continue
			}
			n.vals[i] = z.place(n.vals[i])
		case heldOrFlag:
			if n.vals[i].kind == '{' {
				z.schema(n.vals[i])
			}
		}
	}
}

// byName normalises the object of schemas at the i-th keyword.
func (z *normaliser) byName(n *node, i int) {
	held := n.vals[i]
	if held.kind != '{' {
		z.note("%q is not an object, and became an empty one", n.keys[i])
		n.vals[i] = &node{kind: '{'}
		return
	}
	for j, v := range held.vals {
		if n.keys[i] == "dependencies" && v.kind == '[' { // a list of names
			continue
		}
		held.vals[j] = z.place(v)
	}
}

func (z *normaliser) list(n *node) {
	for j, v := range n.vals {
		n.vals[j] = z.place(v)
	}
}

// place normalises what stands where a schema is expected. Booleans become objects
// that mean the same: half of the clients know schemas as objects only.
func (z *normaliser) place(n *node) *node {
	switch n.kind {
	case '{':
		z.schema(n)
		return n
	case 't':
		return &node{kind: '{'}
	case 'f':
		return &node{kind: '{', keys: []string{"not"}, vals: []*node{{kind: '{'}}}
	}
	z.note("what is neither an object nor a boolean became a schema that takes anything")
	return &node{kind: '{'}
}

// forClients tells whether a keyword would tell a client how to send arguments, or
// pass for one that the library reads: it ignores case, so that "X-MCP-Header" is
// "x-mcp-header" to it, and what is in "Properties" are properties. A page has no
// say in that, and a bad one makes the library panic.
func forClients(key string) bool {
	for _, known := range []string{"properties", "type"} {
		if key != known && strings.EqualFold(key, known) {
			return true
		}
	}
	return len(key) >= 6 && strings.EqualFold(key[:6], "x-mcp-")
}

func isTexts(n *node) bool {
	return n.kind == '[' && !slices.ContainsFunc(n.vals, func(v *node) bool { return v.kind != '"' })
}

// clipName shortens a name of the page for a message.
func clipName(s string) string {
	if r := []rune(s); len(r) > maxName {
		return string(r[:maxName]) + "…"
	}
	return s
}
