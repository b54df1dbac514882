package lease

import (
	"sync"
	"sync/atomic"
	"time"
)

// Life is one life of this node. Safe for concurrent use.
type Life struct {
	// ID is the incarnation: 8 characters A-Z and 2-7, which no other life has.
	ID string

	clocks  func() Instant
	believe time.Duration
	// believed holds when the last renewal was sent to which the engine agreed; nil before the first, and
	// for ever when the life is over.
	believed atomic.Pointer[Instant]
	mu       sync.Mutex // for ends and renewals, so that a late renewal revives nobody
	over     chan struct{}
}

func newLife(id string, lease time.Duration, clocks func() Instant) *Life {
	return &Life{ID: id, clocks: clocks, believe: lease / 5 * 4, over: make(chan struct{})}
}

// Holds reports whether nobody has declared this life dead, or can before 0.2 leases have passed. Ask
// right before each effect. It does no I/O.
func (l *Life) Holds() bool {
	at := l.believed.Load()
	return at != nil && l.clocks().Within(l.believe, *at)
}

// Age returns the time since the last renewal to which the engine agreed; 0 before the first, and when the
// life is over.
func (l *Life) Age() time.Duration {
	at := l.believed.Load()
	if at == nil {
		return 0
	}
	return l.clocks().Mono - at.Mono
}

// Over is closed when the life has ended: it holds never again.
func (l *Life) Over() <-chan struct{} { return l.over }

// isOver reports whether the life has ended.
func (l *Life) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// renewed says that the engine agreed to a renewal that was sent then.
func (l *Life) renewed(sent Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isOver() {
		l.believed.Store(&sent)
	}
}

// end ends the life.
func (l *Life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isOver() {
		l.believed.Store(nil)
		close(l.over)
	}
}
