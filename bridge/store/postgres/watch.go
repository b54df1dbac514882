package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// pulse sets how often the connection that listens is tried: one that is silent loses changes.
	pulse = 500 * time.Millisecond
	// behind limits the changes that a watch has not passed on.
	behind = 4096
)

// listener is the connection that hears of changes.
type listener struct {
	conn *pq.ListenerConn
	once sync.Once

	mu      sync.Mutex
	watches map[*watching]struct{} // nil: the connection was lost
}

// watching is one watch.
type watching struct {
	prefix string
	heard  chan string // what the channel says: key, revision, and " -" of a deletion
	end    context.CancelFunc
}

// end closes the connection: hear does the rest.
func (l *listener) end() { l.once.Do(func() { _ = l.conn.Close() }) }

// add adds a watch, where the connection is there.
func (l *listener) add(w *watching) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches == nil {
		return false
	}
	l.watches[w] = struct{}{}
	return true
}

func (l *listener) remove(w *watching) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watches, w)
}

// hear passes on what the server says, until the connection is lost. A watch that is too slow, or without
// its connection, ends: changes may be missing.
func (l *listener) hear(said <-chan *pq.Notification) {
	for n := range said {
		l.mu.Lock()
		for w := range l.watches {
			if !strings.HasPrefix(n.Extra, w.prefix) {
				continue
			}
			select {
			case w.heard <- n.Extra:
			default:
				w.end()
			}
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watches {
		w.end()
	}
	l.watches = nil
}

// live tries the connection until it is lost, and ends one that does not answer.
func (l *listener) live(lost <-chan struct{}, timeout time.Duration) {
	ticker := time.NewTicker(pulse)
	defer ticker.Stop()
	for {
		select {
		case <-lost:
			return
		case <-ticker.C:
		}
		late := time.AfterFunc(timeout, l.end)
		_, err := l.conn.ExecSimpleQuery("")
		late.Stop()
		if err != nil {
			l.end()
		}
	}
}

// listen makes a connection that listens.
func (s *Store) listen(ctx context.Context) (*listener, error) {
	type made struct {
		l   *listener
		err error
	}
	done := make(chan made, 1)
	go func() {
		said := make(chan *pq.Notification, 64)
		conn, err := pq.NewListenerConn(s.to.text, said)
		if err != nil {
			done <- made{nil, err}
			return
		}
		l := &listener{conn: conn, watches: map[*watching]struct{}{}}
		lost := make(chan struct{})
		go func() {
			l.hear(said)
			close(lost)
		}()
		late := time.AfterFunc(s.timeout, l.end)
		_, err = conn.ExecSimpleQuery("LISTEN pagetools_records")
		late.Stop()
		if err != nil {
			l.end()
			done <- made{nil, err}
			return
		}
		go l.live(lost, s.timeout)
		done <- made{l, nil}
	}()
	select {
	case m := <-done:
		return m.l, m.err
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.l.end()
			}
		}()
		return nil, ctx.Err()
	}
}

// join adds a watch to the connection that listens, which it makes where there is none.
func (s *Store) join(ctx context.Context, w *watching) (*listener, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, clean(ctx, "listening", ctx.Err())
	}
	defer func() { <-s.turn }()
	s.mu.Lock()
	l := s.hears
	s.mu.Unlock()
	if l != nil && l.add(w) {
		return l, nil
	}
	if s.isDown() {
		return nil, clean(ctx, "listening", errDown)
	}
	began := time.Now()
	l, err := s.listen(ctx)
	s.note(ctx, began, err)
	if err != nil {
		return nil, clean(ctx, "listening", err)
	}
	s.mu.Lock()
	s.hears = l
	s.mu.Unlock()
	if s.closing.Err() != nil || !l.add(w) {
		l.end()
		return nil, clean(ctx, "listening", driver.ErrBadConn)
	}
	return l, nil
}

// Watch implements records.Records.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan records.Record, error) {
	if err := records.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, clean(ctx, "watching", err)
	}
	ctx, end := context.WithCancel(ctx)
	w := &watching{prefix: prefix, heard: make(chan string, behind), end: end}
	began, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	l, err := s.join(began, w)
	if err != nil {
		end()
		return nil, err
	}
	since, all, err := s.all(ctx, prefix)
	if err != nil {
		l.remove(w)
		end()
		return nil, err
	}
	out := make(chan records.Record)
	go func() {
		defer close(out)
		defer end()
		defer l.remove(w)
		for _, r := range append(all, records.Record{}) {
			if !send(ctx, out, r) {
				return
			}
		}
		s.pump(ctx, w, since, out)
	}()
	return out, nil
}

// all returns what is there, and the revision of that moment: what is told with a higher one came after.
func (s *Store) all(ctx context.Context, prefix string) (since uint64, all []records.Record, err error) {
	rows, err := s.ask(ctx, "reading all", `SELECT c.n, r.key, r.value, r.revision FROM pagetools_revision c
		LEFT JOIN pagetools_records r ON r.key >= $1::text AND r.key < $2::text ORDER BY r.revision`, prefix, prefix[:len(prefix)-1]+"/")
	if err != nil {
		return 0, nil, err
	}
	if len(rows) == 0 {
		return 0, nil, errForm
	}
	n, _ := rows[0][0].(int64)
	for _, row := range rows {
		if row[1] == nil {
			break // there is none
		}
		r, err := record(row[1], row[2], row[3])
		if err != nil {
			return 0, nil, err
		}
		all = append(all, r)
	}
	return uint64(n), all, nil
}

// pump passes changes on until ctx ends, or one cannot be read.
func (s *Store) pump(ctx context.Context, w *watching, since uint64, out chan<- records.Record) {
	for {
		var said string
		select {
		case said = <-w.heard:
		case <-ctx.Done():
			return
		}
		var key, gone string
		var revision uint64
		if n, _ := fmt.Sscan(said, &key, &revision, &gone); n < 2 {
			return
		}
		if revision <= since {
			continue
		}
		r, err := s.Get(ctx, key)
		switch {
		case errors.Is(err, records.ErrNone) && gone != "":
			r = records.Record{Key: key, Revision: revision, Deleted: true}
		case errors.Is(err, records.ErrNone), err == nil && r.Revision != revision:
			continue // it has changed again, which is told next
		case err != nil:
			return
		}
		if !send(ctx, out, r) {
			return
		}
	}
}

func send(ctx context.Context, out chan<- records.Record, r records.Record) bool {
	select {
	case out <- r:
		return true
	case <-ctx.Done():
		return false
	}
}
