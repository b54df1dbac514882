package transport_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// TestTokenWithoutCallers: where no callers are configured, the log says once that tokens do
// not count, and not what they are.
func TestTokenWithoutCallers(t *testing.T) {
	t.Parallel()
	mux := transport.NewMux(transport.Route{Pattern: "/who", Methods: map[string]http.HandlerFunc{http.MethodGet: whoami}})
	s := serve(t, mux, transport.Options{})
	for _, header := range []string{"X-Nothing: 1", "Authorization: Bearer token-one", "Authorization: Bearer token-two"} {
		if got := s.get(t, "/who", header); !strings.Contains(got.body, `"caller":"local"`) {
			t.Errorf("%s: %d %s", header, got.StatusCode, got.body)
		}
		if log := s.log.String(); header[0] == 'X' && strings.Contains(log, "does not count") {
			t.Errorf("without a token: %s", log)
		}
	}
	s.log.waitFor(t, "does not count")
	if log := s.log.String(); strings.Count(log, "does not count") != 1 || strings.Contains(log, "token-") {
		t.Errorf("the log is %s", log)
	}
}

// TestCredential is N9.
func TestCredential(t *testing.T) {
	t.Parallel()
	callers := []transport.Credential{
		{Caller: bridge.Caller{Name: "first"}, Token: "token-one"},
		{Caller: bridge.Caller{Name: "second"}, Token: "token-two"},
	}
	mux := transport.NewMux(transport.Health(func() transport.Readiness {
		return transport.Readiness{Ready: true, Sites: map[string]string{"shop": "opened"}, NextTry: map[string]time.Time{"shop": time.Now()}}
	})...)
	mux.Add(transport.Route{Pattern: "/who", Methods: map[string]http.HandlerFunc{http.MethodGet: whoami, http.MethodPost: whoami}})
	s := serve(t, mux, transport.Options{Callers: callers})
	for header, want := range map[string]string{
		"Authorization: Bearer token-one":           "first",
		"Authorization: bearer   token-two":         "second",
		"Authorization: Bearer token-thr":           "403",
		"Authorization: Bearer token-one2":          "403",
		"Authorization: Bearer token-one token-two": "403",
		"X-Nothing: 1":                      "401",
		"Authorization: Bearer":             "401",
		"Authorization: Bearer ":            "401",
		"Authorization: Basic dG9rZW4tb25l": "401",
		"Authorization: token-one":          "401",
		"Authorization: Bearer token-one\r\nAuthorization: Bearer token-one": "401",
		"Cookie: token=token-one": "401",
	} {
		got := s.get(t, "/who?token=token-one&access_token=token-one", header)
		switch want {
		case "401":
			got.wantError(t, 401, bridge.Unauthorized)
			if got.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: WWW-Authenticate: %q", header, got.Header.Get("WWW-Authenticate"))
			}
		case "403":
			got.wantError(t, 403, bridge.Forbidden)
		default:
			if !strings.Contains(got.body, `"caller":"`+want+`"`) {
				t.Errorf("%s: %d %s", header, got.StatusCode, got.body)
			}
		}
	}
	for path, status := range map[string]int{
		"/healthz": 200, "/healthz/": 200, "/readyz": 200, "/who": 401, "/unknown": 401, "/": 401,
		"/healthz/x": 401, "/healthz//": 401, "/healthz/../who": 401, "/who?/healthz": 401, "/%68ealthz": 401, "/healthz%2f": 401,
	} {
		s.get(t, path).wantStatus(t, status)
	}
	if got := s.get(t, "/readyz"); strings.Contains(got.body, "shop") {
		t.Errorf("a stranger learns of sites: %s", got.body)
	}
	if got := s.get(t, "/readyz", "Authorization: Bearer token-one"); !strings.Contains(got.body, "shop") {
		t.Errorf("a caller does not learn of sites: %s", got.body)
	}
	s.log.waitFor(t, `"caller":"second"`)
	if log := s.log.String(); strings.Contains(log, "token-one") || strings.Contains(log, "token-two") {
		t.Error("a token is in the log")
	}
}

func TestWithoutCredentials(t *testing.T) {
	t.Parallel()
	local := serve(t, http.HandlerFunc(whoami), transport.Options{})
	for _, header := range []string{"X-Nothing: 1", "Authorization: Bearer whatever"} {
		if got := local.get(t, "/", header); !strings.Contains(got.body, `"caller":"local"`) {
			t.Errorf("%s: %d %s", header, got.StatusCode, got.body)
		}
	}
	// Guard does not rely on Validate having been called.
	exposed := serve(t, http.HandlerFunc(whoami), transport.Options{Listen: "0.0.0.0:7300"})
	exposed.get(t, "/").wantError(t, 401, bridge.Unauthorized)
	exposed.get(t, "/", "Authorization: Bearer x").wantError(t, 403, bridge.Forbidden)
}

func TestOutsideOfGuard(t *testing.T) {
	t.Parallel()
	c := transport.CallerOf(t.Context())
	if c.Can(bridge.MayCall) || c.Sees("shop") || transport.RequestID(t.Context()) != "" || transport.HasCredentials(t.Context()) {
		t.Errorf("a request that passed no guard is %+v", c)
	}
}

func TestCredentialHidesItsToken(t *testing.T) {
	t.Parallel()
	c := transport.Credential{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}
	var out strings.Builder
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "c", c)
	if s := fmt.Sprintf("%v %+v %s", c, c, c) + out.String(); strings.Contains(s, "secret") {
		t.Error(s)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	callers := []transport.Credential{{Caller: bridge.Caller{Name: "agent"}, Token: "secret"}}
	for name, test := range map[string]struct {
		o    transport.Options
		want string // empty: valid
	}{
		"loopback":             {transport.Options{Listen: "127.0.0.1:7300"}, ""},
		"loopback, IPv6":       {transport.Options{Listen: "[::1]:7300"}, ""},
		"loopback, name":       {transport.Options{Listen: "localhost:7300"}, ""},
		"loopback, 127.9":      {transport.Options{Listen: "127.9.9.9:7300"}, ""},
		"public with a token":  {transport.Options{Listen: "0.0.0.0:7300", Callers: callers}, ""},
		"public":               {transport.Options{Listen: "0.0.0.0:7300"}, "needs Callers"},
		"public, every family": {transport.Options{Listen: ":7300"}, "needs Callers"},
		"public, IPv6":         {transport.Options{Listen: "[::]:7300"}, "needs Callers"},
		"no address":           {transport.Options{}, "must be an address"},
		"port not known yet":   {transport.Options{Listen: "127.0.0.1:0"}, "must be an address"},
		"hosts":                {transport.Options{Listen: "127.0.0.1:1", Hosts: []string{"a.example", "a.example:1"}}, ""},
		"bad host":             {transport.Options{Listen: "127.0.0.1:1", Hosts: []string{"http://a.example"}}, "must be a host name"},
		"origin":               {transport.Options{Listen: "127.0.0.1:1", Origins: []string{"http://a.example:8080"}}, ""},
		"origin with a slash":  {transport.Options{Listen: "127.0.0.1:1", Origins: []string{"http://a.example/"}}, "must be an origin"},
		"origin null":          {transport.Options{Listen: "127.0.0.1:1", Origins: []string{"null"}}, "must be an origin"},
		"any origin":           {transport.Options{Listen: "127.0.0.1:1", Origins: []string{"*"}}, "needs a token"},
		"any origin, token":    {transport.Options{Listen: "127.0.0.1:1", Origins: []string{"*"}, Callers: callers}, ""},
		"public URL":           {transport.Options{Listen: "127.0.0.1:1", PublicURL: "https://a.example", Callers: callers}, ""},
		"public URL, open":     {transport.Options{Listen: "127.0.0.1:1", PublicURL: "https://a.example"}, "needs Callers"},
		"public URL, here":     {transport.Options{Listen: "127.0.0.1:1", PublicURL: "http://localhost:8080"}, ""},
		"public URL, http":     {transport.Options{Listen: "127.0.0.1:1", PublicURL: "http://a.example", Callers: callers}, "must be an origin with https"},
		"public URL, a path":   {transport.Options{Listen: "127.0.0.1:1", PublicURL: "https://a.example/mcp", Callers: callers}, "must be an origin with https"},
		"no token":             {transport.Options{Listen: "127.0.0.1:1", Callers: []transport.Credential{{Caller: bridge.Caller{Name: "a"}}}}, "no usable token"},
		"same token":           {transport.Options{Listen: "127.0.0.1:1", Callers: append(callers, callers...)}, "the same token"},
	} {
		err := test.o.Validate()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the message holds a token", name)
		}
	}
}
