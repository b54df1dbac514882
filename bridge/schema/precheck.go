package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pagetools/pagetools/bridge/text"
)

// drafts are the dialects that are known, by "$schema" without scheme and without "#".
var drafts = map[string]int{
	"json-schema.org/draft-04/schema":      4,
	"json-schema.org/draft-06/schema":      6,
	"json-schema.org/draft-07/schema":      7,
	"json-schema.org/draft/2019-09/schema": 2019,
	"json-schema.org/draft/2020-12/schema": 2020,
}

var draftByNumber = map[int]*jsonschema.Draft{
	4: jsonschema.Draft4, 6: jsonschema.Draft6, 7: jsonschema.Draft7, 2019: jsonschema.Draft2019, 2020: jsonschema.Draft2020,
}

// draftOf reads "$schema"; 0 is unknown.
func draftOf(v *value) int {
	if !v.isString() {
		return 0
	}
	uri := strings.TrimSuffix(v.text, "#")
	bare, ok := strings.CutPrefix(uri, "https://")
	if !ok {
		if bare, ok = strings.CutPrefix(uri, "http://"); !ok {
			return 0
		}
	}
	return drafts[bare]
}

// rootDraft is the draft that a document is read by: 2020-12 unless "$schema" says otherwise. A
// document of 2020-12 that still writes lists of schemas under "items" is read as 2019-09, which
// differs in nothing else that it could use.
func rootDraft(doc *value) (int, error) {
	draft := 2020
	if s := doc.get("$schema"); s != nil {
		if draft = draftOf(s); draft == 0 {
			return 0, refusef(RuleDraft, "/$schema",
				"the drafts 04, 06, 07, 2019-09 and 2020-12 are known")
		}
	}
	if draft == 2020 {
		list, modern := usesLists(doc)
		if list && !modern {
			draft = 2019
		}
	}
	return draft, nil
}

// usesLists reports whether a schema has "items" with a list, and whether it has keywords that only
// 2020-12 knows.
func usesLists(v *value) (list, modern bool) {
	if !v.isObject() {
		return false, false
	}
	list = v.get("items").isArray()
	modern = v.get("prefixItems") != nil || v.get("$dynamicRef") != nil ||
		v.get("$dynamicAnchor") != nil
	for _, c := range children(v) {
		l, m := usesLists(c.val)
		list, modern = list || l, modern || m
	}
	return list, modern
}

// counts are the keywords whose value is a number of things. The library reads them into an int and
// silently wraps.
var counts = []string{
	"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
}

var maxCount = readDecimal("9007199254740991")

// checkKeywords checks what one schema says, its subschemas aside.
func (g *graph) checkKeywords(n *node) error {
	v := n.val
	if err := g.checkNaming(n); err != nil {
		return err
	}
	for _, key := range counts {
		if c := v.get(key); c != nil {
			if c.kind != '0' {
				return refusef(RuleInvalid, n.ptr+"/"+key, "%q is a whole number", key)
			}
			if d := readDecimal(c.text); d.negative || !d.integer() || d.compare(maxCount) > 0 {
				return refusef(RuleInvalid, n.ptr+"/"+key, "%q is a whole number from 0 to 2^53-1",
					key)
			}
		}
	}
	if f := v.get("format"); f != nil && !f.isString() {
		return refusef(RuleInvalid, n.ptr+"/format", "\"format\" is a string")
	}
	if v.get("unevaluatedProperties") != nil || v.get("unevaluatedItems") != nil {
		g.unevaluated = true
	}
	n.costs = readCosts(v)
	// The metaschemas of drafts 04 and 06 want the values of an enum to differ, which can be made
	// as slow as uniqueItems.
	if e := v.get("enum"); e.isArray() && uniqueCost(e) > compileUniqueBudget {
		return refusef(RuleExpands, n.ptr+"/enum", "too costly to tell its values apart")
	}
	return g.checkPatterns(n)
}

// checkNaming checks "$id", "id", "$schema" and anchors.
func (g *graph) checkNaming(n *node) error {
	v := n.val
	idKey := "$id"
	if g.draft == 4 {
		idKey = "id"
	}
	if id := v.get(idKey); id != nil {
		if !id.isString() {
			return refusef(RuleInvalid, n.ptr+"/"+idKey, "%q is a string", idKey)
		}
		base, fragment, _ := strings.Cut(id.text, "#")
		// The root's name is dropped: nothing can refer to it, there is only this document. A name
		// further down would change what "#" means below it.
		if base != "" && len(n.tokens) > 0 {
			return refusef(RuleID, n.ptr+"/"+idKey,
				"only the root may have %q, elsewhere it is at most a fragment", idKey)
		}
		if fragment != "" && g.draft < 2019 {
			if err := g.anchor(n, idKey, fragment); err != nil {
				return err
			}
		}
	}
	if s := v.get("$schema"); s != nil && len(n.tokens) > 0 && draftOf(s) != g.draft {
		return refusef(RuleDraft, n.ptr+"/$schema",
			"a schema inside another follows the same draft")
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		a := v.get(key)
		if a == nil {
			continue
		}
		if !a.isString() || a.text == "" || strings.ContainsAny(a.text, "/#%") {
			return refusef(RuleInvalid, n.ptr+"/"+key, "an anchor is a plain name")
		}
		if err := g.anchor(n, key, a.text); err != nil {
			return err
		}
	}
	return nil
}

func (g *graph) anchor(n *node, key, name string) error {
	if other, ok := g.anchors[name]; ok && other != n {
		return refusef(RuleInvalid, n.ptr+"/"+key, "two schemas have the same anchor")
	}
	g.anchors[name] = n
	return nil
}

func (g *graph) checkPatterns(n *node) error {
	if p := n.val.get("pattern"); p.isString() {
		g.patterns = true
		if err := checkPattern(p.text, g.limits.Pattern); err != "" {
			return refusef(RulePattern, n.ptr+"/pattern", "%s", err)
		}
	}
	pp := n.val.get("patternProperties")
	if !pp.isObject() {
		return nil
	}
	for _, key := range pp.keys {
		g.patterns = true
		if err := checkPattern(key, g.limits.Pattern); err != "" {
			return refusef(RulePattern, n.ptr+Pointer("patternProperties", key), "%s",
				err)
		}
	}
	return nil
}

// resultRoot returns the root of a schema of results as an object, which true and false are short
// for, and refuses what is not a schema.
func resultRoot(doc *value) (*value, error) {
	switch {
	case doc.isObject():
		return doc, nil
	case doc.isBool():
		return asObject(doc), nil
	}
	return nil, refusef(RuleRootNotObject, "", "a schema is an object or a boolean")
}

// checkRoot refuses a root that no object can satisfy on its face.
func checkRoot(doc *value) error {
	if !doc.isObject() {
		return refusef(RuleRootNotObject, "",
			"the root of a schema is an object that describes an object")
	}
	switch t := doc.get("type"); {
	case t.isString() && t.text != "object":
		return refusef(RuleRootNotObject, "/type", "the root describes an object, not %q",
			text.Short(t.text, maxShown))
	case t.isArray() && slices.Contains(namesIn(t), "object"):
		return nil
	case t.isArray():
		return refusef(RuleRootNotObject, "/type", "the root describes an object")
	}
	if c := doc.get("const"); c != nil && !c.isObject() {
		return refusef(RuleRootNotObject, "/const", "the root describes an object")
	}
	return nil
}
