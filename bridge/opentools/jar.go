package opentools

import (
	"cmp"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/pagetools/pagetools/bridge"
)

// Bounds of the cookies of one session, and of sessions (B11).
const (
	maxCookies  = 300
	maxCookie   = 4 << 10  // bytes of a name and its value (RFC 6265, 6.1)
	maxOfJar    = 64 << 10 // bytes of all
	maxSessions = 10_000
	maxOfCaller = 1000
	maxExpired  = 10_000 // sessions that are over, of which their callers were not told
	idleSession = 15 * time.Minute
)

// jar has the cookies of one session of one caller. It is safe for concurrent use.
type jar struct {
	turn chan struct{} // calls in order hold it

	claiming chan struct{} // who holds it has the next three
	home     int64         // its epoch in Homes; 0: none
	over     bool          // the session has ended
	expiry   *time.Timer   // ends it when nobody uses it

	mu   sync.Mutex
	held *cookiejar.Jar // nil: none were set
	by   bridge.Caller
	set  map[string]int // the bytes of cookies that were set, by where they are good and their name
	size int            // of all
	used time.Time
}

func newJar() *jar { return &jar{turn: make(chan struct{}, 1), claiming: make(chan struct{}, 1)} }

// Cookies returns the cookies of an address.
func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	held := j.held
	j.mu.Unlock()
	if held == nil {
		return nil
	}
	return held.Cookies(u)
}

// receiving takes cookies, and adds none: those of a request are added where it is made, with those
// of its arguments.
type receiving struct{ *jar }

func (r receiving) SetCookies(u *url.URL, cookies []*http.Cookie) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // it does not fail
	}
	r.held.SetCookies(u, slices.DeleteFunc(slices.Clone(cookies), func(c *http.Cookie) bool {
		return !keepsPrefix(u, c) || !r.admit(u, c)
	}))
}

// keepsPrefix reports whether a cookie is as the prefix of its name promises (RFC 6265bis, 4.1.3):
// else a site that shares the domain, or the network, sets what only the server can set.
func keepsPrefix(u *url.URL, c *http.Cookie) bool {
	begins := func(prefix string) bool {
		return len(c.Name) >= len(prefix) && strings.EqualFold(c.Name[:len(prefix)], prefix)
	}
	secure := c.Secure && u.Scheme == "https"
	whole := secure && c.Domain == "" && c.Path == "/"
	switch {
	case begins("__Host-Http-"):
		return whole && c.HttpOnly
	case begins("__Host-"):
		return whole
	case begins("__Http-"):
		return secure && c.HttpOnly
	case begins("__Secure-"):
		return secure
	}
	return true
}

// admit reports whether there is room for a cookie, in the place of the one before it.
func (j *jar) admit(u *url.URL, c *http.Cookie) bool {
	scope := cmp.Or(c.Path, u.Path[:strings.LastIndexByte(u.Path, '/')+1])
	key := strings.Join([]string{u.Hostname(), strings.ToLower(c.Domain), scope, c.Name}, "\n")
	before, known := j.set[key]
	size := len(c.Name) + len(c.Value)
	switch {
	case c.MaxAge < 0, c.MaxAge == 0 && !c.Expires.IsZero() && c.Expires.Before(time.Now()):
		delete(j.set, key)
		j.size -= before
		return true
	case size > maxCookie, j.size-before+size > maxOfJar, !known && len(j.set) >= maxCookies:
		return false
	case j.set == nil:
		j.set = map[string]int{}
	}
	j.set[key] = size
	j.size += size - before
	return true
}

func (r receiving) Cookies(*url.URL) []*http.Cookie { return nil }

type owner struct{ caller, session string }

// jars are the sessions of a site. It is safe for concurrent use.
type jars struct {
	free    func(*jar) // lets other processes have a session that ended; nil: there are none
	mu      sync.Mutex
	swept   time.Time
	all     map[owner]*jar
	expired map[owner]struct{} // had cookies, and their callers do not know yet
}

// of returns the jar of a session, and whether another one of that name with cookies ended, which
// is said once. Without a session it is a new one.
func (s *jars) of(caller bridge.Caller, session string, now time.Time) (j *jar, ended bool) {
	by := owner{caller.Name, session}
	if session == "" {
		return newJar(), false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[owner]*jar{}
	}
	if s.expired == nil {
		s.expired = map[owner]struct{}{}
	}
	s.sweep(now)
	if _, ended = s.expired[by]; ended {
		delete(s.expired, by)
		return nil, true
	}
	j = s.all[by]
	if j == nil {
		if len(s.all) >= maxSessions {
			s.end(s.oldest(func(owner) bool { return true }))
		} else if of := func(o owner) bool { return o.caller == by.caller }; s.count(of) >= maxOfCaller {
			s.end(s.oldest(of))
		}
		j = newJar()
		s.all[by] = j
	}
	j.used, j.by = now, caller
	return j, false
}

// sweep ends the sessions that nobody used of late.
func (s *jars) sweep(now time.Time) {
	if now.Sub(s.swept) < idleSession/16 {
		return
	}
	s.swept = now
	for by, j := range s.all {
		if now.Sub(j.used) > idleSession {
			s.end(by)
		}
	}
}

func (s *jars) count(of func(owner) bool) (n int) {
	for o := range s.all {
		if of(o) {
			n++
		}
	}
	return n
}

func (s *jars) oldest(of func(owner) bool) (by owner) {
	var at time.Time
	for o, j := range s.all {
		if of(o) && (at.IsZero() || j.used.Before(at)) {
			by, at = o, j.used
		}
	}
	return by
}

func (s *jars) end(by owner) {
	j := s.all[by]
	s.remove(by)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.set) > 0 && len(s.expired) < maxExpired {
		s.expired[by] = struct{}{}
	}
}

// revoke ends the sessions of callers whose credential was revoked.
func (s *jars) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for by, j := range s.all {
		if j.by.IsRevoked() {
			s.remove(by)
		}
	}
}

// remove forgets a session. Called with mu held.
func (s *jars) remove(by owner) {
	j := s.all[by]
	delete(s.all, by)
	if s.free != nil {
		s.free(j)
	}
}

// idle ends the session when nobody has used it, and returns how long it is to be left alone
// otherwise; 0 where it has ended.
func (s *jars) idle(by owner, j *jar, now time.Time) (left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[by] != j {
		return 0
	}
	if left = idleSession - now.Sub(j.used); left <= 0 {
		s.end(by)
	}
	return max(0, left)
}
