package life_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// entry is a call as its client saw it.
type entry struct {
	id, tool, by string
	outcome      string // ok, not_run, failed or unknown; left: its client went away; none: there was no answer
	why          string // code and reason of an error, or what the client says
	took, over   time.Duration
	refused      bool // it needs consent, which nobody gave
}

// problem says what is wrong about a call, or "".
func problem(l *suite.Ledger, e entry) string {
	if p := l.Problem(e.id, e.outcome, e.refused); p != "" {
		return fmt.Sprintf("%s: %+v", p, e)
	}
	return ""
}

// TestLedgerSees is the positive control of what chaos and soak hold.
func TestLedgerSees(t *testing.T) {
	l := suite.NewLedger(t)
	for _, what := range []string{"begin?call=a&run=1", "begin?call=b&run=1", "begin?call=b&run=2", "end?call=b&run=1"} {
		if r := (&suite.Server{}).In(t.Context(), "", http.MethodPost, l.URL+"/"+what, ""); r.Status != http.StatusOK {
			t.Fatal(r.Status, r.Err)
		}
	}
	for _, e := range []entry{{id: "a", outcome: "not_run"}, {id: "a", outcome: "ok"}, {id: "b", outcome: "unknown"}, {id: "c", outcome: "ok"}, {id: "c", outcome: "none"}, {id: "c"}, {id: "a", outcome: "unknown", refused: true}} {
		if problem(l, e) == "" {
			t.Errorf("it sees nothing wrong in %+v", e)
		}
	}
	for _, e := range []entry{{id: "a", outcome: "unknown"}, {id: "a", outcome: "left"}, {id: "c", outcome: "not_run"}, {id: "c", outcome: "unknown"}, {id: "c", outcome: "not_run", refused: true}} {
		if p := problem(l, e); p != "" {
			t.Error(p)
		}
	}
}
