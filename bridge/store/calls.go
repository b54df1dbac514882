package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

type sqlCalls struct {
	db *database
	w  *writer
	o  Options
}

var _ bridge.Calls = (*sqlCalls)(nil)

// Log implements bridge.Calls.
func (s *sqlCalls) Log(ctx context.Context, r bridge.CallRecord) error {
	r = cleanCall(r)
	return s.w.add(ctx, nil, &r)
}

// Calls implements bridge.Calls. It reads no index: the log is bounded, and an
// index for each filter would cost every call.
func (s *sqlCalls) Calls(ctx context.Context, f bridge.CallFilter) ([]bridge.CallRecord, error) {
	where := []string{"id > (SELECT coalesce(max(id), 0) FROM calls) - ?", "at >= ?"}
	args := []any{s.o.MaxCalls, toNano(s.o.Now().Add(-s.o.CallAge))}
	for _, c := range []struct{ column, value string }{{"site", f.Site}, {"tool", f.Tool}, {"caller", f.Caller}, {"outcome", f.Outcome}} {
		if c.value != "" {
			where, args = append(where, c.column+" = ?"), append(args, c.value)
		}
	}
	if f.Before > 0 {
		where, args = append(where, "id < ?"), append(args, f.Before)
	}
	var calls []bridge.CallRecord
	err := each(ctx, s.db.r, func(rows *sql.Rows) error {
		var id int64
		var record string
		if err := rows.Scan(&id, &record); err != nil {
			return err
		}
		var r bridge.CallRecord
		if err := json.Unmarshal([]byte(record), &r); err != nil {
			return fmt.Errorf("%w: call %d: %w", ErrCorrupt, id, err)
		}
		r.ID = id
		calls = append(calls, r)
		return nil
	}, "SELECT id, record FROM calls WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, pageSize(f))...)
	if err != nil {
		return nil, fmt.Errorf("listing calls: %w", err)
	}
	return calls, nil
}

func pageSize(f bridge.CallFilter) int {
	if f.Limit <= 0 {
		return defaultPage
	}
	return min(f.Limit, maxListed)
}

// cleanCall bounds the text of a record.
func cleanCall(r bridge.CallRecord) bridge.CallRecord {
	r.ID, r.Time = 0, r.Time.UTC().Round(0)
	for _, s := range []*string{&r.Call, &r.Trace, &r.Site, &r.Tool, &r.Caller, &r.Session, &r.Version, &r.Decision, &r.Outcome, &r.Code, &r.Reason} {
		*s = clip(*s)
	}
	return r
}
