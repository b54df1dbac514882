package schema

import (
	"strconv"
	"strings"
)

// role says which values a subschema meets.
type role uint8

const (
	roleNone      role = iota // only when something refers to it
	roleInPlace               // the same value as the schema around it
	roleProps                 // the member of that name
	rolePatterns              // members whose name matches
	roleMembers               // members not named
	roleNames                 // names of members
	rolePrefix                // the element at that index
	roleElements              // elements
	roleItems                 // "items": one schema or a list
	roleDependent             // the same value, when a member is there
)

// shape says how a keyword holds its subschemas.
type shape uint8

const (
	shapeOne  shape = iota // the schema itself
	shapeList              // an array of schemas
	shapeMap               // an object of schemas
	shapeAny               // "items" and the like: a schema or an array of them
)

type keyword struct {
	role  role
	shape shape
}

// subschemaKeywords has every keyword of drafts 4 to 2020-12 that holds schemas. All of them are
// followed whatever the draft says: what the library ignores there costs nothing, what it follows
// has to be known.
var subschemaKeywords = map[string]keyword{
	"$defs":                 {roleNone, shapeMap},
	"definitions":           {roleNone, shapeMap},
	"contentSchema":         {roleNone, shapeOne},
	"allOf":                 {roleInPlace, shapeList},
	"anyOf":                 {roleInPlace, shapeList},
	"oneOf":                 {roleInPlace, shapeList},
	"not":                   {roleInPlace, shapeOne},
	"if":                    {roleInPlace, shapeOne},
	"then":                  {roleInPlace, shapeOne},
	"else":                  {roleInPlace, shapeOne},
	"dependentSchemas":      {roleDependent, shapeMap},
	"dependencies":          {roleDependent, shapeMap},
	"properties":            {roleProps, shapeMap},
	"patternProperties":     {rolePatterns, shapeMap},
	"additionalProperties":  {roleMembers, shapeOne},
	"unevaluatedProperties": {roleMembers, shapeOne},
	"propertyNames":         {roleNames, shapeOne},
	"prefixItems":           {rolePrefix, shapeList},
	"items":                 {roleItems, shapeAny},
	"additionalItems":       {roleElements, shapeOne},
	"unevaluatedItems":      {roleElements, shapeOne},
	"contains":              {roleElements, shapeOne},
}

type child struct {
	keyword string
	name    string // member or index inside the keyword
	nested  bool   // whether there is a name; a member may be called ""
	role    role
	val     *value
}

func (c child) tokens() []string {
	if !c.nested {
		return []string{c.keyword}
	}
	return []string{c.keyword, c.name}
}

// children lists what stands at schema positions of one schema, in its order; values that are no
// schemas too, for the caller to refuse. Arrays under "dependencies" are lists of names and left
// out.
func children(v *value) []child {
	var out []child
	for i, key := range v.keys {
		kw, ok := subschemaKeywords[key]
		if !ok {
			continue
		}
		held := v.vals[i]
		switch {
		case kw.shape == shapeMap && held.isObject():
			for j, name := range held.keys {
				if key == "dependencies" && held.vals[j].isArray() {
					continue
				}
				out = append(out, child{key, name, true, kw.role, held.vals[j]})
			}
		case kw.shape == shapeList && held.isArray():
			out = appendList(out, key, kw.role, held)
		case kw.shape == shapeAny && held.isArray():
			out = appendList(out, key, rolePrefix, held)
		case kw.shape == shapeAny:
			out = append(out, child{key, "", false, roleElements, held})
		default:
			out = append(out, child{key, "", false, kw.role, held})
		}
	}
	return out
}

func appendList(out []child, key string, r role, list *value) []child {
	for j, item := range list.vals {
		out = append(out, child{key, strconv.Itoa(j), true, r, item})
	}
	return out
}

// vendorPrefix marks members that tell an MCP client how to send an argument. A page has no say in
// that.
const vendorPrefix = "x-mcp-"

// clean takes out the members whose name starts with "x-mcp-" at schema positions. Data (enum,
// const, default, examples) is left alone.
func clean(v *value) {
	if !v.isObject() {
		return
	}
	v.remove(func(key string) bool { return strings.HasPrefix(key, vendorPrefix) })
	for _, c := range children(v) {
		clean(c.val)
	}
}
