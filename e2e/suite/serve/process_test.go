package serve_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// TestFramework (D3, F4): tools that a page registers some time after its load event are
// there for a command that ends after one answer, each time.
func TestFramework(t *testing.T) {
	t.Parallel()
	page := suite.PageServer().Page("framework.html")
	for range gatetest.Amount(1, 3) {
		if out := suite.PagetoolsRun(t, 0, "tools", page); !strings.Contains(out, "late") {
			t.Errorf("tools prints %s", out)
		}
		if out := suite.PagetoolsRun(t, 0, "call", page, "late"); out != "true\n" {
			t.Errorf("call prints %q", out)
		}
	}
}

// TestManifestLate: tools of the web app manifest are there for a command that ends after one
// answer, though the manifest comes after the page's load event; one that never comes holds nothing
// up.
func TestManifestLate(t *testing.T) {
	t.Parallel()
	loaded := make(chan struct{})
	mux := http.NewServeMux()
	page := func(manifest string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<link rel="manifest" href="/` + manifest + `"><script>
document.modelContext.registerTool({name: 'script', description: 'Of a script.', execute() {}});
addEventListener('load', () => setTimeout(() => fetch('/` + manifest + `/loaded'), 300));
</script>`))
		}
	}
	mux.HandleFunc("/late", page("late.json"))
	mux.HandleFunc("/never", page("never.json"))
	mux.HandleFunc("/late.json/loaded", func(http.ResponseWriter, *http.Request) { close(loaded) })
	mux.HandleFunc("/late.json", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-loaded:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{"tools":[{"name":"declared","description":"Of the manifest."}]}`))
	})
	mux.HandleFunc("/never.json", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	defer server.Close()
	if out := suite.PagetoolsRun(t, 0, "tools", server.URL+"/late"); !strings.Contains(out, "script") || !strings.Contains(out, "declared") {
		t.Errorf("with a late manifest: %s", out)
	}
	if out := suite.PagetoolsRun(t, 0, "tools", server.URL+"/never"); !strings.Contains(out, "script") {
		t.Errorf("with a manifest that never comes: %s", out)
	}
}

// TestWatch: test --watch runs again when the page, the scenario or the settings change, also when
// an editor replaces the file, ends a run whose files change, and keeps the browser, which ends
// with it.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path+"~", []byte(text), 0o600), os.Rename(path+"~", path)); err != nil {
			t.Fatal(err)
		}
	}
	page := func(says string) {
		write("site/index.html", `<script>document.modelContext.registerTool({name: 'say', description: 'Says something.', execute: () => `+says+`})</script>`)
	}
	scenario := func(expect string) {
		write("a.webtool.yaml", "site: {dir: site}\nvia: page\ncases: [{name: says, steps: [{call: say, expect: "+expect+"}]}]\n")
	}
	page("'hello'")
	scenario("hello")
	write("conf.yaml", "call-timeout: 30s\n")
	s, err := suite.Launch(suite.Pagetools(t), dir, suite.TempDir(t), "test", "--watch", "--config", "conf.yaml", "--trace", "on", "--trace-dir", "site/traces")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Cmd.Process.Kill() }()
	runs, lines := 0, 0
	waits := func(says string) { // until the next run is over
		t.Helper()
		runs++
		if !suite.Within(suite.ReplyWithin, func() bool { return strings.Count(s.Stderr.String(), "watching for changes") >= runs }) {
			t.Fatalf("run %d is not over within %v: %s%s", runs, suite.ReplyWithin, s.Stdout.String()[lines:], s.Stderr.String())
		}
		if out := s.Stdout.String()[lines:]; !strings.Contains(out, says) {
			t.Errorf("run %d does not say %q: %s%s", runs, says, out, s.Stderr.String())
		}
		lines = len(s.Stdout.String())
	}
	browsers := func() (pids []int) {
		for _, p := range suite.Descendants(s.Cmd.Process.Pid) {
			if strings.Contains(p.Line, "chrom") && !strings.Contains(p.Line, "--type=") {
				pids = append(pids, p.PID)
			}
		}
		return pids
	}
	waits("ok   a.webtool.yaml: says (page)")
	first := browsers()
	page("'bye'")
	waits("FAIL a.webtool.yaml: says (page)")
	scenario("bye")
	waits("ok   a.webtool.yaml: says (page)")
	if now := browsers(); !slices.Equal(first, now) {
		t.Errorf("the browsers were %v, and are %v", first, now)
	}
	page("new Promise(() => {})") // it runs until the next change
	suite.Eventually(t, suite.ReplyWithin, "a run that does not end", func() bool { return strings.Count(s.Stderr.String(), "changed: ") == 3 })
	page("'bye'")
	waits("ok   a.webtool.yaml: says (page)")
	write("a.webtool.yaml", "nonsense: 1\n")
	waits("")
	if !strings.Contains(s.Stderr.String(), `unknown key "nonsense"`) {
		t.Errorf("a file that is wrong: %s", s.Stderr)
	}
	scenario("bye")
	waits("ok   a.webtool.yaml: says (page)")
	write("conf.yaml", "call-timeout: 20s\n")
	waits("ok   a.webtool.yaml: says (page)")
	if n := strings.Count(s.Stderr.String(), "changed: "); n != 7 {
		t.Errorf("it ran again %d times, for 7 changes: %s", n, s.Stderr)
	}
	if err := s.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, suite.StopWithin, "it ends", s.HasEnded)
	if code := s.Cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %d: %s", code, s.Stderr)
	}
	suite.Eventually(t, suite.LastProcesses, "the browser ends", func() bool { return len(browsers()) == 0 })
}

// TestRecordInterrupted: what was recorded is in the file before it runs again, so that a second
// Ctrl-C loses none of it. The tool never ends where it is tested.
func TestRecordInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := `<script>const watched = /original/.test(String(document.modelContext.registerTool));
		document.modelContext.registerTool({name: 'turn', description: 'Turns.', execute: () => watched ? new Promise(() => {}) : 'x'})</script>`
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	tmp := suite.TempDir(t)
	s, err := suite.Start(suite.Pagetools(t), dir, tmp, "record", suite.OwnBrowser, "site=.", "--mcp", "127.0.0.1:0", "-o", "out.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Cmd.Process.Kill() }()
	r, err := http.Post(s.URL+"/webtools/site", "application/json", strings.NewReader(`{"action": "turn", "request": {}}`))
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("the call: %v, %v", r, err)
	}
	_ = r.Body.Close()
	if err := s.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "out.yaml")
	suite.Eventually(t, suite.ReplyWithin, "the file", func() bool { _, err := os.Stat(file); return err == nil || s.HasEnded() })
	if s.HasEnded() {
		t.Errorf("it ended: %s", s.Stderr)
	}
	family := suite.Descendants(s.Cmd.Process.Pid)
	_ = s.Cmd.Process.Signal(os.Interrupt)
	suite.Eventually(t, suite.StopWithin, "it ends", s.HasEnded)
	suite.Eventually(t, suite.LastProcesses, "its browser ends", func() bool {
		return len(suite.Processes(func(p suite.Process) bool { return slices.Contains(family, p) })) == 0
	})
	_ = os.RemoveAll(tmp) // the profile, which a process that is killed leaves
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "call: turn") {
		t.Errorf("%v in %s", err, text)
	}
}
