package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// poolFile is a configuration with browsers at these addresses, and one site.
func poolFile(t *testing.T, target, more string, addresses ...string) string {
	t.Helper()
	text := "browsers:\n"
	for i, address := range addresses {
		text += fmt.Sprintf("  - {name: %q, url: %q, max: 4}\n", string(rune('a'+i)), address)
	}
	return suite.WriteFile(t, "browsers.yaml", text+"sites: [{name: shop, target: \""+target+"\"}]\n"+more)
}

// metric returns the value of a metric.
func metric(t *testing.T, s *suite.Server, name string) string {
	t.Helper()
	text := string(s.As(t, "", http.MethodGet, s.URL+"/metrics", "").Body)
	_, value, _ := strings.Cut(text, name+" ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

// TestBrowsersElsewhere: pages spread over the browsers of the file. When one ends, its sessions are told once,
// and go on in the other; doctor and the metrics say how each is, and nobody shows a key in an address.
func TestBrowsersElsewhere(t *testing.T) {
	t.Parallel()
	first, profile := suite.UsersBrowser(t)
	second, _ := suite.UsersBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<script>let n = 0; document.modelContext.registerTool({name: 'count', description: 'counts', inputSchema: {type: 'object'}, execute: () => ++n})</script>`)
	}))
	defer site.Close()
	secret := "/?token=nobody-sees-this"
	file := poolFile(t, site.URL+"/", "warm: 0\n", first+secret, second+secret)
	s := suite.Serve(t, suite.OwnBrowser, "--config", file, "--approval", "auto")
	suite.Eventually(t, suite.ReplyWithin, "both browsers run", func() bool {
		return metric(t, s, `pagetools_browser_endpoints{name="a",state="running"}`) == "1" && metric(t, s, `pagetools_browser_endpoints{name="b",state="running"}`) == "1"
	})
	if !strings.Contains(s.Stderr.String(), "pages reach what it reaches") {
		t.Errorf("it does not warn: %s", s.Stderr)
	}
	count := func(session string) suite.Reply {
		return s.Ask("/webtools/shop", `{"action":"count","sessionId":"`+session+`","request":{}}`)
	}
	for i := range 4 { // with the page of the catalog they are five, in both
		if got := string(count(fmt.Sprint("s", i)).Data(t)); got != "1" {
			t.Errorf("session %d begins with %s", i, got)
		}
	}
	out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "doctor", suite.OwnBrowser, "--config", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "a: ") || strings.Count(string(out), "its pages can be attached to again") != 2 {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	ended := 0
	for _, p := range suite.Processes(func(p suite.Process) bool { return strings.Contains(p.Line, profile) }) {
		if syscall.Kill(p.PID, syscall.SIGKILL) == nil {
			ended++
		}
	}
	if ended == 0 {
		t.Fatal("no browser was ended")
	}
	suite.Eventually(t, suite.ReplyWithin, "the first browser is down", func() bool {
		return metric(t, s, `pagetools_browser_endpoints{name="a",state="down"}`) == "1"
	})
	lost, kept := 0, 0
	for i := range 4 {
		switch r := count(fmt.Sprint("s", i)); r.Status {
		case http.StatusGone:
			lost++
			if got := string(count(fmt.Sprint("s", i)).Data(t)); got != "1" {
				t.Errorf("after it was told, session %d goes on with %s", i, got)
			}
		default:
			kept++
			if got := string(r.Data(t)); got != "2" {
				t.Errorf("session %d goes on with %s", i, got)
			}
		}
	}
	if lost == 0 || kept == 0 {
		t.Errorf("%d sessions were lost, and %d kept", lost, kept)
	}
	out, err = exec.CommandContext(t.Context(), suite.Pagetools(t), "doctor", suite.OwnBrowser, "--config", file).CombinedOutput()
	if code := exitOf(err); code != 4 || !strings.Contains(string(out), "FAIL  start        a: ") || !strings.Contains(string(out), "ok    start        b: ") {
		t.Errorf("doctor ends with %d:\n%s", code, out)
	}
	if all := string(out) + s.Stderr.String() + s.Stdout.String(); strings.Contains(all, "nobody-sees-this") {
		t.Errorf("somebody shows a key: %s", all)
	}
	if code := exitOf(exec.CommandContext(t.Context(), suite.Pagetools(t), "serve", "--browser-url", first, "--config", file).Run()); code != 2 {
		t.Errorf("two ways to a browser: %d", code)
	}
}

// exitOf returns the exit code of a command.
func exitOf(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Run returns it as it is
		return e.ExitCode()
	}
	return -1
}

// fetching is a page whose tool tries an address.
const fetching = `<script>document.modelContext.registerTool({name: 'fetch', description: 'fetches', inputSchema: {type: 'object', properties: {url: {type: 'string'}}},
	execute: ({url}) => fetch(url, {mode: 'no-cors'}).then(() => 'done', (e) => 'failed')})</script>`

// TestEgressElsewhere: pages of a browser elsewhere reach nothing that the policy forbids, loopback included,
// through the proxy of serve or one that runs alone with the same key; without it they do.
func TestEgressElsewhere(t *testing.T) {
	t.Parallel()
	browser, _ := suite.UsersBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, fetching)
	}))
	defer site.Close()
	var reached atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer private.Close()
	secret := filepath.Join(t.TempDir(), "cluster.key")
	made, err := exec.CommandContext(t.Context(), suite.Pagetools(t), "cluster", "key").Output()
	if err == nil {
		err = os.WriteFile(secret, made, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	alone := startEgress(t, secret)
	other := startEgress(t, secret)
	for name, x := range map[string]struct {
		settings string
		reaches  bool
	}{
		"without":           {"", true},
		"of serve":          {"egress-listen: 127.0.0.1:0\n", false},
		"alone":             {"egress-address: " + alone + "\ncluster-key-file: " + secret + "\n", false},
		"alone, once more":  {"egress-address: " + other + "\ncluster-key-file: " + secret + "\n", false},
		"of serve, by name": {"egress-listen: 127.0.0.1:0\negress-address: " + alone + "\ncluster-key-file: " + secret + "\n", false},
	} {
		before := reached.Load()
		s := suite.Serve(t, suite.OwnBrowser, "--config", poolFile(t, site.URL+"/", "warm: 0\n"+x.settings, browser), "--approval", "auto")
		said := string(s.Ask("/webtools/shop", `{"action":"fetch","request":{"url":"`+site.URL+`/"}}`).Data(t))
		if said != `"done"` {
			t.Errorf("%s: its own site: %s", name, said)
		}
		said = string(s.Ask("/webtools/shop", `{"action":"fetch","request":{"url":"`+private.URL+`/"}}`).Data(t))
		if now := reached.Load() > before; now != x.reaches {
			t.Errorf("%s: a page reaches another port of loopback: %t, %s", name, now, said)
		}
		if warns := strings.Contains(s.Stderr.String(), "pages reach what it reaches"); warns != x.reaches {
			t.Errorf("%s: it warns: %t", name, warns)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+alone+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("somebody else: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	for want, args := range map[string][]string{
		"needs --egress-listen":       {"egress"},
		"needs --cluster-key-file":    {"egress", "--egress-listen", "127.0.0.1:0"},
		"must be host:port":           {"egress", "--egress-listen", "nowhere", "--cluster-key-file", secret},
		"is in use":                   {"egress", "--egress-listen", alone, "--cluster-key-file", secret},
		"browsers that run elsewhere": {"serve", suite.OwnBrowser, site.URL, "--egress-listen", "127.0.0.1:0"},
		"every address":               {"serve", "--browser-url", browser, site.URL, "--egress-listen", ":7305"},
		"is that of a":                {"serve", "--browser-url", browser, site.URL, "--egress-address", "127.0.0.1:7305"},
	} {
		cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), args...)
		out, err := cmd.CombinedOutput()
		if exitOf(err) != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// startEgress starts pagetools egress, and returns its address.
func startEgress(t *testing.T, secret string) string {
	t.Helper()
	s, err := suite.Launch(suite.Pagetools(t), "", suite.TempDir(t), "egress", "--egress-listen", "127.0.0.1:0", "--cluster-key-file", secret, "--format", "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	suite.Eventually(t, suite.ReadyWithin, "pagetools egress listens", func() bool { return s.HasEnded() || strings.Contains(s.Stdout.String(), "\n") })
	var ready struct{ Listening string }
	if err := json.Unmarshal([]byte(s.Stdout.String()), &ready); err != nil {
		t.Fatalf("%v: %s%s", err, s.Stdout, s.Stderr)
	}
	if _, _, err := net.SplitHostPort(ready.Listening); err != nil {
		t.Fatal(err)
	}
	return ready.Listening
}
