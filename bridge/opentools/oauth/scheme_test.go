package oauth

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

func scheme(name, object string) Scheme { return Scheme{Name: name, Object: []byte(object)} }

// certificate is one with its key, in PEM.
func certificate(t *testing.T) Secret {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Secret(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// TestSchemes (O14, 3.5): every kind of key goes to its place, in the place of what a request has
// there.
func TestSchemes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		object string
		secret Secret
		want   string // of the request
	}{
		{`{"type":"http","scheme":"Bearer"}`, "a.b-c", "Authorization: Bearer a.b-c"},
		{`{"type":"http","scheme":"basic"}`, "user:pass word:1", "Authorization: Basic dXNlcjpwYXNzIHdvcmQ6MQ=="},
		{`{"type":"apiKey","in":"header","name":"X-Key"}`, "k", "X-Key: k"},
		{`{"type":"apiKey","in":"header","name":"Authorization"}`, "k", "Authorization: k"},
		{`{"type":"apiKey","in":"query","name":"api key"}`, "a&b=c", "/thing?x=1&api+key=a%26b%3Dc"},
		{`{"type":"apiKey","in":"query","name":"x"}`, "mine", "/thing?x=mine "},
		{`{"type":"apiKey","in":"cookie","name":"sid"}`, "k", "Cookie: other=1; sid=k\r"},
	} {
		k := New(Options{})
		s := scheme("s", test.object)
		target := targetOf(t, "https://api.example", []Scheme{s})
		if err := k.Keep(t.Context(), target, s, test.secret); err != nil {
			t.Errorf("%s: %v", test.object, err)
			continue
		}
		r, _ := http.NewRequest(http.MethodGet, "https://api.example/thing?x=1", nil)
		r.Header.Set("Cookie", "other=1; sid=of-a-model")
		address := *r.URL
		if err := k.Sign(t.Context(), target, r); err != nil {
			t.Errorf("%s: %v", test.object, err)
		}
		var b strings.Builder
		_ = r.Write(&b)
		if !strings.Contains(b.String(), test.want) || strings.Contains(test.want, "sid=") && strings.Contains(b.String(), "model") {
			t.Errorf("%s: the request is %q, want %q", test.object, b.String(), test.want)
		}
		if address.String() != "https://api.example/thing?x=1" {
			t.Errorf("%s: the caller's URL changed", test.object)
		}
	}
}

// TestSecrets: what cannot be sent is refused before it is kept, and no error shows it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	good := certificate(t)
	for _, test := range []struct {
		object string
		secret Secret
		want   string
	}{
		{`{"type":"apiKey","in":"header","name":"X-Key"}`, "k\r\nX-Evil: 1", "visible characters"},
		{`{"type":"apiKey","in":"header","name":"X-Key"}`, "", "visible characters"},
		{`{"type":"apiKey","in":"header","name":"X-Key"}`, Secret(strings.Repeat("k", maxSecret+1)), "visible characters"},
		{`{"type":"apiKey","in":"header","name":"X-Key"}`, Secret(strings.Repeat("k", maxSecret)), ""},
		{`{"type":"apiKey","in":"cookie","name":"sid"}`, "a; admin=1", "semicolon"},
		{`{"type":"apiKey","in":"header","name":"Host"}`, "k", "not possible"},
		{`{"type":"apiKey","in":"header","name":"transfer-encoding"}`, "k", "not possible"},
		{`{"type":"apiKey","in":"header","name":"X-Key: 1\r\nX"}`, "k", "not possible"},
		{`{"type":"apiKey","in":"body","name":"k"}`, "k", "not possible"},
		{`{"type":"http","scheme":"basic"}`, "nocolon", "USER:PASSWORD"},
		{`{"type":"http","scheme":"digest"}`, "k", "not known"},
		{`{"type":"mutualTLS"}`, "k", "PEM"},
		{`{"type":"mutualTLS"}`, good, ""},
		{`{"type":"oauth2"}`, "k", "a login"},
		{`{"type":"\u001b[2J"}`, "k", "not known"},
		{`[]`, "k", "must be an object"},
	} {
		k := New(Options{})
		s := scheme("s", test.object)
		err := k.Keep(t.Context(), targetOf(t, "https://api.example", []Scheme{s}), s, test.secret)
		wants(t, test.object, err, test.want)
		if err != nil && (len(test.secret) > 8 && strings.Contains(err.Error(), string(test.secret)) || strings.ContainsAny(err.Error(), "\x1b\n")) {
			t.Errorf("%s: the error is %q", test.object, err)
		}
	}
}

// TestAlternatives (OpenAPI 4.8.30): of several alternatives the first one counts of which all
// credentials are there; of none, what is needed is said.
func TestAlternatives(t *testing.T) {
	t.Parallel()
	one, two := scheme("one", `{"type":"apiKey","in":"header","name":"X-One"}`), scheme("two", `{"type":"apiKey","in":"header","name":"X-Two"}`)
	login, odd := scheme("login", `{"type":"http","scheme":"bearer"}`), scheme("odd", `{"type":"http","scheme":"hoba"}`)
	pass, tls := scheme("pass", `{"type":"http","scheme":"basic"}`), scheme("tls", `{"type":"mutualTLS"}`)
	for _, test := range []struct {
		what string
		have []Scheme
		any  [][]Scheme
		want string // headers, or the error
	}{
		{"both of AND", []Scheme{one, two}, [][]Scheme{{one, two}}, "X-One X-Two"},
		{"half of AND", []Scheme{one}, [][]Scheme{{one, two}}, "with one, then log in to https://api.example with two"},
		{"the second of OR", []Scheme{two}, [][]Scheme{{one}, {two}}, "X-Two"},
		{"the first of OR", []Scheme{one, two}, [][]Scheme{{one}, {two}}, "X-One"},
		{"optional with", []Scheme{one}, [][]Scheme{{}, {one}}, "X-One"},
		{"optional without", nil, [][]Scheme{{one}, {}}, ""},
		{"nothing", []Scheme{one}, nil, ""},
		{"an unknown one is passed over", []Scheme{one}, [][]Scheme{{odd}, {one}}, "X-One"},
		{"unknown ones only", []Scheme{one}, [][]Scheme{{odd}}, "none of its security schemes is known"},
		{"of an unknown one the other is said", nil, [][]Scheme{{odd}, {login}}, "with login"},
		{"two in one place", []Scheme{login, pass}, [][]Scheme{{login, pass}}, "a login is needed"},
		{"one of them", []Scheme{login, pass}, [][]Scheme{{login}}, "Authorization"},
		{"with a certificate", []Scheme{tls, one}, [][]Scheme{{tls, one}}, "X-One"},
	} {
		k := New(Options{})
		target := targetOf(t, "https://api.example", test.any...)
		for _, s := range test.have {
			secret := Secret("k")
			switch s.Name {
			case "tls":
				secret = certificate(t)
			case "pass":
				secret = "a:b"
			}
			if err := k.Keep(t.Context(), target, s, secret); err != nil {
				t.Fatal(err)
			}
		}
		r, _ := http.NewRequest(http.MethodGet, "https://api.example/", nil)
		err := k.Sign(t.Context(), target, r)
		var names []string
		for _, name := range []string{"Authorization", "X-One", "X-Two"} {
			if r.Header.Get(name) != "" {
				names = append(names, name)
			}
		}
		switch got := strings.Join(names, " "); {
		case err != nil:
			wants(t, test.what, err, test.want)
			if !errors.Is(err, ErrLoginNeeded) || got != "" || !strings.Contains(test.want, " ") {
				t.Errorf("%s: %v with %q", test.what, err, got)
			}
		case got != test.want:
			t.Errorf("%s: the request has %q, want %q", test.what, got, test.want)
		}
		c, err := k.Certificate(target)
		if (c != nil) != (test.what == "with a certificate") || err != nil {
			t.Errorf("%s: the certificate is %v (%v)", test.what, c != nil, err)
		}
	}
}

// TestRefused: a key that is refused, and scopes that are missing, need a person; other answers do
// not.
func TestRefused(t *testing.T) {
	t.Parallel()
	w, _ := newFakeWorld(t)
	wants(t, "the login", w.try(t), "")
	w.spoil(t, func(r *record) { r.Scopes = []string{"read"} })
	answer := func(status int, header string) *http.Response {
		r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
		if err := w.keeper.Sign(t.Context(), w.target, r); err != nil {
			t.Fatal(err)
		}
		return &http.Response{StatusCode: status, Request: r, Header: http.Header{"Www-Authenticate": {header}}}
	}
	again, err := w.keeper.Refused(t.Context(), w.target,
		answer(403, `Bearer error="insufficient_scope", scope="read write \"x\" $(rm)"`))
	var needed *Needed
	if again || !errors.Is(err, ErrStepUp) || !errors.As(err, &needed) || strings.Join(needed.Scopes, " ") != "write $(rm)" {
		t.Fatalf("403: %v, %v", again, err)
	}
	wants(t, "its command", err, " for 'write $(rm)'")
	for _, res := range []*http.Response{answer(403, "Bearer"), answer(200, ""), answer(500, `Bearer error="insufficient_scope"`)} {
		if again, err := w.keeper.Refused(t.Context(), w.target, res); again || err != nil {
			t.Errorf("%d: %v, %v", res.StatusCode, again, err)
		}
	}
	old := answer(401, "Bearer")
	for range 2 { // the second one had been sent before the token was renewed
		if again, err := w.keeper.Refused(t.Context(), w.target, old); !again || err != nil {
			t.Errorf("401: %v, %v", again, err)
		}
	}
	if got := w.held(t).record.Access; got != "access-2" {
		t.Errorf("the token is %q", string(got))
	}
	w.spoil(t, func(r *record) { r.Refresh = "" })
	if again, err := w.keeper.Refused(t.Context(), w.target, answer(401, "Bearer")); again || !errors.Is(err, ErrLoginNeeded) {
		t.Errorf("401 without a refresh token: %v, %v", again, err)
	}
}

// TestCommands: a stranger's address is one word of the command that is shown.
func TestCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://api.example/v1?a=b": "'https://api.example/v1?a=b'", "https://api.example/v1": "https://api.example/v1",
		"a'; rm -rf ~ #": `'a'\''; rm -rf ~ #'`, "`id`": "%60id%60", "$(id)": "'$(id)'", "--x": "'--x'", "": "''", "a\nb": "'a b'",
	} {
		if got := word(text); got != want {
			t.Errorf("word(%q) is %s, want %s", text, got, want)
		}
	}
}

// FuzzScheme: whatever a document and a person say, a request that is signed is one request, to the
// same place.
func FuzzScheme(f *testing.F) {
	f.Add(`{"type":"apiKey","in":"header","name":"X-Key"}`, "k")
	f.Add(`{"type":"apiKey","in":"query","name":"a&b"}`, "c&d #")
	f.Add(`{"type":"apiKey","in":"cookie","name":"sid"}`, "a=b")
	f.Add(`{"type":"http","scheme":"basic"}`, "u:p\r\nX: y")
	f.Fuzz(func(t *testing.T, object, secret string) {
		k, s := New(Options{}), scheme("s", object)
		target := targetOf(t, "https://api.example/v1", []Scheme{s})
		if k.Keep(t.Context(), target, s, Secret(secret)) != nil {
			return
		}
		r, _ := http.NewRequest(http.MethodGet, "https://api.example/v1?x=1", nil)
		if err := k.Sign(t.Context(), target, r); err != nil {
			t.Fatalf("kept, and not signed: %v", err)
		}
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := http.ReadRequest(bufio.NewReader(strings.NewReader(b.String())))
		if err != nil || back.URL.Path != "/v1" || back.Host != "api.example" || len(back.Header) > 2 {
			t.Errorf("the request is %q (%v)", b.String(), err)
		}
	})
}
