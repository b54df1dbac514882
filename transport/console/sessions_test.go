package console_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// scripted are sessions and browsers that a test sets.
type scripted struct {
	mu      sync.Mutex
	all     []bridge.SessionState
	changed func()
	state   string
	view    *bridgetest.View
}

func (s *scripted) All() []bridge.SessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]bridge.SessionState(nil), s.all...)
}

func (s *scripted) set(all ...bridge.SessionState) {
	s.mu.Lock()
	s.all = all
	s.mu.Unlock()
	s.changed()
}

func (s *scripted) CloseOne(id string, all bool) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range s.all {
		if x.ID != id {
			continue
		}
		if x.Running == 0 || all {
			s.all = append(s.all[:i:i], s.all[i+1:]...)
		}
		return x.Running, true
	}
	return 0, false
}

func (s *scripted) ViewOne(context.Context, string) (bridge.View, error) { return s.view, nil }

func (*scripted) PictureOne(_ context.Context, id string) ([]byte, error) {
	return []byte("picture of " + id), nil
}

func (s *scripted) NotifyOf(changed func()) { s.changed = changed }

func (*scripted) Pool() bridge.Pool {
	return bridge.Pool{Held: 4, Spare: 1, Queued: 2, Limit: 4, PerCaller: 3, Caller: "agent", Of: 3, Oldest: "bot", Since: time.Unix(1, 0)}
}

func (s *scripted) BrowserStates(weighed bool) []bridge.BrowserState {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := bridge.BrowserState{Name: "pool", Max: 7, State: s.state, Kind: "shell", Version: "Chrome/1", Since: time.Unix(2, 0), Tabs: 5, Started: 2, Lost: []bridge.LostBrowser{{At: time.Unix(3, 0), Cause: "silent"}}}
	if weighed {
		b.Memory = 1 << 30
	}
	return []bridge.BrowserState{b}
}

// TestSessions: who may view sees the sessions of their sites, of all processes, and the browsers; who may answer closes
// one, and a running call only where that is meant; the one stream tells of it.
func TestSessions(t *testing.T) {
	of := func(id, site string, running int) bridge.SessionState {
		return bridge.SessionState{ID: id, Caller: "agent", Site: site, Session: "s-" + id, Since: time.Unix(int64(len(id)), 0), Running: running, Address: "https://shop.example/?a=<b>"}
	}
	elsewhere := &scripted{state: "down"}
	b, err := bridge.New(bridgetest.NewRouter().Add("garden"), bridge.Options{Sessions: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	t.Cleanup(func() { close(over); b.Close() })
	elsewhere.set(of("aaa", "garden", 0))
	there := other{transport.Trusted(transport.NewMux(console.New(b, console.Options{Done: over, Node: "there", Pages: elsewhere}).Routes()...), person, transport.Options{})}
	s := &scripted{state: "running", view: bridgetest.NewView()}
	p := servePageOf(t, memory(t), console.Options{Pages: s, Peers: func() map[string]http.RoundTripper { return map[string]http.RoundTripper{"there": there} }}, bridge.Options{Sessions: s})
	s.set(of("a", "shop", 0), of("aa", "shop", 1), of("bank", "bank", 0))
	stream := p.events(t, viewing, "")
	if ev := stream.next(t); ev.event != "snapshot" || !strings.Contains(ev.text, `"sessions":[{"node":"here","id":"a"`) {
		t.Fatalf("it begins with %s %s", ev.event, ev.text)
	}
	_, body := p.as(t, viewing, http.MethodGet, "/api/sessions", "")
	for _, want := range []string{`"node":"here","id":"a","caller":"agent","site":"shop","session":"s-a"`, `"address":"https://shop.example/?a=<b>"`, `"domain":"shop.example"`, `"id":"bank"`, `"node":"there","id":"aaa"`, `"running":1`} {
		if !strings.Contains(body, want) {
			t.Errorf("the sessions are without %s: %s", want, body)
		}
	}
	if _, body := p.as(t, shopper, http.MethodGet, "/api/sessions", ""); strings.Contains(body, "bank") || strings.Contains(body, "there") || !strings.Contains(body, `"id":"a"`) {
		t.Errorf("who sees the shop only gets %s", body)
	}
	_, body = p.as(t, viewing, http.MethodGet, "/api/browsers", "")
	for _, want := range []string{`"node":"here","name":"pool","max":7,"state":"running","kind":"shell","version":"Chrome/1"`, `"pss":1073741824`, `"cause":"silent"`, `"state":"down"`,
		`"held":4,"spare":1,"queued":2,"limit":4,"perCaller":3,"most":{"caller":"agent","held":3},"oldest":{"caller":"bot"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the browsers are without %s: %s", want, body)
		}
	}
	for _, x := range []struct {
		token, path string
		status      int
		want        string
	}{
		{viewing, "/api/sessions/a", 403, `"right":"answer"`},
		{viewing, "/api/sessions/aaa?node=there", 403, `"right":"answer"`},
		{agent, "/api/sessions/a", 403, `"right":"answer"`},
		{shopper, "/api/sessions/bank", 404, "not there any more"},
		{shopper, "/api/sessions/aaa?node=there", 404, "does not run any more"},
		{answerer, "/api/sessions/none", 404, "not there any more"},
		{answerer, "/api/sessions/aa", 409, `"running":1`},
		{answerer, "/api/sessions/aa?running=end", 200, "ok"},
		{answerer, "/api/sessions/a", 200, "ok"},
		{answerer, "/api/sessions/a", 404, "not there any more"},
		{answerer, "/api/sessions/aaa?node=there", 200, "ok"},
	} {
		if status, body := p.as(t, x.token, http.MethodDelete, x.path, ""); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s: %d %s", x.path, status, body)
		}
	}
	s.all = append(s.all, of("b", "shop", 0))
	for token, want := range map[string]string{answerer: "picture of b", viewing: `"right":"answer"`, agent: `"right":"answer"`} {
		resp := p.send(t, token, http.MethodGet, "/api/sessions/b/picture", "")
		if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), want) || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("its picture is %d %s", resp.StatusCode, body)
		}
		_ = resp.Body.Close()
	}
	s.view.Show(bridge.Frame{JPEG: []byte("jpeg"), Width: 8, Height: 6})
	header := http.Header{"Authorization": {"Bearer " + viewing}}
	dialer, at := websocket.Dialer{Subprotocols: []string{console.LiveProtocol}}, strings.Replace(p.url, "http", "ws", 1)+"/api/sessions/b/live"
	if _, resp, err := dialer.DialContext(t.Context(), at, header); err == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer looks: %v", err)
	}
	header.Set("Authorization", "Bearer "+answerer)
	conn, resp, err := dialer.DialContext(t.Context(), at, header)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	live := &viewer{conn, t}
	if m := live.next(); m.Type != "state" || m.Question != nil || m.Over {
		t.Errorf("it begins with %+v", m)
	}
	if m := live.next(); m.Type != "size" || m.Width != 8 {
		t.Errorf("then comes %+v", m)
	}
	if m := live.next(); string(m.JPEG) != "jpeg" {
		t.Errorf("then comes %+v", m)
	}
	s.set(s.All()[:1]...)
	if m := live.next(); m.Type != "state" || !m.Over {
		t.Errorf("at the end comes %+v", m)
	}
	if _, _, err := conn.ReadMessage(); err == nil || !strings.Contains(err.Error(), "the session is over") {
		t.Errorf("it ends with %v", err)
	}
	_ = conn.Close()
	if len(s.All()) != 1 || len(elsewhere.All()) != 0 {
		t.Errorf("left are %v and %v", s.All(), elsewhere.All())
	}
	s.set(of("bank", "bank", 0), of("new", "shop", 0))
	told := map[string]bool{}
	for range 3 {
		ev := stream.next(t)
		told[ev.event+" "+string(ev.data["id"])] = true
	}
	for _, want := range []string{`session.opened "new"`, `session.closed "a"`, `session.closed "aa"`} {
		if !told[want] {
			t.Errorf("the stream is without %s: %v", want, told)
		}
	}
	s.mu.Lock()
	s.state = "starting"
	s.mu.Unlock()
	if ev := stream.until(t, "browser"); !strings.Contains(ev.text, `"node":"here","browsers":[{"node":"here","name":"pool","max":7,"state":"starting"`) || !strings.Contains(ev.text, `"tabs":0`) {
		t.Errorf("of the browser it tells %s %s", ev.event, ev.text)
	}
}

// TestDomains: each address has the domain that somebody registered, of whatever depth.
func TestDomains(t *testing.T) {
	s := &scripted{state: "running"}
	p := servePageOf(t, memory(t), console.Options{Pages: s}, bridge.Options{Sessions: s})
	for address, want := range map[string]string{
		"https://shop.example.evil.co.uk/": "evil.co.uk", "https://WWW.Shop.Example.:8443/a": "shop.example", "http://127.0.0.1:80/": "", "http://localhost/": "", "http://[::1]/": "",
		"https://me.github.io/": "me.github.io", "about:blank": "", "%": "",
	} {
		s.set(bridge.SessionState{ID: "a", Site: "shop", Address: address})
		if _, body := p.as(t, viewing, http.MethodGet, "/api/sessions", ""); !strings.Contains(body, `"domain":"`+want+`"`) {
			t.Errorf("of %s it says %s", address, body)
		}
	}
	p.asks(t)
	const want = `"domain":"site.example"`
	if ev := p.events(t, viewing, "").next(t); !strings.Contains(string(ev.data["questions"]), want) || !strings.Contains(string(ev.data["sites"]), want) {
		t.Errorf("questions and sites are %s", ev.text)
	}
	if _, body := p.as(t, viewing, http.MethodGet, "/api/sites/shop/tools", ""); !strings.Contains(body, want) {
		t.Errorf("the tools are %s", body)
	}
}
