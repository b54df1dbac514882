package cdp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/egress"
)

// LocalOptions configures browsers that the engine starts. The zero value finds
// a browser, runs it headless and sandboxed, with a profile of its own.
type LocalOptions struct {
	chrome.Options

	// Proxy says how pages reach the network. With nil they reach whatever the machine does, which
	// is for tests and for pages that can be trusted.
	Proxy *egress.Proxy
	// AdoptWindows makes pages able to bridge the windows that they open.
	AdoptWindows bool
	// RecycleAfter says how many tabs a browser opens before another takes over;
	// zero means 200. RecycleAge says how old it gets; zero means 24 hours. A browser with a
	// profile of the operator is not replaced while it runs.
	RecycleAfter int
	RecycleAge   time.Duration
	// Native offers pages the browser's own WebMCP in place of ours.
	Native bool
	// Log is for what the browser layer says; nil is silent.
	Log *slog.Logger
}

// RemoteOptions configures browsers that run elsewhere.
type RemoteOptions struct {
	// Endpoints say where they are had from. Required; the next tab opens in the one that has the
	// smallest share of its Max.
	Endpoints []endpoint.Endpoint
	// Proxy says how pages reach the network; nil leaves it to the browsers, which confine nothing.
	Proxy *egress.Proxy
	// Native offers pages the browser's own WebMCP in place of ours. The browser
	// must have been started with --enable-features=WebMCP.
	Native bool
	// Reattach makes tabs with an Owner outlive this process, at endpoints with an address whose browsers
	// let another connection attach to them, and not with Native.
	Reattach bool
	Words    text.Words // as in chrome.Options
	Log      *slog.Logger
}

// Engine opens tabs in browsers. It implements session.Engine.
type Engine struct {
	slots  []*slot // at least one
	kind   chrome.Kind
	times  times
	heavy  uint64 // bytes of memory beyond which a renderer ends
	log    *slog.Logger
	parsed sync.Map      // *adapter.HeaderError of adapters, nil of JavaScript, by digest
	turns  chan struct{} // has an element for each tab that is being made

	life context.Context //nolint:containedctx // of starts, which outlive who asked for them; ends in Close
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	all     []*instance
	news    chan struct{} // closed when a browser started or did not, or a tab closed; then there is another one
	changed func()        // called then; nil is nothing
	version string        // of the newest browser
}

// Why browsers are lost.
const (
	LostEnded  = "ended"  // its process or the connection to it ended
	LostSilent = "silent" // it did not answer any more
)

// Counts counts the browsers that an engine started, could not start, and lost by cause:
// LostEnded, LostSilent. Those that it ended itself are not lost.
type Counts struct {
	Started, Failed int
	Lost            map[string]int
}

var _ session.Engine = (*Engine)(nil)

// NewLocal makes an engine over browsers that it starts when they are needed. It
// fails as chrome.NewLauncher does when the options cannot work.
func NewLocal(o LocalOptions) (*Engine, error) {
	o.WebMCP = o.Native
	if o.Proxy != nil {
		o.ProxyServer = o.Proxy.Address()
	}
	launcher, err := chrome.NewLauncher(o.Options)
	if err != nil {
		return nil, err
	}
	e := newEngine(o.Log)
	e.kind = launcher.Kind()
	own := e.add(&slot{})
	if o.UserDataDir == "" { // two browsers cannot have it
		own.recycle, own.age = cmp.Or(o.RecycleAfter, usualRecycle), cmp.Or(o.RecycleAge, usualAge)
	}
	own.connect = func(ctx context.Context) (*instance, error) {
		proc, err := launcher.Start()
		if err != nil {
			return nil, err
		}
		b, err := e.speak(ctx, wire.NewPipe(proc.Out, proc.In), proc)
		if err != nil {
			proc.Kill()
			<-proc.Done()
			return nil, err
		}
		b.kind, b.view = launcher.Kind(), launcher.View()
		b.keepsProfile, b.native, b.words = o.UserDataDir != "", o.Native, o.Words
		b.confine(o.Proxy)
		if o.AdoptWindows && !b.keepsProfile {
			if err := b.adoptWindows(ctx); err != nil {
				b.kill()
				return nil, err
			}
		}
		return b, nil
	}
	return e, nil
}

func newEngine(log *slog.Logger) *Engine {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	e := &Engine{log: log, times: usualTimes, heavy: maxRenderer, news: make(chan struct{}),
		turns: make(chan struct{}, openAtOnce*runtime.GOMAXPROCS(0))}
	e.life, e.stop = context.WithCancel(context.Background())
	return e
}

// Start starts the browser now and returns its version, such as "Chrome/156.0".
func (e *Engine) Start(ctx context.Context) (string, error) {
	b, err := e.instance(ctx, false)
	if err != nil {
		return "", openError(ctx, err)
	}
	return b.version, nil
}

// How tabs open, apart from who asks for them. Making one is work for the processors: of many at
// once on a slow machine, none would be ready in time.
const (
	openTime   = 15 * time.Second // at most, for one
	openAtOnce = 4                // at most, for each processor; others wait for their turn
)

// Open makes a tab in a browser context of its own.
func (e *Engine) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	for first := true; ; first = false {
		b, err := e.instance(ctx, true)
		if err != nil {
			return nil, openError(ctx, err)
		}
		t, err := e.open(ctx, b, o, nil)
		if err == nil || !first || len(e.slots) == 1 || b.alive() || ctx.Err() != nil {
			return t, err
		}
		// Its browser was lost, and nothing ran: there are others.
	}
}

// open makes a tab in a browser, in which a place is reserved, or attaches to one.
func (e *Engine) open(ctx context.Context, b *instance, o session.TabOptions, h *handle) (session.Tab, error) {
	opened := make(chan *tab, 1)
	failed := make(chan error, 1)
	go func() { // ends within openTime of its turn
		select {
		case e.turns <- struct{}{}:
			defer func() { <-e.turns }()
		case <-ctx.Done():
			e.release(b, nil)
			failed <- context.Cause(ctx)
			return
		}
		// A command whose reply nobody reads leaves a browser context behind,
		// so who leaves does not stop the work: its result is closed.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
		defer cancel()
		t, err := openTab(bounded, b, o, h, &e.parsed, func(t *tab) { e.release(b, t); e.disposeLost(t) })
		if err != nil {
			e.release(b, nil)
			failed <- err
			return
		}
		e.mu.Lock()
		b.tabs[t] = true
		e.mu.Unlock()
		opened <- t
	}()
	select {
	case t := <-opened:
		return t, nil
	case err := <-failed:
		return nil, openError(ctx, err)
	case <-ctx.Done():
		go discard(opened, failed)
		return nil, openError(ctx, context.Cause(ctx))
	}
}

// logIn has all tabs of a browser show their credentials again.
func (e *Engine) logIn(b *instance) {
	e.log.Info("browser: its network process was replaced")
	e.mu.Lock()
	defer e.mu.Unlock()
	for t := range b.tabs {
		go t.reaching.logIn(t.target)
	}
}

// discard closes a tab that nobody wants any more, when it is there.
func discard(opened <-chan *tab, failed <-chan error) {
	select {
	case err := <-failed:
		_ = err // there is no tab, and nobody to tell
	case t := <-opened:
		bounded, cancel := farewell()
		defer cancel()
		_ = t.Close(bounded)
		for range t.Events() { // up to the last, so that its owner ends
		}
	}
}

// release notes that a tab closed, and closes a browser that was taken over and
// has no tab left.
func (e *Engine) release(b *instance, t *tab) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(b.tabs, t)
	b.open--
	b.slot.open--
	if b.open == 0 && b.slot.current != b && !e.closed {
		go e.retire(b)
	}
	e.tell()
}

// closeTabs closes the tabs of a browser that are at work, so that their tools hear of it, and those that
// outlive us.
func (e *Engine) closeTabs(b *instance) {
	ctx, cancel := farewell()
	if b.guest != nil { // what is not closed in time stays there
		cancel()
		ctx, cancel = context.WithTimeout(context.Background(), openTime)
	}
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for t := range b.tabs {
		if t.calls.atWork() || b.guest != nil || t.owned.Epoch > 0 {
			wg.Go(func() { _ = t.Close(ctx) })
		}
	}
}

func (e *Engine) retire(b *instance) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b.close(ctx)
}

// dropDead keeps only browsers that may need closing. Called with e.mu held.
func (e *Engine) dropDead() []*instance {
	var alive []*instance
	for _, b := range e.all {
		if b.process != nil {
			select {
			case <-b.process.Done():
				continue
			default:
			}
		} else if !b.alive() {
			continue
		}
		alive = append(alive, b)
	}
	return alive
}

// Close ends every browser that the engine started, and waits until their
// processes and folders are gone.
func (e *Engine) Close() error {
	e.stop()
	e.mu.Lock()
	e.closed = true
	for e.isOpening() {
		news := e.news
		e.mu.Unlock()
		<-news
		e.mu.Lock()
	}
	all := e.all
	e.mu.Unlock()
	var wg sync.WaitGroup
	for _, b := range all {
		wg.Go(func() {
			e.closeTabs(b)
			e.retire(b)
		})
	}
	wg.Wait()
	return nil
}

// Kind returns the kind of the browsers that the engine starts, or "" when it starts none.
func (e *Engine) Kind() chrome.Kind { return e.kind }

// Version returns the product of the newest browser that was started, or "".
func (e *Engine) Version() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

// openError says that no browser or no page of it could be had. Nothing ran.
func openError(ctx context.Context, err error) *bridge.Error {
	if ctx.Err() != nil {
		return late(ctx, "The browser did not open a page in time.")
	}
	if refused, ok := errors.AsType[*bridge.Error](err); ok {
		return refused
	}
	if errors.Is(err, errNoWebMCP) {
		return bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun,
			"The browser has no WebMCP of its own.").With(err)
	}
	return bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun,
		"The browser is not available.").With(err)
}
