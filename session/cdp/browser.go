package cdp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/egress"
)

// instance is one browser that we are connected to.
type instance struct {
	conn    *wire.Conn
	root    *chromedp.Browser
	own     *wire.Session   // the browser itself, for commands in order whose replies nobody awaits
	process *chrome.Process // nil for a browser that we did not start
	claim   *endpoint.Claim // nil for one that is not an endpoint's
	slot    *slot           // set when it is there
	version string
	times   times
	life    context.Context //nolint:containedctx // of what goes on with the connection; stop ends it
	stop    context.CancelFunc
	began   time.Time
	lost    func(cause string) // called once when it ended or fell silent by itself
	large   func(bytes uint64) // called when a renderer has too much memory

	kind chrome.Kind  // empty for a browser that we did not start
	view *chrome.View // how pages look; nil leaves it to the browser

	// adopts is true when windows that pages open wait for us.
	adopts bool
	// native is true when pages get the browser's own WebMCP.
	native bool
	words  text.Words // for whoever chose the options

	// keepsProfile is true when the profile belongs to the operator.
	keepsProfile bool
	// saves is true since a page of the operator's profile may save files: it counts for all of
	// them.
	saves atomic.Bool
	// proxy says how pages reach the network; nil is the browser's own way.
	proxy *egress.Proxy
	// common is the credential of all pages of an operator's profile, which has one store of
	// credentials; it reaches what any of them may.
	common *egress.Grant
	// network is the process that speaks to the network, as far as we know.
	network atomic.Int64
	// attended is true when somebody can be at its windows.
	attended bool
	// reattaches is true when another connection can attach to its tabs.
	reattaches bool
	// guest says that a person uses the browser; nil: it is there for us.
	guest *guest

	// These are guarded by the engine.
	opened int           // tabs so far
	open   int           // tabs now, and those that open
	tabs   map[*tab]bool // tabs now
}

// speak speaks to a browser over tr. proc is nil for a remote one.
func (e *Engine) speak(ctx context.Context, tr chromedp.Transport,
	proc *chrome.Process) (*instance, error) {
	life, stop := context.WithCancel(context.Background())
	debug := func(format string, args ...any) { e.log.Debug("chromedp: " + fmt.Sprintf(format, args...)) }
	b := &instance{conn: wire.New(tr, wanted), process: proc, times: e.times, life: life, stop: stop,
		tabs: map[*tab]bool{}, began: time.Now(),
		large: func(bytes uint64) { e.log.Warn("browser: a page took too much memory, and was ended", "bytes", bytes) }}
	b.lost = func(cause string) { e.lose(b, cause) }
	b.own = b.conn.OpenFor("", nil)
	var err error
	b.root, err = chromedp.NewBrowserTransport(life, b.conn, chromedp.WithBrowserLogf(debug),
		chromedp.WithBrowserErrorf(debug))
	if err != nil {
		return nil, b.startError(ctx, err)
	}
	v, err := cdp.Call(ctx, b.root, browser.GetVersion, cdp.Empty{})
	if err != nil {
		return nil, b.startError(ctx, err)
	}
	b.version, b.attended = v.Product, !strings.Contains(v.UserAgent, "Headless")
	return b, nil
}

// startError explains a browser that did not begin to speak, and ends it.
func (b *instance) startError(ctx context.Context, err error) error {
	defer b.kill()
	if b.process == nil {
		return fmt.Errorf("the browser does not answer: %w", err)
	}
	ended := false
	if ctx.Err() == nil { // its pipe broke
		select {
		case <-b.process.Done():
			ended = true
		case <-time.After(2 * time.Second):
		}
	}
	printed := ". It printed nothing"
	if words := b.process.Output(5); words != "" {
		printed = ". It printed: " + strings.TrimRight(words, ". \n") // the sentence has an end of its own
	}
	if ended {
		return fmt.Errorf("%s is not a Chromium, or cannot run here: it ended before it answered%s", b.process.Path(), printed)
	}
	return fmt.Errorf("the browser did not start: %w%s", err, printed)
}

// ping notices a browser that is frozen, whose pipe stays open while it says
// nothing, and ends one whose pipe broke. forgot is called when the credentials of the
// pages are lost. It ends with the connection.
func (b *instance) ping(forgot func()) {
	ctx := b.life
	ticker := time.NewTicker(b.times.pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		case <-b.conn.Lost():
			if ctx.Err() == nil {
				b.lost(LostEnded)
				b.kill()
			}
			return
		}
		bounded, cancel := awake(ctx, b.times.pingPatience)
		_, err := cdp.Call(bounded, b.root, browser.GetVersion, cdp.Empty{})
		cancel()
		if err != nil && ctx.Err() == nil {
			cause := LostSilent
			if !b.alive() {
				cause = LostEnded
			}
			b.lost(cause)
			b.kill()
			return
		}
		if b.forgot(ctx) {
			forgot()
		}
	}
}

func (b *instance) alive() bool {
	select {
	case <-b.conn.Lost():
		return false
	default:
		return true
	}
}

// leave ends what goes on with the connection.
func (b *instance) leave() {
	b.stop()
	if b.common != nil {
		b.common.End()
	}
}

// kill ends the connection and the process, now.
func (b *instance) kill() {
	b.leave()
	_ = b.conn.Close()
	b.release()
	if b.process != nil {
		b.process.Kill()
	}
}

// release gives a browser back that an endpoint had for us.
func (b *instance) release() {
	if b.claim != nil {
		b.claim.Release()
	}
}

// close ends a browser that we started in order; of another one it only leaves.
func (b *instance) close(ctx context.Context) {
	b.leave()
	_ = b.conn.Close()
	b.release()
	if b.process == nil {
		return
	}
	// The end of the pipe makes the browser exit in order, which takes a second.
	// Only a profile that outlives us is worth waiting for.
	if !b.keepsProfile {
		b.process.Kill()
	}
	b.process.Stop(ctx)
}

// place locates a tab in its browser.
type place struct {
	target *wire.Session
	in     cdp.BrowserContextID // "" is the default one
	id     cdptarget.ID
	theirs string // the address that it showed, when it is a tab of the browser's person
}

// newTarget makes a page and attaches to it: in a browser context of its own,
// or, when the operator gave a profile, in that profile.
func (b *instance) newTarget(ctx context.Context, o session.TabOptions) (place, error) {
	if b.guest != nil {
		return b.guest.place(ctx, b, o)
	}
	var id cdp.BrowserContextID
	if !b.keepsProfile {
		params := cdptarget.CreateBrowserContextParams{DisposeOnDetach: new(!b.keeps(o))}
		if b.proxy != nil && b.process == nil { // without <-loopback> loopback addresses go round it
			params.ProxyServer, params.ProxyBypassList = b.proxy.Address(), "<-loopback>"
		}
		created, err := cdp.Call(ctx, b.root, cdptarget.CreateBrowserContext, params)
		if err != nil {
			return place{}, fmt.Errorf("making a browser context: %w", err)
		}
		id = created.BrowserContextID
	}
	at := place{in: id}
	err := b.mark(ctx, id, b.ownerOf(o).By)
	if err == nil {
		at.target, at.id, err = b.newPage(ctx, id)
	}
	return at, err
}

// newPage makes a page in a browser context and attaches to it.
func (b *instance) newPage(ctx context.Context,
	in cdp.BrowserContextID) (*wire.Session, cdptarget.ID, error) {
	page, err := cdp.Call(ctx, b.root, cdptarget.CreateTarget,
		cdptarget.CreateTargetParams{URL: "about:blank", BrowserContextID: in, NewWindow: new(true), Background: new(b.guest != nil)})
	if err != nil {
		return nil, "", fmt.Errorf("making a page: %w", err)
	}
	at, err := b.attachTo(ctx, page.TargetID)
	return at, page.TargetID, err
}

// attachTo attaches to a page.
func (b *instance) attachTo(ctx context.Context, page cdptarget.ID) (*wire.Session, error) {
	attached, err := cdp.Call(ctx, b.root, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: page, Flatten: new(true)})
	if err != nil {
		return nil, fmt.Errorf("attaching to a page: %w", err)
	}
	return b.conn.Open(attached.SessionID), nil
}

// adoptWindows makes the browser attach us to every page before its scripts run.
func (b *instance) adoptWindows(ctx context.Context) error {
	_, err := cdp.Call(ctx, b.root, cdptarget.SetAutoAttach, wire.AutoAttach("page"))
	if err != nil {
		return fmt.Errorf("adopting windows: %w", err)
	}
	b.adopts = true
	return nil
}

// confine makes pages reach the network through a proxy only.
func (b *instance) confine(p *egress.Proxy) {
	b.proxy = p
	if b.keepsProfile && p != nil {
		b.common = p.Admit(policy.Reach{}, nil)
	}
}

// admit makes the credential with which a page reaches the network, and says what ends it.
func (b *instance) admit(reach *policy.Reach,
	refused func(context.Context, *egress.Refusal)) (*egress.Grant, func()) {
	reach = cmp.Or(reach, &policy.Reach{})
	switch {
	case b.proxy == nil:
		return nil, func() {}
	case b.common != nil:
		b.common.Extend(*reach)
		return b.common, func() {}
	}
	g := b.proxy.Admit(*reach, refused)
	return g, g.End
}

// forgot reports whether the process that knew the credentials of the pages was replaced since it
// was seen last: the browser starts another one when it dies. It says so of none that was not seen
// before, because to log in again ends the navigations of pages.
func (b *instance) forgot(ctx context.Context) bool {
	if b.proxy == nil {
		return false
	}
	all, err := cdp.Call(ctx, b.root, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		return false
	}
	for _, p := range all.ProcessInfo {
		if p.Type == networkProcess {
			before := b.network.Swap(p.ID)
			return before != 0 && before != p.ID
		}
	}
	return false
}

// learn notes, once a page has reached the network, by which process it did: that may die before
// the browser is asked the next time.
func (b *instance) learn(ctx context.Context) {
	if b.network.Load() == 0 {
		b.forgot(ctx)
	}
}

// networkProcess is the browser's name of the process that speaks to the network.
const networkProcess = "network.mojom.NetworkService"

func (b *instance) closeTarget(id cdptarget.ID) {
	bounded, cancel := farewell()
	defer cancel()
	_, _ = cdp.Call(bounded, b.root, cdptarget.CloseTarget,
		cdptarget.CloseTargetParams{TargetID: id})
}

// farewell bounds what is said at the end, apart from any call's context.
func farewell() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 3*time.Second)
}

// dispose forgets a browser context, with its pages and everything they kept. A
// page in the operator's profile is only closed, and a tab of a person's is left to them.
func (b *instance) dispose(ctx context.Context, at place) error {
	if !b.alive() {
		return nil
	}
	var err error
	switch {
	case at.theirs != "":
		b.leaveTab(ctx, at)
	case at.in != "":
		_, err = cdp.Call(ctx, b.root, cdptarget.DisposeBrowserContext,
			cdptarget.DisposeBrowserContextParams{BrowserContextID: at.in})
	case at.id != "":
		_, err = cdp.Call(ctx, b.root, cdptarget.CloseTarget,
			cdptarget.CloseTargetParams{TargetID: at.id})
		if err == nil && b.guest != nil {
			err = b.awaitClosed(ctx, at.id)
		}
	}
	if err != nil && b.alive() {
		return fmt.Errorf("closing a page: %w", err)
	}
	return nil
}
