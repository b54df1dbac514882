package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// head is in front of every page of the tests.
const head = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><script>
const tool = (name, execute, more) => navigator.modelContext.registerTool(
  {name, description: name, inputSchema: {type: 'object'}, execute, ...more});
</script>`

func html(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, head+body)
	}
}

// site serves pages by path, and returns its origin.
func site(t *testing.T, pages map[string]http.HandlerFunc) string {
	t.Helper()
	all := sessiontest.Pages{}
	for path, h := range pages {
		all[path] = sessiontest.Page{Handler: h}
	}
	return sessiontest.Serve(t, all, false)
}

// shown is a tab whose events are read: the newest set of tools of every document
// is kept, and the windows that were closed.
type shown struct {
	*tab
	t       *testing.T
	windows chan session.WindowClosed
	dead    chan struct{}

	mu   sync.Mutex
	sets map[string]session.ToolsChanged // by document
	news chan struct{}                   // closed and replaced with every change

	opened    int // windows that stayed open
	documents int // that were shown
	address   string
}

// showPage opens a tab on the address.
func showPage(t *testing.T, e *Engine, address string) *shown {
	t.Helper()
	return showPageWith(t, e, session.TabOptions{}, address)
}

func showPageWith(t *testing.T, e *Engine, o session.TabOptions, address string) *shown {
	t.Helper()
	s := showing(t, openWith(t, e, o))
	s.begin(t, address)
	return s
}

// showing reads what a tab reports.
func showing(t *testing.T, of *tab) *shown {
	t.Helper()
	s := &shown{tab: of, t: t, windows: make(chan session.WindowClosed, 1000), dead: make(chan struct{}), news: make(chan struct{}),
		sets: map[string]session.ToolsChanged{}}
	go s.read()
	return s
}

// begin loads the address, also after another one: then what is known is of the new document.
func (s *shown) begin(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	s.mu.Lock()
	before := s.documents
	s.mu.Unlock()
	if err := s.Load(ctx, address); err != nil {
		t.Fatal(err)
	}
	s.until("the document", func([]session.ToolsChanged) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.documents > before
	})
}

// shows is the address of the document at the top.
func (s *shown) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// read keeps the newest sets. It ends with the tab.
func (s *shown) read() {
	defer close(s.dead)
	for ev := range s.Events() {
		s.mu.Lock()
		switch ev := ev.(type) {
		case session.WindowClosed:
			s.windows <- ev
		case session.WindowOpened:
			s.opened++
		case session.Navigated:
			clear(s.sets)
			s.documents++
			s.address = ev.URL
		case session.ToolsChanged:
			s.sets[ev.Document] = ev
		case session.FrameGone:
			delete(s.sets, ev.Document)
		}
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
	}
}

// until waits for sets of tools that are as wanted.
func (s *shown) until(what string, ok func(all []session.ToolsChanged) bool) {
	s.t.Helper()
	timer := time.NewTimer(hang)
	defer timer.Stop()
	for {
		s.mu.Lock()
		all, news := slices.Collect(maps.Values(s.sets)), s.news
		s.mu.Unlock()
		if ok(all) {
			return
		}
		select {
		case <-news:
		case <-s.dead:
			s.t.Fatalf("the page died before: %s: %v", what, s.target.Reason())
		case <-timer.C:
			s.t.Fatalf("never: %s; there is %+v", what, all)
		}
	}
}

// find waits for a tool of any document.
func (s *shown) find(name string) (found bridge.Declaration) {
	s.t.Helper()
	s.until("the page has "+name, func(all []session.ToolsChanged) bool {
		for _, set := range all {
			if i := slices.IndexFunc(set.Tools, func(d bridge.Declaration) bool { return d.Name == name }); i >= 0 {
				found = set.Tools[i]
				return true
			}
		}
		return false
	})
	return found
}

func (s *shown) call(name, input string) (string, error) {
	s.t.Helper()
	return s.callWithin(hang, name, input)
}

func (s *shown) callWithin(limit time.Duration, name, input string) (string, error) {
	s.t.Helper()
	d := s.find(name)
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	r, err := came(s.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(input), MaxBytes: 1 << 20}))
	return string(r.Data), err
}

func (s *shown) must(name, input string) string {
	s.t.Helper()
	got, err := s.call(name, input)
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	return got
}

// reasonOf returns what a test compares of an error.
func reasonOf(err error) string {
	e := bridge.AsError(err)
	if e == nil {
		return "ok"
	}
	return fmt.Sprintf("%s %s %s", e.Code, e.Reason, e.Outcome)
}

// came returns a step with its error apart.
func came(s bridge.Step) (bridge.Step, error) {
	if s.Err != nil {
		return s, s.Err
	}
	return s, nil
}
