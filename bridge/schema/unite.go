package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// combinators are the keywords that APIs of models refuse at the root.
var combinators = []string{"oneOf", "anyOf", "allOf", "$ref", "enum", "const", "not"}

// unite makes the root one object that has the properties of all of its parts and alternatives. It
// is looser than the schema was: what they demand together is checked when a call comes. It returns
// the alternatives in words.
func unite(root *value, l Limits, note func(format string, args ...any)) (forms string) {
	var there []string
	for _, key := range combinators {
		if root.get(key) != nil {
			there = append(there, key)
		}
	}
	if len(there) == 0 {
		return ""
	}
	u := &uniter{root: root, known: map[*value]*union{}}
	all := u.of(root)
	forms = u.words()
	for _, key := range there {
		note("%q was taken out of the root; calls are still checked by it", key)
	}
	root.remove(func(key string) bool { return slices.Contains(there, key) })
	properties := &value{kind: '{'}
	for _, name := range all.names {
		properties.put(name, oneOf(all.schemas[name]))
	}
	root.put("properties", properties)
	if len(all.required) > 0 {
		root.put("required", texts(all.required))
	}
	l.Bytes *= 2 // what several forms have was written once
	if _, err := Compile(root.appendJSON(nil), l); err != nil {
		// Something refers to what is not there any more.
		root.remove(func(key string) bool {
			return key != "type" && key != "title" && key != "description" && key != "$schema"
		})
		note("no properties of the root could be kept")
	}
	return forms
}

func texts(list []string) *value {
	v := &value{kind: '['}
	for _, text := range list {
		v.vals = append(v.vals, &value{kind: '"', text: text})
	}
	return v
}

// union collects the properties of a schema and its parts.
type union struct {
	names    []string
	schemas  map[string][]*value // that differ
	texts    map[string]bool     // a name and each of its schemas
	required []string
}

func (u *union) add(name string, schema *value) {
	text := name + "\x00" + string(schema.appendCanonical(nil))
	if u.texts[text] {
		return
	}
	if len(u.schemas[name]) == 0 {
		u.names = append(u.names, name)
	}
	u.texts[text] = true
	u.schemas[name] = append(u.schemas[name], schema)
}

func (u *union) addAll(o *union) {
	for _, name := range o.names {
		for _, schema := range o.schemas[name] {
			u.add(name, schema)
		}
	}
}

func (u *union) require(names []string) {
	for _, name := range names {
		if !slices.Contains(u.required, name) {
			u.required = append(u.required, name)
		}
	}
}

// uniter makes the unions of schemas in one document, each once.
type uniter struct {
	root  *value
	known map[*value]*union
}

// of returns the union of a schema. Admitted schemas do not refer to themselves for the same value.
func (u *uniter) of(v *value) *union {
	if known := u.known[v]; known != nil {
		return known
	}
	all := &union{schemas: map[string][]*value{}, texts: map[string]bool{}}
	u.known[v] = all
	if properties := v.get("properties"); properties.isObject() {
		for i, name := range properties.keys {
			all.add(name, properties.vals[i])
		}
	}
	all.require(namesIn(v.get("required")))
	for _, part := range u.parts(v) {
		of := u.of(part)
		all.addAll(of)
		all.require(of.required)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		var common []string
		for i, part := range elements(v.get(key)) {
			of := u.of(part)
			all.addAll(of)
			if i == 0 {
				common = slices.Clone(of.required)
			}
			common = slices.DeleteFunc(common, func(name string) bool {
				return !slices.Contains(of.required, name)
			})
		}
		all.require(common)
	}
	return all
}

// parts are the schemas that hold besides a schema itself.
func (u *uniter) parts(v *value) []*value {
	parts := slices.Clone(elements(v.get("allOf")))
	if ref := v.get("$ref"); ref.isString() {
		if tokens, ok := refTokens(ref.text); ok {
			if to := u.root.lookup(tokens); to.isObject() && to != v {
				parts = append(parts, to)
			}
		}
	}
	return parts
}

func elements(list *value) []*value {
	if !list.isArray() {
		return nil
	}
	return list.vals
}

func namesIn(list *value) (names []string) {
	for _, v := range elements(list) {
		names = append(names, v.text)
	}
	return names
}

// oneOf is a schema for what one of the schemas takes.
func oneOf(schemas []*value) *value {
	if len(schemas) == 1 {
		return schemas[0]
	}
	values := &value{kind: '['}
	seen := map[string]bool{}
	for _, s := range schemas {
		for _, v := range fixed(s) {
			if text := string(v.appendCanonical(nil)); !seen[text] {
				seen[text] = true
				values.vals = append(values.vals, v)
			}
		}
		if len(fixed(s)) == 0 {
			return &value{kind: '{', keys: []string{"anyOf"},
				vals: []*value{{kind: '[', vals: schemas}}}
		}
	}
	return &value{kind: '{', keys: []string{"enum"}, vals: []*value{values}}
}

// fixed lists the values of a schema that names them.
func fixed(s *value) []*value {
	if v := s.get("const"); v != nil {
		return []*value{v}
	}
	return elements(s.get("enum"))
}

const (
	maxForms    = 20  // alternatives in words
	maxFormText = 120 // bytes of what the page says of one
	maxWords    = 2 << 10
)

// words says which alternatives the root has.
func (u *uniter) words() string {
	var b strings.Builder
	from := append([]*value{u.root}, u.parts(u.root)...)
	for _, v := range from {
		for _, key := range []string{"oneOf", "anyOf"} {
			list := elements(v.get(key))
			if len(list) == 0 || b.Len() > maxWords {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(map[string]string{
				"oneOf": "The arguments have exactly one of these forms:",
				"anyOf": "The arguments have at least one of these forms:",
			}[key])
			for i, form := range list {
				if i == maxForms || b.Len() > maxWords {
					fmt.Fprintf(&b, "\n- and %d more", len(list)-i)
					break
				}
				b.WriteString("\n- " + u.form(form))
			}
		}
	}
	return b.String()
}

// form says what one alternative is: in the page's words, and by its properties.
func (u *uniter) form(v *value) string {
	of := u.of(v)
	var words string
	for _, from := range append([]*value{v}, u.parts(v)...) {
		for _, key := range []string{"title", "description"} {
			if s := from.get(key); words == "" && s.isString() {
				words = text.Short(strings.Join(strings.Fields(s.text), " "), maxFormText)
			}
		}
	}
	var with, may []string
	for _, name := range of.names {
		named := text.Short(name, maxShown)
		if values := fixed(of.schemas[name][0]); len(values) == 1 && len(of.schemas[name]) == 1 {
			named += " = " + text.Short(string(values[0].appendJSON(nil)), maxShown)
		}
		if slices.Contains(of.required, name) {
			with = append(with, named)
		} else {
			may = append(may, named)
		}
	}
	for _, name := range of.required {
		if _, said := of.schemas[name]; !said {
			with = append(with, text.Short(name, maxShown))
		}
	}
	var facts []string
	for _, fact := range []struct {
		what  string
		names []string
	}{{"with ", with}, {"optional ", may}} {
		if n := len(fact.names); n > 0 {
			facts = append(facts, fact.what+strings.Join(fact.names[:min(n, maxListed)], ", "))
		}
	}
	if words != "" && len(facts) > 0 {
		words += ": "
	}
	if words += strings.Join(facts, "; "); words == "" {
		return "anything else"
	}
	return words
}
