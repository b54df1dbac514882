package session

import "time"

// tombLife says how long the death of a session is remembered, maxTombs how many.
const (
	tombLife = 24 * time.Hour
	maxTombs = 10_000
)

// unname frees the name of a session, which another one may have by now.
func (ses *session) unname(st *state) {
	if st.sessions[ses.key] == ses {
		delete(st.sessions, ses.key)
	}
}

// leaveTombstone notes that a session died, so that its caller's next call reports it, once.
func (st *state) leaveTombstone(k key) {
	if len(st.tombs) >= maxTombs {
		st.forgetTombs()
	}
	st.tombs[k] = time.Now()
}

// forgetTombs drops what is too old, and when that is not enough, anything.
func (st *state) forgetTombs() {
	for k, t := range st.tombs {
		if time.Since(t) > tombLife || len(st.tombs) >= maxTombs {
			delete(st.tombs, k)
		}
	}
}
