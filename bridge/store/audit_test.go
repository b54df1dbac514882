package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// written makes a folder with 25 records and checkpoints at 10, 20 and 25.
func written(t *testing.T) string {
	t.Helper()
	dir := folder(t)
	s := open(t, Options{Dir: dir, CheckpointRecords: 10})
	for i := range 25 {
		must(s.Audit.Intent(t.Context(), bridge.AuditRecord{Call: strconv.Itoa(i + 1), Site: "shop"}))(t)
		ok(t, s.Flush(t.Context()))
	}
	ok(t, s.Close())
	return dir
}

func run(statements ...string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		db := raw(t, dir)
		for _, statement := range statements {
			res := must(db.ExecContext(t.Context(), statement))(t)
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				t.Fatalf("%s changed nothing: %v", statement, err)
			}
		}
		ok(t, db.Close())
	}
}

// rewrite changes record 12, and links everything after it anew, as somebody
// who knows the format would.
func rewrite(t *testing.T, dir string) {
	t.Helper()
	db := raw(t, dir)
	end := chain{seq: 11}
	var hash []byte
	ok(t, db.QueryRowContext(t.Context(), "SELECT hash FROM audit WHERE seq = 11").Scan(&hash))
	copy(end.hash[:], hash)
	for seq := 12; seq <= 25; seq++ {
		var record string
		ok(t, db.QueryRowContext(t.Context(), "SELECT record FROM audit WHERE seq = ?", seq).Scan(&record))
		if seq == 12 {
			record = strings.Replace(record, "shop", "bank", 1)
		}
		end.hash = end.link([]byte(record))
		must(db.ExecContext(t.Context(), "UPDATE audit SET record = ?, hash = ? WHERE seq = ?", record, end.hash[:], seq))(t)
	}
	ok(t, db.Close())
}

// forge replaces a checkpoint of the table by one that another key signed.
func forge(t *testing.T, dir string) {
	t.Helper()
	other := must(os.OpenRoot(t.TempDir()))(t)
	defer other.Close()
	forger := must(openSigner(other, "forger"))(t)
	db := raw(t, dir)
	var hash []byte
	ok(t, db.QueryRowContext(t.Context(), "SELECT hash FROM audit WHERE seq = 20").Scan(&hash))
	end := chain{seq: 20}
	copy(end.hash[:], hash)
	line := must(forger.sign(end, time.Now()))(t)
	must(db.ExecContext(t.Context(), "UPDATE checkpoints SET line = ? WHERE seq = 20", line))(t)
	ok(t, db.Close())
}

func editFile(name, from, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		content := must(os.ReadFile(path))(t)
		if !bytes.Contains(content, []byte(from)) {
			t.Fatalf("%s has no %q", name, from)
		}
		ok(t, os.WriteFile(path, bytes.Replace(content, []byte(from), []byte(to), 1), 0o600))
	}
}

func TestTampering(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tamper  func(*testing.T, string)
		seq     int64
		problem Problem
	}{
		"nothing":                 {func(*testing.T, string) {}, 0, ""},
		"record altered":          {run(`UPDATE audit SET record = replace(record, 'shop', 'bank') WHERE seq = 7`), 7, Altered},
		"record garbled":          {run(`UPDATE audit SET record = 'x' WHERE seq = 7`), 7, Altered},
		"hash altered":            {run(`UPDATE audit SET hash = zeroblob(32) WHERE seq = 8`), 8, Altered},
		"hash shortened":          {run(`UPDATE audit SET hash = x'00' WHERE seq = 25`), 25, Altered},
		"record deleted":          {run(`DELETE FROM audit WHERE seq = 9`), 9, Missing},
		"first deleted":           {run(`DELETE FROM audit WHERE seq = 1`), 1, Missing},
		"gap closed":              {run(`DELETE FROM audit WHERE seq = 9`, `UPDATE audit SET seq = seq - 1 WHERE seq > 9`), 9, Reordered},
		"swapped":                 {run(`UPDATE audit SET seq = -1 WHERE seq = 5`, `UPDATE audit SET seq = 5 WHERE seq = 6`, `UPDATE audit SET seq = 6 WHERE seq = -1`), 5, Reordered},
		"inserted":                {run(`INSERT INTO audit SELECT 26, replace(record, '"seq":25', '"seq":26'), hash FROM audit WHERE seq = 25`), 26, Altered},
		"end cut":                 {run(`DELETE FROM audit WHERE seq > 22`), 23, Truncated},
		"end and checkpoints cut": {run(`DELETE FROM audit WHERE seq > 12`, `DELETE FROM checkpoints WHERE seq > 12`), 13, Truncated},
		"everything cut":          {run(`DELETE FROM audit`, `DELETE FROM checkpoints`), 1, Truncated},
		"rewritten":               {rewrite, 20, Altered},
		"checkpoint forged":       {forge, 20, Signature},
		"signature altered":       {run(`UPDATE checkpoints SET line = replace(line, '"signature":"', '"signature":"AAAA') WHERE seq = 10`), 10, Signature},
		"checkpoint renumbered":   {run(`UPDATE checkpoints SET seq = 11 WHERE seq = 10`), 11, Signature},
		"line of the file":        {editFile(checkpointsFile, `"seq":10`, `"seq":11`), 11, Signature},
		"line after the end":      {editFile(checkpointsFile, `"seq":25`, `"seq":90`), 90, Signature},
		"key replaced": {func(t *testing.T, dir string) {
			ok(t, os.Remove(filepath.Join(dir, keyFile)))
		}, 10, Signature},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := written(t)
			test.tamper(t, dir)
			s := open(t, Options{Dir: dir})
			report := must(s.Verify(t.Context()))(t)
			switch {
			case test.problem == "":
				if report.Bad != nil || report.Records != 25 || report.Checkpoints != 3 || report.OpenCount != 25 {
					t.Errorf("untouched, the report is %+v", report)
				}
			case report.Bad == nil || report.Bad.Seq != test.seq || report.Bad.Problem != test.problem:
				t.Errorf("found %+v, want %s at %d", report.Bad, test.problem, test.seq)
			case report.Bad.Detail == "":
				t.Error("it does not say what is wrong")
			}
		})
	}
}

// The end of the file can be lost with the end of the database. A copy of a
// line elsewhere shows it.
func TestCopyOfACheckpointShowsTruncation(t *testing.T) {
	t.Parallel()
	dir := written(t)
	path := filepath.Join(dir, checkpointsFile)
	content := must(os.ReadFile(path))(t)
	lines := strings.SplitAfter(string(content), "\n")
	run(`DELETE FROM audit WHERE seq > 20`, `DELETE FROM checkpoints WHERE seq > 20`)(t, dir)
	ok(t, os.WriteFile(path, []byte(strings.Join(lines[:3], "")), 0o600))
	s := open(t, Options{Dir: dir})
	if report := must(s.Verify(t.Context()))(t); report.Bad != nil {
		t.Fatalf("without the copy nothing can be seen, but: %+v", report.Bad)
	}
	ok(t, s.Close())
	ok(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
	s = open(t, Options{Dir: dir})
	if report := must(s.Verify(t.Context()))(t); report.Bad == nil || report.Bad.Problem != Truncated || report.Bad.Seq != 21 {
		t.Errorf("with the copy: %+v", report.Bad)
	}
}

// A process that was killed between the database and the file leaves a
// checkpoint to publish, and one that a full disk stopped leaves half a line.
func TestCheckpointsAreCaughtUp(t *testing.T) {
	t.Parallel()
	dir := written(t)
	path := filepath.Join(dir, checkpointsFile)
	content := must(os.ReadFile(path))(t)
	ok(t, os.WriteFile(path, content[:len(content)-100], 0o600))
	s := open(t, Options{Dir: dir})
	report := must(s.Verify(t.Context()))(t)
	if report.Bad != nil || report.Checkpoints != 3 || report.Torn != 1 {
		t.Errorf("the report is %+v", report)
	}
	if got := must(os.ReadFile(path))(t); !strings.Contains(string(got), "\n"+lastLine(string(content))) {
		t.Errorf("the last checkpoint is not in the file:\n%s", got)
	}
}

func lastLine(s string) string {
	lines := strings.SplitAfter(s, "\n")
	return lines[len(lines)-2]
}

// A file that cannot be written is an error that stays until it can.
func TestCheckpointFileFails(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, CheckpointRecords: 2})
	path := filepath.Join(dir, checkpointsFile)
	ok(t, os.Rename(path, path+".away"))
	ok(t, os.Mkdir(path, 0o700))
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if err := s.Flush(ctx); err == nil || s.Audit.Healthy() == nil {
		t.Errorf("flush: %v, health: %v", err, s.Audit.Healthy())
	}
	ok(t, os.Remove(path))
	ok(t, os.Rename(path+".away", path))
	ok(t, s.Flush(ctx))
	ok(t, s.Audit.Healthy())
	if report := must(s.Verify(ctx))(t); report.Bad != nil || report.Records != 2 || report.Checkpoints != 1 {
		t.Errorf("the report is %+v", report)
	}
}

// Nobody waits, nothing is closed, and the record is written and signed.
func TestRecordsFollowByThemselves(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, CheckpointEvery: 10 * time.Millisecond})
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Call: "c"}))(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		report := must(s.Verify(ctx))(t)
		if report.Records == 1 && report.Checkpoints == 1 {
			return
		}
		select {
		case <-tick.C:
		case <-time.After(30 * time.Second):
			t.Fatalf("the report is %+v", report)
		}
	}
}

func TestAWaiterGivesUp(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := open(t, Options{Dir: dir, Busy: time.Minute})
	tx := must(raw(t, dir).BeginTx(t.Context(), nil))(t)
	full(t, s)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the client left")
	cancel(reason)
	if _, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}); !errors.Is(err, reason) {
		t.Errorf("the waiter got %v", err)
	}
	ok(t, tx.Rollback())
	ok(t, s.Flush(t.Context()))
	if report := must(s.Verify(t.Context()))(t); report.Records != 1 {
		t.Errorf("its record is lost: %+v", report)
	}
}

// The log is pruned in the background, in the file as well.
func TestCallsArePruned(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, MaxCalls: 100})
	for range 2 * pruneEvery {
		ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now()}))
	}
	ok(t, s.Close()) // what is left
	s = open(t, Options{Dir: dir, MaxCalls: 100})
	ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now()}))
	db := raw(t, dir)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		var n int
		ok(t, db.QueryRowContext(ctx, "SELECT count(*) FROM calls").Scan(&n))
		if n == 100 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d calls are kept", n)
		}
	}
}

// What a record must look like for ever: a change of these bytes makes every
// audit that exists fail.
func TestFormatOfRecords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	var end chain
	e := entry{kind: kindIntent, ticket: 3, at: at, record: bridge.AuditRecord{
		Wait: true, Call: "c", Caller: "agent", Site: "shop", Tool: "buy<", Arguments: "ab", ArgumentBytes: 7,
	}}
	record := end.seal(e.row("o", at.Add(-time.Second)))
	const want = `{"argumentBytes":7,"arguments":"ab","call":"c","caller":"agent","kind":"intent","mono":1000000000,"owner":"o","seq":1,"site":"shop","ticket":3,"time":"2026-11-21T12:00:00.000000005Z","tool":"buy<"}`
	if string(record) != want {
		t.Errorf("got  %s\nwant %s", record, want)
	}
	const hash = "c5f1d51c09bad141fa6447235a14e87ca479e74f81917ccc76c4c32e445c39f0"
	if got := hex.EncodeToString(end.hash[:]); got != hash {
		t.Errorf("the hash is %s, want %s", got, hash)
	}
}

// TestRecordsAreCanonical holds the encoder to the general one, so that a member
// that is added in the wrong place is found.
func TestRecordsAreCanonical(t *testing.T) {
	t.Parallel()
	full := reflect.TypeFor[auditRow]()
	rapid.Check(t, func(t *rapid.T) {
		var r auditRow
		for i := range full.NumField() {
			field := reflect.ValueOf(&r).Elem().Field(i)
			if !rapid.Bool().Draw(t, full.Field(i).Name) {
				continue
			}
			switch field.Kind() {
			case reflect.String:
				field.SetString(clip(rapid.String().Draw(t, "text")))
			case reflect.Int64:
				field.SetInt(rapid.Int64().Draw(t, "number"))
			default:
				t.Fatalf("the encoder knows no %s", field.Kind())
			}
		}
		plain, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		want, err := schema.Canonical(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.appendTo(nil); string(got) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestClip(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "a\xffb": "a\uFFFDb", strings.Repeat("a", 513): strings.Repeat("a", 512),
		strings.Repeat("a", 511) + "ä": strings.Repeat("a", 511), strings.Repeat("a", 510) + "äx": strings.Repeat("a", 510) + "ä",
	} {
		if got := clip(in); got != want {
			t.Errorf("clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte(`{"seq":1,"kind":"intent","owner":"o","ticket":1,"time":"t","mono":0}`))
	f.Add([]byte(`{"seq":1,"seq":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRow(b)
		if err != nil {
			return
		}
		again := must(decodeRow(r.appendTo(nil)))(t)
		if *again != *r {
			t.Errorf("%+v became %+v", r, again)
		}
	})
}

func FuzzDecodeCheckpoint(f *testing.F) {
	f.Add([]byte(`{"seq":1,"hash":"00","time":"t","key":"k","signature":"s"}`))
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	s, err := openSigner(root, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	own, err := s.sign(chain{seq: 1}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(own))
	signed, err := decodeCheckpoint([]byte(own))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCheckpoint(b)
		if err == nil && s.signed(c) && (c.Seq != signed.Seq || c.Hash != signed.Hash || c.Time != signed.Time) {
			t.Errorf("nobody signed %s", b)
		}
	})
}
