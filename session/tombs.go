package session

import (
	"time"

	"github.com/pagetools/pagetools/bridge"
)

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

// tomb is left of a session until its caller was told.
type tomb struct {
	died time.Time
	home int64 // its epoch in Homes, so that the caller's requests come here; 0: none
}

// leaveTombstone notes that a session died, so that its caller's next call reports it, once.
func (st *state) leaveTombstone(ses *session) {
	st.dropTombstone(ses.key)
	if len(st.tombs) >= maxTombs {
		st.forgetTombs()
	}
	t := tomb{died: time.Now()}
	if bridge.Routed(st.manager.o.Homes) {
		t.home, ses.home = ses.home, 0
	}
	st.tombs[ses.key] = t
}

// dropTombstone drops a tombstone, and reports whether there was one that is not too old.
func (st *state) dropTombstone(k key) bool {
	t, dead := st.tombs[k]
	delete(st.tombs, k)
	if m := st.manager; t.home != 0 {
		m.background.Go(func() { bridge.Free(m.o.Homes, t.home, m.o.Log) }) // ends within the bounds of Free
	}
	return dead && time.Since(t.died) < tombLife
}

// forgetTombs drops what is too old, and when that is not enough, anything.
func (st *state) forgetTombs() {
	for k, t := range st.tombs {
		if time.Since(t.died) > tombLife || len(st.tombs) >= maxTombs {
			st.dropTombstone(k)
		}
	}
}
