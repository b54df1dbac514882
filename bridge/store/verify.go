package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
)

// Problem is what is wrong with a record of the audit.
type Problem string

// The problems.
const (
	// Altered: the record is not what its hash, or a signed checkpoint, says.
	Altered Problem = "altered"
	// Missing: the record is not there, and later ones are.
	Missing Problem = "missing"
	// Reordered: another record is in its place.
	Reordered Problem = "reordered"
	// Signature: the checkpoint of the record is not signed with the key of this
	// folder.
	Signature Problem = "signature"
	// Truncated: a checkpoint was made of a later end than the one that is there.
	Truncated Problem = "truncated"
)

// Report is what Verify found.
type Report struct {
	// Records is how many records are good, from the first one on.
	Records int64
	// Checkpoints is how many checkpoints were held against them.
	Checkpoints int
	// PublicKey verifies checkpoints, in base64. Compare it with a copy that is
	// kept elsewhere.
	PublicKey string
	// Bad is the first record that is not as it was written; nil means none.
	Bad *BadRecord
	// Open are intents without an outcome, the oldest 1,000: calls that run now,
	// or whose process was killed. OpenCount is how many there are.
	Open      []OpenIntent
	OpenCount int
	// Lost is how many records could not be kept while writing failed.
	Lost int64
	// Waiting is how many records of dead processes are in their journals and not
	// in the chain. The next Open puts them there.
	Waiting int
	// Damaged are the stretches of such journals that could not be read when they
	// were put into the chain, the newest 1,000.
	Damaged []DamagedJournal
	// Torn is how many lines of audit.checkpoints are unreadable, as a full disk
	// leaves them.
	Torn int
}

// BadRecord names a record and what is wrong with it.
type BadRecord struct {
	Seq     int64
	Problem Problem
	Detail  string
}

// DamagedJournal is a record of the chain which says that others could not be
// read.
type DamagedJournal struct {
	Seq          int64
	Time, Detail string // RFC 3339; file, offset and length
}

// OpenIntent is an intent without an outcome.
type OpenIntent struct {
	Seq                      int64
	Time                     string // RFC 3339
	Call, Caller, Site, Tool string
}

// walker holds records against the chain, in their order.
type walker struct {
	report Report
	end    chain
	points map[int64][]checkpoint
	signer *signer
	open   map[call]OpenIntent
	// waiting are the intents in journals of dead owners, until one is seen in
	// the chain.
	waiting map[call]bool
}

// call names one call in all processes.
type call struct {
	owner  string
	ticket int64
}

func newWalker(s *signer) *walker {
	return &walker{points: map[int64][]checkpoint{}, signer: s, open: map[call]OpenIntent{}, waiting: map[call]bool{}}
}

func (w *walker) bad(seq int64, p Problem, format string, args ...any) {
	w.report.Bad = &BadRecord{Seq: seq, Problem: p, Detail: fmt.Sprintf(format, args...)}
}

// row checks the next record. False means that it is bad.
func (w *walker) row(seq int64, record, hash []byte) bool {
	want := w.end.seq + 1
	if seq != want {
		w.bad(want, Missing, "the next record that is there is %d", seq)
		return false
	}
	r, err := decodeRow(record)
	switch {
	case err != nil:
		w.bad(seq, Altered, "it cannot be read")
		return false
	case r.Seq != seq:
		w.bad(seq, Reordered, "record %d is in its place", r.Seq)
		return false
	}
	link := w.end.link(record)
	if !bytes.Equal(link[:], hash) {
		w.bad(seq, Altered, "its hash is another")
		return false
	}
	w.end = chain{seq: seq, hash: link}
	for _, c := range w.points[seq] {
		switch {
		case !w.signer.signed(c):
			w.bad(seq, Signature, "its checkpoint is not signed by the key of this folder")
			return false
		case c.Hash != hex.EncodeToString(link[:]):
			w.bad(seq, Altered, "a checkpoint of %s signed another one: it, or one since the checkpoint before, was rewritten", c.Time)
			return false
		}
		w.report.Checkpoints++
	}
	w.report.Records++
	w.note(r)
	return true
}

// note joins outcomes to intents.
func (w *walker) note(r *auditRow) {
	id := call{r.Owner, r.Ticket}
	switch r.Kind {
	case kindIntent:
		delete(w.waiting, id)
		w.open[id] = OpenIntent{Seq: r.Seq, Time: r.Time, Call: r.Call, Caller: r.Caller, Site: r.Site, Tool: r.Tool}
	case kindOutcome:
		delete(w.open, id)
	case kindLost:
		w.report.Lost += r.Ticket
	case kindDamaged:
		w.report.Damaged = append(w.report.Damaged, DamagedJournal{Seq: r.Seq, Time: r.Time, Detail: r.Reason})
		w.report.Damaged = w.report.Damaged[max(0, len(w.report.Damaged)-maxListed):]
	}
}

// finish looks for checkpoints after the end, and gives the report.
func (w *walker) finish() Report {
	if w.report.Bad == nil {
		w.beyond()
	}
	w.report.OpenCount, w.report.Waiting = len(w.open), len(w.waiting)
	for _, o := range w.open {
		w.report.Open = append(w.report.Open, o)
	}
	slices.SortFunc(w.report.Open, func(a, b OpenIntent) int { return cmp.Compare(a.Seq, b.Seq) })
	w.report.Open = w.report.Open[:min(len(w.report.Open), maxListed)]
	return w.report
}

// beyond names what a checkpoint after the end says: that the end is not the
// end, when it is signed.
func (w *walker) beyond() {
	forged := int64(0)
	for seq, points := range w.points {
		if seq <= w.end.seq {
			continue
		}
		for _, c := range points {
			if w.signer.signed(c) {
				w.bad(w.end.seq+1, Truncated, "a checkpoint says that there were at least %d records", seq)
				return
			}
			forged = seq
		}
	}
	if forged > 0 {
		w.bad(forged, Signature, "its checkpoint is not signed by the key of this folder, and there is no such record")
	}
}

// verify walks the database as it is at one moment.
func verify(ctx context.Context, db *database, s *signer, me *owner) (Report, error) {
	w := newWalker(s)
	w.report.PublicKey = s.public
	// The journals first: what leaves them is in the database already.
	if err := w.expect(me); err != nil {
		return Report{}, err
	}
	// And the file: what it says is in the database already.
	lines, torn, err := s.read()
	if err != nil {
		return Report{}, err
	}
	w.report.Torn = torn
	for _, c := range lines {
		if c.Signature != "" || c.Seq != 0 {
			w.points[c.Seq] = append(w.points[c.Seq], c)
		}
	}
	tx, err := db.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Report{}, classify(closed(err))
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var seq int64
		var line []byte
		if err := rows.Scan(&seq, &line); err != nil {
			return err
		}
		c, err := decodeCheckpoint(line)
		if err != nil || c.Seq != seq {
			c = checkpoint{Seq: seq} // which nobody signed
		}
		if !slices.Contains(w.points[seq], c) {
			w.points[seq] = append(w.points[seq], c)
		}
		return nil
	}, "SELECT seq, line FROM checkpoints ORDER BY seq")
	if err != nil {
		return Report{}, err
	}
	if err := walk(ctx, tx, w); err != nil {
		return Report{}, err
	}
	return w.finish(), nil
}

// expect notes what the journals of dead owners hold.
func (w *walker) expect(me *owner) error {
	dead, err := me.corpses()
	if err != nil {
		return err
	}
	for _, id := range dead {
		left, err := readRemains(me.root, id)
		if err != nil {
			return err
		}
		for _, r := range left.rows {
			w.waiting[call{id, r.Ticket}] = true
		}
	}
	return nil
}

func walk(ctx context.Context, tx *sql.Tx, w *walker) error {
	rows, err := tx.QueryContext(ctx, "SELECT seq, record, hash FROM audit ORDER BY seq")
	if err != nil {
		return classify(err)
	}
	defer func() { _ = rows.Close() }() // what it could say, Err says
	var seq int64
	var record, hash sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&seq, &record, &hash); err != nil {
			return classify(err)
		}
		if !w.row(seq, record, hash) {
			return nil
		}
	}
	return classify(rows.Err())
}
