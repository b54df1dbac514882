package webtool_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

const weatherSchema = `{"type":"object","properties":{"location":{"type":"string","description":"A city.","examples":["Paris"]},` +
	`"units":{"type":"string","enum":["metric","imperial"]}},"required":["location"],"additionalProperties":false}`

// world is a bridge over scripted sites, behind the guards and a real listener.
type world struct {
	*bridgetest.Router
	bridge    *bridge.Bridge
	url, host string
	log       *buffer
	client    *http.Client
}

// newWorld has "weather" with one tool and "shop" with three: add, and two that
// ask, of which one declares a result.
func newWorld(t *testing.T, o bridge.Options, callers ...transport.Credential) *world {
	t.Helper()
	r := bridgetest.NewRouter().
		Add("weather", bridgetest.Tool("get_current", weatherSchema)).
		Add("shop", bridgetest.Tool("add", ""), bridgetest.Asking("buy", ""),
			bridgetest.Returning(bridgetest.Tool("count", ""), `{"type":"object","required":["n"]}`))
	b, err := bridge.New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Router: r, bridge: b, url: "http://" + l.Addr().String(), host: l.Addr().String(), log: &buffer{}}
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	mux := transport.NewMux(webtool.New(b, webtool.Options{Log: log}).Routes()...)
	srv := transport.Server(transport.Guard(mux, transport.Options{
		Listen: l.Addr().String(), Callers: callers, Log: log, MaxBodyUnder: transport.BodiesWithFiles()}), log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	w.client = &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { t.Error("redirected"); return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		_ = srv.Close()
		<-done
		b.Close() // ends what waits for a person
		if n := r.Leases(); n != 0 {
			t.Errorf("%d pages were never given back", n)
		}
	})
	return w
}

// reply is a response with its body.
type reply struct {
	*http.Response
	body string
}

func (w *world) send(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, in)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Set(key, value)
	}
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{res, string(b)}
	if len(b) > 0 || method == http.MethodGet && res.StatusCode == http.StatusOK {
		if kinds := res.Header.Values("Content-Type"); len(kinds) != 1 || kinds[0] != "application/json" {
			t.Errorf("%s %s: Content-Type %q", method, path, kinds)
		}
		if len(b) > 0 && !json.Valid(b) {
			t.Errorf("%s %s: not JSON: %q", method, path, b)
		}
	}
	return got
}

func (w *world) get(t *testing.T, path string, header ...string) reply {
	t.Helper()
	return w.send(t, http.MethodGet, path, "", header...)
}

func (w *world) post(t *testing.T, path, body string, header ...string) reply {
	t.Helper()
	return w.send(t, http.MethodPost, path, body, header...)
}

// want checks status and body.
func (r reply) want(t *testing.T, status int, body string) {
	t.Helper()
	if r.StatusCode != status || r.body != body {
		t.Errorf("%d %s\nwant %d %s", r.StatusCode, r.body, status, body)
	}
}

// failure is an error of the current dialect, read.
type failure struct {
	Code    bridge.Code
	Reason  bridge.Reason
	Outcome bridge.Outcome
	Message string
	Details map[string]any
}

// wantError checks an error of the current dialect.
func (r reply) wantError(t *testing.T, status int, code bridge.Code, reason bridge.Reason, outcome bridge.Outcome) failure {
	t.Helper()
	checkSemantics(t, "error", r.body)
	var e struct{ Error failure }
	_ = json.Unmarshal([]byte(r.body), &e)
	if r.StatusCode != status || e.Error.Code != code || e.Error.Reason != reason || e.Error.Outcome != outcome {
		t.Errorf("%d %s\nwant %d %s (%s) %s", r.StatusCode, r.body, status, code, reason, outcome)
	}
	if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", r.Header)
	}
	return e.Error
}

// wantOlder checks an error of the older dialect.
func (r reply) wantOlder(t *testing.T, status int) {
	t.Helper()
	checkSemantics(t, "legacyError", r.body)
	if r.StatusCode != status {
		t.Errorf("%d %s, want %d", r.StatusCode, r.body, status)
	}
}

// buffer is a log that a test reads while a server writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) waitFor(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if strings.Contains(b.String(), text) {
			return
		}
		<-tick.C
	}
	t.Errorf("the log never said %s:\n%s", text, b.String())
}
