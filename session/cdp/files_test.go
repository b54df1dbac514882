package cdp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge/schema"
)

// fileSchema describes the file that a form asks for.
const fileSchema = `"type":"object","properties":{"name":{"type":"string","description":"The name of the file, without folders.","minLength":1,"maxLength":255},` +
	`"type":{"type":"string","description":"Its MIME type, such as image/png.","maxLength":127},"data":{"type":"string","contentEncoding":"base64"}},"required":["name","data"]`

// fileInput is an argument with a file.
func fileInput(name, mime string, data []byte) string {
	return string(schema.MustEncode(map[string]string{"name": name, "type": mime, "data": base64.StdEncoding.EncodeToString(data)}))
}

// TestFormFiles: the files of a call reach the page's listeners and its server as they are, up to
// the largest, whatever the page made of the interfaces that files are made with.
func TestFormFiles(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	large := make([]byte, schema.MaxFile)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	base := site(t, map[string]http.HandlerFunc{
		"/": html(`<form id=f toolname=t tooldescription=d toolautosubmit method=post action=/up enctype=multipart/form-data>
			<input type=file name=one><input type=file name=many multiple></form><script>
			const log = []; for (const type of ['input', 'change']) addEventListener(type, (e) =>
				log.push([type, e.target.name, e.bubbles, e.composed, [...e.target.files].map((x) => [x.name, x.type, x.size].join(':'))].join(' ')));
			f.addEventListener('submit', (e) => { if (window.stay) { e.preventDefault(); e.respondWith(log.splice(0)) } });
			tool('run', ({script}) => { (0, eval)(script) });</script>`),
		"/up": func(w http.ResponseWriter, r *http.Request) {
			parts := map[string][]byte{}
			all, err := r.MultipartReader()
			for err == nil {
				part, e := all.NextPart()
				if e != nil {
					break
				}
				body, _ := io.ReadAll(part)
				parts[fmt.Sprintf("%s %s %s", part.FormName(), part.FileName(), part.Header.Get("Content-Type"))] = body
			}
			got.Store(parts)
			html(`<script type="application/ld+json">{"@context":"https://schema.org","name":"thanks"}</script>`)(w, r)
		},
	})
	s := showPage(t, shared, base+"/")
	s.must("run", `{"script":"window.stay = 1"}`)
	for _, x := range []struct{ input, want string }{
		{`{"one":` + fileInput("a.txt", "text/plain", []byte("hello")) + `}`,
			`["input one true true a.txt:text/plain:5","change one true false a.txt:text/plain:5"]`},
		{`{"one":{"name":"b","data":""}}`, `["input one true true b::0","change one true false b::0"]`},
		{`{"many":[{"name":"x","data":"eA"},{"name":"ü/y","type":"a/b","data":"eHk="}]}`,
			`["input many true true x::1,ü/y:a/b:2","change many true false x::1,ü/y:a/b:2"]`},
		{`{"many":[]}`, `["input many true true ","change many true false "]`},
		{`{"one":{"name":"b","data":"%"}}`, "TOOL_ERROR  failed: Invalid value for parameter one"},
		{`{"one":{"name":"b"}}`, "TOOL_ERROR  failed: Invalid value for parameter one"},
		{`{"one":"/etc/passwd"}`, `TOOL_ERROR  failed: Invalid value "/etc/passwd" for parameter one`},
		{`{"many":{"name":"b","data":""}}`, "TOOL_ERROR  failed: Invalid value for parameter many"},
	} {
		if said := s.says("t", x.input); said != x.want {
			t.Errorf("%.200s gives %s, not %s", x.input, said, x.want)
		}
	}
	s.must("run", `{"script":"window.stay = 0; Array.prototype[Symbol.iterator] = () => { throw 1 }; window.File = window.DataTransfer = window.atob = null; DataTransferItemList.prototype.add = () => {}; Object.prototype.type = 'evil/evil'; Object.defineProperty(HTMLInputElement.prototype, 'files', {value: null})"}`)
	if _, err := s.call("t", `{"one":`+fileInput("big.bin", "a/b", large)+`,"many":[{"name":"none","data":"AA=="}]}`); err != nil {
		t.Fatal(err)
	}
	parts, _ := got.Load().(map[string][]byte)
	if !bytes.Equal(parts["one big.bin a/b"], large) || !bytes.Equal(parts["many none application/octet-stream"], []byte{0}) {
		for name, body := range parts {
			t.Errorf("the server got %s with %d bytes", name, len(body))
		}
	}
}

// TestChoosersAreCancelled: a page that opens a file chooser by itself hears at once that nobody
// chose anything. Without that it waits.
func TestChoosersAreCancelled(t *testing.T) {
	t.Parallel()
	s := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<script>
		const choose = () => new Promise((r) => { const i = document.createElement('input'); i.type = 'file';
			i.oncancel = () => r('cancelled'); i.onchange = () => r('chosen ' + i.files.length); i.click(); });
		tool('ready', () => 1);</script>`)})+"/")
	s.find("ready")
	yes := true
	choose := func(expression string) string {
		said, err := cdp.Call(t.Context(), s.shown.top.Load().target, runtime.Evaluate, runtime.EvaluateParams{
			Expression: expression, AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &yes,
		})
		if err != nil {
			return err.Error()
		}
		var text string
		_ = json.Unmarshal(said.Result.Value, &text)
		return text
	}
	if said := choose("choose()"); said != "cancelled" {
		t.Errorf("the page hears %q", said)
	}
	if _, err := cdp.Call(t.Context(), s.shown.top.Load().target, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	if said := choose("Promise.race([choose(), new Promise((r) => setTimeout(r, 300, 'waits'))])"); !strings.HasPrefix(said, "waits") {
		t.Errorf("without the answer the page hears %q: the test proves nothing", said)
	}
}
