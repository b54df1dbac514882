package cdp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
)

// native is a page without the page script, in a browser with WebMCP of its own:
// what it says is what the page script is held to.
type native struct {
	t      *testing.T
	target *target
}

func nativePage(t *testing.T, e *Engine, address string) *native {
	t.Helper()
	b, err := e.instance(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	tgt, contextID, id, err := b.newTarget(t.Context(), cdptarget.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tgt.fail(errOurs)
		bounded, cancel := farewell()
		defer cancel()
		if err := b.dispose(bounded, contextID, id); err != nil {
			t.Error(err)
		}
	})
	n := &native{t: t, target: tgt}
	if _, err := cdp.Call(t.Context(), tgt, page.Navigate, page.NavigateParams{URL: address}); err != nil {
		t.Fatal(err)
	}
	n.eval(`new Promise((r) => document.readyState === 'complete' ? r('') : addEventListener('load', () => r('')))`)
	return n
}

// eval gives the string that an expression resolves to.
func (n *native) eval(expression string) string {
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
	address := site(t, map[string]http.HandlerFunc{"/": html(body.String())}) + "/"
	e := engine(t, func(o *LocalOptions) { o.Args = []string{"--enable-features=WebMCP"} })

	var want []struct {
		Name, Title, Description string
		InputSchema              any
	}
	if err := json.Unmarshal([]byte(nativePage(t, e, address).eval(`document.modelContext.getTools().then((all) => JSON.stringify(all.map(
		({name, title, description, inputSchema}) => ({name, title, description, inputSchema}))))`)), &want); err != nil {
		t.Fatal(err)
	}
	s := showPage(t, e, address)
	if len(want) != len(rows) {
		t.Fatalf("the browser has %d of %d tools", len(want), len(rows))
	}
	for _, w := range want {
		got := s.find(w.Name)
		var schema any
		if err := json.Unmarshal(got.Input, &schema); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(schema, w.InputSchema) {
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

// refusal gives what a test compares of an error: its class and its message.
func refusal(err error) string {
	if e := bridge.AsError(err); e != nil {
		return reasonOf(err) + ": " + e.Message
	}
	return "ok"
}

// says gives the result of a call, or its error.
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
		{`{"num":3}`, "", fails + `Form validation failed: num: Please enter a valid value. The two nearest valid values are 2 and 4.. `},
		{`{"date":"2026-13-01"}`, "", fails + `Invalid value "2026-13-01" for parameter date`}, {`{"one":"on"}`, "", fails + `Invalid value "on" for parameter one`},
		{`{"group":"y"}`, "", fails + `Invalid value "y" for parameter group`}, {`{"group":["z"]}`, "", fails + `Invalid value for parameter group`},
		{`{"group":["y","y"]}`, "", fails + `Invalid value for parameter group`}, {`{"radio":"z"}`, "", fails + `Invalid value "z" for parameter radio`},
		{`{"choice":"Two"}`, "", fails + `Invalid value "Two" for parameter choice`}, {`{"many":["2","z"]}`, "", fails + `Invalid value for parameter many`},
	}
	for _, row := range rows {
		want := row.is
		if !strings.HasPrefix(want, fails) {
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
