package mcp

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	// maxSessions bounds the sessions of older protocol versions that are kept, maxOfCaller
	// those of one caller: the one that was used least recently goes.
	maxSessions, maxOfCaller = 10_000, 1000
	// sessionIdle is how long a session is kept that nobody uses.
	sessionIdle = 30 * time.Minute
)

// httpSession is a client of an older protocol version: it began with a handshake.
type httpSession struct {
	*peer

	id     string
	scope  scope
	used   time.Time // guarded by sessions
	expiry *time.Timer
}

// sessions holds the open sessions.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*httpSession
}

// open makes a session.
func (s *sessions) open(sc scope) *httpSession {
	made := &httpSession{peer: newPeer(), id: rand.Text(), scope: sc, used: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(sc.caller.Name)
	s.byID[made.id] = made
	made.expiry = time.AfterFunc(sessionIdle, func() { s.expire(made) })
	return made
}

// makeRoom ends the oldest session when there are too many, of the caller or of
// all. Called with mu held.
func (s *sessions) makeRoom(caller string) {
	var oldest, theirs *httpSession
	n := 0
	for _, x := range s.byID {
		if oldest == nil || x.used.Before(oldest.used) {
			oldest = x
		}
		if x.scope.caller.Name == caller {
			n++
			if theirs == nil || x.used.Before(theirs.used) {
				theirs = x
			}
		}
	}
	switch {
	case n >= maxOfCaller:
		s.drop(theirs)
	case len(s.byID) >= maxSessions:
		s.drop(oldest)
	}
}

// drop ends a session. Called with mu held.
func (s *sessions) drop(x *httpSession) {
	delete(s.byID, x.id)
	x.expiry.Stop()
	x.end()
}

// find returns the session of that id when it is the caller's, on that endpoint.
func (s *sessions) find(id string, sc scope) *httpSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.byID[id]
	if x != nil && x.scope.caller.IsRevoked() {
		s.drop(x)
		return nil
	}
	if x == nil || x.scope.caller.Name != sc.caller.Name || x.scope.site != sc.site {
		return nil
	}
	x.used = time.Now()
	return x
}

// expire ends a session that nobody has used, or looks again later.
func (s *sessions) expire(x *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[x.id] != x {
		return
	}
	if left := sessionIdle - time.Since(x.used); left > 0 {
		x.expiry.Reset(left)
		return
	}
	s.drop(x)
}

// close ends a session that its client ended.
func (s *sessions) close(x *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[x.id] == x {
		s.drop(x)
	}
}
