package cdp

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// submission is a form that a call submitted: the document that comes answers it, or, where a
// script of the page took the submit, what that did.
type submission struct {
	doc     *document // that had the form
	origin  string    // of doc
	target  string    // where the answer goes, as the form has it
	handled bool      // by a script of the page
	since   int64     // events that came before the call
	after   int64     // events that came before the submit was told
	told    time.Time // when it was
	led     bool      // on, by a document that came
	frame   *frame    // where the answer goes; the owner's
	found   chan arrival
}

// arrival says what became of a submission: the document that answers it, a response without one,
// that what a script started is quiet, or why nothing comes.
type arrival struct {
	doc    *document
	status int // of doc's response; 0 when it is not known
	alone  *request
	quiet  bool
	err    *bridge.Error
}

// settleEvery says how often a submission is looked at while nothing happens: some waits end with
// time.
const settleEvery = 250 * time.Millisecond

// follow waits for what becomes of a submission, and returns what the page says of it. A document
// that leads to another one at once is not the answer.
func (c *call) follow(ctx context.Context, sub *submission) bridge.Step {
	defer c.unwatchForm()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	began := time.Now()
	sub.told = began
	for {
		sub.found = make(chan arrival, 1)
		c.of.tasks.add(ctx, sub.after, func() { c.of.submissions.add(sub) })
		var a arrival
		for waiting := true; waiting; {
			select {
			case a = <-sub.found:
				waiting = false
			case <-tick.C:
				c.of.tasks.add(ctx, 0, func() {}) // which settles
			case <-c.of.tasks.gone:
				return goneError(c.doc.target.Page().Reason(), bridge.Unknown).Step()
			case <-ctx.Done():
				c.of.tasks.add(context.WithoutCancel(ctx), 0, func() { c.of.submissions.drop(sub) })
				return session.Stopped(ctx, bridge.Unknown).Step()
			}
		}
		switch {
		case a.err != nil:
			return a.err.Step()
		case a.alone != nil:
			return withoutContent(c.doc, a.alone)
		case a.quiet:
			if step, ok := c.quietened(ctx, sub, began); ok {
				return step
			}
			continue
		}
		said, after, err := a.doc.inWorld(ctx, shim.Read(c.maxBytes))
		if err == nil {
			p, err := shim.DecodePage(said)
			if err != nil {
				return unreadable("The page's answer cannot be read.", err).Step()
			}
			var heard []string
			if c.of.tasks.ask(ctx, after, func() { heard = c.of.traffic.alerts(c.since) }) {
				p.Alerts = append(p.Alerts, heard...)
			}
			return loaded(a.doc, p, a.status)
		}
		if _, ours := errors.AsType[*scriptError](err); ours || after == 0 && a.doc.target.Reason() != nil {
			return unanswered(ctx, a.doc, err).Step()
		}
		// It leads on. The document in its place may have come before the failure to read was told.
		sub.doc, sub.target, sub.handled = a.doc, "", false
		sub.since, sub.after = max(sub.after, a.doc.began), max(sub.after, a.doc.began)
		sub.told, sub.led = time.Now(), true
	}
}

// quietened reads what a document says of a submit that its script took. ok is false when something
// began meanwhile, or may still begin.
func (c *call) quietened(ctx context.Context, sub *submission, began time.Time) (s bridge.Step, ok bool) {
	said, after, err := c.doc.inWorld(ctx, shim.Settle(settledAfter, quietPatience, c.maxBytes))
	if err != nil {
		if ctx.Err() != nil {
			return session.Stopped(ctx, bridge.Unknown).Step(), true
		}
		select { // the document goes away, and another one comes
		case <-c.doc.gone:
			return s, false
		case <-c.doc.target.Gone():
		case <-time.After(commitPatience):
		}
		return unanswered(ctx, c.doc, err).Step(), true
	}
	p, err := shim.DecodePage(said)
	if err != nil {
		return unreadable("The page's answer cannot be read.", err).Step(), true
	}
	var sent []request
	var heard, did []string
	var leads, open bool
	if !c.of.tasks.ask(ctx, after, func() {
		sent, open = c.of.traffic.scripted(sub.frame.id, sub.since, sub.told)
		heard, did = c.of.traffic.alerts(sub.since), c.of.traffic.done(sub.since)
		leads = len(c.of.traffic.loads(sub.frame.id, sub.since)) > 0 || sub.frame.leads(sub)
	}) {
		if ctx.Err() != nil {
			return session.Stopped(ctx, bridge.Unknown).Step(), true
		}
		return goneError(c.doc.target.Page().Reason(), bridge.Unknown).Step(), true
	}
	p.Alerts = append(p.Alerts, heard...)
	for _, what := range did {
		if !slices.Contains(p.Changed, what) {
			p.Changed = append(p.Changed, what)
		}
	}
	sent = slices.DeleteFunc(sent, func(r request) bool { return !r.changes() && slices.Contains(p.Polls, shim.Numberless(r.url)) })
	patience := time.Duration(0)
	switch {
	case len(sent)+len(p.Alerts)+len(p.Invalid)+len(p.Changed) == 0:
		patience = idlePatience
	case len(p.Alerts)+len(p.Invalid) == 0 && (p.Busy == "says" || p.Busy == "button" && !slices.ContainsFunc(sent, request.changes)):
		patience = busyPage
	}
	unsure := p.Unsure && len(sent)+len(p.Alerts)+len(p.Invalid)+len(did) == 0
	if leads || open || unsure || time.Since(began) < patience {
		return s, false
	}
	fault := ""
	if !slices.ContainsFunc(sent, request.changes) {
		fault, _, _ = c.doc.evaluate(ctx, shim.Fault(c.of.name)) // a document that goes away says none
	}
	return handled(c.doc, p, sent, text.Bytes(fault, maxAlert)), true
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

// submissions holds forms of which it is not known yet what became of them. Only the owner uses it.
type submissions struct {
	frames  *frames
	traffic *traffic
	open    []*submission
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

// drop gives up a submission.
func (ss *submissions) drop(sub *submission) {
	ss.open = slices.DeleteFunc(ss.open, func(one *submission) bool { return one == sub })
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

// otherPatience bounds the time between a load that was given up and one in its place.
const otherPatience = 300 * time.Millisecond

// loadPatience bounds the time for which a document that is there loads before it counts as the
// answer.
const loadPatience = 5 * time.Second

// answer returns what came of a submission, nothing as long as that is open.
func (ss *submissions) answer(sub *submission) arrival {
	f := sub.frame
	d := f.doc
	switch {
	case ss.frames.all[f.id] != f:
		return unread()
	case d == nil:
	case d.began <= sub.after:
		return ss.withoutDocument(sub)
	case d.failed:
		return ss.unloaded(sub)
	case d.origin != sub.origin:
		return arrival{err: noAnswer("Cannot return tool results after a cross-origin navigation.",
			nil)}
	case d.policy == denied:
		return arrival{err: noAnswer("The form was submitted, and the page that came may not offer tools.", nil)}
	case d.ready && (f.stopped > d.began || time.Since(d.at) > loadPatience): // else it may still lead on
		return arrival{doc: d, status: ss.status(d)}
	}
	return arrival{}
}

// withoutDocument is answer as long as the frame shows what it did before. Only the end of a load
// that began with the call says that no document comes: the browser stops a load that was under way
// before it begins the next.
func (ss *submissions) withoutDocument(sub *submission) arrival {
	f := sub.frame
	loads := ss.traffic.loads(f.id, sub.since)
	if len(loads) == 0 {
		_, open := ss.traffic.scripted(f.id, sub.since, sub.told)
		idle := f == sub.doc.frame && time.Since(sub.told) > idlePatience
		stays := sub.handled || !sub.led && (f.moved > sub.since || idle) && !f.leads(sub)
		switch {
		case !sub.handled && f.moved <= sub.since && f.started > sub.since && f.stopped > f.started: // without a request
			return arrival{err: noAnswer("The form was submitted, and no page came in answer.", nil)}
		case stays && !open: // a script of the page took the submit, or the navigation that it led to
			return arrival{quiet: true}
		}
		return arrival{}
	}
	last := loads[len(loads)-1]
	next := f.started > last.began || f.requested > f.started && time.Since(f.asked) < loadPatience
	switch {
	case !last.failed, next, last.status == 0 && !last.given: // a document comes, or the browser's own
		return arrival{}
	case last.status != 0:
		return arrival{alone: last}
	case time.Since(last.at) < otherPatience: // the page may have given it up for another one
		return arrival{}
	}
	return arrival{err: noAnswer("The form was submitted, and no page came in answer.", nil)}
}

// leads reports whether a submission may still lead the frame to another document: the browser was
// asked to go there, and has not begun.
func (f *frame) leads(sub *submission) bool {
	return f.requested > sub.since && f.moved < f.requested && f.stopped < f.requested && time.Since(f.asked) < loadPatience
}

// unloaded is answer for the browser's own page, in place of one that did not come.
func (ss *submissions) unloaded(sub *submission) arrival {
	loads := ss.traffic.loads(sub.frame.id, sub.since)
	if len(loads) > 0 && loads[len(loads)-1].status != 0 {
		return arrival{alone: loads[len(loads)-1]}
	}
	return arrival{err: noAnswer("The form was submitted, and the site did not answer.", nil)}
}

// status returns the status of the response that a document came with, 0 when it was not seen.
func (ss *submissions) status(d *document) int {
	for _, r := range ss.traffic.all {
		if string(r.id) == d.id {
			return r.status
		}
	}
	return 0
}

// awaiting is the outcome of a form without toolautosubmit that nobody submitted.
func awaiting() *bridge.Error {
	return bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed,
		"The form is filled in, and was not submitted: a person has to do that, because it has no toolautosubmit.")
}
