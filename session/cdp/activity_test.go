package cdp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
)

const quietTime = 100 * time.Millisecond

// acting is a page from which everything can be done.
const acting = `<form id=post method=post action=/post><input name=a value=1></form><form id=get action=/get><input name=a value=1></form>
<form id=blank method=post action=/post target=_blank></form><form id=framed method=post action=/post target=fr></form>
<iframe name=fr src=/frame></iframe><a id=file download=x.txt href=/file>x</a>
<script>
const store = (mode, use) => new Promise((done) => {
  const open = indexedDB.open('db', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('s');
  open.onsuccess = () => { const t = open.result.transaction('s', mode); use(t.objectStore('s')); t.oncomplete = () => done(1); };
});
</script>`

func scriptFile(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, text)
	}
}

// actingSite serves it, with what it asks for.
func actingSite(t *testing.T) string {
	t.Helper()
	pages := map[string]http.HandlerFunc{
		"/": html(acting),
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment")
			_, _ = io.WriteString(w, "a file")
		},
		"/cookie": func(w http.ResponseWriter, _ *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "theirs", Value: "1"})
		},
		"/none":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/away":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/next", http.StatusSeeOther) },
		"/worker.js": scriptFile(`fetch('/post', {method: 'POST', body: 'work'}).then(() => postMessage(1))`),
		"/keep.js":   scriptFile(`oninstall = (e) => e.waitUntil(fetch('/post', {method: 'POST', body: 'kept'}))`),
		"/events": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	}
	for _, path := range []string{"/frame", "/post", "/get", "/next"} {
		pages[path] = html("")
	}
	return site(t, pages)
}

// told says what happened, a line for each.
func told(a *session.Activity, origin string) []string {
	var all []string
	for _, r := range a.Requests {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %d%s %s", r.By, r.Method, r.URL, r.Status, r.Failed, r.Body)))
	}
	for _, w := range a.Writes {
		all = append(all, strings.TrimSpace(fmt.Sprintf("wrote %s %s %s", w.Area, w.Key, map[bool]string{true: "answered"}[w.Answered])))
	}
	for _, x := range []struct {
		what string
		list []string
	}{{"went to", a.Navigated}, {"submitted", a.Submitted}, {"opened", a.Windows}, {"loaded", a.Downloads}} {
		for _, address := range x.list {
			all = append(all, x.what+" "+address)
		}
	}
	for _, d := range a.Dialogs {
		all = append(all, d.Kind+" "+d.Message)
	}
	for _, s := range a.Said {
		all = append(all, s.Kind+" "+s.Text)
	}
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], origin, "")
	}
	return all
}

// alike matches what a page does like something else that TestProbeSees has.
var alike = regexp.MustCompile(`XMLHttp|^fr\.|^get\.|^blank|cookieStore|sessionStorage|caches\.match|/none|/file|^file|pushState|EventSource|= '/away'`)

// TestProbeSees: all that a script does to the network, to what the browser keeps and to the page
// is seen, and what only reads is told apart.
func TestProbeSees(t *testing.T) {
	t.Parallel()
	origin := actingSite(t)
	p, probe := probed(t, origin+"/")
	for does, want := range map[string]string{
		`fetch('/post', {method: 'POST', body: 'é'}).then(() => 1)`:                                                          "document POST /post 200 é",
		`new Promise((r) => { const x = new XMLHttpRequest(); x.open('PUT', '/post'); x.onload = () => r(1); x.send('x') })`: "document PUT /post 200 x",
		`navigator.sendBeacon('/post', 'b')`:                                                                                 "beacon POST /post 200 b",
		`fr.fetch('/get').then(() => 1)`:                                                                                     "document GET /get 200",
		`post.submit()`:                                                                                                      "document POST /post 200 a=1|submitted /post",
		`get.submit()`:                                                                                                       "document GET /get?a=1 200|submitted /get?a=1",
		`blank.submit()`:                                                                                                     "opened /post",
		`framed.submit()`:                                                                                                    "document POST /post 200|submitted /post",
		`fetch('/away', {method: 'POST', body: 'x'}).then(() => 1)`:                                                          "document POST /away 303 x|document GET /next 200",
		`document.cookie = 'mine=1'`:                                                                                         "wrote cookie mine",
		`cookieStore.set('ours', '1').then(() => 1)`:                                                                         "wrote cookie ours",
		`fetch('/cookie').then(() => 1)`:                                                                                     "document GET /cookie 200|wrote cookie theirs answered",
		`localStorage.a = 1`:                                                                                                 "wrote localStorage a",
		`fr.localStorage.b = 1`:                                                                                              "wrote localStorage b",
		`sessionStorage.a = 1; sessionStorage.removeItem('a')`:                                                               "wrote sessionStorage a",
		`store('readwrite', (s) => s.put(1, 'k'))`:                                                                           "wrote indexedDB|wrote indexedDB db/s",
		`store('readonly', (s) => s.get('k'))`:                                                                               "wrote indexedDB", // it made the database
		`caches.open('c').then((c) => c.put('/x', new Response('y'))).then(() => 1)`:                                         "wrote cache|wrote cache c",
		`caches.match('/x').then(() => 1)`:                                                                                   "",
		`localStorage.getItem('a') + document.cookie`:                                                                        "",
		`window.open('/next'); 1`:                                                                                            "opened /next",
		`location.href = '/next'`:                                                                                            "document GET /next 200|went to /next",
		`location.href = '/away'`:                                                                                            "document GET /away 303|document GET /next 200|went to /away",
		`location.href = '/none'`:                                                                                            "document GET /none 204|went to /none",
		`location.href = '/file'`:                                                                                            "document GET /file 200|loaded /file",
		`file.click()`:                                                                                                       "loaded /file",
		`history.pushState({}, '', '/pushed'); location.hash = 'x'`:                                                          "",
		`new Promise((r) => { new Worker('/worker.js').onmessage = () => r(1) })`:                                            "document GET /worker.js 200|worker POST /post 200 work",
		`navigator.serviceWorker.register('/keep.js').then(() => 1)`:                                                         "worker GET /keep.js 200|worker POST /post 200 kept",
		`new Promise((r) => { new EventSource('/events').onmessage = () => r(1) })`:                                          "document GET /events 200",
		`alert('hi'); confirm('sure?')`:                                                                                      "alert hi|confirm sure?",
		`console.error('bad', 1, {}); console.log('fine'); setTimeout(() => { throw 'thrown' }); 1`: "console bad 1 Object|exception thrown",
	} {
		t.Run(does, func(t *testing.T) {
			if alike.MatchString(does) {
				gatetest.Nightly(t, "another one like it is looked at by day")
			}
			probe := probe
			if strings.HasPrefix(does, "store(") || strings.Contains(does, "serviceWorker") {
				_, probe = probed(t, origin+"/") // they keep what they make
			} else {
				p.begin(t, origin+"/")
				p.complete(t)
			}
			m, err := probe.Mark(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			bounded, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, _ = probe.Evaluate(bounded, does) // a navigation fails it
			a, err := probe.Since(t.Context(), m, quietTime)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(a, origin); strings.Join(got, "|") != want || a.Cut {
				t.Errorf("seen %q, cut %v, want %q", strings.Join(got, "|"), a.Cut, want)
			}
			later, err := probe.Mark(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if a, err := probe.Since(t.Context(), later, 0); err != nil || len(told(a, origin)) > 0 {
				t.Errorf("nothing happened since, and %q was seen, %v", told(a, origin), err)
			}
		})
	}
}

// TestProbeIsBounded: a page that does things without end is cut, says so, and lives on; one that
// is never idle is left.
func TestProbeIsBounded(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{"/": html(``), "/never": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	pages := map[string]bool{
		`for (let i = 0; i < 2200; i++) console.error('x'.repeat(9000))`: true,
		`void fetch('/never')`: false,
	}
	if gatetest.IsNightly() {
		pages[`for (let i = 0; i < 10500; i++) localStorage.a = i`] = true
	}
	for does, cut := range pages {
		_, probe := probed(t, origin+"/")
		m, err := probe.Mark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := probe.Evaluate(t.Context(), does); err != nil {
			t.Fatal(err)
		}
		a, err := probe.Since(t.Context(), m, quietTime)
		for deadline := time.Now().Add(hang); err == nil && cut && !a.Cut && time.Now().Before(deadline); {
			a, err = probe.Since(t.Context(), m, quietTime) // a busy machine tells of storage later than that
		}
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for _, s := range a.Said {
			kept += len(s.Text)
		}
		if a.Cut != cut || !cut && !a.Busy || kept > 8<<20 || len(a.Said)+len(a.Writes) > 10_000 {
			t.Errorf("%s: cut %v, busy %v, %d bytes in %d", does, a.Cut, a.Busy, kept, len(a.Said))
		}
		if got, err := probe.Evaluate(t.Context(), `1 + 1`); err != nil || got != "2" {
			t.Errorf("%s: the page then says %s, %v", does, got, err)
		}
	}
}

// TestProbeOfAPageThatIsGone: what a page did is known when it is gone.
func TestProbeOfAPageThatIsGone(t *testing.T) {
	t.Parallel()
	p, probe := probed(t, actingSite(t)+"/")
	m, err := probe.Mark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Evaluate(t.Context(), `fetch('/post', {method: 'POST'}).then(() => 1)`); err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Since(t.Context(), m, quietTime); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, err := probe.Since(t.Context(), m, quietTime)
	if err != nil || !slices.ContainsFunc(a.Requests, func(r session.Request) bool { return r.Method == http.MethodPost }) {
		t.Errorf("seen %+v, %v", a, err)
	}
}
