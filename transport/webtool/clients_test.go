package webtool_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

// uuid stands for crypto.randomUUID() and uuid.uuid4().
func uuid(n int) string { return "00000000-0000-4000-8000-00000000000" + string(rune('0'+n)) }

// TestGuideVercel does what the first published guide does: it reads
// actions[0], sends a fresh sessionId and the arguments as request, and an
// action that is undefined, which JSON.stringify leaves out.
func TestGuideVercel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	w.Answer("weather", `{"temperature":21}`, nil)
	var meta struct {
		Name, Description string
		Actions           []struct{ RequestSchema json.RawMessage }
	}
	got := w.get(t, "/webtools/weather")
	checkSemantics(t, "metadata", got.body)
	if err := json.Unmarshal([]byte(got.body), &meta); err != nil || meta.Name == "" || meta.Description == "" || len(meta.Actions[0].RequestSchema) == 0 {
		t.Fatalf("%v: %s", err, got.body)
	}
	execute := func(n int, args string) any {
		exec := w.post(t, "/webtools/weather", `{"sessionId":"`+uuid(n)+`","request":`+args+`}`)
		checkSemantics(t, "ok", exec.body)
		var envelope struct{ Data any }
		_ = json.Unmarshal([]byte(exec.body), &envelope)
		return envelope.Data
	}
	if data := execute(1, `{"location":"Paris"}`); data == nil {
		t.Error("execute returns undefined")
	}
	// `action: args.action` is sent when the model invents one, and args are
	// the request as they are.
	exec := w.post(t, "/webtools/weather", `{"sessionId":"`+uuid(2)+`","action":"get_current","request":{"action":"get_current","location":"Paris"}}`)
	exec.want(t, 200, `{"status":"ok","data":{"temperature":21}}`)
	calls := w.Calls()
	if len(calls) != 2 || calls[0].Ref.Session == calls[1].Ref.Session || calls[1].Input != `{"location":"Paris"}` {
		t.Errorf("calls: %+v", calls)
	}
	// The same guide against one tool of a site with several.
	w.post(t, "/webtools/shop/actions/add", `{"sessionId":"`+uuid(3)+`","request":{"a":1}}`).want(t, 200, `{"status":"ok","data":{"a":1}}`)
}

// TestGuideLangChain does what the second published guide does: an action, a
// fresh sessionId, and a value of the model in config.
func TestGuideLangChain(t *testing.T) {
	t.Parallel()
	const body = `{"sessionId": "8b0f", "action": "get_current", "request": {"location": "Paris"}, "config": {"units": "metric"}}`
	with := newWorld(t, bridge.Options{Sites: map[string]bridge.SiteOptions{"weather": {
		Params: map[string]json.RawMessage{"units": json.RawMessage(`{"enum":["metric","imperial"]}`)}}}})
	got := with.post(t, "/webtools/weather", body)
	checkSemantics(t, "ok", got.body)
	var input map[string]string
	if err := json.Unmarshal([]byte(with.Calls()[0].Input), &input); err != nil || input["units"] != "metric" || input["location"] != "Paris" {
		t.Errorf("the page got %s", with.Calls()[0].Input)
	}
	with.post(t, "/webtools/weather", strings.Replace(body, "metric", "kelvin", 1)).wantError(t, 400, bridge.ConfigError, "", bridge.NotRun)

	without := newWorld(t, bridge.Options{})
	without.post(t, "/webtools/weather", body).wantError(t, 400, bridge.ConfigError, "", bridge.NotRun)
}

// TestOlderClient does what the older dialect's reference client does: checks
// the metadata, names tools, echoes defaultConfig as config, and sends a fresh
// session_id with every call.
func TestOlderClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	for _, path := range []string{"/webtools/weather", "/webtools/weather/"} {
		var meta struct {
			Name, Description string
			DefaultConfig     json.RawMessage
			Actions           []struct {
				Name, Description string
				Schema            struct {
					Type       string
					Properties map[string]any
				}
			}
		}
		if err := json.Unmarshal([]byte(w.get(t, path).body), &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Name == "" || meta.Description == "" || meta.Actions == nil {
			t.Fatalf("the client refuses %+v", meta)
		}
		a := meta.Actions[0]
		name := regexp.MustCompile(`[^a-zA-Z0-9_]`).ReplaceAllString(meta.Name+"_"+a.Name, "_")
		if name != "weather_get_current" || a.Schema.Type != "object" || a.Schema.Properties["location"] == nil {
			t.Errorf("tool %s %+v", name, a)
		}
		body := `{"session_id":"` + uuid(4) + `","action":"` + a.Name + `","config":` + string(meta.DefaultConfig) + `,"payload":{"location":"Paris"}}`
		w.post(t, path, body).want(t, 200, `{"location":"Paris"}`)
		w.Answer("weather", `"sunny"`, nil)
		w.post(t, path, body).want(t, 200, `"sunny"`)
		w.post(t, path, strings.Replace(body, "Paris", "Paris\",\"x\":\"", 1)).wantOlder(t, 400)
		w.Answer("weather", `{"location":"Paris"}`, nil)
	}
	for _, c := range w.Calls() {
		if c.Ref.Session != "" {
			t.Errorf("a session_id made state: %+v", c.Ref)
		}
	}
}

// TestDisconnect: a client that goes away ends its call, and gets nothing.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	running, ended := make(chan struct{}), make(chan error, 1)
	w.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step {
		close(running)
		<-ctx.Done()
		ended <- ctx.Err()
		return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.").Step()
	})
	c, err := net.Dial("tcp", w.host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, "POST /webtools/shop HTTP/1.1\r\nHost: "+w.host+"\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(callAdd))+"\r\n\r\n"+callAdd)
	select {
	case <-running:
	case <-time.After(time.Minute):
		t.Fatal("the call never ran")
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil { // the client still listens, to see that nothing comes
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the call was not ended")
	}
	if b, _ := io.ReadAll(c); len(b) > 0 {
		t.Errorf("written to a client that was gone: %q", b)
	}
	w.log.waitFor(t, `"status":499`)
	w.log.waitFor(t, `"code":"CANCELLED"`)
}

// serveOnce asks the face without a listener.
func serveOnce(tb testing.TB, b *bridge.Bridge, method, path, body string) *httptest.ResponseRecorder {
	tb.Helper()
	mux := transport.NewMux(webtool.New(b, webtool.Options{}).Routes()...)
	h := transport.Guard(mux, transport.Options{Listen: "127.0.0.1:7300"})
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:7300"
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		tb.Errorf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	return rec
}
