package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// TestHost is N1 and N2.
func TestHost(t *testing.T) {
	t.Parallel()
	loopback := serve(t, http.HandlerFunc(whoami), transport.Options{Hosts: []string{"named.test", "ported.test:8443"}})
	for host, status := range map[string]int{
		"127.0.0.1:PORT": 200, "localhost:PORT": 200, "LocalHost:PORT": 200, "[::1]:PORT": 200,
		"named.test": 200, "named.test:1": 200, "NAMED.test:PORT": 200, "ported.test:8443": 200,
		"ported.test": 403, "ported.test:PORT": 403,
		"evil.com": 403, "evil.com:PORT": 403, "localhost.evil.com:PORT": 403, "127.0.0.1.evil.com:PORT": 403, "evil-named.test": 403, "x.named.test": 403,
		"127.0.0.1:1": 403, "localhost": 403, "127.0.0.1": 403, "0.0.0.0:PORT": 403, "[::]:PORT": 403, "localhost.:PORT": 403,
		"127.1:PORT": 403, "2130706433:PORT": 403, "0x7f.1:PORT": 403, "[::ffff:127.0.0.1]:PORT": 403, "127.0.0.2:PORT": 403,
		"": 400, ":PORT": 400, "127.0.0.1:": 400, "127.0.0.1:0": 400, "127.0.0.1:99999": 400, "127.0.0.1:PORT:PORT": 400, "[::1": 400, "::1": 400,
		"user@127.0.0.1:PORT": 400, "127.0.0.1:PORT/": 400, "127.0.0.1:PORT,evil.com": 400, "[::1%25lo]:PORT": 400,
		strings.Repeat("a", 300): 400,
	} {
		got := loopback.raw(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\nOrigin: http://"+host+"\r\n\r\n")
		switch {
		case status == 403:
			got.wantError(t, 403, bridge.Forbidden)
		case status == 400 && !strings.HasPrefix(got.body, "400 "): // else net/http answered it
			got.wantError(t, 400, bridge.SchemaError)
		default:
			got.wantStatus(t, status)
		}
		if got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: CORS headers", host)
		}
	}

	// The control: the same names pass where nobody can know ours.
	public := serve(t, http.HandlerFunc(whoami), transport.Options{Listen: "0.0.0.0:7300",
		Callers: []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}})
	for host, status := range map[string]int{"evil.com": 200, "10.0.0.1:7300": 200, "bridge.example": 200, "": 400, "a b": 400} {
		public.raw(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\nAuthorization: Bearer secret\r\n\r\n").wantStatus(t, status)
	}
}

// TestPublicURL: the host of the public URL is ours, with its scheme's own port or none, and no
// other.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	callers := []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}
	for public, hosts := range map[string]map[string]int{
		"https://tools.example": {"tools.example": 200, "TOOLS.example": 200, "tools.example:443": 200, "127.0.0.1:PORT": 200,
			"tools.example:8443": 403, "x.tools.example": 403, "tools.example.evil.test": 403, "evil.test": 403},
		"https://tools.example:8443": {"tools.example:8443": 200, "tools.example": 403, "tools.example:443": 403},
		"http://tools.example":       {"tools.example": 403, "127.0.0.1:PORT": 200},
		"https://tools.example/":     {"tools.example": 403},
		"https://tools.example/a?b":  {"tools.example": 403},
		"http://localhost:9":         {"localhost:9": 200, "localhost:PORT": 200, "tools.example": 403},
	} {
		s := serve(t, http.HandlerFunc(whoami), transport.Options{PublicURL: public, Callers: callers})
		for host, status := range hosts {
			got := s.raw(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\nAuthorization: Bearer secret\r\n\r\n")
			if got.StatusCode != status {
				t.Errorf("%s: Host %s gets %d, want %d", public, host, got.StatusCode, status)
			}
		}
	}
	// Whoever comes from elsewhere is nobody's user.
	open := serve(t, http.HandlerFunc(whoami), transport.Options{PublicURL: "https://tools.example"})
	open.raw(t, "GET / HTTP/1.1\r\nHost: tools.example\r\n\r\n").wantError(t, 401, bridge.Unauthorized)
	own := serve(t, http.HandlerFunc(whoami), transport.Options{PublicURL: "http://localhost:9"})
	own.raw(t, "GET / HTTP/1.1\r\nHost: localhost:9\r\n\r\n").wantStatus(t, 200)
}

// TestLinksFromElsewhere (reach 2): links begin with the public URL for who comes through it or through a proxy, whatever Host that
// writes, and for who is on this machine with the address that they used.
func TestLinksFromElsewhere(t *testing.T) {
	t.Parallel()
	links := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := int64(1)
		transport.LinkFiles(w, r, []bridge.File{{ID: "F", Name: "a", Bytes: size}})
		_, _ = w.Write([]byte(transport.Base(r)))
	})
	callers := []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}
	for public, heads := range map[string]map[string]string{
		"https://tools.example": {"Host: tools.example": "https://tools.example", "Host: tools.example:443\r\nX-Forwarded-Proto: http": "https://tools.example",
			"Host: 127.0.0.1:PORT\r\nX-Forwarded-For: 192.0.2.1": "https://tools.example", "Host: 127.0.0.1:PORT": "http://127.0.0.1:PORT", "Host: localhost:PORT": "http://localhost:PORT"},
		"": {"Host: 127.0.0.1:PORT": "http://127.0.0.1:PORT", "Host: 127.0.0.1:PORT\r\nX-Forwarded-For: 192.0.2.1": "http://127.0.0.1:PORT"},
	} {
		s := serve(t, links, transport.Options{PublicURL: public, Callers: callers})
		for head, want := range heads {
			got := s.raw(t, "GET / HTTP/1.1\r\n"+head+"\r\nAuthorization: Bearer secret\r\n\r\n")
			want = strings.ReplaceAll(want, "PORT", s.port)
			if link := got.Header.Get("Link"); got.body != want || !strings.HasPrefix(link, "<"+want+"/files/F>") {
				t.Errorf("%q at %q: %s and %s, want %s", head, public, got.body, link, want)
			}
		}
	}
}

// TestIsLocal: only a request that came straight from this machine, under its name, is local.
func TestIsLocal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		remote, host, header string
		local                bool
	}{
		{"127.0.0.1:5", "127.0.0.1:7300", "", true}, {"[::1]:5", "localhost:7300", "", true}, {"127.0.0.1:5", "LOCALHOST", "", true},
		{"127.0.0.1:5", "tools.example", "", false}, {"10.0.0.2:5", "127.0.0.1:7300", "", false}, {"10.0.0.2:5", "10.0.0.1:7300", "", false},
		{"127.0.0.1:5", "127.0.0.1:7300", "Forwarded", false}, {"127.0.0.1:5", "127.0.0.1:7300", "X-Forwarded-For", false},
		{"127.0.0.1:5", "127.0.0.1:7300", "X-Forwarded-Host", false}, {"127.0.0.1:5", "127.0.0.1:7300", "Via", false},
		{"127.0.0.1:5", "localhost.evil.test", "", false}, {"127.0.0.1:5", "", "", false}, {"@", "127.0.0.1:7300", "", false},
	} {
		r := &http.Request{RemoteAddr: c.remote, Host: c.host, Header: http.Header{}}
		if c.header != "" {
			r.Header.Set(c.header, "x")
		}
		if got := transport.IsLocal(r); got != c.local {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestTarget is N18: shapes of requests that two programs may read differently.
func TestTarget(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	const host = "Host: 127.0.0.1:PORT\r\n"
	unread := map[string]bool{
		"no Host": true, "Host twice": true, "two lengths": true, "a length with a sign": true,
		"a space before a colon": true, "a bare word": true, "a bad escape": true,
	}
	for name, text := range map[string]string{
		"no Host":                "GET / HTTP/1.1\r\n\r\n",
		"no Host, HTTP/1.0":      "GET / HTTP/1.0\r\n\r\n",
		"Host twice":             "GET / HTTP/1.1\r\n" + host + "Host: evil.test\r\n\r\n",
		"absolute, another host": "GET http://evil.test/ HTTP/1.1\r\n" + host + "\r\n",
		"absolute, hides Host":   "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"authority":              "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n" + host + "\r\n",
		"asterisk":               "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
		"HTTP/2 in clear text":   "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"two lengths":            "POST / HTTP/1.1\r\n" + host + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"a length with a sign":   "POST / HTTP/1.1\r\n" + host + "Content-Length: +2\r\n\r\n{}",
		"a folded header":        "GET / HTTP/1.1\r\n" + host + "X-A: b\r\n Content-Length: 2\r\n\r\n",
		"a space before a colon": "GET / HTTP/1.1\r\n" + host + "Content-Length : 2\r\n\r\n{}",
		"a bare word":            "nonsense\r\n\r\n",
		"a bad escape":           "GET /%zz HTTP/1.1\r\n" + host + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.raw(t, text)
			if name == "a folded header" && got.StatusCode == http.StatusOK {
				return // RFC 9112 lets a server unfold it; the length stays part of X-A
			}
			if unread[name] { // net/http answers it before any handler
				if got.StatusCode != http.StatusBadRequest || !got.Close {
					t.Errorf("%d, closed %v", got.StatusCode, got.Close)
				}
				return
			}
			got.wantError(t, 400, bridge.SchemaError)
		})
	}
	s.get(t, "/").wantStatus(t, 200)
	s.raw(t, "GET / HTTP/1.0\r\nHost: 127.0.0.1:PORT\r\n\r\n").wantStatus(t, 200)
}
