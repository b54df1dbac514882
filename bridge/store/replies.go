package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
)

type sqlReplies struct {
	db *database
	o  Options
	// id identifies this owner of claims. dead reports whether another one has
	// ended, and settle settles what it left.
	id     string
	dead   func(id string) bool
	settle func(ctx context.Context, id string) error
}

var _ bridge.Replies = (*sqlReplies)(nil)

// expiredAtOnce bounds the work of one Begin on keys of yesterday.
const expiredAtOnce = 64

// deadOwner is the error that a claim is of an owner which has ended.
type deadOwner struct{ id string }

func (d *deadOwner) Error() string { return "the claim is of a process that has ended" }

func (s *sqlReplies) Begin(ctx context.Context, caller, key,
	bodyDigest string) (bridge.ReplyState, error) {
	state, err := s.begin(ctx, caller, key, bodyDigest)
	if dead, ok := errors.AsType[*deadOwner](err); ok {
		if err = s.settle(ctx, dead.id); err == nil {
			state, err = s.begin(ctx, caller, key, bodyDigest)
		}
	}
	if err != nil {
		return bridge.ReplyState{}, fmt.Errorf("claiming an idempotency key: %w", err)
	}
	return state, nil
}

func (s *sqlReplies) begin(ctx context.Context, caller, key,
	bodyDigest string) (bridge.ReplyState, error) {
	var state bridge.ReplyState
	err := s.db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM replies WHERE number IN
			(SELECT number FROM replies WHERE claimed_at <= ? LIMIT ?)`, toNano(s.db.now().Add(-s.o.ReplyAge)), expiredAtOnce); err != nil {
			return err
		}
		var err error
		state, err = s.look(ctx, tx, caller, key, bodyDigest)
		if errors.Is(err, sql.ErrNoRows) {
			state, err = s.claim(ctx, tx, caller, key, bodyDigest)
		}
		return err
	})
	return state, err
}

// look reads what is known of the key. No rows means that it is free.
func (s *sqlReplies) look(ctx context.Context, tx *sql.Tx, caller, key,
	bodyDigest string) (bridge.ReplyState, error) {
	var state bridge.ReplyState
	var owner, body string
	var claimed int64
	err := tx.QueryRowContext(ctx,
		"SELECT claim, owner, body_digest, state, claimed_at, body FROM replies WHERE caller = ? AND key = ?", caller, key).
		Scan(&state.Claim, &owner, &body, &state.Status, &claimed, &state.Reply)
	if err != nil {
		return bridge.ReplyState{}, err
	}
	if claimed <= toNano(s.db.now().Add(-s.o.ReplyAge)) { // more of them expired than one Begin removes
		if _, err := tx.ExecContext(ctx, "DELETE FROM replies WHERE claim = ?",
			state.Claim); err != nil {
			return bridge.ReplyState{}, err
		}
		return bridge.ReplyState{}, sql.ErrNoRows
	}
	if state.Status == bridge.ReplyInFlight && s.dead(owner) {
		return bridge.ReplyState{}, &deadOwner{owner}
	}
	if body != bodyDigest {
		return bridge.ReplyState{Status: bridge.ReplyOtherBody, Claim: state.Claim}, nil
	}
	return state, nil
}

func (s *sqlReplies) claim(ctx context.Context, tx *sql.Tx, caller, key,
	bodyDigest string) (bridge.ReplyState, error) {
	var used int
	if err := tx.QueryRowContext(ctx,
		"SELECT count(*) FROM (SELECT 1 FROM replies WHERE caller = ? LIMIT ?)", caller,
		s.o.MaxKeys).Scan(&used); err != nil {
		return bridge.ReplyState{}, err
	}
	if used >= s.o.MaxKeys {
		return bridge.ReplyState{}, bridge.ErrTooManyKeys
	}
	state := bridge.ReplyState{Status: bridge.ReplyClaimed, Claim: newID()}
	_, err := tx.ExecContext(ctx,
		"INSERT INTO replies (claim, caller, key, body_digest, owner, state, claimed_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
		state.Claim, caller, key, bodyDigest, s.id, bridge.ReplyInFlight, toNano(s.db.now()))
	return state, err
}

// Begun implements bridge.Replies. The audit of this folder tells what began.
func (s *sqlReplies) Begun(context.Context, string) error { return nil }

// Finish implements bridge.Replies. It does not wait for the disk: a reply that
// a power failure takes leaves the claim, which then says ReplyUnknown.
func (s *sqlReplies) Finish(ctx context.Context, claim string, reply []byte) error {
	size := int64(len(reply)) + 1 // an empty one counts, too
	if size > s.o.MaxReplyBytes {
		return s.end(ctx, claim,
			"UPDATE replies SET state = ?2 WHERE claim = ?1 AND state = 'in_flight'",
			bridge.ReplyUnknown)
	}
	return s.end(ctx, claim,
		"UPDATE replies SET state = ?2, body = ?3, size = ?4 WHERE claim = ?1 AND state = 'in_flight'",
		bridge.ReplyFinished, reply, size)
}

func (s *sqlReplies) Abandon(ctx context.Context, claim string) error {
	return s.end(ctx, claim, "DELETE FROM replies WHERE claim = ?1 AND state = 'in_flight'")
}

// end changes the one open claim, and makes room.
func (s *sqlReplies) end(ctx context.Context, claim, query string, args ...any) error {
	err := s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, append([]any{claim}, args...)...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, bridge.ErrClaimLost)
		}
		return s.makeRoom(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("ending a claim: %w", err)
	}
	return nil
}

// makeRoom drops the oldest replies while they are too many bytes. Their keys
// stay, so that nothing runs twice.
func (s *sqlReplies) makeRoom(ctx context.Context, tx *sql.Tx) error {
	var kept int64
	if err := tx.QueryRowContext(ctx,
		"SELECT coalesce(sum(size), 0) FROM replies WHERE size > 0").Scan(&kept); err != nil ||
		kept <= s.o.MaxReplyBytes {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE replies SET state = ?1, body = NULL, size = 0 WHERE number IN (
		SELECT number FROM (SELECT number, sum(size) OVER (ORDER BY number DESC) AS newer FROM replies WHERE size > 0) WHERE newer > ?2)`,
		bridge.ReplyUnknown, s.o.MaxReplyBytes)
	return err
}
