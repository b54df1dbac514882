package schema

import (
	"slices"
	"strings"
)

// Objects of libraries that do not follow Standard Schema (yup, joi, superstruct, io-ts, runtypes),
// or that write themselves as JSON of their own (arktype), are read here.

// vendorOf names the library of such an object, or is "".
func vendorOf(v *value) string {
	word := func(name string) string { return textOf(v.get(name)) }
	switch {
	case v.get("spec").get("strict") != nil && v.get("tests").isArray() && word("type") != "":
		return "yup"
	case v.get("$_terms").isObject() && v.get("_flags").isObject() && word("type") != "":
		return "joi"
	case strings.HasSuffix(word("_tag"), "Type") && word("name") != "":
		return "io-ts"
	case word("tag") == "object" && v.get("fields").isObject() && v.get("type") == nil:
		return "runtypes"
	case word("domain") == "object" && v.get("type") == nil && (isKeyList(v.get("required")) || isKeyList(v.get("optional"))):
		return "arktype"
	case isStruct(v) && word("type") == "object" && v.get("schema").isObject():
		return "superstruct"
	}
	return ""
}

// conversions names, for each library, what converts its objects.
var conversions = map[string]string{
	"zod": "as z.toJSONSchema does", "valibot": "as toJsonSchema of @valibot/to-json-schema does", "arktype": "as its toJsonSchema() does",
	"yup": "or write that", "joi": "or write that", "superstruct": "or write that", "io-ts": "or write that", "runtypes": "or write that",
}

func textOf(v *value) string {
	if v.isString() {
		return v.text
	}
	return ""
}

// isStruct reports whether a value is an object of superstruct: it has a type, its parts, and
// nothing else.
func isStruct(v *value) bool {
	parts := v.get("schema")
	if !v.isObject() || len(v.keys) != 2 || !v.get("type").isString() || parts == nil {
		return false
	}
	if !parts.isObject() || isStruct(parts) || v.get("type").text != "object" {
		return true
	}
	for _, part := range parts.vals {
		if !isStruct(part) {
			return false
		}
	}
	return true
}

// isKeyList reports whether a value lists members of an object as arktype does.
func isKeyList(v *value) bool {
	return v.isArray() && len(v.vals) > 0 && v.vals[0].get("key").isString() && v.vals[0].get("value") != nil
}

// readVendor reads an object of a library, and reports whether it may be left out.
func readVendor(vendor string, v *value) (out *value, optional bool) {
	switch vendor {
	case "yup":
		return readYup(v)
	case "joi":
		return readJoi(v)
	case "io-ts":
		return readIO(v)
	case "runtypes":
		return readRuntype(v)
	case "arktype":
		return readArk(v), false
	case "superstruct":
		return readStruct(v), true // what is optional does not show
	}
	return &value{kind: '{'}, false
}

// ofKind returns the schema of a kind that all libraries have.
func ofKind(kind string) *value {
	out := &value{kind: '{'}
	say := func(key, word string) { out.put(key, &value{kind: '"', text: word}) }
	switch kind = strings.ToLower(kind); kind {
	case "string", "number", "integer", "boolean", "null", "array", "object":
		say("type", kind)
	case "int", "bigint":
		say("type", "integer")
	case "record", "looseobject", "strictobject":
		say("type", "object")
	case "tuple":
		say("type", "array")
	case "date":
		say("type", "string")
		say("format", "date-time")
	}
	return out
}

// addMember adds a property to the schema of an object.
func addMember(object *value, name string, member *value, optional bool) {
	properties, required := object.get("properties"), object.get("required")
	if properties == nil {
		properties = &value{kind: '{'}
		object.put("properties", properties)
	}
	properties.put(name, member)
	if optional {
		return
	}
	if required == nil {
		required = &value{kind: '['}
		object.put("required", required)
	}
	required.vals = append(required.vals, &value{kind: '"', text: name})
}

// addWords adds a title, a description and a default where there are some.
func addWords(out, title, description, fallback *value) *value {
	for i, held := range []*value{title, description, fallback} {
		if held.isString() || i == 2 && (held.isBool() || held != nil && held.kind == '0') {
			out.put([]string{"title", "description", "default"}[i], held)
		}
	}
	return out
}

// choiceOf returns the schema of one of some values or schemas.
func choiceOf(values, schemas []*value) *value {
	out := &value{kind: '{'}
	if len(values) > 0 {
		out.put("enum", &value{kind: '[', vals: values})
	}
	switch {
	case len(schemas) == 0:
		return out
	case len(schemas) == 1 && len(values) == 0:
		return schemas[0]
	case len(values) > 0:
		schemas = append(schemas, out)
	}
	all := &value{kind: '{'}
	all.put("anyOf", &value{kind: '[', vals: schemas})
	return all
}

func readYup(v *value) (*value, bool) {
	spec, kind := v.get("spec"), textOf(v.get("type"))
	if v.get("exclusiveTests").get("integer") != nil {
		kind = "integer"
	}
	out := ofKind(kind)
	if fields := v.get("fields"); fields.isObject() {
		for i, name := range fields.keys {
			member, optional := readVendor(vendorOf(fields.vals[i]), fields.vals[i])
			addMember(out, name, member, optional)
		}
	}
	if item := v.get("innerType"); item.isObject() {
		member, _ := readVendor(vendorOf(item), item)
		out.put("items", member)
	}
	if list := v.get("_whitelist"); list.isArray() && len(list.vals) > 0 {
		out.put("enum", list)
	}
	optional := spec.get("optional") == nil || spec.get("optional").kind != 'f'
	return addWords(out, spec.get("label"), spec.get("meta").get("description"), spec.get("default")),
		optional && textOf(spec.get("presence")) != "required"
}

func readJoi(v *value) (*value, bool) {
	flags, terms, kind := v.get("_flags"), v.get("$_terms"), textOf(v.get("type"))
	for _, rule := range elements(v.get("_rules")) {
		if textOf(rule.get("name")) == "integer" {
			kind = "integer"
		}
	}
	out := ofKind(kind)
	for _, key := range elements(terms.get("keys")) {
		member, optional := readVendor(vendorOf(key.get("schema")), key.get("schema"))
		addMember(out, textOf(key.get("key")), member, optional)
	}
	var items []*value
	for _, item := range elements(terms.get("items")) {
		member, _ := readVendor(vendorOf(item), item)
		items = append(items, member)
	}
	if len(items) > 0 {
		out.put("items", choiceOf(nil, items))
	}
	if only := flags.get("only"); only != nil && only.kind == 't' {
		if values := v.get("_valids").get("_values"); values.isArray() && len(values.vals) > 0 {
			out.put("enum", values)
		}
	}
	return addWords(out, flags.get("label"), flags.get("description"), flags.get("default")), textOf(flags.get("presence")) != "required"
}

func readIO(v *value) (*value, bool) {
	tag := strings.TrimSuffix(textOf(v.get("_tag")), "Type")
	switch tag {
	case "Interface", "Partial":
		out := ofKind("object")
		if props := v.get("props"); props.isObject() {
			for i, name := range props.keys {
				member, optional := readIO(props.vals[i])
				addMember(out, name, member, optional || tag == "Partial")
			}
		}
		return out, false
	case "Intersection":
		return readAll(v.get("types")), false
	case "Exact", "Readonly", "Refinement", "Strict":
		return readIO(v.get("type"))
	case "Array", "ReadonlyArray":
		out := ofKind("array")
		if item := v.get("type"); item.isObject() {
			member, _ := readIO(item)
			out.put("items", member)
		}
		return out, false
	case "Union":
		return readUnion(v.get("types"), readIO)
	case "Undefined", "Void":
		return &value{kind: '{'}, true
	case "Literal":
		if held := v.get("value"); held != nil {
			return choiceOf([]*value{held}, nil), false
		}
	case "Keyof":
		var names []*value
		if keys := v.get("keys"); keys.isObject() {
			for _, name := range keys.keys {
				names = append(names, &value{kind: '"', text: name})
			}
		}
		return choiceOf(names, nil), false
	}
	return ofKind(tag), false
}

// readAll reads an intersection of io-ts: the members of all its parts.
func readAll(parts *value) *value {
	out := ofKind("object")
	for _, part := range elements(parts) {
		one, _ := readIO(part)
		names := namesIn(one.get("required"))
		if properties := one.get("properties"); properties.isObject() {
			for i, name := range properties.keys {
				addMember(out, name, properties.vals[i], !slices.Contains(names, name))
			}
		}
	}
	return out
}

// readUnion reads the parts of a union. It may be left out when one of them is nothing.
func readUnion(parts *value, read func(*value) (*value, bool)) (*value, bool) {
	var values, schemas []*value
	left := false
	for _, part := range elements(parts) {
		one, optional := read(part)
		list := one.get("enum")
		switch {
		case optional:
			left = true
		case list.isArray() && len(one.keys) == 1:
			values = append(values, list.vals...)
		default:
			schemas = append(schemas, one)
		}
	}
	return choiceOf(values, schemas), left
}

func readRuntype(v *value) (*value, bool) {
	tag := textOf(v.get("tag"))
	out := ofKind(tag)
	switch tag {
	case "object":
		if fields := v.get("fields"); fields.isObject() {
			for i, name := range fields.keys {
				member, optional := readRuntype(fields.vals[i])
				addMember(out, name, member, optional)
			}
		}
	case "optional":
		member, _ := readRuntype(v.get("underlying"))
		return member, true
	case "array":
		if item := v.get("element"); item.isObject() {
			member, _ := readRuntype(item)
			out.put("items", member)
		}
	case "literal":
		if held := v.get("value"); held != nil {
			return choiceOf([]*value{held}, nil), false
		}
	case "union":
		return readUnion(v.get("alternatives"), readRuntype)
	case "constraint", "brand":
		return readRuntype(v.get("underlying"))
	}
	return out, false
}

func readStruct(v *value) *value {
	parts, kind := v.get("schema"), textOf(v.get("type"))
	out := ofKind(kind)
	switch {
	case kind == "object" && parts.isObject():
		for i, name := range parts.keys {
			addMember(out, name, readStruct(parts.vals[i]), true)
		}
	case kind == "array" && parts.isObject():
		out.put("items", readStruct(parts))
	case kind == "enums" && parts.isObject() && len(parts.vals) > 0:
		return choiceOf(parts.vals, nil)
	case kind == "literal":
		return choiceOf([]*value{parts}, nil)
	}
	return out
}

// readArk reads what arktype writes of itself.
func readArk(v *value) *value {
	switch {
	case v.isString():
		return ofKind(v.text)
	case v.isArray():
		return readArkUnion(v)
	case v.get("unit") != nil:
		return choiceOf([]*value{v.get("unit")}, nil)
	case v.get("sequence") != nil:
		out := ofKind("array")
		out.put("items", readArk(v.get("sequence")))
		return out
	}
	kind := textOf(v.get("domain"))
	if v.get("divisor") != nil && kind == "number" {
		kind = "integer"
	}
	out := ofKind(kind)
	for _, list := range []string{"required", "optional"} {
		if keys := v.get(list); isKeyList(keys) {
			for _, key := range keys.vals {
				addMember(out, textOf(key.get("key")), readArk(key.get("value")), list == "optional")
			}
		}
	}
	return out
}

func readArkUnion(v *value) *value {
	one, _ := readUnion(v, func(part *value) (*value, bool) { return readArk(part), false })
	if list := one.get("enum"); list.isArray() && len(list.vals) == 2 && list.vals[0].isBool() && list.vals[1].isBool() {
		return ofKind("boolean")
	}
	return one
}
