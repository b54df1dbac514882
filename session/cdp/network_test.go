package cdp

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/egress"
)

// proxied makes an engine whose pages have a proxy, and returns both.
func proxied(t *testing.T, change func(*LocalOptions)) (*Engine, *egress.Proxy) {
	t.Helper()
	p, err := egress.Start(t.Context(), egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // after the engine
	return engine(t, func(o *LocalOptions) {
		o.Proxy = p
		if change != nil {
			change(o)
		}
	}), p
}

// named are the options of a tab of the first origin.
func named(origins ...string) session.TabOptions {
	return session.TabOptions{Origin: origins[0], Reach: &policy.Reach{Origins: origins}}
}

// canary counts what reaches 127.0.0.2: which paths, and how many connections and datagrams.
type canary struct {
	*httptest.Server

	mu          sync.Mutex
	paths       []string
	conns, udps int
	news        chan struct{} // closed and replaced with every change
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{news: make(chan struct{})}
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.note(func() { c.paths = append(c.paths, r.URL.Path) })
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	_ = c.Listener.Close()
	c.Listener = l
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.note(func() { c.conns++ })
		}
	}
	c.Start()
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2000)
		for {
			if _, _, err := udp.ReadFrom(buf); err != nil {
				return
			}
			c.note(func() { c.udps++ })
		}
	}()
	t.Cleanup(func() { c.Close(); _ = udp.Close(); <-done })
	return c
}

func (c *canary) note(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.news)
	c.news = make(chan struct{})
}

// reached returns which of the vectors reached it.
func (c *canary) reached() (paths []string, conns, udps int, news <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths = slices.Clone(c.paths)
	slices.Sort(paths)
	return slices.Compact(paths), c.conns, c.udps, c.news
}

// vectors are the ways in which a page can make a browser send something. C is the canary.
const vectors = `<link rel=stylesheet href="C/css"><link rel=prefetch href="C/prefetch"><link rel=preconnect href="C">
<link rel=modulepreload href="C/modulepreload"><link rel=icon href="C/favicon"><link rel=dns-prefetch href="C">
<img src="C/img"><script src="C/script"></script><object data="C/object"></object><video src="C/video"></video>
<iframe src="C/iframe"></iframe><iframe src="/redirect-frame"></iframe><iframe name=target></iframe>
<form id=form method=post action="C/form" target=target></form><a id=download download href="C/download">x</a>
<script type=speculationrules>{"prefetch": [{"urls": ["C/spec-prefetch"], "eagerness": "immediate"}],
	"prerender": [{"urls": ["/redirect-prerender"], "eagerness": "immediate"}]}</script>
<script>
const quiet = (f) => { try { Promise.resolve(f()).catch(() => {}) } catch {} };
tool('go', () => { for (const f of [
	() => fetch('C/fetch', {mode: 'no-cors'}), () => fetch('/redirect-fetch', {mode: 'no-cors'}),
	() => fetch('C/keepalive', {mode: 'no-cors', keepalive: true}), () => navigator.sendBeacon('C/beacon'),
	() => { const x = new XMLHttpRequest(); x.open('GET', 'C/xhr'); x.send() },
	() => new WebSocket('C/ws'.replace('http', 'ws')), () => new EventSource('C/events'),
	() => new Worker(URL.createObjectURL(new Blob(["importScripts('C/worker')"]))),
	() => new SharedWorker('/shared.js'), () => navigator.serviceWorker.register('/sw.js'),
	() => document.getElementById('form').submit(), () => document.getElementById('download').click(),
	() => window.open('C/popup'), () => new WebTransport('C/transport'.replace('http:', 'https:')),
	() => { const c = new RTCPeerConnection({iceServers: [{urls: 'stun:' + 'C'.slice(7)}]}); c.createDataChannel('x');
		return c.createOffer().then((o) => c.setLocalDescription(o)) },
	() => new Image().srcset = 'C/srcset', () => import('C/import'),
	() => { document.body.style.background = 'url(C/background)' },
	() => { setTimeout(() => { location = '/redirect-top' }, 300) },
]) quiet(f); return 'gone' });
</script>`

func vectorPages(c *canary) map[string]http.HandlerFunc {
	in := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, "'C", "'"+c.URL), `"C`, `"`+c.URL)
	}
	script := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, strings.ReplaceAll(text, "C/", c.URL+"/"))
		}
	}
	pages := map[string]http.HandlerFunc{
		"/":          html(in(vectors)),
		"/shared.js": script("fetch('C/shared', {mode: 'no-cors'})"),
		"/sw.js":     script("self.addEventListener('install', (e) => e.waitUntil(fetch('C/sw', {mode: 'no-cors'})))"),
	}
	for _, kind := range []string{"frame", "prerender", "fetch", "top"} {
		pages["/redirect-"+kind] = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, c.URL+r.URL.Path, http.StatusFound)
		}
	}
	return pages
}

// TestRequestVectors (E1): a page that tries everything reaches nothing but what it may. The
// control without a proxy shows which of them would.
func TestRequestVectors(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, e *Engine, confined bool) (*canary, *shown) {
		t.Helper()
		c := newCanary(t)
		base := site(t, vectorPages(c))
		o := named(base)
		if !confined {
			o.Reach = nil
		}
		p := showPageWith(t, e, o, base+"/")
		if got := p.must("go", "{}"); got != `"gone"` {
			t.Errorf("the page answers %s", got)
		}
		return c, p
	}
	for name, e := range map[string]*Engine{"control": shared, "control elsewhere": engineElsewhere(t, remoteAt("http://"+somebodysBrowser(t, false)))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := run(t, e, false)
			timer := time.NewTimer(hang)
			defer timer.Stop()
			for {
				paths, conns, udps, news := c.reached()
				if len(paths) >= 20 {
					t.Logf("%d of the vectors, %d connections, %d datagrams: %v", len(paths), conns, udps, paths)
					return
				}
				select {
				case <-news:
				case <-timer.C:
					t.Fatalf("without a proxy only %d arrive: %v", len(paths), paths)
				}
			}
		})
	}
	for name, kind := range map[string]func(*testing.T) (*Engine, *egress.Proxy){
		"shell":     func(t *testing.T) (*Engine, *egress.Proxy) { return proxied(t, nil) },
		"whole":     func(t *testing.T) (*Engine, *egress.Proxy) { needsWhole(t); return proxied(t, whole) },
		"elsewhere": func(t *testing.T) (*Engine, *egress.Proxy) { return proxiedElsewhere(t, folders(t), false) },
		"whole elsewhere": func(t *testing.T) (*Engine, *egress.Proxy) {
			needsWhole(t)
			return proxiedElsewhere(t, folders(t), true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, proxy := kind(t)
			c, p := run(t, e, true)
			awaitRefused(t, proxy, 15)
			if got := p.must("go", "{}"); got != `"gone"` { // it is still there, and tries again
				t.Errorf("afterwards the page answers %s", got)
			}
			awaitRefused(t, proxy, 25)
			if paths, conns, udps, _ := c.reached(); conns != 0 || udps != 0 {
				t.Errorf("%d connections and %d datagrams arrive: %v", conns, udps, paths)
			}
		})
	}
}

// TestRefusedEarly: what a document was kept from is reported of it, also when the proxy was asked
// before we heard of the document.
func TestRefusedEarly(t *testing.T) {
	t.Parallel()
	e, proxy := proxied(t, nil)
	asked, answer := make(chan bool), make(chan bool)
	base := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-answer
		html(`<script src="http://127.0.0.2:18998/app.js"></script>`)(w, r)
	}})
	for n := range int64(8) { // which of the two the owner takes first, it draws
		p := openWith(t, e, named(base))
		loaded := make(chan error, 1)
		go func() { loaded <- p.Load(t.Context(), base+"/") }()
		<-asked
		hold, held := make(chan bool), make(chan bool)
		go p.calls.tasks.add(t.Context(), 0, func() { close(held); <-hold })
		<-held
		answer <- true
		awaitRefused(t, proxy, n+1)
		close(hold)
		if err := <-loaded; err != nil {
			t.Fatal(err)
		}
		there, told := false, false
		for !told {
			select {
			case ev := <-p.Events():
				_, came := ev.(session.Navigated)
				_, refused := ev.(session.Refused)
				there, told = there || came, there && refused
			case <-time.After(hang):
				t.Fatalf("%d: nothing was refused of the document (it is there: %t)", n, there)
			}
		}
	}
}

// TestRefusedAnew: each document of a tab is told what it was kept from, however it came.
func TestRefusedAnew(t *testing.T) {
	t.Parallel()
	e, _ := proxied(t, nil)
	page := html(`<form id=f method=post action=/next></form><a id=a href=/next></a><script>fetch('http://127.0.0.2:18998/').catch(() => {})</script>`)
	base := site(t, map[string]http.HandlerFunc{"/": page, "/next": page, "/to": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/next", http.StatusFound)
	}})
	p := openWith(t, e, named(base))
	for _, leads := range []string{
		"", "location = '/to'", "location.reload()", "history.back()", "f.submit()", "location.replace('/')", "a.click()", "",
	} {
		if leads == "" {
			if err := p.Load(t.Context(), base+"/"); err != nil {
				t.Fatal(err)
			}
		} else if _, err := Evaluate(t.Context(), p, "setTimeout(() => "+leads+"), ''"); err != nil {
			t.Fatal(err)
		}
		there, told := false, false
		for !told {
			select {
			case ev := <-p.Events():
				_, came := ev.(session.Navigated)
				_, refused := ev.(session.Refused)
				there, told = there || came, there && refused
			case <-time.After(hang):
				t.Fatalf("nothing was refused of the document of %q (it is there: %t)", leads, there)
			}
		}
	}
}

// awaitRefused waits until the proxy has refused so many connections.
func awaitRefused(t *testing.T, p *egress.Proxy, n int64) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; {
		var all int64
		for _, of := range p.Counts().Refused {
			all += of
		}
		if all >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d of %d were refused", all, n)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestTopNavigation (E4): a page shows other origins only where they were named. What it showed
// before stays, with its tools, and the refusal is reported.
func TestTopNavigation(t *testing.T) {
	t.Parallel()
	e, _ := proxied(t, nil)
	other := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('there', () => 1)</script>`)})
	far := elsewhere(other)
	pages := map[string]http.HandlerFunc{
		"/": html(`<script>tool('go', ({to}) => { location = to; return new Promise((r) => setTimeout(r, 200, 'stays')) },
			{inputSchema: {type: 'object', properties: {to: {type: 'string'}}}})</script>`),
		"/refresh": html(`<meta http-equiv=refresh content="0; url=` + other + `/"><script>tool('stays', () => 1)</script>`),
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		pages[fmt.Sprintf("/%d", status)] = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other+"/", status)
		}
	}
	base := site(t, pages)
	p := showPageWith(t, e, named(base), base+"/")
	for _, to := range []string{other + "/", far + "/", base + "/302", base + "/307", "data:text/html,x", "file:///etc/passwd"} {
		if got := p.must("go", fmt.Sprintf(`{"to":%q}`, to)); got != `"stays"` {
			t.Errorf("after %s: %s", to, got)
		}
	}
	for _, path := range []string{"/301", "/302", "/303", "/307", "/308"} {
		w := openWith(t, e, named(base))
		err := w.Load(t.Context(), base+path)
		if got := reasonOf(err); got != "INTERNAL_ERROR ORIGIN_BLOCKED not_run" || !strings.Contains(err.Error(), "allow the origin "+other) {
			t.Errorf("%s: %v", path, err)
		}
	}
	stays := showPageWith(t, e, named(base), base+"/refresh")
	stays.find("stays")
	// The controls: what was named is shown.
	both := showPageWith(t, e, named(base, other), base+"/302")
	both.find("there")
	both = showPageWith(t, e, named(base, other), base+"/")
	if _, err := both.call("go", fmt.Sprintf(`{"to":%q}`, other+"/")); reasonOf(err) != "INTERNAL_ERROR PAGE_NAVIGATED unknown" {
		t.Errorf("to what was named: %v", err)
	}
	both.find("there")
}

// TestLoadThroughProxy: a site that cannot be opened is told of as without a proxy, whose page
// nobody takes for the site's.
func TestLoadThroughProxy(t *testing.T) {
	t.Parallel()
	e, _ := proxied(t, nil)
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangsUp.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	private := site(t, map[string]http.HandlerFunc{"/": html("")})
	for address, want := range map[string]string{
		hangsUp.URL + "/":                                                 "UNREACHABLE: " + hangsUp.URL + " cannot be opened: the site cannot be reached (ERR_EMPTY_RESPONSE).",
		closed.URL + "/":                                                  "UNREACHABLE: " + closed.URL + " cannot be opened: the site refuses the connection (ERR_CONNECTION_REFUSED).",
		"http://no.such.name.invalid/":                                    "UNREACHABLE: http://no.such.name.invalid cannot be opened: the site's name cannot be resolved (ERR_NAME_NOT_RESOLVED).",
		"https://no.such.name.invalid/":                                   "UNREACHABLE: https://no.such.name.invalid cannot be opened: the site's name cannot be resolved (ERR_NAME_NOT_RESOLVED).",
		strings.Replace(closed.URL, "http", "https", 1) + "/":             "UNREACHABLE: " + strings.Replace(closed.URL, "http", "https", 1) + " cannot be opened: the site refuses the connection (ERR_CONNECTION_REFUSED).",
		strings.Replace(private, "127.0.0.1", "[::ffff:7f00:1]", 1) + "/": "ok",
	} {
		w := openWith(t, e, named(origin.Of(address)))
		got := "ok"
		if err := w.Load(t.Context(), address); err != nil {
			e := bridge.AsError(err)
			got = string(e.Reason) + ": " + e.Message
		}
		if got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	// A name may lead anywhere: only its address decides.
	w := openWith(t, e, session.TabOptions{Reach: &policy.Reach{Origins: []string{"http://127.0.0.1:1"}}})
	if err := w.Load(t.Context(), private+"/"); reasonOf(err) != "INTERNAL_ERROR ORIGIN_BLOCKED not_run" {
		t.Errorf("an origin that was not named: %v", err)
	}
	network := netip.MustParsePrefix("127.0.0.0/8")
	w = openWith(t, e, session.TabOptions{Reach: &policy.Reach{Origins: []string{strings.Replace(private, "127.0.0.1", "a.localhost", 1)}, Private: []netip.Prefix{network}}})
	if err := w.Load(t.Context(), strings.Replace(private, "127.0.0.1", "a.localhost", 1)+"/"); err != nil {
		t.Errorf("a network that was allowed: %v", err)
	}
}

var idleFor = flag.Duration("idle", time.Second, "how long TestIdleBrowser watches a browser; make soak takes a minute")

// TestIdleBrowser (E9): a browser whose pages are closed reaches nothing. The shell does not even
// try; a whole browser asks its maker for a component, and whether somebody is signed in, and
// gets nothing, because it has no credential of the proxy.
func TestIdleBrowser(t *testing.T) {
	t.Parallel()
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		t.Parallel()
		base := site(t, map[string]http.HandlerFunc{"/": html(`<link rel=icon href="data:,">`)})
		e, proxy := proxied(t, only)
		visit := func() (all, unknown int64) {
			if err := showPageWith(t, e, named(base), base+"/").Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			return connections(proxy)
		}
		reached, tried := visit()
		<-time.After(*idleFor)
		if n, unknown := connections(proxy); n != reached || unknown != tried && e.Kind() == chrome.Shell {
			t.Errorf("an idle browser made %d connections, and tried %d", n-reached, unknown-tried)
		}
		if n, _ := visit(); n == reached {
			t.Error("a page is not counted: the test proves nothing")
		}
	})
}

// connections counts those that the proxy made or refused to make, and requests with an unknown
// credential.
func connections(p *egress.Proxy) (all, unknown int64) {
	c := p.Counts()
	all = c.Opened + c.Failed
	for _, n := range c.Refused {
		all += n
	}
	return all, c.Unknown
}
