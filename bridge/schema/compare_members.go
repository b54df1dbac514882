package schema

// members compares what an object may hold. A name that only one side lists meets
// "additionalProperties" on the other.
func (c *comparison) members(a, b *value, strict bool, nesting int) {
	pa, pb := a.get("properties"), b.get("properties")
	qa, qb := a.get("patternProperties"), b.get("patternProperties")
	all := []string{"properties", "additionalProperties"}
	for _, v := range []*value{pa, pb, qa, qb} {
		if v != nil && !v.isObject() {
			c.doubt(place{a, b, "patternProperties", all})
			return
		}
	}
	if !sameNames(qa, qb) {
		c.doubt(place{a, b, "patternProperties", all})
		return
	}
	restA, restB := a.get("additionalProperties"), b.get("additionalProperties")
	c.schemas(restA, restB, strict, nesting)
	if qa != nil {
		for i, key := range qa.keys {
			c.schemas(qa.vals[i], qb.get(key), strict, nesting)
		}
	}
	patterns := qa != nil && len(qa.keys) > 0
	each(pa, pb, func(name string, mine, theirs *value) {
		at := place{a: pa, b: pb, key: name}
		switch {
		case theirs != nil:
			c.schemas(mine, theirs, strict, nesting)
		case patterns:
			c.doubt(at)
		default:
			c.as(at, func() { c.schemas(mine, restB, strict, nesting) })
		}
	})
	each(pb, pa, func(name string, mine, theirs *value) {
		at := place{a: pa, b: pb, key: name}
		switch {
		case theirs != nil: // done
		case patterns:
			c.doubt(at)
		case c.documented && (restA == nil || trivial(restA)):
			c.widen(strict, at)
		default:
			c.as(at, func() { c.schemas(restA, mine, strict, nesting) })
		}
	})
}

// each calls a function for every member of an object, with the one that another has under the
// same name, or nil.
func each(from, other *value, compare func(name string, mine, theirs *value)) {
	if from == nil {
		return
	}
	for i, key := range from.keys {
		compare(key, from.vals[i], other.get(key))
	}
}

func sameNames(a, b *value) bool {
	count := func(v *value) int {
		if v == nil {
			return 0
		}
		return len(v.keys)
	}
	if count(a) != count(b) {
		return false
	}
	if count(a) == 0 {
		return true
	}
	for _, key := range a.keys {
		if b.get(key) == nil {
			return false
		}
	}
	return true
}

// elements compares what an array may hold, index by index and then the rest.
func (c *comparison) elements(a, b *value, strict bool, nesting int) {
	firstA, restA, okA := c.layout(a)
	firstB, restB, okB := c.layout(b)
	if !okA || !okB {
		c.doubt(place{a, b, "items", []string{"prefixItems", "additionalItems"}})
		return
	}
	for i := range max(len(firstA), len(firstB)) {
		va, vb := restA, restB
		if i < len(firstA) {
			va = firstA[i]
		}
		if i < len(firstB) {
			vb = firstB[i]
		}
		c.schemas(va, vb, strict, nesting)
	}
	c.schemas(restA, restB, strict, nesting)
}

// layout reads the keywords for elements in either generation.
func (c *comparison) layout(v *value) (first []*value, rest *value, ok bool) {
	items, prefix, additional := v.get("items"), v.get("prefixItems"), v.get("additionalItems")
	if c.draft >= 2020 {
		if items.isArray() || prefix != nil && !prefix.isArray() {
			return nil, nil, false
		}
		if prefix != nil {
			first = prefix.vals
		}
		return first, items, true
	}
	if items.isArray() {
		return items.vals, additional, true
	}
	return nil, items, true
}
