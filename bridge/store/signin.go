package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

type sqlClients struct{ db *database }

var _ bridge.Clients = (*sqlClients)(nil)

func (s *sqlClients) Register(ctx context.Context, c bridge.Client) error {
	err := s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM clients WHERE let_in_at = 0 AND registered_at <= ?",
			toNano(s.db.now().Add(-bridge.UnusedClient))); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM clients").Scan(&n); err != nil {
			return err
		}
		if n >= bridge.MaxClients {
			// One that nobody let in goes before one that somebody did, and none that has a
			// connection.
			res, err := tx.ExecContext(ctx, `DELETE FROM clients WHERE number = (SELECT number FROM clients
				WHERE NOT EXISTS (SELECT 1 FROM connections WHERE client = clients.id) ORDER BY let_in_at, number LIMIT 1)`)
			if err != nil {
				return err
			}
			if gone, err := res.RowsAffected(); err != nil || gone == 0 {
				return cmp.Or(err, bridge.ErrTooManyClients)
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO clients (id, name, redirects, registered_at, let_in_at) VALUES (?, ?, ?, ?, 0)",
			c.ID, c.Name, strings.Join(c.Redirects, "\n"), toNano(c.At))
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping a client: %w", err)
	}
	return nil
}

func (s *sqlClients) Client(ctx context.Context, id string) (c bridge.Client, found bool, err error) {
	var redirects string
	var at int64
	err = s.db.r.QueryRowContext(ctx, "SELECT id, name, redirects, registered_at FROM clients WHERE id = ? AND (let_in_at > 0 OR registered_at > ?)",
		id, toNano(s.db.now().Add(-bridge.UnusedClient))).Scan(&c.ID, &c.Name, &redirects, &at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return bridge.Client{}, false, nil
	case err != nil:
		return bridge.Client{}, false, fmt.Errorf("looking for a client: %w", failed(ctx, err))
	}
	c.Redirects, c.At = strings.Split(redirects, "\n"), fromNano(at)
	return c, true, nil
}

type sqlConnections struct{ db *database }

var _ bridge.Connections = (*sqlConnections)(nil)

const connectionColumns = "id, person, client, client_name, redirect, resource, since, used_at, connections.until"

func scanConnection(row interface{ Scan(...any) error }, more ...any) (c bridge.Connection, err error) {
	var since, used, until int64
	err = row.Scan(append([]any{&c.ID, &c.Person, &c.Client, &c.ClientName, &c.Redirect, &c.Resource,
		&since, &used, &until}, more...)...)
	c.Since, c.Used, c.Until = fromNano(since), fromNano(used), fromNano(until)
	return c, err
}

func (s *sqlConnections) Open(ctx context.Context, c bridge.Connection, secrets ...bridge.Secret) error {
	err := s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO connections (id, person, client, client_name, redirect, resource, since, used_at, until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.ID, c.Person, c.Client, c.ClientName, c.Redirect, c.Resource,
			toNano(c.Since), toNano(c.Since), toNano(c.Until)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE clients SET let_in_at = ? WHERE id = ?", toNano(c.Since), c.Client); err != nil {
			return err
		}
		if err := addSecrets(ctx, tx, c.ID, secrets); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM connections WHERE until <= ?1 OR number IN (SELECT number FROM connections
			WHERE person = ?2 ORDER BY used_at DESC, number DESC LIMIT -1 OFFSET ?3)`, toNano(s.db.now()), c.Person, bridge.MaxConnections); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM secrets WHERE until <= ? OR connection NOT IN (SELECT id FROM connections)", toNano(s.db.now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping a connection: %w", err)
	}
	return nil
}

func addSecrets(ctx context.Context, tx *sql.Tx, connection string, secrets []bridge.Secret) error {
	for _, x := range secrets {
		if _, err := tx.ExecContext(ctx, "INSERT INTO secrets (digest, connection, kind, until) VALUES (?, ?, ?, ?)",
			x.Digest[:], connection, x.Kind, toNano(x.Until)); err != nil {
			return err
		}
	}
	return nil
}

func (s *sqlConnections) Find(ctx context.Context, d bridge.Digest) (bridge.Connection, bridge.Secret, error) {
	now := s.db.now()
	x := bridge.Secret{Digest: d}
	var until int64
	row := s.db.r.QueryRowContext(ctx, "SELECT "+connectionColumns+`, kind, secrets.until FROM secrets
		JOIN connections ON connections.id = secrets.connection
		WHERE digest = ?1 AND secrets.until > ?2 AND connections.until > ?2`, d[:], toNano(now))
	c, err := scanConnection(row, &x.Kind, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return bridge.Connection{}, bridge.Secret{}, nil
	case err != nil:
		return bridge.Connection{}, bridge.Secret{}, fmt.Errorf("looking for a token: %w", failed(ctx, err))
	}
	x.Until = fromNano(until)
	if x.Kind == bridge.SecretAccess && now.Sub(c.Used) >= bridge.TouchAfter {
		err = s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE connections SET used_at = ? WHERE id = ?", toNano(now), c.ID)
			return err
		})
		if err != nil {
			return bridge.Connection{}, bridge.Secret{}, fmt.Errorf("noting that a token was used: %w", err)
		}
	}
	return c, x, nil
}

func (s *sqlConnections) Renew(ctx context.Context, old bridge.Digest, until time.Time, secrets ...bridge.Secret) (renewed bool, err error) {
	err = s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		now := toNano(s.db.now())
		var connection string
		err := tx.QueryRowContext(ctx, `UPDATE secrets SET kind = ?1 WHERE digest = ?2 AND kind = ?3 AND until > ?4
			AND EXISTS (SELECT 1 FROM connections WHERE id = connection AND until > ?4) RETURNING connection`,
			bridge.SecretSpent, old[:], bridge.SecretRefresh, now).Scan(&connection)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = addSecrets(ctx, tx, connection, secrets)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE connections SET used_at = ?, until = ? WHERE id = ?", now, toNano(until), connection)
		}
		for kind, most := range map[bridge.SecretKind]int{bridge.SecretAccess: bridge.MaxAccess, bridge.SecretSpent: bridge.MaxSpent} {
			if err == nil {
				_, err = tx.ExecContext(ctx, `DELETE FROM secrets WHERE number IN (SELECT number FROM secrets
					WHERE connection = ? AND kind = ? ORDER BY number DESC LIMIT -1 OFFSET ?)`, connection, kind, most)
			}
		}
		renewed = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("renewing a token: %w", err)
	}
	return renewed, nil
}

func (s *sqlConnections) All(ctx context.Context) (all []bridge.Connection, err error) {
	err = each(ctx, s.db.r, func(rows *sql.Rows) error {
		c, err := scanConnection(rows)
		all = append(all, c)
		return err
	}, "SELECT "+connectionColumns+" FROM connections WHERE until > ? ORDER BY number", toNano(s.db.now()))
	if err != nil {
		return nil, fmt.Errorf("listing the connections: %w", err)
	}
	return all, nil
}

func (s *sqlConnections) Disconnect(ctx context.Context, id string) (bool, error) {
	gone, err := s.db.remove(ctx, id, "DELETE FROM connections WHERE id = ?", "DELETE FROM secrets WHERE connection = ?")
	if err != nil {
		return false, fmt.Errorf("removing a connection: %w", err)
	}
	return gone, nil
}

type sqlBrowsers struct{ db *database }

var _ bridge.Browsers = (*sqlBrowsers)(nil)

func (s *sqlBrowsers) Remember(ctx context.Context, person string, x bridge.Secret) error {
	err := s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO browsers (digest, person, until) VALUES (?, ?, ?)",
			x.Digest[:], person, toNano(x.Until)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM browsers WHERE until <= ?1 OR number IN (SELECT number FROM browsers
			WHERE person = ?2 ORDER BY number DESC LIMIT -1 OFFSET ?3)`, toNano(s.db.now()), person, bridge.MaxBrowsers)
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping a login: %w", err)
	}
	return nil
}

func (s *sqlBrowsers) Person(ctx context.Context, d bridge.Digest) (person string, err error) {
	err = s.db.r.QueryRowContext(ctx, "SELECT person FROM browsers WHERE digest = ? AND until > ?",
		d[:], toNano(s.db.now())).Scan(&person)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("looking for a login: %w", failed(ctx, err))
	}
	return person, nil
}

func (s *sqlBrowsers) Forget(ctx context.Context, d bridge.Digest) error {
	return s.forget(ctx, relaxed, "DELETE FROM browsers WHERE digest = ?", d[:])
}

func (s *sqlBrowsers) ForgetPerson(ctx context.Context, person string) error {
	return s.forget(ctx, durable, "DELETE FROM browsers WHERE person = ?", person)
}

func (s *sqlBrowsers) forget(ctx context.Context, how durability, statement string, whose any) error {
	err := s.db.write(ctx, how, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, whose)
		return err
	})
	if err != nil {
		return fmt.Errorf("forgetting a login: %w", err)
	}
	return nil
}
