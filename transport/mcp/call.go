package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// call is tools/call: it runs a tool of a page, or one of ours.
func (x *exchange) call(ctx context.Context) (json.RawMessage, *rpcError) {
	name, e := x.message.text("name")
	if e != nil {
		return nil, e
	}
	if name == toolset.Card && x.face.drawsApps(x.scope.caller, x.can) {
		return x.end(onCard(ctx, x)), nil
	}
	list := x.face.find(ctx, x.scope, name)
	arguments := toolset.Arguments(x.message.params.Get("arguments"))
	to, ok := list.Find(name)
	switch {
	case name == "":
		return nil, badParams("name is missing: it must be the name of a tool, as tools/list has it.")
	case !ok:
		return missing(ctx, x, list, name, arguments, list.Missing(name))
	}
	if slices.Contains([]string{toolset.Search, toolset.Describe, toolset.Waiting}, to.Own) {
		if err := x.counted(nil); err != nil {
			return x.end(failure(err)), nil
		}
	}
	if to.Own == toolset.Search || to.Own == toolset.Describe {
		data, found, err := list.Answer(x.protocol, to.Own, arguments)
		if err != nil {
			return x.end(failure(err)), nil
		}
		x.face.use(x.scope, list, found...)
		return x.end(rawResult(data)), nil
	}
	switch to.Own {
	case toolset.Waiting:
		return x.end(x.waiting(ctx, arguments)), nil
	case toolset.Open:
		return x.end(x.open(ctx, list, arguments)), nil
	case toolset.Call:
		var err *bridge.Error
		if to, arguments, err = list.Called(arguments); err != nil {
			inner := x.message.params.Get("arguments").Get("name").String()
			return missing(ctx, x, list, inner, arguments, err)
		}
	}
	x.face.use(x.scope, list, to.Name)
	arguments, err := to.Restore(arguments)
	if err != nil {
		return x.end(failure(x.counted(err))), nil
	}
	return x.run(ctx, to, arguments)
}

// missing goes on with a call of a tool that the list does not have any more: its page may have
// navigated since the call stopped. Without such a call it returns the error.
func missing(ctx context.Context, x *exchange, list *toolset.List, name string, arguments bridge.Value, e *bridge.Error) (json.RawMessage, *rpcError) {
	for _, run := range x.scope.ref().Stopped(x.face.b) {
		to, ok := list.Former(name, run)
		if !ok {
			continue
		}
		input, err := to.Restore(arguments)
		if err != nil {
			continue
		}
		c := &bridge.Call{Site: to.Site, Tool: to.Tool.Name(), Session: x.scope.session, Caller: x.scope.caller, Input: input}
		if _, err := x.face.b.Resume(ctx, c, run.Token()); err == nil {
			return x.run(ctx, to, input)
		}
	}
	if state, err := x.message.text("requestState"); err != nil || state != "" {
		return nil, cmp.Or(err, notHere(e))
	}
	return x.end(failure(x.counted(e))), nil
}

// counted counts a request that runs no tool of a page. It returns the error of the request,
// or that there are too many.
func (x *exchange) counted(err *bridge.Error) *bridge.Error {
	return cmp.Or(x.face.b.Count(x.scope.ref()), err)
}

// end completes a result. An error of no call is in the log by the id of its request.
func (x *exchange) end(r *mcpgo.CallToolResult) json.RawMessage {
	if r.Meta != nil {
		if body, failed := r.Meta.AdditionalFields[metaError].(transport.ErrorBody); failed {
			if body.Details[bridge.DetailCall] == nil {
				x.face.refused(x.id, x.scope.caller.Name, string(body.Code), body.Message)
			}
			r.Meta.AdditionalFields[metaError] = transport.InRequest(body, x.id)
		}
	}
	x.complete(&r.Result)
	text, err := r.MarshalJSON() // which an encoder would read a second time
	if err != nil {
		panic("mcp: writing a result: " + err.Error())
	}
	return text
}

// open is pagetools_open: it sends the caller's page to the start of its site.
func (x *exchange) open(ctx context.Context, list *toolset.List,
	arguments bridge.Value) *mcpgo.CallToolResult {
	site, path, err := list.Opened(arguments)
	if err != nil {
		return failure(x.counted(err))
	}
	defer x.progress(ctx, new(running))()
	c := &bridge.Call{Site: site, Tool: toolset.Open, Session: x.scope.session, Caller: x.scope.caller,
		ID: x.id, TraceParent: x.message.meta.trace}
	if path != "" {
		c.Config = encode(map[string]string{"path": path})
	}
	if _, err := x.face.b.Open(ctx, c); err != nil {
		return failure(bridge.AsError(err))
	}
	list = x.face.all(ctx, x.scope, func(s bridge.Site) bool { return s.Name == site })
	return textResult(list.Shown(site))
}

// maxAsked bounds how often the person at a client of an older protocol version is asked in one
// call: a client that answers by itself must not go on for ever.
const maxAsked = 10

// run runs a tool of a page until it ends, becomes a task, or asks a person whom the client has to
// ask with the next request.
func (x *exchange) run(
	ctx context.Context, to toolset.Target, arguments bridge.Value,
) (json.RawMessage, *rpcError) {
	var now running
	called, _ := x.message.text("name")
	form := formPrefix
	if called == to.Name {
		form += called
	}
	c := &bridge.Call{
		Site: to.Site, Tool: to.Tool.Name(), Session: x.scope.session, Caller: x.scope.caller,
		Input: arguments, Again: true, Beside: true, ID: x.id, TraceParent: x.message.meta.trace,
		Started: now.began, Detached: x.takesTasks(), Form: form, TellsChanges: true,
	}
	defer x.progress(ctx, &now)()
	run, left, e := x.begin(ctx, c)
	if e != nil {
		return nil, e
	}
	now.began(run)
	for asked := 0; !left; asked++ {
		q, end, became := x.next(ctx, run)
		switch {
		case became:
			return x.created(run), nil
		case q == nil && end.Err != nil:
			x.ended = run
			return x.end(x.withFiles(failed(end.Err, to, x.protocol), end.Files)), nil
		case q == nil:
			x.ended = run
			r := x.excused(result(end, run.Tool(), x.protocol), end.Violation, to, called)
			return x.end(x.withFiles(r, end.Files)), nil
		}
		params, elsewhere, ok := x.elicitation(q)
		switch {
		case !ok || asked == maxAsked:
			return x.end(parked(ctx, x, run, q, to, called)), nil
		case x.protocol.Modern():
			state := carried{Token: run.Token(), Question: q.ID, Caller: c.Caller.Name,
				Call: c.Digest(), URL: elsewhere, Until: q.ExpiresAt.Add(keptFor)}
			return x.end(inputRequired(params, x.face.seal.close(forState, state))), nil
		}
		said, err := x.peer.ask(ctx, x.out, mcpgo.MethodElicitationCreate, params)
		if ctx.Err() != nil {
			return nil, rpcErrorf(mcpgo.INTERNAL_ERROR, "The request was given up.")
		}
		// A client that cannot answer is as one that was closed: others may.
		left = err != nil || x.answered(ctx, run, q.ID, elsewhere, said)
	}
	return x.end(parked(ctx, x, run, run.Asks(), to, called)), nil
}

// begin starts a call, or finds the one that the request goes on with. left is true
// when the person closed the question, so that it stays open.
func (x *exchange) begin(ctx context.Context,
	c *bridge.Call) (run *bridge.Run, left bool, e *rpcError) {
	f, answers := x.face, x.message.params.Get("inputResponses")
	if answers.Exists() && !answers.IsObject() {
		return nil, false, badParams("inputResponses must be an object, such as {}.")
	}
	sealed, e := x.message.text("requestState")
	if e != nil || sealed == "" {
		return f.b.Start(ctx, c), false, e
	}
	var state carried
	err := f.seal.open(forState, sealed, &state)
	if err != nil || state.Caller != c.Caller.Name || state.Call != c.Digest() ||
		time.Now().After(state.Until) {
		return nil, false, badParams("This requestState is not one of this call, or it is too old. The call that it belongs to " +
			"may have run: look at the page before you call the tool without it.")
	}
	if run, err = f.b.Resume(ctx, c, state.Token); err != nil {
		return nil, false, notHere(bridge.AsError(err))
	}
	said := answers.Get(inputKey)
	return run, said.IsObject() && x.answered(ctx, run, state.Question, state.URL, said), nil
}

// notHere is the error of a requestState whose call this process does not have.
func notHere(e *bridge.Error) *rpcError {
	if e.Reason != bridge.Elsewhere && e.Reason != bridge.NodeLost && e.Reason != bridge.NoQuorum {
		return badParams("The call of this requestState is over: its outcome was told, it is too old, or its process has ended. " +
			"It may have run: look at the page before you call the tool without requestState.")
	}
	return refusal(e)
}

// deliver writes the reply: when it has reached the client, the token of a call that ended
// names nothing any more.
func (x *exchange) deliver(write func() error) error {
	if x.ended == nil {
		return write()
	}
	return x.ended.Deliver(write)
}
