package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// Page is one address of a site, described twice: for browsers and for the fake.
type Page struct {
	// HTML is the page for browsers. The function tool(name, execute, more) is there.
	HTML string
	// Handler answers browsers instead of HTML.
	Handler http.HandlerFunc
	// Fake is the same for the fake engine.
	Fake Script
	// FakeArrive runs before the fake document is shown.
	FakeArrive func(ctx context.Context) error
}

// Pages are the addresses of a site by path.
type Pages map[string]Page

// Harness says how TestEngine reaches an engine. The functions that break
// something may be nil for an engine that cannot be broken so.
type Harness struct {
	// Engine is shared by tests that leave it whole.
	Engine session.Engine
	// Fresh makes an engine for a test that breaks it, and closes it at its end. Impatient makes
	// one that soon takes a page for hung.
	Fresh, Impatient func(t *testing.T) session.Engine
	// Serve makes the pages reachable for the engine, and returns their origin.
	// With tls the certificate is one that nobody signed.
	Serve func(t *testing.T, e session.Engine, pages Pages, tls bool) string
	// KillBrowser and KillRenderers end the processes of the engine by a signal;
	// Freeze stops its renderers, and returns when that can be noticed.
	KillBrowser, KillRenderers, Freeze func(t *testing.T, e session.Engine)
	// Lasting makes a browser that outlives the engines over it; nil is for engines that cannot attach to tabs
	// again.
	Lasting func(t *testing.T) Lasting
	// Groups are the parts of the contract to run; none is all.
	Groups []string
}

// prelude is in front of the HTML of every page.
const prelude = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><script>
const tool = (name, execute, more) => navigator.modelContext.registerTool(
  {name, description: name, inputSchema: {type: 'object'}, execute, ...more});
const forever = new Promise(() => {});
</script>
`

// Serve makes a web server of the pages, for engines over real browsers.
func Serve(t *testing.T, pages Pages, tls bool) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
		case p.Handler != nil:
			p.Handler(w, r)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, prelude, p.HTML)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // browsers break connections off
	if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// TestEngine runs the contract of session.Engine and session.Tab.
func TestEngine(t *testing.T, h Harness) {
	groups := []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"Life", testLife}, {"Tools", testTools}, {"Calls", testCalls}, {"Forms",
			testForms}, {"Deadlines", testDeadlines}, {"Navigation", testNavigation},
		{"Frames", testFrames}, {"Declared", testDeclared}, {"Dialogs",
			testDialogs}, {"Questions", testQuestions}, {"DialogsAmongCalls", testDialogsAmongCalls},
		{"DialogsOfOneCall", testDialogsOfOneCall}, {"BothAsk", testBothAsk}, {"Load", testLoad}, {"Faults", testFaults},
		{"Settings", testSettings}, {"Reattach", testReattach},
	}
	for _, g := range groups {
		if len(h.Groups) > 0 && !slices.Contains(h.Groups, g.name) {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.run(t, h)
		})
	}
}

// patience limits how long anything may take that has no bound of its own.
const patience = 30 * time.Second

// watched is a tab with all that it reported.
type watched struct {
	session.Tab
	t      *testing.T
	mu     sync.Mutex
	events []session.Event
	news   bridge.Changes // signals with every event
	ended  chan struct{}  // closed when the events are
}

// openTab opens a tab, and closes it when the test ends.
func openTab(t *testing.T, e session.Engine) *watched {
	t.Helper()
	return openTabWith(t, e, session.TabOptions{})
}

func openTabWith(t *testing.T, e session.Engine, o session.TabOptions) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	tab, err := e.Open(ctx, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return watch(t, tab)
}

// watch reads what a tab reports, and closes it when the test ends.
func watch(t *testing.T, tab session.Tab) *watched {
	t.Helper()
	w := &watched{Tab: tab, t: t, ended: make(chan struct{})}
	go w.watch()
	t.Cleanup(func() {
		bounded, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := tab.Close(bounded); err != nil {
			t.Errorf("Close: %v", err)
		}
		select {
		case <-w.ended:
		case <-bounded.Done():
			t.Error("the events of a closed tab did not end")
		}
	})
	return w
}

// show opens a tab on an address and waits for its load event.
func show(t *testing.T, e session.Engine, address string) *watched {
	t.Helper()
	w := openTab(t, e)
	w.load(address)
	w.loaded()
	return w
}

// one serves a page of its own and shows it.
func one(t *testing.T, h Harness, p Page) *watched {
	t.Helper()
	return show(t, h.Engine, h.Serve(t, h.Engine, Pages{"/": p}, false)+"/")
}

func (w *watched) watch() {
	defer close(w.ended)
	for ev := range w.Events() {
		w.mu.Lock()
		w.events = append(w.events, ev)
		w.news.Signal()
		w.mu.Unlock()
	}
}

// told returns the events so far.
func (w *watched) told() ([]session.Event, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events), w.news.Next()
}

// await waits until the events are as wanted.
func (w *watched) await(what string, ok func([]session.Event) bool) []session.Event {
	w.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		all, news := w.told()
		if ok(all) {
			return all
		}
		select {
		case <-news:
		case <-timer.C:
			w.t.Fatalf("%s: not within %s; told were %s", what, patience, names(all))
		}
	}
}

func names(all []session.Event) string {
	s := ""
	for _, ev := range all {
		s += fmt.Sprintf(" %T", ev)
		if c, ok := ev.(session.ToolsChanged); ok {
			s += fmt.Sprintf("(%d: %d)", c.Revision, len(c.Tools))
		}
	}
	return s
}

// load navigates, and waits until that is reported.
func (w *watched) load(address string) {
	w.t.Helper()
	before, _ := w.told()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.Load(ctx, address); err != nil {
		w.t.Fatalf("Load(%s): %v", address, err)
	}
	w.await("the document", func(all []session.Event) bool {
		return count[session.Navigated](all) > count[session.Navigated](before)
	})
}

// loaded waits for the load event of the newest document.
func (w *watched) loaded() {
	w.t.Helper()
	w.await("the load event", func(all []session.Event) bool {
		doc, done := "", false
		for _, ev := range all {
			switch ev := ev.(type) {
			case session.Navigated:
				doc, done = ev.Document, false
			case session.Loaded:
				done = ev.Document == doc
			}
		}
		return done
	})
}

// tools returns the newest set of the newest document, with what frames add.
func tools(all []session.Event) (set session.ToolsChanged) {
	frames := map[string]session.ToolsChanged{}
	for _, ev := range all {
		switch ev := ev.(type) {
		case session.Navigated:
			set = session.ToolsChanged{Document: ev.Document, Revision: -1}
			clear(frames)
		case session.ToolsChanged:
			if ev.Frame == (session.Frame{}) {
				set = ev
			} else {
				frames[ev.Document] = ev
			}
		case session.FrameGone:
			delete(frames, ev.Document)
		}
	}
	set.Tools = slices.Clone(set.Tools)
	for _, f := range frames {
		set.Tools = append(set.Tools, f.Tools...)
	}
	return set
}

func named(set session.ToolsChanged, name string) *bridge.Declaration {
	i := slices.IndexFunc(set.Tools, func(d bridge.Declaration) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &set.Tools[i]
}

// tool waits for a tool.
func (w *watched) tool(name string) bridge.Declaration {
	w.t.Helper()
	all := w.await("the tool "+name, func(all []session.Event) bool { return named(tools(all), name) != nil })
	return *named(tools(all), name)
}

// invocation waits for a tool, and runs it without arguments.
func (w *watched) invocation(name string) session.Invocation {
	d := w.tool(name)
	return session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage("{}"),
		MaxBytes: 1 << 20}
}

// begin runs a tool in the background.
func (w *watched) begin(ctx context.Context, name, input string) func() (bridge.Step, error) {
	inv := w.invocation(name)
	inv.Input = json.RawMessage(input)
	type outcome struct {
		reply bridge.Step
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := came(w.Invoke(ctx, inv))
		done <- outcome{r, err}
	}()
	return func() (bridge.Step, error) {
		w.t.Helper()
		timer := time.NewTimer(2 * patience)
		defer timer.Stop()
		select {
		case o := <-done:
			return o.reply, o.err
		case <-timer.C:
			w.t.Fatalf("the call of %s did not end", name)
			return bridge.Step{}, nil
		}
	}
}

// came returns a step with its error apart.
func came(s bridge.Step) (bridge.Step, error) {
	if s.Err != nil {
		return s, s.Err
	}
	return s, nil
}

// invoke runs a tool with a deadline that does not matter.
func (w *watched) invoke(name, input string) (bridge.Step, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	return w.begin(ctx, name, input)()
}

// result runs a tool that has to succeed.
func (w *watched) result(name, input string) string {
	w.t.Helper()
	r, err := w.invoke(name, input)
	if err != nil {
		w.t.Fatalf("%s(%s): %v", name, input, err)
	}
	return string(r.Data)
}

// awaitResult repeats a tool until it returns the result.
func (w *watched) awaitResult(within time.Duration, name, want string) {
	w.t.Helper()
	deadline := time.Now().Add(within)
	for {
		got := w.result(name, "{}")
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s gives %s, not %s, after %s", name, got, want, within)
		}
		_ = Wait(w.t.Context(), 5*time.Millisecond)
	}
}

// fails checks an error of an engine.
func fails(t *testing.T, err error, code bridge.Code, reason bridge.Reason,
	outcome bridge.Outcome) {
	t.Helper()
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok {
		t.Fatalf("the error is %v, not %s %s", err, code, reason)
	}
	if e.Code != code || e.Reason != reason || e.Outcome != outcome {
		t.Fatalf("the error is %s/%s/%s, want %s/%s/%s: %v", e.Code, e.Reason, e.Outcome, code,
			reason, outcome, err)
	}
	if e.Message == "" {
		t.Error("the error says nothing")
	}
}

// within logs how long something took that the contract gives a limit for. On a machine that does
// other things, too, it fails only for what hangs.
func within(t *testing.T, since time.Time, limit time.Duration, what string) {
	t.Helper()
	took := time.Since(since)
	t.Logf("%s took %s; the contract says %s", what, took, limit)
	if took > patience {
		t.Errorf("%s hangs", what)
	}
}
