package authserver

import "strconv"

// Flood has strangers of many addresses register clients.
func Flood(s *Server, addresses int) {
	for i := range addresses {
		s.registrations.take(strconv.Itoa(i))
	}
}

// Sizes counts what a server holds in memory because of strangers and people: addresses, documents,
// codes for people, codes for clients and answered requests, and tokens.
func Sizes(s *Server) (all []int) {
	for _, l := range []*limiter{s.registrations, s.fetches, s.attempts, s.guesses} {
		l.mu.Lock()
		all = append(all, len(l.times))
		l.mu.Unlock()
	}
	s.documents.mu.Lock()
	s.pairings.mu.Lock()
	s.codes.mu.Lock()
	s.kept.mu.Lock()
	all = append(all, len(s.documents.all), len(s.pairings.all), len(s.codes.all), len(s.codes.answered), len(s.kept.tokens))
	s.kept.mu.Unlock()
	s.codes.mu.Unlock()
	s.pairings.mu.Unlock()
	s.documents.mu.Unlock()
	return all
}
