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
)

func TestProfile(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "PAGETOOLS_TOKEN", "DBUS_SESSION_BUS_ADDRESS", "KEPT"} {
		t.Setenv(name, "outside")
	}
	p, err := newProfile(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"", "data", "home", "t"} {
		info, err := os.Stat(filepath.Join(p.dir, sub))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q is %v, %v", sub, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Join(p.dir, lockName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock is %v, %v", info.Mode(), err)
	}
	if name := filepath.Base(p.dir); !strings.HasPrefix(name, profilePrefix) {
		t.Errorf("the folder is %s", name)
	}
	env := map[string]string{}
	for _, kv := range p.env() {
		name, value, _ := strings.Cut(kv, "=")
		if _, twice := env[name]; twice {
			t.Errorf("%s is given twice", name)
		}
		env[name] = value
	}
	for _, name := range []string{"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		if !strings.HasPrefix(env[name], p.dir+"/") {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "PAGETOOLS_TOKEN", "DBUS_SESSION_BUS_ADDRESS"} {
		if v, ok := env[name]; ok {
			t.Errorf("the browser gets %s=%s", name, v)
		}
	}
	if env["KEPT"] != "outside" {
		t.Error("another variable is lost")
	}
	if abandoned(p.dir) {
		t.Error("a folder that we hold counts as abandoned")
	}
	if err := p.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("after remove: %v", err)
	}
}

func TestProfileBase(t *testing.T) {
	long := "/tmp/" + strings.Repeat("x", maxBase)
	t.Setenv("TMPDIR", long)
	if got := profileBase(""); got != "/tmp" {
		t.Errorf("with a long TMPDIR: %s", got)
	}
	if _, err := newProfile(long); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("in a long folder: %v", err)
	}
	t.Setenv("TMPDIR", base)
	if got := profileBase(""); got != base {
		t.Errorf("with a short TMPDIR: %s", got)
	}
	if _, err := newProfile(filepath.Join(base, "x")); err == nil {
		t.Error("in a folder that is not there: no error")
	}
}

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

// TestClean: only what a killed predecessor of ours left is removed.
func TestClean(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	make := func(name string, files ...string) string {
		path := filepath.Join(dir, name)
		for _, f := range append(files, "data/x") {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(path, f)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	link := func(target, name string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := make("somebody", lockName)
	gone := []string{make(profilePrefix+"1", lockName), make(newPrefix + "old")}
	kept := []string{
		foreign, make(profilePrefix + "2"), make(newPrefix + "young"), make("pagetools", lockName), make("x"+profilePrefix+"3", lockName),
		link(foreign, profilePrefix+"link"), link(foreign, newPrefix+"link"),
	}
	tricked := make(profilePrefix + "4") // its lock is a symlink to somebody's file
	if err := os.Symlink(filepath.Join(foreign, lockName), filepath.Join(tricked, lockName)); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, tricked)
	file := filepath.Join(dir, profilePrefix+"file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, file)
	if os.Geteuid() == 0 { // somebody else's
		other := make(profilePrefix+"5", lockName)
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, other)
	}
	past := time.Now().Add(-2 * staleNew)
	if err := os.Chtimes(gone[1], past, past); err != nil {
		t.Fatal(err)
	}
	mine, err := newProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept = append(kept, mine.dir)
	// What is inside of a symlink in a folder of ours is not followed either.
	if err := os.Symlink(foreign, filepath.Join(gone[0], "out")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Clean(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range gone {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range append(kept, filepath.Join(foreign, "data/x")) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
	if err := mine.remove(); err != nil {
		t.Error(err)
	}
	if err := Clean(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there can be cleaned")
	}
}

// TestKilledBridge: after SIGKILL of the process that started it, no browser is
// left, and a successor removes the folder, but not one that is in use.
func TestKilledBridge(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	victim, alive := helper(t, dir), helper(t, dir)
	profiles := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "pagetools-*"))
		return found
	}
	before := profiles()
	if len(before) != 2 || len(processes(dir)) < 2 {
		t.Fatalf("there are %v and %d processes", before, len(processes(dir)))
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	held := slices.DeleteFunc(profiles(), abandoned)
	if len(held) != 1 {
		t.Fatalf("%v are held", held)
	}
	left := slices.DeleteFunc(before, func(p string) bool { return p == held[0] })[0]
	if pids := awaitProcesses(left, 0, 3*time.Second); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
	if err := Clean(dir); err != nil {
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

// TestCleanEndsBrowsers: a browser whose folder is abandoned, because it outlived
// its controller, is ended by Clean.
func TestCleanEndsBrowsers(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	p, err := newProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	orphan := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 60 & wait", "sh", "--user-data-dir="+p.data())
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	_ = p.lock.Close()
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = orphan.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(3 * time.Second):
		t.Error("it still runs")
		_ = orphan.Process.Kill()
		<-ended
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Error("its folder is still there")
	}
}

// TestCycles starts and closes browsers: nothing is left of them.
func TestCycles(t *testing.T) {
	dir := folders(t)
	cycles := 20
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
	kept := func(o *LocalOptions) { o.UserDataDir = dir }
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
	case <-w.target.gone:
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
