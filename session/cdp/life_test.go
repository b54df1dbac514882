package cdp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
)

// TestCallsThatNavigate (P15, R10, R12, R13): a navigation that does not replace
// the document ends no call; one that does ends it, unless the tool had answered.
func TestCallsThatNavigate(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>
			const go = (to) => { location.href = to };
			const later = () => new Promise((r) => setTimeout(() => r('stayed'), 300));
			tool('nothing', () => { go('/nothing'); return later() });
			tool('download', () => { go('/download'); return later() });
			tool('hash', () => { go('#there'); return later() });
			tool('push', () => { history.pushState({}, '', '/pushed'); return later() });
			tool('stopped', () => { go('/never'); setTimeout(() => stop(), 50); return later() });
			tool('answers', () => { go('/next'); return 'answered' });
			tool('leaves', () => { go('/next'); return new Promise(() => {}) });
			tool('redirected', () => { go('/redirect'); return new Promise(() => {}) });
			tool('replaces', () => { location.replace('/next'); return new Promise(() => {}) });
			tool('reloads', () => { location.reload(); return new Promise(() => {}) });
			tool('writes', () => { document.open(); document.write('<p>new'); document.close(); return 'written' });
		</script>`),
		"/next":     html(`<script>tool('next', () => 1)</script>`),
		"/redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/next", http.StatusFound) },
		"/nothing":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/never":    func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/download": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=x")
			fmt.Fprint(w, "x")
		},
	})
	p := showPage(t, shared, base+"/")
	for name, want := range map[string]string{
		"nothing": `"stayed"`, "download": `"stayed"`, "hash": `"stayed"`, "push": `"stayed"`, "stopped": `"stayed"`, "answers": `"answered"`, "writes": `"written"`,
		"leaves": "", "redirected": "", "replaces": "", "reloads": "",
	} {
		at := base + "/?" + name // a document of the row before may still be on its way
		p.begin(t, at)
		p.until("the document of "+name, func([]session.ToolsChanged) bool { return p.shows() == at })
		got, err := p.call(name, "{}")
		switch {
		case want != "" && (err != nil || got != want):
			t.Errorf("%s: %s, %v", name, got, err)
		case want == "" && reasonOf(err) != "INTERNAL_ERROR PAGE_NAVIGATED unknown":
			t.Errorf("%s: %s, %s", name, got, reasonOf(err))
		}
		switch name {
		case "answers", "leaves", "redirected", "replaces":
			if got := p.must("next", "{}"); got != "1" {
				t.Errorf("after %s the next document gives %s", name, got)
			}
		}
	}
}

// TestFramesKeepApart (P3): a registration of one document is none of another's,
// and a frame cannot end or answer the calls of the page that holds it, nor of a
// frame beside it.
func TestFramesKeepApart(t *testing.T) {
	t.Parallel()
	other := site(t, map[string]http.HandlerFunc{"/frame": html(`<script>
		tool('attack', async () => {
			const tried = [];
			for (const w of [parent, top, ...[0, 1, 2].map((i) => parent.frames[i]).filter((w) => w !== window)]) {
				for (const f of [
					() => w.document.modelContext.registerTool({name: 'planted', description: 'x', execute: () => 1}),
					() => w.navigator.modelContext.clearContext(),
					() => { w.modelContext = 1 },
					() => w.agent.dispatchEvent(new Event('toolcall')),
				]) try { await f(); tried.push('did') } catch (e) { tried.push(e.name) }
				w.postMessage({type: 'result', id: 1, value: 'forged'}, '*');
			}
			return [...new Set(tried)];
		});
	</script>`)})
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<iframe name=beside src="/beside"></iframe>
			<iframe name=port allow=tools src="` + other + `/frame"></iframe><iframe name=site allow=tools src="` + elsewhere(other) + `/frame"></iframe>
			<script>let release; tool('wait', () => new Promise((r) => { release = r })); tool('release', () => { release('released') }); tool('waits', () => !!release)</script>`),
		"/beside": html(`<script>tool('beside', () => 'beside')</script>`),
	})
	p := showPage(t, shared, base+"/")
	p.untilOffers(" wait", " release", " waits", "beside beside", "port attack", "site attack")
	type outcome struct {
		got string
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		got, err := p.in(t.Context(), "", "wait")
		done <- outcome{got, err}
	}()
	for {
		if got, err := p.in(t.Context(), "", "waits"); err != nil || got == "true" {
			break
		}
	}
	for _, path := range []string{"port", "site"} {
		got, err := p.in(t.Context(), path, "attack")
		if err != nil || got != `["SecurityError"]` {
			t.Errorf("%s: the attacks gave %s, %v", path, got, err)
		}
	}
	p.mu.Lock()
	for _, from := range p.sets {
		for _, to := range p.sets {
			for _, x := range from.Tools {
				inv := session.Invocation{Document: to.Document, Tool: x.ID, Input: json.RawMessage("{}"), MaxBytes: 100}
				if from.Document == to.Document || x.Name == "wait" {
					continue
				}
				p.mu.Unlock()
				if _, err := came(p.Invoke(t.Context(), inv)); !errors.Is(err, session.ErrGone) {
					t.Errorf("%s of %q was found in %q: %v", x.Name, from.Frame.Path, to.Frame.Path, err)
				}
				p.mu.Lock()
			}
		}
	}
	p.mu.Unlock()
	if _, err := p.in(t.Context(), "", "release"); err != nil {
		t.Error(err)
	}
	if o := <-done; o.err != nil || o.got != `"released"` {
		t.Errorf("the call beside the attacks ended with %s, %v", o.got, o.err)
	}
	p.untilOffers(" wait", " release", " waits", "beside beside", "port attack", "site attack")
}

// TestFrameFloods (P7, P9): frames without end, many or short-lived ones, cost
// others nothing, and their page is usable or gone.
func TestFrameFloods(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>tool('echo', (x) => x)</script>`),
		"/many": html(`<script>tool('fine', () => 1);
			for (let i = 0; i < 100; i++) { const f = document.createElement('iframe'); f.srcdoc = '<script>navigator.modelContext.registerTool({name: "t' + i + '", description: "t", execute: () => 1})<\/script>'; document.documentElement.append(f) }</script>`),
		"/churn": html(`<script>tool('fine', () => 1);
			const again = () => { for (let i = 0; i < 20; i++) { const f = document.createElement('iframe'); document.documentElement.append(f);
				f.contentWindow.document.modelContext.registerTool({name: 't', description: 't', execute: () => 1}); setTimeout(() => f.remove(), 1) } setTimeout(again, 5) };
			again()</script>`),
		"/nested": html(`<script>tool('fine' + Number(location.search.slice(1)), () => 1); const n = Number(location.search.slice(1)) + 1;
			if (n < 100) { const f = document.createElement('iframe'); f.src = '?' + n; document.documentElement.append(f) }</script>`),
	})
	quiet := showPage(t, shared, base+"/")
	quiet.find("echo")
	paths, calls := []string{"/churn", "/many", "/nested"}, gatetest.Amount(10, 100)
	for _, path := range paths[:gatetest.Amount(1, len(paths))] {
		flooding := showPage(t, shared, base+path)
		var worst time.Duration
		for i := range calls {
			began := time.Now()
			input := fmt.Sprintf(`{"i":%d}`, i)
			if got := quiet.must("echo", input); got != input {
				t.Fatalf("got %s", got)
			}
			worst = max(worst, time.Since(began))
		}
		t.Logf("%s: the slowest of %d calls beside it took %s", path, calls, worst)
		if flooding.target.Reason() == nil {
			name := "fine"
			if path == "/nested" {
				name = "fine0"
			}
			_, err := flooding.call(name, "{}")
			if err != nil && flooding.target.Reason() == nil {
				t.Errorf("%s: the page lives and its call fails: %v", path, err)
			}
		}
		flooding.mu.Lock()
		if n := len(flooding.sets); n > maxFrames+1 {
			t.Errorf("%s: %d documents have tools", path, n)
		}
		flooding.mu.Unlock()
		if err := flooding.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestToolsThatChangeInACall (R17): a tool that is removed, replaced or
// registered again while it runs ends as it would have; the next call runs what
// is registered then, or nothing.
func TestToolsThatChangeInACall(t *testing.T) {
	t.Parallel()
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<script>
		const mc = document.modelContext, tick = () => new Promise((r) => setTimeout(r));
		const register = (name, execute, signal) => mc.registerTool({name, description: name, execute}, {signal});
		const c = new AbortController();
		register('aborted', async () => { c.abort(); await tick(); return 'ran' }, c.signal);
		register('unregistered', async () => { mc.unregisterTool('unregistered'); await tick(); return 'ran' });
		register('replaced', async () => { mc.unregisterTool('replaced'); register('replaced', () => 'second'); await tick(); return 'first' });
		register('cleared', async () => { mc.provideContext({tools: [{name: 'cleared', description: 'c', execute: () => 'second'}]}); await tick(); return 'first' });
	</script>`)})+"/")
	for _, name := range []string{"aborted", "unregistered"} {
		d := p.find(name)
		if got := p.must(name, "{}"); got != `"ran"` {
			t.Errorf("%s gave %s", name, got)
		}
		_, err := came(p.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage("{}"), MaxBytes: 100}))
		if !errors.Is(err, session.ErrGone) {
			t.Errorf("%s runs again: %v", name, err)
		}
	}
	for _, name := range []string{"replaced", "cleared"} {
		d := p.find(name)
		if got := p.must(name, "{}"); got != `"first"` {
			t.Errorf("%s gave %s", name, got)
		}
		_, err := came(p.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage("{}"), MaxBytes: 100}))
		if !errors.Is(err, session.ErrGone) {
			t.Errorf("the old %s runs again: %v", name, err)
		}
		p.until("there is another "+name, func(all []session.ToolsChanged) bool {
			return slices.ContainsFunc(all[0].Tools, func(now bridge.Declaration) bool { return now.Name == name && now.ID != d.ID })
		})
		if got := p.must(name, "{}"); got != `"second"` {
			t.Errorf("the new %s gave %s", name, got)
		}
	}
}
