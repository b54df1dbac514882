package life_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

const held = `{"action":"hold","request":{}}`

// browsers lists the main processes of the browsers whose profiles are in tmp.
func browsers(tmp string) []suite.Process {
	return suite.Processes(func(p suite.Process) bool {
		return strings.Contains(p.Line, "--user-data-dir="+tmp+"/") && !strings.Contains(p.Line, "--type=")
	})
}

// kill ends processes at once. Those that are gone already are not a failure.
func kill(victims []suite.Process) {
	for _, p := range victims {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}

// TestKillBrowser kills the browser in the middle of calls.
func TestKillBrowser(t *testing.T) {
	t.Parallel()
	site := suite.Pages(t)
	s := suite.Serve(t, "good="+site.Page("good.html"))
	first, second := s.Later("/webtools/good", held), s.Later("/webtools/good", `{"sessionId":"kept","action":"hold","request":{}}`)
	site.AwaitHeld(t)
	site.AwaitHeld(t)
	victims := browsers(s.Tmp)
	if len(victims) != 1 {
		t.Fatalf("there are %d browsers: %+v", len(victims), victims)
	}
	kill(victims)
	for _, r := range []suite.Reply{<-first, <-second} {
		suite.Compare(t, r, http.StatusServiceUnavailable, suite.Failure{Code: "INTERNAL_ERROR", Reason: "BROWSER_LOST", Outcome: "unknown"})
	}
	suite.IsGood(t, s, "good")
	if now := browsers(s.Tmp); len(now) != 1 || now[0].PID == victims[0].PID {
		t.Errorf("afterwards the browsers are %+v", now)
	}
	metrics := string(s.Ask("/metrics", "").Body)
	for _, want := range []string{`pagetools_browser_starts_total{outcome="ok"} 2`, `pagetools_browsers_lost_total{cause="ended"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// TestKillRenderers kills every renderer in the middle of a call. There are no spare pages: the
// next call could get one that was killed a moment ago.
func TestKillRenderers(t *testing.T) {
	t.Parallel()
	site := suite.Pages(t)
	s := suite.Serve(t, "good="+site.Page("good.html"), "--warm", "0")
	call := s.Later("/webtools/good", held)
	site.AwaitHeld(t)
	before := browsers(s.Tmp)
	victims := slices.DeleteFunc(suite.Descendants(s.Cmd.Process.Pid), func(p suite.Process) bool { return !strings.Contains(p.Line, "--type=renderer") })
	if len(victims) == 0 {
		t.Fatal("there is no renderer")
	}
	kill(victims)
	suite.Compare(t, <-call, http.StatusBadGateway, suite.Failure{Code: "INTERNAL_ERROR", Reason: "PAGE_CRASHED", Outcome: "unknown"})
	suite.IsGood(t, s, "good")
	if now := browsers(s.Tmp); len(now) != 1 || len(before) != 1 || now[0].PID != before[0].PID {
		t.Errorf("the browser was %+v and is %+v", before, now)
	}
}

// TestKillBridge kills the bridge in the middle of a call: its processes end with
// it, and the next start takes its folder away, before it is ready, and no other.
func TestKillBridge(t *testing.T) {
	t.Parallel()
	site := suite.Pages(t)
	tmp := suite.TempDir(t)
	s, err := suite.Start(suite.Pagetools(t), "", tmp, "serve", "good="+site.Page("good.html"))
	if err != nil {
		t.Fatal(err)
	}
	call := s.Later("/webtools/good", held)
	site.AwaitHeld(t)
	family := suite.Descendants(s.Cmd.Process.Pid)
	if len(family) < 2 || len(browsers(tmp)) != 1 {
		t.Fatalf("its processes are %+v", family)
	}
	kill([]suite.Process{{PID: s.Cmd.Process.Pid}})
	if r := <-call; r.Err == nil {
		t.Errorf("the call was answered: %d %s", r.Status, suite.Shorten(r.Body))
	}
	noneLeft(t, tmp, family)
	left, err := filepath.Glob(filepath.Join(tmp, "pagetools-profile-*"))
	if err != nil || len(left) != 2 {
		t.Fatalf("the killed process left %q (%v), want one profile and its lock: the test proves nothing", left, err)
	}
	foreign := foreignFolders(t, tmp)

	address, err := suite.ClosedPort()
	if err != nil {
		t.Fatal(err)
	}
	next, err := suite.Launch(suite.Pagetools(t), "", tmp, "serve", "good="+site.Page("good.html"), "--listen", address, "--quiet")
	if err != nil {
		t.Fatal(err)
	}
	next.URL = "http://" + address
	suite.Eventually(t, suite.ReadyWithin, "/readyz", func() bool { return next.Ask("/readyz", "").Status == http.StatusOK })
	for _, path := range left {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s of the killed process is still there when the next one is ready (%v)", path, err)
		}
	}
	suite.IsGood(t, next, "good")
	for _, dir := range foreign {
		if _, err := os.Stat(filepath.Join(dir, "kept")); err != nil {
			t.Errorf("a foreign folder was touched: %v", err)
		}
	}
	for _, dir := range foreign {
		if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(dir+".lock")); err != nil {
			t.Error(err)
		}
	}
	if err := next.Stop(); err != nil {
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
	if err := os.WriteFile(link+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(dirs[1] + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return append(dirs, link)
}

// noneLeft checks that the processes of an ended bridge end, too.
func noneLeft(t *testing.T, tmp string, family []suite.Process) {
	t.Helper()
	left := func() []suite.Process {
		return suite.Processes(func(p suite.Process) bool {
			return strings.Contains(p.Line, tmp+"/") || slices.ContainsFunc(family, func(f suite.Process) bool { return f.PID == p.PID && f.Line == p.Line })
		})
	}
	if !suite.Within(suite.LastProcesses, func() bool { return len(left()) == 0 }) {
		t.Errorf("%v after the bridge these live: %+v", suite.LastProcesses, left())
		kill(left())
	}
}

// TestDrain ends the bridge with SIGTERM: the call in flight ends well, new ones
// are refused, and nothing is left.
func TestDrain(t *testing.T) {
	t.Parallel()
	site := suite.Pages(t)
	tmp := suite.TempDir(t)
	s, err := suite.Start(suite.Pagetools(t), "", tmp, "serve", "good="+site.Page("good.html"))
	if err != nil {
		t.Fatal(err)
	}
	call := s.Later("/webtools/good", held)
	site.AwaitHeld(t)
	family := suite.Descendants(s.Cmd.Process.Pid)
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		return s.Ask("/webtools/good", `{"action":"echo","request":{}}`).Status == http.StatusServiceUnavailable
	}
	suite.Eventually(t, suite.StopWithin, "new calls are refused", refused)
	suite.Compare(t, s.Ask("/webtools/good", `{"action":"echo","request":{}}`), http.StatusServiceUnavailable,
		suite.Failure{Code: "INTERNAL_ERROR", Reason: "DRAINING", Outcome: "not_run"})
	if r := s.Ask("/webtools/good", `{"action":"echo","request":{}}`); r.Header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
	}
	if r := s.Ask("/readyz", ""); r.Status != http.StatusServiceUnavailable || !strings.Contains(string(r.Body), `"draining"`) {
		t.Errorf("/readyz: %d %s", r.Status, r.Body)
	}
	site.Let()
	if got := string((<-call).Data(t)); got != `"released"` {
		t.Errorf("the call in flight gave %s", got)
	}
	if err := s.End(); err != nil {
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
			site := suite.Pages(t)
			tmp := suite.TempDir(t)
			s, err := suite.Start(suite.Pagetools(t), "", tmp, "serve", "good="+site.Page("good.html"), "--warm", "0")
			if err != nil {
				t.Fatal(err)
			}
			call := s.Later("/webtools/good", held)
			site.AwaitHeld(t)
			family := suite.Descendants(s.Cmd.Process.Pid)
			if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			suite.Eventually(t, suite.StopWithin, "the first signal is taken", func() bool { return strings.Contains(s.Stderr.String(), "stopping") })
			if err := s.Cmd.Process.Signal(second); err != nil {
				t.Fatal(err)
			}
			select {
			case <-s.Ended:
			case <-time.After(suite.StopWithin):
				t.Error("the second signal did not end it")
				kill([]suite.Process{{PID: s.Cmd.Process.Pid}})
			}
			if r := <-call; r.Err == nil {
				t.Errorf("the call was answered: %d %s", r.Status, suite.Shorten(r.Body))
			}
			noneLeft(t, tmp, family)
			if err := os.RemoveAll(tmp); err != nil { // what the next start would clean
				t.Error(err)
			}
		})
	}
}
