package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
)

type sqlHomes struct {
	db *database
	id string // of this owner
	// dead reports whether another owner has ended, and lives whether another one with this name
	// has not.
	dead  func(id string) bool
	lives func(home string) bool
}

var _ bridge.Homes = (*sqlHomes)(nil)

func (s *sqlHomes) Here() string { return homeOf(s.id) }

func (s *sqlHomes) Lives(home string) bool { return s.lives(home) }

func (s *sqlHomes) Open(ctx context.Context, name bridge.SessionName) (epoch int64, err error) {
	err = s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		elsewhere, err := s.elsewhere(ctx, tx, name)
		if err != nil {
			return err
		}
		if elsewhere {
			return bridge.ErrElsewhere
		}
		made, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO homes (caller, site, session, owner) VALUES (?, ?, ?, ?)",
			name.Caller, name.Site, name.ID, s.id)
		if err != nil {
			return err
		}
		epoch, err = made.LastInsertId()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("opening a session in the data folder: %w", err)
	}
	return epoch, nil
}

func (s *sqlHomes) Elsewhere(ctx context.Context, name bridge.SessionName) (bool, error) {
	elsewhere, err := s.elsewhere(ctx, s.db.r, name)
	if err != nil {
		return false, fmt.Errorf("looking for the process of a session: %w", failed(ctx, err))
	}
	return elsewhere, nil
}

func (s *sqlHomes) elsewhere(ctx context.Context, q querier, name bridge.SessionName) (bool, error) {
	var owner string
	err := q.QueryRowContext(ctx, "SELECT owner FROM homes WHERE caller = ? AND site = ? AND session = ?",
		name.Caller, name.Site, name.ID).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && owner != s.id && !s.dead(owner), err
}

func (s *sqlHomes) Close(ctx context.Context, epoch int64) error {
	err := s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM homes WHERE epoch = ?", epoch)
		return err
	})
	if err != nil {
		return fmt.Errorf("closing a session in the data folder: %w", err)
	}
	return nil
}
