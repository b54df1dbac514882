package store

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// writeRelease writes what the store of a release keeps, before it is cut:
//
//	go test ./bridge/store -run TestDataOfReleases -release v1.2.3
var writeRelease = flag.String("release", "", "write the data of this release, such as v1.2.3, into testdata/schema")

// releaseTime says when the calls of the data were made: it is never too old for what is kept.
var releaseTime = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func releaseOptions(dir string) Options {
	return Options{Dir: dir, Now: func() time.Time { return releaseTime }}
}

// TestDataOfReleases opens the data that each release left, and finds versions, consent, replies,
// the log and the audit in it. testdata/schema/vX.Y.Z.sql has the database; the folder beside it,
// the files of the audit, with a key that nothing else uses.
func TestDataOfReleases(t *testing.T) {
	t.Parallel()
	if *writeRelease != "" {
		saveRelease(t, filepath.Join("testdata", "schema", *writeRelease))
	}
	dumps := must(filepath.Glob("testdata/schema/v*.sql"))(t)
	if len(dumps) == 0 {
		t.Fatal("there is no data of any release")
	}
	for _, dump := range dumps {
		t.Run(filepath.Base(dump), func(t *testing.T) {
			t.Parallel()
			ctx, dir := t.Context(), folder(t)
			restore(t, dump, dir)
			s := open(t, releaseOptions(dir))
			checkReleased(t, s)
			// It goes on from there.
			must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: "2", Site: "shop"}))(t)
			ok(t, s.Versions.Append(ctx, "shop", version("2.0.0", "b")))
			ok(t, s.Close())
			s = open(t, releaseOptions(dir))
			if report := must(s.Verify(ctx))(t); report.Bad != nil || report.Records != 3 {
				t.Errorf("after a call more, the audit is %+v", report)
			}
			checkReleased(t, s)
			ok(t, s.Close())
		})
	}
}

// checkReleased finds what keepReleased kept.
func checkReleased(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	if got := string(must(s.Versions.Document(ctx, "shop", "1.0.0"))(t)); got != string(version("1.0.0", "a").Document) {
		t.Errorf("version 1.0.0 is %q", got)
	}
	if all := must(s.Grants.All(ctx))(t); len(all) != 1 || all[0].GrantUse != releasedUse || !all[0].GivenAt.Equal(releaseTime) {
		t.Errorf("the consent is %+v", all)
	}
	if known := must(s.KnownTools.Known(ctx, "shop"))(t); len(known) != 1 || known[0].Tool != "buy" {
		t.Errorf("the tools that a person has seen are %+v", known)
	}
	if !must(s.Taints.Tainted(ctx, "ada", "https://bank.example", releaseTime))(t) {
		t.Error("nobody knows what the caller read")
	}
	if state := must(s.Replies.Begin(ctx, "ada", "key", "body"))(t); state.Status != bridge.ReplyFinished || string(state.Reply) != `{"ok":1}` {
		t.Errorf("the reply to repeat is %+v", state)
	}
	if calls := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(calls) != 1 || calls[0].Call != "1" || calls[0].Outcome != "ok" {
		t.Errorf("the log is %+v", calls)
	}
	if report := must(s.Verify(ctx))(t); report.Bad != nil || report.Records < 2 {
		t.Errorf("the audit is %+v", report)
	}
}

var releasedUse = bridge.GrantUse{Caller: "ada", Site: "shop", Tool: "buy", Digest: "d", Credential: "c"}

func keepReleased(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	ok(t, s.Versions.Append(ctx, "shop", version("1.0.0", "a")))
	must(s.Grants.Put(ctx, bridge.Grant{GrantUse: releasedUse, GivenBy: "ada", GivenAt: releaseTime}))(t)
	ok(t, s.KnownTools.SetKnown(ctx, "shop", []bridge.KnownTool{{Tool: "buy", SeenAt: releaseTime}}))
	ok(t, s.Taints.Taint(ctx, "ada", "https://shop.example", releaseTime.Add(time.Hour)))
	claim := must(s.Replies.Begin(ctx, "ada", "key", "body"))(t).Claim
	ok(t, s.Replies.Finish(ctx, claim, []byte(`{"ok":1}`)))
	ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: releaseTime, Call: "1", Site: "shop", Tool: "buy", Caller: "ada", Outcome: "ok"}))
	ticket := must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: "1", Site: "shop", Tool: "buy", Caller: "ada"}))(t)
	ok(t, s.Audit.Outcome(ctx, ticket, bridge.AuditRecord{Wait: true, Call: "1", Outcome: "ok"}))
	ok(t, s.Flush(ctx))
}

// restore makes a data folder of what a release left.
func restore(t *testing.T, dump, dir string) {
	t.Helper()
	ok(t, os.CopyFS(dir, os.DirFS(strings.TrimSuffix(dump, ".sql"))))
	for _, path := range []string{dir, filepath.Join(dir, auditFolder)} {
		ok(t, os.Chmod(path, 0o700))
	}
	for _, path := range append(must(filepath.Glob(filepath.Join(dir, auditFolder, "*")))(t), filepath.Join(dir, keyFile)) {
		ok(t, os.Chmod(path, 0o600))
	}
	db := raw(t, dir)
	must(db.ExecContext(t.Context(), string(must(os.ReadFile(dump))(t))))(t)
	ok(t, db.Close())
}

// saveRelease writes the data of the present version, as a release leaves it.
func saveRelease(t *testing.T, to string) {
	t.Helper()
	ctx, dir := t.Context(), folder(t)
	s := open(t, releaseOptions(dir))
	keepReleased(t, s)
	checkReleased(t, s)
	ok(t, s.Close())
	db := raw(t, dir)
	ok(t, os.MkdirAll(filepath.Dir(to), 0o755))
	ok(t, os.WriteFile(to+".sql", []byte(dumpOf(ctx, t, db)), 0o644))
	ok(t, db.Close())
	ok(t, os.RemoveAll(to))
	ok(t, os.MkdirAll(to, 0o755))
	ok(t, os.CopyFS(filepath.Join(to, auditFolder), os.DirFS(filepath.Join(dir, auditFolder))))
	ok(t, os.WriteFile(filepath.Join(to, keyFile), must(os.ReadFile(filepath.Join(dir, keyFile)))(t), 0o600))
}

// dumpOf returns the statements that make the database anew: tables, rows, then what rows start.
func dumpOf(ctx context.Context, t *testing.T, db *sql.DB) string {
	t.Helper()
	var out, after strings.Builder
	rows := must(db.QueryContext(ctx, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"))(t)
	defer rows.Close()
	type object struct{ kind, name, sql string }
	var all []object
	for rows.Next() {
		var o object
		ok(t, rows.Scan(&o.kind, &o.name, &o.sql))
		all = append(all, o)
	}
	ok(t, rows.Err())
	tables := []string{"sqlite_sequence"} // SQLite makes it with the first table that counts
	for _, o := range all {
		switch {
		case o.kind != "table":
			after.WriteString(o.sql + ";\n")
		case !strings.HasPrefix(o.name, "sqlite_"):
			out.WriteString(o.sql + ";\n")
			tables = append(tables, o.name)
		}
	}
	for _, name := range tables {
		out.WriteString(rowsOf(ctx, t, db, name))
	}
	var version int
	ok(t, db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version))
	return out.String() + after.String() + fmt.Sprintf("PRAGMA user_version = %d;\n", version)
}

// rowsOf returns the statements that fill a table.
func rowsOf(ctx context.Context, t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	var columns []string
	names := must(db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table))(t)
	defer names.Close()
	for names.Next() {
		var name string
		ok(t, names.Scan(&name))
		columns = append(columns, `quote("`+name+`")`)
	}
	ok(t, names.Err())
	var out strings.Builder
	values := must(db.QueryContext(ctx, "SELECT "+strings.Join(columns, " || ', ' || ")+" FROM "+table))(t)
	defer values.Close()
	for values.Next() {
		var row string
		ok(t, values.Scan(&row))
		out.WriteString("INSERT INTO " + table + " VALUES (" + row + ");\n")
	}
	ok(t, values.Err())
	return out.String()
}
