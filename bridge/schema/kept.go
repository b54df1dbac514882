package schema

import (
	"encoding/json"
	"runtime"
	"sync"
)

// Kept is what is kept of an admitted schema for another process of the same program, which has not
// to compile it again before it is used.
type Kept struct {
	JSON       json.RawMessage
	Subschemas int
	Arguments  bool
	Objects    bool
}

// Kept returns what to keep.
func (s *Schema) Kept() Kept { return Kept{s.raw, s.nodes, s.arguments, s.objects} }

// Schema is the schema again. The limits must be those by which it was admitted.
func (k Kept) Schema(l Limits) *Schema {
	s := &Schema{raw: k.JSON, limits: l.withDefaults(), nodes: k.Subschemas, arguments: k.Arguments, objects: k.Objects, last: &lastForm{}}
	s.ready()
	return s
}

// ready sets what each schema has beside what it was made of.
func (s *Schema) ready() {
	runtime.AddCleanup(s, forms.drop, s.last)
	s.adapted = sync.OnceValue(func() *ClientForm { return s.clientForm(false) })
}
