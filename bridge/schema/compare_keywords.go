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
			c.unknown = true
			return
		}
		c.references(a, b, strict, nesting)
		return
	}
	c.references(a, b, strict, nesting)
	c.types(a, b, strict)
	c.choices(a, b, strict)
	c.limits(a, b, strict)
	c.names(a.get("required"), b.get("required"), strict)
	c.members(a, b, strict, nesting)
	c.elements(a, b, strict, nesting)
	c.schemas(a.get("propertyNames"), b.get("propertyNames"), strict, nesting)
	c.branches(a, b, strict, nesting)
	c.wholes(a, b, strict, nesting)
	for _, v := range []*value{a, b} {
		for _, key := range v.keys {
			if !understood[key] && !annotations[key] && !equal(a.get(key), b.get(key)) {
				c.unknown = true
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
func (c *comparison) presence(a, b *value, strict bool) bool {
	switch {
	case a == nil && b == nil:
		return false
	case a == nil:
		c.narrow(strict)
		return false
	case b == nil:
		c.widen(strict)
		return false
	}
	return true
}

// references compares what "$ref" leads to, wherever that stands.
func (c *comparison) references(a, b *value, strict bool, nesting int) {
	ra, rb := a.get("$ref"), b.get("$ref")
	if !c.presence(ra, rb, strict) {
		return
	}
	ta, tb := c.a.target(ra), c.b.target(rb)
	if ta == nil || tb == nil {
		c.unknown = true
		return
	}
	c.schemas(ta, tb, strict, nesting)
}

func (s *side) target(ref *value) *value {
	if !ref.isString() {
		return nil
	}
	fragment, ok := strings.CutPrefix(ref.text, "#")
	if !ok {
		return nil
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	if fragment != "" && fragment[0] != '/' {
		return s.anchors[fragment]
	}
	tokens, ok := splitPointer(fragment)
	if !ok {
		return nil
	}
	return s.root.lookup(tokens)
}

// Types as sets in which "number" is two: whole numbers and the others.
const (
	setInteger = 1 << iota
	setFraction
	setNull
	setBool
	setString
	setArray
	setObject
	setAll = 1<<iota - 1
)

var typeBits = map[string]int{
	"integer": setInteger, "number": setInteger | setFraction, "null": setNull, "boolean": setBool,
	"string": setString, "array": setArray, "object": setObject,
}

func (c *comparison) types(a, b *value, strict bool) {
	sa, okA := typeMask(a.get("type"))
	sb, okB := typeMask(b.get("type"))
	if !okA || !okB {
		c.unknown = true
		return
	}
	if sb&^sa != 0 {
		c.widen(strict)
	}
	if sa&^sb != 0 {
		c.narrow(strict)
	}
}

func typeMask(t *value) (mask int, ok bool) {
	switch {
	case t == nil:
		return setAll, true
	case t.isString():
		mask, ok = typeBits[t.text]
		return mask, ok
	case t.isArray():
		for _, item := range t.vals {
			bits, ok := typeBits[item.text]
			if !ok || !item.isString() {
				return 0, false
			}
			mask |= bits
		}
		return mask, true
	}
	return 0, false
}

// choices compares "enum" and "const", one of which may have become the other.
func (c *comparison) choices(a, b *value, strict bool) {
	la, okA := choice(a)
	lb, okB := choice(b)
	if !okA || !okB {
		if !equal(a.get("enum"), b.get("enum")) || !equal(a.get("const"), b.get("const")) {
			c.unknown = true
		}
		return
	}
	switch {
	case la == nil && lb == nil:
		return
	case la == nil:
		c.narrow(strict)
		return
	case lb == nil:
		c.widen(strict)
		return
	}
	if len(la)*len(lb) > maxProduct {
		c.unknown = true
		return
	}
	if slices.ContainsFunc(lb, func(v *value) bool { return !contains(la, v) }) {
		c.widen(strict)
	}
	if slices.ContainsFunc(la, func(v *value) bool { return !contains(lb, v) }) {
		c.narrow(strict)
	}
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
				c.unknown = true
			}
		}
		return
	}
	for key, sign := range bounds {
		va, vb := a.get(key), b.get(key)
		if !c.presence(va, vb, strict) {
			continue
		}
		if va.kind != '0' || vb.kind != '0' {
			c.unknown = true
			continue
		}
		switch d := readDecimal(vb.text).compare(readDecimal(va.text)) * sign; {
		case d > 0:
			c.widen(strict)
		case d < 0:
			c.narrow(strict)
		}
	}
}

func bools(schemas ...*value) bool {
	for _, v := range schemas {
		if v.get("exclusiveMaximum").isBool() || v.get("exclusiveMinimum").isBool() {
			return true
		}
	}
	return false
}

// names compares two lists of which every name has to be there.
func (c *comparison) names(a, b *value, strict bool) {
	if a == nil && b == nil {
		return
	}
	for _, v := range []*value{a, b} {
		if v != nil && (!v.isArray()) {
			c.unknown = true
			return
		}
	}
	var la, lb []*value
	if a != nil {
		la = a.vals
	}
	if b != nil {
		lb = b.vals
	}
	if len(la)*len(lb) > maxProduct {
		c.unknown = true
		return
	}
	if slices.ContainsFunc(lb, func(v *value) bool { return !contains(la, v) }) {
		c.narrow(strict)
	}
	if slices.ContainsFunc(la, func(v *value) bool { return !contains(lb, v) }) {
		c.widen(strict)
	}
}

// members compares what an object may hold. A name that only one side lists meets
// "additionalProperties" on the other.
func (c *comparison) members(a, b *value, strict bool, nesting int) {
	pa, pb := a.get("properties"), b.get("properties")
	qa, qb := a.get("patternProperties"), b.get("patternProperties")
	for _, v := range []*value{pa, pb, qa, qb} {
		if v != nil && !v.isObject() {
			c.unknown = true
			return
		}
	}
	if !sameNames(qa, qb) {
		c.unknown = true
		return
	}
	restA, restB := a.get("additionalProperties"), b.get("additionalProperties")
	c.schemas(restA, restB, strict, nesting)
	if qa != nil {
		for i, key := range qa.keys {
			c.schemas(qa.vals[i], qb.get(key), strict, nesting)
		}
	}
	patterns := qa != nil && len(qa.keys) > 0
	each := func(from, other *value, compare func(mine, theirs *value)) {
		if from == nil {
			return
		}
		for i, key := range from.keys {
			var theirs *value
			if other != nil {
				theirs = other.get(key)
			}
			compare(from.vals[i], theirs)
		}
	}
	each(pa, pb, func(mine, theirs *value) {
		switch {
		case theirs != nil:
			c.schemas(mine, theirs, strict, nesting)
		case patterns:
			c.unknown = true
		default:
			c.schemas(mine, restB, strict, nesting)
		}
	})
	each(pb, pa, func(mine, theirs *value) {
		switch {
		case theirs != nil: // done
		case patterns:
			c.unknown = true
		case c.documented && (restA == nil || trivial(restA)):
			c.widen(strict)
		default:
			c.schemas(restA, mine, strict, nesting)
		}
	})
}

func sameNames(a, b *value) bool {
	count := func(v *value) int {
		if v == nil {
			return 0
		}
		return len(v.keys)
	}
	if count(a) != count(b) {
		return false
	}
	if count(a) == 0 {
		return true
	}
	for _, key := range a.keys {
		if b.get(key) == nil {
			return false
		}
	}
	return true
}

// elements compares what an array may hold, index by index and then the rest.
func (c *comparison) elements(a, b *value, strict bool, nesting int) {
	firstA, restA, okA := c.layout(a)
	firstB, restB, okB := c.layout(b)
	if !okA || !okB {
		c.unknown = true
		return
	}
	for i := range max(len(firstA), len(firstB)) {
		va, vb := restA, restB
		if i < len(firstA) {
			va = firstA[i]
		}
		if i < len(firstB) {
			vb = firstB[i]
		}
		c.schemas(va, vb, strict, nesting)
	}
	c.schemas(restA, restB, strict, nesting)
}

// layout reads the keywords for elements in either generation.
func (c *comparison) layout(v *value) (first []*value, rest *value, ok bool) {
	items, prefix, additional := v.get("items"), v.get("prefixItems"), v.get("additionalItems")
	if c.draft >= 2020 {
		if items.isArray() || prefix != nil && !prefix.isArray() {
			return nil, nil, false
		}
		if prefix != nil {
			first = prefix.vals
		}
		return first, items, true
	}
	if items.isArray() {
		return items.vals, additional, true
	}
	return nil, items, true
}

// referred compares what keywords refer to that are taken as they are.
func (c *comparison) referred(a, b *value, nesting int) {
	for _, key := range []string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"} {
		c.unknown = c.unknown || !equal(a.get(key), b.get(key))
	}
	for _, key := range []string{"$defs", "definitions"} {
		if c.presence(a.get(key), b.get(key), true) {
			c.whole(key, a.get(key), b.get(key), nesting)
		}
	}
}

// branches compares "allOf" and "anyOf" branch by branch: neither has a branch that can make the
// whole narrower by getting wider itself.
func (c *comparison) branches(a, b *value, strict bool, nesting int) {
	for _, key := range []string{"allOf", "anyOf"} {
		va, vb := a.get(key), b.get(key)
		if !c.presence(va, vb, strict) {
			continue
		}
		if !va.isArray() || !vb.isArray() {
			c.unknown = true
			continue
		}
		more, fewer := c.narrow, c.widen
		if key == "anyOf" {
			more, fewer = c.widen, c.narrow
		}
		switch {
		case len(vb.vals) > len(va.vals):
			more(strict)
		case len(vb.vals) < len(va.vals):
			fewer(strict)
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
		if c.presence(a.get(key), b.get(key), strict) {
			c.whole(key, a.get(key), b.get(key), nesting)
		}
	}
	for _, group := range groups {
		if !c.presence(a.get(group[0]), b.get(group[0]), strict) {
			continue
		}
		for _, key := range group {
			va, vb := a.get(key), b.get(key)
			if (va == nil) != (vb == nil) {
				c.unknown = true
			} else if va != nil {
				c.whole(key, va, vb, nesting)
			}
		}
	}
}

func (c *comparison) whole(key string, a, b *value, nesting int) {
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
				c.unknown = true
			}
		}
	case !equal(a, b):
		c.unknown = true
	}
}
