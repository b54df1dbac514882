package schema

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// People make small mistakes in schemas, and browsers look at none of them. A keyword with a wrong
// value costs itself: it is left out, and its author is told. A keyword only
// narrows what is valid, except below keywords that turn that round: those go with it.

// Slip is a mistake in a schema that does not cost the tool.
type Slip struct {
	// Rule is RuleKeyword, RuleUnknown or RuleMap.
	Rule string
	// Pointer leads to the keyword, in the schema as it was written (RFC 6901).
	Pointer string
	// Message says what is wrong, what became of it, and what to write, for the author.
	Message string
}

// maxSlips bounds the slips that are kept of a schema.
const maxSlips = 50

// Admit compiles the schema of a page as [Compile] does, and does without its slips: it leaves a
// keyword out, or reads the one thing that it can mean.
func Admit(raw []byte, l Limits) (*Schema, []Slip, error) { return admit(raw, l, true) }

// AdmitResult is Admit for the schema of results.
func AdmitResult(raw []byte, l Limits) (*Schema, []Slip, error) { return admit(raw, l, false) }

func admit(raw []byte, l Limits, arguments bool) (*Schema, []Slip, error) {
	m := &mender{}
	s, err := compile(raw, l, arguments, m)
	return s, m.slips, err
}

// Correct returns a schema as its author meant it, as far as that is certain, with all that is
// wrong: the slips that [Admit] finds, and keywords that are probably misspelled. A schema without
// any comes back as it is, and so does anything that is not an object.
func Correct(v Value) (Value, []Slip) {
	if !v.IsObject() {
		return v, nil
	}
	m := &mender{correct: true}
	doc := parseOwn(v.text)
	m.mend(doc)
	if len(m.slips) == 0 {
		return v, nil
	}
	mended, err := Read(doc.appendJSON(nil), defaultDepth)
	if err != nil { // it became too deep
		return v, m.slips
	}
	return mended, m.slips
}

type mender struct {
	// correct is true when the author's words are corrected, and not only done without.
	correct bool
	draft   int
	slips   []Slip
	changed bool
	wider   map[*value]bool // schemas of which something was left out
}

func (m *mender) slip(rule string, at []string, format func() string) {
	m.changed = true
	if len(m.slips) < maxSlips {
		m.slips = append(m.slips, Slip{Rule: rule, Pointer: shortPointer(Pointer(at...)), Message: format()})
	}
}

// mended mends a document, and returns it as if it had been read so.
func (m *mender) mended(doc *value) (*value, error) {
	m.mend(doc)
	if !m.changed {
		return doc, nil
	}
	again, err := parse(doc.appendJSON(nil), defaultDepth)
	if err != nil {
		return nil, refusef(RuleTooDeep, "", "%s", err.Error())
	}
	return again, nil
}

// mend goes through a whole document.
func (m *mender) mend(doc *value) {
	m.wider = map[*value]bool{}
	if !doc.isObject() {
		return
	}
	if m.draft = draftOf(doc.get("$schema")); m.draft == 0 {
		m.draft = 2020
	}
	m.schema(doc, nil)
	if len(m.wider) > 0 && !m.correct {
		m.widen(doc)
	}
}

// schema mends one schema and those in it.
func (m *mender) schema(v *value, at []string) {
	written := map[string]string{} // keywords that were renamed
	if lib := m.library(v, at); lib != nil {
		*v = *lib
		return
	}
	if m.correct {
		m.spell(v, at, written)
	}
	moved := m.parameters(v, at)
	m.keywords(v, at, written)
	for _, c := range children(v) {
		if !c.val.isObject() {
			continue
		}
		tokens := c.tokens()
		if was, ok := written[c.keyword]; ok {
			tokens[0] = was
		}
		if c.role == roleProps && moved[c.name] {
			tokens = tokens[1:]
		}
		if m.correct && c.role == roleProps {
			requireOf(v, c)
		}
		m.schema(c.val, append(at[:len(at):len(at)], tokens...))
	}
}

// requireOf moves a property's own "required": true to where it is said.
func requireOf(v *value, c child) {
	own := c.val.get("required")
	if own == nil || own.kind != 't' {
		return
	}
	list := v.get("required")
	if list == nil {
		list = &value{kind: '['}
		v.put("required", list)
	}
	if list.isArray() && !slices.Contains(namesIn(list), c.name) {
		list.vals = append(list.vals, &value{kind: '"', text: c.name})
	}
}

// keywords mends or leaves out the keywords of one schema whose values they do not take.
func (m *mender) keywords(v *value, at []string, written map[string]string) {
	drop := map[string]bool{}
	var exclusives []string
	for i, key := range v.keys {
		held := v.vals[i]
		takes := m.takes(key)
		if takes == nil || takes.valid(held) {
			continue
		}
		name := cmp.Or(written[key], key)
		place := slices.Concat(at, []string{name})
		if read := takes.read(held); read != nil {
			m.slip(RuleKeyword, place, func() string { return readAs(name, held, read, takes) })
			if takes == takesSchemaMap { // something in it may be valid now that was not written so
				m.wider[v] = true
			}
			v.vals[i] = read
			continue
		}
		m.slip(RuleKeyword, place, func() string { return leftOut(name, held, takes) })
		meant := takes.meant(held)
		switch {
		case m.correct && meant != nil:
			v.vals[i] = meant
		case m.correct && boundOf(key) != "" && held.isBool():
			exclusives = append(exclusives, key)
		default:
			drop[key] = true
		}
	}
	for _, flag := range exclusives {
		exclusive(v, flag, boundOf(flag))
	}
	if len(drop) > 0 {
		m.drop(v, drop)
	}
}

// drop takes keywords out of a schema, and those that would refuse more without them.
func (m *mender) drop(v *value, keys map[string]bool) {
	if keys["properties"] || keys["patternProperties"] {
		keys["additionalProperties"] = true
	}
	if keys["prefixItems"] {
		keys["items"], keys["additionalItems"] = true, true
	}
	m.wider[v] = true
	v.remove(func(key string) bool { return keys[key] })
}

// boundOf is the bound that a flag of draft 4 makes exclusive, or "".
func boundOf(key string) string {
	switch key {
	case "exclusiveMinimum":
		return "minimum"
	case "exclusiveMaximum":
		return "maximum"
	}
	return ""
}

func readAs(name string, held, read *value, t *takes) string {
	return text.Quote(name) + " must be " + t.words + ", and is " + shown(held) + ": it is read as " + shown(read) + ". Write that."
}

func leftOut(name string, held *value, t *takes) string {
	words := text.Quote(name) + " must be " + t.words + ", and is " + shown(held) + ": it is left out. "
	switch {
	case name == "required" && held.isBool():
		return words + "List the name of the property in \"required\" of the object around it."
	case t.near != nil && t.near(held) != "":
		return words + "Did you mean " + strconv.Quote(t.near(held)) + "?"
	case name == "type" && held.isString() && held.text == "any":
		return words + "Without \"type\" any value is valid."
	}
	return words + "Write " + t.words + ", or nothing."
}

// widen removes, where something was left out below, the keywords that would refuse more values for
// it, because they negate or count. A reference may lead to something wider, too. It reports
// whether anything below is wider.
func (m *mender) widen(v *value) bool {
	if !v.isObject() {
		return false
	}
	wider := m.wider[v] || slices.ContainsFunc(refKeywords, func(key string) bool { return v.get(key) != nil })
	below := map[string]bool{}
	for _, c := range children(v) {
		if m.widen(c.val) {
			below[c.keyword], wider = true, true
		}
	}
	v.remove(func(key string) bool {
		return (key == "not" || key == "if") && below[key] || key == "maxContains" && below["contains"] ||
			key == "oneOf" && below[key] && v.get("anyOf") != nil || strings.HasPrefix(key, "unevaluated") && wider
	})
	if i := slices.Index(v.keys, "oneOf"); i >= 0 && below["oneOf"] {
		v.keys[i] = "anyOf"
		v.buildIndex()
	}
	return wider
}

// leaveOut takes the keyword out that the compiler refuses, and reports whether it could.
func (m *mender) leaveOut(doc *value, err error) bool {
	refused, ok := errors.AsType[*CompileError](err)
	if m == nil || !ok || refused.Rule != RuleInvalid {
		return false
	}
	tokens, _ := SplitPointer(refused.Pointer)
	holder, at := innermost(doc, tokens)
	if at >= len(tokens) {
		return false
	}
	key := tokens[at]
	if holder.get(key) == nil || m.takes(key) == nil || unmendable[key] {
		return false
	}
	m.slip(RuleKeyword, tokens[:at+1], func() string {
		return text.Quote(key) + ": " + refused.Message + "; it is left out. Correct it, or write nothing."
	})
	m.drop(holder, map[string]bool{key: true})
	m.widen(doc)
	return true
}

// innermost follows a pointer through schemas, and returns the last one with the position of its
// keyword in the pointer.
func innermost(doc *value, tokens []string) (holder *value, at int) {
	holder = doc
	for at < len(tokens) {
		kw, holds := subschemaKeywords[tokens[at]]
		end := at + 1
		if held := holder.get(tokens[at]); kw.shape == shapeMap || held.isArray() {
			end++ // an element of a map or a list
		}
		inner := doc.lookup(tokens[:min(end, len(tokens))])
		if !holds || end >= len(tokens) || !inner.isObject() {
			break
		}
		holder, at = inner, end
	}
	return holder, at
}

// unmendable are keywords without which a reference leads elsewhere, or a text is not checked: they
// refuse the tool.
var unmendable = wordSet("$id $schema $ref $dynamicRef $recursiveRef $anchor $dynamicAnchor $recursiveAnchor pattern patternProperties")
