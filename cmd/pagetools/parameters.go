package main

import (
	"cmp"
	"encoding/json"
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
}

// maxNesting bounds how deep parameters are listed, maxListed how many of a tool, and maxChoices
// the values of one.
const maxNesting, maxListed, maxChoices = 3, 200, 20

// parameters lists the properties of a schema in its own order. What has no type takes
// any.
func parameters(schema json.RawMessage) (out []parameter) {
	root, _ := bridge.ReadValue("the schema", schema) // one that cannot be read has no members
	s := resolved(root, root)
	required := textsOf(s.Get("required"))
	for name, v := range s.Get("properties").Members() {
		v = resolved(root, v)
		out = append(out, parameter{name: name, types: typesOf(root, v), takes: takes(root, v),
			description: v.Get("description").String(), required: slices.Contains(required, name)})
	}
	return out
}

// nested lists the parameters with the members of those that are objects, or lists of objects.
func nested(schema json.RawMessage) []parameter {
	root, _ := bridge.ReadValue("the schema", schema)
	return appendMembers(nil, root, resolved(root, root), "", maxNesting)
}

func appendMembers(out []parameter, root, s bridge.Value, path string, depth int) []parameter {
	required := textsOf(s.Get("required"))
	for name, v := range s.Get("properties").Members() {
		if depth == 0 || len(out) >= maxListed {
			break
		}
		v = resolved(root, v)
		out = append(out, parameter{name: path + name, takes: takes(root, v), description: v.Get("description").String(),
			required: slices.Contains(required, name)})
		out = appendMembers(out, root, v, path+name+".", depth-1)
		out = appendMembers(out, root, resolved(root, v.Get("items")), path+name+"[].", depth-1)
	}
	return out
}

// resolved follows the references of a schema within its document, a few at most.
func resolved(root, v bridge.Value) bridge.Value {
	for range maxNesting {
		ref, local := strings.CutPrefix(v.Get("$ref").String(), "#")
		if !local || v.Get("type").Exists() {
			break
		}
		v = root.At(ref)
	}
	return v
}

// typesOf returns the types that a schema takes, also those of its alternatives.
func typesOf(root, v bridge.Value) []string {
	types := textsOf(v.Get("type"))
	for _, key := range []string{"anyOf", "oneOf"} {
		for one := range v.Get(key).Elements() {
			for _, t := range textsOf(resolved(root, one).Get("type")) {
				if !v.Get("type").Exists() && !slices.Contains(types, t) {
					types = append(types, t)
				}
			}
		}
	}
	if len(types) == 0 {
		return []string{"any"}
	}
	return types
}

// takes says what a parameter takes, in the words of a person.
func takes(root, v bridge.Value) string {
	words := choices(v)
	if words == "" {
		words = text.List(typesOf(root, v), "or")
		if items := resolved(root, v.Get("items")); items.IsObject() && slices.Contains(typesOf(root, v), "array") {
			words += " of " + cmp.Or(choices(items), text.List(typesOf(root, items), "or"))
		}
		for _, limit := range limits(v) {
			words += ", " + limit
		}
	}
	if usual := v.Get("default"); usual.Exists() {
		words += ", " + plain(usual) + " by default"
	}
	return words
}

// choices lists the values of an enum or a const; "" without one.
func choices(v bridge.Value) string {
	if only := v.Get("const"); only.Exists() {
		return "only " + plain(only)
	}
	var all []string
	for one := range v.Get("enum").Elements() {
		all = append(all, plain(one))
	}
	if more := len(all) - maxChoices; more > 0 {
		return strings.Join(all[:maxChoices], ", ") + " or one of " + text.Count(more, "more value")
	}
	return text.List(all, "or")
}

// limits says what bounds a value.
func limits(v bridge.Value) (all []string) {
	at := func(key string) string { return string(v.Get(key).Text()) }
	between := func(least, most, unit string) {
		switch {
		case at(least) != "" && at(most) != "":
			all = append(all, at(least)+" to "+at(most)+unit)
		case at(least) != "":
			all = append(all, "at least "+at(least)+unit)
		case at(most) != "":
			all = append(all, "at most "+at(most)+unit)
		}
	}
	between("minimum", "maximum", "")
	between("minLength", "maxLength", " characters")
	between("minItems", "maxItems", " items")
	for _, one := range []struct{ key, before string }{
		{"exclusiveMinimum", "more than "}, {"exclusiveMaximum", "less than "}, {"multipleOf", "a multiple of "},
	} {
		if at(one.key) != "" {
			all = append(all, one.before+at(one.key))
		}
	}
	for _, one := range []struct{ key, before string }{{"format", "as a "}, {"pattern", "matching "}} {
		if said := v.Get(one.key).String(); said != "" {
			all = append(all, one.before+said)
		}
	}
	if at("uniqueItems") == "true" {
		all = append(all, "each once")
	}
	return all
}

// plain is a value as a person writes it: a text without quotes.
func plain(v bridge.Value) string {
	if v.IsString() && v.String() != "" {
		return v.String()
	}
	return string(v.Text())
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
