package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// site is one site and its catalog page.
type site struct {
	SiteOptions
	// page is the catalog page; nil while there is none.
	page atomic.Pointer[Page]
	// failure says why there is none.
	failure atomic.Pointer[bridge.Error]
	// tried is closed when the site was opened or failed once.
	tried chan struct{}
	// changed is closed and replaced when page or failure change.
	changes bridge.Changes // of page and failure
	// again says when the next attempt begins, after one that failed.
	again atomic.Pointer[time.Time]
	// adapters run in pages that open from now on.
	adapters atomic.Pointer[[]*adapter.Adapter]
	// anew asks for another catalog page, because pages are opened differently now; one place.
	anew chan struct{}
	// notes are findings of the operator's files that the pages do not have yet.
	notes   atomic.Pointer[[]bridge.Finding]
	breaker breaker
	// opening are the calls that wait for the site to be opened, and shared those that run
	// on the page that all share.
	opening, shared places
	// lent is the catalog page that was given to a session; it is behind the lock of the
	// manager.
	lent *Page
	// sharing says which process has the catalog page; nil: this one.
	sharing *sharing

	life context.Context //nolint:containedctx // of background work for the site; it ends when the site is taken out, or with the manager
	end  context.CancelCauseFunc
	over chan struct{} // closed when the site was taken out and its pages must go
	// The rest is behind the lock of the manager.
	retired bool        // it was taken out
	using   int         // calls that have a page of it
	ending  *time.Timer // closes over
}

// left returns why no page of the site is given to a call any more. Its life must have ended, or
// the manager refuses calls.
func (s *site) left() *bridge.Error {
	if s.life.Err() == nil {
		return draining()
	}
	return notRun(bridge.AsError(context.Cause(s.life)))
}

// lendable is the catalog page when a session may have it, or nil. Called with the lock of
// the manager held.
func (s *site) lendable() *Page {
	page := s.page.Load()
	if !s.Lend || page == nil || page == s.lent || page.isDead() {
		return nil
	}
	return page
}

// shares reports whether a call runs on the page that all share.
func (s *site) shares(ref bridge.Ref) bool { return s.Shared && (ref.Session == "" || s.OnePage) }

// places bounds how many do something at once.
type places struct{ taken atomic.Int64 }

// enter takes a place, or refuses because so many are taken.
func (p *places) enter(most int, text string) *bridge.Error {
	if p.taken.Add(1) <= int64(most) {
		return nil
	}
	p.leave()
	e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "%s %s", text,
		bridge.TryAgain(minRetry))
	e.Retry = minRetry
	return e
}

func (p *places) leave() { p.taken.Add(-1) }

func newSite(life context.Context, o SiteOptions) *site {
	s := &site{SiteOptions: o, tried: make(chan struct{}), anew: make(chan struct{}, 1), over: make(chan struct{})}
	s.life, s.end = context.WithCancelCause(life)
	s.adapters.Store(&o.Tab.Adapters)
	return s
}

func (s *site) set(p *Page, err *bridge.Error) {
	s.failure.Store(err)
	s.page.Store(p)
	s.changes.Signal()
}

// Times between attempts to open a catalog page that failed.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = time.Minute
)

// keepCatalog opens the site's catalog page, and opens it again when it
// dies, until the site is taken out or the manager closes. Where another process has the page, it
// shows what that one tells.
func (m *Manager) keepCatalog(s *site) {
	next, pause := time.Duration(0), firstRetry
	var prev *bridge.Catalog
	tried := sync.OnceFunc(func() { close(s.tried) })
	defer tried()
	defer s.sharing.forget()
	for s.life.Err() == nil {
		if s.sharing != nil {
			prev = s.sharing.await(prev, next, tried)
		} else {
			s.pause(next)
		}
		if s.life.Err() != nil {
			return
		}
		page, err := m.openForAll(s, prev)
		if s.life.Err() != nil {
			if page != nil {
				page.close()
			}
			return
		}
		if err != nil {
			m.o.Log.Warn("site: not opened", "site", s.Name, "error", err)
			again := time.Now().Add(pause)
			s.again.Store(&again)
			e, shown := notRun(bridge.AsError(err)), (*Page)(nil)
			if s.sharing != nil {
				s.sharing.failed(e)
				shown = s.page.Load()
			}
			s.set(shown, e)
			m.changed(s.Name)
		} else {
			s.opens(m, page)
			s.sharing.forget()
			pause = firstRetry
			m.with(func(st *state) { st.refill(s) })
		}
		tried()
		if err == nil {
			if page = m.watchCatalog(s, page); page == nil {
				return
			}
			prev = page.view.Load().catalog
		}
		next, pause = pause, min(2*pause, lastRetry)
	}
}

// opens makes a page the site's.
func (s *site) opens(m *Manager, page *Page) {
	s.set(page, nil)
	m.changed(s.Name)
	if s.sharing != nil {
		m.background.Go(func() { s.sharing.tell(page) }) // ends with the page
	}
}

// watchCatalog waits until the site's page dies, and returns it; nil when the site is taken out, or
// the manager closes. A
// page whose browser is recycled is replaced, or it would keep that browser for ever.
func (m *Manager) watchCatalog(s *site, page *Page) *Page {
	for recycled := page.recycled; ; {
		if s.Shared || s.Lend { // what the page holds is its callers'
			recycled = nil
		}
		select {
		case <-page.dead:
			if s.life.Err() != nil {
				page.close()
				return nil
			}
			m.o.Log.Warn("site: its page died", "site", s.Name, "error", page.died)
			s.set(nil, nil)
			m.changed(s.Name)
			page.close() // a crashed page still has a browser context
			return page
		case <-s.life.Done():
			select { // calls may have it
			case <-s.over:
			case <-m.life.Done():
			}
			page.close()
			return nil
		case <-s.anew:
			if s.OnePage { // which goes before another one comes
				page.close()
				continue
			}
			lent := false
			m.with(func(*state) { lent = s.lent == page })
			if lent {
				continue // it is a session's
			}
			if next := m.moveCatalog(s, page); next != nil {
				page, recycled = next, next.recycled
			}
		case <-recycled:
			recycled = nil // a page that cannot be replaced stays
			if next := m.moveCatalog(s, page); next != nil {
				page, recycled = next, next.recycled
			}
		}
	}
}

// moveCatalog opens the site's page again, and closes the one before. It returns nil when the
// page does not open.
func (m *Manager) moveCatalog(s *site, page *Page) *Page {
	next, err := m.openForAll(s, page.view.Load().catalog)
	if err != nil {
		m.o.Log.Warn("site: its page stays, because another one does not open", "site", s.Name, "error", err)
		return nil
	}
	s.opens(m, next)
	page.close()
	return next
}

// pause waits before the next attempt. It reports whether the site is still there.
func (s *site) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.life.Done():
		return false
	}
	return true
}

// down returns why the site cannot be reached, and when it is tried again: for all who ask, so
// that no caller makes us try more often. Nil while it is being opened.
func (s *site) down() *bridge.Error {
	failure := s.failure.Load()
	if failure == nil {
		return nil
	}
	if again := s.again.Load(); again != nil {
		return triedAgain(failure, *again)
	}
	return failure
}

// awaitCatalog returns the catalog page's list, waiting for the page to be opened.
func (m *Manager) awaitCatalog(ctx context.Context, s *site,
	patience time.Duration) (*bridge.Catalog, error) {
	if page := s.page.Load(); page != nil && !page.isDead() {
		if v := page.view.Load(); v.isOpen() {
			return v.catalog, nil
		}
	}
	ctx, cancel := bound(ctx, patience, nil)
	defer cancel()
	page, err := m.catalogPage(ctx, s)
	if err != nil {
		return nil, err
	}
	v, err := page.opened(ctx)
	switch {
	case err == nil:
		return v.catalog, nil
	case v == nil: // it died while settling
		return nil, notRun(bridge.AsError(err))
	}
	return nil, waitEnded(ctx)
}

func (m *Manager) catalogPage(ctx context.Context, s *site) (*Page, error) {
	if page := s.page.Load(); page != nil && !page.isDead() {
		return page, nil
	}
	if e := s.down(); e != nil {
		return nil, e
	}
	if e := s.opening.enter(m.o.Queue, "Too many calls wait for the site to be opened."); e != nil {
		return nil, e
	}
	defer s.opening.leave()
	for {
		changed := s.changes.Next()
		if page := s.page.Load(); page != nil && !page.isDead() {
			return page, nil
		}
		if e := s.down(); e != nil {
			return nil, e
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
					"The site did not answer in time.").With(context.Cause(ctx))
			}
			return nil, waitEnded(ctx)
		case <-s.life.Done():
			return nil, s.left()
		}
	}
}

// openForAll opens a page that is no caller's, and waits until it counts as opened.
func (m *Manager) openForAll(s *site, prev *bridge.Catalog) (*Page, error) {
	page, err := m.openPage(s.life, s, "", nil, prev, s.Patient)
	if err != nil {
		return nil, err
	}
	if _, err := page.opened(s.life); err != nil {
		page.close()
		return nil, err
	}
	return page, nil
}

// openPage opens a tab on the site for a caller, "" for the site itself, as the options say; a
// patient one is looked at for longer before it counts as opened.
func (m *Manager) openPage(ctx context.Context, s *site, caller string, o *pageOptions,
	prev *bridge.Catalog, patient bool) (*Page, error) {
	return openOwned(ctx, m, s, caller, o, Owner{}, prev, patient)
}

// openOwned is openPage for a page with an owner.
func openOwned(ctx context.Context, m *Manager, s *site, caller string, o *pageOptions, owner Owner,
	prev *bridge.Catalog, patient bool) (*Page, error) {
	if !m.o.fits(1) && !m.dropAllSpares() {
		return nil, noMemory()
	}
	options, address := tabOptions(m, s, caller, o)
	options.Owner = owner
	tab, err := engineOf(m, s).Open(ctx, options)
	if err != nil {
		return nil, err
	}
	page := ownPage(m, tab, s, options, prev, patient)
	bounded, cancel := context.WithTimeout(ctx, m.o.Navigation)
	defer cancel()
	err = tab.Load(bounded, address)
	if err == nil { // the document's arrival may still be on its way to the page
		_, err = page.await(bounded, func(v *view) bool { return v.document != "" })
	}
	if err != nil {
		e := m.notLoaded(ctx, bounded, err)
		page.close()
		return nil, e
	}
	return page, nil
}

// tabOptions returns those of a page of the site for a caller, and the address that it opens.
func tabOptions(m *Manager, s *site, caller string, o *pageOptions) (options TabOptions, address string) {
	options, address = s.Tab, s.URL
	options.Await, options.Origin, options.Origins = s.WaitFor.Await, s.Origin, s.Origins
	options.Adapters = *s.adapters.Load()
	if s.Network != nil {
		options.Network = s.Network(caller)
	}
	options.Bytes = policy.NewAccount(m.o.Limits.PageBytes, m.o.Bytes)
	switch {
	case o != nil:
		options.Config, address = o.config, o.url
	case s.Login != nil:
		options.Config = &pageconfig.Config{Settings: pageconfig.Settings{Login: s.Login}}
	}
	return options, address
}

// ownPage makes the page of a tab, which was opened with the options, and starts its owner.
func ownPage(m *Manager, tab Tab, s *site, options TabOptions, prev *bridge.Catalog, patient bool) *Page {
	limits := m.o.Limits
	limits.ForbidParams = s.ForbidParams
	page := newPage(tab, append([]string{s.Origin}, s.Origins...), s.WaitFor, patient, limits,
		func() { m.changed(s.Name) }, m.o.Log.With("site", s.Name))
	page.over, page.owner = s.over, options.Owner
	m.background.Go(func() {
		defer options.Bytes.Close()
		page.own(prev)
	})
	return page
}

// notLoaded returns the error of a page that did not come within bounded, which is shorter than
// ctx.
func (m *Manager) notLoaded(ctx, bounded context.Context, err error) *bridge.Error {
	e := bridge.AsError(err)
	if errors.Is(bounded.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		e = bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
			"The site did not send a page within %s.", m.o.Navigation).With(err)
	}
	return notRun(e)
}
