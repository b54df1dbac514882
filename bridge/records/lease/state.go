package lease

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/pagetools/pagetools/bridge/records"
)

// Members returns the lives of other nodes that are not known to be dead, by ID.
func (n *Node) Members() []Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Member
	for _, s := range n.lives {
		all = append(all, s.member)
	}
	slices.SortFunc(all, byID)
	return all
}

// Newer returns the lives whose records were written in a form that this version does not know. It
// does not declare them dead.
func (n *Node) Newer() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.newer))
}

// State returns what this node knows of a life. It does no I/O: one that it has not heard of can live.
func (n *Node) State(id string) State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state(id)
}

// state is State. Called with mu held.
func (n *Node) state(id string) State {
	switch life := n.life.Load(); {
	case n.dead.known[id], id == life.ID && life.isOver():
		return Dead
	case id == life.ID || n.lives[id] != nil:
		return Alive
	}
	return Unknown
}

// Member returns a life of another node that is not known to be dead, and a channel that is closed
// when it is.
func (n *Node) Member(id string) (m Member, over <-chan struct{}, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.lives[id]
	if s == nil {
		return Member{}, nil, false
	}
	return s.member, s.over, true
}

// Ask returns the state of a life, Alive or Dead, by its record where it was not known. The name is
// of a record, not of a stranger: a life without a record is dead, because it made one before anybody
// heard of it, and Ask makes sure that it makes none, by one that says so.
func (n *Node) Ask(ctx context.Context, id string) (State, error) {
	if s := n.State(id); s != Unknown {
		return s, nil
	}
	return n.ask(ctx, id)
}

func (n *Node) ask(ctx context.Context, id string) (State, error) {
	r, err := n.o.Records.Get(ctx, keyOf(id))
	if errors.Is(err, records.ErrNone) {
		value, encodeErr := records.Encode(form{Dead: n.life.Load().ID})
		if encodeErr != nil {
			return Unknown, encodeErr
		}
		if _, err = n.o.Records.Create(ctx, keyOf(id), value); err == nil {
			n.died(id)
			return Dead, nil
		}
		if errors.Is(err, records.ErrExists) {
			r, err = n.o.Records.Get(ctx, keyOf(id))
		}
	}
	if err != nil {
		return Unknown, err
	}
	n.see(r)
	return n.State(id), nil
}
