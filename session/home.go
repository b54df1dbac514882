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
	m.with(func(st *state) {
		if err != nil {
			st.opened(w, ses, nil, bridge.NoHome(name, err))
			return
		}
		ses.home = home
		st.openOwn(w, ses)
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
