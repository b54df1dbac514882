package schema

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Bundler makes schemas of their own out of those of an OpenAPI document: what references lead to
// is in "$defs", each once and never in place, so that a document whose schemas are in each other
// stays as large as it is. It reads each part of the document once, when something refers to it. It
// is for one goroutine.
type Bundler struct {
	// Find returns what a reference of the document leads to. References to other documents lead
	// nowhere.
	Find func(ref string) (json.RawMessage, bool)
	// Direction of the values: requests leave out what only responses have, and the other way
	// round.
	Direction Direction
	// Old is true for OpenAPI 3.0, whose schemas are a dialect of draft 04.
	Old bool
	// Max is the most bytes of a bundle; zero is 16 KiB.
	Max int

	defs  map[string]*def // by reference
	names map[string]int  // of defs: how many have a name that begins so
	held  int             // bytes of defs
}

// def is a part of the document that is in "$defs".
type def struct {
	name string
	text [manners][]byte // translated, by how much of it; nil is not made yet
	flaw string          // why it takes anything; "" is none
	refs []string        // what it refers to
	same []string        // of these, what the same value has to fit
}

// How much of a schema a bundle has.
const (
	wholly     = iota
	unshown    // without examples
	wordlessly // besides, without the words of what is within
	briefly    // besides, with the beginning of those of its properties
	manners
)

// as returns the text with so much of it; depth says how far it is from the root of the bundle.
func (d *def) as(much, depth int) []byte {
	if d.text[much] == nil {
		v := parseOwn(d.text[wholly])
		strip(v, depth, much)
		d.text[much] = v.appendJSON(nil)
	}
	return d.text[much]
}

// maxDef bounds what a reference leads to, in bytes: reading it takes twenty times as many.
const maxDef = 1 << 20

// defaultBundle limits the share of one tool in a model's context.
const defaultBundle = 16 << 10

// What is kept between bundles is at most so many bytes, and so many parts of the document.
const (
	mostHeld = 32 << 20
	mostDefs = 50_000
)

const maxNotes = 10

// Bundle returns a schema with all that it refers to. Notes say what was left out, in words for who
// wrote the document. A text that is not a schema becomes one that takes anything.
func (b *Bundler) Bundle(root json.RawMessage) (bundle json.RawMessage, notes []string) {
	note := func(text string) {
		if len(notes) < maxNotes && !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	if b.held > mostHeld || len(b.defs) > mostDefs {
		b.defs, b.names, b.held = nil, nil, 0
	}
	v, err := parse(root, defaultDepth)
	if err != nil || !v.isSchema() {
		note("it is not a schema: " + sayError(err))
		return json.RawMessage("{}"), notes
	}
	if v.isBool() {
		v = asObject(v)
	}
	top := &def{refs: b.translate(v)}
	top.text[wholly] = v.appendJSON(nil)
	most := cmp.Or(b.Max, defaultBundle)
	levels, all := b.levels(top.refs, 4*most, note)
	for much := wholly; much < manners; much++ {
		sizes := sizes(top, levels, much)
		for n := len(levels); n >= 0; n-- {
			if n < len(levels) && much < wordlessly {
				break
			}
			if sizes[n] > most {
				continue
			}
			text := b.join(top, levels, n, much)
			if len(text) > most {
				continue
			}
			switch {
			case much >= wordlessly || !all:
				note("what is deep in it was left out: it is too long")
			case much == unshown:
				note("its examples were left out: it is too long")
			}
			return text, notes
		}
	}
	return bareOf(v, most, note), notes
}

// sizes are the least that a bundle has with so many levels. What the last one refers to is there,
// too.
func sizes(top *def, levels [][]*def, much int) []int {
	sum := make([]int, 1, len(levels)+1)
	sum[0] = len(top.as(much, 0))
	for i, level := range levels {
		all, names := sum[i], 0
		for _, d := range level {
			all += len(d.as(much, withinDef))
			names += len(d.name) + len(`"":,`)
		}
		sum[i] += names + len("{}")*len(level)
		sum = append(sum, all+names)
	}
	return sum
}

func sayError(err error) string {
	if err == nil {
		return "it must be an object"
	}
	return err.Error()
}

// levels returns the definitions that refs name, then those that these name, and so on, each once.
// It stops beyond enough bytes; all is false then.
func (b *Bundler) levels(refs []string, enough int, note func(string)) (levels [][]*def, all bool) {
	known := map[string]bool{}
	size := 0
	for len(refs) > 0 {
		var level []*def
		var next []string
		for _, ref := range refs {
			if known[ref] {
				continue
			}
			if size > enough {
				return append(levels, level), false
			}
			known[ref] = true
			d := b.def(ref)
			if d.flaw != "" {
				note(d.flaw)
			}
			level = append(level, d)
			size += len(d.text[wholly])
			next = append(next, d.refs...)
		}
		if len(level) > 0 {
			levels = append(levels, level)
		}
		refs = next
	}
	for _, d := range slices.Concat(levels...) {
		if b.cycles(d) {
			d.flaw = "the references of " + text.Quote(d.name) + " form a cycle"
			d.text, d.refs, d.same = [manners][]byte{wholly: []byte("{}")}, nil, nil
			note(d.flaw)
		}
	}
	return levels, true
}

// def returns the part of the document that a reference leads to.
func (b *Bundler) def(ref string) *def {
	d := b.reserve(ref)
	if d.text[wholly] != nil {
		return d
	}
	d.text[wholly] = []byte("{}")
	raw, ok := b.Find(ref)
	switch {
	case !ok:
		d.flaw = "the reference " + text.Quote(ref) + " leads nowhere in the document"
		return d
	case len(raw) > maxDef:
		d.flaw = "what " + text.Quote(ref) + " leads to was left out: it is too long"
		return d
	}
	v, err := parse(raw, defaultDepth)
	switch {
	case err != nil || !v.isSchema():
		d.flaw = "what " + text.Quote(ref) + " leads to is not a schema: " + sayError(err)
		return d
	case v.isBool():
		v = asObject(v)
	}
	d.same = sameValue(v, b.Old)
	d.refs = b.translate(v)
	d.text[wholly] = v.appendJSON(nil)
	b.held += len(d.text[wholly])
	return d
}

// sameValue returns what a schema refers to for the same value.
func sameValue(v *value, old bool) (refs []string) {
	if r := v.get("$ref"); r.isString() {
		if refs = append(refs, r.text); old {
			return refs
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, one := range elements(v.get(key)) {
			refs = append(refs, sameValue(one, old)...)
		}
	}
	return refs
}

// maxCycle bounds the references that are followed for one value.
const maxCycle = 50

// cycles reports whether a definition needs itself for the same value, so that it says nothing.
func (b *Bundler) cycles(d *def) bool {
	seen := map[*def]bool{}
	for next := d.same; len(next) > 0 && len(seen) < maxCycle; {
		to := b.defs[next[0]]
		switch next = next[1:]; {
		case to == d:
			return true
		case to != nil && !seen[to]:
			seen[to] = true
			next = append(slices.Clip(next), to.same...)
		}
	}
	return false
}

// reserve returns the def of a reference, which has a name of its own from then on.
func (b *Bundler) reserve(ref string) *def {
	if d := b.defs[ref]; d != nil {
		return d
	}
	if b.defs == nil {
		b.defs, b.names = map[string]*def{}, map[string]int{}
	}
	name := legalPart(ref[strings.LastIndexByte(ref, '/')+1:])
	for base := name; name == "" || b.names[name] > 0; {
		b.names[base]++ // so that many of one name are not many tries
		name = base + "_" + strconv.Itoa(b.names[base])
	}
	b.names[name] = 1
	d := &def{name: name}
	b.defs[ref] = d
	return d
}

// withinDef is the depth of what a bundle has in "$defs".
const withinDef = 2

// join writes a schema with so many levels of what it refers to, and so much of each. References to
// others lead to a schema that takes anything.
func (b *Bundler) join(top *def, levels [][]*def, n, much int) json.RawMessage {
	anything := []byte("{}")
	defs := map[string][]byte{}
	refs := slices.Clone(top.refs)
	for _, level := range levels[:n] {
		for _, d := range level {
			defs[d.name] = d.as(much, withinDef)
			refs = append(refs, d.refs...)
		}
	}
	for _, ref := range refs {
		if name := b.reserve(ref).name; defs[name] == nil {
			defs[name] = anything
		}
	}
	text := slices.Clone(top.as(much, 0))
	if len(defs) == 0 {
		return text
	}
	text = append(text[:len(text)-1], `,"$defs":{`...) // it has references, so it is not empty
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		text = appendMember(text, name, defs[name])
	}
	return append(text, "}}"...)
}

// bareOf is a schema without what it says of its properties but their types; without those, too,
// and without properties that are not required, where it is too long.
func bareOf(root *value, most int, note func(string)) json.RawMessage {
	all := root.get("properties")
	bare, names := &value{kind: '{'}, &value{kind: '{'}
	for _, key := range []string{"type", "properties", "required", "additionalProperties"} {
		switch held := root.get(key); {
		case held == nil:
		case key == "properties" && held.isObject():
			bare.put(key, names)
		case key != "properties" && !held.isObject():
			bare.put(key, held)
		}
	}
	if all.isObject() {
		for i, name := range all.keys {
			typed := &value{kind: '{'}
			if t := all.vals[i].get("type"); t != nil {
				typed.put("type", t)
			}
			names.put(name, typed)
		}
	}
	text := bare.appendJSON(nil)
	if len(text) <= most {
		note("all but the names and types of its properties was left out: it is too long")
		return text
	}
	required := map[string]bool{}
	if list := root.get("required"); list.isArray() {
		for _, name := range list.vals {
			required[name.text] = true
		}
	}
	size := len(text)
	for i, typed := range names.vals {
		size -= len(typed.appendJSON(nil)) - len("{}")
		names.vals[i] = &value{kind: '{'}
	}
	note("all but the names of its properties was left out: it is too long")
	if size > most {
		note("properties that are not required were left out: there are too many")
		names.remove(func(name string) bool {
			gone := size > most && !required[name]
			if gone {
				size -= len(AppendString(nil, name)) + len(":{},")
			}
			return gone
		})
	}
	return bare.appendJSON(nil)
}

// strip takes examples out of a schema; wordlessly the texts of what is within, too; and briefly
// all of those of its properties but their beginning.
func strip(v *value, depth, much int) {
	if !v.isObject() {
		return
	}
	v.remove(func(key string) bool {
		return key == "examples" || much > unshown && depth > 1 && (key == "description" || key == "title")
	})
	if d := v.get("description"); much == briefly && d.isString() {
		*d = value{kind: '"', text: firstOf(d.text)}
	}
	for _, c := range children(v) {
		strip(c.val, depth+1, much)
	}
}

const maxBrief = 80

// firstOf is the first sentence of a text, or its beginning.
func firstOf(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if sentence, _, ok := strings.Cut(first, ". "); ok {
		first = sentence + "."
	}
	return text.Short(first, maxBrief)
}

// unknownWords are keywords of OpenAPI that say nothing about values.
var unknownWords = wordSet(`discriminator xml externalDocs $schema $id $anchor $dynamicAnchor $comment $defs definitions`)

// translate writes a schema of the document as 2020-12, and returns what it refers to.
func (b *Bundler) translate(v *value) (refs []string) {
	if !v.isObject() {
		return nil
	}
	if r := v.get("$ref"); r.isString() {
		refs = append(refs, r.text)
		to := &value{kind: '"', text: "#/$defs/" + b.reserve(r.text).name}
		if b.Old { // what stands beside it counts for nothing
			v.keys, v.vals = []string{"$ref"}, []*value{to}
			v.buildIndex()
			return refs
		}
		v.put("$ref", to)
	}
	b.onlyThere(v)
	b.words(v)
	for _, c := range children(v) {
		refs = append(refs, b.translate(c.val)...)
	}
	return refs
}

// onlyThere drops the properties that travel the other way.
func (b *Bundler) onlyThere(v *value) {
	properties := v.get("properties")
	if !properties.isObject() {
		return
	}
	word := map[Direction]string{Request: "readOnly", Response: "writeOnly"}[b.Direction]
	gone := map[string]bool{}
	for i, name := range properties.keys {
		if flag := properties.vals[i].get(word); flag.isBool() && flag.kind == 't' {
			gone[name] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	lost := func(name string) bool { return gone[name] }
	properties.remove(lost)
	shown := []*value{v.get("example")}
	if list := v.get("examples"); list.isArray() {
		shown = append(shown, list.vals...)
	}
	for _, e := range shown {
		if e.isObject() {
			e.remove(lost)
		}
	}
	if required := v.get("required"); required.isArray() {
		required.vals = slices.DeleteFunc(required.vals, func(name *value) bool { return gone[name.text] })
	}
}

// words writes the keywords of the document's own dialect as those of 2020-12.
func (b *Bundler) words(v *value) {
	example, nullable := v.get("example"), v.get("nullable")
	v.remove(func(key string) bool {
		return unknownWords[key] || key == "example" || key == "nullable" && b.Old || strings.HasPrefix(key, "x-")
	})
	if example != nil && v.get("examples") == nil {
		v.put("examples", &value{kind: '[', vals: []*value{example}})
	}
	if e := v.get("examples"); e != nil && !e.isArray() {
		v.remove(func(key string) bool { return key == "examples" })
	}
	exclusive(v, "exclusiveMinimum", "minimum") // a flag has one meaning, in documents of 3.1, too
	exclusive(v, "exclusiveMaximum", "maximum")
	if !b.Old {
		return
	}
	if nullable.isBool() && nullable.kind == 't' {
		null := &value{kind: '"', text: "null"}
		if t := v.get("type"); t.isString() {
			v.put("type", &value{kind: '[', vals: []*value{t, null}})
			if list := v.get("enum"); list.isArray() && !slices.ContainsFunc(list.vals, func(x *value) bool { return x.kind == 'n' }) {
				list.vals = append(list.vals, &value{kind: 'n'})
			}
		}
	}
}
