package cdp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/pagetools/pagetools/session"
)

// look is a script with which a page and a worker tell what they see.
const look = `
const look = async () => ({
  language: navigator.language, languages: navigator.languages.join(), intl: Intl.NumberFormat().resolvedOptions().locale,
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone, agent: navigator.userAgent,
  hints: navigator.userAgentData ? navigator.userAgentData.platform + ' ' + navigator.userAgentData.brands.map((b) => b.brand + b.version).join() : '',
});`

// seen is what look gives.
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
				</script>`+workerPage+`<iframe allow="tools; geolocation" src="`+elsewhere("http://"+r.Host)+`/far"></iframe>`)(w, r)
		}),
		"/far": h.record(html(`<script>` + look + `tool('far', look); tool('farDark', () => matchMedia('(prefers-color-scheme: dark)').matches);
			tool('farPlace', () => new Promise((r) => navigator.geolocation.getCurrentPosition(() => r('told'), (e) => r('error ' + e.code))));
			tool('farCookie', () => document.cookie);</script>`)),
		"/worker.js": script(look + `fetch('/asked').then(look).then(postMessage)`),
		"/asked":     h.record(empty),
		"/outer.js":  script(`new Worker('/worker.js').onmessage = (e) => postMessage(e.data)`),
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

func TestEmulation(t *testing.T) {
	t.Parallel()
	for _, o := range []session.Settings{
		{}, {Locale: "de-CH", Timezone: "Asia/Kathmandu"}, {UserAgent: windowsAgent}, {UserAgent: "plain/1"},
		{Viewport: &session.Viewport{Width: 390, Height: 844, DeviceScaleFactor: 3, Mobile: true}, ColorScheme: session.Dark, Geolocation: &session.Geolocation{Latitude: 0, Longitude: 13.5, Accuracy: 20}},
		{ColorScheme: session.NoPreference},
	} {
		var h heard
		base := lookers(t, &h)
		s := showPageWith(t, shared, session.TabOptions{Origin: base, Settings: o}, base+"/")
		t.Log(o)
		for _, who := range []string{"page", "far", "worker"} {
			t.Logf("%s %+v", who, s.look(who))
		}
		t.Log(s.must("screen", "{}"), s.must("farDark", "{}"))
		t.Log(s.must("place", "{}"), s.must("farPlace", "{}"))
		for n, x := range h.snapshot() {
			t.Log(n, x.Get("Accept-Language"), "|", x.Get("User-Agent"), "|", x.Get("Sec-CH-UA"), x.Get("Sec-CH-UA-Platform"))
		}
	}
}
