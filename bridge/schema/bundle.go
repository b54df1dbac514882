package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bundler makes schemas of their own out of those of an OpenAPI document: what references lead to is
// in "$defs", each once and never in place, so that a document whose schemas are in each other stays
// as large as it is. It reads each part of the document once, when something refers to it. It is for
// one goroutine.
type Bundler struct {
	// Find returns what a reference of the document leads to. References to other documents lead
	// nowhere.
	Find func(ref string) (json.RawMessage, bool)
	// Direction is that of the values: what only responses have is left out of requests, and the
	// other way round.
	Direction Direction
	// Old is true for OpenAPI 3.0, whose schemas are a dialect of draft 04.
	Old bool
	// Max is the most bytes of a bundle; zero is 16 KiB.
	Max int

	defs  map[string]*def // by reference
	names map[string]bool // of defs
}

// def is a part of the document that is in "$defs".
type def struct {
	name string
	text []byte   // translated
	refs []string // what it refers to
}

// defaultBundle is what the context of a model can bear of one tool.
const defaultBundle = 16 << 10

// Bundle returns a schema with all that it refers to. Notes say what was left out, in words for who
// wrote the document. A text that is no schema becomes one that takes anything.
func (b *Bundler) Bundle(root json.RawMessage) (bundle json.RawMessage, notes []string) {
	note := func(text string) {
		if !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	v, err := parse(root, defaultDepth)
	if err != nil || !v.isSchema() {
		note("it is no schema: " + sayError(err))
		return json.RawMessage("{}"), notes
	}
	if v.isBool() {
		v = asObject(v)
	}
	refs := b.translate(v)
	most := b.Max
	if most == 0 {
		most = defaultBundle
	}
	levels := b.levels(refs, 4*most, note)
	text := b.join(v, levels, len(levels))
	if len(text) <= most {
		return text, notes
	}
	return b.reduce(v, levels, most, note), notes
}

func sayError(err error) string {
	if err == nil {
		return "it must be an object"
	}
	return err.Error()
}

// levels are what a schema refers to, what that refers to, and so on, without repetition. It ends
// when there is more than enough.
func (b *Bundler) levels(refs []string, enough int, note func(string)) (levels [][]*def) {
	known := map[string]bool{}
	size := 0
	for len(refs) > 0 && size <= enough {
		var level []*def
		var next []string
		for _, ref := range refs {
			if known[ref] {
				continue
			}
			known[ref] = true
			d := b.def(ref, note)
			level = append(level, d)
			size += len(d.text)
			next = append(next, d.refs...)
		}
		if len(level) > 0 {
			levels = append(levels, level)
		}
		refs = next
	}
	return levels
}

// def returns the part of the document that a reference leads to.
func (b *Bundler) def(ref string, note func(string)) *def {
	d := b.reserve(ref)
	if d.text != nil {
		return d
	}
	d.text = []byte("{}")
	raw, ok := b.Find(ref)
	if !ok {
		note("the reference " + quote(ref) + " leads nowhere in the document")
		return d
	}
	v, err := parse(raw, defaultDepth)
	switch {
	case err != nil || !v.isSchema():
		note("what " + quote(ref) + " leads to is no schema: " + sayError(err))
		return d
	case v.isBool():
		v = asObject(v)
	}
	d.refs = b.translate(v)
	d.text = v.appendJSON(nil)
	return d
}

// reserve returns the def of a reference, which has a name of its own from then on.
func (b *Bundler) reserve(ref string) *def {
	if d := b.defs[ref]; d != nil {
		return d
	}
	if b.defs == nil {
		b.defs, b.names = map[string]*def{}, map[string]bool{}
	}
	last := ref[strings.LastIndexByte(ref, '/')+1:]
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && legalProperty.MatchString(string(r)) {
			return r
		}
		return '_'
	}, last)
	name = name[:min(len(name), maxProperty)]
	for base, i := name, 2; name == "" || b.names[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	b.names[name] = true
	d := &def{name: name}
	b.defs[ref] = d
	return d
}

// join writes a schema with so many levels of what it refers to. References of the last one lead to
// a schema that takes anything.
func (b *Bundler) join(root *value, levels [][]*def, n int) json.RawMessage {
	defs := map[string][]byte{}
	for i, level := range levels {
		for _, d := range level {
			switch {
			case i < n:
				defs[d.name] = d.text
			case i == n:
				defs[d.name] = []byte("{}")
			}
		}
	}
	if n > 0 && n == len(levels) {
		for _, d := range levels[n-1] { // there may be more, which was not looked at
			for _, ref := range d.refs {
				if name := b.reserve(ref).name; defs[name] == nil {
					defs[name] = []byte("{}")
				}
			}
		}
	}
	text := root.appendJSON(nil)
	if len(defs) == 0 {
		return text
	}
	open := `{"$defs":{`
	if len(root.keys) > 0 {
		text, open = text[:len(text)-1], `,"$defs":{`
	} else {
		text = nil
	}
	text = append(text, open...)
	for i, name := range slices.Sorted(maps.Keys(defs)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(AppendString(text, name), ':'), defs[name]...)
	}
	return append(text, "}}"...)
}

// reduce makes a bundle fit: without examples, without the descriptions of what is within, and then
// without what is furthest from its root.
func (b *Bundler) reduce(root *value, levels [][]*def, most int, note func(string)) json.RawMessage {
	slim := func(text []byte, words bool) []byte {
		v, err := parse(text, defaultDepth)
		if err != nil { // it was written by us
			panic("schema: reading a bundle: " + err.Error())
		}
		strip(v, 0, words)
		return v.appendJSON(nil)
	}
	text := slim(b.join(root, levels, len(levels)), true)
	if len(text) <= most {
		note("its examples were left out: it is too long")
		return text
	}
	for n := len(levels); n >= 0; n-- {
		text = slim(b.join(root, levels, n), false)
		if len(text) <= most {
			note("what is deep in it was left out: it is too long")
			return text
		}
	}
	note("all but the names of its properties was left out: it is too long")
	bare := &value{kind: '{'}
	for _, key := range []string{"type", "required"} {
		if held := root.get(key); held != nil {
			bare.put(key, held)
		}
	}
	if held := root.get("properties"); held.isObject() {
		properties := &value{kind: '{'}
		for _, name := range held.keys {
			properties.put(name, &value{kind: '{'})
		}
		bare.put("properties", properties)
	}
	return bare.appendJSON(nil)
}

// strip takes examples out of a schema, and without words the texts of what is within, too. The
// properties of the root keep theirs.
func strip(v *value, depth int, words bool) {
	if !v.isObject() {
		return
	}
	v.remove(func(key string) bool {
		return key == "examples" || !words && depth > 1 && (key == "description" || key == "title")
	})
	for _, c := range children(v) {
		next := depth + 1
		if c.keyword == "$defs" {
			next = max(next, 2)
		}
		strip(c.val, next, words)
	}
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
	properties.remove(func(name string) bool { return gone[name] })
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
	if !b.Old {
		return
	}
	exclusive(v, "exclusiveMinimum", "minimum")
	exclusive(v, "exclusiveMaximum", "maximum")
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
