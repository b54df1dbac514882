package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// reloading is a server whose configuration changes while it runs.
type reloading struct {
	*suite.Server
	t      *testing.T
	data   string // of the process; "" is beside its temporary files
	config string
	sites  string
	said   int // how much of its stderr was looked at
}

// serveReloading serves the tea shop, which asks, and a page that counts.
func serveReloading(t *testing.T, callers string, more ...string) *reloading {
	t.Helper()
	r := &reloading{t: t, config: filepath.Join(t.TempDir(), "x.yaml"), sites: fmt.Sprintf("sites:\n  - {name: shop, target: %q}\n  - {name: counts, target: %q}\n",
		filepath.Join(docs.Root(t), "examples", "buyproduct"), suite.PageServer().Page("config.html"))}
	r.write(callers)
	r.Server = suite.Serve(t, append([]string{"--config", r.config}, more...)...)
	return r
}

func (r *reloading) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.config, []byte(r.sites+text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// reload makes the file this one, sends SIGHUP, and waits until it says something.
func (r *reloading) reload(text, says string) {
	r.t.Helper()
	r.write(text)
	if err := r.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		r.t.Fatal(err)
	}
	if !suite.Within(suite.ReplyWithin, func() bool { return strings.Contains(r.Stderr.String()[r.said:], says) }) {
		r.t.Fatalf("it does not say %q: %s", says, r.Stderr.String()[r.said:])
	}
	r.said = len(r.Stderr.String())
}

// caller is a credential of a reloading server, with what it left there.
type caller struct {
	r        *reloading
	token    string
	question string
	resume   string
	looks    int
}

// leaves parks a call that needs consent and begins a session that counts.
func (r *reloading) leaves(token string) *caller {
	r.t.Helper()
	c := &caller{r: r, token: token}
	q, resume := r.As(r.t, token, http.MethodPost, r.URL+"/webtools/shop", buys("p", "")).Waiting(r.t, http.StatusForbidden, "APPROVAL_REQUIRED")
	c.question, c.resume = q["id"].(string), resume
	c.lives("before")
	return c
}

// lives checks that the call of the caller still waits, and that their session is the same as
// before.
func (c *caller) lives(when string) {
	c.r.t.Helper()
	c.looks++
	if got := string(c.looksAt().Data(c.r.t)); !strings.Contains(got, fmt.Sprintf(`"looks":%d`, c.looks)) {
		c.r.t.Errorf("%s: the session has %s, want %d looks", when, got, c.looks)
	}
	if f := c.resumed(c.token).Failed(c.r.t); f.Code != "APPROVAL_REQUIRED" {
		c.r.t.Errorf("%s: the call that waits is %+v", when, f)
	}
}

func (c *caller) looksAt() suite.Reply {
	return suite.AsksFor(c.r.t, c.r.Server, c.token, "counts", "s", "look", "{}")
}

func (c *caller) resumed(token string) suite.Reply {
	return c.r.As(c.r.t, token, http.MethodPost, c.r.URL+"/webtools/shop", buys("p", fmt.Sprintf(`{"resume":%q}`, c.resume)))
}

// stream is an open stream of the console.
type stream struct {
	said  *suite.LockedBuffer
	ended chan struct{}
}

// watch opens the stream of events of a caller.
func (r *reloading) watch(ctx context.Context, token string) *stream {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Ready.Console.URL+"/api/events", http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		r.t.Fatalf("the stream: %v, %v", res, err)
	}
	s := &stream{said: &suite.LockedBuffer{}, ended: make(chan struct{})}
	go func() { // ends with the stream
		defer close(s.ended)
		defer func() { _ = res.Body.Close() }()
		_, _ = bufio.NewReader(res.Body).WriteTo(s.said)
	}()
	return s
}

func (s *stream) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// TestRevokedCredentials (X5): SIGHUP revokes credentials: requests are refused, streams end,
// calls that wait are void and sessions are gone. Those of others, and a file that is
// the same or cannot be read, change nothing.
func TestRevokedCredentials(t *testing.T) {
	t.Parallel()
	const file = `
callers:
  - {name: agent, token: %s, may: [call]}
  - {name: other, token: other-token-of-the-tests, may: [call], sites: %s}
  - {name: person, token: person-token-of-the-tests, may: [call, answer]}
`
	const watcher, newToken, otherToken = "  - {name: watcher, token: watcher-token-of-the-tests, may: [answer]}\n", "new-token-of-the-tests", "other-token-of-the-tests"
	before := fmt.Sprintf(file, suite.AgentToken, "[shop, counts]") + watcher
	r := serveReloading(t, before, "--console-listen", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agent, other := r.leaves(suite.AgentToken), r.leaves(otherToken)
	ends, stays := r.watch(ctx, "watcher-token-of-the-tests"), r.watch(ctx, suite.PersonToken)
	console := func(token string) int {
		return r.As(t, token, http.MethodGet, r.Ready.Console.URL+"/api/questions", "").Status
	}

	r.reload(before, "the callers were read again")
	r.reload(before+"  - {name: agent}\n", `the callers stay as they were`)
	r.reload("callers: [", `the callers stay as they were`)
	r.reload(before+"max-sessions: 3\nwarm: 1\n", "these count after a restart: max-sessions and warm")
	for _, c := range []*caller{agent, other} {
		c.lives("after files that change no caller")
	}
	if ends.hasEnded() || console("watcher-token-of-the-tests") != http.StatusOK {
		t.Error("a stream ended for nothing")
	}

	r.reload(fmt.Sprintf(file, newToken, "[shop, counts, more]"), "revoked: agent, watcher")
	<-ends.ended
	if got := console("watcher-token-of-the-tests"); got != http.StatusForbidden {
		t.Errorf("who is gone gets %d", got)
	}
	for _, old := range []suite.Reply{agent.looksAt(), agent.resumed(suite.AgentToken)} {
		if f := old.Failed(t); old.Status != http.StatusForbidden || f.Code != "FORBIDDEN" {
			t.Errorf("the old token gets %+v", f)
		}
	}
	if f := agent.resumed(newToken).Failed(t); f.Code != "RESUME_NOT_FOUND" {
		t.Errorf("the call that waited is %+v", f)
	}
	answer := r.As(t, suite.PersonToken, http.MethodPost, r.Ready.Console.URL+"/api/questions/"+agent.question, `{"ok":true}`)
	if f := answer.Failed(t); f.Code != "CONFLICT" {
		t.Errorf("its question is %+v", f)
	}
	agent.token, agent.looks = newToken, 0
	if f := agent.looksAt().Failed(t); f.Code != "SESSION_EXPIRED" {
		t.Errorf("its session is %+v", f)
	}
	if got := string(agent.looksAt().Data(t)); !strings.Contains(got, `"looks":1`) {
		t.Errorf("its new session has %s", got)
	}
	other.lives("after others were revoked, and with a site more")
	if stays.hasEnded() || console(suite.PersonToken) != http.StatusOK {
		t.Error("a stream of somebody else ended")
	}

	r.reload(fmt.Sprintf(file, newToken, "[counts]"), "revoked: other")
	if f := other.resumed(otherToken).Failed(t); f.Code != "WEBTOOL_NOT_FOUND" {
		t.Errorf("a site that was taken away is %+v", f)
	}
	if f := other.looksAt().Failed(t); f.Code != "SESSION_EXPIRED" {
		t.Errorf("the session of who may less is %+v", f)
	}
	if stays.hasEnded() {
		t.Error("a stream of somebody else ended")
	}

	r.reload("callers: []\n", "revoked: agent, other, person")
	<-stays.ended
	if got := r.Ask("/webtools", "").Status; got != http.StatusUnauthorized {
		t.Errorf("without any callers the listener answers %d", got)
	}
	if got := r.As(t, suite.PersonToken, http.MethodGet, r.URL+"/webtools", "").Status; got != http.StatusForbidden {
		t.Errorf("without any callers somebody gets %d", got)
	}
	if got := console(r.Ready.Console.Token); got != http.StatusOK {
		t.Errorf("the console's own credential gets %d", got)
	}
	if said := r.Stderr.String(); strings.Contains(said, "token-of-the-tests") {
		t.Errorf("it shows a token: %s", said)
	}
}

// TestFirstCaller: a listener without callers serves everybody here until there are
// some. Then it never does again.
func TestFirstCaller(t *testing.T) {
	t.Parallel()
	r := serveReloading(t, "")
	r.reload("# the same\n", "there are 0")
	looks := func(token string) suite.Reply { return suite.AsksFor(t, r.Server, token, "counts", "s", "look", "{}") }
	for i := 1; i <= 2; i++ {
		if got := string(looks("").Data(t)); !strings.Contains(got, fmt.Sprintf(`"looks":%d`, i)) {
			t.Errorf("without callers: %s", got)
		}
	}
	r.reload("callers: [{name: agent, token: agent-token-of-the-tests, rate: 1/1h}]\n", "there are 1; revoked: local")
	if got := looks("").Status; got != http.StatusUnauthorized {
		t.Errorf("who has no credential gets %d", got)
	}
	looks(suite.AgentToken).Data(t)
	if f := looks(suite.AgentToken).Failed(t); f.Code != "RATE_LIMIT" {
		t.Errorf("over its rate a new caller gets %+v", f)
	}
	r.reload("", "revoked: agent")
	if got := looks("").Status; got != http.StatusUnauthorized {
		t.Errorf("after the last caller it answers %d", got)
	}
}

// TestReloadByCommand: pagetools reload does for all servers of a data folder what SIGHUP does for
// one, and says what they say; --watch does it when the file changes.
func TestReloadByCommand(t *testing.T) {
	t.Parallel()
	const file = "callers: [{name: agent, token: agent-token-of-the-tests}]\n"
	r := serveReloading(t, file, "--watch")
	run := func(code int, says string, more ...string) {
		t.Helper()
		cmd := exec.Command(suite.Pagetools(t), append([]string{"reload", "--data-dir", r.Tmp + "-data"}, more...)...)
		out, _ := cmd.CombinedOutput() // the code says how it ended
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), says) {
			t.Errorf("reload ended with %d: %s", got, out)
		}
	}
	run(0, "there are 1")
	run(0, `{"processes":[{"reloaded":true,"said":"the callers were read again from `, "--format", "json")
	said := func(text string) {
		t.Helper()
		if !suite.Within(suite.ReplyWithin, func() bool { return strings.Contains(r.Stderr.String(), text) }) {
			t.Fatalf("it does not say %q: %s", text, r.Stderr)
		}
	}
	r.write("callers: [{name: next, token: next-token-of-the-tests}]\n") // nobody says so
	said("revoked: agent")
	if got := r.As(t, suite.AgentToken, http.MethodGet, r.URL+"/webtools", "").Status; got != http.StatusForbidden {
		t.Errorf("who is gone gets %d", got)
	}
	r.write("callers: [")
	said("the callers stay as they were")
	run(2, "the callers stay as they were")
	if got := r.As(t, "next-token-of-the-tests", http.MethodGet, r.URL+"/webtools", "").Status; got != http.StatusOK {
		t.Errorf("who stays gets %d", got)
	}
	if err := os.Remove(r.config); err != nil {
		t.Fatal(err)
	}
	run(2, "the callers stay as they were")
	r.Server = suite.Serve(t, suite.PageServer().Page("config.html")) // it has no file
	run(4, "no pagetools serve with a configuration file runs")
}

// TestHangups: without a file SIGHUP ends the server, and so does the end of its
// terminal with one.
func TestHangups(t *testing.T) {
	t.Parallel()
	page := suite.PageServer().Page("config.html")
	dir, tmp := t.TempDir(), suite.TempDir(t)
	s, err := suite.Start(suite.Pagetools(t), dir, tmp, "serve", page)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	config := suite.WriteFile(t, "x.yaml", "callers: [{name: a, token: agent-token-of-the-tests}]\n")
	c := converse(t, "serve", page, "--config", config, "--listen", "127.0.0.1:0", "--data-dir", "off", "--approval", "auto")
	c.see(t, "--approval auto asks only") // it serves
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	c.see(t, "the callers were read again")
	if err := c.person.Close(); err != nil {
		t.Fatal(err)
	}
	if got := c.code(t); got != 0 {
		t.Errorf("it ended with %d", got)
	}
}
