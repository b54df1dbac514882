package transport_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

func named(name, token string, may []bridge.Right, sites ...string) transport.Credential {
	return transport.Credential{Caller: bridge.Caller{Name: name, May: may, Sites: sites}, Token: token}
}

// TestReplacedCallers (X5): what counts is the table of now, at once. A credential is
// revoked when it is gone, has another token, or may do less.
func TestReplacedCallers(t *testing.T) {
	t.Parallel()
	call, both := []bridge.Right{bridge.MayCall}, []bridge.Right{bridge.MayCall, bridge.MayAnswer}
	before := []transport.Credential{named("a", "token-a", both, "shop", "blog"), named("b", "token-b", call)}
	b := before[1]
	for _, x := range []struct {
		what    string
		a       []transport.Credential // what becomes of a
		revoked bool
		token   string // that a has then; "" is none
	}{
		{"the same", []transport.Credential{named("a", "token-a", both, "shop", "blog")}, false, "token-a"},
		{"in another order", []transport.Credential{named("a", "token-a", []bridge.Right{bridge.MayAnswer, bridge.MayCall}, "blog", "shop")}, false, "token-a"},
		{"more rights and sites", []transport.Credential{named("a", "token-a", append(both, bridge.MayElicit), "shop", "blog", "more")}, false, "token-a"},
		{"all sites", []transport.Credential{named("a", "token-a", both)}, false, "token-a"},
		{"another token", []transport.Credential{named("a", "token-new", both, "shop", "blog")}, true, "token-new"},
		{"another name", []transport.Credential{named("c", "token-a", both, "shop", "blog")}, true, "token-a"},
		{"less rights", []transport.Credential{named("a", "token-a", call, "shop", "blog")}, true, "token-a"},
		{"no rights", []transport.Credential{named("a", "token-a", nil, "shop", "blog")}, true, "token-a"},
		{"a site less", []transport.Credential{named("a", "token-a", both, "shop", "more")}, true, "token-a"},
		{"gone", nil, true, ""},
	} {
		t.Run(x.what, func(t *testing.T) {
			t.Parallel()
			seen := make(chan bridge.Caller, 10)
			live := &transport.Credentials{}
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen <- transport.CallerOf(r.Context())
				whoami(w, r)
			}), transport.Options{Callers: before, Credentials: live})
			ask := func(token string) (bridge.Caller, int) {
				r := s.get(t, "/", "Authorization: Bearer "+token)
				if r.StatusCode != http.StatusOK {
					r.wantError(t, 403, bridge.Forbidden)
					return bridge.Caller{}, r.StatusCode
				}
				return <-seen, r.StatusCode
			}
			oldA, _ := ask("token-a")
			oldB, _ := ask("token-b")
			var want []string
			if x.revoked {
				want = []string{"a"}
			}
			if got := live.Replace(append(x.a, b)); !slices.Equal(got, want) {
				t.Errorf("revoked are %q", got)
			}
			if oldA.IsRevoked() != x.revoked || oldB.IsRevoked() {
				t.Errorf("a is revoked: %v, b: %v", oldA.IsRevoked(), oldB.IsRevoked())
			}
			if _, status := ask("token-a"); (status == http.StatusOK) != (x.token == "token-a") {
				t.Errorf("the old token gives %d", status)
			}
			if x.token != "" {
				now, _ := ask(x.token)
				// A13: what stands for the old credential does not stand for a new one.
				if now.Credential == "" || (now.Credential == oldA.Credential) != (x.token == "token-a") || strings.Contains(now.Credential, "token") {
					t.Errorf("the credential is known as %q, and was as %q", now.Credential, oldA.Credential)
				}
				if now.IsRevoked() || len(now.May) != len(x.a[0].May) || len(now.Sites) != len(x.a[0].Sites) {
					t.Errorf("it is now %+v", now)
				}
			}
			if now, _ := ask("token-b"); now.Name != "b" || now.IsRevoked() {
				t.Errorf("the other caller is %+v", now)
			}
			s.get(t, "/").wantStatus(t, 401)
		})
	}
}

// TestNeverOpenAgain: a listener that asked for a credential once never serves local
// again; one that was open asks from when there are callers.
func TestNeverOpenAgain(t *testing.T) {
	t.Parallel()
	live := &transport.Credentials{}
	var local bridge.Caller
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local = transport.CallerOf(r.Context())
		whoami(w, r)
	}), transport.Options{Credentials: live})
	if got := live.Replace(nil); len(got) > 0 {
		t.Errorf("revoked are %q", got)
	}
	if got := s.get(t, "/"); !strings.Contains(got.body, `"caller":"local"`) || local.IsRevoked() {
		t.Fatalf("an open listener answers %s", got.body)
	}
	if got := live.Replace([]transport.Credential{named("a", "token-a", nil)}); !slices.Equal(got, []string{"local"}) || !local.IsRevoked() {
		t.Errorf("revoked are %q", got)
	}
	s.get(t, "/").wantStatus(t, 401)
	s.get(t, "/", "Authorization: Bearer token-a").wantStatus(t, 200)
	if got := live.Replace(nil); !slices.Equal(got, []string{"a"}) {
		t.Errorf("revoked are %q", got)
	}
	s.get(t, "/").wantStatus(t, 401)
	s.get(t, "/", "Authorization: Bearer token-a").wantStatus(t, 403)
	live.Replace([]transport.Credential{named("a", "token-a", nil)})
	s.get(t, "/", "Authorization: Bearer token-a").wantStatus(t, 200)
}

// TestReplacedUnderLoad: every request meets one table or the other, whole.
func TestReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	live := &transport.Credentials{}
	list := func(i int) []transport.Credential {
		return []transport.Credential{named("fixed", "token-fixed", nil), named(fmt.Sprint("of", i%2), fmt.Sprint("token-", i%2), nil)}
	}
	h := transport.Guard(http.HandlerFunc(whoami), transport.Options{Listen: "127.0.0.1:80", Callers: list(0), Credentials: live})
	ask := func(token string) string {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Host = "127.0.0.1:80"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range 300 {
				if got := ask("token-fixed"); !strings.Contains(got, `"caller":"fixed"`) {
					t.Errorf("who stays gets %s", got)
				}
				if got := ask(fmt.Sprint("token-", i%2)); !strings.Contains(got, fmt.Sprintf(`"caller":"of%d"`, i%2)) && !strings.Contains(got, "FORBIDDEN") {
					t.Errorf("who comes and goes gets %s", got)
				}
			}
		})
	}
	for i := range 300 {
		live.Replace(list(i))
	}
	wait.Wait()
}
