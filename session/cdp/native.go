package cdp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// nativeCalls is what a tab holds whose calls go through the browser's own WebMCP. The
// page script is there too: it adds the older generations, keeps what the browser
// drops of a declaration, and gives results their types. A script's tool is told
// by the page script and called through the browser; a form is told and called by
// the browser alone.
type nativeCalls struct {
	mu      sync.Mutex
	waiting map[invocation]chan nativeResponse
	// early are responses of which no reply has told the invocation yet: the
	// browser sends both at once. Pages make calls, too, and theirs come here as
	// well, so the oldest are dropped, and all when nobody waits for a reply.
	early   []nativeResponse
	unnamed int
	titles  chan titled
	busy    map[registration]*nativeCall // forms that were called and have not answered; nil while that is sent
}

// maxEarly bounds early.
const maxEarly = 64

// invocation names a call as the browser does.
type invocation struct {
	target *wire.Session
	id     string
}

// registration names a form.
type registration struct {
	doc  *document
	tool int64
}

// nativeResponse is how the browser says that a call ended.
type nativeResponse struct {
	of    invocation
	after int64
	webmcp.EventToolResponded
}

func newNative() *nativeCalls {
	return &nativeCalls{titles: make(chan titled), waiting: map[invocation]chan nativeResponse{}, busy: map[registration]*nativeCall{}}
}

// titled gives the channel on which titles of forms come, if any.
func (n *nativeCalls) titled() <-chan titled {
	if n == nil {
		return nil
	}
	return n.titles
}

// expect announces a command whose reply will name an invocation.
func (n *nativeCalls) expect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unnamed++
}

// named gives the channel on which the invocation's response comes, which may be
// there already. With an empty id there is no invocation.
func (n *nativeCalls) named(of invocation) <-chan nativeResponse {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan nativeResponse, 1)
	n.unnamed--
	n.waiting[of] = ch
	for _, r := range n.early {
		if r.of == of {
			delete(n.waiting, of)
			ch <- r
		}
	}
	if n.unnamed == 0 {
		n.early = nil
	}
	if of.id == "" {
		delete(n.waiting, of)
	}
	return ch
}

// forget gives up a response that nobody waits for any more.
func (n *nativeCalls) forget(of invocation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.waiting, of)
}

// responded takes the browser's word that a call ended. It never waits.
func (n *nativeCalls) responded(r nativeResponse) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ch, ok := n.waiting[r.of]; ok {
		delete(n.waiting, r.of)
		ch <- r
		return
	}
	if n.unnamed == 0 {
		return // a call that the page made
	}
	if len(n.early) >= maxEarly {
		n.early = n.early[1:]
	}
	n.early = append(n.early, r)
}

// take reserves a form for one call; a second one would make the browser forget
// the first without a word.
func (n *nativeCalls) take(of registration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, busy := n.busy[of]; busy {
		return false
	}
	n.busy[of] = nil
	return true
}

// hold keeps the call that a form was taken for.
func (n *nativeCalls) hold(of registration, c *nativeCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy[of] = c
}

// cancelForms ends the calls of forms.
func (n *nativeCalls) cancelForms(ctx context.Context) {
	n.mu.Lock()
	var calls []*nativeCall
	for _, c := range n.busy {
		if c != nil {
			calls = append(calls, c)
		}
	}
	n.mu.Unlock()
	for _, c := range calls {
		c.cancel(ctx)
	}
}

func (n *nativeCalls) release(of registration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.busy, of)
}

// nativeTool is what a call needs to know of a declaration.
type nativeTool struct {
	name string
	id   webmcp.ToolID // of newer browsers
	form bool
	// alone is true for a form that submits itself.
	alone bool
}

// nativeTool gives what is known of a tool of the document.
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

// nativeAnswer is how a call went on: the browser responded, refused it, or was
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

// dispatchNative sends a call to the browser's WebMCP.
func (t *tab) dispatchNative(ctx context.Context, d *document, x nativeTool, input json.RawMessage) (*nativeCall, error) {
	params := invokeToolParams{FrameID: d.frameID, ToolID: x.id, Input: input}
	if x.id == "" {
		params.ToolName = x.name
	}
	t.native.expect()
	sent, err := d.target.Send(ctx, webmcp.CommandInvokeTool, params)
	if err != nil {
		t.native.named(invocation{})
		return nil, err
	}
	c := &nativeCall{in: d.target, answer: make(chan nativeAnswer, 1)}
	patience := time.Duration(0)
	if x.form {
		patience = nextPatience
	}
	go func() { c.answer <- t.awaitNative(d, c, sent, patience) }() // ends with the call, the document or the page
	return c, nil
}

// nextPatience is how long the document that a form led to may take to answer for
// the form.
const nextPatience = 10 * time.Second

// awaitNative waits for the reply that names the invocation, and for its end, which
// may come patience after the document went away.
func (t *tab) awaitNative(d *document, c *nativeCall, sent <-chan wire.Reply, patience time.Duration) nativeAnswer {
	r, ok := <-sent
	switch {
	case !ok:
		t.native.named(invocation{})
		return nativeAnswer{lost: true}
	case r.Error != nil:
		t.native.named(invocation{})
		return nativeAnswer{refused: r.Error}
	}
	var named webmcp.InvokeToolResult
	_ = jsonv2.Unmarshal(r.Result, &named, chromedp.DefaultUnmarshalOptions) // without an id nothing comes
	c.id.Store(&named.InvocationID)
	of := invocation{d.target, named.InvocationID}
	ended := t.native.named(of)
	defer t.native.forget(of)
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

// sendNative dispatches a call of a script's tool. The page script's text comes on
// the channel, as it would for an evaluation.
func (t *tab) sendNative(ctx context.Context, d *document, x nativeTool, callID string, inv session.Invocation) (<-chan wire.Reply, error) {
	c, err := t.dispatchNative(ctx, d, x, shim.NativeInput(t.name, callID, inv.Tool, inv.Input, inv.MaxBytes, d.revision.Load()))
	if err != nil {
		return nil, err
	}
	out := make(chan wire.Reply, 1)
	go func() { // ends with the call
		switch a := <-c.answer; {
		case a.lost:
			close(out)
		case a.refused != nil:
			out <- wire.Reply{Message: &cdproto.Message{Error: &cdproto.Error{Message: "Cannot find the tool: " + a.refused.Message}}}
		case a.left:
			out <- wire.Reply{Message: &cdproto.Message{Error: &cdproto.Error{Message: "the document went away"}}}
		default:
			out <- scriptAnswer(a.nativeResponse)
		}
	}()
	return out, nil
}

// scriptAnswer makes what the page script answered through the browser the reply
// of an evaluation. Anything
// else means that the document went away or that the call was interrupted: the
// browser then speaks of success, with what it found in the next document.
func scriptAnswer(r nativeResponse) wire.Reply {
	text, ours := bytes.CutPrefix(r.Output, []byte(`"`+shim.NativePrefix))
	if ours && r.Status == webmcp.InvocationStatusCompleted {
		return wire.Reply{After: r.after, Message: &cdproto.Message{
			Result: fmt.Appendf(nil, `{"result":{"type":"string","value":"%s}}`, text)}}
	}
	return wire.Reply{After: r.after, Message: &cdproto.Message{
		Error: &cdproto.Error{Message: "the browser ended the call: " + string(r.Status) + " " + r.ErrorText}}}
}

// invokeForm calls a form, of which only the browser knows.
func (t *tab) invokeForm(ctx context.Context, d *document, x nativeTool, inv session.Invocation) bridge.Step {
	if !x.alone && !t.browser.attended {
		// The browser would wait without a word.
		return bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed,
			"A person has to submit the form, because it has no toolautosubmit, and nobody can be at this page.").Step()
	}
	of := registration{d, inv.Tool}
	if !t.native.take(of) {
		return bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The form is being filled by another call.").Step()
	}
	input := inv.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	c, err := t.dispatchNative(ctx, d, x, input)
	if err != nil {
		t.native.release(of)
		if d.target.Reason() != nil {
			return t.lost(d, bridge.NotRun).Step()
		}
		return stopped(ctx, bridge.NotRun).Step()
	}
	t.native.hold(of, c)
	select {
	case a := <-c.answer:
		t.native.release(of)
		if a.ErrorText == rejectedText {
			a.ErrorText = t.rejection(ctx, d)
		}
		return t.formAnswer(d, inv, a)
	case <-ctx.Done():
	}
	left := stopped(ctx, bridge.Unknown)
	if !x.alone && left.Reason == bridge.Timeout {
		left = awaiting()
	}
	bounded, cancel := farewell()
	defer cancel()
	c.cancel(bounded)
	select {
	case <-c.answer:
		t.native.release(of)
	case <-bounded.Done():
		go func() { // ends with the call, the document or the page
			<-c.answer
			t.native.release(of)
		}()
	}
	return left.Step()
}

// rejectedText is what the browser says when a page refused a form's call; the
// page's own words are not passed on.
const rejectedText = "respondWith promise was rejected"

// rejection asks the page script for them.
func (t *tab) rejection(ctx context.Context, d *document) string {
	bounded, cancel := context.WithTimeout(ctx, abortPatience)
	defer cancel()
	text, _, err := d.evaluate(bounded, shim.Rejection(t.name))
	if err != nil || text == "" {
		return rejectedText
	}
	return text
}

// formAnswer turns how a form's call went on into a result or an error.
func (t *tab) formAnswer(d *document, inv session.Invocation, a nativeAnswer) bridge.Step {
	s := bridge.Step{Document: d.id, Revision: d.reported.Load()}
	switch {
	case a.lost:
		s.Err = t.lost(d, bridge.Unknown)
	case a.left && a.Status != webmcp.InvocationStatusCompleted, strings.Contains(a.ErrorText, "cross-origin navigation"):
		s.Err = navigatedError(errNoFrame)
	case a.refused != nil:
		e := gone()
		e.Err = errors.Join(e.Err, a.refused)
		s.Err = e
	case a.Status == webmcp.InvocationStatusCompleted:
		if inv.MaxBytes > 0 && len(a.Output) > inv.MaxBytes {
			s.Err = bridge.Errorf(bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown, "The tool's result is too large.")
			break
		}
		if s.Data = json.RawMessage(a.Output); len(s.Data) == 0 {
			s.Data = json.RawMessage("null")
		}
	default:
		s.Err = formFailed(a)
	}
	return s
}

// formFailed is why a form's call failed.
func formFailed(a nativeAnswer) *bridge.Error {
	name, message := "", a.ErrorText
	if a.Exception != nil {
		name, message = thrown(a.Exception)
	}
	if message == "" {
		message = "The form did not answer."
	}
	return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", message).Detail("name", name)
}

// maxThrown bounds what is told of an exception.
const maxThrown = 16 << 10

// thrown gives the name and the message of an exception, without the stack that
// the browser writes below them.
func thrown(x *runtime.RemoteObject) (name, message string) {
	if x.Type == "string" {
		_ = jsonv2.Unmarshal(x.Value, &message)
	} else {
		text, _, _ := strings.Cut(x.Description, "\n    at ")
		name, message, _ = strings.Cut(text, ": ")
		if message == "" {
			name, message = "", text
		}
	}
	if len(message) > maxThrown {
		message = strings.ToValidUTF8(message[:maxThrown], "")
	}
	return name, message
}
