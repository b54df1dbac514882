package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// TestNoisyNeighbour (P8, P9): a page that registers, logs and navigates without
// end costs others nothing but time.
func TestNoisyNeighbour(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>tool('echo', (x) => x)</script>`),
		"/noise": html(`<script>
			const all = Array.from({length: 256}, (_, i) => ({name: 't' + i, description: 'x'.repeat(1000), inputSchema: {type: 'object'}, execute: () => i}));
			let n = 0;
			const noise = () => {
				const end = performance.now() + 20;
				do {
					navigator.modelContext.provideContext({tools: all});
					for (let i = 0; i < 50; i++) { console.log('noise', {i}, 'x'.repeat(1000)); setTimeout(() => { throw new Error('noise') }) }
					history.replaceState({}, '', '#' + n++); document.title = n;
				} while (performance.now() < end);
				setTimeout(noise);
			};
			noise();
		</script>`),
	})
	quiet := showPage(t, shared, base+"/")
	quiet.find("echo")
	noisy := showPage(t, shared, base+"/noise")
	noisy.find("t0")
	var worst time.Duration
	calls := gatetest.Amount(50, 200)
	for i := range calls {
		began := time.Now()
		input := fmt.Sprintf(`{"i":%d}`, i)
		if got := quiet.must("echo", input); got != input {
			t.Fatalf("got %s", got)
		}
		worst = max(worst, time.Since(began))
	}
	t.Logf("the slowest of %d calls beside the noise took %s", calls, worst)
	if err := noisy.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// expiring is a context whose deadline passes when the test says so.
type expiring struct {
	context.Context

	passed chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.passed }

func (e expiring) Err() error {
	select {
	case <-e.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestSpinners (R7, R8): whatever keeps a page busy, a call ends in time, and the
// page is usable or gone.
func TestSpinners(t *testing.T) {
	t.Parallel()
	spinning := make(chan struct{}, 1)
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>
			const spins = (name, execute) => tool(name, (...all) => { navigator.sendBeacon('/began'); return execute(...all) });
			spins('loop', () => { for (;;); });
			spins('microtasks', () => { const again = () => Promise.resolve().then(again); again(); return new Promise(() => {}) });
			spins('xhr', () => { const x = new XMLHttpRequest(); x.open('GET', '/never', false); x.send() });
			spins('regexp', () => /^(a+)+$/.test('a'.repeat(60) + 'b'));
			spins('toJSON', () => ({toJSON() { for (;;); }}));
			spins('onabort', (_, {signal}) => { signal.addEventListener('abort', () => { for (;;); }); return new Promise(() => {}) });
			spins('catches', () => { for (;;) { try { for (;;); } catch {} finally { continue } } });
			tool('fine', () => 1);
		</script>`),
		"/began": func(http.ResponseWriter, *http.Request) { spinning <- struct{}{} },
		"/never": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	})
	kinds := []string{"loop", "xhr", "onabort", "microtasks", "regexp", "toJSON", "catches"}
	for _, name := range kinds[:gatetest.Amount(2, len(kinds))] {
		p := showPage(t, shared, base+"/")
		d := p.find(name)
		ctx := expiring{t.Context(), make(chan struct{})}
		go func() { <-spinning; close(ctx.passed) }()
		start := time.Now()
		_, err := came(p.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage("{}"), MaxBytes: 1000}))
		took := time.Since(start)
		if got := reasonOf(err); got != "INTERNAL_ERROR TIMEOUT unknown" || took > hang {
			t.Errorf("%s: %s after %s", name, got, took)
		}
		if p.target.Reason() == nil { // a page that did not give in was closed
			_, err = p.call("fine", "{}")
			if got := reasonOf(err); got != "ok" && got != "INTERNAL_ERROR PAGE_CRASHED not_run" {
				t.Errorf("after %s: %s", name, got)
			}
		}
		start = time.Now()
		if err := p.Close(t.Context()); err != nil || time.Since(start) > hang {
			t.Errorf("closing after %s: %v, %s", name, err, time.Since(start))
		}
		t.Logf("%s: ended after %s, then %s", name, took, reasonOf(err))
	}
}

// TestCrash (R2): a crash that the browser reports fails the call at once.
func TestCrash(t *testing.T) {
	t.Parallel()
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('hang', () => new Promise(() => {}))</script>`)})+"/")
	d := p.find("hang")
	errs := make(chan error, 1)
	go func() {
		_, err := came(p.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID}))
		errs <- err
	}()
	for p.calls.inFlight() == 0 {
		<-time.After(time.Millisecond)
	}
	began := time.Now()
	go func() { _ = p.target.Call(t.Context(), page.CommandCrash, nil, nil) }()
	if got := reasonOf(<-errs); got != "INTERNAL_ERROR PAGE_CRASHED unknown" && got != "INTERNAL_ERROR PAGE_CRASHED not_run" {
		t.Errorf("it ended with %s", got)
	}
	if took := time.Since(began); took > hang {
		t.Errorf("it took %s", took)
	}
	<-p.dead
}

// TestIsolation (P21): two tabs share nothing that a page can keep; two documents
// of one tab share it all.
func TestIsolation(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>
			tool('keep', async () => {
				document.cookie = 'kept=1; path=/; max-age=1000'; localStorage.kept = 1; await (await caches.open('kept')).put('/x', new Response('x'));
				await navigator.serviceWorker.register('/sw.js'); await navigator.serviceWorker.ready; await fetch('/cached');
				await new Promise((r, j) => { const o = indexedDB.open('kept', 1); o.onsuccess = r; o.onerror = j }); return 1 });
			tool('kept', async () => [document.cookie, localStorage.kept ?? null, await caches.keys(), (await navigator.serviceWorker.getRegistrations()).length,
				(await indexedDB.databases()).length, (await (await fetch('/cached')).text())]);
		</script>`),
		"/sw.js": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/javascript") },
		"/cached": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=1000")
			fmt.Fprint(w, hits.Add(1))
		},
	})
	one := showPage(t, shared, base+"/")
	one.must("keep", "{}")
	if err := one.Load(t.Context(), base+"/"); err != nil {
		t.Fatal(err)
	}
	const all = `["kept=1","1",["kept"],1,1,"1"]`
	deadline := time.Now().Add(hang)
	for {
		got, err := one.call("kept", "{}")
		if err == nil && got == all {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the next document of the tab sees %s, %v; so the test proves nothing", got, err)
		}
	}
	two := showPage(t, shared, base+"/")
	if got := two.must("kept", "{}"); got != `["",null,[],0,0,"2"]` {
		t.Errorf("another tab sees %s", got)
	}
}

// TestInteractions (P24): requestUserInteraction outside of a call, too often, and
// without end.
func TestInteractions(t *testing.T) {
	t.Parallel()
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<script>
		let saved;
		const names = async (list) => (await Promise.allSettled(list)).map((r) => r.status === 'fulfilled' ? r.value : r.reason.name);
		tool('save', (_, agent) => { saved = agent; return 1 });
		tool('outside', () => names([saved.requestUserInteraction(() => 1)]));
		tool('many', async (_, agent) => { const out = {}; for (let i = 0; i < 1000; i++) { const [r] = await names([agent.requestUserInteraction(() => 'ok')]); out[r] = (out[r] ?? 0) + 1 } return out });
		tool('never', (_, agent) => agent.requestUserInteraction(() => new Promise(() => {})));
	</script>`)})+"/")
	p.must("save", "{}")
	if got := p.must("outside", "{}"); got != `["InvalidStateError"]` {
		t.Errorf("outside of its call: %s", got)
	}
	if got := p.must("many", "{}"); got != `{"ok":5,"NotAllowedError":995}` {
		t.Errorf("a thousand times: %s", got)
	}
	asked := p.asks("never", "{}")
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err := came(asked.Continue(ctx, nil))
	if got := reasonOf(err); got != "INTERNAL_ERROR TIMEOUT unknown" {
		t.Errorf("without end: %s", got)
	}
}

// TestWindows (P20): a window that the page does open is closed, whatever kind.
func TestWindows(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(`<a id=l href=/ target=_blank rel=noopener>x</a><script>tool('fine', () => 1)</script>`)})
	w := showPage(t, shared, base+"/")
	for _, how := range []string{`open('/')`, `open('/', '_blank', 'noopener')`, `document.getElementById('l').click()`, `open('about:blank', 'named', 'popup')`} {
		w.begin(t, base+"/")
		w.find("fine")
		// With a person's click: without, the browser opens none.
		err := w.target.Call(t.Context(), runtime.CommandEvaluate, map[string]any{"expression": how, "userGesture": true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.windows:
		case <-time.After(hang):
			t.Errorf("%s: nobody closed a window", how)
		}
		deadline := time.Now().Add(hang)
		for {
			targets, err := cdp.Call(t.Context(), w.browser.root, cdptarget.GetTargets, cdptarget.GetTargetsParams{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, x := range targets.TargetInfos {
				if x.BrowserContextID == w.context && x.Type == "page" {
					n++
				}
			}
			if n == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s: %d pages are open", how, n)
				break
			}
		}
	}
}

// TestWindowBombs (P20): windows without end, which nobody asked for, cost the page nothing
// in either kind of browser. In a shell that may open windows each of them is one.
func TestWindowBombs(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		tool('bomb', () => { let n = 0; for (let i = 0; i < 200; i++) { open('/', '_blank', 'noopener'); n += open('about:blank') !== null } return n });
		tool('one', () => open('about:blank') !== null)</script>`)})
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		p := showPage(t, engine(t, only), base+"/")
		if got := p.must("bomb", "{}"); got != "0" {
			t.Errorf("%s windows were opened", got)
		}
		if got := p.must("one", "{}"); got != "false" {
			t.Errorf("a window was opened: %s", got)
		}
	})
	if shared.Kind() != chrome.Shell {
		return
	}
	if got := showPage(t, shared, base+"/").must("one", "{}"); got != "true" {
		t.Error("a shell that may open windows opens none: the test proves nothing")
	}
}

// openings returns ways in which a page opens a window on a tool.
func openings() []string {
	all := []string{`open('/pop')`, `open('/pop', '_blank', 'noopener')`, `document.getElementById('l').click()`}
	return all[:gatetest.Amount(1, len(all))]
}

const openerPage = `<a id=l href=/pop target=_blank rel=noopener>x</a><script>tool('fine', () => 1)</script>`

func (s *shown) gesture(script string) {
	s.t.Helper()
	err := s.target.Call(s.t.Context(), runtime.CommandEvaluate, map[string]any{"expression": script + "; 0", "userGesture": true}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestWindowsBridged: the tools of windows are offered with those of the page, as
// long as the window is open; there are at most four.
func TestWindowsBridged(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(openerPage),
		"/pop": html(`<iframe name=inner srcdoc="<script>navigator.modelContext.registerTool({name: 'inner', description: 'i', execute: () => 'inner'})</script>"></iframe>
			<script>tool('pop', () => location.pathname); tool('leave', () => { close() }); tool('go', () => { location = '/next' })</script>`),
		"/next": html(`<script>tool('next', () => 'next')</script>`)})
	e := engine(t, func(o *LocalOptions) { o.AdoptWindows, o.Windows = true, true })
	for _, how := range openings() {
		w := showPageWith(t, e, session.TabOptions{Windows: session.BridgeWindows}, base+"/")
		w.find("fine")
		w.gesture(how)
		w.untilOffers(" fine", "window-1 pop", "window-1 leave", "window-1 go", "window-1/inner inner")
		if got := w.must("pop", "{}"); got != `"/pop"` {
			t.Errorf("%s: the window gives %s", how, got)
		}
		if got := w.must("inner", "{}"); got != `"inner"` {
			t.Errorf("%s: the frame in the window gives %s", how, got)
		}
		_, _ = w.call("go", "{}") // it may be lost with its document
		w.untilOffers(" fine", "window-1 next")
		for range session.MaxWindows {
			w.gesture(how)
		}
		select {
		case <-w.windows:
		case <-time.After(hang):
			t.Errorf("%s: nobody closed the fifth window", how)
		}
		w.until("there are four windows", func(all []session.ToolsChanged) bool { return len(all) == 1+session.MaxWindows+3 })
		w.must("leave", "{}")
		w.until("there are three windows", func(all []session.ToolsChanged) bool { return len(all) == 1+session.MaxWindows-1+2 })
	}
}

// TestWindowsReported: windows stay open and are told, up to four.
func TestWindowsReported(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(openerPage), "/pop": html(`<script>tool('pop', () => 1)</script>`)})
	for _, how := range openings() {
		w := showPageWith(t, shared, session.TabOptions{Windows: session.ReportWindows}, base+"/")
		w.find("fine")
		for range session.MaxWindows + 1 {
			w.gesture(how)
		}
		select {
		case <-w.windows:
		case <-time.After(hang):
			t.Errorf("%s: nobody closed the fifth window", how)
		}
		w.until("four windows were told", func([]session.ToolsChanged) bool { return w.opened == session.MaxWindows })
		w.untilOffers(" fine")
	}
}

// TestDownloads: nothing that a page sends becomes a file; when the browser is
// told to allow it, the same page makes one.
func TestDownloads(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	e := engine(t, func(o *LocalOptions) { o.ProfileDir = dir })
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<a id=b download="evil.sh">x</a><script>
			tool('save', () => { const a = document.getElementById('b'); a.href = URL.createObjectURL(new Blob(['x'])); a.click(); a.href = '/file'; a.click(); location.href = '/file'; return 1 });
			tool('fine', () => 1)</script>`),
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="evil.sh"`)
			fmt.Fprint(w, "x")
		},
	})
	p := showPage(t, e, base+"/")
	files := func(where string) (found []string) {
		_ = filepath.WalkDir(where, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && (strings.Contains(path, "evil") || strings.HasSuffix(path, ".crdownload") || strings.Contains(path, "Downloads")) {
				found = append(found, path)
			}
			return nil
		})
		return found
	}
	p.must("save", "{}")
	for range 20 {
		p.must("fine", "{}")
		<-time.After(20 * time.Millisecond)
	}
	if found := files(dir); len(found) > 0 {
		t.Errorf("there are %v", found)
	}
	to := filepath.Join(dir, "to")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := cdp.Call(t.Context(), p.browser.root, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: p.context, DownloadPath: to,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.must("save", "{}")
	deadline := time.Now().Add(hang)
	for len(files(to)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("with downloads allowed there is no file either: the test proves nothing")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestBackForward (P16): going back does not wake up a call that ended with its
// document. In a browser that keeps documents it does.
func TestBackForward(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>
			let persisted = false; addEventListener('pageshow', (e) => { persisted ||= e.persisted });
			tool('away', () => new Promise((r) => { location.href = '/2'; addEventListener('pageshow', (e) => { if (e.persisted) localStorage.woken = 1 }) }));
			tool('state', () => [persisted, localStorage.woken ?? null]);
		</script>`),
		"/2": html(`<script>tool('back', () => { setTimeout(() => history.back(), 10); return 1 })</script>`),
	})
	run := func(e *Engine) string {
		p := showPage(t, e, base+"/")
		_, err := p.call("away", "{}")
		if got := reasonOf(err); got != "INTERNAL_ERROR PAGE_NAVIGATED unknown" {
			t.Errorf("the call ended with %s", got)
		}
		p.must("back", "{}")
		for {
			if d := p.shown.top.Load(); d.url == base+"/" {
				break
			}
			<-time.After(5 * time.Millisecond)
		}
		deadline := time.Now().Add(hang)
		for {
			if got, err := p.call("state", "{}"); err == nil {
				return got
			} else if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	if got := run(shared); got != "[false,null]" {
		t.Errorf("after going back: %s", got)
	}
	remote, err := NewRemote(remoteAt("http://" + somebodysBrowser(t, true)))
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	// The control. Chromium keeps no document that does not come to rest within three seconds, as
	// on a busy machine.
	for began := time.Now(); ; {
		got := run(remote)
		if got == `[true,"1"]` {
			return
		}
		if time.Since(began) > hang {
			t.Fatalf("a browser that keeps documents gives %s: the test proves nothing", got)
		}
	}
}
