package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestMarks: marks that are kept elsewhere show that a folder was put back as it was, or made anew, which the
// folder itself does not show. They never go back, and a whole folder fits them.
func TestMarks(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	s := open(t, Options{Dir: dir})
	writes := func(n int) {
		t.Helper()
		for range n {
			must(s.Audit.Intent(ctx, bridge.AuditRecord{Call: "1", Site: "shop"}))(t)
		}
	}
	seqs := func(text []byte) map[string]int64 {
		t.Helper()
		all := map[string]int64{}
		for _, m := range must(readMarks(text))(t) {
			all[m.Chain] = m.Seq
		}
		return all
	}
	writes(5)
	early := must(s.Marks(ctx, nil))(t)
	own := journalOf(t, s).id
	if got := seqs(early); len(got) != 1 || got[own] != 5 {
		t.Fatalf("after five records the marks are %s", early)
	}
	if r := must(s.VerifyAgainst(ctx, early))(t); len(r.Bad) != 0 || r.Records != 5 || r.Unsigned != 0 {
		t.Errorf("a whole folder: %+v", r)
	}
	before := filepath.Join(t.TempDir(), "copy")
	ok(t, os.CopyFS(before, os.DirFS(dir)))
	writes(2)
	ok(t, s.Close())
	late := must(s.Marks(ctx, early))(t)
	if got := seqs(late); len(got) != 1 || got[own] != 7 {
		t.Fatalf("after the end the marks are %s", late)
	}

	s = open(t, Options{Dir: dir})
	for _, marks := range [][]byte{nil, early, late} {
		if r := must(s.VerifyAgainst(ctx, marks))(t); len(r.Bad) != 0 || r.Records != 7 {
			t.Errorf("a whole folder with %s: %+v", marks, r)
		}
	}
	forged := must(readMarks(late))(t)
	forged[0].Hash = strings.Repeat("0", len(forged[0].Hash))
	forged[0].Signature = ""
	forged[0].Signature = must(s.marker.signer.sign(markDomain, forged[0]))(t)
	if r := must(s.VerifyAgainst(ctx, must(json.Marshal(forged))(t)))(t); len(r.Bad) != 1 || r.Bad[0].Problem != Altered || r.Bad[0].Seq != 7 {
		t.Errorf("another record in its place: %+v", r.Bad)
	}

	old := open(t, Options{Dir: before})
	if r := must(old.Verify(ctx))(t); len(r.Bad) != 0 {
		t.Fatalf("the control, a folder as it was once: %+v", r)
	}
	if r := must(old.VerifyAgainst(ctx, late))(t); len(r.Bad) != 1 || r.Bad[0].Problem != Truncated || r.Bad[0].Seq != 6 || r.Bad[0].Chain != own {
		t.Errorf("a folder that was put back: %+v", r.Bad)
	}
	if got := seqs(must(old.Marks(ctx, late))(t)); got[own] != 7 {
		t.Errorf("the marks went back to %v", got)
	}
	other := open(t, Options{Dir: folder(t)})
	if r := must(other.VerifyAgainst(ctx, late))(t); len(r.Bad) != 1 || r.Bad[0].Problem != Signature || r.Bad[0].Chain != own {
		t.Errorf("another folder: %+v", r.Bad)
	}
	memory := Memory(Options{})
	closeLater(t, memory)
	if text, err := memory.Marks(ctx, late); text != nil || err != nil {
		t.Errorf("without a folder: %s, %v", text, err)
	}
}
