package console

import (
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// TestStatsAreBounded: what is older than 15 minutes is left out, and forgotten with the next call; of each
// second there are p50 and p95.
func TestStatsAreBounded(t *testing.T) {
	rs := Records{stats: stats{known: func(string) bool { return true }}}
	began := time.Unix(1_800_000_000, 0)
	end := func(second, ms int) {
		at := began.Add(time.Duration(second) * time.Second)
		rs.take(&callJSON{Call: time.Duration(second*10_000 + ms).String(), Site: "shop", Stage: bridge.StageEnded, Status: statusOK, Outcome: "ok", Began: at.Add(-time.Duration(ms) * time.Millisecond), At: at})
	}
	for ms := range 100 {
		end(0, ms+1)
	}
	for second := range 2000 {
		end(second+1, 7)
	}
	now := began.Add(2000 * time.Second)
	got, changes := rs.statsOf("here", now, keptSeconds, keptMinutes)
	if n, m := len(got.Samples), len(got.Sites["shop"]); n != keptSeconds || m < 14 || m > 15 || len(rs.stats.samples) > keptSeconds || got.Samples[n-1].P50 != 7 || changes != 2100 {
		t.Errorf("%d samples, %d minutes, %d kept, %d changes, the last %+v", n, m, len(rs.stats.samples), changes, got.Samples[n-1])
	}
	if got, again := rs.statsOf("here", now.Add(time.Hour), keptSeconds, keptMinutes); len(got.Samples) != 0 || len(got.Sites) != 0 || again != changes {
		t.Errorf("an hour later there are %+v", got)
	}
	rs = Records{}
	for ms := range 100 {
		end(0, ms+1)
	}
	if got, _ := rs.statsOf("here", began, keptSeconds, keptMinutes); len(got.Samples) != 1 || got.Samples[0].OK != 100 || got.Samples[0].P50 != 50 || got.Samples[0].P95 != 95 || len(got.Sites) != 0 {
		t.Errorf("a second is %+v", got)
	}
}
