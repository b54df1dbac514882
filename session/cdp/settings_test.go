package cdp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// look is a script with which a page and a worker tell what they see.
const look = `
const look = async () => ({
  language: navigator.language, languages: navigator.languages.join(), intl: Intl.NumberFormat().resolvedOptions().locale,
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone, agent: navigator.userAgent,
  hints: navigator.userAgentData ? navigator.userAgentData.platform + ' ' + navigator.userAgentData.brands.map((b) => b.brand + b.version).join() : '',
});`

// seen is the result of look.
type seen struct {
	Language, Languages, Intl, Zone, Agent, Hints string
}

const workerPage = `<script>
tool('worker', () => new Promise((r) => { new Worker('/worker.js').onmessage = (e) => r(e.data) }));
tool('nested', () => new Promise((r) => { new Worker('/outer.js').onmessage = (e) => r(e.data) }));
</script>`

// lookers is a site whose page, workers and frames of another site tell what they
// see. It keeps what the requests said.
func lookers(t *testing.T, h *heard) string {
	t.Helper()
	script := func(text string) http.HandlerFunc {
		return h.record(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, text)
		})
	}
	return site(t, map[string]http.HandlerFunc{
		"/": h.record(func(w http.ResponseWriter, r *http.Request) {
			html(`<meta name=viewport content="width=device-width"><script>`+look+`tool('page', look);
				tool('screen', () => [innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints > 0,
					matchMedia('(prefers-color-scheme: dark)').matches, matchMedia('(prefers-color-scheme: light)').matches].join());
				tool('place', () => new Promise((r) => navigator.geolocation.getCurrentPosition(
					(p) => r([p.coords.latitude, p.coords.longitude, p.coords.accuracy].join()), (e) => r('error ' + e.code))));
				</script>`+workerPage+`<iframe allow=tools src="`+elsewhere("http://"+r.Host)+`/far"></iframe>`)(w, r)
		}),
		"/far": h.record(html(`<script>` + look + `tool('far', look); tool('farDark', () => matchMedia('(prefers-color-scheme: dark)').matches);
			tool('farPlace', () => new Promise((r) => navigator.geolocation.getCurrentPosition(() => r('told'), (e) => r('error ' + e.code))));
			tool('farCookie', () => document.cookie);</script>`)),
		"/worker.js": script(look + `fetch('/asked').then(look).then(postMessage)`),
		"/asked":     h.record(empty),
		"/nested.js": script(look + `look().then(postMessage)`),
		"/outer.js":  script(`new Worker('/nested.js').onmessage = (e) => postMessage(e.data)`),
	})
}

func (s *shown) look(name string) (v seen) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must(name, "{}")), &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

const windowsAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"

// TestEmulation: the page, its workers, theirs, and frames of another site see the
// same; requests say it, too.
func TestEmulation(t *testing.T) {
	t.Parallel()
	plain := openLookers(t, pageconfig.Settings{}, nil).look("page")
	for _, x := range []struct {
		name  string
		set   pageconfig.Settings
		want  seen
		sends map[string]string
	}{
		{"locale", pageconfig.Settings{Locale: "de-CH", Timezone: "Europe/Zurich"},
			seen{"de-CH", "de-CH,de", "de-CH", "Europe/Zurich", plain.Agent, plain.Hints}, map[string]string{"Accept-Language": "de-CH,de;q=0.9", "User-Agent": plain.Agent}},
		{"agent", pageconfig.Settings{UserAgent: windowsAgent},
			seen{plain.Language, plain.Languages, plain.Intl, plain.Zone, windowsAgent, "Windows Chromium150,Google Chrome150,Not=A?Brand24"},
			map[string]string{"User-Agent": windowsAgent}},
		{"other agent", pageconfig.Settings{UserAgent: "plain/1", Timezone: "Asia/Tokyo"},
			seen{plain.Language, plain.Languages, plain.Intl, "Asia/Tokyo", "plain/1", " "}, map[string]string{"User-Agent": "plain/1"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if plain == x.want {
				t.Fatal("the browser is so without settings")
			}
			var h heard
			s := openLookers(t, x.set, &h)
			for _, who := range []string{"page", "far", "worker", "nested"} {
				if got := s.look(who); got != x.want {
					t.Errorf("%s: %+v, want %+v", who, got, x.want)
				}
			}
			for request, header := range h.snapshot() {
				if strings.HasSuffix(request, "/nested.js") {
					continue // Chromium changes nothing of the request for a worker's worker
				}
				for name, want := range x.sends {
					if got := header.Get(name); got != want {
						t.Errorf("%s: %s is %q, want %q", request, name, got, want)
					}
				}
				if hints := header.Get("Sec-CH-UA-Platform"); x.set.UserAgent == windowsAgent && hints != "" && hints != `"Windows"` || x.set.UserAgent == "plain/1" && hints != "" {
					t.Errorf("%s: the client hints say %s", request, hints)
				}
			}
		})
	}
}

// openLookers shows the page of lookers.
func openLookers(t *testing.T, set pageconfig.Settings, h *heard) *shown {
	t.Helper()
	if h == nil {
		h = new(heard)
	}
	base := lookers(t, h)
	return showPageWith(t, shared, with(t, base, set), base+"/")
}

func TestScreen(t *testing.T) {
	t.Parallel()
	plain := openLookers(t, pageconfig.Settings{}, nil)
	if got := plain.must("screen", "{}"); !strings.HasSuffix(got, `1,false,false,true"`) {
		t.Fatalf("without settings: %s", got)
	}
	phone := openLookers(t, pageconfig.Settings{Viewport: &pageconfig.Viewport{Width: 390, Height: 844, DeviceScaleFactor: 3, Mobile: true}, ColorScheme: "dark"}, nil)
	if got := phone.must("screen", "{}"); got != `"390,844,3,true,true,false"` {
		t.Errorf("the page sees %s", got)
	}
	if got := phone.must("farDark", "{}"); got != "true" {
		t.Errorf("a frame of another site is dark: %s", got)
	}
	wide := openLookers(t, pageconfig.Settings{Viewport: &pageconfig.Viewport{Width: 1111, Height: 222}, ColorScheme: "light"}, nil)
	if got := wide.must("screen", "{}"); got != `"1111,222,1,false,false,true"` {
		t.Errorf("the page sees %s", got)
	}
}

// TestGeolocation: the site's origin gets the place, and nobody else: not a frame
// that the page did not allow it to, nor a page of another origin.
func TestGeolocation(t *testing.T) {
	t.Parallel()
	if got := openLookers(t, pageconfig.Settings{}, nil).must("place", "{}"); got != `"error 1"` {
		t.Errorf("without settings: %s", got)
	}
	set := pageconfig.Settings{Geolocation: &pageconfig.Geolocation{Longitude: 13.5, Accuracy: 20}}
	base := lookers(t, new(heard))
	s := showPageWith(t, shared, with(t, base, set), base+"/")
	if got := s.must("place", "{}"); got != `"0,13.5,20"` {
		t.Errorf("the page is at %s", got)
	}
	if got := s.must("farPlace", "{}"); got != `"error 1"` {
		t.Errorf("a frame of another site: %s", got)
	}
	other := showPageWith(t, shared, with(t, base, set), elsewhere(base)+"/")
	if got := other.must("place", "{}"); got != `"error 1"` {
		t.Errorf("a page of another origin: %s", got)
	}
}

// TestRefusedSettings: what only the browser knows to be wrong is said as the rest
// is, and nothing is left open.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	_, err := shared.Open(t.Context(), with(t, "http://127.0.0.1", pageconfig.Settings{Timezone: "Mars/Olympus"}))
	if got := reasonOf(err); got != "CONFIG_ERROR  not_run" {
		t.Errorf("a time zone that is not there: %s", got)
	}
	kept := engine(t, func(o *LocalOptions) { o.UserDataDir = t.TempDir() })
	for _, set := range []pageconfig.Settings{{Cookies: []pageconfig.Cookie{{Name: "a"}}}, {LocalStorage: map[string]pageconfig.Secret{"a": "b"}}} {
		if _, err := kept.Open(t.Context(), with(t, "http://127.0.0.1", set)); reasonOf(err) != "CONFIG_ERROR  not_run" {
			t.Errorf("%v in the operator's profile: %v", set, err)
		}
	}
	w := openWith(t, kept, with(t, "http://127.0.0.1", pageconfig.Settings{Locale: "de"}))
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNoSettings: a tab without settings is sent what it was sent before there
// were any: nothing of them.
func TestNoSettings(t *testing.T) {
	t.Parallel()
	set, err := newSettings(&instance{}, session.TabOptions{Origin: "http://127.0.0.1"})
	if set != nil || err != nil {
		t.Fatalf("the settings are %v, %v", set, err)
	}
	if n := len(set.page()) + len(set.frame()) + len(set.worker()); n > 0 {
		t.Errorf("it is sent %d commands", n)
	}
	if err := set.furnish(t.Context(), nil, ""); err != nil {
		t.Error(err)
	}
	full := &settings{Config: &pageconfig.Config{Settings: pageconfig.Settings{Locale: "de", Bearer: "x"}}, headers: &headers{}}
	free := &reaching{}
	if free.intercept(nil) != nil || len(free.intercept(full)) != 1 || len((&reaching{reach: &policy.Reach{}}).intercept(nil)) != 1 {
		t.Error("requests wait for us where nobody asks, or do not where somebody does")
	}
	if len(full.page()) < 2 || len(full.frame()) < 2 || len(full.worker()) < 3 {
		t.Error("a tab with settings is not sent them")
	}
	for _, c := range full.frame() {
		if strings.HasPrefix(c.Method, "Fetch") {
			t.Error("requests of frames of other sites wait for us")
		}
	}
}

// TestManyRequests: a page that makes thousands of requests at once, each of which
// waits for us, delays no other page, and gets its answers or is closed.
func TestManyRequests(t *testing.T) {
	gatetest.Nightly(t, "2,500 requests keep a core busy")
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/x": empty, "/": html(`<script>
		const many = async (n) => { await Promise.all(Array.from({length: n}, (_, i) => fetch('/x?' + i))); return 'done' };
		tool('busy', ({n}) => many(n)); tool('flood', ({n}) => many(n).catch((e) => 'some failed'));
		tool('alive', () => true)</script>`)})
	const busy, flood = 500, 2000
	s := showPageWith(t, shared, with(t, base, credentials), base+"/")
	other := showPageWith(t, shared, with(t, base, credentials), base+"/")
	if got := s.must("busy", fmt.Sprintf(`{"n":%d}`, busy)); got != `"done"` {
		t.Errorf("%d requests at once gave %s", busy, got)
	}
	flooded := make(chan string, 1)
	tool := s.find("flood")
	go func() { // ends with the call
		r, err := came(s.Invoke(t.Context(), session.Invocation{Document: tool.Document, Tool: tool.ID, Input: fmt.Appendf(nil, `{"n":%d}`, flood), MaxBytes: 1 << 20}))
		if err != nil {
			flooded <- reasonOf(err)
			return
		}
		flooded <- string(r.Data)
	}()
	start := time.Now()
	for range 5 {
		if got := other.must("alive", "{}"); got != "true" {
			t.Errorf("the other page gives %s", got)
		}
	}
	took := time.Since(start)
	if took > hang {
		t.Errorf("calls of another page took %s", took)
	}
	got := <-flooded
	t.Logf("five calls of another page: %s; the flood: %s", took, got)
	if got != `"done"` && got != `"some failed"` && !strings.HasSuffix(got, "unknown") { // the browser bounds them, too
		t.Errorf("the flood ended with %s", got)
	}
}
