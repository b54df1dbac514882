package authserver_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/authserver"
	"github.com/pagetools/pagetools/transport/oauth"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

const (
	public   = "https://tools.example"
	redirect = "https://claude.ai/api/mcp/auth_callback"
	verifier = "0123456789012345678901234567890123456789abcdef"
)

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// world is a guarded listener with the authorization server, and a path that says who calls.
type world struct {
	t testing.TB
	*clock

	url     string
	server  *authserver.Server
	store   *store.Store
	client  string       // one that is registered
	revoked atomic.Int64 // how often callers were told
}

func newWorld(t testing.TB, change ...func(*authserver.Options)) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{now: time.Now()}}
	w.store = store.Memory(store.Options{Now: w.Now})
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.start(change...)
	w.client = w.register(`{"client_name":"Claude","redirect_uris":["` + redirect + `"]}`)
	return w
}

// start starts a server on the store that there is.
func (w *world) start(change ...func(*authserver.Options)) {
	o := authserver.Options{Public: public, People: []authserver.Person{{Name: "me"}}, Clients: w.store.Clients, Connections: w.store.Connections,
		Browsers: w.store.Browsers, Now: w.Now, Revoked: func() { w.revoked.Add(1) }, Client: &http.Client{Transport: noNetwork{}}}
	for _, f := range change {
		f(&o)
	}
	var v *oauth.Verifier
	o.Resource = func(named string) (string, bool) { return v.Resource(named) }
	w.server = authserver.New(o)
	v = oauth.New(oauth.Options{Public: public, Own: w.server, Now: w.Now})
	whoami := func(out http.ResponseWriter, r *http.Request) {
		c := transport.CallerOf(r.Context())
		fmt.Fprintf(out, "%s may %v on %v", c.Name, c.May, c.Sites)
	}
	routes := slices.Concat(v.Routes(), w.server.Routes())
	for _, path := range []string{"/mcp", "/mcp/{site}", "/webtools/{site}", "/calls/{id}"} {
		routes = append(routes, transport.Get(path, whoami))
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = transport.Guard(transport.NewMux(routes...), transport.Options{Listen: s.Listener.Addr().String(), PublicURL: o.Public, Verifier: v,
		Open: authserver.Open(), ForPages: authserver.ForPages, FormsAt: authserver.FormsAt, JSONRPCUnder: []string{"/mcp"},
		MaxBodyUnder: map[string]int64{authserver.Below: authserver.MaxBody}})
	s.Start()
	w.t.Cleanup(s.Close)
	w.url = s.URL
}

// noNetwork fails a test that reaches anything.
type noNetwork struct{}

func (noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("the test reached %s", r.URL)
}

type reply struct {
	*http.Response
	body string
}

// do sends a request, and follows no redirect.
func (w *world) do(method, path, body string, header ...string) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{res, string(text)}
}

const (
	asForm = "Content-Type: application/x-www-form-urlencoded"
	asJSON = "Content-Type: application/json"
)

// register registers a client, and returns its ID.
func (w *world) register(metadata string) string {
	w.t.Helper()
	got := w.do("POST", "/oauth/register", metadata, asJSON)
	var c struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal([]byte(got.body), &c); err != nil || got.StatusCode != http.StatusCreated || c.ID == "" {
		w.t.Fatalf("registering %s: %d %s", metadata, got.StatusCode, got.body)
	}
	return c.ID
}

// query returns the address that a client sends a browser to, changed by others; an empty value
// takes one away.
func (w *world) query(change url.Values) string {
	sum := sha256.Sum256([]byte(verifier))
	v := url.Values{"response_type": {"code"}, "client_id": {w.client}, "redirect_uri": {redirect}, "state": {"st&te"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {public + "/mcp"}}
	maps.Copy(v, change)
	maps.DeleteFunc(v, func(_ string, all []string) bool { return len(all) == 0 })
	return "/oauth/authorize?" + v.Encode()
}

// browser is a person's browser: it keeps cookies, and sends its own origin with forms.
type browser struct {
	*world

	cookies map[string]string
	origin  string
	header  []string
}

func (w *world) browser() *browser {
	return &browser{world: w, cookies: map[string]string{}, origin: public}
}

func (b *browser) request(method, path, body string) reply {
	b.t.Helper()
	var cookies []string
	for _, name := range slices.Sorted(maps.Keys(b.cookies)) {
		cookies = append(cookies, name+"="+b.cookies[name])
	}
	header := append([]string{"Cookie: " + strings.Join(cookies, "; ")}, b.header...)
	if method == "POST" {
		header = append(header, asForm)
		if b.origin != "" {
			header = append(header, "Origin: "+b.origin)
		}
	}
	got := b.do(method, path, body, header...)
	for _, c := range got.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
		}
	}
	return got
}

var hiddenToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// tokenOf returns what the form of a page has against forgery.
func tokenOf(page reply) string {
	if found := hiddenToken.FindStringSubmatch(page.body); found != nil {
		return html.UnescapeString(found[1])
	}
	return ""
}

// opens opens the page of a request, and returns its token.
func (b *browser) opens(query string) string {
	b.t.Helper()
	page := b.request("GET", query, "")
	token := tokenOf(page)
	if page.StatusCode != http.StatusOK || token == "" {
		b.t.Fatalf("the page: %d %s", page.StatusCode, page.body)
	}
	return token
}

// answers sends the form of a page.
func (b *browser) answers(token, does string, fields url.Values) reply {
	b.t.Helper()
	v := url.Values{"token": {token}, "do": {does}}
	maps.Copy(v, fields)
	return b.request("POST", "/oauth/consent", v.Encode())
}

// code has a person let a client in, and returns the code that the client gets.
func (b *browser) code(query string) string {
	b.t.Helper()
	token := b.opens(query)
	fields := url.Values{}
	if b.cookies["__Host-pagetools"] == "" {
		code, _, _ := b.server.Pair(b.t.Context(), "me")
		fields.Set("code", code)
	}
	got := b.answers(token, "allow", fields)
	to := got.back(b.t)
	if to.Get("code") == "" {
		b.t.Fatalf("the answer: %d %s %v", got.StatusCode, got.body, got.Header)
	}
	return to.Get("code")
}

// back returns the parameters with which a client gets its browser back.
func (r reply) back(t testing.TB) url.Values {
	t.Helper()
	u, err := url.Parse(r.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

// tokens holds the answer to a client.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Expires int    `json:"expires_in"`
	Type    string `json:"token_type"`
	Scope   string `json:"scope"`
	Error   string `json:"error"`
}

// trade asks for tokens.
func (w *world) trade(v url.Values) (tokens, reply) {
	w.t.Helper()
	got := w.do("POST", "/oauth/token", v.Encode(), asForm)
	var t tokens
	if err := json.Unmarshal([]byte(got.body), &t); err != nil {
		w.t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	return t, got
}

func (w *world) byCode(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {w.client}, "redirect_uri": {redirect},
		"code_verifier": {verifier}, "resource": {public + "/mcp"}}
}

func (w *world) byRefresh(refresh string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {w.client}}
}

// connect has a person let the client in, and returns its tokens.
func (w *world) connect() tokens {
	w.t.Helper()
	t, got := w.trade(w.byCode(w.browser().code(w.query(nil))))
	if t.Access == "" || t.Refresh == "" {
		w.t.Fatalf("the tokens: %d %s", got.StatusCode, got.body)
	}
	return t
}

// lets reports whether a token lets its holder in.
func (w *world) lets(token, path string) bool {
	w.t.Helper()
	got := w.do("GET", path, "", "Authorization: Bearer "+token)
	if got.StatusCode != http.StatusOK && got.StatusCode != http.StatusUnauthorized && got.StatusCode != http.StatusForbidden {
		w.t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
	}
	return got.StatusCode == http.StatusOK
}

// caller returns the caller of a token.
func (w *world) caller(token string) bridge.Caller {
	w.t.Helper()
	c, _, known, err := w.server.Holder(w.t.Context(), token)
	if err != nil || !known {
		w.t.Fatalf("the holder is known %v, %v", known, err)
	}
	return c
}
