package opentools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// parameter is a Parameter Object (OpenAPI 4.7.12), and the argument that it gets.
type parameter struct {
	Name, In, Description, Style string
	Required, AllowReserved      bool
	Explode                      json.RawMessage // true, false, or not said
	Schema                       json.RawMessage
	Content                      map[string]json.RawMessage // Media Type Objects

	Argument string `json:"-"`
}

// readParameters returns those of the path and of the operation that can be sent.
func (d *Document) readParameters(t *Tool, p Place, o *operationObject) (all []parameter, err error) {
	var common []json.RawMessage
	if len(p.common) > 0 && json.Unmarshal(p.common, &common) != nil {
		t.note("the parameters of the path must be a list")
	}
	if len(common)+len(o.Parameters) > maxParameters {
		return nil, fmt.Errorf("it has more than %d parameters", maxParameters)
	}
	for _, words := range append(common, o.Parameters...) {
		one, wrong, err := d.parameter(words)
		if errors.Is(err, errTooMuch) {
			return nil, err
		}
		if err != nil {
			t.note("a parameter is left out: %s", err)
			continue
		}
		for _, w := range wrong {
			t.note("the parameter %s: %s", text.Line(text.Short(one.Name, maxShown)), w)
		}
		name := strings.ToLower(one.Name)
		if one.In == "header" && slices.Contains(ignored, name) {
			if name == "accept" {
				t.accept = one.only()
			}
			continue
		}
		if what, why := one.unsent(name); why != "" {
			t.note("the %s %s is not sent: %s", what, text.Line(text.Short(one.Name, maxShown)), why)
			continue
		}
		same := func(q parameter) bool { return q.Name == one.Name && q.In == one.In }
		if i := slices.IndexFunc(all, same); i >= 0 { // that of the operation counts
			all[i] = one
			continue
		}
		all = append(all, one)
	}
	return all, nil
}

// parameter reads a parameter, and returns which of its members are not as they must be.
func (d *Document) parameter(words json.RawMessage) (p parameter, wrong []string, err error) {
	words, err = d.resolved(words)
	if err == nil {
		wrong, err = take(words, &p)
	}
	place := p.In
	p.In = strings.ToLower(place)
	switch {
	case err != nil:
		return p, nil, err
	case p.Name == "":
		return p, nil, errors.New("it must have a name")
	case !slices.Contains([]string{"path", "query", "header", "cookie"}, p.In):
		return p, nil, fmt.Errorf("%s must be in path, query, header or cookie, and not in %.20q", text.Line(text.Short(p.Name, maxShown)), place)
	}
	more, err := p.written()
	return p, append(wrong, more...), err
}

// styles lists the styles of each place (OpenAPI 4.7.12.2), the default first.
var styles = map[string][]string{"path": {"simple", "label", "matrix"}, "header": {"simple"}, "cookie": {"form", "cookie"},
	"query": {"form", "spaceDelimited", "pipeDelimited", "deepObject"}}

// plainly drops a style that the place does not have, and what explode must not be.
func plainly(in string, style *string, explode *json.RawMessage) (wrong []string) {
	if known := styles[in]; *style != "" && !slices.Contains(known, *style) {
		wrong = append(wrong, fmt.Sprintf("style %.40q is not one of %s: it is written as %s", *style, strings.Join(known, ", "), known[0]))
		*style = ""
	}
	if e := string(*explode); e != "" && e != "true" && e != "false" {
		wrong = append(wrong, "explode must be true or false")
		*explode = nil
	}
	return wrong
}

// written reads how a value is written: in a style, or as its content.
func (p *parameter) written() (wrong []string, err error) {
	wrong = plainly(p.In, &p.Style, &p.Explode)
	name, media := mediaType(p.Content)
	switch {
	case len(p.Content) == 0:
	case isJSON(media):
		if _, err := members(p.Content[name]); err != nil {
			wrong = append(wrong, "content: "+errNoObject.Error())
		}
		p.Schema = schemaOf(p.Content[name])
	case strings.HasPrefix(media, "text/"):
		p.Schema, p.Content = schemaOf(p.Content[name]), nil
	default:
		return wrong, fmt.Errorf("%s: none of the media types of its content is known here", text.Line(text.Short(p.Name, maxShown)))
	}
	return wrong, nil
}

// schema returns the argument's schema, with the words of the parameter.
func (p *parameter) schema(old bool) json.RawMessage {
	text := p.Schema
	if len(text) == 0 {
		text = json.RawMessage("{}")
	}
	if p.Description == "" {
		return text
	}
	var own struct {
		Ref         *string `json:"$ref"`
		Description *string
	}
	if _, err := take(text, &own); err != nil || own.Description != nil {
		return text
	}
	described := append([]byte(`{"description":`), schema.MustEncode(p.Description)...)
	if own.Ref != nil && old { // beside a reference it would count for nothing
		return append(append(append(described, `,"allOf":[`...), text...), "]}"...)
	}
	rest := bytes.TrimSpace(text)[1:]
	if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		return append(described, '}')
	}
	return append(append(described, ','), rest...)
}

// only is the value of a parameter that has but one, or its default: some say the version of their
// API in Accept.
func (p *parameter) only() string {
	var s struct {
		Const, Default any
		Enum           []any
	}
	if json.Unmarshal(p.Schema, &s) != nil {
		return ""
	}
	if s.Const == nil && len(s.Enum) == 1 {
		s.Const = s.Enum[0]
	}
	value, _ := cmp.Or(s.Const, s.Default).(string)
	if len(value) > maxShown || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return value
}
