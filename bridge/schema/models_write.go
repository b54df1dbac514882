package schema

import (
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// adapt returns the form of a schema that every subset takes.
func (s *Schema) adapt() *ClientForm {
	f := &ClientForm{}
	a := &adapter{graph: s.form().graph, form: f, takes: strictest(), open: map[*value]int{}, steps: maxSteps,
		bytes: 2*len(s.raw) + 4<<10}
	a.note = func(format string, args ...any) { f.Notes = addNote(f.Notes, format, args...) }
	f.rename(a.graph, a.note)
	facts := newFacts()
	facts.types, facts.typed, a.atRoot = typeObject, true, true
	a.readInto(facts, []part{{schema: a.graph.root.val}})
	a.atRoot, a.root = false, facts
	a.open[a.graph.root.val]++
	root := a.one(facts, typeObject)
	root.putNew("properties", &value{kind: '{'}) // some model APIs demand it, and it says nothing
	f.JSON = s.shared(root)
	return f
}

// write returns the schema of what fits all parts; nil when nothing does.
func (a *adapter) write(parts []part) *value {
	a.bytes -= nodeBytes
	var sources []*value
	for _, p := range parts {
		sources = append(sources, a.sources(p.schema)...)
	}
	for _, v := range sources {
		a.open[v]++
	}
	defer func() {
		for _, v := range sources {
			a.open[v]--
		}
	}()
	f := a.read(parts)
	if f.never() {
		return nil
	}
	kinds := split(f.kinds())
	switch {
	case f.recurses || a.bytes < 0 || a.steps < 0:
		a.note("clients do not see what is deep in it")
		return a.stub(f, kinds)
	case len(kinds) == 0 && !f.open():
		return a.one(f, typeNull)
	case f.null():
		f.said = append(f.said, "null is allowed, too.")
	}
	switch len(kinds) {
	case 0:
		return a.several(f, kindOrder)
	case 1:
		return a.one(a.variant(f, kinds[0]), kinds[0])
	}
	return a.several(f, kinds)
}

// sources are a schema, and what it refers to for the same value.
func (a *adapter) sources(v *value) (all []*value) {
	for v != nil && len(all) <= maxChain {
		all = append(all, v)
		ref := v.get("$ref")
		if !ref.isString() {
			return all
		}
		to, err := a.graph.resolve("", ref.text)
		if err != nil {
			return all
		}
		v = to.val
	}
	return all
}

// variant returns what holds for values of one type.
func (a *adapter) variant(f *facts, kind typeSet) *facts {
	if of := f.variants[kind]; of != nil {
		f.variants = nil
		f.add(of)
	}
	return f
}

// several writes the schema of values of several types: anyOf, and nothing beside it.
func (a *adapter) several(f *facts, kinds []typeSet) *value {
	list := &value{kind: '['}
	for i, kind := range kinds {
		one := newFacts()
		*one = *f
		one.scalar = map[string]*value{}
		for key, held := range f.scalar {
			if i == 0 || aboutTypes[key] != 0 || key == "format" {
				one.scalar[key] = held
			}
		}
		one.order, one.types, one.variants = slices.Clone(f.order), f.types&kind, nil
		one.props, one.named = map[string][]part{}, nil
		for _, name := range f.named {
			one.property(name, f.props[name])
		}
		one.required = names{}
		one.required.add(f.required.list...)
		if i > 0 {
			one.said = nil
		}
		if of := f.variants[kind]; of != nil {
			own := of.scalar["description"]
			if first := one.scalar["description"]; i == 0 && first != nil && own != nil && !equal(first, own) {
				one.said = append([]string{own.text}, one.said...)
			}
			one.add(of)
		}
		list.vals = append(list.vals, a.one(one, kind))
	}
	return &value{kind: '{', keys: []string{"anyOf"}, vals: []*value{list}}
}

// stub is a schema that says the type and no more.
func (a *adapter) stub(f *facts, kinds []typeSet) *value {
	kind := kindOrder[len(kindOrder)-1]
	if len(kinds) > 0 {
		kind = kinds[len(kinds)-1]
	}
	short := newFacts()
	if f.recurses {
		short.said = []string{"The same form again."}
	}
	return a.one(short, kind)
}

var nameOf = map[typeSet]string{typeString: "string", typeInteger | typeFraction: "number", typeBool: "boolean",
	typeArray: "array", typeObject: "object", typeNull: "null"}

// typeName returns how a schema names a type.
func (f *facts) typeName(kind typeSet) string {
	if kind == typeInteger|typeFraction && (f.types&kind == typeInteger || f.chosen && f.kinds()&kind == typeInteger) {
		return "integer"
	}
	return nameOf[kind]
}

// one writes the schema of values of one type.
func (a *adapter) one(f *facts, kind typeSet) *value {
	out := &value{kind: '{'}
	name := f.typeName(kind)
	if !slices.Contains(f.order, "type") {
		out.put("type", &value{kind: '"', text: name})
	}
	for _, key := range f.order {
		switch about := aboutTypes[key]; {
		case key == "type":
			out.put(key, &value{kind: '"', text: name})
		case about != 0 && about&kind == 0:
		case key == "enum":
			a.putChoices(f, out, kind)
		case key == "items":
			a.putItems(f, out)
		case key == "properties" || key == "required" || key == "additionalProperties":
			a.putMembers(f, out, key)
		case key == "format":
			if !a.takes.takesFormat(name, f.scalar[key].text) {
				f.said = append(f.said, phrases[key](a, nil, f.scalar[key]))
				continue
			}
			out.put(key, f.scalar[key])
		case f.scalar[key] != nil:
			held := a.data(f.scalar[key])
			a.bytes -= len(held.text)
			out.put(key, held)
		}
	}
	if kind == typeArray && out.get("items") == nil {
		a.putItems(f, out)
	}
	if kind == typeObject { // what alternatives have
		for _, key := range []string{"properties", "required"} {
			if out.get(key) == nil && !slices.Contains(f.order, key) {
				a.putMembers(f, out, key)
			}
		}
	}
	a.describe(f, out)
	return out
}

// putMembers writes what is said of the members of objects.
func (a *adapter) putMembers(f *facts, out *value, key string) {
	switch key {
	case "properties":
		if len(f.named) == 0 && !slices.Contains(f.order, key) {
			return
		}
		held := &value{kind: '{'}
		for _, name := range f.named {
			shown, parts := a.form.Name(name), f.props[name]
			a.bytes -= len(shown)
			if shown != name && name != "" {
				parts = append(slices.Clip(parts), part{schema: titled(name)})
			}
			one := a.write(parts)
			if one == nil {
				f.said = append(f.said, "Without "+text.Short(shown, maxShown)+".")
				continue
			}
			held.put(shown, one)
		}
		out.put(key, held)
	case "required":
		var declared, others []string
		for _, name := range f.required.list {
			if shown := a.form.Name(name); f.props[name] != nil {
				declared = append(declared, shown)
			} else {
				others = append(others, text.Short(shown, maxShown))
			}
		}
		if len(others) > 0 {
			f.said = append(f.said, "Required, too: "+text.Few(others, maxListed)+".")
			a.noteWords(key)
		}
		if len(declared) > 0 || slices.Contains(f.order, key) && len(f.required.list) == 0 {
			out.put(key, texts(declared))
		}
	default:
		switch {
		case f.closed():
			out.put(key, &value{kind: 'f'})
		case len(f.others) > 0 && f.closers == 0:
			if one := a.write(f.others); one != nil {
				out.put(key, one)
			}
		}
	}
}

// titled is a schema that has a title.
func titled(title string) *value {
	return &value{kind: '{', keys: []string{"title"}, vals: []*value{{kind: '"', text: title}}}
}

// putItems writes what the items of an array are.
func (a *adapter) putItems(f *facts, out *value) {
	items := f.items
	if len(f.tuple) > 0 {
		f.said = append(f.said, a.inOrder(f))
		a.noteWords("prefixItems")
		either := part{any: slices.Clone(f.tuple)}
		if !f.noItems && len(items) > 0 {
			either.any = append(either.any, items)
		}
		if items = []part{either}; len(either.any) == 1 {
			items = either.any[0]
		}
	}
	if f.noItems && out.get("maxItems") == nil {
		out.put("maxItems", numberOf(len(f.tuple)))
	}
	var one *value
	if len(items) > 0 {
		one = a.write(items)
	}
	if one == nil { // anything
		one = &value{kind: '{', keys: []string{"anyOf"}, vals: []*value{{kind: '['}}}
		for _, kind := range kindOrder {
			if kind != typeArray {
				one.vals[0].vals = append(one.vals[0].vals, &value{kind: '{', keys: []string{"type"}, vals: []*value{{kind: '"', text: nameOf[kind]}}})
			}
		}
	}
	out.put("items", one)
}

// putChoices writes a list of values: of texts as enum, of numbers as their range, and others in
// words.
func (a *adapter) putChoices(f *facts, out *value, kind typeSet) {
	var of []*value
	for _, x := range f.choices {
		if kindOf(x)&kind != 0 {
			of = append(of, x)
		}
	}
	if len(of) == 0 || out.get("enum") != nil {
		return
	}
	switch {
	case kind == typeString:
		full := slices.DeleteFunc(slices.Clone(of), func(x *value) bool { return x.text == "" })
		if len(full) > 0 && len(full) < len(of) {
			f.said = append(f.said, `"" is allowed, too.`)
		}
		if len(full) > 0 {
			for _, x := range full {
				a.bytes -= len(x.text)
			}
			out.put("enum", &value{kind: '[', vals: full})
			return
		}
	case kind == typeNull, kind == typeBool && len(valueSet(of)) == 2:
		return
	case kind == typeInteger|typeFraction:
		low := slices.MinFunc(of, compareNumbers)
		high := slices.MaxFunc(of, compareNumbers)
		out.putNew("minimum", low)
		out.putNew("maximum", high)
	}
	if len(of) == f.listed {
		return // each has its own words already
	}
	f.said = append(f.said, a.choiceWords(of))
	a.noteWords("enum")
}

// describe adds what only words can say to the description.
func (a *adapter) describe(f *facts, out *value) {
	if f == a.root {
		a.form.Forms = text.Short(strings.Join(f.said, "\n"), maxRoot)
		return
	}
	words := text.Short(sentences(f.said), maxSaid)
	a.bytes -= len(words)
	held := out.get("description")
	switch {
	case words == "":
	case held.isString() && strings.TrimSpace(held.text) != "":
		out.put("description", &value{kind: '"', text: sentence(held.text) + " " + words})
	default:
		out.put("description", &value{kind: '"', text: words})
	}
}

// sentences joins what was said. After a list comes a new line.
func sentences(said []string) string {
	var b strings.Builder
	for i, one := range said {
		switch {
		case i == 0:
		case strings.Contains(said[i-1], "\n"):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(one)
	}
	return b.String()
}

// sentence returns a text such that another sentence may follow.
func sentence(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
		return s
	}
	return s + "."
}

// data returns a value of the page with the names of properties that clients know.
func (a *adapter) data(v *value) *value {
	if len(a.form.shown) == 0 || len(v.vals) == 0 {
		a.bytes -= len(v.keys)
		return v
	}
	out := &value{kind: v.kind}
	for i, held := range v.vals {
		if v.isObject() {
			out.keys = append(out.keys, a.form.Name(v.keys[i]))
		}
		out.vals = append(out.vals, a.data(held))
	}
	out.buildIndex()
	return out
}
