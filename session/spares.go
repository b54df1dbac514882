package session

import (
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// compiled returns the catalog page's catalog, whose compiled schemas new pages reuse.
func (s *site) compiled() *bridge.Catalog {
	if p := s.page.Load(); p != nil {
		return p.view.Load().catalog
	}
	return nil
}

// takeSpare returns a warm page, or nil.
func (st *state) takeSpare(s *site) *Page {
	sp := st.spares[s]
	for sp != nil && len(sp.ready) > 0 {
		page := sp.ready[0]
		sp.ready = sp.ready[1:]
		if !page.isDead() {
			return page
		}
		st.close(page)
	}
	return nil
}

// spareCount counts the pages that stand by or are being opened to.
func (st *state) spareCount() int {
	n := 0
	for _, sp := range st.spares {
		n += len(sp.ready) + sp.opening
	}
	return n
}

// makeRoomFor closes a spare of another site when the page that is about to
// open would go over the bound: spares never refuse a call.
func (st *state) makeRoomFor(s *site) {
	if st.live+st.spareCount() <= limitOf(st) {
		return
	}
	for other, sp := range st.spares {
		if other != s && len(sp.ready) > 0 {
			st.close(sp.ready[0])
			sp.ready = sp.ready[1:]
			return
		}
	}
}

const (
	// refillQuiet sets how long no call may have begun or ended when a spare page is
	// opened: the browser does nothing else for most of the time that it makes one.
	refillQuiet = 50 * time.Millisecond
	// refillPatience sets how long a spare page waits for that.
	refillPatience = time.Second
)

// quiet reports whether a spare page may be opened now. If not, refill is called
// again.
func quiet(st *state, s *site, sp *spares) bool {
	now := time.Now()
	if sp.wanted.IsZero() {
		sp.wanted = now
	}
	wait := min(refillQuiet-now.Sub(st.active), refillPatience-now.Sub(sp.wanted))
	if wait <= 0 {
		sp.wanted = time.Time{}
		return true
	}
	again := func() { st.manager.with(func(st *state) { st.refill(s) }) }
	if sp.later == nil {
		sp.later = time.AfterFunc(wait, again)
	} else {
		sp.later.Reset(wait)
	}
	return false
}

// refill opens spares until the site has what it should, while there is room
// that no call wants and no call would be delayed. Spares open one after another.
func (st *state) refill(s *site) {
	why, _ := s.breaker.leftAlone()
	if st.closed || st.draining || s.retired || s.Shared || s.page.Load() == nil || why != nil {
		return
	}
	sp := st.spares[s]
	if sp == nil {
		sp = &spares{}
		st.spares[s] = sp
	}
	sp.ready = slices.DeleteFunc(sp.ready, func(p *Page) bool {
		if p.isDead() || isClosed(p.recycled) {
			st.close(p)
			return true
		}
		return false
	})
	if sp.opening > 0 || len(sp.ready) >= s.Warm ||
		st.live+st.spareCount() >= limitOf(st) {
		sp.wanted = time.Time{}
		return
	}
	if !quiet(st, s, sp) {
		return
	}
	sp.opening++
	m := st.manager
	m.background.Go(func() { m.openSpare(s, sp) })
}

// openSpare opens one warm page. It ends when the page is opened or the manager
// closes.
func (m *Manager) openSpare(s *site, sp *spares) {
	if !m.o.fits(2) { // one for a call, too
		m.with(func(st *state) { sp.opening--; s.forgetSpares(st) })
		return
	}
	adapters := s.adapters.Load()
	page, err := m.openForAll(s, s.compiled())
	noteReach(m, s, err)
	if err != nil && s.life.Err() == nil {
		m.o.Log.Warn("site: a spare page did not open", "site", s.Name, "error", err)
	}
	m.with(func(st *state) {
		sp.opening--
		s.forgetSpares(st)
		if err != nil {
			return
		}
		outdated := s.adapters.Load() != adapters
		crowded := st.live+st.spareCount() >= limitOf(st) // calls took the room meanwhile
		if st.draining || s.retired || crowded || outdated {
			st.close(page)
			if outdated {
				st.refill(s)
			}
			return
		}
		sp.ready = append(sp.ready, page)
		m.background.Go(func() { m.watchSpare(s, page) })
		st.refill(s)
	})
}

// watchSpare replaces a spare that dies in waiting, or whose browser is recycled.
func (m *Manager) watchSpare(s *site, page *Page) {
	select {
	case <-page.dead:
	case <-page.recycled:
	}
	m.with(func(st *state) {
		if sp := st.spares[s]; sp != nil && slices.Contains(sp.ready, page) {
			st.refill(s) // which drops it
		}
	})
}

// dropAllSpares closes the spares of all sites, because memory is short, and reports whether
// there was one.
func (m *Manager) dropAllSpares() (some bool) {
	m.with(func(st *state) {
		for s, sp := range st.spares {
			some = some || len(sp.ready) > 0
			st.dropSpares(s)
		}
	})
	return some
}

func (st *state) dropSpares(s *site) {
	sp := st.spares[s]
	if sp == nil {
		return
	}
	for _, p := range sp.ready {
		st.close(p)
	}
	sp.ready = nil
	if sp.later != nil {
		sp.later.Stop()
	}
}
