package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
)

type sqlGrants struct{ db *database }

var _ bridge.Grants = (*sqlGrants)(nil)

const grantColumns = "id, caller, credential, site, tool, digest, config, given_by, given_at"

func (s *sqlGrants) Put(ctx context.Context, g bridge.Grant) (bridge.Grant, error) {
	if err := g.Check(); err != nil {
		return bridge.Grant{}, err
	}
	g.ID, g.GivenAt = newID(), fromNano(toNano(g.GivenAt))
	err := s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			"INSERT INTO grants ("+grantColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			g.ID, g.Caller, g.Credential, g.Site, g.Tool, g.Digest, g.Config, g.GivenBy, toNano(g.GivenAt))
		return err
	})
	if err != nil {
		return bridge.Grant{}, fmt.Errorf("keeping a grant: %w", err)
	}
	return g, nil
}

func (s *sqlGrants) All(ctx context.Context) ([]bridge.Grant, error) {
	var all []bridge.Grant
	err := each(ctx, s.db.r, func(rows *sql.Rows) error {
		g, err := scanGrant(rows)
		all = append(all, g)
		return err
	}, "SELECT "+grantColumns+" FROM grants ORDER BY number")
	if err != nil {
		return nil, fmt.Errorf("listing the grants: %w", err)
	}
	return all, nil
}

func (s *sqlGrants) Find(ctx context.Context, u bridge.GrantUse) (bridge.Grant, bool, error) {
	row := s.db.r.QueryRowContext(ctx, "SELECT "+grantColumns+` FROM grants
		WHERE caller = ? AND credential = ? AND site = ? AND tool = ? AND digest = ? AND config = ?
		ORDER BY number DESC LIMIT 1`, u.Caller, u.Credential, u.Site, u.Tool, u.Digest, u.Config)
	g, err := scanGrant(row)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return bridge.Grant{}, false, nil
	case err != nil:
		return bridge.Grant{}, false, fmt.Errorf("looking for a grant: %w", failed(ctx, err))
	}
	return g, true, nil
}

func (s *sqlGrants) Revoke(ctx context.Context, id string) (bool, error) {
	gone, err := s.db.remove(ctx, id, "DELETE FROM grants WHERE id = ?")
	if err != nil {
		return false, fmt.Errorf("revoking a grant: %w", err)
	}
	return gone, nil
}

func scanGrant(row interface{ Scan(...any) error }) (bridge.Grant, error) {
	var g bridge.Grant
	var given int64
	err := row.Scan(&g.ID, &g.Caller, &g.Credential, &g.Site, &g.Tool, &g.Digest, &g.Config, &g.GivenBy,
		&given)
	g.GivenAt = fromNano(given)
	return g, err
}

type sqlKnown struct{ db *database }

var _ bridge.KnownTools = (*sqlKnown)(nil)

func (s *sqlKnown) Known(ctx context.Context, site string) ([]bridge.KnownTool, error) {
	var known []bridge.KnownTool
	err := each(ctx, s.db.r, func(rows *sql.Rows) error {
		var k bridge.KnownTool
		var at int64
		err := rows.Scan(&k.Tool, &at)
		k.SeenAt = fromNano(at)
		known = append(known, k)
		return err
	}, "SELECT tool, seen_at FROM known_tools WHERE site = ? ORDER BY tool", site)
	if err != nil {
		return nil, fmt.Errorf("listing the known tools of %s: %w", site, err)
	}
	return known, nil
}

func (s *sqlKnown) SetKnown(ctx context.Context, site string, tools []bridge.KnownTool) error {
	err := s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		for _, k := range tools {
			if _, err := tx.ExecContext(ctx,
				"INSERT OR REPLACE INTO known_tools (site, tool, seen_at) VALUES (?, ?, ?)",
				site, k.Tool, toNano(k.SeenAt)); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM known_tools WHERE site = ?1 AND tool IN
			(SELECT tool FROM known_tools WHERE site = ?1 ORDER BY seen_at DESC, tool LIMIT -1 OFFSET ?2)`, site, maxKnown)
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping the known tools of %s: %w", site, err)
	}
	return nil
}
