package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e"
	"github.com/pagetools/pagetools/e2e/check"
)

// Variables that say what a process of these tests is for.
const (
	ownFlag = "E2E_TEST_OWN_FLAG" // the package has a flag -update of its own
	noMain  = "E2E_TEST_NO_MAIN"  // TestMain does not call Main
	fails   = "E2E_TEST_FAILS"    // the scenarios that fail are run
)

func TestMain(m *testing.M) {
	gatetest.TakeBrowser()
	if os.Getenv(ownFlag) != "" {
		flag.Bool("update", false, "")
	}
	if os.Getenv(noMain) != "" {
		m.Run()
		return
	}
	e2e.Main(m)
}

// site is the app of these tests.
var site = e2e.Options{Dir: "testdata/site"}

func open(t testing.TB, path string) *e2e.Page {
	t.Helper()
	return e2e.Start(t, site).Open(t, path)
}

// fake is a test that may fail.
type fake struct {
	testing.TB // for the methods that nobody calls

	ctx             context.Context
	cleanups        []func()
	said, logs      []string
	failed, skipped bool
}

func (f *fake) Helper()                  {}
func (f *fake) Context() context.Context { return f.ctx }
func (f *fake) Cleanup(c func())         { f.cleanups = append(f.cleanups, c) }
func (f *fake) Failed() bool             { return f.failed }
func (f *fake) Skipped() bool            { return f.skipped }
func (f *fake) Log(args ...any)          { f.logs = append(f.logs, fmt.Sprint(args...)) }
func (f *fake) Logf(s string, a ...any)  { f.Log(fmt.Sprintf(s, a...)) }
func (f *fake) Error(args ...any)        { f.failed, f.said = true, append(f.said, fmt.Sprint(args...)) }
func (f *fake) Errorf(s string, a ...any) {
	f.Error(fmt.Sprintf(s, a...))
}

func (f *fake) Fatal(args ...any) {
	f.Error(args...)
	runtime.Goexit()
}
func (f *fake) Fatalf(s string, a ...any) { f.Fatal(fmt.Sprintf(s, a...)) }
func (f *fake) Skip(args ...any) {
	f.skipped, f.said = true, append(f.said, fmt.Sprint(args...))
	runtime.Goexit()
}

// try runs a test that may fail, to its end.
func try(t *testing.T, test func(t testing.TB)) *fake {
	t.Helper()
	f := &fake{TB: t, ctx: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, c := range slices.Backward(f.cleanups) {
				c()
			}
		}()
		test(f)
	}()
	<-done
	return f
}

// alike matches the ways to fail that are like another one.
var alike = regexp.MustCompile("not JSON|another|is left|not there|succeeds|is missing|too late|that is not one|does not have")

// TestFails: each way in which a test fails, with what it prints. The tests of the documentation
// are the controls: they call the same tools of the same page, and pass.
func TestFails(t *testing.T) {
	t.Parallel()
	buy := map[string]any{"product_id": "42"}
	bought := func(t testing.TB) *e2e.Result {
		t.Helper()
		page := open(t, "/stamps.html")
		page.Human(e2e.Accept("Buy product 42?"))
		return page.Call(t, "buyProduct", buy)
	}
	for _, test := range []struct {
		name string
		run  func(t testing.TB)
		want []string // parts of what is said
	}{
		{"a wrong result", func(t testing.TB) {
			open(t, "/stamps.html").Call(t, "findStamps", map[string]any{"word": "Jenny"}).
				Match(t, map[string]any{"stamps": []any{map[string]any{"year": 1919}}})
		}, []string{"step: call findStamps", "stamps[0].year is 1918, and must be 1919", ">       "}},
		{"an expectation that is not JSON", func(t testing.TB) {
			open(t, "/").Call(t, "openingHours", nil).Match(t, `closed`)
		}, []string{"the expectation cannot be read", `a text needs quotes, such as`}},
		{"a question without an answer", func(t testing.TB) {
			open(t, "/stamps.html").Call(t, "buyProduct", buy)
		}, []string{"a question was asked that nobody answers: confirm", "Buy product 42?",
			"the call failed: TOOL_ERROR"}},
		{"an answer to another question", func(t testing.TB) {
			page := open(t, "/stamps.html")
			page.Human(e2e.Accept("Buy product 43?"))
			page.CallError(t, "buyProduct", buy)
		}, []string{"a question was asked that nobody answers", `must be "Buy product 43?"`}},
		{"an answer that is left", func(t testing.TB) {
			page := open(t, "/stamps.html")
			page.Human(e2e.Decline("Really?").To(bridge.Confirm))
			page.Tools(t)
		}, []string{"an answer was not asked for: decline of Human in line",
			`for a question of the kind confirm with the message "Really?"`}},
		{"a call that fails", func(t testing.TB) {
			open(t, "/stamps.html").Call(t, "findStamps", map[string]any{"wort": "Jenny"})
		}, []string{"the call failed: SCHEMA_ERROR"}},
		{"a tool that is not there", func(t testing.TB) {
			open(t, "/stamps.html").Call(t, "findStamp", nil)
		}, []string{"the call failed: WEBTOOL_NOT_FOUND"}},
		{"a call that succeeds", func(t testing.TB) {
			open(t, "/").CallError(t, "openingHours", nil)
		}, []string{"the call succeeded, and must fail", "9 to 5"}},
		{"an effect that is not allowed", func(t testing.TB) { bought(t).Effects(t).None() },
			[]string{"network[0] was touched, and is not expected", "/orders?from=stamps", "product_id"}},
		{"another effect", func(t testing.TB) { bought(t).Effects(t).Only(e2e.POST("/order")) },
			[]string{"network[0] was touched, and is not expected"}},
		{"an effect that is missing", func(t testing.TB) {
			bought(t).Effects(t).Only(e2e.POST("/orders"), e2e.Storage("cookie"))
		}, []string{"storage has nothing that matches entry 1"}},
		{"effects too late", func(t testing.TB) {
			page := open(t, "/")
			got := page.Call(t, "openingHours", nil)
			page.Call(t, "openingHours", nil)
			got.Effects(t)
		}, []string{"the page ran another call after"}},
		{"a finding", func(t testing.TB) { open(t, "/vague.html").Check(t, e2e.FailOn(check.Warning)) },
			[]string{"description-length", "go"}},
		{"a rule that is not one", func(t testing.TB) {
			open(t, "/vague.html").Check(t, e2e.Rule("description-long", check.Setting{}))
		}, []string{"Rule:", "description-long"}},
		{"a severity that is not one", func(t testing.TB) {
			open(t, "/vague.html").Check(t, e2e.FailOn("warn"))
		}, []string{`invalid value "warn" for FailOn: must be error, warning, info or off`}},
		{"a lock file that is not there", func(t testing.TB) {
			open(t, "/").MatchLock(t, "testdata/none.lock")
		}, []string{"there is no lock file testdata/none.lock: go test -update writes it"}},
		{"a page that the lock file does not have", func(t testing.TB) {
			open(t, "/vague.html").MatchLock(t, "testdata/stamps.lock")
		}, []string{"it does not have the page testdata/site/vague.html"}},
		{"a page of another site", func(t testing.TB) { open(t, "https://other.example/") },
			[]string{"is not a path of the site"}},
		{"no app", func(t testing.TB) { e2e.Start(t, e2e.Options{}) },
			[]string{"Options name no app: give Dir, or URL, or Serve and URL"}},
		{"a folder that is not there", func(t testing.TB) { e2e.Start(t, e2e.Options{Dir: "nowhere"}) },
			[]string{`invalid value "nowhere" for dir: it is not a folder`}},
		{"an unknown key of config", func(t testing.TB) {
			e2e.Start(t, e2e.Options{Dir: "testdata/site", Config: map[string]any{"lokale": "de"}})
		}, []string{`unknown key "lokale" in config: did you mean locale?`}},
		{"a config that is not one", func(t testing.TB) {
			e2e.Start(t, e2e.Options{Dir: "testdata/site", Config: map[string]any{"locale": 3}})
		}, []string{"config"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if alike.MatchString(test.name) {
				gatetest.Nightly(t, "another one like it fails by day")
			}
			f := try(t, test.run)
			said := strings.Join(f.said, "\n")
			if !f.failed || f.skipped {
				t.Errorf("it did not fail, and said %q", said)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("it lacks %q:\n%s", want, said)
				}
			}
		})
	}
}

// TestPerson: what the person can do besides to accept and decline confirm().
func TestPerson(t *testing.T) {
	t.Parallel()
	page := open(t, "/stamps.html")
	page.Human(e2e.Fill("Your name?", "Ada"), e2e.Accept("").To(bridge.Approve))
	got := page.Call(t, "signGuestBook", nil)
	got.Match(t, `{"content": [{"text": "Ada signed."}]}`)
	got.Effects(t).Only(e2e.Storage("localStorage"))
	page.Call(t, "emptyCart", nil).Match(t, `{"content": [{"text": {"$contains": "empty"}}]}`)

	other := open(t, "/stamps.html") // with nothing of the first one
	other.Human(e2e.Ignore("").To(bridge.Approve))
	other.CallError(t, "emptyCart", nil).Match(t, `{"code": "APPROVAL_DENIED"}`)
}

// TestPersonActs (K3): the person clicks, fills in and chooses in the page, in shadow trees, too.
func TestPersonActs(t *testing.T) {
	t.Parallel()
	page := open(t, "/pay.html")
	page.Human(e2e.Act("", e2e.FillIn("#name", "Ada"), e2e.FillIn("#day", "2026-01-31"), e2e.Choose("#file", "testdata/stamps.lock"),
		e2e.Choose("select", "L"), e2e.Click("#card >>> button")))
	page.Call(t, "pay", nil).Match(t, `{"trusted": true, "name": "Ada", "day": "2026-01-31", "file": "stamps.lock", "size": "L"}`)
	page.Human(e2e.Decline("").Acting(e2e.FillIn("#name", "Bo")))
	page.CallError(t, "pay", nil).Match(t, `{"code": "TOOL_ERROR"}`)
	for name, a := range map[string]e2e.Answer{"nothing to do": e2e.Act(""), "nobody acts": e2e.Ignore("").Acting(e2e.Click("#name"))} {
		if f := try(t, func(t testing.TB) { open(t, "/pay.html").Human(a) }); !f.failed || !strings.Contains(strings.Join(f.said, "\n"), "an answer says nothing") {
			t.Errorf("%s: %q", name, f.said)
		}
	}
}

// TestAlone: what a page does by itself is not its tools' doing, and hides nothing of theirs.
func TestAlone(t *testing.T) {
	t.Parallel()
	page := open(t, "/news.html")
	page.Call(t, "readNews", nil).Effects(t).None()
	page.Call(t, "order", nil).Effects(t).Only(e2e.POST("/orders"))
}

// TestPages: a page is one of its own, goes elsewhere, and has the config of the options.
func TestPages(t *testing.T) {
	t.Parallel()
	page := open(t, "")
	if got := page.Tools(t); !slices.Equal(got, []string{"openingHours"}) {
		t.Errorf("the tools are %q", got)
	}
	page.Goto(t, "/stamps.html")
	if got := page.Tools(t); !slices.Contains(got, "buyProduct") {
		t.Errorf("after Goto the tools are %q", got)
	}
	if f := try(t, func(t testing.TB) { page.Goto(t, "https://other.example/") }); !f.failed {
		t.Error("it went to another site")
	}
	got := open(t, "/").Call(t, "openingHours", nil)
	if !strings.Contains(string(got.JSON()), `"monday":"9 to 5"`) {
		t.Errorf("the result is %s", got.JSON())
	}
}

// TestWriteLock: -update writes a lock file, with several pages, which then holds.
func TestWriteLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "both.lock")
	pages := []string{"/", "/stamps.html"}
	setUpdate(t, "true")
	page := open(t, "")
	page.MatchLock(t, file)
	page.Goto(t, "/stamps.html")
	page.MatchLock(t, file)
	setUpdate(t, "false")
	for _, path := range pages {
		open(t, path).MatchLock(t, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ from, to, want string }{
		{`"word": {`, `"words": {`, "Breaking"}, // an argument has another name
		{`whose name contains`, `whose title contains`, ""},
	} {
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), change.from, change.to, 1)),
			0o600); err != nil {
			t.Fatal(err)
		}
		f := try(t, func(t testing.TB) { open(t, "/stamps.html").MatchLock(t, file) })
		said := strings.Join(slices.Concat(f.said, f.logs), "\n")
		if f.failed != (change.want != "") || !strings.Contains(said, "findStamps") ||
			!strings.Contains(said, change.want) {
			t.Errorf("with %s it failed: %v, and said:\n%s", change.to, f.failed, said)
		}
	}
}

func setUpdate(t *testing.T, value string) {
	t.Helper()
	if err := flag.Set("update", value); err != nil {
		t.Fatal(err)
	}
}

// TestNoBrowser: a test is skipped where no browser is, and fails in CI.
func TestNoBrowser(t *testing.T) {
	t.Setenv("PAGETOOLS_EXECUTABLE_PATH", filepath.Join(t.TempDir(), "chrome"))
	o := e2e.Options{Dir: "testdata/site", URL: "/stamps.html"}
	for _, test := range []struct {
		ci    string
		fails bool
	}{{"", false}, {"false", false}, {"true", true}} {
		t.Setenv("CI", test.ci)
		f := try(t, func(t testing.TB) { e2e.Start(t, o) })
		said := strings.Join(f.said, "\n")
		if f.failed != test.fails || f.skipped == test.fails ||
			!strings.Contains(said, "name one with PAGETOOLS_EXECUTABLE_PATH") {
			t.Errorf("with CI=%s: failed %v, skipped %v:\n%s", test.ci, f.failed, f.skipped, said)
		}
	}
	t.Setenv("PAGETOOLS_HEADLESS", "perhaps")
	f := try(t, func(t testing.TB) { e2e.Start(t, o) })
	if said := strings.Join(f.said, "\n"); !f.failed || !strings.Contains(said,
		`invalid value "perhaps" for PAGETOOLS_HEADLESS`) {
		t.Errorf("with a wrong variable: %s", said)
	}
}

// TestRoot: as root a test says what to set, and sets it not by itself.
func TestRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it is about tests that run as root")
	}
	t.Setenv("PAGETOOLS_NO_SANDBOX", "")
	t.Setenv("CI", "")
	f := try(t, func(t testing.TB) { e2e.Start(t, e2e.Options{Dir: "testdata/site", URL: "/news.html"}) })
	if said := strings.Join(f.said, "\n"); !f.skipped || !strings.Contains(said, "PAGETOOLS_NO_SANDBOX=1") {
		t.Errorf("it said %s", said)
	}
}

// process runs these tests again in a process of its own, and returns what that prints.
func process(t *testing.T, variable string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), variable+"=1")
	out, err := c.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), err
}

// TestUpdateFlag: a package has -update by Main, or of its own beside it, and otherwise not.
func TestUpdateFlag(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"E2E_TEST_NOTHING": "", ownFlag: "", noMain: "flag provided but not defined: -update",
	} {
		out, err := process(t, variable, "-test.run=^$", "-update")
		if (err == nil) != (want == "") || !strings.Contains(out, want) {
			t.Errorf("with %s: %v\n%s", variable, err, out)
		}
	}
}

func TestWrongScenarios(t *testing.T) {
	if os.Getenv(fails) == "" {
		t.Skip("TestScenariosFail runs it")
	}
	e2e.Run(t, "testdata/wrong/*.webtool.yaml")
}

// TestScenariosFail: a case that fails is a subtest that fails, and prints what pagetools test
// prints. One that passes, and one that -run does not choose, is the control.
func TestScenariosFail(t *testing.T) {
	t.Parallel()
	out, err := process(t, fails, "-test.v", "-test.run=^TestWrongScenarios$/^wrong.webtool.yaml$/.*/^webtool$")
	if err == nil {
		t.Errorf("it passes:\n%s", out)
	}
	const tests = "TestWrongScenarios/wrong.webtool.yaml/"
	for _, want := range []string{
		"--- FAIL: " + tests + "expects_too_much/webtool", "--- PASS: " + tests + "passes/webtool",
		"message: the result: total is 1, and must be 2.", "differs at: total", `>   "total": 1`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "repeat it:") { // go test has no command line of pagetools
		t.Errorf("it names a command:\n%s", out)
	}
	if other := regexp.MustCompile(`(?m)^.*--- .*/page\b.*$`).FindString(out); other != "" {
		t.Errorf("it ran %s", other)
	}
}
