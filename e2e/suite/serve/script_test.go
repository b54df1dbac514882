package serve_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session/cdp/chrome"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// serverKey says where a script's environment keeps its server.
type serverKey struct{}

// TestScripts runs testdata/script. Beyond the commands of testscript there are:
//
//	exits CODE COMMAND [ARG...]    runs a command, which ends with exactly CODE
//	oneline stdout|stderr          what it printed there is one line
//	plain stdout|stderr            what it printed there has no control characters
//	start VERB [ARG...]            starts a verb that serves; $URL is its address
//	get PATH                       asks that server; status and body are stdout
//	post PATH JSON                 the same with a body
//	halt                           ends that server in order
//	fill FILE WORD VALUE           puts VALUE for WORD into a file
func TestScripts(t *testing.T) {
	t.Parallel()
	path := suite.Pagetools(t)
	docs.Walk(t, func(name string, data []byte) { // testscript's own stop ends a script early, as passed
		if strings.HasSuffix(name, ".txtar") && regexp.MustCompile(`(?m)^stop\b`).Match(data) {
			t.Errorf("%s: stop ends the script, halt the server", name)
		}
	})
	site := suite.PageServer()
	api := suite.RecipesServer(t)
	refused, err := suite.RefusedAddress()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		WorkdirRoot:         suite.Scratch,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			tmp, err := os.MkdirTemp(suite.Scratch, "s") // browsers make sockets below it: the path must be short
			if err != nil {
				return err
			}
			env.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("BIN", path)
			env.Setenv("TMPDIR", tmp)
			env.Setenv("PAGETOOLS_DATA_DIR", tmp+"-data")
			env.Setenv("PAGETOOLS_CONSOLE_LISTEN", "off")
			env.Setenv("EXAMPLES", filepath.Join(docs.Root(t), "examples"))
			env.Setenv("SITE", site.URL)
			env.Setenv("RECIPES", api)
			env.Setenv("REFUSED", "http://"+refused)
			env.Setenv("SECURE", strings.Replace(site.URL, "http:", "https:", 1))
			if whole, _, err := chrome.Find(chrome.Options{Kind: chrome.Chromium}); err == nil {
				env.Setenv("WHOLE", whole)
			}
			for _, name := range []string{
				"PAGETOOLS_NO_SANDBOX", "PAGETOOLS_EXECUTABLE_PATH", "PAGETOOLS_WARM",
				"PAGETOOLS_BROWSER_URL", // a script about browsers, or pages' network, sets it to ""
			} {
				env.Setenv(name, os.Getenv(name))
			}
			env.Values[serverKey{}] = new(*suite.Server)
			env.Defer(func() {
				if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
					t.Errorf("%s left %v in its temporary folder (%v)", filepath.Base(env.WorkDir), entries, err)
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "oneline": oneLine, "plain": plainText, "start": startServer, "get": get, "post": post, "halt": stopServer, "fill": fill,
		},
	})
}

func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "nightly":
		return gatetest.IsNightly(), nil
	case "kinds": // both are installed
		_, _, noShell := chrome.Find(chrome.Options{Kind: chrome.Shell})
		_, _, noWhole := chrome.Find(chrome.Options{Kind: chrome.Chromium})
		return noShell == nil && noWhole == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d\n[stdout]\n%s[stderr]\n%s", args[1], got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if one := strings.Count(text, "\n") == 1 && strings.HasSuffix(text, "\n"); one == neg {
		ts.Fatalf("%s is %q", args[0], text)
	}
}

// raw are the characters that steer a terminal, or that turn its text around.
var raw = regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

func plainText(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if clean := !raw.MatchString(text); clean == neg {
		ts.Fatalf("%s is %q", args[0], text)
	}
}

func running(ts *testscript.TestScript) **suite.Server { return ts.Value(serverKey{}).(**suite.Server) }

func startServer(ts *testscript.TestScript, neg bool, args []string) {
	s := running(ts)
	if neg || *s != nil || len(args) == 0 {
		ts.Fatalf("usage: start VERB [ARG...], once until halt")
	}
	var err error
	args = append([]string{args[0], "--config", ts.Getenv("PAGETOOLS_CONFIG"), "--browser-url", ts.Getenv("PAGETOOLS_BROWSER_URL")}, args[1:]...)
	*s, err = suite.Start(ts.Getenv("BIN"), ts.MkAbs("."), ts.Getenv("TMPDIR"), args...)
	ts.Check(err)
	ts.Setenv("URL", (*s).URL)
	ts.Defer(func() {
		if *s != nil {
			ts.Check((*s).Stop())
		}
	})
}

func stopServer(ts *testscript.TestScript, _ bool, _ []string) {
	s := running(ts)
	ts.Check((*s).Stop())
	ts.Logf("%s", (*s).Stderr)
	*s = nil
}

func get(ts *testscript.TestScript, _ bool, args []string) { show(ts, (*running(ts)).Ask(args[0], "")) }

func post(ts *testscript.TestScript, _ bool, args []string) {
	show(ts, (*running(ts)).Ask(args[0], args[1]))
}

// show makes a reply what the script inspects with stdout.
func show(ts *testscript.TestScript, r suite.Reply) {
	ts.Check(r.Err)
	fmt.Fprintf(ts.Stdout(), "%d %s\n", r.Status, r.Body)
}

func fill(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), args[1], args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
