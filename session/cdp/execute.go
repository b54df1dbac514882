package cdp

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// Names implements session.Probe.
func (p *probe) Names(ctx context.Context) ([]string, error) {
	text, err := p.Evaluate(ctx, shim.Names())
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun,
			"The page does not list its tools.").With(err)
	}
	return names, nil
}

// ofThePage is whose calls they are that Execute makes.
const ofThePage = "the page"

// Execute implements session.Probe. It is a call of the tab, so that dialogs are its questions, and
// so that a page that hangs is interrupted.
func (p *probe) Execute(ctx context.Context, tool string, input json.RawMessage) bridge.Step {
	d := p.shown.top.Load()
	if err := p.calls.pulse(ctx, d); err != nil {
		return err.Step()
	}
	c := p.calls.begin(d, &session.Invocation{Caller: ofThePage})
	ch, err := d.send(ctx, shim.Execute(tool, input))
	return c.dispatched(ctx, ch, err)
}

// Reload implements session.Probe.
func (p *probe) Reload(ctx context.Context) error {
	if p.calls.inFlight() > 0 {
		p.abortAll(ctx)
	}
	if err := p.target.Call(ctx, page.CommandReload, page.ReloadParams{}, nil); err != nil {
		return p.unread(ctx, err, "The page did not reload in time.", "The page cannot be reloaded.")
	}
	return nil
}
