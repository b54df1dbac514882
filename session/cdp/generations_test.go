package cdp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// generations is a page with a frame of each kind, whose tools are in each other's reach or not.
func generations(t *testing.T) string {
	t.Helper()
	inner := `<script>tool(location.pathname === 'srcdoc' ? 'srcdoc' : location.pathname.slice(1), (input) => ({input, here: String(location)}))</script>`
	other := site(t, map[string]http.HandlerFunc{"/other": html(inner)})
	return site(t, map[string]http.HandlerFunc{
		"/reused": html(inner), "/child": html(inner + `<iframe src="/grandchild"></iframe>`), "/grandchild": html(inner),
		"/": html(`<script>
			let changes = 0;
			document.modelContext.ontoolchange = () => changes++;
			tool('zero', () => 0);
			tool('list', async () => (await document.modelContext.getTools()).map((t) => [t.name, t.origin === origin, t.window === window]));
			tool('changes', () => changes);
			tool('run', async ({name, input}) => {
				const found = (await document.modelContext.getTools()).find((t) => t.name === name);
				return document.modelContext.executeTool(found, input);
			});
			tool('reused', async () => {
				const f = document.body.appendChild(document.createElement('iframe')), names = [];
				const note = async () => names.push((await document.modelContext.getTools()).filter((t) => t.window === f.contentWindow).map((t) => t.name).join());
				const early = f.contentWindow;
				early.document.modelContext.registerTool({name: 'early', description: 'd', execute() {}});
				await note();
				const loaded = new Promise((r) => { f.onload = r; });
				f.src = '/reused';
				await loaded;
				await note();
				f.contentDocument.open(); f.contentDocument.write('written'); f.contentDocument.close();
				f.contentWindow.document.modelContext.registerTool({name: 'written', description: 'd', execute() {}});
				await note();
				f.remove();
				return names;
			});
			tool('there', async () => {
				const child = frames[0], seen = [];
				for (const e of ['toolactivated', 'toolcancel']) child.addEventListener(e, (v) => seen.push(v.type + ' ' + v.toolName));
				const [found] = (await document.modelContext.getTools()).filter((t) => t.name === 'child');
				await document.modelContext.executeTool(found, {});
				const stop = new AbortController();
				child.document.modelContext.registerTool({name: 'hang', description: 'd', execute: () => new Promise(() => {})});
				const hanging = (await document.modelContext.getTools()).find((t) => t.name === 'hang');
				const ended = document.modelContext.executeTool(hanging, {}, {signal: stop.signal}).catch((e) => seen.push(e));
				stop.abort('mine'); await ended;
				const gone = document.modelContext.executeTool(hanging).catch((e) => seen.push(e.name));
				document.querySelector('iframe').remove(); await gone;
				await document.modelContext.executeTool(hanging).catch((e) => seen.push(e.name));
				return seen;
			});
		</script><iframe src="/child"></iframe><iframe srcdoc="` + strings.ReplaceAll(head+inner, `"`, "&quot;") + `"></iframe>
		<iframe src="` + other + `/other"></iframe><iframe sandbox="allow-scripts" src="/grandchild"></iframe>`),
	})
}

func TestDocumentsOfATab(t *testing.T) {
	t.Parallel()
	p := showPage(t, shared, generations(t)+"/")
	p.await("list", `[["changes",true,true],["child",true,false],["grandchild",true,false],["list",true,true],["reused",true,true],["run",true,true],["srcdoc",true,false],["there",true,true],["zero",true,true]]`)
	if got := p.must("run", `{"name":"grandchild","input":{"a":1}}`); !strings.Contains(got, `"{\"input\":{\"a\":1},\"here\":\"http`) || !strings.Contains(got, "/grandchild") {
		t.Errorf("a tool of a frame in a frame: %s", got)
	}
	if got := p.must("run", `{"name":"srcdoc","input":"{\"b\":2}"}`); got != `"{\"input\":{\"b\":2},\"here\":\"about:srcdoc\"}"` {
		t.Errorf("a tool of a srcdoc frame, with input as text: %s", got)
	}
	if got := p.must("changes", "{}"); got == "0" || got == "1" {
		t.Errorf("%s toolchange events", got)
	}
	if got := p.must("reused", "{}"); got != `["early","reused","reused,written"]` {
		t.Errorf("the tools of a frame whose window another document took over: %s", got)
	}
	if got := p.must("there", "{}"); got != `["toolactivated child","toolactivated hang","mine","toolcancel hang","toolactivated hang","toolcancel hang","UnknownError","InvalidStateError"]` {
		t.Errorf("the calls of another document: %s", got)
	}
}

// await repeats a tool until it returns the result.
func (s *shown) await(name, want string) {
	s.t.Helper()
	got := ""
	for range 400 {
		if got = s.must(name, "{}"); got == want {
			return
		}
	}
	s.t.Fatalf("%s gives %s, not %s", name, got, want)
}

// TestSecretOfATab holds what documents know of each other against pages that
// look everywhere.
func TestSecretOfATab(t *testing.T) {
	t.Parallel()
	const spy = `<script>
		const {apply: native} = Reflect, seen = [], look = (v) => { if (typeof v === 'string' ? /_[0-9a-f]{32}/.test(v) : v instanceof Event && /_[0-9a-f]{32}/.test(v.type)) seen.push(String(v.type ?? v)); };
		for (const [o, names] of [[EventTarget.prototype, ['addEventListener', 'dispatchEvent', 'removeEventListener']], [Reflect, ['apply', 'construct', 'defineProperty']], [Function.prototype, ['call', 'apply']],
			[performance, ['addEventListener', 'dispatchEvent']], [Map.prototype, ['get', 'set']], [WeakMap.prototype, ['get', 'set']], [JSON, ['stringify', 'parse']]])
			for (const name of names) { const old = o[name]; Object.getOwnPropertyDescriptor(o, name); Reflect.set(o, name, function (...args) { for (let i = 0; i < args.length; i++) look(args[i]); look(window.event); return native(old, this, args); }); }
		const spied = EventTarget.prototype.addEventListener;
		globalThis.Event = new Proxy(Event, {construct(t, args, n) { look(args[0]); return Reflect.construct(t, args, n); }});
		const fake = new EventTarget(); fake.dispatchEvent = (e) => look(e); Object.defineProperty(window, 'performance', {get: () => fake, configurable: true});
		for (const k of ['type', 'detail', 'found', 'peer']) Object.defineProperty(Object.prototype, k, {configurable: true, get() { look(window.event); return undefined; }, set(v) { look(v); }});
		document.modelContext.addEventListener('toolchange', () => look(window.event));
		document.modelContext.addEventListener('toolactivated', (e) => { look(window.event); look(new Error('x').stack); });
		document.modelContext.registerTool({name: 'here' + location.pathname.slice(1), description: 'd', get inputSchema() { look(window.event); look(new Error('x').stack); return {toJSON() { look(window.event); return {}; }}; },
			execute() { look(window.event); look(parent.event); look(new Error('x').stack); return {toJSON() { look(window.event); return [1]; }}; }});
		for (const f of [document.modelContext.getTools, document.modelContext.executeTool, ModelContext, Object.defineProperty, Object.getOwnPropertyDescriptor(Document.prototype, 'modelContext').get]) look(Function.prototype.toString.bind(f)());
	</script>`
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{
		"/child": html(spy),
		"/": html(spy + `<script>
			tool('run', async () => {
				const all = await document.modelContext.getTools(), found = all.find((t) => t.name === 'herechild');
				return [all.length, found ? await document.modelContext.executeTool(found) : 'none', seen.length, frames[0].eval('typeof seen === "object" ? seen.length : -1')];
			});
			tool('control', () => { look('_' + 'ab'.repeat(16)); dispatchEvent(new Event('_' + 'cd'.repeat(16))); return seen.length; });
		</script><iframe src="/child"></iframe>`),
	})+"/")
	p.await("run", `[4,"[1]",0,0]`)
	if got := p.must("control", "{}"); got != "3" {
		t.Errorf("what looks everywhere has seen %s of what it was shown", got)
	}
}

// TestTypedResults has what only a browser can make.
func TestTypedResults(t *testing.T) {
	t.Parallel()
	away := site(t, map[string]http.HandlerFunc{"/dot.png": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		dot, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
		_, _ = w.Write(dot)
	}})
	base := site(t, map[string]http.HandlerFunc{"/": html(`<canvas width=2 height=3></canvas><script>
		const canvas = document.querySelector('canvas'), off = () => { const c = new OffscreenCanvas(2, 3); c.getContext('2d'); return c; };
		const load = async (src) => { const i = new Image(); i.src = src; await i.decode(); return i; };
		tool('run', async ({code}) => (0, eval)(code));
		const far = ` + "`" + away + "/dot.png`" + `;
	</script>`)})
	p := showPage(t, shared, base+"/")
	run := func(code string) (string, error) {
		input, _ := json.Marshal(map[string]string{"code": code})
		return p.call("run", string(input))
	}
	host := strings.TrimPrefix(base, "http://")
	exact := map[string]string{
		`new Blob(["hé"], {type: "text/plain"})`:                                                                                                `{"content":[{"type":"resource","resource":{"uri":"blob:http://` + host + `/result","mimeType":"text/plain","blob":"aMOp"}}]}`,
		`({a: [1, new File(["x"], "a b.bin")], é: "é"})`:                                                                                        `{"a":[1,{"type":"resource","resource":{"uri":"blob:http://` + host + `/a%20b.bin","mimeType":"application/octet-stream","blob":"eA=="}}],"é":"é"}`,
		`[new Blob(["abc"], {type: "audio/wav"}), new Blob([], {type: "image/gif"})]`:                                                           `{"content":[{"type":"audio","mimeType":"audio/wav","data":"YWJj"},{"type":"image","mimeType":"image/gif","data":""}]}`,
		`[12345678901234567890n, JSON.rawJSON("12345678901234567890"), JSON.rawJSON("1.10"), 2 ** 53, new Date(0), new URL("http://a.test/b")]`: `["12345678901234567890",12345678901234567890,1.10,9007199254740992,"1970-01-01T00:00:00.000Z","http://a.test/b"]`,
		`new Map([["a", new Set([1])]])`:                                                                                                        `[["a",[1]]]`, `document.body.firstChild.nextSibling && [[new Blob(["x"], {type: "image/x"})]]`: `[[{"type":"image","mimeType":"image/x","data":"eA=="}]]`,
		`({toJSON() { return new Blob(["x"], {type: "image/x"}) }})`: `{"content":[{"type":"image","mimeType":"image/x","data":"eA=="}]}`,
	}
	for code, want := range exact {
		if got, err := run(code); err != nil || got != want {
			t.Errorf("%s\n gives %s (%v)\n want  %s", code, got, err, want)
		}
	}
	for _, code := range []string{`canvas`, `off()`, `new ImageData(2, 3)`, `createImageBitmap(canvas)`, `load(canvas.toDataURL())`} {
		got, err := run(code)
		var r struct {
			Content []struct {
				Type, MimeType string
				Data           []byte
			}
		}
		if err != nil || json.Unmarshal([]byte(got), &r) != nil || len(r.Content) != 1 || r.Content[0].Type != "image" || r.Content[0].MimeType != "image/png" {
			t.Errorf("%s gives %s (%v)", code, got, err)
			continue
		}
		if d := r.Content[0].Data; len(d) < 24 || string(d[1:4]) != "PNG" || d[19] != 2 || d[23] != 3 {
			t.Errorf("%s is no picture of 2 by 3: %x", code, d)
		}
	}
	for code, want := range map[string]string{
		`(async () => { canvas.getContext("2d").drawImage(await load(far), 0, 0); return {deep: [canvas]} })()`: "result.deep[0]: ",
		`(async () => ({picture: await load(far)}))()`:                                                          "result.picture: ",
		`new Image()`:                        "result: an image without a size",
		`({a: new Blob(["x"]), b: () => 1})`: "result.b: a function",
		`[new OffscreenCanvas(2, 2), 1]`:     "result[0]: ",
	} {
		_, err := run(code)
		e := bridge.AsError(err)
		if e == nil || e.Code != bridge.ToolError || e.Reason != bridge.ResultInvalid || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v, not %s", code, err, want)
		}
	}
	for _, code := range []string{`new Blob([new Uint8Array(1e6)])`, `[1, new Blob(["x".repeat(5e5)]), new Blob(["x".repeat(5e5)])]`, `new ImageData(8193, 8193)`} {
		if _, err := run(code); reasonOf(err) != "TOOL_ERROR RESULT_TOO_LARGE unknown" {
			t.Errorf("%s: %v", code, err)
		}
	}
	if got, err := run(`new Blob([new Uint8Array(786000 / 1)])`); err != nil || len(got) > 1<<20 {
		t.Errorf("just under the limit: %d bytes, %v", len(got), err)
	}
}
