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
	s := &secrets{root: schema.tree, marked: map[string]bool{}, seen: map[meeting]bool{}}
	s.walk(schema.tree, v.tree, nil)
	if s.steps > maxSecretSteps {
		return map[string]bool{"": true}
	}
	return s.marked
}

type secrets struct {
	root   *value
	marked map[string]bool
	seen   map[meeting]bool
	steps  int
}

// meeting is a subschema that meets a part of the value.
type meeting struct{ schema, part *value }

func (s *secrets) walk(schema, v *value, at []string) {
	if !schema.isObject() || v == nil || s.seen[meeting{schema, v}] || s.steps > maxSecretSteps {
		return
	}
	s.steps++
	s.seen[meeting{schema, v}] = true
	if marksSecret(schema) {
		s.marked[Pointer(at...)] = true
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
func (s *secrets) follow(ref, v *value, at []string) {
	if tokens, ok := refTokens(ref.text); ok {
		if to := s.root.lookup(tokens); to != nil {
			s.walk(to, v, at)
			return
		}
	}
	if anySecret(s.root) { // an anchor, or nothing
		s.marked[Pointer(at...)] = true
	}
}

// anySecret reports whether anything in a document looks like a mark.
func anySecret(v *value) bool {
	if v.isObject() && marksSecret(v) {
		return true
	}
	for _, x := range v.vals {
		if anySecret(x) {
			return true
		}
	}
	return false
}

// into walks the parts of a value that one keyword of its schema speaks of.
func (s *secrets) into(schema *value, c child, v *value, at []string) {
	members := func(fits func(name string) bool) {
		for i, name := range v.keys {
			if v.isObject() && fits(name) {
				s.walk(c.val, v.vals[i], append(at[:len(at):len(at)], name))
			}
		}
	}
	switch c.role {
	case roleInPlace, roleDependent:
		s.walk(c.val, v, at)
	case roleProps:
		members(func(name string) bool { return name == c.name })
	case rolePatterns, roleMembers: // which names a pattern fits is not looked at
		named := schema.get("properties")
		members(func(name string) bool { return c.role == rolePatterns || named.get(name) == nil })
	case rolePrefix, roleElements:
		for i, item := range v.vals {
			index := strconv.Itoa(i)
			if v.isArray() && (c.role == roleElements || c.name == index) {
				s.walk(c.val, item, append(at[:len(at):len(at)], index))
			}
		}
	case roleNone, roleNames, roleItems:
	}
}

// Masked stands where a secret was.
const Masked = "***"

// Mask returns a value in which the parts at these pointers are [Masked].
func (v Value) Mask(at map[string]bool) Value {
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

func appendMasked(out []byte, v Value, secret map[string]bool, at []string) []byte {
	if secret[Pointer(at...)] {
		return append(out, strconv.Quote(Masked)...)
	}
	switch {
	case v.IsObject():
		whole := []byte{'{'}
		for name, x := range v.Members() {
			whole = appendMember(whole, name, appendMasked(nil, x, secret, append(at[:len(at):len(at)], name)))
		}
		return append(append(out, whole...), '}')
	case v.IsArray():
		open := len(out)
		out = append(out, '[')
		for i, x := range v.Items() {
			if len(out) > open+1 {
				out = append(out, ',')
			}
			out = appendMasked(out, x, secret, append(at[:len(at):len(at)], strconv.Itoa(i)))
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
