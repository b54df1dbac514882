package cdp

import (
	"context"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// invoker is the way in which calls reach the tools of a page.
type invoker interface {
	// invoke dispatches a call once, and waits for its first step.
	invoke(ctx context.Context, c *call, inv session.Invocation) bridge.Step
	// commands prepare a target for it, and ready says why a page cannot have it.
	commands() []command
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
	attended bool   // somebody can be at the page
}

var _ invoker = (*script)(nil)

func (x *script) invoke(ctx context.Context, c *call, inv session.Invocation) bridge.Step {
	text := shim.Call(x.name, c.id, inv.Tool, inv.Input, inv.MaxBytes, c.doc.revision.Load())
	ch, err := c.doc.send(ctx, text)
	return c.dispatched(ctx, ch, err)
}

func (x *script) commands() []command {
	if x.attended {
		return []command{addScript(shim.SourceAttended(x.name))}
	}
	return []command{addScript(shim.Source(x.name))}
}

// addScript puts a script into every document before its own ones.
func addScript(source string) command {
	return command{page.CommandAddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: source}}
}

func (*script) ready(context.Context, *wire.Session) error { return nil }

func (*script) event(*wire.Session, *cdproto.Message) {}

func (*script) complete(*document, *session.ToolsChanged) {}
