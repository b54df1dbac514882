package cdp

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// greedy takes memory and storage: so many MiB. Above 64 its calls do not end, and keep what they
// took, which is less than what the script engine gives it.
const greedy = `<script>{
const kept = [], tool = (name, execute) => navigator.modelContext.registerTool({name, description: name, inputSchema: {type: 'object'}, execute});
const fill = () => { const b = new Uint8Array(8 << 20); for (let i = 0; i < b.length; i += 4096) b[i] = i; return b; };
const noise = () => { const b = new Uint8Array(8 << 20); for (let i = 0; i < b.length; i += 65536) crypto.getRandomValues(b.subarray(i, i + 65536)); return b; }; // it cannot be compressed
const often = (n) => n / 8;
const held = (mib) => mib > 64 ? new Promise(() => {}) : mib;
const rest = () => new Promise((done) => setTimeout(done));
tool('buffers', async ({mib}) => { for (let i = 0; i < often(mib); i++) { kept.push(fill()); if (i % 8 === 0) await rest(); } return held(mib); });
tool('wasm', async ({mib}) => { const m = new WebAssembly.Memory({initial: 1, maximum: 65536}); kept.push(m);
	for (let i = 0; i < often(mib); i++) { const at = m.buffer.byteLength; m.grow(128); new Uint8Array(m.buffer, at).fill(1); await rest(); } return held(mib); });
tool('pictures', async ({mib}) => { for (let i = 0; i < often(mib); i++) { kept.push(new ImageData(fill().length >> 12, 1024)); kept.at(-1).data.fill(7); await rest(); } return held(mib); });
tool('texts', async ({mib}) => { for (let i = 0; i < often(mib); i++) { kept.push(new TextDecoder('latin1').decode(fill()) + i); kept.at(-1).charCodeAt(9); await rest(); } return held(mib); });
tool('worker', async ({mib}) => { const w = new Worker(URL.createObjectURL(new Blob(['const kept = []; onmessage = ({data}) => { for (let i = 0; i < data; i++) kept.push(new Uint8Array(8 << 20).fill(1)); postMessage(1); }'])));
	await new Promise((done) => { w.onmessage = done; w.postMessage(often(mib)); }); kept.push(w); return held(mib); });
const db = () => new Promise((done, fail) => { const r = indexedDB.open('d', 1); r.onupgradeneeded = () => r.result.createObjectStore('s', {autoIncrement: true}); r.onsuccess = () => done(r.result); r.onerror = () => fail(r.error); });
const put = (d, x) => new Promise((done, fail) => { const t = d.transaction('s', 'readwrite'); t.objectStore('s').add(x); t.oncomplete = done; t.onabort = t.onerror = () => fail(t.error ?? new Error('aborted')); });
tool('database', async ({mib}) => { const d = await db(); let n = 0; try { for (; n < often(mib); n++) { await put(d, noise()); } } catch (e) { return {stored: n * 8, why: e.name}; } return {stored: n * 8}; });
tool('cache', async ({mib}) => { const c = await caches.open('c'); let n = 0; try { for (; n < often(mib); n++) await c.put('/x' + n, new Response(noise())); } catch (e) { return {stored: n * 8, why: e.name}; } return {stored: n * 8}; });
}</script>`

// TestMemoryOfPages holds S3: a page that takes more memory than a page may has crashed, however it
// takes it, and the pages beside it go on. What is below the limit works. Where memory runs out,
// renderers die before their browser, and before us.
func TestMemoryOfPages(t *testing.T) {
	t.Parallel()
	e := engine(t, nil)
	e.heavy = 256 << 20
	base := site(t, map[string]http.HandlerFunc{"/": html(greedy), "/calm": html(`<script>navigator.modelContext.registerTool({name: 'calm', description: 'c', inputSchema: {type: 'object'}, execute: () => 'calm'})</script>`)})
	calm := showPage(t, e, base+"/calm")
	browser := adjOf(t, browserOf(t, e))
	for _, pid := range renderersOf(t, e) {
		if own := adjOf(t, os.Getpid()); adjOf(t, pid) <= max(browser, own) {
			t.Errorf("a renderer has %d, the browser %d, and we have %d", adjOf(t, pid), browser, own)
		}
	}
	for _, tool := range []string{"buffers", "wasm", "pictures", "texts", "worker"} {
		p := showPage(t, e, base)
		if got, err := p.call(tool, `{"mib":64}`); err != nil {
			t.Errorf("%s, the control: %s, %v", tool, got, err)
		}
		_, err := p.call(tool, `{"mib":512}`)
		if failure, ok := errors.AsType[*bridge.Error](err); !ok || failure.Reason != bridge.PageCrashed || failure.Outcome != bridge.Unknown {
			t.Fatalf("%s, twice what a page may: %v", tool, err)
		}
		if got := calm.must("calm", "{}"); got != `"calm"` {
			t.Errorf("beside %s: %s", tool, got)
		}
	}
}

// adjOf reads how early the system ends a process.
func adjOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	if err != nil {
		t.Fatal(err)
	}
	adj, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return adj
}

// TestStorageOfPages holds S3: what a page stores has a bound, beyond which the page gets an error.
func TestStorageOfPages(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(greedy)})
	for tool, of := range map[string]string{"database": base, "cache": ""} { // which may not be known before
		p := showPageWith(t, shared, session.TabOptions{Origin: of}, base)
		if got := p.must(tool, `{"mib":64}`); got != `{"stored":64}` {
			t.Errorf("%s, the control: %s", tool, got)
		}
		if got := p.must(tool, `{"mib":512}`); !strings.Contains(got, `"why":"QuotaExceededError"`) {
			t.Errorf("%s without end: %s", tool, got)
		}
	}
	q := &quota{known: map[string]bool{}, left: maxStored}
	total := 0.0
	for i := range 3 * maxOrigins {
		for _, c := range q.bound(fmt.Sprintf("https://a%d.example/", i)) {
			total += *c.Params.(storageBound).QuotaSize
		}
	}
	if total != maxStored || len(q.known) > maxOrigins || q.bound("about:blank") != nil || q.bound("https://a2999.example/x") != nil {
		t.Errorf("%v bytes of many origins, %d known", total, len(q.known))
	}
}
