package cdp

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// inBothKinds runs a test in both kinds of browsers in make contract, and in the headless shell at
// night; one that is not installed is skipped.
func inBothKinds(t *testing.T, run func(t *testing.T, only func(*LocalOptions))) {
	t.Helper()
	if !gatetest.IsNightly() {
		needsWhole(t)
	}
	for name, path := range map[chrome.Kind]string{
		chrome.Shell: os.Getenv("PAGETOOLS_HEADLESS_SHELL"), chrome.Chromium: os.Getenv("PAGETOOLS_EXECUTABLE_PATH"),
	} {
		t.Run(string(name), func(t *testing.T) {
			o := chrome.Options{Path: path, Kind: name}
			if _, kind, err := chrome.Find(o); err != nil || kind != name {
				t.Skipf("there is no %s here: %v", name, err)
			}
			if name == chrome.Chromium {
				needsWhole(t)
			}
			run(t, func(o *LocalOptions) { o.Path, o.Kind = path, name })
		})
	}
}

// TestKindsLookAlike: pages see the same size and languages in both kinds, and so do
// frames, workers and the server.
func TestKindsLookAlike(t *testing.T) {
	t.Parallel()
	const sees = `[innerWidth, innerHeight, outerWidth, outerHeight, screen.width, screen.height, screen.availWidth, screen.availHeight,
		devicePixelRatio, navigator.language, ...navigator.languages, new Intl.DateTimeFormat().resolvedOptions().locale].join()`
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		var mu sync.Mutex
		asked := map[string]string{}
		note := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked[r.URL.Path] = r.Header.Get("Accept-Language")
				mu.Unlock()
				next(w, r)
			}
		}
		script := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `postMessage(navigator.languages.join())`)
		}
		base := site(t, map[string]http.HandlerFunc{
			"/": note(html(`<script>
				tool('sees', () => ` + sees + `);
				tool('worker', () => new Promise((done) => { new Worker('/worker').onmessage = (e) => done(e.data) }));
				tool('frame', () => new Promise((done) => { const f = document.createElement('iframe'); f.src = location.origin.replace('127.0.0.1', 'localhost') + '/frame';
					addEventListener('message', (e) => done(e.data)); document.body.append(f) }));
			</script>`)),
			"/frame":  note(html(`<script>parent.postMessage(navigator.languages.join(), '*')</script>`)),
			"/worker": note(script),
		})
		e := engine(t, only)
		p := showPage(t, e, base+"/")
		const want = `"1280,720,1280,720,1280,720,1280,720,1,en-US,en-US,en,en-US"`
		if got := p.must("sees", "{}"); got != want {
			t.Errorf("a page sees %s, want %s", got, want)
		}
		for _, tool := range []string{"worker", "frame"} {
			if got := p.must(tool, "{}"); got != `"en-US,en"` {
				t.Errorf("a %s speaks %s", tool, got)
			}
		}
		mu.Lock()
		for _, path := range []string{"/", "/frame", "/worker"} {
			if asked[path] != "en-US,en;q=0.9" {
				t.Errorf("%s is asked for in %q", path, asked[path])
			}
		}
		mu.Unlock()
		// The control: what the operator or a call says counts.
		set := with(t, base, pageconfig.Settings{Viewport: &pageconfig.Viewport{Width: 400, Height: 300}})
		small := showPageWith(t, e, set, base+"/")
		if got := small.must("sees", "{}"); got[:len(`"400,300,`)] != `"400,300,` {
			t.Errorf("with a size of its own a page sees %s", got)
		}
		other := engine(t, func(o *LocalOptions) {
			only(o)
			o.Width, o.Height, o.Args = 640, 480, []string{"--accept-lang=de-CH,de"}
		})
		german := showPage(t, other, base+"/")
		if got := german.must("sees", "{}"); got != `"640,480,640,480,640,480,640,480,1,de-CH,de-CH,de,en-US"` {
			t.Errorf("with the operator's flags a page sees %s", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if asked["/"] != "de-CH,de;q=0.9" {
			t.Errorf("with the operator's flags it is asked for in %q", asked["/"])
		}
	})
}

// TestKindsAtLogins (R23): both kinds say the same of a site that asks the browser for a
// login, and show what is a page.
func TestKindsAtLogins(t *testing.T) {
	t.Parallel()
	answers := func(status int, challenge, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if challenge != "" {
				w.Header().Add("WWW-Authenticate", challenge)
			}
			if r.URL.Path == "/known" && r.Header.Get("Authorization") == "Basic dTpw" {
				status = http.StatusOK
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	const text = `<!doctype html><script>navigator.modelContext.registerTool({name: 'login', description: 'x', execute: () => location.pathname})</script>`
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		e := engine(t, only)
		base := site(t, map[string]http.HandlerFunc{
			"/basic": answers(401, `Basic realm="x"`, text), "/empty": answers(401, `Basic realm="x"`, ""),
			"/digest": answers(401, `Digest realm="x", nonce="y"`, text), "/ntlm": answers(401, `NTLM`, text),
			"/second": answers(401, `Bearer realm="x", Basic realm="y"`, text), "/known": answers(401, `Basic realm="x"`, text),
			"/bearer": answers(401, `Bearer realm="x"`, text), "/form": answers(401, "", text), "/forbidden": answers(403, `Basic realm="x"`, text),
			"/lines": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Add("WWW-Authenticate", "Bearer")
				answers(401, "Basic", text)(w, r)
			},
			"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/basic", http.StatusFound) },
			"/page":  html(`<iframe src="/basic"></iframe><script>tool('login', () => location.pathname)</script>`),
		})
		w := open(t, e)
		for path, page := range map[string]bool{"/basic": false, "/empty": false, "/digest": false, "/ntlm": false, "/second": true, "/lines": false, "/moved": false,
			"/known": false, "/bearer": true, "/form": true, "/forbidden": true, "/page": true} {
			err := w.Load(t.Context(), base+path)
			switch want := base + " cannot be opened: the site asks for a login (ERR_INVALID_AUTH_CREDENTIALS)."; {
			case page && err != nil:
				t.Errorf("%s: %v, want a page", path, err)
			case !page && (reasonOf(err) != "INTERNAL_ERROR UNREACHABLE not_run" || bridge.AsError(err).Message != want):
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		}
		// The control: who sends the credentials is let in.
		known := pageconfig.Settings{BasicAuth: &pageconfig.BasicAuth{User: "u", Password: "p"}}
		if got := showPageWith(t, e, with(t, base, known), base+"/known").must("login", "{}"); got != `"/known"` {
			t.Errorf("with credentials: %s", got)
		}
	})
}
