package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Eval holds what a case of an evals.json has besides its steps, to judge a model.
type Eval struct {
	Messages []Message
	// Expected are the calls that a model should make, in order. NoCall means that it should make
	// none, which cannot be tested without a model: the case has no calls then.
	Expected []ExpectedCall
	NoCall   bool
	// Tools lists the tools at the end; nil when that does not count.
	Tools []string
}

// Message is a message of a conversation with a model, in the form of webmcp-evals.
type Message struct {
	Role string `json:"role" key:"role" enum:"user,model" required:"yes" help:"user or model"`
	Type string `json:"type" key:"type" enum:"message,functioncall,functionresponse" required:"yes" help:"message, functioncall or functionresponse"`
	// Content belongs to a message, and Name to the tool.
	Content   string          `json:"content,omitempty" key:"content" value:"verbatim"`
	Name      string          `json:"name,omitempty" key:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty" key:"arguments"`
	Response  json.RawMessage `json:"response,omitempty" key:"response"`
}

// ExpectedCall is a call that a model should make, or a group of them: exactly one of Function,
// Ordered and Unordered is set.
type ExpectedCall struct {
	Position
	Function string `key:"functionName" check:"tool" help:"the tool"`
	// Arguments match those of the call; none accepts all.
	Arguments Value `key:"arguments" value:"expected" help:"matches the arguments"`
	// Result matches what the tool returns; none accepts all.
	Result Value `key:"result" value:"expected" help:"matches the result"`
	// Mock replaces the tool's result for a model when there is no page.
	Mock Value `key:"mockOutput" value:"verbatim" help:"the result where there is no page"`
	// Optional is true for a call that need not be made.
	Optional  bool           `key:"optional" help:"the call need not be made"`
	Tools     []string       `key:"expectTools" help:"tools that are there after the call"`
	Ordered   []ExpectedCall `key:"ordered" help:"calls in this order"`
	Unordered []ExpectedCall `key:"unordered" help:"calls in any order"`
}

type evalCase struct {
	Position
	Name     string    `key:"name"`
	Messages []Message `key:"messages" required:"yes" help:"what the model is told"`
	Calls    calls     `key:"expectedCall" required:"yes" help:"the calls that a model should make, or null for none"`
	Tools    []string  `key:"expectTools" help:"tools that are there at the end"`
}

// calls are a list, or null for no call.
type calls struct {
	list []ExpectedCall
	none bool
}

func (c *calls) decode(d *decoder, key string, n *yaml.Node) {
	if n.Tag == "!!null" {
		c.none = true
		return
	}
	d.slice(n, field{key, "", reflect.ValueOf(&c.list).Elem()})
}

func (*calls) schema() object { return object{} }

var callKeys = []string{"functionName", "ordered", "unordered"}

func (c *ExpectedCall) check(d *decoder) {
	d.exactlyOne(c.Position, "expectedCall", callKeys, c.Function != "", c.Ordered != nil,
		c.Unordered != nil)
	if c.Arguments.n != nil && c.Arguments.n.kind == 'n' {
		c.Arguments = Value{} // theirs: any arguments
	}
}

// ReadEvals reads an evals.json of webmcp-evals, at most 1 MiB, into cases that run without a
// model: each required call is a step, in the order in which it is written, also in a group whose
// order does not count; optional calls are left out; matchers in arguments become samples; result
// and expectTools are asserted; before a call, its tool is waited for.
// The result "pending form submission" means that the form asks a person, who declines. The site is for the caller to set. The error is a [*Problems].
//
// A sample of $contains, $gte and $lte is the value itself, of $gt and $lt the next number, of
// $pattern the pattern without what it is made with, of $type "sample" (in a member with date
// in its name: tomorrow, as 2026-11-24), 1, true, [], {} or null, of $any "sample", of $exact its value, of $oneOf that of its first form, and of anything else
// null. Several matchers in one object: the first counts.
func ReadEvals(name string, text []byte) (*File, error) {
	d := &decoder{problems: &problems{file: name}, foreign: true}
	f := &File{Name: name, Position: Position{1, 1}, Via: Doors()}
	var list []evalCase
	if root := parseJSON(text, d.problems); root != nil {
		d.slice(root, field{"cases", `required:"yes"`, reflect.ValueOf(&list).Elem()})
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range list {
		f.Cases = append(f.Cases, list[i].scenario(i, names))
	}
	return f, nil
}

// scenario makes a case, whose name is unlike those before.
func (e *evalCase) scenario(index int, before map[string]bool) *Case {
	c := &Case{Position: e.Position, Via: Doors(),
		Eval: &Eval{Messages: e.Messages, Expected: e.Calls.list, NoCall: e.Calls.none, Tools: e.Tools}}
	title := e.Name
	for _, m := range e.Messages {
		if title == "" && m.Type == "message" {
			title = m.Content
		}
	}
	c.Name = nameFor(title, index, before)
	for i := range e.Calls.list {
		c.Steps = append(c.Steps, e.Calls.list[i].steps()...)
	}
	for i := range c.Steps {
		if c.Steps[i].waitsForPerson() {
			c.Human = append(c.Human, Entry{Position: c.Steps[i].Position, On: On{Kind: "interact"},
				Answer: Answer{Act: Decline}, Times: 1})
		}
	}
	if e.Tools != nil {
		c.Steps = append(c.Steps, toolsStep(e.Position, e.Tools))
	}
	return c
}

func toolsStep(at Position, names []string) Step {
	return Step{Position: at, Tools: &Tools{Position: at, Include: names,
		Eventually: Eventually(DefaultWait)}}
}

// nameFor makes a name that a case can have, and adds it to those before.
func nameFor(title string, index int, before map[string]bool) string {
	title = cmp.Or(text.Line(title), fmt.Sprintf("case %d", index+1))
	if short := text.Bytes(title, mostName/2); short != title {
		title = short + "…"
	}
	name := title
	for n := 2; before[name]; n++ {
		name = fmt.Sprintf("%s (%d)", title, n)
	}
	before[name] = true
	return name
}

func (c *ExpectedCall) steps() (all []Step) {
	for _, group := range [][]ExpectedCall{c.Ordered, c.Unordered} {
		for i := range group {
			all = append(all, group[i].steps()...)
		}
	}
	if c.Function == "" || c.Optional {
		return all
	}
	with := &node{kind: '{', at: c.Position}
	if c.Arguments.n != nil {
		with = c.Arguments.n.sample("")
	}
	// A page may offer the tool late, as after the call before this one.
	all = append(all, toolsStep(c.Position, []string{c.Function}),
		Step{Position: c.Position, Call: c.Function, With: Value{with}, Expect: c.Result})
	if c.Tools != nil {
		all = append(all, toolsStep(c.Position, c.Tools))
	}
	return all
}

// pending is the result that webmcp-evals has for a form that is filled in, and that nobody
// submits.
const pending = "pending form submission"

// waitsForPerson reports whether a call is expected to end with a form that is filled in. Then it
// becomes one that asks a person, who declines, so that the call fails.
func (s *Step) waitsForPerson() bool {
	n := s.Expect.n
	if n == nil || n.kind != '"' || n.text != pending {
		return false
	}
	s.Expect = Value{}
	s.ExpectError = Value{&node{kind: '{', at: s.Position, keys: []string{"code"},
		vals: []*node{{kind: '"', at: s.Position, text: string(bridge.ToolError)}}}}
	return true
}

// sample is a value of the member key that matches n, as far as one can be made.
func (n *node) sample(key string) *node {
	if n.kind == '$' {
		out := n.ops[0].sample(key)
		out.at = n.at
		return out
	}
	out := *n
	out.vals = slices.Clone(n.vals)
	for i, x := range n.vals {
		inner := key // of a list
		if i < len(n.keys) {
			inner = n.keys[i]
		}
		out.vals[i] = x.sample(inner)
	}
	return &out
}

func (o *op) sample(key string) *node {
	word := func(s string) *node { return &node{kind: '"', text: s} }
	switch o.matcher.name {
	case "$contains", "$gte", "$lte", "$exact":
		out := *o.arg
		return &out
	case "$gt", "$lt":
		if o.number == nil {
			break
		}
		return &node{kind: '0', text: nextNumber(o)}
	case "$pattern":
		return word(sampleOfPattern(o.arg.text))
	case "$type":
		if o.arg.text == "string" && strings.Contains(strings.ToLower(key), "date") {
			return word(time.Now().AddDate(0, 0, 1).Format(time.DateOnly))
		}
		return map[string]*node{"string": word("sample"), "number": {kind: '0', text: "1"},
			"boolean": {kind: 't'},
			"array":   {kind: '['}, "object": {kind: '{'}, "null": {kind: 'n'}}[o.arg.text]
	case "$any":
		return word("sample")
	case "$oneOf":
		return o.arg.vals[0].sample(key)
	}
	return &node{kind: 'n'}
}

// nextNumber is a number beyond that of $gt or $lt: the next whole one.
func nextNumber(o *op) string {
	one := rational("1")
	if o.matcher.name == "$lt" {
		one = rational("-1")
	}
	next := one.Add(o.number, one)
	if next.IsInt() {
		return next.Num().String()
	}
	digits, _ := next.FloatPrec() // a decimal number has finitely many
	return next.FloatString(digits)
}

var patternSample = strings.NewReplacer(`\d+`, "123", `\d`, "1", `\w+`, "sample", `\w`, "a", `\s+`,
	" ", `\s`, " ",
	".*", " ", ".+", "sample", "^", "", "$", "", `\`, "")

// sampleOfPattern is a text that a simple pattern matches, or at least its letters.
func sampleOfPattern(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "(?"); ok {
		if flags, after, ok := strings.Cut(rest, ")"); ok && isLetters(flags) {
			pattern = after
		}
	}
	return cmp.Or(strings.TrimSpace(patternSample.Replace(pattern)), "sample")
}

// exportedCase and exportedCall are written, in the order in which people read them.
type exportedCase struct {
	Name     string    `json:"name"`
	Messages []Message `json:"messages"`
	Expected []any     `json:"expectedCall"`
	Tools    []string  `json:"expectTools,omitempty"`
}

type exportedCall struct {
	Function  string          `json:"functionName"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Mock      json.RawMessage `json:"mockOutput,omitempty"`
	Optional  bool            `json:"optional,omitempty"`
	Tools     []string        `json:"expectTools,omitempty"`
}

// ExportEvals writes the calls of cases as an evals.json. [ReadEvals] reads the same calls of it.
// A case without calls is left out, and so are calls that must fail: evals have no word for
// them. A case that was read from evals keeps its messages and groups; the message of another is
// its name. What evals cannot say becomes {"$any": true}: matchers of ours besides $exact, values
// with references, and objects with keys that begin with $.
func ExportEvals(f *File) ([]byte, error) {
	out := []exportedCase{}
	for _, c := range f.Cases {
		x := exportedCase{Name: c.Name}
		if c.Eval != nil {
			x.Messages, x.Tools = c.Eval.Messages, c.Eval.Tools
			x.Expected = exportGroup(c.Eval.Expected)
			if c.Eval.NoCall {
				x.Expected = nil
			}
		} else {
			x.Messages = []Message{{Role: "user", Type: "message", Content: c.Name}}
			x.Expected = exportSteps(c.Steps)
		}
		if x.Expected != nil || c.Eval != nil {
			out = append(out, x)
		}
	}
	words, err := schema.EncodeFile(out)
	return []byte(text.Escape(string(words))), err
}

func exportGroup(list []ExpectedCall) []any {
	out := []any{}
	for i := range list {
		switch c := &list[i]; {
		case c.Ordered != nil:
			out = append(out, map[string]any{"ordered": exportGroup(c.Ordered)})
		case c.Unordered != nil:
			out = append(out, map[string]any{"unordered": exportGroup(c.Unordered)})
		default:
			out = append(out, &exportedCall{Function: c.Function, Arguments: c.Arguments.exported(),
				Result: c.Result.exported(), Mock: c.Mock.exported(), Optional: c.Optional, Tools: c.Tools})
		}
	}
	return out
}

func exportSteps(steps []Step) (out []any) {
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Parallel != nil:
			if group := exportSteps(s.Parallel); group != nil {
				out = append(out, map[string]any{"unordered": group})
			}
		case s.Call != "" && !s.ExpectError.Exists():
			c := &exportedCall{Function: s.Call, Arguments: s.With.exported(), Result: s.Expect.exported()}
			if c.Arguments == nil {
				c.Arguments = json.RawMessage("{}")
			}
			out = append(out, c)
		case s.Tools != nil && len(out) > 0:
			if last, ok := out[len(out)-1].(*exportedCall); ok {
				last.Tools = append(append(last.Tools, s.Tools.Include...), s.Tools.Exactly...)
			}
		}
	}
	return out
}

const anything = `{"$any":true}`

func (v Value) exported() json.RawMessage {
	if v.n == nil {
		return nil
	}
	return v.n.write(nil, inEvals)
}

// looksLikeMatchers reports whether all keys of an object begin with $: in evals they would be
// matchers.
func (n *node) looksLikeMatchers() bool {
	return len(n.keys) > 0 && !slices.ContainsFunc(n.keys,
		func(k string) bool { return !strings.HasPrefix(k, "$") })
}

// inEvals returns what evals have in the place of a part that JSON cannot express, or
// nil.
func inEvals(n *node) []byte {
	switch {
	case n.refs != nil, n.kind == '{' && n.looksLikeMatchers():
		return []byte(anything)
	case n.kind != '$':
		return nil
	case len(n.ops) == 1 && n.ops[0].matcher.name == "$exact":
		return n.ops[0].arg.write(nil, inEvals)
	}
	var out []byte
	for _, o := range n.ops {
		if o.matcher.theirs && o.arg.refs == nil {
			out = append(schema.AppendString(append(out, ','), o.matcher.name), ':')
			out = append(out, o.arg.scalarJSON()...)
		}
	}
	if out == nil {
		return []byte(anything)
	}
	out[0] = '{'
	return append(out, '}')
}
