package schema

import (
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/bridge/text"
)

// adapter writes a schema of arguments in the words that every [Subset] takes. What it writes takes
// at least what the schema takes, but for types that a schema without one leaves open; the rest
// becomes words in descriptions. References are replaced by what they lead to.
type adapter struct {
	graph *graph
	form  *ClientForm
	note  func(format string, args ...any)
	takes Subset
	open  map[*value]int // schemas that are being written, and how often
	bytes int            // how many may still be written
	steps int            // how many schemas may still be read

	atRoot bool   // the root is being read
	root   *facts // of the root, whose words are not in its description
}

const (
	// maxOpen limits how often a schema is written inside of itself.
	maxOpen = 2
	// maxSteps bounds the schemas that are read for one form. References can lead to one schema
	// from many places.
	maxSteps = 20_000
	// nodeBytes is counted for each schema that is written, besides its texts.
	nodeBytes = 32
)

// part is something that a value has to fit: a schema, or one of several alternatives.
type part struct {
	schema *value
	key    string // of the alternatives: anyOf or oneOf
	any    [][]part
}

// facts holds what several parts say together.
type facts struct {
	order    []string          // keywords, as they were met
	scalar   map[string]*value // what the first part says that has the keyword
	types    typeSet
	typed    bool    // some part has a type
	about    typeSet // the types that keywords are about
	choices  []*value
	chosen   bool
	named    []string // the properties, in their order
	props    map[string][]part
	required names
	others   []part // the properties that have no name here
	closers  int    // parts that allow no others
	openers  int    // parts that name properties
	patterns bool   // properties are named by patterns
	items    []part
	noItems  bool
	tuple    [][]part
	groups   []part
	variants map[typeSet]*facts // where alternatives have several types
	nullable bool
	recurses bool
	said     []string
	listed   int // choices that said lists with their titles
}

func newFacts() *facts {
	return &facts{scalar: map[string]*value{}, types: typeAny, props: map[string][]part{}}
}

// read returns what parts say together. Alternatives are settled.
func (a *adapter) read(parts []part) *facts {
	f := newFacts()
	a.readInto(f, parts)
	return f
}

func (a *adapter) readInto(f *facts, parts []part) {
	seen := map[*value]bool{}
	for _, p := range parts {
		if p.any != nil {
			f.groups = append(f.groups, p)
			continue
		}
		a.readSchema(f, p.schema, seen)
	}
	for _, group := range f.groups {
		a.settle(f, group)
	}
}

func (a *adapter) readSchema(f *facts, v *value, seen map[*value]bool) {
	if a.steps--; seen[v] || a.steps < 0 {
		return
	}
	seen[v] = true
	f.recurses = f.recurses || a.open[v] > maxOpen
	if v.kind == 'f' {
		f.types, f.typed = 0, true
	}
	old := a.graph.draft < 2019 && v.get("$ref") != nil // what stands beside it counts for nothing
	for i, key := range v.keys {
		if !old && !unknown(a.graph.draft, key) {
			a.readKeyword(f, v, key, v.vals[i])
		}
	}
	for _, key := range refKeywords {
		if ref := v.get(key); ref.isString() {
			if to, err := a.graph.resolve("", ref.text); err == nil { // it was resolved when it was admitted
				a.readSchema(f, to.val, seen)
			}
		}
	}
	if !old {
		for _, all := range elements(v.get("allOf")) {
			a.readSchema(f, all, seen)
		}
	}
}

// aboutTypes has the keywords that are about values of one type.
var aboutTypes = func() map[string]typeSet {
	about := map[string]typeSet{}
	for types, keys := range map[typeSet]map[string]bool{
		typeObject: wordSet(`properties required additionalProperties patternProperties minProperties maxProperties
			propertyNames dependentRequired dependentSchemas dependencies unevaluatedProperties`),
		typeArray: wordSet(`items prefixItems additionalItems minItems maxItems uniqueItems contains minContains maxContains
			unevaluatedItems`),
		typeString:                 wordSet(`minLength maxLength pattern contentEncoding contentMediaType contentSchema`),
		typeInteger | typeFraction: wordSet(`minimum maximum exclusiveMinimum exclusiveMaximum multipleOf`),
	} {
		for key := range keys {
			about[key] = types
		}
	}
	return about
}()

// mark notes that a keyword was met.
func (f *facts) mark(key string) {
	if !slices.Contains(f.order, key) {
		f.order = append(f.order, key)
	}
}

func (a *adapter) readKeyword(f *facts, v *value, key string, held *value) {
	if !portableWords[key] && phrases[key] == nil && aboutTypes[key] == 0 {
		return // nobody knows it
	}
	f.mark(key)
	f.about |= aboutTypes[key]
	switch key {
	case "type":
		types, _ := typesOf(held)
		f.types, f.typed = f.types&types, true
	case "enum":
		f.choose(elements(held))
	case "const":
		f.choose([]*value{held})
	case "properties":
		f.openers++
		for i, name := range held.keys {
			f.property(name, []part{{schema: held.vals[i]}})
		}
	case "required":
		f.required.add(namesIn(held)...)
	case "additionalProperties":
		if held.kind == 'f' {
			f.closers++
		} else if held.isObject() {
			f.others = append(f.others, part{schema: held})
		}
	case "patternProperties":
		f.patterns = true
		a.say(f, v, key, held)
	case "anyOf", "oneOf":
		group := part{key: key, any: [][]part{}}
		for _, one := range elements(held) {
			group.any = append(group.any, []part{{schema: one}})
		}
		f.groups = append(f.groups, group)
	case "items", "prefixItems", "additionalItems":
		a.readItems(f, v, key, held)
	default:
		a.readWord(f, v, key, held)
	}
}

// names is a list without repetitions.
type names struct {
	list  []string
	known map[string]bool
}

func (n *names) add(list ...string) {
	if n.known == nil {
		n.known = map[string]bool{}
	}
	for _, name := range list {
		if !n.known[name] {
			n.known[name] = true
			n.list = append(n.list, name)
		}
	}
}

// keep leaves only names for which keep answers true.
func (n *names) keep(keep func(name string) bool) {
	list := n.list
	*n = names{}
	for _, name := range list {
		if keep(name) {
			n.add(name)
		}
	}
}

func (f *facts) property(name string, parts []part) {
	if f.props[name] == nil {
		f.named = append(f.named, name)
	}
	f.props[name] = append(f.props[name], parts...)
}

// choose keeps the values that are in both lists.
func (f *facts) choose(values []*value) {
	f.mark("enum")
	if !f.chosen {
		f.choices, f.chosen = distinct(values), true
		return
	}
	in := valueSet(values)
	f.choices = slices.DeleteFunc(slices.Clone(f.choices), func(x *value) bool { return !in[keyOf(x)] })
}

// keyOf is a text that equal values share.
func keyOf(v *value) string { return string(v.appendCanonical(nil)) }

// distinct returns each value once: some APIs refuse a list with the same value twice.
func distinct(values []*value) []*value {
	if len(valueSet(values)) == len(values) {
		return values
	}
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(values), func(v *value) bool {
		key := keyOf(v)
		was := known[key]
		known[key] = true
		return was
	})
}

func valueSet(values []*value) map[string]bool {
	set := map[string]bool{}
	for _, v := range values {
		set[keyOf(v)] = true
	}
	return set
}

// readItems reads the keywords for items: those of lists before draft 2020-12, too.
func (a *adapter) readItems(f *facts, v *value, key string, held *value) {
	switch listed := v.get("items").isArray(); {
	case held.isArray():
		for _, one := range held.vals {
			f.tuple = append(f.tuple, []part{{schema: one}})
		}
	case key == "additionalItems" && !listed:
	case held.kind == 'f':
		f.noItems = true
	default:
		f.items = append(f.items, part{schema: held})
	}
}

// silent are keywords that say nothing to a client.
var silent = wordSet(`$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment $defs definitions
	$ref $dynamicRef $recursiveRef allOf then else minContains maxContains readOnly writeOnly`)

// readWord reads a keyword that is kept as it is, or becomes words.
func (a *adapter) readWord(f *facts, v *value, key string, held *value) {
	before := f.scalar[key]
	switch {
	case silent[key], before != nil && equal(before, held):
	case key == "exclusiveMinimum", key == "exclusiveMaximum":
		a.readExclusive(f, v, key, held)
	case before != nil && (key == "title" || key == "description" || key == "default" || key == "examples"):
	case a.takes.takes(key) && (before == nil || key == "format"):
		f.scalar[key] = held
	default:
		a.say(f, v, key, held)
	}
}

// readExclusive writes a bound that is not in the range as one that is, and as words where that
// takes more.
func (a *adapter) readExclusive(f *facts, v *value, key string, held *value) {
	bound, step := "minimum", int64(1)
	if key == "exclusiveMaximum" {
		bound, step = "maximum", -1
	}
	if held.isBool() { // draft 4
		if held.kind == 'f' || v.get(bound) == nil {
			return
		}
		held = v.get(bound)
	}
	types, _ := typesOf(v.get("type"))
	n, err := strconv.ParseInt(held.text, 10, 32)
	exact := err == nil && types&typeFraction == 0
	if exact {
		held = &value{kind: '0', text: strconv.FormatInt(n+step, 10)}
	} else {
		a.say(f, v, key, held)
	}
	if exact || f.scalar[bound] == nil {
		f.scalar[bound] = held
		f.mark(bound)
	}
}

// kinds returns the types of the values that fit, without null. Zero is none that is known.
func (f *facts) kinds() typeSet {
	types := f.types
	switch {
	case f.chosen:
		var of typeSet
		for _, x := range f.choices {
			of |= kindOf(x)
		}
		types &= of
	case !f.typed && f.about != 0:
		types &= f.about
	case !f.typed:
		return 0
	}
	return types &^ typeNull
}

// open reports whether nothing tells the types.
func (f *facts) open() bool { return !f.chosen && !f.typed && f.about == 0 }

// never reports whether no value fits.
func (f *facts) never() bool {
	fits := func(x *value) bool { return kindOf(x)&f.types != 0 }
	return f.types == 0 || f.chosen && !slices.ContainsFunc(f.choices, fits)
}

// null reports whether null fits, and some part says so.
func (f *facts) null() bool {
	said := f.typed
	if f.chosen {
		said = slices.ContainsFunc(f.choices, isNull)
	}
	return f.types&typeNull != 0 && (said || f.nullable)
}

func isNull(x *value) bool { return x.kind == 'n' }

// kindOf is the type of a value, in which whole numbers are their own.
func kindOf(v *value) typeSet {
	if v.kind != '0' {
		return v.typeSet()
	}
	if d := readDecimal(v.text); d.point >= len(d.digits) {
		return typeInteger
	}
	return typeFraction
}

// kindOrder is the order in which types are written.
var kindOrder = []typeSet{typeString, typeInteger | typeFraction, typeBool, typeArray, typeObject}

// split returns the types of a set one by one. Numbers are one.
func split(types typeSet) (kinds []typeSet) {
	for _, kind := range kindOrder {
		if types&kind != 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// shortOf is the beginning of a value in a sentence.
func shortOf(v *value) string { return text.Short(string(v.appendJSON(nil)), maxShown) }
