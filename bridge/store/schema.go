package store

import (
	"context"
	"database/sql"
	"fmt"
)

// schemaVersion is the PRAGMA user_version of a database with our tables. A change of them is
// another number, and from the first release on a step from the number before.
const schemaVersion = 8

// The versions before: one that lacks homeTables, signInTables and loginTables, one that lacks the
// latter two, and one that lacks only the last.
const withoutHomes, withoutSignIn, withoutLogins = 5, 6, 7

// loginTables hold who is logged in at the operators' page, with the digests of their tokens.
const loginTables = `
CREATE TABLE logins (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	rights TEXT NOT NULL,
	digest BLOB NOT NULL UNIQUE,
	since INTEGER NOT NULL,
	used_at INTEGER NOT NULL,
	until INTEGER NOT NULL
) STRICT;
`

// signInTables hold the clients of the built-in authorization server, whom they were let in by, and
// the digests of their secrets.
const signInTables = `
CREATE TABLE clients (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	redirects TEXT NOT NULL,
	registered_at INTEGER NOT NULL,
	let_in_at INTEGER NOT NULL
) STRICT;

CREATE TABLE connections (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	person TEXT NOT NULL,
	client TEXT NOT NULL,
	client_name TEXT NOT NULL,
	redirect TEXT NOT NULL,
	resource TEXT NOT NULL,
	since INTEGER NOT NULL,
	used_at INTEGER NOT NULL,
	until INTEGER NOT NULL
) STRICT;
CREATE INDEX connections_by_person ON connections (person, used_at);
CREATE INDEX connections_by_client ON connections (client);

CREATE TABLE secrets (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	digest BLOB NOT NULL UNIQUE,
	connection TEXT NOT NULL,
	kind TEXT NOT NULL,
	until INTEGER NOT NULL
) STRICT;
CREATE INDEX secrets_by_connection ON secrets (connection, kind, number);
CREATE INDEX secrets_by_age ON secrets (until);

CREATE TABLE browsers (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	digest BLOB NOT NULL UNIQUE,
	person TEXT NOT NULL,
	until INTEGER NOT NULL
) STRICT;
CREATE INDEX browsers_by_person ON browsers (person, number);
`

// homeTables say which process has what.
const homeTables = `
CREATE TABLE homes (
	epoch INTEGER PRIMARY KEY AUTOINCREMENT,
	caller TEXT NOT NULL,
	site TEXT NOT NULL,
	session TEXT NOT NULL,
	owner TEXT NOT NULL,
	UNIQUE (caller, site, session)
) STRICT;
CREATE INDEX homes_by_owner ON homes (owner);

CREATE TABLE ended (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	until INTEGER NOT NULL
) STRICT;
CREATE INDEX ended_by_caller ON ended (caller, number);
CREATE INDEX ended_by_age ON ended (until);
`

// tables makes them in an empty database. STRICT keeps a column of one type.
const tables = `
CREATE TABLE versions (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	webtool TEXT NOT NULL,
	version TEXT NOT NULL,
	digest TEXT NOT NULL,
	document BLOB NOT NULL,
	last_seen INTEGER NOT NULL,
	UNIQUE (webtool, version),
	UNIQUE (webtool, digest)
) STRICT;
CREATE TABLE version_bytes (site TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TRIGGER versions_added AFTER INSERT ON versions BEGIN
	INSERT INTO version_bytes
		VALUES (substr(new.webtool, 1, instr(new.webtool || '/', '/') - 1), length(new.document))
		ON CONFLICT (site) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER versions_removed AFTER DELETE ON versions BEGIN
	UPDATE version_bytes SET bytes = bytes - length(old.document)
		WHERE site = substr(old.webtool, 1, instr(old.webtool || '/', '/') - 1);
END;

CREATE TABLE grants (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	digest TEXT NOT NULL,
	credential TEXT NOT NULL,
	config TEXT NOT NULL,
	given_by TEXT NOT NULL,
	given_at INTEGER NOT NULL
) STRICT;
CREATE INDEX grants_by_use ON grants (caller, site, tool, digest, credential, config);

CREATE TABLE known_tools (
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	seen_at INTEGER NOT NULL,
	PRIMARY KEY (site, tool)
) STRICT, WITHOUT ROWID;

CREATE TABLE rates (
	rule TEXT NOT NULL,
	caller TEXT NOT NULL,
	full_at INTEGER NOT NULL,
	called_at INTEGER NOT NULL,
	PRIMARY KEY (rule, caller)
) STRICT, WITHOUT ROWID;
CREATE INDEX rates_by_age ON rates (called_at);

CREATE TABLE taints (
	caller TEXT NOT NULL,
	origin TEXT NOT NULL,
	until INTEGER NOT NULL,
	PRIMARY KEY (caller, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX taints_by_age ON taints (until);

CREATE TABLE replies (
	number INTEGER PRIMARY KEY AUTOINCREMENT,
	claim TEXT NOT NULL UNIQUE,
	caller TEXT NOT NULL,
	key TEXT NOT NULL,
	body_digest TEXT NOT NULL,
	owner TEXT NOT NULL,
	state TEXT NOT NULL,
	claimed_at INTEGER NOT NULL,
	body BLOB,
	size INTEGER NOT NULL DEFAULT 0,
	UNIQUE (caller, key)
) STRICT;
CREATE INDEX replies_by_age ON replies (claimed_at);
CREATE INDEX replies_by_size ON replies (number, size) WHERE size > 0;
CREATE INDEX replies_in_flight ON replies (owner) WHERE state = 'in_flight';

CREATE TABLE calls (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	at INTEGER NOT NULL,
	site TEXT NOT NULL,
	tool TEXT NOT NULL,
	caller TEXT NOT NULL,
	outcome TEXT NOT NULL,
	record TEXT NOT NULL
) STRICT;
`

// createSchema makes the tables where there are none, whole or not at all. Another process may do
// the same at the same time. The error of a database with other tables is ErrVersion.
func createSchema(ctx context.Context, db *sql.DB) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("preparing the database: %w", classify(err))
		}
	}()
	// First without a transaction that writes: a database of another version must not be touched.
	if version, err := versionOf(ctx, db); version == schemaVersion || err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	version, err := versionOf(ctx, tx)
	if version == schemaVersion || err != nil {
		return err
	}
	missing := loginTables
	if version < withoutLogins {
		missing += signInTables
	}
	if version < withoutSignIn {
		missing += homeTables
	}
	if version < withoutHomes {
		missing += tables
	}
	if _, err := tx.ExecContext(ctx,
		fmt.Sprintf("%s; PRAGMA user_version = %d", missing, schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// versionOf returns the version of the tables, 0 where there are none. One that cannot be used is
// ErrVersion.
func versionOf(ctx context.Context, q querier) (version int, err error) {
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version != 0 && version < withoutHomes || version > schemaVersion {
		return 0, fmt.Errorf("%w: its schema is %d, and this pagetools has %d",
			ErrVersion, version, schemaVersion)
	}
	return version, nil
}
