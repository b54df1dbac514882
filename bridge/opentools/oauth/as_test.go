package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// authority is an authorization server that is not ours: zitadel's, with the storage of its
// example.
type authority struct {
	*httptest.Server
	storage *storage.Storage
	login   http.Handler // in the place of the person who logs in there

	mu    sync.Mutex
	forms []url.Values // of the token endpoint
}

// publicClient may log in on other devices, too.
type publicClient struct{ *storage.Client }

func (publicClient) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
}

func (publicClient) IsScopeAllowed(string) bool { return true }

type authorityStorage struct{ *storage.Storage }

func (s authorityStorage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	if known, ok := c.(*storage.Client); ok && err == nil {
		return publicClient{known}, nil
	}
	return c, err
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	mux := http.NewServeMux()
	a.Server = httptest.NewUnstartedServer(mux)
	a.Start()
	t.Cleanup(a.Close)
	clients := map[string]*storage.Client{"native": storage.NativeClient("native", "http://127.0.0.1/callback")}
	a.storage = storage.NewStorageWithClients(storage.NewUserStore(a.URL), clients)
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: sha256.Sum256([]byte("test")), CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true,
		DeviceAuthorization: op.DeviceAuthorizationConfig{Lifetime: time.Minute, PollInterval: time.Second,
			UserFormPath: "/device", UserCode: op.UserCodeBase20},
	}, authorityStorage{a.storage}, op.StaticIssuer(a.URL), op.WithAllowInsecure(),
		op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	a.login = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // the person is there already
		id := r.FormValue("authRequestID")
		if err := a.storage.CheckUsernamePassword("test-user2", "verysecure", id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, op.AuthCallbackURL(provider)(op.ContextWithIssuer(r.Context(), a.URL), id), http.StatusFound)
	})
	mux.Handle("/login/username", a.login)
	mux.HandleFunc("/device", func(_ http.ResponseWriter, r *http.Request) {
		_ = a.storage.CompleteDeviceAuthorization(r.Context(), r.FormValue("user_code"), "id1")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			_ = r.ParseForm()
			a.mu.Lock()
			a.forms = append(a.forms, r.PostForm)
			a.mu.Unlock()
		}
		provider.ServeHTTP(w, r)
	})
	return a
}

// asked returns the token requests with that grant.
func (a *authority) asked(grant string) (forms []url.Values) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.forms {
		if f.Get("grant_type") == grant {
			forms = append(forms, f)
		}
	}
	return forms
}

// knows reports whether a token is good there.
func (a *authority) knows(token string) bool {
	req, err := http.NewRequest(http.MethodGet, a.URL+"/userinfo", nil)
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", token)
	res, err := a.Client().Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// newAPI is an API whose metadata names an authorization server, and that takes what good takes.
func newAPI(t *testing.T, issuer string, good func(*http.Request) bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/.well-known/oauth-protected-resource":
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": s.URL, "authorization_servers": []string{issuer},
				"scopes_supported": []string{"openid"}})
		case strings.HasPrefix(r.URL.Path, "/.well-known/"):
			http.NotFound(w, r)
		case good(r):
			_, _ = io.WriteString(w, "ok")
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="api", resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// world is an API with its authorization server, and who logs in there.
type world struct {
	as     *authority
	api    *httptest.Server
	store  *Store
	keeper *Keeper
	target Target
	scheme Scheme
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{as: newAuthority(t)}
	w.api = newAPI(t, w.as.URL, func(r *http.Request) bool { return w.as.knows(r.Header.Get("Authorization")) })
	w.store = openStore(t, t.TempDir())
	w.keeper = New(Options{Store: w.store, Client: w.api.Client()})
	w.scheme = Scheme{Name: "account", Scopes: []string{"openid", "offline_access"}, Object: json.RawMessage(
		`{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://elsewhere.example/a","tokenUrl":"https://elsewhere.example/t"}}}`)}
	w.target = targetOf(t, w.api.URL, []Scheme{w.scheme})
	return w
}

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func targetOf(t *testing.T, address string, alternatives ...[]Scheme) Target {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Target{Principal: "local", Resource: u, Alternatives: alternatives}
}

// person opens the address that a login shows, and follows the redirects until this machine.
func person(t *testing.T) func(Prompt) {
	return func(p Prompt) {
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			res, err := http.Get(p.URL)
			if err != nil {
				t.Errorf("opening the address: %v", err)
				return
			}
			defer res.Body.Close()
			if page, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
				t.Errorf("the login ends with %d: %s", res.StatusCode, page)
			}
		}()
	}
}

func (w *world) login(t *testing.T) Entry {
	t.Helper()
	e, err := w.keeper.Login(t.Context(), w.target, Login{Scheme: w.scheme, ClientID: "native", Show: person(t)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// call sends a signed request, as a client does: once more when that is worth it.
func (w *world) call(t *testing.T) (status int, err error) {
	t.Helper()
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.api.URL+"/thing", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.keeper.Sign(t.Context(), w.target, r); err != nil {
			return 0, err
		}
		client := *w.api.Client()
		client.CheckRedirect = CheckRedirect
		res, err := client.Do(r)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		status = res.StatusCode
		if again, err := w.keeper.Refused(t.Context(), w.target, res); !again {
			return status, err
		}
	}
	return status, nil
}

// held returns the one record of the world.
func (w *world) held(t *testing.T) entry {
	t.Helper()
	entries, err := w.store.entries()
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d records (%v), want one", len(entries), err)
	}
	return entries[0]
}

// spoil changes the record of the world, as time or somebody does.
func (w *world) spoil(t *testing.T, change func(*record)) {
	t.Helper()
	e := w.held(t)
	change(&e.record)
	if err := w.store.put(t.Context(), e.key, &e.record); err != nil {
		t.Fatal(err)
	}
}

func expire(r *record) { r.Expires = time.Now().Add(-time.Minute) }

// TestCode (O14): a person logs in, calls are signed, a token is renewed when it has expired or is
// refused, and rotated each time.
func TestCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.call(t); !errors.Is(err, ErrLoginNeeded) || !strings.Contains(err.Error(), "log in to "+w.api.URL) {
		t.Fatalf("before the login: %v", err)
	}
	e := w.login(t)
	if e.Issuer != w.as.URL || e.Resource != w.api.URL || !e.Renews || !slices.Contains(e.Scopes, "openid") {
		t.Errorf("the login is %+v", e)
	}
	exchange := w.as.asked("authorization_code")
	if len(exchange) != 1 || exchange[0].Get("code_verifier") == "" || exchange[0].Get("resource") != w.api.URL {
		t.Errorf("the code is exchanged with %v", exchange)
	}
	if status, err := w.call(t); status != http.StatusOK || err != nil {
		t.Fatalf("a call answers %d (%v)", status, err)
	}
	first := w.held(t).record
	w.spoil(t, expire)
	if status, err := w.call(t); status != http.StatusOK || err != nil {
		t.Fatalf("with an expired token a call answers %d (%v)", status, err)
	}
	second := w.held(t).record
	if second.Access == first.Access || second.Refresh == first.Refresh {
		t.Error("the token was not rotated")
	}
	w.spoil(t, func(r *record) { r.Access = "revoked" })
	if status, err := w.call(t); status != http.StatusOK || err != nil {
		t.Fatalf("with a refused token a call answers %d (%v)", status, err)
	}
	if asked := w.as.asked("refresh_token"); len(asked) != 2 || asked[1].Get("resource") != w.api.URL {
		t.Errorf("renewed with %v", asked)
	}
}

// TestResources: a login is good for what is below its resource, the nearest one first, and for
// nothing beside it.
func TestResources(t *testing.T) {
	t.Parallel()
	k := New(Options{})
	s := Scheme{Name: "account", Object: json.RawMessage(`{"type":"oauth2"}`)}
	for resource, token := range map[string]Secret{"https://api.example/v1": "one", "https://api.example/v1/eu": "two"} {
		key := Key{Principal: "local", Resource: resource, Scheme: "account", Issuer: "https://as.example"}
		if err := k.store.put(t.Context(), key, &record{Kind: Token, Access: token}); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]string{
		"https://api.example/v1/": "Bearer one", "https://api.example/v1/us": "Bearer one",
		"https://api.example/v1/eu": "Bearer two", "https://api.example/v1/eu/x": "Bearer two",
		"https://api.example/v1eu": "", "https://api.example/": "", "https://api.example/v2": "",
	} {
		r, _ := http.NewRequest(http.MethodGet, address, nil)
		err := k.Sign(t.Context(), targetOf(t, address, []Scheme{s}), r)
		if got := r.Header.Get("Authorization"); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q (%v), want %q", address, got, err, want)
		}
	}
}

// TestRefreshEnds: a refresh token that is no longer good is forgotten, and a login is needed.
func TestRefreshEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.login(t)
	old := w.held(t).record
	w.spoil(t, expire)
	if status, err := w.call(t); status != http.StatusOK || err != nil { // the control
		t.Fatalf("a good refresh token: %d (%v)", status, err)
	}
	w.spoil(t, func(r *record) { expire(r); r.Refresh = old.Refresh })
	if _, err := w.call(t); !errors.Is(err, ErrLoginNeeded) {
		t.Errorf("with a spent refresh token: %v", err)
	}
	if all, err := w.keeper.Status(); len(all) != 0 || err != nil {
		t.Errorf("kept: %+v (%v)", all, err)
	}
}

// TestDevice (RFC 8628): a person logs in elsewhere.
func TestDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code := ""
	_, err := w.keeper.Login(t.Context(), w.target, Login{Scheme: w.scheme, Flow: DeviceFlow, ClientID: "native", Show: func(p Prompt) {
		code = p.Code
		person(t)(p)
	}})
	if err != nil || code == "" {
		t.Fatalf("code %q: %v", code, err)
	}
	if status, err := w.call(t); status != http.StatusOK || err != nil {
		t.Errorf("a call answers %d (%v)", status, err)
	}
}

// TestClientCredentials: a client gets tokens for itself, and again when they end.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.scheme.Object = json.RawMessage(`{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"/unused"}}}`)
	w.scheme.Scopes = []string{"openid"}
	w.target.Alternatives = [][]Scheme{{w.scheme}}
	bad := Login{Scheme: w.scheme, ClientID: "sid1", ClientSecret: "s3cret-as-typed"}
	if _, err := w.keeper.Login(t.Context(), w.target, bad); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("with a wrong secret: %v", err)
	}
	good := Login{Scheme: w.scheme, ClientID: "sid1", ClientSecret: "verysecret"}
	if _, err := w.keeper.Login(t.Context(), w.target, good); err != nil {
		t.Fatal(err)
	}
	first := w.held(t).record.Access
	w.spoil(t, expire)
	r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
	if err := w.keeper.Sign(t.Context(), w.target, r); err != nil || w.held(t).record.Access == first {
		t.Errorf("the token was not replaced: %v", err)
	}
}

// TestRevoked (RFC 7009): after a logout neither token is good.
func TestRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.login(t)
	old := w.held(t).record
	if !w.as.knows("Bearer " + string(old.Access)) {
		t.Fatal("the token is not good")
	}
	gone, problems, err := w.keeper.Logout(t.Context(), "local", w.target.Resource)
	if err != nil || len(problems) > 0 || len(gone) != 1 {
		t.Fatalf("logout: %+v, %q, %v", gone, problems, err)
	}
	if w.as.knows("Bearer " + string(old.Access)) {
		t.Error("the token is good after the logout")
	}
	if _, err := w.keeper.again(t.Context(), &old); err == nil {
		t.Error("the refresh token is good after the logout")
	}
	if _, err := w.call(t); !errors.Is(err, ErrLoginNeeded) {
		t.Errorf("after the logout: %v", err)
	}
}
