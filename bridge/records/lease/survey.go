package lease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// Sighting describes a node from outside.
type Sighting struct {
	Member

	// State is Alive or Dead.
	State State
	// Age is the time since its last renewal, by the clocks of two machines, unless it was seen.
	Age time.Duration
	// Lease is the node's; 0 where it does not say.
	Lease time.Duration
	// Ahead says by how much the node's clock is ahead of ours, where that is more than a quarter of a
	// lease.
	Ahead time.Duration
	// Newer means that its record is of a newer version, and cannot be read.
	Newer bool

	record records.Record
}

// maxSightings bounds the lives that Survey looks at.
const maxSightings = 10_000

// Survey looks at all nodes. Lives that have ended and whose node has another one since then, are
// left out. A record that seems old proves nothing where clocks differ: it waits for the next
// renewal, a lease at most, and takes a node for dead that does not renew. Where the engine takes no
// writes, nobody can: then it does not wait, and only those are dead that were declared so.
func Survey(ctx context.Context, r records.Records, writes bool, now func() time.Time) ([]Sighting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := r.Watch(ctx, prefix)
	if err != nil {
		return nil, err
	}
	s := survey{now: now, all: map[string]*Sighting{}, doubts: map[string]bool{}}
	for first := true; first; {
		select {
		case r, open := <-changes:
			if !open {
				return nil, cmp.Or(context.Cause(ctx), errors.New("cluster: the engine did not list the nodes to the end"))
			}
			if first = !r.IsMark(); first && len(s.all) < maxSightings {
				s.see(r, true)
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if writes {
		s.wait(ctx, changes)
	}
	return s.result(), nil
}

// survey holds the lives that Survey has seen so far.
type survey struct {
	now     func() time.Time
	all     map[string]*Sighting
	doubts  map[string]bool // whose lease may be over
	patient time.Duration   // the longest lease of those
}

// see takes note of a record, which is one of the first, or a renewal.
func (s *survey) see(r records.Record, first bool) {
	id := idOf(r.Key)
	if r.Deleted {
		delete(s.all, id)
		delete(s.doubts, id)
		return
	}
	var is form
	err := records.Decode(r.Value, &is)
	is.Node = cmp.Or(is.Node, "?")
	at := &Sighting{Member: Member{is.Facts, id}, State: Alive, Lease: time.Duration(is.Lease) * time.Millisecond, Newer: err != nil, record: r}
	s.all[id] = at
	delete(s.doubts, id)
	if is.Dead != "" {
		at.State = Dead
	}
	if is.At == 0 {
		return
	}
	lease := cmp.Or(at.Lease, DefaultLease)
	off := s.now().Sub(time.UnixMilli(is.At))
	switch at.Age = max(off, 0); {
	case at.State == Dead:
	case first && (off > lease/2 || off < -lease/4):
		s.doubts[id], s.patient = true, max(s.patient, lease)
	case !first && (off > lease/4 || off < -lease/4):
		at.Age, at.Ahead = 0, -off
	}
}

// wait waits until the nodes in doubt have renewed their leases, or a lease has passed.
func (s *survey) wait(ctx context.Context, changes <-chan records.Record) {
	over := time.NewTimer(min(s.patient, MaxLease))
	defer over.Stop()
	for len(s.doubts) > 0 {
		select {
		case r, open := <-changes:
			if !open {
				return
			}
			s.see(r, false)
		case <-over.C:
			for id := range s.doubts {
				s.all[id].State = Dead
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// result returns the nodes by their names, and the lives of one by age.
func (s *survey) result() []Sighting {
	later := map[string]uint64{} // the newest record of a node's name
	for _, at := range s.all {
		later[at.Node] = max(later[at.Node], at.record.Revision)
	}
	alive := map[string]bool{}
	for _, at := range s.all {
		alive[at.Node] = alive[at.Node] || at.State == Alive
	}
	var all []Sighting
	for _, at := range s.all {
		if at.State == Alive || !alive[at.Node] && at.record.Revision == later[at.Node] && at.Node != "?" {
			all = append(all, *at)
		}
	}
	slices.SortFunc(all, func(a, b Sighting) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID)) })
	return all
}
