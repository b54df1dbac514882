package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// page is an operators' page behind its guards, as it is served on a port.
type page struct {
	*bridge.Bridge
	Router *bridgetest.Router
	kept   *store.Store
	links  *console.Links
	url    string
}

// The credentials that an operator configured.
const (
	answerer = "token-of-answerer"
	viewing  = "token-of-viewer"
	shopper  = "token-of-shopper" // sees the site shop only
	agent    = "token-of-agent"
)

func servePage(t *testing.T, kept *store.Store, o console.Options) *page {
	t.Helper()
	return servePageOf(t, kept, o, bridge.Options{})
}

// servePageOf is servePage with options of the bridge.
func servePageOf(t *testing.T, kept *store.Store, o console.Options, of bridge.Options) *page {
	t.Helper()
	router := bridgetest.NewRouter().Add("shop", bridgetest.Asking("buy", ""), bridgetest.Tool("find", ""))
	if of.Memory = kept.Memory; o.Records != nil {
		of.Observe = o.Records.Observe
	}
	b, err := bridge.New(router, of)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{Bridge: b, Router: router, kept: kept, links: &console.Links{}}
	if o.Records != nil {
		o.Records.Gather(t.Context(), b, "here")
	}
	done := make(chan struct{})
	logins := console.NewLogins(kept.Logins)
	o.Done, o.Links, o.Logins = done, p.links, logins
	o.Node = "here"
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = transport.Guard(transport.NewMux(console.New(b, o).Routes()...), transport.Options{
		Listen: server.Listener.Addr().String(), Open: console.PagePaths, Tokens: logins.Caller,
		Callers: []transport.Credential{
			{Caller: bridge.Caller{Name: "answerer", May: []bridge.Right{bridge.MayAnswer}}, Token: answerer},
			{Caller: bridge.Caller{Name: "viewer", May: []bridge.Right{bridge.MayView}}, Token: viewing},
			{Caller: bridge.Caller{Name: "shopper", May: []bridge.Right{bridge.MayAnswer, bridge.MayCall}, Sites: []string{"shop"}}, Token: shopper},
			{Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}, Token: agent},
		}})
	server.Start()
	p.url = server.URL
	p.links.Serve(p.url + "/")
	t.Cleanup(func() {
		close(done)
		http.DefaultClient.CloseIdleConnections()
		server.Close()
		b.Close()
	})
	return p
}

func memory(t *testing.T) *store.Store {
	t.Helper()
	s := store.Memory(store.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// send makes a request with a token, and more headers.
func (p *page) send(t *testing.T, token, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// as returns the status and the body of a reply.
func (p *page) as(t *testing.T, token, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	resp := p.send(t, token, method, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("%s %s may be kept: %q", method, path, got)
	}
	return resp.StatusCode, string(text)
}

// code returns the code of a new link for a person of that name.
func (p *page) code(t *testing.T, name string) string {
	t.Helper()
	link, err := p.links.New(t.Context(), name, time.Now())
	_, code, found := strings.Cut(link, "#once=")
	if err != nil || !found {
		t.Fatalf("a link for %s is %q, %v", name, link, err)
	}
	return code
}

// login logs a person of that name in, and returns the token.
func (p *page) login(t *testing.T, name string) string {
	t.Helper()
	code := p.code(t, name)
	status, body := p.as(t, "", http.MethodPost, "/api/login", fmt.Sprintf(`{"code":%q}`, code))
	var in struct {
		Token string
		Until time.Time
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil || status != http.StatusOK || len(in.Token) != 52 || time.Until(in.Until) < 167*time.Hour || time.Until(in.Until) > 168*time.Hour {
		t.Fatalf("the login of %s: %d %s", name, status, body)
	}
	return in.Token
}

// TestLogins: a link is good for a token of its own, once; a token that was ended is nobody's, and
// the other one goes on.
func TestLogins(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	ada, bob := p.login(t, "ada"), p.login(t, "bob")
	if ada == bob {
		t.Error("two logins have one token")
	}
	code := p.code(t, "eve")
	for i, want := range []int{http.StatusBadRequest, http.StatusOK, http.StatusForbidden} {
		body := fmt.Sprintf(`{"code":%q}`, code)
		if i == 0 {
			body = fmt.Sprintf(`{"code":%q,"more":1}`, code)
		}
		if status, body := p.as(t, "", http.MethodPost, "/api/login", body); status != want {
			t.Errorf("attempt %d: %d %s", i, status, body)
		}
	}
	status, body := p.as(t, ada, http.MethodGet, "/api/logins?limit=2", "")
	var list struct {
		Items []struct {
			Node, ID, Name string
			Current        bool
			Rights         []bridge.Right
		}
		Next *string
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Items) != 2 || list.Next == nil ||
		list.Items[0].Name != "ada" || !list.Items[0].Current || list.Items[1].Current || list.Items[0].Node != "here" || fmt.Sprint(list.Items[0].Rights) != "[view answer call]" {
		t.Fatalf("the list: %d %s", status, body)
	}
	if strings.Contains(body, ada) || strings.Contains(body, bob) {
		t.Error("the list has a token")
	}
	if _, rest := p.as(t, ada, http.MethodGet, "/api/logins?before="+*list.Next, ""); !strings.Contains(rest, `"name":"eve"`) || strings.Contains(rest, "bob") || !strings.Contains(rest, `"next":null`) {
		t.Errorf("the rest of the list: %s", rest)
	}
	if status, body := p.as(t, ada, http.MethodDelete, "/api/logins/"+list.Items[1].ID, ""); status != http.StatusOK {
		t.Errorf("ending bob's: %d %s", status, body)
	}
	if status, _ := p.as(t, bob, http.MethodGet, "/api/questions", ""); status != http.StatusForbidden {
		t.Errorf("bob goes on with %d", status)
	}
	if status, _ := p.as(t, ada, http.MethodGet, "/api/questions", ""); status != http.StatusOK {
		t.Errorf("ada goes on with %d", status)
	}
	if status, body := p.as(t, answerer, http.MethodDelete, "/api/login", ""); status != http.StatusConflict {
		t.Errorf("a configured credential logs out: %d %s", status, body)
	}
	if status, body := p.as(t, ada, http.MethodDelete, "/api/login", ""); status != http.StatusOK {
		t.Errorf("logging out: %d %s", status, body)
	}
	if status, _ := p.as(t, ada, http.MethodGet, "/api/questions", ""); status != http.StatusForbidden {
		t.Errorf("ada goes on with %d", status)
	}
}

// TestLinksOfNodes: the link of one node logs in at every other, once; what another one keeps of it shows no code.
// While that cannot be reached, the link is not used.
func TestLinksOfNodes(t *testing.T) {
	o := &shared{all: map[string]string{}, taken: map[string]string{}}
	kept := memory(t)
	a, b := servePage(t, kept, console.Options{}), servePage(t, kept, console.Options{})
	a.links.Once, b.links.Once = o, o
	code := a.code(t, "ada")
	for name := range o.all {
		if strings.Contains(name, code) {
			t.Errorf("the code is in %q", name)
		}
	}
	body := fmt.Sprintf(`{"code":%q}`, code)
	o.away = true
	if status, text := b.as(t, "", http.MethodPost, "/api/login", body); status != http.StatusServiceUnavailable || !strings.Contains(text, "NO_QUORUM") {
		t.Errorf("while it cannot be reached: %d %s", status, text)
	}
	if _, err := b.links.New(t.Context(), "ada", time.Now()); bridge.AsError(err).Reason != bridge.NoQuorum {
		t.Errorf("a link that nobody keeps: %v", err)
	}
	if !a.links.Waits(console.LinkID(code), time.Now()) {
		t.Error("the link does not wait")
	}
	o.away = false
	status, text := b.as(t, "", http.MethodPost, "/api/login", body)
	if status != http.StatusOK {
		t.Errorf("at the other node: %d %s", status, text)
	}
	for _, p := range []*page{a, b} {
		if status, text := p.as(t, "", http.MethodPost, "/api/login", body); status != http.StatusForbidden {
			t.Errorf("a second time: %d %s", status, text)
		}
		if all, err := kept.Logins.All(t.Context()); err != nil || len(all) != 1 || all[0].Name != "ada" {
			t.Errorf("the logins are %+v, %v", all, err)
		}
	}
	if own := b.login(t, "bob"); own == "" || b.links.Waits(console.LinkID(code), time.Now()) {
		t.Error("a link that was used waits")
	}
}

// shared keeps what counts once, as an engine does that can be away.
type shared struct {
	all, taken map[string]string
	away       bool
}

func (s *shared) reach() error {
	if s.away {
		return bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun, "It cannot be reached.")
	}
	return nil
}

// Put implements bridge.Once.
func (s *shared) Put(_ context.Context, name string, value []byte, _ time.Time) (bool, error) {
	if err := s.reach(); err != nil {
		return false, err
	}
	s.all[name] = string(value)
	return true, nil
}

// Take implements bridge.Once.
func (s *shared) Take(_ context.Context, name string) ([]byte, bool, error) {
	if err := s.reach(); err != nil {
		return nil, false, err
	}
	value, first := s.all[name], s.taken[name] == ""
	s.taken[name] = value
	return []byte(value), value != "" && first, nil
}

// TestLoginOutlivesProcess: what is kept is no token, and lets its holder in after a restart.
func TestLoginOutlivesProcess(t *testing.T) {
	dir := t.TempDir() + "/data"
	kept, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	token := servePage(t, kept, console.Options{}).login(t, "ada")
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	if files := readFiles(t, dir); strings.Contains(files, token) || !strings.Contains(files, "ada") {
		t.Error("the token is kept, or the login is not")
	}
	if kept, err = store.Open(t.Context(), store.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	if status, body := servePage(t, kept, console.Options{}).as(t, token, http.MethodGet, "/api/questions", ""); status != http.StatusOK {
		t.Errorf("after a restart: %d %s", status, body)
	}
}

// TestRights: each right allows what it says, and no more.
func TestRights(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	id := p.asks(t)
	own := p.login(t, "ada")
	for _, x := range []struct {
		method, path, body string
		view               bool // the right view is enough
	}{
		{"GET", "/api/questions", "", true},
		{"GET", "/api/questions/" + id, "", true},
		{"GET", "/api/console", "", true},
		{"GET", "/api/logins", "", true},
		{"DELETE", "/api/logins/AAAAAAAA", "", false},
		{"GET", "/api/questions/" + id + "/picture", "", false},
		{"GET", "/api/questions/" + id + "/live", "", false},
		{"GET", "/api/connections", "", true},
		{"DELETE", "/api/connections/AAAAAAAA", "", false},
		{"POST", "/api/questions/" + id, `{"ok":1}`, false},
	} {
		for token, may := range map[string]bool{agent: false, viewing: x.view, answerer: true, own: true} {
			if status, body := p.as(t, token, x.method, x.path, x.body); (status != http.StatusForbidden) != may {
				t.Errorf("%s %s with %s: %d %s", x.method, x.path, token, status, body)
			}
		}
	}
	for _, token := range []string{answerer, own} {
		if status, body := p.as(t, token, http.MethodPost, "/api/links", `{}`); status != http.StatusForbidden || strings.Contains(body, "#once") {
			t.Errorf("a link comes over the network: %d %s", status, body)
		}
	}
}

// asks makes a call wait, and returns its question.
func (p *page) asks(t *testing.T) (id string) {
	t.Helper()
	_, s := p.Serve(t.Context(), &bridge.Call{Site: "shop", Tool: "buy", Caller: bridge.Local(), Input: bridgetest.JSON(`{"a":1}`)})
	q, _ := s.Err.Details["question"].(*bridge.Question)
	return q.ID
}

// TestEndedLoginEndsStreams: a login that ends takes its streams with it, here and from another
// process, within a second; those of the others go on.
func TestEndedLoginEndsStreams(t *testing.T) {
	kept := memory(t)
	p := servePage(t, kept, console.Options{})
	for _, x := range []struct {
		name string
		end  func(id string)
	}{
		{"here", func(id string) { p.as(t, answerer, http.MethodDelete, "/api/logins/"+id, "") }},
		{"elsewhere", func(id string) { _, _ = kept.Logins.End(context.Background(), id) }},
	} {
		ada, bob := p.login(t, "ada"), p.login(t, "bob")
		var streams []*bufio.Reader
		for _, token := range []string{ada, bob} {
			resp := p.send(t, token, http.MethodGet, "/api/events", "")
			defer resp.Body.Close()
			s := bufio.NewReader(resp.Body)
			if line, err := s.ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("the stream begins with %q, %v", line, err)
			}
			streams = append(streams, s)
		}
		all, err := kept.Logins.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		x.end(all[len(all)-2].ID)
		if _, err := io.Copy(io.Discard, streams[0]); err != nil || time.Since(began) > time.Second {
			t.Errorf("%s: it ended after %v, %v", x.name, time.Since(began), err)
		}
		id := p.asks(t)
		for line := ""; !strings.Contains(line, id); {
			if line, err = streams[1].ReadString('\n'); err != nil {
				t.Fatalf("%s: the other stream ended: %v", x.name, err)
			}
		}
	}
}

// TestOtherPorts: a page of another port of this machine can call nothing and read nothing, with
// or without a token; the page itself can.
func TestOtherPorts(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	token := p.login(t, "ada")
	for _, x := range [][3]string{{"GET", "/api/questions"}, {"GET", "/api/events"}, {"GET", "/api/logins"}, {"POST", "/api/login", `{"code":"x"}`},
		{"DELETE", "/api/login"}, {"GET", "/"}} {
		for _, origin := range []string{"http://127.0.0.1:1", "http://localhost:1", "null", "https://evil.example"} {
			resp := p.send(t, token, x[0], x[1], x[2], "Origin", origin)
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" || len(resp.Cookies()) > 0 {
				t.Errorf("%s %s from %s: %d, %v", x[0], x[1], origin, resp.StatusCode, resp.Header)
			}
		}
	}
	if status, body := p.as(t, token, http.MethodGet, "/api/questions", "", "Origin", p.url); status != http.StatusOK {
		t.Errorf("the page itself: %d %s", status, body)
	}
}

// readFiles returns what all files of a folder hold.
func readFiles(t *testing.T, dir string) (all string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all += string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
