package cdp

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// heard keeps the headers of the requests that a test's servers got, by method,
// host and path.
type heard struct {
	mu   sync.Mutex
	all  map[string]http.Header
	news chan struct{} // closed and replaced with every request
}

// record keeps the headers of a request, and lets any page read the answer.
func (h *heard) record(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if h.all == nil {
			h.all, h.news = map[string]http.Header{}, make(chan struct{})
		}
		h.all[r.Method+" "+r.Host+r.URL.Path] = r.Header.Clone()
		close(h.news)
		h.news = make(chan struct{})
		h.mu.Unlock()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		then(w, r)
	}
}

func (h *heard) snapshot() map[string]http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.all)
}

// await waits for a GET of an address.
func (h *heard) await(t *testing.T, address string) http.Header {
	t.Helper()
	timer := time.NewTimer(hang)
	defer timer.Stop()
	for {
		h.mu.Lock()
		got, news := h.all["GET "+strings.TrimPrefix(address, "http://")], h.news
		h.mu.Unlock()
		if got != nil {
			return got
		}
		select {
		case <-news:
		case <-timer.C:
			t.Fatalf("nobody requested %s", address)
		}
	}
}

func empty(http.ResponseWriter, *http.Request) {}

// kinds lists the kinds of noise's requests.
var kinds = []string{"img", "quiet-img", "get", "quiet", "cors", "post", "keep", "beacon", "worker", "blob"}

// noise is a script that makes requests of many kinds to an origin, to paths that
// begin with a name, some without a referrer, and resolves when they ended.
const noise = `<script>
const noise = async (origin, name) => {
  const at = (kind) => origin + '/' + name + '-' + kind, quiet = {mode: 'no-cors', referrerPolicy: 'no-referrer'};
  const image = (kind, more) => new Promise((r) => { const i = new Image(); Object.assign(i, more); i.onload = i.onerror = r; i.src = at(kind) });
  const work = (script) => new Promise((r) => { new Worker(script).onmessage = r });
  const source = (kind) => 'fetch("' + at(kind) + '", {mode: "no-cors", referrerPolicy: "no-referrer"}).then(() => postMessage(1))';
  navigator.sendBeacon(at('beacon'), 'x');
  await Promise.allSettled([
    image('img'), image('quiet-img', {referrerPolicy: 'no-referrer'}), fetch(at('get'), {mode: 'no-cors'}), fetch(at('quiet'), quiet), fetch(at('cors')),
    fetch(at('post'), {method: 'POST', mode: 'no-cors', body: 'x'}), fetch(at('keep'), {...quiet, keepalive: true}),
    work('/worker.js?' + encodeURIComponent(source('worker'))), work(URL.createObjectURL(new Blob([source('blob')]))),
  ]);
  return 'done';
};
</script>`

// three is a site, one of another origin that shares its process, and one of
// another site, with a page that has frames of all.
func three(t *testing.T, h *heard) (base, near, far string) {
	t.Helper()
	worker := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `eval(decodeURIComponent(location.search.slice(1)))`)
	}
	serve := func(pages map[string]http.HandlerFunc) string {
		all := map[string]http.HandlerFunc{"/worker.js": h.record(worker)}
		for path, p := range pages {
			all[path] = h.record(p)
		}
		for _, kind := range kinds {
			for _, who := range []string{"own", "child", "near", "far", "out"} {
				all["/"+who+"-"+kind] = h.record(empty)
			}
		}
		return site(t, all)
	}
	foreign := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			html(noise+fmt.Sprintf(`<script>tool('%[2]s', () => noise('%[1]s', '%[2]s'));
				tool('%[2]sGo', () => { const a = document.createElement('a'); a.rel = 'noreferrer'; a.href = '%[1]s/%[2]s-stolen'; document.body.append(a); a.click() })
				</script>`, base, name))(w, r)
		}
	}
	to := func(address func() string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address(), http.StatusFound) }
	}
	near = serve(map[string]http.HandlerFunc{"/near": foreign("near"), "/far": foreign("far"), "/landed": empty, "/back": to(func() string { return base + "/home" })})
	far = elsewhere(near)
	base = serve(map[string]http.HandlerFunc{
		"/frame": html(noise + `<script>tool('child', () => noise(location.origin, 'child'))</script>`), "/near-stolen": empty, "/far-stolen": empty, "/home": empty,
		"/redirect": to(func() string { return near + "/landed" }), "/away": to(func() string { return near + "/back" }),
		"/page": func(w http.ResponseWriter, r *http.Request) {
			html(noise+fmt.Sprintf(`<script>
				tool('own', () => noise(location.origin, 'own')); tool('out', () => noise('%[1]s', 'out'));
				tool('redirected', () => fetch('/redirect').then((r) => r.url)); tool('returned', () => fetch('/away').then((r) => r.url));
				tool('explicit', () => fetch('/own-get', {headers: {Authorization: 'Mine 1', 'X-Env': 'red'}}).then((r) => r.status));
				</script><iframe allow=tools src=/frame></iframe><iframe allow=tools src="%[1]s/near"></iframe><iframe allow=tools src="%[2]s/far"></iframe>`, near, far))(w, r)
		},
	})
	return base, near, far
}

var credentials = pageconfig.Settings{Headers: map[string]pageconfig.Secret{"x-env": "blue"}, Bearer: "abc.def"}

// TestHeadersOfTheSite: requests of the site's documents and workers to its origin
// have the headers; those to other origins, and those of documents of other
// origins, have none.
func TestHeadersOfTheSite(t *testing.T) {
	t.Parallel()
	var h heard
	base, near, _ := three(t, &h)
	s := showPageWith(t, shared, with(t, base, credentials), base+"/page")
	for _, tool := range []string{"own", "child", "out", "near", "far"} {
		if got := s.must(tool, "{}"); got != `"done"` {
			t.Fatalf("%s gives %s", tool, got)
		}
	}
	if got := s.must("redirected", "{}"); got != fmt.Sprintf("%q", near+"/landed") {
		t.Errorf("the redirect led to %s", got)
	}
	if got := s.must("returned", "{}"); got != fmt.Sprintf("%q", base+"/home") {
		t.Errorf("the redirects led to %s", got)
	}
	host, other := strings.TrimPrefix(base, "http://"), strings.TrimPrefix(near, "http://")
	all := h.snapshot()
	check := func(want bool, host, path string) {
		t.Helper()
		for _, method := range []string{"GET", "POST"} {
			if header, ok := all[method+" "+host+path]; ok {
				if got := header.Get("X-Env") == "blue" && header.Get("Authorization") == "Bearer abc.def"; got != want {
					t.Errorf("%s%s: has the headers: %v, want %v; %v", host, path, got, want, header)
				}
				if !want && (header.Get("X-Env") != "" || header.Get("Authorization") != "") {
					t.Errorf("%s%s has one of the headers: %v", host, path, header)
				}
				return
			}
		}
		t.Errorf("%s%s was not requested", host, path)
	}
	for _, path := range []string{"/page", "/frame", "/worker.js", "/redirect", "/away"} {
		check(true, host, path)
	}
	for _, kind := range kinds {
		check(true, host, "/own-"+kind)
		check(true, host, "/child-"+kind)
		check(false, host, "/near-"+kind)
		check(false, host, "/far-"+kind)
		check(false, other, "/out-"+kind)
	}
	check(false, host, "/home") // a request of a script that was elsewhere
	check(false, other, "/landed")
	check(false, other, "/back")
	check(false, other, "/near")
	check(false, "localhost:"+strings.Split(other, ":")[1], "/far")
}

// TestHeadersOfThePage: what the page sends itself as Authorization stays; other
// headers are the settings'.
func TestHeadersOfThePage(t *testing.T) {
	t.Parallel()
	var h heard
	base, _, _ := three(t, &h)
	s := showPageWith(t, shared, with(t, base, credentials), base+"/page")
	s.must("explicit", "{}")
	if got := h.await(t, base+"/own-get"); got.Get("Authorization") != "Mine 1" || got.Get("X-Env") != "blue" {
		t.Errorf("the request has %v", got)
	}
}

// TestHeadersOfNavigations: a frame of another origin that goes to the site by
// itself gets none. The page's own navigations do, and those of its own frames
// (TestHeadersOfTheSite); so does one that comes back from another origin, as a
// login does.
func TestHeadersOfNavigations(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"near", "far"} {
		var h heard
		base, _, _ := three(t, &h)
		s := showPageWith(t, shared, with(t, base, credentials), base+"/page")
		if _, err := s.call(who+"Go", "{}"); err != nil && reasonOf(err) != "INTERNAL_ERROR PAGE_NAVIGATED unknown" {
			t.Errorf("the call that navigates the %s frame: %v", who, err)
		}
		if got := h.await(t, base+"/"+who+"-stolen"); got.Get("Authorization") != "" || got.Get("X-Env") != "" {
			t.Errorf("the navigation of the %s frame has %v", who, got)
		}
		s.until("the frame arrived", func(all []session.ToolsChanged) bool {
			return !slices.ContainsFunc(all, func(set session.ToolsChanged) bool {
				return slices.ContainsFunc(set.Tools, func(d bridge.Declaration) bool { return d.Name == who })
			})
		})
	}
	var h heard
	base, near, _ := three(t, &h)
	showPageWith(t, shared, with(t, base, credentials), base+"/away")
	if got := h.await(t, base+"/home"); got.Get("Authorization") != "Bearer abc.def" {
		t.Errorf("the navigation that came back has %v", got)
	}
	if got := h.await(t, near+"/back"); got.Get("Authorization") != "" || got.Get("X-Env") != "" {
		t.Errorf("the other origin got %v", got)
	}
}

// TestHeadersFromTheStart: the first requests of a document, which come before the
// browser tells of it, have the headers, also where the site sends no referrers.
func TestHeadersFromTheStart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	having, without := map[string]int{}, map[string]int{}
	check := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if r.Header.Get("Authorization") == "Basic Y2FybDpzM2NyZXQ=" {
				having[r.URL.Path]++
			} else {
				without[r.URL.Path]++
			}
			mu.Unlock()
			w.Header().Set("Referrer-Policy", "no-referrer")
			w.Header().Set("Cache-Control", "no-store")
			then(w, r)
		}
	}
	early := `<link rel=stylesheet href=/a.css><script src=/a.js></script><script src=/b.js></script><img src=/a.png>`
	base := site(t, map[string]http.HandlerFunc{
		"/": check(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, early, `<iframe src=/f1></iframe><iframe src=/f2></iframe>`)
		}),
		"/f1": check(html(early + `<iframe src=/f3></iframe>`)), "/f2": check(html(early)), "/f3": check(html(early)),
		"/a.css": check(empty), "/a.js": check(empty), "/b.js": check(empty), "/a.png": check(empty),
	})
	w := openWith(t, shared, with(t, base, pageconfig.Settings{BasicAuth: &pageconfig.BasicAuth{User: "carl", Password: "s3cret"}}))
	loads := 5
	for range loads {
		if err := w.Load(t.Context(), base+"/"); err != nil {
			t.Fatal(err)
		}
		for ev := range w.Events() {
			if _, ok := ev.(session.Loaded); ok {
				break
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(without) > 0 {
		t.Errorf("without: %v", without)
	}
	if having["/"] != loads || having["/f3"] != loads || having["/b.js"] < 4*loads {
		t.Errorf("with: %v", having)
	}
}
