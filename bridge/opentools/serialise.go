package opentools

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
)

// How values are written into requests: OpenAPI 3.1, 4.8.12 (styles of parameters) and 4.8.15
// (properties of forms), with RFC 6570 and RFC 3986.

// kept are the characters that stay as they are.
type kept string

const (
	unreserved kept = "-._~" // besides letters and digits
	// reserved lists the characters that allowReserved keeps, without those that would end the
	// parameter.
	reserved kept = unreserved + ":/?[]@!$'()*,;"
)

// escape writes a text into a URL.
func (k kept) escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(string(k), c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// pair is a name and a value of a query or a form.
type pair struct{ name, value string }

// text is a scalar as it is written: numbers by their letters.
func textOf(v schema.Value) string {
	if v.IsString() {
		return v.String()
	}
	return string(v.Text())
}

func isScalar(v schema.Value) bool { return !v.IsObject() && !v.IsArray() }

// flat are the elements of a list, or the members of an object, that are there: null is not, and
// what has parts of its own is written as JSON.
func flat(v schema.Value) (all []pair) {
	part := func(v schema.Value) string {
		if isScalar(v) {
			return textOf(v)
		}
		return string(v.Text())
	}
	if v.IsObject() {
		for name, value := range v.Members() {
			if !value.IsNull() {
				all = append(all, pair{name, part(value)})
			}
		}
		return all
	}
	for item := range v.Elements() {
		if !item.IsNull() {
			all = append(all, pair{"", part(item)})
		}
	}
	return all
}

// joined writes the parts of a value one after another: a,b of a list; of an object k,v,k,v or,
// with explode, k=v,k=v.
func joined(v schema.Value, explode bool, separator string, escape func(string) string) string {
	var parts []string
	for _, p := range flat(v) {
		if v.IsObject() {
			between := separator
			if explode {
				between = "="
			}
			parts = append(parts, escape(p.name)+between+escape(p.value))
			continue
		}
		parts = append(parts, escape(p.value))
	}
	return strings.Join(parts, separator)
}

// explodes is the parameter's explode, which is true for the style form where nothing is said.
func (p *parameter) explodes() bool {
	return string(p.Explode) == "true" || string(p.Explode) != "false" && p.style() == "form"
}

// style is the parameter's, or that of its place.
func (p *parameter) style() string {
	switch {
	case p.Style != "":
		return p.Style
	case p.In == "query" || p.In == "cookie":
		return "form"
	}
	return "simple"
}

func (p *parameter) isJSON() bool { return len(p.Content) > 0 }

// inPath writes a value into the path. It is never nothing, and never a step to another path.
func (p *parameter) inPath(v schema.Value) (string, error) {
	escape, explode := unreserved.escape, p.explodes()
	var s string
	switch style := p.style(); {
	case p.isJSON():
		s = escape(string(v.Text()))
	case isScalar(v) && style == "matrix":
		s = ";" + escape(p.Name) + "=" + escape(textOf(v))
	case isScalar(v) && style == "label":
		s = "." + escape(textOf(v))
	case isScalar(v):
		s = escape(textOf(v))
	case style == "matrix" && explode:
		for _, x := range flat(v) {
			name := x.name
			if v.IsArray() {
				name = p.Name
			}
			s += ";" + escape(name) + "=" + escape(x.value)
		}
	case style == "matrix":
		s = ";" + escape(p.Name) + "=" + joined(v, false, ",", escape)
	case style == "label" && explode:
		s = "." + joined(v, true, ".", escape)
	case style == "label":
		s = "." + joined(v, false, ",", escape)
	default:
		s = joined(v, explode, ",", escape)
	}
	if strings.Trim(s, ".") == "" {
		return "", fmt.Errorf("%s must be more than dots: it is a part of the path", p.Argument)
	}
	return s, nil
}

// inQuery writes a value as pairs of the query, whose parts are escaped. A list or an object
// without parts has none.
func (p *parameter) inQuery(v schema.Value) (all []pair) {
	keep := unreserved
	if p.AllowReserved {
		keep = reserved
	}
	escape, name := keep.escape, unreserved.escape(p.Name)
	style, explode := p.style(), p.explodes()
	switch {
	case p.isJSON():
		return []pair{{name, unreserved.escape(string(v.Text()))}}
	case isScalar(v):
		return []pair{{name, escape(textOf(v))}}
	case len(flat(v)) == 0:
		return nil
	case style == "deepObject":
		return deep(name, v, escape)
	case style == "form" && explode:
		for _, x := range flat(v) {
			key := name
			if v.IsObject() {
				key = unreserved.escape(x.name)
			}
			all = append(all, pair{key, escape(x.value)})
		}
		return all
	}
	separators := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}
	separator := cmp.Or(separators[style], ",")
	return []pair{{name, joined(v, false, separator, escape)}}
}

// deep writes a value as name[part]=…, however deep its parts are.
func deep(name string, v schema.Value, escape func(string) string) (all []pair) {
	switch {
	case v.IsNull():
		return nil
	case v.IsObject():
		for key, value := range v.Members() {
			all = append(all, deep(name+"%5B"+unreserved.escape(key)+"%5D", value, escape)...)
		}
		return all
	case v.IsArray():
		i := 0
		for item := range v.Elements() {
			all = append(all, deep(fmt.Sprintf("%s%%5B%d%%5D", name, i), item, escape)...)
			i++
		}
		return all
	}
	return []pair{{name, escape(textOf(v))}}
}

// inHeader writes a value as that of a header. Line ends in it are refused: they would begin
// another header.
func (p *parameter) inHeader(v schema.Value) (string, error) {
	var s string
	switch {
	case p.isJSON():
		s = string(v.Text())
	case isScalar(v):
		s = textOf(v)
	default:
		s = joined(v, p.explodes(), ",", func(s string) string { return s })
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s must have no control characters: it is a header", p.Argument)
	}
	return s, nil
}

// inCookie writes a value as cookies.
func (p *parameter) inCookie(v schema.Value) []pair {
	q := *p
	q.AllowReserved = false
	return q.inQuery(v)
}

// joinPairs writes pairs as a query, a form or a header of cookies.
func joinPairs(all []pair, separator string) string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = p.name + "=" + p.value
	}
	return strings.Join(parts, separator)
}
