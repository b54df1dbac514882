package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
)

// mcpResult is the part of an MCP tool result that pages return and that we
// read. Anything else passes verbatim.
type mcpResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

// present turns what the page returned into the result of the call.
func present(r *Run, data json.RawMessage) Step {
	if !json.Valid(data) {
		return Errorf(ToolError, ResultInvalid, Unknown,
			"%q returned something that is not JSON.", r.tool.name).Step()
	}
	var m mcpResult
	isMCP := mayBeMCP(data) && json.Unmarshal(data, &m) == nil
	if isMCP && m.IsError {
		text := m.text()
		if text == "" {
			text = "The tool says that it failed."
		}
		return presentError(r, Errorf(ToolError, "", Failed, "%s", text)).Step()
	}
	if out := r.tool.output; out != nil && !fits(out, data, m) {
		return misfit(r, out, data, m).Step()
	}
	switch r.settings.output {
	case "text":
		data = asText(data, m, isMCP)
	case "structured":
		data = asStructured(data, m, isMCP)
	}
	if limit := r.resultLimit(); len(data) > limit {
		return Errorf(ToolError, ResultTooLarge, Unknown,
			"The result of %q is longer than %d bytes.", r.tool.name, limit).Step()
	}
	return Step{Data: data}
}

// mcpNames are the members that mcpResult reads.
var mcpNames = [][]byte{[]byte("content"), []byte("structuredContent"), []byte("isError")}

// mayBeMCP is false for what has none of these members, in whichever case, because
// encoding/json takes any: most results, which are not parsed for nothing.
func mayBeMCP(data json.RawMessage) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	if bytes.Contains(data, []byte(`\u`)) { // a name may be written so
		return true
	}
	for rest := []byte(data); ; { // a name stands between two quotes
		name, after, more := bytes.Cut(rest, quote)
		if !more {
			return false
		}
		for _, known := range mcpNames {
			if bytes.EqualFold(name, known) {
				return true
			}
		}
		rest = after
	}
}

var quote = []byte{'"'}

// fits checks a result against the page's own promise. As in MCP, the promise
// is about structuredContent when the page returns one.
func fits(out *schema.Schema, data json.RawMessage, r mcpResult) bool {
	if len(r.StructuredContent) > 0 && out.Validate(r.StructuredContent) == nil {
		return true
	}
	return out.Validate(data) == nil
}

// misfit is the error of a result that breaks the page's own promise. It names the field.
func misfit(r *Run, out *schema.Schema, data json.RawMessage, m mcpResult) *Error {
	if len(m.StructuredContent) > 0 {
		data = m.StructuredContent
	}
	e := violationError(ToolError, "result", out.Validate(data))
	e.Reason, e.Outcome = ResultInvalid, Unknown
	e.Message = fmt.Sprintf("%q returned something that does not fit its own outputSchema: %s.", r.tool.name, e.Message)
	return e
}

// Fits reports whether a value keeps the promise of the tool's outputSchema. A tool
// without one promises nothing.
func (t *Tool) Fits(value json.RawMessage) bool {
	return t.output == nil || t.output.Validate(value) == nil
}

func (r mcpResult) text() string {
	var parts []string
	for _, block := range r.Content {
		if block.Type == "text" {
			parts = append(parts, block.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func asText(data json.RawMessage, r mcpResult, isMCP bool) json.RawMessage {
	text := string(data)
	switch {
	case isMCP && len(r.Content) > 0:
		text = r.text()
	case len(data) > 0 && data[0] == '"':
		return data
	}
	b, err := schema.Encode(text)
	if err != nil {
		return data
	}
	return b
}

func asStructured(data json.RawMessage, r mcpResult, isMCP bool) json.RawMessage {
	if isMCP && len(r.StructuredContent) > 0 {
		return r.StructuredContent
	}
	if isMCP && len(r.Content) == 1 && r.Content[0].Type == "text" {
		inner := json.RawMessage(r.Content[0].Text)
		if schema.CheckJSON(inner, maxInputDepth) == nil {
			return inner
		}
	}
	return data
}

// presentError bounds a page's own error text and says whose words it is.
func presentError(r *Run, e *Error) *Error {
	b := r.bridge
	if e.Code != ToolError || e.Outcome != Failed {
		return e
	}
	e.Message = Clip(e.Message, b.limits.ErrorMessage)
	if strings.TrimSpace(e.Message) == "" {
		e.Message = "The tool failed without saying why."
	}
	return e.Detail("untrusted", true).Detail("origin", r.tool.origin)
}

// Clip shortens text to at most n bytes and "…", without cutting a character.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
