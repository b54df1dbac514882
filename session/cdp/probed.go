package cdp

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

var (
	_ session.Prober = (*tab)(nil)
	_ session.Driver = (*tab)(nil)
)

func (t *tab) Probe() *session.Probe {
	if t.probe == nil {
		return nil
	}
	return &session.Probe{Inspector: t.probe, Observer: t.probe, Driver: t,
		Photographer: t, Watchable: t}
}

// ofThePage is the caller of Execute's calls.
const ofThePage = "the page"

// Execute implements session.Driver. It is a call of the tab, so that dialogs are its questions,
// and so that a page that hangs is interrupted.
func (t *tab) Execute(ctx context.Context, tool string, input json.RawMessage) bridge.Step {
	d := t.shown.top.Load()
	if err := t.calls.pulse(ctx, d); err != nil {
		return err.Step()
	}
	c := t.calls.begin(d, &session.Invocation{Caller: ofThePage})
	ch, err := d.send(ctx, shim.Execute(t.notes, tool, input))
	return c.dispatched(ctx, ch, err)
}

func (t *tab) Reload(ctx context.Context) error {
	if t.calls.inFlight() > 0 {
		t.abortAll(ctx)
	}
	if err := t.target.Call(ctx, page.CommandReload, page.ReloadParams{}, nil); err != nil {
		return t.unread(ctx, err, "The page did not reload in time.", "The page cannot be reloaded.")
	}
	return nil
}

// unread explains why something of the page could not be read: the page is gone, the time of ctx
// ended, or what other says.
func (t *tab) unread(ctx context.Context, cause error, timeout, other string) *bridge.Error {
	switch {
	case t.target.Reason() != nil:
		return goneError(t.target.Reason(), bridge.NotRun)
	case ctx.Err() != nil:
		return late(ctx, timeout)
	}
	return bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun, "%s", other).With(cause)
}
