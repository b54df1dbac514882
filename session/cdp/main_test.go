package cdp

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
	"github.com/pagetools/pagetools/session/pageconfig"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// shared is the browser of every test that leaves it whole.
var shared *Engine

// base says where the tests' profiles go, so that what is left is seen.
var base string

func TestMain(m *testing.M) {
	flag.Parse()
	if code, mine := helperProcess(); mine {
		os.Exit(code)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if base, err = os.MkdirTemp("/tmp", "pt-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(base)
	o := localOptions()
	o.Windows = true
	if shared, err = NewLocal(o); err != nil {
		fmt.Fprintln(os.Stderr, "the tests need a browser:", err)
		if errors.Is(err, chrome.ErrRoot) {
			fmt.Fprintln(os.Stderr, "their pages can be trusted: set PAGETOOLS_NO_SANDBOX=1, as make test does")
		}
		return 1
	}
	return sessiontest.Run(m, os.Stderr, func() error { return errors.Join(shared.Close(), closeNative(), nothingLeft()) })
}

// closeNative closes the browser of native's tests, when one of them made it.
func closeNative() error {
	e, err := nativeEngine()
	if err != nil {
		return err
	}
	return e.Close()
}

// localOptions returns the options of every browser of the tests: the headless shell
// where there is one. Like the binary, tests take the sandbox away only when they are
// told to.
func localOptions() LocalOptions {
	return LocalOptions{Options: chrome.Options{
		Path:      gatetest.Browser(),
		NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1", ProfileDir: base,
	}}
}

var wholeToo = flag.Bool("whole", false, "run what needs a whole browser, too")

// needsWhole skips a test that make contract runs, and make test does not, because a whole browser
// takes three times as long.
func needsWhole(t *testing.T) {
	t.Helper()
	if !*wholeToo {
		t.Skip("make contract runs it")
	}
}

// whole takes the browser itself, for what the headless shell does differently.
func whole(o *LocalOptions) { o.Path = os.Getenv("PAGETOOLS_EXECUTABLE_PATH") }

// nothingLeft fails when profiles or browsers are left.
func nothingLeft() error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%d folders are left, such as %s", len(entries), entries[0].Name())
	}
	if left := awaitProcesses(base, 0, hang); len(left) > 0 {
		return fmt.Errorf("processes %v are left", left)
	}
	return nil
}

// engine makes an engine for one test.
func engine(t *testing.T, change func(*LocalOptions)) *Engine {
	t.Helper()
	o := localOptions()
	if change != nil {
		change(&o)
	}
	e, err := NewLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// open makes a tab of the shared browser or another one, and closes it.
func open(t *testing.T, e *Engine) *tab {
	t.Helper()
	return openWith(t, e, session.TabOptions{})
}

// with are the options of a tab with settings for the site of an origin.
func with(t *testing.T, origin string, s pageconfig.Settings) session.TabOptions {
	t.Helper()
	c, err := s.Check(origin)
	if err != nil {
		t.Fatal(err)
	}
	return session.TabOptions{Origin: origin, Config: c}
}

func openWith(t *testing.T, e *Engine, o session.TabOptions) *tab {
	t.Helper()
	opened, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := opened.(*tab)
	t.Cleanup(func() {
		bounded, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		if err := w.Close(bounded); err != nil {
			t.Error(err)
		}
	})
	return w
}

// processes lists the processes whose command line has the text.
func processes(text string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitProcesses waits until at most n processes have the text, and returns those
// that have it then.
func awaitProcesses(text string, n int, within time.Duration) []int {
	deadline := time.Now().Add(within)
	for {
		left := processes(text)
		if len(left) <= n || time.Now().After(deadline) {
			return left
		}
		<-time.After(20 * time.Millisecond)
	}
}

// current is the browser in the engine's first slot.
func current(e *Engine) *instance { return e.slots[0].current }

// remoteAt names one browser that runs already.
func remoteAt(address string) RemoteOptions {
	return RemoteOptions{Endpoints: []endpoint.Endpoint{{URL: address}}}
}

// browserOf returns the process of the engine's browser.
func browserOf(t *testing.T, e *Engine) int {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if current(e) == nil {
		t.Fatal("no browser runs")
	}
	return current(e).process.PID()
}

// renderersOf returns the renderers of the engine's browser.
func renderersOf(t *testing.T, e *Engine) []int {
	t.Helper()
	return partsOf(t, e, "--type=renderer")
}

// partsOf returns the processes of the engine's browser whose command line has the text:
// they are in its process group.
func partsOf(t *testing.T, e *Engine, text string) (pids []int) {
	t.Helper()
	browser := browserOf(t, e)
	for _, pid := range processes(text) {
		if isIn(pid, browser) {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Fatalf("the browser has no process with %s", text)
	}
	return pids
}

// quick are times that a test can wait for.
var quick = times{silence: 50 * time.Millisecond, pulse: 500 * time.Millisecond, pingEvery: 100 * time.Millisecond, pingPatience: 2 * time.Second}

// TestContract holds the engine to the contract in a whole browser, in make contract, and at night
// in the headless shell; make test holds the shell to some groups of it.
func TestContract(t *testing.T) {
	same := func(*LocalOptions) {}
	var groups []string
	if !*wholeToo && !gatetest.IsNightly() {
		groups = []string{"Life", "Calls", "Questions", "DialogsOfOneCall", "BothAsk"}
	}
	contract(t, engine(t, same), same, groups...)
}

// TestNativeContract holds the browser's own WebMCP to the same.
func TestNativeContract(t *testing.T) {
	needsWhole(t)
	native := func(o *LocalOptions) { o.Native = true }
	contract(t, engine(t, native), native)
}

func contract(t *testing.T, e *Engine, change func(*LocalOptions), groups ...string) {
	t.Helper()
	sessiontest.TestEngine(t, sessiontest.Harness{
		Groups: groups,
		Engine: e,
		Fresh: func(t *testing.T) session.Engine {
			t.Helper()
			return engine(t, func(o *LocalOptions) {
				o.Args = []string{"--js-flags=--max-old-space-size=64"}
				change(o)
			})
		},
		Impatient: func(t *testing.T) session.Engine {
			t.Helper()
			e := engine(t, change)
			e.times.silence, e.times.pulse = quick.silence, quick.pulse
			return e
		},
		Serve: func(t *testing.T, _ session.Engine, pages sessiontest.Pages, tls bool) string {
			t.Helper()
			return sessiontest.Serve(t, pages, tls)
		},
		KillBrowser: func(t *testing.T, e session.Engine) {
			t.Helper()
			signal(t, sigKill, browserOf(t, e.(*Engine)))
		},
		KillRenderers: func(t *testing.T, e session.Engine) {
			t.Helper()
			signal(t, sigKill, renderersOf(t, e.(*Engine))...)
		},
		Freeze: func(t *testing.T, e session.Engine) {
			t.Helper()
			signal(t, sigStop, renderersOf(t, e.(*Engine))...)
			<-time.After(quick.silence)
		},
	})
}

// helperProcess runs what a test started this binary for.
func helperProcess() (code int, mine bool) {
	switch os.Getenv("PAGETOOLS_TEST_HELPER") {
	case "":
		return 0, false
	case "browser":
		return helperBrowser(), true
	}
	return 2, true
}

// helperBrowser is like a bridge that is killed: it starts a browser, says so,
// and waits.
func helperBrowser() int {
	base = os.Getenv("PAGETOOLS_TEST_BASE")
	o := localOptions()
	whole(&o) // whose processes all name the profile
	e, err := NewLocal(o)
	if err == nil {
		_, err = e.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("started " + strings.TrimSpace(e.Version()))
	select {}
}

// hang bounds what the contract promises within a second or two, and what a test waits for: a
// busy machine takes longer, and one that takes this long hangs. The logs of -v have what it took.
const hang = time.Minute
