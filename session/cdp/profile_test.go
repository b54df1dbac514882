package cdp

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
		found, _ := filepath.Glob(filepath.Join(dir, "pagetools-*"))
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
	if pids := awaitProcesses(left, 0, 3*time.Second); len(pids) > 0 {
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
	if pids := awaitProcesses(dir, 0, 3*time.Second); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// TestCycles starts and closes browsers: nothing is left of them.
func TestCycles(t *testing.T) {
	dir := folders(t)
	cycles := 10
	if testing.Short() {
		cycles = 3
	}
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
	if pids := awaitProcesses(dir, 0, 3*time.Second); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// TestOperatorsProfile: a profile that the operator keeps survives, with what
// pages stored, and two browsers cannot have it at once.
func TestOperatorsProfile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := func(o *LocalOptions) {
		whole(o)
		o.UserDataDir = dir
	}
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>
		tool('visits', () => { const n = 1 + Number(localStorage.n ?? 0); localStorage.n = n; return n })</script>`)})
	for n := 1; n <= 2; n++ {
		e := engine(t, kept)
		p := showPage(t, e, base+"/")
		if got := p.must("visits", "{}"); got != fmt.Sprint(n) {
			t.Errorf("visit %d is %s", n, got)
		}
		if n == 1 {
			second := engine(t, kept)
			if _, err := second.Start(t.Context()); err == nil {
				t.Error("two browsers have one profile")
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
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
	signal(t, syscall.SIGSTOP, pid)
	select {
	case <-w.target.Gone():
	case <-time.After(10 * time.Second):
		signal(t, syscall.SIGCONT, pid)
		t.Fatal("nobody noticed")
	}
	for range w.Events() {
	}
	open(t, e)
	if now := browserOf(t, e); now == pid {
		t.Error("the frozen browser is used again")
	}
}
