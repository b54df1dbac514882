package scenario

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/report"
)

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
		return differs(at, "one has %s, the other %s", elements(x.Len()), elements(y.Len()))
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
