package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/bridge/schema"
)

// ModelRequest is what the program of --model-cmd gets on stdin, as JSON: the conversation so far,
// and the tools that the page has now.
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
	// Result is what the tool returned, or nil; the program does not write it.
	Result json.RawMessage `json:"-"`
}

// ParseModelReply reads what the program wrote to stdout, such as
//
//	{"call": {"name": "add-stamp", "arguments": {"year": 1918}}}
//
// or {"call": null} when the model is done, for which it returns nil. Arguments that are missing
// are {}. The error says what is wrong with the text.
func ParseModelReply(text []byte) (*ModelCall, error) {
	const form = `write {"call": {"name": "TOOL", "arguments": {}}}, or {"call": null} for none`
	if len(text) > mostBytes {
		return nil, fmt.Errorf("the reply of the model command has %d bytes, and may have %d", len(text),
			mostBytes)
	}
	v, err := schema.Read(text, mostDepth)
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
			visible(shorten(string(v.Text()))), form)
	}
	if call.IsNull() {
		return nil, nil //nolint:nilnil // the model calls nothing
	}
	for name := range call.Members() {
		if name != "name" && name != "arguments" {
			return nil, fmt.Errorf("unknown key %s in the call of the model command: %s; %s",
				visible(quoted(name)),
				instead(name, []string{"name", "arguments"}), form)
		}
	}
	out := &ModelCall{Name: call.Get("name").String(), Arguments: json.RawMessage("{}")}
	if arguments := call.Get("arguments"); arguments.Exists() {
		out.Arguments = bytes.Clone(arguments.Text())
		if !arguments.IsObject() {
			return nil, fmt.Errorf("invalid arguments %s in the call of the model command: they must be "+
				"an object; %s",
				visible(shorten(string(out.Arguments))), form)
		}
	}
	if out.Name == "" {
		return nil, fmt.Errorf("the call of the model command has no name; %s", form)
	}
	return out, nil
}
