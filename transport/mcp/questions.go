package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// inputKey names the one question of an input_required result.
const inputKey = "question"

// urlPatience sets how long a call waits for a person who acts in the page, before it asks
// again: clients give up after a minute.
const urlPatience = 45 * time.Second

// answered takes what the client brings back to the question that it was asked. It
// is true when the person closed it: then nobody has answered.
func (x *exchange) answered(
	ctx context.Context, run *bridge.Run, question string, elsewhere bool, said bridge.Value,
) (left bool) {
	q := run.Asks()
	if q == nil || q.ID != question {
		return false // somebody else was first
	}
	var a bridge.Answer
	switch mcpgo.ElicitationResponseAction(said.Get("action").String()) {
	case mcpgo.ElicitationResponseActionAccept:
		if elsewhere {
			_, _ = run.Await(ctx, urlPatience) // the answer is given there
			x.acted = true
			return false
		}
		a.OK = true
		if q.Kind == bridge.Prompt {
			a.Value = onlyField(said.Get("content")).Text()
		}
	case mcpgo.ElicitationResponseActionDecline:
	default:
		return true
	}
	// What does not fit leaves the question open, and it is asked again.
	_ = run.Elicited(q.ID, a, x.scope.caller)
	return false
}

// onlyField returns the answer in a form that has one field. Clients that make forms of their own give
// it another name.
func onlyField(content bridge.Value) bridge.Value {
	if names := content.Names(); len(names) == 1 {
		return content.Get(names[0])
	}
	return content.Get("value")
}

// inputRequired is the result that asks the client of 2026-07-28 for an answer.
func inputRequired(params mcpgo.ElicitationParams, state string) *mcpgo.CallToolResult {
	r := &mcpgo.CallToolResult{}
	r.ResultType = mcpgo.ResultTypeInputRequired
	r.InputRequests = mcpgo.InputRequests{inputKey: mcpgo.NewElicitationInputRequest(params)}
	r.RequestState = state
	return r
}

// keptFor sets how long the outcome of a call is kept after its question.
const keptFor = 15 * time.Minute

// metaQuestion is the key of a question's id in _meta, for the client of our test kit. No other
// client gets ids: a model reads what its client shows it.
const metaQuestion = "pagetools/question"

// parked is the result of a call that waits for a person whom the client does not ask. Its person
// may answer on the card, which is shown with the result where the called tool names it.
func parked(ctx context.Context, x *exchange, run *bridge.Run, q *bridge.Question, to toolset.Target,
	called string) *mcpgo.CallToolResult {
	if q != nil && asksOnCard(x, q) {
		shown := called == to.Name && x.face.asksAbout(ctx, x.scope, to)
		r := onCardResult(x, run, q, shown)
		// Clients refuse what lacks the shape that the tool promises, unless it is an error.
		r.IsError = called == to.Name && !shown && to.Promises(x.protocol)
		return r
	}
	r := failure(x.stillAsks(run.ID(), q))
	if x.can.kit && q != nil {
		r.Meta.AdditionalFields[metaQuestion] = q.ID
	}
	return r
}

// stillAsks is the error of a call that waits for a person whom the client does not
// ask. What it says is read by a model: it holds nothing to answer with.
func (x *exchange) stillAsks(call string, q *bridge.Question) *bridge.Error {
	code, outcome := bridge.InputRequired, bridge.Unknown
	if q == nil {
		return bridge.Errorf(code, "", outcome,
			"The call goes on. Call the tool again with the same arguments for its outcome.").
			Detail(bridge.DetailCall, call)
	}
	if q.Kind == bridge.Approve {
		code, outcome = bridge.ApprovalRequired, bridge.NotRun
	}
	text := askedOf(x, q, false) + " After that, call the tool again with the same arguments: the call goes on, and does not run twice."
	if !q.Foreign { // else it is an operator's to decline
		text += " To decline instead, call " + toolset.Waiting + "."
	}
	return bridge.Errorf(code, "", outcome, "%s", text).Detail("question", forModels(q)).Detail(bridge.DetailCall, call)
}

// operators returns where a person answers; "" when there is no such page.
func (x *exchange) operators() string {
	if x.face.o.Operators == nil {
		return ""
	}
	return x.face.o.Operators(x.remote)
}

// ended makes a sentence of a text.
func ended(text string) string {
	text = strings.TrimRight(text, ". ")
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// elicitation is a question as the client can show it: in a form, or behind an address.
// What is done in the page is done elsewhere, whatever the client says of it: elsewhere is
// true then. It is not ok when the client declared neither, or may not answer.
func (x *exchange) elicitation(q *bridge.Question) (params mcpgo.ElicitationParams, elsewhere, ok bool) {
	if q.Foreign || !x.scope.caller.Can(bridge.MayElicit) || !x.canAsk() ||
		q.Kind == bridge.Interact && drawsCards(x) {
		return params, false, false
	}
	params = mcpgo.ElicitationParams{Message: wording(q)}
	if x.can.kit {
		params.Meta = mcpgo.NewMetaFromMap(map[string]any{metaQuestion: q.ID})
	}
	if q.Kind == bridge.Interact && !q.Form {
		page := x.operators()
		if page == "" { // nobody could act
			return params, false, false
		}
		elsewhere = true
		if x.acted {
			params.Message = "The page still waits: nobody has done yet what it asks for.\n\n" + params.Message
		}
		params.Message += "\n\nAct in the page, at " + page + ", and accept when you are done."
		if x.can.url {
			params.Mode, params.URL = mcpgo.ElicitationModeURL, page
			if !x.protocol.Modern() { // the newer version has no ids
				params.ElicitationID = q.ID
			}
			return params, true, true
		}
	}
	params.Mode = mcpgo.ElicitationModeForm
	if !x.protocol.Since(mcpgo.ProtocolVersion20251125) {
		params.Mode = "" // it has no modes yet
	}
	params.RequestedSchema = formOf(q)
	return params, elsewhere, x.can.form
}

// canAsk reports whether the client can be asked on the stream of this request, where
// it is asked so.
func (x *exchange) canAsk() bool {
	return x.protocol.Modern() || x.peer != nil && x.protocol.Since(mcpgo.ProtocolVersion20250618)
}

// formOf is the form of a question: nothing to fill in but the text of a prompt.
func formOf(q *bridge.Question) any {
	properties := map[string]any{}
	form := map[string]any{"type": "object", "properties": properties}
	if q.Kind == bridge.Prompt {
		field := map[string]any{"type": "string", "title": "Answer"}
		var s struct {
			Default *string `json:"default"`
		}
		if json.Unmarshal(q.Schema, &s) == nil && s.Default != nil {
			field["default"] = *s.Default
		}
		properties["value"] = field
		form["required"] = []string{"value"}
	}
	return form
}

// wording returns the text for the person: our words first, and the page's as a quotation.
func wording(q *bridge.Question) string {
	var b strings.Builder
	b.WriteString(q.Title)
	if q.Detail != "" {
		b.WriteString("\n\n" + q.Origin + " says:\n" + text.Marked(q.Detail))
	}
	if q.Kind == bridge.Approve || q.Form {
		b.WriteString("\n\nTool: " + q.Tool)
		for _, fact := range q.Facts() {
			b.WriteString("\n" + fact.Name + ": " + text.Escape(fact.Text))
		}
		b.WriteString("\nArguments: " + text.Escape(strings.ReplaceAll(string(q.Input), "\n", " ")))
	}
	return b.String()
}
