package effects

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// aTool begins each page: a declaration in which nothing is wrong, and what registers it.
const aTool = `<script>
const tool = (name, more) => ({name, title: 'Books', description: 'Lists all books of the library: ' + name, annotations: {readOnlyHint: true},
  inputSchema: {type: 'object', properties: {}, additionalProperties: false}, execute: () => 1, ...more});
const register = (name, more, options) => document.modelContext.registerTool(tool(name, more), options);
const schema = (inputSchema) => register('list-books', {inputSchema});
</script>`

// otherPages are pages as other people write them: what check finds in each, and what it offers.
// The names begin with the row of the review.
var otherPages = []struct{ name, body, rules, tools string }{
	{"L1 StrictMode", `<script>const a = new AbortController(); register('list-books', {}, {signal: a.signal}); a.abort(); register('list-books')</script>`, "", "list-books"},
	{"L1 StrictMode, with a reason of its own", `<script>const a = new AbortController(); register('list-books', {}, {signal: a.signal}); a.abort({why: 'unmounted'}); register('list-books')</script>`, "", "list-books"},
	{"L1 StrictMode, later", `<script>const a = new AbortController(); register('list-books', {}, {signal: a.signal});
		setTimeout(() => { a.abort(); register('list-books') }, 300)</script>`, "", "list-books"},
	{"L1 the signal was aborted before", `<script>const a = new AbortController(); a.abort(); register('list-books', {}, {signal: a.signal}); register('list-authors')</script>`, "", "list-authors"},
	{"L1 a real duplicate", `<script>register('list-books'); register('list-books').catch(() => {})</script>`, "duplicate-tool-name", "list-books"},
	{"L1 a real duplicate in one set", `<script>try { navigator.modelContext.provideContext({tools: [tool('list-books'), tool('list-books')]}) } catch {}</script>`, "duplicate-tool-name no-tools", ""},
	{"L1 two forms of one name", `<form toolname=find-book tooldescription="Finds a book by its title." toolautosubmit><label>Title <input name=title></label><button>Go</button></form>
		<form toolname=find-book tooldescription="Finds a book by its author." toolautosubmit><label>Author <input name=author></label><button>Go</button></form>`, "duplicate-tool-name", "find-book"},
	{"L1 a form and a script of one name", `<script>register('find-book')</script><form toolname=find-book tooldescription="Finds a book by its title." toolautosubmit>
		<label>Title <input name=title></label><button>Go</button></form>`, "duplicate-tool-name", "find-book"},
	{"L1 a script after a form of its name", `<form toolname=find-book tooldescription="Finds a book by its title." toolautosubmit><label>Title <input name=title></label><button>Go</button></form>
		<script>register('find-book').catch(() => {})</script>`, "duplicate-tool-name", "find-book"},
	{"L1 a set after a form of its name", `<form toolname=find-book tooldescription="Finds a book by its title." toolautosubmit><label>Title <input name=title></label><button>Go</button></form>
		<script>onload = () => navigator.modelContext.provideContext({tools: [tool('find-book')]})</script>`, "deprecated-surface duplicate-tool-name", "find-book"},
	{"L1 a form that comes after a script's tool", `<script>register('find-book'); onload = () => setTimeout(() => document.body.insertAdjacentHTML('beforeend',
		'<form toolname=find-book tooldescription="Finds a book by its title." toolautosubmit><label>Title <input name=title></label><button>Go</button></form>'), 200)</script>`, "duplicate-tool-name", "find-book"},
	{"L2 a script that is none", `<script>document.modelContext.registerTool({name: 'x' description: 'y'})</script>`, "no-tools uncaught-error", ""},
	{"L2 a script that throws first", `<script>throw new TypeError('no catalog')</script><script>nothing()</script>`, "no-tools uncaught-error", ""},
	{"L2 a promise that is rejected first", `<script>Promise.reject(new TypeError('Failed to fetch')).then(() => register('list-books'))</script>`, "no-tools unhandled-rejection", ""},
	{"L2 a script that is not there", `<script src=/nothing.js></script>`, "no-tools script-missing", ""},
	{"L2 a script that pagetools keeps out", `<script src="http://127.0.0.1:18998/app.js"></script>`, "network-refused no-tools script-missing", ""},
	{"L2 a policy that forbids it", `<meta http-equiv=Content-Security-Policy content="script-src 'none'"><script>register('list-books')</script>`, "content-security-policy no-tools", ""},
	{"L2 the only one is refused", `<script>register('list-books', {execute: undefined}).catch(() => {})</script>`, "no-tools tool-refused", ""},
	{"L2 refused, and nobody looked", `<script>register('list-books', {execute: 'f'}); register('list-authors')</script>`, "register-unhandled tool-refused", "list-authors"},
	{"L2 refused by its schema", `<script>schema({$ref: 'https://schemas.example/book.json'})</script>`, "no-tools remote-ref", ""},
	{"L2 refused by its name", `<script>register('list books').catch(() => {})</script>`, "no-tools tool-name-valid", ""},
	{"L2 it took them back", `<script>const a = new AbortController(); register('list-books', {}, {signal: a.signal}); setTimeout(() => a.abort(), 300)</script>`, "no-tools", ""},
	{"L2 what is logged", `<script>console.error('slow'); register('list-books')</script>`, "console-error", "list-books"},
	{"L3 a second one after 1.5 s", `<script>register('list-books'); setTimeout(() => register('list-authors'), 1500)</script>`, "registers-late", "list-authors list-books"},
	{"L3 one when it is idle", `<script>register('list-books'); onload = () => setTimeout(() => register('list-authors'), 1400)</script>`, "registers-late", "list-authors list-books"},
	{"L3 churn, and one after 3.5 s", `<script>let c, n = 0; const on = () => { c = new AbortController(); register('list-books', {}, {signal: c.signal}) }; on();
		const timer = setInterval(() => { c.abort(); on(); if (++n > 6) clearInterval(timer) }, 150); setTimeout(() => register('list-authors'), 3500)</script>`,
		"churn registers-late", "list-authors list-books"},
	{"L5 the only one after 1 s", `<script>setTimeout(() => register('list-books'), 1000)</script>`, "", "list-books"},
	{"L5 the only one after 1.6 s", `<script>setTimeout(() => register('list-books'), 1600)</script>`, "", "list-books"},
	{"L5 the only one by a promise", `<script>fetch('/slow').then(() => register('list-books'))</script>`, "", "list-books"},
	{"L4 misspelled keywords", `<script>schema({type: 'object', propertys: {title: {type: 'string', descrption: 'Title.'}}, require: ['title']})</script>`, "schema-unknown-keyword", "list-books"},
	{"L4 the words of other interfaces", `<script>register('list-books', {inputSchema: undefined, parameters: {type: 'object', properties: {}}});
		register('list-authors', {inputSchema: undefined, input_schema: {type: 'object', properties: {}}, annotations: {readonlyHint: true}})</script>`, "member-misnamed", "list-authors list-books"},
	{"L4 another word for execute", `<script>register('list-books', {execute: undefined, handler() {}}).catch(() => {}); register('list-authors', {handler() {}})</script>`, "member-misnamed", "list-authors"},
	{"L4 another word for execute, in a set", `<script>const {execute, ...rest} = tool('list-books'); document.modelContext.provideContext({tools: [{...rest, run() {}}]})</script>`, "deprecated-surface member-misnamed", "list-books"},
	{"L4 a class with another word", `<script>class T { name = 'list-books'; title = 'Books'; description = 'Lists all books of the library.'; readOnlyHint = true; handler() {} }
		document.modelContext.registerTool(new T()).catch(() => {}); register('list-authors')</script>`, "member-misnamed", "list-authors"},
	{"L4 three arguments, as servers of MCP have them", `<script>document.modelContext.registerTool('list-books', {description: 'x'}, () => 1).catch(() => {}); register('list-authors')</script>`, "tool-refused", "list-authors"},
	{"L4 a declaration inside of one", `<script>document.modelContext.registerTool({type: 'function', function: {name: 'list-books', description: 'Lists books.', parameters: {}}}).catch(() => {}); register('list-authors')</script>`, "member-misnamed", "list-authors"},
	{"L7 a schema that is a function", `<script>const type = () => {}; schema(type).catch(() => {}); register('list-authors', {inputSchema: Object.assign(() => {}, {toJSON: () => ({type: 'object', properties: {}})})})</script>`, "member-misnamed", "list-authors"},
	{"L7 types of JavaScript", `<script>schema({type: 'object', properties: {title: {type: String, description: 'Title.'}}}); register('list-authors', {inputSchema: {name: String}})</script>`,
		"member-misnamed param-type-missing schema-shape", "list-authors list-books"},
	{"L7 an object of yup", `<script>schema({type: 'object', spec: {strict: false, optional: true}, tests: [], fields: {q: {type: 'string', spec: {strict: false, optional: true, meta: {description: 'Words.'}}, tests: [() => 1]}}})</script>`, "schema-bare-map", "list-books"},
	{"L7 a map of parameters", `<script>schema({title: {type: 'string', description: 'Title.'}, description: {type: 'string', description: 'Text.'}})</script>`, "schema-bare-map", "list-books"},
	{"L7 a shape of a library", `<script>class S { '~standard' = {vendor: 'zod', version: 1, validate() {}}; _def = {typeName: 'ZodString', description: 'Words.'} }
		schema({q: new S()})</script>`, "schema-bare-map", "list-books"},
	{"L8 required in a property", `<script>schema({type: 'object', properties: {title: {type: 'string', description: 'Title.', required: true}}})</script>`, "schema-malformed-keyword", "list-books"},
	{"L8 types that are none", `<script>schema({type: 'OBJECT', properties: {a: {type: 'any', description: 'A.'}, b: {type: 'STRING', description: 'B.'}}})</script>`, "param-type-missing schema-malformed-keyword schema-shape", "list-books"},
	{"L9 an AbortError of somebody else", `<script>register('list-books'); fetch('/slow', {signal: AbortSignal.abort()})</script>`, "unhandled-rejection", "list-books"},
	{"L10 exposed to everybody", `<script>register('list-books', {}, {exposedTo: ['*']}).catch(() => {}); register('list-authors')</script>`, "exposed-to-wildcard", "list-authors"},
	{"L10 exposed to http", `<script>register('list-books', {}, {exposedTo: ['http://partner.test']}).catch(() => {}); register('list-authors')</script>`, "exposed-to-secure-origins", "list-authors"},
	{"L10 exposed to no origin", `<script>register('list-books', {}, {exposedTo: ['https://ok.test', 'nonsense']}).catch(() => {}); register('list-authors')</script>`, "exposed-to-secure-origins", "list-authors"},
	{"L10 exposed to more than an origin", `<script>register('list-books', {}, {exposedTo: ['https://partner.test/path']})</script>`, "exposed-to-origin-only", "list-books"},
	{"L10 exposed rightly", `<script>register('list-books', {}, {exposedTo: ['https://partner.test', 'http://localhost:8080']})</script>`, "", "list-books"},
	{"L11 a field for a password", `<form toolname=log-in tooldescription="Logs in with the name and the word of the reader." toolautosubmit>
		<label>Name <input name=who></label><label>Word <input name=x type=password></label><button>Go</button></form>`, "declarative-autosubmit-sensitive sensitive-params", "log-in"},
	{"right", `<script>register('list-books'); register('list-authors')</script>`, "", "list-authors list-books"},
}

// TestOtherPages (L1 to L11): other people's pages, opened in a browser at once. Rules of the
// severity info are left out.
func TestOtherPages(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) {})
	for i, p := range otherPages {
		mux.HandleFunc(fmt.Sprintf("/p%d/", i), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			body := aTool + p.body
			if strings.HasPrefix(p.body, "<meta") {
				body = p.body
			}
			_, _ = io.WriteString(w, "<!doctype html><html lang=en><meta charset=utf-8><title>page</title><link rel=icon href=data:,>"+body)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	sites := make([]app.Site, len(otherPages))
	targets := make([]*app.Target, len(otherPages))
	for i := range otherPages {
		target, err := app.ParseTarget(fmt.Sprintf("p%d=%s/p%d/", i, server.URL, i))
		if err != nil {
			t.Fatal(err)
		}
		targets[i] = target
		sites[i] = app.Site{Target: target, Page: session.SiteOptions{Patient: true, Tab: session.TabOptions{Record: true}}}
	}
	local := cdp.LocalOptions{Options: chrome.Options{NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1", Path: gatetest.Browser()}}
	a, err := app.Start(t.Context(), app.Options{Local: local, Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	pages, errs := make([]check.Page, len(otherPages)), make([]error, len(otherPages))
	var looking sync.WaitGroup // at all at once: they wait most of the time
	for i := range otherPages {
		looking.Go(func() { pages[i], errs[i] = Look(t.Context(), a, targets[i].Name) })
	}
	looking.Wait()
	for i, p := range otherPages {
		t.Run(p.name, func(t *testing.T) {
			page := pages[i]
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			o := check.Options{}
			if !strings.Contains(p.rules, "registers-late") { // on a busy machine all are late
				o.Rules = map[string]check.Setting{"registers-late": {Severity: check.Off}}
			}
			found, err := check.Judge(&check.Snapshot{Live: true, Pages: []check.Page{page}}, o)
			if err != nil {
				t.Fatal(err)
			}
			var rules, tools []string
			for _, f := range found {
				if f.Severity != check.Info && !slices.Contains(rules, f.Rule) {
					rules = append(rules, f.Rule)
				}
			}
			for _, x := range page.Tools {
				tools = append(tools, x.Name)
			}
			slices.Sort(rules)
			slices.Sort(tools)
			if got := strings.Join(rules, " "); got != p.rules {
				t.Errorf("found %q, want %q: %+v", got, p.rules, found)
			}
			if got := strings.Join(tools, " "); got != p.tools {
				t.Errorf("offered are %q, want %q", got, p.tools)
			}
			told := a.Findings(targets[i].Name) // whatever other commands tell, check finds
			for _, f := range told {
				if !f.Refused && !slices.ContainsFunc(found, func(x check.Finding) bool { return x.Rule == f.Rule || x.Rule == "otherwise-offered" }) ||
					f.Refused && !slices.ContainsFunc(found, func(x check.Finding) bool { return x.Severity == check.Error }) {
					t.Errorf("check does not find %+v", f)
				}
			}
		})
	}
}
