package recipes_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestTokens: a code becomes tokens, which read and write the person's cookbook.
func TestTokens(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	_, got := c.tokens("")
	if got.field("token_type") != "Bearer" || got.field("scope") != "recipes:read recipes:write" || got.json["expires_in"] != 600.0 ||
		got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the tokens are %v, %s", got.Header, got.body)
	}
	want(t, c.post("/api/recipes", recipe("Toast"), bearer(got)...), http.StatusOK, "")
	if found := c.get("/page/recipes?query=toast"); found.json["total"] != 1.0 { // c is signed in as the same person
		t.Errorf("the page has %s", found.body)
	}
}

func TestCodeIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, code string }{
		{"code", "another", "invalid_grant"},
		{"code_verifier", "another-verifier-that-is-long-enough-for-rfc-7636", "invalid_grant"},
		{"code_verifier", "", "invalid_grant"},
		{"code_verifier", "short", "invalid_grant"},
		{"redirect_uri", "http://127.0.0.1:4445/callback", "invalid_grant"}, // registered, but another than that of the code
		{"redirect_uri", "", "invalid_grant"},
		{"resource", "https://evil.example/", "invalid_target"},
		{"grant_type", "password", "unsupported_grant_type"},
		{"client_id", "nobody", "invalid_client"},
	} {
		c := newCaller(t).signIn()
		id := c.register()
		code := c.decide(request(id), "allow").Query().Get("code")
		if got := c.redeem(id, code, test.name, test.value); got.field("error") != test.code {
			t.Errorf("%s %q: want %s, got %s", test.name, test.value, test.code, got.body)
		}
	}
	c := newCaller(t).signIn()
	id, other := c.register(), c.register()
	code := c.decide(request(id), "allow").Query().Get("code")
	want(t, c.redeem(other, code), http.StatusBadRequest, "invalid_grant")
	want(t, c.redeem(id, code), http.StatusOK, "") // another client's attempt does not use it up
	short := sha256.Sum256([]byte("short"))
	code = c.decide(request(id, "code_challenge", base64.RawURLEncoding.EncodeToString(short[:])), "allow").Query().Get("code")
	want(t, c.redeem(id, code, "code_verifier", "short"), http.StatusBadRequest, "invalid_grant") // it fits, and can be guessed
}

// TestWrongVerifierEndsTheCode: a thief who guesses has one attempt.
func TestWrongVerifierEndsTheCode(t *testing.T) {
	t.Parallel()
	c := newCaller(t).signIn()
	id := c.register()
	code := c.decide(request(id), "allow").Query().Get("code")
	want(t, c.redeem(id, code, "code_verifier", "a-guess-that-is-long-enough-for-rfc-7636-section-4"), http.StatusBadRequest, "invalid_grant")
	want(t, c.redeem(id, code), http.StatusBadRequest, "invalid_grant")
}

// TestReplayedCode ends what the code was exchanged for.
func TestReplayedCode(t *testing.T) {
	t.Parallel()
	c := newCaller(t).signIn()
	id := c.register()
	code := c.decide(request(id), "allow").Query().Get("code")
	first := c.redeem(id, code)
	if status := c.use(first); status != http.StatusOK {
		t.Fatalf("the token gives %d", status)
	}
	want(t, c.redeem(id, code), http.StatusBadRequest, "invalid_grant")
	if status := c.use(first); status != http.StatusUnauthorized {
		t.Errorf("after the replay the token gives %d", status)
	}
	want(t, c.refresh(id, first), http.StatusBadRequest, "invalid_grant")
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t).signIn()
		id := c.register()
		late := c.decide(request(id), "allow").Query().Get("code")
		pass(time.Minute)
		want(t, c.redeem(id, late), http.StatusBadRequest, "invalid_grant")

		got := c.redeem(id, c.decide(request(id), "allow").Query().Get("code"))
		pass(9 * time.Minute)
		if status := c.use(got); status != http.StatusOK {
			t.Errorf("after nine minutes the token gives %d", status)
		}
		pass(2 * time.Minute)
		if status := c.use(got); status != http.StatusUnauthorized {
			t.Errorf("after eleven minutes the token gives %d", status)
		}
		next := c.refresh(id, got)
		want(t, next, http.StatusOK, "")
		pass(31 * 24 * time.Hour)
		want(t, c.refresh(id, next), http.StatusBadRequest, "invalid_grant")
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id, first := c.tokens("")
	second := c.refresh(id, first)
	want(t, second, http.StatusOK, "")
	if c.use(first) != http.StatusUnauthorized || c.use(second) != http.StatusOK {
		t.Error("the old access token is the valid one")
	}
	want(t, c.refresh(c.register(), second), http.StatusBadRequest, "invalid_grant")
	want(t, c.refresh(id, second, "resource", "https://evil.example"), http.StatusBadRequest, "invalid_target")
	want(t, c.refresh(id, second, "scope", "everything"), http.StatusBadRequest, "invalid_scope")
	narrow := c.refresh(id, second, "scope", "recipes:read", "resource", issuer+"/")
	want(t, narrow, http.StatusOK, "")
	want(t, c.post("/api/recipes", recipe("Toast"), bearer(narrow)...), http.StatusForbidden, "insufficient_scope")
	wide := c.refresh(id, narrow) // the grant is as wide as before
	want(t, c.post("/api/recipes", recipe("Toast"), bearer(wide)...), http.StatusOK, "")
}

// TestReusedRefreshToken ends the family, whoever came first.
func TestReusedRefreshToken(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id, first := c.tokens("")
	second := c.refresh(id, first)
	third := c.refresh(id, second)
	want(t, third, http.StatusOK, "")
	want(t, c.refresh(id, first), http.StatusBadRequest, "invalid_grant")
	if status := c.use(third); status != http.StatusUnauthorized {
		t.Errorf("after the reuse the newest token gives %d", status)
	}
	want(t, c.refresh(id, third), http.StatusBadRequest, "invalid_grant")
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, kind := range []string{"access_token", "refresh_token"} {
		id, got := c.tokens("")
		want(t, c.form("/oauth/revoke", "client_id", c.register(), "token", got.field(kind)), http.StatusBadRequest, "invalid_grant")
		if status := c.use(got); status != http.StatusOK {
			t.Errorf("another client revoked the %s: %d", kind, status)
		}
		want(t, c.form("/oauth/revoke", "client_id", id, "token", got.field(kind)), http.StatusOK, "")
		if status := c.use(got); status != http.StatusUnauthorized {
			t.Errorf("after the revocation of the %s the token gives %d", kind, status)
		}
		want(t, c.refresh(id, got), http.StatusBadRequest, "invalid_grant")
		want(t, c.form("/oauth/revoke", "client_id", id, "token", got.field(kind)), http.StatusOK, "") // it is revoked already
	}
	want(t, c.form("/oauth/revoke", "client_id", "nobody", "token", "x"), http.StatusUnauthorized, "invalid_client")
}

func TestTokenRequests(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	want(t, c.post("/oauth/token", `{"grant_type":"authorization_code"}`), http.StatusBadRequest, "invalid_request")
	want(t, c.form("/oauth/token", "client_id", "a", "client_id", "b"), http.StatusBadRequest, "invalid_request")
	want(t, c.get("/oauth/token"), http.StatusMethodNotAllowed, "")
}
