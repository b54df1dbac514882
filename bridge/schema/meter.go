package schema

import (
	"hash/maphash"
	"slices"
)

// The library takes no context and no budget: once it runs it runs to the end. So the cost of a
// validation is computed beforehand, by walking value and graph together the way the library does,
// never stopping early where it might. The sum is an upper bound in estimated nanoseconds, and the
// same for the same input on every machine. The walk ends as soon as the budget is spent, so it is
// itself bounded, at about a tenth of what it estimates.
//
// The constants were fitted to measurements (see TestValidateWorstCases), on the high side.
const (
	costBudget          = 400_000_000 // per validation
	compileUniqueBudget = 50_000_000

	costApply   = 800 // one schema meets one value
	costLevel   = 80  // ... per level of the value: every error carries its path, and paths have to be kept
	costChain   = 8   // ... per schema on the way there for the same value: the library looks for cycles
	costUneval  = 250 // per member or element that unevaluated* has to keep track of, per schema
	costName    = 150 // finding one member in "properties"
	costNumber  = 300 // reading a number exactly
	costDigit   = 15  // ... per digit
	costString  = 10  // comparing two strings
	costNode    = 600 // comparing two values, per node
	costMatch   = 700 // the least that one pattern takes; what it takes in the end has a budget of its own
	costRune    = 12  // ... per byte, because the engine copies its text
	costHash    = 400 // uniqueItems, per node
	costMissing = 120 // per name in "required"
)

func (v *value) typeSet() typeSet {
	switch v.kind {
	case 'n':
		return typeNull
	case 't', 'f':
		return typeBool
	case '0':
		return typeInteger | typeFraction
	case '"':
		return typeString
	case '[':
		return typeArray
	default:
		return typeObject
	}
}

// costs holds the costs of one schema's own keywords, read once.
type costs struct {
	types       typeSet
	enumStrings int
	enumNumbers int
	enumDigits  int // of the longest number among them
	enumNodes   int // of arrays and objects among them
	numbers     int // keywords that do arithmetic
	digits      int // of their operands
	unique      bool
	pattern     bool
	required    int
}

func readCosts(v *value) costs {
	var c costs
	c.types, _ = typesOf(v.get("type"))
	if e := v.get("enum"); e.isArray() {
		for _, item := range e.vals {
			c.option(item)
		}
	}
	if k := v.get("const"); k != nil {
		c.option(k)
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "type"} {
		if k := v.get(key); k != nil {
			c.numbers++
			c.digits = max(c.digits, magnitude(k))
		}
	}
	u := v.get("uniqueItems")
	c.unique = u.isBool() && u.kind == 't'
	c.pattern = v.get("pattern") != nil
	for _, key := range []string{"required", "dependentRequired", "dependencies"} {
		if k := v.get(key); k != nil {
			c.required += k.size
		}
	}
	return c
}

func (c *costs) option(v *value) {
	switch v.kind {
	case '"':
		c.enumStrings++
	case '0':
		c.enumNumbers++
		c.enumDigits = max(c.enumDigits, magnitude(v))
	case '[', '{':
		c.enumNodes += v.size
	}
}

// magnitude is the number of digits that exact arithmetic has to carry for a number; 0 for anything
// else.
func magnitude(v *value) int {
	if v.kind != '0' {
		return 0
	}
	mantissa, exp := splitExponent(v.text)
	if exp < 0 {
		exp = -exp
	}
	return len(mantissa) + exp
}

// of returns the cost of the schema's own keywords for one value.
func (c *costs) of(v *value) int {
	switch v.kind {
	case '"':
		cost := c.enumStrings * (costString + len(v.text)/8)
		if c.pattern {
			cost += costMatch + len(v.text)*costRune
		}
		return cost + len(v.text)/4
	case '0':
		one := costNumber + costDigit*magnitude(v)
		return c.enumNumbers*(one+costNumber+costDigit*c.enumDigits) + c.numbers*(2*one+costDigit*c.digits)
	case '[', '{':
		cost := 0
		if c.enumNodes > 0 {
			// A comparison visits at most the smaller of both; the sum over all options is bounded
			// by either.
			cost = c.enumNodes * costNode
		}
		if c.unique && v.kind == '[' {
			cost += uniqueCost(v)
		}
		if v.kind == '{' {
			cost += c.required * costMissing
		}
		return cost
	}
	return 0
}

// meter adds up one validation.
type meter struct {
	graph *graph
	left  int
}

// affordable reports whether checking v stays within the budget, and what it costs at most (up to
// the budget).
func (g *graph) affordable(v *value) (ok bool, cost int) {
	m := meter{graph: g, left: costBudget}
	m.apply(g.root, v, 0, 0)
	return m.left > 0, costBudget - m.left
}

// apply charges for checking v against n. level counts containers around v, chain schemas applied
// to v before n. Its recursion is bounded by the depth of values times maxChain.
func (m *meter) apply(n *node, v *value, level, chain int) {
	if m.left <= 0 {
		return
	}
	m.left -= costApply + costLevel*level + costChain*chain
	if !n.val.isObject() {
		return
	}
	if n.costs.types&v.typeSet() == 0 {
		return
	}
	m.left -= n.costs.of(v)
	if m.graph.unevaluated {
		m.left -= costUneval * len(v.vals)
	}
	for _, e := range n.edges {
		m.follow(e, v, level, chain)
	}
	if v.isObject() {
		m.members(n, v, level)
	}
}

func (m *meter) follow(e edge, v *value, level, chain int) {
	switch {
	case e.role == roleInPlace:
		m.apply(e.to, v, level, chain+1)
	case e.role == roleDependent && v.isObject():
		if v.get(e.name) != nil {
			m.apply(e.to, v, level, chain+1)
		}
	case e.role == roleElements && v.isArray():
		for _, item := range v.vals {
			if m.left <= 0 {
				return
			}
			m.apply(e.to, item, level+1, 0)
		}
	case e.role == rolePrefix && v.isArray() && e.at < len(v.vals):
		m.apply(e.to, v.vals[e.at], level+1, 0)
	}
}

// members charges for everything that a schema does with the members of an object.
func (m *meter) members(n *node, v *value, level int) {
	m.left -= costName * len(v.keys)
	for i, key := range v.keys {
		named := n.props[key]
		if named != nil {
			m.apply(named, v.vals[i], level+1, 0)
		}
		for _, e := range n.edges {
			if m.left <= 0 {
				return
			}
			switch e.role {
			case rolePatterns:
				m.left -= costMatch + len(key)*costRune
				m.apply(e.to, v.vals[i], level+1, 0)
			case roleMembers:
				if named == nil || m.graph.unevaluated {
					m.apply(e.to, v.vals[i], level+1, 0)
				}
			case roleNames:
				m.apply(e.to, &value{kind: '"', text: key, size: 1}, level+1, 0)
			default: // not about members by their names
			}
		}
	}
}

// uniqueCost bounds the search for equal elements. The library sorts elements into buckets by a
// hash over their parts that does not see where an array ends, so that for one all nestings of n
// brackets are alike, and compares within a bucket pair by pair. The same hash tells here how many
// pairs there are.
func uniqueCost(list *value) int {
	cost := list.size * costHash
	buckets := map[uint64]int{}
	seed := maphash.MakeSeed()
	for i, item := range list.vals {
		var h maphash.Hash
		h.SetSeed(seed)
		bucketHash(item, &h)
		sum := h.Sum64()
		pairs := buckets[sum]
		if len(list.vals) <= 20 { // the library compares all of few
			pairs = i
		}
		cost += pairs * item.size * costNode
		buckets[sum]++
		if cost > costBudget {
			return cost
		}
	}
	return cost
}

func bucketHash(v *value, h *maphash.Hash) {
	switch v.kind {
	case '{':
		_ = h.WriteByte(0)
		for _, key := range slices.Sorted(slices.Values(v.keys)) {
			_ = h.WriteByte(4)
			_, _ = h.WriteString(key)
			bucketHash(v.get(key), h)
		}
	case '[':
		_ = h.WriteByte(1)
		for _, item := range v.vals {
			bucketHash(item, h)
		}
	case 'n':
		_ = h.WriteByte(2)
	case 't', 'f':
		_ = h.WriteByte(3)
		_ = h.WriteByte(byte(v.kind) & 1)
	case '"':
		_ = h.WriteByte(4)
		_, _ = h.WriteString(v.text)
	case '0':
		_ = h.WriteByte(5)
		d := readDecimal(v.text)
		d.negative = false // the library hashes no sign
		_, _ = h.WriteString(d.String())
	}
}
