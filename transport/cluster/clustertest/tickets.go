package clustertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/pagetools/pagetools/transport/cluster"
)

// Tickets are the tickets of a cluster. All nodes see the same. It is safe for concurrent use.
type Tickets struct {
	mu  sync.Mutex
	all map[string]bool // whether the call began, by call and attempt
	err error
	off int // calls that are another node's
	// onBegin is called when a call has begun.
	onBegin func()
}

// OnBegin has f called when a call has its ticket, before it runs.
func (s *Tickets) OnBegin(f func()) { s.onBegin = f }

// Refuse has the next calls that would begin be another node's.
func (s *Tickets) Refuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = n
}

var _ cluster.Tickets = (*Tickets)(nil)

// Fail has everybody who asks get an error, until it is nil.
func (s *Tickets) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Len returns how many there are.
func (s *Tickets) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// first makes a ticket, where none is there, and returns what it says.
func (s *Tickets) first(call string, attempt int, begun bool) (is bool, made bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false, false, s.err
	}
	key := fmt.Sprintf("%s.%d", call, attempt)
	if begun && s.off > 0 {
		s.off--
		return false, false, nil
	}
	if is, there := s.all[key]; there {
		return is, false, nil
	}
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[key] = begun
	return begun, true, nil
}

// Begin implements cluster.Tickets.
func (s *Tickets) Begin(_ context.Context, call string, attempt int) error {
	switch begun, made, err := s.first(call, attempt, true); {
	case err == nil && made && s.onBegin != nil:
		s.onBegin()
		return nil
	case err != nil, made:
		return err
	case !begun:
		return cluster.ErrMoved
	}
	return fmt.Errorf("%s began before", call)
}

// Pass implements cluster.Tickets.
func (s *Tickets) Pass(call string, attempt int) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		begun, _, err := s.first(call, attempt, false)
		return err == nil && !begun, err
	}
}
