package oauth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/oauth"
)

// written signs claims as they are written, with further headers.
func (i *issuer) written(claims string, headers map[jose.HeaderKey]any) string {
	i.t.Helper()
	o := &jose.SignerOptions{ExtraHeaders: headers}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: i.keys["rsa"], KeyID: "rsa"}}, o)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := s.Sign([]byte(claims))
	if err != nil {
		i.t.Fatal(err)
	}
	compact, _ := signed.CompactSerialize()
	return compact
}

// usual are claims that count, as text, with more of them.
func (i *issuer) usual(more string) string {
	return fmt.Sprintf(`{"iss":%q,"sub":"ann","aud":%q,"scope":"pagetools.call","email":"ann@acme.example","email_verified":true,"exp":%d%s}`,
		i.URL, public, time.Now().Add(time.Hour).Unix(), more)
}

// TestHostileTokens (rule 2): what a token says of its own keys does not count, what two programs
// could read in two ways is refused, and neither size nor depth costs anything.
func TestHostileTokens(t *testing.T) {
	i := newIssuer(t)
	s := server(t, oauth.New(i.options()))
	bearer := func(token string) reply { return get(t, s, "/mcp", "Authorization: Bearer "+token) }
	own := must(rsa.GenerateKey(rand.Reader, 2048))
	embedded := func() string {
		o := &jose.SignerOptions{EmbedJWK: true}
		signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: own}, o))
		return must(must(signer.Sign([]byte(i.usual("")))).CompactSerialize())
	}
	asked := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("an address in a token was asked") })
	trap := httptest.NewServer(asked)
	defer trap.Close()
	parts := strings.Split(i.written(i.usual(""), nil), ".")
	rehead := func(head string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + parts[1] + "." + parts[2]
	}
	deep := func(n int) string { return `,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, token := range map[string]string{
		"plain": i.written(i.usual(""), nil), "typ JWT": i.written(i.usual(""), map[jose.HeaderKey]any{"typ": "JWT"}),
		"typ of access tokens": i.written(i.usual(`,"nonce":"n"`), map[jose.HeaderKey]any{"typ": "application/at+JWT"}),
		"a use of access":      i.written(i.usual(`,"token_use":"access_token","token_type":"Bearer"`), nil),
		"many claims":          i.written(i.usual(`,"x":"`+strings.Repeat("x", 4<<10)+`"`), nil), "deep claims": i.written(i.usual(deep(2000)), nil),
		"jku and x5u beside a good signature": i.written(i.usual(""), map[jose.HeaderKey]any{"jku": trap.URL, "x5u": trap.URL}),
	} {
		bearer(token).want(t, name, 200, "acme:ann", "")
	}
	for name, token := range map[string]string{
		"a key in the token":       embedded(),
		"an address of keys":       i.foreign(own, map[jose.HeaderKey]any{"jku": trap.URL, "x5u": trap.URL, "kid": "rsa"}),
		"a kid of 5 KiB":           i.foreign(own, map[jose.HeaderKey]any{"kid": strings.Repeat("k", 5<<10)}),
		"a kid that is a path":     i.foreign(own, map[jose.HeaderKey]any{"kid": "../../../../dev/null"}),
		"critical headers":         i.written(i.usual(""), map[jose.HeaderKey]any{"crit": []string{"exp"}, "exp": 1}),
		"critical b64":             i.written(i.usual(""), map[jose.HeaderKey]any{"crit": []string{"b64"}, "b64": true}),
		"a token of a logout":      i.written(i.usual(""), map[jose.HeaderKey]any{"typ": "logout+jwt"}),
		"no critical headers":      i.written(i.usual(""), map[jose.HeaderKey]any{"crit": []string{}}),
		"a type with a parameter":  i.written(i.usual(""), map[jose.HeaderKey]any{"typ": "at+jwt; x"}),
		"two algorithms":           rehead(`{"alg":"none","alg":"RS256","kid":"rsa"}`),
		"an algorithm in capitals": rehead(`{"ALG":"RS256","kid":"rsa"}`),
		"a list of algorithms":     rehead(`{"alg":["RS256"],"kid":"rsa"}`),
		"a kid that is a number":   rehead(`{"alg":"RS256","kid":7}`),
		"a compressed token":       rehead(`{"alg":"RS256","kid":"rsa","zip":"DEF"}`),
		"a detached payload":       parts[0] + ".." + parts[2],
		"padding":                  parts[0] + "=." + parts[1] + "." + parts[2],
		"JSON with two dots":       fmt.Sprintf(`{"x":"..","payload":%q,"protected":%q,"signature":%q}`, parts[1], parts[0], parts[2]),
		"a type that is no text":   i.written(i.usual(""), map[jose.HeaderKey]any{"typ": []string{"JWT"}}),
		"two audiences":            i.written(i.usual(`,"aud":"https://other.example"`), nil),
		"two subjects":             i.written(i.usual(`,"sub":"bob"`), nil),
		"two expiries":             i.written(i.usual(`,"exp":1`), nil),
		"two members below":        i.written(i.usual(`,"x":{"a":1,"a":2}`), nil),
		"an ID token of Keycloak":  i.written(i.usual(`,"typ":"ID"`), nil),
		"a refresh token":          i.written(i.usual(`,"typ":"Refresh"`), nil),
		"an ID token of Cognito":   i.written(i.usual(`,"token_use":"id"`), nil),
		"a refresh token of Hydra": i.written(i.usual(`,"token_use":"refresh_token"`), nil),
		"a use of another type":    i.written(i.usual(`,"token_use":["access"]`), nil),
		"a refresh token of JWTs":  i.written(i.usual(`,"token_type":"refresh"`), nil),
		"half a surrogate as name": i.written(strings.Replace(i.usual(""), `"ann"`, `"a\ud800"`, 1), nil),
		"a name that is no UTF-8":  i.written(strings.Replace(i.usual(""), `"ann"`, "\"a\xff\"", 1), nil),
		"an event":                 i.written(i.usual(`,"events":{}`), nil),
		"claims that are a list":   i.written(`[`+i.usual("")+`]`, nil),
		"claims that are null":     i.written(`null`, nil),
		"claims that are text":     i.written(`hello`, nil),
		"something behind":         i.written(i.usual("")+`{}`, nil),
		"an issuer that is a list": i.written(fmt.Sprintf(`{"iss":[%q]}`, i.URL), nil),
		"an expiry that is text":   i.written(fmt.Sprintf(`{"iss":%q,"sub":"ann","aud":%q,"exp":"9999999999"}`, i.URL, public), nil),
		"an expiry beyond time":    i.written(fmt.Sprintf(`{"iss":%q,"sub":"ann","aud":%q,"exp":1e300}`, i.URL, public), nil),
		"a subject that is a list": i.written(strings.Replace(i.usual(""), `"ann"`, `["ann"]`, 1), nil),
		"a subject that is true":   i.written(strings.Replace(i.usual(""), `"ann"`, `true`, 1), nil),
		"an audience in a mapping": i.written(strings.Replace(i.usual(""), `"`+public+`"`, `{"x":"`+public+`"}`, 1), nil),
		"JSON":                     `{"payload":"x.y.z"}`,
		"spaces":                   "a. .b",
		"8 KiB of dots":            strings.Repeat(".", 8<<10),
	} {
		bearer(token).want(t, name, 401, "", invalid)
	}
	if n := i.asked.Load(); n > 1 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// foreign signs claims that count with a key that is not the issuer's.
func (i *issuer) foreign(key any, headers map[jose.HeaderKey]any) string {
	i.t.Helper()
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, &jose.SignerOptions{ExtraHeaders: headers}))
	return must(must(signer.Sign([]byte(i.usual("")))).CompactSerialize())
}

// TestAlgorithmsThatAreNotListed (rule 2): a good signature of a good key is not enough.
func TestAlgorithmsThatAreNotListed(t *testing.T) {
	i := newIssuer(t)
	o := i.options()
	o.Issuers[0].Algorithms = []string{"RS256"}
	s := server(t, oauth.New(o))
	get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, nil)).want(t, "RS256", 200, "acme:ann", "")
	get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.PS256, nil)).want(t, "PS256", 401, "", invalid)
	get(t, s, "/mcp", "Authorization: Bearer "+i.token("ec", jose.ES256, nil)).want(t, "ES256", 401, "", invalid)
}

// TestEveryMethod (reach 3): the table of statuses holds for every method and path, in the form of
// the path's errors, and for tokens that a WebSocket offers.
func TestEveryMethod(t *testing.T) {
	i := newIssuer(t)
	s := server(t, oauth.New(i.options()))
	good := i.token("rsa", jose.RS256, nil)
	ask := func(method, path string, header ...string) reply {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(`{}`)))
		r.Header.Set("Content-Type", "application/json")
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Add(name, value)
		}
		res := must(http.DefaultClient.Do(r))
		defer func() { _ = res.Body.Close() }()
		return reply{res, string(must(io.ReadAll(res.Body)))}
	}
	for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "PUT"} {
		for path, at := range map[string]string{"/mcp": "/mcp", "/mcp/": "/mcp", "/mcp/shop": "/mcp/shop", "/webtools/shop/": "/webtools/shop",
			"/tools/shop/x": "", "/sites/shop/openapi.json": "", "/webtools": "", "/nothing": "", "/mcp/a/b": "", "/mcp/%22%0d%0ax": "", "/%6dcp": ""} {
			want := metadataOf + at + `"`
			ask(method, path).want(t, method+path, 401, "", want+`, scope="pagetools.call"`)
			got := ask(method, path, "Authorization: Bearer bad")
			got.want(t, method+path+" with a bad token", 401, "", want+`, error="invalid_token", scope="pagetools.call"`)
			code := `"code":"UNAUTHORIZED"`
			if rpc := strings.HasPrefix(path, "/mcp") || path == "/%6dcp"; method == "HEAD" {
				code = ""
			} else if strings.Contains(got.body, "jsonrpc") != rpc {
				t.Errorf("%s %s: %s", method, path, got.body)
			}
			if !strings.Contains(got.body, code) {
				t.Errorf("%s %s: %s", method, path, got.body)
			}
		}
	}
	ask("HEAD", "/mcp", "Authorization: Bearer "+good).want(t, "HEAD", 200, "", "")
	ask("POST", "/mcp", "Authorization: Bearer "+good).want(t, "a method that is not there", 405, "METHOD_NOT_ALLOWED", "")
	ask("GET", "/mcp", "Authorization: bearer   "+good+" ").want(t, "spaces", 200, "acme:ann", "")
	for _, not := range []string{"Basic " + good, "Bearer", "Bearer ", good, "DPoP " + good} {
		ask("GET", "/mcp", "Authorization: "+not).want(t, "no bearer", 401, "", metadataOf+`/mcp", scope="pagetools.call"`)
	}
	offer := func(token string) []string {
		return []string{"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Protocol: x, " + transport.TokenProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))}
	}
	ask("GET", "/mcp", offer(good)...).want(t, "a token that a WebSocket offers", 200, "acme:ann", "")
	ask("GET", "/mcp", offer("bad")...).want(t, "a bad one", 401, "", invalid)
	ask("GET", "/mcp", append(offer(good), "Authorization: Bearer bad")...).want(t, "a bad one in the header", 401, "", invalid)
	for _, path := range []string{"", "/mcp"} {
		got := ask("OPTIONS", "/.well-known/oauth-protected-resource"+path, "Origin: https://claude.ai", "Access-Control-Request-Method: GET",
			"Access-Control-Request-Headers: mcp-protocol-version")
		if got.StatusCode != http.StatusNoContent || got.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.EqualFold(got.Header.Get("Access-Control-Allow-Headers"), "MCP-Protocol-Version") ||
			got.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("a preflight gets %d %v", got.StatusCode, got.Header)
		}
		if got = ask("HEAD", "/.well-known/oauth-protected-resource"+path, "Origin: https://claude.ai"); got.StatusCode != http.StatusOK {
			t.Errorf("HEAD of the metadata: %d", got.StatusCode)
		}
		if got = ask("POST", "/.well-known/oauth-protected-resource"+path, "Origin: https://claude.ai"); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST to the metadata: %d", got.StatusCode)
		}
	}
	got := ask("GET", "/healthz", "Authorization: Bearer bad")
	if got.StatusCode != http.StatusNotFound { // there is none on this listener; what is open asks for nothing
		t.Errorf("/healthz: %d", got.StatusCode)
	}
}

// TestAudienceOfPaths: neither escapes nor slashes make a path another one's, and only resources
// that the metadata has are audiences.
func TestAudienceOfPaths(t *testing.T) {
	i := newIssuer(t)
	s := server(t, oauth.New(i.options()))
	ofShop := i.token("rsa", jose.RS256, map[string]any{"aud": public + "/mcp/shop"})
	for path, status := range map[string]int{
		"/mcp/shop": 200, "/mcp/shop/": 200, "/mcp/sh%6fp": 200, "/%6dcp/shop": 200, "/webtools/shop": 200, "/tools/shop": 200,
		"/mcp/shop%2f..%2fbank": 401, "/mcp/shop/../bank": 404, "/mcp/SHOP": 401, "/mcp/shop%00": 401, "/mcp//shop": 401, "//mcp/shop": 401,
		"/mcp": 401, "/webtools": 401, "/mcp/%62ank": 401, "/webtools/shop%2fbank": 401, "/calls%2fx": 401, "/mcp/shop?x=/mcp/bank": 200, "/mcp/bank?x=/mcp/shop": 401,
	} {
		if got := get(t, s, path, "Authorization: Bearer "+ofShop); got.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, got.StatusCode, status)
		}
	}
	for _, aud := range []string{public + "/mcp/shop/", public + "/mcp/shop/x", public + "/tools/shop", public + "/mcp/shop?x", public + "/mcp/shop#x", public + "/mcp/sh%6fp",
		public + "//mcp/shop", public + ":443/mcp/shop", "https://TOOLS.example/mcp/shop", "http://tools.example/mcp/shop", "tools.example/mcp/shop", "/mcp/shop", "shop", "", " " + public + "/mcp/shop"} {
		got := get(t, s, "/mcp/shop", "Authorization: Bearer "+i.token("rsa", jose.RS256, map[string]any{"aud": aud}))
		if got.StatusCode != http.StatusUnauthorized {
			t.Errorf("a token for %q gets %d", aud, got.StatusCode)
		}
	}
	two := i.token("rsa", jose.RS256, map[string]any{"aud": []string{public + "/mcp/shop", public + "/webtools/bank"}})
	get(t, s, "/calls/x", "Authorization: Bearer "+two).want(t, "two sites", 200, "on [shop bank]", "")
	get(t, s, "/mcp/bank", "Authorization: Bearer "+two).want(t, "one of two sites", 200, "on [bank]", "")
	again := i.token("rsa", jose.RS256, map[string]any{"aud": []string{public + "/mcp", public + "/mcp/shop"}})
	get(t, s, "/webtools/shop", "Authorization: Bearer "+again).want(t, "MCP, and a site", 200, "on [shop]", "")
	if got := get(t, s, "/webtools/bank", "Authorization: Bearer "+again); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token for MCP and a site is good for another one: %d", got.StatusCode)
	}
}

// TestNobodySharesACaller: whatever two people's claims are, their names differ.
func TestNobodySharesACaller(t *testing.T) {
	i := newIssuer(t)
	o := i.options()
	o.Issuers[0].NameClaim = "uid"
	s := server(t, oauth.New(o))
	name := func(uid string) string {
		got := get(t, s, "/mcp", "Authorization: Bearer "+i.written(i.usual(`,"uid":`+uid), nil))
		who, _, _ := strings.Cut(got.body, " may ")
		return who
	}
	seen := map[string]string{}
	odd := name(`"än"`)
	for _, uid := range []string{"9007199254740992", "9007199254740993", "1e400", "-1", `"än"`, fmt.Sprintf("%q", strings.TrimPrefix(odd, "acme:")), `"a:b"`, `"a"`, `"A"`} {
		is := name(uid)
		if was, there := seen[is]; there || !strings.HasPrefix(is, "acme:") {
			t.Errorf("%s is called %q, as %s is", uid, is, was)
		}
		seen[is] = uid
	}
	for _, name := range []string{"a:b", "a b", "", "ä", "a\n", strings.Repeat("a", 33), "token", "socket", "terminal"} {
		bad := i.trusted()
		if bad.Name = name; bad.Validate() == nil {
			t.Errorf("an issuer may be called %q", name)
		}
	}
	for _, scope := range []string{"a\"b", "a\\b", "a\nb", "ä"} {
		bad := i.trusted()
		if bad.Scope = scope; bad.Validate() == nil {
			t.Errorf("a scope may be %q", scope)
		}
	}
}

// TestSeveralScopes: all that are named are needed.
func TestSeveralScopes(t *testing.T) {
	i := newIssuer(t)
	o := i.options()
	o.Issuers[0].Scope = "tools:read tools:call"
	s := server(t, oauth.New(o))
	half := i.token("rsa", jose.RS256, map[string]any{"scope": "tools:read"})
	get(t, s, "/mcp", "Authorization: Bearer "+half).want(t, "one of two", 403, "", metadataOf+`/mcp", error="insufficient_scope", scope="tools:read tools:call"`)
	get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, map[string]any{"scope": nil, "scp": []string{"tools:call", "tools:read"}})).want(t, "both", 200, "acme:ann", "")
}

// TestSeveralIssuers: each verifies its own tokens with its own keys, whatever they are called, and
// names its own callers; one that is away stops no other.
func TestSeveralIssuers(t *testing.T) {
	a, b := newIssuer(t), newIssuer(t)
	b.keys["rsa"] = must(rsa.GenerateKey(rand.Reader, 2048))
	o := a.options()
	second := b.trusted()
	second.Name = "other"
	o.Issuers = append(o.Issuers, second)
	s := server(t, oauth.New(o))
	get(t, s, "/mcp", "Authorization: Bearer "+a.token("rsa", jose.RS256, nil)).want(t, "the first", 200, "acme:ann", "")
	get(t, s, "/mcp", "Authorization: Bearer "+b.token("rsa", jose.RS256, nil)).want(t, "the second", 200, "other:ann", "")
	get(t, s, "/mcp", "Authorization: Bearer "+b.token("rsa", jose.RS256, map[string]any{"iss": a.URL})).want(t, "the second's key under the first's name", 401, "", invalid)
	b = newIssuer(t)
	b.down.Store(true)
	second.URL = b.URL
	o.Issuers[1] = second
	s = server(t, oauth.New(o))
	get(t, s, "/mcp", "Authorization: Bearer "+b.token("rsa", jose.RS256, nil)).want(t, "one that is away", 503, "UNREACHABLE", "")
	get(t, s, "/mcp", "Authorization: Bearer "+a.token("rsa", jose.RS256, nil)).want(t, "one that is not", 200, "acme:ann", "")
}

// TestKeysOfOtherKinds (RFC 7517, 5): a key that we do not know, or that is too weak, costs itself.
func TestKeysOfOtherKinds(t *testing.T) {
	i := newIssuer(t)
	weak := must(rsa.GenerateKey(rand.Reader, 1024))
	public := func(key any, kid string) string {
		return string(must((&jose.JSONWebKey{Key: key, KeyID: kid}).MarshalJSON()))
	}
	set := `{"keys":[{"kty":"AKP","alg":"ML-DSA-44","pub":"x"},{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"},{"kty":"OKP","crv":"X25519","x":"AA"},{"kty":"RSA"},null,7,` +
		`{"kty":"EC","crv":"P-256","kid":"rsa","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"},` +
		`{"kty":"RSA","kid":"rsa","n":"` + strings.Repeat("_", 342) + `","e":"AQ"},{"kty":"RSA","kid":"rsa","n":"` + strings.Repeat("_", 342) + `","e":"` + strings.Repeat("_", 342) + `"},` +
		`{"kty":"oct","kid":"rsa","k":"c2VjcmV0"},` +
		public(&weak.PublicKey, "weak") + `,` + public(&i.keys["rsa"].(*rsa.PrivateKey).PublicKey, "rsa") + `]}`
	i.document = func(w http.ResponseWriter) { fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/others") }
	i.Config.Handler.(*http.ServeMux).HandleFunc("/others", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, set) })
	s := server(t, oauth.New(i.options()))
	get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, nil)).want(t, "a key among others", 200, "acme:ann", "")
	i.keys["weak"] = weak
	get(t, s, "/mcp", "Authorization: Bearer "+i.foreign(weak, map[jose.HeaderKey]any{"kid": "weak"})).want(t, "a key of 1024 bits", 401, "", invalid)
	set = `{"keys":[]}`
	get(t, server(t, oauth.New(i.options())), "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, nil)).want(t, "no keys at all", 503, "UNREACHABLE", "")
}

// TestReplaceVerification: who came by rules that do not hold any more is revoked.
func TestReplaceVerification(t *testing.T) {
	i := newIssuer(t)
	for name, change := range map[string]func(*oauth.Issuer){
		"an audience less": func(x *oauth.Issuer) { x.Audience = nil }, "another algorithm": func(x *oauth.Issuer) { x.Algorithms = []string{"RS256", "ES256"} },
		"another scope": func(x *oauth.Issuer) { x.Scope = "more" }, "another claim": func(x *oauth.Issuer) { x.NameClaim = "email" },
		"another rate": func(x *oauth.Issuer) { x.Grants[0].Rate = policy.Rate{N: 1, Per: time.Hour} }, "fewer sites": func(x *oauth.Issuer) { x.Grants[0].Sites = []string{"shop"} },
		"another pattern": func(x *oauth.Issuer) { x.Grants[0].Match = map[string]string{"email": "ann@acme.example"} },
	} {
		o := i.options()
		o.Issuers[0].Audience = []string{"api"}
		v := oauth.New(o)
		c, refused := v.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), i.token("rsa", jose.RS256, map[string]any{"aud": "api"}))
		if refused != nil {
			t.Fatal(refused.Error)
		}
		same := i.trusted()
		same.Audience = []string{"api"}
		if v.Replace([]oauth.Issuer{same}); c.IsRevoked() {
			t.Errorf("%s: nothing has changed, and the caller is revoked", name)
		}
		next := i.trusted()
		next.Audience, next.Grants = []string{"api"}, slices.Clone(next.Grants)
		next.Grants[0].Match = maps.Clone(next.Grants[0].Match)
		change(&next)
		if v.Replace([]oauth.Issuer{next}); !c.IsRevoked() {
			t.Errorf("%s: the caller goes on", name)
		}
	}
}

// TestNobodyIsToldWhy: what is wrong with a token, and what is in it, is in no reply.
func TestNobodyIsToldWhy(t *testing.T) {
	i := newIssuer(t)
	s := server(t, oauth.New(i.options()))
	var first string
	for n, change := range []map[string]any{{"exp": 1}, {"aud": "canary"}, {"iss": "https://canary.example"}, {"nonce": "canary"}} {
		got := get(t, s, "/webtools/shop", "Authorization: Bearer "+i.token("rsa", jose.RS256, change))
		var body struct{ Error struct{ Message string } }
		if json.Unmarshal([]byte(got.body), &body) != nil || strings.Contains(got.body, "canary") {
			t.Error(got.body)
		}
		if n == 0 {
			first = body.Error.Message
		}
		if body.Error.Message != first || first == "" {
			t.Errorf("%q differs from %q", body.Error.Message, first)
		}
	}
}
