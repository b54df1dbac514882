package cdp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// TestGPUProcessKilled (R4): without the process that draws, nothing is lost: calls in
// flight end well, and pictures can be made again.
func TestGPUProcessKilled(t *testing.T) {
	t.Parallel()
	asked, let := make(chan struct{}), make(chan struct{})
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>tool('waits', () => fetch('/held').then(() => 'came')); tool('fine', () => 1)</script>`),
		"/held": func(http.ResponseWriter, *http.Request) {
			asked <- struct{}{}
			<-let
		},
	})
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		e := engine(t, only)
		p := showPage(t, e, base+"/")
		p.must("fine", "{}")
		picture(t, p)
		got := make(chan string, 1)
		p.find("waits")
		go func() {
			text, err := p.call("waits", "{}")
			got <- fmt.Sprint(text, err)
		}()
		<-asked
		victims := partsOf(t, e, "--type=gpu-process")
		signal(t, sigKill, victims...)
		awaitGone(t, victims)
		let <- struct{}{}
		if text := <-got; text != `"came"<nil>` {
			t.Errorf("the call in flight ended with %s", text)
		}
		if text := p.must("fine", "{}"); text != "1" {
			t.Errorf("the next call gave %s", text)
		}
		picture(t, p)
		if c := e.Counts(); c.Started != 1 || len(c.Lost) != 0 {
			t.Errorf("browsers: %+v", c)
		}
	})
}

// picture makes a picture of the page.
func picture(t *testing.T, p *shown) {
	t.Helper()
	shot, err := p.Screenshot(t.Context())
	if err != nil || len(shot) == 0 {
		t.Fatalf("a picture of %d bytes, %v", len(shot), err)
	}
}

// awaitGone waits until processes have ended.
func awaitGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for slices.ContainsFunc(pids, func(pid int) bool { return lives(pid) }) {
		if time.Now().After(deadline) {
			t.Fatalf("of %v some run on", pids)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestNetworkServiceKilled (R5): what the page was fetching fails in the page, as an error
// of its tool, and a moment later calls are fine.
func TestNetworkServiceKilled(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>tool('waits', () => fetch('/held').then(() => 'came')); tool('gets', () => fetch('/text').then((r) => r.text()))</script>`),
		"/held": func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		},
		"/text": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text") },
	})
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		e := engine(t, only)
		p := showPage(t, e, base+"/")
		if got := p.must("gets", "{}"); got != `"text"` {
			t.Fatalf("before: %s", got)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := p.call("waits", "{}")
			failed <- err
		}()
		<-asked
		victims := partsOf(t, e, "--utility-sub-type=network.mojom.NetworkService")
		signal(t, sigKill, victims...)
		if err := <-failed; reasonOf(err) != "TOOL_ERROR  failed" || !strings.Contains(bridge.AsError(err).Message, "Failed to fetch") {
			t.Errorf("the call ended with %v", err)
		}
		// The renderer gets another service when the browser has one: until then a call fails
		// in the same way, and says so.
		deadline := time.Now().Add(hang)
		for {
			got, err := p.call("gets", "{}")
			if err == nil && got == `"text"` {
				break
			}
			if reasonOf(err) != "TOOL_ERROR  failed" || time.Now().After(deadline) {
				t.Fatalf("the next call gave %s, %v", got, err)
			}
		}
		if c := e.Counts(); c.Started != 1 || len(c.Lost) != 0 {
			t.Errorf("browsers: %+v", c)
		}
	})
}

// TestServiceWorkers (R27): a service worker that takes the page over, updates itself and
// navigates the page leaves no tool of a document that is gone.
func TestServiceWorkers(t *testing.T) {
	t.Parallel()
	const version = `addEventListener('install', () => skipWaiting());
		addEventListener('activate', (e) => e.waitUntil(clients.claim()));
		addEventListener('message', (e) => e.waitUntil((async () => {
			for (const c of await clients.matchAll()) if (e.data === 'reload') await c.navigate(c.url)
		})()));
		addEventListener('fetch', (e) => { if (e.request.mode === 'navigate') e.respondWith(new Response(
			'<!doctype html><script>navigator.modelContext.registerTool({name: "VERSION", description: "x", execute: () => "VERSION"});' +
			'navigator.modelContext.registerTool({name: "clear", description: "x", execute: async () => { await (await navigator.serviceWorker.getRegistration()).unregister(); location.reload() }})</' + 'script>',
			{headers: {'content-type': 'text/html'}})) })`
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprint(w, strings.ReplaceAll(version, "VERSION", "worker-"+r.URL.RawQuery))
	}
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>
			const taken = (n) => new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done; navigator.serviceWorker.register('/worker?' + n) });
			tool('update', async ({n}) => { await taken(n); return 'taken' });
			tool('kill', () => { navigator.serviceWorker.controller.postMessage('reload'); return new Promise(() => {}) });
		</script>`),
		"/worker": serve,
	})
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		p := showPage(t, engine(t, only), base+"/")
		p.untilOffers(" update", " kill")
		for _, n := range []string{"1", "2"} {
			if got := p.must("update", `{"n":`+n+`}`); got != `"taken"` {
				t.Fatalf("worker %s: %s", n, got)
			}
		}
		p.untilOffers(" update", " kill")
		stale := p.find("update")
		if _, err := p.call("kill", "{}"); reasonOf(err) != "INTERNAL_ERROR PAGE_NAVIGATED unknown" {
			t.Errorf("the call during which the worker took the page away: %v", err)
		}
		p.untilOffers(" worker-2", " clear")
		if got := p.must("worker-2", "{}"); got != `"worker-2"` {
			t.Errorf("the worker's page gives %s", got)
		}
		_, err := came(p.Invoke(t.Context(), session.Invocation{Document: stale.Document, Tool: stale.ID, Input: []byte("{}"), MaxBytes: 100}))
		if reasonOf(err) != "WEBTOOL_NOT_FOUND  not_run" {
			t.Errorf("a tool of the page that is gone: %v", err)
		}
		_, _ = p.call("clear", "{}") // the page goes away with it
		p.untilOffers(" update", " kill")
	})
}
