package console_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// interacts makes a call wait for a person to act in its page, and returns the
// question's id.
func (w *world) interacts(t *testing.T) string {
	t.Helper()
	w.Router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridgetest.Asks(bridge.Question{Kind: bridge.Interact, Title: "Pick a seat."}, bridgetest.Then("1"))
	})
	id, _ := w.asks(t)
	if err := w.Answer(person, id, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	return w.interaction()
}

// interaction waits until a page asks a person to act in it.
func (w *world) interaction() string {
	return bridgetest.Await(w.Bridge, person, func(open []bridge.OpenQuestion) bool {
		return len(open) == 1 && open[0].Kind == bridge.Interact
	})[0].ID
}

// viewer is a client of a live view.
type viewer struct {
	*websocket.Conn
	t *testing.T
}

// message is a message of the server.
type message struct {
	Type     string
	Question *bridge.Question
	Pen      string
	Mine     bool
	Over     bool
	Width    float64
	Text     *string
	Error    struct{ Code bridge.Code }
	JPEG     []byte `json:"-"`
}

func (w *world) watch(t *testing.T, id string, header http.Header, protocols ...string) (*viewer, *http.Response) {
	t.Helper()
	d := websocket.Dialer{Subprotocols: append([]string{console.LiveProtocol}, protocols...)}
	conn, resp, err := d.DialContext(t.Context(), strings.Replace(w.url, "http", "ws", 1)+"/api/questions/"+id+"/live", header)
	if resp == nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err != nil {
		return nil, resp
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &viewer{conn, t}, resp
}

func (v *viewer) next() message {
	v.t.Helper()
	_ = v.SetReadDeadline(time.Now().Add(30 * time.Second))
	kind, data, err := v.ReadMessage()
	if err != nil {
		v.t.Fatal(err)
	}
	if kind == websocket.BinaryMessage {
		return message{Type: "frame", JPEG: data}
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		v.t.Fatalf("%s: %v", data, err)
	}
	return m
}

// until reads messages until one is right.
func (v *viewer) until(right func(message) bool) message {
	v.t.Helper()
	for {
		if m := v.next(); right(m) {
			return m
		}
	}
}

func (v *viewer) say(text string) {
	v.t.Helper()
	if err := v.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		v.t.Fatal(err)
	}
}

func ofType(want string) func(message) bool { return func(m message) bool { return m.Type == want } }

// TestLive: a viewer gets the state, the size and the picture; the pen makes its
// input reach the page; what is refused is said; and the end of the call ends it.
func TestLive(t *testing.T) {
	w := open(t, person)
	id := w.interacts(t)
	v, _ := w.watch(t, id, nil)
	if m := v.next(); m.Type != "state" || m.Question == nil || m.Question.ID != id || m.Pen != "" || m.Mine || m.Over {
		t.Errorf("it begins with %+v", m)
	}
	if m := v.until(ofType("size")); m.Width != 800 {
		t.Errorf("the size is %+v", m)
	}
	if m := v.next(); string(m.JPEG) != "view of shop" {
		t.Errorf("then comes %+v", m)
	}
	v.say(`{"input":{"type":"mousemove","x":1,"y":2}}`)
	if m := v.until(ofType("error")); m.Error.Code != bridge.Conflict {
		t.Errorf("without the pen: %+v", m)
	}
	v.say(`{"input":{"type":"back"}}`)
	if m := v.until(ofType("error")); m.Error.Code != bridge.Conflict {
		t.Errorf("back without the pen: %+v", m)
	}
	v.say(`{"copy":true}`)
	if m := v.until(ofType("text")); m.Text == nil || *m.Text != "text of the page" {
		t.Errorf("the text is %+v", m)
	}
	v.say(`{"pen":true}`)
	v.until(func(m message) bool { return m.Mine && m.Pen == "person" })
	other, _ := w.watch(t, id, nil)
	if m := other.next(); m.Pen != "person" || m.Mine {
		t.Errorf("another viewer begins with %+v", m)
	}
	other.say(`{"pen":true}`)
	if m := other.until(ofType("error")); m.Error.Code != bridge.Conflict {
		t.Errorf("a second pen: %+v", m)
	}
	v.say(`{"input":{"type":"keydown","key":"a","text":"a"}}`)
	for _, bad := range []string{`{}`, `{"pen":true,"input":{"type":"text","text":"a"}}`, `{"pen":1}`, `{"pen":null}`, `{"more":1}`, `{"copy":false}`, `{"copy":1}`, `[]`, `x`, `{"pen":true,"pen":true}`,
		`{"input":{"type":"text","text":"a","more":1}}`, `{"input":{"type":"sing"}}`} {
		v.say(bad)
		if m := v.until(ofType("error")); m.Error.Code != bridge.SchemaError {
			t.Errorf("%s: %+v", bad, m)
		}
	}
	views := w.Router.Views()
	if acts := views[0].Acts(); len(acts) != 1 || acts[0] != (bridge.Input{Type: bridge.KeyDown, Key: "a", Text: "a"}) || len(views[1].Acts()) != 0 {
		t.Errorf("the page got %v", acts)
	}
	views[0].Show(bridge.Frame{JPEG: []byte("next"), Width: 800, Height: 600})
	if m := v.until(ofType("frame")); string(m.JPEG) != "next" {
		t.Errorf("the next frame is %s", m.JPEG)
	}
	_ = v.Close()
	other.until(func(m message) bool { return m.Type == "state" && m.Pen == "" })
	if err := w.Answer(person, id, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	other.until(func(m message) bool { return m.Over })
	if _, _, err := other.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("at the end: %v", err)
	}
}

// TestLiveIsBounded: a message that is too long ends the connection, a request
// that is no handshake is answered, and so is one for a page that nobody sees.
func TestLiveIsBounded(t *testing.T) {
	w := open(t, person)
	id, _ := w.asks(t)
	if _, resp := w.watch(t, id, nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("of a call that waits for consent: %d", resp.StatusCode)
	}
	if err := w.Answer(person, id, bridge.Answer{}); err != nil {
		t.Fatal(err)
	}
	id = w.interacts(t)
	if status, body := w.do(t, http.MethodGet, "/api/questions/"+id+"/live", ""); status != http.StatusBadRequest || !strings.Contains(body, "WebSocket") {
		t.Errorf("without a handshake: %d %s", status, body)
	}
	v, _ := w.watch(t, id, nil)
	v.say(`{"input":{"type":"text","text":"` + strings.Repeat("x", 33<<10) + `"}}`)
	for {
		if _, _, err := v.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
				t.Errorf("a message of 33 kB: %v", err)
			}
			break
		}
	}
}

// TestLiveGuards (N7): who has no credential, or comes from a page of another
// origin, is refused before the handshake; the token may come as a subprotocol.
func TestLiveGuards(t *testing.T) {
	w := open(t, person)
	id := w.interacts(t)
	done := make(chan struct{})
	server := httptest.NewUnstartedServer(nil)
	mux := transport.NewMux(console.New(w.Bridge, console.Options{Done: done}).Routes()...)
	server.Config.Handler = transport.Guard(mux, transport.Options{Listen: server.Listener.Addr().String(), Open: console.PagePaths,
		Callers: []transport.Credential{{Caller: person, Token: "a secret/token"}, {Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}, Token: "agent"}}})
	server.Start()
	t.Cleanup(func() { close(done); server.Close() })
	w.url = server.URL
	protocol := func(token string) string {
		return transport.TokenProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))
	}
	own := http.Header{"Origin": {server.URL}}
	for name, x := range map[string]struct {
		header    http.Header
		protocols []string
		want      int
	}{
		"subprotocol":            {own, []string{protocol("a secret/token")}, http.StatusSwitchingProtocols},
		"header":                 {http.Header{"Authorization": {"Bearer a secret/token"}}, nil, http.StatusSwitchingProtocols},
		"nothing":                {own, nil, http.StatusUnauthorized},
		"another token":          {own, []string{protocol("guess")}, http.StatusForbidden},
		"two tokens":             {own, []string{protocol("a secret/token"), protocol("guess")}, http.StatusUnauthorized},
		"no base64":              {own, []string{transport.TokenProtocol + "*"}, http.StatusUnauthorized},
		"a right to call only":   {own, []string{protocol("agent")}, http.StatusForbidden},
		"a foreign origin":       {http.Header{"Origin": {"http://evil.test"}}, []string{protocol("a secret/token")}, http.StatusForbidden},
		"the origin of no where": {http.Header{"Origin": {"null"}}, []string{protocol("a secret/token")}, http.StatusForbidden},
	} {
		v, resp := w.watch(t, id, x.header, x.protocols...)
		if resp.StatusCode != x.want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, x.want)
		}
		if v != nil {
			if v.Subprotocol() != console.LiveProtocol {
				t.Errorf("%s: the subprotocol is %q", name, v.Subprotocol())
			}
			_ = v.Close()
		}
	}
	// The same protocol header without a handshake is no credential.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/questions", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-WebSocket-Protocol", protocol("a secret/token"))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token as a subprotocol of nothing: %d", resp.StatusCode)
	}
}

// TestShutdownEndsLive: a live view ends with the process.
func TestShutdownEndsLive(t *testing.T) {
	w := open(t, person)
	id := w.interacts(t)
	done := make(chan struct{})
	mux := transport.NewMux(console.New(w.Bridge, console.Options{Done: done}).Routes()...)
	server := httptest.NewServer(transport.Trusted(mux, person, transport.Options{}))
	defer server.Close()
	w.url = server.URL
	v, _ := w.watch(t, id, nil)
	v.until(ofType("frame"))
	close(done)
	if _, _, err := v.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("at shutdown: %v", err)
	}
}

// TestPage: the page and its parts are there for everybody, say nothing of the
// questions, and may load and be shown nowhere else.
func TestPage(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	w := open(t, person)
	server.Config.Handler = transport.Guard(transport.NewMux(console.New(w.Bridge, console.Options{}).Routes()...), transport.Options{
		Listen: server.Listener.Addr().String(), Open: console.PagePaths, Callers: []transport.Credential{{Caller: person, Token: "secret"}}})
	server.Start()
	t.Cleanup(server.Close)
	for path, want := range map[string]string{"/": "text/html", "/console/main.js": "text/javascript", "/console/rest.js": "text/javascript", "/console.css": "text/css", "/api/questions": "",
		"/console/main.js/x": "", "/console": "", "/console/": "", "/console/x.js": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if want == "" {
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s without a credential: %d", path, resp.StatusCode)
			}
			continue
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), want) || !strings.Contains(policy, "default-src 'none'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "worker-src 'none'") ||
			!strings.Contains(resp.Header.Get("Permissions-Policy"), "camera=(), clipboard-read=(), clipboard-write=(self),") || resp.Header.Get("Origin-Agent-Cluster") != "?1" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
		}
	}
}

// TestLiveOfRevoked (X5): a live view ends with the credential that it was opened
// with; that of another goes on.
func TestLiveOfRevoked(t *testing.T) {
	w := open(t, person)
	id := w.interacts(t)
	other, _ := w.watch(t, id, nil)
	other.until(ofType("frame"))
	revoked := make(chan struct{})
	taken := person
	taken.Revoked = revoked
	done := make(chan struct{})
	mux := transport.NewMux(console.New(w.Bridge, console.Options{Done: done}).Routes()...)
	server := httptest.NewServer(transport.Trusted(mux, taken, transport.Options{}))
	t.Cleanup(func() { close(done); server.Close() })
	w.url = server.URL
	v, _ := w.watch(t, id, nil)
	v.say(`{"pen":true}`)
	v.until(func(m message) bool { return m.Mine })
	close(revoked)
	for {
		if _, _, err := v.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
				t.Errorf("it ends with %v", err)
			}
			break
		}
	}
	other.until(func(m message) bool { return m.Type == "state" && m.Pen == "" })
}

// TestLiveOfCalls: the address of a call that waits for a person leads to the view of its question, for who may answer.
func TestLiveOfCalls(t *testing.T) {
	p := servePage(t, memory(t), console.Options{Records: &console.Records{}})
	p.asks(t)
	p.do(t, "shop", "find", "")
	asks, over := p.calls(t, viewing, "?q=tool:buy", 1).Items[0].Call, p.calls(t, viewing, "?q=tool:find", 1).Items[0].Call
	for _, x := range []struct {
		token, call string
		status      int
		want        string
	}{
		{answerer, asks, http.StatusNotFound, "no picture of this question"}, // this one is asked before there is a page
		{answerer, over, http.StatusConflict, "shown while it waits for a person"},
		{answerer, "none", http.StatusNotFound, "No call with this id"},
		{viewing, asks, http.StatusForbidden, `"right":"answer"`},
	} {
		if status, body := p.as(t, x.token, http.MethodGet, "/api/calls/"+x.call+"/live", ""); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s: %d %s", x.call, status, body)
		}
	}
}
