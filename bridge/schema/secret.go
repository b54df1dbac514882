package schema

import (
	"strconv"
	"strings"
)

// A schema marks a secret with writeOnly, or with the format "password".
func marksSecret(v *value) bool {
	writeOnly, format := v.get("writeOnly"), v.get("format")
	return writeOnly != nil && writeOnly.kind == 't' || format.isString() && format.text == "password"
}

// maxSecretSteps bounds the walk of [Secrets]. A value behind more than that is all secret.
const maxSecretSteps = 100_000

// Secrets returns the JSON pointers of those parts of a value that its schema marks as secret, in
// any branch, whether or not the value fits that branch. Where it cannot tell, as
// behind a reference that leads nowhere, the part is secret if the schema marks anything at all.
func Secrets(schema, v Value) map[string]bool {
	marked := map[string]bool{}
	s := &walk{root: schema.tree, meet: func(schema, _ *value, at []string) bool {
		if !marksSecret(schema) {
			return false
		}
		marked[Pointer(at...)] = true
		return true
	}}
	s.lost = func(at []string) { // an anchor, or nothing
		if anyMark(s.root, marksSecret) {
			marked[Pointer(at...)] = true
		}
	}
	if !s.through(v) {
		return map[string]bool{"": true}
	}
	return marked
}

// walk visits each part of a value with every subschema that may speak of it.
type walk struct {
	root *value
	// meet returns true where the parts below are not wanted.
	meet func(schema, part *value, at []string) bool
	// lost gets the parts whose subschema is not found; nil for nobody.
	lost func(at []string)
	// perhaps counts the branches around, in which a subschema need not hold.
	perhaps int
	seen    map[meeting]bool
	steps   int
}

// through walks a whole value, and reports whether it was not too much.
func (s *walk) through(v Value) bool {
	s.seen = map[meeting]bool{}
	s.part(s.root, v.tree, nil)
	return s.steps <= maxSecretSteps
}

// meeting is a subschema that meets a part of the value.
type meeting struct{ schema, part *value }

func (s *walk) part(schema, v *value, at []string) {
	if !schema.isObject() || v == nil || s.seen[meeting{schema, v}] || s.steps > maxSecretSteps {
		return
	}
	s.steps++
	s.seen[meeting{schema, v}] = true
	if s.meet(schema, v, at) {
		return
	}
	for _, key := range refKeywords {
		if ref := schema.get(key); ref != nil {
			s.follow(ref, v, at)
		}
	}
	for _, c := range children(schema) {
		s.into(schema, c, v, at)
	}
}

// follow walks the schema that a reference leads to.
func (s *walk) follow(ref, v *value, at []string) {
	if tokens, ok := refTokens(ref.text); ok {
		if to := s.root.lookup(tokens); to != nil {
			s.part(to, v, at)
			return
		}
	}
	if s.lost != nil {
		s.lost(at)
	}
}

// anyMark reports whether anything in a document looks like a mark.
func anyMark(v *value, marks func(*value) bool) bool {
	if v.isObject() && marks(v) {
		return true
	}
	for _, x := range v.vals {
		if anyMark(x, marks) {
			return true
		}
	}
	return false
}

// into walks the parts of a value that one keyword of its schema speaks of.
func (s *walk) into(schema *value, c child, v *value, at []string) {
	members := func(fits func(name string) bool) {
		for i, name := range v.keys {
			if v.isObject() && fits(name) {
				s.part(c.val, v.vals[i], append(at[:len(at):len(at)], name))
			}
		}
	}
	switch c.role {
	case roleInPlace, roleDependent:
		if c.keyword != "allOf" {
			s.perhaps++
			defer func() { s.perhaps-- }()
		}
		s.part(c.val, v, at)
	case roleProps:
		members(func(name string) bool { return name == c.name })
	case rolePatterns, roleMembers: // which names a pattern fits is not looked at
		named := schema.get("properties")
		members(func(name string) bool { return c.role == rolePatterns || named.get(name) == nil })
	case rolePrefix, roleElements:
		for i, item := range v.vals {
			index := strconv.Itoa(i)
			if v.isArray() && (c.role == roleElements || c.name == index) {
				s.part(c.val, item, append(at[:len(at):len(at)], index))
			}
		}
	case roleNone, roleNames, roleItems:
	}
}

// Masked stands where a secret was.
const Masked = "***"

// Mask returns a value in which the parts at these pointers are [Masked].
func (v Value) Mask(at map[string]bool) Value {
	texts := make(map[string]string, len(at))
	for pointer := range at {
		texts[pointer] = Masked
	}
	return v.Replace(texts)
}

// Replace returns a value in which texts stand at these pointers.
func (v Value) Replace(at map[string]string) Value {
	if len(at) == 0 || !v.Exists() {
		return v
	}
	out := appendMasked(nil, v, at, nil)
	masked, err := Read(out, defaultDepth)
	if err != nil { // it was read before, so it is as it was read
		return Value{}
	}
	return masked
}

func appendMasked(out []byte, v Value, texts map[string]string, at []string) []byte {
	if words, ok := texts[Pointer(at...)]; ok {
		return append(out, MustEncode(words)...)
	}
	switch {
	case v.IsObject():
		whole := []byte{'{'}
		for name, x := range v.Members() {
			whole = appendMember(whole, name, appendMasked(nil, x, texts, append(at[:len(at):len(at)], name)))
		}
		return append(append(out, whole...), '}')
	case v.IsArray():
		open := len(out)
		out = append(out, '[')
		for i, x := range v.Items() {
			if len(out) > open+1 {
				out = append(out, ',')
			}
			out = appendMasked(out, x, texts, append(at[:len(at):len(at)], strconv.Itoa(i)))
		}
		return append(out, ']')
	}
	return append(out, v.Text()...)
}

// At returns the part of a value that a JSON pointer names, or no value.
func (v Value) At(pointer string) Value {
	tokens, ok := SplitPointer(pointer)
	if !ok || !v.Exists() {
		return Value{}
	}
	return v.child(v.tree.lookup(tokens))
}

// Step returns the member, or the element of an array, that one token of a JSON pointer names, or
// no value.
func (v Value) Step(token string) Value { return v.child(v.tree.lookup([]string{token})) }

// LeavesAt returns the leaves of those parts of a value that JSON pointers name.
func (v Value) LeavesAt(pointers []string) (all []string) {
	for _, at := range pointers {
		all = append(all, v.At(at).Leaves()...)
	}
	return all
}

// Leaves returns the texts and numbers in a value: what a secret looks like where it is repeated.
func (v Value) Leaves() (all []string) {
	switch {
	case v.IsString():
		return []string{v.String()}
	case v.IsObject() || v.IsArray():
		for _, x := range v.tree.vals {
			all = append(all, v.child(x).Leaves()...)
		}
		return all
	case v.Exists() && !v.IsNull() && strings.ContainsAny(string(v.text[:1]), "-0123456789"):
		return []string{string(v.text)}
	}
	return nil
}
