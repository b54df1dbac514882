package cdp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
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

// RemoteOptions configures a browser that runs elsewhere.
type RemoteOptions struct {
	// URL is http://host:port, from which the WebSocket address is read, or a
	// WebSocket address itself. Required.
	URL string
	// Header is sent with the WebSocket handshake.
	Header http.Header
	// Native offers pages the browser's own WebMCP in place of ours. The browser
	// must have been started with --enable-features=WebMCP.
	Native bool
	Words  text.Words // as in chrome.Options
	Log    *slog.Logger
}

// Engine opens tabs in browsers. It implements session.Engine.
type Engine struct {
	connect func(ctx context.Context) (*instance, error)
	kind    chrome.Kind
	recycle int           // tabs; zero means never
	age     time.Duration // zero means any
	times   times
	heavy   uint64 // bytes of memory beyond which a renderer ends
	// startTime bounds how long a browser may take to start, or to let us in.
	startTime time.Duration
	log       *slog.Logger
	parsed    sync.Map      // *adapter.HeaderError of adapters, nil of JavaScript, by digest
	turns     chan struct{} // has an element for each tab that is being made

	life context.Context //nolint:containedctx // of starts, which outlive who asked for them; ends in Close
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	current *instance
	all     []*instance
	opening chan struct{} // not nil while a browser starts; closed when it did
	failed  time.Time     // of the last start that failed
	pause   time.Duration // before the next one
	lastErr error
	version string // of the newest browser
	counts  Counts
	losses  []bridge.LostBrowser // the newest
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
	if o.UserDataDir == "" { // two browsers cannot have it
		e.recycle, e.age = cmp.Or(o.RecycleAfter, 200), cmp.Or(o.RecycleAge, 24*time.Hour)
	}
	e.connect = func(ctx context.Context) (*instance, error) {
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

// NewRemote makes an engine over a browser that somebody else runs. It gets
// browser contexts of our own, and is left running.
func NewRemote(o RemoteOptions) (*Engine, error) {
	if o.URL == "" {
		return nil, errors.New("a remote browser needs an address")
	}
	e := newEngine(o.Log)
	e.connect = func(ctx context.Context) (*instance, error) {
		conn, err := wire.Dial(ctx, o.URL, o.Header)
		if err != nil {
			return nil, err
		}
		b, err := e.speak(ctx, conn, nil)
		if err == nil {
			b.native, b.words = o.Native, o.Words
		}
		return b, err
	}
	return e, nil
}

func newEngine(log *slog.Logger) *Engine {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	e := &Engine{log: log, times: usualTimes, heavy: maxRenderer, startTime: startTime,
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
	b, err := e.instance(ctx, true)
	if err != nil {
		return nil, openError(ctx, err)
	}
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
		t, err := openTab(bounded, b, o, &e.parsed, func(t *tab) { e.release(b, t) })
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

// reserve counts a tab that is about to open, so that its browser is not closed
// before. Called with e.mu held.
func (e *Engine) reserve(b *instance) {
	b.open++
	b.opened++
	if e.recycle > 0 && b.opened >= e.recycle {
		e.log.Info("browser: recycled", "tabs", b.opened)
		e.replace(b)
	}
}

// replace makes the next tab open in another browser, and tells the tabs of this one. Called
// with e.mu held.
func (e *Engine) replace(b *instance) {
	e.current = nil
	for t := range b.tabs {
		go t.recycled()
	}
}

// tooOld reports whether another browser has to take over from b, because of its age.
func (e *Engine) tooOld(b *instance) bool {
	return e.age > 0 && b.opened > 0 && time.Since(b.began) >= e.age
}

// release notes that a tab closed, and closes a browser that was taken over and
// has no tab left.
func (e *Engine) release(b *instance, t *tab) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(b.tabs, t)
	b.open--
	if b.open == 0 && e.current != b && !e.closed {
		go e.retire(b)
	}
}

// closeTabs closes the tabs of a browser that are at work, so that their tools hear of it, and all of
// them in a browser that outlives us with what we opened in it.
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
		if t.calls.atWork() || b.guest != nil {
			wg.Go(func() { _ = t.Close(ctx) })
		}
	}
}

func (e *Engine) retire(b *instance) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b.close(ctx)
}

// Times between starts of browsers that failed.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// instance returns the browser for new tabs, starting one when none runs. Only one
// starts at a time. With forTab a tab is reserved in it.
func (e *Engine) instance(ctx context.Context, forTab bool) (*instance, error) {
	for {
		e.mu.Lock()
		switch {
		case e.closed:
			e.mu.Unlock()
			return nil, errOurs
		case e.current != nil && e.current.alive() && forTab && e.tooOld(e.current):
			b := e.current
			e.log.Info("browser: recycled", "age", time.Since(b.began))
			e.replace(b)
			if b.open == 0 {
				go e.retire(b)
			}
			e.mu.Unlock()
			continue
		case e.current != nil && e.current.alive():
			b := e.current
			if forTab {
				e.reserve(b)
			}
			e.mu.Unlock()
			return b, nil
		case e.opening == nil && time.Since(e.failed) < e.pause:
			// It failed a moment ago: everybody gets that answer.
			err := e.lastErr
			e.mu.Unlock()
			return nil, err
		case e.opening == nil:
			e.opening = make(chan struct{})
			go e.start(e.opening)
		}
		wait := e.opening
		e.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		e.mu.Lock()
		err := e.lastErr
		e.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

const startTime = 20 * time.Second

// start starts a browser and tells who waits.
func (e *Engine) start(done chan struct{}) {
	ctx, cancel := context.WithTimeout(e.life, e.startTime)
	defer cancel()
	b, err := e.connect(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opening = nil
	e.lastErr = err
	close(done)
	if err != nil {
		e.counts.Failed++
		e.log.Error("browser: not started", "error", err)
		e.failed = time.Now()
		e.pause = min(max(2*e.pause, firstPause), lastPause)
		return
	}
	go b.ping(func() { e.logIn(b) })
	go b.weigh(e.heavy)
	e.counts.Started++
	e.log.Info("browser: started", "version", b.version, "kind", string(b.kind))
	e.pause = 0
	e.current, e.version = b, b.version
	e.all = append(e.dropDead(), b)
	if e.closed {
		go e.retire(b)
	}
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
	opening, all := e.opening, e.all
	e.mu.Unlock()
	if opening != nil {
		<-opening
		e.mu.Lock()
		all = e.all
		e.mu.Unlock()
	}
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

func (e *Engine) lose(cause string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts.Lost == nil {
		e.counts.Lost = map[string]int{}
	}
	e.counts.Lost[cause]++
	e.remember(cause)
	e.log.Warn("browser: lost", "cause", cause)
}

// Counts returns how many browsers were started and lost until now.
func (e *Engine) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	c.Lost = maps.Clone(c.Lost)
	return c
}

// Kind returns the kind of the browsers that the engine starts, or "" when it starts none.
func (e *Engine) Kind() chrome.Kind { return e.kind }

// Down returns why no browser runs that could be had: the error of the last start, when
// that failed. It is for the log, and not for strangers.
func (e *Engine) Down() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastErr
}

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
