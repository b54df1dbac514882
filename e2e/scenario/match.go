package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Mismatch says where and why a value differs from the expected one. All its texts are fit
// for a terminal: invisible characters are escaped.
type Mismatch struct {
	// Path says where they differ, such as content[0].text; "" is the whole value.
	Path string
	// Why is one sentence with the path.
	Why string
	// Expected and Actual are indented JSON. The line of the path begins with "> ", the others
	// with two spaces; what is far from it is left out.
	Expected, Actual string

	differences []*difference
}

// Error is the sentence.
func (m *Mismatch) Error() string { return m.Why }

// Match returns nil when a value is as expected, and otherwise the first place where it is not:
// objects match when they have the expected members, arrays by position and length, other values
// when they are equal. Numbers are compared exactly. References must be expanded before, with
// [Scope.Expand]; one that is left matches its own text.
func Match(want Value, actual json.RawMessage) *Mismatch {
	if want.n == nil {
		return nil
	}
	v, err := schema.Read(actual, 0)
	if err != nil {
		return &Mismatch{Why: "the actual value cannot be read: " + text.EscapeLine(err.Error()) + ".",
			Expected: show(want.n, nil), Actual: text.EscapeLine(shorten(string(actual)))}
	}
	d := match(want.n, v, nil, false)
	if d == nil {
		return nil
	}
	return &Mismatch{
		Path: text.EscapeLine(d.at.String()), Why: text.EscapeLine(d.sentence()) + ".",
		Expected: show(want.n, d.at), Actual: show(literal(v, Position{}), d.at),
		differences: []*difference{d},
	}
}

// path is the way to a part of a value: names of members, and indices of elements as int.
type path []any

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// String is the path as a reference has it.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			switch {
			case !plainName.MatchString(step):
				b.WriteString("[" + strconv.Quote(step) + "]")
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

func (p path) to(step any) path { return append(slices.Clip(p), step) }

type difference struct {
	at  path
	why string // what follows the name of the place
	// want was expected there, and got was found; nil where members are missing or elements
	// are too many, which concerns the value around.
	want *node
	got  schema.Value
}

func (d *difference) sentence() string {
	return cmp.Or(d.at.String(), "the value") + " " + d.why
}

func differs(at path, format string, args ...any) *difference {
	return &difference{at: at, why: fmt.Sprintf(format, args...)}
}

// match returns the first difference, or nil. exact is true inside of $exact, where objects have
// no further members.
func match(want *node, got schema.Value, at path, exact bool) *difference {
	d := matchNode(want, got, at, exact)
	if d != nil && d.want == nil {
		d.want, d.got = want, got
	}
	return d
}

func matchNode(want *node, got schema.Value, at path, exact bool) *difference {
	switch want.kind {
	case '$':
		for _, o := range want.ops {
			if d := o.matcher.match(o, got, at); d != nil {
				d.want, d.got = want, got
				return d
			}
		}
		return nil
	case '{':
		return matchObject(want, got, at, exact)
	case '[':
		return matchArray(want, got, at, exact)
	}
	if equal(want, got) {
		return nil
	}
	return differs(at, "is %s, and must be %s", brief(got), shorten(want.scalarJSON()))
}

// equal compares a value that is neither list nor object.
func equal(want *node, got schema.Value) bool {
	if got.IsString() || want.kind == '"' {
		return got.IsString() && want.kind == '"' && got.String() == want.text
	}
	if got.IsObject() || got.IsArray() {
		return false
	}
	canonical, err := schema.Canonical([]byte(want.scalarJSON()))
	return err == nil && bytes.Equal(canonical, got.Canonical())
}

func matchObject(want *node, got schema.Value, at path, exact bool) *difference {
	if !got.IsObject() {
		return differs(at, "is %s, and must be an object", brief(got))
	}
	for i, key := range want.keys {
		member := got.Get(key)
		if !member.Exists() {
			return differs(at.to(key), "is missing%s", hint(key, got.Names()))
		}
		if d := match(want.vals[i], member, at.to(key), exact); d != nil {
			return d
		}
	}
	if exact && got.Len() > len(want.keys) {
		for _, name := range got.Names() {
			if !slices.Contains(want.keys, name) {
				return differs(at.to(name), "is not expected")
			}
		}
	}
	return nil
}

func hint(key string, names []string) string {
	if near := text.Nearest(key, names); near != "" {
		return fmt.Sprintf("; there is %s", Quoted(near))
	}
	return ""
}

func matchArray(want *node, got schema.Value, at path, exact bool) *difference {
	if !got.IsArray() {
		return differs(at, "is %s, and must be an array", brief(got))
	}
	for i, x := range got.Items() {
		if i == len(want.vals) {
			break
		}
		if d := match(want.vals[i], x, at.to(i), exact); d != nil {
			return d
		}
	}
	if got.Len() != len(want.vals) {
		return differs(at, "has %s, and must have %d", text.Count(got.Len(), "element"),
			len(want.vals))
	}
	return nil
}

// matchUnordered finds an element for each expected one: augmenting paths in the graph of who
// matches whom.
func matchUnordered(o *op, got schema.Value, at path) *difference {
	wants := o.arg.vals
	switch {
	case !got.IsArray():
		return differs(at, "is %s, and must be an array", brief(got))
	case got.Len() != len(wants):
		return differs(at, "has %s, and must have %d", text.Count(got.Len(), "element"), len(wants))
	}
	items := slices.Collect(got.Elements())
	fits := make([][]int, len(wants))
	for i, want := range wants {
		for j, item := range items {
			if match(want, item, nil, false) == nil {
				fits[i] = append(fits[i], j)
			}
		}
	}
	if i := assign(fits, len(items)); i >= 0 {
		return differs(at, "has no element left for %s, which is number %d of those expected in any "+
			"order", shorten(wants[i].line()), i+1)
	}
	return nil
}

// assign gives each row a column of its own among those that fit it, and returns -1, or the first
// row for which there is none.
func assign(fits [][]int, columns int) int {
	owner := make([]int, columns)
	for j := range owner {
		owner[j] = -1
	}
	var seen []bool
	var find func(i int) bool
	find = func(i int) bool {
		for _, j := range fits[i] {
			if seen[j] {
				continue
			}
			seen[j] = true
			if owner[j] < 0 || find(owner[j]) {
				owner[j] = i
				return true
			}
		}
		return false
	}
	for i := range fits {
		seen = make([]bool, columns)
		if !find(i) {
			return i
		}
	}
	return -1
}

func isUndecided(err error) bool {
	var v *schema.Violations
	return errors.As(err, &v) && v.Undecided
}

func kindOf(v schema.Value) string {
	switch {
	case !v.Exists():
		return "nothing"
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	case v.IsString():
		return "a string"
	case v.IsNull():
		return "null"
	case v.Text()[0] == 't', v.Text()[0] == 'f':
		return "a boolean"
	}
	return "a number"
}

func brief(v schema.Value) string {
	if v.IsArray() || v.IsObject() {
		return kindOf(v)
	}
	return shorten(string(v.Text()))
}

func shorten(s string) string { return text.Short(s, 100) }

const (
	linesAround = 15  // of the marked line, before and after
	mostInLine  = 300 // characters
)

// show prints a value as indented JSON and marks the line of a path, or of the nearest place
// around it that is there.
func show(n *node, mark path) string {
	p := &printer{}
	p.print(n, "", "", mark)
	return p.text()
}

// Show returns JSON text as a [Mismatch] has it, with the line of a member marked; "" marks the
// first line.
func Show(words json.RawMessage, member string) string {
	if member == "" {
		return shown(words, nil)
	}
	return shown(words, path{member})
}

func shown(words json.RawMessage, mark path) string {
	v := ReadAgain(words)
	if !v.Exists() { // nested deeper than people read
		return text.EscapeLine(shorten(string(words)))
	}
	return show(literal(v, Position{}), mark)
}

// line is a value on one line, for a sentence.
func (n *node) line() string {
	p := &printer{}
	p.print(n, "", "", nil)
	for i, l := range p.lines {
		p.lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(p.lines, " ")
}

type printer struct {
	lines  []string
	marked int
}

func (p *printer) text() string {
	from, to := max(0, p.marked-linesAround), min(len(p.lines), p.marked+linesAround+1)
	var out []string
	if from > 0 {
		out = append(out, fmt.Sprintf("  … %d lines", from))
	}
	for i := from; i < to; i++ {
		sign := "  "
		if i == p.marked {
			sign = "> "
		}
		out = append(out, sign+text.Escape(text.Short(p.lines[i], mostInLine)))
	}
	if to < len(p.lines) {
		out = append(out, fmt.Sprintf("  … %d lines", len(p.lines)-to))
	}
	return strings.Join(out, "\n")
}

// print adds the lines of a value. Its first line begins with before; mark is the rest of the
// path to the marked place, nil when that is elsewhere.
func (p *printer) print(n *node, indent, before string, mark path) {
	switch n.kind {
	case '[':
		p.many(indent, before, "[", "]", len(n.vals), func(i int) (string, *node, path) {
			return "", n.vals[i], p.along(mark, i)
		})
	case '{':
		p.many(indent, before, "{", "}", len(n.vals), func(i int) (string, *node, path) {
			return string(schema.AppendString(nil, n.keys[i])) + ": ", n.vals[i], p.along(mark, n.keys[i])
		})
	case '$':
		p.many(indent, before, "{", "}", len(n.ops), func(i int) (string, *node, path) {
			return `"` + n.ops[i].matcher.name + `": `, n.ops[i].arg, nil
		})
	default:
		p.lines = append(p.lines, indent+before+n.scalarJSON())
	}
}

// along returns what is left of the way when it leads through this part, and marks the part,
// whose first line comes next.
func (p *printer) along(mark path, step any) path {
	if len(mark) == 0 || mark[0] != step {
		return nil
	}
	p.marked = len(p.lines)
	return slices.Clip(mark[1:])
}

func (p *printer) many(
	indent, before, opens, closes string, n int, part func(int) (string, *node, path),
) {
	if n == 0 {
		p.lines = append(p.lines, indent+before+opens+closes)
		return
	}
	p.lines = append(p.lines, indent+before+opens)
	for i := range n {
		name, child, mark := part(i)
		p.print(child, indent+"  ", name, mark)
		if i < n-1 {
			p.lines[len(p.lines)-1] += ","
		}
	}
	p.lines = append(p.lines, indent+closes)
}
