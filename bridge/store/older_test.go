package store

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const olderOwner = "00112233445566778899aabbccddeeff"

// older makes a folder as a pagetools left it that had the audit in its database:
// with an owner that was killed.
func older(t *testing.T) (dir string) {
	t.Helper()
	dir = folder(t)
	ok(t, os.MkdirAll(filepath.Join(dir, ownersFolder), 0o700))
	db := raw(t, dir)
	must(db.ExecContext(t.Context(), "PRAGMA journal_mode = WAL"))(t)
	must(db.ExecContext(t.Context(), migrations[0].sql+`
		PRAGMA user_version = 1;
		INSERT INTO versions (webtool, version, digest, document, first_seen, last_seen) VALUES ('shop', '1.0.0', 'd', x'7b7d', 1, 2);
		INSERT INTO grants (id, caller, site, tool, digest, arguments, scope, given_by, given_at, expires_at) VALUES
			('tool', 'agent', 'shop', 'buy', 'd', '', 'tool', 'ann', 1, 0),
			('narrow', 'agent', 'shop', 'sell', 'd', 'a', 'arguments', 'ann', 1, 0),
			('short', 'agent', 'shop', 'look', 'd', '', 'tool', 'ann', 1, 9223372036854775807);
		INSERT INTO known_tools (site, tool, digest, seen_by, seen_at) VALUES ('shop', 'buy', 'd', 'ann', 1);
		INSERT INTO calls (at, site, tool, caller, outcome, record) VALUES (1, 'shop', 'buy', 'agent', 'ok', '{"Call":"c"}');
		INSERT INTO audit (seq, record, hash) VALUES (1, '{"kind":"intent","seq":1}', x'aa'), (2, '{"kind":"outcome","seq":2}', x'bb');
		INSERT INTO checkpoints (seq, line) VALUES (2, '{"seq":2,"key":"k"}');`))(t)
	now := time.Now().UnixNano()
	must(db.ExecContext(t.Context(), `INSERT INTO replies (claim, caller, key, body_digest, owner, state, claimed_at, status, header, body, size) VALUES
		('1', 'agent', 'done', 'b', ?1, 'finished', ?2, 200, x'7b7d', x'7b2264617461223a317d', 11), ('2', 'agent', 'left', 'b', ?1, 'in_flight', ?2, 0, NULL, NULL, 0)`,
		olderOwner, now))(t)
	ok(t, db.Close())
	for name, content := range map[string]string{
		ownersFolder + "/" + olderOwner: "", ownersFolder + "/" + olderOwner + ".journal.0": "PTJ1...", "audit.checkpoints": `{"seq":2,"key":"k"}` + "\n",
	} {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// A folder of an older pagetools opens, with everything that was kept.
func TestOlderFolder(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), older(t)
	s := open(t, Options{Dir: dir, CallAge: 100 * 365 * 24 * time.Hour})
	if got := must(s.Versions.Load(ctx, "shop"))(t); len(got) != 1 || got[0].Digest != "d" || got[0].LastSeen.UnixNano() != 2 {
		t.Errorf("versions: %v", got)
	}
	if _, found, err := s.Grants.Find(ctx, bridge.GrantUse{Caller: "agent", Credential: "c", Site: "shop", Tool: "buy", Digest: "d"}); found || err != nil {
		t.Errorf("a grant of before credentials were noted covers one: %v", err)
	}
	// A grant that covered less than a tool does not cover more now.
	if got := must(s.Grants.All(ctx))(t); len(got) != 1 || got[0].ID != "tool" || got[0].GivenBy != "ann" {
		t.Errorf("grants: %v", got)
	}
	if got := must(s.KnownTools.Known(ctx, "shop"))(t); len(got) != 1 || got[0].Tool != "buy" {
		t.Errorf("known tools: %v", got)
	}
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(got) != 1 || got[0].Call != "c" {
		t.Errorf("calls: %v", got)
	}
	if got := must(s.Replies.Begin(ctx, "agent", "done", "b"))(t); got.Status != bridge.ReplyFinished || string(got.Reply) != `{"data":1}` {
		t.Errorf("the finished reply: %v", got)
	}
	if got := must(s.Replies.Begin(ctx, "agent", "left", "b"))(t); got.Status != bridge.ReplyUnknown {
		t.Errorf("the claim of the killed owner: %v", got)
	}
	report := must(s.Verify(ctx))(t)
	if report.Bad != nil || report.Records != 0 || strings.Join(report.Others, " ") != olderOwner+".journal.0 before-files.jsonl" {
		t.Errorf("the report is %+v", report)
	}
	const want = `{"kind":"intent","seq":1,"hash":"aa"}` + "\n" + `{"kind":"outcome","seq":2,"hash":"bb"}` + "\n" + `{"seq":2,"key":"k"}` + "\n"
	if got := must(os.ReadFile(filepath.Join(dir, olderAudit)))(t); string(got) != want {
		t.Errorf("the older audit is\n%s, want\n%s", got, want)
	}
	if info := must(os.Stat(filepath.Join(dir, olderAudit)))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	var tables int
	ok(t, raw(t, dir).QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('audit', 'checkpoints')").Scan(&tables))
	if tables != 0 {
		t.Error("the audit is in the database, too")
	}
}

// While an older pagetools writes into its audit, nobody moves it.
func TestOlderProcessRuns(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), older(t)
	running := must(os.Open(filepath.Join(dir, ownersFolder, olderOwner)))(t)
	ok(t, syscall.Flock(int(running.Fd()), syscall.LOCK_EX))
	if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "older pagetools") {
		t.Errorf("opening: %v", err)
	}
	var records int
	ok(t, raw(t, dir).QueryRowContext(ctx, "SELECT count(*) FROM audit").Scan(&records))
	if _, err := os.Stat(filepath.Join(dir, olderAudit)); records != 2 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%d records are left in the database: %v", records, err)
	}
	running.Close()
	open(t, Options{Dir: dir})
}

// A migration that is cut off begins again: nothing is lost, nothing is doubled.
func TestOlderAuditIsMovedOnce(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), older(t)
	root := must(os.OpenRoot(dir))(t)
	defer root.Close()
	ok(t, root.Mkdir(auditFolder, 0o700))
	tx := must(raw(t, dir).BeginTx(ctx, &sql.TxOptions{}))(t)
	ok(t, keepOlderAudit(ctx, tx, root))
	ok(t, tx.Rollback()) // killed before the commit
	before := must(os.ReadFile(filepath.Join(dir, olderAudit)))(t)
	open(t, Options{Dir: dir})
	if got := must(os.ReadFile(filepath.Join(dir, olderAudit)))(t); string(got) != string(before) || len(got) == 0 {
		t.Errorf("it became %s, and was %s", got, before)
	}
}

// A folder of a development version, which counted the bytes of versions in its third step or not
// at all, takes further versions.
func TestOlderThirdStep(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"", "DROP TRIGGER versions_added; DROP TRIGGER versions_removed; DROP TABLE version_bytes;"} {
		dir := folder(t)
		s, err := Open(t.Context(), Options{Dir: dir})
		ok(t, err)
		ok(t, s.Versions.Append(t.Context(), "shop/buy", version("1.0.0", "a")))
		ok(t, s.Close())
		must(raw(t, dir).ExecContext(t.Context(), without+"PRAGMA user_version = 3"))(t)
		again := open(t, Options{Dir: dir})
		ok(t, again.Versions.Append(t.Context(), "shop/buy", version("1.0.1", "b")))
		var counted, there int
		ok(t, raw(t, dir).QueryRowContext(t.Context(), "SELECT (SELECT bytes FROM version_bytes), (SELECT sum(length(document)) FROM versions)").Scan(&counted, &there))
		if counted != there || there == 0 {
			t.Errorf("%d bytes are counted, and there are %d", counted, there)
		}
	}
}
