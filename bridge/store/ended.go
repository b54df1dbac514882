package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// The bounds of ids that ended.
const (
	maxEnded         = 10_000
	maxEndedOfCaller = 1000
	// maxChanges bounds the file that says that there are new ones, in bytes.
	maxChanges = 1 << 16
)

type sqlEnded struct {
	db *database
	// changes has one byte for each id that ended, for all processes of the folder; nil in memory.
	// Its size is looked at for each request: that is a hundredth of what a query costs.
	changes *os.File
}

var _ bridge.Ended = (*sqlEnded)(nil)

func (s *sqlEnded) End(ctx context.Context, caller, id string, until time.Time) error {
	err := s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO ended (id, caller, until) VALUES (?, ?, ?)",
			id, caller, toNano(until)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM ended WHERE until <= ?1
			OR number IN (SELECT number FROM ended WHERE caller = ?2 ORDER BY number DESC LIMIT -1 OFFSET ?3)
			OR number IN (SELECT number FROM ended ORDER BY number DESC LIMIT -1 OFFSET ?4)`,
			toNano(s.db.now()), caller, maxEndedOfCaller, maxEnded)
		return err
	})
	if err == nil {
		err = s.tell()
	}
	if err != nil {
		return fmt.Errorf("keeping that a session ended: %w", err)
	}
	return nil
}

// tell makes the other processes look. They compare sizes, so that an empty file is news, too.
func (s *sqlEnded) tell() error {
	if s.changes == nil {
		return nil
	}
	if s.Changes() >= maxChanges {
		return classify(s.changes.Truncate(0))
	}
	_, err := s.changes.Write([]byte{'\n'})
	return classify(err)
}

func (s *sqlEnded) HasEnded(ctx context.Context, id string) (bool, error) {
	var ended bool
	row := s.db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM ended WHERE id = ? AND until > ?)",
		id, toNano(s.db.now()))
	if err := row.Scan(&ended); err != nil {
		return false, fmt.Errorf("looking whether a session ended: %w", failed(ctx, err))
	}
	return ended, nil
}

func (s *sqlEnded) Changes() int64 {
	if s.changes == nil {
		return 0
	}
	info, err := s.changes.Stat()
	if err != nil {
		return -1 // of a file that is closed
	}
	return info.Size()
}
