package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// framesOf makes the content of a journal in one round.
func framesOf(owner string, round uint32, tickets ...int64) (content []byte, ends []int) {
	for _, ticket := range tickets {
		e := entry{kind: kindIntent, ticket: ticket, at: time.Now(), record: benchRecord(true)}
		e.record.Session = strings.Repeat("s", int(ticket%7)) // of many lengths
		b := frame(ticket, e.row(owner, time.Now()))
		sealFrame(b, round)
		content = append(content, b...)
		ends = append(ends, len(content))
	}
	return content, ends
}

func readJournal(content []byte) (tickets []int64, m remains) {
	m.read("j", "o", content)
	for _, r := range m.rows {
		tickets = append(tickets, r.Ticket)
	}
	return tickets, m
}

// Wherever a write ends, what was written before is read and nothing is damaged;
// in the first round, and over what an earlier one left.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	content, ends := framesOf("o", 2, 11, 12, 13)
	old, _ := framesOf("o", 1, 1, 2, 3, 4, 5)
	for cut := range len(content) {
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		want := []int64{11, 12, 13}[:whole]
		got, m := readJournal(content[:cut])
		if !slices.Equal(got, want) || len(m.damage) != 0 || whole > 0 && m.after != 11 {
			t.Fatalf("of %d bytes %v are read, and %q is damaged", cut, got, m.damage)
		}
		over := append(slices.Clone(content[:cut]), old[cut:]...)
		got, m = readJournal(over)
		// No write is cut within a page, so none is within the head of the first.
		if !slices.Equal(got[:whole], want) || slices.Max(append(got[whole:], 0)) > 5 || len(m.damage) != 0 && cut >= frameHead {
			t.Fatalf("%d bytes over others: %v are read, and %q is damaged", cut, got, m.damage)
		}
	}
	others, _ := framesOf("other", 3, 14)
	for name, tail := range map[string][]byte{
		"zeros": make([]byte, 100), "garbage": []byte("garbage"), "another owner's": others, "a checksum that fails": append(slices.Clone(content[:ends[0]-1]), 'x'),
	} {
		if got, m := readJournal(append(slices.Clone(content), tail...)); len(got) != 3 || len(m.damage) != 0 {
			t.Errorf("%s at the end: %v are read, and %q is damaged", name, got, m.damage)
		}
	}
}

// Whichever byte of a record changes that others follow, it is named, and the
// others are read.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	content, ends := framesOf("o", 2, 11, 12, 13)
	old, _ := framesOf("o", 1, 1, 2, 3, 4, 5)
	for at := range ends[1] {
		if roundByte := at >= 12 && at < 16; roundByte { // the first frame claims a later round then
			continue
		}
		i, want := 0, []int64{12, 13}
		if at >= ends[0] {
			i, want = ends[0], []int64{11, 13}
		}
		for _, tail := range [][]byte{nil, old[len(content):]} {
			changed := append(slices.Clone(content), tail...)
			changed[at] ^= 0x20
			got, m := readJournal(changed)
			named := fmt.Sprintf("%d bytes at %d of j cannot be read", map[bool]int{true: ends[0], false: ends[1] - ends[0]}[i == 0], i)
			if !slices.Equal(got[:2], want) || !slices.Equal(m.damage, []string{named}) {
				t.Fatalf("byte %d changed: %v are read, and %q is damaged", at, got, m.damage)
			}
		}
	}
}

func FuzzReadRemains(f *testing.F) {
	content, _ := framesOf("o", 1, 1, 2)
	f.Add(content)
	f.Add(append(slices.Clone(content[:300]), content...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m remains
		m.read("j", "o", b)
		for _, r := range m.rows {
			if r.Owner != "o" || r.Kind != kindIntent {
				t.Errorf("nobody wrote %+v", r)
			}
		}
	})
}

// committed counts what is in the chain, without waiting for anything.
func committed(t *testing.T, s *Store) int64 {
	t.Helper()
	return must(s.Verify(t.Context()))(t).Records
}

// A journal that cannot be written, or is full, makes who waits wait for the
// commit. That is seen from the record being in the chain at once.
func TestWithoutAJournalIntentsWaitForTheCommit(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	var log bytes.Buffer
	s := open(t, Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	w := writerOf(t, s)
	files := w.journal.files
	for i := range files {
		w.journal.files[i].f = must(os.OpenFile("/dev/full", os.O_RDWR, 0))(t)
	}
	for i := range 3 {
		must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
		if n := committed(t, s); n != int64(i+1) {
			t.Errorf("after %d intents %d records are in the chain", i+1, n)
		}
	}
	if n := strings.Count(log.String(), "the journal of the audit cannot be written"); n != 1 || !strings.Contains(log.String(), ErrFull.Error()) {
		t.Errorf("the log is %s", log.String())
	}
	ok(t, s.Flush(ctx)) // run is done with the files
	for i := range files {
		w.journal.files[i].f.Close()
	}
	w.journal.files = files
	full(t, s)
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if n := committed(t, s); n != 4 {
		t.Errorf("with a full journal %d records are in the chain, want 4", n)
	}
	ok(t, s.Flush(ctx))

	// Emptied by these commits it takes records again: they are safe, and not
	// committed, because somebody else writes.
	tx := must(raw(t, dir).BeginTx(ctx, nil))(t)
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if n := committed(t, s); n != 4 {
		t.Errorf("while somebody else writes %d records are in the chain, want 4", n)
	}
	ok(t, tx.Rollback())
}

// While the last commit failed no journal helps (security reference, D2).
func TestUnhealthyRefuses(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, Busy: time.Millisecond})
	tx := must(raw(t, dir).BeginTx(ctx, nil))(t)
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if err := s.Flush(ctx); !errors.Is(err, ErrLocked) || !errors.Is(s.Audit.Healthy(), ErrLocked) {
		t.Errorf("flush: %v, health: %v", err, s.Audit.Healthy())
	}
	if _, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("an intent: %v", err)
	}
	ok(t, tx.Rollback())
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if n := committed(t, s); n != 3 {
		t.Errorf("%d records are in the chain, want 3", n)
	}
}

// TestNothingIsLostWhileJournalsTurn holds, at many moments, what was
// acknowledged against what a process that opens the folder would find.
func TestNothingIsLostWhileJournalsTurn(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, Busy: time.Minute})
	w := writerOf(t, s)
	const callers, calls, most = 8, 150, 20
	safe := make([]atomic.Bool, callers*calls*most+1)
	root := must(os.OpenRoot(dir))(t)
	defer root.Close()
	rounds, checks, inJournals := 0, 0, 0
	for ; checks < 3 || inJournals == 0; rounds++ { // a slow machine checks seldom
		if rounds == most {
			t.Fatalf("%d checks saw %d records in journals: the test proves little", checks, inJournals)
		}
		done := callMany(t, s.Audit, callers, calls, safe)
		var flushes sync.WaitGroup
		flushes.Go(func() { flushUntil(t, s, done) })
		for over := false; !over; checks++ {
			select {
			case <-done:
				over = true
			default:
			}
			inJournals += lookFor(t, s, root, w.owner, safe)
		}
		flushes.Wait()
	}
	ok(t, s.Flush(ctx))
	if report := must(s.Verify(ctx))(t); report.Bad != nil || report.Records != int64(callers*calls*rounds) {
		t.Errorf("the report is %+v", report)
	}
}

// flushUntil commits, one after the other.
func flushUntil(t *testing.T, s *Store, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// callMany makes intents of many lengths, and notes those that are acknowledged.
// The channel is closed when all are.
func callMany(t *testing.T, audit bridge.Audit, callers, calls int, safe []atomic.Bool) <-chan struct{} {
	t.Helper()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range calls {
				ticket, err := audit.Intent(t.Context(), bridge.AuditRecord{Wait: true, Call: strings.Repeat("x", i*37%maxText)})
				if err != nil {
					t.Error(err)
					return
				}
				safe[ticket].Store(true)
			}
		})
	}
	done := make(chan struct{})
	go func() { // ends with the callers
		all.Wait()
		close(done)
	}()
	return done
}

// lookFor fails for every ticket that is neither in a journal nor in the chain.
func lookFor(t *testing.T, s *Store, root *os.Root, owner string, safe []atomic.Bool) (inJournals int) {
	t.Helper()
	missing := map[int64]bool{}
	for i := range safe {
		if safe[i].Load() {
			missing[int64(i)] = true
		}
	}
	// The journals first: what leaves them is in the chain then.
	left := must(readRemains(root, owner))(t)
	for _, r := range left.rows {
		delete(missing, r.Ticket)
	}
	rows := must(writerOf(t, s).db.r.QueryContext(t.Context(), "SELECT record FROM audit"))(t)
	defer rows.Close()
	for rows.Next() {
		var record []byte
		ok(t, rows.Scan(&record))
		delete(missing, must(decodeRow(record))(t).Ticket)
	}
	ok(t, rows.Err())
	for ticket := range missing {
		t.Errorf("intent %d is nowhere", ticket)
	}
	return len(left.rows)
}

// TestTurning is what run does, with a commit that takes no time: so it meets
// callers at every point of their way.
func TestTurning(t *testing.T) {
	t.Parallel()
	root := must(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	ok(t, root.Mkdir(ownersFolder, 0o700))
	o := Options{}.withDefaults()
	w := &writer{owner: "o", journal: must(openJournal(root, "o"))(t), o: o, began: o.Now(), wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1), room: make(chan struct{})}
	const callers, calls = 4, 2000
	var safe [callers*calls + 1]atomic.Bool
	done := callMany(t, w, callers, calls, safe[:])
	committed, rounds, waited := map[int64]bool{}, 0, 0
	var held batch
	for over := false; !over; rounds++ {
		select {
		case <-done:
			over = true
		default:
		}
		w.take(&held)
		for _, e := range held.audit {
			committed[e.ticket] = true
		}
		w.settle(&held, nil)
		w.journal.settled()
		var open []int64
		for ticket := range safe {
			if safe[ticket].Load() && !committed[int64(ticket)] {
				open = append(open, int64(ticket))
			}
		}
		waited += len(open)
		there := thisRound(t, w.journal)
		for _, ticket := range open {
			if !there[ticket] {
				t.Errorf("intent %d is nowhere", ticket)
			}
		}
	}
	if rounds < 10 || waited == 0 || len(committed) != callers*calls {
		t.Errorf("in %d rounds %d waited, and %d were committed: the test proves little", rounds, waited, len(committed))
	}
	must(w.journal.close(true))(t)
}

// thisRound gives the tickets that the journal does not forget.
func thisRound(t *testing.T, j *journal) map[int64]bool {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	there := map[int64]bool{}
	for i := range j.files {
		b := make([]byte, j.files[i].size)
		must(j.files[i].f.ReadAt(b, 0))(t)
		for at := 0; at < len(b); {
			f, isWhole := readFrame(b[at:], "o")
			if !isWhole {
				t.Fatalf("no frame at %d", at)
			}
			there[f.row.Ticket] = true
			at += f.size
		}
	}
	return there
}

// The journals are written over when what they hold is committed, and go at the
// end.
func TestJournalsDoNotGrow(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir})
	j := writerOf(t, s).journal
	for range 20 {
		must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
		ok(t, s.Flush(ctx))
	}
	for _, file := range j.files {
		info := must(os.Stat(filepath.Join(dir, file.name)))(t)
		if info.Size() == 0 || info.Size() > 500 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes and mode %v", file.name, info.Size(), info.Mode())
		}
	}
	ok(t, s.Close())
	if left := must(fs.Glob(os.DirFS(dir), ownersFolder+"/*"))(t); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}
