package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// Read reads a scenario file, at most 1 MiB of YAML. Messages use name, such as its path. The
// error is a [*Problems] with all that is wrong, each with line and column.
func Read(name string, text []byte) (*File, error) {
	d := &decoder{problems: &problems{file: name}}
	f := &File{Name: name}
	if root := parseYAML(text, d.problems); root != nil {
		d.file(root, f)
	}
	f.Env = d.env
	if err := d.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// ReadAs reads a file of scenarios by its name: one that ends in .json has evals.
func ReadAs(name string, text []byte) (*File, error) {
	if strings.HasSuffix(name, ".json") {
		return ReadEvals(name, text)
	}
	return Read(name, text)
}

// exactlyOne reports a struct of which not exactly one of some keys is set.
func (d *decoder) exactlyOne(at Position, what string, keys []string, set ...bool) bool {
	n := 0
	for _, is := range set {
		if is {
			n++
		}
	}
	if n != 1 {
		d.add(at, "invalid %s: it has %d of %s; write exactly one", what, n, strings.Join(keys, ", "))
	}
	return n == 1
}

// exactlyOneOf is the same for the JSON Schema.
func exactlyOneOf(keys ...string) object { return object{"oneOf": eachRequired(keys...)} }

func required(keys ...string) object { return object{"required": keys} }

func eachRequired(keys ...string) (forms []any) {
	for _, key := range keys {
		forms = append(forms, required(key))
	}
	return forms
}

var networkKeys = []string{"record", "replay"}

func (n *Network) check(d *decoder) {
	d.exactlyOne(n.Position, "network", networkKeys, n.Record != "", n.Replay != "")
}

func (*Network) constraints() object { return exactlyOneOf(networkKeys...) }

var lookKeys = []string{"text", "value", "count", "visible"}

func (l *Look) check(d *decoder) {
	if !d.exactlyOne(l.Position, "page", lookKeys, l.Text != "", l.Value != "", l.Count != "",
		l.Visible != "") {
		return
	}
	switch {
	case l.Matches.Exists():
	case l.Visible != "":
		l.Matches = Value{&node{kind: 't', at: l.Position}}
	default:
		d.add(l.Position, "matches is missing in page: write what %s must match", Quoted(l.Selector()))
	}
}

func (*Look) constraints() object {
	o := exactlyOneOf(lookKeys...)
	o["anyOf"] = eachRequired("visible", "matches")
	return o
}

var waitKeys = []string{"tool", "selector", "idle"}

func (w *WaitFor) check(d *decoder) {
	d.exactlyOne(w.Position, "wait-for", waitKeys, w.Tool != "", w.Selector != "", w.Idle)
}

func (*WaitFor) constraints() object { return exactlyOneOf(waitKeys...) }

func (t *Tools) check(d *decoder) {
	switch {
	case t.Include == nil && t.Exclude == nil && t.Exactly == nil:
		d.add(t.Position, "invalid tools: it says nothing; write include, exclude or exactly")
	case t.Exactly != nil && (t.Include != nil || t.Exclude != nil):
		d.add(t.Position, "invalid tools: exactly says it all; remove include and exclude")
	}
}

func (*Tools) constraints() object {
	return object{"anyOf": eachRequired("include", "exclude", "exactly"), "if": required("exactly"),
		"then": object{"not": object{"anyOf": eachRequired("include", "exclude")}}}
}

func (s *Site) check(d *decoder) {
	switch {
	case s.Serve != "" && s.URL == "":
		d.add(s.Position, "url is missing in site: write the address under which %s serves the app",
			Quoted(s.Serve))
	case s.Serve != "" && s.Dir != "":
		d.add(s.Position, "invalid site: it has dir and serve; write one of them")
	case s.Dir == "" && s.URL == "":
		d.add(s.Position, "invalid site: it names no app; write dir, url, or serve and url")
	}
	d.config(s.Config)
}

// Config reads a value for [Site.Config] from JSON text in which nothing is a reference. The error
// is a [*schema.SyntaxError], or a [*Problems] that names the unknown keys.
func Config(text json.RawMessage) (Value, error) {
	v, err := Literal(text)
	if err != nil {
		return v, err
	}
	p := &problems{file: "config"}
	p.config(v)
	return v, p.err()
}

func (p *problems) config(v Value) {
	if v.n == nil {
		return
	}
	if v.n.kind != '{' {
		p.add(v.Position(), "invalid value for config: it must be a mapping")
		return
	}
	known := configKeys()
	for _, key := range v.n.keys {
		if !slices.Contains(known, key) {
			p.add(v.Position(), "unknown key %s in config: %s", Quoted(key), instead(key, known))
		}
	}
}

// configKeys are the settings of a page that calls have, and a file with a login.
func configKeys() []string {
	keys := []string{"storageState"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pageconfig.Settings]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

func (*Site) constraints() object {
	return object{
		"anyOf":             eachRequired("dir", "url"),
		"dependentRequired": object{"serve": []string{"url"}},
		"not":               required("dir", "serve"),
	}
}

func (e *Entry) check(d *decoder) {
	if e.Title.Exists() && e.On.Title.Exists() {
		d.add(e.Title.Position(), "title is there twice: remove it here or in on")
	}
	kinds := []string{string(bridge.Prompt), string(bridge.Interact), dialog, ""}
	if valued := e.Answer.Value.Exists() || e.Answer.Act == Fill; valued && !slices.Contains(kinds,
		e.On.Kind) {
		d.add(e.Position, "invalid answer: a question of the kind %s takes no value; write accept or "+
			"decline", e.On.Kind)
	}
	e.checkGestures(d)
	e.Times = cmp.Or(e.Times, 1)
	e.Answer.After, e.Answer.From = e.After, e.From
}

// ofCalls are the keys that only a call has.
var ofCalls = []string{"with", "expect", "expect-error", "effects", "calls-seen-by-page"}

func (s *Step) check(d *decoder) {
	kinds := s.kinds()
	names := []string{string(DoCall), string(DoTools), string(DoOpen), string(DoWait),
		string(DoReload), string(DoParallel)}
	without := slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return k == DoPage })
	if len(kinds) == 0 || len(without) > 1 {
		d.add(s.Position, "invalid step: it has %d of %s, page; write one, page may be beside it",
			len(without), strings.Join(names, ", "))
		return
	}
	kind := s.Kind()
	for i, is := range []bool{s.With.Exists(), s.Expect.Exists(), s.ExpectError.Exists(),
		s.Effects != nil, s.Seen != nil} {
		if is && kind != DoCall {
			d.add(s.Position, "%s is beside %s: only a call has it", ofCalls[i], kind)
		}
	}
	if s.Name != "" && kind != DoCall {
		d.add(s.Position, "name is beside %s: only a call has a result to refer to", kind)
	}
	if s.Page != nil && (kind == DoTools || kind == DoParallel) {
		d.add(s.Position, "page is beside %s: make it a step of its own", kind)
	}
	if s.Within > 0 && (kind == DoTools || kind == DoParallel) {
		d.add(s.Position, "within is beside %s: write eventually for tools, and within for each "+
			"parallel step", kind)
	}
	if s.With.n != nil && s.With.n.kind != '{' {
		d.add(s.With.Position(), "invalid value for with: the arguments must be a mapping")
	}
	if s.Expect.Exists() && s.ExpectError.Exists() {
		d.add(s.ExpectError.Position(), "expect and expect-error are in one step: a call succeeds or "+
			"fails; remove one")
	}
	s.checkParallel(d)
	s.checkError(d)
}

func (s *Step) checkParallel(d *decoder) {
	if s.Parallel != nil && len(s.Parallel) < 2 {
		d.add(s.Position, "parallel has %d steps: write two or more", len(s.Parallel))
	}
	for i := range s.Parallel {
		if k := s.Parallel[i].Kind(); k != DoCall && k != DoTools && k != DoPage {
			d.add(s.Parallel[i].Position, "%s is in parallel: only call, tools and page may be", k)
		}
	}
}

// checkError looks for codes that the contract does not have.
func (s *Step) checkError(d *decoder) {
	want := s.ExpectError.n
	if want == nil {
		return
	}
	if want.kind != '{' && want.kind != '$' {
		d.add(want.at, "invalid value for expect-error: it must be a mapping, such as {code: TOOL_ERROR}")
		return
	}
	code := s.code()
	if code == nil {
		return
	}
	var known []string
	for _, c := range bridge.Codes() {
		known = append(known, string(c))
	}
	if !slices.Contains(known, code.text) {
		d.add(code.at, "unknown code %s: %s", Quoted(code.text), instead(code.text, known))
	}
}

func (s *Step) code() *node {
	if s.ExpectError.n == nil {
		return nil
	}
	code := s.ExpectError.n.get("code")
	if code == nil || code.kind != '"' || code.refs != nil {
		return nil
	}
	return code
}

// ErrorCode returns the code of the error that the call must fail with; "" when none is named.
func (s *Step) ErrorCode() bridge.Code {
	if code := s.code(); code != nil {
		return bridge.Code(code.text)
	}
	return ""
}

func (*Step) constraints() object {
	kinds := eachRequired("call", "tools", "open", "wait-for", "reload", "parallel")
	needs := object{"name": []string{"call"}}
	for _, key := range ofCalls {
		needs[key] = []string{"call"}
	}
	pageAlone := object{"required": []string{"page"}, "not": object{"anyOf": kinds}}
	return object{
		"oneOf":             append(slices.Clone(kinds), pageAlone),
		"dependentRequired": needs,
		"not": object{"anyOf": []any{
			required("expect", "expect-error"),
			object{
				"anyOf": eachRequired("tools", "parallel"),
				"allOf": []any{object{"anyOf": eachRequired("page", "within")}},
			},
		}},
	}
}

// file reads the file and checks what is more than one place of it.
func (d *decoder) file(root *yaml.Node, f *File) {
	d.structure(root, "the file", reflect.ValueOf(f))
	f.Via = doors(f.Via, Doors())
	seen := map[string]int{}
	for _, c := range f.Cases {
		c.Via = doors(c.Via, f.Via)
		for _, tag := range f.Tags {
			if !slices.Contains(c.Tags, tag) {
				c.Tags = append(c.Tags, tag)
			}
		}
		if line := seen[c.Name]; line > 0 && c.Name != "" {
			d.add(c.Position, "the case %s is also in line %d: give each case a name of its own",
				Quoted(c.Name), line)
		}
		seen[c.Name] = c.Line
		d.references(c)
	}
}

// doors returns the doors of a list in their order, and others without a list.
func doors(list, others []Door) []Door {
	if len(list) == 0 {
		return others
	}
	return slices.DeleteFunc(Doors(), func(door Door) bool {
		return !slices.Contains(list, throughAll) && !slices.Contains(list, door)
	})
}

// references checks that what the steps of a case refer to comes before them.
func (d *decoder) references(c *Case) {
	var later []string // all names of the case
	for i := range c.Steps {
		later = append(later, c.Steps[i].names()...)
	}
	r := &references{decoder: d, all: later}
	for _, e := range c.Human {
		r.values(nil, e.Title, e.Message, e.On.Title, e.On.Tool, e.Answer.Value)
		for _, g := range e.Answer.Gestures {
			r.values(nil, g.With)
		}
	}
	var known []string
	named := map[string]bool{}
	for i := range c.Steps {
		r.step(&c.Steps[i], known, named)
		known = append(known, c.Steps[i].names()...)
	}
}

// names returns the names that a step makes known.
func (s *Step) names() (all []string) {
	if s.Kind() == DoCall {
		all = append(all, s.Ref())
	}
	for i := range s.Parallel {
		all = append(all, s.Parallel[i].names()...)
	}
	return all
}

type references struct {
	*decoder
	all []string
}

func (r *references) step(s *Step, known []string, named map[string]bool) {
	if s.Name != "" {
		if named[s.Name] {
			r.add(s.Position, "the step %s is there twice: give each a name of its own", Quoted(s.Name))
		}
		named[s.Name] = true
	}
	r.values(known, s.With, s.Expect, s.ExpectError)
	for _, l := range s.Page {
		r.values(known, l.Matches)
	}
	if s.Effects != nil {
		r.values(known, s.Effects.values()...)
	}
	if pieces, wrong := splitReferences(s.Open); wrong == "" {
		r.pieces(known, s.Position, pieces)
	}
	for i := range s.Parallel {
		r.step(&s.Parallel[i], known, named)
	}
}

func (r *references) values(known []string, all ...Value) {
	for _, v := range all {
		if v.n != nil {
			v.n.walk(func(n *node) { r.pieces(known, n.at, n.refs) })
		}
	}
}

func (r *references) pieces(known []string, at Position, pieces []piece) {
	for _, p := range pieces {
		if p.ref == nil || p.ref.kind != "steps" {
			continue
		}
		_, path, ok := stepOf(p.ref.name, known)
		if _, wellFormed := readPath(path); ok && wellFormed {
			continue
		}
		advice := "no call comes before it"
		name, _, isLater := stepOf(p.ref.name, r.all)
		first, _, _ := strings.Cut(p.ref.name, ".")
		switch {
		case ok:
			advice = `write .member, [0] or ["member"] for a part of the result`
		case isLater:
			advice = fmt.Sprintf("the step %s does not come before it", Quoted(name))
		case len(known) > 0:
			advice = instead(first, known)
		}
		r.add(at, "invalid reference %s: %s", Quoted(p.ref.String()), advice)
	}
}
