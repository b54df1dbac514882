package app

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

// TestMeasured: each operation is measured once, and failed where the engine did not answer; that a record
// is not there, or has changed, is an answer. What is measured passes the suite of engines.
func TestMeasured(t *testing.T) {
	t.Parallel()
	memory := records.NewMemory()
	recordstest.Test(t, func(*testing.T) records.Records { return &measured{Records: memory} })
	fault := recordstest.None
	m := &measured{Records: &recordstest.Faulty{Records: records.NewMemory(), Fault: func(recordstest.Op) recordstest.Fault { return fault }}}
	var seen []string
	observe := func(op string, took time.Duration, failed bool) {
		seen = append(seen, fmt.Sprint(op, " ", failed, " ", took >= 0))
	}
	use := func() {
		_, _ = m.Get(t.Context(), "n.A")
		revision, _ := m.Create(t.Context(), "n.B", nil)
		_, _ = m.Create(t.Context(), "n.B", nil)
		_, _ = m.Update(t.Context(), "n.B", nil, revision+1)
		_ = m.Delete(t.Context(), "n.B", revision+1)
		_, _ = m.Watch(t.Context(), "n.")
	}
	use() // nobody looks yet
	m.observe.Store(&observe)
	use()
	fault = recordstest.Fail
	use()
	if want := []string{"get false true", "create false true", "create false true", "update false true", "delete false true", "watch false true",
		"get true true", "create true true", "create true true", "update true true", "delete true true", "watch true true"}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
}
