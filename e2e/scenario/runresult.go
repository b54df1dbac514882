package scenario

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// result is what a call came to. A door may not tell apart what a webtool has in data: then each
// form is one that it may be, the likeliest first.
type result struct {
	forms []json.RawMessage
	err   json.RawMessage // the contract's error object, when the call failed
	// silent is true when the door does not pass on why the tool failed.
	silent bool
	// left is true when the call left the page, and the door does not see what the next one says of
	// it: a webtool has its JSON-LD, as a list.
	left bool
	took time.Duration // without the time of the person
}

// failure is the error object of an error.
func failure(e *bridge.Error) json.RawMessage {
	object := map[string]any{"code": e.Code, "message": e.Message, "outcome": e.Outcome}
	if e.Reason != "" {
		object["reason"] = e.Reason
	}
	return schema.MustEncode(object)
}

// of reads what was produced by ourselves or read before.
func of(text json.RawMessage) schema.Value {
	v, err := schema.Read(text, 0)
	if err != nil {
		return schema.Value{}
	}
	return v
}

// errorText is the code and the message of an error object.
func errorText(object json.RawMessage) string {
	e := of(object)
	code := e.Get("code").String()
	if reason := e.Get("reason").String(); reason != "" {
		code += " (" + reason + ")"
	}
	return code + ": " + e.Get("message").String()
}

// code is the code of an error object.
func code(object json.RawMessage) bridge.Code { return bridge.Code(of(object).Get("code").String()) }

// match compares the result with what is expected, in the form that comes nearest. Only forms that
// match are left, if there is one.
func (r *result) match(want Value) *Mismatch {
	if want.n != nil {
		alike := func(form json.RawMessage) int { return b2i(sameKind(want.n, of(form))) }
		slices.SortStableFunc(r.forms, func(a, b json.RawMessage) int { return alike(b) - alike(a) })
	}
	var first *Mismatch
	var fits []json.RawMessage
	for _, form := range r.forms {
		m := Match(want, form)
		if m == nil {
			fits = append(fits, form)
		} else if first == nil {
			first = m
		}
	}
	if fits == nil {
		return first
	}
	r.forms = fits
	return nil
}

// sameKind reports whether a value is of the kind that is expected, and has a member of it.
func sameKind(want *node, got schema.Value) bool {
	switch want.kind {
	case '{':
		return got.IsObject() && (len(want.keys) == 0 || slices.ContainsFunc(want.keys,
			func(key string) bool { return got.Get(key).Exists() }))
	case '[':
		return got.IsArray()
	case '"', '$':
		return got.IsString()
	}
	return !got.IsString() && !got.IsObject() && !got.IsArray()
}

// formsOfText are what a string of executeTool may have been: what an object or a list is written
// as, a string as it is, or another value. An empty string and undefined have words of their own.
func formsOfText(text string) []json.RawMessage {
	bare := json.RawMessage(schema.AppendString(nil, text))
	switch text {
	case "Operation succeeded":
		return []json.RawMessage{bare, json.RawMessage(`""`)}
	case "undefined":
		return []json.RawMessage{json.RawMessage("null"), bare}
	}
	if parsed := of(json.RawMessage(text)); parsed.Exists() {
		return []json.RawMessage{json.RawMessage(text), bare}
	}
	return []json.RawMessage{bare}
}

// formsOfMCP are what a result of tools/call may have been made of.
func formsOfMCP(content []json.RawMessage, structured json.RawMessage) (all []json.RawMessage) {
	add := func(content []json.RawMessage, structured json.RawMessage, more map[string]json.RawMessage) {
		if content == nil {
			content = []json.RawMessage{}
		}
		object := map[string]any{"content": content}
		for name, value := range more {
			object[name] = value
		}
		if structured != nil {
			object["structuredContent"] = structured
		}
		all = append(all, schema.MustEncode(object))
	}
	var last schema.Value
	if len(content) > 0 {
		block := of(content[len(content)-1])
		text := block.Get("text")
		last = of(json.RawMessage(text.String()))
		if len(content) == 1 && block.Len() == 2 && text.IsString() {
			if last.Exists() {
				all = append(all, last.Text())
			}
			all = append(all, schema.AppendString(nil, text.String()))
		}
	}
	if !last.Exists() {
		add(content, structured, nil)
		return all
	}
	// What is structured follows the blocks of the page as a text, unless one of them tells it.
	head := content[:len(content)-1]
	told := structured != nil && last.Equal(of(structured))
	if told && len(head) > 0 {
		add(head, structured, nil)
	}
	add(content, structured, nil)
	if structured == nil || told {
		add(head, last.Text(), nil)
	}
	if last.IsObject() {
		more := map[string]json.RawMessage{}
		for name, value := range last.Members() {
			more[name] = value.Text()
		}
		add(head, structured, more)
	}
	return all
}
