package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
)

// defaultFile is read when it exists and no other is named.
const defaultFile = "pagetools.yaml"

// readFile fills the configuration from its file, and returns the lines of its keys.
// Without a name the default one is read when it exists; without a file c.File is
// empty afterwards.
func (c *Config) readFile() (map[string]int, error) {
	if c.Unnamed = c.File == ""; c.Unnamed {
		c.File = defaultFile
	}
	data, err := os.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) && c.Unnamed {
		c.File, c.Unnamed = "", false
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w; name a file of YAML with --config", c.File, Problem(err))
	}
	root, err := parse(data)
	if err != nil || root == nil {
		if err != nil {
			err = fmt.Errorf("%s: %w", c.File, err)
		}
		return nil, err
	}
	d := &decoder{path: c.File, root: c, lines: map[string]int{}}
	if err := d.fields(root, "the configuration", c); err != nil {
		return nil, err
	}
	if err := c.checkProfiles(); err != nil {
		return nil, err
	}
	if err := c.readRest(root); err != nil {
		return nil, d.errorf(root, "%v", err)
	}
	secret := c.Token != "" || c.browsersHaveKeys() || len(c.WSHeaders) > 0 || len(c.Callers) > 0 || len(c.OAuth.Issuers) > 0 ||
		len(c.OAuth.BuiltIn.People) > 0
	if info, err := os.Stat(c.File); err == nil && secret {
		c.OpenToOthers = files.Shared(c.File, info)
	}
	return d.lines, nil
}

// Problem says in words why a file cannot be read or written. Follow it with what to do.
func Problem(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("is not there")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("is closed to this user")
	case errors.Is(err, syscall.EISDIR):
		return errors.New("is a folder")
	}
	return fmt.Errorf("cannot be used (%w)", err)
}

// parse returns the one document of a file; nil when it is empty.
func parse(data []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("this must be YAML, such as listen: 127.0.0.1:7300, and is not: %s",
			strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("a configuration must be one document of YAML: remove the line --- and what follows")
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return nil, nil //nolint:nilnil // an empty file says nothing
	}
	return doc.Content[0], nil
}

// readRest reads of the whole file what rest and NoCallers say.
func (c *Config) readRest(n *yaml.Node) error {
	var all map[string]any
	if err := n.Decode(&all); err != nil {
		return err
	}
	_, named := all["callers"]
	c.NoCallers = named && len(c.Callers) == 0
	c.rest = map[string]string{}
	for key, v := range all {
		if slices.Contains([]string{"callers", "oauth", "sites"}, key) {
			continue
		}
		text, err := yaml.Marshal(v) // sorted by key
		if err != nil {
			return err
		}
		c.rest[key] = string(text)
	}
	return nil
}

// decoder fills structs from the nodes of one file, strictly. yaml's own strictness
// names Go's types, and no key.
type decoder struct {
	path  string
	root  *Config
	lines map[string]int // of the settings that are flags, too
}

// The types that are not read by their fields, and those that must hold together.
type (
	custom interface {
		decode(d *decoder, key string, n *yaml.Node) error
		schema() object
	}
	checked interface{ check() error }
)

// errorf names file, line and key.
func (d *decoder) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", d.path, n.Line, fmt.Sprintf(format, args...))
}

// pairs walks a mapping, in which no key may be there twice.
func (d *decoder) pairs(n *yaml.Node, what string, each func(k, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return d.errorf(n, "%s must be a mapping: lines of key: value", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if seen[k.Value] {
			return d.errorf(k, "%s: the key %q is there twice: remove one of them", what, k.Value)
		}
		seen[k.Value] = true
		if err := each(k, v); err != nil {
			return err
		}
	}
	return nil
}

// fields fills the struct that into points to.
func (d *decoder) fields(n *yaml.Node, what string, into any) error {
	v := reflect.ValueOf(into).Elem()
	fields := fieldsOf(v)
	err := d.pairs(n, what, func(k, node *yaml.Node) error {
		var known []string
		for _, f := range slices.Concat(fields, fieldsAlso(d.root, what)) {
			if f.tag.Get("only") == "command" {
				continue
			}
			if known = append(known, f.key); f.key != k.Value {
				continue
			}
			if f.tag.Get("group") == "" { // it is in a section, and no flag
				return d.take(node, f)
			}
			if line, twice := d.lines[f.key]; twice {
				return d.errorf(node, "%s is there twice, and line %d has it, too: remove one of them", f.key, line)
			}
			d.lines[f.key] = node.Line
			return d.take(node, f)
		}
		advice := cmp.Or(text.DidYouMean(k.Value, known), "`pagetools config schema` has those that there are")
		return d.errorf(k, "%s: unknown key %q; %s", what, k.Value, advice)
	})
	if err != nil {
		return err
	}
	for _, f := range fields {
		if list := f.tag.Get("default"); f.value.Kind() == reflect.Slice && f.value.IsNil() &&
			list != "" {
			_ = setAll(f, strings.Fields(list)) // it is ours
		}
		if f.tag.Get("required") != "" && f.value.IsZero() {
			return d.errorf(n, "%s: %s is missing, and is needed", what, f.key)
		}
	}
	if line := v.FieldByName("Line"); line.IsValid() {
		line.SetInt(int64(n.Line))
	}
	if c, ok := into.(checked); ok && v.Type() != reflect.TypeFor[Config]() {
		if err := c.check(); err != nil {
			return d.errorf(n, "%v", err)
		}
	}
	return nil
}

// take fills a field of a struct with what its file may say of it.
func (d *decoder) take(n *yaml.Node, f field) error {
	if d.root.Unnamed && f.tag.Get("unnamed") == "" {
		return d.unnamed(n, f) // whatever the value is
	}
	if err := d.decode(n, f); err != nil || !d.root.Unnamed {
		return err
	}
	return d.unnamed(n, f)
}

// value fills what into points to.
func (d *decoder) value(n *yaml.Node, key string, into any) error {
	return d.decode(n, field{key: key, value: reflect.ValueOf(into).Elem()})
}

func (d *decoder) decode(n *yaml.Node, f field) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	into := f.value.Addr().Interface()
	if c, ok := into.(custom); ok {
		return c.decode(d, f.key, n)
	}
	_, scalar := scalars[f.value.Type()]
	switch kind := f.value.Kind(); {
	case scalar || kind == reflect.Pointer:
		return d.scalar(n, f)
	case kind == reflect.Struct:
		return d.fields(n, f.key, into)
	case n.Kind == yaml.ScalarNode && f.tag.Get("many") != "":
		return d.scalar(n, f)
	case n.Tag == "!!null":
		return nil
	case n.Kind != yaml.SequenceNode:
		return d.errorf(n, "%s must be a list: lines that begin with -", f.key)
	}
	f.value.Set(reflect.MakeSlice(f.value.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if err := d.decode(item, field{f.key, f.tag, f.value.Index(i)}); err != nil {
			return err
		}
		if err := d.unique(item, f, i); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) scalar(n *yaml.Node, f field) error {
	text, enum := n.Value, f.tag.Get("enum")
	nothing := n.Tag == "!!null"
	if nothing {
		text = ""
	}
	switch isText := f.value.Kind() == reflect.String; {
	case n.Kind != yaml.ScalarNode || nothing && !isText:
		return d.errorf(n, "%s: one value is needed, and not a list or a mapping", f.key)
	case enum != "" && isText && !oneOf(enum, text):
		return d.errorf(n, "%s: %q must be one of %s", f.key, text, listed(enum))
	}
	if err := setAll(f, []string{text}); err != nil {
		return d.errorf(n, "%s: %v", f.key, err)
	}
	return nil
}

// unique refuses an item of a list that shares with one before it what it must not.
func (d *decoder) unique(n *yaml.Node, list field, at int) error {
	item := list.value.Index(at)
	if item.Kind() != reflect.Struct {
		return nil
	}
	for i, f := range fieldsOf(item) {
		if f.tag.Get("unique") == "" || f.value.IsZero() {
			continue
		}
		for before := range at {
			if fieldsOf(list.value.Index(before))[i].value.String() != f.value.String() {
				continue
			}
			if f.tag.Get("secret") != "" {
				return d.errorf(n, "%s: the %s is another one's, too: each must have its own", list.key, f.key)
			}
			return d.errorf(n, "%s: the %s %q is there twice: each must have its own", list.key, f.key, f.value.String())
		}
	}
	return nil
}
