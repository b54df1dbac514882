package recipes_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/examples/recipes"
)

// TestMetadata: a client finds everything from the API's 401 (RFC 9728, RFC 8414).
func TestMetadata(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	challenge := c.get("/api/recipes").Header.Get("WWW-Authenticate")
	const leads = `Bearer resource_metadata="` + issuer + `/.well-known/oauth-protected-resource"`
	if !strings.HasPrefix(challenge, leads) {
		t.Errorf("the challenge is %s", challenge)
	}
	resource := c.get("/.well-known/oauth-protected-resource")
	if resource.field("resource") != issuer || fmt.Sprint(resource.json["authorization_servers"]) != "["+issuer+"]" {
		t.Errorf("the resource says %s", resource.body)
	}
	server := c.get("/.well-known/oauth-authorization-server")
	if server.field("issuer") != issuer || fmt.Sprint(server.json["code_challenge_methods_supported"]) != "[S256]" {
		t.Errorf("the server says %s", server.body)
	}
	for name, path := range map[string]string{"authorization": "/oauth/authorize", "token": "/oauth/token", "registration": "/oauth/register",
		"device_authorization": "/oauth/device", "revocation": "/oauth/revoke"} {
		if at := server.field(name + "_endpoint"); at != issuer+path {
			t.Errorf("the endpoint for %s is at %s", name, at)
		}
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for body, code := range map[string]string{
		`{"redirect_uris":["http://127.0.0.1:1/a","http://[::1]/b"],"unknown":1}`:                         "",
		`{"grant_types":["urn:ietf:params:oauth:grant-type:device_code"]}`:                                "",
		`{"redirect_uris":["https://evil.example/"]}`:                                                     "invalid_redirect_uri",
		`{"redirect_uris":["http://localhost/"]}`:                                                         "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1.evil.example/"]}`:                                            "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1@evil.example/"]}`:                                            "invalid_redirect_uri",
		`{"redirect_uris":["http://x@127.0.0.1/"]}`:                                                       "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1/#x"]}`:                                                       "invalid_redirect_uri",
		`{"redirect_uris":["javascript:alert(1)"]}`:                                                       "invalid_redirect_uri",
		`{"redirect_uris":[]}`:                                                                            "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1/"],"token_endpoint_auth_method":"client_secret_basic"}`:      "invalid_client_metadata",
		`{"redirect_uris":["http://127.0.0.1/"],"grant_types":["password"]}`:                              "invalid_client_metadata",
		`{"redirect_uris":["http://127.0.0.1/"],"response_types":["token"]}`:                              "invalid_client_metadata",
		`{"redirect_uris":"http://127.0.0.1/"}`:                                                           "invalid_client_metadata",
		`{"redirect_uris":["http://127.0.0.1/` + strings.Repeat("a", 600) + `"]}`:                         "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1/"],"client_name":"` + strings.Repeat("a", 40<<10) + `"}`:     "invalid_request", // too large
		`{"redirect_uris":[` + strings.Repeat(`"http://127.0.0.1/",`, 9) + `"http://127.0.0.1/"]}`:        "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1/"],"grant_types":["authorization_code","refresh_token"]}  `:  "",
		`{"redirect_uris":["http://127.0.0.1/"],"response_types":["code"],"client_name":"\u202eevil\n "}`: "",
	} {
		got := c.post("/oauth/register", body)
		if got.field("error") != code || code == "" && got.StatusCode != http.StatusCreated {
			t.Errorf("%.100s: want %q, got %s", body, code, got.body)
		}
		if strings.ContainsAny(got.field("client_name"), "\u202e\n") {
			t.Errorf("the name is %q", got.field("client_name"))
		}
	}
	want(t, c.ask(http.MethodPost, "/oauth/register", "{}", "Content-Type", "text/plain"), http.StatusBadRequest, "invalid_client_metadata")
}

// TestAuthorize: a person signs in, agrees, and the client gets a code with its state and the
// issuer.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id := c.register()
	path := "/oauth/authorize?" + request(id).Encode()
	to := location(t, c.get(path))
	if to.Path != "/login" || to.Query().Get("next") != path {
		t.Fatalf("a visitor is sent to %s", to)
	}
	page := c.get(to.RequestURI())
	if !strings.Contains(page.body, `name="next" value="/oauth/authorize?`) {
		t.Errorf("the form does not lead back:\n%s", page.body)
	}
	in := c.form("/login", "name", recipes.Name, "password", recipes.Password, "next", path)
	if back := location(t, in); back.RequestURI() != path {
		t.Errorf("the login leads to %s", back)
	}
	yes := c.decide(request(id), "allow")
	if q := yes.Query(); !strings.HasPrefix(yes.String(), callback+"?") || q.Get("code") == "" || q.Get("state") != "a state" || q.Get("iss") != issuer {
		t.Errorf("the client is sent to %s", yes)
	}
	no := c.decide(request(id), "deny")
	if q := no.Query(); q.Get("error") != "access_denied" || q.Has("code") || q.Get("iss") != issuer || q.Get("state") != "a state" {
		t.Errorf("after a no the client is sent to %s", no)
	}
	// Any port, and parameters of its own, as it registered them.
	if to := c.decide(request(id, "redirect_uri", "http://127.0.0.1:9/callback"), "allow"); to.Host != "127.0.0.1:9" {
		t.Errorf("the client is sent to %s", to)
	}
	// Nobody frames the page, and browsers let its form lead to the client.
	const policy = "default-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self' http:"
	if said := c.get(path).Header.Get("Content-Security-Policy"); said != policy {
		t.Errorf("the policy is %s", said)
	}
}

// TestAuthorizeRefusesAddresses: nobody is sent to an address that the client did not register.
func TestAuthorizeRefusesAddresses(t *testing.T) {
	t.Parallel()
	c := newCaller(t).signIn()
	id := c.register()
	for _, q := range []url.Values{
		request("nobody"),
		request(id, "client_id", ""),
		request(id, "redirect_uri", ""),
		request(id, "redirect_uri", "https://evil.example/callback"),
		request(id, "redirect_uri", "http://127.0.0.1:4444/other"),
		request(id, "redirect_uri", "http://127.0.0.1:4444/callback?x=1"),
		request(id, "redirect_uri", "http://127.0.0.1:4444/callback/../other"),
		request(id, "redirect_uri", "http://[::1]:4444/callback"),
		request(id, "redirect_uri", "http://localhost:4444/callback"),
		request(id, "redirect_uri", "http://evil@127.0.0.1:4444/callback"),
		request(id, "redirect_uri", "//evil.example/callback"),
	} {
		got := c.get("/oauth/authorize?" + q.Encode())
		if got.StatusCode != http.StatusBadRequest || got.Header.Get("Location") != "" {
			t.Errorf("%s: %d, to %q", q.Get("redirect_uri"), got.StatusCode, got.Header.Get("Location"))
		}
	}
	twice := c.get("/oauth/authorize?" + request(id).Encode() + "&redirect_uri=" + url.QueryEscape(callback))
	want(t, twice, http.StatusBadRequest, "")
	want(t, c.get("/oauth/authorize?"+request(id).Encode()), http.StatusOK, "")
}

// TestAuthorizeRefuses: other faults are told to the client, with its state and the issuer.
func TestAuthorizeRefuses(t *testing.T) {
	t.Parallel()
	c := newCaller(t).signIn()
	id := c.register()
	for _, test := range []struct{ name, value, code string }{
		{"code_challenge", "", "invalid_request"},
		{"code_challenge", "short", "invalid_request"},
		{"code_challenge_method", "plain", "invalid_request"},
		{"code_challenge_method", "", "invalid_request"},
		{"response_type", "token", "unsupported_response_type"},
		{"scope", "recipes:read everything", "invalid_scope"},
		{"resource", "https://evil.example/", "invalid_target"},
		{"state", strings.Repeat("s", 2000), "invalid_request"},
	} {
		to := location(t, c.get("/oauth/authorize?"+request(id, test.name, test.value).Encode()))
		if q := to.Query(); q.Get("error") != test.code || q.Has("code") || q.Get("iss") != issuer {
			t.Errorf("%s %q: %s", test.name, test.value, to)
		}
	}
	to := location(t, c.get("/oauth/authorize?"+request(id).Encode()+"&scope=a&scope=b"))
	if to.Query().Get("error") != "invalid_request" {
		t.Errorf("a parameter that is there twice: %s", to)
	}
}

// TestConsentIsThePersons: no form of somebody else says yes for a person.
func TestConsentIsThePersons(t *testing.T) {
	t.Parallel()
	c := newCaller(t).signIn()
	id := c.register()
	path := "/oauth/authorize?" + request(id).Encode()
	theirs := csrf.FindStringSubmatch(c.other().signIn().get(path).body)[1]
	for _, token := range []string{"", "x", theirs} {
		want(t, c.form(path, "decision", "allow", "csrf", token), http.StatusForbidden, "invalid_request")
	}
	mine := csrf.FindStringSubmatch(c.get(path).body)[1]
	const media = "application/x-www-form-urlencoded"
	body := values("decision", "allow", "csrf", mine).Encode()
	foreign := c.ask(http.MethodPost, path, body, "Content-Type", media, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	want(t, foreign, http.StatusForbidden, "")
	want(t, c.ask(http.MethodPost, path, body, "Content-Type", media, "Origin", issuer, "Sec-Fetch-Site", "same-origin"), http.StatusSeeOther, "")
	guest := c.other()
	guest.get("/")
	if to := location(t, guest.form(path, "decision", "allow", "csrf", mine)); to.Path != "/login" {
		t.Errorf("a guest who agrees is sent to %s", to)
	}
}

// TestConsentShowsNames: what a client says about itself is shown as text, without control
// characters.
func TestConsentShowsNames(t *testing.T) {
	t.Parallel()
	c := newCaller(t).signIn()
	got := c.post("/oauth/register", `{"redirect_uris":["http://127.0.0.1/callback"],"client_name":"<script>alert(1)</script>\u202e`+strings.Repeat("x", 100)+`"}`)
	page := c.get("/oauth/authorize?" + request(got.field("client_id")).Encode())
	if strings.Contains(page.body, "<script>alert") || !strings.Contains(page.body, "&lt;script&gt;alert") ||
		strings.Contains(page.body, strings.Repeat("x", 41)) || strings.Contains(page.body, "\u202e") {
		t.Errorf("the page is\n%s", page.body)
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"https://evil.example/", "//evil.example/device", `/\evil.example`, `\\evil.example/device`, "javascript:alert(1)",
		"/device@evil.example", "device", "/login", "/%2fevil.example", "http:/device", "http:device"} {
		c := newCaller(t)
		got := c.form("/login", "name", recipes.Name, "password", recipes.Password, "next", next)
		if to := got.Header.Get("Location"); to != "/" {
			t.Errorf("%s leads to %s", next, to)
		}
	}
	c := newCaller(t)
	if to := c.form("/login", "name", recipes.Name, "password", recipes.Password, "next", "/device?user_code=A").Header.Get("Location"); to != "/device?user_code=A" {
		t.Errorf("the login leads to %s", to)
	}
	if len(c.cookies) != 1 || !c.cookies[0].HttpOnly || c.cookies[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("the cookies are %v", c.cookies)
	}
	c.form("/logout")
	if to := location(t, c.get("/device")); to.Path != "/login" {
		t.Errorf("after the logout a person is sent to %s", to)
	}
}

// TestLoginOpensAnewSession: the name of a session that somebody knew before is worth nothing
// after.
func TestLoginOpensAnewSession(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.get("/")
	thief := c.other()
	thief.cookies = c.cookies
	c.signIn()
	if to := location(t, thief.get("/device")); to.Path != "/login" {
		t.Errorf("the old cookie is signed in: %s", to)
	}
	want(t, thief.get("/page/recipes"), http.StatusUnauthorized, "no_session")
	want(t, c.get("/device"), http.StatusOK, "")
}

func TestLoginIsThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t)
		want(t, c.form("/login", "name", "nobody", "password", "x"), http.StatusUnauthorized, "")
		for range 5 {
			want(t, c.form("/login", "name", recipes.Name, "password", "wrong"), http.StatusUnauthorized, "")
		}
		want(t, c.form("/login", "name", recipes.Name, "password", recipes.Password), http.StatusTooManyRequests, "")
		pass(time.Minute)
		c.signIn()
	})
}
