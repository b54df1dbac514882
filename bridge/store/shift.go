package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"
)

// shift is what run owns: records that are being written, and when to sign.
type shift struct {
	w     *writer
	held  batch
	end   int64 // number of the newest record that we added
	timer *time.Timer

	unsigned int       // records since the newest checkpoint, as far as we know
	signAt   time.Time // when to sign them; zero when there are none
	unfiled  []string  // checkpoints that are in the database and not in the file
	pruneIn  int       // calls until the log is pruned
}

// wait returns when there is something to do, and whether it is the last time.
func (s *shift) wait() (stopping bool) {
	switch {
	case s.held.records() > 0 || len(s.unfiled) > 0:
		s.timer.Reset(retryEvery)
	case !s.signAt.IsZero():
		s.timer.Reset(time.Until(s.signAt))
	default:
		s.timer.Stop() // nothing is open: an idle store wakes nobody
	}
	select {
	case <-s.w.stop:
		return true
	case <-s.w.urgent:
		return false
	case <-s.timer.C:
		return false
	case <-s.w.wake:
	}
	s.timer.Reset(linger)
	select {
	case <-s.w.stop:
		return true
	case <-s.w.urgent:
	case <-s.timer.C:
	}
	return false
}

// write makes one attempt at what is held, and signs when it is time. The error
// is what Healthy says from now on. Who waits for a record does not wait for its
// signature.
func (s *shift) write(stopping bool) error {
	w := s.w
	if s.held.empty() && w.Healthy() == nil && !s.due(stopping) {
		return nil
	}
	audited, logged := len(s.held.audit), len(s.held.calls)
	err := s.commit()
	if err == nil {
		if s.unsigned == 0 && audited > 0 {
			s.signAt = time.Now().Add(w.o.CheckpointEvery)
		}
		s.unsigned += audited
		s.pruneIn -= logged
	}
	sign := err == nil && s.due(stopping)
	if !sign {
		w.report(err)
	}
	w.settle(&s.held, err)
	if err == nil {
		w.journal.settled()
	}
	if sign {
		err = s.checkpoint()
		w.report(err)
	}
	for _, done := range s.held.flush {
		done <- err
	}
	s.held.flush = s.held.flush[:0]
	return err
}

func (s *shift) due(stopping bool) bool {
	return len(s.unfiled) > 0 || s.unsigned >= s.w.o.CheckpointRecords ||
		s.unsigned > 0 && (stopping || !time.Now().Before(s.signAt))
}

// commit writes what is held in one transaction.
func (s *shift) commit() error {
	if s.held.records() == 0 {
		return nil
	}
	s.end = 0
	err := s.w.db.write(context.Background(), relaxed, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.insertAudit(ctx, tx); err != nil {
			return err
		}
		return s.insertCalls(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("writing the audit: %w", err)
	}
	if s.end > 0 {
		s.w.end.Store(s.end)
	}
	return nil
}

func (s *shift) insertAudit(ctx context.Context, tx *sql.Tx) error {
	if len(s.held.audit) == 0 {
		return nil
	}
	end, err := addRows(ctx, tx, func(yield func(*auditRow) bool) {
		for i := range s.held.audit {
			if !yield(s.held.audit[i].row(s.w.owner, s.w.began)) {
				return
			}
		}
	})
	s.end = end.seq
	return err
}

// addRows adds records at the end of the chain, which it gives back.
func addRows(ctx context.Context, tx *sql.Tx, rows iter.Seq[*auditRow]) (chain, error) {
	end, err := readEnd(ctx, tx)
	if err != nil {
		return chain{}, err
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO audit (seq, record, hash) VALUES (?, ?, ?)")
	if err != nil {
		return chain{}, err
	}
	defer func() { _ = insert.Close() }() // the transaction is what counts
	for r := range rows {
		record := end.seal(r)
		if _, err := insert.ExecContext(ctx, end.seq, string(record), end.hash[:]); err != nil {
			return chain{}, err
		}
	}
	return end, nil
}

func (s *shift) insertCalls(ctx context.Context, tx *sql.Tx) error {
	if len(s.held.calls) == 0 {
		return nil
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO calls (at, site, tool, caller, outcome, record) VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }() // the transaction is what counts
	for i := range s.held.calls {
		c := &s.held.calls[i]
		record, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("encoding a call: %w", err)
		}
		if _, err := insert.ExecContext(ctx, toNano(c.Time), c.Site, c.Tool, c.Caller, c.Outcome, string(record)); err != nil {
			return err
		}
	}
	return nil
}

// readEnd gives the end of the chain, which another process may have moved.
func readEnd(ctx context.Context, q querier) (chain, error) {
	var end chain
	var hash []byte
	err := q.QueryRowContext(ctx, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1").Scan(&end.seq, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return chain{}, err
	}
	copy(end.hash[:], hash) // one of another length is found by Verify
	return end, nil
}

// checkpoint signs the end of the chain. It is on the disk, with every record
// before it, when its line is published: a line must never promise more than
// what the power failing leaves.
func (s *shift) checkpoint() error {
	w := s.w
	var line string
	err := w.db.write(context.Background(), durable, func(ctx context.Context, tx *sql.Tx) error {
		line = ""
		end, err := readEnd(ctx, tx)
		if err != nil {
			return err
		}
		var signed int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM checkpoints").Scan(&signed); err != nil || signed >= end.seq {
			return err
		}
		if line, err = w.signer.sign(end, w.o.Now()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO checkpoints (seq, line) VALUES (?, ?)", end.seq, line)
		return err
	})
	if err != nil {
		s.signAt = time.Now().Add(retryEvery)
		return fmt.Errorf("signing the audit: %w", err)
	}
	s.unsigned, s.signAt = 0, time.Time{}
	if line != "" {
		s.unfiled = append(s.unfiled, line)
	}
	if len(s.unfiled) == 0 {
		return nil
	}
	if err := w.signer.append(s.unfiled); err != nil {
		return err
	}
	s.unfiled = nil
	return nil
}

// catchUp publishes the checkpoints that a killed process did not, and counts
// the records that it did not sign.
func (w *writer) catchUp(ctx context.Context) (unsigned int, err error) {
	lines, _, err := w.signer.read()
	if err != nil {
		return 0, err
	}
	var filed int64
	for _, c := range lines {
		filed = max(filed, c.Seq)
	}
	var missing []string
	err = each(ctx, w.db.r, func(rows *sql.Rows) error {
		var line string
		err := rows.Scan(&line)
		missing = append(missing, line)
		return err
	}, "SELECT line FROM checkpoints WHERE seq > ? ORDER BY seq", filed)
	if err == nil && len(missing) > 0 {
		err = w.signer.append(missing)
	}
	if err != nil {
		return 0, fmt.Errorf("publishing checkpoints: %w", err)
	}
	var end, signed int64
	err = w.db.r.QueryRowContext(ctx, `SELECT coalesce((SELECT max(seq) FROM audit), 0), coalesce((SELECT max(seq) FROM checkpoints), 0)`).Scan(&end, &signed)
	if err != nil {
		return 0, fmt.Errorf("counting unsigned records: %w", classify(err))
	}
	w.end.Store(end)
	return int(max(0, end-signed)), nil
}

// pruneEvery is after how many calls the log is pruned, and how many rows one
// transaction takes away: it must not keep calls waiting.
const pruneEvery = 1000

// prune takes away calls that are too many or too old.
func (s *shift) prune() {
	if s.pruneIn > 0 || s.w.Healthy() != nil {
		return
	}
	s.pruneIn = pruneEvery
	deleted, err := s.w.pruneCalls()
	if err != nil {
		s.w.o.Log.Warn("pruning the log of calls", slog.Any("error", err))
	}
	if deleted == pruneEvery {
		s.pruneIn = 0 // there is more; the next round goes on
		notify(s.w.urgent)
	}
}

func (w *writer) pruneCalls() (deleted int64, err error) {
	err = w.db.write(context.Background(), relaxed, func(ctx context.Context, tx *sql.Tx) error {
		// Numbers grow with time, so the first young call ends the old ones.
		res, err := tx.ExecContext(ctx, `DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE
			id <= (SELECT max(id) FROM calls) - ?1 OR
			id < coalesce((SELECT id FROM calls WHERE at >= ?2 ORDER BY id LIMIT 1), 9223372036854775807)
			ORDER BY id LIMIT ?3)`, w.o.MaxCalls, toNano(w.o.Now().Add(-w.o.CallAge)), pruneEvery)
		if err != nil {
			return err
		}
		deleted, err = res.RowsAffected()
		return err
	})
	return deleted, err
}
