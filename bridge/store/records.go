package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

// Entry is a record of the audit, with the chain that it is in and its number there. Ticket
// joins an outcome to its intent in the same chain.
type Entry struct {
	Chain  string `json:"chain"`
	Seq    int64  `json:"record"`
	Kind   string `json:"kind"`
	Ticket int64  `json:"ticket"`
	Time   string `json:"time"` // RFC 3339, UTC
	bridge.AuditRecord
}

// Records lists records of the audit of all processes, newest first. Of a chain that somebody
// changed it has those before the change, which Verify names. Before does not count.
func (s *Store) Records(ctx context.Context, f bridge.CallFilter) ([]Entry, error) {
	all, err := s.records(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("reading the audit: %w", err)
	}
	return all, nil
}

func records(ctx context.Context, a archive, f bridge.CallFilter) (all []Entry, err error) {
	parts, _, err := a.contents()
	if err != nil {
		return nil, err
	}
	most := pageSize(f)
	newest := func() {
		slices.SortFunc(all, func(a, b Entry) int {
			return cmp.Or(strings.Compare(b.Time, a.Time), strings.Compare(a.Chain, b.Chain),
				cmp.Compare(b.Seq, a.Seq))
		})
		all = all[:min(len(all), most)]
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		s := &scan{signer: a.signer, id: id, each: func(r *record) {
			if !selects(f, r.AuditRecord) {
				return
			}
			all = append(all, Entry{id, r.Seq, r.Kind, r.Ticket, r.Time, r.AuditRecord})
			if len(all) >= 4*most { // what is kept is bounded, whatever there is
				newest()
			}
		}}
		if err := s.run(ctx, a, parts[id]); err != nil {
			return nil, err
		}
	}
	newest()
	return all, nil
}

// RecordsOf returns the records of a call in the order of their time, 1,000 at most. Of a chain that
// somebody changed it has those before the change.
func (s *Store) RecordsOf(ctx context.Context, call string) ([]Entry, error) {
	all, err := s.of(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("reading the audit: %w", err)
	}
	return all, nil
}

func recordsOf(ctx context.Context, a archive, call string) (all []Entry, err error) {
	parts, _, err := a.contents()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		s := &scan{signer: a.signer, id: id, each: func(r *record) {
			if r.Call == call && len(all) < maxListed {
				all = append(all, Entry{id, r.Seq, r.Kind, r.Ticket, r.Time, r.AuditRecord})
			}
		}}
		if err := s.run(ctx, a, parts[id]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.Time, b.Time) })
	return all, nil
}

func selects(f bridge.CallFilter, r bridge.AuditRecord) bool {
	for _, c := range []struct{ want, is string }{{f.Site, r.Site}, {f.Tool, r.Tool},
		{f.Caller, r.Caller}, {f.Outcome, r.Outcome}} {
		if c.want != "" && c.want != c.is {
			return false
		}
	}
	return true
}
