package authserver

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// letters of codes: without vowels, so that no words come about (RFC 8628, 6.1).
const letters = "BCDFGHJKLMNPQRSTVWXZ"

// How long a code for a person is good, how long it is, and how many there are at once.
const (
	pairingTime   = 10 * time.Minute
	pairingLength = 8
	maxPairings   = 20
)

// pairings are the codes that let people log in. The operator's machine shows them.
type pairings struct {
	mu  sync.Mutex
	all []pairing // oldest first
}

type pairing struct {
	code   string
	person string
	until  time.Time
}

// Pair makes a code with which a person logs in once, until some time; "" when there is no such
// person.
func (s *Server) Pair(person string) (code string, until time.Time) {
	if s.person(person) == nil {
		return "", until
	}
	now := s.o.Now()
	p := pairing{code: newCode(), person: person, until: now.Add(pairingTime)}
	s.pairings.mu.Lock()
	defer s.pairings.mu.Unlock()
	s.pairings.forget(now)
	if s.pairings.all = append(s.pairings.all, p); len(s.pairings.all) > maxPairings {
		s.pairings.all = s.pairings.all[1:]
	}
	return p.code[:4] + "-" + p.code[4:], p.until
}

// newCode returns random letters, each as likely as every other.
func newCode() string {
	var code []byte
	for len(code) < pairingLength {
		var b [1]byte
		_, _ = rand.Read(b[:]) // it never fails: it ends the program instead
		if int(b[0]) < 256/len(letters)*len(letters) {
			code = append(code, letters[int(b[0])%len(letters)])
		}
	}
	return string(code)
}

// forget drops what is over. Called with mu held.
func (p *pairings) forget(now time.Time) {
	for len(p.all) > 0 && !now.Before(p.all[0].until) {
		p.all = p.all[1:]
	}
}

// take returns the person of a code, once, however it is written.
func (p *pairings) take(typed string, now time.Time) string {
	code := strings.Map(func(c rune) rune {
		if c == '-' || c == ' ' {
			return -1
		}
		return c
	}, strings.ToUpper(typed))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	for i, one := range p.all {
		if one.code == code {
			p.all = append(p.all[:i:i], p.all[i+1:]...)
			return one.person
		}
	}
	return ""
}

// People lists the names of those who may let clients in.
func (s *Server) People() (names []string) {
	for _, p := range s.everybody() {
		names = append(names, p.Name)
	}
	return names
}
