package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// ModelRequest is the input of the program of --model-cmd on stdin, as JSON: the conversation so
// far, and the tools that the page has now.
type ModelRequest struct {
	Messages []Message   `json:"messages"`
	Tools    []ModelTool `json:"tools"`
}

// ModelTool is a tool as a model sees it. InputSchema is a JSON Schema.
type ModelTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// ModelCall is a call that a model makes. Arguments are a JSON object.
type ModelCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// Result holds the tool's result, or nil; the program does not write it.
	Result json.RawMessage `json:"-"`
}

// ParseModelReply reads what the program wrote to stdout, such as
//
//	{"call": {"name": "add-stamp", "arguments": {"year": 1918}}}
//
// or {"call": null} when the model is done, for which it returns nil. Arguments that are missing
// are {}. The error says what is wrong with the text.
func ParseModelReply(words []byte) (*ModelCall, error) {
	const form = `write {"call": {"name": "TOOL", "arguments": {}}}, or {"call": null} for none`
	if len(words) > mostBytes {
		return nil, fmt.Errorf("the reply of the model command has %d bytes, and may have %d", len(words),
			mostBytes)
	}
	v, err := schema.Read(words, mostDepth)
	if err != nil {
		var syn *schema.SyntaxError
		errors.As(err, &syn)
		return nil, fmt.Errorf("the reply of the model command is not JSON: %s %s; %s", syn.Message,
			syn.Where(), form)
	}
	call := v.Get("call")
	if !call.Exists() || v.Len() != 1 || !call.IsNull() && !call.IsObject() {
		return nil, fmt.Errorf("invalid reply of the model command %s: it must be an object with "+
			"just a call; %s",
			text.EscapeLine(shorten(string(v.Text()))), form)
	}
	if call.IsNull() {
		return nil, nil //nolint:nilnil // the model calls nothing
	}
	for name := range call.Members() {
		if name != "name" && name != "arguments" {
			return nil, fmt.Errorf("unknown key %s in the call of the model command: %s; %s",
				text.EscapeLine(Quoted(name)),
				instead(name, []string{"name", "arguments"}), form)
		}
	}
	out := &ModelCall{Name: call.Get("name").String(), Arguments: json.RawMessage("{}")}
	if arguments := call.Get("arguments"); arguments.Exists() {
		out.Arguments = bytes.Clone(arguments.Text())
		if !arguments.IsObject() {
			return nil, fmt.Errorf("invalid arguments %s in the call of the model command: they must be "+
				"an object; %s",
				text.EscapeLine(shorten(string(out.Arguments))), form)
		}
	}
	if out.Name == "" {
		return nil, fmt.Errorf("the call of the model command has no name; %s", form)
	}
	return out, nil
}

// mostTries bounds the search for an order: a group whose order does not count has many.
const mostTries = 100_000

// Judge returns nil when a model made the expected calls, as webmcp-evals has it: in order, groups
// whose order does not count in any, optional calls or not, and no others. Otherwise it names the
// first call that cannot be explained, or one that is missing.
func (e *Eval) Judge(calls []ModelCall) *Mismatch {
	j := &judge{calls: append([]ModelCall{}, calls...)}
	for i := range j.calls {
		if j.calls[i].Arguments == nil {
			j.calls[i].Arguments = json.RawMessage("{}")
		}
	}
	done := false
	j.sequence(e.Expected, 0, func(next int) bool {
		done = next == len(calls)
		return done
	})
	if done {
		return nil
	}
	if j.tries > mostTries {
		return j.mismatch(e, "calls", "the expected calls can be made in too many orders to be judged")
	}
	if j.furthest == len(calls) {
		return j.mismatch(e, "calls", fmt.Sprintf("the call of %s is missing", j.missing))
	}
	at := fmt.Sprintf("calls[%d]", j.furthest)
	why := fmt.Sprintf("%s is a call of %s, and no more calls are expected", at,
		Quoted(calls[j.furthest].Name))
	if j.missing != "" {
		why = fmt.Sprintf("%s is a call of %s, and must be one of %s%s", at,
			Quoted(calls[j.furthest].Name), j.missing, j.because)
	}
	return j.mismatch(e, at, why)
}

// judge looks for a way to explain calls.
type judge struct {
	calls    []ModelCall
	tries    int
	furthest int    // the first call that no way has explained
	missing  string // the tool that was expected there
	because  string // what its arguments or result have against it
}

// sequence tries to explain calls from an index on by nodes in order, and hands each index at
// which that can end to then, until then returns true.
func (j *judge) sequence(nodes []ExpectedCall, from int, then func(int) bool) bool {
	if len(nodes) == 0 {
		return then(from)
	}
	return j.node(&nodes[0], from, func(next int) bool { return j.sequence(nodes[1:], next, then) })
}

func (j *judge) node(n *ExpectedCall, from int, then func(int) bool) bool {
	if j.tries++; j.tries > mostTries {
		return true
	}
	switch {
	case n.Ordered != nil:
		return j.sequence(n.Ordered, from, then)
	case n.Unordered != nil:
		return j.group(n.Unordered, make([]bool, len(n.Unordered)), from, then)
	case j.explains(n, from):
		if then(from + 1) {
			return true
		}
	}
	return n.Function != "" && n.Optional && then(from)
}

// group tries the nodes that are not used yet, each as the next one.
func (j *judge) group(nodes []ExpectedCall, used []bool, from int, then func(int) bool) bool {
	left := false
	for i := range nodes {
		if used[i] {
			continue
		}
		left, used[i] = true, true
		if j.node(&nodes[i], from, func(next int) bool { return j.group(nodes, used, next, then) }) {
			return true
		}
		used[i] = false
	}
	return !left && then(from)
}

// explains reports whether a call is the expected one, and remembers the first that is not.
func (j *judge) explains(n *ExpectedCall, at int) bool {
	because := ""
	switch {
	case at >= len(j.calls):
	case j.calls[at].Name != n.Function:
	default:
		m := Match(n.Arguments, j.calls[at].Arguments)
		if m == nil && j.calls[at].Result != nil {
			if m = Match(n.Result, j.calls[at].Result); m != nil {
				m.Why = "result: " + m.Why
			}
		}
		if m == nil {
			if at+1 > j.furthest {
				j.furthest, j.missing, j.because = at+1, "", ""
			}
			return true
		}
		because = ": " + m.Why[:len(m.Why)-1]
	}
	if at == j.furthest && !n.Optional && (j.missing == "" || j.because == "" && because != "") {
		j.missing, j.because = Quoted(n.Function), because
	}
	return false
}

func (j *judge) mismatch(e *Eval, at, why string) *Mismatch {
	list := func(v any) string { return Show(schema.MustEncode(v), "") }
	return &Mismatch{Path: at, Why: text.EscapeLine(why) + ".", Expected: list(exportGroup(e.Expected)),
		Actual: list(j.calls)}
}
