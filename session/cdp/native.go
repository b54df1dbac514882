package cdp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webmcp"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// native is the invoker through the browser's own WebMCP. The page script is there
// too: it adds the older generations, keeps what the browser drops of a declaration,
// and returns results with their types. A script's tool is reported by the page script
// and called through the browser; a form is reported and called by the browser alone.
type native struct {
	name      string // of the page script
	attended  bool   // somebody can be at the page
	watcher   *watcher
	responses responses
	busy      sync.Map // the forms that were called and have not answered, by registration
}

var _ invoker = (*native)(nil)

// registration names a form.
type registration struct {
	doc  *document
	tool int64
}

func newNative(name string, attended bool, w *watcher) *native {
	n := &native{name: name, attended: attended, watcher: w}
	n.responses.waiting = map[invocation]chan nativeResponse{}
	return n
}

func (n *native) commands() []wire.Command {
	return []wire.Command{addScript(shim.NativeSource(n.name)), {Method: webmcp.CommandEnable}}
}

// ready fails when the feature is off: the domain is there all the same. An empty
// page has no WebMCP, and knows the policy of it.
func (n *native) ready(ctx context.Context, s *wire.Session) error {
	var res evaluateResult
	params := runtime.EvaluateParams{Expression: shim.HasNative, ReturnByValue: new(true),
		Silent: new(true)}
	if err := s.Call(ctx, runtime.CommandEvaluate, params, &res); err != nil {
		return err
	}
	if text, err := res.text(); err != nil || text != "true" {
		return errNoWebMCP
	}
	return nil
}

func (n *native) invoke(ctx context.Context, c *call, inv session.Invocation) bridge.Step {
	if inv.Tool >= firstForm { // what it is now counts: a script may just have changed it
		n.catchUp(ctx, c.doc)
	}
	x, ok := c.doc.nativeTool(inv.Tool)
	switch {
	case !ok:
		c.end()
		return gone().Step()
	case x.form:
		return n.upToDate(ctx, c.doc, n.form(ctx, c, x, inv))
	}
	ch, err := n.send(ctx, c, x, inv)
	return n.upToDate(ctx, c.doc, c.dispatched(ctx, ch, err))
}

// upToDate has the end of a call name a list of tools that has what the call did to forms.
func (n *native) upToDate(ctx context.Context, d *document, step bridge.Step) bridge.Step {
	switch {
	case step.Pause != nil:
		goOn := step.Pause.Continue
		step.Pause.Continue = func(ctx context.Context, a *bridge.Answer) bridge.Step {
			return n.upToDate(ctx, d, goOn(ctx, a))
		}
	case step.Err == nil && step.Document == d.id:
		n.catchUp(ctx, d)
		step.Revision = max(step.Revision, d.newest.Load())
	}
	return step
}

// nativeTool holds what a call needs to know of a declaration.
type nativeTool struct {
	name string
	id   webmcp.ToolID // of newer browsers
	form bool          // then its registration is at least firstForm
	// node is the element of a form, and alone is true when it submitted itself as it was declared.
	node  cdp.BackendNodeID
	alone bool
}

// nativeTool returns what is known of a tool of the document.
func (d *document) nativeTool(id int64) (x nativeTool, ok bool) {
	if all := d.tools.Load(); all != nil {
		x, ok = (*all)[id]
	}
	return x, ok
}

// invokeToolParams names the tool by its id where there is one, else by name: the
// browser takes exactly one of them.
type invokeToolParams struct {
	FrameID  cdp.FrameID     `json:"frameId"`
	ToolID   webmcp.ToolID   `json:"toolId,omitempty"`
	ToolName string          `json:"toolName,omitempty"`
	Input    json.RawMessage `json:"input"`
}

// nativeCall is a call that went to the browser.
type nativeCall struct {
	in     *wire.Session
	answer chan nativeAnswer // buffered; one
	id     atomic.Pointer[string]
}

// nativeAnswer says how a call went on: the browser responded, refused it, or was
// lost with the document.
type nativeAnswer struct {
	nativeResponse
	refused *cdproto.Error
	left    bool // the document went away
	lost    bool // its target did
}

// cancel asks the browser to end the call. The answer comes as usual.
func (c *nativeCall) cancel(ctx context.Context) {
	if id := c.id.Load(); id != nil {
		_, _ = c.in.Send(ctx, webmcp.CommandCancelInvocation, webmcp.CancelInvocationParams{InvocationID: *id}) // it may be over
	}
}

// dispatch sends a call to the browser's WebMCP.
func (n *native) dispatch(ctx context.Context, d *document, x nativeTool,
	input json.RawMessage) (*nativeCall, error) {
	params := invokeToolParams{FrameID: d.frameID, ToolID: x.id, Input: input}
	if x.id == "" {
		params.ToolName = x.name
	}
	n.responses.expect()
	sent, err := d.target.Send(ctx, webmcp.CommandInvokeTool, params)
	if err != nil {
		n.responses.named(invocation{})
		return nil, err
	}
	c := &nativeCall{in: d.target, answer: make(chan nativeAnswer, 1)}
	patience := time.Duration(0)
	if x.form {
		patience = nextPatience
	}
	go func() { c.answer <- n.await(d, c, sent, patience) }() // ends with the call, the document or the page
	return c, nil
}

// nextPatience limits how long the document that a form led to may take to answer for
// the form.
const nextPatience = 10 * time.Second

// await waits for the reply that names the invocation, and for its end, which
// may come patience after the document went away.
func (n *native) await(d *document, c *nativeCall, sent <-chan wire.Reply,
	patience time.Duration) nativeAnswer {
	r, ok := <-sent
	switch {
	case !ok:
		n.responses.named(invocation{})
		return nativeAnswer{lost: true}
	case r.Error != nil:
		n.responses.named(invocation{})
		return nativeAnswer{refused: r.Error}
	}
	var named webmcp.InvokeToolResult
	_ = jsonv2.Unmarshal(r.Result, &named, chromedp.DefaultUnmarshalOptions) // without an id nothing comes
	c.id.Store(&named.InvocationID)
	of := invocation{d.target, named.InvocationID}
	ended := n.responses.named(of)
	defer n.responses.forget(of)
	select {
	case response := <-ended:
		return nativeAnswer{nativeResponse: response}
	case <-d.gone:
	case <-d.target.Gone():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case response := <-ended:
		return nativeAnswer{nativeResponse: response, left: patience > 0}
	case <-d.target.Gone():
		select {
		case response := <-ended: // it came first
			return nativeAnswer{nativeResponse: response}
		default:
			return nativeAnswer{lost: true}
		}
	case <-timer.C:
		return nativeAnswer{left: true}
	}
}

// send dispatches a call of a script's tool. What the page script says comes on the
// channel, as it would for an evaluation.
func (n *native) send(ctx context.Context, c *call, x nativeTool,
	inv session.Invocation) (<-chan wire.Reply, error) {
	input := shim.NativeInput(n.name, c.id, inv.Tool, inv.Input, inv.MaxBytes,
		c.doc.revision.Load())
	sent, err := n.dispatch(ctx, c.doc, x, input)
	if err != nil {
		return nil, err
	}
	out := make(chan wire.Reply, 1)
	go func() { // ends with the call
		switch a := <-sent.answer; {
		case a.lost:
			close(out)
		case a.refused != nil:
			out <- failedReply("Cannot find the tool: " + a.refused.Message)
		case a.left:
			out <- failedReply("the document went away")
		default:
			out <- scriptAnswer(a.nativeResponse)
		}
	}()
	return out, nil
}

func failedReply(message string) wire.Reply {
	return wire.Reply{Message: &cdproto.Message{Error: &cdproto.Error{Message: message}}}
}

// scriptAnswer makes what the page script answered through the browser the reply
// of an evaluation. Anything
// else means that the document went away or that the call was interrupted: the
// browser then speaks of success, with what it found in the next document.
func scriptAnswer(r nativeResponse) wire.Reply {
	text, ours := bytes.CutPrefix(r.Output, []byte(`"`+shim.NativePrefix))
	if ours && r.Status == webmcp.InvocationStatusCompleted {
		result := fmt.Appendf(nil, `{"result":{"type":"string","value":"%s}}`, text)
		return wire.Reply{After: r.after, Message: &cdproto.Message{Result: result}}
	}
	failed := failedReply("the browser ended the call: " + string(r.Status) + " " + r.ErrorText)
	failed.After = r.after
	return failed
}
