package opentools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Limits of a document in YAML, whose aliases can make much of little.
const (
	maxNodes = 1_000_000
	maxMarks = 700_000 // in its text; 10 MB that people write
	maxDepth = 200
)

// fromYAML returns a document in YAML as JSON.
func fromYAML(text []byte) ([]byte, error) {
	if marks(text) > maxMarks {
		return nil, errors.New("it is too large for YAML: publish it as JSON")
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("it is neither JSON nor YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is neither JSON nor YAML")
	}
	c := &yamlReader{}
	return c.write(nil, root.Content[0], 0)
}

// marks counts what nodes are behind, all but the first: each takes 200 bytes in the parser.
func marks(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case '\n', ',', '[', '{', ':':
			n++
		case '-', '?':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

type yamlReader struct{ nodes int }

// write adds a node as JSON. Its members keep their order.
func (c *yamlReader) write(dst []byte, n *yaml.Node, depth int) (_ []byte, err error) {
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth || len(dst) > maxDocument {
		return nil, errors.New("it is too large, or too deep")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.write(dst, n.Alias, depth+1)
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = c.write(dst, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, schema.MustEncode(n.Content[i].Value)...), ':')
			if dst, err = c.write(dst, n.Content[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.ScalarNode, yaml.DocumentNode:
	}
	return append(dst, scalar(n)...), nil
}

// scalar is a value of YAML as JSON. What JSON has no number for, such as .inf, and dates are
// texts.
func scalar(n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return []byte("null")
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return strconv.AppendBool(nil, b)
		}
	case "!!int", "!!float":
		if schema.Valid([]byte(n.Value)) {
			return []byte(n.Value)
		}
		var f float64
		if n.Decode(&f) == nil {
			if text, err := schema.Encode(f); err == nil {
				return text
			}
		}
	}
	return schema.MustEncode(n.Value)
}
