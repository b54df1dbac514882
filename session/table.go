package session

import (
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// sites holds those of a manager at one moment. They are immutable: Set puts others in their place.
type sites struct {
	list  []*site // in the operator's order
	named map[string]*site
}

func (all *sites) add(s *site) {
	all.list = append(all.list, s)
	all.named[s.Name] = s
}

// of returns the site that a reference names. The error is an *bridge.Error.
func (all *sites) of(ref bridge.Ref) (*site, error) {
	s := all.named[ref.Site]
	switch {
	case s == nil:
		return nil, bridge.NoSite()
	case ref.Generation != 0 && ref.Generation != s.Generation:
		return nil, bridge.Replaced(bridge.NotRun)
	}
	return s, nil
}

// Set makes these the sites. One whose name and generation are as before keeps its pages, whatever
// else is said of it; any other begins with fresh ones. A site that is not among them any more is
// taken out, and so is one of another generation: its sessions end, and who waits for a page of it
// is refused. Calls that have a page may go on for Options.Drain; then the page is closed.
// Set waits for nothing, and does nothing after Close.
func (m *Manager) Set(all []SiteOptions) {
	m.with(func(st *state) {
		if st.closed {
			return
		}
		was, now := m.sites.Load(), &sites{named: map[string]*site{}}
		for _, o := range all {
			s := was.named[o.Name]
			if s == nil || s.Generation != o.Generation {
				s = newSite(m.life, o)
				if s.Engine != nil {
					m.engines[s.Engine] = true
				}
				s.sharing = share(m, s)
				m.background.Go(func() { m.keepCatalog(s) })
			}
			now.add(s)
		}
		m.sites.Store(now)
		for _, s := range was.list {
			if now.named[s.Name] != s {
				s.retire(st)
				m.changed(s.Name)
			}
		}
	})
}

// retire takes a site out.
func (s *site) retire(st *state) {
	s.retired = true
	s.end(bridge.Replaced(bridge.NotRun))
	for _, w := range st.queue.all() {
		if w.site == s {
			st.queue.drop(w)
			w.grant <- grant{err: s.left()}
		}
	}
	m := st.manager
	for _, ses := range st.sessions {
		if ses.site != s {
			continue
		}
		st.refuseWaiting(ses, s.left())
		switch {
		case ses.page == nil: // it ends in opened
			delete(st.sessions, ses.key)
		case ses.holders == 0:
			st.remove(ses, true)
		default: // its calls keep the page, and its name is free
			ses.ended = true
			delete(st.sessions, ses.key)
			othersOf(m)
			st.leaveTombstone(ses)
		}
	}
	st.dropSpares(s)
	s.forgetSpares(st)
	s.ending = time.AfterFunc(m.o.Drain, func() { m.with(func(st *state) { s.endPages(st) }) })
	s.letGo(st, 0)
	st.next()
}

// letGo notes that calls gave back pages of a site, as many as n.
func (s *site) letGo(st *state, n int) {
	if s.using -= n; s.using == 0 && s.retired {
		s.endPages(st)
	}
}

// endPages closes all pages of a site that was taken out.
func (s *site) endPages(st *state) {
	if isClosed(s.over) {
		return
	}
	s.ending.Stop()
	close(s.over)
	if s.Ended != nil {
		st.manager.background.Go(s.Ended)
	}
}

// forgetSpares forgets those of a site that was taken out, when none is being opened.
func (s *site) forgetSpares(st *state) {
	if sp := st.spares[s]; sp != nil && s.retired && sp.opening == 0 {
		delete(st.spares, s)
	}
}

// all returns the calls that wait, in no order.
func (q *queue) all() (all []*waiter) {
	for _, l := range q.lines {
		all = append(all, l.waiting...)
	}
	return all
}
