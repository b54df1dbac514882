package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
)

// settler settles what dead owners left: claims of idempotency keys, and records that no
// checkpoint covers.
type settler struct {
	archive
	db *database
	me *owner
}

// all settles every owner that died.
func (s *settler) all(ctx context.Context) error {
	dead, err := s.me.ended()
	if err != nil {
		return err
	}
	for _, id := range dead {
		if err := s.settleDead(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// settleDead settles an owner that died, and removes it. It does not matter how many
// processes do this at once, nor where one of them is killed.
func (s *settler) settleDead(ctx context.Context, id string) error {
	err := s.settle(ctx, id, s.me.sameBoot(id))
	if err == nil {
		err = s.free(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("settling what owner %s left: %w", id, err)
	}
	return s.me.remove(id)
}

// leave ends the claims of this process, and frees its sessions, when it ends.
func (s *settler) leave(ctx context.Context) error {
	claims, err := s.claims(ctx, s.me.id)
	if err == nil && len(claims) > 0 {
		err = s.settle(ctx, s.me.id, true)
	}
	if err == nil {
		err = s.free(ctx, s.me.id)
	}
	if err != nil {
		return fmt.Errorf("settling our claims: %w", err)
	}
	return nil
}

// free removes the sessions that an owner left. They are nobody's already; only their rows stay.
func (s *settler) free(ctx context.Context, id string) error {
	var left bool
	err := s.db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM homes WHERE owner = ?)", id).Scan(&left)
	if err != nil || !left {
		return failed(ctx, err)
	}
	return s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM homes WHERE owner = ?", id)
		return err
	})
}

// settle ends the claims of an owner: a call with an intent may have run, one
// without never began, because a call that may change something waits for its
// intent. When the file may not hold all that was written, every call may have
// run. It also signs where the chain ended, because the owner cannot do it any more.
func (s *settler) settle(ctx context.Context, id string, complete bool) error {
	claims, err := s.claims(ctx, id)
	if err != nil {
		return err
	}
	parts, _, err := s.contents()
	if err != nil {
		return err
	}
	calls := intents{map[int64]string{}, map[string]bool{}}
	chain := &scan{signer: s.signer, id: id, each: calls.note}
	if err := chain.run(ctx, s.archive, parts[id]); err != nil {
		return err
	}
	complete = complete && chain.bad == nil && (chain.begun || id == s.me.id)
	if len(claims) > 0 {
		err = s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
			for _, claim := range claims {
				if err := endClaim(ctx, tx, claim, !complete || calls.ran[claim]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.sign(chain, parts[id])
}

// claims lists the claims of an owner whose calls did not end.
func (s *settler) claims(ctx context.Context, id string) (claims []string, err error) {
	err = each(ctx, s.db.r, func(rows *sql.Rows) error {
		var claim string
		err := rows.Scan(&claim)
		claims = append(claims, claim)
		return err
	}, "SELECT claim FROM replies WHERE owner = ? AND state = 'in_flight'", id)
	return claims, err
}

// endClaim ends one open claim: its call may have run, or the key is free again.
func endClaim(ctx context.Context, tx *sql.Tx, claim string, ran bool) error {
	query, args := "DELETE FROM replies WHERE claim = ? AND state = 'in_flight'", []any{claim}
	if ran {
		query = "UPDATE replies SET state = ? WHERE claim = ? AND state = 'in_flight'"
		args = []any{bridge.ReplyUnknown, claim}
	}
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// sign adds the end of a dead chain to the list, unless its last line is a mark.
// A chain that somebody changed is left to audit verify, and one without records is
// removed.
func (s *settler) sign(chain *scan, parts []int) error {
	switch {
	case chain.bad != nil || len(parts) == 0:
		return nil
	case chain.end.seq == 0:
		for _, number := range parts {
			if err := files.RemoveIn(s.root, partName(chain.id, number)); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing an empty audit: %w", classify(err))
			}
		}
		return nil
	}
	marks, err := s.list()
	if errors.Is(err, errList) {
		return nil // nothing is signed on top of it
	}
	if err != nil {
		return err
	}
	known := func(m mark) bool { return m.Chain == chain.id && m.Seq >= chain.end.seq && m.File == chain.last.File }
	if slices.ContainsFunc(marks, known) {
		return nil
	}
	f, err := openOwn(s.root, partName(chain.id, chain.last.File), os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := (&part{f: f}).sync(); err != nil {
		return err
	}
	return s.enlist(newMark(markCheckpoint, chain.id, chain.last.File, chain.end, s.db.now()))
}

// intents are the intents of a chain for calls with a claim.
type intents struct {
	claims map[int64]string // by ticket
	ran    map[string]bool  // what the claim's call may have done
}

// note reads a record of the chain.
func (i *intents) note(r *record) {
	switch {
	case r.Kind == kindIntent && r.Claim != "":
		i.claims[r.Ticket], i.ran[r.Claim] = r.Claim, true
	case r.Kind == kindOutcome && r.Outcome == string(bridge.NotRun):
		delete(i.ran, i.claims[r.Ticket])
	}
}
