package session

import (
	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/adapter"
)

// Adapters says which adapters run in the pages of a manager's sites. It is safe for concurrent use.
type Adapters struct{ m *Manager }

// AdaptersOf returns those of a manager.
func AdaptersOf(m *Manager) Adapters { return Adapters{m} }

// Of returns the adapters of the pages of a site that open now.
func (a Adapters) Of(name string) []*adapter.Adapter {
	s := a.m.byName[name]
	if s == nil {
		return nil
	}
	return *s.adapters.Load()
}

// Set has the pages of a site that open from now on run these. The catalog page is opened again, and
// warm pages are; pages of sessions stay as they are until they end.
func (a Adapters) Set(name string, all []*adapter.Adapter) {
	s := a.m.byName[name]
	if s == nil {
		return
	}
	s.adapters.Store(&all)
	a.m.with(func(st *state) {
		st.dropSpares(s)
		st.refill(s)
	})
	select {
	case s.anew <- struct{}{}:
	default: // it is asked for already
	}
}

// Tell has the findings of a site say this, too, until it is called again.
func (a Adapters) Tell(name string, findings []bridge.Finding) {
	if s := a.m.byName[name]; s != nil {
		s.notes.Store(&findings)
		a.m.changed(name)
	}
}
