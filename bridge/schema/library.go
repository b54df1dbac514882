package schema

import (
	"cmp"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Objects of libraries for schemas (zod 3 and 4, valibot, what follows Standard Schema) become JSON
// that shows their parts, when a page hands them over as they are. Those parts are read.

// definition returns the part of a library's object that describes it, or nil.
func definition(v *value) *value {
	if d := v.get("_def"); d.isObject() && d.get("typeName").isString() {
		return d
	}
	if d, t := v.get("def"), v.get("type"); d.isObject() && t.isString() && d.get("type").isString() && d.get("type").text == t.text {
		return d
	}
	if v.get("~standard").isObject() {
		return v
	}
	return nil
}

func isLibrary(v *value) bool { return definition(v) != nil || vendorOf(v) != "" }

// library returns the schema that an object of a library means, or nil when it is none.
func (m *mender) library(v *value, at []string) *value {
	if !isLibrary(v) {
		return nil
	}
	m.slip(RuleMap, at, func() string {
		vendor := cmp.Or(vendorOf(v), textOf(v.get("~standard").get("vendor")), "zod")
		return "This is an object of the library " + text.Quote(vendor) + ", and not its JSON Schema: what it is made of is read. Convert it to JSON Schema, " +
			cmp.Or(conversions[vendor], "as its documentation says") + "."
	})
	m.wider[v] = true
	return translated(v)
}

// translated reads an object of a library.
func translated(v *value) *value {
	if vendor := vendorOf(v); vendor != "" {
		out, _ := readVendor(vendor, v)
		return out
	}
	d := definition(v)
	if d == nil {
		return &value{kind: '{'}
	}
	for _, key := range []string{"innerType", "schema", "wrapped"} {
		if inner := d.get(key); inner.isObject() {
			return described(translated(inner), d)
		}
	}
	out := &value{kind: '{'}
	word := func(of string) { out.put("type", &value{kind: '"', text: of}) }
	switch kind := definedKind(d); kind {
	case "string", "number", "integer", "boolean", "null":
		word(kind)
	case "int", "bigint", "date", "record", "tuple":
		out = ofKind(kind)
	case "union", "variant", "discriminatedunion":
		var parts []*value
		for _, part := range elements(d.get("options")) {
			parts = append(parts, translated(part))
		}
		out = choiceOf(nil, parts)
	case "array":
		word("array")
		for _, key := range []string{"element", "type", "item"} {
			if item := d.get(key); item.isObject() {
				out.put("items", translated(item))
			}
		}
	case "object", "strict_object", "loose_object":
		word("object")
		properties := &value{kind: '{'}
		for _, key := range []string{"shape", "entries"} {
			if held := d.get(key); held.isObject() {
				for i, name := range held.keys {
					properties.put(name, held.vals[i])
				}
			}
		}
		if required := requiredOf(properties); len(required.vals) > 0 {
			out.put("required", required)
		}
		for i, item := range properties.vals {
			properties.vals[i] = translated(item)
		}
		out.put("properties", properties)
	case "enum", "nativeenum", "picklist", "literal":
		if values := choices(d, v); len(values) > 0 {
			out.put("enum", &value{kind: '[', vals: values})
		}
	}
	piped(out, d)
	return described(out, d)
}

// piped adds what the steps of a pipe of valibot say.
func piped(out, d *value) {
	for _, part := range elements(d.get("pipe")) {
		switch kind := textOf(part.get("type")); kind {
		case "integer":
			out.put("type", &value{kind: '"', text: kind})
		case "title", "description":
			addWords(out, part.get("title"), part.get("description"), nil)
		}
	}
}

// definedKind returns the name of a definition's kind, the same for all libraries.
func definedKind(d *value) string {
	if name := d.get("typeName"); name.isString() {
		return strings.ToLower(strings.TrimPrefix(name.text, "Zod"))
	}
	if t := d.get("type"); t.isString() {
		return t.text
	}
	return ""
}

// choices are the values of an enum or a literal.
func choices(d, v *value) (values []*value) {
	for _, key := range []string{"entries", "values", "options", "value", "literal"} {
		held := d.get(key)
		if held == nil {
			held = v.get(key)
		}
		switch {
		case held == nil || len(values) > 0:
		case held.isArray() || held.isObject():
			values = append(values, held.vals...)
		default:
			values = append(values, held)
		}
	}
	return values
}

// described puts the description of a definition into a schema.
func described(schema, d *value) *value {
	if words := d.get("description"); words.isString() {
		schema.put("description", words)
	}
	return schema
}

// requiredOf lists the members of a map of a library's objects that are not optional.
func requiredOf(properties *value) *value {
	list := &value{kind: '['}
	for i, name := range properties.keys {
		if vendor := vendorOf(properties.vals[i]); vendor != "" {
			if _, optional := readVendor(vendor, properties.vals[i]); !optional {
				list.vals = append(list.vals, &value{kind: '"', text: name})
			}
			continue
		}
		d := definition(properties.vals[i])
		if d == nil {
			continue
		}
		switch definedKind(d) {
		case "optional", "exact_optional", "nullish", "undefinedable", "default", "prefault", "catch", "undefined", "any", "unknown":
		default:
			list.vals = append(list.vals, &value{kind: '"', text: name})
		}
	}
	return list
}
