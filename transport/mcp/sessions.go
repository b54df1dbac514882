package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// maxSessions bounds the sessions of older protocol versions that are kept, maxOfCaller
	// those of one caller: the one that was used least recently goes.
	maxSessions, maxOfCaller = 10_000, 1000
	// sessionIdle sets how long a session is kept that nobody uses.
	sessionIdle = 30 * time.Minute
	// sessionAge sets how long an id can be taken up again.
	sessionAge = 30 * 24 * time.Hour
	// unknownList is the digest of a list that another process told the client.
	unknownList = "unknown"
)

// facts are in the id of a session, sealed: any face with the key takes the session up again, after
// a restart or beside another. The id is no credential: requests are authenticated without it.
type facts struct {
	Caller   string    `json:"c"`
	Site     string    `json:"s,omitempty"`
	Protocol protocol  `json:"p"`
	Form     bool      `json:"f,omitempty"`
	URL      bool      `json:"u,omitempty"`
	Kit      bool      `json:"k,omitempty"`
	Apps     bool      `json:"a,omitempty"`
	Until    time.Time `json:"e"`
}

// httpSession is a client of an older protocol version: it began with a handshake.
type httpSession struct {
	*peer

	id      string
	scope   scope
	until   time.Time // its id is good that long
	used    time.Time // guarded by sessions, as the next
	changes int64     // of Ended when it was last known not to have ended
	expiry  *time.Timer
}

// sessions holds the open sessions.
type sessions struct {
	seal  *seal
	store bridge.Ended // of those that ended in any process; nil: there is one process
	log   *slog.Logger

	mu     sync.Mutex
	byID   map[string]*httpSession
	ended  map[[sha256.Size]byte]bool // ids that are not taken up again
	oldest [][sha256.Size]byte        // of these
}

func newSessions(s *seal, store bridge.Ended, log *slog.Logger) *sessions {
	return &sessions{seal: s, store: store, log: log, byID: map[string]*httpSession{}, ended: map[[sha256.Size]byte]bool{}}
}

// open makes a session of a client that said this in its handshake.
func (s *sessions) open(sc scope, version protocol, can elicits) *httpSession {
	until, changes := time.Now().Add(sessionAge), s.changes()
	id := s.seal.close(forSession, facts{Caller: sc.caller.Name, Site: sc.site, Protocol: version,
		Form: can.form, URL: can.url, Kit: can.kit, Apps: can.apps, Until: until})
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.keep(id, sc, version, can)
	x.until, x.changes = until, changes
	return x
}

// keep adds a session. Called with mu held.
func (s *sessions) keep(id string, sc scope, version protocol, can elicits) *httpSession {
	made := &httpSession{peer: newPeer(), id: id, scope: sc, used: time.Now()}
	made.met(version, can)
	s.makeRoom(sc.caller.Name)
	s.byID[id] = made
	made.expiry = time.AfterFunc(sessionIdle, func() { s.expire(made) })
	return made
}

// takeUp opens the session of an id that this process does not have. That of another node has ended
// with it, since requests to one that lives are passed on. Called with mu held.
func (s *sessions) takeUp(id string, sc scope) *httpSession {
	var of facts
	if id == "" || !s.seal.madeHere(id) || s.ended[sha256.Sum256([]byte(id))] || s.seal.open(forSession, id, &of) != nil ||
		of.Caller != sc.caller.Name || of.Site != sc.site || time.Now().After(of.Until) {
		return nil
	}
	x := s.keep(id, sc, of.Protocol, elicits{form: of.Form, url: of.URL, kit: of.Kit, apps: of.Apps})
	x.until = of.Until
	x.gotList(unknownList, 0)
	return x
}

// bar keeps a session from being taken up again. Called with mu held.
func (s *sessions) bar(x *httpSession) {
	if len(s.oldest) >= maxSessions {
		delete(s.ended, s.oldest[0])
		s.oldest = s.oldest[1:]
	}
	sum := sha256.Sum256([]byte(x.id))
	s.ended[sum] = true
	s.oldest = append(s.oldest, sum)
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

// find returns the session of that id when it is the caller's, on that endpoint. One that this
// process does not have is taken up, unless its client ended it, in whichever process.
func (s *sessions) find(ctx context.Context, id string, sc scope) *httpSession {
	if id == "" {
		return nil
	}
	changes := s.changes()
	if s.endedElsewhere(ctx, id, sc, changes) {
		return nil
	}
	x, over := s.findHere(id, sc, changes)
	if over != nil {
		s.tell(ctx, over)
	}
	return x
}

// findHere is find in this process. Over is one that has just ended, with its credential.
func (s *sessions) findHere(id string, sc scope, changes int64) (x, over *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch x = s.byID[id]; {
	case x == nil:
		if x = s.takeUp(id, sc); x == nil {
			return nil, nil
		}
	case x.scope.caller.IsRevoked():
		s.drop(x)
		s.bar(x)
		return nil, x
	case x.scope.caller.Name != sc.caller.Name || x.scope.site != sc.site:
		return nil, nil
	}
	x.used, x.changes = time.Now(), changes
	return x, nil
}

// changes counts the ids that ended in any process. Two equal counts mean that none ended between.
func (s *sessions) changes() int64 {
	if s.store == nil {
		return 0
	}
	return s.store.Changes()
}

// endedElsewhere reports whether the id ended in any process, and ends its session here. The store
// is asked where an id has ended since it was asked last, or where the session is not here.
func (s *sessions) endedElsewhere(ctx context.Context, id string, sc scope, changes int64) bool {
	if s.store == nil {
		return false
	}
	s.mu.Lock()
	x := s.byID[id]
	known := x != nil && x.changes == changes
	s.mu.Unlock()
	var of facts
	if known || x == nil && (s.seal.open(forSession, id, &of) != nil || of.Caller != sc.caller.Name) {
		return false // a stranger's words are nothing to look for
	}
	ended, err := s.store.HasEnded(ctx, digestOf(id))
	if err != nil {
		s.log.WarnContext(ctx, "mcp: it is not known whether a session has ended in another process", slog.Any("error", err))
	}
	if !ended || x == nil {
		return ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[id] == x {
		s.drop(x)
		s.bar(x)
	}
	return true
}

// tell keeps the other processes from taking up a session that ended here.
func (s *sessions) tell(ctx context.Context, x *httpSession) {
	if s.store == nil {
		return
	}
	err := s.store.End(context.WithoutCancel(ctx), x.scope.caller.Name, digestOf(x.id), x.until)
	if err != nil {
		s.log.ErrorContext(ctx, "mcp: a session that ended can be taken up by another process", slog.Any("error", err))
	}
}

// digestOf names an id in the store, which keeps no ids.
func digestOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
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

// close ends a session that its client ended, in every process.
func (s *sessions) close(ctx context.Context, x *httpSession) {
	s.mu.Lock()
	here := s.byID[x.id] == x
	if here {
		s.drop(x)
		s.bar(x)
	}
	s.mu.Unlock()
	if here {
		s.tell(ctx, x)
	}
}
