package schema

import "slices"

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
	maxFormText = 120 // characters of what the page says of an alternative
	maxWords    = 2 << 10
)
