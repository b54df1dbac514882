package cdp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
)

// doorway stands before a browser's debugging port.
type doorway struct {
	url    string
	asked  atomic.Int64 // requests
	refuse atomic.Pointer[http.HandlerFunc]
}

// doorwayTo opens a door to the browser at a host.
func doorwayTo(t *testing.T, host string) *doorway {
	t.Helper()
	d := &doorway{}
	through := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.asked.Add(1)
		if refuse := d.refuse.Load(); refuse != nil {
			(*refuse)(w, r)
			return
		}
		r.Host = host
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// answer has the door answer in the place of the browser; nil opens it again.
func (d *doorway) answer(with http.HandlerFunc) {
	if with == nil {
		d.refuse.Store(nil)
		return
	}
	d.refuse.Store(&with)
}

// pool makes an engine over endpoints.
func pool(t *testing.T, all ...endpoint.Endpoint) *Engine {
	t.Helper()
	e, err := NewRemote(RemoteOptions{Endpoints: all})
	if err != nil {
		t.Fatal(err)
	}
	e.times.place = 200 * time.Millisecond
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// awaitState waits until an endpoint has a state.
func awaitState(t *testing.T, e *Engine, name, state string) bridge.BrowserState {
	t.Helper()
	late := time.After(hang)
	for {
		e.mu.Lock()
		news := e.news
		e.mu.Unlock()
		for _, s := range e.States(false) {
			if s.Name == name && s.State == state {
				return s
			}
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("%s is not %s: %+v", name, state, e.States(false))
		}
	}
}

// tabsOf returns how many tabs are open, by endpoint.
func tabsOf(e *Engine) map[string]int {
	n := map[string]int{}
	for _, s := range e.States(false) {
		n[s.Name] = s.Tabs
	}
	return n
}

// TestPool: the next tab opens where the smallest share of the places is taken, and none where all are.
func TestPool(t *testing.T) {
	t.Parallel()
	e := pool(t, endpoint.Endpoint{Name: "a", URL: "http://" + somebodysBrowser(t, false), Max: 4}, endpoint.Endpoint{Name: "b", URL: "http://" + somebodysBrowser(t, false), Max: 2})
	if _, err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitState(t, e, "a", "running")
	awaitState(t, e, "b", "running")
	var last *tab
	for i, want := range []string{"a1 b0", "a1 b1", "a2 b1", "a3 b1", "a3 b2", "a4 b2"} {
		last = open(t, e)
		if n := tabsOf(e); fmt.Sprintf("a%d b%d", n["a"], n["b"]) != want {
			t.Errorf("after %d tabs they are %v, and not %s", i+1, n, want)
		}
	}
	_, err := e.Open(t.Context(), session.TabOptions{})
	if reasonOf(err) != "INTERNAL_ERROR OVERLOAD not_run" || bridge.AsError(err).Retry == 0 {
		t.Errorf("beyond all places: %v", err)
	}
	if e.Room() != 6 {
		t.Errorf("there is room for %d", e.Room())
	}
	if b, err := e.at(t.Context(), "b", false); err != nil || b.slot.name != "b" {
		t.Errorf("b is %+v, %v", b, err)
	}
	if _, err := e.at(t.Context(), "c", false); err == nil {
		t.Error("c is there")
	}
	e.mu.Lock()
	e.times.place = hang
	e.mu.Unlock()
	came := make(chan error, 1)
	go func() {
		w, err := e.Open(t.Context(), session.TabOptions{})
		if err == nil {
			err = w.Close(t.Context())
		}
		came <- err
	}()
	_ = last.Close(t.Context()) // its place is the next one's
	if err := <-came; err != nil {
		t.Errorf("into a place that became free: %v", err)
	}
}

// TestPoolLost: the end of an endpoint is the end of its tabs only. New ones open elsewhere, its places are
// none, and it is used again when it is back.
func TestPoolLost(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	host, _ := browserIn(t, dir, false)
	d := doorwayTo(t, host)
	e := pool(t, endpoint.Endpoint{Name: "a", URL: d.url, Max: 4}, endpoint.Endpoint{Name: "b", URL: "http://" + somebodysBrowser(t, false), Max: 4})
	if _, err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitState(t, e, "a", "running")
	awaitState(t, e, "b", "running")
	first, second := open(t, e), open(t, e)
	if n := tabsOf(e); n["a"] != 1 || n["b"] != 1 {
		t.Fatalf("tabs: %v", n)
	}
	d.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	signal(t, sigKill, processes(filepath.Join(dir, "data"))...)
	for range first.Events() {
	}
	awaitState(t, e, "a", "down")
	if room := e.Room(); room != 4 {
		t.Errorf("there is room for %d", room)
	}
	if e.Down() != nil {
		t.Errorf("all is down: %v", e.Down())
	}
	for range 2 {
		open(t, e)
	}
	if n := tabsOf(e); n["b"] != 3 {
		t.Errorf("tabs: %v", n)
	}
	select {
	case <-second.target.Gone():
		t.Error("a tab of the other one ended, too")
	default:
	}
	again, _ := browserIn(t, folders(t), false)
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: again})
	d.answer(func(w http.ResponseWriter, r *http.Request) { r.Host = again; to.ServeHTTP(w, r) })
	awaitState(t, e, "a", "running") // nobody asked for a tab
	if open(t, e); tabsOf(e)["a"] != 1 {
		t.Errorf("tabs: %v", tabsOf(e))
	}
}

// TestPoolLostWhileOpening: a tab whose browser is lost while it opens, opens in another one.
func TestPoolLostWhileOpening(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	host, _ := browserIn(t, dir, false)
	e := pool(t, endpoint.Endpoint{Name: "a", URL: "http://" + host, Max: 4}, endpoint.Endpoint{Name: "b", URL: "http://" + somebodysBrowser(t, false), Max: 4})
	if _, err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitState(t, e, "a", "running")
	awaitState(t, e, "b", "running")
	all := processes(filepath.Join(dir, "data"))
	signal(t, sigStop, all...)
	came := make(chan error, 1)
	go func() {
		w, err := e.Open(t.Context(), session.TabOptions{})
		if err == nil {
			err = w.Close(t.Context())
		}
		came <- err
	}()
	late := time.After(hang)
	for tabsOf(e)["a"] == 0 { // it has a place there, and waits
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			t.Fatalf("tabs: %v", tabsOf(e))
		}
	}
	signal(t, sigKill, all...)
	if err := <-came; err != nil {
		t.Error(err)
	}
	if n := e.Counts().Lost[LostEnded]; n != 1 {
		t.Errorf("%d browsers were lost", n)
	}
}

// TestPoolBusy: an endpoint that says that it is busy is left alone for as long as it says, or for longer
// each time, and the tab opens elsewhere at once.
func TestPoolBusy(t *testing.T) {
	t.Parallel()
	host, path := browserIn(t, folders(t), false)
	other := "http://" + somebodysBrowser(t, false)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		rests  time.Duration
		asked  int64
	}{
		"429 with seconds": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 7 * time.Second, 2},
		"503 with a date": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, time.Minute, 2},
		"503 alone":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, firstRest, 2},
		"no handshake":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, firstRest, 1},
		"another response": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, firstRest, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := doorwayTo(t, host)
			d.answer(test.answer)
			e := pool(t, endpoint.Endpoint{Name: "full", URL: strings.Replace(d.url, "http:", "ws:", 1) + path, Max: 4}, endpoint.Endpoint{Name: "b", URL: other, Max: 4})
			open(t, e)
			awaitState(t, e, "full", "down")
			e.mu.Lock()
			pause := e.slots[0].pause
			e.mu.Unlock()
			if pause > test.rests || pause < test.rests-2*time.Second || pause <= 0 {
				t.Errorf("it rests for %v, and not for %v", pause, test.rests)
			}
			if test.rests > firstRest { // longer than the test takes
				open(t, e)
				if n := d.asked.Load(); n != test.asked {
					t.Errorf("it was asked %d times", n)
				}
			}
			if n := tabsOf(e); n["full"] != 0 {
				t.Errorf("tabs: %v", n)
			}
		})
	}
	s := slot{first: firstRest, last: lastRest}
	var rests []string
	for range 8 {
		s.pause = s.pauseAfter(http.ErrAbortHandler)
		rests = append(rests, s.pause.String())
	}
	if got := strings.Join(rests, " "); got != "1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
		t.Errorf("it rests for %s", got)
	}
	if s.pause = s.pauseAfter(&endpoint.BusyError{After: 1000 * time.Hour}); s.pause != longestRest {
		t.Errorf("it rests for %v", s.pause)
	}
}

// TestReattaches: pages of a browser can be attached to again; not so where each connection has a browser
// of its own, and the control is the same browser.
func TestReattaches(t *testing.T) {
	t.Parallel()
	one, two := somebodysBrowser(t, false), somebodysBrowser(t, false)
	var turn atomic.Int64
	others := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := one
		if turn.Add(1) > 2 { // its version and its connection are the first one's
			host = two
		}
		r.Host = host
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: host}).ServeHTTP(w, r)
	}))
	defer others.Close()
	e := pool(t, endpoint.Endpoint{Name: "x", URL: "http://" + one, Max: 1})
	for name, test := range map[string]struct {
		at   endpoint.Endpoint
		want bool
	}{
		"a browser":    {endpoint.Endpoint{URL: "http://" + one}, true},
		"not wanted":   {endpoint.Endpoint{URL: "http://" + one, Once: true}, false},
		"one for each": {endpoint.Endpoint{URL: others.URL}, false},
	} {
		before, _ := pagesOf(t, one)
		version, can, err := e.Check(t.Context(), test.at)
		if err != nil || version == "" || can != test.want {
			t.Errorf("%s: %q, %t, %v", name, version, can, err)
		}
		if after, _ := pagesOf(t, one); name == "a browser" && len(after) != len(before) {
			t.Errorf("%s: its pages were %v and are %v", name, before, after)
		}
	}
	if _, _, err := e.Check(t.Context(), endpoint.Endpoint{URL: "http://127.0.0.1:1/?token=secret"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
}

// grid is a WebDriver server that starts real browsers.
type grid struct {
	mu       sync.Mutex
	sessions map[string]bool
	asked    string // the capabilities
	made     int
	last     string // folder of the last one's browser
	full     bool
}

func (g *grid) open(t *testing.T) string {
	t.Helper()
	g.sessions = map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.full {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		g.asked = string(body)
		g.last = folders(t)
		g.made++
		host, path := browserIn(t, g.last, false)
		id := fmt.Sprint("session", g.made)
		g.sessions[id] = true
		_ = json.NewEncoder(w).Encode(map[string]any{"value": map[string]any{"sessionId": id,
			"capabilities": map[string]any{"browserName": "chrome", "se:cdp": "ws://" + host + path}}})
	})
	mux.HandleFunc("DELETE /session/{id}", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.sessions, r.PathValue("id"))
		_, _ = w.Write([]byte(`{"value":null}`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// profile is the folder of the newest browser.
func (g *grid) profile() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return filepath.Join(g.last, "data")
}

func (g *grid) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sessions)
}

// TestPoolOfWebDriver: a session of WebDriver is a browser for several tabs, and is deleted at the end.
func TestPoolOfWebDriver(t *testing.T) {
	t.Parallel()
	g := &grid{}
	address := g.open(t)
	e := pool(t, endpoint.Endpoint{Name: "grid", WebDriver: address, Max: 3})
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('who', () => 'here')</script>`)})
	p := showPage(t, e, base+"/")
	if got := p.must("who", "{}"); got != `"here"` {
		t.Errorf("got %s", got)
	}
	open(t, e)
	if g.count() != 1 || !strings.Contains(g.asked, "disable_non_proxied_udp") || !strings.Contains(g.asked, `"unhandledPromptBehavior":"ignore"`) {
		t.Errorf("%d sessions, asked for with %s", g.count(), g.asked)
	}
	signal(t, sigKill, processes(g.profile())...)
	<-p.dead
	awaitState(t, e, "grid", "running") // in a session of its own
	if open(t, e); g.count() != 1 || g.made != 2 {
		t.Errorf("of %d sessions %d are left", g.made, g.count())
	}
	if err := e.Close(); err != nil || g.count() != 0 {
		t.Errorf("%d sessions are left, %v", g.count(), err)
	}
	g.full = true
	busy := pool(t, endpoint.Endpoint{Name: "grid", WebDriver: address, Max: 3})
	if _, err := busy.Open(t.Context(), session.TabOptions{}); reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" {
		t.Errorf("a full one: %v", err)
	}
	if rest := busy.slots[0].pause; rest != 30*time.Second {
		t.Errorf("a full one rests for %v", rest)
	}
}

// claimer is a command that starts a browser in a folder, and ends it when its stdin is closed.
const claimer = `dir=$2; mkfifo "$dir/said"
"$1" --headless --no-sandbox --remote-debugging-port=0 --user-data-dir="$dir/data" about:blank 2>"$dir/said" & browser=$!
exec 3<"$dir/said"
while read -r line <&3; do case "$line" in *"listening on "*) echo "{\"url\":\"${line##*listening on }\"}"; break;; esac; done
cat >/dev/null; kill $browser; wait $browser; echo over >"$dir/over"`

// TestPoolOfCommand: a command has a browser for us, and gives it back when its stdin is closed.
func TestPoolOfCommand(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	binary, _, err := chrome.Find(localOptions().Options)
	if err != nil {
		t.Fatal(err)
	}
	e := pool(t, endpoint.Endpoint{Name: "claimed", Command: []string{"sh", "-c", claimer, "claim", binary, dir}, Max: 2})
	open(t, e)
	over := filepath.Join(dir, "over")
	if _, err := os.Stat(over); err == nil {
		t.Error("it was given back at once")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(over); err != nil {
		t.Errorf("it was not given back: %v", err)
	}
	if left := awaitProcesses(filepath.Join(dir, "data"), 0, hang); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
