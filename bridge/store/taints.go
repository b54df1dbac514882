package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

type sqlTaints struct{ db *database }

var _ bridge.Taints = (*sqlTaints)(nil)

// maxTaints bounds the origins that are kept apart for one caller of all processes.
const maxTaints = 256

func (s *sqlTaints) Taint(ctx context.Context, caller, origin string, until time.Time) error {
	err := s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM taints WHERE until <= ?", toNano(s.db.now())); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO taints (caller, origin, until)
			VALUES (?1, CASE WHEN (SELECT count(*) FROM taints WHERE caller = ?1 AND origin <> ?2) < ?4 THEN ?2 ELSE '' END, ?3)
			ON CONFLICT (caller, origin) DO UPDATE SET until = max(until, excluded.until)`, caller, origin, toNano(until), maxTaints)
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping what a caller read: %w", err)
	}
	return nil
}

func (s *sqlTaints) Tainted(ctx context.Context, caller, but string, now time.Time) (bool, error) {
	var tainted bool
	row := s.db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM taints WHERE caller = ? AND origin <> ? AND until > ?)", caller, but, toNano(now))
	if err := row.Scan(&tainted); err != nil {
		return false, fmt.Errorf("looking for what a caller read: %w", failed(ctx, err))
	}
	return tainted, nil
}
