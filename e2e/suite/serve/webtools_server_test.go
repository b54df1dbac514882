package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

const webtoolsConfig = `
sites:
  - {name: weather, target: %[1]q, approval: {default: auto}, config-params: {units: {enum: [metric, imperial], default: metric, description: Units.}}}
  - {name: good, target: %[2]q, approval: {default: auto}}
  - {name: other, target: %[2]q, approval: {default: auto}}
  - {name: counter, target: %[3]q, approval: {default: auto}}
`

// counter is a page that counts, and that changes one of its tools, adds one and
// keeps the third when the test says so.
const counterPage = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Counter</title><script>
let n = 0;
const reads = {readOnlyHint: true};
const add = (name, description, execute, more) => document.modelContext.registerTool({name, description, annotations: reads, execute, ...more}, more);
const old = new AbortController();
add('count', 'Counts.', () => ++n);
add('nothing', 'Returns nothing.', () => undefined);
add('fail', 'Fails.', () => { throw new Error('the widget is broken at https://internal.example/path'); });
add('crash', 'Takes its page with it.', () => { location.href = '/gone'; return new Promise(() => {}); });
add('swap', 'As it was.', () => 'old', {signal: old.signal});
fetch('/next').then(() => {
  old.abort();
  add('swap', 'Not as it was.', () => 'new');
});
</script>`

// webtools is a server as clients of the webtools reference see it.
type webtools struct {
	*suite.Server
	change func() // the page changes
}

func newWebtools(t *testing.T) *webtools {
	t.Helper()
	site := suite.PageServer()
	next := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(counterPage))
	})
	mux.HandleFunc("/next", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-next:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("gone")) })
	counter := httptest.NewServer(mux)
	t.Cleanup(func() {
		counter.CloseClientConnections()
		counter.Close()
	})
	config := filepath.Join(t.TempDir(), "pagetools.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, webtoolsConfig, site.Page("weather.html"), site.Page("good.html"), counter.URL+"/"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &webtools{suite.Serve(t, "--config", config), sync.OnceFunc(func() { close(next) })}
}

// request makes one.
func (w *webtools) request(t *testing.T, method, path, body string, header ...string) suite.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suite.ReplyWithin)
	defer cancel()
	r := w.In(ctx, "", method, w.URL+path, body, header...)
	if r.Err != nil {
		t.Fatalf("%s %s: %v", method, path, r.Err)
	}
	return r
}

func (w *webtools) get(t *testing.T, path string) suite.Reply {
	t.Helper()
	return w.request(t, http.MethodGet, path, "")
}

func (w *webtools) post(t *testing.T, path, body string, header ...string) suite.Reply {
	t.Helper()
	return w.request(t, http.MethodPost, path, body, header...)
}
