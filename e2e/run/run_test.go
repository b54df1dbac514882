package run_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// open starts a browser for a site, as the command test does.
func open(ctx context.Context, t *app.Target, complete func(*app.Options)) (*app.App, error) {
	allowed := app.Site{Target: t}
	allowed.Tools.Approval = policy.Operator{Mode: policy.ModeAuto}
	o := app.Options{Sites: []app.Site{allowed}}
	o.Local.Path = gatetest.Browser()
	o.Local.NoSandbox = os.Getenv("PAGETOOLS_NO_SANDBOX") == "1"
	o.Limits.CallTimeout = 5 * time.Second
	o.Browsers = &browsers
	complete(&o)
	return app.Start(ctx, o)
}

// browsers serve all tests of the package.
var browsers app.Browsers

func TestMain(m *testing.M) {
	code := m.Run()
	if err := browsers.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

var update = flag.Bool("update", false, "rewrite the golden files")

func env(name string) (string, bool) { return "hello", name == "GREETING" }

// scenarios reads a file of testdata.
func scenarios(t *testing.T, name string) *scenario.File {
	t.Helper()
	path := filepath.Join("testdata", name+".webtool.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// differsByRun matches what differs in a report from run to run.
var differsByRun = regexp.MustCompile(`\b[0-9.]+ ?(ms|s)\b|0\.[0-9]{3,}|127\.0\.0\.1:[0-9]+`)

// transcript returns a run's words about each case.
func transcript(done *report.Run) string {
	var b strings.Builder
	for _, c := range done.Cases {
		fmt.Fprintf(&b, "%s (%s): %s", c.Name, c.Door, c.Status)
		if c.Reason != "" {
			fmt.Fprintf(&b, ": %s", c.Reason)
		}
		b.WriteByte('\n')
		if f := c.Failure; f != nil {
			fmt.Fprintf(&b, "    %d: %s: %s\n", f.Line, f.Step, f.Message)
			if f.Path != "" {
				fmt.Fprintf(&b, "    at %s\n", f.Path)
			}
		}
	}
	for _, note := range done.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return differsByRun.ReplaceAllStringFunc(b.String(), func(s string) string {
		if strings.Contains(s, "127.") {
			return "SITE"
		}
		if strings.HasSuffix(s, "s") {
			return "TIME"
		}
		return "NUMBER"
	})
}

// daily are the cases of each file that run by day, one of each kind.
var daily = regexp.MustCompile("every kind|steps|^fills|refuses consent|without the right|touches|later|" +
	"wrong result|missing tool|nobody|^errors disagree|what it may not|never ends|is well")

// byDay leaves a file its daily cases, each with one of its doors in turn, but for those about
// differences between doors.
func byDay(f *scenario.File) {
	f.Cases = slices.DeleteFunc(f.Cases, func(c *scenario.Case) bool { return !daily.MatchString(c.Name) })
	for i, c := range f.Cases {
		if !strings.Contains(c.Name, "disagree") {
			c.Via = c.Via[i%len(c.Via):][:1]
		}
	}
}

// ofDoors returns what a transcript has about the cases of the file, through the doors that it
// names.
func ofDoors(f *scenario.File, transcript string) string {
	var b strings.Builder
	kept := false
	for line := range strings.Lines(transcript) {
		if !strings.HasPrefix(line, " ") {
			kept = slices.ContainsFunc(f.Cases, func(c *scenario.Case) bool {
				return slices.ContainsFunc(c.Via, func(d scenario.Door) bool {
					return strings.HasPrefix(line, fmt.Sprintf("%s (%s): ", c.Name, d))
				})
			})
		}
		if kept {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestRun: the ways in which cases pass and fail, as they are reported: all of them through every
// door at night, and some through one of them by day. The golden files hold both, so that each is
// the control of the other.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"passes", "silent", "fails", "hostile"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := scenarios(t, name)
			if !gatetest.IsNightly() && !*update {
				byDay(f)
			}
			var ended int
			done, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{
				Open: open, Env: env, Parallel: 4, CaseTime: 20 * time.Second,
				CaseDone: func(*report.Case) { ended++ },
			})
			if err != nil || done.Interrupted || ended != len(done.Cases) {
				t.Errorf("it ended %d of %d cases: %v", ended, len(done.Cases), err)
			}
			got := transcript(done)
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != ofDoors(f, string(want)) {
				t.Errorf("the cases of %s ended so:\n%s", name, got)
			}
		})
	}
}

// TestRunTells: a failure has what the page said, what it did not get, and pictures; and how to
// repeat just that.
func TestRunTells(t *testing.T) {
	t.Parallel()
	f := readScenario(t, `site: {dir: testdata/site}
via: webtool
cases: [{name: "it's loud", steps: [{call: loud, expect: quiet}]}]`)
	done, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{Open: open, Pictures: true,
		Again: func(file, name string) string { return file + " " + name }})
	if err != nil || len(done.Cases) != 1 || done.Cases[0].Failure == nil {
		t.Fatalf("it ended so: %+v, %v", done.Cases, err)
	}
	got := done.Cases[0].Failure
	if all := strings.Join(got.Console, "\n"); !strings.Contains(all, "No stamps left.") {
		t.Errorf("the page said %q", all)
	}
	if all := strings.Join(got.Requests, "\n"); !strings.Contains(all, "/nothing.json: status 404") {
		t.Errorf("the page did not get %q", all)
	}
	for _, png := range [][]byte{got.Before, got.After} {
		if !bytes.HasPrefix(png, []byte("\x89PNG")) {
			t.Errorf("a picture of %d bytes", len(png))
		}
	}
	if want := "in.webtool.yaml in.webtool.yaml/it's loud/webtool"; got.Again != want {
		t.Errorf("it is repeated by %s", got.Again)
	}
	if got.Expected != `> "quiet"` || got.Actual != `> "loud"` {
		t.Errorf("it shows %s and %s", got.Expected, got.Actual)
	}
}

func readScenario(t *testing.T, text string) *scenario.File {
	t.Helper()
	f, err := scenario.Read("in.webtool.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRunInterrupted: what runs is ended at once, with a report of what was done; also under a host
// that takes no long results, of which the call has none.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	f := readScenario(t, `site: {dir: testdata/site}
via: webtool
cases: [{name: quick, steps: [{call: text}]}, {name: endless, steps: [{call: never}]}, {name: after, steps: [{call: text}]}]`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended time.Time
	host := &hosts.Host{Name: "short", Limits: hosts.Limits{Result: &hosts.Limit{Max: 100}}}
	done, err := run.Files(ctx, []*scenario.File{f}, run.Options{Open: open, Host: host, CaseDone: func(c *report.Case) {
		if c.Name == "quick" {
			ended = time.Now()
			time.AfterFunc(time.Second, cancel)
		}
	}})
	if took := time.Since(ended); took > 4*time.Second { // a call may take 5 s
		t.Errorf("it ended %s after that", took)
	}
	got := transcript(done)
	if err != nil || !done.Interrupted || got != "quick (webtool): passed\nendless (webtool): skipped: the run was interrupted\n" {
		t.Errorf("%v, interrupted %v:\n%s", err, done.Interrupted, got)
	}
}

// TestRunUnopened: the cases of a site that does not open are not run, and those of others are.
func TestRunUnopened(t *testing.T) {
	t.Parallel()
	closed := readScenario(t, `site: {url: "http://127.0.0.1:1/"}
via: webtool
cases: [{name: closed, steps: [{call: text}]}]`)
	there := readScenario(t, `site: {dir: testdata/site}
via: webtool
cases: [{name: there, steps: [{call: text}]}]`)
	done, err := run.Files(t.Context(), []*scenario.File{closed, there}, run.Options{Open: open})
	var unopened *run.NotOpened
	if !errors.As(err, &unopened) || unopened.Site != "http://127.0.0.1:1/" {
		t.Errorf("the error is %v", err)
	}
	if got := transcript(done); !strings.Contains(got, "closed (webtool): skipped: the site was not opened\nsite (): failed") ||
		!strings.Contains(got, "there (webtool): passed") {
		t.Errorf("the cases ended so:\n%s", got)
	}
}

// doors lists those of tests for which one does by day.
func doors() []scenario.Door {
	return gatetest.Amount([]scenario.Door{scenario.ThroughMCP}, scenario.Doors())
}

// TestRunLeavesNothing: no caller, no page and no question is left of a case that failed.
func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	f := readScenario(t, `site: {dir: testdata/site}
cases: [{name: asks, steps: [{call: confirm, expect: bought}]}, {name: fails, steps: [{call: fail}]}]`)
	var a *app.App
	var held []int
	opens := func(ctx context.Context, t *app.Target, complete func(*app.Options)) (*app.App, error) {
		var err error
		a, err = open(ctx, t, complete)
		return a, err
	}
	_, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{Open: opens, Select: scenario.Options{Via: doors()}, CaseDone: func(*report.Case) {
		pages, _, queued := a.Manager.Pages()
		held = append(held, pages+queued+a.Bridge.OpenQuestions())
	}})
	if err != nil || len(held) != 2*len(doors()) || slices.Max(held) > 0 {
		t.Errorf("after each case %v were left (%v)", held, err)
	}
}

// TestRunTraces: a case that fails leaves a trace with its steps, their arguments and questions,
// what the page said and asked for, and pictures; one that passes leaves none.
func TestRunTraces(t *testing.T) {
	t.Parallel()
	f := readScenario(t, `site: {dir: testdata/site}
via: mcp
cases:
  - {name: "fails: ../loud", human: [{on: dialog, answer: accept}], steps: [{call: confirm}, {parallel: [{call: echo, with: {value: "so\u200b"}}, {call: text}]}, {call: loud, expect: quiet}]}
  - {name: passes, steps: [{call: text}]}`)
	dir := t.TempDir()
	done, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{Open: open,
		Trace: run.TraceRetainOnFailure, TraceDir: dir})
	if err != nil || len(done.Cases) != 2 || done.Cases[1].Status != report.Passed || done.Cases[1].Trace != "" {
		t.Fatalf("it ended so: %v, %+v", err, done.Cases)
	}
	name := done.Cases[0].Trace
	if folder := filepath.Base(filepath.Dir(name)); !regexp.MustCompile(`^in-webtool-yaml-fails-loud-mcp-[0-9a-f]{8}$`).MatchString(folder) {
		t.Errorf("the folder is %q", folder)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("there are %v, %v", all, err)
	}
	got := unzipped(t, name)
	for file, wants := range map[string][]string{
		"trace.trace": {
			`"callId":"call@2"[^\n]*"title":"call confirm"`, `"title":"confirm: Buy it\?"[^\n]*"parentId":"call@2"`,
			`"result":\{"answer":"accept"\}`, `"title":"call echo","class":"Tool","method":"step","params":\{"arguments":"\{\\"value\\":\\"so\\\\u200b\\"\}"[^\n]*"parentId":"call@4"`,
			`"title":"call loud"[^\n]*"stack":\[\{"file":"in.webtool.yaml","line":4,`, `"error":\{"message":"the result:`,
			`"messageType":"error","text":"No stamps left\."`, `"type":"screencast-frame"`, `"src":"data:image/png;base64,`,
		},
		"trace.network": {`/nothing\.json"[^\n]*"status":404`},
	} {
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(got[file]) {
				t.Errorf("%s lacks %s:\n%s", file, want, regexp.MustCompile(`base64,[^"]*`).ReplaceAllString(got[file], "…"))
			}
		}
	}
	if strings.Contains(strings.ToLower(got["trace.network"]), `"cookie"`) { // the folder is served by one
		t.Error("the cookie is in the trace")
	}
}

// unzipped are the files of a trace.
func unzipped(t *testing.T, name string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	all := map[string]string{}
	for _, f := range z.File {
		text, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(text)
	}
	return all
}
