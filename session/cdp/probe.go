package cdp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// probe looks at a tab.
type probe struct{ *tab }

var (
	_ session.Prober = (*tab)(nil)
	_ session.Probe  = (*probe)(nil)
)

// Probe implements session.Prober.
func (t *tab) Probe() session.Probe {
	if t.probe == nil {
		return nil
	}
	return t.probe
}

// Evaluate implements session.Probe.
func (p *probe) Evaluate(ctx context.Context, expression string) (string, error) {
	yes := true
	found, err := cdp.Call(ctx, p.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, AwaitPromise: &yes, ReturnByValue: &yes, Silent: &yes,
		DisableBreaks: &yes,
	})
	if err != nil {
		return "", p.unread(ctx, err, "The expression did not end in time.", "The expression cannot be evaluated.")
	}
	if x := found.ExceptionDetails; x != nil {
		return "", bridge.Errorf(bridge.ToolError, "", bridge.Failed, "The expression failed: %s.", exception(x))
	}
	if found.Result == nil || len(found.Result.Value) == 0 {
		return "null", nil
	}
	return string(found.Result.Value), nil
}

// exception is what an exception says, in one line.
func exception(x *runtime.ExceptionDetails) string {
	said := x.Text
	switch {
	case x.Exception == nil:
	case x.Exception.Description != "":
		said = x.Exception.Description
	case len(x.Exception.Value) > 0:
		said = string(x.Exception.Value)
	}
	first, _, _ := strings.Cut(said, "\n")
	return shortened(first)
}

// lookWorld is the name of the world in which we look, one for each document.
const lookWorld = "pagetools"

// Look implements session.Probe. It looks from a world of its own, where the page changes nothing.
func (p *probe) Look(ctx context.Context, selector string) (session.Element, error) {
	var e session.Element
	const late, other = "The page did not show the element in time.", "The elements of the page cannot be looked at."
	params := page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(p.id), WorldName: lookWorld}
	world, err := cdp.Call(ctx, p.target, page.CreateIsolatedWorld, params)
	if err != nil {
		return e, p.unread(ctx, err, late, other)
	}
	yes := true
	found, err := cdp.Call(ctx, p.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: shim.Look(selector), ContextID: world.ExecutionContextID, ReturnByValue: &yes, Silent: &yes,
	})
	if err != nil {
		return e, p.unread(ctx, err, late, other)
	}
	if x := found.ExceptionDetails; x != nil {
		return e, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "%q is not a CSS selector: correct it.", shortened(selector)).
			With(&scriptError{description: exception(x)})
	}
	var text string
	if err = json.Unmarshal(found.Result.Value, &text); err == nil {
		err = json.Unmarshal([]byte(text), &e)
	}
	if err != nil {
		return e, p.unread(ctx, err, late, other)
	}
	return e, nil
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
