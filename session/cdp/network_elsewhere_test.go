package cdp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/egress"
)

// proxiedElsewhere makes an engine over a browser that somebody else runs with the flags that operators are
// told, whose pages have a proxy.
func proxiedElsewhere(t *testing.T, dir string, mustBeWhole bool) (*Engine, *egress.Proxy) {
	t.Helper()
	p, err := egress.Start(t.Context(), egress.Options{Listen: "127.0.0.1:0", Keys: [][]byte{make([]byte, 32)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // after the engine
	host, _ := browserIn(t, dir, mustBeWhole, "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp")
	o := remoteAt("http://" + host)
	o.Proxy = p
	return engineElsewhere(t, o), p
}

// engineElsewhere makes an engine over browsers that run elsewhere, for one test.
func engineElsewhere(t *testing.T, o RemoteOptions) *Engine {
	t.Helper()
	e, err := NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestProxyElsewhere: the proxy may be another process's that has the key. What went wrong there is said as far
// as the browser knows it, and a proxy that it does not reach is named.
func TestProxyElsewhere(t *testing.T) {
	t.Parallel()
	keys := [][]byte{make([]byte, 32)}
	there, err := egress.Start(t.Context(), egress.Options{Listen: "127.0.0.1:0", Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	here, err := egress.Start(t.Context(), egress.Options{Address: there.Address(), Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	nowhere, err := egress.Start(t.Context(), egress.Options{Address: "127.0.0.1:1", Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nowhere.Close() })
	host := somebodysBrowser(t, false)
	base := site(t, map[string]http.HandlerFunc{"/": html("")})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := strings.Replace(closed.URL, "http", "https", 1)
	for _, x := range []struct {
		proxy         *egress.Proxy
		address, want string
	}{
		{here, base + "/", "ok"},
		{here, closed.URL + "/", "UNREACHABLE: " + closed.URL + " cannot be opened: the site cannot be reached (ERR_EMPTY_RESPONSE)."},
		{here, secure + "/", "UNREACHABLE: " + secure + " cannot be opened: the proxy did not connect, because the site does not answer, or pages may not reach its address (ERR_TUNNEL_CONNECTION_FAILED)."},
		{nowhere, base + "/", "UNREACHABLE: " + base + " cannot be opened: the browser does not reach the proxy through which pagetools lets its pages out (ERR_PROXY_CONNECTION_FAILED)."},
	} {
		o := remoteAt("http://" + host)
		o.Proxy = x.proxy
		w := openWith(t, engineElsewhere(t, o), named(origin.Of(x.address)))
		got := "ok"
		if err := w.Load(t.Context(), x.address); err != nil {
			e := bridge.AsError(err)
			got = string(e.Reason) + ": " + e.Message
		}
		if got != x.want {
			t.Errorf("%s: %s, want %s", x.address, got, x.want)
		}
	}
	if n := there.Counts(); n.Opened == 0 {
		t.Errorf("the other process was not asked: %+v", n)
	}
}

// TestNetworkKilled (R5): when the browser's network process dies, what a page asks for fails
// in the page; the page soon reaches the network again, also without a navigation. A whole browser
// asks a person for the credential that a request lacks before we show it again: that request waits
// for as long as its call may.
func TestNetworkKilled(t *testing.T) {
	t.Parallel()
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		e, _ := proxied(t, nil)
		networkKilled(t, e, func() int { return browserOf(t, e) })
	})
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		dir := folders(t)
		e, _ := proxiedElsewhere(t, dir, false)
		networkKilled(t, e, func() int {
			for _, pid := range processes(filepath.Join(dir, "data")) {
				if isIn(pid, pid) { // it leads them
					return pid
				}
			}
			return 0
		})
	})
}

// TestLogInFails: a page stays there when its browser cannot ask for the credential.
func TestLogInFails(t *testing.T) {
	t.Parallel()
	e, proxy := proxiedElsewhere(t, folders(t), false)
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('here', () => 'here')</script>`)})
	p := showPageWith(t, e, named(base), base+"/")
	before := p.find("here").ID
	if err := proxy.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := cdp.Call(t.Context(), p.target, page.Navigate, page.NavigateParams{URL: egress.Home}); err != nil || got.ErrorText == "" {
		t.Fatalf("the control: %+v, %v", got, err)
	}
	if got := p.must("here", "{}"); got != `"here"` || p.find("here").ID != before {
		t.Errorf("afterwards: %s", got)
	}
}

func networkKilled(t *testing.T, e *Engine, browser func() int) {
	t.Helper()
	e.times = quick
	e.times.pingEvery = 500 * time.Millisecond // it dies before anybody looks
	base := site(t, map[string]http.HandlerFunc{
		"/":     html(`<script>tool('ask', () => fetch('/word?' + Math.random(), {signal: AbortSignal.timeout(2000)}).then((r) => r.ok ? r.text() : Promise.reject(r.status)))</script>`),
		"/word": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "word") },
	})
	p := showPageWith(t, e, named(base), base+"/")
	if got := p.must("ask", "{}"); got != `"word"` {
		t.Fatalf("at first: %s", got)
	}
	before := p.find("ask").ID
	killed := false
	for _, pid := range processes("network.mojom.NetworkService") {
		if isIn(pid, browser()) {
			signal(t, sigKill, pid)
			killed = true
		}
	}
	if !killed {
		t.Fatal("the browser has no network process")
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	for {
		got, err := p.callWithin(hang, "ask", "{}") // which the page itself gives up before
		if err == nil && got == `"word"` {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("it never reaches the network again: %s %v", got, err)
		}
	}
	if after := p.find("ask").ID; after != before {
		t.Error("the page was loaded anew")
	}
}
