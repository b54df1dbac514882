package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/pagetools/pagetools/bridge"
)

// Call is one run of a tool of a fake document.
type Call struct {
	// Document is where the tool was registered.
	Document *Document
	// Input is the arguments as they crossed.
	Input json.RawMessage

	tool string
	ctx  context.Context // it is the page's AbortSignal
	once sync.Once
	done chan struct{}

	result json.RawMessage
	err    *bridge.Error
}

// Ways in which a tool may end besides a result. Any other error is what the
// tool threw.
var (
	// ErrInvalid is a result that has no JSON.
	ErrInvalid = errors.New("circular reference")
	// ErrUnhandled is a call that nobody answered.
	ErrUnhandled = errors.New("unhandled")
	// ErrAwaiting is a form that a person has to submit.
	ErrAwaiting = errors.New("awaiting a person")
)

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
		c.finish(nil, bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", err.Error()))
	case maxBytes > 0 && len(result) > maxBytes:
		c.finish(nil, bridge.Errorf(bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown, "The tool's result is too large."))
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

// finish gives the call its outcome; the first counts.
func (c *Call) finish(result json.RawMessage, err *bridge.Error) {
	c.once.Do(func() {
		c.result, c.err = result, err
		close(c.done)
	})
}
