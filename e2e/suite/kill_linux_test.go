package suite_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const held = `{"action":"hold","request":{}}`

// browsers lists the main processes of the browsers whose profiles are in tmp.
func browsers(tmp string) []process {
	return processes(func(p process) bool {
		return strings.Contains(p.line, "--user-data-dir="+tmp+"/") && !strings.Contains(p.line, "--type=")
	})
}

// kill ends processes at once. Those that are gone already are no failure.
func kill(victims []process) {
	for _, p := range victims {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// TestKillBrowser kills the browser in the middle of calls.
func TestKillBrowser(t *testing.T) {
	t.Parallel()
	site := pages(t)
	s := serve(t, "good="+site.page("good.html"))
	first, second := s.later("/webtools/good", held), s.later("/webtools/good", `{"sessionId":"kept","action":"hold","request":{}}`)
	site.awaitHeld(t)
	site.awaitHeld(t)
	victims := browsers(s.tmp)
	if len(victims) != 1 {
		t.Fatalf("there are %d browsers: %+v", len(victims), victims)
	}
	kill(victims)
	for _, r := range []reply{<-first, <-second} {
		compare(t, r, http.StatusServiceUnavailable, failure{Code: "INTERNAL_ERROR", Reason: "BROWSER_LOST", Outcome: "unknown"})
	}
	isGood(t, s, "good")
	if now := browsers(s.tmp); len(now) != 1 || now[0].pid == victims[0].pid {
		t.Errorf("afterwards the browsers are %+v", now)
	}
	metrics := string(s.ask("/metrics", "").body)
	for _, want := range []string{`pagetools_browser_starts_total{outcome="ok"} 2`, `pagetools_browsers_lost_total{cause="ended"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// TestKillRenderers kills every renderer in the middle of a call. There are no
// spare pages: one that was killed a moment ago may be given to the next call.
func TestKillRenderers(t *testing.T) {
	t.Parallel()
	site := pages(t)
	s := serve(t, "good="+site.page("good.html"), "--warm", "0")
	call := s.later("/webtools/good", held)
	site.awaitHeld(t)
	before := browsers(s.tmp)
	victims := slices.DeleteFunc(descendants(s.cmd.Process.Pid), func(p process) bool { return !strings.Contains(p.line, "--type=renderer") })
	if len(victims) == 0 {
		t.Fatal("there is no renderer")
	}
	kill(victims)
	compare(t, <-call, http.StatusBadGateway, failure{Code: "INTERNAL_ERROR", Reason: "PAGE_CRASHED", Outcome: "unknown"})
	isGood(t, s, "good")
	if now := browsers(s.tmp); len(now) != 1 || len(before) != 1 || now[0].pid != before[0].pid {
		t.Errorf("the browser was %+v and is %+v", before, now)
	}
}

// TestKillBridge kills the bridge in the middle of a call: its processes end with
// it, and the next start takes its folder away, before it is ready, and no other.
func TestKillBridge(t *testing.T) {
	t.Parallel()
	site := pages(t)
	tmp := tempDir(t)
	s, err := start(pagetools(t), "", tmp, "serve", "good="+site.page("good.html"))
	if err != nil {
		t.Fatal(err)
	}
	call := s.later("/webtools/good", held)
	site.awaitHeld(t)
	family := descendants(s.cmd.Process.Pid)
	if len(family) < 2 || len(browsers(tmp)) != 1 {
		t.Fatalf("its processes are %+v", family)
	}
	kill([]process{{pid: s.cmd.Process.Pid}})
	if r := <-call; r.err == nil {
		t.Errorf("the call was answered: %d %s", r.status, shorten(r.body))
	}
	noneLeft(t, tmp, family)
	left, err := filepath.Glob(filepath.Join(tmp, "pagetools-profile-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("the killed process left %q (%v), want one profile: the test proves nothing", left, err)
	}
	foreign := foreignFolders(t, tmp)

	address, err := closedPort()
	if err != nil {
		t.Fatal(err)
	}
	next, err := launch(pagetools(t), "", tmp, "serve", "good="+site.page("good.html"), "--listen", address, "--quiet")
	if err != nil {
		t.Fatal(err)
	}
	next.url = "http://" + address
	eventually(t, readyWithin, "/readyz", func() bool { return next.ask("/readyz", "").status == http.StatusOK })
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("the folder of the killed process is still there when the next one is ready (%v)", err)
	}
	isGood(t, next, "good")
	for _, dir := range foreign {
		if _, err := os.Stat(filepath.Join(dir, "kept")); err != nil {
			t.Errorf("a foreign folder was touched: %v", err)
		}
	}
	for _, dir := range foreign {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	if err := next.stop(); err != nil {
		t.Error(err)
	}
}

// foreignFolders makes folders that look like ours and are not: one without our
// lock, one whose owner lives, and one that is a link.
func foreignFolders(t *testing.T, tmp string) []string {
	t.Helper()
	dirs := make([]string, 0, 4)
	dirs = append(dirs, filepath.Join(tmp, "pagetools-profile-foreign"), filepath.Join(tmp, "pagetools-profile-alive"), filepath.Join(tmp, "other"))
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(tmp, "pagetools-profile-link")
	if err := os.Symlink(dirs[2], link); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dirs[1], "pagetools.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return append(dirs, link)
}

// noneLeft holds that the processes of an ended bridge end, too.
func noneLeft(t *testing.T, tmp string, family []process) {
	t.Helper()
	left := func() []process {
		return processes(func(p process) bool {
			return strings.Contains(p.line, tmp+"/") || slices.ContainsFunc(family, func(f process) bool { return f.pid == p.pid && f.line == p.line })
		})
	}
	if !within(lastProcesses, func() bool { return len(left()) == 0 }) {
		t.Errorf("%v after the bridge these live: %+v", lastProcesses, left())
		kill(left())
	}
}

// TestDrain ends the bridge with SIGTERM: the call in flight ends well, new ones
// are refused, and nothing is left.
func TestDrain(t *testing.T) {
	t.Parallel()
	site := pages(t)
	tmp := tempDir(t)
	s, err := start(pagetools(t), "", tmp, "serve", "good="+site.page("good.html"))
	if err != nil {
		t.Fatal(err)
	}
	call := s.later("/webtools/good", held)
	site.awaitHeld(t)
	family := descendants(s.cmd.Process.Pid)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		return s.ask("/webtools/good", `{"action":"echo","request":{}}`).status == http.StatusServiceUnavailable
	}
	eventually(t, stopWithin, "new calls are refused", refused)
	compare(t, s.ask("/webtools/good", `{"action":"echo","request":{}}`), http.StatusServiceUnavailable,
		failure{Code: "INTERNAL_ERROR", Reason: "DRAINING", Outcome: "not_run"})
	if r := s.ask("/webtools/good", `{"action":"echo","request":{}}`); r.header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	if r := s.ask("/readyz", ""); r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), `"draining"`) {
		t.Errorf("/readyz: %d %s", r.status, r.body)
	}
	site.let()
	if got := string((<-call).data(t)); got != `"released"` {
		t.Errorf("the call in flight gave %s", got)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	noneLeft(t, tmp, family)
}

// TestSecondSignal ends the bridge at once, whatever still runs.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			site := pages(t)
			tmp := tempDir(t)
			s, err := start(pagetools(t), "", tmp, "serve", "good="+site.page("good.html"), "--warm", "0")
			if err != nil {
				t.Fatal(err)
			}
			call := s.later("/webtools/good", held)
			site.awaitHeld(t)
			family := descendants(s.cmd.Process.Pid)
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			eventually(t, stopWithin, "the first signal is taken", func() bool { return strings.Contains(s.stderr.String(), "stopping") })
			if err := s.cmd.Process.Signal(second); err != nil {
				t.Fatal(err)
			}
			select {
			case <-s.ended:
			case <-time.After(stopWithin):
				t.Error("the second signal did not end it")
				kill([]process{{pid: s.cmd.Process.Pid}})
			}
			if r := <-call; r.err == nil {
				t.Errorf("the call was answered: %d %s", r.status, shorten(r.body))
			}
			noneLeft(t, tmp, family)
			if err := os.RemoveAll(tmp); err != nil { // what the next start would clean
				t.Error(err)
			}
		})
	}
}
