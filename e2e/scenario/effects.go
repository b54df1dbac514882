package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/session"
)

// Effects are what a call may touch. A member that is missing is not looked at.
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
					d.add(v.n.at, "unknown key %s in network: %s", quoted(name), instead(name, requestKeys))
				}
			}
		case key == "network" && v.n.kind != '$':
			d.add(v.n.at, "invalid value for network: a request must be a mapping, such as {method: "+
				"POST, url: /orders}")
		case key == "storage" && v.n.kind == '"' && v.n.refs == nil && !slices.Contains(storages,
			v.n.text):
			d.add(v.n.at, "unknown storage %s: %s", quoted(v.n.text), instead(v.n.text, storages))
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

// values are all that is expected.
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

// requests are those that count: GET and HEAD change nothing by their definition (RFC 9110,
// 9.2.1), and a page sends them all the time.
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
	m := &Mismatch{Path: l.name, Why: visible(why) + ".", Expected: show(want, nil), Actual: show(got,
		nil)}
	if at >= 0 {
		m.Path, m.Actual = fmt.Sprintf("%s[%d]", l.name, at), show(got, path{at})
	}
	return m
}

// Match returns nil when the list of tools is as it must be.
func (t *Tools) Match(names []string) *Mismatch {
	missing := func(want []string) *Mismatch {
		for _, name := range want {
			if !slices.Contains(names, name) {
				return t.mismatch(names, want, fmt.Sprintf("the tool %s is missing%s", quoted(name), hint(name,
					names)))
			}
		}
		return nil
	}
	if m := missing(t.Include); m != nil {
		return m
	}
	for _, name := range t.Exclude {
		if slices.Contains(names, name) {
			return t.mismatch(names, t.Exclude, fmt.Sprintf("the tool %s is there, and must not be",
				quoted(name)))
		}
	}
	if t.Exactly == nil {
		return nil
	}
	if m := missing(t.Exactly); m != nil {
		return m
	}
	for _, name := range names {
		if !slices.Contains(t.Exactly, name) {
			return t.mismatch(names, t.Exactly, fmt.Sprintf("the tool %s is not expected", quoted(name)))
		}
	}
	return nil
}

func (t *Tools) mismatch(names, want []string, why string) *Mismatch {
	list := func(texts []string) string {
		out := &node{kind: '['}
		for _, text := range slices.Sorted(slices.Values(texts)) {
			out.vals = append(out.vals, &node{kind: '"', text: text})
		}
		return show(out, nil)
	}
	return &Mismatch{Path: "tools", Why: visible(why) + ".", Expected: list(want), Actual: list(names)}
}

// settleTime is how long a page does nothing whose call is over.
const settleTime = 100 * time.Millisecond

// nothing is what there is to compare where a step does not say what its call touches.
func nothing(context.Context) *report.Failure { return nil }

// touches begins to look at what a call touches, as far as the step wants to know, and returns
// what compares it.
func (t *attempt) touches(ctx context.Context, s *Step) (func(context.Context) *report.Failure, error) {
	seen, err := t.seen(ctx, s)
	if err != nil {
		return nil, err
	}
	touched, err := t.effects(ctx, s)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) *report.Failure {
		if f := seen(ctx); f != nil {
			return f
		}
		return touched(ctx)
	}, nil
}

// seen counts how often the page's own code was run.
func (t *attempt) seen(ctx context.Context, s *Step) (func(context.Context) *report.Failure, error) {
	if s.Seen == nil {
		return nothing, nil
	}
	before, err := t.probe.Record(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) *report.Failure {
		after, err := t.probe.Record(ctx)
		switch {
		case err != nil:
			return t.failed(s, said(ctx, err))
		case after.Since != before.Since:
			return t.failed(s, "the page went elsewhere, so that its calls cannot be counted: remove "+
				"calls-seen-by-page")
		case after.Calls-before.Calls != *s.Seen:
			return t.failed(s, fmt.Sprintf("the page saw %d calls, and must see %d",
				after.Calls-before.Calls, *s.Seen))
		}
		return nil
	}, nil
}

// effects looks at what happens in the page. What happens in the moment before the call is the
// page's own doing, such as asking its server for news.
func (t *attempt) effects(ctx context.Context, s *Step,
) (func(context.Context) *report.Failure, error) {
	if s.Effects == nil {
		return nothing, nil
	}
	want, err := s.Effects.Expand(t.scope)
	if err != nil {
		return nil, err
	}
	before, err := t.probe.Mark(ctx)
	if err != nil {
		return nil, err
	}
	own, err := t.probe.Since(ctx, before, settleTime)
	if err != nil {
		return nil, err
	}
	alone := &effects.Alone{}
	alone.Add(own)
	from, err := t.probe.Mark(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) *report.Failure {
		all, err := t.sinceQuiet(ctx, from)
		if err != nil {
			return t.failed(s, said(ctx, err))
		}
		got := touched(all, alone)
		if m := want.Match(*got); m != nil {
			return t.mismatched(s, "the effects", s.Effects.Position, m)
		}
		return nil
	}, nil
}

// errCut is the error of a page that did more than is kept.
var errCut = errors.New("the page did more than can be seen: its effects cannot be compared")

// sinceQuiet waits until the page is quiet, and returns what happened since a moment.
func (t *attempt) sinceQuiet(ctx context.Context, from session.Mark) (*session.Activity, error) {
	all, err := t.probe.Since(ctx, from, settleTime)
	if err == nil && all.Cut {
		return nil, errCut
	}
	return all, err
}

// touched is what a scenario compares: to submit a form is to go elsewhere.
func touched(all *session.Activity, alone *effects.Alone) *check.Effects {
	got := effects.Of(all, alone)
	got.Navigated = append(got.Navigated, got.Submitted...)
	return got
}
