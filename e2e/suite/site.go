package suite

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/examples/recipes"
)

// Site is a web server with the pages of testdata/pages, and with addresses that
// answer late, never, or badly.
type Site struct {
	*httptest.Server
	held    chan struct{} // one for each request that /hold keeps
	release chan struct{} // closed: /hold answers
	once    sync.Once
}

func newSite() *Site {
	s := &Site{held: make(chan struct{}, 1000), release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("../testdata/pages")))
	mux.HandleFunc("/hold", s.hold)
	mux.HandleFunc("/session", s.session)
	mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	s.Server = httptest.NewUnstartedServer(mux)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	return s
}

// hold answers when the test lets it, or never.
func (s *Site) hold(w http.ResponseWriter, r *http.Request) {
	s.held <- struct{}{}
	select {
	case <-s.release:
		_, _ = io.WriteString(w, "released") // a page that is gone needs no answer
	case <-r.Context().Done():
	}
}

// session logs a page in with POST, by a cookie that no script sees, and says who is
// logged in.
func (s *Site) session(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		user, _ := io.ReadAll(io.LimitReader(r.Body, 100)) // of a page of ours
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: string(user), Path: "/", HttpOnly: true, MaxAge: 1e6})
		return
	}
	user := "nobody"
	if c, err := r.Cookie("sid"); err == nil {
		user = c.Value
	}
	_, _ = io.WriteString(w, user) // a page that is gone needs no answer
}

// Let lets /hold answer, now and from now on.
func (s *Site) Let() { s.once.Do(func() { close(s.release) }) }

// AwaitHeld waits until a page asked /hold, and fails the test after ReplyWithin.
func (s *Site) AwaitHeld(t *testing.T) {
	t.Helper()
	select {
	case <-s.held:
	case <-time.After(ReplyWithin):
		t.Fatal("no page asked for /hold")
	}
}

func (s *Site) close() {
	s.Let()
	s.CloseClientConnections()
	s.Close()
}

// Page returns the address of a file of testdata/pages of the suites.
func (s *Site) Page(name string) string { return s.URL + "/" + name }

// Pages starts a site for one test, and stops it when the test ends.
func Pages(t *testing.T) *Site {
	t.Helper()
	s := newSite()
	t.Cleanup(s.close)
	return s
}

// PageServer returns the site that shared servers open. The first call starts it.
var PageServer = sync.OnceValue(func() *Site {
	s := newSite()
	atEnd(func() error { s.close(); return nil })
	return s
})

// SelfSigned starts a server with a self-signed certificate, and returns its address.
func SelfSigned() string {
	s := httptest.NewUnstartedServer(http.FileServer(http.Dir("../testdata/pages")))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	atEnd(func() error { s.Close(); return nil })
	return s.URL
}

// RefusedAddress returns host:port where nobody listens: the port stays taken until the tests end.
func RefusedAddress() (string, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", fmt.Errorf("taking a port: %w", err)
	}
	atEnd(func() error { return syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", fmt.Errorf("taking a port: %w", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("taking a port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port), nil
}

// ports counts the ports that ClosedPort returned.
var ports atomic.Int32

// ClosedPort returns host:port where nobody listens yet. Systems assign ports from 32768 on to any
// request for a free port, so that one of those could be taken before it is used.
func ClosedPort() (string, error) {
	var err error
	for range 100 {
		port := 20_000 + (64*os.Getpid()+int(ports.Add(1)))%12_000
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", err
}

// RecipesServer serves the recipes, and returns their address.
func RecipesServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	url := "http://" + s.Listener.Addr().String()
	s.Config.Handler = recipes.New(url)
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return url
}
