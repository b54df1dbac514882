package oauth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/oauth"
)

// direct serves the client of a verifier without a network, so that time can be fake.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() { defer close(done); d.handler.ServeHTTP(w, r) }()
	select {
	case <-done:
		return w.Result(), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestSlowIssuer (rules 8, 9): an issuer that hangs holds each request for 5 seconds at most,
// however many wait, is asked once for all of them, and no caller of another one or with a kept
// token waits.
func TestSlowIssuer(t *testing.T) {
	slow, quick := newIssuer(t), newIssuer(t) // outside of the bubble: they have listeners
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var hanging atomic.Bool
		var asked atomic.Int64
		mux := http.NewServeMux()
		mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			i := quick
			if strings.Contains(slow.URL, r.URL.Host) {
				i = slow
				if asked.Add(1); hanging.Load() {
					<-hang
				}
			}
			i.Config.Handler.ServeHTTP(w, r)
		}))
		o := slow.options()
		second := quick.trusted()
		second.Name = "quick"
		o.Issuers, o.Client = append(o.Issuers, second), &http.Client{Transport: direct{mux}}
		v := oauth.New(o)
		ask := func(token string) (*transport.Refusal, time.Duration) {
			began := time.Now()
			_, refused := v.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), token)
			return refused, time.Since(began)
		}
		sign := func(i *issuer, sub string) string {
			return i.token("rsa", jose.RS256, map[string]any{"sub": sub, "iat": nil, "exp": time.Now().Add(48 * time.Hour).Unix()})
		}
		kept := sign(slow, "kept")
		if refused, _ := ask(kept); refused != nil {
			t.Fatal(refused.Error)
		}
		hanging.Store(true)
		fresh := oauth.New(o)
		was := asked.Load()
		var all sync.WaitGroup
		for n := range 100 {
			token := sign(slow, fmt.Sprint(n))
			all.Go(func() {
				began := time.Now()
				_, refused := fresh.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), token)
				if took := time.Since(began); refused == nil || transport.Status(refused.Error) != 503 || took > 5*time.Second {
					t.Errorf("it took %v: %+v", took, refused)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, refused := fresh.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), sign(quick, "ann")); refused != nil || time.Since(began) != 0 {
			t.Errorf("a caller of another issuer waits %v: %+v", time.Since(began), refused)
		}
		if refused, took := ask(kept); refused != nil || took != 0 {
			t.Errorf("a caller whose token is kept waits %v: %+v", took, refused)
		}
		all.Wait()
		if n := asked.Load() - was; n != 1 {
			t.Errorf("100 callers: %d requests", n)
		}
		if _, refused := fresh.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), sign(slow, "at once")); refused == nil || refused.Error.Retry != 5*time.Second {
			t.Errorf("at once: %+v", refused)
		}
		hanging.Store(false)
		close(hang)
		<-time.After(5 * time.Second) // as Retry-After says
		if _, refused := fresh.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), sign(slow, "later")); refused != nil {
			t.Errorf("it is back, and who came again as told is refused: %v", refused.Error)
		}
	})
}

// TestClocks (reach 3): clocks may differ by 30 seconds, and not by 31.
func TestClocks(t *testing.T) {
	i := newIssuer(t)
	o := i.options()
	now := time.Now().Truncate(time.Second)
	o.Now = func() time.Time { return now }
	v := oauth.New(o)
	for name, test := range map[string]struct {
		change map[string]any
		good   bool
	}{
		"expired 29 s ago":  {map[string]any{"exp": now.Add(-29 * time.Second).Unix()}, true},
		"expired 31 s ago":  {map[string]any{"exp": now.Add(-31 * time.Second).Unix()}, false},
		"begins in 29 s":    {map[string]any{"nbf": now.Add(29 * time.Second).Unix()}, true},
		"begins in 31 s":    {map[string]any{"nbf": now.Add(31 * time.Second).Unix()}, false},
		"expires with 1970": {map[string]any{"exp": 0}, false},
		"expires before":    {map[string]any{"exp": -1}, false},
	} {
		c, refused := v.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), i.token("rsa", jose.RS256, test.change))
		if (refused == nil) != test.good {
			t.Errorf("%s: %+v", name, refused)
		}
		if refused == nil && !c.Expires.After(now) {
			t.Errorf("%s: its streams end at %v, before they begin", name, c.Expires)
		}
	}
	token := i.token("rsa", jose.RS256, map[string]any{"exp": now.Add(20 * time.Second).Unix()})
	caller := func() (bridge.Caller, *transport.Refusal) {
		return v.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), token)
	}
	if c, refused := caller(); refused != nil || !c.Expires.Equal(now.Add(20*time.Second)) {
		t.Errorf("a stream ends at %v: %+v", c.Expires, refused)
	}
	now = now.Add(51 * time.Second) // a kept token is not good for longer
	if _, refused := caller(); refused == nil {
		t.Error("a token that is kept outlives itself")
	}
}

// TestIntrospectionIsBounded (rule 8): strangers cannot have us ask an issuer about many tokens at
// once, nor wait for longer than 5 seconds, and the same token is asked about once.
func TestIntrospectionIsBounded(t *testing.T) {
	i := newIssuer(t)
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var now, most atomic.Int64
		mux := http.NewServeMux()
		mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/introspect" {
				select {
				case <-hang:
				case <-r.Context().Done():
				}
			}
			i.Config.Handler.ServeHTTP(w, r)
		}))
		o := i.options()
		o.Issuers[0].ClientID, o.Issuers[0].ClientSecret, o.Client = "me", "se/cret", &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/introspect" {
				defer now.Add(-1)
				for n := now.Add(1); ; {
					if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
						break
					}
				}
			}
			return direct{mux}.RoundTrip(r)
		})}
		o.Issuers[0].Grants[0].Match = nil
		o.Now = func() time.Time { return time.Now().Add(40 * 365 * 24 * time.Hour) } // as the issuer's, outside of the bubble
		v := oauth.New(o)
		var callers sync.WaitGroup
		for n := range 50 {
			callers.Go(func() {
				began := time.Now()
				_, refused := v.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), fmt.Sprint("garbage-", n))
				if took := time.Since(began); refused == nil || took > 5*time.Second {
					t.Errorf("garbage took %v", took)
				}
			})
		}
		callers.Wait()
		close(hang)
		synctest.Wait()
		if most.Load() != 8 {
			t.Errorf("the issuer was asked about %d tokens at once", most.Load())
		}
	})
}

// TestKeptTokens (reach 3): a token is verified once, for a minute, and 1,000 are kept at most.
func TestKeptTokens(t *testing.T) {
	i := newIssuer(t)
	_, key, err := ed25519.GenerateKey(rand.Reader) // its signatures are quick
	if err != nil {
		t.Fatal(err)
	}
	i.keys["ed"] = key
	o, now := i.options(), time.Now()
	o.Now = func() time.Time { return now } // none is over on a busy machine
	v := oauth.New(o)
	verify := func(sub string) {
		if _, refused := v.Verify(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil), i.token("ed", jose.EdDSA, map[string]any{"sub": sub})); refused != nil {
			t.Fatal(refused.Error)
		}
	}
	for n := range 1100 {
		verify(fmt.Sprint(n))
	}
	if n := oauth.Kept(v); n != 1000 {
		t.Errorf("%d tokens are kept", n)
	}
	get(t, server(t, v), "/mcp", "Authorization: Bearer bad")
	if n := oauth.Kept(v); n != 1000 {
		t.Errorf("a bad token is kept: %d", n)
	}
}
