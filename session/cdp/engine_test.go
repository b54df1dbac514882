package cdp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
)

// TestRecycle: after some tabs another browser takes over, which the tabs report, and the
// first one ends with its last tab.
func TestRecycle(t *testing.T) {
	t.Parallel()
	e := engine(t, func(o *LocalOptions) { o.RecycleAfter = 3 })
	var tabs []*tab
	for range 4 {
		tabs = append(tabs, open(t, e))
	}
	old, now := tabs[0].browser, tabs[3].browser
	if tabs[2].browser != old || now == old {
		t.Fatal("the fourth tab is not in the second browser, or the third one is")
	}
	for i, w := range tabs[:2] { // the third one made its browser full
		select {
		case ev := <-w.Events():
			if _, ok := ev.(session.Recycled); !ok {
				t.Errorf("tab %d reports %#v", i, ev)
			}
		case <-time.After(hang):
			t.Errorf("tab %d was not told", i)
		}
	}
	for i, w := range tabs[:3] {
		if !old.alive() {
			t.Fatalf("the first browser ended with %d tabs open", 3-i)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-old.process.Done():
	case <-time.After(hang):
		t.Fatal("the first browser runs on")
	}
	if !now.alive() {
		t.Error("the second one ended too")
	}
}

// TestRecycleByAge: a browser that is too old opens no more tabs, and ends with its last
// one, or at once when it has none.
func TestRecycleByAge(t *testing.T) {
	t.Parallel()
	e := engine(t, func(o *LocalOptions) { o.RecycleAge = time.Nanosecond })
	first := open(t, e)
	second := open(t, e)
	if first.browser == second.browser {
		t.Fatal("the second tab is in the browser that is too old")
	}
	if !first.browser.alive() {
		t.Error("the first browser ended with its tab open")
	}
	for _, w := range []*tab{first, second} {
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	third := open(t, e)
	for _, old := range []*tab{first, second} {
		select {
		case <-old.browser.process.Done():
		case <-time.After(hang):
			t.Fatal("a browser that is too old runs on without a tab")
		}
	}
	if c := e.Counts(); c.Started != 3 || len(c.Lost) != 0 {
		t.Errorf("it counts %+v", c)
	}
	if !third.browser.alive() {
		t.Error("the newest browser ended too")
	}
	// The control: one that is young stays.
	young := engine(t, func(o *LocalOptions) { o.RecycleAge = time.Hour })
	if a, b := open(t, young), open(t, young); a.browser != b.browser {
		t.Error("a young browser was replaced")
	}
}

// TestRecycleRace opens and closes tabs at once around the moment of change: no
// tab is opened in a browser that is about to end.
func TestRecycleRace(t *testing.T) {
	gatetest.Nightly(t, "it starts five browsers; TestRecycle has one change by day")
	t.Parallel()
	e := engine(t, func(o *LocalOptions) { o.RecycleAfter = 2 })
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 3 {
				w, err := e.Open(t.Context(), session.TabOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := w.Close(t.Context()); err != nil {
					t.Error(err)
				}
				for range w.Events() {
				}
			}
		})
	}
	wg.Wait()
}

// TestOpenThatNobodyWaitsFor leaves no browser context behind.
func TestOpenThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	e := engine(t, nil)
	if _, err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*5*time.Millisecond)
		w, err := e.Open(ctx, session.TabOptions{})
		cancel()
		if err == nil {
			_ = w.Close(t.Context())
		}
	}
	b := current(e)
	deadline := time.Now().Add(openTime + 15*time.Second)
	for {
		left, err := cdp.Call(t.Context(), b.root, cdptarget.GetBrowserContexts, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		n := b.open
		e.mu.Unlock()
		if len(left.BrowserContextIDs) == 0 && n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d browser contexts and %d tabs are left", len(left.BrowserContextIDs), n)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	e := engine(t, nil)
	w := open(t, e)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range w.Events() {
	}
	_, err := e.Open(t.Context(), session.TabOptions{})
	if got := reasonOf(err); got != "INTERNAL_ERROR BROWSER_LOST not_run" {
		t.Errorf("Open after Close: %s", got)
	}
}

// somebodysBrowser starts a browser with a debugging port, as a user would, and returns the address
// of the port. By day it may be the headless shell, unless it must be whole.
func somebodysBrowser(t *testing.T, mustBeWhole bool) string {
	t.Helper()
	host, _ := browserIn(t, folders(t), mustBeWhole)
	return host
}

// browserIn starts such a browser with its profile, HOME and temporary files in a folder, and returns the
// host and port of its debugging port, and the path of its WebSocket there.
func browserIn(t *testing.T, dir string, mustBeWhole bool, flags ...string) (host, path string) {
	t.Helper()
	o := localOptions()
	if mustBeWhole || gatetest.IsNightly() {
		whole(&o)
	}
	binary, _, err := chrome.Find(o.Options)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--headless", "--remote-debugging-port=0", "--remote-debugging-address=127.0.0.1", "--user-data-dir=" + filepath.Join(dir, "data"), "--no-first-run", "about:blank"}
	if os.Getenv("PAGETOOLS_NO_SANDBOX") == "1" {
		args = append(args, "--no-sandbox")
	}
	cmd := exec.CommandContext(t.Context(), binary, append(flags, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	tree := proctree.New(cmd, false)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tree.Kill()
		_ = cmd.Wait()
		awaitProcesses(dir, 0, hang)
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "DevTools listening on ws://"); ok {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			host, path, _ := strings.Cut(address, "/")
			return host, "/" + path
		}
	}
	t.Fatal("the browser names no port")
	return "", ""
}

// pagesOf lists the pages of somebody's browser, as its port tells.
func pagesOf(t *testing.T, host string) (urls []string, ws string) {
	t.Helper()
	get := func(path string, v any) {
		resp, err := http.Get("http://" + host + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
			t.Fatal(err)
		}
	}
	var list []struct{ Type, URL string }
	get("/json/list", &list)
	for _, x := range list {
		if x.Type == "page" {
			urls = append(urls, x.URL)
		}
	}
	var version struct {
		WS string `json:"webSocketDebuggerUrl"`
	}
	get("/json/version", &version)
	return urls, version.WS
}

// TestRemote: in a browser that somebody else runs we have contexts of our own,
// and leave it running as it was.
func TestRemote(t *testing.T) {
	t.Parallel()
	host := somebodysBrowser(t, false)
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('set', () => { document.cookie = 'a=1'; return document.cookie })</script>`)})
	before, ws := pagesOf(t, host)
	for name, address := range map[string]string{"http": "http://" + host + "/", "ws": ws} {
		t.Run(name, func(t *testing.T) {
			e, err := NewRemote(remoteAt(address))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			p := showPage(t, e, base+"/")
			if got := p.must("set", "{}"); got != `"a=1"` {
				t.Errorf("got %s", got)
			}
			if during, _ := pagesOf(t, host); len(during) != len(before)+1 {
				t.Errorf("its pages are %v", during)
			}
			if v, err := e.Start(t.Context()); err != nil || v == "" || v != e.Version() {
				t.Errorf("its version is %q, %v", v, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			<-p.dead
			deadline := time.Now().Add(hang)
			for {
				after, _ := pagesOf(t, host)
				if strings.Join(after, " ") == strings.Join(before, " ") {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("its pages were %v and are %v", before, after)
				}
				<-time.After(20 * time.Millisecond)
			}
		})
	}
}

func TestRemoteRefuses(t *testing.T) {
	t.Parallel()
	plain := site(t, map[string]http.HandlerFunc{"/json/version": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"a":1}`) }})
	if _, err := NewRemote(RemoteOptions{}); err == nil {
		t.Error("no address is an address")
	}
	for _, address := range []string{plain, plain + "/other", "ftp://127.0.0.1/", "http://127.0.0.1:1", "ws://127.0.0.1:1", ":"} {
		e, err := NewRemote(remoteAt(address))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Open(t.Context(), session.TabOptions{})
		if got := reasonOf(err); got != "INTERNAL_ERROR BROWSER_LOST not_run" {
			t.Errorf("%s: %s", address, got)
		}
		if e := bridge.AsError(err); e.Err == nil || strings.Contains(e.Message, "127.0.0.1") {
			t.Errorf("%s: strangers see %q, the log %v", address, e.Message, e.Err)
		}
		_ = e.Close()
	}
}

// TestRemoteLost: a connection that breaks is noticed, and made again.
func TestRemoteLost(t *testing.T) {
	t.Parallel()
	host := somebodysBrowser(t, false)
	e, err := NewRemote(remoteAt("http://" + host))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w := open(t, e)
	_ = current(e).conn.Close()
	select {
	case <-w.target.Gone():
	case <-time.After(hang):
		t.Fatal("nobody noticed")
	}
	for range w.Events() {
	}
	open(t, e)
}
