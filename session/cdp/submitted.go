package cdp

import (
	"context"
	"errors"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/shim"
)

// submission is a form that a call submitted plainly: its result is the JSON-LD of
// the document that comes. It travels as the error of an answer without a result.
type submission struct {
	doc    *document // that had the form
	origin string    // of doc
	target string    // where the answer goes, as the form has it
	after  int64     // events that came before
	frame  *frame    // where the answer goes; the owner's
	found  chan arrival
}

// arrival is the document that answers a submission, or why none does.
type arrival struct {
	doc *document
	err *bridge.Error
}

// follow waits for the document that answers a submission, and gives its JSON-LD.
// A document that leads to another one at once is not the answer.
func (t *tab) follow(ctx context.Context, sub *submission, maxBytes int) bridge.Step {
	for {
		sub.found = make(chan arrival, 1)
		select {
		case t.submissions <- sub:
		case <-t.target.Gone():
			return goneError(t.target.Reason(), bridge.Unknown).Step()
		case <-ctx.Done():
			return stopped(ctx, bridge.Unknown).Step()
		}
		var a arrival
		select {
		case a = <-sub.found:
		case <-t.target.Gone():
			return goneError(t.target.Reason(), bridge.Unknown).Step()
		case <-ctx.Done():
			return stopped(ctx, bridge.Unknown).Step()
		}
		if a.err != nil {
			return a.err.Step()
		}
		text, after, err := a.doc.evaluate(ctx, shim.Structured(t.name, maxBytes))
		if err == nil {
			return t.structured(a.doc, text)
		}
		if _, ours := errors.AsType[*scriptError](err); ours || after == 0 {
			return t.unanswered(ctx, a.doc, err).Step()
		}
		sub.doc, sub.target, sub.after = a.doc, "", after
	}
}

// structured reads the answer of a document.
func (t *tab) structured(d *document, text string) bridge.Step {
	r, err := shim.DecodeReply(text)
	if err != nil {
		return bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.Unknown, "The page's answer cannot be read.").With(err).Step()
	}
	return outcome(d, r)
}

// unanswered says why a document could not be asked.
func (t *tab) unanswered(ctx context.Context, d *document, err error) *bridge.Error {
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, bridge.Unknown)
	case d.target.Reason() != nil:
		return t.lost(d, bridge.Unknown)
	}
	return noAnswer("The form was submitted, and the page that came cannot be read.", err)
}

// noAnswer ends a call whose form was submitted: nobody knows what came of it.
func noAnswer(text string, cause error) *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown, "%s", text).With(cause)
}

// unread is what comes of a form whose target is no frame of the page, or none
// any more.
func unread() arrival {
	return arrival{err: noAnswer("The form was submitted into another window or frame, whose page is not read.", nil)}
}

// submitted takes a submission. The document that answers it may be there already.
func (t *tab) submitted(s *ownerState, sub *submission) {
	t.catchUp(s, sub.after)
	from := sub.doc.frame
	sub.frame = from
	switch sub.target {
	case "", "_self":
	case "_parent":
		if from.parent != nil {
			sub.frame = from.parent
		}
	case "_top":
		for sub.frame.parent != nil {
			sub.frame = sub.frame.parent
		}
	default:
		sub.frame = nil
		for _, f := range s.frames {
			if f.name == sub.target {
				sub.frame = f
			}
		}
	}
	if sub.frame == nil {
		sub.found <- unread()
		return
	}
	s.submitted = append(s.submitted, sub)
	t.answerSubmissions(s)
}

// answerSubmissions ends the submissions that something came of.
func (t *tab) answerSubmissions(s *ownerState) {
	open := s.submitted[:0]
	for _, sub := range s.submitted {
		if a := s.answer(sub); a != (arrival{}) {
			sub.found <- a
		} else {
			open = append(open, sub)
		}
	}
	clear(s.submitted[len(open):])
	s.submitted = open
}

// answer gives what came of a submission, nothing as long as that is open.
func (s *ownerState) answer(sub *submission) arrival {
	f := sub.frame
	d := f.doc
	switch {
	case s.frames[f.id] != f:
		return unread()
	case d == nil:
	case d.began <= sub.after && f.stopped > sub.after:
		return arrival{err: noAnswer("The form was submitted, and no page came in answer.", nil)}
	case d.began <= sub.after:
	case d.failed:
		return arrival{err: noAnswer("The form was submitted, and its address cannot be reached.", nil)}
	case d.origin != sub.origin:
		return arrival{err: noAnswer("Cannot return tool results after a cross-origin navigation.", nil)}
	case d.policy == denied:
		return arrival{err: noAnswer("The form was submitted, and the page that came may not offer tools.", nil)}
	case d.ready && f.stopped > d.began: // else it may still lead on
		return arrival{doc: d}
	}
	return arrival{}
}

// mayAnswer heeds the events that can end a submission. One that brought no
// document until its frame loads nothing any more brings none.
func (t *tab) mayAnswer(s *ownerState, msg *cdproto.Message) {
	switch msg.Method {
	case cdproto.EventPageFrameStoppedLoading:
		var ev page.EventFrameStoppedLoading
		if decode(msg, &ev) && s.frames[ev.FrameID] != nil {
			s.frames[ev.FrameID].stopped = s.handled
		}
	case cdproto.EventPageFrameNavigated, cdproto.EventPageFrameDetached, cdproto.EventTargetDetachedFromTarget:
	default:
		return
	}
	t.answerSubmissions(s)
}

// awaiting is the outcome of a form without toolautosubmit that nobody submitted.
func awaiting() *bridge.Error {
	return bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed,
		"The form is filled in, and was not submitted: a person has to do that, because it has no toolautosubmit.")
}
