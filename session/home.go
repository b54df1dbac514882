package session

import (
	"context"

	"github.com/pagetools/pagetools/bridge"
)

// claim makes the session that w opens this process's own before its page is opened, or refuses w.
func (m *Manager) claim(w *waiter, ses *session, name bridge.SessionName) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.site.life, func() { cancel(context.Cause(w.site.life)) })()
	home, err := m.o.Homes.Open(ctx, name)
	by := lasts(m, w.site)
	if all, ok := m.o.Homes.(Takeovers); by == nil && err == nil && ok && all.Inherited(home) != nil {
		by = all // whose page cannot be attached to here
	}
	m.with(func(st *state) {
		if err != nil {
			st.opened(w, ses, nil, bridge.NoHome(name, err))
			return
		}
		if ses.home = home; by == nil {
			st.openOwn(w, ses)
			return
		}
		st.makeRoomFor(w.site)
		m.background.Go(func() { openLasting(m, w, ses, by) }) // ends as openPage does
	})
}

// closeSession ends the page of a session without waiting for it, and frees the session.
func (st *state) closeSession(ses *session) {
	st.closing++
	m := st.manager
	m.background.Go(func() { // ends within the bounds of closeTab and of Free
		ses.watchers.end()
		if ses.page != nil {
			ses.page.close()
		}
		if ses.home != 0 {
			bridge.Free(m.o.Homes, ses.home, m.o.Log)
		}
		m.with(func(st *state) { st.closing-- })
	})
}

// begin begins a session whose page is there.
func begin(st *state, ses *session, page *Page) {
	ses.page, ses.uses, ses.calls = page, 1, 1
	m := st.manager
	m.changed(ses.key.site) // its caller sees its list from now on
	othersOf(m)
	m.background.Go(func() { m.watchSession(ses) })
}

// watchSession removes a session when its page dies, or when it has lasted as long as it was to
// last.
func (m *Manager) watchSession(ses *session) {
	ended := false
	select {
	case <-ses.page.dead:
	case <-ses.until:
		ended = true
	}
	m.with(func(st *state) {
		if ses.ended = ses.ended || ended; st.sessions[ses.key] == ses && ses.holders == 0 {
			st.remove(ses, !ended)
			st.next()
		}
	})
}
