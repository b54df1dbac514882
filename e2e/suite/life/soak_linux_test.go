package life_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"

	"github.com/pagetools/pagetools/e2e/suite"
)

var soakFor = flag.Duration("soak", 0, "how long TestSoak calls: 10,000 calls and 1,000 sessions in an hour, and what is more in that speed; 0 leaves it out")

// A session of the soak makes so many calls, each with this much time.
const (
	soakSession = 10
	soakCall    = 30 * time.Second
)

// What a soak of at least this time may not exceed, besides what any must hold.
const (
	soakLong   = 10 * time.Minute
	soakRSS    = 20 << 20 // bytes
	soakPSS    = 10       // percent
	soakOthers = 10       // goroutines, files
)

// soakPlan holds the number of sessions, and the time from one call to the next.
func soakPlan(long time.Duration) (sessions int, pace time.Duration) {
	sessions = max(4, int(1000*long/time.Hour))
	return sessions, long / time.Duration(sessions*soakSession)
}

// TestSoak calls steadily. Each call succeeds and runs once, and afterwards the server uses the
// same resources as when it was warm.
func TestSoak(t *testing.T) {
	t.Parallel()
	if *soakFor == 0 {
		t.Skip("make soak runs it")
	}
	c := newChaos(t, soakCall)
	sessions, pace := soakPlan(*soakFor)
	c.fresh("before")
	warm := max(2, sessions/10)
	c.soak(0, warm, pace)
	before, ok := rest(t, c.Server, anyVitals)
	if !ok {
		t.Fatalf("it does not come to rest: %v", before)
	}
	c.soak(warm, sessions, pace)
	after, ok := rest(t, c.Server, func(v vitals) bool { return !outgrown(before, v) })
	if !ok {
		t.Errorf("it has grown, or does not come to rest.\nbefore: %v\nafter: %v", before, after)
	}
	var took []time.Duration
	for _, e := range c.entries {
		if took = append(took, e.took); e.outcome != "ok" {
			t.Errorf("a call of an untroubled session: %+v", e)
		}
		if p := problem(c.site, e); p != "" {
			t.Error(p)
		}
	}
	if len(c.entries) != sessions*soakSession {
		t.Errorf("%d calls, want %d", len(c.entries), sessions*soakSession)
	}
	t.Logf("%d sessions: %s\nbefore: %v\nafter: %v", sessions, quantiles(took), before, after)
	family := suite.Descendants(c.Cmd.Process.Pid)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	noneLeft(t, c.Tmp, family)
}

// outgrown reports whether more is held than before. Of memory, only a long soak tells.
func outgrown(before, v vitals) bool {
	if v.goroutines > before.goroutines+soakOthers || v.files > before.files+soakOthers || v.processes > before.processes+1 {
		return true
	}
	return *soakFor >= soakLong && (v.rss >= before.rss+soakRSS || v.pss*100 >= before.pss*(100+soakPSS))
}

// soak makes the calls of some sessions, two at a time, with a pace in between.
func (c *chaos) soak(from, to int, pace time.Duration) {
	next := make(chan int)
	clock := time.NewTicker(max(pace, time.Millisecond))
	defer clock.Stop()
	var callers sync.WaitGroup
	for range 2 {
		callers.Go(func() {
			for n := range next {
				if n%5 == 4 {
					c.soakMCP(n, clock.C)
				} else {
					c.soakWeb(n, clock.C)
				}
			}
		})
	}
	for n := range to - from {
		next <- from + n
	}
	close(next)
	callers.Wait()
}

// soakTools are the calls of a session.
var soakTools = []string{"work", "work", "alerts", "work", "slow", "work", "change", "work", "work", "work"}

// soakWeb makes the calls of a session of webtools; the last has a page of its own.
func (c *chaos) soakWeb(n int, clock <-chan time.Time) {
	for i, tool := range soakTools {
		<-clock
		x := call{caller: "web", token: chaosToken(chaosCallers[n%2]), id: fmt.Sprintf("soak-%d-%d", n, i), tool: tool, session: fmt.Sprint("s", n), timeout: soakCall}
		if i == len(soakTools)-1 {
			x.session = ""
		}
		c.steady(func() entry { return c.post(context.Background(), x) })
	}
}

// steady makes a call. Where the machine was busy for so long that the session had to end, it is
// reported once, and the call is made again.
func (c *chaos) steady(do func() entry) {
	e := do()
	if e.outcome == "not_run" && strings.HasPrefix(e.why, string(bridge.SessionExpired)) {
		e = do()
	}
	c.note(e)
}

// soakMCP makes those of an agent over MCP.
func (c *chaos) soakMCP(n int, clock <-chan time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := suite.MCPAgent{Version: suite.MCPVersions[n/5%len(suite.MCPVersions)]}
	if err := a.OverHTTP(ctx, c.URL+"/mcp/shop?session="+fmt.Sprint("m", n), chaosToken("mcp-0")); err != nil {
		c.t.Errorf("with %s: %v", a.Version, err)
		return
	}
	for i, tool := range soakTools {
		<-clock
		e := entry{id: fmt.Sprintf("soak-%d-%d", n, i), tool: tool, by: "mcp " + a.Version}
		c.steady(func() entry { return c.callMCP(ctx, &a, e, soakCall+chaosGrace) })
	}
	_ = a.Close() // what is open on the other side ends with the session
}

// TestSoakPlan: an hour has the calls that the command promises, and growth is seen.
func TestSoakPlan(t *testing.T) {
	if sessions, pace := soakPlan(time.Hour); sessions != 1000 || sessions*soakSession != 10_000 || pace != 360*time.Millisecond {
		t.Errorf("an hour has %d sessions, a call each %v", sessions, pace)
	}
	was := vitals{goroutines: 30, files: 20, processes: 7, rss: 50 << 20, pss: 200 << 20}
	grown := []vitals{was, was, was}
	grown[0].goroutines += 11
	grown[1].files += 11
	grown[2].processes += 2
	if outgrown(was, was) || slices.ContainsFunc(grown, func(v vitals) bool { return !outgrown(was, v) }) {
		t.Error("growth is not seen")
	}
}
