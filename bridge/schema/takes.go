package schema

import (
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// takes says what a keyword takes as its value.
type takes struct {
	valid func(*value) bool
	words string
	// reads returns what another value means that can mean one thing only; nil is nothing.
	reads func(*value) *value
	// means returns what the author probably meant; nil is unknown.
	means func(*value) *value
	// near returns the word that was probably meant, or "".
	near func(*value) string
}

func (t *takes) read(v *value) *value {
	if t.reads == nil {
		return nil
	}
	return t.reads(v)
}

func (t *takes) meant(v *value) *value {
	if t.means != nil {
		return t.means(v)
	}
	if t.near != nil && t.near(v) != "" {
		return &value{kind: '"', text: t.near(v)}
	}
	return nil
}

var typeWordList = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// otherTypes are the names that types have in languages of programs.
var otherTypes = map[string]string{"str": "string", "text": "string", "char": "string", "int": "integer", "long": "integer",
	"float": "number", "double": "number", "decimal": "number", "bool": "boolean", "dict": "object", "map": "object",
	"list": "array", "tuple": "array", "none": "null", "nil": "null"}

func isTypeWord(v *value) bool { return v.isString() && slices.Contains(typeWordList, v.text) }

// typeRead reads the name of a type in other letters: GEMINI writes them in capitals.
func typeRead(v *value) *value {
	if v == nil {
		return nil
	}
	switch lower := strings.ToLower(strings.TrimSpace(v.text)); {
	case v.isString() && slices.Contains(typeWordList, lower):
		return &value{kind: '"', text: lower}
	case v.isArray() && len(v.vals) > 0:
		list := &value{kind: '['}
		for _, item := range v.vals {
			read := typeRead(item)
			if read == nil {
				return nil
			}
			if !slices.Contains(namesIn(list), read.text) {
				list.vals = append(list.vals, read)
			}
		}
		return list
	}
	return nil
}

func nearType(v *value) string {
	if !v.isString() {
		return ""
	}
	if known := otherTypes[strings.ToLower(v.text)]; known != "" {
		return known
	}
	return text.Nearest(v.text, typeWordList)
}

func isNames(v *value) bool {
	if !v.isArray() {
		return false
	}
	seen := map[string]bool{}
	for _, item := range v.vals {
		if !item.isString() || seen[item.text] {
			return false
		}
		seen[item.text] = true
	}
	return true
}

// namesRead reads a list of names that says some of them twice.
func namesRead(v *value) *value {
	if !v.isArray() {
		return nil
	}
	list, seen := &value{kind: '['}, map[string]bool{}
	for _, item := range v.vals {
		if !item.isString() {
			return nil
		}
		if !seen[item.text] {
			list.vals = append(list.vals, item)
		}
		seen[item.text] = true
	}
	return list
}

func isCount(v *value) bool {
	if v.kind != '0' {
		return false
	}
	d := readDecimal(v.text)
	return !d.negative && d.integer() && d.compare(maxCount) <= 0
}

// numeral is the number that a text says, or nil.
func numeral(v *value) *value {
	if !v.isString() {
		return nil
	}
	if n, err := parse([]byte(strings.TrimSpace(v.text)), 1); err == nil && n.kind == '0' {
		return n
	}
	return nil
}

// boolRead reads a flag that is written as a text.
func boolRead(v *value) *value {
	switch {
	case v.isString() && strings.EqualFold(v.text, "true"):
		return &value{kind: 't'}
	case v.isString() && strings.EqualFold(v.text, "false"):
		return &value{kind: 'f'}
	}
	return nil
}

// shorthand reads a schema that is the name of a type.
func shorthand(v *value) *value {
	if !isTypeWord(v) {
		return nil
	}
	return &value{kind: '{', keys: []string{"type"}, vals: []*value{v}}
}

func isSchemaList(v *value) bool {
	return v.isArray() && len(v.vals) > 0 && !slices.ContainsFunc(v.vals, func(x *value) bool { return !x.isSchema() })
}

func isSchemaMap(v *value) bool {
	return v.isObject() && !slices.ContainsFunc(v.vals, func(x *value) bool { return !x.isSchema() })
}

// mapRead reads a map of schemas in which some are names of types, or nothing that is a schema: the
// name stays, and any value is valid.
func mapRead(v *value) *value {
	if !v.isObject() {
		return nil
	}
	read := &value{kind: '{', keys: v.keys, vals: slices.Clone(v.vals)}
	for i, item := range read.vals {
		if item.isSchema() {
			continue
		}
		if read.vals[i] = shorthand(item); read.vals[i] == nil {
			read.vals[i] = &value{kind: '{'}
		}
	}
	read.buildIndex()
	return read
}

// listRead reads a list of schemas in which some are names of types.
func listRead(v *value) *value {
	if !v.isArray() || len(v.vals) == 0 {
		return nil
	}
	read := &value{kind: '['}
	for _, item := range v.vals {
		if !item.isSchema() {
			if item = shorthand(item); item == nil {
				return nil
			}
		}
		read.vals = append(read.vals, item)
	}
	return read
}

var (
	takesText   = &takes{valid: (*value).isString, words: "a text"}
	takesList   = &takes{valid: (*value).isArray, words: "a list"}
	takesFlag   = &takes{valid: (*value).isBool, words: "true or false", reads: boolRead}
	takesCount  = &takes{valid: isCount, words: "a whole number from 0 on", means: func(v *value) *value { return counted(numeral(v)) }}
	takesNumber = &takes{valid: func(v *value) bool { return v.kind == '0' }, words: "a number", means: numeral}
	takesStep   = &takes{valid: func(v *value) bool {
		return v.kind == '0' && !readDecimal(v.text).negative && readDecimal(v.text).compare(readDecimal("0")) != 0
	}, words: "a number above 0", means: numeral}
	takesType = &takes{valid: func(v *value) bool {
		return isTypeWord(v) || v.isArray() && len(v.vals) > 0 && isNames(v) && areTypes(v)
	},
		words: "one of " + text.List(typeWordList, "or") + ", or a list of them", reads: typeRead, near: nearType}
	takesNames   = &takes{valid: isNames, words: "a list of names", reads: namesRead, means: only((*value).isString)}
	takesNameMap = &takes{valid: func(v *value) bool {
		return v.isObject() && !slices.ContainsFunc(v.vals, func(x *value) bool { return !isNames(x) })
	}, words: "an object of lists of names"}
	takesSchema     = &takes{valid: (*value).isSchema, words: "a schema", reads: shorthand}
	takesOpen       = &takes{valid: (*value).isSchema, words: "a schema, true or false", reads: boolRead, means: shorthand}
	takesSchemaList = &takes{valid: isSchemaList, words: "a list of schemas", reads: listRead, means: only((*value).isObject)}
	takesSchemaMap  = &takes{valid: isSchemaMap, words: "an object of schemas", reads: mapRead}
	takesItems      = &takes{valid: func(v *value) bool { return v.isSchema() || isSchemaList(v) }, words: "a schema", reads: shorthand}
	takesDependency = &takes{valid: func(v *value) bool {
		return v.isObject() && !slices.ContainsFunc(v.vals, func(x *value) bool { return !x.isSchema() && !isNames(x) })
	}, words: "an object of schemas or lists of names"}
)

// only makes a list of one value of a kind.
func only(is func(*value) bool) func(*value) *value {
	return func(v *value) *value {
		if !is(v) {
			return nil
		}
		return &value{kind: '[', vals: []*value{v}}
	}
}

func counted(v *value) *value {
	if v == nil || !isCount(v) {
		return nil
	}
	return v
}

func areTypes(v *value) bool {
	return !slices.ContainsFunc(v.vals, func(x *value) bool { return !isTypeWord(x) })
}

// takenBy has the keywords that hold no schemas.
var takenBy = map[string]*takes{
	"type": takesType, "enum": takesList, "required": takesNames, "dependentRequired": takesNameMap, "multipleOf": takesStep,
	"minimum": takesNumber, "maximum": takesNumber, "exclusiveMinimum": takesNumber, "exclusiveMaximum": takesNumber,
	"uniqueItems": takesFlag, "deprecated": takesFlag, "readOnly": takesFlag, "writeOnly": takesFlag, "examples": takesList,
	"title": takesText, "description": takesText, "$comment": takesText, "format": takesText, "pattern": takesText,
	"contentEncoding": takesText, "contentMediaType": takesText,
	"$id": takesText, "$schema": takesText, "$ref": takesText, "$dynamicRef": takesText, "$recursiveRef": takesText,
	"$anchor": takesText, "$dynamicAnchor": takesText, "$recursiveAnchor": takesFlag,
}

// takes returns what a keyword takes; nil is a name that is none, or of an annotation that takes
// anything.
func (m *mender) takes(key string) *takes {
	if slices.Contains(counts, key) {
		return takesCount
	}
	if t := takenBy[key]; t != nil {
		if boundOf(key) != "" && m.draft == 4 {
			return takesFlag
		}
		return t
	}
	kw, known := subschemaKeywords[key]
	switch {
	case !known:
		return nil
	case key == "dependencies":
		return takesDependency
	case kw.shape == shapeMap:
		return takesSchemaMap
	case kw.shape == shapeList:
		return takesSchemaList
	case kw.shape == shapeAny:
		return takesItems
	case (child{keyword: key}).mayBeFlag():
		return takesOpen
	}
	return takesSchema
}
