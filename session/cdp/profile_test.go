package cdp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// helper starts this binary as a bridge-like process over a folder, and waits
// until its browser runs.
func helper(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "PAGETOOLS_TEST_HELPER=browser", "PAGETOOLS_TEST_BASE="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "started") {
		t.Fatalf("the helper said %q, %v", line, err)
	}
	return cmd
}

// folders makes a folder that profiles fit in.
func folders(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestKilledBridge: after SIGKILL of the process that started it, no browser is
// left, and a successor removes the folder, but not one that is in use.
func TestKilledBridge(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	profiles := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "pagetools-*[0-9]"))
		return found
	}
	victim := helper(t, dir)
	left := profiles()[0]
	alive := helper(t, dir)
	before := profiles()
	if len(before) != 2 || len(processes(dir)) < 2 {
		t.Fatalf("there are %v and %d processes", before, len(processes(dir)))
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	held := slices.DeleteFunc(before, func(p string) bool { return p == left })
	if pids := awaitProcesses(left, 0, hang); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
	if err := chrome.Clean(dir); err != nil {
		t.Fatal(err)
	}
	if now := profiles(); !slices.Equal(now, held) {
		t.Errorf("after Clean there are %v, want %v", now, held)
	}
	if len(processes(held[0])) < 2 {
		t.Error("the browser of a living process was ended")
	}
	_ = alive.Process.Kill()
	_ = alive.Wait()
	if pids := awaitProcesses(dir, 0, hang); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// TestCycles starts and closes browsers: nothing is left of them.
func TestCycles(t *testing.T) {
	dir := folders(t)
	cycles := gatetest.Amount(2, 10)
	for i := range cycles {
		o := localOptions()
		o.ProfileDir = dir
		e, err := NewLocal(o)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // with a page, or while it starts
			if _, err := e.Open(t.Context(), session.TabOptions{}); err != nil {
				t.Fatal(err)
			}
		} else {
			starting := make(chan error, 1)
			go func() { _, err := e.Start(t.Context()); starting <- err }()
			<-time.After(time.Duration(i) * 20 * time.Millisecond)
			defer func() { <-starting }()
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("after cycle %d there is %s", i, left[0].Name())
		}
	}
	if pids := awaitProcesses(dir, 0, hang); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// TestOperatorsProfile (R34): a profile that the operator keeps survives, with what pages
// stored; two browsers cannot have it at once, and no other kind gets it.
func TestOperatorsProfile(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		tool('visits', () => { const n = 1 + Number(localStorage.n ?? 0); localStorage.n = n; return n })</script>`)})
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		dir := t.TempDir()
		kept := func(o *LocalOptions) {
			only(o)
			o.UserDataDir = dir
		}
		answers := func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, "Local State"))
			return bytes.Contains(text, []byte(`"schemes":""`))
		}
		for n := 1; n <= 2; n++ {
			e := engine(t, kept)
			p := showPage(t, e, base+"/")
			if got := p.must("visits", "{}"); got != fmt.Sprint(n) {
				t.Errorf("visit %d is %s", n, got)
			}
			var mine LocalOptions
			if only(&mine); answers() != (mine.Kind == chrome.Chromium) {
				t.Errorf("visit %d of a %s: what asks for a login is left to nobody: %t", n, mine.Kind, answers())
			}
			if n == 1 {
				_, err := engine(t, kept).Start(t.Context())
				if !errors.Is(err, chrome.ErrProfileInUse) || !strings.Contains(err.Error(), dir) {
					t.Errorf("two browsers have one profile: %v", err)
				}
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if answers() {
				t.Errorf("after visit %d the profile of the operator asks nobody for a login", n)
			}
		}
		inBothKinds(t, func(t *testing.T, other func(*LocalOptions)) {
			var mine, theirs LocalOptions
			only(&mine)
			other(&theirs)
			theirs.UserDataDir = dir
			_, err := NewLocal(theirs)
			if refused := err != nil && strings.Contains(err.Error(), dir+" was written by"); refused != (mine.Kind != theirs.Kind) {
				t.Errorf("what a %s wrote, a %s opens: %v", mine.Kind, theirs.Kind, err)
			}
		})
	})
}

// TestLostBrowserOfAProfile: a browser that was lost gives the profile up, and the next one
// gets it.
func TestLostBrowserOfAProfile(t *testing.T) {
	t.Parallel()
	inBothKinds(t, func(t *testing.T, only func(*LocalOptions)) {
		dir := t.TempDir()
		e := engine(t, func(o *LocalOptions) {
			only(o)
			o.UserDataDir = dir
		})
		kills := gatetest.Amount(1, 3)
		for range kills {
			w := open(t, e)
			signal(t, sigKill, browserOf(t, e))
			<-w.target.Gone()
			for range w.Events() {
			}
		}
		open(t, e)
		if c := e.Counts(); c.Started != kills+1 || c.Failed != 0 || c.Lost[LostEnded] != kills || c.Lost[LostSilent] != 0 {
			t.Errorf("it counts %+v", c)
		}
		if s := e.States(false)[0]; s.State != "running" || len(s.Lost) != kills || s.Lost[0].Cause != LostEnded || s.Lost[0].At.After(s.Since) {
			t.Errorf("operators see %+v", s)
		}
	})
}

// TestProfileOfAPerson: a browser of a person that has the profile open is said, and the
// profile can be had when it is closed.
func TestProfileOfAPerson(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	dir := t.TempDir()
	kept := func(o *LocalOptions) {
		whole(o)
		o.UserDataDir = dir
	}
	// A browser that knows nothing of our lock.
	launcher, err := chrome.NewLauncher(chrome.Options{Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), ProfileDir: folders(t),
		NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1", UserDataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := launcher.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "pagetools.lock")); err != nil {
		t.Fatal(err)
	}
	eventually := func(what string, ok func() bool) {
		deadline := time.Now().Add(hang)
		for !ok() {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	eventually("the browser does not lock its profile", func() bool { // its link is there before the socket listens
		conn, err := net.Dial("unix", filepath.Join(dir, "SingletonSocket"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	_, err = engine(t, kept).Start(t.Context())
	if !errors.Is(err, chrome.ErrProfileInUse) || !strings.Contains(err.Error(), fmt.Sprintf("a browser (process %d) has %s open", theirs.PID(), dir)) {
		t.Errorf("while it is open: %v", err)
	}
	theirs.Kill()
	<-theirs.Done()
	if _, err := engine(t, kept).Start(t.Context()); err != nil {
		t.Errorf("the control, when it is closed: %v", err)
	}
}

// TestNotStarted: a browser that does not start says why, once for everybody, and
// leaves nothing.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	failing := filepath.Join(dir, "browser")
	if err := os.WriteFile(failing, []byte("#!/bin/sh\necho no luck >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := engine(t, func(o *LocalOptions) { o.Path, o.ProfileDir = failing, dir })
	for range 2 {
		_, err := e.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no luck") {
			t.Errorf("it says %v", err)
		}
	}
	if err := os.WriteFile(failing, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	<-time.After(firstPause)
	if _, err := e.Start(t.Context()); err == nil || strings.Contains(err.Error(), "no luck") {
		t.Errorf("it says %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "pagetools-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestFrozenBrowser: a browser that says nothing any more is ended, and another
// takes over.
func TestFrozenBrowser(t *testing.T) {
	t.Parallel()
	e := engine(t, nil)
	e.times = quick
	w := open(t, e)
	pid := browserOf(t, e)
	signal(t, sigStop, pid)
	select {
	case <-w.target.Gone():
	case <-time.After(hang):
		signal(t, sigCont, pid)
		t.Fatal("nobody noticed")
	}
	for range w.Events() {
	}
	open(t, e)
	if now := browserOf(t, e); now == pid {
		t.Error("the frozen browser is used again")
	}
}
