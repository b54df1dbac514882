package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// This file edits a client's JSON as text: one entry is written, and every other
// byte stays, comments too.

var (
	errComments = errors.New("has comments in that entry, which would be lost")
	errForeign  = errors.New("has another server of that name; give yours one with NAME=TARGET")
)

// jsonText is a text of JSON, perhaps with comments and trailing commas.
type jsonText struct {
	text string
	// bare is the text with blanks in the place of what plain JSON does not have,
	// so that positions are the same in both.
	bare     []byte
	comments [][2]int
	commas   []int // trailing ones
}

// readJSON reads a text; only a lenient reader takes comments, trailing commas and
// a byte order mark.
func readJSON(text string, lenient bool) (*jsonText, error) {
	d := &jsonText{text: text, bare: []byte(text)}
	if lenient {
		if err := d.blank(); err != nil {
			return nil, err
		}
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(d.bare, &top); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if top == nil {
		return nil, errors.New("is not a JSON object")
	}
	return d, nil
}

// blank finds what plain JSON does not have.
func (d *jsonText) blank() error {
	var last, before byte // the two newest characters that count
	at := 0               // of last
	i := 0
	if strings.HasPrefix(d.text, "\ufeff") {
		i = d.fill(0, len("\ufeff"))
	}
	for i < len(d.text) {
		rest := d.text[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexAny(rest, "\r\n")
			if n < 0 {
				n = len(rest)
			}
			d.comments = append(d.comments, [2]int{i, i + n})
			i = d.fill(i, i+n)
			continue
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return errors.New("has a comment without an end")
			}
			d.comments = append(d.comments, [2]int{i, i + n + 4})
			i = d.fill(i, i+n+4)
			continue
		case strings.ContainsAny(rest[:1], " \t\r\n"):
			i++
			continue
		case strings.ContainsAny(rest[:1], "]}") && last == ',' && !strings.ContainsRune("[{,", rune(before)):
			d.commas = append(d.commas, at)
			d.bare[at] = ' '
		}
		end := i + 1
		if rest[0] == '"' {
			end = stringEnd(d.text, i)
		}
		before, last, at = last, rest[0], i
		i = end
	}
	return nil
}

// fill blanks a stretch, but for its line ends.
func (d *jsonText) fill(from, to int) int {
	for i := from; i < to; i++ {
		if d.bare[i] != '\n' && d.bare[i] != '\r' {
			d.bare[i] = ' '
		}
	}
	return to
}

// stringEnd is where the string ends that begins at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// jsonObject is an object of a text, with the positions of its braces.
type jsonObject struct {
	open, end int
	members   []jsonMember
}

type jsonMember struct {
	name            string
	key, start, end int // of the key, and of the value
}

// object reads the object that begins at a position, or after blanks.
func (d *jsonText) object(at int) (o jsonObject, err error) {
	dec := json.NewDecoder(bytes.NewReader(d.bare[at:]))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return o, errors.New("is not an object")
	}
	o.open = at + int(dec.InputOffset()) - 1
	for dec.More() {
		from := at + int(dec.InputOffset())
		t, err := dec.Token()
		if err != nil {
			return o, err
		}
		name, _ := t.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return o, err
		}
		if _, twice := o.member(name); twice {
			return o, fmt.Errorf("has %q twice", terminal.Plain(name))
		}
		end := at + int(dec.InputOffset())
		o.members = append(o.members, jsonMember{name, from + bytes.IndexByte(d.bare[from:], '"'), end - len(raw), end})
	}
	_, err = dec.Token()
	o.end = at + int(dec.InputOffset()) - 1
	return o, err
}

func (o jsonObject) member(name string) (jsonMember, bool) {
	i := slices.IndexFunc(o.members, func(m jsonMember) bool { return m.name == name })
	if i < 0 {
		return jsonMember{}, false
	}
	return o.members[i], true
}

// editJSON puts the server into the file of a client. What it gives is the same
// text when the server is there already.
func editJSON(text string, c *mcpClient, s mcpServer) (string, error) {
	if strings.TrimSpace(text) == "" {
		return c.snippet(s), nil
	}
	d, err := readJSON(text, c.lenient)
	if err != nil {
		return "", err
	}
	top, err := d.object(0)
	if err != nil {
		return "", err
	}
	l := d.layout(top)
	servers, there := top.member(c.key)
	if !there {
		in := l.deeper()
		return d.insert(top, l, in.member(c.key, in.object([]string{in.member(s.name, c.entry(s).text(in.deeper()))}))), nil
	}
	list, err := d.object(servers.start)
	if err != nil {
		return "", fmt.Errorf("%s %w", c.key, err)
	}
	in := d.inside(l, top, servers)
	old, there := list.member(s.name)
	if !there {
		in = d.inside(in, list, jsonMember{})
		return d.insert(list, in, in.member(s.name, c.entry(s).text(in.deeper()))), nil
	}
	return d.replace(old, c.entry(s), s, d.inside(in, list, old))
}

// layout is how the text is written: what it looks like at its first member.
func (d *jsonText) layout(top jsonObject) layout {
	l := layout{newline: "\n", unit: "  "}
	if strings.Contains(d.text, "\r\n") {
		l.newline = "\r\n"
	}
	if len(top.members) == 0 {
		return l
	}
	first := top.members[0].key
	if !strings.Contains(d.text[top.open:first], "\n") {
		l.newline = ""
		return l
	}
	if unit := d.indentAt(first); unit != "" {
		l.unit = unit
	}
	return l
}

// indentAt is the blank beginning of a line.
func (d *jsonText) indentAt(at int) string {
	line := d.text[strings.LastIndexByte(d.text[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// inside is the layout of a member, of one that the object has, or is to have.
func (d *jsonText) inside(l layout, o jsonObject, m jsonMember) layout {
	if m.end > 0 {
		if strings.Contains(d.text[o.open:m.key], "\n") {
			l.indent = d.indentAt(m.key)
		}
		return l
	}
	if len(o.members) > 0 && !strings.Contains(d.text[o.open:o.members[0].key], "\n") {
		l.newline = ""
	}
	return l
}

// insert adds a member at the end of an object.
func (d *jsonText) insert(o jsonObject, l layout, member string) string {
	if l.newline == "" {
		if len(o.members) > 0 {
			last := o.members[len(o.members)-1].end
			return d.text[:last] + "," + member + d.text[last:]
		}
		return d.text[:o.open+1] + member + d.text[o.open+1:]
	}
	head, at, comma := d.text[:o.open+1], o.open+1, ""
	if len(o.members) > 0 {
		last := o.members[len(o.members)-1].end
		head, at = d.text[:last]+",", last
		for _, i := range d.commas {
			if i >= last && i < o.end {
				head, at, comma = d.text[:i+1], i+1, ","
			}
		}
	}
	onLine := d.restOfLine(at) // a comment there is about what it stands behind
	tail := d.text[onLine:]
	if between := d.text[onLine:o.end]; strings.TrimSpace(between) == "" {
		tail = l.newline + l.indent + d.text[o.end:]
	}
	return head + d.text[at:onLine] + l.newline + l.indent + l.unit + member + comma + tail
}

// restOfLine skips blanks and comments that are on the same line.
func (d *jsonText) restOfLine(at int) int {
	end := at
	for at < len(d.text) {
		i := slices.IndexFunc(d.comments, func(c [2]int) bool { return c[0] == at })
		switch {
		case i >= 0:
			at = d.comments[i][1]
			end = at
		case d.text[at] == ' ' || d.text[at] == '\t':
			at++
		default:
			return end
		}
	}
	return end
}

// replace writes an entry anew. Keys that are not ours stay.
func (d *jsonText) replace(old jsonMember, e entry, s mcpServer, l layout) (string, error) {
	o, err := d.object(old.start)
	if err != nil {
		return "", errForeign
	}
	var was struct{ Command, URL, HTTPURL any }
	_ = json.Unmarshal(d.bare[old.start:old.end], &was) // an object; its names match in any case
	if !s.isOurs(text(was.Command), text(was.URL)+text(was.HTTPURL)) {
		return "", errForeign
	}
	if len(o.members) > 0 && !strings.Contains(d.text[o.open:o.members[0].key], "\n") {
		l.newline = ""
	}
	var more []string
	for _, m := range o.members {
		if !slices.Contains(entryKeys, m.name) {
			more = append(more, l.member(m.name, d.text[m.start:m.end]))
		}
	}
	replaced := e.text(l, more...)
	if sameJSON(d.bare[old.start:old.end], json.RawMessage(replaced)) {
		return d.text, nil
	}
	if slices.ContainsFunc(d.comments, func(c [2]int) bool { return c[0] > old.start && c[0] < old.end }) {
		return "", errComments
	}
	return d.text[:old.start] + replaced + d.text[old.end:], nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
