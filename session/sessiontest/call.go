package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// Call is one run of a tool of a fake document.
type Call struct {
	// Document says where the tool was registered.
	Document *Document
	// Input is the arguments as they crossed.
	Input json.RawMessage

	tool   string
	caller string
	moves  int64           // of the document before
	within bool            // it asks inside of an interaction
	ctx    context.Context // it is the page's AbortSignal
	once   sync.Once
	done   chan struct{}
	asks   chan asks

	result json.RawMessage
	err    *bridge.Error
}

// Ways in which a tool may end besides a result. The tool threw any other error.
var (
	// ErrInvalid is a result that has no JSON.
	ErrInvalid = errors.New("circular reference")
	// ErrUnhandled is a call that nobody answered.
	ErrUnhandled = errors.New("unhandled")
	// ErrAwaiting is a form that a person has to submit.
	ErrAwaiting = errors.New("awaiting a person")
)

// asks is a question of a page, and where its answer goes.
type asks struct {
	question bridge.Question
	over     <-chan struct{}
	ended    <-chan struct{} // closed when somebody answered it
	answer   chan *bridge.Answer
}

// Ask stops the call for a person. The answer is nil when there is none: the
// page's question was over, or the call was aborted. over may be nil. A dialog stops all
// calls that are at work in the tab.
func (c *Call) Ask(kind bridge.Kind, detail string, over <-chan struct{}) *bridge.Answer {
	q := bridge.Question{Kind: kind, Title: "The page asks.", Detail: detail,
		Origin: c.Document.origin}
	if kind == bridge.Prompt {
		q.Schema = json.RawMessage(`{"type":"string"}`)
	}
	stops := []*Call{c}
	if kind != bridge.Interact && !c.within {
		stops = c.beside()
	}
	if len(stops) > 1 {
		q.Among = len(stops)
		q.Foreign = slices.ContainsFunc(stops, func(x *Call) bool { return x.caller != c.caller })
	}
	var alone <-chan struct{} // closed when nobody uses the page any more, who could answer a dialog
	if kind != bridge.Interact {
		alone = c.Document.page.alone()
	}
	closed, answers := make(chan struct{}), make(chan *bridge.Answer, len(stops))
	defer close(closed)
	ended := closed // of the dialog, for those whose it is not
	for _, x := range stops {
		go func() {
			said := asks{q, over, ended, make(chan *bridge.Answer, 1)}
			if over == nil && len(stops) > 1 {
				said.over = ended
			}
			select {
			case x.asks <- said:
			case <-x.done:
			case <-ended:
				return
			}
			select {
			case a := <-said.answer:
				answers <- a
			case <-x.done:
				answers <- nil
			case <-ended:
			}
		}()
	}
	for range stops {
		select {
		case a := <-answers:
			if a != nil {
				return a
			}
		case <-c.done:
			return nil
		case <-alone:
			return nil
		}
	}
	return nil
}

// AskWithin is Ask for a dialog inside of an interaction of the page, which knows whose it is.
func (c *Call) AskWithin(kind bridge.Kind, detail string) *bridge.Answer {
	c.within = true
	defer func() { c.within = false }()
	return c.Ask(kind, detail, nil)
}

// beside are the calls of the tab that have not ended, this one too.
func (c *Call) beside() (all []*Call) {
	c.Document.page.mu.Lock()
	defer c.Document.page.mu.Unlock()
	for x := range c.Document.page.calls {
		all = append(all, x)
	}
	return all
}

// wait waits for what comes next of the call.
func (t *Tab) wait(ctx context.Context, c *Call, abort context.CancelCauseFunc) bridge.Step {
	end := func() {
		abort(nil)
		t.mu.Lock()
		delete(t.calls, c)
		t.mu.Unlock()
	}
	select {
	case <-c.done:
		defer end()
	case q := <-c.asks:
		select {
		case <-q.ended: // it was asked of several calls, and answered for another one
			return t.wait(ctx, c, abort)
		default:
			return bridge.Step{Pause: t.asked(c, q, abort)}
		}
	case <-t.gone:
		select {
		case <-c.done: // with the page
			defer end()
		default: // the call goes on in it
			return t.death(bridge.Unknown).Step()
		}
	case <-ctx.Done():
		left := session.Stopped(ctx, bridge.Unknown)
		if t.isOthers() {
			return left.Step()
		}
		defer end()
		c.finish(nil, left)
		abort(left)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	step := bridge.Step{Data: c.result, Err: c.err, Document: c.Document.id, Revision: c.Document.revision}
	if c.Document.moves > c.moves {
		step.Move = c.Document.moves
	}
	return step
}

// asked makes the question of a page.
func (t *Tab) asked(c *Call, q asks, abort context.CancelCauseFunc) *bridge.Pause {
	over, stop := make(chan struct{}), make(chan struct{})
	go func() { // ends with the question
		select {
		case <-q.over:
		case <-c.done:
		case <-t.gone:
		case <-stop:
			return
		}
		close(over)
	}()
	return &bridge.Pause{Question: q.question, Over: over, Continue: func(ctx context.Context, a *bridge.Answer) bridge.Step {
		if close(stop); !t.isOthers() {
			q.answer <- a
		}
		return t.wait(ctx, c, abort)
	}}
}

// Tool is the name of the tool that runs.
func (c *Call) Tool() string { return c.tool }

// Aborted ends when the call is aborted: the page's AbortSignal.
func (c *Call) Aborted() <-chan struct{} { return c.ctx.Done() }

// Context ends when the call is aborted.
func (c *Call) Context() context.Context { return c.ctx }

// Over ends when the call has an outcome, whichever.
func (c *Call) Over() <-chan struct{} { return c.done }

func (c *Call) run(x Tool, maxBytes int) {
	if x.Run == nil {
		c.finish(json.RawMessage("null"), nil)
		return
	}
	result, err := x.Run(c)
	switch {
	case errors.Is(err, ErrInvalid):
		c.finish(nil, bridge.Errorf(bridge.ToolError, bridge.ResultInvalid, bridge.Unknown, "The tool's result cannot be encoded: %s.", err))
	case errors.Is(err, ErrUnhandled):
		c.finish(nil, bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No listener of the page answered the call."))
	case errors.Is(err, ErrAwaiting):
		c.finish(nil, bridge.Errorf(bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed, "A person has to submit the form."))
	case err != nil:
		e, own := errors.AsType[*bridge.Error](err)
		if !own {
			e = bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", err.Error())
		}
		c.finish(nil, e)
	case maxBytes > 0 && len(result) > maxBytes:
		c.finish(nil, bridge.TooLarge())
	default:
		c.finish(result, nil)
	}
}

// Leave ends the call as a form does that leads to another page: with what that
// page says, or without it when it may not be read.
func (c *Call) Leave(path string, said json.RawMessage, hidden error) (json.RawMessage, error) {
	if hidden != nil {
		c.finish(nil, bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown, "The form led away.").With(hidden))
	} else {
		c.finish(said, nil)
	}
	c.Document.Navigate(c.Document.join(path))
	return nil, nil
}

// finish sets the call's outcome; the first counts.
func (c *Call) finish(result json.RawMessage, err *bridge.Error) {
	c.once.Do(func() {
		c.result, c.err = result, err
		close(c.done)
	})
}
