package console

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// TestFilters: each filter finds its calls, or says what there is. The page's own reading of filters is
// held to the same file, in js/test.
func TestFilters(t *testing.T) {
	text, err := os.ReadFile("testdata/filters.json")
	var all struct {
		Now   time.Time
		Calls []callJSON
		Cases []struct{ Q, Calls, Error string }
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all.Cases) == 0 {
		t.Fatal(err, len(all.Cases))
	}
	for _, x := range all.Cases {
		want, err := readFilter(x.Q, all.Now)
		if x.Error != "" {
			if err == nil || !strings.Contains(bridge.AsError(err).Message, x.Error) {
				t.Errorf("%q is refused with %v, want %s", x.Q, err, x.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", x.Q, err)
			continue
		}
		var got []string
		for i := range all.Calls {
			if want(&all.Calls[i]) {
				got = append(got, all.Calls[i].Call)
			}
		}
		if strings.Join(got, " ") != x.Calls {
			t.Errorf("%q finds %v, want %s", x.Q, got, x.Calls)
		}
	}
	if _, err := readFilter(strings.Repeat("x", maxFilter+1), all.Now); err == nil {
		t.Error("a filter has no bound")
	}
}

// TestRecordsAreBounded: of many calls the newest are remembered, also where their names are long, and a
// call that came before what is remembered stays forgotten.
func TestRecordsAreBounded(t *testing.T) {
	began := time.Now()
	for name, x := range map[string]struct{ name, want int }{"many": {1, maxRecords}, "long": {1200, maxRecordBytes / (recordBytes + 5 + 1200)}} {
		var rs Records
		for n := range maxRecords + 100 {
			rs.take(&callJSON{Call: fmt.Sprintf("%05d", n), Site: strings.Repeat("s", x.name), Began: began.Add(time.Duration(n)), Status: statusRunning})
		}
		if got := len(rs.all); got > maxRecords || got < x.want-50 || rs.sum > maxRecordBytes {
			t.Errorf("%s: %d calls of %d bytes are remembered, want %d", name, got, rs.sum, x.want)
		}
		late := &callJSON{Call: "late!", Site: strings.Repeat("s", x.name), Began: began.Add(-time.Hour)}
		if rs.take(late); rs.all[0] == late {
			t.Errorf("%s: the oldest took the place of a newer one", name)
		}
	}
}

// TestMissedCalls: where so much happened at once that the end of a call was missed, it is not said to run.
func TestMissedCalls(t *testing.T) {
	var rs Records
	events := make(chan bridge.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		rs.gather("here", events)
	}()
	state := func(id string) bridge.RunState {
		return bridge.RunState{Call: id, Site: "shop", Stage: bridge.StageRuns, Began: time.Now()}
	}
	a, b := state("A"), state("B")
	events <- bridge.Event{Kind: bridge.Snapshot, Runs: []bridge.RunState{a, b}}
	events <- bridge.Event{Kind: bridge.Snapshot, Runs: []bridge.RunState{b}}
	close(events)
	<-done
	if c, _ := rs.find("A"); c.Status != statusError || c.Outcome != "unknown" || c.Stage != bridge.StageEnded {
		t.Errorf("A is %+v", c)
	}
	if c, _ := rs.find("B"); c.Status != statusRunning {
		t.Errorf("B is %+v", c)
	}
}
