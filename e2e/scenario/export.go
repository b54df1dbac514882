package scenario

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

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
	text, err := schema.Encode(out)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	return []byte(schema.Escape(b.String()) + "\n"), nil
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

// exported is the value as evals have it, or nil.
func (v Value) exported() json.RawMessage {
	if v.n == nil {
		return nil
	}
	return v.n.appendEvals(nil)
}

func (n *node) appendEvals(dst []byte) []byte {
	switch {
	case n.refs != nil, n.kind == '{' && n.looksLikeMatchers():
		return append(dst, anything...)
	case n.kind == '$':
		return n.appendMatchers(dst)
	case n.kind == '[':
		dst = append(dst, '[')
		for i, x := range n.vals {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = x.appendEvals(dst)
		}
		return append(dst, ']')
	case n.kind == '{':
		dst = append(dst, '{')
		for i, x := range n.vals {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = x.appendEvals(append(schema.AppendString(dst, n.keys[i]), ':'))
		}
		return append(dst, '}')
	}
	return append(dst, n.scalarJSON()...)
}

// looksLikeMatchers reports whether all keys of an object begin with $: in evals they would be
// matchers.
func (n *node) looksLikeMatchers() bool {
	return len(n.keys) > 0 && !slices.ContainsFunc(n.keys,
		func(k string) bool { return !strings.HasPrefix(k, "$") })
}

func (n *node) appendMatchers(dst []byte) []byte {
	if len(n.ops) == 1 && n.ops[0].matcher.name == "$exact" {
		return n.ops[0].arg.appendEvals(dst)
	}
	start := len(dst)
	for _, o := range n.ops {
		if o.matcher.theirs && o.arg.refs == nil {
			dst = append(schema.AppendString(append(dst, ','), o.matcher.name), ':')
			dst = append(dst, o.arg.scalarJSON()...)
		}
	}
	if len(dst) == start {
		return append(dst, anything...)
	}
	dst[start] = '{'
	return append(dst, '}')
}
