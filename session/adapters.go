package session

import (
	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/adapter"
)

// Scripts are the adapters of a site, which may change while it is served. It is safe for
// concurrent use.
type Scripts struct {
	manager *Manager
	site    *site // nil: there is none of the name
}

// Scripts returns those of a site.
func (m *Manager) Scripts(name string) Scripts { return Scripts{m, m.sites.Load().named[name]} }

// All returns those of the pages of the site that open now.
func (s Scripts) All() []*adapter.Adapter {
	if s.site == nil {
		return nil
	}
	return *s.site.adapters.Load()
}

// Set has the pages of the site that open from now on run these. The catalog page is opened again,
// and warm pages are; pages of sessions stay as they are until they end.
func (s Scripts) Set(all []*adapter.Adapter) {
	if s.site == nil {
		return
	}
	s.site.adapters.Store(&all)
	s.manager.with(func(st *state) {
		st.dropSpares(s.site)
		st.refill(s.site)
	})
	select {
	case s.site.anew <- struct{}{}:
	default: // it is asked for already
	}
}

// Tell has the findings of the site say this, too, until it is called again.
func (s Scripts) Tell(findings []bridge.Finding) {
	if s.site != nil {
		s.site.notes.Store(&findings)
		s.manager.changed(s.site.Name)
	}
}
