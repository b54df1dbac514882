package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// metaError is the key of the webtool error object in the _meta of a failed result.
const metaError = "pagetools/error"

// metaViolation is the key of what a result has against the outputSchema of its own tool.
const metaViolation = "pagetools/schemaViolation"

// metaLeftOut is the key of how many characters the operator's budget left out.
const metaLeftOut = "pagetools/leftOut"

// changedWords stand before the result of a call that did not run with the arguments of its caller.
func changedWords(c *bridge.Changed) string {
	return fmt.Sprintf("A person (%s) changed the arguments before they let the call run. These counted, and not yours: %s",
		text.Line(c.By), c.Input)
}

// sayChanged says first that a person changed the arguments, if one did.
func sayChanged(r *mcpgo.CallToolResult, c *bridge.Changed) *mcpgo.CallToolResult {
	if c != nil {
		r.Content = slices.Insert(r.Content, 0, mcpgo.Content(mcpgo.NewTextContent(changedWords(c))))
	}
	return r
}

// maxDepth is the nesting that all clients read. What is deeper is told as text.
const maxDepth = 100

// result turns what a call returned into the result of tools/call, by the contract:
// content blocks of the page pass as they are; a string is one text; any other value is
// one text of JSON, and structuredContent when it is an object. Text and structuredContent hold the
// same data, because some clients show a model only one of them; so beside pictures
// there is no structuredContent, unless the tool's outputSchema demands it. A result that
// does not fit that schema has none: clients would refuse it.
func result(end bridge.Step, tool *bridge.Tool, e protocol) *mcpgo.CallToolResult {
	r := delivered(end.Data, tool, e)
	if end.Violation != nil && !r.IsError {
		r.StructuredContent, r.RawStructuredContent = nil, nil
		r.Meta = mcpgo.NewMetaFromMap(map[string]any{metaViolation: end.Violation})
	}
	if end.LeftOut > 0 {
		meta := map[string]any{metaLeftOut: end.LeftOut}
		if end.Violation != nil {
			meta[metaViolation] = end.Violation
		}
		r.Meta = mcpgo.NewMetaFromMap(meta)
	}
	return sayChanged(r, end.Changed)
}

// unfit stands before a result that clients would refuse.
const unfit = "The tool ran, and what it returned follows. This is marked as an error only because the result " +
	"does not fit the outputSchema that the page declared for the tool: do not repeat the call for that."

// excused marks a result without structuredContent as an error, where the client may know an
// outputSchema of the tool. The official SDKs throw away what lacks structuredContent, unless
// it is an error. docs/decisions/2026-11-22-broken-promises.md.
func (x *exchange) excused(r *mcpgo.CallToolResult, broken *bridge.Violation,
	to toolset.Target, called string) *mcpgo.CallToolResult {
	if r.IsError || r.StructuredContent != nil || called != to.Name || !to.Promises(x.protocol) ||
		broken != nil && x.peer.knows(broken) {
		return r
	}
	r.IsError = true
	r.Content = slices.Insert(r.Content, 0, mcpgo.Content(mcpgo.NewTextContent(unfit)))
	return r
}

func delivered(data json.RawMessage, tool *bridge.Tool, e protocol) *mcpgo.CallToolResult {
	if deep(data) {
		return textResult(string(data))
	}
	if p, ok := readPageResult(data); ok {
		return p.result(tool, data, e)
	}
	r := rawResult(data)
	if promised := promise(tool, e, data); promised != nil {
		structure(r, promised)
	}
	return r
}

// rawResult is a string as it is, and any other JSON value as text of JSON, which is
// structuredContent, too, when it is an object.
func rawResult(data json.RawMessage) *mcpgo.CallToolResult {
	var bare string
	if data[0] == '"' && json.Unmarshal(data, &bare) == nil {
		return textResult(bare)
	}
	r := textResult(string(data))
	if data[0] == '{' {
		structure(r, data)
	}
	return r
}

func textResult(text string) *mcpgo.CallToolResult {
	return &mcpgo.CallToolResult{Content: []mcpgo.Content{mcpgo.NewTextContent(text)}}
}

// structure sets structuredContent without decoding it: numbers keep their digits.
func structure(r *mcpgo.CallToolResult, data json.RawMessage) {
	r.StructuredContent, r.RawStructuredContent = data, data
}

// pageResult is a result that a page wrote in the words of MCP.
type pageResult struct {
	blocks     []block
	structured bridge.Value
	others     json.RawMessage // an object of the members that MCP does not know; nil: none
}

// readPageResult reports whether a value is a result in the words of MCP: an object
// whose content is a list of typed objects, of which MCP knows one. When it knows
// none, nothing else may be in the object: documents of editors look like that. The
// page's own _meta is dropped, since it would talk to the client in our name.
func readPageResult(data json.RawMessage) (pageResult, bool) {
	if data[0] != '{' || !bytes.Contains(data, []byte(`"content"`)) && !bytes.Contains(data, []byte(`\u`)) {
		return pageResult{}, false // most values are none, and are not parsed for nothing
	}
	members, err := bridge.ReadValue("the result", data)
	if err != nil {
		return pageResult{}, false
	}
	var p pageResult
	content := members.Get("content")
	if !content.IsArray() {
		return pageResult{}, false
	}
	known := false
	for v := range content.Elements() {
		if !v.Get("type").IsString() {
			return pageResult{}, false
		}
		b := block{v}
		known = known || blockTypes[b.kind()].check != nil
		p.blocks = append(p.blocks, b)
	}
	if v := members.Get("structuredContent"); !v.IsNull() {
		p.structured = v
	}
	others, err := members.Edit(func(name string) bool {
		return name == "content" || name == "isError" || name == "_meta" ||
			name == "structuredContent"
	})
	if err != nil || others.Len() > 0 && !known {
		return pageResult{}, false
	}
	if others.Len() > 0 {
		p.others = others.Text()
	}
	return p, true
}

// result is the page's result for a client. A text of JSON follows the page's own
// blocks for everything that would be nowhere else in the content.
func (p pageResult) result(t *bridge.Tool, data json.RawMessage, e protocol) *mcpgo.CallToolResult {
	r := &mcpgo.CallToolResult{Content: make([]mcpgo.Content, 0, len(p.blocks)+2)}
	onlyText := true
	for _, b := range p.blocks {
		r.Content = append(r.Content, b.content(e))
		onlyText = onlyText && b.kind() == "text"
	}
	if p.structured.Exists() && !p.tells() {
		r.Content = append(r.Content, mcpgo.NewTextContent(string(p.structured.Text())))
	}
	if p.others != nil {
		r.Content = append(r.Content, mcpgo.NewTextContent(string(p.others)))
	}
	switch {
	case t != nil && t.OutputSchema() != nil:
		if promised := promise(t, e, p.candidates(data)...); promised != nil {
			structure(r, promised)
		}
	case p.structured.Exists() && onlyText && (p.structured.IsObject() || e.Modern()):
		structure(r, p.structured.Text())
	}
	return r
}

// promise returns the first value that keeps the promise of the tool's outputSchema, which
// clients insist on, or nil. Clients before 2026-07-28 know objects only.
func promise(t *bridge.Tool, e protocol, candidates ...json.RawMessage) json.RawMessage {
	if t == nil || t.OutputSchema() == nil {
		return nil
	}
	for _, c := range candidates {
		if len(c) > 0 && (c[0] == '{' || e.Modern()) && t.Fits(c) {
			return c
		}
	}
	return nil
}

// candidates returns the parts that the tool's outputSchema can describe, as the bridge checked it:
// the page's structured content, the JSON in its only text, or all of the result.
func (p pageResult) candidates(data json.RawMessage) []json.RawMessage {
	list := []json.RawMessage{p.structured.Text()}
	if len(p.blocks) == 1 && p.blocks[0].kind() == "text" {
		list = append(list, json.RawMessage(strings.TrimSpace(p.blocks[0].text())))
	}
	return append(list, data)
}

// tells reports whether one of the page's texts says the structured content, also as JSON.
func (p pageResult) tells() bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool {
		got, err := bridge.ReadValue("a text", json.RawMessage(b.text()))
		same := err == nil && got.Equal(p.structured) || p.structured.IsString() && b.text() == p.structured.String()
		return b.kind() == "text" && same
	})
}

// deep reports whether a JSON value is nested deeper than all clients read.
func deep(data []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true))
	for {
		if _, err := d.ReadToken(); err != nil {
			return false // it ends
		}
		if d.StackDepth() > maxDepth {
			return true
		}
	}
}

// failure turns an error into a failed result: its message and what to do about it
// as text, because a model sees nothing else, and the webtool error object in _meta.
func failure(e *bridge.Error) *mcpgo.CallToolResult {
	body, text := told(e)
	r := textResult(text)
	r.IsError = true
	r.Meta = mcpgo.NewMetaFromMap(map[string]any{metaError: body})
	return r
}

// failed is the result of a call that failed. OpenTools has a denied call of an operation as data
// (O16). A tool with an outputSchema keeps the error: clients refuse data that does not fit it.
func failed(e *bridge.Error, to toolset.Target, p protocol) *mcpgo.CallToolResult {
	r := failure(to.Told(e))
	if e.IsDenied() && to.Tool.Operation() != nil && !to.Promises(p) {
		denied := rawResult(json.RawMessage(`{"denied":true}`))
		r.IsError, r.Content = false, append(denied.Content, r.Content...)
		r.StructuredContent, r.RawStructuredContent = denied.StructuredContent, denied.RawStructuredContent
	}
	return sayChanged(r, e.ChangedOf())
}

// refusal is the error of a request that is not a call.
func refusal(e *bridge.Error) *rpcError {
	body, text := told(e)
	refused := rpcErrorf(transport.RPCCode(e), "%s", text)
	refused.Data = body
	return refused
}

// told is an error as the webtool error object, without what answers questions, and its
// message with what to do about it.
func told(e *bridge.Error) (body transport.ErrorBody, text string) {
	body = transport.NewErrorBody(e)
	if q, ok := body.Details["question"].(*bridge.Question); ok {
		body.Details = maps.Clone(body.Details)
		body.Details["question"] = forModels(q)
		if e.Code == bridge.Conflict {
			body.Message += " " + waitsFor(q) + toolset.Waiting + " lists your calls that wait, and can decline for one."
		}
	}
	if _, err := json.Marshal(body.Details); err != nil {
		body.Details = nil
	}
	text = strings.TrimRight(strings.ToValidUTF8(body.Message, "\uFFFD"), "\n")
	if more := advice(e, body); more != "" {
		text += "\n" + more
	}
	return body, text
}

// byReason and byCode say what to do about an error, in words for a model. The
// reason counts first.
var byReason = map[bridge.Reason]string{
	bridge.ToolChanged:        "The site changed the tool meanwhile. List the tools again, and read what it does now before you call it.",
	bridge.ResultTooLarge:     "Ask for less at a time, if the tool can do that.",
	bridge.AwaitingSubmission: "A person has to submit the form in the page.",
	bridge.PageNavigated:      "The page went elsewhere, and its tools may be others now: list them again.",
	bridge.PageCrashed:        "The next call opens a new page.",
	bridge.Elsewhere:          "This client reaches two processes of pagetools in turns: tell the user, whose operator can send each client to one.",
	bridge.NodeLost:           "The machine that had it is gone, and its page may be, too.",
	bridge.OriginBlocked:      "Nothing ran. The operator of pagetools decides what the site may reach.",
	bridge.Certificate:        "Nothing ran. The operator of pagetools decides which certificates are accepted.",
}

var byCode = map[bridge.Code]string{
	bridge.SchemaError:      "Correct the arguments by the tool's inputSchema, and call it again.",
	bridge.ConfigError:      "Ask the operator of pagetools what calls may change.",
	bridge.WebtoolNotFound:  "List the tools again, or look for another one.",
	bridge.VersionMismatch:  "List the tools again, and read what it does now before you call it.",
	bridge.ApprovalRequired: "Tell the user what you want to do. When a person has agreed, the same call again goes on.",
	bridge.ApprovalDenied:   "Do not call it again unless the user asks for it.",
	bridge.InputRequired:    "Tell the user. When a person has answered, the same call again goes on where it stopped, and gives the result.",
	bridge.Conflict:         "It has to end first.",
	bridge.ResumeNotFound:   "What waited is over. Find out what happened before you call the tool again.",
	bridge.SessionExpired:   "What the page knew is lost. The next call starts in a new page.",
	bridge.RateLimit:        "Let other calls end first, or call less often.",
	bridge.Unauthorized:     "The client's configuration needs a valid token.",
	bridge.Forbidden:        "The client's token does not allow this.",
}

// needsOperator are the reasons that stay until the operator does something.
var needsOperator = map[bridge.Reason]bool{bridge.OriginBlocked: true, bridge.Certificate: true}

// advice says in words what the code, the reason and the outcome mean for whoever
// called. A tool's own refusal is left to its own words.
func advice(e *bridge.Error, body transport.ErrorBody) string {
	var lines []string
	if e.Code == bridge.SchemaError {
		lines = violations(body.Details["errors"])
	}
	if text := cmp.Or(byReason[e.Reason], byCode[e.Code]); text != "" {
		lines = append(lines, text)
	}
	switch {
	case body.Outcome == bridge.Unknown && e.Code != bridge.InputRequired &&
		e.Code != bridge.ResumeNotFound:
		lines = append(lines, "It may have run: find out before you repeat it.")
	case body.Outcome == bridge.NotRun && e.Code == bridge.InternalError && !needsOperator[e.Reason]:
		lines = append(lines, "Nothing ran, so it can be called again.")
	}
	if e.Retry > 0 && !strings.Contains(e.Message, bridge.TryAgain(e.Retry)) {
		lines = append(lines, "Wait "+bridge.Seconds(e.Retry)+" before you try again.")
	}
	return strings.Join(lines, "\n")
}

// violations are the lines of details.errors: where the arguments do not fit, and
// why.
func violations(details any) []string {
	list, _ := details.([]map[string]string)
	var lines []string
	for _, v := range list {
		lines = append(lines, "- "+cmp.Or(v["pointer"], "the arguments")+": "+v["message"])
	}
	return lines
}
