package session

import (
	"container/list"

	"github.com/pagetools/pagetools/bridge"
)

// Revoke ends what callers left here whose credential was taken back: their sessions,
// with the calls that run in them, and the calls that wait. It waits for no page.
func (m *Manager) Revoke() { m.with((*state).revoke) }

func (st *state) revoke() {
	refuseRevoked(&st.queue)
	for _, ses := range st.sessions {
		refuseRevoked(&ses.waiting)
		switch {
		case !ses.caller.IsRevoked() || ses.page == nil: // what still opens ends in opened
		case ses.busy:
			st.evict(ses)
		default:
			st.bury(ses, true)
		}
	}
	st.next()
}

// refuseRevoked answers those of a queue whose credential was taken back.
func refuseRevoked(queue *list.List) {
	for e := queue.Front(); e != nil; {
		w, next := e.Value.(*waiter), e.Next()
		if w.caller.IsRevoked() {
			queue.Remove(e)
			w.grant <- grant{err: bridge.TakenBack()}
		}
		e = next
	}
}

// evict closes the page of a session under the call that holds it. Its place among
// the live pages is free when the call gave it back.
func (st *state) evict(ses *session) {
	ses.evicted = true
	delete(st.sessions, ses.key)
	st.entomb(ses.key)
	st.close(ses.page)
	st.move(ses)
}
