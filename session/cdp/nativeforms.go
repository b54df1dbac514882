package cdp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webmcp"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// formCall is a call of a form, of which only the browser knows.
type formCall struct {
	n    *native
	x    nativeTool
	inv  session.Invocation
	of   registration
	sent *nativeCall
	// submits says that the form submitted itself and that no script of the page took that. It is
	// nil when it has said all.
	submits <-chan wire.Reply
	forget  func()
}

// form calls a form.
func (n *native) form(ctx context.Context, c *call, x nativeTool,
	inv session.Invocation) bridge.Step {
	if !x.alone && !n.attended {
		// The browser would wait without a word.
		c.end()
		return bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed,
			"A person has to submit the form, because it has no toolautosubmit, and nobody can be at this page.").Step()
	}
	f := &formCall{n: n, x: x, inv: inv, of: registration{c.doc, inv.Tool}, forget: func() {}}
	if _, busy := n.busy.LoadOrStore(f.of, true); busy {
		// A second call would make the browser forget the first without a word.
		c.end()
		return bridge.Errorf(bridge.Conflict, "", bridge.NotRun,
			"The form is being filled by another call.").Step()
	}
	input := inv.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	c.watchForm(ctx)
	// A document that goes away is told by the call.
	_, _, _ = c.doc.evaluate(ctx, shim.Expect(n.name, x.name))
	method, params := c.doc.evaluation(shim.Submission(n.name, x.name))
	if submits, forget, err := c.doc.target.Await(ctx, method, params); err == nil {
		f.submits, f.forget = submits, forget
	}
	sent, err := n.dispatch(ctx, c.doc, x, input)
	if err != nil {
		n.busy.Delete(f.of)
		return f.end(c, c.notSent(ctx).Step())
	}
	c.native, f.sent = f, sent
	c.cancel.Store(new(sent.cancel))
	return f.wait(ctx, c)
}

func (f *formCall) end(c *call, step bridge.Step) bridge.Step {
	f.forget()
	c.end()
	return step
}

// wait waits for what comes next: what becomes of the form, a question, or ctx's end.
func (f *formCall) wait(ctx context.Context, c *call) bridge.Step {
	for {
		select {
		case r, ok := <-f.submits:
			if sub := f.submitted(c, r, ok); sub != nil {
				return f.end(c, f.follow(ctx, c, sub))
			}
		case d := <-c.dialogs:
			select {
			case r, ok := <-f.submits: // it came first
				if sub := f.submitted(c, r, ok); sub != nil {
					c.leave(d)
					return f.end(c, f.follow(ctx, c, sub))
				}
			default:
			}
			return c.askDialog(d)
		case a := <-f.sent.answer:
			return f.end(c, f.answered(ctx, c, a))
		case <-ctx.Done():
			return f.end(c, f.giveUp(ctx, c))
		}
	}
}

// submitted returns the submission that the reply tells of, if it does.
func (f *formCall) submitted(c *call, r wire.Reply, ok bool) *submission {
	f.submits = nil
	if !ok || r.Error != nil {
		return nil
	}
	var res evaluateResult
	if jsonv2.Unmarshal(r.Result, &res, chromedp.DefaultUnmarshalOptions) != nil {
		return nil
	}
	said, err := res.text()
	target, leads := strings.CutPrefix(said, shim.SubmissionPrefix)
	if err != nil || !leads {
		return nil
	}
	return &submission{doc: c.doc, origin: c.doc.origin, target: target, since: c.since, after: r.After}
}

func (f *formCall) follow(ctx context.Context, c *call, sub *submission) bridge.Step {
	c.quiet() // a dialog would keep the page from going on
	c.leads = true
	step := c.follow(ctx, sub)
	bounded, done := farewell()
	defer done()
	f.sent.cancel(bounded) // the browser may wait for a document, and does not always say that it stops
	f.n.busy.Delete(f.of)
	return step
}

func (f *formCall) answered(ctx context.Context, c *call, a nativeAnswer) bridge.Step {
	f.n.busy.Delete(f.of)
	if a.ErrorText == rejectedText {
		a.ErrorText = f.n.rejection(ctx, c.doc)
	}
	if sub := c.leadsOn(a); sub != nil {
		c.quiet()
		return c.follow(ctx, sub)
	}
	return formAnswer(c.doc, f.inv, a)
}

func (f *formCall) giveUp(ctx context.Context, c *call) bridge.Step {
	c.quiet()
	left := session.Stopped(ctx, bridge.Unknown)
	if !f.x.alone && left.Reason == bridge.Timeout {
		left = awaiting()
	}
	bounded, done := farewell()
	defer done()
	f.sent.cancel(bounded)
	select {
	case <-f.sent.answer:
		f.n.busy.Delete(f.of)
	case <-bounded.Done():
		go func() { // ends with the call, the document or the page
			<-f.sent.answer
			f.n.busy.Delete(f.of)
		}()
	}
	return left.Step()
}

// leadsOn returns the submission that is to be followed: the page's script took the submit, or
// another document came. It is nil where the browser's answer is all there is.
func (c *call) leadsOn(a nativeAnswer) *submission {
	sub := &submission{doc: c.doc, origin: c.doc.origin, since: c.since, after: c.since}
	switch {
	case !c.watches:
		return nil
	case strings.Contains(a.ErrorText, "preventDefault()"):
		sub.handled, sub.after = true, a.after
	case !a.left || a.Status != webmcp.InvocationStatusCompleted:
		return nil
	}
	c.leads = true
	return sub
}

// rejectedText is the browser's error when a page refused a form's call; the
// page's own words are not passed on.
const rejectedText = "respondWith promise was rejected"

// rejection asks the page script for them.
func (n *native) rejection(ctx context.Context, d *document) string {
	bounded, cancel := context.WithTimeout(ctx, busyPatience)
	defer cancel()
	text, _, err := d.evaluate(bounded, shim.Rejection(n.name))
	if err != nil || text == "" {
		return rejectedText
	}
	return text
}

// formAnswer turns how a form's call went on into a result or an error.
func formAnswer(d *document, inv session.Invocation, a nativeAnswer) bridge.Step {
	step := bridge.Step{Document: d.id, Revision: d.newest.Load()}
	switch {
	case a.lost:
		step.Err = d.lost(bridge.Unknown)
	case a.left && a.Status != webmcp.InvocationStatusCompleted,
		strings.Contains(a.ErrorText, "cross-origin navigation"):
		step.Err = navigatedError(errNoFrame)
	case a.refused != nil:
		step.Err = gone()
		step.Err.Err = errors.Join(step.Err.Err, a.refused)
	case a.Status != webmcp.InvocationStatusCompleted:
		step.Err = formError(a)
	case inv.MaxBytes > 0 && len(a.Output) > inv.MaxBytes:
		step.Err = bridge.TooLarge()
	case len(a.Output) == 0:
		step.Data = json.RawMessage("null")
	default:
		step.Data = json.RawMessage(a.Output)
	}
	return step
}

// formError returns the error of a failed form. One that was cancelled, or that prevented
// its submit without an answer, may have been sent.
func formError(a nativeAnswer) *bridge.Error {
	outcome, reason := bridge.Failed, bridge.Reason("")
	if strings.HasPrefix(a.ErrorText, "Form validation failed") {
		reason = bridge.NotSubmitted
	}
	if a.Status == webmcp.InvocationStatusCanceled ||
		strings.Contains(a.ErrorText, "preventDefault()") {
		outcome = bridge.Unknown
	}
	name, message := "", a.ErrorText
	if a.Exception != nil {
		name, message = thrown(a.Exception)
	}
	message = cmp.Or(message, "The form did not answer.")
	return bridge.Errorf(bridge.ToolError, reason, outcome, "%s", message).Detail("name", name)
}

// maxThrown bounds what is reported of an exception.
const maxThrown = 16 << 10

// thrown returns the name and the message of an exception, without the stack that
// the browser writes below them.
func thrown(x *runtime.RemoteObject) (name, message string) {
	if x.Type == "string" {
		_ = jsonv2.Unmarshal(x.Value, &message)
	} else {
		words, _, _ := strings.Cut(x.Description, "\n    at ")
		name, message, _ = strings.Cut(words, ": ")
		if message == "" {
			name, message = "", words
		}
	}
	return name, text.Bytes(message, maxThrown)
}
