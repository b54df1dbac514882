package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
)

const (
	mostBytes = 1 << 20
	mostNodes = 100_000 // aliases counted as what they stand for
	mostDepth = 100
)

func tooLong(text []byte, p *problems) bool {
	if len(text) <= mostBytes {
		return false
	}
	p.add(Position{1, 1}, "the file has %d bytes: split it; a file has at most %d", len(text), mostBytes)
	return true
}

// parseYAML returns the one document of a file; nil when it has problems, which p gets.
func parseYAML(text []byte, p *problems) *yaml.Node {
	if tooLong(text, p) {
		return nil
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		addSyntax(err, p)
		return nil
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		p.add(Position{1, 1}, "the file is empty: write site and cases")
		return nil
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		addSyntax(err, p)
		return nil
	default:
		p.add(at(&more), "a file is one document: remove the line --- and what follows")
		return nil
	}
	root := doc.Content[0]
	if left := count(root, mostNodes, mostDepth); left < 0 {
		p.add(at(root), "the file has more than %d values, or is nested more than %d deep, with its "+
			"aliases written out: make it smaller", mostNodes, mostDepth)
		return nil
	}
	return root
}

// count takes the nodes below n off left, and returns a negative number when they are too many
// or too deep: an alias is read each time it is used.
func count(n *yaml.Node, left, depth int) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if left--; left < 0 || depth == 0 {
		return -1
	}
	for _, child := range n.Content {
		if left = count(child, left, depth-1); left < 0 {
			return -1
		}
	}
	return left
}

var lineOfError = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+)(?:, column (\d+))?: )?(.*)`)

func addSyntax(err error, p *problems) {
	m := lineOfError.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	p.add(Position{max(line, 1), max(column, 1)}, "this is not YAML: %s; look at the quotes and the "+
		"indentation of this line and the one before", m[3])
}

func at(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// parseJSON reads JSON strictly into the same nodes, so that both formats have one decoder.
func parseJSON(text []byte, p *problems) *yaml.Node {
	if tooLong(text, p) {
		return nil
	}
	r := &jsonTree{text: text, line: 1, column: 1, left: mostNodes}
	if err := schema.CheckJSON(text, mostDepth); err != nil {
		var syn *schema.SyntaxError
		if errors.As(err, &syn) {
			p.add(r.position(int(syn.Offset)), "this is not JSON: %s", syn.Message)
		}
		return nil
	}
	r.dec = json.NewDecoder(bytes.NewReader(text))
	r.dec.UseNumber()
	n, err := r.read()
	if err != nil { // it was checked above, so there are too many
		p.add(Position{1, 1}, "the file has more than %d values: split it", mostNodes)
		return nil
	}
	return n
}

type jsonTree struct {
	dec                *json.Decoder
	text               []byte
	done, line, column int
	left               int
}

// position is the place of an offset, which is never less than the one before.
func (r *jsonTree) position(offset int) Position {
	offset = min(offset, len(r.text))
	for ; r.done < offset; r.done++ {
		switch c := r.text[r.done]; {
		case c == '\n':
			r.line, r.column = r.line+1, 1
		case c < 0x80 || c >= 0xC0: // the first byte of a character
			r.column++
		}
	}
	return Position{r.line, r.column}
}

var errMany = errors.New("too many values")

func (r *jsonTree) read() (*yaml.Node, error) {
	if r.left--; r.left < 0 {
		return nil, errMany
	}
	from := int(r.dec.InputOffset())
	for from < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[from]) >= 0 {
		from++
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	where := r.position(from)
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: where.Line, Column: where.Column}
	switch tok := tok.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(tok)
	case json.Number:
		n.Tag, n.Value = "!!int", tok.String()
	case string:
		n.Tag, n.Value, n.Style = "!!str", tok, yaml.DoubleQuotedStyle
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if tok == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.dec.More() {
			child, err := r.read()
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.dec.Token()
	}
	return n, err
}
