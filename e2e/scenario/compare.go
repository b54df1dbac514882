package scenario

import (
	"encoding/json"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// MatchAny compares a result that is one of several forms with what is expected. It returns the
// forms that match, those of the expected kind first. When none does, it returns all of them, in
// that order, and the mismatch of the first.
func MatchAny(want Value, forms []json.RawMessage) ([]json.RawMessage, *Mismatch) {
	if want.n == nil {
		return forms, nil
	}
	forms = first(forms, func(v schema.Value) bool { return sameKind(want.n, v) })
	misses := func(form json.RawMessage) bool { return Match(want, form) != nil }
	if fits := slices.DeleteFunc(slices.Clone(forms), misses); len(fits) > 0 {
		return fits, nil
	}
	return forms, Match(want, forms[0])
}

// LikeFirst returns the forms of a result, those of the kind of a value first.
func LikeFirst(value json.RawMessage, forms []json.RawMessage) []json.RawMessage {
	kind := kindOf(ReadAgain(value))
	return first(forms, func(v schema.Value) bool { return kindOf(v) == kind })
}

// first moves what fits before the rest.
func first(forms []json.RawMessage, fits func(schema.Value) bool) []json.RawMessage {
	var front, rest []json.RawMessage
	for _, form := range forms {
		if fits(ReadAgain(form)) {
			front = append(front, form)
		} else {
			rest = append(rest, form)
		}
	}
	return append(front, rest...)
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

// Unlike compares two results of the same call, and returns the first place where they differ, or
// nil. Where a matcher is expected, only their kinds count. Expected shows theirs, Actual mine.
func Unlike(want Value, mine, theirs json.RawMessage) *Mismatch {
	d := unlike(want.n, ReadAgain(mine), ReadAgain(theirs), nil)
	if d == nil {
		return nil
	}
	return &Mismatch{Path: text.EscapeLine(d.at.String()), Why: text.EscapeLine(d.why),
		Expected: shown(theirs, d.at), Actual: shown(mine, d.at)}
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
		return differs(at, "one has %s, the other %s", text.Count(x.Len(), "element"), text.Count(y.Len(), "element"))
	case x.IsArray() && y.IsArray():
		others := slices.Collect(y.Elements())
		for i, v := range x.Items() {
			var inner *node
			if want != nil && want.kind == '[' && i < len(want.vals) {
				inner = want.vals[i]
			}
			if d := unlike(inner, v, others[i], at.to(i)); d != nil {
				return d
			}
		}
		return nil
	case x.Exists() && y.Exists() && x.Equal(y):
		return nil
	}
	return differs(at, "one has %s, the other %s", brief(x), brief(y))
}

func unlikeMembers(want *node, x, y schema.Value, at path) *difference {
	names := slices.Concat(x.Names(), y.Names())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
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
