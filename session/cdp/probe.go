package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// probe looks at a tab. What happens in it is read from a session of its own: what is started there
// is not started in the tab's, and a page that floods it loses nothing else.
type probe struct {
	*tab
	seen    *activity
	watch   *surveyor // nil before open
	*tracer           // nil without TabOptions.Trace
}

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

// open attaches to the tab's page, before that shows anything.
func (p *probe) open(ctx context.Context) error {
	yes := true
	attached, err := cdp.Call(ctx, p.browser.root, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: p.id, Flatten: &yes})
	if err != nil {
		return fmt.Errorf("attaching to a page to watch it: %w", err)
	}
	on := p.browser.conn.OpenFor(attached.SessionID, surveyed)
	p.watch = newSurveyor(on, cdp.FrameID(p.id), p.seen)
	p.watch.tracer = p.tracer
	p.watch.bypass = p.reaching.between != nil
	go p.watch.read(p.target.Gone())
	commands := append(p.watch.commands(true), command{browser.CommandSetDownloadBehavior,
		browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny,
			BrowserContextID: p.context, EventsEnabled: &yes}})
	return apply(ctx, on, commands, func() error { return nil })
}

// Mark implements session.Probe.
func (p *probe) Mark(ctx context.Context) (session.Mark, error) {
	p.watch.catchUp(ctx)
	cookies, err := p.cookies(ctx)
	if err != nil {
		return session.Mark{}, p.cookiesUnread(ctx, err)
	}
	return session.Mark{At: p.seen.count(), Cookies: cookies}, nil
}

// cookies are those of the browser context, by name, with what tells their states apart.
func (p *probe) cookies(ctx context.Context) (map[string]string, error) {
	all, err := cdp.Call(ctx, p.browser.root, storage.GetCookies,
		storage.GetCookiesParams{BrowserContextID: p.context})
	if err != nil {
		return nil, err
	}
	found := make(map[string]string, len(all.Cookies))
	for _, c := range all.Cookies {
		found[c.Name] += fmt.Sprintf("%s\x00%s\x00%s\x00%.0f\n", c.Domain, c.Path, c.Value, c.Expires)
	}
	return found, nil
}

func (p *probe) cookiesUnread(ctx context.Context, err error) *bridge.Error {
	return p.unread(ctx, err, "The page's cookies were not read in time.",
		"The page's cookies cannot be read.")
}

// maxQuiet is how long a page may take to become quiet.
const maxQuiet = 3 * time.Second

// Since implements session.Probe.
func (p *probe) Since(ctx context.Context, m session.Mark,
	quiet time.Duration) (*session.Activity, error) {
	busy := !p.settle(ctx, m, quiet)
	if ctx.Err() != nil {
		return nil, late(ctx, "What happened in the page was not read in time.")
	}
	var cookies map[string]string
	if p.target.Reason() == nil {
		var err error
		if cookies, err = p.cookies(ctx); err != nil && p.target.Reason() == nil {
			return nil, p.cookiesUnread(ctx, err)
		}
	}
	all, answered := p.seen.since(m.At)
	all.Busy = busy
	if cookies != nil {
		names := maps.Clone(m.Cookies)
		maps.Copy(names, cookies)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if cookies[name] != m.Cookies[name] {
				w := session.Write{Area: "cookie", Key: name, Answered: answered[name]}
				all.Writes = append(all.Writes, w)
			}
		}
	}
	return all, nil
}

// Traced implements session.Probe.
func (p *probe) Traced(ctx context.Context) *session.Traced {
	if p.tracer == nil {
		return &session.Traced{}
	}
	p.watch.catchUp(ctx)
	return p.traced()
}

// settle waits until the page was quiet for so long since a moment, and reports whether it was.
func (p *probe) settle(ctx context.Context, m session.Mark, quiet time.Duration) bool {
	p.watch.catchUp(ctx)
	if quiet <= 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, maxQuiet)
	defer cancel()
	began := time.Now()
	for {
		left, changed := p.seen.rest(m.At, quiet)
		if left >= 0 { // what happened before counts for nothing: a call has just ended
			left = max(left, quiet-time.Since(began))
		}
		if left == 0 {
			p.watch.catchUp(ctx)
			if left, _ = p.seen.rest(m.At, quiet); left == 0 { // nothing was on its way to us
				return true
			}
			continue
		}
		timer := time.NewTimer(max(left, 0))
		if left < 0 {
			timer.Stop()
		}
		select {
		case <-changed:
		case <-timer.C:
		case <-p.watch.page.Gone():
			return true // nothing more happens there
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// Evaluate implements session.Probe.
func (p *probe) Evaluate(ctx context.Context, expression string) (string, error) {
	yes := true
	found, err := cdp.Call(ctx, p.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, AwaitPromise: &yes, ReturnByValue: &yes, Silent: &yes,
		DisableBreaks: &yes,
	})
	if err != nil {
		return "", p.unread(ctx, err, "The expression did not end in time.",
			"The expression cannot be evaluated.")
	}
	if x := found.ExceptionDetails; x != nil {
		return "", bridge.Errorf(bridge.ToolError, "", bridge.Failed,
			"The expression failed: %s.", exception(x))
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
	default:
		said = printed(x.Exception)
	}
	first, _, _ := strings.Cut(said, "\n")
	return text.Short(first, maxDialogText)
}

// lookWorld is the name of the world in which we look, one for each document.
const lookWorld = "pagetools"

// Look implements session.Probe. It looks from a world of its own, where the page changes nothing.
func (p *probe) Look(ctx context.Context, selector string) (session.Element, error) {
	var e session.Element
	var words string
	err := p.lookAt(ctx, shim.Look(selector), &words)
	if x, thrown := errors.AsType[*scriptError](err); thrown {
		return e, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
			"%q is not a CSS selector: correct it.", text.Short(selector, maxDialogText)).With(x)
	}
	if err == nil {
		err = json.Unmarshal([]byte(words), &e)
	}
	return e, err
}

// Accepts implements session.Probe.
func (p *probe) Accepts(ctx context.Context, tool string, inputs []json.RawMessage) ([]string, error) {
	text, err := json.Marshal(inputs)
	if err != nil {
		return nil, fmt.Errorf("what the form is filled with: %w", err)
	}
	var refused []string
	err = p.lookAt(ctx, shim.Accepts(tool, text), &refused)
	return refused, err
}

// lookAt evaluates an expression in a world of its own, and reads its value. An exception is a
// *scriptError.
func (p *probe) lookAt(ctx context.Context, expression string, into any) error {
	const late = "The page did not show it in time."
	const other = "The page cannot be looked at."
	params := page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(p.id), WorldName: lookWorld}
	world, err := cdp.Call(ctx, p.target, page.CreateIsolatedWorld, params)
	if err != nil {
		return p.unread(ctx, err, late, other)
	}
	yes := true
	found, err := cdp.Call(ctx, p.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ContextID: world.ExecutionContextID,
		ReturnByValue: &yes, Silent: &yes,
	})
	if err != nil {
		return p.unread(ctx, err, late, other)
	}
	if x := found.ExceptionDetails; x != nil {
		return &scriptError{description: exception(x)}
	}
	if err := json.Unmarshal(found.Result.Value, into); err != nil {
		return p.unread(ctx, err, late, other)
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

// Record returns what the document at the top noted.
func (t *tab) Record(ctx context.Context) (*session.Record, error) {
	record, err := t.record(ctx)
	if err != nil {
		return nil, t.unread(ctx, err, "The page did not tell in time what it did.",
			"What the page did with its tools cannot be read.")
	}
	return record, nil
}

func (t *tab) record(ctx context.Context) (*session.Record, error) {
	if t.notes == "" {
		return nil, errors.New("the tab does not record")
	}
	text, _, err := t.shown.top.Load().evaluate(ctx, shim.Recorded(t.notes))
	if err != nil {
		return nil, err
	}
	var r session.Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("what the page noted: %w", err)
	}
	return &r, nil
}

// Names implements session.Probe.
func (p *probe) Names(ctx context.Context) ([]string, error) {
	text, err := p.Evaluate(ctx, shim.Names(p.notes))
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
	ch, err := d.send(ctx, shim.Execute(p.notes, tool, input))
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
