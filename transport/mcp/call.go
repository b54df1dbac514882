package mcp

import (
	"context"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// call runs a tool of a page, or one of ours.
func (x *exchange) call(ctx context.Context, to target, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
	arguments := orEmpty(x.message.arguments)
	if to.static == "" {
		return x.run(ctx, to, arguments, r.Params.MultiRoundTripParams)
	}
	list := x.face.list(ctx, x.scope)
	if to.static != toolCall {
		return list.answer(x.version(), to.static, arguments), nil
	}
	found, inner, e := list.callArguments(arguments)
	if e != nil {
		return failure(e), nil
	}
	return x.run(ctx, found, inner, r.Params.MultiRoundTripParams)
}

// run runs a tool of a page until it ends or asks a person.
func (x *exchange) run(ctx context.Context, to target, arguments bridge.Value, trip mcpgo.MultiRoundTripParams) (*mcpgo.CallToolResult, error) {
	c := x.asCall(to, arguments)
	defer x.progress(ctx)()
	run, left, err := x.begin(ctx, c, trip)
	if err != nil {
		return nil, err
	}
	if left {
		return failure(x.stillAsks(run.Asks())), nil
	}
	q, end := run.Next(ctx)
	if q != nil {
		return x.ask(c, run, q), nil
	}
	x.over(run)
	if end.Err != nil {
		return failure(end.Err), nil
	}
	return result(end.Data, run.Tool(), x.version()), nil
}

// begin starts a call, or finds the one that the request goes on with. left is true
// when the person closed the question, so that it stays open.
func (x *exchange) begin(ctx context.Context, c *bridge.Call, trip mcpgo.MultiRoundTripParams) (run *bridge.Run, left bool, err error) {
	f := x.face
	if !x.message.answersAreObject() {
		return nil, false, x.box(rpcErrorf(mcpgo.INVALID_PARAMS, "inputResponses must be an object."))
	}
	if trip.RequestState == "" {
		return f.b.Start(ctx, c), false, nil
	}
	state, err := f.seal.open(trip.RequestState)
	if err != nil || state.Caller != c.Caller.Name || state.Call != c.Digest() || time.Now().After(state.Until) {
		return nil, false, x.box(rpcErrorf(mcpgo.INVALID_PARAMS, "This requestState does not belong to this call, or it is over."))
	}
	if run, err = f.b.Resume(c, state.Token); err != nil {
		return nil, false, x.box(rpcErrorf(mcpgo.INVALID_PARAMS, "The call of this requestState has ended, and its outcome was told."))
	}
	return run, x.answered(ctx, run, state, trip), nil
}

// over notes a call whose outcome is told now.
func (x *exchange) over(run *bridge.Run) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.spent = append(x.spent, run)
}

// written says that the reply has reached the client: the tokens of calls that ended
// name nothing any more.
func (x *exchange) written() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, run := range x.spent {
		run.Spend()
	}
	x.spent = nil
}

// progressEvery is how often a client that asked for it hears that a call still
// runs.
const progressEvery = 5 * time.Second

// progress tells the client every few seconds that the call goes on, when it asked
// for that, until end is called.
func (x *exchange) progress(ctx context.Context) (end func()) {
	if x.message.meta.progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ticker.C:
				x.notify(string(mcpgo.MethodNotificationProgress), map[string]any{"progressToken": x.message.meta.progress, "progress": n, "message": "The tool still runs."})
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		close(done)
		told.Wait()
	}
}

// breath is the least time between progress and the reply: some clients lose what
// comes in one piece with it.
const breath = 50 * time.Millisecond

// pause waits until the reply may follow what was told last.
func (x *exchange) pause(ctx context.Context) {
	x.mu.Lock()
	noted := x.noted
	x.mu.Unlock()
	if noted.IsZero() {
		return
	}
	if wait := breath - time.Since(noted); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}
