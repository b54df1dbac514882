package opentools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// body says what of the arguments is the body, and how it is written.
type body struct {
	Media    string
	Required bool
	Whole    string   // the argument that is the body; "" is none
	Names    []string // the arguments that are its members otherwise
	Needs    []string // members that one which may be left out has, when it is there
	Open     bool     // other arguments are members, too
	Bytes    bool     // the whole is base64
	Encoding map[string]encoding

	rules []member // what else its schema says of its members
}

// encoding is an Encoding Object of a form (OpenAPI 4.7.15).
type encoding struct {
	Style       string
	Explode     json.RawMessage // true, false, or not said
	ContentType string          // of a part; may be a list, with wildcards
	Headers     json.RawMessage // of a part
}

// media returns the media type of a part, where the encoding has one.
func (e encoding) media() string {
	first, _, _ := strings.Cut(e.ContentType, ",")
	media, _, err := mime.ParseMediaType(first)
	if err != nil || strings.Contains(media, "*") {
		return ""
	}
	return strings.TrimSpace(first)
}

// mediaTypes matches the media types that bodies are written in, the best first.
var mediaTypes = []func(media string) bool{
	func(m string) bool { return m == "application/json" },
	func(m string) bool { return strings.HasSuffix(m, "+json") },
	func(m string) bool { return m == "application/x-www-form-urlencoded" },
	func(m string) bool { return m == "multipart/form-data" },
	func(m string) bool { return strings.HasPrefix(m, "text/") },
	func(m string) bool { return m == "application/octet-stream" },
	func(m string) bool { // images and archives, where the schema says that they are bytes
		return !strings.Contains(m, "*") && !strings.HasPrefix(m, "multipart/")
	},
}

// mediaType returns the name of the best media type, and itself; the name is "" when none is known.
func mediaType[V any](content map[string]V) (name, media string) {
	for _, fits := range mediaTypes {
		for other := range content {
			if m, _, err := mime.ParseMediaType(other); err == nil && fits(m) && (name == "" || other < name) {
				name, media = other, m
			}
		}
		if name != "" {
			break
		}
	}
	return name, media
}

// isBytes reports whether a body of a media type is written in base64 by a model. known is false
// for those that no other rule is for, such as XML.
func isBytes(media string, s json.RawMessage) (is, known bool) {
	for _, fits := range mediaTypes[:len(mediaTypes)-2] {
		if fits(media) {
			return false, true
		}
	}
	var of struct{ Format, ContentMediaType string }
	if media == "application/octet-stream" || json.Unmarshal(s, &of) == nil && (of.Format == "binary" || of.ContentMediaType != "") {
		return true, true
	}
	top, _, _ := strings.Cut(media, "/")
	is = string(s) == "{}" && slices.Contains([]string{"image", "audio", "video"}, top) // so 3.1 has it
	return is, is
}

// readBody sets the tool's body, if it has one, and returns its schema and its media type.
func (d *Document) readBody(t *Tool, o *operationObject) (s json.RawMessage, media string, err error) {
	if len(o.Body) == 0 {
		return nil, "", nil
	}
	words, err := d.resolved(o.Body)
	var b struct {
		Required bool
		Content  map[string]json.RawMessage
	}
	var wrong []string
	if err == nil {
		wrong, err = take(words, &b)
	}
	if err != nil {
		return nil, "", fmt.Errorf("requestBody: %w", err)
	}
	chosen, media := mediaType(b.Content)
	var c struct {
		Schema   json.RawMessage
		Encoding map[string]json.RawMessage
	}
	if chosen != "" {
		more, err := take(b.Content[chosen], &c)
		if err != nil {
			more = []string{err.Error()}
		}
		wrong = append(wrong, more...)
	}
	for _, w := range wrong {
		t.note("requestBody: %s", w)
	}
	if s = c.Schema; len(s) == 0 {
		s = json.RawMessage("{}")
	}
	isBytes, known := isBytes(media, s)
	switch {
	case (chosen == "" || !known) && b.Required:
		return nil, "", fmt.Errorf("requestBody: none of its media types is known here")
	case chosen == "" || !known:
		t.Notes = append(t.Notes, "the body is left out: it is of no media type that is known here")
		return nil, "", nil
	}
	t.body = &body{Media: chosen, Required: b.Required, Bytes: isBytes, Encoding: t.encodings(c.Encoding)}
	if isBytes {
		s = json.RawMessage(`{"type":"string","contentEncoding":"base64","description":"The bytes, in base64.","examples":["aGVsbG8="]}`)
	}
	return s, media, nil
}

// bodyArguments are the properties of a body that is an object, or the argument "body".
func (d *Document) bodyArguments(t *Tool, o *operationObject) (properties []member, required []string, err error) {
	s, media, err := d.readBody(t, o)
	if err != nil || t.body == nil {
		return nil, nil, err
	}
	b := t.body
	object, err := d.object(s)
	if err != nil || object.other || len(object.rules) > 0 && !b.Required || len(object.properties) == 0 && !object.is || b.Bytes || strings.HasPrefix(media, "text/") {
		t.body.Whole = "body"
		if b.Required {
			required = []string{"body"}
		}
		return []member{{"body", s}}, required, nil
	}
	for i, m := range object.properties {
		t.body.Names = append(t.body.Names, m.name)
		if media == "multipart/form-data" {
			object.properties[i].text = d.file(m.text, t.body.Encoding[m.name].media(), 0)
		}
	}
	t.body.Open = !object.closed
	if b.Required {
		required, t.body.rules = object.required, object.rules
	} else {
		t.body.Needs = object.required
	}
	return object.properties, required, nil
}

// encodings reads how properties of a form are written.
func (t *Tool) encodings(all map[string]json.RawMessage) map[string]encoding {
	if len(all) == 0 {
		return nil
	}
	read := make(map[string]encoding, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var e encoding
		wrong, err := take(all[name], &e)
		if err != nil {
			wrong = []string{err.Error()}
		}
		for _, w := range wrong {
			t.note("requestBody: the encoding of %s: %s", text.Line(text.Short(name, maxShown)), w)
		}
		if len(e.Headers) > 0 {
			t.note("requestBody: the headers of the part %s are not sent", text.Line(text.Short(name, maxShown)))
		}
		for _, w := range plainly("query", &e.Style, &e.Explode) {
			t.note("requestBody: the encoding of %s: %s", text.Line(text.Short(name, maxShown)), w)
		}
		e.Headers = nil
		read[name] = e
	}
	return read
}

// fileSchema describes a file in a form.
const fileSchema = `{"type":"object","description":%s,"properties":{"filename":{"type":"string"},"mediaType":{"type":"string"},` +
	`"base64":{"type":"string","contentEncoding":"base64","examples":["aGVsbG8="]},"text":{"type":"string","description":"Instead of base64."}},` +
	`"anyOf":[{"required":["base64"]},{"required":["text"]}],"additionalProperties":false}`

// file returns the schema of a property of a form: a file has its name and its type beside what is
// in it. Which properties are files their schemas say, and in OpenAPI 3.1 (4.8.15) also the media
// type of their part, and that they have no type.
func (d *Document) file(text json.RawMessage, media string, depth int) json.RawMessage {
	to, err := d.resolved(text)
	var s struct {
		Type                                  json.RawMessage
		Format, ContentMediaType, Description string
		Items                                 json.RawMessage
		AnyOf, OneOf                          []json.RawMessage
	}
	if err == nil {
		_, err = take(to, &s)
	}
	if err != nil || depth > maxHops {
		return text
	}
	media = cmp.Or(s.ContentMediaType, media)
	file := fmt.Appendf(nil, fileSchema, schema.MustEncode(cmp.Or(s.Description, "A file.")))
	switch {
	case isOf(s.Type, "array") && len(s.Items) > 0:
		if items := d.file(s.Items, media, depth+1); !bytes.Equal(items, s.Items) {
			return fmt.Appendf(nil, `{"type":"array","description":%s,"items":%s}`, schema.MustEncode(s.Description), items)
		}
	case isOf(s.Type, "string") && (s.Format == "binary" || isFile(media)),
		len(s.Type) == 0 && s.ContentMediaType != "" && isFile(media),
		!d.old && string(to) == "{}" && (media == "" || isFile(media)):
		return file
	}
	for _, branch := range append(s.AnyOf, s.OneOf...) { // such as a file or null
		if of := d.file(branch, media, depth+1); len(s.Type) == 0 && !bytes.Equal(of, branch) {
			if bytes.Contains(of, []byte(`"items"`)) {
				return of
			}
			return file
		}
	}
	return text
}

// isOf reports whether a schema's type is a word, or a list with it.
func isOf(kind json.RawMessage, word string) bool {
	var one string
	var all []string
	_, _ = json.Unmarshal(kind, &one), json.Unmarshal(kind, &all) // one of them, or neither
	return one == word || slices.Contains(all, word)
}

// isFile reports whether parts of a media type are files, and not values that are written out.
func isFile(media string) bool {
	kind, _, err := mime.ParseMediaType(media)
	return err == nil && !strings.HasPrefix(kind, "text/") && kind != "application/json" && !strings.HasSuffix(kind, "+json") &&
		kind != "application/xml" && !strings.HasSuffix(kind, "+xml")
}

// object holds a schema's rules for its members.
type object struct {
	properties []member
	required   []string
	closed     bool
	is         bool     // it says that it is one
	rules      []member // alternatives of what is required, besides
	other      bool     // there are alternatives with more in them: only the whole schema says that
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
		Type       json.RawMessage
		Properties json.RawMessage
		Required   []string
		AllOf      []json.RawMessage
		AnyOf      json.RawMessage
		OneOf      json.RawMessage
		Not, If    json.RawMessage
		Additional json.RawMessage `json:"additionalProperties"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	all.is = all.is || string(s.Type) == `"object"`
	all.other = all.other || len(s.Not) > 0 || len(s.If) > 0
	for _, m := range []member{{"anyOf", s.AnyOf}, {"oneOf", s.OneOf}} {
		switch {
		case len(m.text) == 0:
		case onlyRequire(m.text):
			all.rules = append(all.rules, m)
		default:
			all.other = true
		}
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

// onlyRequire reports whether alternatives differ in what they require, and in nothing else.
func onlyRequire(text json.RawMessage) bool {
	var branches []map[string]json.RawMessage
	if json.Unmarshal(text, &branches) != nil {
		return false
	}
	for _, b := range branches {
		for key := range b {
			if !slices.Contains([]string{"required", "title", "description"}, key) {
				return false
			}
		}
	}
	return true
}
