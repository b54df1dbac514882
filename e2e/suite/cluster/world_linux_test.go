package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// lease is the shortest that there is. A node that ends is known to have ended after two of it at most.
const lease = 2 * time.Second

// callers have a credential and a session each; agent and person are for single calls.
var callers = []string{"s0", "s1", "s2", "s3", "n0", "n1", "agent", "person"}

func tokenOf(caller string) string { return caller + "-token-of-the-tests" }

// world is a cluster of three nodes with its engine, a site that knows what ran, and a balancer.
type world struct {
	t       *testing.T
	site    *suite.Ledger
	servers *natstest.Cluster
	network *network
	nodes   []*node
	// repeats has the balancer send a request to the next node, too, when the first has not answered for
	// so long; 0 never does.
	repeats time.Duration
	turn    atomic.Int64
	way     http.Transport

	mu      sync.Mutex
	entries []entry
}

// node is a node that is started again when it was killed, as by a supervisor.
type node struct {
	name string
	args []string
	tmp  string
	down sync.Mutex // held while it must not start

	is    atomic.Pointer[suite.Server] // nil while it does not serve
	pid   atomic.Int64
	mu    sync.Mutex
	lives []*suite.LockedBuffer // what each of them said
	codes chan int              // the exit codes of those that ended
	over  atomic.Bool
	ended chan struct{} // closed when it is not started again
}

// newWorld starts a cluster whose engine has so many servers. It ends with the test.
func newWorld(t *testing.T, servers int) *world {
	t.Helper()
	w := &world{t: t, site: suite.NewLedger(t), servers: natstest.Start(t, natstest.Newest(t), natstest.Options{Servers: servers})}
	w.way.DisableKeepAlives = true
	w.network = newNetwork(t, w.holder)
	secret := filepath.Join(t.TempDir(), "cluster.key")
	made, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "key").Output()
	if err == nil {
		err = os.WriteFile(secret, made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	config := "limits: {call-timeout: 2m}\ncallers:\n"
	for _, name := range callers {
		config += fmt.Sprintf("  - {name: %s, token: %s, may: [call, elicit]}\n", name, tokenOf(name))
	}
	for _, name := range []string{"a", "b", "c"} {
		peers, err := suite.ClosedPort()
		if err != nil {
			t.Fatal(err)
		}
		var gates []string
		for _, url := range w.servers.URLs() {
			gates = append(gates, "nats://"+w.network.gate(name, engine, strings.TrimPrefix(url, "nats://")))
		}
		w.nodes = append(w.nodes, &node{name: name, tmp: suite.TempDir(t), codes: make(chan int, 1000), ended: make(chan struct{}),
			args: []string{"serve", "--config", suite.WriteFile(t, name+".yaml", suite.PagesEnd(config)), suite.OwnBrowser, "--data-dir", t.TempDir(), "--approval", "auto",
				"--console-listen", "127.0.0.1:0", "--cluster", strings.Join(gates, ","), "--cluster-key-file", secret, "--node", name,
				"--peer-listen", peers, "--peer-address", "https://" + w.network.gate("", name, peers), "--lease", lease.String(), "shop=" + w.site.URL + "/"}})
	}
	t.Cleanup(w.stop)
	for _, n := range w.nodes {
		go n.supervise(t, suite.Pagetools(t))
	}
	w.serves()
	return w
}

// supervise starts a node whenever it is not there.
func (n *node) supervise(t *testing.T, program string) {
	defer close(n.ended)
	for {
		n.down.Lock()
		if n.over.Load() {
			n.down.Unlock()
			return
		}
		s, err := suite.Launch(program, "", n.tmp, append(n.args, "--listen", "127.0.0.1:0", "--format", "json")...)
		n.down.Unlock()
		if err != nil {
			t.Error(err)
			return
		}
		n.pid.Store(int64(s.Cmd.Process.Pid))
		n.mu.Lock()
		n.lives = append(n.lives, s.Stderr)
		n.mu.Unlock()
		n.serves(s)
		<-s.Ended
		n.is.Store(nil)
		n.codes <- s.Cmd.ProcessState.ExitCode()
	}
}

// said returns the lines of all lives of a node that have a word.
func (n *node) said(word string) (lines []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, life := range n.lives {
		for line := range strings.Lines(life.String()) {
			if strings.Contains(line, word) {
				lines = append(lines, fmt.Sprintf("%s, life %d: %s", n.name, i, line))
			}
		}
	}
	return lines
}

// serves waits until a process serves, or has ended.
func (n *node) serves(s *suite.Server) {
	suite.Within(suite.ReadyWithin, func() bool { return s.HasEnded() || strings.Contains(s.Stdout.String(), "\n") })
	line, _, _ := strings.Cut(s.Stdout.String(), "\n")
	if json.Unmarshal([]byte(line), &s.Ready) == nil {
		s.URL = s.Ready.Listening
		n.is.Store(s)
	}
}

// signal sends a signal to a node's process, if there is one.
func (n *node) signal(s syscall.Signal) { _ = syscall.Kill(int(n.pid.Load()), s) }

// stop ends all nodes for good.
func (w *world) stop() {
	for _, n := range w.nodes {
		n.over.Store(true)
	}
	for _, n := range w.nodes {
		n.down.Lock() // nobody starts it now
		n.signal(syscall.SIGCONT)
		n.signal(syscall.SIGKILL)
		n.down.Unlock()
		<-n.ended
		_ = os.RemoveAll(n.tmp) // what killed processes leave
	}
}

// holder names the node whose process has a port.
func (w *world) holder(port int) string {
	var pids []int
	for _, n := range w.nodes {
		pids = append(pids, int(n.pid.Load()))
	}
	if i := slices.Index(pids, holder(port, pids...)); i >= 0 {
		return w.nodes[i].name
	}
	return ""
}

// ways returns those between a node and what it needs: its engine, and where peers is true the other
// nodes, in both directions.
func (w *world) ways(n *node, peers bool) []way {
	all := []way{{n.name, engine}}
	for _, m := range w.nodes {
		if peers && m != n {
			all = append(all, way{n.name, m.name}, way{m.name, n.name})
		}
	}
	return all
}

// serves waits until all nodes serve, and make calls.
func (w *world) serves() {
	w.t.Helper()
	for i, n := range w.nodes {
		last := suite.Reply{}
		suite.Eventually(w.t, suite.ReadyWithin, "node "+n.name+" serves", func() bool {
			s := n.is.Load()
			if s == nil {
				return false
			}
			id := fmt.Sprintf("ready-%d-%d", i, w.turn.Add(1))
			last = w.send(s.URL, call{caller: "agent", tool: "work", id: id})
			return last.Status == http.StatusOK
		})
	}
}

// call is a call of a tool of the ledger.
type call struct {
	caller, tool, id, session, key string
}

// entry is a call with what its caller saw.
type entry struct {
	call
	outcome, why string
	message      string
	status       int
	took         time.Duration
}

// replyWithin bounds a reply: a node looks for a home for half a minute.
const replyWithin = 3 * time.Minute

// send makes a call at an address.
func (w *world) send(url string, c call) suite.Reply {
	body := fmt.Sprintf(`{"action":%q,"request":{"id":%q}`, c.tool, c.id)
	if c.session != "" {
		body += fmt.Sprintf(`,"sessionId":%q`, c.session)
	}
	ctx, cancel := context.WithTimeout(context.Background(), replyWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/webtools/shop", strings.NewReader(body+"}"))
	if err != nil {
		return suite.Reply{Err: err}
	}
	r.Header.Set("Authorization", "Bearer "+tokenOf(c.caller))
	r.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		r.Header.Set("Idempotency-Key", c.key)
	}
	resp, err := w.RoundTrip(r)
	if err != nil {
		return suite.Reply{Err: err}
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	data, err := io.ReadAll(resp.Body)
	return suite.Reply{Status: resp.StatusCode, Header: resp.Header, Body: data, Err: err}
}

// at makes a call at a node, or where n is nil at the next one, and returns what its caller saw.
func (w *world) at(n *node, c call) entry {
	url := balanced
	if n != nil {
		if s := n.is.Load(); s != nil {
			url = s.URL
		}
	}
	began := time.Now()
	r := w.send(url, c)
	e := entry{call: c, status: r.Status, took: time.Since(began)}
	var failure suite.Failure
	e.outcome, e.why, failure = suite.OutcomeOf(r)
	if e.message = failure.Message; r.Err != nil && !errors.Is(r.Err, context.DeadlineExceeded) {
		e.outcome, e.why = "left", "the entry ended" // its client knows nothing
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
	return e
}

// balanced is the address of the balancer.
const balanced = "http://balanced"

// RoundTrip implements http.RoundTripper. It is the balancer where a request names it: nodes take turns,
// and a request that a node did not take goes to the next one.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	send := func(to string) (*http.Response, error) {
		ctx := r.Context()
		if w.repeats > 0 {
			ctx = context.WithoutCancel(ctx) // the first goes on
		}
		out := r.Clone(ctx)
		out.URL.Host = strings.TrimPrefix(to, "http://")
		out.Host = out.URL.Host
		out.Body, out.GetBody = io.NopCloser(bytes.NewReader(body)), nil // it cannot be sent again
		return w.way.RoundTrip(out)
	}
	if r.URL.Host != strings.TrimPrefix(balanced, "http://") {
		return send(r.URL.Host)
	}
	for {
		s := w.nodes[w.turn.Add(1)%int64(len(w.nodes))].is.Load()
		if s == nil {
			if !pause(r.Context(), 10*time.Millisecond) {
				return nil, r.Context().Err()
			}
			continue
		}
		resp, err := w.patient(s.URL, send)
		if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
			continue // it was not sent
		}
		return resp, err
	}
}

// patient sends a request to a node, and when the balancer repeats, after a time to the next one, too.
func (w *world) patient(to string, send func(string) (*http.Response, error)) (*http.Response, error) {
	if w.repeats == 0 {
		return send(to)
	}
	type reply struct {
		*http.Response
		error
	}
	first := make(chan reply, 1)
	go func() {
		resp, err := send(to)
		first <- reply{resp, err}
	}()
	select {
	case r := <-first:
		return r.Response, r.error
	case <-time.After(w.repeats):
	}
	for range w.nodes {
		if s := w.nodes[w.turn.Add(1)%int64(len(w.nodes))].is.Load(); s != nil && s.URL != to {
			return send(s.URL)
		}
	}
	r := <-first
	return r.Response, r.error
}

// pause waits, as clients and faults do. It is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
