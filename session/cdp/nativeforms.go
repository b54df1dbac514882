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

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// form calls a form, of which only the browser knows.
func (n *native) form(ctx context.Context, c *call, x nativeTool,
	inv session.Invocation) bridge.Step {
	if !x.alone && !n.attended {
		// The browser would wait without a word.
		return bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed,
			"A person has to submit the form, because it has no toolautosubmit, and nobody can be at this page.").Step()
	}
	of := registration{c.doc, inv.Tool}
	if _, busy := n.busy.LoadOrStore(of, true); busy {
		// A second call would make the browser forget the first without a word.
		return bridge.Errorf(bridge.Conflict, "", bridge.NotRun,
			"The form is being filled by another call.").Step()
	}
	input := inv.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	c.watchForm(ctx)
	_, _, _ = c.doc.evaluate(ctx, shim.Expect(n.name, x.name)) // a document that goes away is told by the call
	sent, err := n.dispatch(ctx, c.doc, x, input)
	if err != nil {
		n.busy.Delete(of)
		return c.notSent(ctx).Step()
	}
	return n.formEnds(ctx, c, x, inv, sent)
}

// formEnds waits for what becomes of a form's call.
func (n *native) formEnds(ctx context.Context, c *call, x nativeTool, inv session.Invocation,
	sent *nativeCall) bridge.Step {
	of := registration{c.doc, inv.Tool}
	cancel := sent.cancel
	c.cancel.Store(&cancel)
	submits := make(chan *submission, 1)
	listening, stop := context.WithCancel(ctx)
	defer stop()
	go n.submits(listening, c, x.name, submits) // ends with the call
	select {
	case sub := <-submits:
		c.quiet() // a dialog would keep the page from going on
		c.leads = true
		step := c.follow(ctx, sub)
		bounded, done := farewell()
		defer done()
		cancel(bounded) // the browser may wait for a document, and does not always say that it stops
		n.busy.Delete(of)
		return step
	case a := <-sent.answer:
		n.busy.Delete(of)
		if a.ErrorText == rejectedText {
			a.ErrorText = n.rejection(ctx, c.doc)
		}
		if sub := c.leadsOn(a); sub != nil {
			return c.follow(ctx, sub)
		}
		return formAnswer(c.doc, inv, a)
	case <-ctx.Done():
	}
	left := session.Stopped(ctx, bridge.Unknown)
	if !x.alone && left.Reason == bridge.Timeout {
		left = awaiting()
	}
	bounded, done := farewell()
	defer done()
	cancel(bounded)
	select {
	case <-sent.answer:
		n.busy.Delete(of)
	case <-bounded.Done():
		go func() { // ends with the call, the document or the page
			<-sent.answer
			n.busy.Delete(of)
		}()
	}
	return left.Step()
}

// submits waits until the form of a call submits itself, and no script of the page took that.
func (n *native) submits(ctx context.Context, c *call, name string, out chan<- *submission) {
	said, after, err := c.doc.evaluate(ctx, shim.Submission(n.name, name))
	if target, ok := strings.CutPrefix(said, shim.SubmissionPrefix); err == nil && ok {
		out <- &submission{doc: c.doc, origin: c.doc.origin, target: target, since: c.since, after: after}
	}
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
