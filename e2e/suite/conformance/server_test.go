package conformance_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const cases = "../testdata/conformance"

// server serves the cases, the documents of their frames, and takes outcomes.
type server struct {
	*httptest.Server
	other *httptest.Server // another port: another origin of the same site

	mu      sync.Mutex
	results map[string]chan json.RawMessage // by run
	runs    int
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{results: map[string]chan json.RawMessage{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /result", s.result)
	mux.HandleFunc("GET /case", s.document)
	mux.HandleFunc("GET /page", s.document)
	mux.HandleFunc("/next", func(w http.ResponseWriter, _ *http.Request) {
		write(w, `<!doctype html><title>next</title><script type="application/ld+json">{"@type":"Thing","name":"next"}</script>next`)
	})
	mux.HandleFunc("/204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("GET /script/", http.StripPrefix("/script/", http.FileServer(http.Dir(cases))))
	s.Server, s.other = httptest.NewServer(mux), httptest.NewServer(mux)
	t.Cleanup(func() {
		for _, x := range []*httptest.Server{s.Server, s.other} {
			x.CloseClientConnections()
			x.Close()
		}
	})
	return s
}

func write(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, text) // a browser that left needs no answer
}

// document is the page of a case, or of a frame that a case makes.
func (s *server) document(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for _, header := range q["h"] {
		name, value, _ := strings.Cut(header, ":")
		w.Header().Add(name, strings.TrimSpace(value))
	}
	file, start := q.Get("file"), "frameScript()"
	switch {
	case file != "" && q.Has("name"):
		name, _ := json.Marshal(q.Get("name"))
		start = "run(" + string(name) + ")"
	case file != "":
		start = "list()"
	}
	text := "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>conformance</title><body>" + q.Get("html") + "<script src=/script/page/harness.js></script>"
	if file != "" {
		text += "<script src=\"/script/" + html.EscapeString(file) + ".js\"></script>"
	}
	write(w, text+"<script>"+strings.ReplaceAll(start, "<", "\\u003c")+"</script>")
}

func (s *server) result(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	s.mu.Lock()
	to := s.results[r.URL.Query().Get("id")]
	s.mu.Unlock()
	if err != nil || to == nil {
		http.Error(w, "nobody waits for this", http.StatusGone)
		return
	}
	select {
	case to <- body:
	default: // it reported already
	}
}

// expect makes the address of a page whose report comes on the channel.
func (s *server) expect(file string, c *testCase) (address string, report <-chan json.RawMessage, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	id := fmt.Sprint(s.runs)
	ch := make(chan json.RawMessage, 1)
	s.results[id] = ch
	base, _ := url.Parse(s.URL)
	other, _ := url.Parse(s.other.URL)
	q := url.Values{"file": {file}, "id": {id}, "port": {other.Port()}}
	if c != nil {
		q.Set("name", c.Name)
		q["h"] = c.Page.Headers
		q.Set("html", c.Page.HTML)
		if c.Page.Host != "" {
			base.Host = net.JoinHostPort(c.Page.Host, base.Port())
		}
	}
	base.Path, base.RawQuery = "/case", q.Encode()
	return base.String(), ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.results, id)
	}
}

// testCase is a row of a table, as its page tells it.
type testCase struct {
	Name     string          `json:"name"`
	Expected json.RawMessage `json:"expected"`
	Page     struct {
		Host    string   `json:"host"`
		Headers []string `json:"headers"`
		HTML    string   `json:"html"`
	} `json:"page"`
}

// files returns the names of the files of cases.
func files(t *testing.T) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cases, "*.js"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range found {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".js"))
	}
	return names
}

// difference is a case in which the two browsers are not alike.
type difference struct {
	Case         string          `json:"case"` // file/name
	Native, Shim json.RawMessage // the outcomes
	Right        string          `json:"right"`    // native or shim
	Decision     string          `json:"decision"` // a file of docs/decisions
}

func differences(t *testing.T) map[string]difference {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(cases, "differences.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []difference
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("reading the differences: %v", err)
	}
	all := map[string]difference{}
	for _, d := range list {
		if _, twice := all[d.Case]; twice {
			t.Errorf("%s is listed twice", d.Case)
		}
		if _, err := os.Stat(filepath.Join("../../../docs/decisions", d.Decision)); err != nil || d.Decision == "" {
			t.Errorf("%s: there is no decision %q", d.Case, d.Decision)
		}
		if d.Right != "native" && d.Right != "shim" {
			t.Errorf("%s: %q is right, which is neither native nor shim", d.Case, d.Right)
		}
		all[d.Case] = d
	}
	return all
}
