package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const acknowledged = 3 // intents of the process that cannot commit

// killedBeforeCommit gives a folder whose process was killed when its intents
// were acknowledged and not committed, and what lies in owners.
func killedBeforeCommit(t *testing.T) (dir string, left map[string][]byte) {
	t.Helper()
	dir = folder(t)
	cmd := helper(t, "blocked", dir)
	in, out := must(cmd.StdinPipe())(t), must(cmd.StdoutPipe())(t)
	defer in.Close() // until then it waits
	ok(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range acknowledged {
		if !lines.Scan() {
			t.Fatal("it ended by itself")
		}
	}
	ok(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("it was not killed: %v", err)
	}
	var committed int
	ok(t, raw(t, dir).QueryRowContext(t.Context(), "SELECT count(*) FROM audit").Scan(&committed))
	if committed != 0 {
		t.Fatalf("%d records were committed: the test proves nothing", committed)
	}
	left = map[string][]byte{}
	for _, e := range must(os.ReadDir(filepath.Join(dir, ownersFolder)))(t) {
		left[e.Name()] = must(os.ReadFile(filepath.Join(dir, ownersFolder, e.Name())))(t)
	}
	if len(left) != 3 {
		t.Fatalf("left are %v", slices.Collect(maps.Keys(left)))
	}
	return dir, left
}

// putBack makes the files again that a dead process left.
func putBack(t *testing.T, dir string, left map[string][]byte) {
	t.Helper()
	for name, content := range left {
		ok(t, os.WriteFile(filepath.Join(dir, ownersFolder, name), content, 0o600))
	}
}

// isTaken says that the intents of the dead are in the chain once, in their
// order, and that nothing else is left of their process.
func isTaken(t *testing.T, s *Store, dir string, more int64) {
	t.Helper()
	report := must(s.Verify(t.Context()))(t)
	var calls []string
	for _, o := range report.Open {
		calls = append(calls, o.Call)
	}
	if report.Bad != nil || report.Records != acknowledged+more || !slices.Equal(calls, []string{"1", "2", "3"}) || report.Waiting != 0 {
		t.Errorf("the report is %+v", report)
	}
	me := writerOf(t, s).owner
	for _, e := range must(os.ReadDir(filepath.Join(dir, ownersFolder)))(t) {
		if !strings.HasPrefix(e.Name(), me) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestKillBeforeTheCommit(t *testing.T) {
	t.Parallel()
	dir, _ := killedBeforeCommit(t)
	s := open(t, Options{Dir: dir})
	isTaken(t, s, dir, 0)
	// What the living add comes after it, and is signed with it.
	ok(t, s.Audit.Outcome(t.Context(), 9, bridge.AuditRecord{}))
	ok(t, s.Close())
	s = open(t, Options{Dir: dir})
	isTaken(t, s, dir, 1)
	if report := must(s.Verify(t.Context()))(t); report.Checkpoints != 1 {
		t.Errorf("the report is %+v", report)
	}
}

// While nobody opens the folder anew, verifying says that records wait.
func TestVerifyWhileAJournalWaits(t *testing.T) {
	t.Parallel()
	dir, left := killedBeforeCommit(t)
	s := open(t, Options{Dir: dir})
	putBack(t, dir, left)
	if report := must(s.Verify(t.Context()))(t); report.Bad != nil || report.Waiting != 0 || report.Records != acknowledged {
		t.Errorf("records that are in the chain wait: %+v", report)
	}
	run("DELETE FROM audit")(t, dir)
	if report := must(s.Verify(t.Context()))(t); report.Bad != nil || report.Waiting != acknowledged || report.Records != 0 {
		t.Errorf("the report is %+v", report)
	}
}

// Wherever the process that takes records over is killed, the next one goes on.
func TestJournalsAreTakenOnce(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]string{
		"before anything is removed": "none", "after the first": "0", "after the second": "1", "after both": "journal",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, left := killedBeforeCommit(t)
			ok(t, open(t, Options{Dir: dir}).Close())
			for file := range left {
				if strings.HasSuffix(file, lost) || lost == "journal" && strings.Contains(file, lost) {
					delete(left, file)
				}
			}
			putBack(t, dir, left)
			s := open(t, Options{Dir: dir})
			isTaken(t, s, dir, 0)
		})
	}
}

func TestOpenersAtTheSameMoment(t *testing.T) {
	t.Parallel()
	dir, _ := killedBeforeCommit(t)
	const openers = 6
	stores := make([]*Store, openers)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range openers {
		all.Go(func() {
			<-begin
			s, err := Open(t.Context(), Options{Dir: dir, Busy: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
			if _, err := s.Audit.Intent(t.Context(), bridge.AuditRecord{Wait: true, Call: "later"}); err != nil {
				t.Error(err)
			}
			if err := s.Audit.Outcome(t.Context(), 1, bridge.AuditRecord{}); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	for _, s := range stores {
		if s != nil {
			ok(t, s.Close())
		}
	}
	isTaken(t, open(t, Options{Dir: dir}), dir, 2*openers)
}

// A process that cannot write when it ends leaves what it acknowledged.
func TestCloseLeavesWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := must(Open(ctx, Options{Dir: dir, Busy: time.Millisecond}))(t)
	tx := must(raw(t, dir).BeginTx(ctx, nil))(t)
	for i := range acknowledged {
		must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: strconv.Itoa(i + 1)}))(t)
	}
	if err := s.Close(); !errors.Is(err, ErrLocked) {
		t.Errorf("closing: %v", err)
	}
	ok(t, tx.Rollback())
	isTaken(t, open(t, Options{Dir: dir}), dir, 0)
}

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

// A damaged record is said in the log and in the chain, once, and the others are
// taken.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	dir, left := killedBeforeCommit(t)
	for name, content := range left {
		if i := bytes.Index(content, []byte(`"call":"2"`)); i >= 0 {
			content[i+8] = '9'
			left[name] = content
		}
	}
	var log bytes.Buffer
	putBack(t, dir, left)
	ok(t, open(t, Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))}).Close())
	if !strings.Contains(log.String(), "the journal of a killed process is damaged") {
		t.Errorf("the log is %s", log.String())
	}
	putBack(t, dir, left)
	s := open(t, Options{Dir: dir})
	report := must(s.Verify(t.Context()))(t)
	if report.Bad != nil || report.Records != acknowledged || report.OpenCount != acknowledged-1 || len(report.Damaged) != 1 {
		t.Fatalf("the report is %+v", report)
	}
	if d := report.Damaged[0]; d.Seq != 3 || !strings.Contains(d.Detail, ".journal.") || d.Time == "" {
		t.Errorf("the damage is %+v", d)
	}
}

func TestALinkIsNoJournal(t *testing.T) {
	t.Parallel()
	dir, left := killedBeforeCommit(t)
	for name := range left {
		if strings.HasSuffix(name, ".1") {
			path := filepath.Join(dir, ownersFolder, name)
			ok(t, os.Remove(path))
			ok(t, os.Symlink(filepath.Join(dir, keyFile), path))
		}
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrExposed) {
		t.Errorf("opening: %v", err)
	}
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
	const callers, calls = 8, 150
	var safe [callers*calls + 1]atomic.Bool
	var intents, flushes sync.WaitGroup
	done := make(chan struct{})
	for range callers {
		intents.Go(func() {
			for range calls {
				ticket, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: strings.Repeat("x", int(ticketNoise.Add(37)%maxText))})
				if err != nil {
					t.Error(err)
					return
				}
				safe[ticket].Store(true)
			}
		})
	}
	flushes.Go(func() { // commits, one after the other
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := s.Flush(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	go func() { // ends with the intents
		intents.Wait()
		close(done)
	}()
	root := must(os.OpenRoot(dir))(t)
	defer root.Close()
	checks, inJournals := 0, 0
	for over := false; !over; checks++ {
		select {
		case <-done:
			over = true
		default:
		}
		inJournals += lookFor(t, s, root, w.owner, safe[:])
	}
	flushes.Wait()
	if checks < 3 || inJournals == 0 {
		t.Errorf("%d checks saw %d records in journals: the test proves little", checks, inJournals)
	}
	if report := must(s.Verify(ctx))(t); report.Bad != nil || report.Records != callers*calls {
		t.Errorf("the report is %+v", report)
	}
}

// ticketNoise makes records of many lengths.
var ticketNoise atomic.Int64

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
