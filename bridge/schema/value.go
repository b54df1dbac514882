package schema

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// Value is a JSON value that was read and bounded once, with the text that it was read from.
// Checking, digesting and taking it apart read nothing again. It is immutable, and safe for
// concurrent use; its text must not be changed. The zero Value is not a value: it has no text, no
// members and no kind.
type Value struct {
	tree *value
	text []byte
}

// Read reads exactly one JSON value with the rules of [CheckJSON]. The error is a [*SyntaxError].
func Read(b []byte, maxDepth int) (Value, error) {
	v, err := parse(b, maxDepth)
	if err != nil {
		return Value{}, err
	}
	return Value{tree: v, text: b[v.from:v.to:v.to]}, nil
}

// Text returns the value as it was written, without the white space around it; nil when there is
// none.
func (v Value) Text() json.RawMessage { return v.text }

// Exists reports whether there is a value; null is one.
func (v Value) Exists() bool { return v.tree != nil }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.tree.isObject() }

// IsArray reports whether it is an array.
func (v Value) IsArray() bool { return v.tree.isArray() }

// IsString reports whether it is a string.
func (v Value) IsString() bool { return v.tree.isString() }

// IsNull reports whether it is null.
func (v Value) IsNull() bool { return v.tree != nil && v.tree.kind == 'n' }

// String returns the text of a string, and "" for any other value.
func (v Value) String() string {
	if !v.IsString() {
		return ""
	}
	return v.tree.text
}

// Get returns the member of that name, or no value.
func (v Value) Get(name string) Value {
	return v.child(v.tree.get(name))
}

// Names lists the names of an object's members, in their order.
func (v Value) Names() []string {
	if !v.IsObject() {
		return nil
	}
	return slices.Clone(v.tree.keys)
}

// Members yields the members of an object, in their order.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if !v.IsObject() {
			return
		}
		for i, name := range v.tree.keys {
			if !yield(name, v.child(v.tree.vals[i])) {
				return
			}
		}
	}
}

// Elements yields the elements of an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, item := range v.Items() {
			if !yield(item) {
				return
			}
		}
	}
}

// First returns the first element of an array, or no value.
func (v Value) First() Value {
	if !v.IsArray() || len(v.tree.vals) == 0 {
		return Value{}
	}
	return v.child(v.tree.vals[0])
}

// Items yields the elements of an array with their indices.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if !v.IsArray() {
			return
		}
		for i, item := range v.tree.vals {
			if !yield(i, v.child(item)) {
				return
			}
		}
	}
}

// Subschemas yields what stands where a schema has schemas, in its order.
func (v Value) Subschemas() iter.Seq[Subschema] {
	return func(yield func(Subschema) bool) {
		if !v.IsObject() {
			return
		}
		for _, c := range children(v.tree) {
			if !yield(Subschema{v.child(c.val), Pointer(c.tokens()...), c.name, c.role == roleProps}) {
				return
			}
		}
	}
}

// Subschema is a schema in another one.
type Subschema struct {
	Value   Value
	Pointer string // RFC 6901, from the one around it
	Name    string // the name or the index in its keyword, where that holds several
	// Property is true when the keyword is "properties".
	Property bool
}

// bytesOfTree estimates the memory of a value besides its text.
const bytesOfTree = 120

// Bytes estimates the value's memory.
func (v Value) Bytes() int64 {
	if v.tree == nil {
		return 0
	}
	return 2*int64(len(v.text)) + int64(v.tree.size)*bytesOfTree // the texts in the tree are copies
}

// Len returns how many members or elements there are.
func (v Value) Len() int {
	if v.tree == nil {
		return 0
	}
	return len(v.tree.vals)
}

// child is a part of v with its own part of the text.
func (v Value) child(c *value) Value {
	if c == nil {
		return Value{}
	}
	// Offsets count from the beginning of what was read; v may be a part of that itself.
	from, to := c.from-v.tree.from, c.to-v.tree.from
	return Value{tree: c, text: v.text[from:to:to]}
}

// Canonical returns the bytes to digest or compare, as [Canonical] does.
func (v Value) Canonical() []byte {
	if v.tree == nil {
		return nil
	}
	return v.tree.appendCanonical(make([]byte, 0, len(v.text)))
}

// Equal reports whether both are the same value, however they are written.
func (v Value) Equal(o Value) bool { return bytes.Equal(v.Canonical(), o.Canonical()) }

// Member is a member to add to an object: its name, and the text of its value.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Edit returns an object with members added, in that order, and others dropped. Anything else is
// returned as it is.
func (v Value) Edit(drop func(name string) bool, add ...Member) (Value, error) {
	if !v.IsObject() {
		return v, nil
	}
	out := []byte{'{'}
	for name, x := range v.Members() {
		if !drop(name) {
			out = appendMember(out, name, x.text)
		}
	}
	for _, m := range add {
		out = appendMember(out, m.Name, m.Value)
	}
	return Read(append(out, '}'), defaultDepth)
}
