package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// node is one subschema in the graph that the static check builds. The cost of a validation is
// computed from the graph, so its edges may be more than the library follows, never fewer.
type node struct {
	ptr     string
	tokens  []string
	val     *value
	depth   int
	edges   []edge
	props   map[string]*node
	costs   costs
	visited uint8 // 1: on the path of the current walk; 2: done
	expands int   // schemas that one value meets here, this one included; saturates
	longest int   // the same along one path
}

// edge leads to a subschema that is neither a named member nor only referred to.
type edge struct {
	role role
	name string // of the member that a roleDependent edge asks for
	at   int    // index of a rolePrefix edge
	to   *node
}

// graph holds the results of the static check of a schema.
type graph struct {
	limits      Limits
	draft       int
	root        *node
	doc         *value
	nodes       map[string]*node // by pointer
	order       []*node          // as found: nodes that a reference found come last
	positions   map[*value]bool  // objects at schema positions
	anchors     map[string]*node
	names       int // bytes of all pointers
	unevaluated bool
	patterns    bool
}

// maxNames bounds the bytes of the pointers to all subschemas. The library finds a subschema by
// comparing its pointer with that of every other one: 1,900 of them below a name of 30 KB took five
// seconds.
const maxNames = 1 << 20

// buildGraph walks every schema position of doc and resolves every reference.
func buildGraph(doc *value, l Limits) (*graph, error) {
	g := &graph{limits: l, doc: doc, nodes: map[string]*node{}, positions: map[*value]bool{},
		anchors: map[string]*node{}}
	var err error
	if g.draft, err = rootDraft(doc); err != nil {
		return nil, err
	}
	if g.root, err = g.add(doc, nil, 1); err != nil {
		return nil, err
	}
	// Resolving a reference can add nodes, at the end of the list.
	for i := 0; i < len(g.order); i++ {
		if err := g.resolveAll(g.order[i]); err != nil {
			return nil, err
		}
	}
	if err := g.measureAll(); err != nil {
		return nil, err
	}
	return g, nil
}

// add makes the node of a schema and those of everything below it.
func (g *graph) add(v *value, tokens []string, depth int) (*node, error) {
	ptr := Pointer(tokens...)
	if !v.isSchema() {
		return nil, refusef(RuleInvalid, ptr, "a schema is an object or a boolean")
	}
	if n, ok := g.nodes[ptr]; ok {
		return n, nil
	}
	if depth > g.limits.Depth {
		return nil, refusef(RuleTooDeep, ptr, "schemas are nested more than %d deep",
			g.limits.Depth)
	}
	if len(g.order) >= g.limits.Subschemas {
		return nil, refusef(RuleTooMany, ptr, "more than %d subschemas", g.limits.Subschemas)
	}
	if g.names += len(ptr); g.names > maxNames {
		return nil, refusef(RuleTooLarge, ptr, "the names around its subschemas are too long")
	}
	n := &node{ptr: ptr, tokens: tokens, val: v, depth: depth}
	g.nodes[ptr], g.order = n, append(g.order, n)
	if !v.isObject() {
		return n, nil
	}
	g.positions[v] = true
	if err := g.checkKeywords(n); err != nil {
		return nil, err
	}
	for _, c := range children(v) {
		sub := append(append(make([]string, 0, len(tokens)+2), tokens...), c.tokens()...)
		to, err := g.add(c.val, sub, depth+1)
		if err != nil {
			return nil, err
		}
		n.connect(c, to)
	}
	return n, nil
}

func (n *node) connect(c child, to *node) {
	switch c.role {
	case roleNone:
	case roleProps:
		if n.props == nil {
			n.props = map[string]*node{}
		}
		n.props[c.name] = to
	case rolePrefix:
		at := 0
		for _, e := range n.edges {
			if e.role == rolePrefix {
				at++
			}
		}
		n.edges = append(n.edges, edge{role: rolePrefix, at: at, to: to})
	default:
		n.edges = append(n.edges, edge{role: c.role, name: c.name, to: to})
	}
}

var refKeywords = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// resolveAll turns the references of a schema into edges. There is one document and one base, so a
// dynamic reference cannot lead anywhere that a plain one does not.
func (g *graph) resolveAll(n *node) error {
	for _, key := range refKeywords {
		ref := n.val.get(key)
		if ref == nil {
			continue
		}
		if !ref.isString() {
			return refusef(RuleInvalid, n.ptr+"/"+key, "a reference is a string")
		}
		to, err := g.resolve(n.ptr+"/"+key, ref.text)
		if err != nil {
			return err
		}
		n.edges = append(n.edges, edge{role: roleInPlace, to: to})
	}
	return nil
}

func (g *graph) resolve(at, ref string) (*node, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, refusef(RuleRemoteRef, at,
			"only references inside the schema itself (starting with #) are followed")
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, refusef(RuleRefNotFound, at, "the reference is not well formed")
	}
	if fragment != "" && fragment[0] != '/' {
		if n, ok := g.anchors[fragment]; ok {
			return n, nil
		}
		return nil, refusef(RuleRefNotFound, at, "no such anchor in the schema")
	}
	tokens, ok := SplitPointer(fragment)
	if !ok {
		return nil, refusef(RuleRefNotFound, at, "the reference is not a JSON pointer")
	}
	if n, ok := g.nodes[Pointer(tokens...)]; ok {
		return n, nil
	}
	// A place that no keyword makes a schema position, as in "#/components/schemas/x".
	target := g.doc.lookup(tokens)
	if target == nil {
		return nil, refusef(RuleRefNotFound, at, "nothing in the schema is there")
	}
	for _, t := range tokens {
		if t == "enum" || t == "const" || t == "default" || t == "examples" {
			return nil, refusef(RuleRefNotFound, at, "what is there is data, not a schema")
		}
	}
	return g.add(target, tokens, 1)
}

// objectsOnly reports whether a schema says that it describes objects. One that has words for
// members and no type means objects, too.
func (g *graph) objectsOnly(n *node) bool {
	v := n.val
	switch {
	case v.get("type") != nil:
		return n.costs.types == typeObject
	case v.get("properties") != nil || v.get("required") != nil:
		return true
	}
	if ref := v.get("$ref"); ref.isString() {
		to, err := g.resolve(n.ptr, ref.text)
		return err == nil && g.objectsOnly(to)
	}
	objects := func(key string) (all, some bool) {
		list := v.get(key)
		if !list.isArray() {
			return false, false
		}
		all = len(list.vals) > 0
		for i := range list.vals {
			is := g.objectsOnly(g.nodes[Pointer(append(slices.Clone(n.tokens), key, strconv.Itoa(i))...)])
			all, some = all && is, some || is
		}
		return all, some
	}
	anyOf, _ := objects("anyOf")
	oneOf, _ := objects("oneOf")
	_, allOf := objects("allOf")
	return anyOf || oneOf || allOf
}

// maxChain bounds schemas applied inside one another to one value. Each is a few frames of the
// library's recursion, for every level of the value: 200 levels of 128 stay far away from the end
// of a stack, which nothing can recover.
const maxChain = 128

// measureAll counts expansions and finds reference cycles that no value ever gets smaller in.
func (g *graph) measureAll() error {
	for _, n := range g.order {
		if err := g.measure(n); err != nil {
			return err
		}
	}
	for _, n := range g.order {
		if n.expands > g.limits.Expansions {
			return refusef(RuleExpands, n.ptr,
				"one value would be checked against more than %d subschemas", g.limits.Expansions)
		}
		if n.longest > maxChain {
			return refusef(RuleTooDeep, n.ptr,
				"references and combinations are chained more than %d deep", maxChain)
		}
	}
	return nil
}

const saturated = 1 << 40

func (g *graph) measure(n *node) error {
	switch n.visited {
	case 1:
		return refusef(RuleRefCycle, n.ptr,
			"the schema refers to itself for the same value, without end")
	case 2:
		return nil
	}
	n.visited, n.expands, n.longest = 1, 1, 1
	for _, e := range n.edges {
		if e.role != roleInPlace && e.role != roleDependent {
			continue
		}
		if err := g.measure(e.to); err != nil {
			return err
		}
		n.expands = min(saturated, n.expands+e.to.expands)
		n.longest = max(n.longest, e.to.longest+1)
	}
	n.visited = 2
	return nil
}
