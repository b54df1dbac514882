package transport_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

func TestServerLimits(t *testing.T) {
	t.Parallel()
	srv := transport.Server(http.NotFoundHandler(), nil)
	if srv.ReadHeaderTimeout != 5*time.Second || srv.MaxHeaderBytes != 64<<10 || srv.IdleTimeout == 0 {
		t.Errorf("limits: %+v", srv)
	}
	if srv.ReadTimeout != 0 || srv.WriteTimeout != 0 {
		t.Error("a bound on whole requests would cut long calls")
	}
	if srv.Protocols.HTTP2() || srv.Protocols.UnencryptedHTTP2() || !srv.Protocols.HTTP1() {
		t.Errorf("protocols: %v", srv.Protocols)
	}
}

// TestLargeHeads: an address and header fields of 16 KiB are taken, and more is refused
// as everything else is.
func TestLargeHeads(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	const get = "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
	for name, text := range map[string]string{
		"a large header": get + "X-A: " + strings.Repeat("a", 16<<10) + "\r\n\r\n",
		"many headers":   get + strings.Repeat("X-A: b\r\n", 4000) + "\r\n",
		"a large target": "GET /?" + strings.Repeat("a=b&", 4<<10) + " HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.raw(t, text)
			got.wantError(t, http.StatusRequestHeaderFieldsTooLarge, bridge.SchemaError)
			if !got.Close {
				t.Error("the connection is kept")
			}
		})
	}
	s.raw(t, get+"X-A: "+strings.Repeat("a", 16<<10-100)+"\r\n\r\n").wantStatus(t, 200) // the control
}

// TestUnreadableRequests: what cannot be read ends its connection, and reaches nobody.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	for name, text := range map[string]string{
		"no request":      "hello\r\n\r\n",
		"TLS":             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"unknown coding":  "POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: gzip\r\n\r\n",
		"unknown version": "GET / HTTP/3.0\r\nHost: 127.0.0.1:PORT\r\n\r\n",
		"expectation":     "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nExpect: a miracle\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.raw(t, text); got.StatusCode < 400 || !got.Close {
				t.Errorf("%d, closed %v", got.StatusCode, got.Close)
			}
		})
	}
}

// TestFlood is N13: more than any buffer takes. The client may see a reset
// before the reply; the server serves on.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	for _, start := range []string{"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-A: ", "GET /"} {
		c := s.dial(t)
		s.send(t, c, start)
		_, _ = io.WriteString(c, strings.Repeat("a", 2<<20))
		if b, _ := io.ReadAll(c); len(b) > 0 && !strings.HasPrefix(string(b), "HTTP/1.1 431 ") {
			t.Errorf("%q", b)
		}
	}
	s.get(t, "/").wantStatus(t, 200)
}

// TestSlowHeaders is the first shape of N12, with many at once.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{}, func(srv *http.Server) { srv.ReadHeaderTimeout = 300 * time.Millisecond })
	slow := make([]net.Conn, 200)
	for i := range slow {
		slow[i] = s.dial(t)
		s.send(t, slow[i], "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX-A: ")
	}
	s.get(t, "/").wantStatus(t, 200)
	for _, c := range slow {
		if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) { // that is closed, too
			t.Fatalf("not closed: %v", err)
		}
	}
}

func TestIdleKeepAliveThenNonsense(t *testing.T) {
	t.Parallel()
	const deadline = 500 * time.Millisecond
	s := serve(t, http.HandlerFunc(whoami), transport.Options{WriteTimeout: deadline})
	c := s.dial(t)
	r := bufio.NewReader(c)
	s.send(t, c, "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
	read(t, r, false).wantStatus(t, 200)
	<-time.After(2 * deadline) // the deadline of the first reply is over
	s.send(t, c, "nonsense\r\n\r\n")
	read(t, r, false).wantStatus(t, 400)
}

// TestWholeHead: what net/http takes out of the header fields counts, too.
func TestWholeHead(t *testing.T) {
	t.Parallel()
	s := serve(t, transport.NewMux(), transport.Options{})
	names := ""
	for i := range 2000 {
		names += "X-" + strconv.Itoa(i) + "-a-name,"
	}
	long := strings.Repeat("A", 20<<10)
	for name, text := range map[string]string{
		"method":  long + " / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
		"host":    "GET / HTTP/1.1\r\nHost: " + long + "\r\n\r\n",
		"trailer": "POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: " + names + "B\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		got := s.raw(t, text)
		if got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
	}
}
