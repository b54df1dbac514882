package chrome

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// active writes the file of a running browser into a folder.
func active(t *testing.T, dir, content string) string {
	t.Helper()
	path := filepath.Join(dir, activePort)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRunning reads what a browser wrote, and refuses what none would write: the address is always one
// of this machine.
func TestRunning(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"9222\n/devtools/browser/1f-ab":          "ws://127.0.0.1:9222/devtools/browser/1f-ab",
		"65535\r\n/devtools/browser/A\n":         "ws://127.0.0.1:65535/devtools/browser/A",
		"":                                       "",
		"9222":                                   "",
		"9222\n":                                 "",
		"0\n/devtools/browser/a":                 "",
		"65536\n/devtools/browser/a":             "",
		"-1\n/devtools/browser/a":                "",
		"9222@evil.example\n/devtools/browser/a": "",
		"9222\n@evil.example/devtools/browser/a": "",
		"9222\n/devtools/browser/../page/1":      "",
		"9222\n/devtools/page/a":                 "",
		"9222\n/devtools/browser/a?b":            "",
		"9222\n/devtools/browser/a\n/devtools":   "",
		"9222\n/devtools/browser/" + strings.Repeat("a", 2000): "",
	} {
		dir := t.TempDir()
		path := active(t, dir, content)
		found, err := Running(dir)
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), path)):
			t.Errorf("%q is %v, %v", content, found, err)
		case want != "" && (err != nil || len(found) != 1 || found[0].URL != want || found[0].File != path):
			t.Errorf("%q is %v, %v", content, found, err)
		}
	}
	none := t.TempDir()
	_, err := Running(none)
	if e, ok := errors.AsType[*NotAllowedError](err); !ok || !slices.Equal(e.Looked, []string{none}) ||
		!strings.Contains(e.Error(), "chrome://inspect/#remote-debugging") {
		t.Errorf("without a file it says %v", err)
	}
}

// TestRunningIsMine: a link may lead to the file of somebody else's browser.
func TestRunningIsMine(t *testing.T) {
	t.Parallel()
	real, dir := t.TempDir(), t.TempDir()
	path := active(t, real, "9222\n/devtools/browser/a")
	if err := os.Symlink(path, filepath.Join(dir, activePort)); err != nil {
		t.Skip("this system makes no links:", err)
	}
	if found, err := Running(dir); err == nil || !strings.Contains(err.Error(), "is not a file of this user") {
		t.Errorf("a link is followed: %v, %v", found, err)
	}
	if _, err := Running(real); err != nil {
		t.Error(err)
	}
}

// TestProfileFolders: the usual folders of each system, Chrome's first.
func TestProfileFolders(t *testing.T) {
	t.Parallel()
	env := func(of map[string]string) func(string) string {
		return func(name string) string { return of[name] }
	}
	home := map[string]string{"HOME": "/home/ada", "LOCALAPPDATA": "/local"}
	for system, want := range map[string][]string{
		"linux": {"/home/ada/.config/google-chrome", "/home/ada/.config/google-chrome-beta", "/home/ada/.config/google-chrome-unstable",
			"/home/ada/.config/chromium", "/home/ada/snap/chromium/common/chromium"},
		"darwin": {"/home/ada/Library/Application Support/Google/Chrome", "/home/ada/Library/Application Support/Google/Chrome Beta",
			"/home/ada/Library/Application Support/Google/Chrome Dev", "/home/ada/Library/Application Support/Google/Chrome Canary",
			"/home/ada/Library/Application Support/Chromium"},
		"windows": {"/local/Google/Chrome/User Data", "/local/Google/Chrome Beta/User Data", "/local/Google/Chrome Dev/User Data",
			"/local/Google/Chrome SxS/User Data", "/local/Chromium/User Data"},
	} {
		for i := range want {
			want[i] = filepath.FromSlash(want[i])
		}
		if got := profileFolders(system, env(home)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
	home["XDG_CONFIG_HOME"] = "/config"
	if got := profileFolders("linux", env(home))[0]; filepath.ToSlash(got) != "/config/google-chrome" && filepath.IsAbs("/config") {
		t.Errorf("with XDG_CONFIG_HOME: %s", got)
	}
}

// TestForeign: a port at which a program of this user listens is taken, and where the system tells, no
// other.
func TestForeign(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := Endpoint{File: "/profile/" + activePort, Port: l.Addr().(*net.TCPAddr).Port}
	if err := at.Foreign(); err != nil {
		t.Error(err)
	}
}
