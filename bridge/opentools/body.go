package opentools

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"
)

// body says what of the arguments is the body, and how it is written.
type body struct {
	media    string
	required bool
	whole    string   // the argument that is the body; "" is none
	names    []string // the arguments that are its members otherwise
	open     bool     // other arguments are members, too
	encoding map[string]encoding
}

// encoding is an Encoding Object of a form (OpenAPI 4.7.15).
type encoding struct {
	Style   string
	Explode *bool
}

// mediaTypes are those that bodies are written in, the best first.
var mediaTypes = []func(media string) bool{
	func(m string) bool { return m == "application/json" },
	func(m string) bool { return strings.HasSuffix(m, "+json") },
	func(m string) bool { return m == "application/x-www-form-urlencoded" },
	func(m string) bool { return m == "multipart/form-data" },
	func(m string) bool { return strings.HasPrefix(m, "text/") },
	func(m string) bool { return m == "application/octet-stream" },
}

// bodyArguments are the properties of a body that is an object, or the argument "body".
func (d *Document) bodyArguments(t *Tool, o *operationObject) (properties []member, required []string, err error) {
	if len(o.Body) == 0 {
		return nil, nil, nil
	}
	text, err := d.resolved(o.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("requestBody: %w", err)
	}
	var b struct {
		Required bool
		Content  map[string]struct {
			Schema   json.RawMessage
			Encoding map[string]encoding
		}
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, nil, fmt.Errorf("requestBody: %w", err)
	}
	chosen := ""
	for _, fits := range mediaTypes {
		for name := range b.Content {
			if media, _, err := mime.ParseMediaType(name); err == nil && fits(media) && (chosen == "" || name < chosen) {
				chosen = name
			}
		}
		if chosen != "" {
			break
		}
	}
	if chosen == "" {
		if !b.Required {
			t.Notes = append(t.Notes, "the body is left out: it is of no media type that is known here")
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("requestBody: none of its media types is known here")
	}
	s := b.Content[chosen].Schema
	if len(s) == 0 {
		s = json.RawMessage("{}")
	}
	t.body = &body{media: chosen, required: b.Required, encoding: b.Content[chosen].Encoding}
	object, err := d.object(s)
	if err != nil || len(object.properties) == 0 || strings.HasPrefix(chosen, "text/") || strings.HasSuffix(chosen, "octet-stream") {
		t.body.whole = "body"
		if b.Required {
			required = []string{"body"}
		}
		return []member{{"body", s}}, required, nil
	}
	for _, m := range object.properties {
		t.body.names = append(t.body.names, m.name)
	}
	t.body.open = !object.closed
	if b.Required {
		required = object.required
	}
	return object.properties, required, nil
}

// object is what a schema says of its members.
type object struct {
	properties []member
	required   []string
	closed     bool
}

// object reads the properties of a schema, with those of its references and of all of its parts.
func (d *Document) object(text json.RawMessage) (object, error) {
	var all object
	err := d.addObject(&all, map[string]bool{}, map[string]bool{}, text, 0)
	return all, err
}

// addObject adds those that are not known yet.
func (d *Document) addObject(all *object, known, required map[string]bool, text json.RawMessage, depth int) error {
	if depth > maxHops {
		return fmt.Errorf("its parts have each other without end")
	}
	text, err := d.resolved(text)
	if err != nil {
		return err
	}
	if !d.spend(len(text)) {
		return errTooMuch
	}
	var s struct {
		Properties json.RawMessage
		Required   []string
		AllOf      []json.RawMessage
		Additional json.RawMessage `json:"additionalProperties"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	if len(s.Properties) > 0 {
		own, err := members(s.Properties)
		if err != nil {
			return err
		}
		for _, m := range own {
			if !known[m.name] {
				known[m.name] = true
				all.properties = append(all.properties, m)
			}
		}
	}
	for _, name := range s.Required {
		if !required[name] {
			required[name] = true
			all.required = append(all.required, name)
		}
	}
	all.closed = all.closed || depth == 0 && string(s.Additional) == "false"
	for _, part := range s.AllOf {
		if err := d.addObject(all, known, required, part, depth+1); err != nil {
			return err
		}
	}
	return nil
}
