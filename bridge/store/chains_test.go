package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestChains: a report says of each chain how far it is good, those with a fault first; telling counts all
// records, and the records of one call are found in all chains.
func TestChains(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	first, second := writeMore(t, dir), writeMore(t, dir)
	s := open(t, Options{Dir: dir})
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: "7"}))(t)
	ok(t, s.Flush(ctx))
	var read, of int64
	report := must(s.VerifyTelling(ctx, func(r, o int64) { read, of = r, o }))(t)
	if len(report.Chains) != 3 || report.ChainCount != 3 || read != 1 || of != 50 {
		t.Fatalf("told %d of %d, and the chains are %+v", read, of, report.Chains)
	}
	own := journalOf(t, s).id
	for _, c := range report.Chains {
		want := ChainState{Chain: c.Chain, Records: 25, Checkpoint: c.Checkpoint}
		if c.Chain == own {
			want = ChainState{Chain: own, Records: 1, Living: true}
		}
		if c != want || c.Living == (c.Checkpoint != "") {
			t.Errorf("a chain is %+v, want %+v", c, want)
		}
	}
	found := must(s.RecordsOf(ctx, "7"))(t)
	if len(found) != 3 || found[0].Chain != first || found[1].Chain != second || found[2].Chain != own {
		t.Errorf("its records are %+v", found)
	}
	if found = must(s.RecordsOf(ctx, ""))(t); len(found) != 0 {
		t.Errorf("without an id they are %+v", found)
	}
	for i, id := range []string{own, first} { // what a process writes just now is not cut off
		part := must(os.OpenFile(filepath.Join(dir, partName(id, 1)), os.O_WRONLY|os.O_APPEND, 0))(t)
		must(part.WriteString(`{"kind":"int`))(t)
		ok(t, part.Close())
		if report = must(s.Verify(ctx))(t); report.Torn != i || len(report.Bad) != 0 {
			t.Errorf("with half a line in %d chains: %+v", i+1, report)
		}
	}
	replace(1, 2, "shop", "bank")(t, dir, second)
	if report = must(s.Verify(ctx))(t); len(report.Bad) != 1 || report.Chains[0].Chain != second {
		t.Errorf("after a change they are %+v, bad %+v", report.Chains, report.Bad)
	}
	if !report.Chains[0].Bad || report.Chains[0].Records != 1 || report.Chains[1].Bad || report.Chains[2].Bad {
		t.Errorf("after a change they are %+v", report.Chains)
	}
}
