package session

import (
	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/adapter"
)

// Adapters returns those of the pages of a site that open now.
func (m *Manager) Adapters(name string) []*adapter.Adapter {
	s := m.byName[name]
	if s == nil {
		return nil
	}
	return *s.adapters.Load()
}

// SetAdapters has the pages of a site that open from now on run these. The catalog page is opened
// again, and warm pages are; pages of sessions stay as they are until they end.
func (m *Manager) SetAdapters(name string, all []*adapter.Adapter) {
	s := m.byName[name]
	if s == nil {
		return
	}
	s.adapters.Store(&all)
	m.with(func(st *state) {
		st.dropSpares(s)
		st.refill(s)
	})
	select {
	case s.anew <- struct{}{}:
	default: // it is asked for already
	}
}

// Tell has the findings of a site say this, too, until it is called again.
func (m *Manager) Tell(name string, findings []bridge.Finding) {
	if s := m.byName[name]; s != nil {
		s.notes.Store(&findings)
		m.changed(name)
	}
}

// isLent reports whether a catalog page was given to a session.
func (m *Manager) isLent(s *site, page *Page) (lent bool) {
	m.with(func(*state) { lent = s.lent == page })
	return lent
}
