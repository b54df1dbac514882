package opentools

import (
	"errors"
	"fmt"
	"slices"
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
		return nil, errTooLarge
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
		pairs, err := c.pairs(n, depth)
		if err != nil {
			return nil, err
		}
		dst = append(dst, '{')
		for i := 0; i+1 < len(pairs); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, schema.MustEncode(pairs[i].Value)...), ':')
			if dst, err = c.write(dst, pairs[i+1], depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.ScalarNode, yaml.DocumentNode:
	}
	return append(dst, scalar(n)...), nil
}

// pairs returns the keys and values of a mapping, each key before its value: those that "<<" merges
// into it (https://yaml.org/type/merge.html), too, where it has none of its own.
func (c *yamlReader) pairs(n *yaml.Node, depth int) ([]*yaml.Node, error) {
	merge := func(i int) bool { return n.Content[i].ShortTag() == "!!merge" }
	var own, from []*yaml.Node
	has := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if merge(i) {
			from = append(from, n.Content[i+1])
			continue
		}
		own, has[n.Content[i].Value] = append(own, n.Content[i], n.Content[i+1]), true
	}
	for len(from) > 0 {
		one := from[0]
		from = from[1:]
		switch one.Kind {
		case yaml.AliasNode:
			from = append([]*yaml.Node{one.Alias}, from...)
		case yaml.SequenceNode:
			from = append(slices.Clone(one.Content), from...)
		case yaml.MappingNode:
			if depth > maxDepth {
				return nil, errTooLarge
			}
			more, err := c.pairs(one, depth+1)
			if err != nil {
				return nil, err
			}
			for i := 0; i+1 < len(more); i += 2 {
				if !has[more[i].Value] {
					own, has[more[i].Value] = append(own, more[i], more[i+1]), true
				}
			}
			c.nodes += len(more)
		case yaml.ScalarNode, yaml.DocumentNode:
		}
		if c.nodes++; c.nodes > maxNodes {
			return nil, errTooLarge
		}
	}
	return own, nil
}

var errTooLarge = errors.New("it is too large, or too deep")

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
