package life_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

var (
	chaosFor  = flag.Duration("chaos", 0, "how long TestChaos breaks things; 0 leaves it out")
	chaosSeed = flag.Uint64("chaos-seed", 1, "the seed of TestChaos; 0 takes one by the clock")
)

// Calls of chaos have at most this time, and their replies this more, which only a defect needs.
// A call whose time is shorter than chaosLeast may take so long where its page is not open yet.
const (
	chaosCall  = 5 * time.Second
	chaosLeast = 10 * time.Second
	chaosGrace = 40 * time.Second
)

// chaos is a server with a ledger of what ran, callers, and things that break.
type chaos struct {
	*suite.Server
	t        *testing.T
	site     *suite.Ledger
	config   string
	patience time.Duration // of a call
	guest    bool          // whether the file has the caller guest
	fired    map[string]int
	tasks    atomic.Int64 // calls that became tasks
	cards    atomic.Int64 // times that a card was drawn
	thefts   atomic.Int64 // tickets that do not count, and were refused
	tickets  lost

	mu      sync.Mutex
	entries []entry
}

const chaosConfig = `
sites:
  - {name: shop, target: %q, approval: {default: auto, tools: {agree: ask}}, warm: 1}
limits: {call-timeout: %s, first-idle: 2s, idle: 3s, question: 4s, max-sessions: 12}
task-after: 300ms
data-dir: %q
callers:
  - {name: operator, token: %s, may: [call]}
  - {name: honest, token: honest-token-of-the-tests, may: [call]}
`

// chaosCallers are the credentials, which also identify calls.
var chaosCallers = []string{"web-0", "web-1", "mcp-0", "mcp-1", "long-0", "long-1", "task-0", "task-1", "card-0", "card-1"}

func chaosToken(name string) string { return name + "-token-of-the-tests" }

func newChaos(t *testing.T, patience time.Duration) *chaos {
	t.Helper()
	dir := t.TempDir()
	c := &chaos{t: t, site: suite.NewLedger(t), config: filepath.Join(dir, "chaos.yaml"), patience: patience, fired: map[string]int{}}
	c.write(dir)
	s, err := suite.Start(suite.Pagetools(t), "", suite.TempDir(t), "serve", "--config", c.config)
	if err != nil {
		t.Fatal(err)
	}
	c.Server = s
	return c
}

// write writes the configuration file; every other time it has the caller guest.
func (c *chaos) write(dir string) {
	c.t.Helper()
	text := fmt.Sprintf(chaosConfig, c.site.URL+"/", c.patience, filepath.Join(dir, "data"), operatorToken)
	names := chaosCallers
	if c.guest = !c.guest; c.guest {
		names = append(slices.Clone(names), "guest")
	}
	for _, name := range names {
		text += fmt.Sprintf("  - {name: %s, token: %s, may: [call, elicit, answer]}\n", name, chaosToken(name))
	}
	if err := os.WriteFile(c.config, []byte(text), 0o600); err != nil {
		c.t.Error(err)
	}
}

// note stores the outcome of a call.
func (c *chaos) note(e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
}

// dice returns the random numbers of one actor, which depend on the seed alone.
func dice(seed uint64, actor string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(actor) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// pause waits, for a person's or an agent's time. It is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// TestChaos breaks browsers, pages, clients and the configuration under callers of all kinds. Each
// call's answer must match the page's ledger: ok ran once, not_run did not, and nothing ran twice.
// Afterwards the server serves, with the same resources as before.
func TestChaos(t *testing.T) {
	t.Parallel()
	if *chaosFor == 0 {
		t.Skip("make chaos runs it")
	}
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	again := fmt.Sprintf("go test ./e2e/suite/life -run 'TestChaos$' -chaos %v -chaos-seed %d", *chaosFor, seed)
	t.Log("to repeat: ", again)
	c := newChaos(t, chaosCall)
	c.fresh("before")
	before, ok := rest(t, c.Server, anyVitals)
	if !ok {
		t.Fatalf("it does not come to rest before anything broke: %v", before)
	}
	ctx, cancel := context.WithTimeout(t.Context(), *chaosFor)
	defer cancel()
	var actors sync.WaitGroup
	actors.Go(func() { c.victim(ctx) })
	actors.Go(func() { c.breakThings(ctx, dice(seed, "faults")) })
	for _, name := range append(slices.Clone(chaosCallers), "guest") {
		act := c.web
		switch kind, _, _ := strings.Cut(name, "-"); kind {
		case "mcp":
			act = c.mcp
		case "long":
			act = c.long
		case "task":
			act = c.task
		case "card":
			act = c.card
		}
		actors.Go(func() { act(ctx, name, dice(seed, name)) })
	}
	actors.Wait()
	c.fresh("afterwards")
	after, ok := rest(t, c.Server, func(v vitals) bool {
		return v.goroutines <= before.goroutines+20 && v.files <= before.files+20 && v.processes <= before.processes+2 && v.rss <= before.rss+96<<20
	})
	if !ok {
		t.Errorf("it does not come to rest.\nbefore: %v\nafter: %v", before, after)
	}
	c.report(before, after)
	family := suite.Descendants(c.Cmd.Process.Pid)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	noneLeft(t, c.Tmp, family)
	if t.Failed() {
		t.Logf("to repeat: %s\n%s", again, lastLines(c.Stderr.String(), 40))
	}
}

// fresh checks that a call succeeds. Until the browser is there again, calls may be refused.
func (c *chaos) fresh(when string) {
	c.t.Helper()
	n, last := 0, entry{}
	served := suite.Within(suite.ReadyWithin, func() bool {
		n++
		last = c.post(context.Background(), call{caller: "operator", token: operatorToken, id: fmt.Sprintf("%s-%d", when, n), tool: "work", timeout: c.patience})
		return last.outcome == "ok"
	})
	if !served {
		c.t.Fatalf("%s, it does not serve: %+v\n%s", when, last, lastLines(c.Stderr.String(), 40))
	}
}

// asks lists the tools whose clock a question stops.
var asks = map[string]bool{"ask": true, "agree": true, "touch": true}

// report says what happened, and fails for what must not.
func (c *chaos) report(before, after vitals) {
	c.t.Helper()
	outcomes, tools := map[string]int{}, map[string]bool{}
	var victim []time.Duration
	var late entry // of those whose clock no question stops
	wrong := 0
	for _, e := range c.entries {
		outcomes[strings.TrimSpace(e.outcome+" "+e.why)]++
		tools[e.tool] = true
		if e.outcome != "left" && !asks[e.tool] && e.over > late.over {
			late = e
		}
		if e.by == "honest" && e.outcome == "ok" {
			victim = append(victim, e.took)
		}
		if p := problem(c.site, e); p != "" {
			wrong++
			c.t.Error(p)
		}
	}
	var all strings.Builder
	for _, of := range []map[string]int{c.fired, outcomes} {
		for _, k := range slices.Sorted(maps.Keys(of)) {
			fmt.Fprintf(&all, "%6d %s\n", of[k], k)
		}
		all.WriteString("\n")
	}
	c.t.Logf("%d calls of %d tools, %d as tasks, %d cards and %d stolen tickets, %d violations; the latest reply, %v after its deadline: %+v\n%sthe honest caller: %s\nbefore: %v\nafter: %v",
		len(c.entries), len(tools), c.tasks.Load(), c.cards.Load(), c.thefts.Load(), wrong, late.over.Round(time.Millisecond), late, all.String(), quantiles(victim), before, after)
	if len(c.fired) == 0 || c.tasks.Load() == 0 || c.cards.Load() == 0 || c.thefts.Load() == 0 {
		c.t.Error("nothing broke, no call became a task, none had a card, or no ticket was stolen: the test proves nothing")
	}
}

// quantiles describes latencies.
func quantiles(all []time.Duration) string {
	if len(all) == 0 {
		return "no call"
	}
	slices.Sort(all)
	at := func(q int) time.Duration { return all[(len(all)-1)*q/100].Round(time.Millisecond) }
	return fmt.Sprintf("%d calls, p50 %v, p99 %v, max %v", len(all), at(50), at(99), at(100))
}

// lastLines is the end of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// fault breaks something, and reports whether there was something to break.
type fault struct {
	name string
	fire func(ctx context.Context, c *chaos, d *rand.Rand) bool
}

var faults = []fault{
	{"browser killed", struck(syscall.SIGKILL, isBrowser)},
	{"renderer killed", struck(syscall.SIGKILL, isType("renderer"))},
	{"GPU process killed", struck(syscall.SIGKILL, isType("gpu-process"))},
	{"network service killed", struck(syscall.SIGKILL, isType("utility"))},
	{"browser stopped", stopped(isBrowser)},
	{"renderer stopped", stopped(isType("renderer"))},
	{"site slow", func(ctx context.Context, c *chaos, d *rand.Rand) bool {
		c.site.Delay.Store(int64(time.Duration(100+d.IntN(1500)) * time.Millisecond))
		pause(ctx, time.Duration(200+d.IntN(1500))*time.Millisecond)
		c.site.Delay.Store(0)
		return true
	}},
	{"callers read again", func(_ context.Context, c *chaos, _ *rand.Rand) bool {
		c.write(filepath.Dir(c.config))
		return c.Cmd.Process.Signal(syscall.SIGHUP) == nil
	}},
}

func isBrowser(p suite.Process) bool {
	return strings.Contains(p.Line, "--user-data-dir=") && !strings.Contains(p.Line, "--type=")
}

func isType(name string) func(suite.Process) bool {
	return func(p suite.Process) bool { return strings.Contains(p.Line, "--type="+name+" ") }
}

// breakThings breaks one thing after the other, each kind once before any of them again.
func (c *chaos) breakThings(ctx context.Context, d *rand.Rand) {
	for {
		for _, i := range d.Perm(len(faults)) {
			if !pause(ctx, time.Duration(200+d.IntN(600))*time.Millisecond) {
				return
			}
			name := faults[i].name
			if !faults[i].fire(ctx, c, d) {
				name += " (there was none)"
			}
			c.fired[name]++
		}
	}
}

// one returns a handle of one of the processes below the server, or nil. A process number may be
// reused after its process ended; a handle stays with its process.
func (c *chaos) one(is func(suite.Process) bool, d *rand.Rand) *os.Process {
	mine := func() []suite.Process {
		return slices.DeleteFunc(suite.Descendants(c.Cmd.Process.Pid), func(p suite.Process) bool { return !is(p) })
	}
	all := mine()
	if len(all) == 0 {
		return nil
	}
	victim := all[d.IntN(len(all))]
	held, err := os.FindProcess(victim.PID)
	if err != nil || !slices.Contains(mine(), victim) {
		return nil
	}
	return held
}

func struck(with syscall.Signal, is func(suite.Process) bool) func(context.Context, *chaos, *rand.Rand) bool {
	return func(_ context.Context, c *chaos, d *rand.Rand) bool {
		p := c.one(is, d)
		return p != nil && p.Signal(with) == nil
	}
}

// stopped stops a process for a while.
func stopped(is func(suite.Process) bool) func(context.Context, *chaos, *rand.Rand) bool {
	return func(ctx context.Context, c *chaos, d *rand.Rand) bool {
		p, long := c.one(is, d), time.Duration(200+d.IntN(min(3000, int(*chaosFor/time.Millisecond)/5)))*time.Millisecond
		if p == nil || p.Signal(syscall.SIGSTOP) != nil {
			return false
		}
		pause(ctx, long)
		if err := p.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.t.Errorf("a process cannot go on: %v", err)
		}
		return true
	}
}
