package session

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// site is one site and its catalog page.
type site struct {
	SiteOptions
	// page is the catalog page; nil while there is none.
	page atomic.Pointer[Page]
	// failure is why there is none.
	failure atomic.Pointer[bridge.Error]
	// tried is closed when the site was opened or failed once.
	tried chan struct{}
	// changed is closed and replaced when page or failure change.
	changed atomic.Pointer[chan struct{}]
	// kick asks for a new attempt now.
	kick chan struct{}
}

func newSite(o SiteOptions) *site {
	s := &site{SiteOptions: o, tried: make(chan struct{}), kick: make(chan struct{}, 1)}
	ch := make(chan struct{})
	s.changed.Store(&ch)
	return s
}

func (s *site) set(p *Page, err *bridge.Error) {
	s.failure.Store(err)
	s.page.Store(p)
	next := make(chan struct{})
	close(*s.changed.Swap(&next))
}

// Times between attempts to open a catalog page that failed.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// keepCatalog opens the site's catalog page, and opens it again when it
// dies, until the manager closes.
func (m *Manager) keepCatalog(s *site) {
	pause := firstRetry
	var prev *bridge.Catalog
	first := true
	for m.life.Err() == nil {
		page, err := m.openPage(m.life, s, nil, prev)
		if err == nil {
			_, err = page.opened(m.life)
		}
		if err != nil {
			m.o.Log.Warn("site: not opened", "site", s.Name, "error", err)
			if page != nil {
				page.close()
			}
			failed := notRun(bridge.AsError(err))
			failed.Retry = pause
			s.set(nil, failed)
			m.changed(s.Name)
		} else {
			s.set(page, nil)
			m.changed(s.Name)
			pause = firstRetry
			m.with(func(st *state) { st.refill(s) })
		}
		if first {
			close(s.tried)
			first = false
		}
		if err == nil {
			if !m.watchCatalog(s, page) {
				return
			}
			prev = page.view.Load().catalog
		}
		if !m.pause(s, pause) {
			return
		}
		pause = min(2*pause, lastRetry)
	}
}

// watchCatalog waits until the page dies. It reports whether the manager
// still runs.
func (m *Manager) watchCatalog(s *site, page *Page) bool {
	select {
	case <-page.dead:
		m.o.Log.Warn("site: its page died", "site", s.Name, "error", page.died)
		s.set(nil, nil)
		m.changed(s.Name)
		page.close() // a crashed page still has a browser context
		select {     // an old request for an attempt is not a new one
		case <-s.kick:
		default:
		}
		return true
	case <-m.life.Done():
		page.close()
		return false
	}
}

// pause waits before the next attempt, or until somebody needs the site.
func (m *Manager) pause(s *site, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.kick:
	case <-m.life.Done():
		return false
	}
	return true
}

// awaitCatalog returns the catalog page's list, waiting for the page to be opened.
// A site that failed is tried once more for this caller.
func (m *Manager) awaitCatalog(ctx context.Context, s *site,
	patience time.Duration) (*bridge.Catalog, error) {
	if page := s.page.Load(); page != nil && !page.isDead() {
		if v := page.view.Load(); v.settled {
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
	kicked := false
	for {
		changed := *s.changed.Load()
		if page := s.page.Load(); page != nil && !page.isDead() {
			return page, nil
		}
		if failure := s.failure.Load(); failure != nil && kicked {
			return nil, failure
		}
		select {
		case <-s.tried:
			if !kicked {
				kicked = true
				select {
				case s.kick <- struct{}{}:
				default:
				}
			}
		default:
			kicked = true // the first attempt still runs: its end is the answer
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
					"The site did not answer in time.").With(context.Cause(ctx))
			}
			return nil, waitEnded(ctx)
		case <-m.life.Done():
			return nil, draining()
		}
	}
}

// openPage opens a tab on the site, as the options say. The page is returned also with an error,
// when there is one to close.
func (m *Manager) openPage(ctx context.Context, s *site, o *pageOptions,
	prev *bridge.Catalog) (*Page, error) {
	options, address := s.Tab, s.URL
	options.Await, options.Origin = s.WaitFor.Await, s.Origin
	switch {
	case o != nil:
		options.Config, address = o.config, o.url
	case s.Login != nil:
		options.Config = &pageconfig.Config{Settings: pageconfig.Settings{Login: s.Login}}
	}
	engine := s.Engine
	if engine == nil {
		engine = m.o.Engine
	}
	tab, err := engine.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	page := newPage(tab, append([]string{s.Origin}, s.Origins...), s.WaitFor, m.o.Limits,
		func() { m.changed(s.Name) }, m.o.Log.With("site", s.Name))
	m.background.Go(func() { page.own(prev) })
	bounded, cancel := context.WithTimeout(ctx, m.o.Navigation)
	defer cancel()
	err = tab.Load(bounded, address)
	if err == nil { // the document's arrival may still be on its way to the page
		_, err = page.await(bounded, func(v *view) bool { return v.document != "" })
	}
	if err != nil {
		e := bridge.AsError(err)
		if errors.Is(bounded.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
			e = bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
				"The site did not send a page within %s.", m.o.Navigation).With(err)
		}
		return page, notRun(e)
	}
	return page, nil
}
