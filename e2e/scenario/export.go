package scenario

import (
	"bytes"
	"encoding/json"

	"github.com/pagetools/pagetools/bridge/schema"
)

// exportedCase and exportedCall are what is written, in the order in which people read it.
type exportedCase struct {
	Name     string    `json:"name"`
	Messages []Message `json:"messages"`
	Expected []any     `json:"expectedCall"`
	Tools    []string  `json:"expectTools,omitempty"`
}

type exportedCall struct {
	Function  string          `json:"functionName"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result,omitempty"`
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
			x.Messages = c.Eval.Messages
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
	text, err := schema.Encode(out)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	return append(b.Bytes(), '\n'), nil
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
			x := map[string]any{"functionName": c.Function}
			for key, v := range map[string]Value{"arguments": c.Arguments, "result": c.Result, "mockOutput": c.Mock} {
				if v.n != nil {
					x[key] = v.n.exported()
				}
			}
			if c.Optional {
				x["optional"] = true
			}
			if c.Tools != nil {
				x["expectTools"] = c.Tools
			}
			out = append(out, x)
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
			c := &exportedCall{Function: s.Call, Arguments: json.RawMessage("{}")}
			if s.With.n != nil {
				c.Arguments = s.With.n.exported()
			}
			if s.Expect.n != nil {
				c.Result = s.Expect.n.exported()
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

// exported is the value as evals have it.
func (n *node) exported() json.RawMessage {
	text, err := json.Marshal(n.forEvals())
	if err != nil {
		return json.RawMessage(`{"$any":true}`)
	}
	return text
}

func (n *node) forEvals() any {
	anything := map[string]any{"$any": true}
	switch {
	case n.refs != nil:
		return anything
	case n.kind == '$':
		return n.matchersForEvals()
	case n.kind == '[':
		list := []any{}
		for _, x := range n.vals {
			list = append(list, x.forEvals())
		}
		return list
	case n.kind == '{':
		members, dollars := map[string]any{}, 0
		for i, key := range n.keys {
			if key[:min(1, len(key))] == "$" {
				dollars++
			}
			members[key] = n.vals[i].forEvals()
		}
		if dollars > 0 && dollars == len(n.keys) {
			return anything // theirs would be matchers
		}
		return members
	}
	return json.RawMessage(n.scalarJSON())
}

func (n *node) matchersForEvals() any {
	members := map[string]any{}
	for _, o := range n.ops {
		switch {
		case o.matcher.name == "$exact" && len(n.ops) == 1:
			return o.arg.forEvals()
		case o.matcher.theirs && o.arg.refs == nil:
			members[o.matcher.name] = json.RawMessage(o.arg.scalarJSON())
		}
	}
	if len(members) == 0 {
		members["$any"] = true
	}
	return members
}
