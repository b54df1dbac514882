package store

import (
	"bufio"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// killedInCalls returns a folder whose process was killed in the middle of the
// calls of helper mode "keys".
func killedInCalls(t *testing.T) (dir string) {
	t.Helper()
	dir = folder(t)
	kill, _ := startCalls(t, dir)
	kill()
	return dir
}

// startCalls starts a process in the middle of calls, and returns what kills it,
// and its id.
func startCalls(t *testing.T, dir string) (kill func(), id string) {
	t.Helper()
	cmd := helper(t, "keys", dir)
	in, out := must(cmd.StdinPipe())(t), must(cmd.StdoutPipe())(t)
	ok(t, cmd.Start())
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("it ended by itself")
	}
	for _, e := range must(os.ReadDir(filepath.Join(dir, ownersFolder)))(t) {
		id = e.Name() // the only one, where it matters
	}
	return func() {
		t.Helper()
		ok(t, cmd.Process.Kill())
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Fatalf("it was not killed: %v", err)
		}
		in.Close()
	}, id
}

// keysAre checks what the keys of a killed process are now.
func keysAre(t *testing.T, s *Store, want map[string]bridge.ReplyStatus) {
	t.Helper()
	for key, status := range want {
		got := must(s.Replies.Begin(t.Context(), "agent", key, "body"))(t)
		if got.Status != status {
			t.Errorf("the key %q is %s, want %s", key, got.Status, status)
		}
	}
}

// allUnknown returns the keys' states when nobody can tell what ran.
func allUnknown() map[string]bridge.ReplyStatus {
	want := map[string]bridge.ReplyStatus{}
	for key, status := range interrupted {
		if want[key] = bridge.ReplyUnknown; status == bridge.ReplyFinished {
			want[key] = status
		}
	}
	return want
}

// The file of a killed process says which of its calls began.
func TestKilledInCalls(t *testing.T) {
	t.Parallel()
	dir := killedInCalls(t)
	s := open(t, Options{Dir: dir})
	keysAre(t, s, interrupted)
	report := must(s.Verify(t.Context()))(t)
	if report.Bad != nil || report.Records != 7 || report.OpenCount != 1 || report.Open[0].Call != "begun" || report.Unsigned != 0 {
		t.Errorf("the report is %+v", report)
	}
	if owners := must(os.ReadDir(filepath.Join(dir, ownersFolder)))(t); len(owners) != 1 {
		t.Errorf("more than one owner is left: %v", owners)
	}
	if left := report.Others; len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// A process that dies while we run is settled by the first who asks for its key.
func TestAnOwnerThatDiesMeanwhile(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := open(t, Options{Dir: dir})
	kill, _ := startCalls(t, dir)
	if state := must(s.Replies.Begin(t.Context(), "agent", "begun", "body"))(t); state.Status != bridge.ReplyInFlight {
		t.Errorf("while it lives the claim is %s", state.Status)
	}
	kill()
	if state := must(s.Replies.Begin(t.Context(), "agent", "begun", "other"))(t); state.Status != bridge.ReplyOtherBody {
		t.Errorf("another body gets %s", state.Status)
	}
	keysAre(t, s, interrupted)
}

// When the file may not hold all that was written, every call may have run.
func TestNobodyKnowsWhatRan(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir, id string){
		"the machine started anew": func(t *testing.T, dir, id string) {
			t.Helper()
			ok(t, os.WriteFile(filepath.Join(dir, ownersFolder, id), []byte("another boot"), 0o600))
		},
		"the owner does not say when it began": func(t *testing.T, dir, id string) {
			t.Helper()
			ok(t, os.Truncate(filepath.Join(dir, ownersFolder, id), 0))
		},
		"the owner is gone": func(t *testing.T, dir, id string) {
			t.Helper()
			ok(t, os.Remove(filepath.Join(dir, ownersFolder, id)))
		},
		"its file is gone": remove("audit/ID-1.jsonl"),
		"its file is damaged": edit(1, func(lines []string) []string {
			return append(lines[:2], lines[3:]...)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			kill, id := startCalls(t, dir)
			kill()
			spoil(t, dir, id)
			keysAre(t, open(t, Options{Dir: dir}), allUnknown())
		})
	}
}

// Many processes settle a dead one at the same time, and one does it again after
// it was killed in the middle.
func TestOpenersAtTheSameMoment(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	kill, id := startCalls(t, dir)
	owner := filepath.Join(dir, ownersFolder, id)
	before := must(os.ReadFile(owner))(t)
	kill()
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
	ok(t, os.WriteFile(owner, before, 0o600)) // it was killed before it removed that
	s := open(t, Options{Dir: dir})
	keysAre(t, s, interrupted)
	report := must(s.Verify(t.Context()))(t)
	if report.Bad != nil || report.Records != 7+2*openers || report.OpenCount != 1 || report.Unsigned != 0 {
		t.Errorf("the report is %+v", report)
	}
}

// Verify takes nothing that is just happening for damage.
func TestVerifyWhileOthersWrite(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	reader := open(t, Options{Dir: dir})
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := range 12 {
				s, err := Open(ctx, Options{Dir: dir, Busy: time.Minute, CheckpointRecords: 3, maxPart: 2000})
				if err != nil {
					t.Error(err)
					return
				}
				for range 10 * (i % 4) {
					if _, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: "c"}); err != nil {
						t.Error(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { // ends with the writers
		all.Wait()
		close(done)
	}()
	for checks, over := 0, false; !over; checks++ {
		select {
		case <-done:
			over = true
		default:
		}
		report := must(reader.Verify(ctx))(t)
		if report.Bad != nil || over && (report.Records != 2*3*(10+20+30) || report.Unsigned != 0 || report.Torn != 0) {
			t.Fatalf("check %d: %+v, %d records", checks, report.Bad, report.Records)
		}
	}
}
