package schema

import (
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// This file finds wrong values in the place of a schema: a map of parameters, or an object of a
// library for schemas, which many libraries take as they are.

// parameters moves what stands where only keywords may, and is a schema, into "properties". It
// returns the names.
func (m *mender) parameters(v *value, at []string) map[string]bool {
	names := misplaced(v)
	if len(names) == 0 {
		return nil
	}
	all := map[string]bool{}
	m.slip(RuleMap, at, func() string {
		return "The parameters " + text.FewQuoted(names, 5) + " stand where only keywords of JSON Schema may: they are read as its properties. " +
			`Write {"type":"object","properties":{…}} around them.`
	})
	properties := &value{kind: '{'}
	for i, name := range v.keys {
		if slices.Contains(names, name) {
			all[name] = true
			properties.put(name, v.vals[i])
		}
	}
	v.remove(func(key string) bool { return all[key] || key == "properties" })
	sayObject(v)
	v.put("properties", properties)
	m.wider[v] = true
	m.requireAll(v, properties)
	return all
}

// requireAll names the parameters that a library's objects in a map say to be required.
func (m *mender) requireAll(v, properties *value) {
	if v.get("required") != nil {
		return
	}
	if required := requiredOf(properties); len(required.vals) > 0 {
		v.put("required", required)
	}
}

// misplaced returns the names of parameters that stand beside keywords, or in their place.
func misplaced(v *value) (names []string) {
	if p := v.get("properties"); p != nil && isSchemaMap(p) && !looksLikeSchema(p) {
		return nil
	}
	if t := v.get("type"); t != nil && !t.isObject() && (!t.isString() || !strings.EqualFold(t.text, "object")) {
		return nil
	}
	keywords := false // something can only be one
	for i, key := range v.keys {
		switch held := v.vals[i]; {
		case !held.isObject():
			keywords = true
		case looksLikeSchema(held) && !mayHold(key, held):
			names = append(names, key)
		}
	}
	if keywords || len(names) == 0 {
		return names
	}
	// All members are objects, and some are parameters for certain: so are the others that may be.
	names = nil
	for i, key := range v.keys {
		if held := v.vals[i]; looksLikeSchema(held) || len(held.keys) == 0 || held.get("description").isString() {
			names = append(names, key)
		}
	}
	return names
}

// looksLikeSchema reports whether an object says something that only a schema says.
func looksLikeSchema(v *value) bool {
	if !v.isObject() {
		return false
	}
	return typeRead(v.get("type")) != nil || nearType(v.get("type")) != "" || v.get("enum").isArray() || v.get("$ref").isString() || holdsSome(v.get("properties")) ||
		v.get("anyOf").isArray() || v.get("oneOf").isArray() || v.get("allOf").isArray() || isLibrary(v)
}

// holdsSome reports whether an object has members, and all of them are schemas.
func holdsSome(v *value) bool { return v.isObject() && len(v.keys) > 0 && isSchemaMap(v) }

// mayHold reports whether a keyword may have an object that looks like a schema, or the name is
// somebody's own.
func mayHold(key string, held *value) bool {
	if strings.HasPrefix(key, "x-") || strings.HasPrefix(key, "$") || strings.HasPrefix(key, "~") || strings.HasPrefix(key, "_") ||
		key == "default" || key == "const" || key == "example" || key == "def" {
		return true
	}
	kw, known := subschemaKeywords[key]
	return known && (kw.shape != shapeMap || isSchemaMap(held))
}

// spell renames keywords that are probably misspelled.
func (m *mender) spell(v *value, at []string, written map[string]string) {
	for i, key := range v.keys {
		meant := m.meant(v, key, v.vals[i])
		if meant == "" {
			continue
		}
		place := slices.Concat(at, []string{key})
		m.slip(RuleUnknown, place, func() string {
			return text.Quote(key) + " is not a keyword of JSON Schema, and counts for nothing: did you mean " + text.Quote(meant) + "?"
		})
		v.keys[i], written[meant] = meant, key
		v.buildIndex()
	}
}

// others are names in schemas that are no keywords, and that are not misspelled: of OpenAPI, and of
// tools for forms and types.
var others = wordSet(`id $vocabulary nullable discriminator xml externalDocs example def defs ui label name order unit units value values
	hint kind placeholder widget meta options optional errorMessage enumNames enumDescriptions propertyOrder`)

// meant returns the keyword that an unknown one was probably meant to be, or "": one that is not
// there, and that takes such a value.
func (m *mender) meant(v *value, key string, held *value) string {
	if m.takes(key) != nil || others[key] || key == "default" || key == "const" || mayHold(key, held) || looksLikeSchema(held) && !holdsSome(held) {
		return ""
	}
	var fit []string
	for _, known := range keywordNames {
		if v.get(known) == nil && m.fits(known, held) && m.suits(v, known) {
			fit = append(fit, known)
		}
	}
	return text.Nearest(strings.TrimPrefix(key, "$"), fit)
}

// fits reports whether a keyword takes a value, a wrong one aside that has only its own slips.
func (m *mender) fits(keyword string, held *value) bool {
	switch t := m.takes(keyword); {
	case t == takesSchemaMap, t == takesNameMap, t == takesDependency:
		return held.isObject()
	case t == takesSchema, t == takesItems:
		return held.isObject()
	case t == takesType:
		return typeRead(held) != nil
	case keyword == "const", keyword == "default":
		return true
	case t == nil:
		return false
	default:
		return t.valid(held)
	}
}

// suits reports whether a keyword is about values of the type that a schema has.
func (m *mender) suits(v *value, keyword string) bool {
	t := v.get("type")
	if !isTypeWord(t) {
		return true
	}
	about := keywordTypes[keyword]
	return about == "" || strings.Contains(about, t.text)
}

// keywordTypes names the types of values that keywords are about; "" is all.
var keywordTypes = map[string]string{
	"minLength": "string", "maxLength": "string", "pattern": "string", "format": "string integer number",
	"minimum": "integer number", "maximum": "integer number", "exclusiveMinimum": "integer number", "exclusiveMaximum": "integer number",
	"multipleOf": "integer number", "items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array",
	"contains": "array", "minContains": "array", "maxContains": "array", "properties": "object", "required": "object",
	"patternProperties": "object", "additionalProperties": "object", "propertyNames": "object", "minProperties": "object", "maxProperties": "object",
	"dependentRequired": "object", "dependentSchemas": "object",
}

// keywordNames are the keywords that may have been meant, those first that people write most.
var keywordNames = strings.Fields(`type description properties required enum items default title format minimum maximum
	minLength maxLength minItems maxItems additionalProperties pattern anyOf oneOf allOf const examples $ref $defs definitions
	uniqueItems multipleOf exclusiveMinimum exclusiveMaximum minProperties maxProperties prefixItems patternProperties propertyNames
	dependentRequired dependentSchemas contains minContains maxContains not if then else unevaluatedProperties unevaluatedItems
	deprecated readOnly writeOnly contentEncoding contentMediaType`)
