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

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Change accepts an actual value as the expected one.
type Change struct {
	// Expected is the value of the file, such as [Step.Expect], with its references expanded.
	Expected Value
	Actual   json.RawMessage
	// Secrets, when set, are not written.
	Secrets *schema.Concealer
}

// Update returns the text of a scenario file in which what is expected matches what is. Only what
// did not match is written anew: matchers and members that hold stay, and all other bytes of the
// file do. The error names the place of a value that cannot be changed in place, such as one that
// an alias stands for; nothing is changed then.
func Update(text []byte, changes []Change) ([]byte, error) {
	before, err := tree(text)
	if err != nil {
		return nil, fmt.Errorf("reading the file to update: %w", err)
	}
	var edits []edit
	for _, c := range changes {
		actual, err := schema.Read(c.Actual, 0)
		if err != nil {
			return nil, fmt.Errorf("line %d: the actual value: %w", c.Expected.Position().Line, err)
		}
		if c.Expected.n == nil {
			return nil, errors.New("a change has no expected value: only a value that is in the file " +
				"can be changed")
		}
		for _, e := range accept(c.Expected.n, actual) {
			if c.Secrets != nil && c.Secrets.Shows(string(e.value.Text())) {
				return nil, fmt.Errorf("line %d: the actual value repeats an argument that the schema marks as "+
					"secret: expect a matcher such as $any; change it by hand", e.at.Line)
			}
			edits = append(edits, e)
		}
	}
	slices.SortFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(b.at.Line, a.at.Line), cmp.Compare(b.at.Column, a.at.Column))
	})
	edits = slices.CompactFunc(edits, func(a, b edit) bool { return a.at == b.at })
	out := text
	for _, e := range edits { // from the end, so that the places before stay where they are
		if out, err = e.apply(out, before); err != nil {
			return nil, fmt.Errorf("line %d: %w; change it by hand", e.at.Line, err)
		}
	}
	if !verify(before, out, edits) {
		var lines []string
		for _, e := range slices.Backward(edits) {
			lines = append(lines, strconv.Itoa(e.at.Line))
		}
		return nil, fmt.Errorf("line %s: %w; change it by hand",
			strings.Join(slices.Compact(lines), ", "), errPlace)
	}
	return out, nil
}

func tree(text []byte) (*yaml.Node, error) {
	p := &problems{file: "file"}
	root := parseYAML(text, p)
	return root, p.err()
}

type edit struct {
	at    Position
	value schema.Value
}

// accept returns the smallest edits after which an expected value matches.
func accept(want *node, got schema.Value) []edit {
	d := match(want, got, nil, false)
	if d == nil {
		return nil
	}
	whole := []edit{{want.at, got}}
	var all []edit
	switch {
	case want.kind == '$' && len(want.ops) == 1 && want.ops[0].matcher.name == "$exact":
		return []edit{{want.ops[0].arg.at, got}} // it stays exact
	case want.kind == '{' && got.IsObject():
		for i, key := range want.keys {
			member := got.Get(key)
			if !member.Exists() {
				return whole
			}
			all = append(all, accept(want.vals[i], member)...)
		}
		return all
	case want.kind == '[' && got.IsArray() && got.Len() == len(want.vals):
		for i, x := range got.Items() {
			all = append(all, accept(want.vals[i], x)...)
		}
		return all
	}
	return whole
}

// find returns the node that begins at a place, the mapping that it is a value of, and whether it
// is inside of a flow collection.
func find(
	n *yaml.Node, where Position, column int, flow bool,
) (found *yaml.Node, parent int, inFlow bool) {
	flow = flow || n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle != 0
	for i, child := range n.Content {
		key := n.Kind == yaml.MappingNode && i%2 == 0
		of := n.Column
		if !key && at(child) == where && child.Kind != yaml.AliasNode {
			return child, of, flow
		}
		if found, parent, inFlow = find(child, where, of, flow); found != nil {
			return found, parent, inFlow
		}
	}
	return nil, column, false
}

var errPlace = errors.New("this value is not written in a way that can be changed in place")

// apply replaces the bytes of one value. The nodes belong to the text before all edits, which is
// the same up to this place.
func (e edit) apply(text []byte, root *yaml.Node) ([]byte, error) {
	n, parent, inFlow := find(root, e.at, 1, false)
	if n == nil || n.Anchor != "" {
		return nil, errPlace
	}
	from, ok := offsetOf(text, e.at)
	if !ok {
		return nil, errPlace
	}
	to := endOf(text, from, n, parent, inFlow)
	if to < 0 {
		return nil, errPlace
	}
	if isBlock(n) {
		// A block begins on a line of its own, below its key: it becomes a value on the key's line.
		head := bytes.TrimRight(text[:from], " \n\r")
		if len(head) > 0 && head[len(head)-1] == ':' {
			return slices.Concat(head, []byte(" "), writeYAML(e.value), text[to:]), nil
		}
	}
	return slices.Concat(text[:from], writeYAML(e.value), text[to:]), nil
}

func isBlock(n *yaml.Node) bool {
	return n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0
}

// offsetOf returns where a place is in the text. Columns count characters.
func offsetOf(text []byte, where Position) (int, bool) {
	offset := 0
	for range where.Line - 1 {
		i := bytes.IndexByte(text[offset:], '\n')
		if i < 0 {
			return 0, false
		}
		offset += i + 1
	}
	column := 1
	for i := range string(text[offset:]) {
		if column == where.Column {
			return offset + i, true
		}
		column++
	}
	return 0, false
}

// endOf returns where a value ends that begins at an offset, or -1. parent is the column of the
// mapping or list that it is in.
func endOf(text []byte, from int, n *yaml.Node, parent int, inFlow bool) int {
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0, isBlock(n):
		return endOfBlock(text, from, parent)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return endOfQuoted(text, from)
	case n.Kind == yaml.ScalarNode:
		if end := endOfBlock(text, from, parent); !inFlow && bytes.IndexByte(text[from:end], '\n') >= 0 {
			return end // text without quotes that goes on in the next lines
		}
		return endOfPlain(text, from, inFlow)
	default:
		return endOfFlow(text, from)
	}
}

// endOfBlock goes on while lines are indented deeper than the parent, and leaves the blank lines
// and comments after them.
func endOfBlock(text []byte, from, parent int) int {
	end := from + lineLength(text[from:])
	last := from + len(bytes.TrimSuffix(text[from:end], []byte("\r")))
	for pos := end + 1; pos < len(text); {
		length := lineLength(text[pos:])
		line := text[pos : pos+length]
		body := bytes.TrimLeft(line, " ")
		switch trimmed := bytes.TrimSpace(body); {
		case len(trimmed) == 0 || trimmed[0] == '#':
		case len(line)-len(body) >= parent || trimmed[0] == '-' && len(line)-len(body) == parent-1 &&
			text[from] == '-':
			last = pos + len(bytes.TrimSuffix(line, []byte("\r")))
		default:
			return last
		}
		pos += length + 1
	}
	return last
}

func lineLength(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

func endOfQuoted(text []byte, from int) int {
	quote := text[from]
	for i := from + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// endOfPlain is the end of a scalar without quotes, on one line.
func endOfPlain(text []byte, from int, inFlow bool) int {
	line := string(text[from : from+lineLength(text[from:])])
	end := len(line)
	if i := strings.Index(line, " #"); i >= 0 {
		end = i
	}
	if inFlow {
		if i := strings.IndexAny(line[:end], ",[]{}"); i >= 0 {
			end = i
		}
	}
	return from + len(strings.TrimRight(line[:end], " \t\r"))
}

func endOfFlow(text []byte, from int) int {
	depth := 0
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case (c == '"' || c == '\'') && strings.IndexByte(" \t\n,[{:", text[i-1]) >= 0:
			if i = endOfQuoted(text, i) - 1; i < 0 {
				return -1
			}
		case c == '#' && (text[i-1] == ' ' || text[i-1] == '\n'):
			i += lineLength(text[i:])
		}
	}
	return -1
}

// writeYAML writes a value on one line as what is expected literally: in flow style, with escapes
// for what would be a matcher or a reference.
func writeYAML(v schema.Value) []byte {
	n := nodeOf(v)
	quote(n)
	text, err := encodeYAML(n)
	if err != nil {
		return nil // verify finds it
	}
	return bytes.TrimSuffix(text, []byte("\n"))
}

// plainText is text that needs no quotes, unless YAML or a reader could take it for something
// else than text.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*( [A-Za-z][A-Za-z0-9_-]*)*$`)

var otherTypes = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// quote puts what is not plain text in double quotes, which fit on one line.
func quote(n *yaml.Node) {
	if n.Tag == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
		if plainText.MatchString(n.Value) && !slices.Contains(otherTypes, strings.ToLower(n.Value)) {
			n.Style = 0
		}
	}
	for _, child := range n.Content {
		quote(child)
	}
}

// verify reads the new text and compares: it must be the old one besides the edits, whatever the
// search for the ends of values took for one. It writes the edits into the nodes of the old text.
func verify(before *yaml.Node, text []byte, edits []edit) bool {
	after, err := tree(text)
	if err != nil {
		return false
	}
	for _, e := range edits {
		want, err := tree(writeYAML(e.value))
		switch {
		case e.value.IsNull(): // alone, it would be an empty file
			want = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
		case err != nil:
			return false
		}
		nowhere(want)
		n, _, _ := find(before, e.at, 1, false)
		n.Kind, n.Tag, n.Value, n.Content = want.Kind, want.Tag, want.Value, want.Content
	}
	return same(before, after)
}

// nowhere takes the places away, which belong to another text.
func nowhere(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	for _, child := range n.Content {
		nowhere(child)
	}
}

func same(a, b *yaml.Node) bool {
	if a.Kind == yaml.AliasNode {
		return b.Kind == yaml.AliasNode && a.Value == b.Value && same(a.Alias, b.Alias)
	}
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value &&
		slices.EqualFunc(a.Content, b.Content, same)
}
