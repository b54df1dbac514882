package cdp

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

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
	e, err := NewRemote(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, p
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

func networkKilled(t *testing.T, e *Engine, browser func() int) {
	t.Helper()
	e.times = quick
	e.times.pingEvery = 500 * time.Millisecond // it dies before anybody looks
	base := site(t, map[string]http.HandlerFunc{
		"/":     html(`<script>tool('ask', () => fetch('/word?' + Math.random()).then((r) => r.ok ? r.text() : Promise.reject(r.status)))</script>`),
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
		got, err := p.callWithin(5*time.Second, "ask", "{}")
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
