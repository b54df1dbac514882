package calls_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/calls"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// world is a bridge with one site, whose tools do what the test says, behind the guards.
type world struct {
	*bridgetest.Router
	b       *bridge.Bridge
	url     string
	done    chan struct{}
	next    chan any      // the steps of the tools
	aborted chan struct{} // gets each call that is aborted

	credentials transport.Credentials
}

// expiring is another credential of agent's, whose streams end at once.
const expiring = "expiring-token-of-tests"

const agent, other, person, answerer = "agent-token-of-tests", "other-token-of-tests", "person-token-of-tests", "answerer-token-of-tests"

func newWorld(t *testing.T) *world {
	t.Helper()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
	w := &world{Router: r, done: make(chan struct{}), next: make(chan any), aborted: make(chan struct{}, 100)}
	r.Handle("shop", w.tool)
	var err error
	if w.b, err = bridge.New(r, bridge.Options{Limits: bridge.Limits{CallTimeout: time.Hour}}); err != nil { // a busy machine ends no call
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	mux := transport.NewMux(calls.New(w.b, calls.Options{Done: w.done, Forms: map[string]transport.Form{"": form}}).Routes()...)
	mux.Add(transport.Route{Pattern: "/run/{tool}", Methods: map[string]http.HandlerFunc{http.MethodPost: w.run}})
	may := func(name, token string, rights ...bridge.Right) transport.Credential {
		return transport.Credential{Token: token, Caller: bridge.Caller{Name: name, May: rights}}
	}
	short := may("agent", expiring, bridge.MayCall)
	short.Expires = time.Now().Add(100 * time.Millisecond)
	server.Config.Handler = transport.Guard(mux, transport.Options{Listen: server.Listener.Addr().String(), Credentials: &w.credentials, Callers: []transport.Credential{short,
		may("agent", agent, bridge.MayCall), may("other", other, bridge.MayCall, bridge.MayAnswer),
		may("person", person, bridge.MayCall, bridge.MayAnswer), may("answerer", answerer, bridge.MayAnswer)}})
	server.Start()
	w.url = server.URL
	t.Cleanup(func() {
		w.b.Close()
		server.CloseClientConnections()
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one
		if n := r.Leases(); n != 0 {
			t.Errorf("%d pages were never given back", n)
		}
	})
	return w
}

// form writes replies as the face of the tests does.
func form(_ *http.Request, end bridge.Step) (int, []byte) {
	if end.Err != nil {
		return transport.Status(end.Err), transport.ErrorText(end.Err)
	}
	return http.StatusOK, end.Data
}

func (w *world) run(rw http.ResponseWriter, r *http.Request) {
	body, _ := transport.ReadBody(r) // what is no JSON is refused below
	c := &bridge.Call{Site: "shop", Tool: r.PathValue("tool"), Caller: transport.CallerOf(r.Context()), ID: transport.RequestID(r.Context())}
	var err error
	if c.Input, err = bridge.ReadValue("The body", body); err != nil {
		transport.WriteError(rw, r, bridge.AsError(err))
		return
	}
	if c.Key, err = keyOf(r); err != nil {
		transport.WriteError(rw, r, bridge.AsError(err))
		return
	}
	transport.Serve(rw, r, w.b, c, func(end bridge.Step) {
		if end.Err != nil {
			transport.WriteError(rw, r, end.Err)
			return
		}
		transport.WriteBytes(rw, r, http.StatusOK, end.Data)
	})
}

func keyOf(r *http.Request) (string, error) {
	key, e := transport.KeyOf(r.Header)
	if e != nil {
		return "", e
	}
	return key, nil
}

// tool does what comes next: a text is a part of the result, an error and a step are its end.
func (w *world) tool(ctx context.Context, inv bridge.Invocation) bridge.Step {
	for parts := 1; ; parts++ {
		select {
		case what := <-w.next:
			switch what := what.(type) {
			case string:
				inv.Progress(bridge.Progress{Parts: parts, Last: json.RawMessage(what)})
			case bridge.Step:
				return what
			}
		case <-ctx.Done():
			w.aborted <- struct{}{}
			e := *bridge.AsError(context.Cause(ctx))
			e.Outcome = bridge.Unknown
			return e.Step()
		}
	}
}

// hang is a bound that only a defect reaches.
const hang = 30 * time.Second

// does lets the call that runs do something.
func (w *world) does(t *testing.T, what any) {
	t.Helper()
	select {
	case w.next <- what:
	case <-time.After(hang):
		t.Error("no call takes the step")
	}
}

// ok ends the call that runs with a result.
func (w *world) ok(t *testing.T, data string) {
	t.Helper()
	w.does(t, bridge.Step{Data: json.RawMessage(data)})
}

// reply is a response with its body.
type reply struct {
	*http.Response
	body string
	call transport.LongCall
	code bridge.Code
	why  bridge.Outcome
}

func (w *world) send(t *testing.T, token, method, path, body string, header ...string) reply {
	t.Helper()
	res, err := http.DefaultClient.Do(w.request(t, token, method, path, body, header...))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{Response: res, body: string(text)}
	var read struct {
		Call  transport.LongCall
		Error struct {
			Code    bridge.Code
			Outcome bridge.Outcome
		}
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &read); err != nil {
			t.Errorf("%s %s: %q: %v", method, path, text, err)
		}
	}
	got.call, got.code, got.why = read.Call, read.Error.Code, read.Error.Outcome
	return got
}

func (w *world) request(t *testing.T, token, method, path, body string, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Set(key, value)
	}
	return req
}

// begin makes a call that goes on, and returns its address.
func (w *world) begin(t *testing.T, tool string, header ...string) string {
	t.Helper()
	r := w.send(t, agent, http.MethodPost, "/run/"+tool, `{"a":1}`, append(header, "Prefer: respond-async")...)
	if r.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return r.Header.Get("Location")
}

func (r reply) want(t *testing.T, status int, state bridge.Status) {
	t.Helper()
	if r.StatusCode != status || r.call.State != state {
		t.Fatalf("%d %s\nwant %d %s", r.StatusCode, r.body, status, state)
	}
}

func (r reply) wantError(t *testing.T, status int, code bridge.Code, outcome bridge.Outcome) {
	t.Helper()
	if r.StatusCode != status || r.code != code || r.why != outcome {
		t.Errorf("%d %s\nwant %d %s %s", r.StatusCode, r.body, status, code, outcome)
	}
}
