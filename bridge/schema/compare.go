package schema

import "cmp"

// Direction says which way the values of a schema travel. A request may accept more than before, a
// response may promise more than before; the other way round is a break.
type Direction int

// The two directions.
const (
	Request Direction = iota
	Response
)

// Change classifies a new schema for a user of the old one, in the terms of semantic versioning.
type Change int

// The changes, in order.
const (
	Same  Change = iota // the same document, the order of members aside
	Patch               // the same values; other words about them
	Minor               // every value that was right still is
	Major               // anything else, and everything that cannot be decided
)

// String returns the change in lower case.
func (c Change) String() string {
	switch c {
	case Same:
		return "same"
	case Patch:
		return "patch"
	case Minor:
		return "minor"
	default:
		return "major"
	}
}

// Compare returns what it means to replace old by new, for the number of a version. It never calls
// a change smaller than it is: below Major, a value that old documents is accepted by new
// (Request), or the other way round (Response). It reads both the way [Compile] does and expects
// that both compile; what does not parse is Major. A rewrite that means the same (a property moved
// behind a "$ref") is Major too, because it is not followed.
//
// One thing is left to [Accepts]: an optional property that is added to a request whose schema
// leaves other names open is Minor, as authors mean it, although any value was accepted under that
// name before.
func Compare(old, new []byte, d Direction) Change { return compare(old, new, d, d == Request) }

func compare(old, new []byte, d Direction, documented bool) Change {
	a, b, err := readBoth(old, new)
	switch {
	case err != nil:
		return Major
	case equal(a, b):
		return Same
	}
	return relate(a, b, documented, false).change(d)
}

// readBoth reads two schemas as [Compile] does.
func readBoth(old, new []byte) (a, b *value, err error) {
	if a, err = parse(old, defaultDepth); err != nil {
		return nil, nil, err
	}
	if b, err = parse(new, defaultDepth); err != nil {
		return nil, nil, err
	}
	clean(a)
	clean(b)
	return a, b, nil
}

// effect states how a difference changes the set of accepted values.
type effect struct{ wider, narrower, unknown bool }

func (e effect) and(f effect) effect {
	return effect{e.wider || f.wider, e.narrower || f.narrower, e.unknown || f.unknown}
}

func (e effect) change(d Direction) Change {
	if d == Response {
		e.wider, e.narrower = e.narrower, e.wider
	}
	switch {
	case e.unknown || e.narrower:
		return Major
	case e.wider:
		return Minor
	default:
		return Patch
	}
}

// Accepts reports whether a caller that uses the pinned request schema can be served by the live
// one: everything that pinned accepts, live accepts. False also when that cannot be decided.
func Accepts(pinned, live []byte) bool { return compare(pinned, live, Request, false) < Major }

// relate compares two documents that were cleaned. With list it notes each difference, and goes on
// where it would stop otherwise.
func relate(a, b *value, documented, list bool) *comparison {
	draftA, errA := rootDraft(a)
	draftB, errB := rootDraft(b)
	c := &comparison{draft: draftA, documented: documented, list: list, seen: map[pair]bool{}}
	if errA != nil || errB != nil || draftA != draftB {
		c.doubt(place{a: a, b: b})
		return c
	}
	c.a.open(a)
	c.b.open(b)
	// What is unevaluated depends on every other keyword, and a dynamic reference on the schema
	// that refers to it.
	c.strict = c.a.tangled || c.b.tangled
	c.schemas(a, b, c.strict, 0)
	return c
}

type side struct {
	root    *value
	anchors map[string]*value
	tangled bool
}

func (s *side) open(root *value) {
	s.root, s.anchors = root, map[string]*value{}
	s.visit(root)
}

func (s *side) visit(v *value) {
	if !v.isObject() {
		return
	}
	for _, key := range []string{"unevaluatedProperties", "unevaluatedItems", "$dynamicRef",
		"$recursiveRef"} {
		if v.get(key) != nil {
			s.tangled = true
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.get(key); a.isString() {
			s.anchors[a.text] = v
		}
	}
	for _, key := range []string{"$id", "id"} {
		if id := v.get(key); id.isString() && len(id.text) > 1 && id.text[0] == '#' {
			s.anchors[id.text[1:]] = v
		}
	}
	for _, c := range children(v) {
		s.visit(c.val)
	}
}

// pair is two subschemas under comparison. The same pair can be reached by references without end.
type pair struct {
	a, b   *value
	strict bool
}

const (
	maxPairs   = 20_000
	maxNesting = 500
	maxProduct = 1_000_000 // of the lengths of two lists
)

// comparison adds up differences. In strict mode every difference that is more than words is
// unknown: below "not", "oneOf" and the like wider and narrower trade places or lose their meaning.
//
// Each pair is looked at once per mode; what it contributes is in the sum already when it is met
// again. That also ends recursion: a schema that contains itself differs where its parts differ,
// and nowhere else.
type comparison struct {
	a, b   side
	draft  int
	strict bool
	// documented is true when names that a does not list do not count.
	documented bool
	seen       map[pair]bool
	effect

	list   bool
	notes  []note
	hidden []place // what was compared for a note about something around it
}

// place says where the documents differ: in a keyword of two schemas, or in the schemas themselves
// when there is no key. Others are keywords that were looked at together with it.
type place struct {
	a, b   *value
	key    string
	others []string
}

type note struct {
	place
	effect
}

// widen, narrow note a difference that is understood, if the mode allows for that, and doubt one
// that is not.
func (c *comparison) widen(strict bool, at place) {
	c.note(note{at, effect{wider: true, unknown: strict}})
}

func (c *comparison) narrow(strict bool, at place) {
	c.note(note{at, effect{narrower: true, unknown: strict}})
}

func (c *comparison) doubt(at place) { c.note(note{at, effect{unknown: true}}) }

func (c *comparison) note(n note) {
	c.effect = c.and(n.effect)
	if c.list {
		c.notes = append(c.notes, n)
	}
}

// as makes one note, about a place, of all that a function finds.
func (c *comparison) as(at place, find func()) {
	from := len(c.notes)
	find()
	if len(c.notes) == from {
		return
	}
	one := note{place: at}
	for _, n := range c.notes[from:] {
		one.effect = one.and(n.effect)
		c.hidden = append(c.hidden, n.place)
	}
	c.notes = append(c.notes[:from], one)
}

var anything = &value{kind: 't', size: 1}

// schemas compares two subschemas; nil stands for one that is not there and accepts everything.
func (c *comparison) schemas(a, b *value, strict bool, nesting int) {
	at := place{a: a, b: b}
	if c.strict && (a == nil) != (b == nil) { // what is listed is evaluated, whatever it says
		c.doubt(at)
		return
	}
	a, b = cmp.Or(a, anything), cmp.Or(b, anything)
	p := pair{a, b, strict}
	if c.unknown && !c.list || c.seen[p] {
		return
	}
	if len(c.seen) >= maxPairs || nesting > maxNesting || !a.isSchema() || !b.isSchema() {
		c.doubt(at)
		return
	}
	c.seen[p] = true
	if c.strict {
		c.referred(a, b, nesting+1)
	}
	switch {
	case trivial(a) && trivial(b):
	case a.kind == 'f' && b.kind == 'f':
	case trivial(b) || a.kind == 'f':
		c.whole(a, at, func(at place) { c.widen(strict, at) })
	case trivial(a) || b.kind == 'f':
		c.whole(b, at, func(at place) { c.narrow(strict, at) })
	default:
		c.objects(a, b, strict, nesting+1)
	}
}

// whole notes that one of two schemas accepts everything or nothing: each keyword of the other is
// a difference then.
func (c *comparison) whole(other *value, at place, note func(place)) {
	if !c.list || !other.isObject() || at.a != nil && at.a.isBool() ||
		at.b != nil && at.b.isBool() {
		note(at)
		return
	}
	for _, key := range other.keys {
		if !annotations[key] {
			note(place{a: at.a, b: at.b, key: key})
		}
	}
}

// trivial reports whether a schema accepts everything on its face: true, or nothing but words.
func trivial(v *value) bool {
	if v.kind == 't' {
		return true
	}
	if !v.isObject() {
		return false
	}
	for _, key := range v.keys {
		if !annotations[key] {
			return false
		}
	}
	return true
}

// annotations say something about a value and decide nothing. Definitions decide only where they
// are referred to.
var annotations = map[string]bool{
	"title": true, "description": true, "examples": true, "example": true, "$comment": true, "default": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "$schema": true, "$id": true, "$anchor": true,
	"$dynamicAnchor": true, "$defs": true, "definitions": true, "$recursiveAnchor": true,
}

// equal compares two values as JSON: numbers by value, objects without order.
func equal(a, b *value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.kind != b.kind || len(a.vals) != len(b.vals) {
		return false
	}
	switch a.kind {
	case '"':
		return a.text == b.text
	case '0':
		return readDecimal(a.text) == readDecimal(b.text)
	case '[':
		for i := range a.vals {
			if !equal(a.vals[i], b.vals[i]) {
				return false
			}
		}
	case '{':
		for i, key := range a.keys {
			if !equal(a.vals[i], b.get(key)) {
				return false
			}
		}
	}
	return true
}
