package cdp

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// challenged are ways in which a page asks for what is behind a login, and what it gets: as in a
// browser in which a person closes the dialog.
var challenged = []struct{ name, script, want string }{
	{"fetch", `fetch('/basic').then(async (r) => r.status + ' ' + await r.text())`, `"401 no"`},
	{"a digest", `fetch('/digest').then((r) => r.status)`, `401`},
	{"two challenges", `fetch('/both').then((r) => r.status)`, `401`},
	{"a challenge of an API", `fetch('/bearer').then((r) => r.status)`, `401`},
	{"without credentials", `fetch('/basic', {credentials: 'omit'}).then((r) => r.status)`, `401`},
	{"what is sent", `fetch('/basic', {method: 'POST', body: 'x'}).then((r) => r.status)`, `401`},
	{"what is kept alive", `fetch('/basic', {method: 'POST', body: 'x', keepalive: true}).then((r) => r.status)`, `401`},
	{"a redirect", `fetch('/to-basic').then((r) => r.status)`, `401`},
	{"two at once", `Promise.all([1, 2].map((n) => fetch('/basic?' + n))).then((all) => all.map((r) => r.status))`, `[401,401]`},
	{"XMLHttpRequest", `new Promise((done) => { const x = new XMLHttpRequest(); x.open('PUT', '/basic'); x.onloadend = () => done(x.status); x.send() })`, `401`},
	{"XMLHttpRequest that waits", `(() => { const x = new XMLHttpRequest(); x.open('GET', '/basic', false); x.send(); return x.status })()`, `401`},
	{"a wrong login", `new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', '/basic', true, 'ada', 'wrong'); x.onloadend = () => done(x.status); x.send() })`, `401`},
	{"another origin", `fetch('OTHER/basic', {credentials: 'include'}).then((r) => r.status)`, `401`},
	{"an image", `new Promise((done) => { const i = new Image(); i.onerror = i.onload = (e) => done(e.type); i.src = '/basic' })`, `"error"`},
	{"a script", `new Promise((done) => { const s = document.createElement('script'); s.onerror = s.onload = (e) => done(e.type); s.src = '/basic'; document.body.append(s) })`, `"error"`},
	{"a module", `import('/basic').then(() => 'came', () => 'error')`, `"error"`},
	{"a frame", `new Promise((done) => { const f = document.createElement('iframe'); f.onload = () => done(f.contentDocument.body.textContent); f.src = '/basic'; document.body.append(f) })`, `"no"`},
	{"a beacon, then fetch", `(navigator.sendBeacon('/basic', 'x'), fetch('/basic').then((r) => r.status))`, `401`},
	{"events", `new Promise((done) => { new EventSource('/basic').onerror = (e) => done(e.target.readyState) })`, `2`},
	{"a WebSocket", `new Promise((done) => { const w = new WebSocket(location.origin.replace('http', 'ws') + '/basic'); w.onclose = (e) => done(e.code) })`, `1006`},
	{"a worker", `new Promise((done) => { new Worker('/worker.js').onmessage = (e) => done(e.data) })`, `401`},
	{"a worker of a blob", `new Promise((done) => { const text = 'fetch("' + location.origin + '/basic").then((r) => postMessage(r.status))';
		new Worker(URL.createObjectURL(new Blob([text]))).onmessage = (e) => done(e.data) })`, `401`},
	{"a worker that is behind it", `new Promise((done) => { new Worker('/basic').onerror = (e) => done(e.type) })`, `"error"`},
	{"a shared worker", `new Promise((done) => { new SharedWorker('/shared.js').port.onmessage = (e) => done(e.data) })`, `401`},
	{"a service worker", `navigator.serviceWorker.register('/service.js').then(async (r) => { const {port1, port2} = new MessageChannel();
		const said = new Promise((done) => { port1.onmessage = (e) => done(e.data) }); (await navigator.serviceWorker.ready).active.postMessage('', [port2]); return said })`, `401`},
}

// TestChallenged: what a script of a page asks for, and what the page shows inside, ends when the
// site asks for a login.
func TestChallenged(t *testing.T) {
	t.Parallel()
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		t.Parallel()
		asks := func(challenges ...string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
				w.Header().Set("Access-Control-Allow-Credentials", "true")
				w.Header()["WWW-Authenticate"] = challenges
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte("no"))
			}
		}
		script := func(text string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/javascript")
				_, _ = w.Write([]byte(text))
			}
		}
		const basic, digest = `Basic realm="x"`, `Digest realm="x", nonce="n", qop="auth", algorithm=MD5`
		pages := map[string]http.HandlerFunc{
			"/": html(`<script>tool('run', ({script}) => (0, eval)(script))</script>`), "/basic": asks(basic), "/digest": asks(digest),
			"/both": asks(digest, basic), "/bearer": asks(`Bearer realm="x"`),
			"/to-basic":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/basic", http.StatusFound) },
			"/worker.js":  script(`fetch('/basic').then((r) => postMessage(r.status))`),
			"/shared.js":  script(`onconnect = ({ports: [port]}) => fetch('/basic').then((r) => port.postMessage(r.status))`),
			"/service.js": script(`onmessage = ({ports: [port]}) => fetch('/basic').then((r) => port.postMessage(r.status))`),
		}
		other := site(t, map[string]http.HandlerFunc{"/basic": asks(basic)})
		base := site(t, pages)
		e, _ := proxied(t, only)
		o := named(base, other)
		p := showPageWith(t, e, o, base+"/")
		for _, row := range challenged {
			in, _ := json.Marshal(map[string]string{"script": strings.ReplaceAll(row.script, "OTHER", other)})
			got, err := p.callWithin(5*time.Second, "run", string(in))
			if err != nil || got != row.want {
				t.Errorf("%s: %s, %v, want %s", row.name, got, err, row.want)
			}
		}
	})
}

// TestDropped: what a site takes and does not answer fails in the page as without a proxy, and is
// sent once.
func TestDropped(t *testing.T) {
	t.Parallel()
	e, _ := proxied(t, nil)
	var asked atomic.Int64
	drops := func(http.ResponseWriter, *http.Request) { asked.Add(1); panic(http.ErrAbortHandler) }
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<form id=f toolname=form tooldescription=d toolautosubmit method=post action=/drop><button>go</button></form>
			<script>tool('run', ({script}) => (0, eval)(script))</script>`),
		"/ok": plain("ok"), "/drop": drops, "/to-drop": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/drop", http.StatusTemporaryRedirect)
		},
		"/body": func(w http.ResponseWriter, r *http.Request) { // before all of the request is there
			_, _ = r.Body.Read(make([]byte, 1))
			drops(w, r)
		},
	})
	p := showPageWith(t, e, named(base), base+"/")
	for _, row := range []struct{ name, script, want string }{
		{"fetch", `fetch('/drop', {method: 'POST', body: 'x'})`, `"TypeError"`},
		{"another method", `fetch('/drop', {method: 'DELETE'})`, `"TypeError"`},
		{"without a body", `fetch('/drop', {method: 'POST'})`, `"TypeError"`},
		{"redirected", `fetch('/to-drop', {method: 'PUT', body: 'x'})`, `"TypeError"`},
		{"a long body", `fetch('/body', {method: 'POST', body: 'x'.repeat(4 << 20)})`, `"TypeError"`},
		{"kept alive", `fetch('/drop', {method: 'POST', body: 'x', keepalive: true})`, `"TypeError"`},
		{"XMLHttpRequest", `new Promise((done) => { const x = new XMLHttpRequest(); x.open('PATCH', '/drop'); x.onloadend = () => done(x.status); x.send('x') })`, `0`},
	} {
		// The connection to the proxy is one that was used, on which browsers repeat what got no
		// answer.
		script := `fetch('/ok').then((r) => r.text()).then(() => ` + row.script + `).then((r) => r.status ?? r, (e) => e.name)`
		in, _ := json.Marshal(map[string]string{"script": script})
		before := asked.Load()
		if got := p.must("run", string(in)); got != row.want || asked.Load() != before+1 {
			t.Errorf("%s: %s, sent %d times, want %s, once", row.name, got, asked.Load()-before, row.want)
		}
	}
	before := asked.Load()
	const want = "INTERNAL_ERROR PAGE_NAVIGATED unknown: The form was submitted, and the site did not answer."
	if got := p.says("form", "{}"); got != want || asked.Load() != before+1 {
		t.Errorf("a form: %s, sent %d times", got, asked.Load()-before)
	}
}
