package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"

	"github.com/pagetools/pagetools/e2e/suite"
)

// clientSite serves the pages of testdata/sites. Its tool hold waits until a client
// asks for /release, and a client learns from /held and /left when it began to wait
// and when it gave up. Each of them names an id.
type clientSite struct {
	*httptest.Server
	mu    sync.Mutex
	gates map[string]*gate
}

// gate records what happened with one id.
type gate struct {
	held, release, left chan struct{} // closed when it happened
	once                [3]sync.Once
	runs                int // guarded by clientSite.mu
}

func newClientSite() *clientSite {
	s := &clientSite{gates: map[string]*gate{}}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("../testdata/sites")))
	mux.HandleFunc("/hold", s.hold)
	mux.HandleFunc("/release", func(w http.ResponseWriter, r *http.Request) {
		g := s.gate(r)
		g.once[1].Do(func() { close(g.release) })
		_, _ = fmt.Fprint(w, "released")
	})
	mux.HandleFunc("/held", func(w http.ResponseWriter, r *http.Request) { await(w, r, s.gate(r).held, "held") })
	mux.HandleFunc("/left", func(w http.ResponseWriter, r *http.Request) { await(w, r, s.gate(r).left, "left") })
	mux.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, s.runs(r, 1)) })
	mux.HandleFunc("/counted", func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, s.runs(r, 0)) })
	s.Server = httptest.NewServer(mux)
	return s
}

func (s *clientSite) gate(r *http.Request) *gate {
	id := r.FormValue("id")
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[id]
	if g == nil {
		g = &gate{held: make(chan struct{}), release: make(chan struct{}), left: make(chan struct{})}
		s.gates[id] = g
	}
	return g
}

// runs adds to how often a tool ran, and returns it.
func (s *clientSite) runs(r *http.Request, more int) int {
	g := s.gate(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	g.runs += more
	return g.runs
}

// hold answers when a client lets it.
func (s *clientSite) hold(w http.ResponseWriter, r *http.Request) {
	g := s.gate(r)
	g.once[0].Do(func() { close(g.held) })
	select {
	case <-g.release:
		_, _ = fmt.Fprint(w, "released")
	case <-r.Context().Done():
		g.once[2].Do(func() { close(g.left) })
	}
}

// await answers when it has happened.
func await(w http.ResponseWriter, r *http.Request, happened <-chan struct{}, word string) {
	select {
	case <-happened:
		_, _ = fmt.Fprint(w, word) // a client that is gone needs no answer
	case <-r.Context().Done():
	}
}

// tell makes a request to the site about an id, and returns what it says.
func (s *clientSite) tell(ctx context.Context, path, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, suite.ReplyWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path+"?id="+url.QueryEscape(id), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
