package store

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// raw opens the database as somebody else would.
func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(filepath.Join(dir, DatabaseFile), time.Second, "_txlock", "immediate"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestReopenKeepsEverything(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir})
	v := version("1.0.0", "a")
	ok(t, s.Versions.Append(ctx, "shop", v))
	g := must(s.Grants.Put(ctx, bridge.Grant{GrantUse: bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "buy", Digest: "d"}, GivenBy: "ann", GivenAt: v.LastSeen}))(t)
	ok(t, s.KnownTools.SetKnown(ctx, "shop", []bridge.KnownTool{{Tool: "buy"}}))
	done := must(s.Replies.Begin(ctx, "agent", "done", "b"))(t)
	ok(t, s.Replies.Finish(ctx, done.Claim, []byte("{}")))
	left := must(s.Replies.Begin(ctx, "agent", "left", "b"))(t)
	must(s.Replies.Begin(ctx, "agent", "not begun", "b"))(t)
	ticket := must(s.Audit.Intent(ctx, bridge.AuditRecord{Claim: left.Claim}))(t)
	ok(t, s.Audit.Outcome(ctx, ticket, bridge.AuditRecord{}))
	ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now(), Call: "c"}))
	ok(t, s.Close())

	s = open(t, Options{Dir: dir})
	if got := history(t, s.Versions, "shop"); !reflect.DeepEqual(got, []webtool.Record{v}) {
		t.Errorf("versions: %v", got)
	}
	if got := must(s.Grants.All(ctx))(t); !slices.Equal(got, []bridge.Grant{g}) {
		t.Errorf("grants: %v", got)
	}
	if got := must(s.KnownTools.Known(ctx, "shop"))(t); len(got) != 1 {
		t.Errorf("known tools: %v", got)
	}
	if got := must(s.Replies.Begin(ctx, "agent", "done", "b"))(t); got.Status != bridge.ReplyFinished || string(got.Reply) != "{}" {
		t.Errorf("the finished reply: %v", got)
	}
	if got := must(s.Replies.Begin(ctx, "agent", "left", "b"))(t); got.Status != bridge.ReplyUnknown || got.Claim != left.Claim {
		t.Errorf("the claim that was left: %v", got)
	}
	if got := must(s.Replies.Begin(ctx, "agent", "not begun", "b"))(t); got.Status != bridge.ReplyClaimed {
		t.Errorf("the claim of a call that did not begin: %v", got)
	}
	if got := must(s.Verify(ctx))(t); got.Bad != nil || got.Records != 2 || got.Checkpoints != 1 {
		t.Errorf("audit: %+v", got)
	}
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(got) != 1 || got[0].Call != "c" {
		t.Errorf("calls: %v", got)
	}
}

func TestKillInTheMiddleOfWritesLosesNothing(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	cmd := helper(t, "until-killed", dir)
	out := must(cmd.StdoutPipe())(t)
	ok(t, cmd.Start())
	said := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = must(strconv.Atoi(lines.Text()))(t)
		if said == 60 {
			ok(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || said < 60 {
		t.Fatalf("the writer ended by itself after %d: %v", said, err)
	}

	s := open(t, Options{Dir: dir})
	report := must(s.Verify(ctx))(t)
	// Two records each, of which the last outcome may be missing; and one more pair.
	if n := report.Records; report.Bad != nil || n < int64(2*said-1) || n > int64(2*said+2) || report.OpenCount > 1 {
		t.Errorf("after %d were safe: %+v", said, report)
	}
	if report.Unsigned != 0 || len(must(fs.Glob(os.DirFS(dir), auditFolder+"/*-*"))(t)) < 3 {
		t.Errorf("the end of the dead is not signed, or its file was never full: %+v", report)
	}
	// Whatever was said is there, and one more may be.
	for i := 1; i <= said; i++ {
		n := strconv.Itoa(i)
		if got := must(s.Versions.Load(ctx, "shop "+n))(t); len(got) != 1 {
			t.Errorf("version %d is lost", i)
		}
		if got := must(s.Replies.Begin(ctx, "agent", "key "+n, "body"))(t); got.Status != bridge.ReplyUnknown {
			t.Errorf("claim %d of the dead is %s", i, got.Status)
		}
	}
	// The dead owner is buried: only we are left.
	if owners := must(os.ReadDir(filepath.Join(dir, ownersFolder)))(t); len(owners) != 1 {
		t.Errorf("more than one owner is left: %v", owners)
	}
}

func TestTwoProcessesOnOneFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	type process struct {
		end   func() error
		lines *bufio.Scanner
	}
	var both []process
	for range 2 {
		cmd := helper(t, "claim", dir)
		in, out := must(cmd.StdinPipe())(t), must(cmd.StdoutPipe())(t)
		ok(t, cmd.Start())
		both = append(both, process{lines: bufio.NewScanner(out), end: func() error {
			_, err := in.Write([]byte("\n"))
			return errors.Join(err, cmd.Wait())
		}})
	}
	s := open(t, Options{Dir: dir})
	type claimed struct {
		by  int
		key string
	}
	claims := make(chan claimed)
	for i, p := range both {
		go func() { // ends with the process's output
			for p.lines.Scan() {
				claims <- claimed{i, p.lines.Text()}
			}
		}()
	}
	by := map[string]int{}
	for range contested + 2 {
		c := <-claims
		if c.key == claimsDone {
			continue
		}
		if _, twice := by[c.key]; twice {
			t.Errorf("key %s was claimed twice", c.key)
		}
		by[c.key] = c.by
	}
	for _, p := range both {
		ok(t, p.end())
	}
	report := must(s.Verify(t.Context()))(t)
	if report.Bad != nil || report.Records != 2*2*recorded || report.OpenCount != 0 || report.Checkpoints == 0 {
		t.Errorf("the chain of two: %+v", report)
	}
}

func TestFilesAreOurs(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, CheckpointRecords: 1})
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	ok(t, s.Versions.Append(ctx, "shop", version("1.0.0", "a")))
	ok(t, s.Flush(ctx))
	seen := map[string]bool{}
	ok(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		seen[e.Name()] = true
		return nil
	}))
	for _, name := range []string{DatabaseFile, DatabaseFile + "-wal", DatabaseFile + "-shm", keyFile, filepath.Base(listFile), auditFolder, ownersFolder} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestFoldersAndFilesOfOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	shared := t.TempDir()
	ok(t, os.Chmod(shared, 0o777))
	if os.Geteuid() == 0 {
		given := t.TempDir()
		if err := os.Chown(given, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, Options{Dir: given}); !errors.Is(err, ErrExposed) || !strings.Contains(err.Error(), "12345") {
			t.Errorf("a folder of another user is opened: %v", err)
		}
	}
	if _, err := Open(ctx, Options{Dir: shared}); !errors.Is(err, ErrExposed) {
		t.Errorf("a folder that others write to: %v", err)
	}
	for _, name := range []string{DatabaseFile, keyFile, auditFolder, ownersFolder} {
		dir, target := folder(t), filepath.Join(t.TempDir(), "target")
		ok(t, os.Mkdir(dir, 0o700))
		ok(t, os.Symlink(target, filepath.Join(dir, name)))
		if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, ErrExposed) {
			t.Errorf("a link in the place of %s: %v", name, err)
		}
		if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link in the place of %s was followed: %v", name, err)
		}
	}
	empty, full := t.TempDir(), t.TempDir()
	ok(t, os.Chmod(empty, 0o755))
	ok(t, os.Chmod(full, 0o755))
	ok(t, os.WriteFile(filepath.Join(full, "note"), nil, 0o644))
	for dir, want := range map[string]fs.FileMode{empty: 0o700, full: 0o755} {
		open(t, Options{Dir: dir})
		if got := must(os.Stat(dir))(t).Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", dir, got, want)
		}
	}
}

// Whoever else writes to the database keeps versions and claims waiting, and the
// audit not at all.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, Busy: 20 * time.Millisecond, maxPending: 4})
	tx := must(raw(t, dir).BeginTx(ctx, nil))(t)
	if err := s.Versions.Append(ctx, "shop", version("1.0.0", "a")); !errors.Is(err, ErrLocked) {
		t.Errorf("a version: %v", err)
	}
	if _, err := s.Replies.Begin(ctx, "agent", "k", "b"); !errors.Is(err, ErrLocked) {
		t.Errorf("a claim: %v", err)
	}
	ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now()}))
	if err := s.Flush(ctx); !errors.Is(err, ErrLocked) || !errors.Is(s.Audit.Healthy(), ErrLocked) {
		t.Errorf("flush: %v, health: %v", err, s.Audit.Healthy())
	}
	// Some more find place, in memory or in the queue, and then none does.
	for i := 0; ; i++ {
		err := s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now()})
		if err == nil && i < 8 {
			continue
		}
		if !errors.Is(err, ErrLocked) || i < 3 {
			t.Errorf("call %d while it is locked: %v", i, err)
		}
		break
	}
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if got := must(s.Versions.Load(ctx, "shop"))(t); len(got) != 0 {
		t.Errorf("reading: %v", got)
	}
	ok(t, tx.Rollback())
	ok(t, s.Flush(ctx))
	ok(t, s.Audit.Healthy())
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(got) < 4 {
		t.Errorf("%d calls are logged", len(got))
	}
}

func TestLockedWhileOpening(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	ok(t, os.Mkdir(dir, 0o700))
	db := raw(t, dir)
	tx := must(db.BeginTx(ctx, nil))(t)
	if _, err := Open(ctx, Options{Dir: dir, Busy: time.Millisecond}); !errors.Is(err, ErrLocked) {
		t.Errorf("opening: %v", err)
	}
	ok(t, tx.Rollback())
	ok(t, db.Close())
	open(t, Options{Dir: dir})
}

func TestWaitsForRoom(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, Busy: time.Minute, maxPending: 1})
	tx := must(raw(t, dir).BeginTx(ctx, nil))(t)
	const calls = 3 // one is being written, one is in the queue, one waits
	logged := make(chan error, calls)
	go func() {
		for range calls {
			logged <- s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now()})
		}
	}()
	for range calls - 1 {
		ok(t, <-logged)
	}
	select {
	case err := <-logged:
		t.Errorf("there was no room: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	ok(t, tx.Rollback())
	ok(t, <-logged)
}

func TestFullDatabase(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, maxPages: 64})
	safe := 0
	var err error
	for err == nil {
		ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now(), Session: strings.Repeat("s", maxText)}))
		if err = s.Flush(ctx); err == nil {
			safe++
		}
	}
	if !errors.Is(err, ErrFull) || !errors.Is(s.Audit.Healthy(), ErrFull) || safe == 0 {
		t.Errorf("after %d calls: %v, health: %v", safe, err, s.Audit.Healthy())
	}
	big := version("1.0.0", "a")
	big.Document = []byte(`"` + strings.Repeat("x", 100_000) + `"`)
	if err := s.Versions.Append(ctx, "shop", big); !errors.Is(err, ErrFull) {
		t.Errorf("a version: %v", err)
	}
	calls, isSQL := s.Calls.(*sqlCalls)
	if !isSQL {
		t.Fatal("another log of calls")
	}
	must(calls.db.w.ExecContext(ctx, "PRAGMA max_page_count = 100000"))(t)
	ok(t, s.Flush(ctx))
	ok(t, s.Audit.Healthy())
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{Limit: maxListed}))(t); len(got) != safe+1 {
		t.Errorf("%d calls are logged, want %d", len(got), safe+1)
	}
}

func TestDamagedFile(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	ctx := t.Context()
	dir := folder(t)
	ok(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, DatabaseFile)
	garbage := bytes.Repeat([]byte("this is no database "), 500)
	ok(t, os.WriteFile(path, garbage, 0o600))
	if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("opening garbage: %v", err)
	}
	if got := must(os.ReadFile(path))(t); !bytes.Equal(got, garbage) {
		t.Error("it was changed")
	}

	dir = folder(t)
	path = filepath.Join(dir, DatabaseFile)
	s := open(t, Options{Dir: dir})
	for i := range 200 {
		ok(t, s.Versions.Append(ctx, "shop", version(strconv.Itoa(i), "d"+strconv.Itoa(i))))
	}
	ok(t, s.Close())
	content := must(os.ReadFile(path))(t)
	half := len(content) / 2 / 4096 * 4096
	ok(t, os.WriteFile(path, append(content[:half:half], bytes.Repeat([]byte{0xff}, len(content)-half)...), 0o600))
	s, err := Open(ctx, Options{Dir: dir})
	if err == nil {
		_, err = s.Versions.Load(ctx, "shop")
		_ = s.Close() // it may fail, too
	}
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("reading damaged pages: %v", err)
	}
}

// TestOtherVersion: the database of another version, earlier or later, is refused and not changed.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	ok(t, open(t, Options{Dir: dir}).Close())
	for _, other := range []int{withoutHomes - 1, 99, -1} {
		db := raw(t, dir)
		must(db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", other)))(t)
		ok(t, db.Close())
		before := must(os.ReadFile(filepath.Join(dir, DatabaseFile)))(t)
		if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, ErrVersion) ||
			!strings.Contains(err.Error(), fmt.Sprintf("its schema is %d,", other)) {
			t.Errorf("opening version %d: %v", other, err)
		}
		if after := must(os.ReadFile(filepath.Join(dir, DatabaseFile)))(t); !bytes.Equal(before, after) {
			t.Errorf("that of version %d was changed", other)
		}
	}
}

// TestVersionBefore: a database of a version before gets the tables that it lacks, and keeps what
// it has.
func TestVersionBefore(t *testing.T) {
	t.Parallel()
	const signIn = "DROP TABLE clients; DROP TABLE connections; DROP TABLE secrets; DROP TABLE browsers; "
	const logins = "DROP TABLE logins; "
	versionBefore(t, withoutLogins, logins)
	versionBefore(t, withoutSignIn, logins+signIn)
	versionBefore(t, withoutHomes, logins+signIn+"DROP TABLE homes; DROP TABLE ended; ")
}

func versionBefore(t *testing.T, version int, lacks string) {
	t.Helper()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir})
	given := must(s.Grants.Put(ctx, bridge.Grant{GrantUse: bridge.GrantUse{Caller: "ada", Site: "shop", Tool: "buy", Digest: "d"}, GivenBy: "ada", GivenAt: time.Now()}))(t)
	ok(t, s.Close())
	db := raw(t, dir)
	must(db.ExecContext(ctx, fmt.Sprintf("%sPRAGMA user_version = %d", lacks, version)))(t)
	ok(t, db.Close())
	s = open(t, Options{Dir: dir})
	must(s.Homes.Open(ctx, bridge.SessionName{Caller: "ada", Site: "shop", ID: "s"}))(t)
	ok(t, s.Clients.Register(ctx, bridge.Client{ID: "c", At: time.Now()}))
	ok(t, s.Logins.Begin(ctx, bridge.Login{ID: "l", Since: time.Now(), Until: time.Now().Add(time.Hour)}, bridge.Digest{1}))
	if all := must(s.Grants.All(ctx))(t); len(all) != 1 || all[0].ID != given.ID {
		t.Errorf("the grants are %v", all)
	}
	ok(t, s.Close())
}

// TestHalfASchema: tables are made whole or not at all.
func TestHalfASchema(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	ok(t, os.Mkdir(dir, 0o700))
	db := raw(t, dir)
	must(db.ExecContext(ctx, "CREATE TABLE calls (x)"))(t) // the last of ours
	if s, err := Open(ctx, Options{Dir: dir}); err == nil {
		s.Close()
		t.Fatal("it opens beside a table of the same name")
	}
	var tables int
	ok(t, db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables))
	if tables != 1 {
		t.Errorf("%d tables and indices are left", tables)
	}
	must(db.ExecContext(ctx, "DROP TABLE calls"))(t)
	open(t, Options{Dir: dir})
}
