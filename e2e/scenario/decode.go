package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/text"
)

// decoder fills the types of the format from nodes, strictly, and goes on after what is wrong.
type decoder struct {
	*problems
	foreign bool // the file is an evals.json, whose values have other rules
}

// The types that are not read by their fields, and those whose fields must hold together.
type (
	custom interface {
		decode(d *decoder, key string, n *yaml.Node)
		schema() object
	}
	checked interface{ check(d *decoder) }
	object  = map[string]any
)

type field struct {
	key   string
	tag   reflect.StructTag
	value reflect.Value
}

func fieldsOf(v reflect.Value) (all []field) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if key := f.Tag.Get("key"); key != "" && key != "-" {
			all = append(all, field{key, f.Tag, v.Field(i)})
		}
	}
	return all
}

func (d *decoder) structure(n *yaml.Node, what string, into reflect.Value) {
	v := into.Elem()
	if p := v.FieldByName("Position"); p.IsValid() {
		p.Set(reflect.ValueOf(at(n)))
	}
	if n.Kind != yaml.MappingNode {
		d.add(at(n), "invalid %s: it must be a mapping, with lines of key: value", what)
		return
	}
	fields := fieldsOf(v)
	var names []string
	for _, f := range fields {
		names = append(names, f.key)
	}
	found := map[string]bool{}
	before := len(d.list)
	d.pairs(n, func(k, node *yaml.Node) {
		for _, f := range fields {
			if f.key == k.Value {
				found[f.key] = true
				d.decode(node, f)
				return
			}
		}
		d.add(at(k), "unknown key %s in %s: %s", Quoted(k.Value), what, instead(k.Value, names))
	})
	for _, f := range fields {
		if f.tag.Get("required") != "" && !found[f.key] {
			d.add(at(n), "%s is missing in %s: add it (%s)", f.key, what, f.tag.Get("help"))
		}
	}
	if c, ok := into.Interface().(checked); ok && len(d.list) == before {
		c.check(d)
	}
}

func (d *decoder) decode(n *yaml.Node, f field) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c, ok := f.value.Addr().Interface().(custom); ok {
		c.decode(d, f.key, n)
		return
	}
	switch into := f.value.Addr().Interface().(type) {
	case *Value:
		into.n = d.builder(f.tag.Get("value")).build(n)
		return
	case *time.Duration:
		*into = d.duration(n, f.key)
		return
	case *json.RawMessage:
		*into, _ = d.builder("verbatim").build(n).json() // it has no matchers and no references
		return
	}
	switch f.value.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(f.value.Type().Elem())
		d.decode(n, field{f.key, f.tag, fresh.Elem()})
		f.value.Set(fresh)
	case reflect.Struct:
		d.structure(n, f.key, f.value.Addr())
	case reflect.Slice:
		d.slice(n, f)
	case reflect.String:
		d.text(n, f)
	case reflect.Bool:
		if n.Tag != "!!bool" {
			d.add(at(n), "invalid value %s for %s: it must be true or false", Quoted(n.Value), f.key)
		}
		f.value.SetBool(n.Value == "true")
	case reflect.Int:
		d.integer(n, f)
	default:
		panic("scenario: the format has a field of a kind that is not read: " + f.key)
	}
}

func (d *decoder) builder(value string) builder {
	b := builder{problems: d.problems}
	switch {
	case d.foreign && value == "expected":
		b.role = foreign
	case d.foreign || value == "verbatim":
		b.role = verbatim
	case value == "expected":
		b.role = expected
	}
	return b
}

func (d *decoder) slice(n *yaml.Node, f field) {
	items := n.Content
	switch {
	case n.Kind == yaml.SequenceNode:
	case f.tag.Get("one") != "" && n.Tag != "!!null":
		items = []*yaml.Node{n}
	default:
		d.add(at(n), "invalid value for %s: it must be a list, with lines that begin with -", f.key)
		return
	}
	if len(items) == 0 && f.tag.Get("required") != "" {
		d.add(at(n), "%s is empty: write at least one %s", f.key, singular(f.key))
	}
	f.value.Set(reflect.MakeSlice(f.value.Type(), len(items), len(items)))
	for i, item := range items {
		d.decode(item, field{singular(f.key), f.tag, f.value.Index(i)})
	}
}

// singular names an item of a list in messages.
func singular(key string) string {
	switch key {
	case "cases", "steps", "tags", "messages":
		return strings.TrimSuffix(key, "s")
	}
	return key
}

// text fills a string: of texts, words of an enum, and names.
func (d *decoder) text(n *yaml.Node, f field) {
	switch {
	case f.tag.Get("value") == "verbatim":
		f.value.SetString(d.builder("verbatim").build(n).text)
		return
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str" && (n.Tag == "!!null" ||
		f.tag.Get("enum") == ""):
		what := "a list or a mapping"
		switch {
		case n.Tag == "!!null":
			what = "empty"
		case n.Kind == yaml.ScalarNode:
			what = Quoted(n.Value) + ", which is not text in YAML"
		}
		d.add(at(n), "invalid value for %s: it must be text, and is %s; put text in quotes", f.key, what)
		return
	case n.Value == "":
		d.add(at(n), "invalid value \"\" for %s: it must not be empty", f.key)
		return
	}
	f.value.SetString(n.Value)
	if enum := f.tag.Get("enum"); enum != "" {
		if words := strings.Split(enum, ","); !slices.Contains(words, n.Value) {
			d.add(at(n), "invalid value %s for %s: %s", Quoted(n.Value), f.key, instead(n.Value, words))
		}
		return
	}
	if wrong := wrongText(n.Value, f.tag.Get("check")); wrong != "" {
		d.add(at(n), "invalid value %s for %s: %s", Quoted(n.Value), f.key, wrong)
	}
	if f.tag.Get("refs") != "" {
		d.environment(n, f.key)
	}
}

const mostName = 200

// wrongText says what is wrong with a text of a kind, or "".
func wrongText(words, kind string) string {
	switch kind {
	case "name", "step", "reason", "tool":
		switch {
		case len(words) > mostName && kind != "reason":
			return fmt.Sprintf("it must have at most %d bytes", mostName)
		case strings.TrimSpace(words) == "":
			return "it must have letters"
		case strings.ContainsFunc(words, text.Invisible):
			return "it must be one line without invisible characters"
		case kind == "step" && !plainName.MatchString(words):
			return "it must have only letters, digits, - and _, and begin with a letter or _"
		}
	}
	return ""
}

// environment checks the references of a text that is not in a case: only the environment is
// known. Those of steps are checked with the steps.
func (d *decoder) environment(n *yaml.Node, key string) {
	pieces, wrong := splitReferences(n.Value)
	if wrong != "" {
		d.add(at(n), "%s", wrong)
	}
	d.reads(pieces, at(n))
	for _, p := range pieces {
		if p.ref != nil && p.ref.kind != "env" && key != "open" {
			d.add(at(n), "invalid reference %s in %s: only ${env.NAME} is known there",
				Quoted(p.ref.String()), key)
		}
	}
}

func (d *decoder) integer(n *yaml.Node, f field) {
	least, _ := strconv.Atoi(f.tag.Get("min"))
	most, _ := strconv.Atoi(f.tag.Get("max"))
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || i < least || i > most {
		d.add(at(n), "invalid value %s for %s: it must be a whole number from %d to %d", Quoted(n.Value),
			f.key, least, most)
		return
	}
	f.value.SetInt(int64(i))
}

// DefaultWait sets how long a step waits, with wait-for or eventually, that names no time.
const DefaultWait = 5 * time.Second

// mostDuration bounds what a file may wait for.
const mostDuration = time.Hour

func (d *decoder) duration(n *yaml.Node, key string) time.Duration {
	t, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || t <= 0 || t > mostDuration {
		d.add(at(n), "invalid value %s for %s: it must be a duration above 0 and up to 1h, such as "+
			"500ms or 2s",
			Quoted(n.Value), key)
	}
	return t
}

func (e *Eventually) decode(d *decoder, key string, n *yaml.Node) {
	if n.Tag == "!!bool" && n.Value == "true" {
		*e = Eventually(DefaultWait)
		return
	}
	*e = Eventually(d.duration(n, key))
}

func (*Eventually) schema() object {
	return object{"anyOf": []any{object{"const": true}, durationSchema()}}
}

func (o *On) decode(d *decoder, key string, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		type plain On // has no decode of its own
		d.structure(n, key, reflect.ValueOf((*plain)(o)))
		return
	}
	o.Position = at(n)
	kind, _ := reflect.TypeFor[On]().FieldByName("Kind")
	d.text(n, field{key, kind.Tag, reflect.ValueOf(&o.Kind).Elem()})
}

func (*On) schema() object {
	kind, _ := reflect.TypeFor[On]().FieldByName("Kind")
	words := strings.Split(kind.Tag.Get("enum"), ",")
	return object{"anyOf": []any{object{"enum": words}, objectOf(reflect.TypeFor[On]())}}
}

func (r *Rules) decode(d *decoder, key string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		d.add(at(n), "invalid value for %s: it must be a mapping, with lines of id: options", key)
		return
	}
	d.pairs(n, func(k, v *yaml.Node) {
		options := d.builder("verbatim").build(v)
		if options.kind != '"' && options.kind != '{' {
			d.add(at(v), "invalid value for the rule %s: it must be a severity or a mapping of options",
				Quoted(k.Value))
		}
		*r = append(*r, Rule{at(k), k.Value, Value{options}})
	})
}

func (*Rules) schema() object {
	return object{"type": "object", "additionalProperties": object{"type": []string{"string",
		"object"}}}
}

// Position is a place in a file. Lines and columns count from 1; 0 is unknown.
type Position struct{ Line, Column int }

// Problem is one thing that is wrong with a file.
type Problem struct {
	File string
	Position
	// Message says what is wrong, with the value, then what to do. It is one line, without
	// invisible characters.
	Message string
}

// String is the problem as compilers print theirs: file:line:column: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", text.EscapeLine(p.File), p.Line, p.Column, p.Message)
}

// Problems is the error of [Read] and [ReadEvals]: all that is wrong with a file, in the order of
// its lines.
type Problems struct {
	List []Problem // at least one, at most 50
	More int       // how many there are besides
}

// Error has a line for each problem.
func (p *Problems) Error() string {
	var lines []string
	for _, one := range p.List {
		lines = append(lines, one.String())
	}
	if p.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", p.More))
	}
	return strings.Join(lines, "\n")
}

const mostProblems = 50

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []Problem
	env  Variable // the first one that the file reads
}

// reads notes that a text has these parts.
func (p *problems) reads(pieces []piece, at Position) {
	for _, one := range pieces {
		if p.env.Name == "" && one.ref != nil && one.ref.kind == "env" {
			p.env = Variable{at, one.ref.name}
		}
	}
}

func (p *problems) add(at Position, format string, args ...any) {
	p.list = append(p.list, Problem{p.file, at, text.EscapeLine(fmt.Sprintf(format, args...))})
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	list := slices.Compact(p.list) // an alias is read where it is used, and is wrong in one place
	n := min(len(list), mostProblems)
	return &Problems{List: list[:n], More: len(list) - n}
}

// Quoted returns a text for a message: in quotes, at most 60 characters.
func Quoted(s string) string {
	return `"` + text.Short(s, 60) + `"`
}

// instead says which of the known words comes nearest to one that is not known, or lists them.
func instead(word string, known []string) string {
	return cmp.Or(text.DidYouMean(word, known), "use "+text.List(known, "or"))
}
