package opentools_test

import (
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// memory is a Cache.
type memory struct {
	mu    sync.Mutex
	saved map[string][]byte
}

func (m *memory) Load(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saved[name]
}

func (m *memory) Save(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved[name] = slices.Clone(data)
	return nil
}

// TestKept: what was read is there at the next start, when the site says that it did not change or cannot
// be asked for a day (B8), with all that calls need; what changed, was damaged, is private or was read with
// other options is read again.
func TestKept(t *testing.T) {
	t.Parallel()
	s := serve(t, `"/pets/{id}":{"post":{"operationId":"save","x-llm":{"approval":"auto"},"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},
		{"name":"tags","in":"query","explode":false,"schema":{"type":"array"}}],
		"requestBody":{"required":true,"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}}}},
		"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object"}}}}}}}`)
	s.header.Set("ETag", `"1"`)
	s.on("/pets/7", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		answers(200, "text/plain", r.URL.RequestURI()+" "+r.PostForm.Encode())(w, r)
	})
	cache := &memory{saved: map[string][]byte{}}
	start := func(change func(*opentools.SiteOptions)) (*bridge.Catalog, string) {
		t.Helper()
		site := opentools.SiteOptions{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL}, URL: s.URL + "/openapi.json", Transport: direct}
		if change != nil {
			change(&site)
		}
		r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{site}, Cache: cache,
			Now: func() time.Time { return time.Now().Add(time.Duration(s.clock.Load())) }})
		defer r.Close()
		b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"api": {}}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		c, err := r.Await(t.Context(), ref())
		if err != nil {
			return nil, told(bridge.AsError(err).Step())
		}
		asked := bridge.Call{Site: "api", Tool: "save", Caller: bridge.Local(), Asker: asking(func(bridge.Question) bridge.Answer { return bridge.Answer{OK: true} })}
		asked.Input, err = bridge.ReadValue("arguments", []byte(`{"id":"7","tags":["a","b"],"note":"hi"}`))
		if err != nil {
			t.Fatal(err)
		}
		return c, told(b.Complete(t.Context(), &asked))
	}
	const called = `"/pets/7?tags=a,b note=hi"`
	first, got := start(nil)
	if got != called || len(cache.saved) != 1 {
		t.Fatalf("%s, and %d kept", got, len(cache.saved))
	}
	s.change(func() { s.status = http.StatusNotModified })
	second, got := start(nil)
	if got != called || second.Digest() != first.Digest() || !slices.Equal(second.Findings(), first.Findings()) {
		t.Errorf("where it did not change: %s", got)
	}
	tool, before := second.Tool("save"), first.Tool("save")
	if string(tool.InputSchema()) != string(before.InputSchema()) || string(tool.OutputSchema()) != string(before.OutputSchema()) ||
		tool.Description() != before.Description() || *tool.Operation() != *before.Operation() {
		t.Errorf("the tool is another: %s", tool.InputSchema())
	}
	s.change(func() { s.status = http.StatusBadGateway })
	if _, got := start(nil); got != called {
		t.Errorf("where it cannot be asked for: %s", got)
	}
	if c, got := start(func(o *opentools.SiteOptions) { o.Expose = opentools.All }); c != nil {
		t.Errorf("what was kept for other options is used: %s", got)
	}
	s.clock.Add(int64(48 * time.Hour))
	if c, got := start(nil); c != nil {
		t.Errorf("after two days: %s", got)
	}
	s.clock.Store(0)
	for name := range cache.saved {
		cache.saved[name][len(cache.saved[name])/2] ^= 1
	}
	if c, got := start(nil); c != nil {
		t.Errorf("what was damaged is used: %s", got)
	}
	s.change(func() {
		s.status, s.document = 0, documentOf(operation("/pets", "get", "list", free))
		s.header.Set("Cache-Control", "no-store")
	})
	clear(cache.saved)
	if c, _ := start(nil); c == nil || c.Tool("list") == nil || len(cache.saved) != 0 {
		t.Errorf("a private document: %d kept", len(cache.saved))
	}
}

// TestDocumentIsGone: a document is not held once its tools are made, whatever they have of it.
func TestDocumentIsGone(t *testing.T) { // not beside others: it looks at the heap
	const size = 16 << 20
	s := serve(t, "")
	s.document = documentOf(`"/{id}":{"servers":[{"url":"/v2"}],"put":{"operationId":"put","x-llm":{"chaining":{"nextSteps":[{"operationId":"x","hint":"y"}]}},
		"security":[{"key":[]},{}],"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"},"explode":true}],
		"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"a":{"type":"string"}},"minProperties":1}}}},
		"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object"}}}}}}}`)
	s.document = strings.TrimSuffix(s.document, "}") + `,"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"k"}}},"x-much":"` +
		strings.Repeat("x", size) + `"}`
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := held()
	r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL},
		URL: s.URL + "/openapi.json", Transport: direct}}})
	defer r.Close()
	about, c, err := r.About(t.Context(), "api")
	if err != nil || c.Tool("put") == nil || len(about.Logins) != 1 {
		t.Fatalf("%+v, %v", about, err)
	}
	if more := held() - before; more > size/2 {
		t.Errorf("%d bytes are held of it", more)
	}
	found, err := (&opentools.Discoverer{Client: http.DefaultClient}).Discover(t.Context(), s.URL+"/openapi.json")
	if more := held() - before; err != nil || more < size {
		t.Errorf("a document that is held takes %d bytes (%v)", more, err)
	}
	runtime.KeepAlive(found)
}

// TestKeptSchemes: a large security scheme that all tools name is kept once, and is there at the next start.
func TestKeptSchemes(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf(`"/%d":{"get":{"operationId":"get%[1]d","x-llm":{},"security":[{"key":[]},{}]}}`, i))
	}
	s := serve(t, "")
	s.document = strings.TrimSuffix(documentOf(strings.Join(all, ",")), "}") +
		`,"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"k","description":"` + strings.Repeat("x", 500_000) + `"}}}}`
	cache := &memory{saved: map[string][]byte{}}
	logins := func() []opentools.Login {
		r := opentools.NewRouter(opentools.RouterOptions{Cache: cache, Sites: []opentools.SiteOptions{{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL},
			URL: s.URL + "/openapi.json", Transport: direct}}})
		about, c, err := r.About(t.Context(), "api")
		r.Close()
		if err != nil || len(c.Tools()) != 200 || len(about.Logins) != 1 {
			t.Fatalf("%+v, %v", about, err)
		}
		return about.Logins
	}
	first := logins()
	s.change(func() { s.status = http.StatusBadGateway })
	if second := logins(); len(cache.saved) != 1 || !reflect.DeepEqual(first, second) {
		t.Errorf("%d kept, and %.200v is not %.200v", len(cache.saved), second, first)
	}
}
