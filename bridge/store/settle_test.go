package store

import (
	"bufio"
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
		"before anything is removed": "none", "after the first": ".journal.0", "after the second": ".journal.1", "after both": ".journal.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, left := killedBeforeCommit(t)
			ok(t, open(t, Options{Dir: dir}).Close())
			maps.DeleteFunc(left, func(file string, _ []byte) bool { return strings.Contains(file, lost) })
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
