package opentools_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
)

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestCredentials: a call has the credentials of its caller, at the origin of its API and nowhere
// else; nobody is asked about a call that lacks a login, and no error and no log has a key.
func TestCredentials(t *testing.T) {
	t.Parallel()
	elsewhere := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere <- r.URL.String() + r.Header.Get("X-Key")
	}))
	defer other.Close()
	s := serve(t, "")
	s.document = strings.Replace(documentOf(operation("/save", "post", "save", `{}`)+","+operation("/read", "get", "read", free)), `"paths"`,
		`"security":[{"header":[],"query":[]}],"components":{"securitySchemes":{"header":{"type":"apiKey","in":"header","name":"X-Key"},"query":{"type":"apiKey","in":"query","name":"key"}}},"paths"`, 1)
	seen := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Key")+" "+r.URL.Query().Get("key"))
	}
	s.on("/save", seen)
	s.on("/read", seen)
	store, err := oauth.OpenStore("")
	if err != nil {
		t.Fatal(err)
	}
	keeper := oauth.New(oauth.Options{Store: store})
	log := &lines{}
	r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{{Site: bridge.Site{Name: "api", Origin: s.URL},
		URL: s.URL + "/openapi.json", Transport: direct, Keeper: keeper}}})
	t.Cleanup(r.Close)
	b, err := bridge.New(r, bridge.Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	asked := 0
	run := func(caller, tool string) string {
		c := bridge.Local()
		c.Name = caller
		yes := asking(func(bridge.Question) bridge.Answer { asked++; return bridge.Answer{OK: true} })
		return told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: tool, Caller: c, Input: bridgetest.JSON(`{}`), Asker: yes}))
	}
	for _, tool := range []string{"save", "read"} {
		if got := run("ann", tool); !strings.HasPrefix(got, "TOOL_ERROR  not_run: Nobody is logged in to "+s.URL) || strings.Contains(got, "auth login") || asked > 0 {
			t.Errorf("%s without a login: %s (%d questions)", tool, got, asked)
		}
	}
	server, _ := url.Parse(s.URL + "/")
	target := oauth.Target{Principal: "ann", Resource: server}
	for name, object := range map[string]string{"header": `{"type":"apiKey","in":"header","name":"X-Key"}`, "query": `{"type":"apiKey","in":"query","name":"key"}`} {
		if err := keeper.Keep(t.Context(), target, oauth.Scheme{Name: name, Object: []byte(object)}, oauth.Secret("s3cret-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := run("ann", "save"); got != `"s3cret-header s3cret-query"` || asked != 1 {
		t.Errorf("with keys: %s (%d questions)", got, asked)
	}
	if got := run("bob", "read"); !strings.HasPrefix(got, "TOOL_ERROR  not_run: Nobody is logged in") {
		t.Errorf("another caller: %s", got)
	}
	s.on("/read", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/steal", http.StatusTemporaryRedirect)
	})
	if got := run("ann", "read"); !strings.Contains(got, "to another origin, which is not followed") {
		t.Error(got)
	}
	s.on("/read", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if got := run("ann", "read"); !strings.Contains(got, "broke the connection off") || strings.Contains(got, "s3cret") {
		t.Error(got)
	}
	if len(elsewhere) > 0 || strings.Contains(log.String(), "s3cret") || !strings.Contains(log.String(), "tool=read") {
		t.Errorf("%d requests elsewhere; the log:\n%s", len(elsewhere), log)
	}
	if res, err := http.Get(other.URL); err != nil || len(elsewhere) != 1 {
		t.Errorf("the other origin cannot be asked: %v", err)
	} else {
		_ = res.Body.Close()
	}
}
