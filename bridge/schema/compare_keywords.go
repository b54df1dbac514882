package schema

import (
	"net/url"
	"slices"
	"strings"
)

// objects compares two schemas keyword by keyword. A schema is the conjunction of its keywords
// (groups of them, where one changes the meaning of another), so the whole is wider when every part
// is.
func (c *comparison) objects(a, b *value, strict bool, nesting int) {
	if c.draft < 2019 && (a.get("$ref") != nil || b.get("$ref") != nil) {
		// What stands beside a reference is ignored in these drafts.
		if a.get("$ref") == nil || b.get("$ref") == nil {
			c.doubt(place{a: a, b: b})
			return
		}
		c.references(a, b, strict, nesting)
		return
	}
	c.references(a, b, strict, nesting)
	c.types(a, b, strict)
	c.choices(a, b, strict)
	c.limits(a, b, strict)
	c.names(a, b, "required", strict)
	c.members(a, b, strict, nesting)
	c.elements(a, b, strict, nesting)
	c.schemas(a.get("propertyNames"), b.get("propertyNames"), strict, nesting)
	c.branches(a, b, strict, nesting)
	c.wholes(a, b, strict, nesting)
	for _, v := range []*value{a, b} {
		for _, key := range v.keys {
			if !understood[key] && !annotations[key] && !equal(a.get(key), b.get(key)) {
				c.doubt(place{a: a, b: b, key: key})
			}
		}
	}
}

// understood are the keywords that a function here looks at.
var understood = func() map[string]bool {
	m := map[string]bool{
		"$ref": true, "type": true, "enum": true, "const": true, "required": true,
		"properties": true, "patternProperties": true, "additionalProperties": true, "propertyNames": true,
		"items": true, "prefixItems": true, "additionalItems": true, "allOf": true, "anyOf": true,
	}
	for key := range bounds {
		m[key] = true
	}
	for _, key := range conjuncts {
		m[key] = true
	}
	for _, group := range groups {
		for _, key := range group {
			m[key] = true
		}
	}
	return m
}()

// presence handles a keyword that one side lacks, and reports whether both have it.
func (c *comparison) presence(a, b *value, key string, strict bool, others ...string) bool {
	va, vb := a.get(key), b.get(key)
	at := place{a, b, key, others}
	switch {
	case va == nil && vb == nil:
		return false
	case va == nil:
		c.narrow(strict, at)
		return false
	case vb == nil:
		c.widen(strict, at)
		return false
	}
	return true
}

// references compares what "$ref" leads to, wherever that stands.
func (c *comparison) references(a, b *value, strict bool, nesting int) {
	if !c.presence(a, b, "$ref", strict) {
		return
	}
	ta, tb := c.a.target(a.get("$ref")), c.b.target(b.get("$ref"))
	if ta == nil || tb == nil {
		c.doubt(place{a: a, b: b, key: "$ref"})
		return
	}
	c.schemas(ta, tb, strict, nesting)
}

func (s *side) target(ref *value) *value {
	if !ref.isString() {
		return nil
	}
	if tokens, ok := refTokens(ref.text); ok {
		return s.root.lookup(tokens)
	}
	name, local := strings.CutPrefix(ref.text, "#")
	if name, err := url.PathUnescape(name); local && err == nil {
		return s.anchors[name]
	}
	return nil
}

// typeSet is a set of types, in which "number" is two: whole numbers and the others.
type typeSet uint8

const (
	typeInteger typeSet = 1 << iota
	typeFraction
	typeNull
	typeBool
	typeString
	typeArray
	typeObject
	typeAny = 1<<iota - 1
)

var typeNames = map[string]typeSet{
	"integer": typeInteger, "number": typeInteger | typeFraction, "null": typeNull, "boolean": typeBool,
	"string": typeString, "array": typeArray, "object": typeObject,
}

func (c *comparison) types(a, b *value, strict bool) {
	sa, okA := typesOf(a.get("type"))
	sb, okB := typesOf(b.get("type"))
	at := place{a: a, b: b, key: "type"}
	if !okA || !okB {
		c.doubt(at)
		return
	}
	if sb&^sa != 0 {
		c.widen(strict, at)
	}
	if sa&^sb != 0 {
		c.narrow(strict, at)
	}
}

// typesOf reads the keyword "type". Where that is malformed, all types are allowed, and ok is
// false.
func typesOf(t *value) (set typeSet, ok bool) {
	names := []*value{t}
	switch {
	case t == nil:
		return typeAny, true
	case t.isArray():
		names = t.vals
	}
	for _, name := range names {
		one := typeNames[name.text]
		if one == 0 || !name.isString() {
			return typeAny, false
		}
		set |= one
	}
	return set, true
}

// choices compares "enum" and "const", one of which may have become the other.
func (c *comparison) choices(a, b *value, strict bool) {
	la, okA := choice(a)
	lb, okB := choice(b)
	at := place{a, b, "enum", []string{"const"}}
	if b.get("enum") == nil && (b.get("const") != nil || a.get("enum") == nil) {
		at.key, at.others[0] = "const", "enum"
	}
	if !okA || !okB {
		if !equal(a.get("enum"), b.get("enum")) || !equal(a.get("const"), b.get("const")) {
			c.doubt(at)
		}
		return
	}
	switch {
	case la == nil && lb == nil:
	case la == nil:
		c.narrow(strict, at)
	case lb == nil:
		c.widen(strict, at)
	default:
		c.lists(la, lb, at, func() { c.widen(strict, at) }, func() { c.narrow(strict, at) })
	}
}

// lists tells what is new in a list, and what is gone.
func (c *comparison) lists(a, b []*value, at place, fresh, gone func()) {
	if len(a)*len(b) > maxProduct {
		c.doubt(at)
		return
	}
	if len(lacking(a, b)) > 0 {
		fresh()
	}
	if len(lacking(b, a)) > 0 {
		gone()
	}
}

// lacking returns what a list does not have of another.
func lacking(list, of []*value) (all []*value) {
	for _, v := range of {
		if !slices.ContainsFunc(list, func(item *value) bool { return equal(item, v) }) {
			all = append(all, v)
		}
	}
	return all
}

// choice lists what a schema leaves to choose from; nil is everything. Not ok: both keywords, or
// malformed.
func choice(v *value) (list []*value, ok bool) {
	enum, con := v.get("enum"), v.get("const")
	switch {
	case enum == nil && con == nil:
		return nil, true
	case enum == nil:
		return []*value{con}, true
	case con == nil && enum.isArray() && len(enum.vals) > 0:
		return enum.vals, true
	}
	return nil, false
}

// bounds are keywords with one number. The sign says which way is wider: +1 for upper bounds.
var bounds = map[string]int{
	"maximum": 1, "exclusiveMaximum": 1, "maxLength": 1, "maxItems": 1, "maxProperties": 1,
	"minimum": -1, "exclusiveMinimum": -1, "minLength": -1, "minItems": -1, "minProperties": -1,
}

func (c *comparison) limits(a, b *value, strict bool) {
	if bools(a, b) {
		// Draft 04 wrote exclusiveMaximum: true, which changes what maximum means.
		for key := range bounds {
			if !equal(a.get(key), b.get(key)) {
				c.doubt(place{a: a, b: b, key: key})
			}
		}
		return
	}
	for key, sign := range bounds {
		if !c.presence(a, b, key, strict) {
			continue
		}
		va, vb := a.get(key), b.get(key)
		at := place{a: a, b: b, key: key}
		if va.kind != '0' || vb.kind != '0' {
			c.doubt(at)
			continue
		}
		switch d := readDecimal(vb.text).compare(readDecimal(va.text)) * sign; {
		case d > 0:
			c.widen(strict, at)
		case d < 0:
			c.narrow(strict, at)
		}
	}
}

func bools(schemas ...*value) bool {
	return slices.ContainsFunc(schemas, func(v *value) bool {
		return v.get("exclusiveMaximum").isBool() || v.get("exclusiveMinimum").isBool()
	})
}

// names compares two lists of which every name has to be there.
func (c *comparison) names(a, b *value, key string, strict bool) {
	at := place{a: a, b: b, key: key}
	var lists [2][]*value
	for i, v := range []*value{a.get(key), b.get(key)} {
		if v != nil && !v.isArray() {
			c.doubt(at)
			return
		}
		if v != nil {
			lists[i] = v.vals
		}
	}
	c.lists(lists[0], lists[1], at, func() { c.narrow(strict, at) }, func() { c.widen(strict, at) })
}

// referred compares what keywords refer to that are taken as they are.
func (c *comparison) referred(a, b *value, nesting int) {
	for _, key := range []string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"} {
		if !equal(a.get(key), b.get(key)) {
			c.doubt(place{a: a, b: b, key: key})
		}
	}
	for _, key := range []string{"$defs", "definitions"} {
		if c.presence(a, b, key, true) {
			c.taken(a, b, key, nesting)
		}
	}
}

// branches compares "allOf" and "anyOf" branch by branch: neither has a branch that can make the
// whole narrower by getting wider itself.
func (c *comparison) branches(a, b *value, strict bool, nesting int) {
	for _, key := range []string{"allOf", "anyOf"} {
		if !c.presence(a, b, key, strict) {
			continue
		}
		va, vb := a.get(key), b.get(key)
		at := place{a: a, b: b, key: key}
		if !va.isArray() || !vb.isArray() {
			c.doubt(at)
			continue
		}
		more, fewer := c.narrow, c.widen
		if key == "anyOf" {
			more, fewer = c.widen, c.narrow
		}
		switch {
		case len(vb.vals) > len(va.vals):
			more(strict, at)
		case len(vb.vals) < len(va.vals):
			fewer(strict, at)
		}
		for i := range min(len(va.vals), len(vb.vals)) {
			c.schemas(va.vals[i], vb.vals[i], strict, nesting)
		}
	}
}

// conjuncts are keywords that can be added and removed, but not compared unless they are equal.
// "format" decides nothing here; it does for programs that generate values from a schema.
var conjuncts = []string{
	"pattern", "format", "multipleOf", "uniqueItems", "contentEncoding", "contentMediaType", "contentSchema",
	"dependentRequired", "oneOf", "not", "dependentSchemas", "dependencies",
}

// groups are keywords that mean something only together with the first.
var groups = [][]string{{"contains", "minContains", "maxContains"}, {"if", "then", "else"}}

// wholes compares keywords that are taken as they are. Schemas inside them are still compared as
// schemas, strictly, so that a description below "oneOf" stays a description.
func (c *comparison) wholes(a, b *value, strict bool, nesting int) {
	for _, key := range conjuncts {
		if c.presence(a, b, key, strict) {
			c.taken(a, b, key, nesting)
		}
	}
	for _, group := range groups {
		if !c.presence(a, b, group[0], strict, group[1:]...) {
			continue
		}
		for _, key := range group {
			va, vb := a.get(key), b.get(key)
			if (va == nil) != (vb == nil) {
				c.doubt(place{a: a, b: b, key: key})
			} else if va != nil {
				c.taken(a, b, key, nesting)
			}
		}
	}
}

// taken compares a keyword that both have, and that is taken as it is.
func (c *comparison) taken(inA, inB *value, key string, nesting int) {
	a, b := inA.get(key), inB.get(key)
	kw, holds := subschemaKeywords[key]
	switch {
	case holds && kw.shape == shapeOne:
		c.schemas(a, b, true, nesting)
	case holds && kw.shape == shapeList && a.isArray() && b.isArray() && len(a.vals) == len(b.vals):
		for i := range a.vals {
			c.schemas(a.vals[i], b.vals[i], true, nesting)
		}
	case holds && kw.shape == shapeMap && a.isObject() && b.isObject() && sameNames(a, b):
		for i, name := range a.keys {
			if va, vb := a.vals[i], b.get(name); va.isSchema() && vb.isSchema() {
				c.schemas(va, vb, true, nesting)
			} else if !equal(va, vb) {
				c.doubt(place{a: a, b: b, key: name})
			}
		}
	case !equal(a, b):
		c.doubt(place{a: inA, b: inB, key: key})
	}
}
