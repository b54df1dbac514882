package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// TestBusy: only 429 and 503 say that an endpoint is busy, and for how long, in seconds or with a date.
func TestBusy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		after  string
		want   time.Duration
		busy   bool
	}{
		{429, "7", 7 * time.Second, true}, {503, "", 0, true}, {503, "soon", 0, true}, {503, "-7", 0, true},
		{429, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), 0, true},
		{200, "7", 0, false}, {502, "7", 0, false}, {404, "7", 0, false},
	} {
		err := Busy(test.status, http.Header{"Retry-After": {test.after}})
		busy, ok := errors.AsType[*BusyError](err)
		if ok != test.busy || ok && (busy.After != test.want || busy.Status != test.status) {
			t.Errorf("%d %q: %v", test.status, test.after, err)
		}
	}
}

// TestAddresses: what may be a key is not in names and errors of endpoints, and is sent.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var asked atomic.Pointer[http.Request]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r)
		_, _ = io.WriteString(w, `{"webSocketDebuggerUrl":"ws://localhost:1/devtools/browser/x"}`)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	ws, err := webSocketURL(t.Context(), "http://me:secret@"+host+"/?token=secret", http.Header{"X-Key": {"secret"}})
	if err != nil || ws != "ws://me:secret@"+host+"/devtools/browser/x?token=secret" {
		t.Errorf("%s, %v", ws, err)
	}
	if r := asked.Load(); r.URL.Path != "/json/version" || r.URL.RawQuery != "token=secret" || r.Header.Get("X-Key") != "secret" || r.Header.Get("Authorization") == "" {
		t.Errorf("it was asked for %s with %v", r.URL, r.Header)
	}
	for _, at := range []string{"http://me:secret@127.0.0.1:1/secret?token=secret", "ws://me:secret@127.0.0.1:1/secret?token=secret", "http://nowhere.invalid/secret",
		"ftp://secret/", "http://127.0.0.1:1/%secret", s.URL + "/secret\x7f"} {
		c, err := (&Endpoint{URL: at}).Claim(t.Context(), quiet)
		if err == nil {
			_, err = c.Dial(t.Context())
		}
		if err == nil || strings.Contains(err.Error(), "secret") && !strings.HasPrefix(at, "ftp://") {
			t.Errorf("%q: %v", at, err)
		}
		if e := (Endpoint{Name: "pool", URL: at}); strings.Contains(e.String(), "secret?") || strings.Contains(e.String(), "me:secret") {
			t.Errorf("%q is named %s", at, e)
		}
	}
	if _, err := (&Endpoint{}).Claim(t.Context(), quiet); err == nil {
		t.Error("no address is an address")
	}
}

// TestWebDriver: a session without DevTools is deleted; a server that repeats its own machine's address, or
// answers nonsense, is understood.
func TestWebDriver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply   string
		status  int
		deleted int64
		want    string // in the error
	}{
		"no DevTools":  {`{"value":{"sessionId":"a/b","capabilities":{}}}`, 200, 1, "se:cdp"},
		"no address":   {`{"value":{"sessionId":"a/b","capabilities":{"se:cdp":"http://x"}}}`, 200, 1, "se:cdp"},
		"no session":   {`{"value":{}}`, 200, 0, "no session"},
		"nonsense":     {`<html>`, 200, 0, "as one"},
		"it refuses":   {`{"value":{"error":"session not created","message":"no chrome here"}}`, 500, 0, "no chrome here"},
		"it redirects": {``, 302, 0, "302"},
		"it is busy":   {``, 503, 0, "busy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var deleted atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
					t.Errorf("%s came with %q", r.URL, r.Header)
				}
				switch {
				case r.Method == http.MethodDelete && r.URL.EscapedPath() == "/hub/session/a%2Fb":
					deleted.Add(1)
					_, _ = io.WriteString(w, `{"value":null}`)
				default:
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.reply)
				}
			}))
			defer s.Close()
			e := Endpoint{WebDriver: strings.Replace(s.URL, "http://", "http://me:secret@", 1) + "/hub/"}
			_, err := e.Claim(t.Context(), quiet)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") || deleted.Load() != test.deleted {
				t.Errorf("%v, %d deleted", err, deleted.Load())
			}
		})
	}
	if _, err := (&Endpoint{WebDriver: "http://127.0.0.1:1/secret"}).Claim(t.Context(), quiet); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
	d := driver{base: mustParse(t, "https://me:secret@grid.example:4444/hub")}
	for said, want := range map[string]string{
		"ws://localhost:4444/session/x/se/cdp":    "wss://me:secret@grid.example:4444/session/x/se/cdp",
		"ws://127.0.0.1:1/x":                      "wss://me:secret@grid.example:4444/x",
		"wss://grid.example:4444/session/x":       "wss://me:secret@grid.example:4444/session/x",
		"wss://cdp.other.example/session/x?key=1": "wss://cdp.other.example/session/x?key=1",
	} {
		if got, err := d.devTools(map[string]any{"se:cdp": said}); err != nil || got != want {
			t.Errorf("%s: %s, %v", said, got, err)
		}
	}
}

// TestCommand: what a command prints is read strictly, its words are in the error, and it is over when the
// browser is given back.
func TestCommand(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are of a shell")
	}
	run := func(script string) (*Claim, error) {
		e := Endpoint{Name: "claimed", Command: []string{"sh", "-c", script}}
		return e.Claim(t.Context(), quiet)
	}
	for script, want := range map[string]string{
		`echo nonsense`:                                     "did not print",
		`echo '{"url":"ftp://x"}'`:                          "must begin with",
		`echo '{"url":"http://x","reattach":"maybe"}'`:      "reattach",
		`echo no license >&2; exit 3`:                       "it said: no license",
		`exec 1>&-; cat >/dev/null`:                         "did not print",
		`head -c 2000000 /dev/zero | tr '\0' ' '; echo '1'`: "did not print",
	} {
		if _, err := run(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", script, err)
		}
	}
	c, err := run(`echo '{"url":"wss://x/y","headers":{"x-key":"k"},"reattach":"auto"}'; cat >/dev/null`)
	if err != nil || c.URL != "wss://x/y" || c.Header.Get("X-Key") != "k" || c.Once || !c.Rented {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Release()
	c.Release()
	if c, err = run(`echo '{"url":"wss://x/y"}'; cat >/dev/null`); err != nil || !c.Once {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Release()
	if _, err := (&Endpoint{Command: []string{"/nowhere/claim"}}).Claim(t.Context(), quiet); err == nil {
		t.Error("a program that is not there claims")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Endpoint{Command: []string{"sh", "-c", "cat >/dev/null"}}).Claim(ctx, quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
}

// TestAlive: the server hears of a session that is in use.
func TestAlive(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r.Method + " " + r.URL.Path
		_ = json.NewEncoder(w).Encode(map[string]any{"value": map[string]int{"script": 1}})
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	d := &driver{mustParse(t, s.URL), quiet}
	over := make(chan struct{})
	go func() { // ends with ctx
		defer close(over)
		d.keep(ctx, "/session/x", time.Millisecond)
	}()
	if got := <-heard; got != "GET /session/x/timeouts" {
		t.Errorf("it heard %s", got)
	}
	cancel()
	<-over
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
