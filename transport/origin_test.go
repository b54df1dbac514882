package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

func routes() *transport.Mux {
	return transport.NewMux(transport.Route{Pattern: "/", Methods: map[string]http.HandlerFunc{http.MethodGet: whoami, http.MethodPost: whoami}})
}

// TestOrigin is N3, N5 and N6.
func TestOrigin(t *testing.T) {
	t.Parallel()
	callers := []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}
	const app, token = "https://app.example", "Authorization: Bearer secret"
	for name, test := range map[string]struct {
		o      transport.Options
		origin string
		host   string
		pass   bool
		cors   bool
	}{
		"none":                      {transport.Options{}, "", "", true, false},
		"same":                      {transport.Options{}, "http://127.0.0.1:PORT", "", true, false},
		"same, another name of us":  {transport.Options{}, "http://localhost:PORT", "", false, false},
		"same, localhost":           {transport.Options{}, "http://localhost:PORT", "localhost:PORT", true, false},
		"another port":              {transport.Options{}, "http://127.0.0.1:1", "", false, false},
		"foreign":                   {transport.Options{}, app, "", false, false},
		"null":                      {transport.Options{}, "null", "", false, false},
		"null under *":              {transport.Options{Origins: []string{"*"}, Callers: callers}, "null", "", false, false},
		"listed":                    {transport.Options{Origins: []string{app}}, app, "", true, true},
		"listed, upper case":        {transport.Options{Origins: []string{app}}, "HTTPS://App.Example", "", true, true},
		"not listed":                {transport.Options{Origins: []string{app}}, "https://app.example.evil.test", "", false, false},
		"listed, http":              {transport.Options{Origins: []string{app}}, "http://app.example", "", false, false},
		"listed, path":              {transport.Options{Origins: []string{app}}, app + "/x", "", false, false},
		"listed, user":              {transport.Options{Origins: []string{app}}, "https://app.example@evil.test", "", false, false},
		"* with a token":            {transport.Options{Origins: []string{"*"}, Callers: callers}, app, "", true, true},
		"* without a token":         {transport.Options{Origins: []string{"*"}}, app, "", false, false},
		"behind TLS":                {transport.Options{Hosts: []string{"app.example"}}, app, "app.example", true, false},
		"behind TLS, another port":  {transport.Options{Hosts: []string{"app.example"}}, app + ":444", "app.example", false, false},
		"default port is the same":  {transport.Options{Hosts: []string{"app.example"}}, "http://app.example:80", "app.example", true, false},
		"public URL":                {transport.Options{PublicURL: "https://app.example", Callers: callers}, app, "", true, true},
		"public URL, its Host":      {transport.Options{PublicURL: "https://app.example", Callers: callers}, app, "app.example", true, true},
		"not the public URL":        {transport.Options{PublicURL: "https://app.example", Callers: callers}, "http://app.example", "", false, false},
		"not a URL":                 {transport.Options{}, "%%", "", false, false},
		"another scheme, same host": {transport.Options{}, "ftp://127.0.0.1:PORT", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, routes(), test.o)
			host := test.host
			if host == "" {
				host = "127.0.0.1:PORT"
			}
			header := []string{"Host: " + host, token}
			if test.origin != "" {
				header = append(header, "Origin: "+strings.ReplaceAll(test.origin, "PORT", s.port))
			}
			got := s.raw(t, "GET / HTTP/1.1\r\n"+lines(header)+"\r\n")
			if test.pass {
				got.wantStatus(t, 200)
			} else {
				got.wantError(t, 403, bridge.Forbidden)
			}
			allowed := got.Header.Get("Access-Control-Allow-Origin")
			if (allowed != "") != test.cors || allowed == "*" || test.cors && allowed != test.origin {
				t.Errorf("Access-Control-Allow-Origin: %q", allowed)
			}
			if len(test.o.Origins)+len(test.o.PublicURL) > 0 && test.pass && got.Header.Get("Vary") != "Origin" {
				t.Errorf("Vary: %q", got.Header.Get("Vary"))
			}
			if got.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("cookies are allowed")
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	s := serve(t, routes(), transport.Options{Origins: []string{"https://app.example"},
		Callers: []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}})
	preflight := func(origin, path string) reply {
		return s.raw(t, "OPTIONS "+path+" HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: "+origin+
			"\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, mcp-param-query,X-Mcp-Param-No, mcp-param-\r\n\r\n")
	}
	got := preflight("https://app.example", "/")
	got.wantStatus(t, 204)
	// What clients of MCP send, too: C6.
	for _, h := range []string{"Authorization", "Content-Type", "Pagetools-Resume", "Idempotency-Key",
		"MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID", "Prefer", "If-None-Match"} {
		if !strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), h) {
			t.Errorf("the preflight does not allow %s", h)
		}
	}
	if list := got.Header.Get("Access-Control-Allow-Headers"); !strings.HasSuffix(list, ", mcp-param-query") || strings.Contains(list, "X-Mcp") {
		t.Errorf("of the arguments that clients repeat it allows %s", list)
	}
	if !strings.Contains(got.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Error("the preflight does not allow POST")
	}
	for _, path := range []string{"/", "/unknown", "/healthz"} {
		got := preflight("https://evil.test", path)
		got.wantError(t, 403, bridge.Forbidden)
		for key := range got.Header {
			if strings.HasPrefix(key, "Access-Control-") {
				t.Errorf("%s: %s for a foreign origin", path, key)
			}
		}
	}
	read := s.get(t, "/", "Origin: https://app.example", "Authorization: Bearer secret")
	for _, h := range []string{"Pagetools-Resume", "ETag", "Retry-After", "Location", "Preference-Applied", "X-Request-Id", "Mcp-Session-Id", "WWW-Authenticate"} {
		if !strings.Contains(read.Header.Get("Access-Control-Expose-Headers"), h) {
			t.Errorf("%s is not exposed", h)
		}
	}
	// An error must be readable by the page too, or it only sees a network failure.
	denied := s.get(t, "/", "Origin: https://app.example")
	denied.wantError(t, 401, bridge.Unauthorized)
	if denied.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Error("a listed page cannot read its 401")
	}
	// OPTIONS without the preflight's header is an ordinary one.
	plain := s.raw(t, "OPTIONS / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: https://app.example\r\nAuthorization: Bearer secret\r\n\r\n")
	plain.wantStatus(t, 204)
	if plain.Header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("Allow: %q", plain.Header.Get("Allow"))
	}
}
