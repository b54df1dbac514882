package cluster_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// opens makes a node the home of a session of the agent, and returns the session.
func (w *world) opens(n *node, session string) string {
	w.t.Helper()
	w.is(w.at(n, call{caller: "agent", tool: "work", id: session + "-opened", session: session}), http.StatusOK, "ok", "")
	return session
}

// is checks what a caller saw.
func (w *world) is(e entry, status int, outcome, why string) {
	w.t.Helper()
	if e.status != status || e.outcome != outcome || strings.TrimSpace(e.why) != why {
		w.t.Errorf("%+v, want %d %s %s", e, status, outcome, why)
	}
}

// begin makes a call in the background.
func (w *world) begin(n *node, c call) <-chan entry {
	end := make(chan entry, 1)
	go func() { end <- w.at(n, c) }()
	return end
}

// until repeats a call at a node until it ends so. It returns how long that took.
func (w *world) until(n *node, c call, status int, outcome string) time.Duration {
	w.t.Helper()
	began, last, i := time.Now(), entry{}, 0
	if !suite.Within(suite.ReplyWithin, func() bool {
		again := c
		again.id = fmt.Sprintf("%s-%d", c.id, i)
		i++
		last = w.at(n, again)
		return last.status == status && last.outcome == outcome
	}) {
		w.t.Errorf("%+v, want %d %s", last, status, outcome)
	}
	return time.Since(began)
}

// api returns a reply of the operators' page of a node.
func (n *node) api(t *testing.T, path string) string {
	s := n.is.Load()
	return string(s.In(t.Context(), s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+path, "").Body)
}

// births counts how often a node that was taken for dead began anew in its process.
func (n *node) births() int { return len(n.said("serves again")) }

// reborn waits until a node that was taken for dead serves again, in its process, and returns how long that took. It
// had begun anew so many times before.
func (w *world) reborn(n *node, before int) time.Duration {
	w.t.Helper()
	began := time.Now()
	suite.Eventually(w.t, suite.ReplyWithin, "it serves again", func() bool { return n.births() == before+1 })
	w.until(n, call{caller: "agent", tool: "work", id: "reborn-" + n.name + fmt.Sprint(w.turn.Add(1))}, http.StatusOK, "ok")
	if len(n.codes) > 0 {
		w.t.Errorf("the process of the node %s ended with %d", n.name, <-n.codes)
	}
	return time.Since(began)
}

// TestTable tries the table of docs/internal/cluster.md: a fault, what callers see, and within what time.
func TestTable(t *testing.T) {
	w := newWorld(t, 1)
	a, b := w.nodes[0], w.nodes[1]
	for _, row := range []struct {
		name string
		try  func(t *testing.T, a, b *node)
	}{
		{"home killed", w.homeKilled},
		{"home killed during calls", w.homeKilledInCall},
		{"home stopped during calls", w.homeStopped},
		{"home cut from the engine", w.homeCut},
		{"home cut from the others", w.homeSilent},
		{"entry killed", w.entryKilled},
		{"engine gone", w.engineGone},
		{"names of a home that was killed", w.namesLost},
	} {
		if !t.Run(row.name, func(t *testing.T) {
			w.t = t
			row.try(t, a, b)
			w.serves()
			for len(b.codes) > 0 {
				<-b.codes
			}
		}) {
			break
		}
	}
	w.t = t
	t.Log(w.report(nil))
	for _, p := range w.problems() {
		t.Error(p)
	}
}

// homeKilled: the next call of the session is told that the page is lost, and the one after that begins.
func (w *world) homeKilled(t *testing.T, a, b *node) {
	s := w.opens(b, "killed")
	b.down.Lock()
	defer b.down.Unlock()
	b.signal(syscall.SIGKILL)
	e := w.at(a, call{caller: "agent", tool: "work", id: "killed-1", session: s})
	w.is(e, http.StatusGone, "not_run", "SESSION_EXPIRED")
	t.Logf("410 after %v", e.took)
	w.is(w.at(a, call{caller: "agent", tool: "work", id: "killed-2", session: s}), http.StatusOK, "ok", "")
}

// homeKilledInCall: nobody knows of the call in the page; the one that waited for it did not run.
func (w *world) homeKilledInCall(t *testing.T, a, b *node) {
	runs, waits := w.occupies(a, b, "killed-in-call")
	b.down.Lock()
	defer b.down.Unlock()
	began := time.Now()
	b.signal(syscall.SIGKILL)
	w.is(<-runs, http.StatusBadGateway, "unknown", "INTERNAL_ERROR NODE_LOST")
	t.Logf("502 after %v", time.Since(began))
	e := <-waits
	w.is(e, http.StatusGone, "not_run", "SESSION_EXPIRED")
	t.Logf("410 of the call that waited after %v", time.Since(began))
	w.once(a, e)
}

// homeStopped: as when it is killed. What wakes up later runs nothing.
func (w *world) homeStopped(t *testing.T, a, b *node) {
	births := b.births()
	runs, waits := w.occupies(a, b, "stopped-in-call")
	began := time.Now()
	b.signal(syscall.SIGSTOP)
	w.is(<-runs, http.StatusBadGateway, "unknown", "INTERNAL_ERROR NODE_LOST")
	t.Logf("502 after %v", time.Since(began))
	e := <-waits
	w.is(e, http.StatusGone, "not_run", "SESSION_EXPIRED")
	w.once(a, e)
	b.signal(syscall.SIGCONT)
	w.site.Release() // the page is free
	t.Logf("200 at the home %v after it goes on", w.reborn(b, births))
	if n := w.site.Ran(e.id); n != 0 {
		t.Errorf("the call that waited ran %d times", n)
	}
}

// occupies has one call run in a page of a home, and another one wait for that page. Both came through
// another node.
func (w *world) occupies(entry, home *node, session string) (runs, waits <-chan entry) {
	w.t.Helper()
	s := w.opens(home, session)
	runs = w.begin(entry, call{caller: "agent", tool: "hold", id: session + "-runs", session: s})
	<-w.site.Held
	waits = w.begin(entry, call{caller: "agent", tool: "work", id: session + "-waits", session: s})
	suite.Eventually(w.t, suite.ReplyWithin, "a call waits at its home", func() bool {
		return strings.Contains(home.api(w.t, "/api/calls?limit=5"), `"stage":"queued"`)
	})
	return runs, waits
}

// once repeats a call that is said not to have run, at another node: it runs once.
func (w *world) once(n *node, e entry) {
	w.t.Helper()
	w.is(w.at(n, call{caller: e.caller, tool: e.tool, id: e.id + "-again", session: e.session}), http.StatusOK, "ok", "")
}

// homeCut: through it, calls of its sessions end with NO_QUORUM; through another node, they go on there when
// the home is dead.
func (w *world) homeCut(t *testing.T, a, b *node) {
	births := b.births()
	s, other := w.opens(b, "cut"), w.opens(b, "cut-too")
	mend := w.network.cut(w.ways(b, false)...)
	direct := w.begin(b, call{caller: "agent", tool: "work", id: "direct", session: s})
	took := w.until(a, call{caller: "agent", tool: "work", id: "cut", session: other}, http.StatusGone, "not_run")
	e := <-direct
	w.is(e, http.StatusServiceUnavailable, "not_run", "INTERNAL_ERROR NO_QUORUM") // nobody is asked instead
	t.Logf("503 at the home after %v, 410 elsewhere after %v", e.took, took)
	w.is(w.at(a, call{caller: "agent", tool: "work", id: "cut-again", session: other}), http.StatusOK, "ok", "")
	mend()
	t.Logf("200 at the home %v after it is not cut any more", w.reborn(b, births))
}

// homeSilent: who asks through another node waits as long as that looks for a home. The call that was on its
// way is proved not to have run, or it is not known.
func (w *world) homeSilent(t *testing.T, a, b *node) {
	gatetest.Nightly(t, "the patience of a node is half a minute")
	runs, waits := w.occupies(a, b, "silent")
	defer w.network.cut(w.ways(b, true)[1:]...)()
	next := w.begin(a, call{caller: "agent", tool: "work", id: "silent-next", session: "silent"})
	status := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--data-dir", a.args[slices.Index(a.args, "--data-dir")+1])
	if out, _ := status.CombinedOutput(); !strings.Contains(string(out), "the node "+a.name+" does not reach "+b.name) {
		t.Errorf("cluster status does not name the pair:\n%s", out)
	}
	for end, outcome := range map[<-chan entry]string{runs: "unknown", waits: "not_run", next: "not_run"} {
		e := <-end
		w.is(e, http.StatusServiceUnavailable, outcome, "INTERNAL_ERROR NO_QUORUM")
		t.Logf("503 %s after %v", outcome, e.took)
	}
}

// entryKilled: the connection ends at once, and the home goes on.
func (w *world) entryKilled(t *testing.T, a, b *node) {
	s := w.opens(b, "entry")
	end := w.begin(a, call{caller: "agent", tool: "slow", id: "entry-1", session: s})
	suite.Eventually(t, suite.ReplyWithin, "the call runs", func() bool { return w.site.Ran("entry-1") == 1 })
	began := time.Now()
	a.signal(syscall.SIGKILL)
	e := <-end
	t.Logf("the connection ended after %v", time.Since(began))
	if e.outcome != "left" {
		t.Errorf("%+v", e)
	}
	w.is(w.at(b, call{caller: "agent", tool: "work", id: "entry-2", session: s}), http.StatusOK, "ok", "")
}

// engineGone: a new session is refused at once, and those that are there after a part of a lease. They go on
// when the engine is there again.
func (w *world) engineGone(t *testing.T, a, b *node) {
	s := w.opens(b, "engine")
	w.servers.Kill()
	e := w.at(a, call{caller: "agent", tool: "work", id: "engine-new", session: "engine-new"})
	w.is(e, http.StatusServiceUnavailable, "not_run", "INTERNAL_ERROR NO_QUORUM")
	took := w.until(b, call{caller: "agent", tool: "work", id: "engine-gone", session: s}, http.StatusServiceUnavailable, "not_run")
	t.Logf("503 of a new session after %v, of one that was there after %v", e.took, took)
	w.servers.Servers[0].Restart()
	t.Logf("200 after %v", w.until(b, call{caller: "agent", tool: "work", id: "engine-back", session: s}, http.StatusOK, "ok"))
}

// namesLost: a token and a session of MCP of a home that was killed are told as lost, and its question is in
// no inbox.
func (w *world) namesLost(t *testing.T, a, b *node) {
	const asks, begins = `{"action":"ask","sessionId":"names","request":{"id":"names-ask"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	send := func(n *node, path, body string, header ...string) suite.Reply {
		s := n.is.Load()
		return s.In(t.Context(), tokenOf("agent"), http.MethodPost, s.URL+path, body, append(header, "Accept", "application/json, text/event-stream")...)
	}
	w.opens(b, "names")
	question, token := send(b, "/webtools/shop", asks+"}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	mcp := send(b, "/mcp/shop", begins).Header.Get("Mcp-Session-Id")
	inInbox := func() bool { return strings.Contains(a.api(t, "/api/questions"), fmt.Sprint(question["id"])) }
	if !inInbox() {
		t.Error("the question is not in the inbox of the other node")
	}
	b.down.Lock()
	defer b.down.Unlock()
	began := time.Now()
	b.signal(syscall.SIGKILL)
	if r := send(a, "/webtools/shop", asks+fmt.Sprintf(`,"config":{"resume":%q}}`, token)); r.Status != http.StatusBadGateway || !strings.Contains(string(r.Body), `"reason":"NODE_LOST","outcome":"unknown"`) {
		t.Errorf("the token: %d %s", r.Status, r.Body)
	}
	t.Logf("502 of its token after %v", time.Since(began))
	if r := send(a, "/mcp/shop", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", mcp); r.Status != http.StatusNotFound {
		t.Errorf("the session of MCP: %d %s", r.Status, r.Body)
	}
	t.Logf("404 of its session of MCP after %v", time.Since(began))
	suite.Eventually(t, suite.ReplyWithin, "its question is in no inbox", func() bool { return !inInbox() })
	t.Logf("out of the inbox after %v", time.Since(began))
}

// TestEngineOfThree: when one of an engine's servers is killed, whichever it is, calls of sessions go on. They
// may take longer, or be refused for a moment.
func TestEngineOfThree(t *testing.T) {
	gatetest.Nightly(t, "three servers besides three nodes are much for a machine that does other things, too")
	w := newWorld(t, 3)
	a, b := w.nodes[0], w.nodes[1]
	s := w.opens(b, "three")
	for i, server := range w.servers.Servers {
		server.Kill()
		first := w.until(a, call{caller: "agent", tool: "work", id: fmt.Sprint("three-", i), session: s}, http.StatusOK, "ok")
		fresh := w.until(a, call{caller: "agent", tool: "work", id: fmt.Sprint("three-new-", i), session: fmt.Sprint("three-", i)}, http.StatusOK, "ok")
		t.Logf("server %d: a call of a session after %v, of a new one after %v", i, first, fresh)
		server.Restart()
		w.serves()
	}
	t.Log(w.report(nil))
	for _, p := range w.problems() {
		t.Error(p)
	}
}
