package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxOpenAPI limits how many bytes a schema may have in a document of OpenAPI, with its components:
// one that refers to places inside of each other is written once for each.
const maxOpenAPI = 256 << 10

// ForOpenAPI returns the schema as documents of OpenAPI 3.1 have it (their section 4.8.24): in the
// dialect of 2020-12, whatever it was written in, without "$schema" and "$id". What references lead
// to is moved to components, whose names are prefix or begin with it and a dot, and which are
// referred to as "#/components/schemas/NAME". A schema of arguments is an object with properties in
// its place, also where a reference or alternatives name them: there are clients that look nowhere
// else. One that would be too long keeps the names of its properties only.
func (s *Schema) ForOpenAPI(prefix string) (root json.RawMessage, components []Member) {
	o := &openAPI{graph: s.form().graph, prefix: prefix, names: map[string]string{}}
	v := o.copied(s.form().graph.root)
	if s.arguments {
		sayObject(v)
		if t := v.get("type"); t.isArray() { // an admitted list has "object"
			*t = value{kind: '"', text: "object"}
		}
		if v.get("properties") == nil {
			v.put("properties", o.united(s))
		}
	}
	root = v.appendJSON(nil)
	size := len(root)
	for i := 0; i < len(o.queue) && size <= maxOpenAPI; i++ { // copying adds more
		text := o.copied(o.queue[i]).appendJSON(nil)
		components = append(components, Member{o.names[o.queue[i].ptr], text})
		size += len(text)
	}
	if size > maxOpenAPI {
		return s.bare(), nil
	}
	return root, components
}

// openAPI makes one schema a part of a document.
type openAPI struct {
	graph  *graph
	prefix string
	names  map[string]string // of components, by the pointer to what they are in the schema
	queue  []*node           // what becomes a component, in the order in which it was met
}

// copied returns a copy of a part of the schema, in the dialect of the document.
func (o *openAPI) copied(n *node) *value {
	v := parseOwn(n.val.appendJSON(nil))
	if v.isBool() {
		return asObject(v)
	}
	rewrite(v, func(string, ...any) {})
	o.translate(v)
	return v
}

// united are the properties that the parts and alternatives of the root have.
func (o *openAPI) united(s *Schema) *value {
	doc := parseOwn(s.raw)
	u := &uniter{root: doc, known: map[*value]*union{}}
	all := u.of(doc)
	properties := &value{kind: '{'}
	for _, name := range all.names {
		properties.put(name, o.copied(&node{val: oneOf(all.schemas[name])}))
	}
	return properties
}

// component is the name under which the document has a part of the schema.
func (o *openAPI) component(n *node) string {
	if name, ok := o.names[n.ptr]; ok {
		return name
	}
	name := o.prefix
	if len(n.tokens) > 0 {
		last := legalPart(n.tokens[len(n.tokens)-1])
		name += "." + strings.ReplaceAll(last, ".", "_")
	}
	taken := slices.Collect(maps.Values(o.names))
	for base, i := name, 2; slices.Contains(taken, name); i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	o.names[n.ptr] = name
	o.queue = append(o.queue, n)
	return name
}

// dropped are keywords without a meaning in the document: there is one base, and no reference by
// name; and those that OpenAPI itself knows, which a page does not write for it.
var dropped = wordSet(`$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $defs definitions
	discriminator xml externalDocs`)

// later are the keywords that came with a draft. Those before it pay them no heed, and the document
// would.
var later = map[int]map[string]bool{
	6: wordSet(`const contains propertyNames examples`),
	7: wordSet(`if then else readOnly writeOnly contentMediaType contentEncoding`),
	2019: wordSet(`dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties
		maxContains minContains deprecated contentSchema`),
	2020: wordSet(`prefixItems`),
}

// unknown reports whether a draft does not know a keyword of the document's dialect.
func unknown(draft int, key string) bool {
	for since, words := range later {
		if draft < since && words[key] {
			return true
		}
	}
	return false
}

// translate writes a schema and all that is in it in the dialect of 2020-12.
func (o *openAPI) translate(v *value) {
	if !v.isObject() {
		return
	}
	ref := ""
	for _, key := range refKeywords {
		if r := v.get(key); r.isString() && ref == "" {
			if to, err := o.graph.resolve("", r.text); err == nil { // it was resolved when it was admitted
				ref = "#/components/schemas/" + o.component(to)
			}
		}
	}
	if ref != "" && o.graph.draft < 2019 {
		v.remove(func(string) bool { return true }) // what stands beside it counts for nothing
	}
	v.remove(func(key string) bool {
		return dropped[key] || slices.Contains(refKeywords, key) || unknown(o.graph.draft, key)
	})
	for _, c := range children(v) {
		// Elsewhere than there some libraries take no boolean, and so nothing of the document.
		if c.val.isBool() && c.keyword != "additionalProperties" {
			*c.val = *asObject(c.val)
		}
		o.translate(c.val)
	}
	if ref != "" {
		v.put("$ref", &value{kind: '"', text: ref})
	}
	if o.graph.draft == 4 {
		exclusive(v, "exclusiveMinimum", "minimum")
		exclusive(v, "exclusiveMaximum", "maximum")
	}
	if o.graph.draft < 2020 {
		listed(v)
		dependencies(v)
	}
}

// exclusive makes a bound that is a flag of another the bound itself.
func exclusive(v *value, flag, bound string) {
	held, limit := v.get(flag), v.get(bound)
	if !held.isBool() {
		return
	}
	v.remove(func(key string) bool { return key == flag || held.kind == 't' && key == bound })
	if held.kind == 't' && limit != nil {
		v.put(flag, limit)
	}
}

// listed gives "items" that are a list their later name.
func listed(v *value) {
	items, rest := v.get("items"), v.get("additionalItems")
	v.remove(func(key string) bool { return key == "additionalItems" || key == "items" && items.isArray() })
	if !items.isArray() {
		return
	}
	if len(items.vals) > 0 { // an empty list is refused by later dialects
		v.put("prefixItems", items)
	}
	if rest != nil {
		v.put("items", rest)
	}
}

// dependencies takes "dependencies" apart into what came in its place.
func dependencies(v *value) {
	held := v.get("dependencies")
	if !held.isObject() {
		return
	}
	required, schemas := &value{kind: '{'}, &value{kind: '{'}
	for i, name := range held.keys {
		if held.vals[i].isArray() {
			required.put(name, held.vals[i])
		} else {
			schemas.put(name, held.vals[i])
		}
	}
	v.remove(func(key string) bool { return key == "dependencies" })
	if len(required.keys) > 0 {
		v.put("dependentRequired", required)
	}
	if len(schemas.keys) > 0 {
		v.put("dependentSchemas", schemas)
	}
}

// bare is the schema without what it says of its properties.
func (s *Schema) bare() json.RawMessage {
	v := &value{kind: '{'}
	for i, key := range s.form().graph.doc.keys {
		v.put(key, s.form().graph.doc.vals[i])
	}
	if s.arguments {
		sayObject(v)
		v.putNew("properties", &value{kind: '{'})
	}
	return bareOf(v, maxOpenAPI, func(string) {})
}
