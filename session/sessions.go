package session

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Sessions are the sessions of a manager, for operators.
type Sessions struct{ m *Manager }

var _ bridge.Sessions = Sessions{}

// SessionsOf returns the sessions of a manager.
func SessionsOf(m *Manager) Sessions { return Sessions{m} }

// NotifyOf implements bridge.Sessions.
func (s Sessions) NotifyOf(changed func()) { s.m.notifyOf.Store(&changed) }

// othersOf says that there are other sessions than before.
func othersOf(m *Manager) {
	if changed := m.notifyOf.Load(); changed != nil {
		(*changed)()
	}
}

// All implements bridge.Sessions.
func (s Sessions) All() (all []bridge.SessionState) {
	s.m.with(func(st *state) {
		for _, ses := range st.sessions {
			if ses.page == nil {
				continue
			}
			shown := ses.page.view.Load()
			all = append(all, bridge.SessionState{ID: ses.id, Caller: ses.key.caller, Site: ses.key.site, Session: ses.key.id, Since: ses.created, Used: ses.last,
				Calls: ses.calls, Running: ses.holders, Waiting: len(ses.waiting), Address: shown.url, Title: shown.title})
		}
	})
	return all
}

// CloseOne implements bridge.Sessions.
func (s Sessions) CloseOne(id string, all bool) (running int, there bool) {
	s.m.with(func(st *state) {
		for _, ses := range st.sessions {
			if ses.id != id || ses.page == nil {
				continue
			}
			running, there = ses.holders, true
			if running > 0 && !all {
				return
			}
			further := ses.waiting.drain()
			if running > 0 {
				ses.page.closer.Store(bridge.Errorf(bridge.InternalError, bridge.PageCrashed, bridge.Unknown, "An operator closed the session of this call."))
				st.evict(ses)
			} else {
				st.remove(ses, true)
			}
			st.next()
			st.move(further)
			return
		}
	})
	return running, there
}

// ViewOne implements bridge.Sessions.
func (s Sessions) ViewOne(ctx context.Context, id string) (bridge.View, error) {
	ses := s.find(id)
	if ses == nil {
		return nil, unseen()
	}
	return ses.watchers.view(ctx, ses.page)
}

// PictureOne implements bridge.Sessions.
func (s Sessions) PictureOne(ctx context.Context, id string) ([]byte, error) {
	ses := s.find(id)
	if ses == nil {
		return nil, unseen()
	}
	return pictureOf(ctx, ses.page)
}

// find returns a session that has a page, or nil.
func (s Sessions) find(id string) (found *session) {
	s.m.with(func(st *state) {
		for _, ses := range st.sessions {
			if ses.id == id && ses.page != nil {
				found = ses
			}
		}
	})
	return found
}

// Pool counts the manager's pages.
func (m *Manager) Pool() (p bridge.Pool) {
	m.with(func(st *state) {
		limit := limitOf(st)
		p = bridge.Pool{Held: st.live, Spare: st.spareCount(), Queued: st.queue.n, Limit: limit, PerCaller: m.o.maxHeld(limit)}
		for caller, n := range st.held {
			if n > p.Of || n == p.Of && caller < p.Caller {
				p.Caller, p.Of = caller, n
			}
		}
		older := func(caller string, since time.Time) {
			if p.Since.IsZero() || since.Before(p.Since) {
				p.Oldest, p.Since = caller, since
			}
		}
		for _, ses := range st.sessions {
			older(ses.key.caller, ses.created)
		}
		for _, one := range st.fresh {
			older(one.caller, one.since)
		}
	})
	p.NoMemory = !m.o.fits(1)
	return p
}

// held is a page that a call without a session has.
type held struct {
	caller string
	since  time.Time
}
