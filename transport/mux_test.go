package transport_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

func TestMux(t *testing.T) {
	t.Parallel()
	show := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			transport.WriteJSON(w, r, 200, []string{name, r.PathValue("site"), r.PathValue("version")})
		}
	}
	get := func(name string) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: show(name)}
	}
	digits := map[string]func(string) bool{"version": func(s string) bool { return strings.Trim(s, "0123456789") == "" }}
	s := serve(t, transport.NewMux(
		transport.Route{Pattern: "/a", Methods: map[string]http.HandlerFunc{http.MethodGet: show("a"), http.MethodPost: show("post")}},
		transport.Route{Pattern: "/a/{site}", Methods: get("site")},
		transport.Route{Pattern: "/a/{site}/{version}", Methods: get("version"), When: digits},
		transport.Route{Pattern: "/a/{site}/literal", Methods: map[string]http.HandlerFunc{http.MethodPost: show("literal")}},
	), transport.Options{})

	for path, want := range map[string]string{
		"/a": `["a","",""]`, "/a/": `["a","",""]`, "/a?x=/b": `["a","",""]`, "/%61": `["a","",""]`,
		"/a/x": `["site","x",""]`, "/a/x/": `["site","x",""]`, "/a/x%20y": `["site","x y",""]`, "/a/%25": `["site","%",""]`,
		"/a/x%2Fy": `["site","x/y",""]`, "/a/x%2f1": `["site","x/1",""]`, "/a/%252F": `["site","%2F",""]`, "/a/x;y": `["site","x;y",""]`, "/a/x+y": `["site","x+y",""]`,
		"/a/x/12": `["version","x","12"]`, "/a/...": `["site","...",""]`,
	} {
		got := s.get(t, path)
		if got.StatusCode != http.StatusOK || got.body != want || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want %s", path, got.StatusCode, got.body, want)
		}
	}
	for _, path := range []string{
		"/", "//", "/b", "/A", "//a", "/a//", "/a//x", "/./a", "/a/.", "/a/..", "/b/../a", "/a/%2e%2e", "/a/%2E", "/%2e%2e/a", "/a%2Fx", "/a%2f",
		"/a/%00", "/a/x%00", "/a/%0a", "/a/%7f", "/a/%ff", "/a/x/latest", "/a/x/1/2", "/a/x/12%2F", "/a\\x",
	} {
		got := s.get(t, path)
		got.wantError(t, 404, bridge.WebtoolNotFound)
		if got.Header.Get("Location") != "" {
			t.Errorf("%s: redirected", path)
		}
	}
}

func TestMuxMethods(t *testing.T) {
	t.Parallel()
	h := func(w http.ResponseWriter, r *http.Request) { transport.WriteJSON(w, r, 200, "long enough") }
	s := serve(t, transport.NewMux(
		transport.Route{Pattern: "/both", Methods: map[string]http.HandlerFunc{http.MethodGet: h, http.MethodPost: h}},
		transport.Route{Pattern: "/post", Methods: map[string]http.HandlerFunc{http.MethodPost: h}},
	), transport.Options{})
	send := func(method, path string) reply {
		return s.raw(t, method+" "+path+" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
	}
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/both", 200, ""}, {"POST", "/both", 200, ""}, {"HEAD", "/both", 200, ""},
		{"OPTIONS", "/both", 204, "GET, HEAD, OPTIONS, POST"}, {"OPTIONS", "/post/", 204, "OPTIONS, POST"},
		{"GET", "/post", 405, "OPTIONS, POST"}, {"HEAD", "/post", 405, "OPTIONS, POST"},
		{"PUT", "/both", 405, "GET, HEAD, OPTIONS, POST"}, {"DELETE", "/both/", 405, "GET, HEAD, OPTIONS, POST"},
		{"TRACE", "/both", 405, "GET, HEAD, OPTIONS, POST"}, {"get", "/both", 405, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/unknown", 404, ""}, {"PUT", "/unknown", 404, ""},
	} {
		got := send(test.method, test.path)
		got.wantStatus(t, test.status)
		if got.Header.Get("Allow") != test.allow {
			t.Errorf("%s %s: Allow %q, want %q", test.method, test.path, got.Header.Get("Allow"), test.allow)
		}
		if test.status == 405 && test.method != "HEAD" {
			got.wantError(t, 405, bridge.MethodNotAllowed)
		}
	}
	a, b := send("GET", "/both"), send("HEAD", "/both")
	if b.body != "" || b.Header.Get("Content-Length") != a.Header.Get("Content-Length") || b.Header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %v %q", b.Header, b.body)
	}
}

func TestMuxRefusesBadRoutes(t *testing.T) {
	t.Parallel()
	for _, r := range []transport.Route{{Pattern: "a", Methods: map[string]http.HandlerFunc{"GET": whoami}}, {Pattern: "/a"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", r.Pattern)
				}
			}()
			transport.NewMux(r)
		}()
	}
}

// TestWaiting: a process that cannot serve yet lives, is not ready, and ends everything else with its
// reason, in the form of each path.
func TestWaiting(t *testing.T) {
	t.Parallel()
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun, "It waits.")
	e.Retry = 2 * time.Second
	s := serve(t, transport.Waiting(e), transport.Options{JSONRPCUnder: []string{"/mcp"}})
	for path, x := range map[string]struct {
		status int
		says   string
	}{
		"/healthz":       {http.StatusOK, `{"status":"ok"}`},
		"/healthz/":      {http.StatusOK, `{"status":"ok"}`},
		"/readyz":        {http.StatusServiceUnavailable, `{"status":"starting"`},
		"/webtools/shop": {http.StatusServiceUnavailable, `"reason":"NO_QUORUM","outcome":"not_run"`},
		"/nowhere":       {http.StatusServiceUnavailable, `"reason":"NO_QUORUM","outcome":"not_run"`},
		"/mcp":           {http.StatusServiceUnavailable, `"jsonrpc":"2.0"`},
	} {
		got := s.get(t, path)
		if got.StatusCode != x.status || !strings.Contains(got.body, x.says) || strings.Contains(x.says, "NO_QUORUM") && got.Header.Get("Retry-After") != "2" {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var now transport.Readiness
	s := serve(t, transport.NewMux(transport.Health(func() transport.Readiness { return now })...), transport.Options{})
	if got := s.get(t, "/healthz"); got.StatusCode != http.StatusOK || got.body != `{"status":"ok"}` {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := s.get(t, "/readyz"); got.StatusCode != http.StatusServiceUnavailable || got.body != `{"status":"starting","sites":{}}` {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	now = transport.Readiness{Ready: true, Sites: map[string]string{"shop": "opened"}}
	if got := s.get(t, "/readyz/"); got.StatusCode != http.StatusOK || got.body != `{"status":"ok","sites":{"shop":"opened"}}` {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	now.NextTry = map[string]time.Time{"shop": time.Unix(0, 0), "bank": time.Unix(0, 0)} // of which one is not here
	if got := s.get(t, "/readyz"); got.body != `{"status":"ok","sites":{"shop":"opened"},"nextTry":{"shop":"1970-01-01T00:00:00Z"}}` {
		t.Errorf("a site that is down: %s", got.body)
	}
	now.NextTry = nil
	now.Audit = "the disk is full"
	if got := s.get(t, "/readyz"); got.StatusCode != http.StatusOK || got.body != `{"status":"degraded","sites":{"shop":"opened"},"audit":"the disk is full"}` {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	now.Browser = "There is no browser."
	if got := s.get(t, "/readyz"); got.StatusCode != http.StatusServiceUnavailable ||
		!strings.HasPrefix(got.body, `{"status":"no browser","browser":"There is no browser.","sites":`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	now.Draining = true
	if got := s.get(t, "/readyz"); got.StatusCode != http.StatusServiceUnavailable || !strings.HasPrefix(got.body, `{"status":"draining",`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := s.get(t, "/healthz"); got.StatusCode != http.StatusOK {
		t.Errorf("a process that drains is not alive: %d", got.StatusCode)
	}
	s.post(t, "/healthz", "{}").wantError(t, 405, bridge.MethodNotAllowed)
}

// TestMuxRoot: a segment that is an encoded slash is not the root.
func TestMuxRoot(t *testing.T) {
	t.Parallel()
	s := serve(t, transport.NewMux(transport.Route{Pattern: "/", Methods: map[string]http.HandlerFunc{
		http.MethodGet: func(w http.ResponseWriter, r *http.Request) { transport.WriteJSON(w, r, 200, "root") },
	}}), transport.Options{})
	s.get(t, "/").wantStatus(t, 200)
	for _, path := range []string{"/%2F", "/%2f", "/%2F/"} {
		s.get(t, path).wantError(t, 404, bridge.WebtoolNotFound)
	}
}
