package lease

import (
	"context"
	"errors"
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

// ErrLapsed is the cause with which contexts of While end.
var ErrLapsed = errors.New("this node cannot renew its lease")

// While returns a context that ends as soon as the life does not hold: for what is asked before an effect, which
// Holds would refuse by then. The caller must call the function.
func (l *Life) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var look func()
	look = func() {
		at := l.believed.Load()
		if at == nil || !l.Holds() {
			cancel(ErrLapsed)
			return
		}
		timer := time.AfterFunc(at.Mono+l.believe-l.clocks().Mono, look)
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	look()
	return ctx, func() { cancel(nil) }
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
