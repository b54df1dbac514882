package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/probe"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/egress"
	"github.com/pagetools/pagetools/session/pageconfig"
	"github.com/pagetools/pagetools/shim"
)

// tab is one page. Its owner reads the page's events; calls run in their callers'
// goroutines.
type tab struct {
	browser *instance
	target  *wire.Session
	at      place
	context cdp.BrowserContextID
	id      cdptarget.ID
	origin  string // of the site, where that is known
	pass    *pageconfig.Cookie
	shown   *documents
	calls   *calls
	invoker invoker
	owner   *owner
	onClose func(*tab)
	notes   string       // the name of what notes what the page does with its tools; "" is nothing
	probe   *probe.Probe // nil unless somebody tests the page

	reaching *reaching
	saver    *saver // nil: the page saves nothing

	name  string        // of the page script
	owned session.Owner // zero: the tab ends with this process

	closed   sync.Once
	closeErr error
}

var _ session.Tab = (*tab)(nil)

// openTab makes a page, or attaches to one, prepares it and starts its owner. onClose runs once,
// when the tab is closed. parsed has what is known of adapters.
func openTab(ctx context.Context, b *instance, o session.TabOptions, h *handle, parsed *sync.Map,
	onClose func(*tab)) (*tab, error) {
	set, err := newSettings(b, o)
	if err != nil {
		return nil, err
	}
	at, name, err := b.placeOf(ctx, o, h)
	if err != nil {
		bounded, cancel := farewell()
		defer cancel()
		if !isOthers(h, o) {
			_ = b.dispose(bounded, at)
		}
		return nil, err
	}
	t := newTab(b, at, name, o, set)
	if t.onClose = onClose; at.theirs != "" {
		t.reaching.leave = t.leave
	}
	if t.owner.windows.bridged() {
		b.conn.Adopt(at.id, at.target)
	}
	if h != nil { // it answers in time, or is not taken
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.times.pulse)
		defer cancel()
	}
	err = t.parse(ctx, o.Adapters, parsed)
	if err == nil {
		t.owner.setup.invoker = append(t.owner.setup.invoker, adapterScripts(t.name, o, parsed)...)
		err = t.prepare(ctx, o.Await.Idle, h == nil)
	}
	if err == nil && t.probe != nil {
		err = t.probe.Open(ctx)
	}
	if err == nil {
		go t.owner.own()
		if h == nil {
			return t, nil
		}
		if err = t.takeOver(ctx); err == nil {
			return t, nil
		}
		go func() { // up to the last, so that its owner ends
			for range t.Events() {
				continue
			}
		}()
	}
	bounded, cancel := farewell()
	defer cancel()
	if at.target.Fail(errOurs); errors.Is(err, errNewerOwner) || isOthers(h, o) {
		_ = b.detach(bounded, at.target)
	} else {
		_ = b.dispose(bounded, at)
	}
	t.reaching.end()
	if errors.Is(err, errNoWebMCP) {
		err = fmt.Errorf("%w: %s", err, b.words.Of("use a newer one, or the engine shim"))
	}
	return nil, fmt.Errorf("preparing a page: %w", err)
}

// newTab makes a tab and its owner, which does not run yet.
func newTab(b *instance, at place, name string, o session.TabOptions, set *settings) *tab {
	target, in, id := at.target, at.in, at.id
	work := tasks{queue: make(chan task), gone: target.Gone()}
	t := &tab{browser: b, target: target, at: at, context: in, id: id, origin: origin.Of(o.Origin),
		pass: o.Pass, shown: &documents{}, name: name, owned: b.ownerOf(o)}
	as := shim.As(name, t.owned.Epoch)
	own := &owner{target: target, events: make(chan session.Event), tasks: work}
	out := &own.out
	own.frames = newFrames(target, id, t.shown, out, session.NewDeclared(o))
	hold := time.NewTimer(time.Hour)
	hold.Stop() // until the load event waits for somebody
	own.watcher = &watcher{name: as, frames: own.frames, out: out, tasks: work, hold: hold, large: make(chan struct{}, 1)}
	own.watcher.adapters, own.watcher.words = o.Adapters, b.words
	own.traffic = &traffic{frames: own.frames, did: map[string]int64{}}
	own.quota = &quota{off: b.keepsProfile, known: map[string]bool{}, left: maxStored}
	own.submissions = &submissions{frames: own.frames, traffic: own.traffic}
	own.awaiter = &awaiter{
		Await: o.Await, page: target, frame: cdp.FrameID(id), watcher: own.watcher, tasks: work,
		stop: func() {}, doc: own.frames.top.doc,
	}
	t.calls = &calls{name: as, owner: t.owned, times: b.times, tasks: work, watcher: own.watcher,
		traffic: own.traffic, submissions: own.submissions}
	own.moves = &moves{frames: own.frames, watcher: own.watcher, tasks: work, stop: func() {}}
	own.dialogs = &dialogs{page: target, calls: t.calls, out: out, traffic: own.traffic, theirs: at.theirs != ""}
	if b.native {
		t.invoker = newNative(name, b.attended, own.watcher)
	} else {
		t.invoker = &script{name: name, epoch: t.owned.Epoch, as: as, attended: b.attended}
	}
	own.invoker, own.watcher.invoker = t.invoker, t.invoker
	refuse := func(r session.Refused) {
		if t.probe != nil {
			t.probe.Refused(r)
		}
		out.emit(r)
	}
	t.reaching = &reaching{reach: o.Reach, ours: b.process != nil, attended: b.attended, words: b.words,
		silent: b.kind == chrome.Chromium && !b.attended, refuse: refuse}
	t.reaching.grant, t.reaching.end = b.admit(o.Reach, func(ctx context.Context, r *egress.Refusal) {
		refused := session.Refused{URL: net.JoinHostPort(r.Host, strconv.Itoa(int(r.To.Port()))), Why: r.Error()}
		work.add(ctx, 0, func() { t.reaching.keptOut(refused) })
	})
	if o.Network != nil {
		t.reaching.between = &between{network: o.Network, waiting: map[exchangeKey]*session.Exchange{}}
	}
	own.setup = &setup{invoker: t.invoker.commands(), settings: set, reaching: t.reaching}
	if o.Record {
		t.notes = shim.NewName()
		t.probe = probe.New(probe.Options{Conn: b.conn, Browser: b.root, Target: target, ID: id,
			Context: in, Notes: t.notes, Trace: o.Trace, Bypass: o.Network != nil,
			Unread: t.unread})
		own.setup.invoker = append(own.setup.invoker, addScript(shim.RecordSource(t.notes, surfaceJSON(o.Surface))))
	}
	t.saver = newSaver(b, own, in, o)
	own.saver = t.saver
	own.windows = &windows{
		of: b, in: in, id: id, policy: o.Windows, frames: own.frames, setup: own.setup, out: out, tasks: work,
		known: map[cdptarget.ID]bool{},
	}
	t.owner = own
	return t
}

// surfaceJSON returns the interface that pages which record are shown, as JSON.
func surfaceJSON(s *session.Surface) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // lists of words
	}
	return string(text)
}

// recycled reports that another browser takes the place of the tab's.
func (t *tab) recycled() {
	ctx, cancel := farewell()
	defer cancel()
	t.owner.tasks.add(ctx, 0, func() { t.owner.out.emit(session.Recycled{}) })
}

// prepare sends what every page needs before it shows anything, in one go.
// The page of another owner before us has cookies and items already: it is not fresh.
func (t *tab) prepare(ctx context.Context, idle, fresh bool) error {
	commands := append(t.owner.setup.page(), t.owner.quota.bound(t.origin)...)
	commands = append(commands,
		wire.Command{Method: page.CommandSetLifecycleEventsEnabled,
			Params: page.SetLifecycleEventsEnabledParams{Enabled: idle}})
	if t.browser.guest == nil {
		commands = append(commands, wire.Command{Method: emulation.CommandSetFocusEmulationEnabled,
			Params: emulation.SetFocusEmulationEnabledParams{Enabled: true}})
	}
	return apply(ctx, t.target, commands, func() error {
		if t.browser.guest != nil { // what is set for a browser context is its person's
			return t.invoker.ready(ctx, t.target)
		}
		_, err := cdp.Call(ctx, t.browser.root, browser.SetDownloadBehavior, t.saver.prepared(t.browser, t.context))
		if err != nil {
			return fmt.Errorf("denying downloads: %w", err)
		}
		if err := t.invoker.ready(ctx, t.target); err != nil {
			return err
		}
		if !fresh {
			return nil
		}
		if t.pass != nil {
			err := t.browser.setCookies(ctx, t.context, t.origin, []pageconfig.Cookie{*t.pass})
			if err != nil {
				return err
			}
		}
		return t.owner.setup.settings.furnish(ctx, t.browser, t.context)
	})
}

// Load navigates and returns when the new document is committed. Calls in flight
// are aborted first.
func (t *tab) Load(ctx context.Context, address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return bridge.Errorf(bridge.InternalError, bridge.OriginBlocked, bridge.NotRun,
			"Only http and https addresses are opened.")
	}
	if t.calls.inFlight() > 0 {
		t.abortAll(ctx, "pagetools navigated the page.")
	}
	if t.at.theirs != "" {
		return t.reload(ctx)
	}
	t.reaching.begins(address)
	var res page.NavigateResult
	err := t.target.Call(ctx, page.CommandNavigate, page.NavigateParams{URL: address}, &res)
	switch {
	case t.target.Reason() != nil:
		return goneError(t.target.Reason(), bridge.NotRun)
	case err != nil && ctx.Err() != nil:
		bounded, cancel := farewell()
		defer cancel()
		_, _ = t.target.Send(bounded, page.CommandStopLoading, nil)
		return late(ctx, "The page did not arrive in time.")
	case err != nil:
		return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
			"The page cannot be opened.").With(err)
	}
	if e := t.reaching.judge(res.ErrorText, address); e != nil {
		return e
	}
	t.browser.learn(ctx)
	return nil
}

// abortAll ends the calls in flight in every document, and waits until the page has closed what
// they were at work with.
func (t *tab) abortAll(ctx context.Context, reason string) {
	bounded, cancel := context.WithTimeout(ctx, abortPatience)
	defer cancel()
	t.calls.cancel(bounded)
	t.shown.each(func(d *document) {
		if ch, err := d.send(bounded, shim.Shutdown(t.calls.name, reason)); err == nil {
			t.calls.leaves(ch)
		}
	})
	t.calls.left(ctx)
}

// Invoke runs a registered tool once.
func (t *tab) Invoke(ctx context.Context, inv session.Invocation) bridge.Step {
	d := t.shown.find(inv.Document)
	if d == nil {
		return t.absent().Step()
	}
	if err := t.calls.pulse(ctx, d); err != nil {
		return err.Step()
	}
	if inv.Once {
		t.watchTraffic(ctx)
	}
	s := t.saver.begin(ctx, &inv)
	began, since := t.target.Delivered(), time.Now()
	c := t.calls.begin(d, &inv)
	if t.shown.find(inv.Document) != d {
		c.end()
		t.saver.end(s)
		return t.absent().Step()
	}
	return t.saved(ctx, c, s, began, t.moved(ctx, d, began, since, t.invoker.invoke(ctx, c, inv)))
}

// absent says why a document is not there: the page is gone, or it shows another.
func (t *tab) absent() *bridge.Error {
	if reason := t.target.Reason(); reason != nil {
		return goneError(reason, bridge.NotRun)
	}
	return gone()
}

// Events returns what happens to the tab.
func (t *tab) Events() <-chan session.Event { return t.owner.events }

// Close ends the page and forgets its browser context.
func (t *tab) Close(ctx context.Context) error {
	if holds := t.owned.Holds; holds != nil && !holds() {
		return t.Detach(ctx)
	}
	t.closed.Do(func() {
		if t.calls.closing.Store(true); t.calls.inFlight() > 0 {
			t.abortAll(ctx, "pagetools closed the page.")
		}
		t.calls.left(ctx)
		t.target.Fail(errOurs)
		t.closeErr = t.browser.dispose(ctx, t.at)
		t.reaching.end()
		t.saver.close()
		t.onClose(t)
	})
	return t.closeErr
}
