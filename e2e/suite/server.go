package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// Bounds that only a defect reaches: until a server is ready, for one reply, and until it stopped.
const (
	ReadyWithin = 3 * time.Minute
	ReplyWithin = 3 * time.Minute
	StopWithin  = time.Minute
)

// Server is a running pagetools serve, with its output.
type Server struct {
	Cmd    *exec.Cmd
	URL    string // http://127.0.0.1:port
	Ready  ready
	Stdout *LockedBuffer
	Stderr *LockedBuffer
	Tmp    string
	Ended  chan struct{} // closed when the process ended
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

// LockedBuffer keeps the output of a process. It is safe for concurrent use.
type LockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *LockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns all output so far.
func (b *LockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Launch starts a command that serves, without waiting for it. It runs in dir, and
// its TMPDIR is tmp. The error says that it did not start.
func Launch(path, dir, tmp string, args ...string) (*Server, error) {
	s := &Server{Cmd: exec.Command(path, args...), Stdout: &LockedBuffer{}, Stderr: &LockedBuffer{}, Tmp: tmp, Ended: make(chan struct{})}
	s.Cmd.Dir = dir
	s.Cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data")
	s.Cmd.Stdout, s.Cmd.Stderr = s.Stdout, s.Stderr
	s.Cmd.WaitDelay = 5 * time.Second
	if err := s.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting pagetools: %w", err)
	}
	go func() { // ends with the process
		_ = s.Cmd.Wait() // how it ended is in ProcessState
		close(s.Ended)
	}()
	return s, nil
}

// HasEnded reports whether the process has ended.
func (s *Server) HasEnded() bool {
	select {
	case <-s.Ended:
		return true
	default:
		return false
	}
}

// Start starts a command that serves and waits for its ready line. A server without one is killed,
// and the error has its output.
func Start(path, dir, tmp string, args ...string) (*Server, error) {
	s, err := Launch(path, dir, tmp, append(args, "--listen", "127.0.0.1:0", "--format", "json")...)
	if err != nil {
		return nil, err
	}
	Within(ReadyWithin, func() bool { return s.HasEnded() || strings.Contains(s.Stdout.String(), "\n") })
	line, _, _ := strings.Cut(s.Stdout.String(), "\n")
	if err := json.Unmarshal([]byte(line), &s.Ready); err != nil {
		_ = s.Cmd.Process.Kill()
		<-s.Ended
		return nil, fmt.Errorf("waiting for pagetools %s: %w\n%s", strings.Join(args, " "), err, s.Stderr)
	}
	s.URL = s.Ready.Listening
	return s, nil
}

// Stop ends the server as an operator does, with SIGTERM. Its errors are End's.
func (s *Server) Stop() error {
	_ = s.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	return s.End()
}

// End waits until a signal has ended the server. It fails when that takes longer than StopWithin,
// when the exit code is not 0, and when files are left.
func (s *Server) End() error {
	select {
	case <-s.Ended:
	case <-time.After(StopWithin):
		_ = s.Cmd.Process.Kill()
		<-s.Ended
		return fmt.Errorf("the server did not stop within %v:\n%s", StopWithin, s.Stderr)
	}
	if code := s.Cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server ended with %v:\n%s", s.Cmd.ProcessState, s.Stderr)
	}
	return s.Leftovers()
}

// Leftovers returns an error when a file is left in the server's own TMPDIR.
func (s *Server) Leftovers() error {
	entries, err := os.ReadDir(s.Tmp)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("the server left %s in its temporary folder", entries[0].Name())
	}
	return err
}

// TempDir makes a folder with a short path for one process. Main removes it.
func TempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(Scratch, "s") // browsers make sockets below it: the path must be short
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Serve starts pagetools serve for one test, and stops it when the test ends.
func Serve(t *testing.T, args ...string) *Server {
	t.Helper()
	s, err := Start(Pagetools(t), "", TempDir(t), append([]string{"serve"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Once returns a function for a server that several tests share: the first call starts it.
func Once(args func() []string) func(t *testing.T) *Server {
	start := Starter(args)
	return func(t *testing.T) *Server {
		t.Helper()
		return MustStart(t, start)
	}
}

// MustStart returns the server that start starts, and fails the test with its error.
func MustStart(t *testing.T, start func() (*Server, error)) *Server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Starter returns a function that starts pagetools serve once. Main stops it after all tests.
func Starter(args func() []string) func() (*Server, error) {
	return sync.OnceValues(func() (*Server, error) {
		path, err := docs.Binary()
		if err != nil {
			return nil, err
		}
		tmp, err := os.MkdirTemp(Scratch, "s")
		if err != nil {
			return nil, err
		}
		s, err := Start(path, "", tmp, append([]string{"serve"}, args()...)...)
		if err == nil {
			atEnd(s.Stop)
		}
		return s, err
	})
}

// Reply is a server's reply, or Err where there was none.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error
}

// Failure is an error object of the current webtools dialect.
type Failure struct {
	Code    string         `json:"code"`
	Reason  string         `json:"reason"`
	Message string         `json:"message"`
	Outcome string         `json:"outcome"`
	Details map[string]any `json:"details"`
}

// Ask makes one request without a token, within ReplyWithin: a GET when body is empty, else a POST.
func (s *Server) Ask(path, body string) Reply {
	ctx, cancel := context.WithTimeout(context.Background(), ReplyWithin)
	defer cancel()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	return s.In(ctx, "", method, s.URL+path, body)
}

// In makes a request within ctx. An empty token sends none. header has names and values in turn.
func (s *Server) In(ctx context.Context, token, method, url, body string, header ...string) Reply {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Reply{Err: err}
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
		return Reply{Err: err}
	}
	defer func() { _ = res.Body.Close() }() // it has been read
	data, err := io.ReadAll(res.Body)
	return Reply{Status: res.StatusCode, Header: res.Header, Body: data, Err: err}
}

// Later makes the request of Ask in the background. The channel gets its one reply.
func (s *Server) Later(path, body string) <-chan Reply {
	out := make(chan Reply, 1)
	go func() { out <- s.Ask(path, body) }()
	return out
}

// Failed returns the error of the reply, and fails the test when it is not one.
func (r Reply) Failed(t *testing.T) Failure {
	t.Helper()
	var e struct {
		Status string  `json:"status"`
		Error  Failure `json:"error"`
	}
	if r.Err != nil {
		t.Fatalf("no reply: %v", r.Err)
	}
	if err := json.Unmarshal(r.Body, &e); err != nil || e.Status != "error" || e.Error.Message == "" {
		t.Fatalf("%d %s is not an error of the current dialect", r.Status, Shorten(r.Body))
	}
	return e.Error
}

// Data returns the data of the reply, and fails the test when it is not a result.
func (r Reply) Data(t *testing.T) json.RawMessage {
	t.Helper()
	var ok struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	if r.Err != nil {
		t.Fatalf("no reply: %v", r.Err)
	}
	if err := json.Unmarshal(r.Body, &ok); err != nil || r.Status != http.StatusOK || ok.Status != "ok" {
		t.Fatalf("%d %s, want a result", r.Status, Shorten(r.Body))
	}
	return ok.Data
}

// Actions returns the names of the actions in a webtool's document.
func (r Reply) Actions(t *testing.T) []string {
	t.Helper()
	var d struct {
		Actions []struct {
			Name string `json:"name"`
		} `json:"actions"`
	}
	if r.Err != nil || r.Status != http.StatusOK || json.Unmarshal(r.Body, &d) != nil || d.Actions == nil {
		t.Fatalf("%d %s (%v), want a document", r.Status, Shorten(r.Body), r.Err)
	}
	names := make([]string, 0, len(d.Actions))
	for _, a := range d.Actions {
		names = append(names, a.Name)
	}
	return names
}

// Shorten returns the first 300 bytes, for messages.
func Shorten(b []byte) string {
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return string(b)
}

// PagetoolsRun runs pagetools, and returns all its output. Another exit code than code fails the
// test.
func PagetoolsRun(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(Pagetools(t), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+TempDir(t), "PAGETOOLS_DATA_DIR=off")
	out, _ := cmd.CombinedOutput() // the code says how it ended
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("pagetools %v ended with %d, want %d: %s", args, got, code, out)
	}
	return string(out)
}

// WriteFile makes a file that only its owner can read, and returns its path.
func WriteFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// AsksFor calls a tool without arguments, with a token and in a session, which may be ""; config is
// a JSON object.
func AsksFor(t *testing.T, s *Server, token, site, session, tool, config string) Reply {
	t.Helper()
	if session != "" {
		session = fmt.Sprintf(`"sessionId":%q,`, session)
	}
	return s.As(t, token, http.MethodPost, s.URL+"/webtools/"+site, fmt.Sprintf(`{%s"action":%q,"request":{},"config":%s}`, session, tool, config))
}
