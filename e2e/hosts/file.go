package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/text"
)

const mostBytes = 64 << 10

// words lists what some lists and texts may hold, by their key.
var words = map[string][]string{
	"objects": {"document", "navigator"},
	"methods": {
		"registerTool", "unregisterTool", "provideContext", "clearContext", "getTools",
		"executeTool",
	},
	"dialogs":     {"confirm", "prompt", "interact"},
	"elicitation": {"form", "url", "none"},
	"over":        overs,
	"of":          members,
}

// parse returns the mapping of a file after all of its keys and values were checked: decoding it
// cannot fail for a reason that names types of Go.
func parse(file File) (*yaml.Node, error) {
	if len(file.Text) > mostBytes {
		return nil, fmt.Errorf("%s: the file has %d bytes: must be at most %d",
			file.Name, len(file.Text), mostBytes)
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(file.Text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty: must describe a host", file.Name)
	} else if err != nil {
		return nil, fmt.Errorf("%s: must be YAML: %s", file.Name,
			strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: must be one document: remove the line --- and what follows",
			file.Name)
	}
	p := &checker{file: file.Name}
	root := doc.Content[0]
	if err := p.value(root, "the host", reflect.TypeFor[Host]()); err != nil {
		return nil, err
	}
	return root, nil
}

// checker holds nodes against the types that they are decoded into.
type checker struct{ file string }

func (p *checker) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", p.file, n.Line, n.Column, fmt.Sprintf(format, args...))
}

func (p *checker) value(n *yaml.Node, key string, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			return nil // it removes the member
		}
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return p.errorf(n, "%s must not be an anchor or an alias: write the value out", key)
	case t.Kind() == reflect.Struct:
		return p.mapping(n, key, t)
	case t.Kind() == reflect.Slice:
		return p.list(n, key, t.Elem())
	case n.Kind != yaml.ScalarNode:
		return p.errorf(n, "%s must be one value", key)
	case t == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(n.Value); err != nil {
			return p.errorf(n, "invalid value %q for %s: must be a time, such as 60s", n.Value, key)
		}
	case t.Kind() == reflect.Int:
		if _, err := strconv.Atoi(n.Value); err != nil || n.Tag != "!!int" {
			return p.errorf(n, "invalid value %q for %s: must be a whole number", n.Value, key)
		}
	case t.Kind() == reflect.Bool:
		if n.Tag != "!!bool" {
			return p.errorf(n, "invalid value %q for %s: must be true or false", n.Value, key)
		}
	case n.Tag == "!!null" || n.Value == "":
		return p.errorf(n, "%s must not be empty", key)
	default:
		return p.word(n, key)
	}
	return nil
}

// word checks a text where only some are known.
func (p *checker) word(n *yaml.Node, key string) error {
	known := words[key]
	if known == nil || slices.Contains(known, n.Value) {
		return nil
	}
	return p.errorf(n, "invalid value %q for %s%s", n.Value, key, suggest(n.Value, known))
}

func suggest(word string, known []string) string {
	all := "must be one of " + strings.Join(known, ", ")
	if near := text.Nearest(word, known); near != "" {
		return "; did you mean " + near + "? It " + all
	}
	return ": " + all
}

func (p *checker) list(n *yaml.Node, key string, t reflect.Type) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "%s must be a list, such as [a, b]", key)
	}
	for _, item := range n.Content {
		if err := p.value(item, key, t); err != nil {
			return err
		}
	}
	return nil
}

func (p *checker) mapping(n *yaml.Node, key string, t reflect.Type) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s must be a mapping: lines of key: value", key)
	}
	fields := map[string]reflect.Type{}
	var known []string
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("yaml"); tag != "" {
			fields[tag] = t.Field(i).Type
			known = append(known, tag)
		}
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		field, ok := fields[k.Value]
		switch {
		case !ok:
			return p.errorf(k, "unknown key %q in %s%s", k.Value, key, suggest(k.Value, known))
		case seen[k.Value]:
			return p.errorf(k, "the key %q is there twice: remove one of them", k.Value)
		}
		seen[k.Value] = true
		if err := p.value(n.Content[i+1], k.Value, field); err != nil {
			return err
		}
	}
	return nil
}
