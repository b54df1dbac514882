package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
)

// migration is a step to a newer schema. before, if there is one, runs in its
// transaction first.
type migration struct {
	before func(ctx context.Context, tx *sql.Tx, root *os.Root) error
	sql    string
}

// migrations lead from an empty database to ours: number n is step n-1. A step
// that was released is never changed. STRICT keeps a column of one type.
var migrations = []migration{
	{sql: `
CREATE TABLE versions (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	webtool TEXT NOT NULL,
	version TEXT NOT NULL,
	digest TEXT NOT NULL,
	document BLOB NOT NULL,
	first_seen INTEGER NOT NULL,
	last_seen INTEGER NOT NULL,
	UNIQUE (webtool, version),
	UNIQUE (webtool, digest)
) STRICT;

CREATE TABLE grants (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	digest TEXT NOT NULL,
	arguments TEXT NOT NULL,
	scope TEXT NOT NULL,
	given_by TEXT NOT NULL,
	given_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX grants_by_use ON grants (caller, site, tool, digest, arguments);

CREATE TABLE known_tools (
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	digest TEXT NOT NULL,
	seen_by TEXT NOT NULL,
	seen_at INTEGER NOT NULL,
	PRIMARY KEY (site, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE replies (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	claim TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	key TEXT NOT NULL,
	body_digest TEXT NOT NULL,
	owner TEXT NOT NULL,
	state TEXT NOT NULL,
	claimed_at INTEGER NOT NULL,
	status INTEGER NOT NULL DEFAULT 0,
	header BLOB,
	body BLOB,
	size INTEGER NOT NULL DEFAULT 0,
	UNIQUE (caller, key)
) STRICT;
CREATE INDEX replies_by_age ON replies (claimed_at);
CREATE INDEX replies_by_size ON replies (number, size) WHERE size > 0;
CREATE INDEX replies_in_flight ON replies (owner) WHERE state = 'in_flight';

CREATE TABLE audit (
	seq INTEGER PRIMARY KEY,
	record TEXT NOT NULL,
	hash BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoints (
	seq INTEGER PRIMARY KEY,
	line TEXT NOT NULL
) STRICT;

CREATE TABLE calls (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	at INTEGER NOT NULL,
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	caller TEXT NOT NULL,
	outcome TEXT NOT NULL,
	record TEXT NOT NULL
) STRICT;
`},
	// The audit is in files now. A grant that covered less than a tool, or ended
	// by itself, was never given: one that is there nevertheless must not cover
	// more from now on.
	{before: keepOlderAudit, sql: `
DROP TABLE audit;
DROP TABLE checkpoints;

DELETE FROM grants WHERE arguments <> '' OR expires_at <> 0;
DROP INDEX grants_by_use;
ALTER TABLE grants DROP COLUMN arguments;
ALTER TABLE grants DROP COLUMN scope;
ALTER TABLE grants DROP COLUMN expires_at;
CREATE INDEX grants_by_use ON grants (caller, site, tool, digest);

ALTER TABLE known_tools DROP COLUMN digest;
ALTER TABLE known_tools DROP COLUMN seen_by;

ALTER TABLE replies DROP COLUMN status;
ALTER TABLE replies DROP COLUMN header;

ALTER TABLE versions DROP COLUMN first_seen;
`},
	// Consent ends with the credential that it was given to. Until now none was noted: a
	// grant of a caller that has one covers nothing any more.
	{sql: `
ALTER TABLE grants ADD COLUMN credential TEXT NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN config TEXT NOT NULL DEFAULT '';
DROP INDEX grants_by_use;
CREATE INDEX grants_by_use ON grants (caller, site, tool, digest, credential, config);
`},
	// For a few hours of development, the third step did this, too.
	{sql: `
DROP TRIGGER IF EXISTS versions_added;
DROP TRIGGER IF EXISTS versions_removed;
DROP TABLE IF EXISTS version_bytes;
CREATE TABLE version_bytes (site TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO version_bytes SELECT substr(webtool, 1, instr(webtool || '/', '/') - 1), sum(length(document)) FROM versions GROUP BY 1;
CREATE TRIGGER versions_added AFTER INSERT ON versions BEGIN
	INSERT INTO version_bytes VALUES (substr(new.webtool, 1, instr(new.webtool || '/', '/') - 1), length(new.document))
		ON CONFLICT (site) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER versions_removed AFTER DELETE ON versions BEGIN
	UPDATE version_bytes SET bytes = bytes - length(old.document)
		WHERE site = substr(old.webtool, 1, instr(old.webtool || '/', '/') - 1);
END;
`},
}

// migrate brings the database to the newest schema, each step whole or not at
// all. Another process may do the same at the same time.
func migrate(ctx context.Context, db *sql.DB, root *os.Root) error {
	for {
		done, err := migrateOnce(ctx, db, root)
		if err != nil {
			return fmt.Errorf("preparing the database: %w", classify(err))
		}
		if done {
			return nil
		}
	}
}

func migrateOnce(ctx context.Context, db *sql.DB, root *os.Root) (done bool, err error) {
	// First without a transaction that writes: a database that is newer, or none,
	// must not be touched.
	version, err := schemaVersion(ctx, db)
	if err != nil || version == len(migrations) {
		return true, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if version, err = schemaVersion(ctx, tx); err != nil || version == len(migrations) {
		return true, err
	}
	step := migrations[version]
	if step.before != nil {
		if err := step.before(ctx, tx, root); err != nil {
			return false, fmt.Errorf("migration %d: %w", version+1, err)
		}
	}
	if _, err := tx.ExecContext(ctx, step.sql); err != nil {
		return false, fmt.Errorf("migration %d: %w", version+1, err)
	}
	if _, err := tx.ExecContext(ctx,
		fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
		return false, fmt.Errorf("migration %d: %w", version+1, err)
	}
	return false, tx.Commit()
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func schemaVersion(ctx context.Context, q querier) (int, error) {
	var version int
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) || version < 0 {
		return 0, fmt.Errorf("%w: its schema is %d, and this one knows %d", ErrNewer, version,
			len(migrations))
	}
	return version, nil
}
