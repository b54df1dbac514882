package authserver

import (
	"strconv"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// NewOnce keeps what counts once, for several servers.
func NewOnce(now func() time.Time) bridge.Once { return newOnce(now) }

// Flood has strangers of many addresses register clients.
func Flood(s *Server, addresses int) {
	for i := range addresses {
		s.registrations.take(strconv.Itoa(i))
	}
}

// Sizes counts what a server holds in memory because of strangers and people: addresses, documents,
// codes for people, what counts once, and tokens.
func Sizes(s *Server) (all []int) {
	for _, l := range []*limiter{s.registrations, s.fetches, s.attempts, s.guesses} {
		l.mu.Lock()
		all = append(all, len(l.times))
		l.mu.Unlock()
	}
	s.documents.mu.Lock()
	s.pairings.mu.Lock()
	s.o.Once.(*once).mu.Lock()
	s.kept.mu.Lock()
	all = append(all, len(s.documents.all), len(s.pairings.all), len(s.o.Once.(*once).all), len(s.kept.tokens))
	s.kept.mu.Unlock()
	s.o.Once.(*once).mu.Unlock()
	s.pairings.mu.Unlock()
	s.documents.mu.Unlock()
	return all
}
