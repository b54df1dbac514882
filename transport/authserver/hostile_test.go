package authserver_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport/authserver"
)

// TestNoOpenRedirect (rule 7): nobody is sent where the client did not say at first, whatever else
// is wrong. Attacks 30 to 52.
func TestNoOpenRedirect(t *testing.T) {
	w := newWorld(t)
	w.client = w.register(`{"redirect_uris":["` + redirect + `","http://127.0.0.1/back?x=1","http://localhost:7000/l","cursor://app/back"]}`)
	for _, good := range []string{redirect, "http://127.0.0.1/back?x=1", "http://127.0.0.1:4711/back?x=1", "http://localhost:1/l", "http://localhost/l", "cursor://app/back"} {
		if got := w.do("GET", w.query(url.Values{"redirect_uri": {good}}), ""); got.StatusCode != http.StatusOK {
			t.Errorf("the control, %s: %d %s", good, got.StatusCode, got.body)
		}
	}
	for n, bad := range []string{
		"", "https://evil.example/", redirect + "/", redirect + "x", redirect + "?x=1", redirect + "#x", redirect + "/../../x", "https://claude.ai:443/api/mcp/auth_callback",
		"https://CLAUDE.ai/api/mcp/auth_callback", "http://claude.ai/api/mcp/auth_callback", "https://claude.ai@evil.example/api/mcp/auth_callback",
		"https://claude.ai.evil.example/api/mcp/auth_callback", `https://evil.example\@claude.ai/api/mcp/auth_callback`, "//claude.ai/api/mcp/auth_callback", "https:/claude.ai/api/mcp/auth_callback",
		"http://127.0.0.1/back?x=2", "http://127.0.0.1.evil.example/back?x=1", "http://127.0.0.1:80@evil.example/back?x=1", "http://localhost/back?x=1", "https://127.0.0.1/back?x=1",
		"http://[::1]/back?x=1", "cursor://app/back/x", "javascript:alert(1)//" + redirect,
	} {
		for _, also := range []url.Values{nil, {"response_type": {"token"}}} {
			v := url.Values{"redirect_uri": {bad}}
			for name, all := range also {
				v[name] = all
			}
			got := w.do("GET", w.query(v), "")
			if got.StatusCode != http.StatusBadRequest || got.Header.Get("Location") != "" || !strings.Contains(got.body, "invalid_redirect_uri") {
				t.Errorf("%d %q: %d %s, to %s", 30+n, bad, got.StatusCode, got.body, got.Header.Get("Location"))
			}
		}
	}
	evil := url.QueryEscape("https://evil.example/")
	for _, polluted := range []string{"&redirect_uri=" + evil, "&redirect%5Furi=" + evil, ";redirect_uri=" + evil, "&client%5fid=" + w.client, "&client_id=", "&x=%zz"} {
		if got := w.do("GET", w.query(nil)+polluted, ""); got.StatusCode != http.StatusBadRequest || got.Header.Get("Location") != "" {
			t.Errorf("with %s: %d, to %s", polluted, got.StatusCode, got.Header.Get("Location"))
		}
	}
	if got := w.do("GET", w.query(url.Values{"client_id": {"nobody"}}), ""); got.StatusCode != http.StatusBadRequest || got.Header.Get("Location") != "" || !strings.Contains(got.body, "invalid_client") {
		t.Errorf("a client that is not there: %d, to %s", got.StatusCode, got.Header.Get("Location"))
	}
}

// TestRedirectsThatNobodyHas (reach 4, 14.8): addresses that run scripts, show files, or start
// another program are nobody's. Attacks 53 and 54, each of many forms.
func TestRedirectsThatNobodyHas(t *testing.T) {
	w := newWorld(t)
	try := func(address string) reply {
		w.advance(10 * time.Minute)
		return w.do("POST", "/oauth/register", fmt.Sprintf(`{"redirect_uris":[%q,%q]}`, redirect, address), asJSON)
	}
	for _, bad := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", "java\nscript:alert(1)", " javascript:alert(1)", "javascript:/x", "javascript://x/%0aalert(1)", "data:text/html,x", "data:/x", "file:///etc/passwd",
		"blob:https://x/1", "blob:/x", "vbscript:/x", "about:blank", "view-source:https://x/", "filesystem:https://x/", "chrome://settings", "intent://x#Intent;end", "ms-msdt:/id", "search-ms:/x",
		"mailto:/a", "ws://x/", "ftp://x/", "http://evil.example/", "http://localhost.evil.example/", "http://127.0.0.1.nip.io/", "http://127.1/", "http://2130706433/", "http://0.0.0.0/", "http://[::]/",
		"http://localhost@evil.example/", "http://localhost:x/", "https://", "https:///x", "https://a b/", "https://x/\"><script>", "https://x/#f", "https://u:p@x/", "https://x\\y/", "https://\u0430pple.com/",
		"https://x/\u202e", "https://x;default-src/", "https://x,y/", "https://claude.ai./", "https://a..b/", "https://./", "http://localhost./", "custom:opaque", "custom", "/relative", "", "https://x/" + strings.Repeat("a", 2100),
	} {
		if got := try(bad); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, `"error":"invalid_redirect_uri"`) {
			t.Errorf("%q: %d %s", bad, got.StatusCode, got.body)
		}
	}
	for _, good := range []string{"https://claude.com/api/mcp/auth_callback", "https://chatgpt.com/connector/oauth/abc-1_2", "http://127.0.0.1:33418", "http://127.0.0.1:33418/", "http://[::1]:1/x", "http://localhost/cb?x=%20",
		"cursor://anysphere.cursor-retrieval/oauth/user-x/callback", "com.example.app:/oauth", "vscode://vscode.microsoft-authentication"} {
		if got := try(good); got.StatusCode != http.StatusCreated {
			t.Errorf("%q: %d %s", good, got.StatusCode, got.body)
		}
	}
}

// TestRequestsThatAreRefused: what is wrong with a request is told to the client, with who says so
// (RFC 9207) and its state. Attacks 55 to 72.
func TestRequestsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	if got := w.do("GET", w.query(url.Values{"scope": {"openid call"}, "prompt": {"login consent"}, "nonce": {"n"}}), ""); got.StatusCode != http.StatusOK {
		t.Errorf("the control: %d %s", got.StatusCode, got.body)
	}
	for name, x := range map[string]struct {
		change url.Values
		want   string
	}{
		"55 no PKCE":                    {url.Values{"code_challenge": nil, "code_challenge_method": nil}, "invalid_request"},
		"56 plain PKCE":                 {url.Values{"code_challenge_method": {"plain"}}, "invalid_request"},
		"57 PKCE without a method":      {url.Values{"code_challenge_method": nil}, "invalid_request"},
		"58 a challenge that is short":  {url.Values{"code_challenge": {"abc"}}, "invalid_request"},
		"59 a token in the URL":         {url.Values{"response_type": {"token"}}, "unsupported_response_type"},
		"60 a code and a token":         {url.Values{"response_type": {"code token"}}, "unsupported_response_type"},
		"61 an answer in a fragment":    {url.Values{"response_mode": {"fragment"}}, "invalid_request"},
		"62 an answer in a form":        {url.Values{"response_mode": {"form_post"}}, "invalid_request"},
		"63 another server's resource":  {url.Values{"resource": {"https://other.example/mcp"}}, "invalid_target"},
		"64 a resource that begins so":  {url.Values{"resource": {public + ".evil.example/mcp"}}, "invalid_target"},
		"65 two resources":              {url.Values{"resource": {public, public + "/mcp"}}, "invalid_target"},
		"66 a resource with a query":    {url.Values{"resource": {public + "/mcp?x"}}, "invalid_target"},
		"67 another path of ours":       {url.Values{"resource": {public + "/metrics"}}, "invalid_target"},
		"68 without asking":             {url.Values{"prompt": {"none"}}, "interaction_required"},
		"69 a request in a JWT":         {url.Values{"request": {"a.b.c"}}, "request_not_supported"},
		"70 a request at an address":    {url.Values{"request_uri": {"https://evil.example/r"}}, "request_uri_not_supported"},
		"71 another scope":              {url.Values{"scope": {"admin"}}, "invalid_scope"},
		"72 a challenge that is twice":  {url.Values{"code_challenge": {strings.Repeat("a", 43), strings.Repeat("b", 43)}}, "invalid_request"},
		"a resource with a fragment":    {url.Values{"resource": {public + "/mcp#x"}}, "invalid_target"},
		"a resource with a user":        {url.Values{"resource": {"https://u@tools.example/mcp"}}, "invalid_target"},
		"a resource with an escape":     {url.Values{"resource": {public + "/mcp/a%2fb"}}, "invalid_target"},
		"a resource with http":          {url.Values{"resource": {"http://tools.example/mcp"}}, "invalid_target"},
		"a state that is there twice":   {url.Values{"state": {"a", "b"}}, "invalid_request"},
		"a state that is too long":      {url.Values{"state": {strings.Repeat("x", 5000)}}, "invalid_request"},
		"a response_type that is twice": {url.Values{"response_type": {"code", "token"}}, "invalid_request"},
	} {
		got := w.do("GET", w.query(x.change), "")
		to := got.back(t)
		state := to.Get("state") == "st&te" || x.change["state"] != nil && !to.Has("state")
		if got.StatusCode != http.StatusFound || !strings.HasPrefix(got.Header.Get("Location"), redirect+"?") || to.Get("error") != x.want || to.Get("iss") != public || !state || to.Has("code") {
			t.Errorf("%s: %d %s, to %s", name, got.StatusCode, got.body, got.Header.Get("Location"))
		}
	}
}

// TestErrorsStartNoApp (rule 7; RFC 9700, 4.11.2): anybody can register a client and send a link with a mistake in it. No app of the
// device is started by that: only a person's click does so.
func TestErrorsStartNoApp(t *testing.T) {
	w := newWorld(t)
	const app = "steam:/run/1?x=y"
	w.client = w.register(`{"redirect_uris":["` + app + `"]}`)
	for name, change := range map[string]url.Values{"136 another response": {"response_type": {"token"}}, "without asking": {"prompt": {"none"}}, "two states": {"state": {"a", "b"}}} {
		change["redirect_uri"] = []string{app}
		if got := w.do("GET", w.query(change), ""); got.StatusCode != http.StatusBadRequest || got.Header.Get("Location") != "" || !strings.Contains(got.body, "This cannot go on") {
			t.Errorf("%s: %d %s, to %s", name, got.StatusCode, got.body, got.Header.Get("Location"))
		}
	}
	for does, want := range map[string]string{"allow": "&code=ptc_", "deny": "&error=access_denied"} {
		b := w.browser()
		code, _, _ := w.server.Pair(t.Context(), "me")
		got := b.answers(b.opens(w.query(url.Values{"redirect_uri": {app}})), does, url.Values{"code": {code}})
		if to := got.Header.Get("Location"); !strings.HasPrefix(to, app+want) {
			t.Errorf("the control, %s: %d %s, to %s", does, got.StatusCode, got.body, to)
		}
	}
}

// TestStolenCodes (reach 4): a code is good for its client, once, for a minute, with the verifier
// that only the client has; a second use ends what came of the first. Attacks 73 to 83.
func TestStolenCodes(t *testing.T) {
	w := newWorld(t)
	other := w.register(`{"redirect_uris":["` + redirect + `"]}`)
	challenge := func() string {
		u, _ := url.Parse(w.query(nil))
		return u.Query().Get("code_challenge")
	}()
	for name, change := range map[string]url.Values{
		"73 another verifier": {"code_verifier": {verifier + "x"}}, "74 the challenge as verifier": {"code_verifier": {challenge}}, "75 no verifier": {"code_verifier": nil},
		"76 another client": {"client_id": {other}}, "78 another redirect": {"redirect_uri": {"https://claude.ai/other"}},
		"79 a wider resource": {"resource": {public}}, "80 another code": {"code": {"ptc_" + strings.Repeat("A", 43)}},
		"a verifier with a line end": {"code_verifier": {verifier + "\n"}}, "an access token as a code": {"code": {w.connect().Access}},
		"the resource twice": {"resource": {public + "/mcp", public + "/mcp"}}, "no redirect": {"redirect_uri": {""}},
	} {
		v := w.byCode(w.browser().code(w.query(nil)))
		for key, all := range change {
			if v[key] = all; all == nil {
				delete(v, key)
			}
		}
		if tk, got := w.trade(v); got.StatusCode != http.StatusBadRequest || tk.Access != "" || tk.Error != "invalid_grant" && tk.Error != "invalid_target" {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	v := w.byCode(w.browser().code(w.query(nil)))
	v.Del("client_id")
	if tk, got := w.trade(v); got.StatusCode != http.StatusBadRequest || tk.Access != "" || tk.Error != "invalid_client" {
		t.Errorf("77 no client: %d %s", got.StatusCode, got.body)
	}
	basic := w.do("POST", "/oauth/token", v.Encode(), asForm, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(w.client+":")))
	if basic.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(basic.Header.Get("WWW-Authenticate"), "Basic ") || !strings.Contains(basic.body, `"invalid_client"`) {
		t.Errorf("77 a client in the header: %d %s", basic.StatusCode, basic.body)
	}
	v.Set("client_id", w.client)
	if tk, got := w.trade(v); tk.Access == "" {
		t.Errorf("77 after that, with its client: %d %s", got.StatusCode, got.body)
	}
	late := w.byCode(w.browser().code(w.query(nil)))
	w.advance(time.Minute)
	if tk, _ := w.trade(late); tk.Error != "invalid_grant" {
		t.Errorf("81 after a minute: %+v", tk)
	}
	for _, later := range []time.Duration{0, 30 * time.Minute} {
		v := w.byCode(w.browser().code(w.query(nil)))
		tk, _ := w.trade(v)
		if !w.lets(tk.Access, "/mcp") {
			t.Fatal("the control: the token does not count")
		}
		w.advance(later)
		again, _ := w.trade(v)
		renewed, _ := w.trade(w.byRefresh(tk.Refresh))
		if again.Error != "invalid_grant" || w.lets(tk.Access, "/mcp") || renewed.Error != "invalid_grant" {
			t.Errorf("82 twice, %v later: %+v, then %+v", later, again, renewed)
		}
	}
	v = w.byCode(w.browser().code(w.query(nil)))
	var all sync.WaitGroup
	got := make([]tokens, 8)
	for i := range got {
		all.Go(func() { got[i], _ = w.trade(v) })
	}
	all.Wait()
	for _, tk := range got {
		if tk.Access != "" && w.lets(tk.Access, "/mcp") {
			t.Error("83 a code that was used 8 times at once is good for a token")
		}
	}
}

// TestStolenRefreshTokens (reach 4): a refresh token is good for its client, once. One that comes
// once more ends the connection. Attacks 84 to 92.
func TestStolenRefreshTokens(t *testing.T) {
	w := newWorld(t)
	first := w.connect()
	for name, change := range map[string]url.Values{
		"84 another client": {"client_id": {"other"}}, "85 an access token": {"refresh_token": {first.Access}}, "86 a wider resource": {"resource": {public}}, "87 another scope": {"scope": {"admin"}},
		"88 a bit changed": {"refresh_token": {first.Refresh[:20] + "!" + first.Refresh[21:]}}, "no token": {"refresh_token": {""}}, "another grant": {"grant_type": {"password"}},
	} {
		v := w.byRefresh(first.Refresh)
		for key, all := range change {
			v[key] = all
		}
		if tk, got := w.trade(v); got.StatusCode != http.StatusBadRequest || tk.Access != "" {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if w.lets(first.Refresh, "/mcp") {
		t.Error("89 a refresh token lets its holder in")
	}
	next, _ := w.trade(w.byRefresh(first.Refresh))
	if !w.lets(next.Access, "/mcp") {
		t.Fatal("the control: what was renewed does not count")
	}
	c := w.caller(next.Access)
	if again, _ := w.trade(w.byRefresh(first.Refresh)); again.Error != "invalid_grant" || w.lets(next.Access, "/mcp") || w.lets(first.Access, "/mcp") || !c.IsRevoked() {
		t.Errorf("90 an old one: %+v, the caller is revoked %v", again, c.IsRevoked())
	}
	if tk, _ := w.trade(w.byRefresh(next.Refresh)); tk.Error != "invalid_grant" {
		t.Errorf("the newest one, after that: %+v", tk)
	}
	last := w.connect()
	var all sync.WaitGroup
	got := make([]tokens, 8)
	for i := range got {
		all.Go(func() { got[i], _ = w.trade(w.byRefresh(last.Refresh)) })
	}
	all.Wait()
	for _, tk := range got {
		if tk.Access != "" && w.lets(tk.Access, "/mcp") {
			t.Error("91 a token that was used 8 times at once is good for another")
		}
	}
	last = w.connect()
	w.advance(30 * 24 * time.Hour)
	if tk, _ := w.trade(w.byRefresh(last.Refresh)); tk.Error != "invalid_grant" {
		t.Errorf("92 after 30 days: %+v", tk)
	}
}

// TestRegistrationIsBounded (rule 7): strangers register little, and seldom. Attacks 93 to 98.
func TestRegistrationIsBounded(t *testing.T) {
	w := newWorld(t)
	const good = `{"redirect_uris":["https://x.example/"],"token_endpoint_auth_method":"client_secret_post","scope":"anything","logo_uri":"https://x.example/l"}`
	for name, body := range map[string]string{
		"93 no JSON": `x`, "a list": `[]`, "no addresses": `{}`, "no list of addresses": `{"redirect_uris":"https://x/"}`, "94 eleven addresses": `{"redirect_uris":["https://x/"` + strings.Repeat(`,"https://x/"`, 10) + `]}`,
		"95 a long name": `{"redirect_uris":["https://x/"],"client_name":"` + strings.Repeat("x", 201) + `"}`, "a grant without people": `{"redirect_uris":["https://x/"],"grant_types":["client_credentials"]}`,
	} {
		if got := w.do("POST", "/oauth/register", body, asJSON); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, `"error":"invalid_`) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if got := w.do("POST", "/oauth/register", `{"x":"`+strings.Repeat("x", 17<<10)+`"}`, asJSON); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("96 17 KiB: %d", got.StatusCode)
	}
	for i := range 19 { // one is registered
		if got := w.do("POST", "/oauth/register", good, asJSON); got.StatusCode != http.StatusCreated || !strings.Contains(got.body, `"token_endpoint_auth_method":"none"`) || strings.Contains(got.body, "secret") {
			t.Fatalf("client %d: %d %s", i, got.StatusCode, got.body)
		}
	}
	got := w.do("POST", "/oauth/register", good, asJSON)
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("97 the 21st: %d %v", got.StatusCode, got.Header)
	}
	if got := w.do("POST", "/oauth/register", good, asJSON, "X-Forwarded-For: 203.0.113.1, 127.0.0.1"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("98 the 21st, which names another address before that of the proxy: %d", got.StatusCode)
	}
	if got := w.do("POST", "/oauth/register", good, asJSON, "X-Forwarded-For: 203.0.113.1"); got.StatusCode != http.StatusCreated {
		t.Errorf("from another address: %d", got.StatusCode)
	}
	w.advance(time.Hour)
	if got := w.do("POST", "/oauth/register", good, asJSON); got.StatusCode != http.StatusCreated {
		t.Errorf("an hour later: %d", got.StatusCode)
	}
}

// TestMemoryIsBounded (rule 7): what strangers and people begin without end does not grow. Attacks
// 99 and 100.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.code(w.query(nil))
	before := authserver.Sizes(w.server)
	for i := range 100 { // requests are not kept
		w.do("GET", w.query(url.Values{"state": {fmt.Sprint(i)}}), "")
	}
	stranger := w.browser()
	for range 20 { // nor is a stranger's no
		stranger.answers(stranger.opens(w.query(nil)), "deny", nil)
	}
	if after := authserver.Sizes(w.server); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("99 requests that nobody answers: %v, before %v", after, before)
	}
	authserver.Flood(w.server, 5000)
	for range 100 {
		_, _, _ = w.server.Pair(w.t.Context(), "me")
	}
	if got := w.do("POST", "/oauth/register", `{"redirect_uris":["https://x.example/"]}`, asJSON, "X-Forwarded-For: 198.51.100.1"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("an address that there is no room for: %d", got.StatusCode)
	}
	w.advance(time.Hour)
	if got := w.do("POST", "/oauth/register", `{"redirect_uris":["https://x.example/"]}`, asJSON, "X-Forwarded-For: 198.51.100.1"); got.StatusCode != http.StatusCreated {
		t.Errorf("the same, an hour later: %d", got.StatusCode)
	}
	for _, n := range authserver.Sizes(w.server) {
		if n > 1001 {
			t.Errorf("100 there are %v", authserver.Sizes(w.server))
		}
	}
}

// asked counts what the memory of logins is asked.
type asked struct {
	bridge.Browsers

	persons, forgotten atomic.Int32
}

func (a *asked) Person(ctx context.Context, d bridge.Digest) (string, error) {
	a.persons.Add(1)
	return a.Browsers.Person(ctx, d)
}

func (a *asked) Forget(ctx context.Context, d bridge.Digest) error {
	a.forgotten.Add(1)
	return a.Browsers.Forget(ctx, d)
}

// TestCookiesWithoutEnd (rule 7): a head of 16 KiB with made-up logins makes few requests to the memory,
// and one of them beside the right one, as who owns another host may plant it, logs nobody out.
func TestCookiesWithoutEnd(t *testing.T) {
	count := &asked{}
	w := newWorld(t, func(o *authserver.Options) { count.Browsers, o.Browsers = o.Browsers, count })
	b := w.browser()
	token := b.opens(w.query(nil))
	cookie := "Cookie: " + strings.Repeat("__Host-pagetools=x; ", 700)
	if got := w.do("GET", w.query(nil), "", cookie); got.StatusCode != http.StatusOK || count.persons.Load() > 10 {
		t.Errorf("%d, and the memory is asked %d times", got.StatusCode, count.persons.Load())
	}
	for name, value := range b.cookies {
		cookie = "Cookie: " + name + "=" + value + "; " + strings.TrimPrefix(cookie, "Cookie: ")
	}
	form := url.Values{"token": {token}, "do": {"other"}}.Encode()
	if got := w.do("POST", "/oauth/consent", form, asForm, "Origin: "+public, cookie); got.StatusCode != http.StatusOK || count.forgotten.Load() == 0 || count.forgotten.Load() > 10 {
		t.Errorf("%d, and %d logins are forgotten", got.StatusCode, count.forgotten.Load())
	}
	b.code(w.query(nil))
	got := w.do("GET", w.query(nil), "", "Cookie: __Host-pagetools=x; __Host-pagetools="+b.cookies["__Host-pagetools"])
	if !strings.Contains(got.body, "You are logged in here") {
		t.Error("with another cookie of its name, the right one does not count")
	}
}

// TestHostilePage (reach 4): whatever a client calls itself, the page stays ours: no markup, no
// script, no frame, nothing invisible. Attacks 101 to 105.
func TestHostilePage(t *testing.T) {
	w := newWorld(t)
	w.client = w.register(`{"client_name":"</title><script>alert(1)</script><b>Claude</b> \u202eeslaf\u202c \u0007\u001b[31m\u200b\"' ","redirect_uris":["` + redirect + `"]}`)
	page := w.do("GET", w.query(url.Values{"state": {`"><script>alert(2)</script>`}}), "")
	for _, bad := range []string{"<script", "<b>", "\u202e", "\u202c", "\u0007", "\u001b", "\u200b", "onerror", "javascript:"} {
		if strings.Contains(page.body, bad) {
			t.Errorf("the page has %q: %s", bad, page.body)
		}
	}
	h := page.Header
	policy := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self' https:"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy is %s, without %s", policy, want)
		}
	}
	if strings.Contains(policy, "script-src") || strings.Contains(policy, "unsafe") || h.Get("X-Frame-Options") != "DENY" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the headers are %v", h)
	}
	for _, want := range []string{"Nobody has verified this name.", "<strong>claude.ai</strong>", "all sites of this server", "\u201c&lt;/title&gt;&lt;script&gt;"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page does not say %q: %s", want, page.body)
		}
	}
	for _, c := range page.Cookies() {
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Name, "__Host-pagetools-request-") {
			t.Errorf("the cookie is %+v", c)
		}
	}
	if len(page.Cookies()) != 1 || strings.Contains(page.body, page.Cookies()[0].Value) {
		t.Error("the page has its cookie in it, or none")
	}
	if got := w.do("GET", w.query(nil), "", "Origin: https://evil.example"); got.StatusCode != http.StatusForbidden || got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page of another origin reads it: %d %v", got.StatusCode, got.Header)
	}
	if got := w.do("OPTIONS", "/oauth/token", "", "Origin: https://inspector.example", "Access-Control-Request-Method: POST"); got.StatusCode != http.StatusNoContent || got.Header.Get("Access-Control-Allow-Origin") != "*" ||
		got.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("pages of clients cannot ask for tokens: %d %v", got.StatusCode, got.Header)
	}
}

// TestSecretsAreNotKept (rule 1): nothing in the data folder is a token, a code, or a cookie, or
// could be made one.
func TestSecretsAreNotKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w := newWorld(t)
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	w.store.Clients, w.store.Connections, w.store.Browsers = s.Clients, s.Connections, s.Browsers
	w.start()
	w.client = w.register(`{"client_name":"Findable","redirect_uris":["` + redirect + `"]}`)
	b := w.browser()
	code := b.code(w.query(nil))
	first, _ := w.trade(w.byCode(code))
	next, _ := w.trade(w.byRefresh(first.Refresh))
	if !w.lets(next.Access, "/mcp") {
		t.Fatal("it does not count")
	}
	var all strings.Builder
	read := func() {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				var text []byte
				text, err = os.ReadFile(path)
				all.Write(text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	read()
	for _, secret := range []string{code, first.Access, first.Refresh, next.Access, next.Refresh, b.cookies["__Host-pagetools"]} {
		if len(secret) < 40 || strings.Contains(all.String(), secret[4:36]) {
			t.Errorf("the data folder has %q", secret)
		}
	}
	if !strings.Contains(all.String(), "Findable") {
		t.Error("the control: the client is not there")
	}
}
