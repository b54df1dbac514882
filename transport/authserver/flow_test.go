package authserver_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/authserver"
)

// TestMetadata (reach 4): the documents say where everything is, to pages of every origin, too.
func TestMetadata(t *testing.T) {
	w := newWorld(t)
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"issuer":"https://tools.example","authorization_endpoint":"https://tools.example/oauth/authorize","token_endpoint":"https://tools.example/oauth/token",
 "registration_endpoint":"https://tools.example/oauth/register","revocation_endpoint":"https://tools.example/oauth/revoke",
 "client_id_metadata_document_supported":true,"authorization_response_iss_parameter_supported":true,"code_challenge_methods_supported":["S256"],
 "token_endpoint_auth_methods_supported":["none"],"grant_types_supported":["authorization_code","refresh_token"],"response_types_supported":["code"],
 "scopes_supported":["call"]}`), &want); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		got := w.do("GET", path, "", "Origin: https://inspector.example")
		var is map[string]any
		if err := json.Unmarshal([]byte(got.body), &is); err != nil || got.StatusCode != http.StatusOK || got.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %s %v", path, got.StatusCode, got.body, got.Header)
		}
		for name, v := range want {
			if !reflect.DeepEqual(is[name], v) {
				t.Errorf("%s: %s is %v, want %v", path, name, is[name], v)
			}
		}
	}
	got := w.do("GET", "/.well-known/oauth-protected-resource/mcp", "")
	if !strings.Contains(got.body, `"authorization_servers":["https://tools.example"],"scopes_supported":["call"]`) {
		t.Errorf("the resource: %s", got.body)
	}
	if got := w.do("GET", "/mcp", ""); got.StatusCode != http.StatusUnauthorized ||
		got.Header.Get("WWW-Authenticate") != `Bearer resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp", scope="call"` {
		t.Errorf("without a token: %d %v", got.StatusCode, got.Header)
	}
}

// TestSignIn (reach 4): a client registers itself, a person lets it in with a code of the machine,
// and its tokens count, until it renews them, or a person ends that.
func TestSignIn(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	token := b.opens(w.query(nil))
	code, until, _ := w.server.Pair(w.t.Context(), "me")
	if !regexp.MustCompile(`^[A-Z]{4}-[A-Z]{4}$`).MatchString(code) || until.Sub(w.Now()) != 10*time.Minute {
		t.Errorf("the code %s, until %v", code, until)
	}
	got := b.answers(token, "allow", url.Values{"code": {strings.ToLower(strings.ReplaceAll(code, "-", " "))}})
	to := got.back(t)
	if !strings.HasPrefix(got.Header.Get("Location"), redirect+"?") || to.Get("state") != "st&te" || to.Get("iss") != public || to.Get("code") == "" || got.StatusCode != http.StatusSeeOther {
		t.Fatalf("the answer: %d %v", got.StatusCode, got.Header)
	}
	first, got := w.trade(w.byCode(to.Get("code")))
	if first.Type != "Bearer" || first.Expires != 3600 || first.Scope != "call" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the tokens: %d %s %v", got.StatusCode, got.body, got.Header)
	}
	if got := w.do("GET", "/mcp", "", "Authorization: Bearer "+first.Access); got.body != "pagetools:me may [call elicit] on []" {
		t.Errorf("the caller: %d %s", got.StatusCode, got.body)
	}
	next, _ := w.trade(w.byRefresh(first.Refresh))
	if next.Access == "" || next.Refresh == "" || next.Access == first.Access || next.Refresh == first.Refresh || !w.lets(next.Access, "/mcp") || !w.lets(first.Access, "/mcp") {
		t.Errorf("renewed: %+v", next)
	}
	w.advance(time.Hour)
	if w.lets(next.Access, "/mcp") {
		t.Error("a token counts after an hour")
	}
	last, _ := w.trade(w.byRefresh(next.Refresh))
	if !w.lets(last.Access, "/mcp") {
		t.Error("the third token does not count")
	}
	// Its browser is known now: a code is not asked for, but the person is.
	page := b.request("GET", w.query(nil), "")
	if page.Header.Get("Location") != "" || !strings.Contains(page.body, "You are logged in here as <strong>me</strong>") || strings.Contains(page.body, `name="code"`) {
		t.Errorf("the page of a browser that is logged in: %d %s", page.StatusCode, page.body)
	}
	if got := b.answers(tokenOf(page), "allow", nil); got.back(t).Get("code") == "" {
		t.Errorf("a click: %d %s", got.StatusCode, got.body)
	}
	page = b.answers(b.opens(w.query(nil)), "other", nil)
	if page.StatusCode != http.StatusOK || !strings.Contains(page.body, `name="code"`) || b.cookies["__Host-pagetools"] != "" {
		t.Errorf("somebody else: %d %s", page.StatusCode, page.body)
	}
	if got := b.answers(tokenOf(page), "deny", nil); got.back(t).Get("error") != "access_denied" || got.back(t).Get("iss") != public || got.back(t).Get("state") != "st&te" {
		t.Errorf("no: %v", got.Header)
	}
}

// TestRevoked (reach 4): revoking counts at once, whoever does it: the client, or the operator. The
// callers learn of it.
func TestRevoked(t *testing.T) {
	w := newWorld(t)
	other := w.connect()
	for name, revoke := range map[string]func(tokens){
		"the client, by the access token": func(tk tokens) {
			w.do("POST", "/oauth/revoke", url.Values{"token": {tk.Access}, "client_id": {w.client}}.Encode(), asForm)
		},
		"the client, by the refresh token": func(tk tokens) {
			w.do("POST", "/oauth/revoke", url.Values{"token": {tk.Refresh}}.Encode(), asForm)
		},
		"the operator": func(tk tokens) {
			if there, err := w.server.Disconnect(t.Context(), w.caller(tk.Access).CredentialID); !there || err != nil {
				t.Errorf("disconnecting: %v, %v", there, err)
			}
		},
	} {
		tk := w.connect()
		c, told := w.caller(tk.Access), w.revoked.Load()
		if !w.lets(tk.Access, "/mcp") {
			t.Fatal("it does not count")
		}
		revoke(tk)
		if again, _ := w.trade(w.byRefresh(tk.Refresh)); w.lets(tk.Access, "/mcp") || again.Error != "invalid_grant" || !c.IsRevoked() || w.revoked.Load() == told {
			t.Errorf("%s: the token counts %v, renewing says %q, the caller is revoked %v", name, w.lets(tk.Access, "/mcp"), again.Error, c.IsRevoked())
		}
	}
	if got := w.do("POST", "/oauth/revoke", "token=nonsense", asForm); got.StatusCode != http.StatusOK {
		t.Errorf("a token that is not there: %d", got.StatusCode)
	}
	if got := w.do("POST", "/oauth/revoke", url.Values{"token": {other.Access}, "client_id": {"another"}}.Encode(), asForm); got.StatusCode != http.StatusBadRequest {
		t.Errorf("another client's token: %d %s", got.StatusCode, got.body)
	}
	if !w.lets(other.Access, "/mcp") || w.caller(other.Access).IsRevoked() {
		t.Error("another connection is revoked, too")
	}
}

// TestRestart (reach 4): tokens and browsers survive a restart, in a new process on the same store,
// and what another process revokes is gone in a moment.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	tk, _ := w.trade(w.byCode(b.code(w.query(nil))))
	open := b.opens(w.query(nil))
	before := w.server
	w.start()
	if !w.lets(tk.Access, "/mcp") {
		t.Error("the token does not count after a restart")
	}
	if got := b.answers(open, "allow", nil); got.StatusCode != http.StatusForbidden {
		t.Errorf("a page of the process before: %d", got.StatusCode)
	}
	if code := b.code(w.query(nil)); code == "" {
		t.Error("the browser is not known")
	}
	if _, err := before.Disconnect(t.Context(), w.caller(tk.Access).CredentialID); err != nil {
		t.Fatal(err)
	}
	w.advance(5 * time.Second)
	if w.lets(tk.Access, "/mcp") {
		t.Error("what another process revoked counts")
	}
}

// TestPeople (reach 4): each person has the rights of theirs, and loses what the operator takes
// away.
func TestPeople(t *testing.T) {
	w := newWorld(t, func(o *authserver.Options) {
		o.People = []authserver.Person{{Name: "me", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop", "bank"}}, {Name: "bob"}}
	})
	if code, _, _ := w.server.Pair(w.t.Context(), "nobody"); code != "" {
		t.Error("there is a code for nobody")
	}
	tk := w.connect()
	if got := w.do("GET", "/mcp/shop", "", "Authorization: Bearer "+tk.Access); got.body != "pagetools:me may [call] on [shop bank]" {
		t.Errorf("the caller: %s", got.body)
	}
	if got := w.do("GET", "/mcp/other", "", "Authorization: Bearer "+tk.Access); got.StatusCode != http.StatusForbidden {
		t.Errorf("another site: %d", got.StatusCode)
	}
	c := w.caller(tk.Access)
	replace := func(all ...authserver.Person) {
		t.Helper()
		if err := w.server.Replace(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	replace(authserver.Person{Name: "me", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop", "bank"}})
	if c.IsRevoked() || !w.lets(tk.Access, "/mcp") {
		t.Error("without a change, the caller is revoked")
	}
	other := w.connect()
	before := w.caller(other.Access)
	replace(authserver.Person{Name: "me", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop", "bank"}})
	w.advance(5 * time.Second)
	if after := w.caller(other.Access); before.IsRevoked() || after.Revoked != before.Revoked {
		t.Error("without a change, a caller is another one")
	}
	if _, err := w.server.Disconnect(t.Context(), before.CredentialID); err != nil || !before.IsRevoked() {
		t.Errorf("a caller of before the file was read again is not revoked: %v", err)
	}
	replace(authserver.Person{Name: "me", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop"}})
	if !c.IsRevoked() { // at once, and not when its token is looked at again
		t.Error("with fewer sites, the caller of before is not revoked")
	}
	if next := w.caller(tk.Access); len(next.Sites) != 1 || next.IsRevoked() || next.Name != c.Name || next.Credential != c.Credential {
		t.Errorf("with fewer sites, the caller is %+v", next)
	}
	b := w.browser()
	b.code(w.query(nil))
	loggedIn := func() bool {
		return strings.Contains(b.request("GET", w.query(nil), "").body, "You are logged in here")
	}
	if replace(authserver.Person{Name: "me"}, authserver.Person{Name: "bob"}); !loggedIn() {
		t.Error("with other rights, a browser is not logged in any more")
	}
	if replace(authserver.Person{Name: "me", Password: authserver.Hash("correct horse")}); loggedIn() {
		t.Error("with another password, a browser is logged in as before")
	}
	b.cookies = map[string]string{}
	b.code(w.query(nil))
	replace(authserver.Person{Name: "bob"})
	replace(authserver.Person{Name: "me"})
	if again, _ := w.trade(w.byRefresh(tk.Refresh)); w.lets(tk.Access, "/mcp") || again.Error != "invalid_grant" {
		t.Error("what a person let in who was removed counts")
	}
	if loggedIn() {
		t.Error("the browser of a person who was removed is logged in as the next one of that name")
	}
	for _, bad := range []authserver.Person{{}, {Name: "a:b"}, {Name: "a b"}, {Name: "x", May: []bridge.Right{bridge.MayAnswer}}, {Name: "x", Password: "secret"},
		{Name: "x", Password: "$argon2id$v=19$m=4194304,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAA"}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is a person", bad)
		}
	}
}

// TestPassword: a password lets in its person, and nobody else.
func TestPassword(t *testing.T) {
	h := authserver.Hash("correct horse")
	if p := (&authserver.Person{Name: "me", Password: h}); p.Validate() != nil {
		t.Fatalf("%s is not a hash", h)
	}
	w := newWorld(t, func(o *authserver.Options) {
		o.People = []authserver.Person{{Name: "me", Password: h}, {Name: "bob"}}
	})
	b := w.browser()
	token := b.opens(w.query(nil))
	for name, v := range map[string]url.Values{
		"a wrong password": {"person": {"me"}, "password": {"wrong"}}, "another's name": {"person": {"bob"}, "password": {"correct horse"}},
		"nobody's name": {"person": {"eve"}, "password": {"correct horse"}}, "no name": {"password": {"correct horse"}},
	} {
		if got := b.answers(token, "allow", v); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if got := b.answers(token, "allow", url.Values{"person": {"me"}, "password": {"correct horse"}}); got.back(t).Get("code") == "" {
		t.Errorf("the password: %d %s", got.StatusCode, got.body)
	}
}

// TestResources (reach 4, 3): tokens are for the resource that the person was asked for.
func TestResources(t *testing.T) {
	for resource, want := range map[string]string{
		"": "/mcp /mcp/shop /webtools/shop /mcp/bank", public: "/mcp /mcp/shop /webtools/shop /mcp/bank", public + "/": "/mcp /mcp/shop /webtools/shop /mcp/bank",
		public + "/mcp": "/mcp /mcp/shop /mcp/bank", public + "/mcp/": "/mcp /mcp/shop /mcp/bank", public + "/mcp/shop": "/mcp/shop /webtools/shop",
		public + "/webtools/shop": "/mcp/shop /webtools/shop", "HTTPS://Tools.Example:443/mcp/shop": "/mcp/shop /webtools/shop",
	} {
		w := newWorld(t)
		change, trade := url.Values{"resource": {resource}}, url.Values{"resource": {resource}}
		if resource == "" {
			change, trade = url.Values{"resource": nil}, nil
		}
		v := w.byCode(w.browser().code(w.query(change)))
		delete(v, "resource")
		if trade != nil {
			v["resource"] = trade["resource"]
		}
		tk, got := w.trade(v)
		if tk.Access == "" {
			t.Fatalf("%q: %s", resource, got.body)
		}
		var lets []string
		for _, path := range []string{"/mcp", "/mcp/shop", "/webtools/shop", "/mcp/bank"} {
			if w.lets(tk.Access, path) {
				lets = append(lets, path)
			}
		}
		if got := strings.Join(lets, " "); got != want {
			t.Errorf("a token for %q is good for %s, want %s", resource, got, want)
		}
	}
}

// TestTwoServers: servers with the same keys, codes and memory are one: what one of them began goes on at
// the other, and counts once.
func TestTwoServers(t *testing.T) {
	a := newWorld(t)
	once, key := authserver.NewOnce(a.Now), make([]byte, 32)
	shared := func(o *authserver.Options) { o.Once, o.Key = once, key }
	a.start(shared)
	b := &world{t: a.t, clock: a.clock, store: a.store, client: a.client}
	b.start(shared)
	at := func(of *browser, w *world) *browser { return &browser{world: w, cookies: of.cookies, origin: public} }

	onA := a.browser()
	token := onA.opens(a.query(nil))
	code, _, err := a.server.Pair(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	got := at(onA, b).answers(token, "allow", url.Values{"code": {code}})
	given := got.back(t).Get("code")
	if given == "" {
		t.Fatalf("the answer at the other server: %d %s", got.StatusCode, got.body)
	}
	if again := onA.answers(token, "allow", nil); again.back(t).Get("code") != "" {
		t.Error("a page counts at both servers")
	}
	stranger := b.browser()
	if got := stranger.answers(stranger.opens(b.query(nil)), "allow", url.Values{"code": {code}}); got.back(t).Get("code") != "" {
		t.Error("a code for a person counts twice")
	}
	first, _ := a.trade(a.byCode(given))
	if !b.lets(first.Access, "/mcp") {
		t.Error("a token does not count at the other server")
	}
	next, _ := b.trade(b.byRefresh(first.Refresh))
	if !a.lets(next.Access, "/mcp") {
		t.Error("a token that was renewed at the other server does not count")
	}
	if used, _ := b.trade(b.byCode(given)); used.Access != "" {
		t.Error("a code counts twice")
	}
	a.advance(5 * time.Second)
	if a.lets(next.Access, "/mcp") || b.lets(next.Access, "/mcp") {
		t.Error("the connection of a code that was used twice counts")
	}

	last := b.connect()
	revoked := a.caller(last.Access).Revoked
	if authserver.Compare(t.Context(), a.server); isClosed(revoked) {
		t.Error("a connection that lives is revoked")
	}
	if _, err := b.server.Disconnect(t.Context(), b.caller(last.Access).CredentialID); err != nil {
		t.Fatal(err)
	}
	if authserver.Compare(t.Context(), a.server); !isClosed(revoked) || a.lets(last.Access, "/mcp") {
		t.Error("a connection that was ended at the other server goes on")
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
