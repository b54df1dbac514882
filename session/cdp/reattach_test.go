package cdp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
	"github.com/pagetools/pagetools/shim"
)

// lasting makes an engine over a browser whose tabs outlive it.
func lasting(t *testing.T, host string) *Engine {
	t.Helper()
	o := remoteAt("http://" + host)
	o.Reattach = true
	e, err := NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// dead is an owner whose process was killed.
type dead struct {
	handle []byte
	site   string
	loads  chan struct{} // of its page
}

// helperOwner is like a node: it opens a page as its owner, calls a tool of it where one is named, and says the
// handle of the page. Then it waits to be killed.
func helperOwner() int {
	o := remoteAt("http://" + os.Getenv("PAGETOOLS_TEST_BROWSER"))
	o.Reattach = os.Getenv("PAGETOOLS_TEST_ONCE") == ""
	e, err := NewRemote(o)
	if err != nil {
		return failedHelper(err)
	}
	options, err := ownerOptions(os.Getenv("PAGETOOLS_TEST_SITE"), 1)
	if err != nil {
		return failedHelper(err)
	}
	ctx := context.Background()
	w, err := e.Open(ctx, options)
	if err != nil {
		return failedHelper(err)
	}
	found := make(chan session.Invocation, 1)
	go func() {
		for ev := range w.Events() {
			if set, ok := ev.(session.ToolsChanged); ok {
				for _, tool := range set.Tools {
					if tool.Name == os.Getenv("PAGETOOLS_TEST_TOOL") {
						found <- session.Invocation{Document: set.Document, Tool: tool.ID, Input: json.RawMessage("{}"), MaxBytes: 1000}
						return
					}
				}
			}
		}
	}()
	if err := w.Load(ctx, os.Getenv("PAGETOOLS_TEST_SITE")+os.Getenv("PAGETOOLS_TEST_PATH")); err != nil {
		return failedHelper(err)
	}
	inv := <-found
	fmt.Printf("%s\n", w.(session.Detachable).Handle())
	_ = w.Invoke(ctx, inv)
	select {}
}

func failedHelper(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// ownerOptions make a page with settings, which its owners know.
func ownerOptions(site string, epoch int64) (session.TabOptions, error) {
	settings := pageconfig.Settings{UserAgent: "Owned/1", Headers: map[string]pageconfig.Secret{"X-Owned": "yes"},
		Viewport: &pageconfig.Viewport{Width: 432, Height: 321}, Cookies: []pageconfig.Cookie{{Name: "start", Value: "1"}}}
	c, err := settings.Check(site)
	return session.TabOptions{Origin: site, Config: c, Owner: session.Owner{Epoch: epoch, Holds: func() bool { return true }}}, err
}

// killed opens a page in a process, which calls a tool of it and is killed when the page has fetched /began.
func killed(t *testing.T, host, path, tool string, more ...string) dead {
	t.Helper()
	began, loads := make(chan struct{}, 100), make(chan struct{}, 100)
	show := html(ownedPage)
	base := site(t, map[string]http.HandlerFunc{
		"/began":  func(http.ResponseWriter, *http.Request) { began <- struct{}{} },
		"/header": func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Header.Get("X-Owned")) },
		"/frame":  html(`<script>tool('inner', () => 'framed')</script>`),
		"/page": func(w http.ResponseWriter, r *http.Request) {
			loads <- struct{}{}
			show(w, r)
		},
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), append(more, "PAGETOOLS_TEST_HELPER=owner", "PAGETOOLS_TEST_BROWSER="+host,
		"PAGETOOLS_TEST_SITE="+base, "PAGETOOLS_TEST_PATH="+path, "PAGETOOLS_TEST_TOOL="+tool)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }() // SIGKILL
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the owner said %q, %v", line, err)
	}
	select {
	case <-began:
	case <-time.After(hang):
		t.Fatal("the tool did not begin")
	}
	return dead{[]byte(strings.TrimSpace(line)), base, loads}
}

// ownedPage has a state, and tools that go on when their caller has ended.
const ownedPage = `<iframe src=/frame></iframe><script>
			let n = 0, later = 0; document.cookie = 'start=2';
			tool('count', async () => { n++; await fetch('/began'); return n });
			tool('long', async () => { await fetch('/began'); await new Promise((go) => setTimeout(go, 300)); later = 7; return 'over' });
			tool('later', async () => { while (!later) await new Promise((go) => setTimeout(go, 20)); return later });
			tool('reload', async () => { await fetch('/began'); setTimeout(() => location.reload(), 300); return new Promise(() => {}) });
			tool('confirms', () => { navigator.sendBeacon('/began'); return confirm('sure?') });
			tool('seen', async () => [navigator.userAgent, innerWidth, document.cookie, await (await fetch('/header')).text()]);
			tool('again', () => { setTimeout(() => location.assign('/page?second'), 0) });
			tool('asks', (input, agent) => agent.requestUserInteraction(() => new Promise(() => {})));
		</script>`

// attach goes on with the page of a dead owner.
func attach(t *testing.T, e *Engine, of dead, epoch int64) (*shown, error) {
	t.Helper()
	return attachWhile(t, e, of, epoch, func() bool { return true })
}

func attachWhile(t *testing.T, e *Engine, of dead, epoch int64, holds func() bool) (*shown, error) {
	t.Helper()
	o, err := ownerOptions(of.site, epoch)
	if err != nil {
		t.Fatal(err)
	}
	o.Owner.Holds = holds
	w, err := e.Attach(t.Context(), of.handle, o)
	if err != nil {
		return nil, err
	}
	s := &shown{tab: w.(*tab), t: t, windows: make(chan session.WindowClosed, 1000), dead: make(chan struct{}), news: make(chan struct{}), sets: map[string]session.ToolsChanged{}}
	t.Cleanup(func() { _ = w.Close(context.WithoutCancel(t.Context())) })
	go s.read()
	return s, nil
}

// inBoth runs a test in the browser of the day, and in a whole one.
func inBoth(t *testing.T, test func(t *testing.T, host string, whole bool)) {
	t.Helper()
	shell := gatetest.Browser() != os.Getenv("PAGETOOLS_EXECUTABLE_PATH") && !gatetest.IsNightly()
	for name, whole := range map[string]bool{"day": false, "whole": true} {
		t.Run(name, func(t *testing.T) {
			if whole {
				needsWhole(t)
			}
			t.Parallel()
			test(t, somebodysBrowser(t, whole), whole || !shell)
		})
	}
}

// TestReattach: a page whose owner was killed goes on with its state, its frames and its settings, also in the next
// document; a call of the owner before goes on, and its outcome is known to the page.
func TestReattach(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, host string, _ bool) {
		of := killed(t, host, "/page", "count")
		e := lasting(t, host)
		s, err := attach(t, e, of, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.must("count", "{}"); got != "2" {
			t.Errorf("the state of the page: %s", got)
		}
		if got := s.must("inner", "{}"); got != `"framed"` {
			t.Errorf("a tool of a frame: %s", got)
		}
		const want = `["Owned/1",432,"start=2","yes"]`
		if got := s.must("seen", "{}"); got != want {
			t.Errorf("the page sees %s, and not %s", got, want)
		}
		if s.shows() != of.site+"/page" {
			t.Errorf("it shows %s", s.shows())
		}
		// The next document has the tools and the settings, and knows its owner.
		s.must("again", "{}")
		s.until("the next document", func([]session.ToolsChanged) bool { return s.shows() == of.site+"/page?second" })
		if got := s.must("seen", "{}"); got != want {
			t.Errorf("the next document sees %s, and not %s", got, want)
		}
		if said := saysAs(t, s, 1, "none"); said != "gone" {
			t.Errorf("the next document says %q to the owner before", said)
		}
		if said := saysAs(t, s, 2, "none"); said != "unknown" {
			t.Errorf("the next document says %q to its owner", said)
		}
		// It is this process's to close.
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := attach(t, e, of, 3); reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" {
			t.Errorf("a page that was closed: %v", err)
		}
	})
}

// saysAs returns what the page says to an owner that asks for the outcome of a call.
func saysAs(t *testing.T, s *shown, epoch int64, call string) string {
	t.Helper()
	said, _, err := s.tab.shown.top.Load().evaluate(t.Context(), shim.Outcome(shim.As(s.name, epoch), call))
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// TestReattachDuringCall: a call that ran when its owner was killed goes on, and has its effect once.
func TestReattachDuringCall(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, host string, _ bool) {
		of := killed(t, host, "/page", "long")
		s, err := attach(t, lasting(t, host), of, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.must("later", "{}"); got != "7" {
			t.Errorf("got %s", got)
		}
	})
}

// TestReattachAlone: without re-attachment the page ends with its process, as it does for who has no owner.
func TestReattachAlone(t *testing.T) {
	t.Parallel()
	host := somebodysBrowser(t, false)
	e := lasting(t, host)
	if _, err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, _ := pagesOf(t, host)
	of := killed(t, host, "/page", "count", "PAGETOOLS_TEST_ONCE=1")
	if len(of.handle) > 0 {
		t.Errorf("its handle is %s", of.handle)
	}
	late := time.Now().Add(hang)
	for after := []string(nil); ; {
		if after, _ = pagesOf(t, host); len(after) == len(before) {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("its pages were %v and are %v", before, after)
		}
	}
	if h := open(t, e).Handle(); h != nil {
		t.Errorf("the handle of a tab without an owner is %s", h)
	}
	if s := lastingTab(t, e, 1); s.Handle() == nil {
		t.Error("a tab with an owner has no handle")
	}
}

func lastingTab(t *testing.T, e *Engine, epoch int64) *tab {
	t.Helper()
	return openWith(t, e, session.TabOptions{Owner: session.Owner{Epoch: epoch, Holds: func() bool { return true }}})
}

// TestReattachToNothing: a document without the page script, one that does not answer and a handle that names
// nothing are not taken, and nothing is left of them.
func TestReattachToNothing(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, host string, whole bool) {
		e := lasting(t, host)
		e.times.pulse = quick.pulse
		before, _ := pagesOf(t, host)
		none := func(what string, of dead) {
			t.Helper()
			if _, err := attach(t, e, of, 2); reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" {
				t.Errorf("%s: %v", what, err)
			}
			if after, _ := pagesOf(t, host); !slices.Equal(slices.Sorted(slices.Values(after)), slices.Sorted(slices.Values(before))) {
				t.Errorf("%s: pages were %v and are %v", what, before, after)
			}
		}
		of := killed(t, host, "/page", "reload")
		for range 2 { // the second time with nobody there
			<-of.loads
		}
		none("a document without the script", of)
		of = killed(t, host, "/page", "confirms")
		if s, err := attach(t, e, of, 2); whole {
			if reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" {
				t.Errorf("a page with a dialog: %v", err)
			}
			none("a page with a dialog", of)
		} else if err != nil {
			t.Errorf("the shell dismisses a dialog, and the page goes on: %v", err)
		} else if got := s.must("count", "{}"); got != "1" {
			t.Errorf("got %s", got)
		} else {
			_ = s.Close(t.Context())
		}
		for _, handle := range []string{"", "{}", `{"context":"x","target":"y","name":"alert(1)"}`, `{"context":"x","target":"y","name":"` + shim.NewName() + `"}`,
			`{"endpoint":"other","context":"x","target":"y","name":"` + shim.NewName() + `"}`} {
			none(handle, dead{[]byte(handle), of.site, nil})
		}
	})
}

// TestTwoOwners: of two owners at once, the one before runs nothing, knows of nothing that it began that it did
// not run, and closing it leaves the page alone.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, host string, _ bool) {
		of := killed(t, host, "/page", "count")
		a, b := lasting(t, host), lasting(t, host)
		var left atomic.Bool
		first, err := attachWhile(t, a, of, 2, func() bool { return !left.Load() })
		if err != nil {
			t.Fatal(err)
		}
		asks := first.find("asks")
		step := first.Invoke(t.Context(), session.Invocation{Document: asks.Document, Tool: asks.ID, Input: json.RawMessage("{}"), MaxBytes: 100})
		if step.Pause == nil {
			t.Fatalf("no question: %+v", step)
		}
		first.calls.mu.Lock()
		asking := first.calls.list[0].id
		first.calls.mu.Unlock()
		if got := first.must("count", "{}"); got != "2" { // the control
			t.Errorf("got %s", got)
		}
		second, err := attach(t, b, of, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := first.call("count", "{}"); reasonOf(err) != "INTERNAL_ERROR NO_QUORUM not_run" {
			t.Errorf("a call of the owner before: %v", err)
		}
		if got := second.must("count", "{}"); got != "3" {
			t.Errorf("a call of the owner before ran: %s", got)
		}
		left.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), quick.pulse)
		defer cancel()
		answered := step.Pause.Continue(ctx, &bridge.Answer{OK: true})
		if reasonOf(answered.Err) != "INTERNAL_ERROR TIMEOUT unknown" {
			t.Errorf("a call that went on: %+v", answered)
		}
		if said := saysAs(t, second, 3, asking); said != "running" {
			t.Errorf("the call of the owner before is %q: it was answered, or aborted", said)
		}
		if err := first.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := second.must("count", "{}"); got != "4" {
			t.Errorf("after the owner before has left: %s", got)
		}
		if _, err := attach(t, a, of, 2); err == nil {
			t.Error("an owner before the newest attached")
		}
		if got := second.must("count", "{}"); got != "5" {
			t.Errorf("after an owner before the newest did not attach: %s", got)
		}
	})
}
