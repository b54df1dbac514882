package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// This file edits one table of a TOML file as text, and reads no more of TOML than
// that needs: where statements begin and end, and what they are about. It follows
// TOML 1.0.0.

// tomlStatement is one key with its value, or the header of a table.
type tomlStatement struct {
	header     bool
	array      bool     // of tables: [[x]]
	path       []string // whole, with that of the table
	start, end int      // without the line's end
	value      string
	comment    bool // there is one inside of it, or behind it
}

type tomlReader struct {
	text string
	at   int
	seen bool // a comment
}

// readTOML gives the statements of a text.
func readTOML(text string) (out []tomlStatement, err error) {
	r := &tomlReader{text: text, at: len(text) - len(strings.TrimPrefix(text, "\ufeff"))}
	var table []string
	tables, keys := map[string]bool{}, map[string]bool{}
	for r.skip(true); r.at < len(text); r.skip(true) {
		s := tomlStatement{start: r.at}
		r.seen = false
		if r.peek() == '[' {
			err = r.header(&s)
			table = s.path
			name := fmt.Sprintf("%q", s.path)
			if err == nil && !s.array && tables[name] {
				err = fmt.Errorf("has the table %s twice", terminal.Plain(strings.Join(s.path, ".")))
			}
			tables[name] = true
			if s.array {
				keys = map[string]bool{}
			}
		} else {
			err = r.pair(&s, table)
			name := fmt.Sprintf("%q", s.path)
			if err == nil && keys[name] {
				err = fmt.Errorf("has %s twice", terminal.Plain(strings.Join(s.path, ".")))
			}
			keys[name] = true
		}
		if err == nil {
			s.end = r.at
			r.skip(false)
			s.comment = r.seen
			if r.at < len(text) && r.peek() != '\n' && !strings.HasPrefix(text[r.at:], "\r\n") {
				err = r.odd()
			}
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (r *tomlReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *tomlReader) odd() error {
	return fmt.Errorf("is not TOML: line %d", 1+strings.Count(r.text[:min(r.at, len(r.text))], "\n"))
}

// skip passes blanks and a comment, and line ends too when lines is true.
func (r *tomlReader) skip(lines bool) {
	for r.at < len(r.text) {
		switch c := r.peek(); {
		case c == ' ' || c == '\t' || (lines && (c == '\n' || strings.HasPrefix(r.text[r.at:], "\r\n"))):
			r.at++
		case c == '\r' && lines && strings.HasPrefix(r.text[r.at:], "\r\n"):
			r.at += 2
		case c == '#':
			r.seen = true
			n := strings.IndexByte(r.text[r.at:], '\n')
			if n < 0 {
				n = len(r.text) - r.at
			}
			r.at += len(strings.TrimSuffix(r.text[r.at:r.at+n], "\r"))
		default:
			return
		}
	}
}

func (r *tomlReader) header(s *tomlStatement) (err error) {
	s.header = true
	end := "]"
	if strings.HasPrefix(r.text[r.at:], "[[") {
		s.array, end = true, "]]"
	}
	r.at += len(end)
	if s.path, err = r.key(); err != nil {
		return err
	}
	if !strings.HasPrefix(r.text[r.at:], end) {
		return r.odd()
	}
	r.at += len(end)
	return nil
}

func (r *tomlReader) pair(s *tomlStatement, table []string) error {
	key, err := r.key()
	if err != nil {
		return err
	}
	s.path = slices.Concat(table, key)
	if r.peek() != '=' {
		return r.odd()
	}
	r.at++
	r.blanks()
	from := r.at
	if err := r.value(0); err != nil {
		return err
	}
	s.value = r.text[from:r.at]
	return nil
}

func (r *tomlReader) blanks() {
	for r.peek() == ' ' || r.peek() == '\t' {
		r.at++
	}
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+`)

// key reads a dotted key, with the blanks around it.
func (r *tomlReader) key() (path []string, err error) {
	for {
		r.blanks()
		var part string
		if c := r.peek(); c == '"' || c == '\'' {
			from := r.at
			if err := r.line(c); err != nil {
				return nil, err
			}
			part, err = tomlText(r.text[from:r.at])
			if err != nil {
				return nil, r.odd()
			}
		} else if part = bareKey.FindString(r.text[r.at:]); part == "" {
			return nil, r.odd()
		} else {
			r.at += len(part)
		}
		path = append(path, part)
		r.blanks()
		if r.peek() != '.' {
			return path, nil
		}
		r.at++
	}
}

// line passes a string of one line.
func (r *tomlReader) line(quote byte) error {
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == quote:
			r.at++
			return nil
		case c == '\\' && quote == '"':
			r.at++
			if r.peek() == '\n' {
				return r.odd()
			}
		case c == '\n':
			return r.odd()
		}
	}
	return r.odd()
}

// lines passes a string of several lines. Up to two quotes may stand before those
// that end it.
func (r *tomlReader) lines(quotes string) error {
	for r.at += 3; r.at < len(r.text); r.at++ {
		switch {
		case r.text[r.at] == '\\' && quotes[0] == '"':
			r.at++
		case strings.HasPrefix(r.text[r.at:], quotes):
			r.at += 3
			for n := 0; n < 2 && r.peek() == quotes[0]; n++ {
				r.at++
			}
			return nil
		}
	}
	return r.odd()
}

var tomlScalar = regexp.MustCompile(`^(?:true|false|[+-]?(?:inf|nan)|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d:\d\d(?:\.\d+)?` +
	`|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+|[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?)`)

// maxTOMLDepth is more than a configuration has.
const maxTOMLDepth = 64

func (r *tomlReader) value(depth int) error {
	rest := r.text[r.at:]
	switch {
	case depth > maxTOMLDepth:
		return errors.New("is nested too deeply")
	case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
		return r.lines(rest[:3])
	case strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, `'`):
		return r.line(rest[0])
	case strings.HasPrefix(rest, "["):
		return r.list(']', func() error { return r.value(depth + 1) })
	case strings.HasPrefix(rest, "{"):
		return r.list('}', func() error {
			if _, err := r.key(); err != nil {
				return err
			}
			if r.peek() != '=' {
				return r.odd()
			}
			r.at++
			r.blanks()
			return r.value(depth + 1)
		})
	}
	scalar := tomlScalar.FindString(rest)
	if r.at += len(scalar); scalar == "" || (r.at < len(r.text) && !strings.ContainsRune(" \t\r\n,]}#", rune(r.peek()))) {
		return r.odd()
	}
	return nil
}

// list passes an array or an inline table.
func (r *tomlReader) list(end byte, item func() error) error {
	r.at++
	for {
		r.skip(true)
		if r.peek() == end {
			r.at++
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		r.skip(true)
		switch r.peek() {
		case ',':
			r.at++
		case end:
		default:
			return r.odd()
		}
	}
}

// tomlText reads a string of one line.
func tomlText(raw string) (string, error) {
	if len(raw) >= 2 && raw[0] == '\'' {
		return raw[1 : len(raw)-1], nil
	}
	return strconv.Unquote(raw)
}

// quoteTOML writes a string on one line.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func quoteTOMLKey(s string) string {
	if s != "" && bareKey.FindString(s) == s {
		return s
	}
	return quoteTOML(s)
}

func (f field) toml() string {
	var items []string
	switch v := f.value.(type) {
	case []string:
		for _, s := range v {
			items = append(items, quoteTOML(s))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case [][2]string:
		for _, pair := range v {
			items = append(items, quoteTOMLKey(pair[0])+" = "+quoteTOML(pair[1]))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	return quoteTOML(text(f.value))
}

func (e entry) toml(newline string) string {
	var b strings.Builder
	for _, f := range e {
		b.WriteString(f.key + " = " + f.toml() + newline)
	}
	return b.String()
}

func tomlTable(path []string, e entry, newline string) string {
	keys := make([]string, len(path))
	for i, k := range path {
		keys[i] = quoteTOMLKey(k)
	}
	return "[" + strings.Join(keys, ".") + "]" + newline + e.toml(newline)
}
