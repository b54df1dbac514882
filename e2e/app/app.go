// Package app wires what opens web applications and runs their tools: targets and
// options in, engines, a manager of pages and a bridge out. The command and the test
// kit both stand on it, so that a tool does in a test what it does when it is served.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/egress"
	"github.com/pagetools/pagetools/transport"
)

// The kinds of engines: how pages get WebMCP.
const (
	Shim   = "shim"   // our script
	Native = "native" // the browser's own
)

// EngineKinds are all of them.
func EngineKinds() []string { return []string{Shim, Native} }

// Options say what to open, and how. The options of the manager and the bridge are
// completed: engines, sites, limits, the memory and the log are filled in.
type Options struct {
	Sites []Site
	// Changes is true where App.PrepareSites may be called.
	Changes bool
	// Engine is the kind of engine of sites that name none; "" means Shim.
	Engine string
	// Local is the browser to start. With endpoints of Remote, those are used instead.
	Local  cdp.LocalOptions
	Remote cdp.RemoteOptions
	// Own is the browser that a person uses, in the place of both: each site has one page in it, on
	// which all calls run; nil is none.
	Own *cdp.OwnOptions
	// Browsers are used in the place of browsers that end with the app; nil is none.
	Browsers *Browsers
	// Egress says where the browsers of Remote reach the proxy of their pages; nil leaves pages to them,
	// unconfined.
	Egress *egress.Options
	// Upstream is the operator's own proxy; nil means none.
	Upstream *url.URL
	// Manager holds the limits of sessions, and Bridge the rates of callers.
	Manager session.Options
	Bridge  bridge.Options
	// Limits apply to both.
	Limits bridge.Limits
	// Memory stores what outlives the app; the app closes it. Nil remembers nothing.
	Memory *store.Store
	// Homes says which process has a session, in the place of the Memory's; nil leaves it to that.
	Homes bridge.Homes
	// Shared replaces what the nodes of a cluster keep together in the place of the Memory; nil replaces
	// nothing.
	Shared func(*bridge.Memory)
	// Catalog returns the catalog of a site that the nodes of a cluster have together; nil has none.
	Catalog func(bridge.Site) session.SharedCatalog
	// Credentials stores credentials for APIs, by caller; nil has none. The app closes
	// it.
	Credentials *oauth.Store
	// Words rewords errors for a reader who knows options by other names.
	Words text.Words
	// Version is the program's, which clients are told; "" means "dev".
	Version string
	Log     *slog.Logger // nil is silent
}

// Site is one target with its options.
type Site struct {
	*Target
	// Engine is the kind of engine; "" means that of the options.
	Engine string
	// Files are served in the place of a folder.
	Files fs.FS
	// Page says how its pages are opened; the site, its URL, its engine and the origins that its
	// pages reach are filled in.
	Page session.SiteOptions
	// Tools holds the operator's decisions about its tools.
	Tools bridge.SiteOptions
	// API says how what it publishes as OpenTools is used; the zero value does not.
	API API
}

// App is everything that runs, wired.
type App struct {
	Manager *session.Manager
	// APIs serves sites that publish OpenTools; nil where none is looked for, and sites do not change.
	APIs *opentools.Router
	// Router has the pages and the APIs.
	Router  bridge.Router
	Bridge  *bridge.Bridge
	Metrics *transport.Metrics
	// Traces records pages, for operators.
	Traces *Traces
	// Proxy says how pages reach the network; nil with a remote browser whose ways are its own.
	Proxy *egress.Proxy
	// Engine opens the pages of the first site, and Kind names its kind; nil where no site had
	// a page at the start.
	Engine *cdp.Engine
	Kind   string

	o        Options
	draining atomic.Bool
	tried    atomic.Bool    // each site of the start was opened, or failed once
	browsers *Browsers      // those of the options, or its own
	stops    []func() error // in the order in which they are called

	// The next three are for whoever starts the app, and changes its sites.
	sites      []*served
	generation int64
	apiProxy   *egress.Proxy // for APIs where pages have none

	kinds   atomic.Pointer[map[string]string] // the engines of the sites with pages, by name
	mu      sync.Mutex
	engines map[string]*started // by kind, as the sites need them
	folders map[string]*folderServer
}

// Start opens the sites. The caller must close the app. An error is about the options,
// or no browser could be started: then it matches chrome.ErrNoBrowser, chrome.ErrNoShell or
// chrome.ErrRoot.
// Targets that are folders have their address afterwards.
func Start(ctx context.Context, o Options) (*App, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Engine = cmp.Or(o.Engine, Shim)
	a := &App{o: o, Kind: o.Engine, engines: map[string]*started{}, folders: map[string]*folderServer{}}
	if len(o.Sites) > 0 {
		a.Kind = cmp.Or(o.Sites[0].Engine, o.Engine)
	}
	if a.browsers = o.Browsers; a.browsers == nil {
		a.browsers = &Browsers{}
	}
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) start(ctx context.Context) (err error) {
	if !a.isRemote() && a.o.Own == nil || a.o.Egress != nil {
		if err := a.through(ctx); err != nil {
			return err
		}
	}
	m, b := a.o.Manager, a.o.Bridge
	m.Engine, m.Sites, m.Limits, m.Log = noBrowser{}, nil, a.o.Limits, a.o.Log
	paged := func(s Site) bool { return s.HasPage() }
	if len(a.o.Sites) == 0 || slices.ContainsFunc(a.o.Sites, paged) {
		e, err := a.engine(a.Kind, a.o.Sites)
		if err != nil {
			return err
		}
		a.Engine = e.Engine
		m.Engine, m.LightPages = lent{a.Engine}, a.Engine.Kind() == chrome.Shell
		if a.hasPool() {
			m.Room = a.Engine.Room
		}
	}
	if a.isRemote() { // its memory is another machine's
		m.FreeMemory = func() uint64 { return 0 }
	}
	b.Limits, b.Log, b.Sites = a.o.Limits, a.o.Log, map[string]bridge.SiteOptions{}
	m.Bytes = policy.NewAccount(a.o.Limits.WithDefaults().TotalBytes, nil)
	b.Bytes = m.Bytes
	if a.o.Memory != nil {
		b.Memory = a.o.Memory.Memory
	}
	b.Memory.Homes = a.homes()
	if a.o.Shared != nil {
		a.o.Shared(&b.Memory)
	}
	m.Homes, m.Share = b.Memory.Homes, a.o.Catalog
	first, err := a.PrepareSites(ctx, a.o.Sites)
	if err != nil {
		return err
	}
	a.setSites(first.served)
	for _, s := range a.sites {
		b.Sites[s.Name] = s.Tools
	}
	pages, apis, order := a.parts()
	m.Sites = pages
	a.Manager = session.New(m)
	if m.Room != nil {
		a.Engine.OnRoom(func() { session.RoomChanged(a.Manager) })
	}
	a.attach(apis, order)
	b.Sessions = session.SessionsOf(a.Manager)
	a.Traces = &Traces{app: a}
	b.Recorder = a.Traces
	a.Metrics = transport.NewMetrics(a.Router.Sites(), a.load)
	b.Memory.Calls = a.Metrics.Counting(b.Memory.Calls)
	a.Bridge, err = bridge.New(a.Router, b)
	return err
}

// homes says which process has a session; nil where there is no other.
func (a *App) homes() bridge.Homes {
	if a.o.Homes == nil && a.o.Memory != nil {
		return a.o.Memory.Homes
	}
	return a.o.Homes
}

// Ended says which ids of clients have ended in any process with the same memory; nil where nothing
// is remembered.
func (a *App) Ended() bridge.Ended {
	if a.o.Memory == nil {
		return nil
	}
	return a.o.Memory.Ended
}

// Memory returns what outlives the app; nil where nothing is remembered.
func (a *App) Memory() *store.Store { return a.o.Memory }

// Findings returns what a site's author should know of its declarations now.
func (a *App) Findings(site string) []bridge.Finding {
	all := slices.Concat(a.Manager.Findings(site), a.Bridge.Findings(site))
	if a.APIs != nil {
		all = append(all, a.APIs.Findings(site)...)
	}
	return all
}

// Parses returns why the browser does not take an adapter for JavaScript; nil where it does.
func (a *App) Parses(ctx context.Context, x *adapter.Adapter) error {
	if a.Engine == nil {
		return nil
	}
	return a.Engine.Parses(ctx, x)
}

// Keep keeps pages from a listener of this process, whatever they may reach, until the app is
// closed. With Options.Browsers it is called before the app is used.
func (a *App) Keep(listener string) {
	if a.Proxy == nil {
		return
	}
	a.Proxy.Keep(listener)
	if a.o.Browsers != nil { // whose proxy outlives the listener
		a.stops = append(a.stops, func() error {
			a.Proxy.Forget(listener)
			return nil
		})
	}
}

// started is an engine, and the most that its pages can do with windows.
type started struct {
	*cdp.Engine
	windows session.Windows
}

// engine returns the engine of a kind, and makes it for these sites when it is the first of that.
func (a *App) engine(kind string, sites []Site) (*started, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.engines[kind]; e != nil {
		return e, nil
	}
	if len(a.engines) > 0 && a.o.Own != nil {
		return nil, errors.New("the browser that a person uses takes one engine, and the sites need two: name one for all of them")
	}
	if len(a.engines) > 0 && a.o.Local.UserDataDir != "" {
		return nil, fmt.Errorf("%s is one browser's, and the sites need two: one engine for all of "+
			"them, or no %[1]s", a.o.Words.Of("UserDataDir"))
	}
	if len(a.engines) > 0 && a.hasPool() {
		return nil, errors.New("the places of browsers that run elsewhere are one engine's, and the sites need two: name one for all of them")
	}
	start := func() (*cdp.Engine, error) { return a.newEngine(kind == Native, sites) }
	e, err := a.browsers.engine(kind, start)
	if err != nil {
		return nil, err
	}
	made := &started{e, session.BridgeWindows}
	if !a.isRemote() && a.o.Browsers == nil {
		made.windows = windowsOf(sites)
	}
	a.engines[kind] = made
	return made, nil
}

// isRemote reports whether the browsers run elsewhere.
func (a *App) isRemote() bool { return len(a.o.Remote.Endpoints) > 0 }

// hasPool reports whether they have a number of places.
func (a *App) hasPool() bool { return a.isRemote() && a.o.Remote.Endpoints[0].Max > 0 }

// running returns the engines that there are.
func (a *App) running() []*started {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.engines))
}

// windowsOf returns the most that one of the sites does with windows.
func windowsOf(sites []Site) (most session.Windows) {
	for _, s := range sites {
		most = max(most, s.Page.Tab.Windows)
	}
	return most
}

// through finds the proxy of the pages, or starts it.
func (a *App) through(ctx context.Context) (err error) {
	a.Proxy, err = a.browsers.through(ctx, func(ctx context.Context) (*egress.Proxy, error) {
		o := egress.Options{}
		if a.o.Egress != nil {
			o = *a.o.Egress
		}
		o.Upstream, o.Words, o.Log = a.o.Upstream, a.o.Words, a.o.Log
		return egress.Start(ctx, o)
	})
	return err
}

func (a *App) newEngine(native bool, sites []Site) (*cdp.Engine, error) {
	if a.o.Own != nil {
		own := *a.o.Own
		own.Native, own.Words, own.Log = native, a.o.Words, a.o.Log
		return cdp.NewOwn(own), nil
	}
	if remote := a.o.Remote; a.isRemote() {
		remote.Native, remote.Words, remote.Log, remote.Proxy = native, a.o.Words, a.o.Log, a.Proxy
		_, remote.Reattach = a.homes().(session.Takeovers)
		return cdp.NewRemote(remote)
	}
	if err := chrome.Clean(""); err != nil {
		a.o.Log.Warn("cleaning up after a predecessor", "error", err)
	}
	local := a.o.Local
	local.Native, local.Words, local.Log, local.Proxy = native, a.o.Words, a.o.Log, a.Proxy
	most := windowsOf(sites)
	local.AdoptWindows = local.AdoptWindows || most == session.BridgeWindows
	local.Windows = local.Windows || most != session.CloseWindows
	return cdp.NewLocal(local)
}

// hasFirst reports a first page that is not in the folder.
func (s *Site) hasFirst(root *os.Root) error {
	u, err := url.Parse(s.Path)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return fmt.Errorf("%s is not the path of a page in %s, such as /index.html", s.Path, s.Folder)
	}
	first := strings.TrimPrefix(u.Path, "/")
	if first == "" || strings.HasSuffix(first, "/") {
		first += "index.html"
	}
	if info, err := root.Stat(first); err != nil || info.IsDir() {
		return fmt.Errorf("the %s of %s is not a file in that folder", first, s.Folder)
	}
	return nil
}

// Close ends everything that Start began. An error comes from the memory: not everything
// could be recorded.
func (a *App) Close() error {
	if a.Bridge != nil {
		a.Bridge.Close()
	}
	if a.APIs != nil {
		a.APIs.Close()
	}
	if a.Manager != nil {
		_ = a.Manager.Close()
	}
	if a.o.Browsers == nil {
		_ = a.browsers.Close() // nobody else uses them
	}
	for _, s := range a.sites {
		a.release(s)
	}
	for _, stop := range a.stops {
		_ = stop() // what it served has no more readers
	}
	if a.o.Credentials != nil {
		_ = a.o.Credentials.Close() // a folder that is only read from by then
	}
	if a.o.Memory == nil {
		return nil
	}
	return a.o.Memory.Close() // last: what ends above is recorded
}
