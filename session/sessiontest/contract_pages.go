package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// leave is a tool that navigates and never answers.
func leave(name string, run func(d *Document, c *Call)) Tool {
	return Tool{Name: name, Run: func(c *Call) (json.RawMessage, error) {
		run(c.Document, c)
		<-c.Over()
		return nil, nil
	}}
}

// leaving has tools that navigate.
var leaving = Pages{
	"/": {
		HTML: `<script>
			tool('same', () => { location.href = '/2'; return forever }); tool('cross', (input) => { location.href = input.to; return forever });
			tool('reload', () => { location.reload(); return forever });
			tool('route', () => { history.pushState({}, '', '/room'); setTimeout(() => tool('room', () => 1), 150); return 'there' });
			tool('lost', () => { history.replaceState({}, '', '/lost'); throw new Error('lost') });
			tool('stays', () => 'here');
			tool('push', async () => { history.pushState({}, '', '/pushed'); location.hash = 'x'; await new Promise((r) => setTimeout(r, 50)); return 'still here' });
		</script>`,
		Fake: func(d *Document) {
			d.Register(leave("same", func(d *Document, _ *Call) { d.Navigate(d.join("/2")) }),
				leave("cross", func(d *Document, c *Call) {
					var input struct{ To string }
					_ = json.Unmarshal(c.Input, &input)
					d.Navigate(input.To)
				}),
				leave("reload", func(d *Document, _ *Call) { d.Reload() }),
				Tool{Name: "route", Run: func(c *Call) (json.RawMessage, error) {
					c.Document.Move()
					time.AfterFunc(150*time.Millisecond, func() { c.Document.Register(Tool{Name: "room"}); c.Document.Calm() })
					return json.RawMessage(`"there"`), nil
				}},
				Tool{Name: "lost", Run: func(c *Call) (json.RawMessage, error) {
					c.Document.Move()
					c.Document.Calm()
					return nil, errors.New("lost")
				}},
				Tool{Name: "stays", Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(`"here"`), nil }},
				Tool{Name: "push", Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(`"still here"`), nil }})
		},
	},
	"/2": echoPage,
}

func testNavigation(t *testing.T, h Harness) {
	for _, kind := range []string{"same", "cross", "reload"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			base, other := h.Serve(t, h.Engine, leaving, false), ""
			target := base + "/2"
			switch kind {
			case "cross":
				other = h.Serve(t, h.Engine, leaving, false)
				target = other + "/2"
			case "reload":
				target = base + "/"
			}
			w := show(t, h.Engine, base+"/")
			before := w.tool(kind)
			began := time.Now()
			_, err := w.invoke(kind, fmt.Sprintf(`{"to":%q}`, target))
			within(t, began, 2*time.Second, "noticing a navigation")
			fails(t, err, bridge.InternalError, bridge.PageNavigated, bridge.Unknown)
			w.loaded()
			all := w.await("the next document", func(all []session.Event) bool { return count[session.Navigated](all) == 2 && len(tools(all).Tools) > 0 })
			for _, ev := range all[1:] {
				if nav, ok := ev.(session.Navigated); ok && (nav.URL != target || nav.Document == before.Document || !strings.HasPrefix(target, nav.Origin+"/")) {
					t.Errorf("the next document is %+v", nav)
				}
			}
			if _, err := came(w.Invoke(t.Context(), session.Invocation{Document: before.Document, Tool: before.ID})); !errors.Is(err, session.ErrGone) {
				t.Errorf("a call of a tool of the document before: %v", err)
			}
		})
	}
	t.Run("same document", func(t *testing.T) { t.Parallel(); testSameDocument(t, h) })
	t.Run("routes", func(t *testing.T) { t.Parallel(); testRoutes(t, h) })
	t.Run("by us", func(t *testing.T) { t.Parallel(); testOurNavigation(t, h) })
	t.Run("at once", func(t *testing.T) { t.Parallel(); testNavigatesAtOnce(t, h) })
}

func testSameDocument(t *testing.T, h Harness) {
	t.Helper()
	w := show(t, h.Engine, h.Serve(t, h.Engine, leaving, false)+"/")
	before := w.tool("push")
	if got := w.result("push", "{}"); got != `"still here"` {
		t.Errorf("got %s", got)
	}
	all, _ := w.told()
	if n := count[session.Navigated](all); n != 1 {
		t.Errorf("%d documents", n)
	}
	if after := w.tool("push"); after.ID != before.ID || after.Document != before.Document {
		t.Error("the tool is another one")
	}
}

// testRoutes: a call that changes the address says so, and what the next place registers comes
// before the page is said to be calm (L6).
func testRoutes(t *testing.T, h Harness) {
	t.Helper()
	w := show(t, h.Engine, h.Serve(t, h.Engine, leaving, false)+"/")
	for _, x := range []struct {
		tool  string
		moves int64
		fails bool
	}{{"stays", 0, false}, {"route", 1, false}, {"stays", 0, false}, {"lost", 2, true}} {
		step := w.Invoke(t.Context(), w.invocation(x.tool))
		if step.Move != x.moves || (step.Err != nil) != x.fails {
			t.Errorf("%s: move %d, %v", x.tool, step.Move, step.Err)
		}
		if x.moves == 0 {
			continue
		}
		all := w.await("the page is calm", func(all []session.Event) bool {
			return slices.ContainsFunc(all, func(ev session.Event) bool { m, ok := ev.(session.Moved); return ok && m.Over && m.Number == x.moves })
		})
		if tools(all).Document != w.invocation(x.tool).Document || named(tools(all), "room") == nil {
			t.Errorf("after %s there is %+v", x.tool, tools(all))
		}
	}
	all, _ := w.told()
	if n := count[session.Moved](all); n != 4 {
		t.Errorf("%d reports of two moves", n)
	}
}

func testOurNavigation(t *testing.T, h Harness) {
	t.Helper()
	base := h.Serve(t, h.Engine, Pages{"/": hanging, "/2": echoPage}, false)
	w := show(t, h.Engine, base+"/")
	end := w.begin(t.Context(), "hang", "{}")
	w.awaitResult(5*time.Second, "runs", "1")
	w.load(base + "/2")
	_, err := end()
	if e := bridge.AsError(err); e == nil || e.Outcome != bridge.Unknown {
		t.Errorf("a call that we navigated away from: %v", err)
	}
	w.tool("echo")
}

func testNavigatesAtOnce(t *testing.T, h Harness) {
	t.Helper()
	base := h.Serve(t, h.Engine, Pages{"/2": echoPage, "/": {
		HTML: `<script>tool('gone', () => 1); location.replace('/2')</script>`,
		Fake: func(d *Document) {
			d.Unfinished()
			d.Register(Tool{Name: "gone"})
			time.AfterFunc(time.Millisecond, func() { d.Navigate(d.join("/2")) })
		},
	}}, false)
	w := openTab(t, h.Engine)
	w.load(base + "/")
	w.tool("echo")
	w.loaded()
}

// dialogs registers a tool that shows n alerts and more.
func dialogs(n int) Script {
	return func(d *Document) {
		d.Register(Tool{Name: "ask", Run: func(c *Call) (json.RawMessage, error) {
			for range n {
				d.Dialog("alert", "a")
			}
			return json.RawMessage("false"), nil
		}})
	}
}

func testDialogs(t *testing.T, h Harness) {
	t.Run("while loading", func(t *testing.T) { t.Parallel(); testDialogsLoading(t, h) })
	t.Run("in a call", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, Page{HTML: `<script>tool('ask', () => { alert('a \ud800'); return false })</script>`, Fake: dialogs(1)})
		if got := w.result("ask", "{}"); got != "false" {
			t.Errorf("the page got %s", got)
		}
	})
	t.Run("a thousand", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, Page{HTML: `<script>tool('ask', () => { for (let i = 0; i < 1000; i++) alert(i); return [false, null] })</script>`, Fake: dialogs(1000)})
		began := time.Now()
		_, err := w.invoke("ask", "{}")
		within(t, began, patience, "a thousand dialogs")
		if err != nil {
			fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
		}
	})
	t.Run("beforeunload", func(t *testing.T) { t.Parallel(); testBeforeUnload(t, h) })
	t.Run("windows", func(t *testing.T) { t.Parallel(); testWindows(t, h) })
}

func testDialogsLoading(t *testing.T, h Harness) {
	t.Helper()
	w := one(t, h, Page{
		HTML: `<script>alert('a'); const c = confirm('c'), p = prompt('p', 'd'); tool('ask', () => [c, p])</script>`,
		Fake: func(d *Document) {
			d.Dialog("alert", "a")
			d.Dialog("prompt", "p")
			dialogs(0)(d)
			d.Dialog("confirm", "c")
		},
	})
	if got := w.result("ask", "{}"); got != "[false,null]" && got != "false" {
		t.Errorf("the page got %s", got)
	}
	all, _ := w.told()
	seen := map[string]bool{}
	for _, ev := range all {
		if d, ok := ev.(session.DialogShown); ok {
			seen[d.Kind] = true
			if d.Accepted != (d.Kind == "alert") || d.Message != d.Kind[:1] {
				t.Errorf("%+v", d)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("dialogs %v were told", seen)
	}
}

func testWindows(t *testing.T, h Harness) {
	t.Helper()
	w := one(t, h, Page{
		HTML: `<script>tool('bomb', () => { for (let i = 0; i < 200; i++) { open('about:blank'); open('/', '_blank', 'noopener') } return 1 }); tool('print', () => print())</script>`,
		Fake: func(d *Document) {
			d.Register(Tool{Name: "bomb", Run: func(*Call) (json.RawMessage, error) {
				d.OpenWindow("about:blank")
				return json.RawMessage("1"), nil
			}}, Tool{Name: "print"})
		},
	})
	w.result("bomb", "{}")
	w.result("print", "{}")
}

func testBeforeUnload(t *testing.T, h Harness) {
	t.Helper()
	base := h.Serve(t, h.Engine, Pages{"/2": echoPage, "/": {
		HTML: `<script>addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x' }); tool('here', () => 1)</script>`,
		Fake: func(d *Document) { d.Register(Tool{Name: "here"}) },
	}}, false)
	w := show(t, h.Engine, base+"/")
	w.load(base + "/2")
	w.tool("echo")
}

// failing is an address that cannot be opened.
func failing(r bridge.Reason) func(context.Context) error {
	return func(context.Context) error {
		return bridge.Errorf(bridge.InternalError, r, bridge.NotRun, "It cannot be opened.")
	}
}

func testLoad(t *testing.T, h Harness) {
	pages := Pages{
		"/loop": {Handler: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) }, FakeArrive: failing(bridge.Unreachable)},
		"/204":  {Handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, FakeArrive: failing(bridge.Unreachable)},
		"/file": {Handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="evil.sh"`)
			fmt.Fprint(w, "x")
		}, FakeArrive: failing(bridge.Unreachable)},
		"/login": {Handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, FakeArrive: failing(bridge.Unreachable)},
	}
	for path := range pages {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			base := h.Serve(t, h.Engine, pages, false)
			loadFails(t, h, base+path, bridge.Unreachable)
		})
	}
	t.Run("refused", func(t *testing.T) { t.Parallel(); loadFails(t, h, "http://"+closedAddress(t)+"/", bridge.Unreachable) })
	t.Run("unresolvable", func(t *testing.T) { t.Parallel(); loadFails(t, h, "http://nowhere.invalid/", bridge.Unreachable) })
	t.Run("self-signed", func(t *testing.T) {
		t.Parallel()
		base := h.Serve(t, h.Engine, Pages{"/": {HTML: "x", FakeArrive: failing(bridge.Certificate)}}, true)
		loadFails(t, h, base+"/", bridge.Certificate)
	})
	t.Run("never answers", func(t *testing.T) { t.Parallel(); testNeverAnswers(t, h) })
	t.Run("unfinished", func(t *testing.T) { t.Parallel(); testUnfinished(t, h) })
	t.Run("throws", func(t *testing.T) { t.Parallel(); testThrows(t, h) })
}

func testNeverAnswers(t *testing.T, h Harness) {
	t.Helper()
	base := h.Serve(t, h.Engine, Pages{"/": echoPage, "/never": {
		Handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		FakeArrive: func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		},
	}}, false)
	w := openTab(t, h.Engine)
	for _, end := range []struct {
		code   bridge.Code
		reason bridge.Reason
	}{{bridge.InternalError, bridge.Timeout}, {bridge.Cancelled, ""}} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if end.code == bridge.Cancelled {
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		began := time.Now()
		err := w.Load(ctx, base+"/never")
		within(t, began, 1300*time.Millisecond, "giving up")
		fails(t, err, end.code, end.reason, bridge.NotRun)
		cancel()
	}
	w.load(base + "/") // the tab is as good as before
	w.tool("echo")
}

func testThrows(t *testing.T, h Harness) {
	t.Helper()
	w := one(t, h, Page{
		HTML: `<script>tool('before', () => 1); null.x; tool('after', () => 1)</script><script>tool('later', () => 7)</script>`,
		Fake: func(d *Document) {
			d.Register(Tool{Name: "before"}, Tool{Name: "later", Run: func(*Call) (json.RawMessage, error) { return json.RawMessage("7"), nil }})
		},
	})
	w.tool("before")
	if got := w.result("later", "{}"); got != "7" {
		t.Errorf("got %s", got)
	}
	if all, _ := w.told(); named(tools(all), "after") != nil {
		t.Error("what follows the exception was registered")
	}
}

// closedAddress is one where nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	// The port is taken until the test ends, and not listened to.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

func loadFails(t *testing.T, h Harness, address string, reason bridge.Reason) {
	t.Helper()
	w := openTab(t, h.Engine)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	fails(t, w.Load(ctx, address), bridge.InternalError, reason, bridge.NotRun)
}

// testUnfinished holds pages whose load event never comes: their tools work.
func testUnfinished(t *testing.T, h Harness) {
	never := func(head string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, prelude, head)
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, "<p>more"); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				_ = Wait(r.Context(), 20*time.Millisecond)
			}
		}
	}
	fake := func(d *Document) {
		d.Unfinished()
		d.Register(echo)
	}
	base := h.Serve(t, h.Engine, Pages{
		"/endless": {Handler: never(`<script>tool('echo', (x) => x)</script>`), Fake: fake},
		"/hanging": {HTML: `<img src=/never><script>tool('echo', (x) => x)</script>`, Fake: fake},
		"/never":   {Handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	}, false)
	for _, path := range []string{"/endless", "/hanging"} {
		w := openTab(t, h.Engine)
		w.load(base + path)
		if got := w.result("echo", `{"a":1}`); got != `{"a":1}` {
			t.Errorf("%s: got %s", path, got)
		}
		if all, _ := w.told(); count[session.Loaded](all) > 0 {
			t.Errorf("%s: the load event came", path)
		}
	}
}
