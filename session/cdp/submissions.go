package cdp

import (
	"context"
	"errors"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// submission is a form that a call submitted plainly: its result is the JSON-LD of
// the document that comes.
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

// follow waits for the document that answers a submission, and returns its JSON-LD.
// A document that leads to another one at once is not the answer.
func (c *call) follow(ctx context.Context, sub *submission) bridge.Step {
	for {
		sub.found = make(chan arrival, 1)
		c.of.tasks.add(ctx, sub.after, func() { c.of.submissions.add(sub) })
		var a arrival
		select {
		case a = <-sub.found:
		case <-c.of.tasks.gone:
			return goneError(c.doc.target.Page().Reason(), bridge.Unknown).Step()
		case <-ctx.Done():
			return session.Stopped(ctx, bridge.Unknown).Step()
		}
		if a.err != nil {
			return a.err.Step()
		}
		text, after, err := a.doc.evaluate(ctx, shim.Structured(c.of.name, c.maxBytes))
		if err == nil {
			r, err := shim.DecodeReply(text)
			if err != nil {
				return unreadable("The page's answer cannot be read.", err).Step()
			}
			return outcome(a.doc, r)
		}
		if _, ours := errors.AsType[*scriptError](err); ours || after == 0 {
			return unanswered(ctx, a.doc, err).Step()
		}
		sub.doc, sub.target, sub.after = a.doc, "", after
	}
}

// unanswered says why a document could not be asked.
func unanswered(ctx context.Context, d *document, err error) *bridge.Error {
	switch {
	case ctx.Err() != nil:
		return session.Stopped(ctx, bridge.Unknown)
	case d.target.Reason() != nil:
		return d.lost(bridge.Unknown)
	}
	return noAnswer("The form was submitted, and the page that came cannot be read.", err)
}

// noAnswer ends a call whose form was submitted: nobody knows what came of it.
func noAnswer(text string, cause error) *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown,
		"%s", text).With(cause)
}

// unread returns the arrival of a form whose target is not a frame of the page, or not
// any more.
func unread() arrival {
	return arrival{err: noAnswer("The form was submitted into another window or frame, whose page is not read.", nil)}
}

// submissions holds forms that no document answered yet. Only the owner uses it.
type submissions struct {
	frames *frames
	open   []*submission
}

// add takes a submission. The document that answers it may be there already.
func (ss *submissions) add(sub *submission) {
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
		for _, f := range ss.frames.all {
			if f.name == sub.target {
				sub.frame = f
			}
		}
	}
	if sub.frame == nil {
		sub.found <- unread()
		return
	}
	ss.open = append(ss.open, sub)
}

// settle ends the submissions that something came of.
func (ss *submissions) settle() {
	ss.open = slices.DeleteFunc(ss.open, func(sub *submission) bool {
		a := ss.answer(sub)
		if a != (arrival{}) {
			sub.found <- a
		}
		return a != (arrival{})
	})
}

// answer returns what came of a submission, nothing as long as that is open. One that
// brought no document until its frame loads nothing any more brings none.
func (ss *submissions) answer(sub *submission) arrival {
	f := sub.frame
	d := f.doc
	switch {
	case ss.frames.all[f.id] != f:
		return unread()
	case d == nil:
	case d.began <= sub.after && f.stopped > sub.after:
		return arrival{err: noAnswer("The form was submitted, and no page came in answer.", nil)}
	case d.began <= sub.after:
	case d.failed:
		return arrival{err: noAnswer("The form was submitted, and its address cannot be reached.",
			nil)}
	case d.origin != sub.origin:
		return arrival{err: noAnswer("Cannot return tool results after a cross-origin navigation.",
			nil)}
	case d.policy == denied:
		return arrival{err: noAnswer("The form was submitted, and the page that came may not offer tools.", nil)}
	case d.ready && f.stopped > d.began: // else it may still lead on
		return arrival{doc: d}
	}
	return arrival{}
}

// awaiting is the outcome of a form without toolautosubmit that nobody submitted.
func awaiting() *bridge.Error {
	return bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed,
		"The form is filled in, and was not submitted: a person has to do that, because it has no toolautosubmit.")
}
