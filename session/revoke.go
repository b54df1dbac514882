package session

import (
	"container/list"

	"github.com/pagetools/pagetools/bridge"
)

// Revoke ends what callers left here whose credential was taken back: their sessions,
// with the calls that run in them, and the calls that wait. It waits for no page.
func (m *Manager) Revoke() { m.with((*state).revoke) }

func (st *state) revoke() {
	for _, w := range st.queue.revoked() {
		st.queue.drop(w)
		w.grant <- grant{err: bridge.TakenBack()}
	}
	var further []*waiter
	for _, ses := range st.sessions {
		for _, w := range revokedIn(&ses.waiting) {
			drop(&ses.waiting, w)
			w.grant <- grant{err: bridge.TakenBack()}
		}
		if !ses.caller.IsRevoked() || ses.page == nil { // what still opens ends in opened
			continue
		}
		further = append(further, drain(&ses.waiting)...)
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
	for e := q.lines.Front(); e != nil; e = e.Next() {
		all = append(all, revokedIn(&e.Value.(*line).waiting)...)
	}
	return all
}

func revokedIn(waiting *list.List) []*waiter {
	var all []*waiter
	for e := waiting.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); w.caller.IsRevoked() {
			all = append(all, w)
		}
	}
	return all
}

// evict closes the page of a session, for which nobody waits, under the calls that
// hold it. Its place among the live pages is free when they gave it back.
func (st *state) evict(ses *session) {
	ses.evicted = true
	delete(st.sessions, ses.key)
	st.manager.changed(ses.key.site)
	st.leaveTombstone(ses.key)
	st.close(ses.page)
}
