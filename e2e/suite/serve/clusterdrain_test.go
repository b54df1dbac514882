package serve_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// draining is a site whose page says when a slow call began.
const draining = `let n = 0
const add = (name, execute) => document.modelContext.registerTool({name, description: 'Does it.', execute});
add('inc', () => ++n);
add('slow', async () => { await fetch('/began'); await new Promise((r) => setTimeout(r, 2000)); return 'slow'; });
add('ask', () => confirm('Now?') ? 'yes' : 'no');`

// TestDrainedNode: a node that an operator wants to end, through another one, finishes its calls and those
// that it passed on; its sessions go on through the others until their time is over; what begins at it is
// made elsewhere; and then it is gone, without a wait for its death. Its callers are told of their sessions.
func TestDrainedNode(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	shop, visited := pageOf(t, draining)
	one := c.start(t, "a", clusterCallers, suite.Start, "--drain-time", "15s", "shop="+shop)
	two := c.start(t, "b", clusterCallers, suite.Start, "shop="+shop)
	counts := func(why string, n *node, session string, want float64) {
		t.Helper()
		if got := suite.AsksFor(t, n.Server, suite.AgentToken, "shop", session, "inc", "{}").OK(t); got != want {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	counts("a session of the node", one, "s", 1)
	counts("a session of the other one", two, "t", 1)
	inFlight := []struct {
		at      *node
		session string
	}{{two, "s"}, {one, "t"}, {one, ""}, {one, "v"}}
	replies := make(chan suite.Reply, len(inFlight))
	for _, x := range inFlight {
		go func() { replies <- suite.AsksFor(t, x.at.Server, suite.AgentToken, "shop", x.session, "slow", "{}") }()
	}
	if !suite.Within(suite.ReplyWithin, func() bool { return visited.of("/began") == len(inFlight) }) {
		t.Fatalf("%d calls began", visited.of("/began"))
	}
	drain := func(n *node, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"cluster", "drain"}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("cluster drain: %v\n%s", err, out)
		}
		return string(out)
	}
	if out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "drain", "c", "--data-dir", two.data).CombinedOutput(); err == nil || !strings.Contains(string(out), "Others do: a") {
		t.Errorf("a node that is not there: %v\n%s", err, out)
	}
	if said := drain(two, "a", "--data-dir", two.data); !strings.Contains(said, "a is draining") {
		t.Errorf("%s", said)
	}
	if r := one.In(t.Context(), "", http.MethodGet, one.URL+"/readyz", ""); r.Status != http.StatusServiceUnavailable || !strings.Contains(string(r.Body), `"status":"draining"`) {
		t.Errorf("/readyz: %d %s", r.Status, r.Body)
	}
	clusterIs(t, two, 0, "draining", "alive")
	counts("a new session at the node", one, "u", 1)
	counts("which the other one has", two, "u", 2)
	counts("no session", one, "", 1)
	for range inFlight {
		if r := <-replies; !strings.Contains(string(r.Body), `"data":"slow"`) {
			t.Errorf("a call in flight: %d %s", r.Status, r.Body)
		}
	}
	counts("a session goes on through the other node", two, "s", 2)
	counts("and through its own", one, "s", 3)
	drain(two, "a", "--wait", "--cluster", c.engine.URLs()[0], "--cluster-key-file", c.secret)
	<-one.Ended
	if code := one.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the node ended with %d\n%s", code, one.Stderr)
	}
	for _, session := range []string{"s", "v"} {
		if r := suite.AsksFor(t, two.Server, suite.AgentToken, "shop", session, "inc", "{}"); r.Status != http.StatusGone {
			t.Errorf("its session %s: %d %s", session, r.Status, r.Body)
		}
		counts("after that", two, session, 1)
	}
	counts("what the other node had", two, "t", 2)
	if out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--data-dir", two.data).CombinedOutput(); err != nil || strings.Contains(string(out), "dead") {
		t.Errorf("cluster status: %v\n%s", err, out)
	}
	if r := suite.AsksFor(t, two.Server, suite.AgentToken, "shop", "w", "ask", "{}"); r.Status != http.StatusConflict {
		t.Fatalf("a call that asks: %d %s", r.Status, r.Body)
	}
	for range 2 { // the second one ends it at once
		if err := two.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		suite.Within(suite.ReplyWithin, func() bool { return strings.Contains(two.Stderr.String(), "draining: ") })
	}
	<-two.Ended
}

// TestTerminatedNode: SIGTERM drains, too: calls through another node are not lost, and a session without
// a call is not waited for longer than its time.
func TestTerminatedNode(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	shop, visited := pageOf(t, draining)
	one := c.start(t, "a", clusterCallers, suite.Start, "--drain-time", "3s", "shop="+shop)
	two := c.start(t, "b", clusterCallers, suite.Start, "shop="+shop)
	suite.AsksFor(t, one.Server, suite.AgentToken, "shop", "s", "inc", "{}").OK(t)
	replies := make(chan string, 8)
	for i := range cap(replies) { // through the other node, one after the other until the node is gone
		session := fmt.Sprint("s", i)
		suite.AsksFor(t, one.Server, suite.AgentToken, "shop", session, "inc", "{}").OK(t)
		go func() {
			r := suite.AsksFor(t, two.Server, suite.AgentToken, "shop", session, "slow", "{}")
			replies <- fmt.Sprint(r.Status, string(r.Body))
		}()
	}
	if !suite.Within(suite.ReplyWithin, func() bool { return visited.of("/began") >= 2 }) {
		t.Fatalf("%d calls began", visited.of("/began"))
	}
	if err := one.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range cap(replies) {
		if said := <-replies; !strings.Contains(said, `"data":"slow"`) && !strings.Contains(said, `"outcome":"not_run"`) {
			t.Errorf("a call was lost: %s", said)
		}
	}
	<-one.Ended
	if code := one.Cmd.ProcessState.ExitCode(); code != 130 && code != 0 {
		t.Errorf("the node ended with %d\n%s", code, one.Stderr)
	}
}
