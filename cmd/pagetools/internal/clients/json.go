package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// This file edits a client's JSON as a syntax tree: one entry is written, and every
// other byte stays, comments too. hujson parses, and knows which comment belongs to
// which member; how new lines are spaced follows the file.

// editJSON puts the server into the text of a client's file. It returns the same
// text when the server is there already.
func editJSON(text string, c *Client, s Server) (string, error) {
	if strings.TrimSpace(text) == "" {
		return c.Snippet(s), nil
	}
	bare, marked := text, false
	if c.lenient {
		bare, marked = strings.CutPrefix(text, "\ufeff")
	}
	root, top, err := readJSON(bare, c.lenient)
	if err != nil {
		return "", err
	}
	changed, err := edit(top, layoutOf(bare, top), c, s)
	switch {
	case err != nil:
		return "", err
	case !changed:
		return text, nil
	}
	out := strings.TrimSuffix(string(root.Pack()), "\n")
	if marked {
		out = "\ufeff" + out
	}
	return out, nil
}

// readJSON parses a text, with a line end added. Only a lenient reader takes
// comments and trailing commas.
func readJSON(text string, lenient bool) (hujson.Value, *hujson.Object, error) {
	root, err := hujson.Parse([]byte(text + "\n")) // it needs the end of a comment's line
	if err != nil {
		return root, nil, fmt.Errorf("is not JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if !lenient && !root.IsStandard() {
		return root, nil, errors.New("is not JSON: it has comments or trailing commas")
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return root, nil, errors.New("is not JSON of a client: it is not a JSON object")
	}
	return root, top, nil
}

// edit puts the server into the tree, and reports whether that changed anything.
func edit(top *hujson.Object, l layout, c *Client, s Server) (bool, error) {
	servers, err := member(top, c.key)
	if err != nil {
		return false, err
	}
	if servers == nil {
		servers = l.put(top, c.key, &hujson.Object{})
	}
	list, ok := servers.Value.Value.(*hujson.Object)
	if !ok {
		return false, fmt.Errorf("%s is not an object", c.key)
	}
	old, err := member(list, s.Name)
	if err != nil {
		return false, fmt.Errorf("%s %w", c.key, err)
	}
	l = l.at(servers)
	if old == nil {
		l.put(list, s.Name, c.entry(s).tree())
		return true, nil
	}
	return replace(old, c.entry(s).tree(), s, l.at(old))
}

// replace writes an entry anew. Keys that are not ours stay.
func replace(old *hujson.ObjectMember, e *hujson.Object, s Server, l layout) (bool, error) {
	was, ok := old.Value.Value.(*hujson.Object)
	if !ok {
		return false, errForeign
	}
	if _, err := member(was, ""); err != nil {
		return false, err
	}
	before := hujson.Value{Value: was}.Pack()
	plain := hujson.Value{Value: was}.Clone()
	plain.Standardize() // a blank for every character of a comment
	var of struct{ Command, Args, URL, HTTPURL any }
	bare := plain.Pack()
	_ = json.Unmarshal(bare, &of) // an object; its names match in any case
	command, _ := of.Command.(string)
	args, _ := of.Args.([]any)
	address, _ := of.URL.(string)
	older, _ := of.HTTPURL.(string)
	if !s.isOurs(command, texts(args), address+older) {
		return false, errForeign
	}
	if l = l.of(was); l.newline != "" {
		l.space(e)
	}
	for _, m := range was.Members {
		if !slices.Contains(entryKeys, nameOf(m)) {
			kept := e.Members[0] // spaced as the others are
			kept.Name.Value, kept.Value.Value = m.Name.Value, m.Value.Value
			e.Members = append(e.Members, kept)
		}
	}
	text := hujson.Value{Value: e}.Pack()
	same := fmt.Appendf(nil, `[{"op": "test", "path": "", "value": %s}]`, text)
	switch {
	case plain.Patch(same) == nil:
		return false, nil
	case slices.ContainsFunc(blanked(before, bare), func(b byte) bool { return b != ',' }):
		return false, errComments
	}
	old.Value.Value = e
	return true, nil
}

// texts returns the texts of a list.
func texts(list []any) (out []string) {
	for _, v := range list {
		if t, ok := v.(string); ok {
			out = append(out, t)
		}
	}
	return out
}

// blanked returns the characters that have become blanks.
func blanked(before, after []byte) (gone []byte) {
	for i, b := range before {
		if b != after[i] {
			gone = append(gone, b)
		}
	}
	return gone
}

// member returns the member of a name, or nil. No name may be there twice: clients
// differ in which one they read.
func member(o *hujson.Object, name string) (found *hujson.ObjectMember, err error) {
	seen := map[string]bool{}
	for i := range o.Members {
		n := nameOf(o.Members[i])
		if seen[n] {
			return nil, fmt.Errorf("has %q twice", n)
		}
		if seen[n] = true; n == name {
			found = &o.Members[i]
		}
	}
	return found, nil
}

func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal) // the parser takes nothing else
	return name.String()
}

// layout says how an object is spaced: on one line, or on several.
type layout struct {
	newline string // "" for one line
	indent  string // of the line that it begins on
	unit    string
}

// layoutOf returns what the text looks like at its first member.
func layoutOf(text string, top *hujson.Object) layout {
	l := layout{newline: "\n", unit: "  "}
	if strings.Contains(text, "\r\n") {
		l.newline = "\r\n"
	}
	if len(top.Members) > 0 {
		if first := l.at(&top.Members[0]); first.indent != "" {
			l.unit = first.indent
		}
	}
	return l.of(top)
}

// of is the layout of what an object has: on one line when it begins so.
func (l layout) of(o *hujson.Object) layout {
	if len(o.Members) > 0 && !strings.Contains(string(o.Members[0].Name.BeforeExtra), "\n") {
		l.newline = ""
	}
	return l
}

// at is the layout where a member stands.
func (l layout) at(m *hujson.ObjectMember) layout {
	before := string(m.Name.BeforeExtra)
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		line := before[i+1:]
		l.indent = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	}
	return l
}

// space puts the members of an object on lines of their own, at all depths.
func (l layout) space(o *hujson.Object) {
	in := layout{l.newline, l.indent + l.unit, l.unit}
	for i := range o.Members {
		m := &o.Members[i]
		m.Name.BeforeExtra = hujson.Extra(l.newline + in.indent)
		m.Value.BeforeExtra = hujson.Extra(" ")
		switch v := m.Value.Value.(type) {
		case *hujson.Object:
			in.space(v)
		case *hujson.Array:
			for j := range v.Elements[1:] {
				v.Elements[j+1].BeforeExtra = hujson.Extra(" ")
			}
		}
	}
	o.AfterExtra = hujson.Extra(l.newline + l.indent)
}

// put adds a member at the end of an object, behind comments on the last line.
func (l layout) put(o *hujson.Object, name string, value *hujson.Object) *hujson.ObjectMember {
	comma := len(o.Members) > 0 && o.Members[len(o.Members)-1].Value.AfterExtra != nil
	l = l.of(o)
	in := layout{l.newline, l.indent + l.unit, l.unit}
	if l.newline != "" {
		in.space(value)
	}
	parent := hujson.Value{Value: o}
	text := hujson.Value{Value: value}.Pack()
	patch := fmt.Appendf(nil, `[{"op": "add", "path": %q, "value": %s}]`, "/"+name, text)
	if err := parent.Patch(patch); err != nil { // a name has letters, digits, _ and -
		panic(err)
	}
	m := &o.Members[len(o.Members)-1]
	if comma {
		m.Value.AfterExtra = hujson.Extra{} // hujson's sign of a trailing comma
	}
	if l.newline == "" {
		return m
	}
	before, after := string(m.Name.BeforeExtra), string(o.AfterExtra)
	if !strings.HasSuffix(before, "\n") {
		before += l.newline
	}
	m.Name.BeforeExtra, m.Value.BeforeExtra = hujson.Extra(before+in.indent), hujson.Extra(" ")
	if rest, ok := strings.CutPrefix(after, "\n"); ok {
		after = l.newline + rest
	}
	if strings.TrimSpace(after) == "" {
		after = l.newline + l.indent
	}
	o.AfterExtra = hujson.Extra(after)
	return m
}
