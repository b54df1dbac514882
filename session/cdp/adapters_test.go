package cdp

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
)

// adapted returns an adapter of a name, with further lines of the header.
func adapted(t *testing.T, name, header, body string) *adapter.Adapter {
	t.Helper()
	text := "// ==PagetoolsAdapter==\n// @name " + name + "\n// @version 1.2.0\n" + header + "// ==/PagetoolsAdapter==\n" + body
	a, err := adapter.Parse("/home/me/"+name+".js", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// register is a line of an adapter that registers a tool.
func register(through, name string) string {
	return fmt.Sprintf("%s.registerTool({name: %q, description: 'd', execute: () => %q + document.title});\n", through, name, name+" of ")
}

// strict serves a page with a policy that lets no script run but those of the page script's kind.
func strict(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; require-trusted-types-for 'script'")
		_, _ = io.WriteString(w, "<!doctype html><link rel=icon href=data:,>"+body)
	}
}

// bothEngines runs a test with each kind of engine.
func bothEngines(t *testing.T, run func(t *testing.T, e *Engine)) {
	t.Helper()
	for kind, e := range map[string]*Engine{"shim": shared, "native": native1(t)} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			run(t, e)
		})
	}
}

// marks returns the names of the tools, each with the adapter that it is marked with.
func marks(all []session.ToolsChanged) (names []string) {
	for _, set := range all {
		for _, d := range set.Tools {
			by := "the page"
			if d.Adapter != nil {
				by = d.Adapter.String()
			}
			names = append(names, d.Name+" of "+by)
		}
	}
	slices.Sort(names)
	return names
}

// marked waits until the page has these tools, and no others.
func (s *shown) marked(want ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("the tools are %q", want), func(all []session.ToolsChanged) bool { return slices.Equal(marks(all), want) })
}

// found waits for a finding whose message has the text.
func (s *shown) found(what string) (f bridge.Finding) {
	s.t.Helper()
	s.until("a finding: "+what, func(all []session.ToolsChanged) bool {
		for _, set := range all {
			for _, one := range set.Findings {
				if strings.Contains(one.Message, what) {
					f = one
					return true
				}
			}
		}
		return false
	})
	return f
}

// TestAdapterInStrictPage (anyone 4.1, 4.2): an adapter registers tools in a page whose policy
// allows no script, at each of the times, also after a navigation, and only in the pages that
// match.
func TestAdapterInStrictPage(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{
		"/": strict("<title>one</title>"), "/two": strict("<title>two</title>"), "/other": strict("<title>other</title>"),
	})
	bothEngines(t, func(t *testing.T, e *Engine) {
		var all []*adapter.Adapter
		for _, at := range []string{"start", "end", "idle"} {
			all = append(all, adapted(t, at, "// @run-at document-"+at+"\n// @match http://*/\n// @match *://127.0.0.1/two*\n",
				register("modelContext", at)))
		}
		p := showPageWith(t, e, session.TabOptions{Origin: origin, Adapters: all}, origin+"/")
		for _, at := range []string{"start", "end", "idle"} {
			if got, want := p.must(at, "{}"), `"`+at+` of one"`; got != want {
				t.Errorf("%s gives %s", at, got)
			}
		}
		p.begin(t, origin+"/two?q=1#top")
		if got := p.must("idle", "{}"); got != `"idle of two"` {
			t.Errorf("after the navigation: %s", got)
		}
		p.marked("end of end 1.2.0", "idle of idle 1.2.0", "start of start 1.2.0")
		p.begin(t, origin+"/other")
		p.until("the document is known", func(all []session.ToolsChanged) bool { return len(all) == 1 && all[0].Title == "other" })
		p.marked()
	})
}

// TestAdapterMarks (anyone 4.3): what is registered through the adapter's modelContext, or in its
// first synchronous part, has its mark; nothing else has.
func TestAdapterMarks(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('own', () => 1)</script>`)})
	body := register("document.modelContext", "first") + "await null;\n" + register("modelContext", "later") +
		register("document.modelContext", "unmarked") + "undeclared = 1;\n"
	bothEngines(t, func(t *testing.T, e *Engine) {
		p := showPageWith(t, e, session.TabOptions{Origin: origin, Adapters: []*adapter.Adapter{adapted(t, "shop", "", body)}}, origin+"/")
		f := p.found("undeclared")
		if want := "The adapter shop failed: undeclared is not defined (shop.js:9)"; f.Message != want || f.Rule != "adapter-error" || f.Tool != "" {
			t.Errorf("the finding is %+v", f)
		}
		p.marked("first of shop 1.2.0", "later of shop 1.2.0", "own of the page", "unmarked of the page")
	})
}

// TestPageWins (anyone 4.2): a name that the page has, or takes later, is the page's; its older
// methods leave the tools of adapters alone.
func TestPageWins(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{"/": html(`<title>t</title><script>
		tool('taken', () => 'the page');
		tool('take', () => { const done = new AbortController(); tool('mine', () => 'the page'); });
		tool('give', () => navigator.modelContext.unregisterTool('mine'));
		tool('clear', () => navigator.modelContext.provideContext({tools: [{name: 'give', description: 'd', execute() { navigator.modelContext.unregisterTool('mine') }}]}));
	</script>`)})
	body := register("modelContext", "taken") + register("modelContext", "mine")
	bothEngines(t, func(t *testing.T, e *Engine) {
		p := showPageWith(t, e, session.TabOptions{Origin: origin, Adapters: []*adapter.Adapter{adapted(t, "shop", "", body)}}, origin+"/")
		f := p.found("Duplicate")
		want := "The adapter shop could not register a tool: Duplicate tool name: the page itself has a tool of this name (shop.js:5)"
		if f.Tool != "taken" || f.Message != want {
			t.Errorf("the finding is %+v", f)
		}
		for _, x := range []struct{ tool, want string }{
			{"taken", `"the page"`}, {"mine", `"mine of t"`}, {"take", "null"}, {"mine", `"the page"`}, {"give", "null"}, {"mine", `"mine of t"`}, {"clear", "null"}, {"mine", `"mine of t"`},
		} {
			p.until(x.tool+" is "+x.want, func([]session.ToolsChanged) bool {
				got, err := p.call(x.tool, "{}")
				return err == nil && (got == x.want || x.want == "null")
			})
		}
		p.found("the page registers a tool of this name itself")
		p.marked("give of the page", "mine of shop 1.2.0") // after provideContext
	})
}

// TestAdapterFaults (anyone 4.2): what an adapter throws is told with file and line, and one that
// does not parse leaves the page and the others whole.
func TestAdapterFaults(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('own', () => 1)</script>`)})
	for body, want := range map[string]string{
		"throw new TypeError('not so');": "The adapter bad failed: not so (bad.js:5)",
		"\n\nawait null; null.x;":        "(bad.js:7)",
		"throw 'text';":                  "The adapter bad failed: text (bad.js)",
		"modelContext.registerTool({name: 'a b', description: 'd', execute() {}})": "could not register a tool: Invalid tool name (bad.js:5)",
		"\nlet a = ;": "The adapter bad is not JavaScript: SyntaxError: Unexpected token ';' (bad.js:6)",
		"setTimeout(() => { throw new Error('much later') });": "The adapter bad has an error that nothing caught: Uncaught Error: much later (bad.js:5)",
		"Promise.reject(new Error('unheard'));":                "(bad.js:5)",
		"import x from './x.js';":                              "The adapter bad is not JavaScript: SyntaxError: Cannot use import statement outside a module (bad.js:5)",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			bothEngines(t, func(t *testing.T, e *Engine) {
				all := []*adapter.Adapter{adapted(t, "bad", "", body), adapted(t, "good", "", register("modelContext", "good"))}
				p := showPageWith(t, e, session.TabOptions{Origin: origin, Adapters: all}, origin+"/")
				if f := p.found(want); f.Rule != bridge.RuleAdapter {
					t.Errorf("the finding is %+v", f)
				}
				p.find("good")
				p.find("own")
				p.until("no fault of the page", func(all []session.ToolsChanged) bool {
					for _, set := range all {
						for _, f := range set.Findings {
							if f.Rule == bridge.RuleUncaught {
								t.Errorf("the page is blamed: %+v", f)
							}
						}
					}
					return true
				})
			})
		})
	}
}

// TestAdapterFrames (anyone 4.2): frames of the page's origin run an adapter that says so, and no
// others; a page of another origin runs none, whatever @match says.
func TestAdapterFrames(t *testing.T) {
	t.Parallel()
	inner := html(`<title>in</title><script>tool('inner', () => 1)</script>`)
	other := site(t, map[string]http.HandlerFunc{"/": inner})
	origin := site(t, map[string]http.HandlerFunc{
		"/in": inner, "/": html(`<title>out</title><iframe src="/in"></iframe><iframe src="` + other + `/" allow="tools"></iframe>
			<iframe sandbox="allow-scripts" src="/in"></iframe>`),
	})
	bothEngines(t, func(t *testing.T, e *Engine) {
		all := []*adapter.Adapter{adapted(t, "top", "// @match <all_urls>\n", register("modelContext", "top")),
			adapted(t, "all", "// @match <all_urls>\n// @frames all\n", register("modelContext", "all"))}
		p := showPageWith(t, e, session.TabOptions{Origin: origin, Adapters: all}, origin+"/")
		p.marked("all of all 1.2.0", "all of all 1.2.0", "inner of the page", "inner of the page", "top of top 1.2.0")
		p.begin(t, other+"/")
		p.marked("inner of the page") // it is of another origin
	})
}

// serverPage is a page with an MCP server of its own, as MCP-B's TabServerTransport speaks, written
// by us.
const serverPage = `<title>t</title><script>
	const channel = 'mcp-default', tools = [{name: 'greet', description: 'Greets.', inputSchema: {type: 'object', properties: {name: {type: 'string'}}}},
		{name: 'mirrored', description: 'The page has it, too.', inputSchema: {type: 'object'}}, {name: 'hang', description: 'Never answers.', inputSchema: {type: 'object'}}];
	const seen = [];
	const send = (payload) => window.postMessage({channel, type: 'mcp', direction: 'server-to-client', payload}, '*');
	const answers = {
		initialize: (params) => ({protocolVersion: params.protocolVersion, capabilities: {tools: {listChanged: true}}, serverInfo: {name: 's', version: '1'}}),
		'tools/list': ({cursor}) => cursor === undefined ? {tools: tools.slice(0, 1), nextCursor: 'b'} : {tools: tools.slice(1)},
		'tools/call': ({name, arguments: input}) => {
			if (name === 'grow') return tools.push({name: 'grown', description: 'd', inputSchema: {type: 'object'}}), send({jsonrpc: '2.0', method: 'notifications/tools/list_changed'}), {content: []};
			if (name === 'greet' && input.name === '') return {content: [{type: 'text', text: 'Whom?'}], isError: true};
			return {content: [{type: 'text', text: 'Hello ' + (input.name ?? name) + '.'}]};
		},
	};
	addEventListener('message', ({data, source}) => {
		if (source !== window || data?.direction !== 'client-to-server') return;
		const {id, method, params} = data.payload;
		seen.push(method + (method === 'initialize' ? ' ' + params.protocolVersion + ' ' + JSON.stringify(params.capabilities) : ''));
		if (params?.name === 'hang') return;
		if (id === undefined) return;
		const answer = answers[method];
		if (answer === undefined) send({jsonrpc: '2.0', id, error: {code: -32601, message: 'unknown'}});
		else send({jsonrpc: '2.0', id, result: answer(params)});
	});
	tool('mirrored', () => 'the page');
	tool('seen', () => seen);
	tool('grow', () => { answers['tools/call']({name: 'grow', arguments: {}}); });
	send('mcp-server-ready');
	send('mcp-server-ready');
</script>`

// TestPageServers (anyone 4.5): the tools of an MCP server in the page are registered, called and
// renewed; what the page registers itself is left to it, without a finding. Without the adapter
// there is a finding.
func TestPageServers(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{"/": html(serverPage)})
	servers, err := adapter.Read(adapter.Builtin + adapter.PageServers)
	if err != nil {
		t.Fatal(err)
	}
	bothEngines(t, func(t *testing.T, e *Engine) {
		p := showPageWith(t, e, session.TabOptions{Origin: origin, Adapters: []*adapter.Adapter{servers}}, origin+"/")
		if got := p.must("greet", `{"name":"Ada"}`); got != `{"content":[{"type":"text","text":"Hello Ada."}]}` {
			t.Errorf("greet gives %s", got)
		}
		if got := p.must("greet", `{"name":""}`); got != `{"content":[{"type":"text","text":"Whom?"}],"isError":true}` {
			t.Errorf("greet of nobody gives %s", got)
		}
		if got := p.must("mirrored", `{}`); got != `"the page"` {
			t.Errorf("mirrored gives %s", got)
		}
		p.must("grow", `{}`)
		if got := p.must("grown", `{}`); got != `{"content":[{"type":"text","text":"Hello grown."}]}` {
			t.Errorf("grown gives %s", got)
		}
		if _, err := p.callWithin(300*time.Millisecond, "hang", `{}`); err == nil {
			t.Error("a server that does not answer has answered")
		}
		for began := time.Now(); !strings.Contains(p.must("seen", `{}`), "notifications/cancelled"); { // each call is a turn of the page
			if time.Since(began) > hang {
				t.Fatal("the call that was given up is not cancelled")
			}
		}
		want := `["initialize 2025-06-18 {}","notifications/initialized","tools/list","tools/list","tools/call","tools/call",`
		if got := p.must("seen", `{}`); !strings.HasPrefix(got, want) {
			t.Errorf("the server saw %s", got)
		}
		for _, set := range p.all() {
			for _, f := range set.Findings {
				t.Errorf("a finding: %+v", f)
			}
		}
		p.marked("greet of page-servers 1.0.0", "grow of the page", "grown of page-servers 1.0.0",
			"hang of page-servers 1.0.0", "mirrored of the page", "seen of the page")
		p = showPageWith(t, e, session.TabOptions{Origin: origin}, origin+"/")
		f := p.found("An MCP server runs in the page")
		if f.Rule != bridge.RuleServer || f.Message != `An MCP server runs in the page (channel "mcp-default"), and speaks to other scripts only: the adapter builtin:page-servers adds its tools` {
			t.Errorf("the finding is %+v", f)
		}
	})
}

// all returns the newest sets.
func (s *shown) all() []session.ToolsChanged {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sets))
}
