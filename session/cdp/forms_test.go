package cdp

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// reference is a page without the page script, in a browser with WebMCP of its own. The
// page script must do the same.
type reference struct {
	t      *testing.T
	target *wire.Session
}

func nativePage(t *testing.T, e *Engine, address string) *reference {
	t.Helper()
	b, err := e.instance(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	at, err := b.newTarget(t.Context(), session.TabOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		at.target.Fail(errOurs)
		bounded, cancel := farewell()
		defer cancel()
		if err := b.dispose(bounded, at); err != nil {
			t.Error(err)
		}
	})
	n := &reference{t: t, target: at.target}
	if _, err := cdp.Call(t.Context(), at.target, page.Navigate, page.NavigateParams{URL: address}); err != nil {
		t.Fatal(err)
	}
	n.eval(`new Promise((r) => document.readyState === 'complete' ? r('') : addEventListener('load', () => r('')))`)
	return n
}

// eval returns the string that an expression resolves to.
func (n *reference) eval(expression string) string {
	n.t.Helper()
	d := &document{target: n.target}
	text, _, err := d.evaluate(n.t.Context(), expression)
	if err != nil {
		n.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// TestFormSchemas holds the schema of every kind of control to the browser's own.
func TestFormSchemas(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/forms.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows map[string]string
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for i, name := range slices.Sorted(maps.Keys(rows)) {
		row := strings.ReplaceAll(rows[name], "=ID", fmt.Sprintf("=id%d", i))
		fmt.Fprintf(&body, "<div><form id=form%s toolname=%s tooldescription=d tooltitle=T>%s</form></div>\n", name, name, row)
	}
	body.WriteString("<input form=formoutside name=out><label for=late>Late</label><input form=formoutside id=late name=late>" +
		"<fieldset toolparamdescription=of><form toolname=in-fieldset tooldescription=d><input type=radio name=a value=x><input type=radio name=a value=y></form></fieldset>")
	rows["in-fieldset"] = ""
	body.WriteString("<script>addEventListener('load', () => tool('loaded', () => 1))</script>")
	address := site(t, map[string]http.HandlerFunc{"/": html(body.String())}) + "/"
	e := engine(t, func(o *LocalOptions) { o.Args = []string{"--enable-features=WebMCP"} })

	var want []struct {
		Name, Title, Description string
		InputSchema              any
	}
	n := nativePage(t, e, address)
	// The browser does not look again at texts that arrived after their control: a
	// changed attribute makes it.
	n.eval(`for (const f of document.forms) for (const d of ['other', 'd']) f.setAttribute('tooldescription', d); ''`)
	if err := json.Unmarshal([]byte(n.eval(`document.modelContext.getTools().then((all) => JSON.stringify(all.map(
		({name, title, description, inputSchema}) => ({name, title, description, inputSchema}))))`)), &want); err != nil {
		t.Fatal(err)
	}
	s := showPage(t, e, address)
	s.find("loaded") // before, forms may be half there
	if len(want) != len(rows) {
		t.Fatalf("the browser has %d of %d tools", len(want), len(rows))
	}
	// Where the browser's schema is none, or says what JSON Schema cannot.
	ours := map[string]string{
		"select-empty": `{"type":"object","properties":{"a":{"type":"string"}},"required":[]}`,
		"pattern-v":    `{"type":"object","properties":{"a":{"type":"string"}},"required":[]}`,
		// Files are ours.
		"file":          `{"type":"object","properties":{"a":{` + fileSchema + `}},"required":[]}`,
		"file-desc":     `{"type":"object","properties":{"a":{` + fileSchema + `,"description":"F"}},"required":["a"]}`,
		"file-accept":   `{"type":"object","properties":{"a":{` + fileSchema + `,"x-accept":"image/*, .PDF","description":"Proof (Accepted: image/*, .PDF)"}},"required":[]}`,
		"file-multiple": `{"type":"object","properties":{"a":{"type":"array","items":{` + fileSchema + `,"x-accept":".txt"},"maxItems":8,"description":"(Accepted: .txt)"}},"required":["a"]}`,

		"password":     `{"type":"object","properties":{"a":{"type":"string","format":"password","writeOnly":true,"pattern":"x"}},"required":[]}`, // so that nobody reads it
		"secret-shown": `{"type":"object","properties":{"a":{"type":"string","writeOnly":true,"description":"Secret"}},"required":[]}`,
		"secret-new":   `{"type":"object","properties":{"a":{"type":"string","writeOnly":true}},"required":["a"]}`,
		"secret-code":  `{"type":"object","properties":{"a":{"type":"string","pattern":"x","writeOnly":true}},"required":[]}`,
		"secret-card":  `{"type":"object","properties":{"a":{"type":"string","writeOnly":true}},"required":[]}`,
		"secret-csc":   `{"type":"object","properties":{"a":{"type":"number","multipleOf":1,"writeOnly":true}},"required":[]}`,
		"secret-year":  `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string","const":"27","title":"27"}],"enum":["27"],"writeOnly":true}},"required":[]}`,
		"secret-area":  `{"type":"object","properties":{"a":{"type":"string","writeOnly":true}},"required":[]}`,
	}
	for _, w := range want {
		got := s.find(w.Name)
		var schema any
		if err := json.Unmarshal(got.Input, &schema); err != nil {
			t.Fatal(err)
		}
		if own, ok := ours[w.Name]; ok {
			if string(got.Input) != own {
				t.Errorf("%s: %s\n got %s\nwant %s", w.Name, rows[w.Name], got.Input, own)
			}
		} else if !reflect.DeepEqual(schema, w.InputSchema) {
			b, _ := json.Marshal(w.InputSchema)
			t.Errorf("%s: %s\n got %s\nwant %s", w.Name, rows[w.Name], got.Input, b)
		}
		if got.Title != w.Title || got.Description != w.Description {
			t.Errorf("%s: %q, %q; want %q, %q", w.Name, got.Title, got.Description, w.Title, w.Description)
		}
	}
}

// form is a page with one form that submits itself, and answers with what its
// controls hold. The tool reset empties it.
func form(attributes, controls, script string) http.HandlerFunc {
	return html(fmt.Sprintf(`<form id=f toolname=t tooldescription=d %s>%s<button id=b name=go value=1>go</button></form><script>
		const log = [];
		f.onsubmit = (e) => { e.preventDefault(); if (e.agentInvoked) e.respondWith([...new FormData(f, e.submitter)].map((pair) => pair.join('=')).join(' ')) };
		%s
		tool('reset', () => { f.reset(); if (f.h) f.h.value = 0; log.length = 0 }); tool('log', () => log); tool('run', ({script}) => { (0, eval)(script) }); tool('eval', ({script}) => (0, eval)(script));
		</script>`, attributes, controls, script))
}

// refusal returns what a test compares of an error: its class and its message.
func refusal(err error) string {
	if e := bridge.AsError(err); e != nil {
		return reasonOf(err) + ": " + e.Message
	}
	return "ok"
}

// says returns the result of a call, or its error.
func (s *shown) says(name, input string) string {
	s.t.Helper()
	s.find("run") // which comes after the form: before, its tool can be half read
	got, err := s.call(name, input)
	if err != nil {
		return refusal(err)
	}
	return got
}

func TestFormFills(t *testing.T) {
	t.Parallel()
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": form("toolautosubmit", `<input name=text><textarea name=area></textarea>
		<input type=number name=num step=2><input type=range name=range><input type=date name=date><input type=time name=time><input type=color name=color>
		<input type=checkbox name=one><input type=checkbox name=group value=x checked><input type=checkbox name=group value=y>
		<input type=radio name=radio value=x checked><input type=radio name=radio value=y><select name=choice><option value=1>One<option value=2>Two</select>
		<select multiple name=many><option value=1 selected>One<option value=2>Two<option value=3>3</select><input type=hidden name=h value=0 toolparamdescription=h>`, ``)})+"/")
	const empty = `text= area= num= range=50 date= time= color=#000000 group=x radio=x choice=1 many=1 h=0 go=1`
	const fails = "TOOL_ERROR  failed: "
	rows := []struct{ input, was, is string }{
		{`{"text":"a","area":"b\nc","num":4,"range":30,"date":"2026-01-02","time":"10:30","color":"#ff0000","one":true,"group":["y"],"radio":"y","choice":"2","many":["2","3"],"h":"9"}`,
			empty, "text=a area=b\\nc num=4 range=30 date=2026-01-02 time=10:30 color=#ff0000 one=on group=y radio=y choice=2 many=2 many=3 h=9 go=1"},
		{`{"text":5}`, `text=`, `text=5`}, {`{"text":true}`, `text=`, `text=true`}, {`{"range":1000}`, `range=50`, `range=100`}, {`{"range":"x"}`, ``, ``},
		{`{"color":"red"}`, `#000000`, `#ff0000`}, {`{"one":1}`, `color=#000000`, `color=#000000 one=on`}, {`{"one":"true"}`, `color=#000000`, `color=#000000 one=on`},
		{`{"many":[]}`, ` many=1`, ``}, {`{"many":[2]}`, `many=1`, `many=2`}, {`{"group":["x","y"]}`, `group=x`, `group=x group=y`}, {`{"choice":2}`, `choice=1`, `choice=2`},
		{`{"bogus":1,"text":"x"}`, "", fails + `Input contains a parameter "bogus" but there is no such parameter for the tool`},
		{`{"text":null}`, "", fails + `Invalid value for parameter text`}, {`{"text":["x"]}`, "", fails + `Invalid value for parameter text`},
		{`{"num":"x"}`, "", fails + `Invalid value "x" for parameter num`}, {`{"num":""}`, "", fails + `Invalid value "" for parameter num`},
		{`{"num":3}`, "", "TOOL_ERROR NOT_SUBMITTED failed: " + `Form validation failed: num: Please enter a valid value. The two nearest valid values are 2 and 4.. `},
		{`{"date":"2026-13-01"}`, "", fails + `Invalid value "2026-13-01" for parameter date`}, {`{"one":"on"}`, "", fails + `Invalid value "on" for parameter one`},
		{`{"group":"y"}`, "", fails + `Invalid value "y" for parameter group`}, {`{"group":["z"]}`, "", fails + `Invalid value for parameter group`},
		{`{"group":["y","y"]}`, "", fails + `Invalid value for parameter group`}, {`{"radio":"z"}`, "", fails + `Invalid value "z" for parameter radio`},
		{`{"choice":"Two"}`, "", fails + `Invalid value "Two" for parameter choice`}, {`{"many":["2","z"]}`, "", fails + `Invalid value for parameter many`},
	}
	for _, row := range rows {
		want := row.is
		if !strings.HasPrefix(want, "TOOL_ERROR ") {
			want = `"` + strings.Replace(empty, row.was, row.is, 1) + `"`
		}
		if got := s.says("t", row.input); got != want {
			t.Errorf("%s gives %s, not %s", row.input, got, want)
		}
		s.must("reset", "{}")
		if got := s.must("t", "{}"); got != `"`+empty+`"` {
			t.Fatalf("after %s the empty form holds %s", row.input, got)
		}
	}
}

// TestFormEvents shows the events of filling, and that frameworks that look for
// changes of a value, or for clicks, see them.
func TestFormEvents(t *testing.T) {
	t.Parallel()
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": form("toolautosubmit", `<input name=text><input type=range name=range>
		<input type=checkbox name=one><input type=radio name=radio value=x checked><input type=radio name=radio value=y>
		<select name=choice><option value=1>One<option value=2>Two</select><input type=hidden name=h toolparamdescription=h>`, `
		for (const type of ['click', 'input', 'change', 'submit', 'formdata']) addEventListener(type, (e) =>
			log.push([type, e.target.name || e.target.id, e.bubbles, e.composed, e.target.type === 'radio' ? e.target.checked : ''].join(' ').trim()), true);
		let seen = f.text.value; const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
		Object.defineProperty(f.text, 'value', {get() { return own.get.call(this) }, set(v) { seen = v; own.set.call(this, v) }});
		f.text.addEventListener('input', () => { if (f.text.value !== seen) log.push('tracked ' + (seen = f.text.value)) });`)})+"/")
	s.must("t", `{"h":"1","choice":"2","radio":"y","one":true,"text":"x"}`)
	want := `["input choice true true","change choice true false","click radio true true true","input radio true true true","change radio true false true",` +
		`"click one true true","input one true true","change one true false","input text true true","tracked x","change text true false","submit f true true","formdata f true false"]`
	if got := s.must("log", "{}"); got != want {
		t.Errorf("events %s\nwant  %s", got, want)
	}
	s.must("run", `{"script":"log.length = 0"}`)
	s.must("t", `{"choice":"2","radio":"y","one":true,"text":"x","range":50}`)
	want = `["change radio true false true","change one true false","input text true true","submit f true true","formdata f true false"]`
	if got := s.must("log", "{}"); got != want {
		t.Errorf("events of values that were there %s\nwant %s", got, want)
	}
}

// TestFormsKeepUp shows that a form's tool says what the form says now, that what
// changes in one go is one revision, and that a tool that says the same stays the
// same registration.
func TestFormsKeepUp(t *testing.T) {
	t.Parallel()
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<div id=d></div><script>tool('run', ({script}) => { (0, eval)(script) })</script>`)})+"/")
	s.find("run")
	var revision, id int64
	for i, row := range []struct{ script, want string }{
		{`d.innerHTML = '<form id=f toolname=t tooldescription=one><input name=a></form>'`, `one {"a":{"type":"string"}} []`},
		{`f.setAttribute('tooldescription', 'two'); f.elements.a.required = true`, `two {"a":{"type":"string"}} ["a"]`},
		{`f.elements.a.type = 'number'; f.elements.a.min = 2; f.elements.a.required = false`, `two {"a":{"type":"number","minimum":2,"multipleOf":1}} []`},
		{`f.elements.a.name = 'b'; f.elements.b.type = 'text'`, `two {"b":{"type":"string"}} []`},
		{`f.elements.b.id = 'bb'; d.insertAdjacentHTML('beforeend', '<label id=l for=bb>Label</label>')`, `two {"b":{"type":"string","description":"Label"}} []`},
		{`l.firstChild.data = 'Other'`, `two {"b":{"type":"string","description":"Other"}} []`},
		{`l.remove(); f.insertAdjacentHTML('beforeend', '<select name=s></select>')`, `two {"b":{"type":"string"},"s":{"type":"string"}} []`},
		{`f.elements.s.add(new Option('One', '1'))`, `two {"b":{"type":"string"},"s":{"type":"string","anyOf":[{"type":"string","const":"1","title":"One"}],"enum":["1"]}} []`},
		{`f.elements.s.remove(); f.elements.b.disabled = true`, `two {} []`},
		{`d.insertAdjacentHTML('beforeend', '<input form=f name=out toolparamdescription=far>')`, `two {"out":{"type":"string","description":"far"}} []`},
		{`d.insertAdjacentHTML('afterbegin', '<form toolname=t tooldescription=second></form>')`, `two {"out":{"type":"string","description":"far"}} []`},
		{`f.removeAttribute('toolname')`, `second {} []`},
		{`d.innerHTML = ''`, ``},
		{`for (let i = 0; i < 100; i++) d.append(document.createElement('p')); const g = document.createElement('form'); g.setAttribute('toolname', 't'); g.setAttribute('tooldescription', 'late'); d.append(g)`, `late {} []`},
		{`d.firstChild.replaceWith('text'); d.lastChild.setAttribute('tooldescription', 'late')`, `late {} []`},
	} {
		in, err := json.Marshal(map[string]string{"script": "{" + row.script + "}"})
		if err != nil {
			t.Fatal(err)
		}
		d := s.find("run")
		r, err := came(s.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: in, MaxBytes: 1 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		got, now := "", int64(0)
		s.until(fmt.Sprintf("revision %d", r.Revision), func(all []session.ToolsChanged) bool {
			if len(all) != 1 || all[0].Revision < r.Revision {
				return false
			}
			for _, x := range all[0].Tools {
				var schema struct{ Properties, Required json.RawMessage }
				if x.Name == "t" && json.Unmarshal(x.Input, &schema) == nil {
					got, now = fmt.Sprintf("%s %s %s", x.Description, schema.Properties, schema.Required), x.ID
				}
			}
			return true
		})
		if got != row.want {
			t.Errorf("%s\n gives %s\n  want %s", row.script, got, row.want)
		}
		if changes := (r.Revision - revision) / revisions; i > 0 && changes > 1 {
			t.Errorf("%s is %d revisions", row.script, changes)
		} else if i > 0 && (changes == 0) != (now == id) {
			t.Errorf("%s: %d revisions, and registration %d after %d", row.script, changes, now, id)
		}
		revision, id = r.Revision, now
	}
}

// TestFormsAndScripts shows who has a name that a form and a script want.
func TestFormsAndScripts(t *testing.T) {
	t.Parallel()
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<form id=f toolname=t tooldescription=form toolautosubmit></form><script>
		const kept = f; f.onsubmit = (e) => { e.preventDefault(); e.respondWith('form') };
		tool('run', async ({script}) => (await (0, eval)(script)) ?? null)</script>`)})+"/")
	s.find("run")
	for _, row := range []struct{ script, result, answer string }{
		{`tool('t', () => 'script').catch((e) => e.name + ': ' + e.message)`, `"InvalidStateError: Duplicate tool name"`, `"form"`},
		{`f.remove(); new Promise((r) => setTimeout(r)).then(() => tool('t', () => 'script')).then(() => 'registered')`, `"registered"`, `"script"`},
		{`document.body.append(kept)`, `null`, `"script"`},
		{`navigator.modelContext.unregisterTool('t')`, `null`, `"form"`},
		{`document.modelContext.getTools().then((all) => all.filter((x) => x.name === 't').map((x) => [x.description, x.annotations ?? null, x.inputSchema]))`, `[["form",null,{"type":"object","properties":{},"required":[]}]]`, `"form"`},
		{`document.modelContext.getTools().then((all) => document.modelContext.executeTool(all.find((x) => x.name === 't'), {}))`, `"form"`, `"form"`},
	} {
		in, err := json.Marshal(map[string]string{"script": row.script})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.must("run", string(in)); got != row.result {
			t.Errorf("%s gives %s, want %s", row.script, got, row.result)
		}
		d := s.find("run")
		r, err := came(s.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(`{"script":"1"}`), MaxBytes: 1 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		s.until("the newest tools", func(all []session.ToolsChanged) bool { return len(all) == 1 && all[0].Revision >= r.Revision })
		if got := s.says("t", "{}"); got != row.answer {
			t.Errorf("after %s the tool answers %s, want %s", row.script, got, row.answer)
		}
	}
}

// TestFormsOfALoadingPage shows that a form is there before the rest of its
// document, for callers and for the page's own getTools.
func TestFormsOfALoadingPage(t *testing.T) {
	t.Parallel()
	rest := make(chan struct{})
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, head+`<form id=f toolname=t tooldescription=d toolautosubmit><input name=q></form><script>
			f.onsubmit = (e) => { e.preventDefault(); e.respondWith(f.q.value + document.readyState) };
			const early = document.modelContext.getTools().then((all) => all.map((x) => x.name)); tool('early', () => early)</script>`+strings.Repeat(" ", 8192))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-rest:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, `<form toolname=u tooldescription=d></form>`)
	}})+"/")
	if got := s.must("early", "{}"); got != `["t"]` {
		t.Errorf("while it loads the page has %s", got)
	}
	if got := s.must("t", `{"q":"v"}`); got != `"vloading"` {
		t.Errorf("the form of a page that loads answers %s", got)
	}
	close(rest)
	s.find("u")
	if got := s.must("t", `{"q":"v"}`); !strings.HasPrefix(got, `"v`) {
		t.Errorf("later the form answers %s", got)
	}
}
