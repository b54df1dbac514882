package cdp

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
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
tool('blobs', async ({mib}) => { for (let i = 0; i < often(mib); i++) { kept.push(new Blob([noise()])); await rest(); } return held(mib); });
tool('textures', async ({mib}) => { const g = document.createElement('canvas').getContext('webgl2'); if (!g) return mib > 64 ? Promise.reject(new Error('no WebGL')) : 0; kept.push(g);
	for (let i = 0; i < often(mib); i++) { const b = g.createBuffer(); g.bindBuffer(g.ARRAY_BUFFER, b); g.bufferData(g.ARRAY_BUFFER, noise(), g.STATIC_DRAW); kept.push(b); await rest(); } return held(mib); });
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
	if s := e.States(true)[0]; s.State != "running" || s.Tabs != 1 || s.Memory < 32<<20 || s.Version == "" || len(s.Lost) != 0 {
		t.Errorf("operators see %+v", s)
	}
	browser := adjOf(t, browserOf(t, e))
	for _, pid := range renderersOf(t, e) {
		if own := adjOf(t, os.Getpid()); adjOf(t, pid) <= max(browser, own) {
			t.Errorf("a renderer has %d, the browser %d, and we have %d", adjOf(t, pid), browser, own)
		}
	}
	tools := []string{"buffers"} // where memory is dear, each of them takes a quarter of a minute
	if gatetest.IsNightly() {
		tools = append(tools, "wasm", "pictures", "texts", "worker", "blobs", "textures")
	}
	for _, tool := range tools {
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
	origins := map[string]string{"database": base}
	if gatetest.IsNightly() { // for this writes 320 MiB, too
		origins["cache"] = "" // which may not be known before
	}
	for tool, of := range origins {
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

// TestCommons: what the shared processes take is held against the renderers that ran meanwhile, and
// the one that took most ends; what became free is held against nobody.
func TestCommons(t *testing.T) {
	t.Parallel()
	const mib, limit = 1 << 20, 256 << 20
	start := time.Unix(1000, 0)
	for _, x := range []struct {
		name  string
		looks string // bytes of all in MiB, then the seconds that the renderers 1, 2, 3 have run; "-": it is gone
		ends  string // in order
	}{
		{"nothing grows", "100 1 1 1, 100 9 1 1, 101 9 9 9", ""},
		{"one takes", "100 1 1 1, 300 1.1 3 1, 500 1.2 5 1", "2"},
		{"one takes while another works", "100 0 0 0, 200 1 1 0, 300 1 2 0, 500 2 4 0", "2"},
		{"within the limit", "100 0 0 0, 300 3 0 0, 399 6 0 0", ""},
		{"it falls again", "100 0 0 0, 380 9 0 0, 100 9 0 0, 390 9 9 0, 420 9 12 0", "2"},
		{"what is ended gets time", "100 0 0 0, 900 9 1 0, 890 - 1 0, 880 - 1 0", "1"},
		{"the browser keeps what is free", "100 0 0 0, 900 9 1 0, 900 - 1 0, 900 - 2 1, 900 - 3 2, 900 - 4 3, 900 - 5 4", "1"},
		{"it goes on elsewhere", "100 0 0 0, 900 9 1 0, 800 - 1 0, 900 - 3 0, 1200 - 5 0, 1300 - 6 0", "1 2"},
		{"nobody ran", "100 0 0 0, 900 0 0 0", ""},
		{"it grew before the first look", "900 9 9 9, 1000 10 9 9", ""},
		{"slowly, beside pages that do nothing", "100 0 0 0, 200 1 0 0, 300 2 0 0, 400 3 0 0, 500 4 0 0", "1"},
	} {
		c, now := &commons{}, start
		var ended []string
		for look := range strings.SplitSeq(x.looks, ", ") {
			now = now.Add(lookEvery)
			words := strings.Fields(look)
			ran := map[int64]float64{}
			for i, word := range words[1:] {
				if seconds, err := strconv.ParseFloat(word, 64); err == nil {
					ran[int64(i+1)] = seconds
				}
			}
			all, err := strconv.Atoi(words[0])
			if err != nil {
				t.Fatal(err)
			}
			c.look(uint64(all)*mib, ran)
			if pid, over := c.over(limit, now); over {
				ended = append(ended, strconv.FormatInt(pid, 10))
			}
		}
		if got := strings.Join(ended, " "); got != x.ends {
			t.Errorf("%s: it ends %q, want %q", x.name, got, x.ends)
		}
	}
}
