package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// State says what is known of a life.
type State int

// The states of lives.
const (
	Unknown State = iota // no such life was heard of, or too long ago
	Alive                // it was not declared dead, and its record was there
	Dead                 // it has ended for good
)

// maxDead limits the lives that are known to be dead: beyond it, those of longest ago are forgotten.
const maxDead = 10_000

// seen is a life of another node.
type seen struct {
	member Member
	record records.Record
	first  time.Duration // by our monotonic clock, when this revision was seen first
	over   chan struct{} // closed when it is dead
	newer  bool          // written by a version that we do not know
}

// ends are lives that are dead.
type ends struct {
	known map[string]bool
	order []string
}

// add reports whether the life was not known to be dead.
func (e *ends) add(id string) bool {
	if e.known[id] {
		return false
	}
	if e.known == nil {
		e.known = map[string]bool{}
	}
	if len(e.order) >= maxDead {
		delete(e.known, e.order[0])
		e.order = e.order[1:]
	}
	e.known[id] = true
	e.order = append(e.order, id)
	return true
}

// watch watches the lives of all nodes until ctx ends.
func (n *Node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := n.o.Records.Watch(ctx, prefix)
		if err != nil {
			n.o.Log.Debug("cluster: the other nodes cannot be watched", slog.Any("error", err))
			n.idle(ctx, nil)
			continue
		}
		n.follow(ctx, changes)
	}
}

// follow reads a watch until it is closed.
func (n *Node) follow(ctx context.Context, changes <-chan records.Record) {
	there := map[string]bool{} // in the first part of the watch; nil after it
	for {
		r, open := n.idle(ctx, changes)
		switch {
		case !open:
			return
		case r.IsMark():
			n.left(ctx, there)
			there = nil
		default:
			if there != nil {
				there[idOf(r.Key)] = true
			}
			n.see(r)
		}
	}
}

// idle waits for a change, and declares lives dead while it does. Without a watch it waits for a step.
func (n *Node) idle(ctx context.Context, changes <-chan records.Record) (r records.Record, open bool) {
	rest := time.NewTimer(n.step())
	defer rest.Stop()
	for {
		due := time.NewTimer(n.due())
		select {
		case r, open = <-changes:
		case <-due.C:
			n.judge(ctx)
			continue
		case <-rest.C:
			if changes != nil {
				rest.Reset(n.step())
				due.Stop()
				continue
			}
		case <-ctx.Done():
		}
		due.Stop()
		return r, open
	}
}

// due returns when the next life may have to be declared dead.
func (n *Node) due() time.Duration {
	now := n.o.Clocks().Mono
	n.mu.Lock()
	defer n.mu.Unlock()
	next := n.o.Lease
	for _, s := range n.lives {
		if !s.newer {
			next = min(next, max(s.first, n.held)+n.o.Lease-now)
		}
	}
	return max(next, 0)
}

// see takes note of a record.
func (n *Node) see(r records.Record) {
	id := idOf(r.Key)
	if life := n.life.Load(); id == life.ID {
		if r.Revision > 0 && !n.ours(r) {
			n.Renew() // which learns that the life is over
		}
		return
	}
	var is form
	err := error(nil)
	if !r.Deleted {
		err = records.Decode(r.Value, &is)
	}
	if r.Deleted || err == nil && is.Dead != "" {
		n.died(id)
		return
	}
	if err != nil {
		n.o.Log.Warn("cluster: a lease cannot be read", slog.String("incarnation", id), slog.Any("error", err))
	}
	now := n.o.Clocks().Mono
	n.mu.Lock()
	s := n.lives[id]
	joined := s == nil && !n.dead.known[id]
	if joined {
		s = &seen{over: make(chan struct{})}
		n.lives[id] = s
	}
	if s != nil && r.Revision > s.record.Revision {
		s.member, s.record, s.first, s.newer = Member{is.Facts, id}, r, now, err != nil
		if delete(n.newer, id); errors.Is(err, records.ErrNewer) {
			n.newer[id] = true
		}
	}
	n.mu.Unlock()
	if joined {
		n.o.Log.Info("cluster: joined", slog.String("node", is.Node), slog.String("incarnation", id))
		if n.o.Joined != nil {
			n.o.Joined(Member{is.Facts, id})
		}
	}
}

// ours reports whether a record of this life says that it lives.
func (n *Node) ours(r records.Record) bool {
	var is form
	return !r.Deleted && records.Decode(r.Value, &is) == nil && is.Dead == ""
}

// died takes note of an end.
func (n *Node) died(id string) {
	n.mu.Lock()
	first := n.dead.add(id)
	s := n.lives[id]
	delete(n.lives, id)
	delete(n.newer, id)
	n.mu.Unlock()
	if s != nil {
		close(s.over)
		n.o.Log.Info("cluster: a node ended", slog.String("node", s.member.Node), slog.String("incarnation", id))
	}
	if first && n.o.Died != nil {
		n.o.Died(id)
	}
}

// left asks for the lives whose records are not in the first part of a watch. A watch can be behind,
// so that they are not there proves nothing.
func (n *Node) left(ctx context.Context, there map[string]bool) {
	n.mu.Lock()
	var gone []string
	for id := range n.lives {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	n.mu.Unlock()
	for _, id := range gone {
		ctx, cancel := context.WithTimeout(ctx, n.step())
		if _, err := n.ask(ctx, id); err != nil { // it is declared dead when a lease has passed, if it is
			n.o.Log.Debug("cluster: a lease cannot be read", slog.String("incarnation", id), slog.Any("error", err))
		}
		cancel()
	}
}

// judge declares the lives dead whose records have not changed for a lease, by our monotonic clock.
func (n *Node) judge(ctx context.Context) {
	now := n.o.Clocks().Mono
	n.mu.Lock()
	if !n.life.Load().Holds() {
		n.held = now // see agreed
	}
	var late []records.Record
	for _, s := range n.lives {
		if !s.newer && now-max(s.first, n.held) >= n.o.Lease {
			late = append(late, s.record)
		}
	}
	n.mu.Unlock()
	for _, r := range late {
		ctx, cancel := context.WithTimeout(ctx, n.step())
		again, err := n.declare(ctx, idOf(r.Key), r)
		cancel()
		if err != nil {
			n.o.Log.Debug("cluster: a node could not be declared dead", slog.String("incarnation", idOf(r.Key)), slog.Any("error", err))
		}
		if again {
			n.later(r)
		}
	}
}

// later puts off another try by a step.
func (n *Node) later(r records.Record) {
	now := n.o.Clocks().Mono
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.lives[idOf(r.Key)]; s != nil && s.record.Revision == r.Revision {
		s.first = max(s.first, now-n.o.Lease+n.step())
	}
}

// declare declares a life dead that has this record. It reports whether that is to be tried again:
// nobody knows yet whether it is.
func (n *Node) declare(ctx context.Context, id string, r records.Record) (again bool, err error) {
	var is form
	if err := records.Decode(r.Value, &is); err != nil {
		return false, err
	}
	if is.Dead != "" {
		n.died(id)
		return false, nil
	}
	value, err := deadly(r.Value, n.life.Load().ID)
	if err != nil {
		return false, err
	}
	if _, err = n.o.Records.Update(ctx, r.Key, value, r.Revision); err == nil {
		n.declared.Add(1)
		n.o.Log.Info("cluster: declared dead", slog.String("node", is.Node), slog.String("incarnation", id))
		n.died(id)
		return false, nil
	}
	if !errors.Is(err, records.ErrChanged) {
		return true, err
	}
	switch r, err := n.o.Records.Get(ctx, r.Key); {
	case errors.Is(err, records.ErrNone):
		n.died(id)
		return false, nil
	case err != nil:
		return true, err
	default:
		n.see(r)
		return true, nil
	}
}
