package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// Options holds what a probe needs of its tab.
type Options struct {
	Conn    *wire.Conn
	Browser cdp.Session
	Target  *wire.Session // of the tab
	ID      cdptarget.ID
	Context cdp.BrowserContextID
	// Notes is the name of what notes what the page does with its tools.
	Notes string
	// Trace keeps what Traced returns.
	Trace bool
	// Bypass has service workers answer nothing.
	Bypass bool
	// Unread is the error of something of the page that could not be read: the page is gone, the
	// time of ctx ended, or what other says.
	Unread func(ctx context.Context, cause error, timeout, other string) *bridge.Error
}

// Probe looks at a tab. What happens in it is read from a CDP session of its own: what is started
// there is not started in the tab's, and a page that floods it loses nothing else. It is safe for
// concurrent use after Open.
type Probe struct {
	o      Options
	seen   *activity
	watch  *surveyor // nil before Open
	tracer *tracer   // nil without Options.Trace
}

var (
	_ session.Inspector = (*Probe)(nil)
	_ session.Observer  = (*Probe)(nil)
)

// New returns a probe that is not open.
func New(o Options) *Probe {
	p := &Probe{o: o, seen: newActivity()}
	if o.Trace {
		p.tracer = &tracer{flying: map[string]flying{}}
	}
	return p
}

// Open attaches to the tab's page, before that shows anything.
func (p *Probe) Open(ctx context.Context) error {
	attached, err := cdp.Call(ctx, p.o.Browser, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: p.o.ID, Flatten: new(true)})
	if err != nil {
		return fmt.Errorf("attaching to a page to watch it: %w", err)
	}
	on := p.o.Conn.OpenFor(attached.SessionID, surveyed)
	p.watch = newSurveyor(on, cdp.FrameID(p.o.ID), p.seen)
	p.watch.tracer, p.watch.bypass = p.tracer, p.o.Bypass
	go p.watch.read(p.o.Target.Gone())
	commands := append(p.watch.commands(true), wire.Command{Method: browser.CommandSetDownloadBehavior,
		Params: browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny,
			BrowserContextID: p.o.Context, EventsEnabled: new(true)}})
	return on.Apply(ctx, commands, func() error { return nil })
}

// Refused notes an address that the page was kept from.
func (p *Probe) Refused(r session.Refused) { p.seen.note(r, len(r.URL)+len(r.Why)) }

// Mark implements session.Observer.
func (p *Probe) Mark(ctx context.Context) (session.Mark, error) {
	p.watch.catchUp(ctx)
	cookies, err := p.cookies(ctx)
	if err != nil {
		return session.Mark{}, p.cookiesUnread(ctx, err)
	}
	return session.Mark{At: p.seen.count(), Cookies: cookies}, nil
}

// cookies returns the browser context's cookies, by name, with a text that tells their
// states apart.
func (p *Probe) cookies(ctx context.Context) (map[string]string, error) {
	all, err := cdp.Call(ctx, p.o.Browser, storage.GetCookies,
		storage.GetCookiesParams{BrowserContextID: p.o.Context})
	if err != nil {
		return nil, err
	}
	found := make(map[string]string, len(all.Cookies))
	for _, c := range all.Cookies {
		found[c.Name] += fmt.Sprintf("%s\x00%s\x00%s\x00%.0f\n", c.Domain, c.Path, c.Value, c.Expires)
	}
	return found, nil
}

func (p *Probe) cookiesUnread(ctx context.Context, err error) *bridge.Error {
	return p.o.Unread(ctx, err, "The page's cookies were not read in time.",
		"The page's cookies cannot be read.")
}

// maxQuiet limits how long a page may take to become quiet.
const maxQuiet = 3 * time.Second

// Since implements session.Observer.
func (p *Probe) Since(ctx context.Context, m session.Mark,
	quiet time.Duration) (*session.Activity, error) {
	busy := !p.settle(ctx, m, quiet)
	if ctx.Err() != nil {
		return nil, p.o.Unread(ctx, ctx.Err(),
			"What happened in the page was not read in time.", "")
	}
	var cookies map[string]string
	if p.o.Target.Reason() == nil {
		var err error
		if cookies, err = p.cookies(ctx); err != nil && p.o.Target.Reason() == nil {
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

// Traced implements session.Observer.
func (p *Probe) Traced(ctx context.Context) *session.Traced {
	if p.tracer == nil {
		return &session.Traced{}
	}
	p.watch.catchUp(ctx)
	return p.tracer.traced()
}

// settle waits until the page was quiet for so long since a moment, and reports whether it was.
func (p *Probe) settle(ctx context.Context, m session.Mark, quiet time.Duration) bool {
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

// Evaluate implements session.Inspector.
func (p *Probe) Evaluate(ctx context.Context, expression string) (string, error) {
	found, err := cdp.Call(ctx, p.o.Target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, DisableBreaks: new(true),
		AwaitPromise: new(true), ReturnByValue: new(true), Silent: new(true),
	})
	if err != nil {
		return "", p.o.Unread(ctx, err, "The expression did not end in time.",
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

// exception returns an exception's text in one line.
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
	return text.Short(first, maxSaid)
}

// thrown is an exception of an expression of ours.
type thrown string

func (t thrown) Error() string { return "the page script failed: " + string(t) }

// lookWorld is the name of the world in which we look, one for each document.
const lookWorld = "pagetools"

// Look implements session.Inspector. It looks from a world of its own, where the page changes
// nothing.
func (p *Probe) Look(ctx context.Context, selector string) (session.Element, error) {
	var e session.Element
	var words string
	err := p.lookAt(ctx, shim.Look(selector), &words)
	if x, ok := errors.AsType[thrown](err); ok {
		return e, notSelector(selector, x)
	}
	if err == nil {
		err = json.Unmarshal([]byte(words), &e)
	}
	return e, err
}

// Aim implements session.Driver.
func (p *Probe) Aim(ctx context.Context, a session.Aim) (session.Target, error) {
	var found session.Target
	err := p.lookAt(ctx, shim.Aim(a.Do, a.Selector, a.Text), &found)
	if x, ok := errors.AsType[thrown](err); ok {
		return found, notSelector(a.Selector, x)
	}
	return found, err
}

func notSelector(selector string, cause error) *bridge.Error {
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		"%q is not a CSS selector: correct it.", text.Short(selector, maxSaid)).With(cause)
}

// Asked implements session.Driver.
func (p *Probe) Asked(ctx context.Context) (tool string, err error) {
	words, err := p.Evaluate(ctx, shim.Asked(p.o.Notes))
	if err == nil {
		err = json.Unmarshal([]byte(words), &tool)
	}
	return tool, err
}

// Accepts implements session.Inspector.
func (p *Probe) Accepts(ctx context.Context, tool string,
	inputs []json.RawMessage) ([]string, error) {
	text, err := json.Marshal(inputs)
	if err != nil {
		return nil, fmt.Errorf("what the form is filled with: %w", err)
	}
	var refused []string
	err = p.lookAt(ctx, shim.Accepts(tool, text), &refused)
	return refused, err
}

// lookAt evaluates an expression in a world of its own, and reads its value. An exception is
// thrown. A document that goes away meanwhile is not looked at: the next one is.
func (p *Probe) lookAt(ctx context.Context, expression string, into any) error {
	const late = "The page did not show it in time."
	const other = "The page cannot be looked at."
	for left := maxMoves; ; left-- {
		found, err := p.lookOnce(ctx, expression)
		switch {
		case err != nil && left > 0 && movedOn(err):
			continue
		case err != nil:
			return p.o.Unread(ctx, err, late, other)
		case found.ExceptionDetails != nil:
			return thrown(exception(found.ExceptionDetails))
		}
		if err := json.Unmarshal(found.Result.Value, into); err != nil {
			return p.o.Unread(ctx, err, late, other)
		}
		return nil
	}
}

// maxMoves bounds the documents that go away while one is looked at.
const maxMoves = 10

// movedOn reports whether an evaluation failed because its document went away. The browser knows
// such a failure by no number of its own.
func movedOn(err error) bool {
	refused, ok := errors.AsType[*cdproto.Error](err)
	return ok && (strings.Contains(refused.Message, "context") || strings.Contains(refused.Message, "navigated"))
}

func (p *Probe) lookOnce(ctx context.Context, expression string) (runtime.EvaluateResult, error) {
	params := page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(p.o.ID), WorldName: lookWorld}
	world, err := cdp.Call(ctx, p.o.Target, page.CreateIsolatedWorld, params)
	if err != nil {
		return runtime.EvaluateResult{}, err
	}
	return cdp.Call(ctx, p.o.Target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ContextID: world.ExecutionContextID,
		ReturnByValue: new(true), Silent: new(true),
	})
}

// Names implements session.Inspector.
func (p *Probe) Names(ctx context.Context) ([]string, error) {
	text, err := p.Evaluate(ctx, shim.Names(p.o.Notes))
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

// Record implements session.Inspector.
func (p *Probe) Record(ctx context.Context) (*session.Record, error) {
	text, err := p.Evaluate(ctx, shim.Recorded(p.o.Notes))
	var noted string // JSON, too
	var r session.Record
	if err == nil {
		err = json.Unmarshal([]byte(text), &noted)
	}
	if err == nil {
		err = json.Unmarshal([]byte(noted), &r)
	}
	if err != nil {
		return nil, p.o.Unread(ctx, err, "The page did not tell in time what it did.",
			"What the page did with its tools cannot be read.")
	}
	return &r, nil
}
