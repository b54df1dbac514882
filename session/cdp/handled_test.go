package cdp

import (
	"crypto/sha1" // of the WebSocket protocol
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// handledForm is a form whose submit a script of its page takes.
type handledForm struct{ name, script, want, says string }

// sayInShadow puts a region into a shadow tree.
const sayInShadow = `const outer = document.body.appendChild(document.createElement('div')).attachShadow({mode: 'open'});
	const inner = outer.appendChild(document.createElement('div')).attachShadow({mode: 'open'}), p = inner.appendChild(document.createElement('p'));
	p.setAttribute('role', 'alert'); const tell = (text) => { p.textContent = text };`

// handledForms holds the forms of TestFormHandled: what their script does, what comes of it, and
// what the message of an error says.
var handledForms = []handledForm{
	{"sent", `handle(async () => { await post('/200'); say('status', 'Saved as note 12') })`,
		`ok statuses=[Saved as note 12] changed=[document] POST /200 200`, ``},
	{"refused", `handle(async () => { const r = await post('/422'); say('alert', r.ok ? 'Saved' : 'Too long') })`,
		`SITE_REFUSED failed alerts=[Too long] changed=[document] POST /422 422`, `422, and the page says "Too long"`},
	{"a fault of the server", `handle(() => post('/500'))`,
		`SITE_REFUSED unknown POST /500 500`, `500`},
	{"no answer", `handle(() => post('/drop').catch(() => {}))`,
		`SITE_REFUSED unknown POST /drop 0`, `not answer`},
	{"stopped with an alert", `handle(() => say('alert', 'Not an address'))`,
		`NOT_SUBMITTED failed alerts=[Not an address] changed=[document]`, `"Not an address"`},
	{"stopped with a wrong field", `handle(() => f.q.setAttribute('aria-invalid', 'true'))`,
		`NOT_SUBMITTED failed invalid=[q] changed=[document]`, `the field "q" is invalid`},
	{"stopped while it was filled", `f.q.addEventListener('input', () => { f.q.setAttribute('aria-invalid', 'true'); say('alert', 'Too short') }); handle(() => {})`,
		`NOT_SUBMITTED failed alerts=[Too short] invalid=[q]`, `Too short`},
	{"a hint while it was filled", `f.q.addEventListener('input', () => say('alert', '5 letters left')); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"said in a shadow tree", sayInShadow + `handle(async () => { await post('/422'); tell('Too long') })`,
		`SITE_REFUSED failed alerts=[Too long] changed=[document] POST /422 422`, `Too long`},
	{"said again in a shadow tree", sayInShadow + `tell('Too long'); handle(() => { tell(''); setTimeout(() => tell('Too long'), 50) })`,
		`NOT_SUBMITTED failed alerts=[Too long] changed=[document]`, `Too long`},
	{"said before in a shadow tree", sayInShadow + `tell('Mind the gap'); handle(() => post('/200'))`,
		`ok POST /200 200`, ``},
	{"stopped by the field itself", `handle(() => f.q.setCustomValidity('taken'))`,
		`NOT_SUBMITTED failed invalid=[q]`, `q: taken`},
	{"stopped without a word", `handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"a list in memory", `handle(() => { list.append(document.createElement('li')); f.reset() })`,
		`ok changed=[document form]`, ``},
	{"a list in storage", `handle(() => localStorage.setItem('notes', f.q.value))`,
		`ok changed=[storage]`, ``},
	{"another address", `handle(() => history.pushState({}, '', '/PATH/done'))`,
		`ok changed=[address]`, ``},
	{"what was said before", `say('alert', 'Mind the gap'); handle(() => post('/200'))`,
		`ok POST /200 200`, ``},
	{"said again", `say('alert', 'Not an address'); handle(() => { say('alert', ''); setTimeout(() => say('alert', 'Not an address'), 50) })`,
		`NOT_SUBMITTED failed alerts=[Not an address] changed=[document]`, `Not an address`},
	{"one after the other", `handle(async () => { await fetch('/check'); await post('/200'); say('status', 'ok') })`,
		`ok statuses=[ok] changed=[document] GET /check 200 POST /200 200`, ``},
	{"a slow answer", `handle(async () => { await post('/slow'); say('status', 'at last') })`,
		`ok statuses=[at last] changed=[document] POST /slow 200`, ``},
	{"a slow answer that is shown later", `handle(async () => { await post('/slow'); setTimeout(() => say('status', 'at last'), 100) })`,
		`ok statuses=[at last] changed=[document] POST /slow 200`, ``},
	{"redirected", `handle(async () => { await post('/see'); say('alert', 'Nearly sold out') })`,
		`ok alerts=[Nearly sold out] changed=[document] POST /see 303 GET /200 200`, ``},
	{"redirected to a fault", `handle(async () => { await post('/see500'); say('alert', 'No list') })`,
		`SITE_REFUSED unknown alerts=[No list] changed=[document] POST /see500 303 GET /500 500`, `500`},
	{"a stream beside it", `handle(async () => { fetch('/stream'); await post('/200'); say('status', 'ok') })`,
		`ok statuses=[ok] changed=[document] GET /stream 200 POST /200 200`, ``},
	{"a counter of others that fails", `handle(async () => { fetch('http://127.0.0.1:1/count', {method: 'POST', mode: 'no-cors'}).catch(() => {}); await post('/200') })`,
		`ok POST http://127.0.0.1:1/count 0 POST /200 200`, ``},
	{"the next document", `handle(async () => { await post('/200'); location = '/next' })`,
		`ok status=200 alerts=[Order 4711]`, ``},
	{"the next document's refusal", `handle(async () => { await post('/200'); location = '/404' })`,
		`SITE_REFUSED failed status=404`, `404`},
	{"sent after a check", `handle(async () => { await fetch('/check'); f.action = '/next'; f.submit() })`,
		`ok status=200 alerts=[Order 4711]`, ``},
	{"a document in its place", `handle(async () => { const text = await (await post('/linked')).text(); document.body.innerHTML = text })`,
		`[{"n":7}]`, ``},
	{"a beacon", `handle(() => { navigator.sendBeacon('/200', new FormData(f)) })`,
		`ok POST /200 200`, ``},
	{"over a WebSocket", `const ws = new WebSocket(location.origin.replace('http', 'ws') + '/ws'); const open = new Promise((done) => { ws.onopen = done });
		handle(async () => { await open; ws.send('v') })`,
		`ok WEBSOCKET  101`, ``},
	{"in a frame of its own", `handle(() => { const to = Object.assign(document.createElement('iframe'), {name: 'z'}), g = document.createElement('form');
		document.body.append(to, g); g.method = 'post'; g.action = '/422'; g.target = 'z'; g.submit() })`,
		`SITE_REFUSED failed changed=[document] POST /422 422`, `422`},
	{"sent again, and taken", `handle(async () => { for (let i = 0; i < 2; i++) await post('/second'); say('status', 'Saved') })`,
		`ok statuses=[Saved] changed=[document] POST /second 401 POST /second 200`, ``},
	{"a page that always asks", `setInterval(() => fetch('/check'), 50); handle(() => list.append('x'))`,
		`ok changed=[document]`, ``},
	{"a JavaScript alert", `f.onsubmit = () => { alert('At least 3 letters'); return false }`,
		`NOT_SUBMITTED failed alerts=[At least 3 letters]`, `"At least 3 letters"`},
	{"an alert that vanishes", `handle(() => { say('alert', 'Card declined'); setTimeout(() => say('alert', ''), 100) })`,
		`NOT_SUBMITTED failed alerts=[Card declined] changed=[document]`, `Card declined`},
	{"a group is wrong", `f.insertAdjacentHTML('beforeend', '<div role=radiogroup id=size></div><p id=why></p>');
		handle(() => { why.textContent = 'Choose a size'; size.setAttribute('aria-errormessage', 'why'); size.setAttribute('aria-invalid', 'true') })`,
		`NOT_SUBMITTED failed invalid=[size] changed=[document]`, `size: Choose a size`},
	{"at work, then refused", `handle(() => { say('status', 'Checking…'); setTimeout(async () => { await post('/422'); say('status', ''); say('alert', 'Too long') }, 600) })`,
		`SITE_REFUSED failed alerts=[Too long] statuses=[Checking…] changed=[document] POST /422 422`, `Too long`},
	{"a document that asks for a login", `f.action = '/login'`,
		`SITE_REFUSED failed status=401 alerts=[Log in first]`, `Log in first`},
	{"the router takes the navigation", `navigation.onnavigate = (e) => { if (e.canIntercept) e.intercept({async handler() { await post('/200'); say('status', 'Saved') }}) }`,
		`ok statuses=[Saved] changed=[document address] POST /200 200`, ``},
	{"the next document speaks later", `handle(async () => { await post('/200'); location = '/later' })`,
		`ok status=200 statuses=[Order 4711]`, ``},
	{"by XMLHttpRequest", `handle(() => { const x = new XMLHttpRequest(); x.open('PUT', '/200'); x.onload = () => say('status', 'put'); x.send() })`,
		`ok statuses=[put] changed=[document] PUT /200 200`, ``},
	{"a list beside polls that fail", `poll('/404', 100); handle(() => list.append('x'))`,
		`ok changed=[document]`, ``},
	{"stopped beside polls", `poll('/check', 100); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"stopped beside a clock", `setInterval(() => say('time', Date.now()), 200); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"a database", `stored(false, (s) => s.put('v', 'k'))`,
		`ok changed=[storage]`, ``},
	{"a file", `handle(() => Object.assign(document.createElement('a'), {href: URL.createObjectURL(new Blob(['x'])), download: 'x.txt'}).click())`,
		`ok changed=[download]`, ``},
	{"a window", `handle(() => open('/next'))`,
		`ok changed=[window]`, ``},
	{"a script that fails", `handle(() => { throw new TypeError('no cart') })`,
		`NOT_SUBMITTED failed`, `nothing was sent, and its script failed: "Uncaught TypeError: no cart`},
}

// moreHandledForms holds the forms that make nightly tries besides.
var moreHandledForms = []handledForm{
	{"stopped, and counted by others", `handle(() => { navigator.sendBeacon('/200', 'count'); say('alert', 'Not an address') })`,
		`NOT_SUBMITTED failed alerts=[Not an address] changed=[document] POST /200 200`, `only read from the site or reported to it, and the page says "Not an address"`},
	{"another one to the same address", `handle(async () => { await post('/second'); await post('/second', {body: 'read'}) })`,
		`SITE_REFUSED failed POST /second 401 POST /second 200`, `401`},
	{"given up for another search", `handle(async () => { const c = new AbortController(); fetch('/hang', {signal: c.signal}).catch(() => {}); c.abort();
		setTimeout(async () => { await fetch('/check'); say('status', '3 found') }, 20) })`,
		`ok statuses=[3 found] changed=[document] GET /hang 0 GET /check 200`, ``},
	{"a toast that vanishes", `handle(async () => { await post('/200'); const p = document.createElement('p'); p.setAttribute('role', 'status'); p.textContent = 'Saved 12';
		document.body.append(p); setTimeout(() => p.remove(), 100) })`,
		`ok statuses=[Saved 12] changed=[document] POST /200 200`, ``},
	{"an alertdialog", `handle(() => document.body.insertAdjacentHTML('beforeend', '<div role=alertdialog><p>Card declined</div>'))`,
		`NOT_SUBMITTED failed alerts=[Card declined] changed=[document]`, `Card declined`},
	{"a field in a shadow tree is wrong", `f.insertAdjacentHTML('beforeend', '<div name=zip></div>'); const zip = f.lastChild.attachShadow({mode: 'open'});
		zip.innerHTML = '<input><p id=why></p>'; handle(() => { zip.lastChild.textContent = 'No such zip'; const i = zip.firstChild;
		i.setAttribute('aria-describedby', 'why'); i.setAttribute('aria-invalid', 'true') })`,
		`NOT_SUBMITTED failed invalid=[zip] changed=[document]`, `zip: No such zip`},
	{"an element of its own is wrong", `class Own extends HTMLElement { static formAssociated = true; internals = this.attachInternals() }
		customElements.define('own-field', Own); f.insertAdjacentHTML('beforeend', '<own-field name=zip tabindex=0></own-field>');
		handle(() => f.lastChild.internals.setValidity({customError: true}, 'No such zip', f.lastChild))`,
		`NOT_SUBMITTED failed invalid=[zip]`, `the field "zip" is invalid`},
	{"at work, with its button off", `handle(() => { document.querySelector('button').disabled = true; list.append('x'); setTimeout(() => post('/200'), 600) })`,
		`ok changed=[document] POST /200 200`, ``},
	{"an answer in parts", `handle(async () => { const {body} = await post('/parts'); for await (const _ of body) list.append('x'); say('status', 'All done') })`,
		`ok statuses=[All done] changed=[document] POST /parts 200`, ``},
	{"a cookie", `handle(() => { document.cookie = 'note=' + f.q.value })`,
		`ok changed=[storage]`, ``},
	{"a field of another form", `document.body.append(Object.assign(document.createElement('input'), {id: 'total'})); handle(() => { total.value = '12' })`,
		`ok changed=[document]`, ``},
	{"the router takes it, and is refused", `f.method = 'post'; navigation.onnavigate = (e) => { if (e.formData) e.intercept({async handler() { await post('/422'); say('alert', 'Too long') }}) }`,
		`SITE_REFUSED failed alerts=[Too long] changed=[document] POST /422 422`, `Too long`},
	{"an address that is a script", `f.action = 'javascript:say("status", "Saved")'`,
		`ok statuses=[Saved] changed=[document]`, ``},
	{"a script that does nothing", `f.action = 'javascript:void(0)'`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"the next document alerts", `handle(async () => { await post('/200'); location = '/alerts' })`,
		`ok status=200 alerts=[Order 4711]`, ``},
	{"the next document is cut off", `f.action = '/cut'`,
		`ok status=200 alerts=[Order 4711]`, ``},
	{"a list beside polls of their own address each", `poll(() => '/404?t=' + Date.now(), 100); handle(() => list.append('x'))`,
		`ok changed=[document]`, ``},
	{"a list beside polls by XMLHttpRequest", `poll((n) => { const x = new XMLHttpRequest(); x.open('GET', '/500?' + n); x.send() }, 150); handle(() => list.append('x'))`,
		`ok changed=[document]`, ``},
	{"a list beside slow polls", `poll('/404', 700); handle(() => setTimeout(() => list.append('x'), 500))`,
		`ok changed=[document]`, ``},
	{"a search that fails beside polls", `poll('/check', 100); handle(() => fetch('/500?q=v'))`,
		`SITE_REFUSED unknown GET /500?q=v 500`, `500`},
	{"a search that is repeated", `handle(async () => { for (let i = 0; i < 3; i++) { await fetch('/404'); await new Promise((r) => setTimeout(r, 100)) } })`,
		`SITE_REFUSED failed GET /404 404 GET /404 404 GET /404 404`, `404`},
	{"sent beside polls that fail", `poll('/404', 100); handle(() => post('/200'))`,
		`ok POST /200 200`, ``},
	{"stopped beside a clock of seconds", `setInterval(() => say('time', Date.now()), 1000); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"stopped beside a ticker", `setInterval(() => list.append('x'), 100); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"stopped beside what moves", `const move = () => { time.style.width = Math.random() + 'px'; requestAnimationFrame(move) }; move(); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"stopped beside a clock in the title", `document.title = 'now'; setInterval(() => { document.title = Date.now() }, 300); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"stopped beside a clock in storage", `setInterval(() => { localStorage.seen = Date.now() }, 300); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"stopped beside a clock in a region", `setInterval(() => say('status', Date.now()), 200); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"a list beside a clock", `setInterval(() => say('time', Date.now()), 200); handle(() => list.append('x'))`,
		`ok changed=[document]`, ``},
	{"a list beside a clock, later", `setInterval(() => say('time', Date.now()), 200); handle(() => setTimeout(() => list.append('x'), 100))`,
		`ok changed=[document]`, ``},
	{"an alert beside a clock", `setInterval(() => say('time', Date.now()), 200); handle(() => setTimeout(() => say('alert', 'Too long'), 100))`,
		`NOT_SUBMITTED failed alerts=[Too long] changed=[document]`, `Too long`},
	{"in two steps", `handle(() => { setTimeout(() => say('time', 'Saving'), 50); setTimeout(() => say('time', 'Saved'), 500) })`,
		`ok changed=[document]`, ``},
	{"a database that was there", `stored(true, (s) => s.add('v', Math.random()))`,
		`ok changed=[storage]`, ``},
	{"out of a database", `stored(true, (s) => s.delete('k'))`,
		`ok changed=[storage]`, ``},
	{"a database that is read", `stored(true, (s) => s.get('k'))`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
	{"a cache", `handle(async () => (await caches.open('x')).put('/x', new Response('v')))`,
		`ok changed=[storage]`, ``},
	{"a script that fails later", `handle(() => setTimeout(() => { throw new RangeError('no cart') }, 50))`,
		`NOT_SUBMITTED failed`, `its script failed: "Uncaught RangeError: no cart`},
	{"a promise that fails", `handle(async () => { await null; throw new Error('no cart') })`,
		`NOT_SUBMITTED failed`, `its script failed: "Error: no cart`},
	{"a script that fails half way", `handle(() => { list.append('x'); nothing.at.all() })`,
		`NOT_SUBMITTED unknown changed=[document]`, `its script failed: "Uncaught ReferenceError: nothing is not defined`},
	{"a script that fails after a check", `handle(async () => { await fetch('/check'); throw new Error('no cart') })`,
		`NOT_SUBMITTED failed GET /check 200`, `only read from the site, and its script failed: "Error: no cart`},
	{"a script that fails when all is sent", `handle(async () => { await post('/200'); throw new Error('no cart') })`,
		`ok POST /200 200`, ``},
	{"a script that fails and says so", `handle(() => { say('alert', 'Sorry'); throw new Error('no cart') })`,
		`NOT_SUBMITTED failed alerts=[Sorry] changed=[document]`, `"Sorry"`},
	{"an address that is a script that fails", `f.action = 'javascript:nothing()'`,
		`NOT_SUBMITTED failed`, `its script failed: "Uncaught ReferenceError: nothing is not defined`},
	{"stopped beside a script that always fails", `let n = 0; own.remove(); setInterval(() => { if (++n === 2) document.body.append(own); throw new Error('always') }, 100); handle(() => {})`,
		`NOT_SUBMITTED unknown`, `nothing in the page changed`},
}

// TestFormHandled shows what comes of a form whose submit a script of the page takes, as libraries
// of forms do: what was sent, what the site answered, and what the page says.
func TestFormHandled(t *testing.T) {
	t.Parallel()
	const body = `<label>Q <input name=q required></label><p id=alert role=alert></p><p id=status role=status></p><ul id=list></ul><p id=time></p>
		<script>const post = (path, more) => fetch(path, {method: 'POST', body: new FormData(f), ...more});
		const say = (id, text) => { document.getElementById(id).textContent = text };
		const own = f, handle = (fn) => own.addEventListener('submit', (e) => { e.preventDefault(); fn(e) });
		const poll = (what, every) => { let n = 0; own.remove(); setInterval(() => { const path = what.at ? what : what(n); if (path) fetch(path);
			if (++n === 4) document.body.append(own) }, every) };
		const stored = (there, fn) => { const open = (done) => { const r = indexedDB.open('x'); r.onupgradeneeded = () => r.result.createObjectStore('s');
			r.onsuccess = () => done(r.result.transaction('s', 'readwrite').objectStore('s')) };
			if (there) { own.remove(); open((s) => { s.put('v', 'k').transaction.oncomplete = () => document.body.append(own) }) } handle(() => open(fn)) };</script>`
	rows := handledForms
	if gatetest.IsNightly() {
		rows = slices.Concat(rows, moreHandledForms)
	}
	asked := 0
	pages := map[string]http.HandlerFunc{
		"/check": plain("ok"), "/next": plain(`<p role=alert>Order 4711`), "/linked": plain(linked(`{"n":7}`)),
		"/drop": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/slow": func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Second)
			_, _ = io.WriteString(w, "ok")
		},
		"/see":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/200", http.StatusSeeOther) },
		"/see500": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/500", http.StatusSeeOther) },
		"/stream": func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"/hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/second": func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked%2 == 1 {
				w.WriteHeader(http.StatusUnauthorized)
			}
		},
		"/parts": func(w http.ResponseWriter, _ *http.Request) {
			for range 4 {
				_, _ = io.WriteString(w, "part")
				_ = http.NewResponseController(w).Flush()
				<-time.After(400 * time.Millisecond)
			}
		},
		"/login": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "<p role=alert>Log in first")
		},
		"/later":  plain(`<div id=app></div><script>setTimeout(() => { app.innerHTML = '<p role=status>Order 4711' }, 200)</script>`),
		"/alerts": plain(`<script>alert('Order 4711')</script>`),
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			plain("<p role=alert>Order 4711")(w, nil)
		},
		"/ws": func(w http.ResponseWriter, r *http.Request) {
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			w.Header().Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
		},
	}
	for _, status := range []int{200, 404, 422, 500} {
		pages[fmt.Sprintf("/%d", status)] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for i, row := range rows {
		pages[fmt.Sprintf("/form%d", i)] = html("<form id=f toolname=t tooldescription=d toolautosubmit>" + body + "<button>go</button></form><script>" + row.script + "</script>")
	}
	origin := site(t, pages)
	s := showPage(t, shared, origin+"/form0")
	for i, row := range rows {
		s.show(fmt.Sprintf("%s/form%d", origin, i))
		got, err := s.call("t", `{"q":"v"}`)
		said, message := toldOfForm(t, got, err)
		said, _, _ = strings.Cut(strings.ReplaceAll(said, origin, ""), " GET /check 200 GET /check 200") // those of a page that always asks
		if said != row.want || !strings.Contains(message, row.says) {
			t.Errorf("%s: %s (%s), want %s (%s)", row.name, said, message, row.want, row.says)
		}
	}
}

// toldOfForm returns the outcome of a form in one line, and the message of an error.
func toldOfForm(t *testing.T, data string, err error) (said, message string) {
	t.Helper()
	said = "ok"
	var page json.RawMessage
	if err != nil {
		e := bridge.AsError(err)
		said, message = fmt.Sprintf("%s %s", e.Reason, e.Outcome), e.Message
		if page, err = json.Marshal(e.Details["page"]); err != nil {
			t.Fatal(err)
		}
	} else {
		var result struct{ Page json.RawMessage }
		if json.Unmarshal([]byte(data), &result) != nil || result.Page == nil {
			return data, ""
		}
		page = result.Page
	}
	var p struct {
		Status           int
		Alerts, Statuses []string
		Invalid          []struct{ Field string }
		Changed          []string
		Requests         []struct {
			Method, Address string
			Status          int
		}
	}
	if err := json.Unmarshal(page, &p); err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if p.Status != 0 {
		said += fmt.Sprintf(" status=%d", p.Status)
	}
	if len(p.Alerts) > 0 {
		said += fmt.Sprintf(" alerts=%v", p.Alerts)
	}
	if len(p.Statuses) > 0 {
		said += fmt.Sprintf(" statuses=%v", p.Statuses)
	}
	for _, field := range p.Invalid {
		said += fmt.Sprintf(" invalid=[%s]", field.Field)
	}
	if len(p.Changed) > 0 {
		said += fmt.Sprintf(" changed=%v", p.Changed)
	}
	for _, r := range p.Requests {
		said += fmt.Sprintf(" %s %s %d", r.Method, r.Address, r.Status)
	}
	return said, message
}
