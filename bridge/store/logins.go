package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

type sqlLogins struct{ db *database }

var _ bridge.Logins = (*sqlLogins)(nil)

// lives selects logins that are not over: ?1 is now, ?2 the time after which they were used.
const lives = "until > ?1 AND used_at > ?2"

func (s *sqlLogins) bounds() (now time.Time, args []any) {
	now = s.db.now()
	return now, []any{toNano(now), toNano(now.Add(-bridge.LoginIdle))}
}

func (s *sqlLogins) Begin(ctx context.Context, l bridge.Login, token bridge.Digest) error {
	rights := make([]string, len(l.May))
	for i, r := range l.May {
		rights[i] = string(r)
	}
	err := s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO logins (id, name, rights, digest, since, used_at, until) VALUES (?, ?, ?, ?, ?, ?, ?)",
			l.ID, l.Name, strings.Join(rights, " "), token[:], toNano(l.Since), toNano(l.Since), toNano(l.Until)); err != nil {
			return err
		}
		_, args := s.bounds()
		_, err := tx.ExecContext(ctx, "DELETE FROM logins WHERE NOT ("+lives+`) OR number IN (SELECT number FROM logins
			ORDER BY used_at DESC, number DESC LIMIT -1 OFFSET ?3)`, append(args, bridge.MaxLogins)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping a login: %w", err)
	}
	return nil
}

const loginColumns = "id, name, rights, since, used_at, until"

func scanLogin(row interface{ Scan(...any) error }) (l bridge.Login, err error) {
	var rights string
	var since, used, until int64
	err = row.Scan(&l.ID, &l.Name, &rights, &since, &used, &until)
	for r := range strings.FieldsSeq(rights) {
		l.May = append(l.May, bridge.Right(r))
	}
	l.Since, l.Used, l.Until = fromNano(since), fromNano(used), fromNano(until)
	return l, err
}

func (s *sqlLogins) Find(ctx context.Context, token bridge.Digest) (bridge.Login, error) {
	return s.one(ctx, "digest = ?3", token[:])
}

func (s *sqlLogins) Use(ctx context.Context, id string) (bool, error) {
	l, err := s.one(ctx, "id = ?3", id)
	return l.ID != "", err
}

// one returns a login that is not over, and notes that it was used.
func (s *sqlLogins) one(ctx context.Context, where string, arg any) (bridge.Login, error) {
	now, args := s.bounds()
	l, err := scanLogin(s.db.r.QueryRowContext(ctx, "SELECT "+loginColumns+" FROM logins WHERE "+lives+" AND "+where, append(args, arg)...))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return bridge.Login{}, nil
	case err != nil:
		return bridge.Login{}, fmt.Errorf("looking for a login: %w", failed(ctx, err))
	case now.Sub(l.Used) < bridge.TouchAfter:
		return l, nil
	}
	err = s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE logins SET used_at = ? WHERE id = ?", toNano(now), l.ID)
		return err
	})
	if err != nil {
		return bridge.Login{}, fmt.Errorf("noting that a login was used: %w", err)
	}
	return l, nil
}

func (s *sqlLogins) All(ctx context.Context) (all []bridge.Login, err error) {
	_, args := s.bounds()
	err = each(ctx, s.db.r, func(rows *sql.Rows) error {
		l, err := scanLogin(rows)
		all = append(all, l)
		return err
	}, "SELECT "+loginColumns+" FROM logins WHERE "+lives+" ORDER BY number", args...)
	if err != nil {
		return nil, fmt.Errorf("listing the logins: %w", err)
	}
	return all, nil
}

func (s *sqlLogins) End(ctx context.Context, id string) (bool, error) {
	gone, err := s.db.remove(ctx, id, "DELETE FROM logins WHERE id = ?")
	if err != nil {
		return false, fmt.Errorf("removing a login: %w", err)
	}
	return gone, nil
}
