package cdp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// times are how long things may take. Tests shorten them.
type times struct {
	// A page that said nothing for silence is asked whether it lives before a
	// call is dispatched to it, so that a call to a hung page is known not to
	// have run. It gets pulse to answer.
	silence, pulse time.Duration
	// A browser is asked every pingEvery, and taken for frozen when it does not
	// answer within pingPatience.
	pingEvery, pingPatience time.Duration
}

var usualTimes = times{silence: 2 * time.Second, pulse: 5 * time.Second, pingEvery: 5 * time.Second, pingPatience: 10 * time.Second}

// Steps after a deadline, all within a second: the call is aborted; a page that
// does not react is interrupted; one that still does not is closed.
const (
	abortPatience     = 300 * time.Millisecond
	terminatePatience = 400 * time.Millisecond
)

// Invoke runs a registered tool once.
func (t *tab) Invoke(ctx context.Context, inv session.Invocation) bridge.Step {
	d := t.document(inv.Document)
	if d == nil {
		return t.absent().Step()
	}
	if err := t.pulse(ctx, d); err != nil {
		return err.Step()
	}
	r := &running{tab: t, doc: d, id: d.ids.take(), maxBytes: inv.MaxBytes, dialogs: make(chan *dialog, 1)}
	t.calls.Add(1)
	t.calling.add(r)
	if t.document(inv.Document) != d {
		r.ended()
		return t.absent().Step()
	}
	var err error
	if t.native == nil {
		r.ch, err = d.send(ctx, shim.Call(t.name, r.id, inv.Tool, inv.Input, inv.MaxBytes, d.revision.Load()))
	} else {
		x, ok := d.nativeTool(inv.Tool)
		switch {
		case !ok:
			r.ended()
			return gone().Step()
		case x.form:
			defer r.ended()
			return t.invokeForm(ctx, d, x, inv)
		}
		r.ch, err = t.sendNative(ctx, d, x, r.id, inv)
	}
	if err != nil {
		r.ended()
		if d.target.Reason() != nil {
			return t.lost(d, bridge.NotRun).Step()
		}
		return stopped(ctx, bridge.NotRun).Step()
	}
	return r.wait(ctx)
}

// absent says why a document is not there: the page is gone, or it shows another.
func (t *tab) absent() *bridge.Error {
	if reason := t.target.Reason(); reason != nil {
		return goneError(reason, bridge.NotRun)
	}
	return gone()
}

// lost gives the end of a document's target as the outcome of who used it. A
// frame whose target closes has left the page.
func (t *tab) lost(d *document, o bridge.Outcome) *bridge.Error {
	reason := d.target.Reason()
	switch {
	case d.target == t.target || !errors.Is(reason, wire.ErrClosed):
		return goneError(reason, o)
	case o == bridge.NotRun:
		return gone()
	}
	return navigatedError(reason)
}

// callIDs are the ids of a document's calls, each random. One is used again when
// the page answered its call: then an equal call is the same text, which the
// browser has compiled already. The id of a call that was given up is not, so
// that a late abort meets nobody else's.
type callIDs struct {
	mu   sync.Mutex
	free []string
}

func (c *callIDs) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		id := c.free[n-1]
		c.free = c.free[:n-1]
		return id
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (c *callIDs) put(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, id)
}

// pulse asks a page that was silent, or that never had a call, whether it lives.
func (t *tab) pulse(ctx context.Context, d *document) *bridge.Error {
	if d.target.Lively(t.times.silence) {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, t.times.pulse)
	defer cancel()
	err := react(bounded, d.target)
	switch {
	case err == nil:
		return nil
	case d.target.Reason() != nil:
		return t.lost(d, bridge.NotRun)
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return stopped(ctx, bridge.NotRun)
	case bounded.Err() != nil:
		if ctx.Err() == nil && t.calls.Load() == 0 { // else another call may be at work, and has its own deadline
			t.revive(d.target)
		}
		return bridge.Errorf(bridge.InternalError, bridge.PageHung, bridge.NotRun, "The page does not react. The call did not reach it.")
	}
	return nil // between documents: the dispatch will tell
}

// react waits until the page ran an empty expression.
func react(ctx context.Context, in *wire.Session) error {
	return in.Call(ctx, runtime.CommandEvaluate, evaluateParams{Expression: `""`, ReturnByValue: true, Silent: true}, nil)
}

// replied reads the answer of a dispatched call.
func (t *tab) replied(ctx context.Context, d *document, r wire.Reply, ok bool) answer {
	switch {
	case !ok:
		return failed(t.lost(d, bridge.Unknown))
	case r.Error != nil:
		return failed(t.lostDocument(ctx, d, r.Error))
	}
	var res evaluateResult
	if err := jsonv2.Unmarshal(r.Result, &res, chromedp.DefaultUnmarshalOptions); err != nil {
		return failed(bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.Unknown, "The browser's answer cannot be read.").With(err))
	}
	text, err := res.text()
	if e, ok := errors.AsType[*scriptError](err); ok && e.missing(t.name) { // nothing ran
		none := gone()
		none.Err = errors.Join(none.Err, err)
		return failed(none)
	}
	if err != nil {
		return failed(bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.Unknown, "The call was interrupted.").With(err))
	}
	return t.finished(ctx, d, text, r.After)
}

// finished reads what the page script answered.
func (t *tab) finished(ctx context.Context, d *document, text string, after int64) answer {
	r, err := shim.DecodeReply(text)
	if err != nil {
		return failed(bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.Unknown, "The page's answer cannot be read.").With(err))
	}
	if r.State != nil {
		select {
		case t.states <- pushed{doc: d, state: r.State, after: after}:
		case <-t.target.Gone():
		case <-ctx.Done():
		}
	}
	if r.Kind == shim.Asking {
		return answer{asks: true, form: r.Name == "form"}
	}
	if r.Kind == shim.Submitted {
		return answer{submitted: &submission{doc: d, origin: d.origin, target: r.Message, after: after}}
	}
	step := outcome(d, r)
	if t.native != nil {
		step.Revision *= revisions
	}
	return answer{Step: step}
}

// outcome turns the page script's answer into a result or an error.
func outcome(d *document, r *shim.Reply) bridge.Step {
	s := bridge.Step{Document: d.id, Revision: r.Revision}
	if r.Kind == shim.OK {
		s.Data = r.Payload
	} else {
		s.Err = refused(r)
	}
	return s
}

// refused is why a call failed.
func refused(r *shim.Reply) *bridge.Error {
	switch r.Kind {
	case shim.Gone:
		return gone()
	case shim.Invalid:
		return bridge.Errorf(bridge.ToolError, bridge.ResultInvalid, bridge.Unknown, "The tool's result cannot be encoded: %s.", strings.TrimSuffix(r.Message, "."))
	case shim.TooLarge:
		return bridge.Errorf(bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown, "The tool's result is too large.")
	case shim.Unhandled:
		return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No listener of the page answered the call.")
	case shim.Aborted:
		return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The call was aborted.")
	case shim.Awaiting:
		return awaiting()
	case shim.OK, shim.Failed, shim.Submitted, shim.Asking:
	}
	message := r.Message
	if message == "" {
		message = "The tool failed without saying why."
	}
	return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", message).Detail("name", r.Name)
}

// giveUp ends a call whose time is over or whose caller left: the page is told,
// interrupted, and at last closed. A reply that was on its way still counts when
// the deadline passed, and not when the caller left.
func (t *tab) giveUp(ctx context.Context, call *running) bridge.Step {
	d, ch := call.doc, call.ch
	call.quiet() // a dialog would keep the page from hearing it
	left := stopped(ctx, bridge.Unknown)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	if _, err := d.send(bounded, shim.Abort(t.name, call.id, left.Message)); err != nil {
		return left.Step()
	}
	select {
	case r, ok := <-ch:
		a := t.replied(context.WithoutCancel(ctx), d, r, ok)
		if a.asks || a.submitted != nil || left.Code == bridge.Cancelled ||
			a.Err != nil && (a.Err.Code == bridge.Cancelled || call.interacts) {
			return left.Step()
		}
		return a.Step
	case <-bounded.Done():
	}
	t.revive(d.target)
	// What was interrupted may be the abort itself: the tool still has to hear it.
	again, cancelAgain := farewell()
	defer cancelAgain()
	_, _ = d.send(again, shim.Abort(t.name, call.id, left.Message))
	return left.Step()
}

// revive interrupts what runs in a target, and closes the page when that does not
// help.
func (t *tab) revive(in *wire.Session) {
	bounded, cancel := context.WithTimeout(context.Background(), terminatePatience)
	defer cancel()
	if err := in.Call(bounded, runtime.CommandTerminateExecution, nil, nil); err == nil {
		if err := react(bounded, in); err == nil {
			return
		}
	}
	if in.Reason() == nil {
		t.target.Fail(errKilled)
	}
}

// stopped gives the outcome of a call whose context ended: the deadline's own
// error, or CANCELLED.
func stopped(ctx context.Context, o bridge.Outcome) *bridge.Error {
	if e, ok := errors.AsType[*bridge.Error](context.Cause(ctx)); ok {
		c := *e
		c.Outcome = o
		return &c
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return bridge.Errorf(bridge.InternalError, bridge.Timeout, o, "The tool did not answer in time.")
	}
	return bridge.Errorf(bridge.Cancelled, "", o, "The caller gave up.").With(context.Cause(ctx))
}

// late gives the outcome of work before a call whose context ended.
func late(ctx context.Context, text string) *bridge.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return bridge.Errorf(bridge.InternalError, bridge.Timeout, bridge.NotRun, "%s", text).With(context.Cause(ctx))
	}
	return bridge.Errorf(bridge.Cancelled, "", bridge.NotRun, "The caller gave up.").With(context.Cause(ctx))
}
