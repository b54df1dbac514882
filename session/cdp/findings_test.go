package cdp

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
)

// wrong is a page in which everything goes wrong that is told.
const wrong = `<title>wrong</title><script>
const add = (given) => navigator.modelContext.registerTool(given);
add({name: 'a b', description: 'd', execute() {}}).catch(() => {});
add({name: 'unheard', description: '', execute() {}});
add({name: 'twice', description: 'd', execute() {}});
add({name: 'twice', description: 'd', execute() {}}).catch(() => {});
console.error('one', 2, new TypeError('three'), {}, Symbol('s'));
for (let i = 0; i < 1000; i++) console.error('the same');
Promise.reject(new RangeError('nobody\u202e\u001b[31m'));
</script><script>
nowhere.at.all();
</script><script>
addEventListener('load', () => setTimeout(() => add({name: 'last', description: 'd', execute() {}})));
</script>`

// TestTitleBehindScripts: the title of a document whose scripts come first is told, also when
// nothing registers a tool.
func TestTitleBehindScripts(t *testing.T) {
	t.Parallel()
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><script>let a = 1</script>")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "<script>let b = document.modelContext</script><title>A slow shop</title>")
	}
	origin := site(t, map[string]http.HandlerFunc{"/": page})
	for kind, e := range map[string]*Engine{"shim": shared, "native": native1(t)} {
		showPage(t, e, origin+"/").until(kind+": the title", func(all []session.ToolsChanged) bool {
			return len(all) == 1 && all[0].Title == "A slow shop"
		})
	}
}

// TestFindings (D4): what goes wrong in a document is told once, with the line, and so is
// the status that it came with.
func TestFindings(t *testing.T) {
	t.Parallel()
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<!doctype html>"+wrong)
	}
	origin := site(t, map[string]http.HandlerFunc{"/": page})
	for kind, e := range map[string]*Engine{"shim": shared, "native": native1(t)} {
		p := showPage(t, e, origin+"/")
		at := func(line string) string { return " (" + origin + "/:" + line + ")" }
		want := []bridge.Finding{
			{Rule: "http-status", Message: "The site answered 404 Not Found."},
			{Rule: "registration-refused", Tool: "a b", Refused: true, Message: "The registration was refused: Invalid tool name: it must have 1 to 128 ASCII letters, digits, '_', '.' and '-'" + at("2")},
			{Rule: "registration-refused", Tool: "unheard", Refused: true, Message: "The registration was refused: Description is required" + at("2")},
			{Rule: "registration-refused", Tool: "twice", Refused: true, Message: "The registration was refused: Duplicate tool name" + at("2")},
			{Rule: "console-error", Message: "console.error: one 2 TypeError: three an object a symbol" + at("7")},
			{Rule: "console-error", Message: "console.error: the same" + at("8")},
			{Rule: "unhandled-rejection", Message: "Unhandled rejection: RangeError: nobody\u202e\x1b[31m" + at("9")},
			{Rule: "uncaught-error", Message: "Uncaught ReferenceError: nowhere is not defined" + at("11")},
		}
		p.until(kind+": all findings", func(all []session.ToolsChanged) bool {
			if len(all) != 1 || !slices.ContainsFunc(all[0].Tools, func(d bridge.Declaration) bool { return d.Name == "last" }) ||
				len(all[0].Findings) < len(want) {
				return false
			}
			got := slices.Clone(all[0].Findings)
			less := func(a, b bridge.Finding) int { return strings.Compare(a.Rule+a.Message, b.Rule+b.Message) }
			slices.SortFunc(got, less)
			slices.SortFunc(want, less)
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Fatalf("%s: finding %d of %d is\n%+v, want\n%+v", kind, i, len(got), got[i], want[i])
				}
			}
			return len(got) == len(want)
		})
		if f := (bridge.Finding{Tool: "a\u202e b", Message: "two\n\x1b[31mlines"}).Cleaned(); f.Tool != "a b" || f.Message != "two [31mlines" {
			t.Errorf("cleaned to %+v", f)
		}
	}
}

// TestMissingScripts (D4): what a document does not say by itself is told: scripts that are not
// there, what its policy keeps from running, forms that are not tools.
func TestMissingScripts(t *testing.T) {
	t.Parallel()
	pages := map[string]http.HandlerFunc{
		"/": html(`<script src="/missing.js"></script><script type=module src="/module.js"></script><img src="/missing.png">
			<form toolname="no description"></form><form toolname="silent"></form><form toolname="book seat" tooldescription="d"></form>
			<form toolname="good" tooldescription="d"></form><form toolname="good" tooldescription="another"></form>`),
		"/module.js": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, "import '/nothere.js'")
		},
		"/first": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", "script-src 'none'; img-src 'none'")
			_, _ = io.WriteString(w, "<!doctype html><img src='/missing.png'><script>never()</script>")
		},
		"/later": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", "script-src 'unsafe-inline'")
			_, _ = io.WriteString(w, "<!doctype html><script>\nsetTimeout(() => {try { eval('1') } catch {}}) </script>")
		},
		"/report": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy-Report-Only", "script-src 'none'")
			_, _ = io.WriteString(w, "<!doctype html><script>console.error('it runs')</script>")
		},
	}
	for _, missing := range []string{"/missing.js", "/missing.png", "/nothere.js"} {
		pages[missing] = http.NotFound
	}
	origin := site(t, pages)
	const refuses = "content-security-policy  The page's Content-Security-Policy keeps a script from running: "
	p := showPage(t, shared, origin+"/")
	for path, want := range map[string][]string{
		"/": {
			"registration-refused no description The registration was refused: the toolname of its form is not a name: it must have 1 to 128 ASCII letters, digits, '_', '.' and '-'",
			"registration-refused silent The registration was refused: its form has no tooldescription",
			"registration-refused book seat The registration was refused: the toolname of its form is not a name: it must have 1 to 128 ASCII letters, digits, '_', '.' and '-'",
			"registration-refused good The registration was refused: a form before it has the same toolname",
			"script-missing  A script did not load, or what it imports: " + origin + "/missing.js",
			"script-missing  A script did not load, or what it imports: " + origin + "/module.js",
		},
		"/first":  {refuses + "script-src-elem does not allow inline (" + origin + "/first:1)"},
		"/later":  {refuses + "script-src does not allow eval (" + origin + "/later:2)"},
		"/report": {"console-error  console.error: it runs (" + origin + "/report:1)"},
	} {
		p.begin(t, origin+path)
		p.until("what is wrong in "+path, func(all []session.ToolsChanged) bool {
			if len(all) != 1 {
				return false
			}
			var got []string
			for _, f := range all[0].Findings {
				got = append(got, f.Rule+" "+f.Tool+" "+f.Message)
			}
			slices.Sort(got)
			slices.Sort(want)
			if len(got) >= len(want) && !slices.Equal(slices.Compact(got), want) {
				t.Fatalf("%s: there is\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			return slices.Equal(got, want)
		})
	}
}

// TestFindingsAreBounded (D4): a page that makes errors without end has as many findings as
// one that makes a few, and its tools and calls work on.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	amount := gatetest.Amount("400", "4000")
	origin := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		for (let i = 0; i < ` + amount + `; i++) console.error(i + 'x'.repeat(10000));
		for (let i = 0; i < ` + amount + ` / 4; i++) Promise.reject(new Error('y'.repeat(10000) + i));
		for (let i = 0; i < 200; i++) tool(i + ' ' + 'z'.repeat(10000), () => 1).catch(() => {});
		tool('there', () => 1);
	</script>`)})
	p := showPage(t, shared, origin+"/")
	if got := p.must("there", "{}"); got != "1" {
		t.Errorf("the call says %s", got)
	}
	p.until("the findings", func(all []session.ToolsChanged) bool {
		bytes := 0
		for _, f := range all[0].Findings {
			bytes += len(f.Message) + len(f.Tool)
		}
		if n := len(all[0].Findings); n > 33 || bytes > 40<<10 {
			t.Fatalf("%d findings with %d bytes", n, bytes)
		}
		return slices.ContainsFunc(all[0].Findings, func(f bridge.Finding) bool { return f.Rule == "more-problems" })
	})
}

// TestFindingsRunNothing (D4): what a page throws, or hands to the console, is described
// without running its code, and console.error looks and works as before. The page's own
// look at the same things is the positive control.
func TestFindingsRunNothing(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		let ran = 0;
		const trap = new Proxy(class {}, {get(_, key) { if (key !== Symbol.toPrimitive) ran++; }, has() { ran++; return false; }, getPrototypeOf() { ran++; return null; },
			getOwnPropertyDescriptor() { ran++; }, ownKeys() { ran++; return []; }});
		const bait = () => {
			const e = Object.defineProperties(new Error('bait'), {message: {get() { ran++; return ''; }}, stack: {get() { ran++; return ''; }},
				name: {get() { ran++; return ''; }}, toString: {value: () => ''}, [Symbol.toStringTag]: {get() { ran++; return ''; }}});
			return Object.setPrototypeOf(e, trap);
		};
		Error.prepareStackTrace = () => { ran++; return ''; };
		for (const x of [trap, bait()]) { console.error(x, [x]); Promise.reject(x); } // browsers themselves ask for its text
		tool('ran', async () => { await new Promise((r) => setTimeout(r, 50)); return ran; });
		tool('look', () => { String(bait().stack); trap.x; return ran > 0; });
		tool('console', () => [console.error.name, console.error.length, /\{ \[native code\] \}$/.test(Function.prototype.toString.call(console.error)),
			JSON.stringify(Object.getOwnPropertyDescriptor(console, 'error')), 'prototype' in console.error, typeof window.event].join());
	</script>`)})
	p := showPage(t, shared, origin+"/")
	if got := p.must("ran", "{}"); got != "0" {
		t.Errorf("code of the page ran %s times", got)
	}
	if got := p.must("look", "{}"); got != "true" {
		t.Errorf("the bait is never taken: %s", got)
	}
	if got, want := p.must("console", "{}"), `"error,0,true,{\"writable\":true,\"enumerable\":true,\"configurable\":true},false,undefined"`; got != want {
		t.Errorf("console.error is %s, want %s", got, want)
	}
}

// TestIcon (E11): the address of a document's icon is told when it is of its own origin.
func TestIcon(t *testing.T) {
	t.Parallel()
	pages := map[string]http.HandlerFunc{}
	for path, link := range map[string]string{"/own": "/i.svg", "/other": "https://other.example/i.png", "/secret": "//me:secret@127.0.0.1/i.png", "/none": ""} {
		pages[path] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<link rel="shortcut ICON" href="`+link+`"><script>document.modelContext.registerTool({name: 'a', description: 'd', execute() {}})</script>`)
		}
	}
	origin := site(t, pages)
	p := showPage(t, shared, origin+"/")
	for path := range pages {
		want := ""
		if path == "/own" {
			want = origin + "/i.svg"
		}
		p.begin(t, origin+path)
		p.until("the icon "+want, func(all []session.ToolsChanged) bool {
			return len(all) == 1 && len(all[0].Tools) == 1 && all[0].Icon == want
		})
	}
}
