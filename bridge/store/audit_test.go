package store

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// written makes a folder with one chain of 25 records in three files, with marks
// at 5, 10, 15, 20 and 25. It returns the chain's id.
func written(t *testing.T) (dir, id string) {
	t.Helper()
	dir = folder(t)
	return dir, writeMore(t, dir)
}

// writeMore adds a chain like that of written.
func writeMore(t *testing.T, dir string) (id string) {
	t.Helper()
	s := open(t, Options{Dir: dir, CheckpointRecords: 5, maxPart: 2500})
	for i := range 25 {
		must(s.Audit.Intent(t.Context(), bridge.AuditRecord{Call: strconv.Itoa(i + 1), Site: "shop"}))(t)
		ok(t, s.Flush(t.Context()))
	}
	id = journalOf(t, s).id
	ok(t, s.Close())
	return id
}

// verified opens the folder and verifies its audit.
func verified(t *testing.T, dir string) Report {
	t.Helper()
	s := open(t, Options{Dir: dir})
	report := must(s.Verify(t.Context()))(t)
	ok(t, s.Close())
	return report
}

// edit changes the lines of a file of a chain.
func edit(part int, change func(lines []string) []string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, id string) {
		t.Helper()
		path := filepath.Join(dir, partName(id, part))
		lines := strings.SplitAfter(string(must(os.ReadFile(path))(t)), "\n")
		ok(t, os.WriteFile(path, []byte(strings.Join(change(lines), "")), 0o600))
	}
}

// lineOf returns where the record with this number is.
func lineOf(lines []string, seq int) int {
	return slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, fmt.Sprintf(`{"seq":%d,`, seq)) })
}

func replace(part, seq int, from, to string) func(*testing.T, string, string) {
	return edit(part, func(lines []string) []string {
		i := lineOf(lines, seq)
		lines[i] = strings.Replace(lines[i], from, to, 1)
		return lines
	})
}

func remove(names ...string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, id string) {
		t.Helper()
		for _, name := range names {
			ok(t, os.Remove(filepath.Join(dir, strings.ReplaceAll(name, "ID", id))))
		}
	}
}

// rewrite changes a record, and links everything after it anew, as somebody who
// knows the format and has no key would. With marks, it takes out the marks of
// the file that do not agree.
func rewrite(marks bool) func(*testing.T, string, string) {
	return edit(3, func(lines []string) []string {
		var end chain
		var first mark
		if json.Unmarshal([]byte(lines[0]), &first) != nil {
			panic("no mark")
		}
		end.seq = first.Seq
		_, _ = hex.Decode(end.hash[:], []byte(first.Hash))
		out := lines[:1]
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, `{"seq"`) {
				if marks {
					continue
				}
				out = append(out, line)
				continue
			}
			body, _, _ := unseal([]byte(strings.TrimSuffix(line, "\n")))
			r, _ := decodeRecord(bytes.Replace(body, []byte("shop"), []byte("bank"), 1))
			sealed, next, _ := end.seal(r)
			end = next
			out = append(out, string(sealed))
		}
		return out
	})
}

// forge replaces the first mark of a file by one that another key signed.
func forge(t *testing.T, dir, id string) {
	t.Helper()
	other := must(os.OpenRoot(t.TempDir()))(t)
	defer other.Close()
	forger := must(openSigner(other))(t)
	edit(2, func(lines []string) []string {
		var m mark
		ok(t, decodeExactly([]byte(strings.TrimSuffix(lines[0], "\n")), &m))
		m.Key, m.Signature = "", ""
		lines[0] = string(must(forger.line(m))(t))
		return lines
	})(t, dir, id)
}

func TestTampering(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	type change = func(*testing.T, string, string)
	cut := func(part, seq int) change {
		return edit(part, func(lines []string) []string { return lines[:lineOf(lines, seq)] })
	}
	tests := map[string]struct {
		tamper  change
		seq     int64
		problem Problem
	}{
		"nothing":           {func(*testing.T, string, string) {}, 0, ""},
		"record altered":    {replace(1, 7, "shop", "bank"), 7, Altered},
		"record garbled":    {replace(1, 7, "{", ""), 7, Altered},
		"hash altered":      {replace(1, 7, `"hash":"`, `"hash":"0`), 7, Altered},
		"line broken":       {replace(1, 7, `"call"`, "\n\"call\""), 7, Altered},
		"line too long":     {replace(1, 7, "shop", strings.Repeat("x", maxLine)), 7, Altered},
		"record deleted":    {edit(1, func(l []string) []string { i := lineOf(l, 7); return slices.Delete(l, i, i+1) }), 7, Missing},
		"first deleted":     {edit(1, func(l []string) []string { i := lineOf(l, 1); return slices.Delete(l, i, i+1) }), 1, Missing},
		"renumbered":        {edit(1, func(l []string) []string { i := lineOf(l, 7); return append(slices.Delete(l, i, i+1), l[i]) }), 7, Missing},
		"swapped":           {edit(1, func(l []string) []string { i := lineOf(l, 6); l[i], l[i+1] = l[i+1], l[i]; return l }), 6, Missing},
		"doubled":           {edit(1, func(l []string) []string { i := lineOf(l, 6); return slices.Insert(l, i, l[i]) }), 7, Missing},
		"added at the end":  {edit(3, func(l []string) []string { return append(l[:len(l)-1], l[lineOf(l, 25)]) }), 26, Altered},
		"end cut":           {cut(3, 23), 23, Truncated},
		"all records cut":   {edit(3, func(l []string) []string { return l[:1] }), 0, Truncated},
		"file emptied":      {edit(3, func([]string) []string { return nil }), 21, Missing},
		"last file removed": {remove("audit/ID-3.jsonl"), 0, Missing},
		"file removed":      {remove("audit/ID-2.jsonl"), 0, Missing},
		"chain removed":     {remove("audit/ID-1.jsonl", "audit/ID-2.jsonl", "audit/ID-3.jsonl"), 0, Missing},
		"rewritten":         {rewrite(false), 0, Altered},
		"rewritten, marks":  {rewrite(true), 25, Altered},
		"mark forged":       {forge, 0, Signature},
		"first mark gone":   {edit(2, func(l []string) []string { return l[1:] }), 0, Altered},
		"mark of another":   {edit(2, func(l []string) []string { l[0] = l[len(l)-2]; return l }), 0, Altered},
		"file renamed": {func(t *testing.T, dir, id string) {
			t.Helper()
			ok(t, os.Rename(filepath.Join(dir, partName(id, 3)), filepath.Join(dir, partName(id, 4))))
		}, 0, Missing},
		"chain renamed": {func(t *testing.T, dir, id string) {
			t.Helper()
			for n := range 3 {
				ok(t, os.Rename(filepath.Join(dir, partName(id, n+1)), filepath.Join(dir, partName("x"+id[1:], n+1))))
			}
		}, 0, Altered},
		"list removed": {remove(listFile), 25, Truncated},
		"list garbled": {func(t *testing.T, dir, _ string) {
			t.Helper()
			path := filepath.Join(dir, listFile)
			ok(t, os.WriteFile(path, bytes.Replace(must(os.ReadFile(path))(t), []byte(`"file":2`), []byte(`"file":9`), 1), 0o600))
		}, 0, Signature},
		"key replaced": {remove(keyFile), 0, Signature},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, id := written(t)
			test.tamper(t, dir, id)
			report := verified(t, dir)
			switch {
			case test.problem == "":
				if report.Bad != nil || report.Records != 25 || report.Checkpoints < 5 || report.OpenCount != 25 || report.Unsigned != 0 {
					t.Errorf("untouched, the report is %+v", report)
				}
				if len(report.Others)+len(report.Removed)+report.Torn != 0 || report.Open[24].Seq != 25 {
					t.Errorf("untouched, the report is %+v", report)
				}
			case len(report.Bad) == 0 || report.Bad[0].Problem != test.problem || test.seq > 0 && report.Bad[0].Seq != test.seq:
				t.Errorf("found %+v, want %s at %d", report.Bad, test.problem, test.seq)
			case report.Bad[0].Detail == "":
				t.Error("it does not say what is wrong")
			}
		})
	}
}

// Whichever byte of the audit changes, verify says so.
func TestEveryByte(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	dir := folder(t)
	s := open(t, Options{Dir: dir, CheckpointRecords: 2, maxPart: 1100})
	for range 5 {
		must(s.Audit.Intent(t.Context(), bridge.AuditRecord{Call: "c"}))(t)
		ok(t, s.Flush(t.Context()))
	}
	id := journalOf(t, s).id
	ok(t, s.Close())
	root := must(os.OpenRoot(dir))(t)
	defer root.Close()
	me := must(newOwner(root))(t)
	defer func() { ok(t, me.close(true)) }()
	f := archive{root: root, signer: must(openSigner(root))(t)}
	if report := must(verify(t.Context(), f, me, nil, nil))(t); report.Bad != nil || report.Records != 5 {
		t.Fatalf("untouched, the report is %+v", report)
	}
	for _, name := range []string{partName(id, 1), partName(id, 2), listFile} {
		path := filepath.Join(dir, name)
		content := must(os.ReadFile(path))(t)
		for at := rand.IntN(12); at < len(content); at += 12 { // all of them, in some runs
			changed := bytes.Clone(content)
			changed[at] ^= 0x20
			ok(t, os.WriteFile(path, changed, 0o600))
			report := must(verify(t.Context(), f, me, nil, nil))(t)
			if len(report.Bad) == 0 && report.Torn == 0 {
				t.Fatalf("byte %d of %s changed: %+v", at, name, report)
			}
		}
		ok(t, os.WriteFile(path, content, 0o600))
	}
}

// Wherever the last write of a process was cut, what was written before is read.
func TestTornLine(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	dir := folder(t)
	s := open(t, Options{Dir: dir})
	var ends []int64
	j := journalOf(t, s)
	for range 3 {
		must(s.Audit.Intent(t.Context(), bridge.AuditRecord{Wait: true, Call: "c"}))(t)
		ends = append(ends, j.part.size)
	}
	content := must(os.ReadFile(filepath.Join(dir, partName(j.id, 1))))(t)
	const copied = "0123456789abcdef0123456789abcdef"
	for cut := ends[0]; cut <= ends[2]; cut++ {
		var end mark
		ok(t, decodeExactly(content[:bytes.IndexByte(content, '\n')], &end))
		end.Chain, end.Key, end.Signature = copied, "", ""
		whole := append(must(j.signer.line(end))(t), content[bytes.IndexByte(content, '\n')+1:cut]...)
		ok(t, os.WriteFile(filepath.Join(dir, partName(copied, 1)), whole, 0o600))
		s := &scan{signer: j.signer, id: copied}
		ok(t, s.run(t.Context(), j.archive, []int{1}))
		want := int64(0)
		for _, e := range ends {
			if e <= cut {
				want++
			}
		}
		if s.bad != nil || s.records != want || (s.torn == 0) != slices.Contains(ends, cut) {
			t.Fatalf("of %d bytes %d records are read, %d torn: %+v", cut, s.records, s.torn, s.bad)
		}
	}
}

// Old files can go, the oldest first. What is gone is named.
func TestOldFilesCanBeRemoved(t *testing.T) {
	t.Parallel()
	dir, first := written(t)
	second := writeMore(t, dir)
	ok(t, os.Remove(filepath.Join(dir, partName(first, 1))))
	report := verified(t, dir)
	if report.Bad != nil || len(report.Removed) != 1 || report.Removed[0].File != 1 || report.Removed[0].Chain != first || report.Records >= 50 {
		t.Errorf("without the oldest file: %+v", report)
	}
	ok(t, os.Remove(filepath.Join(dir, partName(first, 2))))
	ok(t, os.Remove(filepath.Join(dir, partName(first, 3))))
	report = verified(t, dir)
	if report.Bad != nil || len(report.Removed) != 3 || report.Records != 25 || report.Removed[2].Seq != 25 || report.Removed[2].Time == "" {
		t.Errorf("without the oldest chain: %+v", report)
	}
	// A file that is newer than others is missed.
	ok(t, os.Remove(filepath.Join(dir, partName(second, 2))))
	if report = verified(t, dir); len(report.Bad) != 1 || report.Bad[0].Problem != Missing || report.Bad[0].Chain != second {
		t.Errorf("without a newer file: %+v", report)
	}
	ok(t, os.Remove(filepath.Join(dir, partName(second, 1))))
	ok(t, os.Remove(filepath.Join(dir, partName(second, 3))))
	if report = verified(t, dir); len(report.Bad) == 0 || report.Bad[0].Problem != Missing {
		t.Errorf("without any file: %+v", report)
	}
}

// The list of yesterday does not hide what was removed with it.
func TestAnOlderList(t *testing.T) {
	t.Parallel()
	dir, _ := written(t)
	path := filepath.Join(dir, listFile)
	before := must(os.ReadFile(path))(t)
	second := writeMore(t, dir)
	third := writeMore(t, dir)
	ok(t, os.WriteFile(path, before, 0o600))
	remove("audit/ID-1.jsonl", "audit/ID-2.jsonl", "audit/ID-3.jsonl")(t, dir, second)
	report := verified(t, dir)
	if len(report.Bad) != 1 || report.Bad[0].Chain != third || report.Bad[0].Problem != Truncated {
		t.Errorf("the report is %+v", report)
	}
	// Without the chains after it, only a copy of the list shows that something is gone. Verify
	// cannot see it.
	remove("audit/ID-1.jsonl", "audit/ID-2.jsonl", "audit/ID-3.jsonl")(t, dir, third)
	if report := verified(t, dir); report.Bad != nil {
		t.Errorf("the report is %+v", report)
	}
}

// Nothing is signed on top of a list that is not ours.
func TestADamagedListStays(t *testing.T) {
	t.Parallel()
	dir, _ := written(t)
	path := filepath.Join(dir, listFile)
	ok(t, os.WriteFile(path, []byte("{}"), 0o600))
	s := must(Open(t.Context(), Options{Dir: dir, CheckpointRecords: 1}))(t)
	must(s.Audit.Intent(t.Context(), bridge.AuditRecord{Wait: true}))(t)
	if err := s.Flush(t.Context()); !errors.Is(err, errList) || !errors.Is(s.Audit.Healthy(), errList) {
		t.Errorf("flush: %v, health: %v", err, s.Audit.Healthy())
	}
	if err := s.Close(); !errors.Is(err, errList) {
		t.Errorf("closing: %v", err)
	}
	if got := must(os.ReadFile(path))(t); string(got) != "{}" {
		t.Errorf("it became %s", got)
	}
}

// While the file cannot be written, records are held; they are written later, in
// their order, and those that found no place are counted.
func TestRecordsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, maxPending: 3})
	j := journalOf(t, s)
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: "1"}))(t)
	ok(t, s.Flush(ctx))
	full := must(os.OpenFile("/dev/full", os.O_RDWR, 0))(t)
	defer full.Close()
	swap := func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.part.f, full = full, j.part.f
	}
	swap()
	if _, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: "2"}); !errors.Is(err, ErrFull) {
		t.Errorf("an intent that waits: %v", err)
	}
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Call: "3"}))(t)
	ok(t, s.Audit.Outcome(ctx, 1, bridge.AuditRecord{}))
	for range 2 {
		if err := s.Audit.Outcome(ctx, 3, bridge.AuditRecord{}); !errors.Is(err, ErrFull) {
			t.Errorf("an outcome without room: %v", err)
		}
	}
	if err := s.Flush(ctx); !errors.Is(err, ErrFull) || !errors.Is(s.Audit.Healthy(), ErrFull) {
		t.Errorf("flush: %v, health: %v", err, s.Audit.Healthy())
	}
	swap()
	ok(t, s.Flush(ctx))
	ok(t, s.Audit.Healthy())
	report := must(s.Verify(ctx))(t)
	if report.Bad != nil || report.Records != 5 || report.Lost != 2 || report.OpenCount != 2 || report.Open[0].Call != "2" || report.Open[0].Seq != 2 {
		t.Errorf("the report is %+v", report)
	}
}

// A list that cannot be written is an error that stays until it can.
func TestListThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, CheckpointRecords: 2})
	blocked := filepath.Join(dir, listFile)
	ok(t, os.Mkdir(blocked, 0o700))
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	if err := s.Flush(ctx); err == nil || s.Audit.Healthy() == nil {
		t.Errorf("flush: %v, health: %v", err, s.Audit.Healthy())
	}
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t) // it is in the file
	ok(t, os.Remove(blocked))
	ok(t, s.Flush(ctx))
	ok(t, s.Audit.Healthy())
	if report := must(s.Verify(ctx))(t); report.Bad != nil || report.Records != 3 || report.Checkpoints != 1 || report.Unsigned != 1 {
		t.Errorf("the report is %+v", report)
	}
}

// Nobody flushes, nothing is closed, and the record is signed.
func TestRecordsAreSignedByThemselves(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir, CheckpointEvery: 10 * time.Millisecond})
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Call: "c"}))(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		report := must(s.Verify(ctx))(t)
		if report.Records == 1 && report.Checkpoints == 1 && report.Unsigned == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the report is %+v", report)
		}
	}
}

// A process without a record leaves no file.
func TestNothingIsLeftOfNothing(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	ok(t, open(t, Options{Dir: dir}).Close())
	if left := must(fs.Glob(os.DirFS(dir), "*/*"))(t); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}
