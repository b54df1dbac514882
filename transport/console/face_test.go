package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// world is a console over a bridge whose tool needs consent.
type world struct {
	*bridge.Bridge
	Router *bridgetest.Router
	url    string
}

// open serves the console to one caller, as a socket does.
func open(t *testing.T, as bridge.Caller) *world {
	t.Helper()
	router := bridgetest.NewRouter().Add("shop", bridgetest.Asking("buy", ""))
	b, err := bridge.New(router, bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	mux := transport.NewMux(console.New(b, console.Options{Done: done, Node: "here"}).Routes()...)
	server := httptest.NewServer(transport.Trusted(mux, as, transport.Options{}))
	t.Cleanup(func() {
		close(done)
		http.DefaultClient.CloseIdleConnections()
		server.Close()
		b.Close()
	})
	return &world{b, router, server.URL}
}

var person = bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}

// asks makes a call wait, and returns its question's id and its token.
func (w *world) asks(t *testing.T) (id, token string) {
	t.Helper()
	_, s := w.Serve(t.Context(), w.call(""))
	e := s.Err
	q, _ := e.Details["question"].(*bridge.Question)
	token, _ = e.Details["resume"].(string)
	return q.ID, token
}

func (w *world) call(config string) *bridge.Call {
	return &bridge.Call{Site: "shop", Tool: "buy", Caller: bridge.Local(), Input: bridgetest.JSON(`{"a":"<b>"}`), Config: json.RawMessage(config)}
}

func (w *world) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s %s answers %q", method, path, got)
	}
	return resp.StatusCode, text.String()
}

// TestAnswersWithMore: an answer has other arguments, and a refusal a reason; the schema is for whoever may answer.
func TestAnswersWithMore(t *testing.T) {
	w := open(t, person)
	w.Router.Declare("shop", bridgetest.Asking("buy", `{"type":"object","properties":{"n":{"type":"integer","maximum":9}}}`))
	ask := func() (id, token string) {
		c := w.call("")
		c.Input, c.TellsChanges = bridgetest.JSON(`{}`), true
		_, s := w.Serve(t.Context(), c)
		q, _ := s.Err.Details["question"].(*bridge.Question)
		token, _ = s.Err.Details["resume"].(string)
		return q.ID, token
	}
	outcome := func(token string) bridge.Step {
		c := w.call(`{"resume":"` + token + `","wait":10000}`)
		c.Input = bridgetest.JSON(`{}`)
		_, s := w.Serve(t.Context(), c)
		return s
	}
	id, token := ask()
	if status, body := w.do(t, http.MethodGet, "/api/questions/"+id, ""); status != http.StatusOK || !strings.Contains(body, `"edit":true`) || !strings.Contains(body, `"inputSchema":{"type":"object"`) {
		t.Errorf("the question is %d %s", status, body)
	}
	if status, body := w.do(t, http.MethodPost, "/api/questions/"+id, `{"ok":true,"input":{"n":10}}`); status != http.StatusBadRequest || !strings.Contains(body, `"pointer":"/n"`) {
		t.Errorf("what does not fit: %d %s", status, body)
	}
	if status, body := w.do(t, http.MethodPost, "/api/questions/"+id, `{"ok":true,"input":{"n":9, "big":9007199254740992}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if s := outcome(token); string(s.Data) != `{"n":9, "big":9007199254740992}` || s.Changed == nil || s.Changed.By != "person" {
		t.Errorf("got %s %v %+v", s.Data, s.Err, s.Changed)
	}
	id, token = ask()
	if status, body := w.do(t, http.MethodPost, "/api/questions/"+id, `{"ok":false,"reason":"not\ntoday"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if s := outcome(token); s.Err == nil || s.Err.Details["reason"] != "not today" {
		t.Errorf("refused: %+v", s.Err)
	}
	viewer := open(t, bridge.Caller{Name: "viewer", May: []bridge.Right{bridge.MayView}})
	c := viewer.call("")
	c.TellsChanges = true
	_, s := viewer.Serve(t.Context(), c)
	q, _ := s.Err.Details["question"].(*bridge.Question)
	if status, body := viewer.do(t, http.MethodGet, "/api/questions/"+q.ID, ""); status != http.StatusOK || strings.Contains(body, "inputSchema") {
		t.Errorf("a viewer gets %d %s", status, body)
	}
}

// TestAnswers lists what waits, and answers it, once.
func TestAnswers(t *testing.T) {
	w := open(t, person)
	if status, body := w.do(t, http.MethodGet, "/api/questions", ""); status != http.StatusOK || body != `{"questions":[]}` {
		t.Errorf("an empty list is %d %s", status, body)
	}
	id, token := w.asks(t)
	status, body := w.do(t, http.MethodGet, "/api/questions/", "")
	var list console.Questions
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Questions) != 1 {
		t.Fatalf("%d %s", status, body)
	}
	if q := list.Questions[0]; q.ID != id || q.Kind != bridge.Approve || q.Site != "shop" || q.Caller != "local" || string(q.Input) != `{"a":"<b>"}` || q.Since.IsZero() {
		t.Errorf("the list has %+v", q)
	}
	for bad, want := range map[string]int{
		`{}`: 400, `{"ok":1}`: 400, `{"ok":null}`: 400, `{"ok":true,"more":1}`: 400, `{"ok":true,"ok":false}`: 400, `[]`: 400, `{"ok":true,"value":1}`: 400,
		`{"ok":true,"always":"yes"}`: 400, `{"ok":false,"reason":1}`: 400, `{"ok":true,"input":{}}`: 400,
	} {
		if status, body := w.do(t, http.MethodPost, "/api/questions/"+id, bad); status != want {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if status, body := w.do(t, http.MethodPost, "/api/questions/none", `{"ok":true}`); status != http.StatusNotFound {
		t.Errorf("an unknown question: %d %s", status, body)
	}
	if status, body := w.do(t, http.MethodGet, "/api/questions/"+id, ""); status != http.StatusOK || !strings.Contains(body, id) { // C2: no GET answers
		t.Errorf("a GET of a question: %d %s", status, body)
	}
	if status, body := w.do(t, http.MethodPost, "/api/questions/"+id, `{"ok":true}`); status != http.StatusOK || body != `{"status":"ok"}` {
		t.Errorf("%d %s", status, body)
	}
	if status, body := w.do(t, http.MethodPost, "/api/questions/"+id, `{"ok":true}`); status != http.StatusConflict || !strings.Contains(body, `"answeredBy":"person"`) {
		t.Errorf("the second answer: %d %s", status, body)
	}
	_, end := w.Serve(t.Context(), w.call(`{"resume":"`+token+`","wait":10000}`))
	if end.Err != nil || string(end.Data) != `{"a":"<b>"}` {
		t.Errorf("the call came to %s, %v", end.Data, end.Err)
	}
}

// TestPicture returns the bytes of a picture, and nothing that a browser would run.
func TestPicture(t *testing.T) {
	w := open(t, person)
	id, _ := w.asks(t)
	if status, body := w.do(t, http.MethodGet, "/api/questions/"+id+"/picture", ""); status != http.StatusNotFound || !strings.Contains(body, "no picture") {
		t.Errorf("of a call that waits for consent: %d %s", status, body)
	}
	w.Router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridgetest.Asks(bridge.Question{Kind: bridge.Interact, Title: "Pick a seat."}, bridgetest.Then("1"))
	})
	if err := w.Answer(person, id, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	id = w.interaction()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/questions/"+id+"/picture", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || string(body) != "picture of shop" || resp.Header.Get("Content-Type") != "image/png" ||
		resp.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d %v %s, %v", resp.StatusCode, resp.Header, body, err)
	}
}

// TestOperatorsOnly (C2): who has no right to answer sees nothing and answers
// nothing.
func TestOperatorsOnly(t *testing.T) {
	w := open(t, bridge.Local())
	id, _ := w.asks(t)
	for _, r := range [][3]string{{http.MethodGet, "/api/questions", ""}, {http.MethodGet, "/api/events", ""}, {http.MethodPost, "/api/questions/" + id, `{"ok":true}`}} {
		if status, body := w.do(t, r[0], r[1], r[2]); status != http.StatusForbidden || strings.Contains(body, id) {
			t.Errorf("%s %s: %d %s", r[0], r[1], status, body)
		}
	}
	if list := bridgetest.Questions(w.Bridge, person); len(list) != 1 {
		t.Error("the question was answered")
	}
}

// TestStreamOfRevoked (X5): a stream ends with the credential that it was opened with.
func TestStreamOfRevoked(t *testing.T) {
	revoked := make(chan struct{})
	taken := person
	taken.Revoked = revoked
	streams := map[string]*bufio.Reader{}
	for name, caller := range map[string]bridge.Caller{"revoked": taken, "kept": person} {
		w := open(t, caller)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		streams[name] = bufio.NewReader(resp.Body)
		for line := ""; !strings.HasPrefix(line, "data: "); {
			if line, err = streams[name].ReadString('\n'); err != nil {
				t.Fatalf("%s: it begins with %q, %v", name, line, err)
			}
		}
		if name == "kept" {
			defer func() { // the positive control: it goes on
				w.asks(t)
				for line := ""; !strings.Contains(line, "buy"); {
					if line, err = streams[name].ReadString('\n'); err != nil {
						t.Errorf("the other stream ended: %v", err)
						return
					}
				}
			}()
		}
	}
	close(revoked)
	if rest, err := io.ReadAll(streams["revoked"]); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("it goes on with %q, %v", rest, err)
	}
}
