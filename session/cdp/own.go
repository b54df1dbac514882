package cdp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// OwnOptions configures the browser that a person uses: it runs already, and its logins, downloads and
// tabs stay theirs. The zero value looks for a Chrome or Chromium of this user.
type OwnOptions struct {
	// Dir is the profile folder of the browser; "" means the usual ones.
	Dir string
	// Attach has patterns of addresses, in which "*" stands for any characters. A site to which one may
	// apply uses an open tab whose address matches, in the place of a tab of ours. No other tab is used.
	Attach []string
	// Native offers pages the browser's own WebMCP in place of ours.
	Native bool
	// Patience says how long the browser may wait for its person to let us in; zero means 60 s.
	Patience time.Duration
	// Say tells the person what they should know at once, in a line; nil tells nobody.
	Say   func(line string)
	Words text.Words // as in chrome.Options
	Log   *slog.Logger
}

const (
	// dialogPatience is the usual OwnOptions.Patience.
	dialogPatience = time.Minute
	// dialogShown says after which time without an answer the browser asks its person, as far as we know.
	dialogShown = time.Second
)

// NewOwn makes an engine over the browser that a person uses. It gets one tab of ours for each tab that is
// opened, or uses one of the person's; nothing else is changed in it, and it is left running.
func NewOwn(o OwnOptions) *Engine {
	o.Patience = cmp.Or(o.Patience, dialogPatience)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	e := newEngine(o.Log)
	k := &knock{OwnOptions: o, refused: map[string]error{}}
	e.add(&slot{startTime: o.Patience + startTime, connect: func(ctx context.Context) (*instance, error) {
		conn, err := k.dial(ctx)
		if err != nil {
			return nil, err
		}
		b, err := e.speak(ctx, conn, nil)
		if err != nil {
			return nil, err
		}
		b.native, b.words, b.keepsProfile, b.attended = o.Native, o.Words, true, true
		b.guest = &guest{attach: o.Attach, say: o.Say, taken: map[cdptarget.ID]*wire.Session{}, failed: map[cdptarget.ID]string{}}
		return b, nil
	}})
	return e
}

// knock connects to a browser that may ask its person first. The engine calls it from one goroutine at a
// time.
type knock struct {
	OwnOptions

	// refused has why nobody let us in, by address, which differs each time a browser starts: a person is
	// asked once.
	refused map[string]error
}

// dial connects to the first browser that listens.
func (k *knock) dial(ctx context.Context) (chromedp.Transport, error) {
	all, err := chrome.Running(k.Dir)
	if none, ok := errors.AsType[*chrome.NotAllowedError](err); ok && k.Dir == "" {
		return nil, fmt.Errorf("%w. %s", none, k.Words.Of("Dir names the profile folder of another browser"))
	}
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		conn, err := k.ask(ctx, at)
		if err == nil || !origin.IsRefused(err) {
			return conn, err
		}
	}
	return nil, fmt.Errorf("%s names port %d, where nothing listens: the browser that wrote the file has ended. Start it. %s",
		text.Line(all[0].File), all[0].Port, chrome.HowToAllow)
}

// ask connects to one browser, and waits for its person. Errors hold no address: it is a secret.
func (k *knock) ask(ctx context.Context, at chrome.Endpoint) (chromedp.Transport, error) {
	if err := cmp.Or(k.refused[at.URL], at.Foreign()); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, k.Patience)
	defer cancel()
	asks := time.AfterFunc(min(dialogShown, k.Patience/2), func() {
		k.Say(fmt.Sprintf("the browser asks whether remote debugging is allowed: choose Allow in its window (waiting %gs)",
			k.Patience.Seconds()))
	})
	conn, err := wire.Dial(bounded, at.URL, nil)
	asks.Stop()
	switch {
	case err == nil:
		return conn, nil
	case origin.IsRefused(err):
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case bounded.Err() != nil:
		err = fmt.Errorf("nobody allowed it in the browser within %gs. Start pagetools again, and choose Allow in the browser's dialog", k.Patience.Seconds())
	default:
		err = fmt.Errorf("the browser at port %d does not let pagetools in. %s; then choose Allow in the dialog, and start pagetools again",
			at.Port, chrome.HowToAllow)
	}
	k.refused[at.URL] = err
	return nil, err
}

// guest holds what we are allowed to in a browser that a person uses. It is safe for concurrent use.
type guest struct {
	attach []string
	say    func(string)

	mu    sync.Mutex
	taken map[cdptarget.ID]*wire.Session // tabs of the person's that we use; nil while we attach to one
	// failed has what a tab of theirs showed when it could not be used: it is not reloaded again.
	failed map[cdptarget.ID]string
}

// place finds an open tab for a site that is to use one, or opens one of ours in a window in the background.
// Errors are *bridge.Error where no tab matches.
func (g *guest) place(ctx context.Context, b *instance, o session.TabOptions) (place, error) {
	sites := append([]string{o.Origin}, o.Origins...)
	patterns := slices.DeleteFunc(slices.Clone(g.attach), func(p string) bool {
		return !slices.ContainsFunc(sites, func(of string) bool { return Applies(p, of) })
	})
	if len(patterns) == 0 {
		at, page, err := b.newPage(ctx, "")
		return place{target: at, id: page}, err
	}
	found, err := b.openTabs(ctx, patterns, o)
	if err != nil {
		return place{}, err
	}
	g.mu.Lock()
	found = slices.DeleteFunc(found, func(x *cdptarget.Info) bool {
		_, taken := g.taken[x.TargetID]
		return taken || g.failed[x.TargetID] == x.URL
	})
	if len(found) > 0 {
		g.taken[found[0].TargetID] = nil
	}
	g.mu.Unlock()
	if len(found) == 0 {
		return place{}, bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
			"No open tab of %s has the address that the operator named: open one in the browser.", o.Origin)
	}
	one := found[0]
	if n := len(found); n > 1 {
		g.say(fmt.Sprintf("%d open tabs of %s match: the one that shows %s is used, the first by address", n, o.Origin, shownAddress(one.URL)))
	}
	at, err := b.attachTo(ctx, one.TargetID)
	if err != nil {
		g.free(one.TargetID, nil)
		return place{}, err
	}
	g.mu.Lock()
	g.taken[one.TargetID] = at
	g.mu.Unlock()
	return place{target: at, id: one.TargetID, theirs: one.URL}, nil
}

// fail notes that a tab cannot be used as it is.
func (g *guest) fail(at place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.failed) >= maxFailed {
		clear(g.failed)
	}
	g.failed[at.id] = at.theirs
}

// maxFailed bounds the tabs that are remembered because they failed.
const maxFailed = 1000

// free notes that a session of ours does not use a tab any more.
func (g *guest) free(id cdptarget.ID, of *wire.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, taken := g.taken[id]; taken && s == of {
		delete(g.taken, id)
	}
}

// openTabs lists the tabs of the default browser context that a site may use, by address.
func (b *instance) openTabs(ctx context.Context, patterns []string, o session.TabOptions) ([]*cdptarget.Info, error) {
	contexts, err := cdp.Call(ctx, b.root, cdptarget.GetBrowserContexts, cdp.Empty{})
	if err != nil {
		return nil, fmt.Errorf("listing profiles: %w", err)
	}
	all, err := cdp.Call(ctx, b.root, cdptarget.GetTargets, cdptarget.GetTargetsParams{})
	if err != nil {
		return nil, fmt.Errorf("listing tabs: %w", err)
	}
	found := slices.DeleteFunc(all.TargetInfos, func(x *cdptarget.Info) bool {
		matches := func(p string) bool { return policy.Matches(p, x.URL) }
		foreign := contexts.DefaultBrowserContextID != "" && x.BrowserContextID != contexts.DefaultBrowserContextID
		return x.Type != "page" || foreign || !slices.ContainsFunc(patterns, matches) ||
			!slices.ContainsFunc(append([]string{o.Origin}, o.Origins...), func(of string) bool { return origin.Same(of, x.URL) })
	})
	slices.SortFunc(found, func(x, y *cdptarget.Info) int {
		return cmp.Or(strings.Compare(x.URL, y.URL), strings.Compare(string(x.TargetID), string(y.TargetID)))
	})
	return found, nil
}

// Applies reports whether a pattern of OwnOptions.Attach can match an address of an origin.
func Applies(pattern, of string) bool {
	for end := range len(pattern) + 1 {
		if of != "" && policy.Matches(pattern[:end], of+"/") {
			return true // the rest is about what follows
		}
	}
	return false
}

// shownAddress is an address as a person may read it in a log: what follows its path may be secret.
func shownAddress(address string) string {
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		address = address[:end]
	}
	return text.Line(text.Short(address, maxShownAddress))
}

const maxShownAddress = 200 // bytes

// awaitClosed waits until a tab of ours is gone: a browser that we leave before then keeps it.
func (b *instance) awaitClosed(ctx context.Context, id cdptarget.ID) error {
	ticker := time.NewTicker(closeLook)
	defer ticker.Stop()
	for {
		_, err := cdp.Call(ctx, b.root, cdptarget.GetTargetInfo, cdptarget.GetTargetInfoParams{TargetID: id})
		switch {
		case isProtocol(err): // there is no such target
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// closeLook says how often a tab that closes is looked for.
const closeLook = 20 * time.Millisecond

// reload loads the tab of a person anew, after saying so: the page script has to be there before the
// page's own. It returns when the new document is committed; a page that asks its person whether to
// leave may stay.
func (t *tab) reload(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			t.browser.guest.fail(t.at)
		}
	}()
	before := t.shown.top.Load()
	t.reaching.begins(t.at.theirs)
	t.browser.guest.say(fmt.Sprintf("reloading your open tab %s, so that its tools can be called", shownAddress(t.at.theirs)))
	err = t.target.Call(ctx, page.CommandReload, page.ReloadParams{}, nil)
	if err == nil {
		select {
		case <-before.gone:
		case <-t.target.Gone():
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	switch {
	case t.target.Reason() != nil:
		return goneError(t.target.Reason(), bridge.NotRun)
	case err != nil && ctx.Err() != nil:
		return late(ctx, "The tab was not reloaded in time: it may ask in its window whether to leave the page.")
	case err != nil:
		return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "The tab cannot be reloaded.").With(err)
	}
	failed := false
	if t.owner.tasks.ask(ctx, 0, func() { failed = t.owner.frames.top.doc.failed }); failed {
		return loadError("ERR_FAILED", t.at.theirs)
	}
	return nil
}

// leave gives a tab back to its person, who goes to another site in it.
func (t *tab) leave() {
	t.target.Fail(errLeft)
	go func() { // ends within the bound
		bounded, cancel := farewell()
		defer cancel()
		t.browser.leaveTab(bounded, t.at)
	}()
}

// leaveTab takes back what we put into a tab of a person's. The scripts that new documents got end with
// our session; the document that it shows keeps an interface that does nothing, until it is loaded anew.
func (b *instance) leaveTab(ctx context.Context, at place) {
	reason := at.target.Reason()
	if errors.Is(reason, wire.ErrCrashed) || errors.Is(reason, wire.ErrFlood) || errors.Is(reason, errKilled) {
		b.guest.fail(at)
	}
	_ = b.detach(ctx, at.target) // of a tab that is gone, nothing is left
	b.guest.free(at.id, at.target)
}
