package schema

import "slices"

// This file says what parts have in common: all of several parts, or one of several alternatives.

// add makes facts say what others say, too. Those are of one of several alternatives, or of all.
func (f *facts) add(o *facts) {
	f.types &= o.types
	f.typed = f.typed || o.typed
	f.about |= o.about
	if o.chosen {
		f.choose(o.choices)
	}
	for _, key := range o.order {
		if key == "type" && !slices.Contains(f.order, key) {
			f.order = slices.Insert(f.order, 0, key)
		}
		f.mark(key)
	}
	for key, held := range o.scalar {
		if f.scalar[key] == nil {
			f.scalar[key] = held
		}
	}
	for _, name := range o.named {
		f.property(name, o.props[name])
	}
	f.required.add(o.required.list...)
	f.others, f.items = append(f.others, o.others...), append(f.items, o.items...)
	f.closers, f.openers = f.closers+o.closers, f.openers+o.openers
	f.noItems, f.nullable = f.noItems || o.noItems, f.nullable || o.nullable
	f.patterns, f.recurses = f.patterns || o.patterns, f.recurses || o.recurses
	if f.tuple == nil {
		f.tuple = o.tuple
	}
	if f.variants == nil {
		f.variants = o.variants
	}
	f.said = append(f.said, o.said...)
	f.listed = max(f.listed, o.listed)
}

// closed reports whether there are no other properties than those that have a name.
func (f *facts) closed() bool { return f.closers > 0 && f.closers >= f.openers && !f.patterns }

// settle makes facts say what alternatives have in common. Alternatives of several types stay
// apart.
func (a *adapter) settle(f *facts, group part) {
	own := f.kinds()
	apart := map[typeSet][]*facts{}
	var all []*facts
	var types typeSet
	loose, null := false, false
	for _, parts := range group.any {
		branch := a.read(parts)
		kinds := branch.kinds()
		if kinds == 0 && !branch.open() && !branch.never() {
			null = true
			continue
		}
		if kinds == 0 {
			kinds = own
		}
		if own != 0 {
			kinds &= own
		}
		if branch.never() || kinds == 0 && own != 0 {
			continue
		}
		null = null || branch.null()
		loose = loose || kinds == 0
		all, types = append(all, branch), types|kinds
		for _, kind := range split(kinds) {
			apart[kind] = append(apart[kind], branch)
		}
	}
	a.join(f, group, all, apart, types, null, loose)
}

func (a *adapter) join(f *facts, group part, all []*facts, apart map[typeSet][]*facts, types typeSet, null, loose bool) {
	null = null && (!f.chosen || slices.ContainsFunc(f.choices, isNull))
	switch {
	case len(all) == 0 && !null:
		f.types, f.typed = 0, true
		return
	case len(all) == 0:
		f.types, f.typed = f.types&typeNull, true
		return
	case len(all) == 1:
		f.nullable = f.nullable || null
		if null {
			all[0].types |= typeNull
		}
		f.add(all[0])
		return
	}
	if !loose {
		f.types &= types | typeNull
		f.typed = true
		if !null {
			f.types &= types
		}
	}
	switch kinds := split(types); {
	case loose:
		a.saySeveral(f, group, all)
	case len(kinds) == 1:
		a.saySeveral(f, group, all)
		one := either(all)
		if null {
			one.types, f.nullable = one.types|typeNull, true
		}
		f.add(one)
	case f.variants == nil && f.about == 0 && !f.chosen:
		f.variants = map[typeSet]*facts{}
		for _, kind := range kinds {
			one := either(apart[kind])
			if len(apart[kind]) > 1 {
				a.saySeveral(one, group, apart[kind])
			}
			f.variants[kind] = one
		}
	default:
		a.saySeveral(f, group, all)
	}
}

// either returns what holds whichever of several facts of one type does.
func either(list []*facts) *facts {
	if len(list) == 1 {
		return list[0]
	}
	first := list[0]
	f := newFacts()
	f.types, f.typed, f.chosen, f.closers = 0, true, true, 1
	f.required.add(first.required.list...)
	known := map[string]bool{}
	for i, one := range list {
		f.types, f.about = f.types|one.types, f.about|one.about
		f.chosen = f.chosen && one.chosen
		f.recurses = f.recurses || one.recurses
		if !one.closed() {
			f.closers = 0
		}
		f.required.keep(func(name string) bool { return one.required.known[name] })
		if one.chosen {
			f.mark("enum")
		}
		for _, x := range one.choices {
			if key := keyOf(x); !known[key] {
				known[key] = true
				f.choices = append(f.choices, x)
			}
		}
		for _, name := range one.named {
			f.alternative(name, one.props[name])
		}
		f.openers = min(1, len(f.named))
		if i == 0 {
			for _, word := range first.order {
				held := first.scalar[word]
				if held != nil && !slices.ContainsFunc(list, func(o *facts) bool { return !equal(o.scalar[word], held) }) {
					f.order, f.scalar[word] = append(f.order, word), held
				}
			}
		}
	}
	f.items = eitherItems(list)
	if !f.chosen {
		f.choices = nil
	}
	return f
}

// alternative adds what a property may be, besides what it may be already.
func (f *facts) alternative(name string, parts []part) {
	known := f.props[name]
	switch {
	case known == nil:
		f.property(name, parts)
	case sameParts(known, parts):
	case len(known) == 1 && known[0].any != nil && known[0].key == "":
		if !slices.ContainsFunc(known[0].any, func(one []part) bool { return sameParts(one, parts) }) {
			known[0].any = append(slices.Clip(known[0].any), parts)
		}
	default:
		f.props[name] = []part{{any: [][]part{known, parts}}}
	}
}

// eitherItems returns what items are whichever of several facts holds; nothing where one says
// nothing.
func eitherItems(list []*facts) []part {
	either := part{}
	for _, one := range list {
		if len(one.items) == 0 || len(one.tuple) > 0 {
			return nil
		}
		if !slices.ContainsFunc(either.any, func(known []part) bool { return sameParts(known, one.items) }) {
			either.any = append(either.any, one.items)
		}
	}
	if len(either.any) == 1 {
		return either.any[0]
	}
	return []part{either}
}

func sameParts(a, b []part) bool {
	return slices.EqualFunc(a, b, func(x, y part) bool {
		return x.schema != nil && y.schema != nil && (x.schema == y.schema || equal(x.schema, y.schema)) ||
			x.schema == nil && y.schema == nil && slices.EqualFunc(x.any, y.any, sameParts)
	})
}
