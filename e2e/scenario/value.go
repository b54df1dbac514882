package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Value is a value of a file: JSON, with references to what is only known when a case runs, and,
// where a value is expected, with matchers. It is immutable. The zero Value is none.
type Value struct{ n *node }

// Exists reports whether there is a value; null is one.
func (v Value) Exists() bool { return v.n != nil }

// Position returns where the value begins in its file.
func (v Value) Position() Position {
	if v.n == nil {
		return Position{}
	}
	return v.n.at
}

// JSON returns the value as JSON text, on one line. A value with matchers, or with references
// that were not expanded, is an error.
func (v Value) JSON() (json.RawMessage, error) {
	if v.n == nil {
		return nil, fmt.Errorf("there is no value")
	}
	return v.n.json()
}

// String returns the value as reports show it: indented JSON, with its matchers; "" when there is
// none.
func (v Value) String() string {
	if v.n == nil {
		return ""
	}
	return show(v.n, nil)
}

// Member returns the text of a member of an object, as it is written; "" where there is none.
func (v Value) Member(key string) string {
	if v.n == nil {
		return ""
	}
	if i := slices.Index(v.n.keys, key); i >= 0 && i < len(v.n.vals) {
		return v.n.vals[i].text
	}
	return ""
}

// Only returns an object with these members alone, and reports whether others were left out. Of a
// value that is not an object, all is left out.
func (v Value) Only(keys ...string) (Value, bool) {
	out, left := &node{kind: '{'}, v.n != nil && v.n.kind != '{'
	if v.n == nil || left {
		return Value{out}, left
	}
	out.at = v.n.at
	for i, key := range v.n.keys {
		if slices.Contains(keys, key) {
			out.keys, out.vals = append(out.keys, key), append(out.vals, v.n.vals[i])
		} else {
			left = true
		}
	}
	return Value{out}, left
}

// Literal returns a value that matches what equals the JSON text: nothing in it is a matcher or a
// reference. The error is a [*schema.SyntaxError].
func Literal(text json.RawMessage) (Value, error) {
	v, err := schema.Read(text, 0)
	if err != nil {
		return Value{}, err
	}
	return Value{literal(v, Position{})}, nil
}

// Expected reads a value that is expected, with its matchers, from JSON text. The error is a
// [*Problems].
func Expected(text []byte) (Value, error) {
	p := &problems{file: "expected"}
	n := parseJSON(text, p)
	if n == nil {
		return Value{}, p.err()
	}
	b := builder{problems: p, role: expected}
	return Value{b.build(n)}, p.err()
}

type node struct {
	kind byte   // 'n', 't', 'f', '0', '"', '[', '{', or '$' for matchers
	text string // of a string, and the literal of a number
	refs []piece
	keys []string // of an object, as long as vals
	vals []*node
	ops  []*op
	at   Position
}

type role int

const (
	sent     role = iota // JSON and references
	expected             // the same, and matchers
	verbatim             // JSON alone: neither matchers nor references nor escapes
	foreign              // expected, as evals.json has it: matchers, no references, no escapes
)

type builder struct {
	*problems
	role role
}

// build returns the value of a node. Where it is wrong, the problems say so, and the value is of
// no use.
func (b builder) build(n *yaml.Node) *node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out := &node{kind: '[', at: at(n)}
		for _, item := range n.Content {
			out.vals = append(out.vals, b.build(item))
		}
		return out
	case yaml.MappingNode:
		return b.object(n)
	default:
		return b.scalar(n)
	}
}

var numberOfJSON = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (b builder) scalar(n *yaml.Node) *node {
	out := &node{at: at(n)}
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle != 0 && tag != "!!str" {
		tag = "" // what it says need not be so
	}
	if tag == "!!str" && n.Style == 0 && numberOfJSON.MatchString(n.Value) {
		tag = "!!float" // too large for the parser, and not text for that
	}
	switch tag {
	case "!!null":
		out.kind = 'n'
	case "!!bool":
		out.kind = 't'
		if strings.EqualFold(n.Value, "false") {
			out.kind = 'f'
		}
	case "!!int", "!!float":
		out.kind, out.text = '0', b.number(n)
	case "!!str", "!!timestamp":
		b.text(out, n.Value)
	default:
		out.kind = 'n'
		b.add(at(n), "invalid value with the tag %s: use JSON's types, without a tag", Quoted(n.Tag))
	}
	return out
}

// number is the literal that JSON has for a number of YAML.
func (b builder) number(n *yaml.Node) string {
	if json.Valid([]byte(n.Value)) {
		if err := schema.CheckJSON([]byte(n.Value), 1); err != nil {
			b.add(at(n), "invalid number %s: use one with fewer digits", Quoted(n.Value))
			return "0"
		}
		return n.Value // with all its digits
	}
	var whole int64
	if n.Decode(&whole) == nil {
		return strconv.FormatInt(whole, 10)
	}
	var float float64
	if n.Decode(&float) == nil {
		if text, err := json.Marshal(float); err == nil {
			return string(text)
		}
	}
	b.add(at(n), "invalid number %s: JSON has none like it; put it in quotes if it is text",
		Quoted(n.Value))
	return "0"
}

// text fills out with a string: its references are read, and "$any" is short for the matcher.
func (b builder) text(out *node, text string) {
	out.kind, out.text = '"', text
	if b.role == verbatim || b.role == foreign {
		return
	}
	if text == "$any" {
		if b.role == sent {
			b.add(out.at, "invalid value %q: matchers are for what is expected; write $$any for the "+
				"text $any", text)
			return
		}
		out.kind = '$'
		out.ops = []*op{{matcher: matcherOf("$any"), arg: &node{kind: 't', at: out.at}, at: out.at}}
		return
	}
	if strings.HasPrefix(text, "$$") && strings.Trim(text, "$") == "any" {
		out.text = text[1:]
		return
	}
	pieces, err := splitReferences(text)
	if err != "" {
		b.add(out.at, "%s", err)
		return
	}
	if len(pieces) == 1 && pieces[0].ref == nil {
		out.text = pieces[0].text
		return
	}
	if len(pieces) > 0 {
		out.refs = pieces
		b.reads(pieces, out.at)
	}
}

func (b builder) object(n *yaml.Node) *node {
	out := &node{kind: '{', at: at(n)}
	b.pairs(n, func(k, v *yaml.Node) { out.keys = append(out.keys, k.Value) })
	dollars := 0
	for _, key := range out.keys {
		if b.role == foreign && strings.HasPrefix(key, "$") || isOperator(key) {
			dollars++
		}
	}
	switch {
	case b.role == verbatim, b.role == foreign && dollars < len(out.keys), dollars == 0:
		i := 0
		b.pairs(n, func(_, v *yaml.Node) {
			if b.role == expected || b.role == sent {
				out.keys[i] = unescapeKey(out.keys[i])
			}
			out.vals = append(out.vals, b.build(v))
			i++
		})
		return out
	default:
		return b.matchers(n, out)
	}
}

// isOperator reports whether a key looks like a matcher: one $, and not two.
func isOperator(key string) bool {
	return strings.HasPrefix(key, "$") && !strings.HasPrefix(key, "$$")
}

func unescapeKey(key string) string {
	if strings.HasPrefix(key, "$$") {
		return key[1:]
	}
	return key
}

// matchers reads an object whose keys are matchers.
func (b builder) matchers(n *yaml.Node, out *node) *node {
	out.kind, out.keys = '$', nil
	b.pairs(n, func(k, v *yaml.Node) {
		m := matcherOf(k.Value)
		switch {
		case !isOperator(k.Value):
			b.add(at(k), "the key %s is beside matchers: an object has matchers or members, "+
				"and not both; write $$x for a key $x", Quoted(k.Value))
		case b.role == sent:
			b.add(at(k), "invalid key %s: matchers are for what is expected; write %s for a key that "+
				"begins with $", Quoted(k.Value), Quoted("$"+k.Value))
		case m == nil:
			b.add(at(k), "unknown matcher %s: %s; write %s for a key that begins with $", Quoted(k.Value),
				instead(k.Value, matcherNames()), Quoted("$"+k.Value))
		default:
			inner := b
			if m.inner != expected {
				inner.role = m.inner
			}
			if b.role == foreign && m.inner == sent {
				inner.role = verbatim
			}
			o := &op{matcher: m, arg: inner.build(v), at: at(k)}
			if m.name == "$any" && b.role == foreign {
				o.arg = &node{kind: 't', at: at(v)} // theirs takes any value
			}
			if why := o.prepare(); why != "" {
				b.add(at(v), "invalid value for %s: %s", m.name, why)
			}
			out.ops = append(out.ops, o)
		}
	})
	return out
}

// pairs walks a mapping, whose keys are text and are there once.
func (p *problems) pairs(n *yaml.Node, each func(k, v *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch {
		case k.Kind != yaml.ScalarNode:
			p.add(at(k), "a key must be text, and is a list or a mapping: write key: value")
		case k.Tag == "!!merge":
			p.add(at(k), "<< merges nothing here: write the members out")
		case seen[k.Value]:
			p.add(at(k), "the key %s is there twice: remove one of them", Quoted(k.Value))
		default:
			seen[k.Value] = true
			each(k, v)
		}
	}
}

// ReadAgain reads JSON that was read or written before. Of anything else it returns no
// value.
func ReadAgain(text json.RawMessage) schema.Value {
	v, _ := schema.Read(text, 0)
	return v
}

// literal is a JSON value as it is.
func literal(v schema.Value, at Position) *node {
	n := &node{at: at}
	switch text := v.Text(); {
	case v.IsObject():
		n.kind = '{'
		for name, x := range v.Members() {
			n.keys, n.vals = append(n.keys, name), append(n.vals, literal(x, at))
		}
	case v.IsArray():
		n.kind = '['
		for x := range v.Elements() {
			n.vals = append(n.vals, literal(x, at))
		}
	case v.IsString():
		n.kind, n.text = '"', v.String()
	case text[0] == 'n' || text[0] == 't' || text[0] == 'f':
		n.kind = text[0]
	default:
		n.kind, n.text = '0', string(text)
	}
	return n
}

func (n *node) get(key string) *node {
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.vals[i]
	}
	return nil
}

// json is the text of a value that has neither matchers nor references.
func (n *node) json() (json.RawMessage, error) {
	var wrong error
	n.walk(func(x *node) {
		switch {
		case wrong != nil:
		case x.kind == '$':
			wrong = fmt.Errorf("the value has the matcher %s, and only what is expected can have one",
				x.ops[0].matcher.name)
		case x.refs != nil:
			wrong = fmt.Errorf("the reference in %s was not expanded", text.EscapeLine(Quoted(x.text)))
		}
	})
	if wrong != nil {
		return nil, wrong
	}
	return n.write(nil, func(*node) []byte { return nil }), nil
}

// write writes a value as JSON. special returns what is written in the place of a part, or nil.
func (n *node) write(dst []byte, special func(*node) []byte) []byte {
	if text := special(n); text != nil {
		return append(dst, text...)
	}
	if n.kind != '[' && n.kind != '{' {
		return append(dst, n.scalarJSON()...)
	}
	dst = append(dst, n.kind)
	for i, x := range n.vals {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			dst = append(schema.AppendString(dst, n.keys[i]), ':')
		}
		dst = x.write(dst, special)
	}
	return append(dst, n.kind+2) // ] follows two after [, and } two after {
}

// scalarJSON is the text of anything but a list, an object or matchers.
func (n *node) scalarJSON() string {
	switch n.kind {
	case 'n':
		return "null"
	case 't':
		return "true"
	case 'f':
		return "false"
	case '0':
		return n.text
	default:
		return string(schema.AppendString(nil, n.text))
	}
}
