package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// maxMarks limits the chains of which Marks keeps the newest mark.
const maxMarks = 200

// marker reads the newest marks of a folder, also when the store is closed.
type marker struct {
	archive
	j *journal

	mu     sync.Mutex
	closed bool
	last   []mark // when it is
	err    error  // of reading them
}

// now signs where the chain of this process stands, and returns the newest mark of each chain.
func (m *marker) now(ctx context.Context) ([]mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return m.last, m.err
	}
	if err := m.j.checkpoint(ctx); err != nil {
		return nil, err
	}
	return m.list()
}

// close keeps the marks of a journal that is closed, for who asks later.
func (m *marker) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.last, m.err = m.list()
}

// Marks returns the newest signed mark of each chain in the folder, for a place that whoever can write in the
// folder does not reach. before has what that place holds, or nil: a mark that is newer than the folder's stays. The
// result is nil without a data folder. It can be called after Close.
func (s *Store) Marks(ctx context.Context, before []byte) ([]byte, error) {
	if s.marker == nil {
		return nil, nil
	}
	kept, err := readMarks(before)
	if err != nil {
		return nil, err
	}
	listed, err := s.marker.now(ctx)
	if err != nil {
		return nil, fmt.Errorf("signing the audit: %w", err)
	}
	newest := map[string]mark{}
	for _, m := range kept {
		newest[m.Chain] = m
	}
	for _, m := range listed {
		if m.Seq <= newest[m.Chain].Seq {
			continue
		}
		m.Key = s.marker.signer.publicText()
		if m.Signature, err = s.marker.signer.sign(markDomain, m); err != nil {
			return nil, err
		}
		newest[m.Chain] = m
	}
	all := make([]mark, 0, len(newest))
	for _, m := range newest {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b mark) int { return cmp.Or(strings.Compare(a.Time, b.Time), strings.Compare(a.Chain, b.Chain)) })
	text, err := json.Marshal(all[max(0, len(all)-maxMarks):])
	if err != nil {
		return nil, fmt.Errorf("encoding checkpoints: %w", err)
	}
	return text, nil
}

func readMarks(text []byte) (all []mark, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading checkpoints that are kept elsewhere: %w", err)
	}
	return all, nil
}

// VerifyAgainst is Verify, with what Marks returned some time ago: a chain that ends before its mark, or
// has another record there, is bad, whatever the folder's own list says.
func (s *Store) VerifyAgainst(ctx context.Context, marks []byte) (Report, error) {
	kept, err := readMarks(marks)
	if err != nil {
		return Report{}, err
	}
	r, err := s.verify(ctx, kept, nil)
	if err != nil {
		return Report{}, fmt.Errorf("verifying the audit: %w", err)
	}
	return r, nil
}

// join adds marks that are kept elsewhere to those of the list, and names those of another folder.
func (r *Report) join(signer *signer, listed, kept []mark) []mark {
	for _, m := range kept {
		switch {
		case !signer.own(m):
			r.Bad = append(r.Bad, BadRecord{Chain: m.Chain, Seq: m.Seq, Problem: Signature,
				Detail: fmt.Sprintf("its checkpoint of %s, which is kept elsewhere, is not signed with the key of this folder", m.Time)})
		case !slices.Contains(listed, m):
			listed = append(listed, m)
		}
	}
	return listed
}

// filesOf returns the newest mark of each file, by time: those of the list, where none is kept elsewhere, are so.
func filesOf(marks, kept []mark) (all []mark) {
	if len(kept) == 0 {
		return marks
	}
	for _, m := range marks {
		i := slices.IndexFunc(all, func(o mark) bool { return o.Chain == m.Chain && o.File == m.File })
		switch {
		case i < 0:
			all = append(all, m)
		case m.Seq > all[i].Seq:
			all[i] = m
		}
	}
	slices.SortStableFunc(all, func(a, b mark) int { return strings.Compare(a.Time, b.Time) })
	return all
}
