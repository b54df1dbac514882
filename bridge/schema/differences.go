package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Difference is one place in which a schema changed.
type Difference struct {
	// Pointer is the place, RFC 6901: in the new schema, or in the old one when Gone, because the
	// new one has nothing there.
	Pointer string
	Gone    bool
	Change  Change // Patch, Minor or Major
	// What says what changed, and Reason what follows for callers: both one clause without a full
	// stop, in lower case. Values of schemas in them are quoted, cut, and without invisible
	// characters.
	What, Reason string
}

// Differences returns every place in which old and new differ, the worst first, then in the order
// of their pointers. [Compare] returns the greatest change among them, or Same when there are none.
// What does not parse is one difference.
func Differences(old, new []byte, d Direction) []Difference {
	a, b, err := readBoth(old, new)
	switch {
	case err != nil:
		return []Difference{{Change: Major, What: "the schema cannot be read",
			Reason: reasons[d].undecided}}
	case equal(a, b):
		return nil
	}
	c := relate(a, b, d == Request, true)
	l := &lister{direction: d, covered: map[string]bool{}, around: map[string]bool{},
		old: map[*value][]string{}, new: map[*value][]string{}}
	locate(a, nil, l.old)
	locate(b, nil, l.new)
	for _, at := range c.hidden {
		l.cover(at)
	}
	for _, n := range c.notes {
		l.add(n)
	}
	l.words(nil, a, b)
	slices.SortFunc(l.list, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(y.Change, x.Change), cmp.Compare(x.Pointer, y.Pointer),
			cmp.Compare(x.What, y.What))
	})
	return l.list
}

// locate notes the way to every value of a document.
func locate(v *value, at []string, ways map[*value][]string) {
	ways[v] = at
	for i, held := range v.vals {
		token := strconv.Itoa(i)
		if v.isObject() {
			token = v.keys[i]
		}
		locate(held, append(at[:len(at):len(at)], token), ways)
	}
}

// lister puts notes into words.
type lister struct {
	direction Direction
	old, new  map[*value][]string
	list      []Difference
	effects   []effect // of the list
	// covered are the places of notes: what differs there or below was said. Around are the
	// places that have one below.
	covered, around map[string]bool
}

// there reports whether one of the schemas of a place has a keyword.
func (at place) there(key string) bool {
	return key != "" && (at.a.get(key) != nil || at.b.get(key) != nil)
}

// find returns the way to a place, and its values in both documents.
func (l *lister) find(at place) (way []string, va, vb *value, gone bool) {
	va, vb = at.a, at.b
	wayA, inA := l.old[va]
	wayB, inB := l.new[vb]
	if !at.there(at.key) {
		for _, key := range at.others {
			if at.there(key) {
				return l.find(place{a: at.a, b: at.b, key: key})
			}
		}
		if inB {
			return wayB, va, vb, false
		}
		return wayA, va, nil, true
	}
	va, vb = nil, nil
	if inA {
		va = at.a.get(at.key)
	}
	if inB {
		vb = at.b.get(at.key)
	}
	if vb != nil {
		return append(slices.Clone(wayB), at.key), va, vb, false
	}
	return append(slices.Clone(wayA), at.key), va, nil, true
}

func (l *lister) cover(at place) {
	way, _, _, _ := l.find(at)
	l.covered[Pointer(way...)] = true
	for i := range way {
		l.around[Pointer(way[:i]...)] = true
	}
	for _, key := range at.others {
		if at.there(key) {
			other, _, _, _ := l.find(place{a: at.a, b: at.b, key: key})
			l.covered[Pointer(other...)] = true
		}
	}
}

// add lists a note. Two about one thing become one.
func (l *lister) add(n note) {
	l.cover(n.place)
	way, va, vb, gone := l.find(n.place)
	what := describe(way, va, vb, n.effect, l.direction)
	one := Difference{Pointer: shortPointer(Pointer(way...)), Gone: gone, What: what}
	i := slices.IndexFunc(l.list, func(d Difference) bool {
		return d.Pointer == one.Pointer && d.Gone == gone && d.What == what
	})
	if i < 0 {
		i = len(l.list)
		l.list, l.effects = append(l.list, one), append(l.effects, effect{})
	}
	l.effects[i] = l.effects[i].and(n.effect)
	l.list[i].Change = l.effects[i].change(l.direction)
	l.list[i].Reason = l.reason(way, va, l.effects[i], gone)
}

// words lists what differs and was not noted: it decides nothing about a value.
func (l *lister) words(way []string, a, b *value) {
	at := Pointer(way...)
	if l.covered[at] || a != nil && b != nil && equal(a, b) {
		return
	}
	below := func(token string, va, vb *value) {
		l.words(append(way[:len(way):len(way)], token), va, vb)
	}
	switch {
	case a.isObject() && b.isObject():
		for i, key := range a.keys {
			below(key, a.vals[i], b.get(key))
		}
		for i, key := range b.keys {
			if a.get(key) == nil {
				below(key, nil, b.vals[i])
			}
		}
		return
	case a.isArray() && b.isArray() && len(a.vals) == len(b.vals) && holdsSchemas(way):
		for i := range a.vals {
			below(strconv.Itoa(i), a.vals[i], b.vals[i])
		}
		return
	case l.around[at]:
		return
	}
	l.list = append(l.list, Difference{Pointer: shortPointer(at), Gone: b == nil, Change: Patch,
		What: describe(way, a, b, effect{}, l.direction), Reason: l.reason(way, a, effect{}, b == nil)})
}

func holdsSchemas(way []string) bool {
	if len(way) == 0 {
		return false
	}
	_, isKeyword := roleAt(way)
	kw := subschemaKeywords[way[len(way)-1]]
	return isKeyword && (kw.shape == shapeList || kw.shape == shapeAny) && kw != keyword{}
}

// roleAt returns the keyword that holds the end of a way, and whether the end is a keyword itself:
// a property may be called "required".
func roleAt(way []string) (holder string, isKeyword bool) {
	for i := 0; i < len(way); i++ {
		if i == len(way)-1 {
			return "", true
		}
		switch kw, holds := subschemaKeywords[way[i]]; {
		case !holds: // data, or something unknown
			return "", true
		case kw.shape == shapeMap, kw.shape == shapeList, kw.shape == shapeAny && isIndex(way[i+1]):
			i++
			if i == len(way)-1 {
				return way[i-1], false
			}
		}
	}
	return "", false
}

func isIndex(token string) bool {
	_, err := strconv.Atoi(token)
	return err == nil
}

// describe says what changed at the end of a way. A nil value is not there.
func describe(way []string, a, b *value, e effect, d Direction) string {
	holder, isKeyword := roleAt(way)
	name := "the schema"
	switch {
	case len(way) == 0:
	case isKeyword:
		name = way[len(way)-1]
		if words, ok := describeList(name, a, b, e, d); ok {
			return words
		}
		name = shortName(name)
	case holder == "properties":
		name = "the property " + text.Quote(way[len(way)-1])
	case holder == "$defs" || holder == "definitions":
		name = "the definition " + text.Quote(way[len(way)-1])
	default:
		name = holder + "/" + shortName(way[len(way)-1])
	}
	switch {
	case a == nil && b == nil: // a limit of ours, or a keyword that both left out
		return name + " is another one"
	case a == nil && isKeyword:
		return name + " " + shown(b) + " is new"
	case a == nil:
		return name + " is new"
	case b == nil && isKeyword:
		return name + " " + shown(a) + " is gone"
	case b == nil:
		return name + " is gone"
	}
	return name + " was " + shown(a) + " and is " + shown(b) + " now"
}

// shortName is the name of a keyword, which a stranger may have made up.
func shortName(s string) string {
	if q := text.Quote(s); strings.Trim(q, `"`) != s {
		return q
	}
	return s
}

// describeList says what changed in a list of which the order does not matter.
func describeList(keyword string, a, b *value, e effect, d Direction) (string, bool) {
	list := func(v *value) ([]*value, bool) {
		switch {
		case v == nil:
			return nil, keyword == "required"
		case v.isArray():
			return v.vals, true
		}
		return nil, false
	}
	la, okA := list(a)
	lb, okB := list(b)
	if !okA || !okB || len(la)*len(lb) > maxProduct {
		return "", false
	}
	fresh, gone := lacking(la, lb), lacking(lb, la)
	switch {
	case keyword == "required" && len(fresh) > 0 && e.narrower:
		return valueList(fresh) + reasons[d].required, true
	case keyword == "required" && len(gone) > 0 && e.wider:
		return valueList(gone) + reasons[d].optional, true
	case keyword == "enum" && len(fresh) > 0 && e.wider:
		return valueList(fresh) +
			text.Plural(len(fresh), " is a new value", " are new values"), true
	case keyword == "enum" && len(gone) > 0 && e.narrower:
		return valueList(gone) + text.Plural(len(gone), " is not a value", " are not values") + " any more", true
	case (keyword == "anyOf" || keyword == "allOf" || keyword == "oneOf") && len(la) != len(lb):
		return keyword + " had " + strconv.Itoa(len(la)) + " and has " + strconv.Itoa(len(lb)) +
			" schemas now", true
	case len(fresh)+len(gone) == 0 && e == effect{}:
		return "the order in " + keyword + " is another one", true
	}
	return "", false
}

// shown returns the beginning of a value as a message has it.
func shown(v *value) string {
	return text.Escape(text.Short(string(v.appendJSON(nil)), maxShown))
}

func valueList(list []*value) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = shown(v)
	}
	return text.Few(texts, maxListed)
}

// reasons words the changes in each direction, and required members.
var reasons = map[Direction]struct {
	refused, undecided, accepted, words, required, optional string
}{
	Request: {"calls that were right may be refused",
		"nothing shows that calls that were right still are",
		"calls that were right still are", "it decides nothing about a call",
		" must be given now", " may be left out now"},
	Response: {"results may be what callers do not expect",
		"nothing shows that results are still what callers expect",
		"results are still what callers expect", "it decides nothing about a result",
		" is always there now", " may be missing now"},
}

// reason says what a difference means for callers.
func (l *lister) reason(way []string, was *value, e effect, gone bool) string {
	r := reasons[l.direction]
	holder, isKeyword := roleAt(way)
	request := l.direction == Request
	switch e.change(l.direction) {
	case Major:
		if e.unknown {
			return r.undecided
		}
		return r.refused
	case Minor:
		if request && holder == "properties" && gone && was != nil {
			return "calls that send it are still accepted, but nothing says what it does"
		}
		return r.accepted
	default:
		if request && isKeyword && way[len(way)-1] == "default" {
			return "no call is refused, but one that leaves it out may do something else"
		}
		return r.words
	}
}
