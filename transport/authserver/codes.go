package authserver

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// How long a code is good, and how many there are at once. A person makes each.
const (
	codeTime = time.Minute
	maxCodes = 1000
)

// codes holds the codes of clients, and the requests that people answered: neither counts twice.
type codes struct {
	mu       sync.Mutex
	all      map[bridge.Digest]*given
	answered map[string]time.Time // until when, by the ID of the request
}

// given records the consent of a person.
type given struct {
	*request

	person     string
	connection string // the ID that it gets
	until      time.Time
	used       bool
	again      bool // it was used once more
}

// newSecret returns 32 random bytes after a prefix, and their digest.
func newSecret(prefix string) (text string, digest bridge.Digest) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program instead
	text = prefix + b64.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

// newID returns the ID of a connection: 8 characters, for people.
func newID() string { return rand.Text()[:8] }

// began reports whether a request was not answered yet.
func (c *codes) began(q *request, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, until := range c.answered {
		if !now.Before(until) {
			delete(c.answered, id)
		}
	}
	_, over := c.answered[string(q.Cookie)]
	return !over
}

// end notes that a request was answered. It returns false for one that was answered before.
func (c *codes) end(q *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered == nil {
		c.answered = map[string]time.Time{}
	}
	if _, over := c.answered[string(q.Cookie)]; over || len(c.answered) >= maxCodes {
		return false
	}
	c.answered[string(q.Cookie)] = q.Until
	return true
}

// add keeps what a person let a client have, and returns the code for it.
func (c *codes) add(g given, now time.Time) string {
	code, digest := newSecret("ptc_")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[bridge.Digest]*given{}
	}
	var first bridge.Digest
	for d, x := range c.all {
		if !now.Before(x.until) {
			delete(c.all, d)
		} else if was := c.all[first]; was == nil || x.until.Before(was.until) {
			first = d
		}
	}
	if len(c.all) >= maxCodes {
		delete(c.all, first)
	}
	c.all[digest] = &g
	return code
}

// take returns what a code is for, the first time. Afterwards it says which connection was made of
// it.
func (c *codes) take(d bridge.Digest, now time.Time) (g *given, again string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g = c.all[d]
	switch {
	case g == nil || !now.Before(g.until) && !g.used:
		return nil, ""
	case g.used:
		g.again = true
		return nil, g.connection
	}
	g.used = true
	return g, ""
}

// wasTwice reports whether a code that was taken was used once more since.
func (c *codes) wasTwice(g *given) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return g.again
}
