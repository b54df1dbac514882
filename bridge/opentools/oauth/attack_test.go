package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// wants holds an error to a text; "" wants none.
func wants(t *testing.T, what string, err error, text string) {
	t.Helper()
	if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("%s: %v, want %q", what, err, text)
	}
}

// TestIssuer (RFC 9207): the answer of another server, or none where one is promised, ends the
// login before its code goes anywhere.
func TestIssuer(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		promised bool
		iss      string
		want     string
	}{
		"the right one":         {true, "right", ""},
		"nothing was promised":  {false, "", ""},
		"another one":           {true, "https://mallory.example", `of another authorization server, "https://mallory.example"`},
		"another, not promised": {false, "https://mallory.example", "of another authorization server"},
		"none":                  {true, "", "does not say of which authorization server"},
	} {
		w, f := newFakeWorld(t)
		f.says["authorization_response_iss_parameter_supported"] = test.promised
		f.back = func(v url.Values) {
			v.Del("iss")
			if test.iss == "right" {
				v.Set("iss", f.URL)
			} else if test.iss != "" {
				v.Set("iss", test.iss)
			}
		}
		wants(t, what, w.try(t), test.want)
		if n := f.count("/token"); test.want != "" && n != 0 {
			t.Errorf("%s: the code was sent", what)
		}
	}
}

// TestForgottenClient (RFC 6749 5.2): where the server does not know the client any more, a login
// helps: that is said, and the next login makes calls run again.
func TestForgottenClient(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"invalid_client", "unauthorized_client"} {
		w, f := newFakeWorld(t)
		wants(t, "a login", w.try(t), "")
		w.spoil(t, expire)
		f.answer = func(w http.ResponseWriter, _ url.Values) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"` + code + `"}`))
		}
		if _, err := w.call(t); !errors.Is(err, ErrLoginNeeded) || !strings.Contains(err.Error(), ": log in to ") {
			t.Errorf("%s: %v", code, err)
		}
		f.answer = nil
		wants(t, "another login", w.try(t), "")
		if status, err := w.call(t); status != http.StatusOK {
			t.Errorf("%s, after another login: %d, %v", code, status, err)
		}
	}
}

// TestOtherIssuer (RFC 8414 3.3): metadata of another issuer is not used.
func TestOtherIssuer(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	wants(t, "its own", w.try(t), "")
	for _, issuer := range []any{"https://mallory.example", f.URL + "/tenant", "\u202e" + f.URL} {
		f.says["issuer"] = issuer
		wants(t, "another", w.try(t), "the metadata is of another authorization server")
	}
}

// TestPlain (RFC 9700 2.1.1): a server that takes PKCE without S256 only gets no login; one that
// says nothing gets S256.
func TestPlain(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	wants(t, "S256", w.try(t), "")
	var warnings []string
	f.says["code_challenge_methods_supported"] = nil
	_, err := w.keeper.Login(t.Context(), w.target, Login{Scheme: w.scheme, Show: visitor(t),
		Warn: func(s string) { warnings = append(warnings, s) }})
	if err != nil || len(warnings) != 1 || f.tokens != 2 { // the fake checks the verifier
		t.Errorf("nothing said: %v, %q", err, warnings)
	}
	visits := f.count("/authorize")
	for _, methods := range [][]string{{"plain"}, {}} {
		f.says["code_challenge_methods_supported"] = methods
		wants(t, "without S256", w.try(t), "does not take PKCE with S256")
	}
	if f.count("/authorize") != visits {
		t.Error("somebody was sent to log in")
	}
}

// TestState: what does not know the state neither logs in nor ends the login, and an answer counts
// once.
func TestState(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	statuses := make(chan []int, 1)
	f.visits = func(redirect string) {
		u, _ := url.Parse(redirect)
		ask := func(change func(url.Values)) int {
			q := u.Query()
			change(q)
			other := *u
			other.RawQuery = q.Encode()
			res, err := http.Get(other.String())
			if err != nil {
				return 0
			}
			res.Body.Close()
			return res.StatusCode
		}
		statuses <- []int{
			ask(func(q url.Values) { q.Set("state", "guessed"); q.Set("code", "stolen") }),
			ask(func(q url.Values) { q.Del("state") }),
			ask(func(q url.Values) { q.Add("code", "stolen") }),
			ask(func(url.Values) {}),
			ask(func(url.Values) {}), // replayed; the login may be over
		}
	}
	wants(t, "the login", w.try(t), "")
	got := <-statuses
	for i, want := range []int{400, 400, 400, 200} {
		if got[i] != want {
			t.Errorf("answer %d is %d, want %d", i, got[i], want)
		}
	}
	if got[4] == http.StatusOK || f.count("/token") != 1 {
		t.Errorf("the answer counts twice: %d, %d token requests", got[4], f.count("/token"))
	}
}

// TestAnswerOnce: an answer is taken once, also while nobody has read it yet.
func TestAnswerOnce(t *testing.T) {
	t.Parallel()
	b, err := listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(method, host, query string) int {
		r, _ := http.NewRequest(method, b.redirect+query, nil)
		r.Host = host
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := ask(http.MethodGet, "", "?code=c&state="); got != http.StatusBadRequest { // nothing is waited for
		t.Errorf("before a state is known the answer is %d", got)
	}
	b.expect("s")
	for i, want := range []int{400, 400, 200, 400} {
		method, host := http.MethodGet, ""
		switch i {
		case 0:
			method = http.MethodPost
		case 1:
			host = "mallory.example" // a name that was made to lead here
		}
		if got := ask(method, host, "?code=c&state=s"); got != want {
			t.Errorf("answer %d is %d, want %d", i, got, want)
		}
	}
}

// TestReplayedCode: a code that was used is refused by the server that is not ours, also with its
// verifier.
func TestReplayedCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.login(t) // the control: the first time it is good
	form := w.as.asked("authorization_code")[0]
	res, err := http.PostForm(w.as.URL+"/oauth/token", form)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("a replayed code answers %d", res.StatusCode)
	}
}

// TestRedirects: neither a token nor a key follows a redirect to another origin.
func TestRedirects(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 4)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	defer thief.Close()
	to := ""
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			got <- r.Header
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer api.Close()
	k := New(Options{})
	scheme := Scheme{Name: "key", Object: []byte(`{"type":"apiKey","in":"header","name":"X-Key"}`)}
	target := targetOf(t, api.URL, []Scheme{scheme})
	if err := k.Keep(t.Context(), target, scheme, "s3cret"); err != nil {
		t.Fatal(err)
	}
	send := func(check func(*http.Request, []*http.Request) error) error {
		r, _ := http.NewRequest(http.MethodGet, api.URL+"/go", nil)
		if err := k.Sign(t.Context(), target, r); err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{CheckRedirect: check}).Do(r)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	to = "/here"
	if err := send(CheckRedirect); err != nil || (<-got).Get("X-Key") != "s3cret" {
		t.Errorf("within the origin: %v", err)
	}
	to = thief.URL + "/take"
	if err := send(nil); err != nil || (<-got).Get("X-Key") != "s3cret" { // the attack works on a client without it
		t.Errorf("the attack: %v", err)
	}
	if err := send(CheckRedirect); !errors.Is(err, ErrRedirected) || len(got) != 0 {
		t.Errorf("to another origin: %v, %d requests", err, len(got))
	}
	to = "/go"
	if err := send(CheckRedirect); err == nil {
		t.Error("redirects without end are followed")
	}
}

// TestOtherOrigin: a request to anything but the API's origin is not signed.
func TestOtherOrigin(t *testing.T) {
	t.Parallel()
	k := New(Options{})
	scheme := Scheme{Name: "key", Object: []byte(`{"type":"http","scheme":"bearer"}`)}
	target := targetOf(t, "https://api.example/v1", []Scheme{scheme})
	if err := k.Keep(t.Context(), target, scheme, "s3cret"); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://api.example/v1/things": "", "https://API.example:443/": "",
		"https://api.example:8443/": "are not sent to", "http://api.example/": "are not sent to",
		"https://api.example.mallory.example/": "are not sent to", "https://mallory.example/?https://api.example": "are not sent to",
	} {
		r, _ := http.NewRequest(http.MethodGet, address, nil)
		wants(t, address, k.Sign(t.Context(), target, r), want)
		if signed := r.Header.Get("Authorization") != ""; signed == (want != "") {
			t.Errorf("%s: signed %v", address, signed)
		}
	}
	plain := targetOf(t, "http://api.example/v1", []Scheme{scheme})
	wants(t, "over http", k.Keep(t.Context(), plain, scheme, "s3cret"), "https://")
	key := Key{Principal: "local", Resource: "http://api.example", Scheme: "key"} // as an older version kept it
	if err := k.store.put(t.Context(), key, &record{Kind: Bearer, Value: "s3cret"}); err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequest(http.MethodGet, "http://api.example/v1", nil)
	wants(t, "signed for http", k.Sign(t.Context(), plain, r), "https://")
	if len(r.Header) != 0 {
		t.Error("a key goes over http")
	}
	other := target
	other.Principal = "mallory"
	r, _ = http.NewRequest(http.MethodGet, "https://api.example/v1", nil)
	if err := k.Sign(t.Context(), other, r); !errors.Is(err, ErrLoginNeeded) || len(r.Header) != 0 {
		t.Errorf("for another principal: %v", err)
	}
}

// TestEndpoints: a secret goes over https only, or stays on this machine, and only an API of this
// machine may send us to it.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]string{ // for an API of this machine, and for another one
		"https://as.example/token":               {"", ""},
		"http://as.example/token":                {"https://", "https://"},
		"http://127.0.0.1:8080/token":            {"", "of this machine"},
		"http://localhost/token":                 {"", "of this machine"},
		"https://[::1]/token":                    {"", "of this machine"},
		"http://127.0.0.1.mallory.example/token": {"https://", "https://"},
		"file:///etc/passwd":                     {"with a host", "with a host"},
		"ftp://as.example/":                      {"https://", "https://"},
		"https://user:pw@as.example/":            {"without a user", "without a user"},
		"https://as.example/#x":                  {"fragment", "fragment"},
		"https://as.example/?client_id=mallory":  {"must not have client_id", "must not have client_id"},
		"https://as.example/?tenant=1":           {"", ""},
		"https://\u0430s.example/":               {"ASCII", "ASCII"},
		"":                                       {"1 to", "1 to"},
		"https://as.example/" + strings.Repeat("a", maxAddress): {"1 to", "1 to"},
	} {
		for i, local := range []bool{true, false} {
			_, err := endpoint("it", address, nil, local)
			wants(t, address, err, want[i])
		}
	}
	w, f := newFakeWorld(t)
	f.says["token_endpoint"] = "http://as.example/token"
	wants(t, "a login", w.try(t), "the token endpoint")
}

// TestOneRenewal: a token is renewed once, whoever needs it, in all processes.
func TestOneRenewal(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	wants(t, "the login", w.try(t), "")
	w.spoil(t, expire)
	before := f.count("/token")
	var all sync.WaitGroup
	for i := range 16 {
		keeper := w.keeper
		if i%2 == 1 { // another process
			keeper = New(Options{Store: openStore(t, w.store.root.Name())})
		}
		all.Go(func() {
			r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
			if err := keeper.Sign(t.Context(), w.target, r); err != nil || r.Header.Get("Authorization") != "Bearer access-2" {
				t.Errorf("signed as %q: %v", r.Header.Get("Authorization"), err)
			}
		})
	}
	all.Wait()
	if n := f.count("/token") - before; n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
}

// TestRenewalIsKept: what a caller that gave up had begun is saved; what cannot be saved is not
// used.
func TestRenewalIsKept(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	wants(t, "the login", w.try(t), "")
	w.spoil(t, expire)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.answer = func(res http.ResponseWriter, form url.Values) { cancel(); f.give(res, form) }
	r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
	_ = w.keeper.Sign(ctx, w.target, r)
	if err := w.keeper.Sign(t.Context(), w.target, r); err != nil { // it waits for what was begun
		t.Error(err)
	}
	if got := w.held(t).record.Refresh; string(got) != "refresh-2" {
		t.Errorf("kept %q", string(got))
	}
	w.spoil(t, expire)
	f.answer = func(res http.ResponseWriter, form url.Values) {
		_ = os.RemoveAll(w.store.root.Name()) // nothing can be written there
		f.give(res, form)
	}
	r, _ = http.NewRequest(http.MethodGet, w.api.URL, nil)
	wants(t, "an unsaved token", w.keeper.Sign(t.Context(), w.target, r), "locking the credentials")
	if len(r.Header) != 0 {
		t.Error("it is used")
	}
}

// TestLogoutDuringRenewal: a renewal that goes on brings nothing back that a logout forgets, and
// the logout revokes what the renewal got.
func TestLogoutDuringRenewal(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	revoked := make(chan string, 4)
	f.says["revocation_endpoint"] = f.URL + "/revoke"
	f.seen = map[string]func(http.ResponseWriter, *http.Request){"/revoke": func(_ http.ResponseWriter, r *http.Request) {
		revoked <- r.FormValue("token")
	}}
	wants(t, "the login", w.try(t), "")
	w.spoil(t, expire)
	var all sync.WaitGroup
	f.answer = func(res http.ResponseWriter, form url.Values) {
		all.Go(func() { // it waits for the renewal
			if gone, problems, err := w.keeper.Logout(t.Context(), "local", w.target.Resource); len(gone) != 1 || len(problems) > 0 || err != nil {
				t.Errorf("logout: %+v, %q, %v", gone, problems, err)
			}
		})
		f.give(res, form)
	}
	r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
	wants(t, "the renewal", w.keeper.Sign(t.Context(), w.target, r), "")
	all.Wait()
	if left, err := w.keeper.Status(); len(left) != 0 || err != nil {
		t.Errorf("left: %+v (%v)", left, err)
	}
	if one, two := <-revoked, <-revoked; one != "refresh-2" || two != "access-2" {
		t.Errorf("revoked: %q and %q", one, two)
	}
}

// TestNoSecrets: no error has a secret that was sent, whatever a server answers, nor anything
// invisible.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	wants(t, "the login", w.try(t), "")
	w.spoil(t, expire)
	for _, text := range []string{"no: refresh-1", "no \u202e\x1b[2Jrefresh", strings.Repeat("n", 1<<16)} {
		f.answer = func(res http.ResponseWriter, _ url.Values) {
			res.Header().Set("Content-Type", "application/x-www-form-urlencoded")
			res.WriteHeader(http.StatusBadRequest)
			_, _ = res.Write([]byte(url.Values{"error": {"server_error"}, "error_description": {text}}.Encode()))
		}
		r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
		err := w.keeper.Sign(t.Context(), w.target, r)
		if err == nil || !strings.Contains(err.Error(), "server_error") {
			t.Fatalf("the error is %v", err)
		}
		if s := err.Error(); strings.Contains(s, "refresh-1") || len(s) > 500 || strings.ContainsAny(s, "\u202e\x1b") {
			t.Errorf("the error is %q", s)
		}
	}
	f.answer = func(res http.ResponseWriter, _ url.Values) { // a token that would add a header
		res.Header().Set("Content-Type", "application/json")
		_, _ = res.Write([]byte(`{"access_token":"a\r\nX-Evil: 1","token_type":"bearer"}`))
	}
	r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
	wants(t, "a token with a line end", w.keeper.Sign(t.Context(), w.target, r), "cannot be sent")
	f.answer = func(res http.ResponseWriter, _ url.Values) {
		res.Header().Set("Location", f.URL+"/elsewhere")
		res.WriteHeader(http.StatusTemporaryRedirect)
	}
	wants(t, "a redirect", w.keeper.Sign(t.Context(), w.target, r), "Temporary Redirect")
	if f.count("/elsewhere") != 0 {
		t.Error("the refresh token was sent where the server redirects")
	}
}

// TestPersonGivesUp: the wait ends with its context, and with a refusal.
func TestPersonGivesUp(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	f.back = func(v url.Values) {
		v.Del("code")
		v.Set("error", "access_denied")
		v.Set("error_description", "not \x1bme")
	}
	wants(t, "declined", w.try(t), `"access_denied": not me`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := w.keeper.Login(ctx, w.target, Login{Scheme: w.scheme, Show: func(Prompt) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
