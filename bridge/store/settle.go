package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// settle ends what dead owners left. Their calls in flight are unknown: nobody
// can tell any more whether they ran. What their journals hold goes into the
// chain. Both are on the disk before anything is removed, in one transaction for
// each owner, so that it does not matter how many processes do this at once, nor
// where one of them is killed.
func settle(ctx context.Context, db *database, me *owner, o Options) error {
	dead, err := me.corpses()
	if err != nil {
		return err
	}
	for _, id := range dead {
		if err := settleOne(ctx, db, me, id, o); err != nil {
			return fmt.Errorf("settling what owner %s left: %w", id, err)
		}
	}
	return nil
}

func settleOne(ctx context.Context, db *database, me *owner, id string, o Options) error {
	left, err := readRemains(me.root, id)
	if err != nil {
		return err
	}
	var added []*auditRow
	err = db.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE replies SET state = ? WHERE state = ? AND owner = ?", bridge.ReplyUnknown, bridge.ReplyInFlight, id)
		if err != nil {
			return err
		}
		if added, err = left.missing(ctx, tx, id, o.Now()); err != nil || len(added) == 0 {
			return err
		}
		_, err = addRows(ctx, tx, slices.Values(added))
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range added {
		if r.Kind == kindDamaged {
			o.Log.Error("the journal of a killed process is damaged", slog.String("what", r.Reason), slog.Int64("record", r.Seq))
		}
	}
	if len(added) > 0 {
		o.Log.Info("records of a killed process are in the audit now", slog.Int("records", len(added)))
	}
	if err := removeRemains(me.root, id); err != nil {
		return err
	}
	return me.bury(id)
}

// known says which record of an owner it is.
type known struct {
	kind   string
	ticket int64
	reason string
}

func (r *auditRow) known() known { return known{r.Kind, r.Ticket, r.Reason} }

// missing gives what is not in the chain yet, in its order, and what is damaged
// last.
func (m *remains) missing(ctx context.Context, tx *sql.Tx, owner string, now time.Time) ([]*auditRow, error) {
	if len(m.rows)+len(m.damage) == 0 {
		return nil, nil
	}
	slices.SortFunc(m.rows, func(a, b *auditRow) int { return cmp.Compare(a.Ticket, b.Ticket) })
	rows := m.rows
	for _, what := range m.damage {
		rows = append(rows, &auditRow{Kind: kindDamaged, Owner: owner, Time: now.UTC().Format(time.RFC3339Nano), Reason: clip(what)})
	}
	there := map[known]bool{}
	err := each(ctx, tx, func(found *sql.Rows) error {
		var record sql.RawBytes
		if err := found.Scan(&record); err != nil {
			return err
		}
		// One that cannot be read is found by Verify.
		if r, err := decodeRow(record); err == nil && r.Owner == owner {
			there[r.known()] = true
		}
		return nil
	}, "SELECT record FROM audit WHERE seq > ? AND instr(record, ?) > 0", m.after, owner)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(r *auditRow) bool {
		is := there[r.known()]
		there[r.known()] = true
		return is
	}), nil
}
