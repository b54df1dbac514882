package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
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
	*server
	change func() // the page changes
}

func newWebtools(t *testing.T) *webtools {
	t.Helper()
	site := pageServer()
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
	if err := os.WriteFile(config, fmt.Appendf(nil, webtoolsConfig, site.page("weather.html"), site.page("good.html"), counter.URL+"/"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &webtools{serve(t, "--config", config, "--warm", "1"), sync.OnceFunc(func() { close(next) })}
}

// request makes one.
func (w *webtools) request(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), replyWithin)
	defer cancel()
	r := w.in(ctx, "", method, w.url+path, body, header...)
	if r.err != nil {
		t.Fatalf("%s %s: %v", method, path, r.err)
	}
	return r
}

func (w *webtools) get(t *testing.T, path string) reply {
	t.Helper()
	return w.request(t, http.MethodGet, path, "")
}

func (w *webtools) post(t *testing.T, path, body string, header ...string) reply {
	t.Helper()
	return w.request(t, http.MethodPost, path, body, header...)
}

// value reads the JSON of a reply.
func (r reply) value(t *testing.T) map[string]any {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q: %s", got, shorten(r.body))
	}
	var v map[string]any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("%v: %s", err, shorten(r.body))
	}
	return v
}

// ok checks the envelope of success, and returns what is in it.
func (r reply) ok(t *testing.T) any {
	t.Helper()
	v := r.value(t)
	data, there := v["data"]
	if r.status != http.StatusOK || v["status"] != "ok" || !there || len(v) != 2 {
		t.Fatalf("%d %s is not a result", r.status, shorten(r.body))
	}
	return data
}

// refused checks the envelope of errors.
func (r reply) refused(t *testing.T, status int, code string) map[string]any {
	t.Helper()
	v := r.value(t)
	e, _ := v["error"].(map[string]any)
	message, _ := e["message"].(string)
	if r.status != status || v["status"] != "error" || len(v) != 2 || e["code"] != code || message == "" {
		t.Errorf("%d %s, want %d %s", r.status, shorten(r.body), status, code)
	}
	if !regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`).MatchString(fmt.Sprint(e["code"])) {
		t.Errorf("the code is %v", e["code"])
	}
	return e
}

// older checks an error of the older dialect.
func (r reply) older(t *testing.T, status int, part string) {
	t.Helper()
	v := r.value(t)
	if text, ok := v["error"].(string); r.status != status || !ok || len(v) != 1 || !strings.Contains(text, part) {
		t.Errorf("%d %s, want %d with %q", r.status, shorten(r.body), status, part)
	}
}
