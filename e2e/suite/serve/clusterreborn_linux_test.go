package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// lifeOf returns the incarnation of a node that lives, as another one sees it; "" where none does.
func lifeOf(t *testing.T, by *node, name string) string {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--json", "--data-dir", by.data).Output()
	var status struct {
		Nodes []struct{ Name, Incarnation, State string }
	}
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, n := range status.Nodes {
		if n.Name == name && n.State == "alive" {
			return n.Incarnation
		}
	}
	return ""
}

// freezes stops the process of a node until another one sees that it is dead.
func freezes(t *testing.T, n, by *node, name string) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
	suite.Eventually(t, suite.ReplyWithin, "a node that is stopped is dead", func() bool { return lifeOf(t, by, name) == "" })
}

func (n *node) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := n.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// thaws lets a node go on, and returns how long it took until it served a call. Until then it refuses calls.
func thaws(t *testing.T, n *node) time.Duration {
	t.Helper()
	said := func() int { return strings.Count(n.Stderr.String(), " serves again\n") }
	before := said()
	n.signal(t, syscall.SIGCONT)
	began := time.Now()
	suite.Eventually(t, suite.ReplyWithin, "it serves again", func() bool {
		r := suite.AsksFor(t, n.Server, suite.AgentToken, "shop", "", "inc", "{}")
		if r.Status != http.StatusOK && (r.Status != http.StatusServiceUnavailable || r.Err != nil) {
			t.Errorf("in between: %d %s, %v", r.Status, r.Body, r.Err)
		}
		return r.Status == http.StatusOK && said() > before // a call without a session can run in the life before
	})
	return time.Since(began)
}

// ofOneLife are names that each life makes anew.
var ofOneLife = regexp.MustCompile(`[0-9a-f]{32}|[0-9A-Z]+`)

// holdings counts the descriptors, the doors and the lives of a node, and its sockets and processes, which come and go: a
// browser has more than three of them.
func (n *node) holdings(t *testing.T) (all string, others int) {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, fd := range open {
		at, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", n.Cmd.Process.Pid, fd.Name()))
		if strings.HasPrefix(at, "/") {
			at = filepath.Base(at)
		}
		if strings.HasPrefix(at, "socket:") {
			others++
			continue
		}
		kinds[ofOneLife.ReplaceAllString(at, "*")]++
	}
	doors, _ := filepath.Glob(filepath.Join(n.data, "run", "*"))
	lives, _ := filepath.Glob(filepath.Join(n.data, "lives", "*"))
	return fmt.Sprintf("%v, %d doors, %d lives", kinds, len(doors), len(lives)), others + len(suite.Descendants(n.Cmd.Process.Pid))
}

// TestBornAnew: a node that was stopped until others took it for dead goes on in its process, at its addresses, under
// another incarnation. What ran in its old life is unknown, its sessions end once, nothing runs twice, and nothing is
// left of that life, however often it happens.
func TestBornAnew(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	page, visits := pageOf(t, slowPage)
	config := clusterCallers + "sites: [{name: shop, target: \"" + page + "\"}]\n"
	one := c.start(t, "a", config+"# no browsers: it has one of its own\n", suite.Start)
	two := c.start(t, "b", config, suite.Start)
	asks := func(n *node, session, tool string) suite.Reply {
		return suite.AsksFor(t, n.Server, suite.AgentToken, "shop", session, tool, "{}")
	}
	const newToken = "a-new-token-of-the-person"
	was := lifeOf(t, two, "a")
	asks(one, "s", "inc").OK(t)
	asks(one, "idle", "inc").OK(t)
	one.reads(t, strings.Replace(config, suite.PersonToken, newToken, 1))
	lost := make(chan suite.Reply, 1)
	go func() { lost <- asks(two, "s", "slow") }()
	suite.Eventually(t, suite.ReplyWithin, "the call runs", func() bool { return visits.of("/began") == 1 })
	freezes(t, one, two, "a")
	if r := <-lost; r.Status != http.StatusBadGateway || !strings.Contains(string(r.Body), `"reason":"NODE_LOST","outcome":"unknown"`) {
		t.Errorf("what ran: %d %s", r.Status, r.Body)
	}
	t.Logf("it serves %v after it goes on", thaws(t, one))
	for _, session := range []string{"s", "idle"} { // of which one was not asked for in between
		if r := asks(one, session, "inc"); r.Status != http.StatusGone {
			t.Errorf("the session %s: %d %s", session, r.Status, r.Body)
		}
		if got := asks(two, session, "inc").OK(t); got != 1. {
			t.Errorf("after that: %v", got)
		}
	}
	if is := lifeOf(t, two, "a"); is == was || is == "" {
		t.Errorf("it lives as %q, as before", is)
	}
	if n := visits.of("/began"); n != 1 {
		t.Errorf("the call ran %d times", n)
	}
	operator := one.Ready.Console
	if r := one.In(t.Context(), operator.Token, http.MethodGet, operator.URL+"/api/questions", ""); r.Status != http.StatusOK {
		t.Errorf("the operators' page: %d %s", r.Status, r.Body)
	}
	if r := one.In(t.Context(), suite.AgentToken, http.MethodGet, one.URL+"/metrics", ""); !strings.Contains(string(r.Body), "pagetools_cluster_leases_lost_total 1\n") {
		t.Errorf("the metrics do not tell: %s", r.Body)
	}
	has := func(why, token string, status int) {
		t.Helper()
		if r := suite.AsksFor(t, one.Server, token, "shop", "", "inc", "{}"); r.Status != status {
			t.Errorf("%s: %d %s", why, r.Status, r.Body)
		}
	}
	has("a token that the file did not have any more", suite.PersonToken, http.StatusForbidden)
	has("one that it had since it was read again", newToken, http.StatusOK)
	before, few := one.holdings(t)
	for range 3 {
		freezes(t, one, two, "a")
		t.Logf("again: %v", thaws(t, one))
	}
	if !suite.Within(suite.LastProcesses, func() bool { now, others := one.holdings(t); return now == before && others < few+3 }) {
		now, others := one.holdings(t)
		t.Errorf("after one life: %s, %d others\nafter four: %s, %d others", before, few, now, others)
	}
	one.reads(t, config)
	has("the file is read again", suite.PersonToken, http.StatusOK)
	if out := one.Stdout.String(); strings.Count(out, "\n") != 1 {
		t.Errorf("it says %s", out)
	}
	for _, line := range []string{"it ends what it had, and joins again\n", "the node a serves again\n"} {
		if n := strings.Count(one.Stderr.String(), line); n != 4 {
			t.Errorf("%q was said %d times:\n%s", line, n, one.Stderr)
		}
	}
	freezes(t, one, two, "a")
	one.signal(t, syscall.SIGCONT)
	suite.Eventually(t, suite.ReplyWithin, "its life ends", func() bool { return strings.Count(one.Stderr.String(), "joins again\n") == 5 })
	c.engine.Kill() // it waits now, or has joined already
	if err := one.Stop(); err != nil {
		t.Error(err)
	}
}

// TestPagesOutliveLives: when a node is born anew, the pages in a browser elsewhere that another node goes on with stay,
// and those that nobody asked for go on at whichever node is asked.
func TestPagesOutliveLives(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	browser, _ := suite.UsersBrowser(t)
	page, visits := pageOf(t, slowPage)
	config := clusterCallers + "browsers: [{name: pool, url: \"" + browser + "\", max: 20}]\nsites: [{name: shop, target: \"" + page + "\"}]\n"
	one, two := c.start(t, "a", config, suite.Start), c.start(t, "b", config, suite.Start)
	counts := func(why string, n *node, session string, want float64) {
		t.Helper()
		if got := suite.AsksFor(t, n.Server, suite.AgentToken, "shop", session, "inc", "{}").OK(t); got != want {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	counts("a session", one, "taken", 1)
	counts("another one", one, "left", 1)
	lost := make(chan suite.Reply, 1)
	go func() { lost <- suite.AsksFor(t, two.Server, suite.AgentToken, "shop", "taken", "slow", "{}") }()
	suite.Eventually(t, suite.ReplyWithin, "the call runs", func() bool { return visits.of("/began") == 1 })
	freezes(t, one, two, "a")
	if r := <-lost; r.Status != http.StatusBadGateway {
		t.Errorf("what ran: %d %s", r.Status, r.Body)
	}
	counts("the other node goes on", two, "taken", 2)
	t.Logf("it serves %v after it goes on", thaws(t, one))
	counts("its page is there", two, "taken", 3)
	counts("also for the node that had it", one, "taken", 4)
	counts("a page that nobody took", one, "left", 2)
	counts("and through the other node", two, "left", 3)
	if got := suite.AsksFor(t, one.Server, suite.AgentToken, "shop", "taken", "over", "{}").OK(t); got != 1. {
		t.Errorf("what ran ended %v times", got)
	}
}

// TestBornAnewWithoutKey: a node that cannot join again, because the key was replaced, ends as at a start.
func TestBornAnewWithoutKey(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	page, _ := pageOf(t, slowPage)
	config := clusterCallers + "sites: [{name: shop, target: \"" + page + "\"}]\n"
	one, two := c.start(t, "a", config, suite.Start), c.start(t, "b", config, suite.Start)
	freezes(t, one, two, "a")
	old := c.secret
	c.secret = clusterKey(t, t.TempDir())
	c.start(t, "c", config, suite.Start, "--cluster-key-old", old)
	one.signal(t, syscall.SIGCONT)
	select {
	case <-one.Ended:
	case <-time.After(suite.StopWithin):
		t.Fatalf("it goes on:\n%s", one.Stderr)
	}
	if code := one.Cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(one.Stderr.String(), "--cluster-key-file: what the engine keeps was sealed with another key") {
		t.Errorf("it ends with %d:\n%s", code, one.Stderr)
	}
}
