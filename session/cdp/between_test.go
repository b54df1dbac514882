package cdp

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/session"
)

// film watches the network of a page, or answers in its place.
type film struct {
	mu    sync.Mutex
	plays bool
	seen  map[string]*session.Exchange // by method and URL
	lacks []string
}

func (f *film) Ask(x *session.Exchange) session.Ruling {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.plays {
		return session.Watch
	}
	was := f.seen[x.Method+" "+x.URL]
	if was == nil {
		f.lacks = append(f.lacks, x.Method+" "+x.URL)
		return session.Refuse
	}
	x.Status, x.Answer, x.Content = was.Status, was.Answer.Clone(), was.Content
	for _, name := range []string{"Content-Length", "Content-Encoding"} {
		x.Answer.Del(name)
	}
	return session.Answer
}

func (f *film) Answered(x *session.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[x.Method+" "+x.URL] = x
}

// TestBetween: all requests of a page, its frames and its workers are asked about, and can be
// answered without the network; what is not answered is refused.
func TestBetween(t *testing.T) {
	t.Parallel()
	var h heard
	base, near, _ := three(t, &h)
	f := &film{seen: map[string]*session.Exchange{}}
	act := func() {
		o := session.TabOptions{Origin: base, Record: true, Network: f}
		s := showPageWith(t, shared, o, base+"/page")
		for _, tool := range []string{"own", "child", "out", "near", "far"} {
			if got := s.must(tool, "{}"); got != `"done"` {
				t.Fatalf("%s gives %s", tool, got)
			}
		}
		if got := s.must("redirected", "{}"); got != fmt.Sprintf("%q", near+"/landed") {
			t.Errorf("the redirect led to %s", got)
		}
	}
	act()
	asked := map[string]bool{}
	for what := range f.seen {
		what, _, _ = strings.Cut(strings.Replace(what, "http://", "", 1), "?")
		asked[what] = true
	}
	for what := range h.snapshot() {
		if !asked[what] {
			t.Errorf("%s was not asked about", what)
		}
	}
	if body := string(f.seen["POST "+base+"/own-post"].Body); body != "x" {
		t.Errorf("the body of a request is %q", body)
	}
	h.mu.Lock()
	h.all = map[string]http.Header{}
	h.mu.Unlock()
	f.plays = true
	act()
	if got := h.snapshot(); len(got) > 0 || f.lacks != nil {
		t.Errorf("the network was asked for %v, and these are lacking: %v",
			slices.Sorted(maps.Keys(got)), f.lacks)
	}
	delete(f.seen, "GET "+base+"/own-cors")
	o := session.TabOptions{Origin: base, Record: true, Network: f}
	showPageWith(t, shared, o, base+"/page").must("own", "{}")
	if want := "GET " + base + "/own-cors"; len(f.lacks) != 1 || f.lacks[0] != want || len(h.snapshot()) > 0 {
		t.Errorf("these are lacking: %v", f.lacks)
	}
}

// TestBetweenBodies: bodies are reported as the page gets them, but for those that are too long or
// have no end. Service workers answer nothing.
func TestBetweenBodies(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>
tool('get', ({path, method}) => fetch(path, {method}).then(async (r) => r.status + ' ' + (await r.text()).length));
tool('events', () => new Promise((r) => { const s = new EventSource('/events'); s.onmessage = (e) => { s.close(); r(e.data) } }));
tool('kept', async () => { await navigator.serviceWorker.register('/keep.js'); await navigator.serviceWorker.ready; return (await fetch('/text')).status });
</script>`),
		"/text": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text") },
		"/none": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/gzip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, "packed")
			_ = z.Close()
		},
		"/long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", session.MaxExchange+1))
		},
		"/declared": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(session.MaxExchange+1))
			_, _ = io.WriteString(w, strings.Repeat("x", session.MaxExchange+1))
		},
		"/events": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"/keep.js": scriptFile(`onactivate = (e) => e.waitUntil(clients.claim()); onfetch = (e) => e.respondWith(new Response('kept', {status: 299}))`),
	})
	f := &film{seen: map[string]*session.Exchange{}}
	s := showPageWith(t, shared, session.TabOptions{Origin: base, Record: true, Network: f}, base+"/")
	for _, c := range []struct {
		path, method, got, content string
		cut                        bool
	}{
		{"/text", "GET", "200 4", "text", false}, {"/text", "HEAD", "200 0", "", false},
		{"/none", "GET", "204 0", "", false}, {"/gzip", "GET", "200 6", "packed", false},
		{"/long", "GET", fmt.Sprintf("200 %d", session.MaxExchange+1), "", true},
		{"/declared", "GET", fmt.Sprintf("200 %d", session.MaxExchange+1), "", true},
	} {
		if got := s.must("get", fmt.Sprintf(`{"path":%q,"method":%q}`, c.path, c.method)); got != fmt.Sprintf("%q", c.got) {
			t.Errorf("%s: the page gets %s", c.path, got)
		}
		x := f.seen[c.method+" "+base+c.path]
		if x == nil || string(x.Content) != c.content || x.Cut != c.cut {
			t.Errorf("%s %s: %+v", c.method, c.path, x)
		}
	}
	if got := s.must("events", "{}"); got != `"1"` || !f.seen["GET "+base+"/events"].Cut {
		t.Errorf("the events: %s", got)
	}
	if got := s.must("kept", "{}"); got != "200" {
		t.Errorf("the service worker answered: %s", got)
	}
}
