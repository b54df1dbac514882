package lease_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
)

// TestSurvey: who is no node sees which ones live, whatever its clock says; it takes for dead who was
// declared dead and who does not renew, and waits for no longer than a lease.
func TestSurvey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		put := func(id, name string, ago time.Duration, more string) {
			t.Helper()
			value := fmt.Sprintf(`{"v":1,"node":%q,"at":%d,"lease":4000,"sessions":2,"build":"b"%s}`, name, time.Now().Add(-ago).UnixMilli(), more)
			if r, err := m.Get(t.Context(), "n."+id); err == nil {
				_, err = m.Update(t.Context(), r.Key, []byte(value), r.Revision)
				if err != nil {
					t.Error(err)
				}
			} else if _, err := m.Create(t.Context(), "n."+id, []byte(value)); err != nil {
				t.Error(err)
			}
		}
		writes := true
		look := func() (string, time.Duration) {
			t.Helper()
			began := time.Now()
			all, err := lease.Survey(t.Context(), m, writes, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, n := range all {
				is := fmt.Sprintf("%s %s %v %v", n.Node, n.ID, n.State == lease.Alive, n.Age)
				if n.Ahead != 0 {
					is += fmt.Sprintf(" ahead %v", n.Ahead)
				}
				if n.Newer {
					is += " newer"
				}
				said = append(said, is)
			}
			return strings.Join(said, "; "), time.Since(began)
		}
		put("A1", "a", time.Second, "")
		put("B2", "b", 2*time.Second, "")
		put("B1", "b", 2*time.Second, `,"dead":"A1"`)                                           // declared dead after the next life began
		if _, err := m.Create(t.Context(), "n.X1", []byte(`{"v":1,"dead":"A1"}`)); err != nil { // nobody's, as Ask makes it
			t.Fatal(err)
		}
		if said, took := look(); said != "a A1 true 1s; b B2 true 2s" || took != 0 {
			t.Errorf("%s, after %v", said, took)
		}
		put("C1", "c", 10*time.Second, `,"dead":"A1"`)
		put("C2", "c", 5*time.Second, `,"dead":"A1"`)
		put("D1", "d", 4*time.Second, "")
		writes = false
		if said, took := look(); said != "a A1 true 1s; b B2 true 2s; c C2 false 5s; d D1 true 4s" || took != 0 {
			t.Errorf("an engine that takes no writes: %s, after %v", said, took)
		}
		writes = true
		if said, took := look(); said != "a A1 true 1s; b B2 true 2s; c C2 false 5s; d D1 false 4s" || took != 4*time.Second {
			t.Errorf("%s, after %v", said, took)
		}
		// A clock that is wrong by an hour: it lives as long as it renews.
		put("D1", "d", -time.Hour, "")
		go func() {
			for range 3 {
				<-time.After(time.Second)
				put("A1", "a", 0, "")
				put("B2", "b", 0, "")
				put("D1", "d", -time.Hour, "")
			}
		}()
		if said, took := look(); said != "a A1 true 0s; b B2 true 0s; c C2 false 9s; d D1 true 0s ahead 1h0m0s" || took != time.Second {
			t.Errorf("%s, after %v", said, took)
		}
		if _, err := m.Create(t.Context(), "n.E1", []byte(`{"v":2}`)); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Second)
		if said, _ := look(); !strings.HasPrefix(said, "? E1 true 0s newer; ") {
			t.Error(said)
		}
	})
}
