package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// parameter is one property of a tool's input, as far as its schema says.
type parameter struct {
	name        string
	types       []string
	takes       string // for a person: its types or choices, limits, and what it is by default
	description string
	required    bool
	of          []shape // what says so
}

// shape lists what one place of a schema says of a value: the subschema there, what it refers to,
// and the parts of its allOf. What comes first wins.
type shape []bridge.Value

// maxNesting bounds how deep parameters are listed, maxListed how many of a tool, maxChoices the
// values of one, and maxShape the parts of a shape.
const maxNesting, maxListed, maxChoices, maxShape = 3, 200, 20, 16

// outline is a schema in which places are looked up, a bounded number of them: a stranger wrote it.
type outline struct {
	root bridge.Value
	left int
}

// maxPlaces bounds how many places of a schema are looked up.
const maxPlaces = 20_000

// describing reads a schema. One that cannot be read has no members.
func describing(schema json.RawMessage) (d *outline, of []shape) {
	root, _ := bridge.ReadValue("the schema", schema)
	d = &outline{root, maxPlaces}
	return d, []shape{d.at(root)}
}

// parameters lists the properties of a schema in its own order. What has no type takes
// any.
func parameters(schema json.RawMessage) []parameter {
	d, of := describing(schema)
	return d.members(of)
}

// nested lists the parameters with the members of those that are objects, or lists of objects.
func nested(schema json.RawMessage) []parameter {
	d, of := describing(schema)
	return d.appendMembers(nil, of, "", maxNesting)
}

func (d *outline) appendMembers(out []parameter, of []shape, path string, depth int) []parameter {
	for _, p := range slices.Concat(d.members(of), d.others(of)) {
		if depth == 0 || len(out) >= maxListed {
			break
		}
		own := path + p.name
		p.name = own
		out = append(out, p)
		out = d.appendMembers(out, p.of, own+".", depth-1)
		for _, s := range p.of {
			out = d.appendMembers(out, []shape{d.at(s.get("items"))}, own+"[].", depth-1)
		}
	}
	return out
}

// at returns what a subschema says, with what it refers to and consists of.
func (d *outline) at(v bridge.Value) shape {
	var all shape
	var add func(v bridge.Value, depth int)
	add = func(v bridge.Value, depth int) {
		if d.left--; !v.IsObject() || depth > maxNesting || len(all) >= maxShape || d.left < 0 {
			return
		}
		all = append(all, v)
		if ref, local := strings.CutPrefix(v.Get("$ref").String(), "#"); local {
			add(d.root.At(ref), depth+1)
		}
		for part := range v.Get("allOf").Elements() {
			add(part, depth+1)
		}
	}
	add(v, 0)
	return all
}

// get returns the keyword from the first place that has it.
func (s shape) get(key string) bridge.Value {
	for _, v := range s {
		if held := v.Get(key); held.Exists() {
			return held
		}
	}
	return bridge.Value{}
}

// forms returns the alternatives of a value, any one of which it may fit.
func (d *outline) forms(s shape) (all []shape) {
	for _, key := range []string{"anyOf", "oneOf"} {
		for one := range s.get(key).Elements() {
			all = append(all, d.at(one))
		}
	}
	return all
}

// perhaps returns the subschemas that apply only to some values.
func (d *outline) perhaps(s shape) []shape {
	all := d.forms(s)
	for _, key := range []string{"then", "else"} {
		all = append(all, d.at(s.get(key)))
	}
	for _, one := range s.get("dependentSchemas").Members() {
		all = append(all, d.at(one))
	}
	return all
}

// members returns the properties of a value that may have any of these shapes. One is required
// where the first shape of all says so.
func (d *outline) members(of []shape) (out []parameter) {
	required := map[string]bool{}
	add := func(s shape, always bool) {
		for _, v := range s {
			for _, name := range textsOf(v.Get("required")) {
				required[name] = required[name] || always
			}
			for name, p := range v.Get("properties").Members() {
				i := slices.IndexFunc(out, func(p parameter) bool { return p.name == name })
				if i < 0 {
					i, out = len(out), append(out, parameter{name: name})
				}
				out[i].of = append(out[i].of, d.at(p))
			}
		}
	}
	for _, s := range of {
		add(s, len(of) == 1)
		for _, one := range d.perhaps(s) {
			add(one, false)
		}
		for _, name := range d.always(s) {
			required[name] = required[name] || len(of) == 1
		}
	}
	for i := range out {
		p := &out[i]
		p.required = required[p.name]
		p.describe(d)
	}
	return out
}

// always returns what each alternative requires.
func (d *outline) always(s shape) (names []string) {
	for i, one := range d.forms(s) {
		wants := textsOf(one.get("required"))
		if i == 0 {
			names = wants
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(wants, name) })
	}
	return names
}

// others returns parameters for names that the schema does not list, where it says what these take.
func (d *outline) others(of []shape) (out []parameter) {
	add := func(name, words string, v bridge.Value) {
		if v.Len() == 0 || !v.IsObject() {
			return
		}
		p := parameter{name: name, of: []shape{d.at(v)}}
		p.describe(d)
		p.description = words
		out = append(out, p)
	}
	for _, s := range of {
		for pattern, v := range s.get("patternProperties").Members() {
			add("*", "Names that match "+pattern, v)
		}
		words := "Any other name"
		if s.get("properties").Len() == 0 {
			words = "Any name"
		}
		if names := choices(s.get("propertyNames")); names != "" {
			words = "Its names: " + names
		} else if matching := s.get("propertyNames").Get("pattern").String(); matching != "" {
			words = "Names that match " + matching
		}
		add("*", words, s.get("additionalProperties"))
	}
	return out
}

// describe fills in what a parameter takes.
func (p *parameter) describe(d *outline) {
	for _, s := range p.of {
		if p.description == "" {
			p.description = s.get("description").String()
		}
		for _, t := range d.typesOf(s, maxNesting) {
			if !slices.Contains(p.types, t) {
				p.types = append(p.types, t)
			}
		}
	}
	if len(p.types) == 0 {
		p.types = []string{"any"}
	}
	p.takes = d.either(p.of, maxNesting)
}

// typesOf returns the types that a value takes, also those of its alternatives and choices.
func (d *outline) typesOf(s shape, depth int) []string {
	types := textsOf(s.get("type"))
	if len(types) > 0 || depth == 0 {
		return types
	}
	add := func(t string) {
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for _, v := range choicesOf(s) {
		add(typeOf(v))
	}
	for _, one := range d.forms(s) {
		for _, t := range d.typesOf(one, depth-1) {
			add(t)
		}
	}
	return types
}

// typeOf returns the type of a value, as schemas call it.
func typeOf(v bridge.Value) string {
	switch {
	case v.IsString():
		return "string"
	case v.IsObject():
		return "object"
	case v.IsArray():
		return "array"
	case v.IsNull():
		return "null"
	case string(v.Text()) == "true", string(v.Text()) == "false":
		return "boolean"
	}
	return "number"
}

// either says what a value takes that has any of these shapes.
func (d *outline) either(of []shape, depth int) string {
	var values []bridge.Value
	var words []string
	var usual string
	for _, s := range of {
		if some := choicesOf(s); some != nil {
			values = append(values, some...)
		} else if takes := d.takes(s, depth); !slices.Contains(words, takes) {
			words = append(words, takes)
		}
		if v := s.get("default"); v.Exists() && usual == "" {
			usual = ", " + plain(v) + " by default"
		}
	}
	return joined(values, words) + usual
}

// joined lists values and other words.
func joined(values []bridge.Value, words []string) string {
	var all []string
	for _, v := range values {
		if one := plain(v); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	switch more := len(all) - maxChoices; {
	case more > 0:
		all = append(all[:maxChoices:maxChoices], "one of "+text.Count(more, "more value"))
	case len(all) == 1 && len(words) == 0:
		return "only " + all[0]
	}
	all = append(all, words...)
	if len(all) > 1 && slices.ContainsFunc(words, func(s string) bool { return strings.Contains(s, ", ") }) {
		return strings.Join(all, ", or ")
	}
	return text.List(all, "or")
}

// takes says what a parameter without choices takes, in the words of a person.
func (d *outline) takes(s shape, depth int) string {
	forms := d.forms(s)
	if depth == 0 {
		forms = nil
	}
	types := textsOf(s.get("type"))
	words := text.List(types, "or")
	if len(forms) > 0 && (len(types) == 0 || !d.same(forms)) {
		words = d.either(forms, depth-1)
		types = d.typesOf(s, depth)
	}
	if words == "" {
		words = "any"
	}
	if items := s.get("items"); items.IsObject() && depth > 0 && slices.Contains(types, "array") {
		words += " of " + bracketed(d.either([]shape{d.at(items)}, depth-1), len(choicesOf(d.at(items))) > 0)
	}
	if first := s.get("prefixItems"); first.Len() > 0 && depth > 0 {
		var each []string
		for one := range first.Elements() {
			each = append(each, bracketed(d.either([]shape{d.at(one)}, depth-1), false))
		}
		words += " of, in this order, " + strings.Join(each, ", ")
	}
	for _, limit := range limits(s) {
		words += ", " + limit
	}
	return words
}

// same reports whether alternatives say nothing but types, or that something is required.
func (d *outline) same(forms []shape) bool {
	return !slices.ContainsFunc(forms, func(s shape) bool {
		return choicesOf(s) != nil || len(limits(s)) > 0 || len(textsOf(s.get("type"))) > 0
	})
}

// bracketed keeps the commas of a part from those around it.
func bracketed(words string, choices bool) string {
	if strings.Contains(words, ", ") && !choices {
		return "(" + words + ")"
	}
	return words
}

// choicesOf returns the values of an enum or a const, or of alternatives that are all constants.
func choicesOf(s shape) (all []bridge.Value) {
	if only := s.get("const"); only.Exists() {
		return []bridge.Value{only}
	}
	for one := range s.get("enum").Elements() {
		all = append(all, one)
	}
	return all
}

// choices lists the values of an enum or a const; "" without one.
func choices(v bridge.Value) string {
	values := choicesOf(shape{v})
	if values == nil {
		return ""
	}
	return joined(values, nil)
}

// limits says what bounds a value.
func limits(s shape) (all []string) {
	at := func(key string) string { return string(s.get(key).Text()) }
	between := func(least, most, units string) {
		low, high := at(least), at(most)
		count := func(n string) string {
			if n == "1" {
				return n + strings.TrimSuffix(units, "s")
			}
			return n + units
		}
		switch {
		case low != "" && low == high:
			all = append(all, "exactly "+count(low))
		case low != "" && high != "":
			all = append(all, low+" to "+count(high))
		case low != "":
			all = append(all, "at least "+count(low))
		case high != "":
			all = append(all, "at most "+count(high))
		}
	}
	between("minimum", "maximum", "")
	between("minLength", "maxLength", " characters")
	between("minItems", "maxItems", " items")
	between("minProperties", "maxProperties", " members")
	for _, one := range []struct{ key, before string }{
		{"exclusiveMinimum", "more than "}, {"exclusiveMaximum", "less than "}, {"multipleOf", "a multiple of "},
	} {
		if at(one.key) != "" {
			all = append(all, one.before+at(one.key))
		}
	}
	for _, one := range []struct{ key, before string }{
		{"format", "as a "}, {"contentEncoding", "as "}, {"pattern", "matching "},
	} {
		if said := s.get(one.key).String(); said != "" {
			all = append(all, one.before+said)
		}
	}
	if at("uniqueItems") == "true" {
		all = append(all, "each once")
	}
	return all
}

// plain is a value as a person writes it: a text without quotes, where it is not taken for another
// value or for several.
func plain(v bridge.Value) string {
	s := v.String()
	if !v.IsString() || s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s, ",\"") ||
		strings.Contains(s, " or ") || json.Valid([]byte(s)) {
		return string(v.Text())
	}
	return s
}

// textsOf returns a text, or those of a list.
func textsOf(v bridge.Value) (all []string) {
	if v.IsString() {
		return []string{v.String()}
	}
	for x := range v.Elements() {
		all = append(all, x.String())
	}
	return all
}

// takesName reports whether a pattern of the schema is about a name.
func takesName(of []shape, name string) (bridge.Value, bool) {
	for _, s := range of {
		for pattern, v := range s.get("patternProperties").Members() {
			if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
				return v, true
			}
		}
	}
	return bridge.Value{}, false
}

// typesFor returns the types of an argument of that name.
func typesFor(schema json.RawMessage, name string) []string {
	d, of := describing(schema)
	for _, p := range d.members(of) {
		if p.name == name {
			return p.types
		}
	}
	v, ok := takesName(of, name)
	if !ok {
		v = of[0].get("additionalProperties")
	}
	if types := d.typesOf(d.at(v), maxNesting); len(types) > 0 {
		return types
	}
	return []string{"any"}
}

// misspelled calls a function with each argument, at any depth, that the schema does not declare,
// and with what was probably meant.
func misspelled(schema json.RawMessage, given bridge.Value, say func(name, near string)) {
	d, of := describing(schema)
	d.misspelled(of, given, "", maxNesting, say)
}

func (d *outline) misspelled(of []shape, given bridge.Value, path string, depth int, say func(name, near string)) {
	if depth == 0 {
		return
	}
	for item := range given.Elements() {
		for _, s := range of {
			d.misspelled([]shape{d.at(s.get("items"))}, item, path, depth-1, say)
		}
	}
	members := d.members(of)
	names := make([]string, len(members))
	for i, p := range members {
		names[i] = p.name
	}
	for name, v := range given.Members() {
		if i := slices.Index(names, name); i >= 0 {
			d.misspelled(members[i].of, v, path+name+".", depth, say)
			continue
		}
		if _, ok := takesName(of, name); ok {
			continue
		}
		if near := text.Nearest(name, names); near != "" {
			say(path+name, path+near)
		}
	}
}
