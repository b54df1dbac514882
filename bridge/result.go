package bridge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

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
	data, err := schema.WellFormed(data)
	if err != nil {
		return malformed(r.pass.tool.name, err).Step()
	}
	var m mcpResult
	isMCP := mayBeMCP(data) && json.Unmarshal(data, &m) == nil
	if isMCP {
		data = withMedia(data)
	}
	told, said, e := r.pass.redacted(data, m)
	if e != nil {
		return e.Step()
	}
	if isMCP && m.IsError {
		why := said.text()
		if structured := string(said.StructuredContent); why == "" && structured != "null" {
			why = structured
		}
		why = cmp.Or(why, "The tool says that it failed.")
		return presentError(r, Errorf(ToolError, "", Failed, "%s", why)).Step()
	}
	broken := r.pass.tool.violation(data, m)
	rules := &r.pass.site.options.Results
	if broken != nil {
		r.pass.redactViolation(broken)
		r.pass.bridge.pipe.log.Warn("call: a result does not fit the outputSchema of its tool",
			slog.String("call", r.pass.call.ID), slog.String("site", r.pass.call.Site),
			slog.String("tool", r.pass.tool.name), slog.String("where", broken.Errors[0].Pointer),
			slog.String("why", broken.Errors[0].Message))
		if r.pass.site.options.StrictOutput {
			return Errorf(ToolError, ResultInvalid, Unknown, "%s It says: result%s: %s.", broken.Message,
				broken.Errors[0].Pointer, broken.Errors[0].Message).Detail("schemaViolation", broken).Step()
		}
		broken.Number = neverListed
		if !rules.Change(r.pass.tool.hints) {
			broken.Number = r.pass.bridge.breaks(r.pass.site, r.pass.tool)
		}
	}
	data, m = told, said
	switch r.pass.settings.output {
	case "text":
		data = asText(data, m, isMCP)
	case "structured":
		data = asStructured(data, m, isMCP)
	}
	data, left := r.pass.fit(data)
	if limit := r.pass.resultLimit(); len(data) > limit {
		return presentError(r, &Error{Code: ToolError, Reason: ResultTooLarge, Outcome: Unknown}).Step()
	}
	if broken == nil && rules.Change(r.pass.tool.hints) {
		broken = r.pass.changedByRules(data)
	}
	return Step{Data: data, Violation: broken, LeftOut: left}
}

// malformed says why a result that is not well-formed is not delivered.
func malformed(tool string, err error) *Error {
	if errors.Is(err, schema.ErrSameNames) {
		return Errorf(ToolError, ResultInvalid, Unknown, "The result of %q cannot be delivered: %s.", tool, err)
	}
	return Errorf(ToolError, ResultInvalid, Unknown, "%q returned something that is not JSON.", tool)
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

// violation checks a result against the page's own promise; nil means that it holds. As in
// MCP, the promise is about structuredContent when the page returns one. A page that
// returns one text may mean the JSON in it.
func (t *Tool) violation(data json.RawMessage, m mcpResult) *Violation {
	if t.output == nil {
		return nil
	}
	var candidates []json.RawMessage
	if len(m.Content) == 1 && m.Content[0].Type == "text" {
		candidates = append(candidates, json.RawMessage(m.Content[0].Text))
	}
	candidates = append(candidates, data)
	if len(m.StructuredContent) > 0 {
		candidates = append(candidates, m.StructuredContent)
	}
	var err error // of the last candidate, the one that the schema describes
	for _, c := range candidates {
		if err = t.output.Validate(c); err == nil {
			return nil
		}
	}
	v := &Violation{
		Message: fmt.Sprintf("%q returned something that does not fit its own outputSchema.", t.name),
		Errors:  []schema.Violation{{Message: "the value could not be checked"}},
	}
	if list, ok := errors.AsType[*schema.Violations](err); ok && len(list.List) > 0 {
		v.Errors = list.List
	}
	return v
}

// maxUnkept bounds the definitions of a site whose broken promises are remembered.
const maxUnkept = 1024

// promises counts the definitions of all sites that broke the promise of their outputSchema.
type promises struct {
	mu     sync.Mutex
	broken atomic.Int64
}

// unkept numbers the definitions of one site that broke their promise, by digest. The map is never
// changed.
type unkept struct {
	atomic.Pointer[map[string]int64]
}

func (u *unkept) all() map[string]int64 {
	if now := u.Load(); now != nil {
		return *now
	}
	return nil
}

// breaks remembers that a definition broke its promise, and returns the number of that.
// Lists leave its outputSchema out from then on.
func (b *Bridge) breaks(s *siteState, t *Tool) int64 {
	b.promises.mu.Lock()
	before := s.unkept.all()
	n, known := before[t.digest]
	if !known {
		now := map[string]int64{}
		if len(before) < maxUnkept {
			maps.Copy(now, before)
		}
		n = b.promises.broken.Load() + 1
		now[t.digest] = n
		s.unkept.Store(&now) // first: a list that is made after the count knows of it
		b.promises.broken.Store(n)
	}
	b.promises.mu.Unlock()
	if !known {
		toolsChanged(b, s.site.Name)
	}
	return n
}

// Unkept returns how many definitions of all sites broke the promise of their outputSchema.
// Each Listing that is made later knows of all of them.
func (b *Bridge) Unkept() int64 { return b.promises.broken.Load() }

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
	return schema.MustEncode(text)
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
	if e.Reason == ResultTooLarge && (e.Message == "" || e.Message == tooLarge) {
		e.Message = fmt.Sprintf("The result of %q is longer than %d bytes, which is the limit.",
			r.pass.tool.name, r.pass.resultLimit())
	}
	words := e.Code == ToolError && e.Outcome == Failed
	if words && strings.TrimSpace(e.Message) == "" {
		e.Message = "The tool failed without saying why."
	}
	e = r.pass.fitError(e, words)
	if !words {
		return e
	}
	return e.Detail("untrusted", true).Detail("origin", r.pass.tool.origin)
}

// tooLarge is an engine's message. The bridge replaces it by one that names the limit.
const tooLarge = "The tool's result is too large."

// TooLarge is the error of an engine for a result over the limit. The bridge says which limit.
func TooLarge() *Error { return Errorf(ToolError, ResultTooLarge, Unknown, tooLarge) }
