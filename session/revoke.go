package session

import (
	"github.com/pagetools/pagetools/bridge"
)

// Revoke ends what callers left here whose credential was revoked: their sessions, with
// the calls that run in them, and their calls that wait. It does not wait for pages.
func (m *Manager) Revoke() { m.with((*state).revoke) }

func (st *state) revoke() {
	for _, w := range st.queue.revoked() {
		st.queue.drop(w)
		w.grant <- grant{err: bridge.Revoked()}
	}
	var further []*waiter
	for _, ses := range st.sessions {
		for _, w := range ses.waiting.revoked() {
			ses.waiting.drop(w)
			w.grant <- grant{err: bridge.Revoked()}
		}
		if !ses.caller.IsRevoked() || ses.page == nil { // what still opens ends in opened
			continue
		}
		further = append(further, ses.waiting.drain()...)
		if ses.holders > 0 {
			st.evict(ses)
		} else {
			st.remove(ses, true)
		}
	}
	st.next()
	st.move(further)
}

// revoked returns the calls that wait and whose credential was revoked.
func (q *queue) revoked() []*waiter {
	var all []*waiter
	for _, l := range q.lines {
		all = append(all, l.waiting.revoked()...)
	}
	return all
}

func (ws waiters) revoked() (all []*waiter) {
	for _, w := range ws {
		if w.caller.IsRevoked() {
			all = append(all, w)
		}
	}
	return all
}

// evict closes the page of a session although calls hold it; no call may wait for it. Its
// place among the live pages is free when those calls have released it.
func (st *state) evict(ses *session) {
	ses.evicted = true
	delete(st.sessions, ses.key)
	st.manager.changed(ses.key.site)
	othersOf(st.manager)
	st.leaveTombstone(ses)
	st.closeSession(ses)
}
