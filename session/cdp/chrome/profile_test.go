package chrome

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
)

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

func TestProfile(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "PAGETOOLS_TOKEN", "DBUS_SESSION_BUS_ADDRESS", "AWS_SECRET_ACCESS_KEY", "LC_ALL"} {
		t.Setenv(name, "outside")
	}
	p, err := (&Options{ProfileDir: folders(t)}).newProfile()
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"", "data", "home", "t"} {
		info, err := os.Stat(filepath.Join(p.dir, sub))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q is %v, %v", sub, info.Mode(), err)
		}
	}
	if info, err := os.Stat(p.dir + lockSuffix); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock is %v, %v", info.Mode(), err)
	}
	if name := filepath.Base(p.dir); !strings.HasPrefix(name, profilePrefix) {
		t.Errorf("the folder is %s", name)
	}
	env := map[string]string{}
	for _, kv := range p.env(false) {
		name, value, _ := strings.Cut(kv, "=")
		if _, twice := env[name]; twice {
			t.Errorf("%s is given twice", name)
		}
		env[name] = value
	}
	for _, name := range []string{"HOME", "TMPDIR", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		if !strings.HasPrefix(env[name], p.dir+"/") {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "PAGETOOLS_TOKEN", "DBUS_SESSION_BUS_ADDRESS", "AWS_SECRET_ACCESS_KEY"} {
		if v, ok := env[name]; ok {
			t.Errorf("the browser gets %s=%s", name, v)
		}
	}
	if env["LC_ALL"] != "outside" || env["PATH"] != os.Getenv("PATH") {
		t.Error("a variable that browsers need is lost")
	}
	if err := p.remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(p.dir)); err != nil || len(left) > 0 {
		t.Errorf("after remove: %v, %v", left, err)
	}
}

func TestProfileBase(t *testing.T) {
	long := "/tmp/" + strings.Repeat("x", maxBase)
	t.Setenv("TMPDIR", long)
	if got := profileBase(""); got != "/tmp" {
		t.Errorf("with a long TMPDIR: %s", got)
	}
	if _, err := (&Options{ProfileDir: long}).newProfile(); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("in a long folder: %v", err)
	}
	base := folders(t)
	t.Setenv("TMPDIR", base)
	if got := profileBase(""); got != base {
		t.Errorf("with a short TMPDIR: %s", got)
	}
	if _, err := (&Options{ProfileDir: filepath.Join(base, "x")}).newProfile(); err == nil {
		t.Error("in a folder that is not there: no error")
	}
}

// TestClean: only what a killed predecessor of ours left is removed.
func TestClean(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	make := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "data/x"), nil, 0o600); err != nil {
			t.Fatal(err)
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
	lock := func(name string) string {
		path := filepath.Join(dir, name+lockSuffix)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := make("somebody")
	gone := []string{make(profilePrefix + "1"), lock(profilePrefix + "1"), lock(profilePrefix + "alone")}
	kept := []string{
		foreign, lock("somebody"), make(profilePrefix + "2"), make("pagetools"), lock("pagetools"),
		make("x" + profilePrefix + "3"), lock("x" + profilePrefix + "3"),
		link(foreign, profilePrefix+"link"), lock(profilePrefix + "link"),
		make(profilePrefix + "4"), link(lock("theirs"), profilePrefix+"4"+lockSuffix), // somebody's file
		make(profilePrefix + "6" + lockSuffix), make(profilePrefix + "6"), // a folder, where the lock is
		lock(profilePrefix + "file"),
	}
	file := filepath.Join(dir, profilePrefix+"file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, file)
	if os.Geteuid() == 0 { // somebody else's
		for _, name := range []string{make(profilePrefix + "5"), lock(profilePrefix + "7")} {
			if err := os.Chown(name, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, name)
		}
		kept = append(kept, lock(profilePrefix+"5"), make(profilePrefix+"7"))
	}
	held := lock(profilePrefix + "8") // as while another process makes its folder
	holder, err := os.OpenFile(held, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := files.Lock(holder); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, held)
	mine, err := (&Options{ProfileDir: dir}).newProfile()
	if err != nil {
		t.Fatal(err)
	}
	kept = append(kept, mine.dir, mine.dir+lockSuffix)
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

// TestProfilesBesideAJanitor: of several processes that make profiles while others clean, each gets
// a folder, which stays as long as it holds the lock.
func TestProfilesBesideAJanitor(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	done := make(chan struct{})
	var makers, janitors sync.WaitGroup
	for range 2 {
		janitors.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := Clean(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		makers.Go(func() {
			for range 25 {
				p, err := (&Options{ProfileDir: dir}).newProfile()
				if err != nil {
					t.Error(err)
					continue
				}
				if _, err := os.Stat(p.data()); err != nil {
					t.Errorf("a janitor took a folder that is held: %v", err)
				}
				if err := p.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	close(done)
	janitors.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestCleanEndsBrowsers: a browser whose folder is abandoned, because it outlived
// its controller, is ended by Clean.
func TestCleanEndsBrowsers(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	p, err := (&Options{ProfileDir: dir}).newProfile()
	if err != nil {
		t.Fatal(err)
	}
	orphan := exec.CommandContext(t.Context(), "/bin/sh", "-c", "echo; read -r line", "sh", "--user-data-dir="+p.data())
	if _, err := orphan.StdinPipe(); err != nil { // read waits for it
		t.Fatal(err)
	}
	out, err := orphan.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	// Start returns before the kernel shows the command line: what it printed comes later.
	if _, err := out.Read(make([]byte, 1)); err != nil {
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
	case <-time.After(time.Minute):
		t.Error("it still runs")
		_ = orphan.Process.Kill()
		<-ended
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Error("its folder is still there")
	}
}
