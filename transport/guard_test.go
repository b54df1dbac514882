package transport_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	for given, kept := range map[string]bool{
		"abc-123_x.y": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "a/b": false, "ä": false, "": false,
	} {
		got := s.get(t, "/", "X-Request-Id: "+given)
		id := got.Header.Get("X-Request-Id")
		if (id == given) != kept || id == "" {
			t.Errorf("given %q: returned %q", given, id)
		}
		ours := got.Header.Get("Pagetools-Request-Id")
		if ours == "" || ours == given || !kept && id != ours || !strings.Contains(got.body, `"id":"`+ours+`"`) {
			t.Errorf("given %q: ours is %q, and the handler has %s", given, ours, got.body)
		}
	}
	if a, b := s.get(t, "/").Header.Get("X-Request-Id"), s.get(t, "/").Header.Get("X-Request-Id"); a == b {
		t.Errorf("two requests have the id %q", a)
	}
	two := s.get(t, "/", "X-Request-Id: a", "X-Request-Id: b")
	if id := two.Header.Get("X-Request-Id"); id == "a" || id == "b" {
		t.Errorf("one of two ids was taken: %q", id)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/before":
			panic(errors.New("secret in /usr/lib/x.go:12"))
		case "/after":
			_, _ = io.WriteString(w, `{"half":`)
			panic("secret")
		case "/abandon":
			transport.Abandon(r, bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up."))
		}
		whoami(w, r)
	}), transport.Options{})

	got := s.get(t, "/before", "X-Request-Id: the-id")
	got.wantError(t, 500, bridge.InternalError)
	for _, leak := range []string{"secret", ".go:", "goroutine", "usr"} {
		if strings.Contains(got.body, leak) {
			t.Errorf("the reply leaks %q: %s", leak, got.body)
		}
	}
	if got.Header.Get("X-Request-Id") != "the-id" {
		t.Error("the reply to a panic has no id to look up")
	}
	s.log.waitFor(t, "secret in /usr/lib/x.go:12")
	s.log.waitFor(t, `"request":"`+got.Header.Get("Pagetools-Request-Id")+`"`)
	s.log.waitFor(t, `"given":"the-id"`)

	for _, path := range []string{"/after", "/abandon"} {
		c := s.dial(t)
		s.send(t, c, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
		if b, _ := io.ReadAll(c); strings.Contains(string(b), "\r\n\r\n0\r\n") || path == "/abandon" && len(b) > 0 {
			t.Errorf("%s: looks like a whole reply: %q", path, b)
		}
	}
	s.log.waitFor(t, `"status":499`)
	s.get(t, "/alive").wantStatus(t, 200) // the control: the process serves on
}

// TestOrder shows that each guard hides the ones behind it: a request that is
// wrong in every way gets the answer of the first.
func TestOrder(t *testing.T) {
	t.Parallel()
	reached := false
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached = true; whoami(w, r) }),
		transport.Options{Callers: []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}})
	const host, origin, token, kind = "Host: evil.test", "Origin: http://evil.test", "Authorization: Bearer wrong", "Content-Type: text/plain"
	for _, test := range []struct {
		header []string
		status int
		code   bridge.Code
	}{
		{[]string{host, origin, token, kind}, 403, bridge.Forbidden},
		{[]string{"Host: 127.0.0.1:PORT", origin, token, kind}, 403, bridge.Forbidden},
		{[]string{"Host: 127.0.0.1:PORT", kind}, 401, bridge.Unauthorized},
		{[]string{"Host: 127.0.0.1:PORT", token, kind}, 403, bridge.Forbidden},
		{[]string{"Host: 127.0.0.1:PORT", "Authorization: Bearer secret", kind}, 415, bridge.SchemaError},
	} {
		s.raw(t, "POST / HTTP/1.1\r\n"+lines(test.header)+"Content-Length: 2\r\n\r\n{}").wantError(t, test.status, test.code)
	}
	for _, what := range []string{`"check":"host"`, `"check":"origin"`, `"check":"credential"`} {
		s.log.waitFor(t, what)
	}
	if reached {
		t.Error("a refused request reached the handler")
	}
	s.post(t, "/", "{}", "Authorization: Bearer secret").wantStatus(t, 200)
	if !reached {
		t.Error("the control did not reach the handler")
	}
}

// TestLogInjection is N19: what a stranger sends is one escaped line.
func TestLogInjection(t *testing.T) {
	t.Parallel()
	s := serve(t, transport.NewMux(), transport.Options{})
	s.get(t, "/a%0d%0a%1b[31mfake", "Origin: \x1b[2J").wantStatus(t, 400) // net/http knows no such header
	s.get(t, "/a%0d%0a%1b[31mfake").wantStatus(t, 404)
	s.raw(t, "GET / HTTP/1.1\r\nHost: \x1b[2J\r\n\r\n").wantStatus(t, 400)
	s.log.waitFor(t, `"status":404`)
	log := s.log.String()
	if strings.Contains(log, "\x1b") || strings.Contains(log, "\nfake") || strings.Contains(log, "\r") {
		t.Errorf("raw control characters in the log: %q", log)
	}
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("not a line of ours: %q", line)
		}
	}
}

// TestKeepAlive is the control of what closes connections: plain requests
// don't.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	c := s.dial(t)
	r := bufio.NewReader(c)
	for range 3 {
		s.send(t, c, "POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		read(t, r, false).wantStatus(t, 200)
	}
}
