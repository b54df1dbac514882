package oauth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"

	"golang.org/x/oauth2"
)

// fake is an authorization server that lies when a test says so. By itself it is honest.
type fake struct {
	*httptest.Server
	says   map[string]any                                      // metadata, over the honest one; nil removes
	back   func(url.Values)                                    // changes how the browser is sent back
	answer func(http.ResponseWriter, url.Values)               // in the place of the token endpoint
	visits func(redirect string)                               // in the place of sending the browser back
	places []string                                            // of its metadata; nil is the usual one
	seen   map[string]func(http.ResponseWriter, *http.Request) // other paths

	mu      sync.Mutex
	asked   []string // paths, in their order
	codes   map[string]url.Values
	tokens  int
	clients []map[string]any
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{says: map[string]any{}, codes: map[string]url.Values{}, places: []string{"/.well-known/oauth-authorization-server"}}
	f.Server = httptest.NewUnstartedServer(f)
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func (f *fake) metadata() map[string]any {
	m := map[string]any{
		"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
		"registration_endpoint": f.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
	}
	for name, value := range f.says {
		if m[name] = value; value == nil {
			delete(m, name)
		}
	}
	return m
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.Path)
	f.mu.Unlock()
	switch {
	case slices.Contains(f.places, r.URL.Path):
		_ = json.NewEncoder(w).Encode(f.metadata())
	case r.URL.Path == "/authorize":
		f.authorize(w, r)
	case r.URL.Path == "/register":
		f.register(w, r)
	case r.URL.Path == "/token":
		_ = r.ParseForm()
		if f.answer != nil {
			f.answer(w, r.PostForm)
			return
		}
		f.give(w, r.PostForm)
	case f.seen[r.URL.Path] != nil:
		f.seen[r.URL.Path](w, r)
	default:
		http.NotFound(w, r)
	}
}

// count returns how often a path was asked.
func (f *fake) count(path string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.asked {
		if p == path {
			n++
		}
	}
	return n
}

func (f *fake) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f.mu.Lock()
	code := fmt.Sprintf("code-%d", len(f.codes))
	f.codes[code] = q
	f.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if f.says["authorization_response_iss_parameter_supported"] == true {
		back.Set("iss", f.URL)
	}
	if f.back != nil {
		f.back(back)
	}
	redirect := q.Get("redirect_uri") + "?" + back.Encode()
	if f.visits != nil {
		f.visits(redirect)
		return
	}
	http.Redirect(w, r, redirect, http.StatusFound)
}

func (f *fake) register(w http.ResponseWriter, r *http.Request) {
	var asked map[string]any
	_ = json.NewDecoder(r.Body).Decode(&asked)
	f.mu.Lock()
	f.clients = append(f.clients, asked)
	f.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"client_id": "registered", "token_endpoint_auth_method": "none"})
}

// give is an honest token endpoint: a code is good once, with its verifier.
func (f *fake) give(w http.ResponseWriter, form url.Values) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if form.Get("grant_type") == "authorization_code" {
		q, ok := f.codes[form.Get("code")]
		delete(f.codes, form.Get("code"))
		if !ok || q.Get("code_challenge") != oauth2.S256ChallengeFromVerifier(form.Get("code_verifier")) ||
			q.Get("redirect_uri") != form.Get("redirect_uri") || q.Get("client_id") != form.Get("client_id") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
	}
	f.tokens++
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("access-%d", f.tokens), "expires_in": 3600,
		"refresh_token": fmt.Sprintf("refresh-%d", f.tokens), "token_type": "bearer"})
}

// newFakeWorld is an API whose logins are at a fake; the API takes everything with a token.
func newFakeWorld(t *testing.T) (*world, *fake) {
	t.Helper()
	f := newFake(t)
	w := &world{api: newAPI(t, f.URL, func(r *http.Request) bool { return r.Header.Get("Authorization") != "" })}
	w.store = openStore(t, t.TempDir())
	w.keeper = New(Options{Store: w.store})
	w.scheme = Scheme{Name: "account", Object: json.RawMessage(`{"type":"oauth2","flows":{"authorizationCode":{}}}`)}
	w.target = targetOf(t, w.api.URL, []Scheme{w.scheme})
	return w, f
}

// try logs in as the client that is registered for it.
func (w *world) try(t *testing.T) error {
	t.Helper()
	_, err := w.keeper.Login(t.Context(), w.target, Login{Scheme: w.scheme, Show: visitor(t)})
	return err
}

// visitor is a person whose login may fail.
func visitor(t *testing.T) func(Prompt) {
	return func(p Prompt) {
		done := make(chan struct{})
		t.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			if res, err := http.Get(p.URL); err == nil {
				res.Body.Close()
			}
		}()
	}
}
