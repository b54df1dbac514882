package effects

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/e2e/app"
)

// TestElsewhere (K5): pages that a page links to and that declare tools are told; others are not.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	const registers = `document.modelContext.registerTool({name: "x"})`
	files := map[string]string{
		"/index.html":      `<script src="/common.js"></script><script>` + registers + `</script>`,
		"/common.js":       registers,
		"/cart.js":         `const c = navigator.modelContext`,
		"/plain.js":        `console.log(1)`,
		"/inline.html":     `<!doctype html><script>` + registers + `</script>`,
		"/module.html":     `<script type="module">import "./x.js"; window.modelContext ?? document["modelContext"]</script>`,
		"/script.html":     `<script async src=cart.js></script>`,
		"/form.html":       `<p><FORM action=/x TOOLNAME=search><input></FORM>`,
		"/sub/index.html":  `<script src="../cart.js"></script>`,
		"/common.html":     `<script src="/common.js"></script>`,
		"/plain.html":      `<script src="plain.js"></script>`,
		"/prose.html":      `<p>Use document.modelContext. &lt;form toolname=x&gt;</p><pre toolname="x">modelContext</pre>`,
		"/comment.html":    `<!-- <form toolname="x"> <script>modelContext</script> -->`,
		"/far.html":        `<script src="https://elsewhere.example/modelContext.js"></script>`,
		"/late.html":       `<title>` + strings.Repeat("x", maxSource) + `</title><script>modelContext</script>`,
		"/a b/%C3%BC.html": `<form toolname="x"></form>`,
	}
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		page := r.URL.EscapedPath()
		if strings.HasSuffix(page, "/") {
			page += "index.html"
		}
		text, there := files[page]
		switch {
		case page == "/away":
			http.Redirect(w, r, "http://localhost"+strings.TrimPrefix(r.Host, "127.0.0.1")+"/form.html", http.StatusFound)
		case page == "/moved":
			http.Redirect(w, r, "/form.html", http.StatusFound)
		case len(r.Cookies()) > 0 || r.Header.Get("Authorization") != "" || !there:
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(text)) // the reader went away
		}
	}))
	t.Cleanup(srv.Close)
	folder := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(name, text)
	}
	many := ""
	for range 300 {
		many += `<a href="/plain.html?x"></a><a href="/form.html">`
	}
	for _, test := range []struct {
		name, links string
		want        []string
		http        bool // only over HTTP
	}{
		{name: "an inline script", links: `<a href="inline.html">`, want: []string{"/inline.html"}},
		{name: "a module", links: `<a href="/module.html#top">`, want: []string{"/module.html"}},
		{name: "a script of its own", links: `<a href=script.html>`, want: []string{"/script.html"}},
		{name: "a form", links: `<a class=x href=" form.html ">`, want: []string{"/form.html"}},
		{name: "a folder", links: `<a href="sub/">`, want: []string{"/sub/"}},
		{name: "the index of a folder", links: `<a href="sub/index.html"><a href="sub/">`, want: []string{"/sub/"}},
		{name: "a redirect within the origin", links: `<a href="/moved">`, want: []string{"/moved"}, http: true},
		{name: "two, one of them twice", links: `<a href="/form.html"><a href="/form.html#x"><a href="inline.html">`,
			want: []string{"/form.html", "/inline.html"}},
		{name: "very many links", links: many, want: []string{"/form.html"}},
		{name: "only scripts that the page has, too", links: `<a href="common.html">`},
		{name: "no tool", links: `<a href="plain.html">`},
		{name: "words about tools", links: `<a href="prose.html"><a href="comment.html">`},
		{name: "a script of another origin", links: `<a href="far.html">`},
		{name: "another origin", links: `<a href="http://localhost:1/form.html"><a href="//elsewhere.example/form.html">`},
		{name: "a redirect to another origin", links: `<a href="/away">`, http: true},
		{name: "what is not there", links: `<a href="/none.html"><a href="mailto:x@y.example"><a href="http://[">`},
		{name: "an address with a query", links: `<a href="/form.html?delete=1">`},
		{name: "the page itself", links: `<a href="/start.html"><a href="#x"><a href="">`},
		{name: "no links"},
	} {
		t.Run(test.name, func(t *testing.T) {
			start := `<script src="/common.js"></script>` + test.links
			own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/start.html" {
					_, _ = w.Write([]byte(start)) // the reader went away
					return
				}
				srv.Config.Handler.ServeHTTP(w, r)
			}))
			defer own.Close()
			before := asked.Load()
			site := []*app.Target{{Text: own.URL, URL: own.URL + "/start.html", Origin: own.URL}}
			if got := Elsewhere(t.Context(), site); !slices.Equal(got, test.want) {
				t.Errorf("over HTTP: %q", got)
			}
			if n := asked.Load() - before; n > maxElsewhere*(1+maxScripts) {
				t.Errorf("%d requests", n)
			}
			if test.http {
				return
			}
			write("start.html", start)
			site = []*app.Target{{Text: folder, Folder: folder, URL: "http://127.0.0.1:1/start.html", Origin: "http://127.0.0.1:1"}}
			if got := Elsewhere(t.Context(), site); !slices.Equal(got, test.want) {
				t.Errorf("of a folder: %q", got)
			}
			site = append(site, &app.Target{URL: "http://127.0.0.1:1/form.html"})
			if got := Elsewhere(t.Context(), site); slices.Contains(got, "/form.html") {
				t.Errorf("a page that is given is told: %q", got)
			}
		})
	}
}
