package cdp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// interactionPatience limits how long an interaction may go on after a dialog in it
// was answered, before a person is asked to act in it again.
const interactionPatience = 100 * time.Millisecond

// call is a call to a document that has not ended. The goroutine that waits for it
// reads and writes it, one at a time.
type call struct {
	of       *calls
	doc      *document
	id       string
	caller   string // whose call it is
	maxBytes int
	progress func(bridge.Progress)                 // of a result in parts; nil: nobody listens
	ch       <-chan wire.Reply                     // what the page says next
	dialogs  chan *dialog                          // that the page opened in the call
	place    shim.Place                            // as the page script says; guarded by of.mu
	cancel   atomic.Pointer[func(context.Context)] // ends what the page script does not know
	// interacts is true when the page waits for a person to act in it, as far as
	// we know.
	interacts bool

	// Of a call of a form: events of the page before it, whether what the page does is noted for
	// it, and whether that goes on when the page script has answered.
	since          int64
	watches, leads bool
	native         *formCall // set when it went through the browser's own WebMCP

	waited bool // the page was asked what the call says next

	saves, far int64 // the links that it clicked and that save something, and something of a server

	// left is a dialog that the call has given up, and that is another's to answer.
	left *dialog

	// What came while a question was open.
	early *early
	next  *dialog
}

// early is a message of the page that came while a question was open.
type early struct {
	reply wire.Reply
	ok    bool
}

// answer holds the page's answer to a call: its step, or that it stopped for a person or
// submitted a form.
type answer struct {
	bridge.Step

	asks, form bool
	partial    bool // parts of the result came, and it goes on
	submitted  *submission
}

func failed(e *bridge.Error) answer { return answer{Step: e.Step()} }

// dispatched waits for the first step of a call whose answer comes on the channel, and
// that failed to be sent with an error.
func (c *call) dispatched(ctx context.Context, ch <-chan wire.Reply, err error) bridge.Step {
	if err != nil {
		c.end()
		return c.notSent(ctx).Step()
	}
	c.ch = ch
	return c.wait(ctx)
}

// notSent says why a call was not sent.
func (c *call) notSent(ctx context.Context) *bridge.Error {
	if c.doc.target.Reason() != nil {
		return c.doc.lost(bridge.NotRun)
	}
	return session.Stopped(ctx, bridge.NotRun)
}

func (c *call) end() {
	if !c.leads {
		c.unwatchForm()
	}
	c.quiet()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.count--
}

// quiet dismisses the dialogs of a call that nobody waits for any more.
func (c *call) quiet() {
	c.of.mu.Lock()
	c.of.list = slices.DeleteFunc(c.of.list, func(x *call) bool { return x == c })
	c.of.mu.Unlock()
	select {
	case d := <-c.dialogs:
		c.leave(d)
	default:
	}
}

// leave gives up a dialog.
func (c *call) leave(d *dialog) {
	d.leave()
	if d.among > 0 {
		c.left = d
	}
}

// wait waits for what comes next: the call's end, a question, or ctx's end.
func (c *call) wait(ctx context.Context) bridge.Step {
	var remind <-chan time.Time
	if c.interacts {
		timer := time.NewTimer(interactionPatience)
		defer timer.Stop()
		remind = timer.C
	}
	for {
		select {
		case r, ok := <-c.ch:
			if a := c.heard(ctx, r, ok); !a.partial {
				return c.said(ctx, a)
			}
		case d := <-c.dialogs:
			return c.askDialog(d)
		case <-remind:
			remind, c.interacts = nil, false
			_, _ = c.doc.send(ctx, shim.Remind(c.of.name, c.id))
		case <-ctx.Done():
			step := c.giveUp(ctx)
			c.end()
			return step
		}
	}
}

// heard reads what the page said. When those are parts of the result, it listens for what comes
// next.
func (c *call) heard(ctx context.Context, r wire.Reply, ok bool) answer {
	a := c.read(ctx, r, ok)
	if a.partial && c.listen(ctx) != nil {
		return failed(c.doc.lost(bridge.Unknown))
	}
	return a
}

// listen asks a call that goes on what it says next.
func (c *call) listen(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	ch, err := c.doc.send(bounded, shim.Wait(c.of.name, c.id, c.doc.revision.Load()))
	if err == nil {
		c.ch, c.waited = ch, true
	}
	return err
}

// said takes an answer of the page that ends the call or asks: no partial one.
func (c *call) said(ctx context.Context, a answer) bridge.Step {
	if a.asks {
		return c.asked(ctx, a.form)
	}
	c.doc.ids.put(c.id)
	c.leads = a.submitted != nil
	c.end()
	if a.submitted != nil {
		return c.follow(ctx, a.submitted)
	}
	return a.Step
}

// read reads the answer of a dispatched call.
func (c *call) read(ctx context.Context, r wire.Reply, ok bool) answer {
	switch {
	case !ok:
		return failed(c.doc.lost(bridge.Unknown))
	case r.Error != nil:
		return failed(c.doc.leftBy(ctx, r.Error))
	}
	var res evaluateResult
	if err := jsonv2.Unmarshal(r.Result, &res, chromedp.DefaultUnmarshalOptions); err != nil {
		return failed(unreadable("The browser's answer cannot be read.", err))
	}
	text, err := res.text()
	if e, ok := errors.AsType[*scriptError](err); ok && e.missing(c.of.name) { // nothing ran
		none := gone()
		none.Err = errors.Join(none.Err, err)
		return failed(none)
	}
	if err != nil {
		return failed(unreadable("The call was interrupted.", err))
	}
	said, err := shim.DecodeReply(text)
	switch {
	case err != nil:
		return failed(unreadable("The page's answer cannot be read.", err))
	case said.State != nil:
		c.of.tasks.add(ctx, r.After, func() { c.of.watcher.changed(c.doc, said.State) })
	}
	c.saves, c.far = said.Saves, said.Far
	if said.Parts > 0 && c.progress != nil {
		c.progress(bridge.Progress{Parts: said.Parts, Last: said.Last})
	}
	if said.Kind == shim.Partial {
		return answer{partial: true}
	}
	if said.Kind == shim.Asking {
		return answer{asks: true, form: said.Name == "form"}
	}
	if said.Kind == shim.Submitted || said.Kind == shim.Handled {
		form := &submission{doc: c.doc, origin: c.doc.origin, target: said.Message, handled: said.Kind == shim.Handled,
			since: c.since, after: r.After}
		return answer{submitted: form}
	}
	return c.ended(ctx, said)
}

// ended reads the end of a call.
func (c *call) ended(ctx context.Context, said *shim.Reply) answer {
	switch said.Kind {
	case shim.Invalid, shim.TooLarge: // of a result in parts there may be more, which is not wanted
		if aborted, err := c.doc.send(ctx, shim.Abort(c.of.name, c.id, "")); err == nil {
			c.of.leaves(aborted)
		}
	case shim.Gone:
		switch {
		case said.Name == shim.PastEpoch && !c.waited:
			return failed(session.OtherOwner())
		case said.Name == shim.PastEpoch:
			return failed(bridge.LostNode())
		case c.waited: // it began: the page knows no more of it
			return failed(navigatedError(nil))
		}
	case shim.Aborted:
		if c.of.closing.Load() {
			return failed(goneError(errOurs, bridge.Unknown))
		}
	default:
	}
	return answer{Step: outcome(c.doc, said)}
}

func unreadable(text string, cause error) *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.Unknown,
		"%s", text).With(cause)
}

// outcome turns the page script's answer into a result or an error.
func outcome(d *document, r *shim.Reply) bridge.Step {
	s := bridge.Step{Document: d.id, Revision: r.Revision * revisions}
	if r.Kind == shim.OK {
		s.Data = r.Payload
	} else {
		s.Err = refused(r)
	}
	return s
}

// refused makes the error of a call that failed.
func refused(r *shim.Reply) *bridge.Error {
	switch r.Kind {
	case shim.Gone:
		return gone()
	case shim.Invalid:
		return bridge.Errorf(bridge.ToolError, bridge.ResultInvalid, bridge.Unknown,
			"The tool's result cannot be encoded: %s.", strings.TrimSuffix(r.Message, "."))
	case shim.TooLarge:
		if parts, ok := strings.CutPrefix(r.Message, "parts: "); ok {
			return bridge.Errorf(bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown, "The parts of the tool's result are too many, or too large: %s.", parts)
		}
		return bridge.TooLarge()
	case shim.Unhandled:
		return bridge.Errorf(bridge.ToolError, "", bridge.Failed,
			"No listener of the page answered the call.")
	case shim.Aborted:
		return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The call was aborted.")
	case shim.Awaiting:
		return awaiting()
	case shim.Unsubmitted:
		return bridge.Errorf(bridge.ToolError, bridge.NotSubmitted, bridge.Failed, "%s", r.Message)
	case shim.Unsure:
		return bridge.Errorf(bridge.ToolError, "", bridge.Unknown, "%s", r.Message)
	case shim.OK, shim.Failed, shim.Submitted, shim.Handled, shim.Asking, shim.Partial:
	}
	message := cmp.Or(r.Message, "The tool failed without saying why.")
	return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", message).Detail("name", r.Name)
}

// giveUp ends a call whose time is over or whose caller left: the page gets
// an abort, is interrupted, and at last closed. A reply that was on its way still counts when
// the deadline passed, and not when the caller left.
func (c *call) giveUp(ctx context.Context) bridge.Step {
	c.quiet() // a dialog would keep the page from hearing it
	left := session.Stopped(ctx, bridge.Unknown)
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	aborted, err := c.doc.send(bounded, shim.Abort(c.of.name, c.id, left.Message))
	if err != nil {
		return left.Step()
	}
	c.of.leaves(aborted)
	if c.left != nil && c.left.isOpen() { // the page hears of it when that is answered
		return left.Step()
	}
	if a, came := c.last(bounded); came {
		if a.asks || a.submitted != nil || left.Code == bridge.Cancelled ||
			a.Err != nil && (a.Err.Code == bridge.Cancelled || c.interacts) {
			return left.Step()
		}
		return a.Step
	}
	if !c.of.owns() {
		return left.Step()
	}
	revive(c.doc.target)
	// What was interrupted may be the abort itself: the tool still has to hear it.
	again, cancelAgain := farewell()
	defer cancelAgain()
	_, _ = c.doc.send(again, shim.Abort(c.of.name, c.id, left.Message))
	return left.Step()
}

// last returns the end of a call, when it comes within ctx.
func (c *call) last(ctx context.Context) (answer, bool) {
	for {
		select {
		case r, ok := <-c.ch:
			if a := c.heard(ctx, r, ok); !a.partial {
				return a, true
			}
		case <-ctx.Done():
			return answer{}, false
		}
	}
}

// invoker is the way in which calls reach the tools of a page.
type invoker interface {
	// invoke dispatches a call once, and waits for its first step.
	invoke(ctx context.Context, c *call, inv session.Invocation) bridge.Step
	// commands prepare a target for it, and ready says why a page cannot have it.
	commands() []wire.Command
	ready(ctx context.Context, s *wire.Session) error
	// event handles an event of the page that is only its own. The owner calls it.
	event(from *wire.Session, msg *cdproto.Message)
	// complete adds to the tools of a document what its page script does not know.
	// The owner calls it.
	complete(d *document, set *session.ToolsChanged)
}

// script is the invoker through the page script: one evaluation is one call.
type script struct {
	name     string // of the page script
	epoch    int64  // of the page's owner; 0 is none
	as       string // the name, as the owner of the epoch has it
	attended bool   // somebody can be at the page
}

var _ invoker = (*script)(nil)

func (x *script) invoke(ctx context.Context, c *call, inv session.Invocation) bridge.Step {
	if forms := c.doc.forms.Load(); forms != nil && (*forms)[inv.Tool] {
		c.watchForm(ctx)
	}
	text := shim.Call(x.as, c.id, inv.Tool, inv.Input, inv.MaxBytes, c.doc.revision.Load())
	ch, err := c.doc.send(ctx, text)
	return c.dispatched(ctx, ch, err)
}

func (x *script) commands() []wire.Command {
	source := shim.Source(x.name)
	if x.attended {
		source = shim.SourceAttended(x.name)
	}
	commands := []wire.Command{addScript(source)}
	if x.epoch > 0 {
		commands = append(commands, addScript(shim.Own(x.name, x.epoch)))
	}
	return commands
}

// addScript puts a script into every document before its own ones.
func addScript(source string) wire.Command {
	return wire.Command{Method: page.CommandAddScriptToEvaluateOnNewDocument,
		Params: page.AddScriptToEvaluateOnNewDocumentParams{Source: source}}
}

func (*script) ready(context.Context, *wire.Session) error { return nil }

func (*script) event(*wire.Session, *cdproto.Message) {}

func (*script) complete(*document, *session.ToolsChanged) {}
