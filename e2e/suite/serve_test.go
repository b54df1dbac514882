package suite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds that only a defect reaches.
const (
	readyWithin = 3 * time.Minute
	replyWithin = 3 * time.Minute
	stopWithin  = time.Minute
)

// server is a pagetools that serves.
type server struct {
	cmd    *exec.Cmd
	url    string // http://127.0.0.1:port
	ready  ready
	stdout *lockedBuffer
	stderr *lockedBuffer
	tmp    string
	ended  chan struct{} // closed when the process ended
}

// ready is the line that serve --format json prints.
type ready struct {
	Listening string `json:"listening"`
	Console   struct {
		URL   string `json:"url"`
		Token string `json:"token"`
	} `json:"console"`
	Sites []struct {
		Name  string   `json:"name"`
		URL   string   `json:"url"`
		Tools []string `json:"tools"`
		Error string   `json:"error"`
	} `json:"sites"`
}

// lockedBuffer keeps what a process says.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// launch starts a verb that serves, without waiting for it. It runs in dir, and
// its TMPDIR is tmp.
func launch(path, dir, tmp string, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(path, args...), stdout: &lockedBuffer{}, stderr: &lockedBuffer{}, tmp: tmp, ended: make(chan struct{})}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data")
	s.cmd.Stdout, s.cmd.Stderr = s.stdout, s.stderr
	s.cmd.WaitDelay = 5 * time.Second
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting pagetools: %w", err)
	}
	go func() { // ends with the process
		_ = s.cmd.Wait() // how it ended is in ProcessState
		close(s.ended)
	}()
	return s, nil
}

func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// start starts a verb that serves and waits for its ready line.
func start(path, dir, tmp string, args ...string) (*server, error) {
	s, err := launch(path, dir, tmp, append(args, "--listen", "127.0.0.1:0", "--format", "json")...)
	if err != nil {
		return nil, err
	}
	within(readyWithin, func() bool { return s.hasEnded() || strings.Contains(s.stdout.String(), "\n") })
	line, _, _ := strings.Cut(s.stdout.String(), "\n")
	if err := json.Unmarshal([]byte(line), &s.ready); err != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
		return nil, fmt.Errorf("waiting for pagetools %s: %w\n%s", strings.Join(args, " "), err, s.stderr)
	}
	s.url = s.ready.Listening
	return s, nil
}

// stop ends the server as an operator does, and says what it did not do well.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	return s.end()
}

// end waits for the end that a signal brings.
func (s *server) end() error {
	select {
	case <-s.ended:
	case <-time.After(stopWithin):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return fmt.Errorf("the server did not stop within %v:\n%s", stopWithin, s.stderr)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server ended with %v:\n%s", s.cmd.ProcessState, s.stderr)
	}
	return s.leftovers()
}

// leftovers tells of files below the server's own TMPDIR.
func (s *server) leftovers() error {
	entries, err := os.ReadDir(s.tmp)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the server left %s in its temporary folder", entries[0].Name())
	}
	return err
}

// tempDir makes a short folder for one process.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "s") // browsers make sockets below it: the path must be short
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve starts pagetools serve for one test.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	s, err := start(pagetools(t), "", tempDir(t), append([]string{"serve"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// once returns a server that several tests share, started when the first one
// needs it.
func once(args func() []string) func(t *testing.T) *server {
	start := starter(args)
	return func(t *testing.T) *server {
		t.Helper()
		return mustStart(t, start)
	}
}

func mustStart(t *testing.T, start func() (*server, error)) *server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// starter starts a server once, and stops it after all tests.
func starter(args func() []string) func() (*server, error) {
	return sync.OnceValues(func() (*server, error) {
		path, err := binary()
		if err != nil {
			return nil, err
		}
		tmp, err := os.MkdirTemp(scratch, "s")
		if err != nil {
			return nil, err
		}
		s, err := start(path, "", tmp, append([]string{"serve"}, args()...)...)
		if err == nil {
			atEnd(s.stop)
		}
		return s, err
	})
}

// reply is what a server answered.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // there was no answer
}

// failure is the error of the current dialect.
type failure struct {
	Code    string         `json:"code"`
	Reason  string         `json:"reason"`
	Message string         `json:"message"`
	Outcome string         `json:"outcome"`
	Details map[string]any `json:"details"`
}

// ask makes one request. An empty body is a GET.
func (s *server) ask(path, body string) reply {
	ctx, cancel := context.WithTimeout(context.Background(), replyWithin)
	defer cancel()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	return s.in(ctx, "", method, s.url+path, body)
}

// in makes a request of a caller within ctx; the caller without a token has none. The
// header is names and values in turn.
func (s *server) in(ctx context.Context, token, method, url, body string, header ...string) reply {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = res.Body.Close() }() // it has been read
	data, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: data, err: err}
}

// later makes the request in the background.
func (s *server) later(path, body string) <-chan reply {
	out := make(chan reply, 1)
	go func() { out <- s.ask(path, body) }()
	return out
}

// failed reads the error of the reply.
func (r reply) failed(t *testing.T) failure {
	t.Helper()
	var e struct {
		Status string  `json:"status"`
		Error  failure `json:"error"`
	}
	if r.err != nil {
		t.Fatalf("no reply: %v", r.err)
	}
	if err := json.Unmarshal(r.body, &e); err != nil || e.Status != "error" || e.Error.Message == "" {
		t.Fatalf("%d %s is not an error of the current dialect", r.status, shorten(r.body))
	}
	return e.Error
}

// data reads the result of the reply.
func (r reply) data(t *testing.T) json.RawMessage {
	t.Helper()
	var ok struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	if r.err != nil {
		t.Fatalf("no reply: %v", r.err)
	}
	if err := json.Unmarshal(r.body, &ok); err != nil || r.status != http.StatusOK || ok.Status != "ok" {
		t.Fatalf("%d %s, want a result", r.status, shorten(r.body))
	}
	return ok.Data
}

// actions lists the names of the actions of a document.
func (r reply) actions(t *testing.T) []string {
	t.Helper()
	var d struct {
		Actions []struct {
			Name string `json:"name"`
		} `json:"actions"`
	}
	if r.err != nil || r.status != http.StatusOK || json.Unmarshal(r.body, &d) != nil || d.Actions == nil {
		t.Fatalf("%d %s (%v), want a document", r.status, shorten(r.body), r.err)
	}
	names := make([]string, 0, len(d.Actions))
	for _, a := range d.Actions {
		names = append(names, a.Name)
	}
	return names
}

func shorten(b []byte) string {
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return string(b)
}
