package cdp

import (
	"context"
	"encoding/json"
	"time"

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

// ofThePage names the caller of Execute's calls; mostOfThePage bounds a page's words about a form.
const (
	ofThePage     = "the page"
	mostOfThePage = 1 << 20
)

// Execute implements session.Driver. It is a call of the tab, so that dialogs are its questions,
// and so that a page that hangs is interrupted. What becomes of a form is followed as in Invoke.
func (t *tab) Execute(ctx context.Context, tool string, input json.RawMessage) bridge.Step {
	d := t.shown.top.Load()
	if err := t.calls.pulse(ctx, d); err != nil {
		return err.Step()
	}
	began, since := t.target.Delivered(), time.Now()
	c := t.calls.begin(d, &session.Invocation{Caller: ofThePage, MaxBytes: mostOfThePage})
	if forms := d.forms.Load(); forms != nil && len(*forms) > 0 {
		c.watchForm(ctx)
	}
	ch, err := d.send(ctx, shim.Execute(t.notes, tool, input))
	return t.moved(ctx, d, began, since, c.dispatched(ctx, ch, err))
}

// Asked implements session.Driver.
func (t *tab) Asked(ctx context.Context) (string, error) { return t.probe.Asked(ctx) }

// Aim implements session.Driver.
func (t *tab) Aim(ctx context.Context, a session.Aim) (session.Target, error) {
	return t.probe.Aim(ctx, a)
}

// Act implements session.Driver. A dialog that the page opens for it keeps it until it is answered.
func (t *tab) Act(ctx context.Context, in bridge.Input) error {
	c := inputCommand(in)
	taken, err := t.target.Send(ctx, c.Method, c.Params)
	if err != nil {
		return goneError(err, bridge.NotRun)
	}
	select {
	case r, ok := <-taken:
		if !ok {
			return goneError(t.target.Reason(), bridge.NotRun)
		}
		if r.Error != nil {
			return t.unread(ctx, r.Error, "", "The page takes no input.")
		}
		return nil
	case <-ctx.Done():
		return late(ctx, "The page did not take the input in time.")
	}
}

func (t *tab) Reload(ctx context.Context) error {
	if t.calls.inFlight() > 0 {
		t.abortAll(ctx, "pagetools reloaded the page.")
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
