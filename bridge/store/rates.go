package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

type sqlRates struct{ db *database }

var _ bridge.Rates = (*sqlRates)(nil)

// oldestRate is longer than the longest period of a rate: after it nothing of a caller is left.
const oldestRate = 48 * time.Hour

// Take keeps for each rule and caller when its bucket will be full again: n calls take n intervals
// of it, and there are as many as fit into the burst.
func (s *sqlRates) Take(ctx context.Context, u policy.Use, n int, now time.Time) (got int, wait time.Duration, err error) {
	rule := string(u.Limit) + " " + u.Of + " " + u.Rate.String()
	err = s.db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM rates WHERE called_at <= ?", toNano(now.Add(-oldestRate))); err != nil {
			return err
		}
		sharing := 0
		if u.Limit != policy.LimitCaller { // else each has its own
			if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM rates WHERE rule = ? AND caller <> ? AND called_at > ?",
				rule, u.Caller, toNano(now.Add(-u.Rate.Per))).Scan(&sharing); err != nil {
				return err
			}
		}
		burst, interval := u.Rate.Part(sharing + 1)
		full := toNano(now)
		var known int64
		switch err := tx.QueryRowContext(ctx, "SELECT full_at FROM rates WHERE rule = ? AND caller = ?", rule, u.Caller).Scan(&known); {
		case err == nil:
			full = max(full, known)
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		owed := time.Duration(full - toNano(now))
		got = min(n, int((time.Duration(burst)*interval-owed)/interval))
		if got <= 0 {
			got, wait = 0, owed-time.Duration(burst-1)*interval
			return nil
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO rates (rule, caller, full_at, called_at) VALUES (?, ?, ?, ?)",
			rule, u.Caller, full+int64(time.Duration(got)*interval), toNano(now))
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("counting calls: %w", err)
	}
	return got, wait, nil
}
