package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// DefaultLease sets for how long nobody declares a life dead that was renewed.
	DefaultLease = 4 * time.Second
	// MinLease is the shortest Options.Lease.
	MinLease = 2 * time.Second
	// MaxLease is the longest.
	MaxLease = time.Minute
	// idLength is the length of incarnations.
	idLength = 8
	// maxTries limits the renewals in a step whose answers say that an earlier one had been lost.
	maxTries = 3
)

// Options say who a node is, and who hears of changes. Functions must not wait, but for Reborn.
type Options struct {
	Records records.Records
	// Lease is the same for all nodes of a cluster; 0 is DefaultLease.
	Lease time.Duration
	// About is asked at each renewal; nil says nothing.
	About func() Facts
	// Reborn hears that a life was declared dead, or its record removed: everything of it must end
	// before it returns, and only then the next life begins. Nil does nothing.
	Reborn func(was *Life)
	// Joined hears of lives of other nodes. Each is told once.
	Joined func(Member)
	// Died hears that a life of another node has ended for good. Each is told once.
	Died func(id string)
	// Earlier are lives of this node that the caller knows to have ended, such as those of whoever had the
	// lock of its data folder before: they are declared dead at once.
	Earlier []string
	// Clocks returns the time; nil is this machine's.
	Clocks func() Instant
	Log    *slog.Logger // nil is silent
}

// Node is this node among others. Safe for concurrent use. Make one with Join.
type Node struct {
	o    Options
	life atomic.Pointer[Life]
	kick chan struct{} // 1: renew now

	// The renewing goroutine's, or that of Join and Leave.
	revision uint64
	renewals uint64

	declared atomic.Int64

	mu    sync.Mutex
	held  time.Duration    // by our monotonic clock, since when our own life holds without a gap
	lives map[string]*seen // of other nodes
	dead  ends
	newer map[string]bool
}

// Join begins the first life of this node. It tries until ctx ends. Call Run then.
func Join(ctx context.Context, o Options) (*Node, error) {
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	if o.Lease < MinLease || o.Lease > MaxLease {
		return nil, fmt.Errorf("invalid lease %v: must be from %v to %v", o.Lease, MinLease, MaxLease)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Clocks == nil {
		o.Clocks = Clocks
	}
	if o.About == nil {
		o.About = func() Facts { return Facts{} }
	}
	n := &Node{o: o, kick: make(chan struct{}, 1), lives: map[string]*seen{}, newer: map[string]bool{}}
	for {
		err := n.begin(ctx)
		if err == nil {
			break
		}
		if !records.Pause(ctx, n.step()) {
			return nil, fmt.Errorf("cluster: joining: %w", err)
		}
	}
	for _, id := range o.Earlier {
		n.bury(ctx, id)
	}
	return n, nil
}

// Declared returns how many lives of other nodes this one declared dead.
func (n *Node) Declared() int64 { return n.declared.Load() }

// Life returns the life that this node has now. It can be over, while the next has not begun.
func (n *Node) Life() *Life { return n.life.Load() }

// Renew renews the lease now: what About says has changed.
func (n *Node) Renew() {
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// Run renews the lease and watches the other nodes until ctx ends.
func (n *Node) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { n.watch(ctx) })
	defer all.Wait()
	for {
		next := time.NewTimer(n.step())
		for again, tries := true, 0; again && tries < maxTries && ctx.Err() == nil; tries++ {
			again = n.renew(ctx)
		}
		select {
		case <-next.C:
		case <-n.kick:
			next.Stop()
		case <-ctx.Done():
			next.Stop()
			return
		}
	}
}

// Leave ends the life, when everything of it has ended, so that nobody needs to wait for its death. Of one that
// was declared dead the record stays: it says so to whoever asks. Call it after Run has returned.
func (n *Node) Leave(ctx context.Context) error {
	life := n.life.Load()
	if life.isOver() {
		return nil
	}
	life.end()
	for {
		err := n.o.Records.Delete(ctx, keyOf(life.ID), n.revision)
		if err == nil {
			return nil
		}
		switch r, readErr := n.o.Records.Get(ctx, keyOf(life.ID)); {
		case errors.Is(readErr, records.ErrNone):
			return nil
		case readErr == nil:
			n.revision = r.Revision
		}
		if !records.Pause(ctx, n.step()/10) {
			return fmt.Errorf("cluster: leaving: %w", err)
		}
	}
}

// step is the time between renewals, and the most that one may take.
func (n *Node) step() time.Duration { return n.o.Lease / 4 }

// begin begins a life. Where the engine does not answer, the next try goes on with the same one.
func (n *Node) begin(ctx context.Context) error {
	life := n.life.Load()
	if life == nil || life.isOver() {
		life = newLife(rand.Text()[:idLength], n.o.Lease, n.o.Clocks)
		n.revision, n.renewals = 0, 0
		n.life.Store(life)
	}
	value, err := n.value()
	if err != nil {
		return err
	}
	sent := n.o.Clocks()
	ctx, cancel := context.WithTimeout(ctx, n.step())
	defer cancel()
	revision, err := n.o.Records.Create(ctx, keyOf(life.ID), value)
	switch {
	case err == nil:
		n.agreed(life, revision, sent)
		return nil
	case errors.Is(err, records.ErrExists): // ours, and its answer was lost; or another node's, once in 10^12
		err = n.look(ctx, life)
	}
	if life.isOver() {
		return errors.New("the life ended before it began")
	}
	return err
}

// value returns the record of this life.
func (n *Node) value() ([]byte, error) {
	return records.Encode(form{Facts: n.o.About(), N: n.renewals, At: n.o.Clocks().Wall.Milliseconds(), Lease: n.o.Lease.Milliseconds()})
}

// renew renews the lease once, or begins a new life. It reports whether to try again at once.
func (n *Node) renew(ctx context.Context) (again bool) {
	life := n.life.Load()
	if n.revision == 0 || life.isOver() {
		if err := n.begin(ctx); err != nil {
			n.o.Log.Warn("cluster: a life cannot begin", slog.Any("error", err))
		}
		return false
	}
	n.renewals++
	value, err := n.value()
	if err != nil {
		n.o.Log.Error("cluster: the lease cannot be written", slog.Any("error", err))
		return false
	}
	sent := n.o.Clocks()
	ctx, cancel := context.WithTimeout(ctx, n.step())
	defer cancel()
	revision, err := n.o.Records.Update(ctx, keyOf(life.ID), value, n.revision)
	switch {
	case err == nil:
		n.agreed(life, revision, sent)
		return false
	case errors.Is(err, records.ErrChanged):
		err = n.look(ctx, life)
		again = err == nil
	}
	if err != nil {
		n.o.Log.Debug("cluster: the lease was not renewed", slog.Any("error", err))
	}
	return again
}

// agreed takes note of a renewal that was sent then. After a gap in which ours did not succeed, it was
// perhaps the engine that was gone: what others did not do in that time says nothing.
func (n *Node) agreed(life *Life, revision uint64, sent Instant) {
	n.revision = revision
	if !life.Holds() {
		now := n.o.Clocks().Mono
		n.mu.Lock()
		n.held = now
		n.mu.Unlock()
	}
	life.renewed(sent)
}

// look reads this life's record after an answer was lost: it has the revision of the next renewal, or
// the life is over. Nil means that the renewal can be tried again.
func (n *Node) look(ctx context.Context, life *Life) error {
	r, err := n.o.Records.Get(ctx, keyOf(life.ID))
	var is form
	switch {
	case errors.Is(err, records.ErrNone):
		n.reborn(life, "its record is gone")
		return nil
	case err != nil:
		return err
	}
	if err := records.Decode(r.Value, &is); err != nil {
		return err
	}
	if is.Dead != "" {
		n.reborn(life, "declared dead by "+is.Dead)
		return nil
	}
	n.revision = r.Revision
	return nil
}

// reborn ends a life. The next begins with the next renewal.
func (n *Node) reborn(life *Life, why string) {
	life.end()
	n.o.Log.Warn("cluster: this node lost its lease", slog.String("incarnation", life.ID), slog.String("why", why))
	if n.o.Reborn != nil {
		n.o.Reborn(life)
	}
}

// bury declares an earlier life of this node dead. Where that cannot be done, somebody does it after a
// lease.
func (n *Node) bury(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, n.o.Lease)
	defer cancel()
	for {
		r, err := n.o.Records.Get(ctx, keyOf(id))
		if err == nil && !r.Deleted {
			_, err = n.declare(ctx, id, r)
		}
		if err == nil || errors.Is(err, records.ErrNone) || errors.Is(err, records.ErrInvalid) || errors.Is(err, records.ErrNewer) {
			return
		}
		if !records.Pause(ctx, n.step()/10) {
			n.o.Log.Warn("cluster: an earlier life of this node could not be declared dead", slog.String("incarnation", id), slog.Any("error", err))
			return
		}
	}
}
