package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/revoked"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

// TestCredentialDigest: a credential with another token, other rights or other sites is another one; their
// order does not count.
func TestCredentialDigest(t *testing.T) {
	t.Parallel()
	digest := func(name, token string, sites []string, may ...bridge.Right) string {
		return credentialDigest(&transport.Credential{Caller: bridge.Caller{Name: name, May: may, Sites: sites}, Token: token})
	}
	is := digest("agent", "T", []string{"a", "b"}, bridge.MayCall, bridge.MayElicit)
	if again := digest("agent", "T", []string{"b", "a"}, bridge.MayElicit, bridge.MayCall); again != is {
		t.Error("the order counts")
	}
	seen := map[string]int{is: -1}
	for i, other := range []string{
		digest("agent2", "T", []string{"a", "b"}, bridge.MayCall, bridge.MayElicit), digest("agent", "U", []string{"a", "b"}, bridge.MayCall, bridge.MayElicit),
		digest("agent", "T", []string{"a"}, bridge.MayCall, bridge.MayElicit), digest("agent", "T", nil, bridge.MayCall, bridge.MayElicit),
		digest("agent", "T", []string{}, bridge.MayCall, bridge.MayElicit), digest("agent", "T", []string{"a", "b"}, bridge.MayCall),
	} {
		if at, there := seen[other]; there {
			t.Errorf("%d is the same as %d", i, at)
		}
		seen[other] = i
	}
}

// TestRevokedElsewhere: of the callers of a file, those that another node revoked are not served. Where that
// leaves none, nobody is, and a listener of this machine does not open to everybody.
func TestRevokedElsewhere(t *testing.T) {
	t.Parallel()
	list := revoked.New(revoked.Options{Records: records.NewMemory(), Names: []func(...string) string{func(parts ...string) string { return parts[1] }}})
	n := &node{cluster: &app.Cluster{}}
	n.cluster.Revoked = list
	one := config.Caller{Name: "agent", Token: "token-of-the-agent-1", May: []bridge.Right{bridge.MayCall}}
	conf := &config.Config{Callers: []config.Caller{one}}
	c := &callers{p: &program{conf: &config.Config{}}, file: conf, plan: plan{node: n}}
	status := func(token string) int {
		guards := transport.Options{Listen: "127.0.0.1:80", Callers: c.served(), Credentials: &c.faces}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = "127.0.0.1:80"
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		transport.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), guards).ServeHTTP(w, r)
		return w.Code
	}
	if got := status(one.Token); got != http.StatusOK {
		t.Fatalf("the control: %d", got)
	}
	n.revoke(conf, &config.Config{})
	if with, without := status(one.Token), status(""); with != http.StatusForbidden || without != http.StatusUnauthorized {
		t.Errorf("with its token %d, without one %d", with, without)
	}
	c = &callers{p: c.p, file: conf, plan: c.plan} // the next start, which never served it
	if with, without := status(one.Token), status(""); with != http.StatusForbidden || without != http.StatusUnauthorized {
		t.Errorf("after a start: with its token %d, without one %d", with, without)
	}
	n.revoke(&config.Config{}, conf)
	if got := status(one.Token); got != http.StatusOK {
		t.Errorf("given again: %d", got)
	}
}
