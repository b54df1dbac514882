package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// result holds how a call ended. A door may not tell apart what a webtool has in data: then it
// has every possible form, the likeliest first.
type result struct {
	forms []json.RawMessage
	err   json.RawMessage // the contract's error object, when the call failed
	// silent is true when the door does not pass on why the tool failed.
	silent bool
	// left is true when a form was submitted, and the door does not see what became of it.
	left bool
}

func failure(e *bridge.Error) json.RawMessage {
	object := map[string]any{"code": e.Code, "message": e.Message, "outcome": e.Outcome}
	if e.Reason != "" {
		object["reason"] = e.Reason
	}
	return schema.MustEncode(object)
}

func errorText(object json.RawMessage) string {
	e := scenario.ReadAgain(object)
	code := e.Get("code").String()
	if reason := e.Get("reason").String(); reason != "" {
		code += " (" + reason + ")"
	}
	return code + ": " + e.Get("message").String()
}

func code(object json.RawMessage) bridge.Code {
	return bridge.Code(scenario.ReadAgain(object).Get("code").String())
}

// formsOfText returns what a string of executeTool may have been: what an object or a list is
// written as, a string as it is, or another value. An empty string and undefined have words of
// their own.
func formsOfText(text string) []json.RawMessage {
	bare := json.RawMessage(schema.AppendString(nil, text))
	switch text {
	case "Operation succeeded":
		return []json.RawMessage{bare, json.RawMessage(`""`)}
	case "undefined":
		return []json.RawMessage{json.RawMessage("null"), bare}
	}
	if parsed := scenario.ReadAgain(json.RawMessage(text)); parsed.Exists() {
		return []json.RawMessage{json.RawMessage(text), bare}
	}
	return []json.RawMessage{bare}
}

// formsOfMCP returns what a result of tools/call may have been made of.
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
		block := scenario.ReadAgain(content[len(content)-1])
		text := block.Get("text")
		last = scenario.ReadAgain(json.RawMessage(text.String()))
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
	told := structured != nil && last.Equal(scenario.ReadAgain(structured))
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

type made struct {
	step *scenario.Step
	got  result
	want scenario.Value // what was expected of the result, expanded
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
		mine := t.made[i].without(t.scope.Unique)
		theirs := other.made[same].without(other.scope.Unique)
		m := differ(&mine, &theirs)
		if m == nil {
			continue
		}
		f := mismatched(mine.step, "parity: "+string(other.door)+" and "+string(t.door)+" disagree",
			scenario.Position{}, m)
		f.Message += "; where it may differ from run to run, expect a matcher such as $any."
		return f
	}
	return nil
}

// without is a call with the same text for ${unique} in all attempts.
func (m *made) without(unique string) made {
	out := *m
	swap := func(text json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(text, []byte(unique), []byte("UNIQUE"))
	}
	out.got.forms = nil
	for _, form := range m.got.forms {
		out.got.forms = append(out.got.forms, swap(form))
	}
	if m.got.err != nil {
		out.got.err = swap(m.got.err)
	}
	return out
}

// text is the result in its likeliest form, or the error.
func (r *result) text() json.RawMessage {
	if r.err != nil {
		return r.err
	}
	return r.forms[0]
}

// ended is the failure of a call that failed and must not, or the other way round, or nil.
func (r *result) ended(s *scenario.Step, mustFail bool) *report.Failure {
	why := "the call succeeded, and must fail"
	switch {
	case (r.err != nil) == mustFail:
		return nil
	case r.err != nil:
		why = "the call failed: " + text.EscapeLine(errorText(r.err))
	}
	f := failed(s, why)
	f.Actual = scenario.Show(r.shown(), "")
	return f
}

// shown returns the result as a report has it. Two ways that fail alike read alike: the members of
// an error are in one order, and the ID of the call is left out.
func (r *result) shown() json.RawMessage {
	if r.err == nil {
		return r.text()
	}
	object := scenario.ReadAgain(r.err)
	named := func(name string) func(string) bool { return func(other string) bool { return other == name } }
	if details, err := object.Get("details").Edit(named(bridge.DetailCall)); err == nil && details.IsObject() {
		object, err = object.Edit(named("details"), schema.Member{Name: "details", Value: details.Text()})
		if err != nil {
			return r.err
		}
	}
	return object.Canonical()
}

func differ(mine, theirs *made) *scenario.Mismatch {
	x, y := &mine.got, &theirs.got
	apart := func(member, why string) *scenario.Mismatch {
		return &scenario.Mismatch{Path: member, Why: text.EscapeLine(why),
			Expected: scenario.Show(y.text(), member), Actual: scenario.Show(x.text(), member)}
	}
	switch {
	case x.left || y.left:
		return nil // one door does not see what became of a form
	case x.err == nil && y.err == nil:
		var first *scenario.Mismatch
		for _, a := range x.forms {
			for _, b := range y.forms {
				m := scenario.Unlike(mine.want, a, b)
				if m == nil {
					return nil
				}
				first = cmp.Or(first, m)
			}
		}
		return first
	case x.err == nil:
		return apart("", "one has a result, the other the error "+errorText(y.err))
	case y.err == nil:
		return apart("", "one has the error "+errorText(x.err)+", the other a result")
	case code(x.err) != code(y.err):
		return apart("code", fmt.Sprintf("one has the error %s, the other %s", code(x.err), code(y.err)))
	case x.silent || y.silent:
		return nil
	}
	members := []string{"reason", "outcome"}
	if _, more := mine.want.Only("code", "reason", "outcome"); code(x.err) == bridge.ToolError && !more {
		members = append(members, "message")
	}
	for _, name := range members {
		a := schema.AppendString(nil, scenario.ReadAgain(x.err).Get(name).String())
		b := schema.AppendString(nil, scenario.ReadAgain(y.err).Get(name).String())
		if m := scenario.Unlike(scenario.Value{}, a, b); m != nil {
			return apart(name, m.Why)
		}
	}
	return nil
}
