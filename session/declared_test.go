package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestFindingsAreCounted (D4): what a page makes us tell is counted like what it declares,
// and given back with the document.
func TestFindingsAreCounted(t *testing.T) {
	account := policy.NewAccount(1000, nil)
	d := session.NewDeclared(session.TabOptions{Bytes: account})
	for range 3 {
		set := session.ToolsChanged{Document: "d", Findings: make([]bridge.Finding, 100)}
		for i := range set.Findings {
			set.Findings[i].Message = strings.Repeat("x", 100)
		}
		if d.Fit(&set); len(set.Findings) != 10 {
			t.Errorf("%d findings fit, want 10", len(set.Findings))
		}
	}
	if d.Gone("d"); !account.Take(1000) {
		t.Error("the bytes of a document that is gone are not given back")
	}
}

// TestFindingsAreFew (D4): a page has so many findings; the last says how many more.
func TestFindingsAreFew(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		w.must(ref(""), "where")
		d := w.engine.Tabs()[0].Document()
		for i := range 250 {
			d.Register(sessiontest.Tool{Name: fmt.Sprint("bad", i), Input: []byte(`{"type":"nonsense"}`)})
		}
		synctest.Wait()
		all := w.Findings("shop")
		if n := len(all); n != 200 || all[n-1].Rule != "more-findings" || !strings.Contains(all[n-1].Message, "51") {
			t.Errorf("%d findings, the last is %+v", n, all[max(0, n-1)])
		}
	})
}
