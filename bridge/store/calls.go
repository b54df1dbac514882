package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// sqlCalls is the log of calls. Callers put records into its queue; one
// goroutine, keep, writes them in groups.
type sqlCalls struct {
	db      *database
	o       Options
	writing failure

	queue   chan *bridge.CallRecord
	wake    chan struct{} // the queue is not empty any more
	flushes chan chan error
	stop    chan struct{}
	stopped chan error
}

var _ bridge.Calls = (*sqlCalls)(nil)

// openCalls starts keep, which ends with close.
func openCalls(db *database, o Options) *sqlCalls {
	s := &sqlCalls{
		db: db, o: o, writing: failure{what: "the log of calls", log: o.Log},
		queue: make(chan *bridge.CallRecord, o.maxPending), wake: make(chan struct{}, 1),
		flushes: make(chan chan error), stop: make(chan struct{}), stopped: make(chan error, 1),
	}
	go s.keep()
	return s
}

// Log implements bridge.Calls. While nothing can be written, a record that finds
// no room is refused.
func (s *sqlCalls) Log(ctx context.Context, r bridge.CallRecord) error {
	r = cleanCall(r)
	select {
	case <-s.stop:
		return ErrClosed
	default:
	}
	select {
	case s.queue <- &r:
	default:
		if err := s.writing.get(); err != nil {
			return err
		}
		select {
		case s.queue <- &r:
		case <-s.stop:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	notify(s.wake)
	return nil
}

// keep is the goroutine that writes. It ends when stop is closed.
func (s *sqlCalls) keep() {
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	var held []*bridge.CallRecord
	for {
		done, stopping := await(s.stop, s.flushes, s.wake, timer)
		timer.Stop()
		for len(held) < cap(s.queue) && len(s.queue) > 0 {
			held = append(held, <-s.queue)
		}
		err := s.write(held)
		s.writing.set(err)
		if done != nil {
			done <- err
		}
		switch {
		case stopping:
			s.stopped <- err
			return
		case err != nil:
			timer.Reset(retryEvery)
			continue
		case len(s.queue) > 0:
			notify(s.wake)
		}
		held = held[:0]
	}
}

// write writes the records in one transaction.
func (s *sqlCalls) write(records []*bridge.CallRecord) error {
	if len(records) == 0 {
		return nil
	}
	err := s.db.write(context.Background(), relaxed, func(ctx context.Context, tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx,
			"INSERT INTO calls (at, site, tool, caller, outcome, record) VALUES (?, ?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer func() { _ = insert.Close() }() // the transaction reports errors
		for _, c := range records {
			record, err := json.Marshal(c)
			if err != nil {
				return fmt.Errorf("encoding a call: %w", err)
			}
			if _, err := insert.ExecContext(ctx, toNano(c.Time), c.Site, c.Tool, c.Caller,
				c.Outcome, string(record)); err != nil {
				return err
			}
		}
		return s.prune(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("writing the log of calls: %w", err)
	}
	return nil
}

// pruneAtOnce limits how many rows one transaction removes at most: it must not keep
// calls waiting.
const pruneAtOnce = 1000

// prune removes calls that are too many or too old.
func (s *sqlCalls) prune(ctx context.Context, tx *sql.Tx) error {
	// Numbers grow with time, so the first young call ends the old ones. One bound, not
	// two with OR: it is found in the key, where each group would read the whole log.
	_, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE id < max(
		(SELECT max(id) FROM calls) - ?1 + 1,
		coalesce((SELECT id FROM calls WHERE at >= ?2 ORDER BY id LIMIT 1), 9223372036854775807))
		ORDER BY id LIMIT ?3)`, s.o.MaxCalls, toNano(s.o.Now().Add(-s.o.CallAge)), pruneAtOnce)
	return err
}

// flush returns when everything that was logged before is written, or with the
// error of the attempt.
func (s *sqlCalls) flush(ctx context.Context) error { return flush(ctx, s.flushes, s.stop) }

// close writes what is queued and ends keep. It is called once.
func (s *sqlCalls) close() error {
	close(s.stop)
	return <-s.stopped
}

// Calls implements bridge.Calls. It reads no index: the log is bounded, and an
// index for each filter would cost every call.
func (s *sqlCalls) Calls(ctx context.Context, f bridge.CallFilter) ([]bridge.CallRecord, error) {
	where := []string{"id > (SELECT coalesce(max(id), 0) FROM calls) - ?", "at >= ?"}
	args := []any{s.o.MaxCalls, toNano(s.o.Now().Add(-s.o.CallAge))}
	for _, c := range []struct{ column, value string }{{"site", f.Site}, {"tool", f.Tool},
		{"caller", f.Caller}, {"outcome", f.Outcome}} {
		if c.value != "" {
			where, args = append(where, c.column+" = ?"), append(args, c.value)
		}
	}
	if f.Before > 0 {
		where, args = append(where, "id < ?"), append(args, f.Before)
	}
	var calls []bridge.CallRecord
	err := each(ctx, s.db.r, func(rows *sql.Rows) error {
		var id int64
		var record string
		if err := rows.Scan(&id, &record); err != nil {
			return err
		}
		var r bridge.CallRecord
		if err := json.Unmarshal([]byte(record), &r); err != nil {
			return fmt.Errorf("%w: call %d: %w", ErrCorrupt, id, err)
		}
		r.ID = id
		calls = append(calls, r)
		return nil
	}, "SELECT id, record FROM calls WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, pageSize(f))...)
	if err != nil {
		return nil, fmt.Errorf("listing calls: %w", err)
	}
	return calls, nil
}

func pageSize(f bridge.CallFilter) int {
	if f.Limit <= 0 {
		return defaultPage
	}
	return min(f.Limit, maxListed)
}

// cleanCall bounds the text of a record.
func cleanCall(r bridge.CallRecord) bridge.CallRecord {
	r.ID, r.Time = 0, r.Time.UTC().Round(0)
	for _, s := range []*string{&r.Call, &r.Trace, &r.Site, &r.Tool, &r.Caller, &r.Session,
		&r.Version, &r.Decision, &r.Outcome, &r.Code, &r.Reason} {
		*s = clip(*s)
	}
	return r
}
