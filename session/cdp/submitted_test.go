package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
)

// plain answers with HTML without anything of ours.
func plain(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}
}

// linked is a block of JSON-LD.
func linked(text string) string { return `<script type="application/ld+json">` + text + `</script>` }

// TestFormAnswers shows what ends the call of a form that submits itself and stays.
func TestFormAnswers(t *testing.T) {
	t.Parallel()
	const fails, unsure = "TOOL_ERROR  failed: ", "TOOL_ERROR  unknown: "
	const stopped = "TOOL_ERROR NOT_SUBMITTED unknown: The page stopped the form: nothing was sent, and nothing in the page changed."
	rows := []struct{ name, attributes, script, want string }{
		{"a value", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith({a: [f.q.value]}) }`, `{"a":["v"]}`},
		{"a promise", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(new Promise((r) => setTimeout(r, 20, 'v'))) }`, `"v"`},
		{"nothing", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(undefined) }`, `null`},
		{"the last counts", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(1); e.respondWith(2) }`, `2`},
		{"after a microtask", "", `f.onsubmit = async (e) => { e.preventDefault(); await null; e.respondWith(1) }`, `1`},
		{"a rejection", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(Promise.reject(new RangeError('too far'))) }`, fails + "too far"},
		{"only prevented", "", `f.onsubmit = (e) => e.preventDefault()`, stopped},
		{"prevented, and read", "", `f.onsubmit = (e) => { e.preventDefault(); new FormData(f) }`, stopped},
		{"another form is sent", "", `f.onsubmit = (e) => { e.preventDefault(); f.cloneNode(true).submit() }`, stopped},
		{"answered too early", "", `f.onsubmit = (e) => { try { e.respondWith(1) } catch (x) { log.push(String(x)) } e.preventDefault() }`, stopped},
		{"the page submits first", "", `f.q.oninput = () => f.requestSubmit(); f.onsubmit = (e) => { e.preventDefault(); log.push(e.agentInvoked); if (e.agentInvoked) e.respondWith(log) }`, `[false,true]`},
		{"reset", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(after(() => f.reset())) }`, `"v"`},
		{"reset that is prevented", "", `f.onreset = (e) => e.preventDefault(); f.onsubmit = (e) => { e.preventDefault(); f.reset(); e.respondWith(1) }`, `1`},
		{"removed", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(after(() => f.remove())) }`, `"v"`},
		{"removed, then answered", "", `f.onsubmit = (e) => { e.preventDefault(); f.remove(); e.respondWith('v') }`, `"v"`},
		{"replaced", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(after(() => f.outerHTML = '<p>Thank you')) }`, `"v"`},
		{"renamed", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(after(() => f.setAttribute('toolname', 'u'))) }`, `"v"`},
		{"a control more", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(after(() => f.append(Object.assign(document.createElement('input'), {name: 'z'})))) }`, `"v"`},
		{"removed, and refused", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(after(() => { f.remove(); throw new Error('sold out') })) }`, fails + "sold out"},
		{"removed instead of an answer", "", `f.onsubmit = (e) => { e.preventDefault(); f.remove() }`, `{"page":{"address":"PAGE","title":"","alerts":[],"statuses":[],"changed":["document"]}}`},
		{"removed instead of being sent", "", `f.onsubmit = (e) => f.remove()`, unsure + "Tool execution cancelled, since tool definition was updated"},
		{"called again", "", `const open = e => document.modelContext.getTools().then((all) => document.modelContext.executeTool(all.find((x) => x.name === 't'), {}).catch(() => {}));
			f.onsubmit = (e) => { e.preventDefault(); e.respondWith(forever); f.onsubmit = null; f.method = 'dialog'; open() }`, unsure + "Tool execution cancelled by another call of the tool"},
		{"another label only", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith(new Promise((r) => setTimeout(r, 50, 1))); setTimeout(() => l.textContent = 'new') }`, `1`},
		{"a change while it is filled", "", `f.q.oninput = () => { f.w.disabled = true }; f.onsubmit = (e) => { e.preventDefault(); e.respondWith(1) }`, `1`},
		{"removed while it is filled", "", `f.q.oninput = () => f.remove()`, fails + "Tool execution cancelled, since tool definition was updated"},
		{"a dialog", "method=dialog", `f.onsubmit = null`, `null`},
		{"a dialog, by its handler", "method=dialog", `f.onsubmit = (e) => { e.preventDefault(); f.submit() }`, `null`},
		{"submit looks like the browser's", "", `const own = f.submit; f.onsubmit = (e) => { e.preventDefault(); let error; try { own.call({}) } catch (x) { error = x.message }
			e.respondWith([own.name, own.length, error, Object.keys(Object.getOwnPropertyDescriptor(HTMLFormElement.prototype, 'submit'))]) }`, `["submit",0,"Illegal invocation",["value","writable","enumerable","configurable"]]`},
		{"class names", "", `f.onsubmit = (e) => { e.preventDefault(); e.respondWith([f.className, b.className]) }`, `["tool-form-active","tool-submit-active"]`},
		{"another event", "", `f.onsubmit = (e) => { e.preventDefault(); const s = new SubmitEvent('submit', {cancelable: true}); s.preventDefault(); let x = []; for (const o of [s, {}])
			try { x.push(SubmitEvent.prototype.respondWith.call(o, 1)) } catch (error) { x.push(error.name) } e.respondWith([s.agentInvoked, ...x]) }`, `[false,"InvalidStateError","TypeError"]`},
	}
	pages := map[string]http.HandlerFunc{}
	for i, row := range rows {
		pages[fmt.Sprintf("/%d", i)] = form("toolautosubmit "+row.attributes, "<label id=l for=q>Label</label><input id=q name=q><input name=w>", "const forever = new Promise(() => {}), after = (change) => new Promise((done, failed) => setTimeout(() => { try { change(); setTimeout(done, 0, 'v') } catch (e) { failed(e) } }));"+row.script)
	}
	origin := site(t, pages)
	s := showPage(t, shared, origin+"/0")
	for i, row := range rows {
		s.show(fmt.Sprintf("%s/%d", origin, i))
		if got := strings.ReplaceAll(s.says("t", `{"q":"v"}`), fmt.Sprintf("%s/%d", origin, i), "PAGE"); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
		if got := s.must("eval", `{"script":"String(document.querySelector('.tool-form-active,.tool-submit-active'))"}`); got != `"null"` {
			t.Errorf("%s leaves the class name of a call", row.name)
		}
	}
}

// show navigates, and forgets the tools of before.
func (s *shown) show(address string) {
	s.t.Helper()
	before := s.shown.top.Load().id
	ctx, cancel := context.WithTimeout(s.t.Context(), hang)
	defer cancel()
	if err := s.Load(ctx, address); err != nil {
		s.t.Fatal(err)
	}
	s.until(address+" shows", func(all []session.ToolsChanged) bool {
		return len(all) > 0 && !slices.ContainsFunc(all, func(c session.ToolsChanged) bool { return c.Document == before })
	})
}

// TestFormNavigates shows that the result of a plain submit is the JSON-LD of the
// document that comes.
func TestFormNavigates(t *testing.T) {
	t.Parallel()
	const none = "INTERNAL_ERROR PAGE_NAVIGATED unknown: "
	const cross = none + "Cannot return tool results after a cross-origin navigation."
	other := site(t, map[string]http.HandlerFunc{"/": plain(linked(`{"secret":1}`))})
	pages := map[string]http.HandlerFunc{
		"/one": plain(linked(`{"@type":"A","n":12345678901234567890}`)), "/two": plain(linked(`{"a":1}`) + "<p>" + linked(" [2]\n")),
		"/bad": plain(linked(`{bad`) + linked(`{"ok":1}`)), "/none": plain("<p>no"),
		"/late": plain(`<script>onload = () => { const s = document.createElement('script'); s.type = 'application/ld+json'; s.text = '{"late":1}'; document.head.append(s) }</script>`),
		"/error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			plain(linked(`{"error":1}`))(w, r)
		},
		"/echo": func(w http.ResponseWriter, r *http.Request) {
			plain(linked(fmt.Sprintf("%q", r.Method+" "+r.FormValue("q"))))(w, r)
		},
		"/again":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/one", http.StatusFound) },
		"/away":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/", http.StatusFound) },
		"/script":  plain(`<script>location.replace('/one')</script>` + linked(`{"first":1}`)),
		"/refresh": plain(`<meta http-equiv=refresh content="0;url=/one">`),
		"/204":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=a.txt")
			_, _ = io.WriteString(w, "x")
		},
		"/hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/huge": plain(linked(`"` + strings.Repeat("x", 2<<20) + `"`)),
	}
	page := func(status int, path string) string {
		return fmt.Sprintf(`{"page":{"status":%d,"address":"SITE%s?q=v","title":"","alerts":[],"statuses":[]}}`, status, path)
	}
	handler := func(script string) string {
		return `<script>f.onsubmit = (e) => { e.preventDefault(); ` + script + ` }</script>`
	}
	rows := []struct{ name, attributes, more, want string }{
		{"get", `action=/echo`, ``, `["GET v"]`}, {"post", `action=/echo method=post`, ``, `["POST v"]`},
		{"numbers as they are written", `action=/one`, ``, `[{"@type":"A","n":12345678901234567890}]`},
		{"two blocks", `action=/two`, ``, "[{\"a\":1}, [2]\n]"}, {"one that is not JSON", `action=/bad`, ``, `[{"ok":1}]`}, {"none", `action=/none`, ``, page(200, "/none")},
		{"written by a script", `action=/late`, ``, `[{"late":1}]`}, {"status 500", `action=/error`, ``, "TOOL_ERROR SITE_REFUSED unknown: The site answered the form with status 500."}, {"redirect", `action=/again`, ``, `[{"@type":"A","n":12345678901234567890}]`},
		{"a document that leads on", `action=/script`, ``, `[{"@type":"A","n":12345678901234567890}]`},
		{"another origin", `action=` + other + `/`, ``, cross}, {"redirect to another origin", `action=/away`, ``, cross},
		{"204", `action=/204`, ``, page(204, "/204")}, {"download", `action=/file`, ``, page(200, "/file")},
		{"refused", `action=http://127.0.0.1:1/`, ``, none + "The form was submitted, and the site did not answer."},
		{"new window", `action=/one target=_blank`, ``, none + "The form was submitted into another window or frame, whose page is not read."},
		{"frame", `action=/one target=inner`, `<iframe name=inner></iframe>`, `[{"@type":"A","n":12345678901234567890}]`},
		{"top", `action=/one target=_top`, ``, `[{"@type":"A","n":12345678901234567890}]`},
		{"too large", `action=/huge`, ``, "TOOL_ERROR RESULT_TOO_LARGE unknown: The tool's result is too large."},
		{"sent by its handler", `action=/one`, handler(`f.submit()`), `[{"@type":"A","n":12345678901234567890}]`},
		{"sent a microtask later", `action=/echo`, handler(`Promise.resolve().then(() => f.submit())`), `["GET v"]`},
		{"sent by the prototype's", `action=/echo`, handler(`HTMLFormElement.prototype.submit.call(f)`), `["GET v"]`},
		{"sent, and answered", `action=/echo method=post`, handler(`f.submit(); e.respondWith('x')`), `["POST v"]`},
		{"answered, and sent", `action=/echo`, handler(`e.respondWith(new Promise(() => {})); setTimeout(() => f.submit())`), `["GET v"]`},
		{"sent into a frame", `action=/one target=inner`, `<iframe name=inner></iframe>` + handler(`f.submit()`), `[{"@type":"A","n":12345678901234567890}]`},
		{"sent without an answer", `action=/204`, handler(`f.submit()`), page(204, "/204")},
		{"while the page loads", `action=/one`, `<img src=/hang>`, `[{"@type":"A","n":12345678901234567890}]`},
		{"sent by its handler while the page loads", `action=/one`, `<img src=/hang>` + handler(`f.submit()`), `[{"@type":"A","n":12345678901234567890}]`},
		{"204 while the page loads", `action=/204`, `<img src=/hang>`, page(204, "/204")},
		{"sent twice", `action=/hang`, handler(`f.submit(); setTimeout(() => { f.action = '/one'; f.submit() }, 50)`), `[{"@type":"A","n":12345678901234567890}]`},
		{"removed when it was sent", `action=/echo`, `<script>f.onsubmit = () => { Promise.resolve().then(() => f.remove()) }</script>`, `["GET v"]`},
		{"removed frame", `action=/one target=inner`, `<iframe name=inner></iframe><script>f.onsubmit = () => setTimeout(() => document.querySelector('iframe').remove())</script>`,
			none + "The form was submitted into another window or frame, whose page is not read."},
		{"a document that refreshes itself", `action=/refresh`, ``, `[{"@type":"A","n":12345678901234567890}]`},
	}
	// The next document may come before we hear that this one cannot be read, or after.
	rows = append(rows, slices.Repeat(rows[len(rows)-1:], gatetest.Amount(9, 49))...)
	for i, row := range rows {
		pages[fmt.Sprintf("/form%d", i)] = html(fmt.Sprintf(`<form id=f toolname=t tooldescription=d toolautosubmit %s><input name=q><button>go</button></form>%s<script>tool('run', () => {})</script>`, row.attributes, row.more))
	}
	origin := site(t, pages)
	s := showPage(t, shared, origin+"/none")
	for i, row := range rows {
		s.show(fmt.Sprintf("%s/form%d", origin, i))
		if got := strings.ReplaceAll(s.says("t", `{"q":"v"}`), origin, "SITE"); got != row.want {
			t.Errorf("%s: %.300s, want %s", row.name, got, row.want)
		}
	}
}

// TestFormWaits shows a form that a person has to submit: at a browser without
// windows somebody is asked, else the call ends with its deadline or with the submit.
func TestFormWaits(t *testing.T) {
	t.Parallel()
	const waits = "TOOL_ERROR AWAITING_SUBMISSION failed: The form is filled in, and was not submitted: a person has to do that, because it has no toolautosubmit."
	page := form("", "<input name=q required><input name=w>", "")
	origin := site(t, map[string]http.HandlerFunc{
		"/": page, "/none": html(`<form toolname=t tooldescription=d><input name=q></form><script>tool('run', () => 1)</script>`),
		"/plain": html(`<form id=f toolname=t tooldescription=d action=/next><input name=q><button id=b>go</button></form><script>tool('run', ({script}) => { (0, eval)(script) })</script>`),
		"/next":  plain(linked(`{"next":1}`)),
	})
	s := showPage(t, shared, origin+"/")
	asked := s.asks("t", `{"q":"v"}`)
	const state = `{"script":"[f.q.value, document.activeElement.id, f.className].join()"}`
	if got := s.must("eval", state); got != `"v,b,tool-form-active"` {
		t.Errorf("the form waits as %s", got)
	}
	if _, err := answered(t, asked, no); bridge.AsError(err) == nil || bridge.AsError(err).Code != bridge.ToolError {
		t.Errorf("declined: %v", err)
	}
	if got := s.must("eval", state); got != `"v,b,"` {
		t.Errorf("the form is left as %s", got)
	}
	if got, err := answered(t, s.asks("t", `{"q":"v"}`), yes); err != nil || got != `"q=v w="` && got != `"q=v w= go=1"` {
		t.Errorf("agreed to: %s, %v", got, err)
	}
	s.show(origin + "/none")
	if got := s.says("t", `{"q":"v"}`); got != "TOOL_ERROR  failed: No submit button was found, but for a form without `toolautosubmit`, there must be a submit button" {
		t.Errorf("without a button: %s", got)
	}

	e := engine(t, nil)
	b, err := e.instance(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	b.attended = true
	a := showPage(t, e, origin+"/")
	for _, row := range []struct{ script, want string }{
		{"b.click()", `"q=v w= go=1"`}, {"f.requestSubmit()", `"q=v w="`}, {"f.q.value = 'mine'; b.click()", `"q=mine w= go=1"`},
		{"f.q.value = ''; b.click(); f.q.value = 'again'; b.click()", `"q=again w= go=1"`},
		{"f.reset()", "TOOL_ERROR  failed: Tool execution cancelled by a form reset"},
		{"f.w.name = 'x'", "TOOL_ERROR  failed: Tool execution cancelled, since tool definition was updated"},
	} {
		if got := a.meanwhile("t", `{"q":"v"}`, row.script); got != row.want {
			t.Errorf("%s: %s, want %s", row.script, got, row.want)
		}
	}
	a.show(origin + "/")
	a.find("run")
	d := a.find("t")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := came(a.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(`{"q":"v"}`), MaxBytes: 1 << 20}))
		ended <- err
	}()
	for a.must("eval", state) != `"v,b,tool-form-active"` { // until it waits
	}
	cancel(bridge.TimedOut(time.Second))
	if got := refusal(<-ended); got != waits {
		t.Errorf("at its deadline: %s", got)
	}
	a.show(origin + "/plain")
	if got := a.meanwhile("t", `{"q":"v"}`, "b.click()"); got != `[{"next":1}]` {
		t.Errorf("a plain submit: %s", got)
	}
	a.show(origin + "/plain")
	if got := a.meanwhile("t", `{"q":"v"}`, "f.submit()"); got != `[{"next":1}]` {
		t.Errorf("one without an event: %s", got)
	}
}

// meanwhile calls a form's tool, and runs a script when the form waits.
func (s *shown) meanwhile(name, input, script string) string {
	s.t.Helper()
	s.find("run")
	wait := fmt.Sprintf(`const wait = () => { if (document.querySelector('.tool-form-active')) { %s } else setTimeout(wait, 1) }; wait()`, script)
	in, _ := json.Marshal(map[string]string{"script": "{" + wait + "}"})
	s.must("run", string(in))
	return s.says(name, input)
}

// TestFormsOfHostilePages shows that a page that spoils what forms inherit keeps
// its tools, and sees that what it spoiled matters to itself.
func TestFormsOfHostilePages(t *testing.T) {
	t.Parallel()
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<form id=f toolname=t tooldescription=d toolautosubmit>
		<input name=elements><input name=getAttribute><input name=requestSubmit><input name=classList type=checkbox><button>go</button></form><script>
		const {get} = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value'), call = Function.prototype.call.bind(Function.prototype.call);
		const stop = Event.prototype.preventDefault, prevent = (e) => call(stop, e), fields = document.querySelectorAll('input'), first = fields[0];
		for (const type of [HTMLFormElement, HTMLInputElement, Element, HTMLElement, Node, NodeList, HTMLCollection, DOMTokenList, Event, SubmitEvent, MutationObserver, MutationRecord])
			for (const name of Object.getOwnPropertyNames(type.prototype)) if (name !== 'constructor' && name !== 'respondWith')
				try { Object.defineProperty(type.prototype, name, {get() { throw new Error('spoiled ' + name) }, set() {}}) } catch {}
		Array.prototype[Symbol.iterator] = () => { throw new Error('spoiled iterator') };
		Object.prototype.get = () => 'polluted'; Object.prototype.bubbles = false;
		let spoiled = 0; try { first.value } catch { spoiled = 1 } try { f.reset() } catch { spoiled++ }
		addEventListener( 'submit', (e) => { prevent(e); e.respondWith('spoiled ' + spoiled + ' ' + call(get, first)) });
		tool('run', () => 1)</script>`)})+"/")
	if got := s.says("t", `{"elements":"v","classList":true}`); got != `"spoiled 2 v"` {
		t.Errorf("the form answers %s", got)
	}
}
