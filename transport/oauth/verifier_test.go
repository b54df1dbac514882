package oauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/oauth"
)

const public = "https://tools.example"

// issuer is an authorization server that publishes keys.
type issuer struct {
	*httptest.Server

	t        *testing.T
	keys     map[string]any // private, by kid
	asked    atomic.Int64   // for the keys
	vouched  atomic.Int64   // by introspection
	down     atomic.Bool
	hang     chan struct{}
	document func(w http.ResponseWriter)
}

var makeKeys = sync.OnceValue(func() map[string]any {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	e, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return map[string]any{"rsa": r, "ec": e}
})

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t, keys: maps.Clone(makeKeys())}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case i.down.Load():
			w.WriteHeader(http.StatusBadGateway)
		case i.document != nil:
			i.document(w)
		default:
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"introspection_endpoint":%q}`, i.URL, i.URL+"/keys", i.URL+"/introspect")
		}
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		if i.hang != nil {
			<-i.hang
		}
		if i.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var set jose.JSONWebKeySet
		for kid, k := range i.keys {
			public := jose.JSONWebKey{Key: k, KeyID: kid, Use: "sig"}
			set.Keys = append(set.Keys, public.Public())
		}
		_ = json.NewEncoder(w).Encode(set)
	})
	mux.HandleFunc("/introspect", func(w http.ResponseWriter, r *http.Request) {
		i.vouched.Add(1)
		id, secret, _ := r.BasicAuth()
		if id != "me" || secret != "se%2Fcret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.FormValue("token") == "opaque-forever" { // RFC 7662 makes exp and iss optional
			fmt.Fprintf(w, `{"active":true,"sub":"forever","aud":%q,"scope":"pagetools.call","email":"o@acme.example"}`, public)
			return
		}
		if r.FormValue("token") != "opaque-good" {
			_, _ = io.WriteString(w, `{"active":false}`)
			return
		}
		fmt.Fprintf(w, `{"active":true,"sub":"opal","aud":%q,"scope":"pagetools.call","email":"o@acme.example","exp":%d}`, public, time.Now().Add(time.Hour).Unix())
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// token signs the usual claims, changed by others; nil takes one away.
func (i *issuer) token(kid string, alg jose.SignatureAlgorithm, change map[string]any) string {
	i.t.Helper()
	all := map[string]any{"iss": i.URL, "sub": "ann", "aud": public, "scope": "openid pagetools.call", "email": "ann@acme.example",
		"email_verified": true, "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "jti": "1", "client_id": "host"}
	for name, v := range change {
		if all[name] = v; v == nil {
			delete(all, name)
		}
	}
	return i.sign(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: i.keys[kid], KeyID: kid}}, all)
}

func (i *issuer) sign(key jose.SigningKey, all map[string]any) string {
	i.t.Helper()
	s, err := jose.NewSigner(key, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	text, _ := json.Marshal(all)
	signed, err := s.Sign(text)
	if err != nil {
		i.t.Fatal(err)
	}
	compact, _ := signed.CompactSerialize()
	return compact
}

func (i *issuer) options() oauth.Options {
	return oauth.Options{Public: public, Issuers: []oauth.Issuer{i.trusted()}}
}

func (i *issuer) trusted() oauth.Issuer {
	return oauth.Issuer{Name: "acme", URL: i.URL, Scope: "pagetools.call", Grants: []oauth.Grant{
		{Match: map[string]string{"email": "*@acme.example", "email_verified": "true"}, May: []bridge.Right{bridge.MayCall, bridge.MayElicit}, Sites: []string{"shop", "bank"}},
	}}
}

// server is a guarded listener that says who calls.
func server(t *testing.T, v *oauth.Verifier, callers ...transport.Credential) *httptest.Server {
	whoami := func(w http.ResponseWriter, r *http.Request) {
		c := transport.CallerOf(r.Context())
		fmt.Fprintf(w, "%s may %v on %v", c.Name, c.May, c.Sites)
	}
	routes := v.Routes()
	for _, path := range []string{"/mcp", "/mcp/{site}", "/webtools/{site}", "/tools/{site}", "/sites/{site}/openapi.json", "/calls/{id}", "/metrics"} {
		routes = append(routes, transport.Get(path, whoami))
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = transport.Guard(transport.NewMux(routes...), transport.Options{Listen: s.Listener.Addr().String(), PublicURL: public,
		Verifier: v, Callers: callers, JSONRPCUnder: []string{"/mcp"}})
	s.Start()
	t.Cleanup(s.Close)
	return s
}

type reply struct {
	*http.Response
	body string
}

func get(t *testing.T, s *httptest.Server, path string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res, string(body)}
}

func (r reply) want(t *testing.T, what string, status int, body, challenge string) {
	t.Helper()
	if r.StatusCode != status || !strings.Contains(r.body, body) || r.Header.Get("WWW-Authenticate") != challenge {
		t.Errorf("%s: %d %s, WWW-Authenticate: %s; want %d with %q and %s", what, r.StatusCode, r.body, r.Header.Get("WWW-Authenticate"), status, body, challenge)
	}
}

const (
	metadataOf = `Bearer resource_metadata="` + public + `/.well-known/oauth-protected-resource`
	invalid    = metadataOf + `/mcp", error="invalid_token", scope="pagetools.call"`
)

// TestTokens (reach 3, rule 2): a token counts when the issuer signed it for us, now, and a grant
// matches; each other one is refused, and says nothing of why.
func TestTokens(t *testing.T) {
	i, other := newIssuer(t), newIssuer(t)
	other.keys["rsa"] = must(rsa.GenerateKey(rand.Reader, 2048))
	s := server(t, oauth.New(i.options()), transport.Credential{Caller: bridge.Caller{Name: "static", May: []bridge.Right{bridge.MayCall}}, Token: "static-token"})
	now := time.Now()
	rs, ec := i.token("rsa", jose.RS256, nil), i.token("ec", jose.ES256, nil)
	public, err := jose.JSONWebKey{Key: &i.keys["rsa"].(*rsa.PrivateKey).PublicKey}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	raw := func(head, claims string) string {
		b := base64.RawURLEncoding
		return b.EncodeToString([]byte(head)) + "." + b.EncodeToString([]byte(claims)) + "."
	}
	head, rest, _ := strings.Cut(rs, ".")
	claims, sig, _ := strings.Cut(rest, ".")
	get(t, s, "/mcp").want(t, "no token", 401, "", metadataOf+`/mcp", scope="pagetools.call"`)
	get(t, s, "/mcp?access_token="+rs).want(t, "in the URL", 401, "", metadataOf+`/mcp", scope="pagetools.call"`)
	get(t, s, "/mcp", "Authorization: Bearer "+rs, "Authorization: Bearer "+rs).want(t, "twice", 401, "", metadataOf+`/mcp", scope="pagetools.call"`)
	for name, token := range map[string]string{
		"RS256": rs, "ES256": ec, "PS256": i.token("rsa", jose.PS256, nil), "clocks that differ": i.token("rsa", jose.RS256, map[string]any{"nbf": now.Add(20 * time.Second).Unix()}),
		"just over": i.token("rsa", jose.RS256, map[string]any{"exp": now.Add(-20 * time.Second).Unix()}), "one of several audiences": i.token("rsa", jose.RS256, map[string]any{"aud": []string{"x", "https://tools.example/"}}),
		"scp": i.token("rsa", jose.RS256, map[string]any{"scope": nil, "scp": []string{"a", "pagetools.call"}}),
	} {
		get(t, s, "/mcp", "Authorization: Bearer "+token).want(t, name, 200, "acme:ann may [call elicit] on [shop bank]", "")
	}
	get(t, s, "/mcp", "Authorization: Bearer static-token").want(t, "a static token", 200, "static may", "")
	for name, token := range map[string]string{
		"nonsense": "nonsense", "opaque": "opaque-good", "three dots": "a.b.c", "alg none": raw(`{"alg":"none"}`, `{"iss":"`+i.URL+`"}`),
		"HS256 with the public key": i.sign(jose.SigningKey{Algorithm: jose.HS256, Key: jose.JSONWebKey{Key: public, KeyID: "rsa"}}, map[string]any{"iss": i.URL, "sub": "ann", "aud": "https://tools.example", "exp": now.Add(time.Hour).Unix()}),
		"ES384":                     i.sign(jose.SigningKey{Algorithm: jose.ES384, Key: must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))}, map[string]any{"iss": i.URL, "sub": "ann"}),
		"RS512":                     i.token("rsa", jose.RS512, nil),
		"another issuer's":          other.token("rsa", jose.RS256, nil),
		"another's key, same kid":   other.token("rsa", jose.RS256, map[string]any{"iss": i.URL}),
		"a bit of the signature":    head + "." + claims + "." + flip(sig),
		"a bit of the claims":       head + "." + flip(claims) + "." + sig,
		"expired":                   i.token("rsa", jose.RS256, map[string]any{"exp": now.Add(-time.Minute).Unix()}),
		"never expires":             i.token("rsa", jose.RS256, map[string]any{"exp": nil}),
		"not yet":                   i.token("rsa", jose.RS256, map[string]any{"nbf": now.Add(time.Minute).Unix()}),
		"issued later":              i.token("rsa", jose.RS256, map[string]any{"iat": now.Add(time.Minute).Unix()}),
		"another audience":          i.token("rsa", jose.RS256, map[string]any{"aud": "https://tools.example.evil.test"}),
		"another origin's":          i.token("rsa", jose.RS256, map[string]any{"aud": "https://tools.exampleX"}),
		"no audience":               i.token("rsa", jose.RS256, map[string]any{"aud": nil}),
		"an issuer with a slash":    i.token("rsa", jose.RS256, map[string]any{"iss": i.URL + "/"}),
		"an ID token":               i.token("rsa", jose.RS256, map[string]any{"nonce": "n"}),
		"an ID token with a hash":   i.token("rsa", jose.RS256, map[string]any{"at_hash": "h"}),
		"nobody's":                  i.token("rsa", jose.RS256, map[string]any{"sub": nil}),
		"too long":                  i.token("rsa", jose.RS256, map[string]any{"pad": strings.Repeat("x", 9<<10)}),
	} {
		got := get(t, s, "/mcp", "Authorization: Bearer "+token)
		got.want(t, name, 401, "", invalid)
		if strings.Contains(got.body, token) {
			t.Errorf("%s: the reply has the token", name)
		}
		get(t, s, "/metrics", "Authorization: Bearer "+token).want(t, name+", elsewhere", 401, "UNAUTHORIZED", metadataOf+`", error="invalid_token", scope="pagetools.call"`)
	}
	get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, map[string]any{"scope": "openid"})).
		want(t, "no scope", 403, "", metadataOf+`/mcp", error="insufficient_scope", scope="pagetools.call"`)
	for name, change := range map[string]map[string]any{
		"no grant": {"email": "ann@evil.test"}, "not verified": {"email_verified": false}, "no such claim": {"email": nil},
	} {
		get(t, s, "/webtools/shop", "Authorization: Bearer "+i.token("rsa", jose.RS256, change)).want(t, name, 403, "FORBIDDEN", "")
	}
	get(t, s, "/webtools/other", "Authorization: Bearer "+rs).want(t, "a site that is not theirs", 403, "FORBIDDEN", "")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// flip changes one character.
func flip(s string) string {
	c := byte('A')
	if s[len(s)/2] == c {
		c = 'B'
	}
	return s[:len(s)/2] + string(c) + s[len(s)/2+1:]
}

// TestAudience (reach 3): a token for a path is good for what belongs to it, and for nothing else.
func TestAudience(t *testing.T) {
	i := newIssuer(t)
	o := i.options()
	o.Issuers[0].Audience = []string{"api://pagetools"}
	s := server(t, oauth.New(o))
	for aud, paths := range map[string]map[string]string{
		public:               {"/mcp": "[shop bank]", "/mcp/shop": "[shop bank]", "/webtools/bank": "[shop bank]", "/metrics": "[shop bank]"},
		"api://pagetools":    {"/mcp": "[shop bank]", "/webtools/shop": "[shop bank]"},
		public + "/mcp":      {"/mcp": "[shop bank]", "/mcp/bank": "[shop bank]", "/webtools/shop": "", "/metrics": "", "/tools/shop": ""},
		public + "/mcp/shop": {"/mcp/shop": "[shop]", "/webtools/shop": "[shop]", "/tools/shop": "[shop]", "/sites/shop/openapi.json": "[shop]", "/calls/x": "[shop]", "/mcp": "", "/mcp/bank": "", "/webtools/bank": "", "/metrics": ""},
		public + "/mcp/none": {"/mcp/shop": "", "/mcp": "", "/calls/x": "[]"},
		public + "/mcp/":     {"/mcp": "", "/mcp/shop": ""},
		public + "/nothing":  {"/mcp": "", "/nothing": ""},
	} {
		token := i.token("rsa", jose.RS256, map[string]any{"aud": aud})
		for path, sites := range paths {
			got := get(t, s, path, "Authorization: Bearer "+token)
			if (got.StatusCode == http.StatusOK) != (sites != "") || !strings.Contains(got.body, sites) {
				t.Errorf("a token for %s at %s gets %d %s, want %q", aud, path, got.StatusCode, got.body, sites)
			}
		}
	}
}

// TestNames: two issuers never share a caller, and no claim makes a name that is somebody else's or
// that cannot be logged.
func TestNames(t *testing.T) {
	i := newIssuer(t)
	s := server(t, oauth.New(i.options()))
	seen := map[string]string{}
	for _, who := range []string{"ann", "a:b", "ann ", "änn", "an\nn", strings.Repeat("a", 123), strings.Repeat("a", 124), strings.Repeat("b", 400), "\u202eann"} {
		got := get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, map[string]any{"sub": who}))
		name, _, _ := strings.Cut(got.body, " may ")
		if got.StatusCode != http.StatusOK || !strings.HasPrefix(name, "acme:") || len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q is called %q (%d)", who, name, got.StatusCode)
		}
		if was, is := seen[name]; is {
			t.Errorf("%q and %q are both %s", was, who, name)
		}
		seen[name] = who
	}
	for _, name := range []string{"local", "console", "pagetools", ""} {
		bad := i.trusted()
		if bad.Name = name; bad.Validate() == nil {
			t.Errorf("an issuer may be called %q", name)
		}
	}
	for _, at := range []string{"http://login.example", "https://", "https://a.example/?x", "https://u@a.example", "ftp://a.example"} {
		bad := i.trusted()
		if bad.URL = at; bad.Validate() == nil {
			t.Errorf("an issuer may be at %q", at)
		}
	}
	if good := i.trusted(); good.Validate() != nil {
		t.Error(good.Validate())
	}
}

// TestKeysAreAskedForSeldom (reach 3): tokens with unknown keys do not make us ask the issuer again
// and again; a new key is found within a minute, and an issuer that is away stops nobody whose keys
// are known.
func TestKeysAreAskedForSeldom(t *testing.T) {
	i := newIssuer(t)
	var ahead atomic.Int64
	o := i.options()
	o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	v := oauth.New(o)
	s := server(t, v)
	fine := func(what string, sub string, status int) {
		t.Helper()
		exp := o.Now().Add(time.Hour).Unix()
		got := get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, map[string]any{"sub": sub, "exp": exp}))
		if got.StatusCode != status {
			t.Errorf("%s: %d %s", what, got.StatusCode, got.body)
		}
	}
	fine("the first", "a", 200)
	var all sync.WaitGroup
	for n := range 20 {
		i.keys[fmt.Sprint("new", n)] = i.keys["rsa"]
	}
	for n := range 50 {
		token := i.token(fmt.Sprint("new", n%20), jose.RS256, map[string]any{"jti": fmt.Sprint(n)})
		all.Go(func() { get(t, s, "/mcp", "Authorization: Bearer "+token) })
	}
	all.Wait()
	if n := i.asked.Load(); n != 1 {
		t.Errorf("50 tokens with unknown keys: %d requests, want the first only", n)
	}
	ahead.Store(int64(61 * time.Second))
	if got := get(t, s, "/mcp", "Authorization: Bearer "+i.token("new7", jose.RS256, nil)); got.StatusCode != http.StatusOK || i.asked.Load() != 2 {
		t.Errorf("a new key after a minute: %d, %d requests", got.StatusCode, i.asked.Load())
	}
	i.down.Store(true)
	ahead.Store(int64(3 * time.Hour))
	fine("the issuer is away, the keys are old", "b", 200)
	ahead.Store(int64(26 * time.Hour))
	got := get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, map[string]any{"exp": o.Now().Add(time.Hour).Unix()}))
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "5" || !strings.Contains(got.body, "UNREACHABLE") {
		t.Errorf("away for more than a day: %d %s", got.StatusCode, got.body)
	}
	i.down.Store(false)
	ahead.Store(int64(26*time.Hour + 2*time.Minute))
	fine("it is back", "c", 200)
}

// TestHostileIssuers: what an issuer publishes cannot lead elsewhere, hang or flood.
func TestHostileIssuers(t *testing.T) {
	elsewhere := newIssuer(t)
	for name, document := range map[string]func(i *issuer, w http.ResponseWriter){
		"another issuer": func(i *issuer, w http.ResponseWriter) {
			fmt.Fprintf(w, `{"issuer":"https://x.example","jwks_uri":%q}`, i.URL+"/keys")
		},
		"no JSON":  func(_ *issuer, w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"too much": func(_ *issuer, w http.ResponseWriter) { _, _ = io.WriteString(w, `"`+strings.Repeat("x", 2<<20)+`"`) },
		"keys over http": func(i *issuer, w http.ResponseWriter) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"http://keys.example/"}`, i.URL)
		},
		"keys in a file": func(i *issuer, w http.ResponseWriter) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"file:///etc/passwd"}`, i.URL)
		},
		"keys behind a jump": func(i *issuer, w http.ResponseWriter) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/jump")
		},
	} {
		i := newIssuer(t)
		i.Config.Handler.(*http.ServeMux).Handle("/jump", http.RedirectHandler(elsewhere.URL+"/keys", http.StatusFound))
		i.document = func(w http.ResponseWriter) { document(i, w) }
		s := server(t, oauth.New(i.options()))
		got := get(t, s, "/mcp", "Authorization: Bearer "+i.token("rsa", jose.RS256, nil))
		if got.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got.body, "UNREACHABLE") {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if elsewhere.asked.Load() != 0 {
		t.Error("a redirect to another origin was followed")
	}
}

// TestIntrospection (RFC 7662): a token that is no JWT is asked about, at issuers that have it.
func TestIntrospection(t *testing.T) {
	i := newIssuer(t)
	o := i.options()
	o.Issuers[0].ClientID, o.Issuers[0].ClientSecret = "me", "se/cret"
	o.Issuers[0].Grants[0].Match = map[string]string{"email": "*@acme.example"}
	s := server(t, oauth.New(o))
	for range 3 {
		get(t, s, "/mcp", "Authorization: Bearer opaque-good").want(t, "an opaque token", 200, "acme:opal", "")
	}
	if n := i.vouched.Load(); n != 1 {
		t.Errorf("it was asked about %d times", n)
	}
	get(t, s, "/mcp", "Authorization: Bearer opaque-forever").want(t, "one that does not say when it expires", 200, "acme:forever", "")
	get(t, s, "/mcp", "Authorization: Bearer opaque-bad").want(t, "one that is not active", 401, "", invalid)
	o.Issuers[0].ClientSecret = "wrong"
	get(t, server(t, oauth.New(o)), "/mcp", "Authorization: Bearer opaque-good").want(t, "an issuer that refuses us", 503, "UNREACHABLE", "")
}

// TestReplace: callers of an issuer or a grant that the operator took away are revoked, and others
// are not.
func TestReplace(t *testing.T) {
	i := newIssuer(t)
	v := oauth.New(i.options())
	token := i.token("rsa", jose.RS256, nil)
	caller := func() (bridge.Caller, *transport.Refusal) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil)
		return v.Verify(r, token)
	}
	before, refused := caller()
	if refused != nil {
		t.Fatal(refused.Error)
	}
	more := i.trusted()
	more.Grants = append(more.Grants, oauth.Grant{Match: map[string]string{"sub": "bob"}, May: []bridge.Right{bridge.MayCall}})
	v.Replace([]oauth.Issuer{more})
	after, refused := caller()
	if refused != nil || before.IsRevoked() || after.Credential != before.Credential {
		t.Errorf("another grant changes the first caller: %+v, %v", after, refused)
	}
	less := i.trusted()
	less.Grants[0].May = []bridge.Right{bridge.MayCall}
	v.Replace([]oauth.Issuer{less})
	if !before.IsRevoked() {
		t.Error("a grant was changed, and its callers go on")
	}
	now, _ := caller()
	v.Replace(nil)
	if _, refused = caller(); refused == nil || !now.IsRevoked() {
		t.Error("an issuer is gone, and its tokens count")
	}
}

// TestMetadata (RFC 9728): the resource is the public URL and exactly the path that was asked for;
// pages of every origin may read it, whether a site is there or not.
func TestMetadata(t *testing.T) {
	i := newIssuer(t)
	s := server(t, oauth.New(i.options()))
	for _, path := range []string{"", "/mcp", "/mcp/shop", "/mcp/none", "/webtools/shop"} {
		got := get(t, s, "/.well-known/oauth-protected-resource"+path, "Origin: https://claude.ai")
		want := fmt.Sprintf(`{"resource":%q,"authorization_servers":[%q],"scopes_supported":["pagetools.call"],"bearer_methods_supported":["header"],"resource_name":"pagetools"}`, public+path, i.URL)
		if strings.TrimSpace(got.body) != want || got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("Cache-Control") != "max-age=300" {
			t.Errorf("%s: %d %s %v", path, got.StatusCode, got.body, got.Header)
		}
	}
	for _, path := range []string{"/tools/shop", "/mcp/a/b", "x"} {
		if got := get(t, s, "/.well-known/oauth-protected-resource"+path); got.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	if got := get(t, s, "/mcp", "Origin: https://claude.ai"); got.StatusCode != http.StatusForbidden {
		t.Errorf("a page of a foreign origin gets %d", got.StatusCode)
	}
}
