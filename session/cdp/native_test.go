package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// nativeEngine is the browser of every test of native that leaves it whole.
var nativeEngine = sync.OnceValues(func() (*Engine, error) {
	o := localOptions()
	o.Native = true
	o.Args = []string{"--host-resolver-rules=MAP plain.test 127.0.0.1", "--enable-features=Unknown"}
	return NewLocal(o)
})

func native1(t *testing.T) *Engine {
	t.Helper()
	e, err := nativeEngine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestNativeCalls: a call goes through the browser, which tells the page so with
// an event that no script can make; and the input and the result are exact.
func TestNativeCalls(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	p := showPage(t, native1(t), site(t, map[string]http.HandlerFunc{"/": html(`<script>
		const seen = [];
		document.modelContext.addEventListener('toolactivated', (e) => seen.push(e.toolName + ' ' + e.isTrusted));
		tool('seen', () => seen);
		tool('keys', function (input, context) { return [arguments.length, Object.keys(input), Object.keys(context), context.signal instanceof AbortSignal] });
		tool('same', (input) => input.value);
		tool('digits', () => '12345678901234567890');
		tool('json', () => '{"a":1}');
		tool('big', () => 12345678901234567890n);
		tool('huge', () => 'x'.repeat(200 << 20));
		tool('symbol', () => Symbol('x'));
		tool('throws', () => { throw new RangeError('not so') });
		tool('page', async () => {
			const list = await document.modelContext.getTools();
			return document.modelContext.executeTool(list.find((x) => x.name === 'digits'));
		});
	</script>`)})+"/")
	for _, x := range []struct{ tool, input, want string }{
		{"digits", `{}`, `"12345678901234567890"`},
		{"json", `{}`, `"{\"a\":1}"`},
		{"big", `{}`, `"12345678901234567890"`},
		{"page", `{}`, `"12345678901234567890"`},
		{"keys", `{"z":1,"a":2}`, `[2,["z","a"],["signal","requestUserInteraction"],true]`},
		{"same", `{"value":{"z":[1.5,"9007199254740993"],"__proto__":{"a":null},"s":"\ud800"}}`, `{"z":[1.5,"9007199254740993"],"__proto__":{"a":null},"s":"\ud800"}`},
	} {
		if got := p.must(x.tool, x.input); got != x.want {
			t.Errorf("%s gives %s, want %s", x.tool, got, x.want)
		}
	}
	for tool, want := range map[string]string{
		"huge": "TOOL_ERROR RESULT_TOO_LARGE unknown", "symbol": "TOOL_ERROR RESULT_INVALID unknown", "throws": "TOOL_ERROR  failed",
	} {
		_, err := p.call(tool, "{}")
		if got := reasonOf(err); got != want {
			t.Errorf("%s ends with %s", tool, got)
		}
		if e := bridge.AsError(err); tool == "throws" && (e.Message != "not so" || strings.Contains(e.Error(), "at ")) {
			t.Errorf("it says %q", e.Error())
		}
	}
	var seen []string
	if err := json.Unmarshal([]byte(p.must("seen", "{}")), &seen); err != nil || !slices.Contains(seen, "digits true") || seen[len(seen)-1] != "seen true" && len(seen) < 9 {
		t.Errorf("the browser told the page of %q, %v", seen, err)
	}
}

// TestNativeGenerations: the older generations stand on the browser's object.
func TestNativeGenerations(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	p := showPage(t, native1(t), site(t, map[string]http.HandlerFunc{"/": html(`<script>
		document.modelContext.clearContext();
		const context = navigator.modelContext;
		context.provideContext({tools: [{name: 'provided', description: 'd', execute: async (input, agent) => [input, await agent.requestUserInteraction(async () => 'asked')]},
			{name: 'answered', description: 'd'}]});
		window.agent.addEventListener('toolcall', (e) => { if (e.name === 'answered') e.respondWith({answer: e.input}) });
		tool('swap', () => { context.unregisterTool('provided'); tool('provided', () => 'new') });
		tool('clear', () => context.clearContext());
		tool('same', () => [context === document.modelContext, String(context), window.agent !== context]);
		tool('listed', async () => (await document.modelContext.getTools()).map((x) => x.name));
	</script>`)})+"/")
	for _, x := range [][2]string{
		{"provided", `[{},"asked"]`}, {"answered", `{"answer":{}}`}, {"same", `[true,"[object ModelContext]",true]`},
		{"listed", `["answered","clear","listed","provided","same","swap"]`}, {"swap", "null"}, {"listed", `["answered","clear","listed","provided","same","swap"]`},
	} {
		if got := p.must(x[0], "{}"); got != x[1] {
			t.Errorf("%s gives %s", x[0], got)
		}
	}
	if got := p.must("provided", "{}"); got != `"new"` {
		t.Errorf("what took its place gives %s", got)
	}
	p.must("clear", "{}")
	p.untilOffers()
}

// TestNativeFrames: frames in the same process and in others, which were there
// before anybody asked.
func TestNativeFrames(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	other := framesSite(t, "")
	base := framesSite(t, `<script>tool('where', () => 'top')</script><iframe name=same src="/frame"></iframe><iframe name=nested src="/nested"></iframe>
		<iframe name=port allow="tools" src="`+other+`/frame"></iframe><iframe name=site allow="tools" src="`+elsewhere(other)+`/nested"></iframe>
		<iframe name=denied src="`+elsewhere(other)+`/frame"></iframe><iframe name=sandboxed sandbox="allow-scripts" allow="tools *" src="/frame"></iframe>`)
	p := showPage(t, native1(t), base+"/")
	p.untilOffers(" where", "same where", "nested where", "nested/inner where", "port where", "site where", "site/inner where")
	for path, want := range map[string]string{
		"": "top", "same": base + " same", "nested/inner": base + " inner", "port": other + " port", "site": elsewhere(other) + " site", "site/inner": elsewhere(other) + " inner",
	} {
		if got, err := p.in(t.Context(), path, "where"); err != nil || got != `"`+want+`"` {
			t.Errorf("%q: %s, %v", path, got, err)
		}
	}
}

// formsPage has forms that answer, that wait for a person, and that fail.
const formsPage = `<form toolname=find tooldescription="find it" toolautosubmit id=find><input name=q required><button>go</button></form>
	<form toolname=waits tooldescription="wait for it" id=waits><input name=q><button>go</button></form>
	<script>
		document.getElementById('find').addEventListener('submit', (e) => { e.preventDefault(); e.respondWith(Promise.resolve({found: new FormData(e.target).get('q')})) });
		document.getElementById('waits').addEventListener('submit', (e) => { e.preventDefault(); e.respondWith(Promise.resolve('sent')) });
		tool('filled', () => document.querySelector('#waits input').value);
		tool('send', () => { document.querySelector('#waits button').click() });
		tool('drop', () => { document.getElementById('find').remove() });
	</script>`

// TestNativeForms: what only the browser knows is offered too. A form that waits
// is not called twice: the browser would forget the first call without a word.
func TestNativeForms(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	nobody := showPage(t, native1(t), site(t, map[string]http.HandlerFunc{"/": html(formsPage)})+"/")
	if _, err := nobody.call("waits", "{}"); reasonOf(err) != "TOOL_ERROR AWAITING_SUBMISSION failed" {
		t.Errorf("where nobody is: %v", err)
	}
	e := engine(t, func(o *LocalOptions) { o.Native = true })
	b, err := e.instance(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	b.attended = true
	p := showPage(t, e, site(t, map[string]http.HandlerFunc{"/": html(formsPage)})+"/")
	p.untilOffers(" find", " waits", " filled", " send", " drop")
	if d := p.find("find"); d.Description != "find it" || !strings.Contains(string(d.Input), `"q"`) || d.Origin == "" {
		t.Errorf("the form is told as %+v", d)
	}
	for input, want := range map[string]string{`{}`: "Form validation failed", `{"bogus":1}`: "no such parameter"} {
		_, err := p.call("find", input)
		if got := strings.Replace(reasonOf(err), "NOT_SUBMITTED", "", 1); got != "TOOL_ERROR  failed" || !strings.Contains(bridge.AsError(err).Message, want) {
			t.Errorf("%s: %v", input, err)
		}
	}
	if got := p.must("find", `{"q":"x"}`); got != `{"found":"x"}` {
		t.Errorf("the form gives %s", got)
	}
	d := p.find("waits")
	inv := session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(`{"q":"one"}`), MaxBytes: 1 << 20}
	done := make(chan error, 1)
	go func() {
		r, err := came(p.Invoke(t.Context(), inv))
		if string(r.Data) != `"sent"` {
			t.Errorf("the form that waited gives %s", r.Data)
		}
		done <- err
	}()
	for p.must("filled", "{}") != `"one"` {
	}
	if _, err := came(p.Invoke(t.Context(), inv)); reasonOf(err) != "CONFLICT  not_run" {
		t.Errorf("a second call: %v", err)
	}
	p.must("send", "{}")
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := came(p.Invoke(ctx, inv)); reasonOf(err) != "TOOL_ERROR AWAITING_SUBMISSION failed" {
		t.Errorf("a form that nobody sends: %v", err)
	}
	p.must("drop", "{}")
	p.untilOffers(" waits", " filled", " send", " drop")
}

// TestNativeFormsAreUnsure: what the browser cancels, or what took its submit event and said
// nothing, may have been sent.
func TestNativeFormsAreUnsure(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	for name, x := range map[string]struct{ script, want string }{
		"only prevented": {`f.onsubmit = (e) => e.preventDefault()`, "TOOL_ERROR NOT_SUBMITTED unknown"},
		"reset":          {`f.onsubmit = (e) => { e.preventDefault(); e.respondWith(new Promise(() => {})); setTimeout(() => f.reset()) }`, "TOOL_ERROR  unknown"},
		"refused":        {`f.onsubmit = (e) => { e.preventDefault(); e.respondWith(Promise.reject(new Error('sold out'))) }`, "TOOL_ERROR  failed"},
		"invalid":        {`f.q.setCustomValidity('no')`, "TOOL_ERROR NOT_SUBMITTED failed"}, // required would make another tool of it
		"sent":           {`f.onsubmit = (e) => { e.preventDefault(); f.submit() }`, "ok"},
	} {
		p := showPage(t, native1(t), site(t, map[string]http.HandlerFunc{"/next": plain(linked(`{"next":1}`)), "/": html(`<form id=f toolname=t tooldescription=d toolautosubmit action=/next><input name=q><button>go</button></form><script>` + x.script + `</script>`)})+"/")
		got, err := p.call("t", "{}")
		if reasonOf(err) != x.want && (err != nil || got != `[{"next":1}]`) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestNativeFormsAreFollowed: what becomes of a form that leads to no document, for which the
// browser waits without end, is told as by the page script; and the form can be called again.
func TestNativeFormsAreFollowed(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	const routes = `navigation.onnavigate = (e) => { if (e.canIntercept) e.intercept({async handler() { `
	rows := []struct{ script, want string }{
		{routes + `say('Saved') }}) }`, `ok statuses=[Saved] changed=[document address]`},
		{routes + `await fetch('/200', {method: 'POST', body: 'x'}); say('Saved') }}) }`, `ok statuses=[Saved] changed=[document address] POST /200 200`},
		{`f.method = 'post'; ` + routes + `await fetch('/422', {method: 'POST', body: e.formData}) }}) }`, `SITE_REFUSED failed POST /422 422`},
		{routes + `if (confirm('Sure?')) say('Saved') }}) }`, `ok changed=[address]`},
		{`f.action = 'javascript:say("Saved")'`, `ok statuses=[Saved] changed=[document]`},
		{`f.action = 'javascript:void(0)'`, `NOT_SUBMITTED unknown`},
		{`f.action = 'javascript:nothing()'`, `NOT_SUBMITTED failed`},
		{`b.formAction = 'javascript:say("Saved")'; f.append(b)`, `ok statuses=[Saved] changed=[document]`},
		{`f.action = '/204'`, `ok status=204`},
		{`f.onsubmit = (e) => { e.preventDefault(); throw new Error('no cart') }`, `NOT_SUBMITTED failed`},
	}
	pages := map[string]http.HandlerFunc{
		"/200": plain("ok"), "/204": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/422": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) },
	}
	for i, row := range rows {
		pages[fmt.Sprintf("/%d", i)] = html(`<form id=f toolname=t tooldescription=d toolautosubmit><input name=q><button id=b>go</button></form><p id=s role=status></p>
			<script>const say = (text) => { s.textContent = text }; ` + row.script + `</script>`)
	}
	base := site(t, pages)
	for i, row := range rows {
		p := showPage(t, native1(t), fmt.Sprintf("%s/%d", base, i))
		for turn := range 2 {
			got, err := p.callWithin(10*time.Second, "t", fmt.Sprintf(`{"q":"%d"}`, turn))
			if said, _ := toldOfForm(t, got, err); strings.ReplaceAll(said, base, "") != row.want {
				t.Errorf("%s, turn %d: %s, want %s (%v)", row.script, turn, said, row.want, err)
			}
			if err == nil && strings.Contains(row.want, "statuses") && turn == 0 {
				if _, _, err := p.shown.top.Load().evaluate(t.Context(), "s.textContent = '', ''"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestNativeFormsAsk: a dialog that a page opens while a form is called is a question to the
// caller, as through the page script, and not one that nobody hears; what it opens when its submit
// was taken is answered with no.
func TestNativeFormsAsk(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	rows := []struct{ script, yes, no string }{
		{`f.onsubmit = () => confirm('Sure?')`, "ok status=200", "NOT_SUBMITTED unknown"},
		{`f.onsubmit = (e) => { e.preventDefault(); say(confirm('Sure?') ? 'Saved' : 'Kept') }`, "ok statuses=[Saved] changed=[document]", "ok statuses=[Kept] changed=[document]"},
		{`f.onsubmit = (e) => { e.preventDefault(); e.respondWith(Promise.resolve(confirm('Sure?'))) }`, "true", "false"},
		{`f.oninput = () => { if (!confirm('Sure?')) f.onsubmit = (e) => { e.preventDefault(); e.respondWith('No') } }`, "ok status=200", `"No"`},
		{`f.onsubmit = (e) => { e.preventDefault(); e.respondWith(prompt('Sure?')) }`, `""`, "null"},
	}
	pages := map[string]http.HandlerFunc{}
	for i, row := range rows {
		pages[fmt.Sprintf("/%d", i)] = html(`<form id=f toolname=t tooldescription=d toolautosubmit><input name=q><button>go</button></form><p id=s role=status></p>
			<script>const say = (text) => { s.textContent = text }; ` + row.script + `</script>`)
	}
	base := site(t, pages)
	for kind, e := range map[string]*Engine{"shim": shared, "native": native1(t)} {
		for i, row := range rows {
			for ok, want := range map[bool]string{true: row.yes, false: row.no} {
				p := showPage(t, e, fmt.Sprintf("%s/%d", base, i))
				d := p.find("t")
				step := p.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(`{"q":"x"}`), MaxBytes: 1 << 20})
				if step.Pause == nil || step.Pause.Question.Detail != "Sure?" {
					t.Errorf("%s, %s: nobody is asked: %s, %v", kind, row.script, step.Data, step.Err)
					continue
				}
				r, err := came(step.Pause.Continue(t.Context(), &bridge.Answer{OK: ok}))
				if said, _ := toldOfForm(t, string(r.Data), err); strings.ReplaceAll(said, base, "") != want {
					t.Errorf("%s, %s, %t: %s, want %s (%v)", kind, row.script, ok, said, want, err)
				}
			}
		}
	}
}

// TestNativeFormsKeepUp: the list that a call names has the forms that the call made, and a form
// that a script changed is called as what it is now.
func TestNativeFormsKeepUp(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	p := showPage(t, native1(t), site(t, map[string]http.HandlerFunc{"/": html(`<div id=d></div><form id=f toolname=t tooldescription=d><button>go</button></form><script>
		f.onsubmit = (e) => { e.preventDefault(); e.respondWith('sent') };
		tool('run', ({script}) => { (0, eval)(script) })</script>`)})+"/")
	p.untilOffers(" run", " t")
	run := func(script string) bridge.Step {
		in, _ := json.Marshal(map[string]string{"script": script})
		d := p.find("run")
		r, err := came(p.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: in, MaxBytes: 1 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	made := func(name, then string) {
		t.Helper()
		r := run("d.innerHTML = '<form toolname=" + name + " tooldescription=d></form>'; " + then)
		var names []string
		p.until(fmt.Sprintf("revision %d", r.Revision), func(all []session.ToolsChanged) bool {
			if len(all) != 1 || all[0].Revision < r.Revision {
				return false
			}
			names = nil
			for _, x := range all[0].Tools {
				names = append(names, x.Name)
			}
			return true
		})
		if !slices.Contains(names, name) {
			t.Errorf("after the call that made %s the list has %s", name, names)
		}
	}
	for i := range 20 {
		made(fmt.Sprintf("made%d", i), "")
		d := p.find("t")
		if _, _, err := p.shown.top.Load().evaluate(t.Context(), "f.toggleAttribute('toolautosubmit'), ''"); err != nil { // a script, in its own time
			t.Fatal(err)
		}
		called := func() (string, string) {
			ctx, cancel := context.WithTimeout(t.Context(), hang) // a form that waits says nothing
			defer cancel()
			r, err := came(p.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage("{}"), MaxBytes: 1 << 20}))
			return string(r.Data), reasonOf(err)
		}
		got, why := called()
		if strings.HasPrefix(why, "WEBTOOL_NOT_FOUND") { // the browser made another registration of it
			old := d.ID
			p.until("the new registration", func(all []session.ToolsChanged) bool {
				i := slices.IndexFunc(all[0].Tools, func(x bridge.Declaration) bool { return x.Name == "t" })
				if i < 0 {
					return false
				}
				d = all[0].Tools[i]
				return d.ID != old
			})
			got, why = called()
		}
		if alone := i%2 == 0; alone && got != `"sent"` || !alone && why != "TOOL_ERROR AWAITING_SUBMISSION failed" {
			t.Fatalf("form %d: %s, %s", i, got, why)
		}
	}
	made("late", "setTimeout(() => { for (const end = Date.now() + 800; Date.now() < end;); })") // on a busy page
}

// TestNativeInsecure: where the browser gives a document no WebMCP, the finding
// says so; the shim's engine offers the tool.
func TestNativeInsecure(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	address := strings.Replace(site(t, map[string]http.HandlerFunc{"/": html(`<script>navigator.modelContext?.registerTool({name: 'there', description: 'd', execute() {}})</script>`)}), "127.0.0.1", "plain.test", 1) + "/"
	p := showPage(t, native1(t), address)
	p.until("the finding", func(all []session.ToolsChanged) bool {
		return len(all) == 1 && len(all[0].Tools) == 0 && len(all[0].Findings) == 1 && all[0].Findings[0].Rule == "no-native-webmcp"
	})
	shown := showPage(t, engine(t, func(o *LocalOptions) { o.Args = []string{"--host-resolver-rules=MAP plain.test 127.0.0.1"} }), address)
	shown.untilOffers(" there")
}

// TestNativeRemote: a browser that was started without the feature says so.
func TestNativeRemote(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	host := somebodysBrowser(t, true)
	o := remoteAt("http://" + host)
	o.Native, o.Words = true, text.Words{"use a newer one, or the engine shim": "it needs --enable-features=WebMCP"}
	e, err := NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Open(t.Context(), session.TabOptions{})
	if reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" || !strings.Contains(bridge.AsError(err).Err.Error(), "--enable-features=WebMCP") {
		t.Errorf("it says %v", err)
	}
}

// TestNativeEarly: a response that is read before the reply which names its call
// is not lost, and those of calls that pages made are not kept.
func TestNativeEarly(t *testing.T) {
	t.Parallel()
	n := &newNative("", false, nil).responses
	tgt := &wire.Session{}
	of := func(id string) nativeResponse {
		return nativeResponse{of: invocation{tgt, id}, EventToolResponded: webmcp.EventToolResponded{InvocationID: id}}
	}
	n.responded(of("theirs"))
	if len(n.early) != 0 {
		t.Error("what nobody waits for is kept")
	}
	n.expect()
	for range 10 * maxEarly {
		n.responded(of("theirs"))
	}
	n.responded(of("ours"))
	if len(n.early) > maxEarly {
		t.Errorf("%d responses are kept", len(n.early))
	}
	select {
	case r := <-n.named(invocation{tgt, "ours"}):
		if r.InvocationID != "ours" {
			t.Errorf("it is %q", r.InvocationID)
		}
	default:
		t.Error("the response is lost")
	}
	n.expect()
	late := n.named(invocation{tgt, "late"})
	n.responded(of("late"))
	if r := <-late; r.InvocationID != "late" || len(n.early)+len(n.waiting)+n.unnamed != 0 {
		t.Errorf("%d early, %d waiting and %d unnamed are left", len(n.early), len(n.waiting), n.unnamed)
	}
}

// TestNativeParams: newer browsers take exactly one of a tool's id and its name.
func TestNativeParams(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]invokeToolParams{
		`{"frameId":"F","toolName":"t","input":{}}`: {FrameID: "F", ToolName: "t", Input: json.RawMessage("{}")},
		`{"frameId":"F","toolId":"7","input":{}}`:   {FrameID: "F", ToolID: "7", Input: json.RawMessage("{}")},
	} {
		if got, err := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// TestScriptAnswer: only what the page script answered counts as an answer.
func TestScriptAnswer(t *testing.T) {
	t.Parallel()
	for output, ok := range map[string]bool{`"` + shim.NativePrefix + `x"`: true, `[]`: false, `"x"`: false, ``: false, `[{"@type":"Thing"}]`: false} {
		r := scriptAnswer(nativeResponse{EventToolResponded: webmcp.EventToolResponded{Status: webmcp.InvocationStatusCompleted, Output: []byte(output)}})
		var res evaluateResult
		if ok != (r.Error == nil) || ok && !decodeReply(r, &res) {
			t.Errorf("%s: %s, %v", output, r.Result, r.Error)
		}
		if text, err := res.text(); ok && (text != "x" || err != nil) {
			t.Errorf("%s: %q, %v", output, text, err)
		}
	}
}
