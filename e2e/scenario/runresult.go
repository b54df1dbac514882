package scenario

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/report"
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

// made is a call that an attempt made.
type made struct {
	step *Step
	result
	want Value // what was expected of the result, expanded
}

// disagrees compares the calls of an attempt with those of one through another door, and returns
// the first difference, or nil. Where a matcher is expected, values may differ, and ${unique}
// always does.
func (t *attempt) disagrees(other *attempt) *report.Failure {
	for i := range t.made {
		same := slices.IndexFunc(other.made, func(m made) bool { return m.step == t.made[i].step })
		if same < 0 {
			continue
		}
		mine, theirs := t.common(&t.made[i]), other.common(&other.made[same])
		d := differ(&mine, &theirs)
		if d == nil {
			continue
		}
		f := t.failed(mine.step, "parity: "+visible(string(other.door)+" and "+string(t.door)+
			" disagree: "+d.why)+"; where it may differ from run to run, expect a matcher such as $any.")
		f.Path = visible(d.at.String())
		f.Expected, f.Actual = theirs.shown(d.at), mine.shown(d.at)
		return f
	}
	return nil
}

// common is a call with the same text for ${unique} in all attempts.
func (t *attempt) common(m *made) made {
	out := *m
	swap := func(text json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(text, []byte(t.scope.Unique), []byte("UNIQUE"))
	}
	out.forms = nil
	for _, form := range m.forms {
		out.forms = append(out.forms, swap(form))
	}
	if m.err != nil {
		out.err = swap(m.err)
	}
	return out
}

// shown is the result for people, with the line of a path marked.
func (r *result) shown(at path) string {
	text := r.err
	if text == nil {
		text = r.forms[0]
	}
	v := of(text)
	if !v.Exists() {
		return visible(shorten(string(text)))
	}
	return show(literal(v, Position{}), at)
}

// isList reports whether the result may be a list.
func (r *result) isList() bool {
	return slices.ContainsFunc(r.forms, func(form json.RawMessage) bool { return of(form).IsArray() })
}

// differ compares two ends of the same call.
func differ(mine, theirs *made) *difference {
	switch {
	case mine.err == nil && theirs.err == nil && (mine.left && theirs.isList() || theirs.left && mine.isList()):
		return nil // one door does not see the next page
	case mine.err == nil && theirs.err == nil:
		var first *difference
		for _, x := range mine.forms {
			for _, y := range theirs.forms {
				d := unlike(mine.want.n, of(x), of(y), nil)
				if d == nil {
					return nil
				}
				if first == nil {
					first = d
				}
			}
		}
		return first
	case mine.err == nil:
		return differs(nil, "one has a result, the other the error %s", errorText(theirs.err))
	case theirs.err == nil:
		return differs(nil, "one has the error %s, the other a result", errorText(mine.err))
	case code(mine.err) != code(theirs.err):
		return differs(path{"code"}, "one has the error %s, the other %s", code(mine.err),
			code(theirs.err))
	case mine.silent || theirs.silent:
		return nil
	}
	members := []string{"reason", "outcome"}
	if want := mine.want.n; code(mine.err) == bridge.ToolError &&
		(want == nil || want.kind == '{' && want.get("message") == nil) {
		members = append(members, "message")
	}
	x, y := of(mine.err), of(theirs.err)
	for _, name := range members {
		if x.Get(name).String() != y.Get(name).String() {
			return differs(path{name}, "one has %s, the other %s", brief(x.Get(name)),
				brief(y.Get(name)))
		}
	}
	return nil
}

// unlike returns the first place where two values differ, but for those where a matcher is
// expected.
func unlike(want *node, x, y schema.Value, at path) *difference {
	switch {
	case want != nil && want.kind == '$' && kindOf(x) == kindOf(y):
		return nil
	case x.IsObject() && y.IsObject():
		return unlikeMembers(want, x, y, at)
	case x.IsArray() && y.IsArray() && x.Len() != y.Len():
		return differs(at, "one has %s, the other %s", text.Count(x.Len(), "element"),
			text.Count(y.Len(), "element"))
	case x.IsArray() && y.IsArray():
		others := slices.Collect(y.Elements())
		i := 0
		for v := range x.Elements() {
			var inner *node
			if want != nil && want.kind == '[' && i < len(want.vals) {
				inner = want.vals[i]
			}
			if d := unlike(inner, v, others[i], at.to(i)); d != nil {
				return d
			}
			i++
		}
		return nil
	case x.Exists() && y.Exists() && x.Equal(y):
		return nil
	}
	return differs(at, "one has %s, the other %s", brief(x), brief(y))
}

func unlikeMembers(want *node, x, y schema.Value, at path) *difference {
	var names []string
	for name := range x.Members() {
		names = append(names, name)
	}
	for name := range y.Members() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		a, b := x.Get(name), y.Get(name)
		if !a.Exists() || !b.Exists() {
			return differs(at.to(name), "only one has it")
		}
		var inner *node
		if want != nil && want.kind == '{' {
			inner = want.get(name)
		}
		if d := unlike(inner, a, b, at.to(name)); d != nil {
			return d
		}
	}
	return nil
}
