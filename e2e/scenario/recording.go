package scenario

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Recorder makes a recording of the calls that a bridge runs. It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	cases  map[string]*RecordedCase // by session
	order  []*RecordedCase
	open   map[string]bool // calls with a question that nobody answered
	missed int
}

// Observe is for bridge.Options.
func (r *Recorder) Observe(o bridge.Observed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case o.Question != nil && o.Answer == nil:
		if r.open == nil {
			r.open = map[string]bool{}
		}
		r.open[o.Call.ID] = true
	case o.Question != nil && o.Question.AskedByMode(): // nobody is asked when scenarios run
	case o.Question != nil:
		c := r.of(o.Call)
		c.Human = append(c.Human, RecordedAnswer{Kind: o.Question.Kind, Tool: o.Question.Tool,
			Message: o.Question.Detail, OK: o.Answer.OK, Value: o.Answer.Value,
			secret: secretsOf(o.Question.Schema, o.Answer.Value)})
	case o.Tool == nil || r.open[o.Call.ID]:
		r.missed++
	default:
		c := r.of(o.Call)
		call := &RecordedCall{Tool: o.Tool.Name(), With: o.Call.Input.Text(), Result: o.End.Data,
			secret: secretsOf(o.Tool.InputSchema(), o.Call.Input.Text()),
			hidden: secretsOf(o.Tool.OutputSchema(), o.End.Data), began: o.Began}
		if e := o.End.Err; e != nil {
			object := map[string]any{"code": e.Code}
			if e.Code == bridge.ToolError { // the words of others are ours, and may change
				object["message"] = e.Message
			}
			call.Error = schema.MustEncode(object)
		}
		c.Calls = append(c.Calls, call)
	}
}

// of returns the case that a call belongs to. One without a session has a page of its own.
func (r *Recorder) of(call *bridge.Call) *RecordedCase {
	key := "session " + call.Caller.Name + "\x00" + call.Session
	if call.Session == "" {
		key = "call " + call.ID
	}
	c := r.cases[key]
	if c == nil {
		if r.cases == nil {
			r.cases = map[string]*RecordedCase{}
		}
		c = &RecordedCase{}
		r.cases[key], r.order = c, append(r.order, c)
	}
	return c
}

// Recording returns what was recorded, with a case for each session, and how many calls are not in
// it: there was no such tool, or nobody answered a question of theirs. The first case has the name,
// the others a number more.
func (r *Recorder) Recording(name string) (all *Recording, missed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = &Recording{}
	for _, c := range r.order {
		if len(c.Calls) == 0 {
			continue // what was asked goes on
		}
		slices.SortStableFunc(c.Calls, func(a, b *RecordedCall) int { return a.began.Compare(b.began) })
		if c.Name = name; len(all.Cases) > 0 {
			c.Name = fmt.Sprintf("%s %d", name, len(all.Cases)+1)
		}
		all.Cases = append(all.Cases, c)
	}
	return all, r.missed
}

// Recording records what callers did with the tools of a site, to make a scenario file that
// does the same. What differs when it runs again becomes a matcher: see [Recording.Loosen].
type Recording struct {
	// Dir and URL name the site, as in a [Draft].
	Dir, URL string
	// Adapters are scripts that add tools to the site, relative to the file.
	Adapters []string
	Cases    []*RecordedCase

	vault vault // filled in by Text
}

// RecordedCase records what one caller did in one session.
type RecordedCase struct {
	Name  string
	Human []RecordedAnswer
	Calls []*RecordedCall
}

// RecordedAnswer records a person's answer.
type RecordedAnswer struct {
	Kind          bridge.Kind
	Tool, Message string
	OK            bool
	Value         json.RawMessage // nil where there is none

	secret map[string]bool // as of a RecordedCall
}

// RecordedCall is a call with its end: Result is as a webtool has it in data; Error is the
// contract's error object, when the call failed.
type RecordedCall struct {
	Tool, Name    string // Name is filled in where a later call refers to the result
	With          json.RawMessage
	Result, Error json.RawMessage

	// JSON pointers of what schemas mark as secret, in With and in Result.
	secret, hidden map[string]bool

	began time.Time
	loose map[string]loose // what differs from run to run, by its path
	at    []path           // the same paths, in the order in which they were found
}

// loose is a matcher, or that a member is left out.
type loose string

const (
	anyValue loose = "$any"
	leftOut  loose = ""
)

// Text returns the file. [Read] reads it. An error says why there is none.
func (r *Recording) Text() ([]byte, error) {
	if len(r.Cases) == 0 {
		return nil, errors.New("nothing was recorded: no tool was called")
	}
	r.vault.fill(r.Cases)
	var cases []*yaml.Node
	for _, c := range r.Cases {
		cases = append(cases, c.node(&r.vault))
	}
	text, err := encodeYAML(mapping("site", siteOf(r.Dir, r.URL, r.Adapters...), "cases", listOf(cases...)))
	if err != nil {
		return nil, err
	}
	head := "# Written by pagetools.\n"
	if names := r.Variables(); names != nil {
		head += "# Set these variables of the environment before it runs: " + strings.Join(names, ", ") + "\n"
	}
	out := append([]byte(head), text...)
	return out, Draft{}.check(out)
}

func (c *RecordedCase) node(v *vault) *yaml.Node {
	steps := make([]*yaml.Node, len(c.Calls))
	for i := len(c.Calls) - 1; i >= 0; i-- { // the last ones first: they give names to those before
		steps[i] = c.step(i, v)
	}
	var human *yaml.Node
	if len(c.Human) > 0 {
		human = listOf()
		for i := range c.Human {
			human.Content = append(human.Content, c.Human[i].node(v))
		}
	}
	return mapping("name", c.Name, "human", human, "steps", listOf(steps...))
}

func (a *RecordedAnswer) node(v *vault) *yaml.Node {
	var message *yaml.Node
	if a.Message != "" && a.Kind != bridge.Approve {
		if message = textOf(a.Message); v.repeats(a.Message) {
			message = typed("string")
		}
	}
	said := wordOf(string(Accept))
	switch {
	case !a.OK:
		said = wordOf(string(Decline))
	case len(a.Value) > 0:
		said = inline(mapping("value", v.sent(ReadAgain(a.Value), a.secret,
			func(schema.Value, path) (*yaml.Node, bool) { return nil, false })))
	}
	return mapping("on", inline(mapping("kind", string(a.Kind), "tool", textOf(a.Tool))),
		"message", message, "answer", said)
}

func (c *RecordedCase) step(i int, v *vault) *yaml.Node {
	call := c.Calls[i]
	var with *yaml.Node
	if sent := ReadAgain(call.With); sent.Len() > 0 {
		with = c.sent(sent, i, v)
	}
	key, want := wordOf("expect"), call.expected(ReadAgain(call.Result), nil, v)
	if call.Error != nil {
		key, want = wordOf("expect-error"), call.expected(ReadAgain(call.Error), nil, v)
	}
	var differ []string
	for _, at := range call.at {
		if words := at.String(); !v.repeats(words) {
			differ = append(differ, text.EscapeLine(cmp.Or(words, "all of it")))
		}
	}
	if differ != nil {
		key.HeadComment = "differs from run to run: " + strings.Join(differ, ", ")
	}
	return mapping("call", call.Tool, "name", call.Name, "with", with, key, want)
}

// expected returns what a result must match, or nil for nothing.
func (r *RecordedCall) expected(v schema.Value, at path, secrets *vault) *yaml.Node {
	return yamlOf(v, at, styleOf, func(v schema.Value, at path) (*yaml.Node, bool) {
		as, is := r.loose[at.String()]
		switch {
		case secrets.named(at):
			return nil, true
		case !is && (r.hidden[at.pointer()] || secrets.shows(v, at)):
			return matcherFor(v), true
		case !is || as == leftOut:
			return nil, is
		case as == anyValue:
			return &yaml.Node{Kind: yaml.ScalarNode, Value: string(anyValue)}, true
		}
		return typed(string(as)), true
	})
}

func styleOf(v schema.Value) yaml.Style {
	const short = 80
	if len(v.Text()) <= short {
		return yaml.FlowStyle
	}
	return 0
}

// sent are the arguments of a call. A value that an earlier call returned, and that differs from
// run to run, is a reference to that.
func (c *RecordedCase) sent(v schema.Value, before int, secrets *vault) *yaml.Node {
	return secrets.sent(v, c.Calls[before].secret, func(v schema.Value, _ path) (*yaml.Node, bool) {
		for i := before - 1; i >= 0 && !v.IsArray() && !v.IsObject(); i-- {
			call := c.Calls[i]
			for _, at := range call.at {
				if was := at.in(ReadAgain(call.Result)); was.Exists() && was.Equal(v) && len(v.Text()) > 1 &&
					!secrets.repeats(at.String()) {
					return wordOf("${steps." + c.named(i) + dotted(at) + "}"), true
				}
			}
		}
		return nil, false
	})
}

func dotted(at path) string {
	text := at.String()
	if text == "" || text[0] == '[' {
		return text
	}
	return "." + text
}

func (p path) in(v schema.Value) schema.Value {
	for _, step := range p {
		v = part(v, fmt.Sprint(step))
	}
	return v
}

// named is the name by which later steps refer to a call.
func (c *RecordedCase) named(i int) string {
	call := c.Calls[i]
	if call.Name == "" && plainName.MatchString(call.Tool) &&
		!slices.ContainsFunc(c.Calls, func(other *RecordedCall) bool {
			return other != call && other.Tool == call.Tool
		}) {
		return call.Tool
	}
	call.Name = cmp.Or(call.Name, fmt.Sprintf("step-%d", i+1))
	return call.Name
}

// Loosen replaces what did not match when the file of the recording ran by matchers, and reports
// whether there was any: then Text is another one.
func (r *Recording) Loosen(f *File, changes []Change) bool {
	changed := false
	for _, change := range changes {
		where := change.Expected.Position()
		for i, c := range f.Cases {
			for j := range c.Steps {
				call, step := r.Cases[i].Calls[j], &c.Steps[j]
				switch {
				case step.Expect.Exists() && step.Expect.Position() == where:
					changed = call.loosen(ReadAgain(call.Result), ReadAgain(change.Actual), nil) || changed
				case step.ExpectError.Exists() && step.ExpectError.Position() == where:
					changed = call.loosen(ReadAgain(call.Error), ReadAgain(change.Actual), nil) || changed
				}
			}
		}
	}
	return changed
}

func (r *RecordedCall) loosen(was, is schema.Value, at path) (changed bool) {
	if _, done := r.loose[at.String()]; done || was.Equal(is) {
		return false
	}
	switch {
	case was.IsObject() && is.IsObject():
		for name, item := range was.Members() {
			if later := is.Get(name); later.Exists() {
				changed = r.loosen(item, later, at.to(name)) || changed
			} else {
				changed = r.set(at.to(name), leftOut) || changed
			}
		}
		return changed
	case was.IsArray() && is.IsArray() && was.Len() == is.Len():
		later := slices.Collect(is.Elements())
		for i, item := range was.Items() {
			changed = r.loosen(item, later[i], at.to(i)) || changed
		}
		return changed
	case kindOf(was) == kindOf(is):
		_, kind, _ := strings.Cut(kindOf(was), " ") // "a string"; null is equal to null
		return r.set(at, loose(kind))
	}
	return r.set(at, anyValue)
}

func (r *RecordedCall) set(at path, as loose) bool {
	if _, there := r.loose[at.String()]; there {
		return false
	}
	if r.loose == nil {
		r.loose = map[string]loose{}
	}
	r.loose[at.String()], r.at = as, append(r.at, at)
	return true
}
