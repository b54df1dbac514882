package cdp

import (
	"fmt"
	"math/bits"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// tampering changes everything that scripts usually rely on.
const tampering = `
	const bad = () => { throw new Error('tampered') }, list = Array.prototype;
	Object.prototype.toJSON = () => 'tampered'; Array.prototype.toJSON = () => 'tampered';
	for (const key of ['then', 'k', 'kind', 'rev', 'id', 'done', 'resolve', 'value', 'get', 'tools', 'constructor_', 'signal', 'once', 'mode']) {
		Object.defineProperty(Object.prototype, key, {__proto__: null, configurable: true, get() { return undefined }, set: bad});
	}
	for (const type of [Array, Map, Set, WeakMap, String, Promise, Function, EventTarget, AbortController, RegExp, Number]) {
		for (const key of Object.getOwnPropertyNames(type.prototype)) {
			if (key === 'constructor') continue;
			try { Object.defineProperty(type.prototype, key, {__proto__: null, configurable: true, value: bad}) } catch {}
		}
	}
	window.JSON = {parse: bad, stringify: () => '"tampered"'}; 
	for (const name of ['Promise', 'Map', 'Set', 'Reflect', 'Object', 'Array', 'String', 'Event', 'EventTarget', 'queueMicrotask', 'AbortController', 'DOMException']) {
		try { window[name] = bad } catch {}
	}
	Error.prepareStackTrace = bad; list[Symbol.iterator] = bad;`

// TestTampering (P1): whatever a page does to its own language, before or after
// it registers, its calls work and those of other pages do too.
func TestTampering(t *testing.T) {
	t.Parallel()
	tools := `mc.registerTool({name: 'echo', description: 'e', inputSchema: {type: 'object'}, execute: (input) => input});
		mc.registerTool({name: 'naive', description: 'n', inputSchema: {type: 'object'}, execute: () => JSON.stringify({a: 1})});`
	base := site(t, map[string]http.HandlerFunc{
		"/before": html("<script>{ const mc = navigator.modelContext;" + tampering + tools + "}</script>"),
		"/after":  html("<script>{ const mc = navigator.modelContext;" + tools + tampering + "}</script>"),
	})
	for _, path := range []string{"/before", "/after"} {
		p := showPage(t, shared, base+path)
		if got := p.must("naive", "{}"); got != `"\"tampered\""` {
			t.Errorf("%s: the tampering does nothing: %s", path, got)
		}
		const input = `{"list":[1,{"a":"b"}],"then":2,"__proto__":{"x":1}}`
		for range 3 {
			if got := p.must("echo", input); got != input {
				t.Errorf("%s: got %s", path, got)
			}
		}
	}
}

// walker looks for a name like that of the page script in everything that a page
// can reach.
const walker = `
	const found = new Set(), pattern = /_[0-9a-f]{32}/, seen = new Set();
	const look = (text, where) => { if (typeof text === 'string' && pattern.test(text)) found.add(where + ': ' + text.match(pattern)[0]) };
	const walk = (object, where, depth) => {
		if ((typeof object !== 'object' && typeof object !== 'function') || object === null || seen.has(object) || depth > 6 || seen.size > 20000) return;
		seen.add(object);
		if (typeof object === 'function') look(Function.prototype.toString.call(object), where);
		let keys = [];
		try { keys = Reflect.ownKeys(object) } catch { return }
		for (const key of keys) {
			look(String(key), where);
			let d;
			try { d = Object.getOwnPropertyDescriptor(object, key) } catch { continue }
			if (!d) continue;
			look(d.value, where + '.' + String(key));
			for (const x of [d.value, d.get, d.set]) walk(x, where + '.' + String(key), depth + 1);
		}
		try { walk(Object.getPrototypeOf(object), where + '.__proto__', depth + 1) } catch {}
	};
	let inside = false;
	Error.stackTraceLimit = 100;
	Error.prepareStackTrace = (error, sites) => {
		for (const s of sites) {
			for (const m of ['getThis', 'getFunction', 'getTypeName', 'getFunctionName', 'getMethodName', 'getFileName', 'getEvalOrigin', 'getScriptNameOrSourceURL', 'toString']) {
				let v; try { v = s[m]() } catch { continue }
				look(v, 'site.' + m); walk(v, 'site.' + m, 0);
			}
		}
		return 'x';
	};
	Object.prototype.__defineSetter__('0', function (v) { look(v, 'setter') });
	Object.defineProperty(Object.prototype, 'tools', {configurable: true, get() { if (!inside) { inside = true; walk(this, 'getter', 0); new Error().stack; inside = false } return undefined }});
	const search = () => {
		new Error().stack;
		try { for (let f = search.caller; f; f = f.caller) walk(f, 'caller', 0) } catch {}
		walk(window, 'window', 0);
		for (const src of [undefined, 'about:blank', 'data:text/html,x']) {
			const frame = document.createElement('iframe');
			if (src) frame.src = src;
			document.body.append(frame);
			try { walk(frame.contentWindow, 'frame', 0) } catch {}
		}
		for (const e of performance.getEntries()) walk(e.toJSON(), 'performance', 0);
		look(document.documentElement.outerHTML.replace(/plant\w*/g, ''), 'html');
		return [...found];
	};`

// TestNameIsHidden (P2, P22): no page finds the name by which its script is
// reached; the same search finds a name that was planted.
func TestNameIsHidden(t *testing.T) {
	t.Parallel()
	tools := `tool('search', () => { try { return search() } catch (e) { return ['' + e] } }); tool('known', ({name}) => [name in window, typeof window[name], Object.keys(window).includes(name), typeof frames[0][name]]);`
	base := site(t, map[string]http.HandlerFunc{
		"/":        html("<body><script>" + walker + tools + "</script>"),
		"/planted": html("<body><script>window.planted = function () { return '_' + '0'.repeat(0) + 'x_00112233445566778899aabbccddeeff' };" + walker + tools + "</script>"),
	})
	p := showPage(t, shared, base+"/")
	if got := p.must("search", "{}"); got != "[]" {
		t.Errorf("the page found %s; the name is %s", got, p.calls.name)
	}
	if got := p.must("known", fmt.Sprintf(`{"name":%q}`, p.calls.name)); got != `[false,"undefined",false,"undefined"]` {
		t.Errorf("a page that knows the name gets %s", got)
	}
	control := showPage(t, shared, base+"/planted")
	if got := control.must("search", "{}"); !strings.Contains(got, "_00112233445566778899aabbccddeeff") {
		t.Errorf("the search does not find what was planted: %s", got)
	}
	if p.calls.name == control.calls.name {
		t.Error("two pages have one name")
	}
}

// TestIDs (P3, P23): the ids of calls are random, 128 bits, and no two calls at
// once have the same. One that was given back is used again.
func TestIDs(t *testing.T) {
	t.Parallel()
	const n = 4000
	var ids callIDs
	seen := map[string]bool{}
	ones := 0
	for range n {
		id := ids.take()
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) || seen[id] {
			t.Fatalf("the id %q, or it came twice", id)
		}
		seen[id] = true
		for _, c := range id {
			ones += bits.OnesCount(uint(strings.IndexRune("0123456789abcdef", c)))
		}
	}
	if share := float64(ones) / (n * 128); share < 0.49 || share > 0.51 {
		t.Errorf("%.3f of the bits are set", share)
	}
	for id := range seen {
		ids.put(id)
		if again, other := ids.take(), ids.take(); again != id || seen[other] {
			t.Fatalf("after %q was given back came %q, then %q", id, again, other)
		}
		break
	}
}

// TestHugeResult (P10): what is too large stays in the page, and the page is fine
// after it.
func TestHugeResult(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		tool('text', () => 'x'.repeat(300 << 20)); tool('bytes', () => new Uint8Array(300 << 20)); tool('list', () => Array(3e6).fill('yyyyyyyyy'));
		tool('escapes', () => '\0'.repeat(200000)); tool('wide', () => '漢'.repeat(400000)); tool('message', () => { throw new Error('m'.repeat(100 << 20)) });
		tool('fine', () => 1);
	</script>`)})
	p := showPage(t, shared, base+"/")
	for _, name := range []string{"text", "bytes", "list", "escapes", "wide"} {
		_, err := p.call(name, "{}")
		if got := reasonOf(err); got != "TOOL_ERROR RESULT_TOO_LARGE unknown" {
			t.Errorf("%s: %s", name, got)
		}
	}
	_, err := p.call("message", "{}")
	if e := bridge.AsError(err); e == nil || e.Code != bridge.ToolError || len(e.Message) > 20<<10 {
		t.Errorf("a long error message: %.100v", err)
	}
	if got := p.must("fine", "{}"); got != "1" {
		t.Errorf("got %s", got)
	}
}

// TestResultShapes (P11): every value of a page has one meaning, or is an error.
func TestResultShapes(t *testing.T) {
	t.Parallel()
	const invalid, failed = "TOOL_ERROR RESULT_INVALID unknown", "TOOL_ERROR  failed"
	shapes := []struct{ value, want string }{
		{`undefined`, `null`}, {`null`, `null`}, {`NaN`, `null`}, {`[Infinity, -0]`, `[null,0]`}, {`10n ** 20n`, `"100000000000000000000"`},
		{`'\ud800'`, `"\ud800"`}, {`new Date(0)`, `"1970-01-01T00:00:00.000Z"`}, {`new Date(NaN)`, `null`}, {`new Map([[1, {a: 2}]])`, `[[1,{"a":2}]]`},
		{`new Set([1, 'a'])`, `[1,"a"]`}, {`new Error('e')`, `{"name":"Error","message":"e"}`}, {`/x/`, "TOOL_ERROR RESULT_INVALID unknown"}, {`new Uint8Array([1, 2])`, `[1,2]`},
		{`Promise.resolve(Promise.resolve(1))`, `1`}, {`({then(r) { r(5) }})`, `5`}, {`({a: undefined, b: [undefined]})`, `{"b":[null]}`},
		{`Object.create({inherited: 1}, {own: {value: 2, enumerable: true}})`, `{"own":2}`}, {`({toJSON: () => ({x: 1})})`, `{"x":1}`},
		{`new Proxy({a: 1}, {})`, `{"a":1}`}, {`(() => { const a = []; a[3] = 1; return a })()`, `[null,null,null,1]`}, {`new String('s')`, `"s"`},
		{`document.createElement('p')`, "TOOL_ERROR RESULT_INVALID unknown"}, {`new (class { #a = 1 })()`, invalid}, {`[new (class A { #a = 1; get a() { return this.#a } })()]`, invalid},
		{`new Error('e', {cause: 'c'})`, `{"name":"Error","message":"e","cause":"c"}`},
		{`(() => { const a = {}; a.a = a; return a })()`, invalid}, {`Symbol('x')`, invalid}, {`() => 1`, invalid}, {`({f() {}})`, invalid},
		{`(() => { let a = []; for (let i = 0; i < 10000; i++) a = [a]; return a })()`, invalid},
		{`({get x() { throw new Error('getter') }})`, failed}, {`new Proxy({}, {ownKeys() { throw 1 }})`, failed}, {`({toJSON() { throw new Error('no') }})`, failed},
		{`(async function* () { yield 'a'; yield 'b' })()`, `"ab"`}, {`new Blob(['s']).stream()`, `[[115]]`}, {`(function* () {})()`, invalid}, {`[(async function* () {})()]`, invalid},
		{`Promise.reject()`, failed}, {`({then() { throw new Error('then') }})`, failed},
		{`({toJSON() { let a = 'x'; for (let i = 0; i < 25; i++) a += a; return a }})`, "TOOL_ERROR RESULT_TOO_LARGE unknown"},
	}
	body := "<script>"
	for i, s := range shapes {
		body += fmt.Sprintf("tool('t%d', () => (%s));\n", i, s.value)
	}
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(body + "</script>")})+"/")
	for i, s := range shapes {
		got, err := p.call(fmt.Sprintf("t%d", i), "{}")
		if err != nil {
			got = reasonOf(err)
		}
		if got != s.want {
			t.Errorf("%s gives %s, want %s", s.value, got, s.want)
		}
	}
}
