package transport_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// running is a guarded server on a port of its own.
type running struct {
	addr, port string
	log        *buffer
}

// serve starts h behind the guards, as a program does.
func serve(t *testing.T, h http.Handler, o transport.Options, tune ...func(*http.Server)) running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &buffer{}
	log := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Listen == "" {
		o.Listen = l.Addr().String()
	}
	o.Log = log
	srv := transport.Server(transport.Guard(h, o), log)
	for _, f := range tune {
		f(srv)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return running{l.Addr().String(), port, out}
}

// reply is a response with its body.
type reply struct {
	*http.Response
	body string
}

// raw sends text as it is, with PORT replaced, and reads one reply.
func (s running) raw(t *testing.T, text string) reply {
	t.Helper()
	c := s.dial(t)
	s.send(t, c, text)
	return read(t, bufio.NewReader(c), strings.HasPrefix(text, "HEAD "))
}

func (s running) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s running) send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "PORT", s.port)); err != nil {
		t.Fatalf("sending: %v", err)
	}
}

func read(t *testing.T, r *bufio.Reader, head bool) reply {
	t.Helper()
	method := http.MethodGet
	if head {
		method = http.MethodHead
	}
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("reading the reply: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("reading the reply's body: %v", err)
	}
	return reply{res, string(b)}
}

// get is a GET with these further header lines.
func (s running) get(t *testing.T, path string, header ...string) reply {
	t.Helper()
	return s.raw(t, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"+lines(header)+"\r\n")
}

// post is a POST of JSON.
func (s running) post(t *testing.T, path, body string, header ...string) reply {
	t.Helper()
	return s.raw(t, "POST "+path+" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"+lines(header)+
		"Content-Length: "+itoa(len(body))+"\r\n\r\n"+body)
}

func lines(header []string) string {
	var b strings.Builder
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

// wantError checks status, code and the form that all errors have.
func (r reply) wantError(t *testing.T, status int, code bridge.Code) {
	t.Helper()
	if r.StatusCode != status {
		t.Errorf("status %d, want %d: %s", r.StatusCode, status, r.body)
	}
	var e struct {
		Status string
		Error  struct{ Code, Message, Outcome, Reason string }
	}
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("the body is not JSON: %v: %q", err, r.body)
	}
	if e.Status != "error" || e.Error.Code != string(code) || e.Error.Message == "" || e.Error.Outcome == "" {
		t.Errorf("not the envelope of %s: %s", code, r.body)
	}
	if status >= 500 && (code != bridge.InternalError || e.Error.Reason == "") {
		t.Errorf("a 5xx without INTERNAL_ERROR and a reason: %s", r.body)
	}
	for key, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := strings.Join(r.Header.Values(key), "|"); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func (r reply) wantStatus(t *testing.T, status int) {
	t.Helper()
	if r.StatusCode != status {
		t.Errorf("status %d, want %d: %s", r.StatusCode, status, r.body)
	}
}

// whoami answers with the caller's name, and with what it read.
func whoami(w http.ResponseWriter, r *http.Request) {
	body, err := transport.ReadBody(r)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	transport.WriteJSON(w, r, http.StatusOK, map[string]any{"caller": transport.CallerOf(r.Context()).Name, "read": len(body), "id": transport.RequestID(r.Context())})
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// buffer is a log that a test reads while a server writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// waitFor waits until the log has the text: the line is written after the reply.
func (b *buffer) waitFor(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if strings.Contains(b.String(), text) {
			return
		}
		<-tick.C
	}
	t.Errorf("the log never said %s:\n%s", text, b.String())
}
