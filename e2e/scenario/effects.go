package scenario

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// Effects limits what a call may touch. A member that is missing is not looked at.
type Effects struct {
	Position
	Network    *Touched `key:"network" items:"request" help:"the requests that the call sent; GET and HEAD count only where an entry names one of them"`
	Storage    *Touched `key:"storage" items:"storage" help:"what was written: cookie, localStorage, sessionStorage, indexedDB, cache"`
	Navigation *Touched `key:"navigation" help:"the addresses that the page went to"`
	Windows    *Touched `key:"windows" help:"the addresses of windows that were opened"`
	Downloads  *Touched `key:"downloads" help:"the addresses that were downloaded"`
}

// Touched is none, or a list: each entry matches something that was touched, and each thing that
// was touched matches an entry.
type Touched struct {
	Position
	Items []Value
}

var (
	storages    = []string{"cookie", "localStorage", "sessionStorage", "indexedDB", "cache"}
	requestKeys = []string{"method", "url", "body"}
)

func (t *Touched) decode(d *decoder, key string, n *yaml.Node) {
	t.Position = at(n)
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "none":
		return
	case n.Kind != yaml.SequenceNode:
		d.add(at(n), "invalid value for %s: it must be none or a list", key)
		return
	}
	for _, item := range n.Content {
		v := Value{d.builder("expected").build(item)}
		t.Items = append(t.Items, v)
		switch {
		case key == "network" && v.n.kind == '{':
			for _, name := range v.n.keys {
				if !slices.Contains(requestKeys, name) {
					d.add(v.n.at, "unknown key %s in network: %s", Quoted(name), instead(name, requestKeys))
				}
			}
		case key == "network" && v.n.kind != '$':
			d.add(v.n.at, "invalid value for network: a request must be a mapping, such as {method: "+
				"POST, url: /orders}")
		case key == "storage" && v.n.kind == '"' && v.n.refs == nil && !slices.Contains(storages,
			v.n.text):
			d.add(v.n.at, "unknown storage %s: %s", Quoted(v.n.text), instead(v.n.text, storages))
		}
	}
}

func (*Touched) schema() object {
	return object{"anyOf": []any{object{"const": "none"}, object{"type": "array",
		"items": object{"$ref": "#/$defs/expected"}}}}
}

func (e *Effects) check(d *decoder) {
	if e.lists(check.Effects{}) == nil {
		d.add(e.Position, "invalid effects: it says nothing; write network, storage, navigation, "+
			"windows or downloads")
	}
}

func (*Effects) constraints() object { return object{"minProperties": 1} }

func (e *Effects) values() (all []Value) {
	for _, l := range e.lists(check.Effects{}) {
		all = append(all, l.want.Items...)
	}
	return all
}

// touchedList is one list that is looked at: what may be touched, and what was.
type touchedList struct {
	name string
	want *Touched
	got  []json.RawMessage
}

func (e *Effects) lists(got check.Effects) (all []touchedList) {
	add := func(name string, want *Touched, got []json.RawMessage) {
		if want != nil {
			all = append(all, touchedList{name, want, got})
		}
	}
	if e.Network != nil {
		add("network", e.Network, e.Network.requests(got.Requests))
	}
	add("storage", e.Storage, encodeAll(got.Storage))
	add("navigation", e.Navigation, encodeAll(got.Navigated))
	add("windows", e.Windows, encodeAll(got.Windows))
	add("downloads", e.Downloads, encodeAll(got.Downloads))
	return all
}

func encodeAll(texts []string) []json.RawMessage {
	out := []json.RawMessage{}
	for _, text := range texts {
		out = append(out, schema.MustEncode(text))
	}
	return out
}

// requests returns the requests that count: GET and HEAD change nothing by their definition
// (RFC 9110, 9.2.1), and a page sends them all the time.
func (t *Touched) requests(all []check.Request) []json.RawMessage {
	reads := slices.ContainsFunc(t.Items, func(v Value) bool {
		method := v.n.get("method")
		return method != nil && isRead(method.text)
	})
	out := []json.RawMessage{}
	for _, r := range all {
		if reads || !isRead(r.Method) {
			out = append(out, schema.MustEncode(map[string]string{"method": r.Method, "url": r.URL,
				"body": r.Body}))
		}
	}
	return out
}

func isRead(method string) bool { return slices.Contains([]string{"GET", "HEAD"}, method) }

// Expand returns the effects with what their references stand for, as [Scope.Expand] does.
func (e *Effects) Expand(s *Scope) (*Effects, error) {
	out := *e
	for _, t := range []**Touched{&out.Network, &out.Storage, &out.Navigation, &out.Windows,
		&out.Downloads} {
		if *t == nil {
			continue
		}
		fresh := &Touched{Position: (*t).Position}
		for _, v := range (*t).Items {
			x, err := s.Expand(v)
			if err != nil {
				return nil, err
			}
			fresh.Items = append(fresh.Items, x)
		}
		*t = fresh
	}
	return &out, nil
}

// Match returns nil when a call touched what it may and had to touch, and otherwise the first
// difference. The path begins with the member, such as network[0].
func (e *Effects) Match(got check.Effects) *Mismatch {
	for _, l := range e.lists(got) {
		if at, why := l.differ(); why != "" {
			return l.mismatch(at, why)
		}
	}
	return nil
}

// differ returns what was touched and may not be, by its number, or an entry that nothing matches,
// with -1.
func (l *touchedList) differ() (at int, why string) {
	met := make([]bool, len(l.want.Items))
	for i, got := range l.got {
		fits := false
		for j, want := range l.want.Items {
			if Match(want, got) == nil {
				met[j], fits = true, true
			}
		}
		if !fits {
			return i, fmt.Sprintf("%s[%d] was touched, and is not expected: %s", l.name, i,
				shorten(string(got)))
		}
	}
	if i := slices.Index(met, false); i >= 0 {
		return -1, fmt.Sprintf("%s has nothing that matches entry %d: %s", l.name, i+1,
			shorten(l.want.Items[i].n.line()))
	}
	return 0, ""
}

func (l *touchedList) mismatch(at int, why string) *Mismatch {
	want, got := &node{kind: '['}, &node{kind: '['}
	for _, v := range l.want.Items {
		want.vals = append(want.vals, v.n)
	}
	for _, text := range l.got {
		if v, err := schema.Read(text, 0); err == nil {
			got.vals = append(got.vals, literal(v, Position{}))
		}
	}
	m := &Mismatch{Path: l.name, Why: text.EscapeLine(why) + ".", Expected: show(want, nil), Actual: show(got,
		nil)}
	if at >= 0 {
		m.Path, m.Actual = fmt.Sprintf("%s[%d]", l.name, at), show(got, path{at})
	}
	return m
}

// Match returns nil when the list of tools is as it must be.
func (t *Tools) Match(names []string) *Mismatch {
	for _, want := range [][]string{t.Include, t.Exactly} {
		for _, name := range want {
			if !slices.Contains(names, name) {
				return t.mismatch(names, want, name, "is missing"+hint(name, names))
			}
		}
	}
	for _, name := range names {
		switch {
		case slices.Contains(t.Exclude, name):
			return t.mismatch(names, t.Exclude, name, "is there, and must not be")
		case t.Exactly != nil && !slices.Contains(t.Exactly, name):
			return t.mismatch(names, t.Exactly, name, "is not expected")
		}
	}
	return nil
}

func (t *Tools) mismatch(names, want []string, name, what string) *Mismatch {
	list := func(texts []string) string {
		out := &node{kind: '['}
		for _, text := range slices.Sorted(slices.Values(texts)) {
			out.vals = append(out.vals, &node{kind: '"', text: text})
		}
		return show(out, nil)
	}
	why := fmt.Sprintf("the tool %s %s.", Quoted(name), what)
	return &Mismatch{Path: "tools", Why: text.EscapeLine(why), Expected: list(want), Actual: list(names)}
}
