package serve_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// node is a node of a cluster.
type node struct {
	*suite.Server

	data   string
	engine *natstest.Cluster
	config string
}

// clusterIs checks what cluster status says, of the node's data folder and from outside: the states of the
// nodes a and b, and the exit code.
func clusterIs(t *testing.T, n *node, code int, states ...string) {
	t.Helper()
	for _, args := range [][]string{{"--data-dir", n.data}, {"--data-dir", t.TempDir(), "--cluster", n.engine.URLs()[0]}} {
		var status struct {
			Engine struct {
				URL         string
				RoundTripMs float64
				Quorum      bool
			}
			Nodes []struct {
				Name, Incarnation, Addr, State, Build, ConfigDigest string
				LeaseAgeMs, Sessions, Free                          int
			}
			Sites []struct{ Name, Owner string }
			Vault struct {
				Kind   string
				Copies int
			}
			Warnings []string
		}
		var out []byte
		var err error
		suite.Within(suite.ReplyWithin, func() bool { // what a node has read anew is in its next renewal
			cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"cluster", "status", "--json"}, args...)...)
			out, err = cmd.Output()
			if err := json.Unmarshal(out, &status); err != nil || cmd.ProcessState.ExitCode() != code || len(status.Nodes) == 0 {
				t.Fatalf("%s: exit %d: %v\n%s", args, cmd.ProcessState.ExitCode(), err, out)
			}
			return status.Nodes[0].ConfigDigest == status.Nodes[len(status.Nodes)-1].ConfigDigest
		})
		if e := status.Engine; !e.Quorum || e.RoundTripMs <= 0 || !strings.HasPrefix(e.URL, "nats://127.") || len(status.Nodes) != len(states) {
			t.Fatalf("%v\n%s", err, out)
		}
		if v := status.Vault; v.Kind != "nats" || v.Copies != 1 || !strings.Contains(strings.Join(status.Warnings, "\n"), "kept results may be forgotten after a power failure") {
			t.Errorf("%s", out)
		}
		for i, is := range status.Nodes {
			alive := is.State == "alive"
			if is.Name != string("ab"[i]) || is.State != states[i] || len(is.Incarnation) != 8 || !strings.HasPrefix(is.Addr, "https://127.") || is.Build == "" ||
				len(is.ConfigDigest) != 26 || is.ConfigDigest != status.Nodes[0].ConfigDigest || alive && (is.LeaseAgeMs > 2000 || is.Free == 0) {
				t.Errorf("%s", out)
			}
		}
		text, _ := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"cluster", "status"}, args...)...).Output()
		if said := string(text); !strings.Contains(said, "takes writes") || !strings.Contains(said, states[0]) || !strings.Contains(said, status.Nodes[1].Incarnation) {
			t.Errorf("as text:\n%s", said)
		}
	}
}

// nodes form one cluster. Each has its own data folder, as on machines of their own.
type nodes struct {
	engine         *natstest.Cluster
	folder, secret string
	args           []string // of each
}

// begins starts a process of the program.
type begins func(path, dir, tmp string, args ...string) (*suite.Server, error)

func newNodes(t *testing.T) *nodes {
	t.Helper()
	c := &nodes{engine: natstest.Start(t, natstest.Newest(t), natstest.Options{}), folder: t.TempDir()}
	c.secret = clusterKey(t, c.folder)
	return c
}

// clusterKey makes the key of a cluster, and returns its file in the folder.
func clusterKey(t *testing.T, folder string) string {
	t.Helper()
	made, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "key").Output()
	secret := filepath.Join(folder, "cluster.key")
	if err == nil {
		err = os.WriteFile(secret, made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// start starts a node with a configuration file, and more arguments. The pages of its browser end with it, unless the
// file says another one.
func (c *nodes) start(t *testing.T, name, config string, begin begins, args ...string) *node {
	t.Helper()
	file := suite.WriteFile(t, name+".yaml", suite.PagesEnd(config))
	s, err := begin(suite.Pagetools(t), "", suite.TempDir(t), append([]string{"serve", "--config", file, "--data-dir", filepath.Join(c.folder, name), "--approval", "auto",
		"--warm", "0", "--console-listen", "127.0.0.1:0", "--cluster", c.engine.URLs()[0], "--cluster-key-file", c.secret, "--node", name,
		"--peer-listen", "127.0.0.1:0", "--lease", "2s", suite.OwnBrowser}, append(c.args, args...)...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Cmd.Process.Kill(); <-s.Ended })
	return &node{s, filepath.Join(c.folder, name), c.engine, file}
}

// visits counts the requests of a site, by path.
type visits struct {
	mu  sync.Mutex
	all map[string]int
}

func (v *visits) of(path string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.all[path]
}

// pageOf serves a page with that script.
func pageOf(t *testing.T, script string) (address string, v *visits) {
	t.Helper()
	v = &visits{all: map[string]int{}}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.all[r.URL.Path]++
		v.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Site</title><script>%s</script>", script)
	}))
	t.Cleanup(site.Close)
	return site.URL + "/", v
}

// clusterCallers may call all nodes.
var clusterCallers = fmt.Sprintf("callers:\n  - {name: agent, token: %s, may: [call, elicit]}\n  - {name: person, token: %s, may: [call]}\n"+
	"  - {name: rated, token: %s, may: [call], rate: 6/1m}\n", suite.AgentToken, suite.PersonToken, ratedToken)

// twoNodes starts two nodes of a cluster, for a site with a counter and a tool that asks, and one whose
// content is untrusted.
func twoNodes(t *testing.T) (one, two *node) {
	t.Helper()
	c := newNodes(t)
	shop, _ := pageOf(t, `let n = 0
document.modelContext.registerTool({name: 'inc', description: 'Counts.', execute: () => ++n});
document.modelContext.registerTool({name: 'look', description: 'Looks.', annotations: {readOnlyHint: true}, execute: () => 'shelf'});
document.modelContext.registerTool({name: 'buy', description: 'Buys.', execute: () => confirm('Buy?') ? 'bought' : 'left'});`)
	mail, _ := pageOf(t, `document.modelContext.registerTool({name: 'read', description: 'Reads.', annotations: {readOnlyHint: true, untrustedContentHint: true}, execute: () => 'spam'});`)
	sites := []string{"shop=" + shop, "mail=" + mail}
	c.engine.Kill()
	a := c.start(t, "a", clusterCallers, func(path, dir, tmp string, args ...string) (*suite.Server, error) {
		return startsLater(t, func() { c.engine.Servers[0].Restart() }, path, dir, tmp, args...)
	}, sites...)
	return a, c.start(t, "b", clusterCallers, suite.Start, sites...)
}

// TestTwoNodes: a session, a question, a token and the operators' page of one node are reached through
// the other. When a node is killed, what it had is told as lost, its session ends once, and then goes
// on at the other node; a node that is stopped leaves nothing to wait for.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	one, two := twoNodes(t)
	counts := func(why string, s *node, session string, want float64) {
		t.Helper()
		if got := suite.AsksFor(t, s.Server, suite.AgentToken, "shop", session, "inc", "{}").OK(t); got != want {
			t.Errorf("%s: %v, want %v", why, got, want)
		}
	}
	counts("the first call", one, "s", 1)
	counts("at the other node", two, "s", 2)
	counts("at its home", one, "s", 3)
	counts("no session", two, "", 1)
	looksOn(t, one, two)
	call := func(s *node, body string) suite.Reply {
		return s.In(t.Context(), suite.AgentToken, http.MethodPost, s.URL+"/webtools/shop", body)
	}
	const inc = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"inc","arguments":{}}}`
	mcp := begin(t, two.Server, "/mcp/shop")
	for i, s := range []*suite.Server{one.Server, two.Server, one.Server} {
		if r := mcpPost(t, s, http.MethodPost, "/mcp/shop", inc, "Mcp-Session-Id", mcp); !strings.Contains(string(r.Body), fmt.Sprintf(`"text":"%d"`, i+1)) {
			t.Errorf("MCP, call %d: %d %s", i, r.Status, r.Body)
		}
	}

	tainted(t, one, two)
	rated(t, one, two)
	revoked(t, one, two)
	keyed := func(s *node, key, body string) suite.Reply {
		return s.In(t.Context(), suite.AgentToken, http.MethodPost, s.URL+"/webtools/shop", body, "Idempotency-Key", key)
	}
	repeats := func(why string, n *node, want suite.Reply) {
		t.Helper()
		if r := keyed(n, "key-of-inc", `{"action":"inc","sessionId":"k","request":{}}`); r.Status != http.StatusOK || string(r.Body) != string(want.Body) {
			t.Errorf("%s: %d %s, want %s", why, r.Status, r.Body, want.Body)
		}
	}
	first := keyed(one, "key-of-inc", `{"action":"inc","sessionId":"k","request":{}}`)
	repeats("a key at the other node", two, first)
	counts("it ran once", two, "k", 2)

	const buy = `{"action":"buy","sessionId":"t","request":{}`
	question, token := call(one, buy+"}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	page := two.Ready.Console
	if r := two.In(t.Context(), page.Token, http.MethodGet, page.URL+"/api/questions", ""); !strings.Contains(string(r.Body), fmt.Sprint(question["id"])) {
		t.Errorf("the inbox of the other node: %d %s", r.Status, r.Body)
	}
	answers(t, two.Server, question)
	if r := call(two, fmt.Sprintf(`%s,"config":{"resume":%q,"wait":60000}}`, buy, token)); !strings.Contains(string(r.Body), "bought") {
		t.Errorf("its outcome at the other node: %d %s", r.Status, r.Body)
	}

	_, token = call(one, strings.Replace(buy, `"t"`, `"u"`, 1)+"}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	const begins = `{"action":"buy","request":{}}`
	question, _ = keyed(one, "key-of-buy", begins).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	if same, _ := keyed(two, "key-of-buy", begins).Waiting(t, http.StatusConflict, "INPUT_REQUIRED"); same["id"] != question["id"] {
		t.Errorf("a key whose call waits at the other node asks %v, not %v", same["id"], question["id"])
	}
	clusterIs(t, two, 0, "alive", "alive")
	_ = one.Cmd.Process.Kill()
	<-one.Ended
	if r := call(two, fmt.Sprintf(`%s,"config":{"resume":%q}}`, strings.Replace(buy, `"t"`, `"u"`, 1), token)); r.Status != http.StatusBadGateway ||
		!strings.Contains(string(r.Body), `"reason":"NODE_LOST","outcome":"unknown"`) {
		t.Errorf("a token of a node that was killed: %d %s", r.Status, r.Body)
	}
	if r := call(two, `{"action":"inc","sessionId":"s","request":{}}`); r.Status != http.StatusGone {
		t.Errorf("its session: %d %s", r.Status, r.Body)
	}
	counts("after that", two, "s", 1)
	repeats("a key of a node that was killed", two, first)
	for range 2 {
		if r := keyed(two, "key-of-buy", begins); r.Status != http.StatusBadGateway || !strings.Contains(string(r.Body), `"reason":"NODE_LOST","outcome":"unknown"`) {
			t.Errorf("a key whose call had begun: %d %s", r.Status, r.Body)
		}
	}
	clusterMetrics(t, two)
	clusterIs(t, two, 1, "dead", "alive")
	withoutEngine(t, two)
	if err := two.Stop(); err != nil {
		t.Error(err)
	}
}

// looksOn: the operators' page of a node shows a session of the other one, its page as it changes, and ends
// it. Its caller is told so once, by whichever node it asks.
func looksOn(t *testing.T, one, two *node) {
	t.Helper()
	inc := func(n *node) suite.Reply {
		return suite.AsksFor(t, n.Server, suite.AgentToken, "shop", "watched", "inc", "{}")
	}
	inc(one).OK(t)
	console := two.Ready.Console
	var list struct {
		Items []struct{ ID, Session, Node string }
	}
	r := two.As(t, console.Token, http.MethodGet, console.URL+"/api/sessions", "")
	if err := json.Unmarshal(r.Body, &list); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	i := slices.IndexFunc(list.Items, func(s struct{ ID, Session, Node string }) bool { return s.Session == "watched" })
	if i < 0 {
		t.Fatalf("the sessions of the other node are %s", r.Body)
	}
	path, at := "sessions/"+list.Items[i].ID, "?node="+list.Items[i].Node
	if r := two.As(t, console.Token, http.MethodGet, console.URL+"/api/"+path+"/picture"+at, ""); !strings.HasPrefix(string(r.Body), "\x89PNG") {
		t.Errorf("a picture of it: %d %s", r.Status, suite.Shorten(r.Body))
	}
	seen := viewOf(t, two.Server, path+at)
	hears(t, seen, "the page of another node", func(s liveState) bool { return s.Type == "size" })
	if r := two.As(t, console.Token, http.MethodDelete, console.URL+"/api/"+path+at, ""); r.Status != http.StatusOK {
		t.Errorf("closing it: %d %s", r.Status, r.Body)
	}
	hears(t, seen, "the end of a session of another node", func(s liveState) bool { return s.Over })
	if r := inc(two); r.Status != http.StatusGone {
		t.Errorf("the next call: %d %s", r.Status, r.Body)
	}
	if got := inc(one).OK(t); got != 1. {
		t.Errorf("the one after that: %v", got)
	}
}

// ratedToken is of a caller that may make six calls a minute.
const ratedToken = "a-token-of-a-caller-with-a-rate"

// rated: two nodes together let through what one does.
func rated(t *testing.T, nodes ...*node) {
	t.Helper()
	taken := 0
	for i := range 10 {
		switch r := suite.AsksFor(t, nodes[i%len(nodes)].Server, ratedToken, "shop", "", "nowhere", "{}"); r.Status {
		case http.StatusNotFound:
			taken++
		case http.StatusTooManyRequests:
			if wait, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 10 {
				t.Errorf("a caller over its rate waits for %d s, %v", wait, err)
			}
		default:
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	if taken != 6 {
		t.Errorf("%d of ten calls of six a minute", taken)
	}
}

// reads has a node read its configuration again, without a caller or with all.
func (n *node) reads(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile(n.config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "reload", "--data-dir", n.data).CombinedOutput(); err != nil {
		t.Fatalf("reload: %v\n%s", err, out)
	}
}

// revoked: a credential that one node does not have any more counts at no other one, whose own file still
// has it, until it is given again.
func revoked(t *testing.T, one, two *node) {
	t.Helper()
	whole, err := os.ReadFile(one.config)
	if err != nil {
		t.Fatal(err)
	}
	less := regexp.MustCompile(`(?m)^.*name: rated.*\n`).ReplaceAllString(string(whole), "")
	is := func(why string, n *node, token string, among ...int) {
		t.Helper()
		r := suite.Reply{}
		if !suite.Within(suite.ReplyWithin, func() bool {
			r = suite.AsksFor(t, n.Server, token, "shop", "", "nowhere", "{}")
			return slices.Contains(among, r.Status)
		}) {
			t.Errorf("%s: %d %s", why, r.Status, r.Body)
		}
	}
	is("before", two, ratedToken, http.StatusNotFound, http.StatusTooManyRequests)
	one.reads(t, less)
	is("where it was revoked", one, ratedToken, http.StatusForbidden)
	is("at the other node", two, ratedToken, http.StatusForbidden)
	is("another caller", two, suite.AgentToken, http.StatusNotFound)
	two.reads(t, string(whole))
	is("at the other node, which read its file again", two, ratedToken, http.StatusForbidden)
	one.reads(t, string(whole))
	is("given again", one, ratedToken, http.StatusNotFound, http.StatusTooManyRequests)
	is("given again, at the other node", two, ratedToken, http.StatusNotFound, http.StatusTooManyRequests)
}

// clusterMetrics checks that a node which declared another one dead, and took its session over, counts what
// the document says, and nothing else of the cluster.
func clusterMetrics(t *testing.T, n *node) {
	t.Helper()
	body := string(n.In(t.Context(), suite.AgentToken, http.MethodGet, n.URL+"/metrics", "").Body)
	document, err := os.ReadFile(filepath.Join(docs.Root(t), "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := func(pattern, text string) (all []string) {
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, match[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	served, written := names(`(?m)^# TYPE (pagetools_cluster_\w+) `, body), names("(?m)^\\| `(pagetools_cluster_\\w+)` \\|", string(document))
	if len(served) == 0 || !slices.Equal(served, written) {
		t.Errorf("/metrics has %q, and the document %q", served, written)
	}
	for _, line := range []string{`nodes{state="alive"} 1`, `deaths_declared_total 1`, `takeovers_total{result="expired"} 1`, `leases_lost_total 0`} {
		if !strings.Contains(body, "\npagetools_cluster_"+line+"\n") {
			t.Errorf("%s is not in /metrics", line)
		}
	}
	for _, more := range []string{`rate_batches_total [1-9]`, `routed_total\{why="session"\} [1-9]`, `route_seconds_count [1-9]`, `tickets_total\{what="begun"\} [1-9]`, `lease_age_seconds 0\.`, `records_seconds_count{op="update"} [1-9]`, `records_seconds_count{op="get"} [1-9]`, `records_errors_total{op="get"} 0`} {
		if !regexp.MustCompile(`(?m)^pagetools_cluster_` + more).MatchString(body) {
			t.Errorf("%s is not in /metrics", more)
		}
	}
}

// withoutEngine: while the engine is away, what only reads goes on, a person is asked about what may change
// something, untrusted content is withheld, and cluster status says why.
func withoutEngine(t *testing.T, n *node) {
	t.Helper()
	n.engine.Kill()
	is := func(site, tool string, status int, says string) {
		t.Helper()
		if r := suite.AsksFor(t, n.Server, suite.AgentToken, site, "", tool, "{}"); r.Status != status || !strings.Contains(string(r.Body), says) {
			t.Errorf("without the engine, %s is %d %s", tool, r.Status, r.Body)
		}
	}
	is("shop", "look", http.StatusOK, "shelf")
	// What was read of a caller less than a lease ago stands, so that it takes a moment.
	suite.Within(suite.ReplyWithin, func() bool {
		return suite.AsksFor(t, n.Server, suite.AgentToken, "shop", "", "inc", "{}").Status == http.StatusForbidden
	})
	is("shop", "inc", http.StatusForbidden, "APPROVAL_REQUIRED")
	is("mail", "read", http.StatusServiceUnavailable, `"reason":"NO_QUORUM","outcome":"unknown"`)
	cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "status", "--json", "--cluster", n.engine.URLs()[0])
	if out, _ := cmd.Output(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), `"quorum":false`) || !strings.Contains(string(out), "does not answer") {
		t.Errorf("cluster status: exit %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	for _, s := range n.engine.Servers {
		s.Restart()
	}
}

// startsLater starts a node whose engine is not there: it says so, refuses calls, and serves nobody. It
// begins when the engine is there, which restart starts.
func startsLater(t *testing.T, restart func(), path, dir, tmp string, args ...string) (*suite.Server, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := l.Addr().String()
	_ = l.Close()
	s, err := suite.Launch(path, dir, tmp, append(args, "--listen", at, "--format", "json")...)
	if err != nil {
		return nil, err
	}
	is := func(method, path, body string, status int, says string) bool {
		r := s.In(t.Context(), suite.AgentToken, method, "http://"+at+path, body)
		return r.Status == status && strings.Contains(string(r.Body), says)
	}
	suite.Within(suite.ReadyWithin, func() bool {
		return s.HasEnded() || is(http.MethodGet, "/readyz", "", http.StatusServiceUnavailable, `"status":"starting"`)
	})
	for _, x := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{http.MethodGet, "/readyz", "", http.StatusServiceUnavailable, `"status":"starting"`},
		{http.MethodGet, "/healthz", "", http.StatusOK, `"status":"ok"`},
		{http.MethodGet, "/webtools", "", http.StatusServiceUnavailable, `"reason":"NO_QUORUM","outcome":"not_run"`},
		{http.MethodPost, "/webtools/shop", `{"action":"inc","request":{}}`, http.StatusServiceUnavailable, `"reason":"NO_QUORUM","outcome":"not_run"`},
		{http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, http.StatusServiceUnavailable, `"jsonrpc":"2.0"`},
	} {
		if !is(x.method, x.path, x.body, x.status, x.says) {
			t.Errorf("without its engine, %s %s is not %d %s\n%s", x.method, x.path, x.status, x.says, s.Stderr)
		}
	}
	if r := s.In(t.Context(), "", http.MethodGet, "http://"+at+"/webtools", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("a stranger: %d %s", r.Status, r.Body)
	}
	restart()
	suite.Within(suite.ReadyWithin, func() bool { return s.HasEnded() || strings.Contains(s.Stdout.String(), "\n") })
	line, _, _ := strings.Cut(s.Stdout.String(), "\n")
	if err := json.Unmarshal([]byte(line), &s.Ready); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.Stderr)
	}
	s.URL = s.Ready.Listening
	return s, nil
}

// tainted: what a caller read through one node counts at once through the other, and for it alone.
func tainted(t *testing.T, one, two *node) {
	t.Helper()
	counts := func(why, token string, status int) {
		t.Helper()
		if r := suite.AsksFor(t, two.Server, token, "shop", "", "inc", "{}"); r.Status != status {
			t.Errorf("%s: %d %s", why, r.Status, r.Body)
		}
	}
	counts("before it read anything", suite.PersonToken, http.StatusOK)
	if got := suite.AsksFor(t, one.Server, suite.PersonToken, "mail", "", "read", "{}").OK(t); got != "spam" {
		t.Fatalf("reading: %v", got)
	}
	counts("after it read through the other node", suite.PersonToken, http.StatusForbidden)
	counts("another caller", suite.AgentToken, http.StatusOK)
}
