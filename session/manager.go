package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// SiteOptions describes one site to the Manager.
type SiteOptions struct {
	bridge.Site
	// URL is the address that pages open. Required.
	URL string
	// Shared makes calls without a session run on the catalog page.
	Shared bool
	// OnePage makes calls with a session run there, too, with Shared: the site has one page in all, in
	// a browser that somebody else uses.
	OnePage bool
	// Lend makes the catalog page that of the first session whose page is as the site has
	// it: for one caller with one session, that needs one page in all. When the session
	// ends, the page is closed, and another one is the catalog page.
	Lend bool
	// Warm says how many spare pages are kept for calls without a session. Zero
	// means none.
	Warm int
	// WaitFor overrides when a page counts as opened.
	WaitFor WaitFor
	// Patient makes the site's own page, and a fresh one that [Manager.See] opens, count as opened
	// 2.5 s after the load event at the earliest, and when registrations have been quiet for a
	// second, 5 s after it at the latest. Tools that come then are found to be late. WaitFor
	// overrides it.
	Patient bool
	// ForbidParams works as in bridge.Limits, for the site's pages.
	ForbidParams []string
	// Origins are further origins whose documents count as the site's own.
	Origins []string
	// Engine opens the site's tabs; nil means the manager's.
	Engine Engine
	// Tab configures the site's tabs.
	Tab TabOptions
	// Network returns what stands between the page of a caller and the network, before the page
	// is opened; the caller is "" for the site's own pages. A nil function, and a nil Network,
	// are nothing.
	Network func(caller string) Network
	// Login is stored in every page of the site, whoever calls, the catalog
	// page too; nil means none.
	Login *pageconfig.Stored
	// Ended is called once, when the site was taken out by Set and none of its pages is used any
	// more; nil is nothing. It is not called after Close.
	Ended func()
	// Profiles are logins that callers may name in config, by name.
	Profiles map[string]Profile
}

// Options configures a Manager. Zero fields mean the contract's defaults.
type Options struct {
	Engine Engine        // required
	Sites  []SiteOptions // required
	// MaxSessions bounds the pages that calls and sessions hold at once; zero
	// means min(free memory / 128 MB, 4 x cores), and with LightPages
	// min(free memory / 40 MB, 32 x cores).
	MaxSessions int
	// Room returns how many pages the engine has places for now, with those that are taken and those of
	// catalogs, and must not wait; nil means that it counts none. It bounds MaxSessions, and is taken for
	// one that is zero.
	Room func() int
	// LightPages says that a headless shell shows the pages.
	LightPages bool
	// FreeMemory returns how many bytes are left for pages, where zero is not known. A page
	// that does not fit is not opened. nil means what the system says.
	FreeMemory func() uint64
	// Several says that there are several callers: a quarter of the pages is left to the
	// others, so that one whose calls take long, or wait for persons, does not hold all.
	Several bool
	// Queue bounds the calls that wait for a page, and those that wait for one site to be
	// opened or for its shared page; zero means 32.
	Queue int
	// FirstIdle says how long a session used once is kept (60 s), Idle one used
	// twice or more (15 min), MaxAge any (8 h).
	FirstIdle, Idle, MaxAge time.Duration
	// Navigation bounds how long a document may take to arrive; zero means 30 s.
	Navigation time.Duration
	// Drain says how long calls may keep the pages of a site that is taken out; zero means 25 s.
	Drain  time.Duration
	Limits bridge.Limits
	// Bytes counts what pages declare; nil means an account of Limits.TotalBytes.
	Bytes *policy.Account
	// Homes says which process of a data folder has a session; nil means that there is one process.
	Homes bridge.Homes
	// Share returns the catalog of a site that several processes have together, and must not wait; nil
	// means that this process opens the catalog pages of all sites.
	Share func(bridge.Site) SharedCatalog
	Log   *slog.Logger // nil is silent
}

// maxHeld bounds the pages of one caller, of so many of all callers.
func (o *Options) maxHeld(most int) int {
	if !o.Several {
		return most
	}
	return max(1, most-max(1, most/4))
}

// limitOf bounds the pages that calls and sessions hold at once, now.
func limitOf(st *state) int {
	m := st.manager
	if m.o.Room == nil {
		return m.o.MaxSessions
	}
	room := m.o.Room()
	for _, s := range m.sites.Load().list {
		if s.page.Load() != nil {
			room--
		}
	}
	return max(1, min(m.o.MaxSessions, room))
}

// RoomChanged says that Options.Room returns something else: calls may wait for that.
func RoomChanged(m *Manager) { m.with(func(st *state) { st.next() }) }

func (o Options) withDefaults() Options {
	o.FirstIdle = cmp.Or(o.FirstIdle, time.Minute)
	o.Idle = cmp.Or(o.Idle, 15*time.Minute)
	o.MaxAge = cmp.Or(o.MaxAge, 8*time.Hour)
	o.Navigation = cmp.Or(o.Navigation, 30*time.Second)
	o.Drain = cmp.Or(o.Drain, 25*time.Second)
	o.Queue = cmp.Or(o.Queue, 32)
	o.Limits = o.Limits.WithDefaults()
	o.Bytes = cmp.Or(o.Bytes, policy.NewAccount(o.Limits.TotalBytes, nil))
	if o.FreeMemory == nil {
		o.FreeMemory = freeMemory
	}
	if o.MaxSessions == 0 && o.Room != nil {
		o.MaxSessions = max(1, o.Room())
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = roomFor(o.LightPages, o.FreeMemory(), runtime.NumCPU())
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// KnowsMemory reports whether this system says how much memory is free. Where it does not, the
// number of live pages is bound by the cores alone.
func KnowsMemory() bool { return freeMemory() > 0 }

// roomFor returns how many pages fit into the free memory, in bytes, and on the cores. Zero
// bytes are not known.
func roomFor(light bool, free uint64, cores int) int {
	perCore := 4
	if light {
		perCore = 32
	}
	if free == 0 {
		return perCore * cores
	}
	return max(1, min(perCore*cores, int(free/pageBytes(light))))
}

// pageBytes is the memory that is reckoned for a page with its renderer.
func pageBytes(light bool) uint64 {
	if light {
		return 40 << 20
	}
	return 128 << 20
}

// fits reports whether so many pages fit into the memory that is left.
func (o *Options) fits(pages uint64) bool {
	free := o.FreeMemory()
	return free == 0 || free >= pages*pageBytes(o.LightPages)
}

// Manager finds pages for calls. Its state changes only in functions that
// run under one lock and wait for nothing.
type Manager struct {
	o     Options
	sites atomic.Pointer[sites]

	mu      sync.Mutex
	state   *state
	engines map[Engine]bool                   // of all sites that ever were; behind mu
	notify  atomic.Pointer[func(site string)] // called with the site of a list that changed

	notifyOf atomic.Pointer[func()] // called when there are other sessions

	life       context.Context //nolint:containedctx // of background work, which outlives the call that caused it; ends in Close
	stop       context.CancelCauseFunc
	background sync.WaitGroup
	leaving    sync.WaitGroup // of sessions that other processes go on with
	done       chan struct{}  // closed when Close began and no page is left
}

var (
	_ bridge.Router   = (*Manager)(nil)
	_ bridge.Notifier = (*Manager)(nil)
)

// New makes a Manager and begins to open every site.
func New(o Options) *Manager {
	o = o.withDefaults()
	m := &Manager{o: o, engines: map[Engine]bool{o.Engine: true}, done: make(chan struct{})}
	m.sites.Store(&sites{})
	m.state = &state{manager: m, sessions: map[key]*session{}, tombs: map[key]tomb{},
		spares: map[*site]*spares{}, fresh: map[*Page]held{},
		held: map[string]int{}, queue: queue{pace: newPace(o.MaxSessions)}}
	m.life, m.stop = context.WithCancelCause(context.Background())
	m.Set(o.Sites)
	return m
}

// Notify makes changed the function that is called with each site whose tools, or a
// session's tools there, may have changed. changed must not block.
func (m *Manager) Notify(changed func(site string)) { m.notify.Store(&changed) }

func (m *Manager) changed(site string) {
	if notify := m.notify.Load(); notify != nil {
		(*notify)(site)
	}
}

// Sites lists the sites in the operator's order.
func (m *Manager) Sites() []bridge.Site {
	all := m.sites.Load().list
	out := make([]bridge.Site, len(all))
	for i, s := range all {
		out[i] = s.Site
		out[i].Shared = s.Shared
	}
	return out
}

// with runs f on the state, under its lock. f waits for nothing and calls nothing outside
// of this package: pages are opened and closed, and callers are answered, elsewhere.
func (m *Manager) with(f func(*state)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.state)
	if st := m.state; !st.over && st.ended() {
		st.over = true
		close(m.done)
	}
}

// Catalog returns the list of the caller's session when it has a page, and of the
// catalog page otherwise, as it is known now.
func (m *Manager) Catalog(ref bridge.Ref) (*bridge.Catalog, error) {
	s, err := m.sites.Load().of(ref)
	if err != nil {
		return nil, err
	}
	if page, _ := m.sessionPage(ref); page != nil && !page.isDead() {
		return page.view.Load().catalog, nil
	}
	if page := s.page.Load(); page != nil && !page.isDead() {
		return page.view.Load().catalog, nil
	}
	if e := s.down(); e != nil {
		return nil, e
	}
	return nil, bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
		"The site was not opened yet.")
}

// Shows returns the session's page that is there, or the one that calls share.
func (m *Manager) Shows(ref bridge.Ref) *bridge.Shown {
	s, err := m.sites.Load().of(ref)
	if err != nil {
		return nil
	}
	page, options := m.sessionPage(ref)
	if s.shares(ref) {
		page = s.page.Load()
		if page == nil { // it is opened for the first caller
			return &bridge.Shown{}
		}
	}
	if page == nil && ref.Session != "" && ref.Page == "" {
		m.with(func(st *state) { page = s.lendable() })
	}
	if page == nil {
		return nil
	}
	v := page.view.Load()
	return &bridge.Shown{URL: v.url, Title: v.title, Config: options.given()}
}

// Await returns the same list once its page is opened, within ctx.
func (m *Manager) Await(ctx context.Context, ref bridge.Ref) (*bridge.Catalog, error) {
	s, err := m.sites.Load().of(ref)
	if err != nil {
		return nil, err
	}
	if page, _ := m.sessionPage(ref); page != nil {
		if v := page.view.Load(); v.isOpen() && !page.isDead() {
			return v.catalog, nil
		}
		waiting, cancel := bound(ctx, ref.Patience, nil)
		defer cancel()
		if v, err := page.opened(waiting); err == nil {
			return v.catalog, nil
		}
	}
	return m.awaitCatalog(ctx, s, ref.Patience)
}

// sessionPage is the page that the caller's session has, and how it was opened, or nil.
func (m *Manager) sessionPage(ref bridge.Ref) (page *Page, options *pageOptions) {
	if ref.Session == "" {
		return nil, nil
	}
	m.with(func(st *state) {
		if ses := st.sessions[keyOf(ref)]; ses != nil {
			page, options = ses.page, ses.options
			if ref.Asking {
				st.asked(ses)
			}
		}
	})
	return page, options
}

// Findings returns what the site's author should know of its page and its declarations now.
func (m *Manager) Findings(name string) []bridge.Finding {
	s := m.sites.Load().named[name]
	if s == nil {
		return nil
	}
	var all []bridge.Finding
	if notes := s.notes.Load(); notes != nil {
		all = *notes
	}
	if p := s.page.Load(); p != nil {
		all = slices.Concat(all, p.view.Load().catalog.Findings())
	}
	return all
}

// Page returns what the site's catalog page shows: URL, title and the address of its icon, or "".
func (m *Manager) Page(name string) (url, title, icon string) {
	if s := m.sites.Load().named[name]; s != nil {
		if p := s.page.Load(); p != nil {
			v := p.view.Load()
			return v.url, v.title, v.icon
		}
	}
	return "", "", ""
}

// Status says how a site is: "opening", "open", or why it is not.
func (m *Manager) Status(name string) string {
	s := m.sites.Load().named[name]
	switch {
	case s == nil:
		return "unknown"
	case s.page.Load() != nil:
		if why, _ := s.breaker.leftAlone(); why != nil {
			return why.Message
		}
		return "open"
	}
	if e := s.failure.Load(); e != nil {
		return e.Message
	}
	return "opening"
}

// WaitOpened waits until every site is opened or failed once.
func (m *Manager) WaitOpened(ctx context.Context) error {
	for _, s := range m.sites.Load().list {
		select {
		case <-s.tried:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Pages counts the pages that calls and sessions hold, those that stand by, and
// the calls that wait for one.
func (m *Manager) Pages() (held, spare, queued int) {
	m.with(func(st *state) { held, spare, queued = st.live, st.spareCount(), st.queue.n })
	return held, spare, queued
}

// Tried reports whether every site is opened or failed once.
func (m *Manager) Tried() bool {
	return !slices.ContainsFunc(m.sites.Load().list, func(s *site) bool { return !isClosed(s.tried) })
}

// Drain refuses new calls, and waits until none runs or ctx ends.
func (m *Manager) Drain(ctx context.Context) {
	idle := make(chan struct{})
	m.with(func(st *state) {
		st.draining = true
		st.refuseQueued(draining())
		st.whenIdle(func() { close(idle) })
	})
	select {
	case <-idle:
	case <-ctx.Done():
	case <-m.done:
	}
}

// Close ends every page and the engine. Calls that still run fail; Close waits until
// they have released their pages.
func (m *Manager) Close() error {
	m.stop(draining())
	m.with(func(st *state) { st.draining = true; st.refuseQueued(draining()); st.closeAll() })
	m.leaving.Wait() // an engine closes the tabs that it has
	err := m.closeEngines()
	<-m.done
	m.with(func(st *state) {
		for k := range st.tombs {
			st.dropTombstone(k)
		}
	})
	m.background.Wait()
	return err
}

// closeEngines closes the engines of all sites at once: each waits for its browser.
func (m *Manager) closeEngines() error {
	var engines map[Engine]bool
	m.with(func(*state) { engines = m.engines }) // Set adds none any more
	errs := make(chan error, len(engines))
	for e := range engines {
		go func() { errs <- e.Close() }()
	}
	var all error
	for range engines {
		all = errors.Join(all, <-errs)
	}
	return all
}

func draining() *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.Draining, bridge.NotRun,
		"pagetools is shutting down.")
}
