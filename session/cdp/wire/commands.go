package wire

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Command is a command to a target, with its parameters.
type Command struct {
	Method string
	Params any
}

// AutoAttach returns the parameters with which the browser attaches us to targets of these
// types, before their scripts run.
func AutoAttach(types ...string) cdptarget.SetAutoAttachParams {
	p := cdptarget.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true,
		Flatten: new(true), Filter: make(cdptarget.Filter, len(types))}
	for i, t := range types {
		p.Filter[i].Type = t
	}
	return p
}

// RefusedError is the error of a command that the browser refuses.
type RefusedError struct {
	Method string
	Cause  *cdproto.Error
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %v", e.Method, e.Cause) }

// Unwrap returns what the browser said.
func (e *RefusedError) Unwrap() error { return e.Cause }

// Begin sends commands to a target that waits for us, and lets it run.
func (s *Session) Begin(commands []Command) {
	for _, c := range append(commands, Command{Method: runtime.CommandRunIfWaitingForDebugger}) {
		_, _ = s.Send(context.Background(), c.Method, c.Params) // a target that is gone tells so itself
	}
}

// Apply sends commands in one go, meanwhile does something else, and waits for the replies.
func (s *Session) Apply(ctx context.Context, commands []Command, meanwhile func() error) error {
	replies := make([]<-chan Reply, len(commands))
	for i, c := range commands {
		reply, err := s.Send(ctx, c.Method, c.Params)
		if err != nil {
			return err
		}
		replies[i] = reply
	}
	if err := meanwhile(); err != nil {
		return err
	}
	for i, ch := range replies {
		select {
		case msg, ok := <-ch:
			if !ok {
				return s.Reason()
			}
			if msg.Error != nil {
				return &RefusedError{commands[i].Method, msg.Error}
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Decode decodes the parameters of an event, and reports whether it could.
func Decode[E any](msg *cdproto.Message) (ev E, ok bool) {
	err := jsonv2.Unmarshal(msg.Params, &ev, chromedp.DefaultUnmarshalOptions)
	return ev, err == nil
}
