package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/webtool"
)

type sqlVersions struct {
	db *database
	o  Options
}

var _ webtool.Store = (*sqlVersions)(nil)

func (v *sqlVersions) Load(ctx context.Context, name string) ([]webtool.Record, error) {
	var history []webtool.Record
	err := each(ctx, v.db.r, func(rows *sql.Rows) error {
		var r webtool.Record
		var last int64
		if err := rows.Scan(&r.Version, &r.Digest, &last); err != nil {
			return err
		}
		r.LastSeen = fromNano(last)
		history = append(history, r)
		return nil
	}, "SELECT version, digest, last_seen FROM versions WHERE webtool = ? ORDER BY id", name)
	if err != nil {
		return nil, fmt.Errorf("reading the history of %s: %w", name, err)
	}
	return history, nil
}

func (v *sqlVersions) Document(ctx context.Context, name, version string) (json.RawMessage, error) {
	var document []byte
	err := v.db.r.QueryRowContext(ctx, "SELECT document FROM versions WHERE webtool = ? AND version = ?",
		name, version).Scan(&document)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading version %s of %s: %w", version, name, failed(ctx, err))
	}
	return document, nil
}

func (v *sqlVersions) Append(ctx context.Context, name string, r webtool.Record) error {
	if err := r.Check(name); err != nil {
		return err
	}
	err := v.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		var there webtool.Record
		var document []byte
		err := tx.QueryRowContext(ctx, `SELECT version, digest, document FROM versions
			WHERE webtool = ?1 AND (version = ?2 OR digest = ?3) LIMIT 1`, name, r.Version, r.Digest).Scan(&there.Version, &there.Digest, &document)
		there.Document = document
		switch {
		case err == nil && !there.Same(r):
			return webtool.ErrConflict
		case err == nil:
			return see(ctx, tx, name, r.Version, r.LastSeen)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO versions (webtool, version, digest, document, last_seen)
			VALUES (?, ?, ?, ?, ?)`, name, r.Version, r.Digest, []byte(r.Document), toNano(r.LastSeen)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM versions WHERE webtool = ?1 AND id <=
			(SELECT id FROM versions WHERE webtool = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, name, maxVersions)
		if err != nil {
			return err
		}
		site, _, _ := strings.Cut(name, "/")
		return v.makeRoom(ctx, tx, site)
	})
	if err != nil {
		return fmt.Errorf("keeping version %s of %s: %w", r.Version, name, err)
	}
	return nil
}

// makeRoom drops the oldest versions of a site when they are too many bytes, and a few more,
// so that it is not done each time: first those that are not the newest of a webtool, so that
// no number is given again, then webtools that were not seen for longest.
func (v *sqlVersions) makeRoom(ctx context.Context, tx *sql.Tx, site string) error {
	var bytes int64
	if err := tx.QueryRowContext(ctx, "SELECT bytes FROM version_bytes WHERE site = ?", site).
		Scan(&bytes); err != nil || bytes <= v.o.MaxVersionBytes {
		return err
	}
	_, err := tx.ExecContext(ctx, `WITH sizes AS MATERIALIZED ( -- else the documents themselves are sorted
			SELECT id, last_seen, length(document) AS bytes,
				id = (SELECT max(id) FROM versions AS w WHERE w.webtool = v.webtool) AS newest FROM versions AS v
			WHERE webtool = ?1 OR webtool > ?1 || '/' AND webtool < ?1 || '0')
		DELETE FROM versions WHERE id IN (SELECT id FROM (
			SELECT id, sum(bytes) OVER (ORDER BY newest, last_seen, id) - bytes AS before FROM sizes) WHERE before < ?2)`,
		site, bytes-v.o.MaxVersionBytes*15/16)
	return err
}

func (v *sqlVersions) Seen(ctx context.Context, name, version string, at time.Time) error {
	err := v.db.write(ctx, relaxed,
		func(ctx context.Context, tx *sql.Tx) error { return see(ctx, tx, name, version, at) })
	if err != nil {
		return fmt.Errorf("noting that version %s of %s was seen: %w", version, name, err)
	}
	return nil
}

func see(ctx context.Context, tx *sql.Tx, name, version string, at time.Time) error {
	_, err := tx.ExecContext(ctx,
		"UPDATE versions SET last_seen = max(last_seen, ?) WHERE webtool = ? AND version = ?",
		toNano(at), name, version)
	return err
}
