package opentools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// pathItem returns the members of a Path Item Object: its own, and those of what it refers to.
func (d *Document) pathItem(words json.RawMessage) ([]member, error) {
	own, err := members(words)
	if err != nil {
		return nil, errNoObject
	}
	whole, err := d.resolved(words)
	if err != nil {
		return nil, err
	}
	more, err := members(whole)
	if err != nil {
		return nil, errNoObject
	}
	has := func(name string) bool {
		return slices.ContainsFunc(own, func(m member) bool { return m.name == name })
	}
	if has("$ref") {
		own = append(own, slices.DeleteFunc(more, func(m member) bool { return has(m.name) })...)
	}
	return own, nil
}

// aboutPaths lists members of a Path Item Object besides operations.
var aboutPaths = []string{"$ref", "summary", "description", "parameters", "servers"}

// readPath reads the operations of a path. What is not one, and is not known otherwise, is named.
func (d *Document) readPath(path string, items []member) {
	place := Place{Path: path}
	var all, more []member
	for _, m := range items {
		switch _, is := methods[m.name]; {
		case is:
			all = append(all, m)
		case m.name == "parameters":
			place.common = m.text
		case m.name == "servers":
			place.near = m.text
		case m.name == "additionalOperations": // OpenAPI 3.2
			held, err := members(m.text)
			if err != nil {
				d.note(path, "additionalOperations: "+errNoObject.Error())
			}
			more = append(more, held...)
		case m.name == "$ref" && string(m.text) != "null" && m.text[0] != '"':
			d.note(path, "$ref must be a text")
		case !slices.Contains(aboutPaths, m.name) && !strings.HasPrefix(m.name, "x-"):
			more = append(more, m)
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(m member) bool { return m.name == name })
	}
	for _, m := range more { // such as GET
		name := strings.ToLower(m.name)
		switch methods[name] {
		case "":
			d.note(path, text.Quote(text.Short(m.name, maxShown))+" is left out: it is not a method that is known here ("+
				strings.Join(slices.Sorted(maps.Keys(methods)), ", ")+")")
		default:
			if has(name) {
				d.note(path, text.Quote(m.name)+" is left out: the path has "+name+", too")
				continue
			}
			all = append(all, member{name, m.text})
		}
	}
	for _, m := range all {
		place.Method, place.text = methods[m.name], m.text
		switch {
		case m.text[0] != '{':
			d.note(place.Method+" "+path, errNoObject.Error()+": it is not an operation")
		case len(d.Operations) == maxOperations:
			d.left++
		default:
			d.Operations = append(d.Operations, place)
		}
	}
}
