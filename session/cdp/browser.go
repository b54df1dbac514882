package cdp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// instance is one browser that we are connected to.
type instance struct {
	conn    *wire.Conn
	root    *chromedp.Browser
	process *chrome.Process // nil for a browser that we did not start
	version string
	times   times
	stop    context.CancelFunc
	began   time.Time
	lost    func(cause string) // called once when it ended or fell silent by itself

	kind chrome.Kind  // empty for a browser that we did not start
	view *chrome.View // how pages look; nil leaves it to the browser

	// adopts is true when windows that pages open wait for us.
	adopts bool
	// native is true when pages get the browser's own WebMCP.
	native bool

	// keepsProfile is true when the profile belongs to the operator.
	keepsProfile bool
	// attended is true when somebody can be at its windows.
	attended bool

	opened int // tabs so far; guarded by the engine
	open   int // tabs now; guarded by the engine
}

// speak speaks to a browser over tr. proc is nil for a remote one.
func (e *Engine) speak(ctx context.Context, tr chromedp.Transport,
	proc *chrome.Process) (*instance, error) {
	life, stop := context.WithCancel(context.Background())
	debug := func(format string, args ...any) { e.log.Debug("chromedp: " + fmt.Sprintf(format, args...)) }
	b := &instance{conn: wire.New(tr, wanted), process: proc, times: e.times, stop: stop,
		began: time.Now(), lost: e.lose}
	var err error
	b.root, err = chromedp.NewBrowserTransport(life, b.conn, chromedp.WithBrowserLogf(debug),
		chromedp.WithBrowserErrorf(debug))
	if err != nil {
		b.kill()
		return nil, fmt.Errorf("speaking to the browser: %w", err)
	}
	v, err := cdp.Call(ctx, b.root, browser.GetVersion, cdp.Empty{})
	if err != nil {
		b.kill()
		return nil, b.startError(err)
	}
	b.version, b.attended = v.Product, !strings.Contains(v.UserAgent, "Headless")
	go b.ping(life)
	return b, nil
}

// startError explains a browser that did not begin to speak.
func (b *instance) startError(err error) error {
	if b.process == nil {
		return fmt.Errorf("the browser does not answer: %w", err)
	}
	select {
	case <-b.process.Done():
	case <-time.After(2 * time.Second):
	}
	if said := b.process.Output(5); said != "" {
		return fmt.Errorf("the browser did not start: %w; it said: %s", err, said)
	}
	return fmt.Errorf("the browser did not start: %w", err)
}

// ping notices a browser that is frozen, whose pipe stays open while it says
// nothing, and ends one whose pipe broke. It ends with the connection.
func (b *instance) ping(ctx context.Context) {
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
		bounded, cancel := context.WithTimeout(ctx, b.times.pingPatience)
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
	}
}

// isShell reports whether it is a headless shell that we started.
func (b *instance) isShell() bool { return b.kind == chrome.Shell }

// alive reports whether the connection stands.
func (b *instance) alive() bool {
	select {
	case <-b.conn.Lost():
		return false
	default:
		return true
	}
}

// kill ends the connection and the process, now.
func (b *instance) kill() {
	b.stop()
	_ = b.conn.Close()
	if b.process != nil {
		b.process.Kill()
	}
}

// close ends a browser that we started in order; of another one it only leaves.
func (b *instance) close(ctx context.Context) {
	b.stop()
	_ = b.conn.Close()
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

// newTarget makes a page and attaches to it: in a browser context of its own,
// or, when the operator gave a profile, in that profile.
func (b *instance) newTarget(ctx context.Context) (*wire.Session, cdp.BrowserContextID, cdptarget.ID, error) {
	yes := true
	var id cdp.BrowserContextID
	if !b.keepsProfile {
		params := cdptarget.CreateBrowserContextParams{DisposeOnDetach: &yes}
		created, err := cdp.Call(ctx, b.root, cdptarget.CreateBrowserContext, params)
		if err != nil {
			return nil, "", "", fmt.Errorf("making a browser context: %w", err)
		}
		id = created.BrowserContextID
	}
	tgt, page, err := b.newPage(ctx, id)
	return tgt, id, page, err
}

// newPage makes a page in a browser context and attaches to it.
func (b *instance) newPage(ctx context.Context,
	in cdp.BrowserContextID) (*wire.Session, cdptarget.ID, error) {
	yes := true
	page, err := cdp.Call(ctx, b.root, cdptarget.CreateTarget,
		cdptarget.CreateTargetParams{URL: "about:blank", BrowserContextID: in, NewWindow: &yes})
	if err != nil {
		return nil, "", fmt.Errorf("making a page: %w", err)
	}
	attached, err := cdp.Call(ctx, b.root, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: page.TargetID, Flatten: &yes})
	if err != nil {
		return nil, page.TargetID, fmt.Errorf("attaching to a page: %w", err)
	}
	return b.conn.Open(attached.SessionID), page.TargetID, nil
}

// adoptWindows makes the browser attach us to every page before its scripts run.
func (b *instance) adoptWindows(ctx context.Context) error {
	yes := true
	_, err := cdp.Call(ctx, b.root, cdptarget.SetAutoAttach, cdptarget.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes,
		Filter: cdptarget.Filter{{Exclude: false, Type: "page"}},
	})
	if err != nil {
		return fmt.Errorf("adopting windows: %w", err)
	}
	b.adopts = true
	return nil
}

// closeTarget closes a page, if it is there.
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
// page in the operator's profile is only closed.
func (b *instance) dispose(ctx context.Context, id cdp.BrowserContextID, page cdptarget.ID) error {
	if !b.alive() {
		return nil
	}
	var err error
	switch {
	case id != "":
		_, err = cdp.Call(ctx, b.root, cdptarget.DisposeBrowserContext,
			cdptarget.DisposeBrowserContextParams{BrowserContextID: id})
	case page != "":
		_, err = cdp.Call(ctx, b.root, cdptarget.CloseTarget,
			cdptarget.CloseTargetParams{TargetID: page})
	}
	if err != nil && b.alive() {
		return fmt.Errorf("closing a page: %w", err)
	}
	return nil
}
