package authserver

import (
	"context"
	"crypto/rand"
	"fmt"
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

// pairings are the codes that this process has shown of late, oldest first.
type pairings struct {
	mu  sync.Mutex
	all []string
}

// Pair makes a code with which a person logs in once, until some time; "" when there is no such
// person.
func (s *Server) Pair(ctx context.Context, person string) (code string, until time.Time, err error) {
	if s.person(person) == nil {
		return "", until, nil
	}
	code, until = newCode(), s.o.Now().Add(pairingTime)
	if _, err = s.o.Once.Put(ctx, pairingOf(code), []byte(person), until); err != nil {
		return "", until, fmt.Errorf("keeping a code: %w", err)
	}
	if old := s.pairings.add(code); old != "" {
		_, _, err = s.o.Once.Take(ctx, pairingOf(old))
	}
	return code[:4] + "-" + code[4:], until, err
}

// add notes a code, and returns the oldest one where there are too many.
func (p *pairings) add(code string) (old string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all = append(p.all, code); len(p.all) > maxPairings {
		old, p.all = p.all[0], p.all[1:]
	}
	return old
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

// paired returns the person of a code, once, however it is written; "" is none.
func (c codes) paired(ctx context.Context, typed string) (string, error) {
	code := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(typed))
	person, first, err := c.once.Take(ctx, pairingOf(code))
	if !first {
		return "", err
	}
	return string(person), err
}

// People lists the names of those who may let clients in.
func (s *Server) People() (names []string) {
	for _, p := range s.everybody() {
		names = append(names, p.Name)
	}
	return names
}
