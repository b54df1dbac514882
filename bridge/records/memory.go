package records

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxBehind limits the changes for which a reader of Memory.Watch has not come yet. Beyond it the
// watch is closed.
const maxBehind = 4096

// Memory keeps records in this process, for ever: the reference of what an engine does, and one for
// tests. Make one with NewMemory.
type Memory struct {
	mu       sync.Mutex
	records  map[string]Record
	revision uint64
	watches  map[*watch]struct{}
}

var _ Records = (*Memory)(nil)

// NewMemory returns an engine without records.
func NewMemory() *Memory {
	return &Memory{records: map[string]Record{}, watches: map[*watch]struct{}{}}
}

// Get implements Records.
func (m *Memory) Get(ctx context.Context, key string) (Record, error) {
	if err := cmp.Or(CheckKey(key), ctx.Err()); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, there := m.records[key]
	if !there {
		return Record{}, ErrNone
	}
	r.Value = bytes.Clone(r.Value)
	return r, nil
}

// Create implements Records.
func (m *Memory) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := cmp.Or(Check(key, value), ctx.Err()); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.records[key]; there {
		return 0, ErrExists
	}
	return m.put(key, value), nil
}

// Update implements Records.
func (m *Memory) Update(ctx context.Context, key string, value []byte, was uint64) (uint64, error) {
	if err := cmp.Or(Check(key, value), ctx.Err()); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, there := m.records[key]; !there || r.Revision != was {
		return 0, ErrChanged
	}
	return m.put(key, value), nil
}

// put keeps a value under the next revision. Called with mu held.
func (m *Memory) put(key string, value []byte) uint64 {
	m.revision++
	r := Record{Key: key, Value: append([]byte{}, value...), Revision: m.revision}
	m.records[key] = r
	m.publish(r)
	return r.Revision
}

// Delete implements Records.
func (m *Memory) Delete(ctx context.Context, key string, was uint64) error {
	if err := cmp.Or(CheckKey(key), ctx.Err()); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, there := m.records[key]; !there || r.Revision != was {
		return ErrChanged
	}
	delete(m.records, key)
	m.revision++
	m.publish(Record{Key: key, Revision: m.revision, Deleted: true})
	return nil
}

// Expire removes a record as an engine does whose time for it is over: nobody is told.
func (m *Memory) Expire(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, key)
}

// Watch implements Records.
func (m *Memory) Watch(ctx context.Context, prefix string) (<-chan Record, error) {
	if err := cmp.Or(CheckPrefix(prefix), ctx.Err()); err != nil {
		return nil, err
	}
	w := &watch{prefix: prefix, more: make(chan struct{}, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.SortedFunc(maps.Values(m.records), func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) }) {
		if strings.HasPrefix(r.Key, prefix) {
			w.queue = append(w.queue, r)
		}
	}
	w.queue = append(w.queue, Record{})
	w.room = len(w.queue) + maxBehind
	m.watches[w] = struct{}{}
	out := make(chan Record)
	go m.send(ctx, w, out)
	return out, nil
}

// watch holds what a reader has not been told yet. Memory.mu guards its fields.
type watch struct {
	prefix string
	queue  []Record
	room   int
	behind bool
	more   chan struct{} // 1: something is new in the queue
}

// publish tells the watches of a change. Called with mu held.
func (m *Memory) publish(r Record) {
	for w := range m.watches {
		if w.behind || !strings.HasPrefix(r.Key, w.prefix) {
			continue
		}
		if w.behind = len(w.queue) >= w.room; !w.behind {
			w.queue = append(w.queue, r)
		}
		select {
		case w.more <- struct{}{}:
		default:
		}
	}
}

// send passes the queue of a watch on until its context ends, or the reader is too far behind.
func (m *Memory) send(ctx context.Context, w *watch, out chan<- Record) {
	defer close(out)
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watches, w)
	}()
	for {
		m.mu.Lock()
		queue, behind := w.queue, w.behind
		w.queue = nil
		m.mu.Unlock()
		if behind {
			return
		}
		for _, r := range queue {
			r.Value = bytes.Clone(r.Value)
			select {
			case out <- r:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-w.more:
		case <-ctx.Done():
			return
		}
	}
}
