package suite

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite/docs"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// Scratch is the folder for everything that this run writes: TMPDIR of the tests and of
// every process that they start. Main makes it, and removes it.
var Scratch string

// Main runs the tests of a package in a folder of their own, and returns the exit code. It fails
// when a process, a browser's profile or anything else is left in that folder. The commands that
// the tests start share a browser when share is true, but for those that are called with
// OwnBrowser.
func Main(m *testing.M, share bool) int {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // two keep two cores busy, and some wait
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	var err error
	if Scratch, err = os.MkdirTemp("", "pt"); err != nil { // a short name: browsers make sockets below it
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	settings := map[string]string{"TMPDIR": Scratch, "CI": "", // each test says itself when a command runs in CI
		"PAGETOOLS_CONSOLE_LISTEN": "off"} // one port would be everybody's
	if os.Geteuid() == 0 { // as make test does: every page here is our own
		settings["PAGETOOLS_NO_SANDBOX"] = "1"
	}
	gatetest.TakeBrowser()
	for name, value := range settings {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
	}
	if share {
		browser, err := sharedBrowser()
		if err == nil {
			err = os.Setenv("PAGETOOLS_BROWSER_URL", browser)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "e2e: the tests need a browser:", err)
			return 1
		}
	}
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: stopping what tests share:", err)
		code = 1
	}
	if err := leaks(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: left behind:", err)
		code = 1
	}
	if err := os.RemoveAll(Scratch); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	return code
}

// leaks looks for processes that name our folder, and for folders of browsers.
func leaks() error {
	var all error
	left := func() []Process { return Processes(func(p Process) bool { return strings.Contains(p.Line, Scratch) }) }
	if !Within(LastProcesses, func() bool { return len(left()) == 0 }) {
		for _, p := range left() {
			all = errors.Join(all, fmt.Errorf("process %d: %s", p.PID, p.Line))
		}
	}
	err := filepath.WalkDir(Scratch, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), "pagetools-") {
			all = errors.Join(all, errors.New(path))
		}
		return err
	})
	return errors.Join(all, err)
}

// Pagetools returns the path of the binary under test, which it builds if need be.
func Pagetools(t *testing.T) string {
	t.Helper()
	path, err := docs.Binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// PagesEnd returns the configuration of a node of a cluster, unless it has browsers, with the shared browser, in which its pages end
// with it. The node needs OwnBrowser, too.
func PagesEnd(config string) string {
	if at := os.Getenv("PAGETOOLS_BROWSER_URL"); at != "" && !strings.Contains(config, "browsers:") {
		config += fmt.Sprintf("browsers: [{name: shared, url: %q, max: 40, reattach: never}]\n", at)
	}
	return config
}

// OwnBrowser is the argument with which a command starts a browser of its own: tests about
// browsers and about the network of pages have it.
const OwnBrowser = "--browser-url="

// sharedBrowser starts a browser that tests share.
func sharedBrowser() (address string, err error) {
	address, _, stop, err := startBrowser()
	if err == nil {
		atEnd(stop)
	}
	return address, err
}

// UsersBrowser starts a browser as a person runs it, with tabs that show the addresses. It returns the
// address of its debugging port and its profile folder, and ends with the test.
func UsersBrowser(t *testing.T, shows ...string) (address, profile string) {
	t.Helper()
	address, profile, stop, err := startBrowser(shows...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	return address, profile
}

// startBrowser starts a browser with a debugging port, as a user would, and returns the port's
// address and its profile folder.
func startBrowser(shows ...string) (address, dir string, stop func() error, err error) {
	dir, err = os.MkdirTemp(Scratch, "b")
	if err != nil {
		return "", "", nil, err
	}
	args := []string{"--headless", "--site-per-process", "--remote-debugging-port=0", "--user-data-dir=" + dir, "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-features=SpareRendererForSitePerProcess"}
	if os.Getenv("PAGETOOLS_NO_SANDBOX") == "1" {
		args = append(args, "--no-sandbox")
	}
	path, _, err := chrome.Find(chrome.Options{Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH")})
	if err != nil {
		return "", "", nil, err
	}
	cmd := exec.Command(path, append(args, shows...)...)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", "", nil, err
	}
	stop = func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		return nil
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "DevTools listening on ws://"); ok {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			host, _, _ := strings.Cut(rest, "/")
			return "http://" + host, dir, stop, nil
		}
	}
	return "", "", nil, errors.Join(errors.New("the browser names no port"), stop(), lines.Err())
}

// shared are the servers that several tests use, to be stopped at the end.
var shared struct {
	sync.Mutex
	stops []func() error
}

func atEnd(stop func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.stops = append(shared.stops, stop)
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	var all error
	for i := len(shared.stops) - 1; i >= 0; i-- {
		all = errors.Join(all, shared.stops[i]())
	}
	return all
}
