package cdp

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/session/cdp/wire"
)

// command is one command of ours.
type command struct {
	method string
	params any
}

// begin prepares a target that waits for us, and lets it run.
func begin(s *wire.Session, commands []command) {
	for _, c := range append(commands, command{runtime.CommandRunIfWaitingForDebugger, nil}) {
		_, _ = s.Send(context.Background(), c.method, c.params) // a target that is gone tells so itself
	}
}

// frameType is the type of a frame that is a target of its own. Workers are
// attached to as well, only to let them run: Chromium makes them wait also when
// the filter leaves them out.
const frameType = "iframe"

// setup is what the targets of a page need before they show anything.
type setup struct {
	invoker  []command // of the way in which calls reach the tools
	settings *settings // nil when nothing is set
	reaching *reaching
}

// scripted are the commands for a target that gets the page script.
func (s *setup) scripted() []command {
	yes := true
	return append([]command{
		{page.CommandEnable, page.EnableParams{}},
		{inspector.CommandEnable, nil},
		{cdptarget.CommandSetAutoAttach, cdptarget.SetAutoAttachParams{
			AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes,
			Filter: cdptarget.Filter{{Exclude: false, Type: frameType},
				{Exclude: false, Type: "worker"}},
		}},
	}, s.invoker...)
}

// page are the commands for a page, or a window of it.
func (s *setup) page() []command {
	return append(append(s.scripted(), s.settings.page()...), s.reaching.intercept(s.settings)...)
}

// frame are the commands for a frame of another site.
func (s *setup) frame() []command {
	commands := append(s.scripted(), s.settings.frame()...)
	if s.reaching.between != nil {
		commands = append(commands, s.reaching.intercept(s.settings)...)
	}
	return commands
}

// apply sends commands in one go, meanwhile does something else, and waits for the
// replies.
func apply(ctx context.Context, s *wire.Session, commands []command, meanwhile func() error) error {
	replies := make([]<-chan wire.Reply, len(commands))
	for i, c := range commands {
		reply, err := s.Send(ctx, c.method, c.params)
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
				return setupError(commands[i].method, msg.Error)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// errNoWebMCP says that a browser has no WebMCP of its own.
var errNoWebMCP = errors.New("the browser has no WebMCP of its own: use a newer one (one that you start yourself needs --enable-features=WebMCP), or --engine shim")

// setupError says which command a page did not take.
func setupError(method string, cause *cdproto.Error) error {
	if method == webmcp.CommandEnable {
		return fmt.Errorf("%w (%w)", errNoWebMCP, cause)
	}
	if err := settingsError(method, cause); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", method, cause)
}
