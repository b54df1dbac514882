package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

const (
	maxRoot    = 4 << 10 // characters of what is said in words of the root
	maxPhrases = 20      // of one schema
	maxSaid    = 1000    // characters of what is said in words of one schema
	maxClause  = 160     // of one schema in a sentence
	maxForms   = 20      // alternatives in words
	maxInner   = 4       // levels of a schema in a sentence
)

// phrases says in words what keywords say.
var phrases map[string]func(a *adapter, v, held *value) string

func init() { // the phrases of schemas use each other
	brief := func(format string) func(*adapter, *value, *value) string {
		return func(a *adapter, _, held *value) string { return fmt.Sprintf(format, a.brief(held)) }
	}
	each := func(format string) func(*adapter, *value, *value) string {
		return func(a *adapter, _, held *value) string {
			var parts []string
			for i, name := range held.keys {
				if i == maxListed {
					break
				}
				parts = append(parts, fmt.Sprintf(format, text.Short(a.form.Name(name), maxShown), a.brief(held.vals[i])))
			}
			return strings.Join(parts, " ")
		}
	}
	others := func(what string) func(*adapter, *value, *value) string {
		return func(a *adapter, _, held *value) string {
			if held.kind == 'f' {
				return "No other " + what + "."
			}
			return "Other " + what + ": " + a.brief(held) + "."
		}
	}
	phrases = map[string]func(a *adapter, v, held *value) string{
		"multipleOf":       brief("A multiple of %s."),
		"exclusiveMinimum": brief("More than %s."),
		"exclusiveMaximum": brief("Less than %s."),
		"pattern":          brief("Matches %s."),
		"contentEncoding":  brief("Encoded as %s."),
		"contentMediaType": brief("Its content is %s."),
		"contentSchema":    brief("Its content fits %s."),
		"not":              brief("Not: %s."),
		"propertyNames":    brief("Names of properties: %s."),
		"format": func(_ *adapter, _, held *value) string {
			return "Format: " + text.Short(held.text, maxShown) + "."
		},
		"uniqueItems": func(_ *adapter, _, held *value) string {
			if held.kind != 't' {
				return ""
			}
			return "No item twice."
		},
		"deprecated": func(_ *adapter, _, held *value) string {
			if held.kind != 't' {
				return ""
			}
			return "Deprecated."
		},
		"contains":              containsWords,
		"if":                    ifWords,
		"patternProperties":     each("Properties named like %s: %s."),
		"dependentRequired":     each("With %s, also %s."),
		"dependentSchemas":      each("With %s: %s."),
		"dependencies":          each("With %s: %s."),
		"unevaluatedProperties": others("properties"),
		"unevaluatedItems":      others("items"),
	}
}

func containsWords(a *adapter, v, held *value) string {
	least, most := "1", ""
	if n := v.get("minContains"); n != nil {
		least = shortOf(n)
	}
	if n := v.get("maxContains"); n != nil {
		most = ", at most " + shortOf(n)
	}
	return "At least " + least + most + " of the items: " + a.brief(held) + "."
}

func ifWords(a *adapter, v, held *value) string {
	words := ""
	if then := v.get("then"); then != nil {
		words = "then " + a.brief(then)
	}
	if or := v.get("else"); or != nil {
		if words != "" {
			words += ", "
		}
		words += "else " + a.brief(or)
	}
	if words == "" {
		return ""
	}
	return "If " + a.brief(held) + ", " + words + "."
}

// say adds the words of a keyword.
func (a *adapter) say(f *facts, v *value, key string, held *value) {
	words := fmt.Sprintf("%s: %s.", key, shortOf(held))
	if phrase := phrases[key]; phrase != nil {
		words = phrase(a, v, held)
	}
	if words != "" && len(f.said) < maxPhrases && !slices.Contains(f.said, words) {
		f.said = append(f.said, words)
		a.noteWords(key)
	}
}

func (a *adapter) noteWords(key string) {
	a.note("%q is in words to clients", key)
}

// brief is a schema in a sentence: its JSON, without what describes it. Of a list it is the names.
func (a *adapter) brief(v *value) string {
	if v.isArray() {
		var names []string
		for _, name := range namesIn(v) {
			names = append(names, text.Short(a.form.Name(name), maxShown))
		}
		return text.Few(names, maxListed)
	}
	return text.Short(string(a.inner(v, 0).appendJSON(nil)), maxClause)
}

func (a *adapter) inner(v *value, level int) *value {
	if a.steps--; a.steps < 0 || level > maxInner {
		return &value{kind: '{'}
	}
	if v.isArray() { // of names
		named := namesIn(v)
		for i, name := range named {
			named[i] = a.form.Name(name)
		}
		return texts(named)
	}
	if !v.isObject() {
		return v
	}
	out := &value{kind: '{'}
	for i, key := range v.keys {
		held := v.vals[i]
		kw, known := subschemaKeywords[key]
		switch {
		case annotations[key], strings.HasPrefix(key, "x-"):
		case key == "$ref" && held.isString():
			if to, err := a.graph.resolve("", held.text); err == nil {
				refers := a.inner(to.val, level+1)
				if len(v.keys) == 1 {
					return refers
				}
				out.put("allOf", &value{kind: '[', vals: []*value{refers}})
			}
		case (known && kw.shape == shapeMap || key == "dependentRequired") && held.isObject():
			named := &value{kind: '{'}
			for j, name := range held.keys {
				if !known || kw.role == roleProps || kw.role == roleDependent {
					name = a.form.Name(name)
				}
				named.put(name, a.inner(held.vals[j], level+1))
			}
			out.put(key, named)
		case known && held.isArray():
			list := &value{kind: '['}
			for _, one := range held.vals {
				list.vals = append(list.vals, a.inner(one, level+1))
			}
			out.put(key, list)
		case known, key == "required":
			out.put(key, a.inner(held, level+1))
		default:
			out.put(key, a.data(held))
		}
	}
	return out
}

// choiceWords lists values.
func (a *adapter) choiceWords(list []*value) string {
	var values []string
	for i, v := range list {
		if i > maxListed {
			break
		}
		values = append(values, shortOf(a.data(v)))
	}
	if len(list) == 1 {
		return "Always " + values[0] + "."
	}
	if len(list) > maxListed {
		return fmt.Sprintf("One of %s and %d more.", strings.Join(values[:maxListed], ", "), len(list)-maxListed)
	}
	return "One of " + strings.Join(values, ", ") + "."
}

func compareNumbers(a, b *value) int { return ratOf(a).Cmp(ratOf(b)) }

func ratOf(v *value) *big.Rat {
	if f, err := strconv.ParseFloat(v.text, 64); err == nil { // exponents are bounded so
		if r := new(big.Rat).SetFloat64(f); r != nil {
			return r
		}
	}
	return new(big.Rat)
}

func numberOf(n int) *value { return &value{kind: '0', text: strconv.Itoa(n)} }

// inOrder says what the first items of a list are.
func (a *adapter) inOrder(f *facts) string {
	var parts []string
	for i, one := range f.tuple {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("and %d more", len(f.tuple)-i))
			break
		}
		v := one[0].schema
		words := a.brief(v)
		for _, key := range []string{"description", "title"} {
			if s := v.get(key); s.isString() {
				words = text.Short(strings.Join(strings.Fields(s.text), " "), maxShown) + " " + words
				break
			}
		}
		parts = append(parts, words)
	}
	end := "."
	if f.noItems {
		end = ", and no more."
	}
	return "Items in this order: " + strings.Join(parts, ", ") + end
}

// saySeveral says which alternatives there are, unless the schema shows them.
func (a *adapter) saySeveral(f *facts, group part, all []*facts) {
	chosen, titled, objects := true, false, true
	for _, one := range all {
		chosen = chosen && one.chosen
		titled = titled || one.scalar["title"] != nil || one.scalar["description"] != nil
		kinds := one.kinds()
		objects = objects && (kinds == typeObject || kinds == 0 && one.about&^typeObject == 0)
	}
	if chosen && !titled || group.key == "" {
		return
	}
	head := "At least one of these holds:"
	switch {
	case objects && a.atRoot && group.key == "oneOf":
		head = "The arguments have exactly one of these forms:"
	case objects && a.atRoot:
		head = "The arguments have at least one of these forms:"
	case chosen:
		head = "One of:"
	case objects && group.key == "oneOf":
		head = "It has exactly one of these forms:"
	case objects:
		head = "It has at least one of these forms:"
	case group.key == "oneOf":
		head = "Exactly one of these holds:"
	}
	var b strings.Builder
	b.WriteString(head)
	for i, one := range all {
		if i == maxForms || b.Len() > maxWords {
			fmt.Fprintf(&b, "\n- and %d more", len(all)-i)
			break
		}
		b.WriteString("\n- " + a.alternativeWords(one, objects))
	}
	f.said = append(f.said, b.String())
	if chosen && len(all) <= maxForms {
		f.listed = countChoices(all)
	}
	a.noteWords(group.key)
}

// countChoices returns how many values alternatives list; 0 where words do not show them all.
func countChoices(all []*facts) int {
	var values []*value
	for _, one := range all {
		if len(one.choices) > maxListed {
			return 0
		}
		values = append(values, one.choices...)
	}
	return len(valueSet(values))
}

// alternativeWords says what one alternative is.
func (a *adapter) alternativeWords(f *facts, object bool) string {
	var words, rest string
	for _, key := range []string{"title", "description"} {
		if s := f.scalar[key]; words == "" && s.isString() {
			words = text.Short(strings.Join(strings.Fields(s.text), " "), maxFormText)
		}
	}
	switch {
	case f.chosen && len(f.choices) > 0:
		values := make([]string, 0, len(f.choices))
		for _, v := range f.choices[:min(len(f.choices), maxListed)] {
			values = append(values, shortOf(a.data(v)))
		}
		if rest = strings.Join(values, ", "); words != "" {
			return rest + ": " + words
		}
	case object:
		rest = a.formWords(f)
	default:
		rest = strings.TrimSuffix(text.Short(strings.Join(append(a.scalarWords(f), f.said...), " "), maxClause), ".")
	}
	if words != "" && rest != "" {
		words += ": "
	}
	if words += rest; words == "" {
		return "anything else"
	}
	return words
}

// scalarWords are the type and the simple keywords of an alternative.
func (a *adapter) scalarWords(f *facts) (words []string) {
	for _, kind := range split(f.kinds()) {
		words = append(words, f.typeName(kind)+".")
	}
	for _, key := range f.order {
		if held := f.scalar[key]; held != nil && !annotations[key] {
			words = append(words, key+" "+shortOf(held)+".")
		}
	}
	return words
}

// formWords says which properties an alternative has.
func (a *adapter) formWords(f *facts) string {
	var with, may []string
	for _, name := range f.named {
		shown := text.Short(a.form.Name(name), maxShown)
		if of := f.props[name]; len(of) == 1 && of[0].schema != nil {
			if values := fixed(of[0].schema); len(values) == 1 {
				shown += " = " + shortOf(a.data(values[0]))
			}
		}
		if f.required.known[name] {
			with = append(with, shown)
		} else {
			may = append(may, shown)
		}
	}
	for _, name := range f.required.list {
		if f.props[name] == nil {
			with = append(with, text.Short(a.form.Name(name), maxShown))
		}
	}
	var parts []string
	if n := len(with); n > 0 {
		parts = append(parts, "with "+strings.Join(with[:min(n, maxListed)], ", "))
	}
	if n := len(may); n > 0 {
		parts = append(parts, "optional "+strings.Join(may[:min(n, maxListed)], ", "))
	}
	if len(f.said) > 0 {
		parts = append(parts, text.Short(strings.TrimSuffix(strings.Join(f.said, " "), "."), maxClause))
	}
	return strings.Join(parts, "; ")
}
