package scenario_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// open starts a browser for a site, as the command test does.
func open(ctx context.Context, t *app.Target, complete func(*app.Options)) (*app.App, error) {
	allowed := app.Site{Target: t}
	allowed.Tools.Approval = policy.Operator{Mode: policy.ModeAuto}
	o := app.Options{Sites: []app.Site{allowed}}
	o.Local.Path = os.Getenv("PAGETOOLS_HEADLESS_SHELL")
	if o.Local.Path == "" {
		o.Local.Path = os.Getenv("PAGETOOLS_EXECUTABLE_PATH")
	}
	o.Local.NoSandbox = os.Getenv("PAGETOOLS_NO_SANDBOX") == "1"
	o.Limits.CallTimeout = 5 * time.Second
	complete(&o)
	return app.Start(ctx, o)
}

func env(name string) (string, bool) { return "hello", name == "GREETING" }

// scenarios reads a file of testdata/run.
func scenarios(t *testing.T, name string) *scenario.File {
	t.Helper()
	path := filepath.Join("testdata", "run", name+".webtool.yaml")
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

// differsByRun is what of a report differs from run to run.
var differsByRun = regexp.MustCompile(`\b[0-9.]+ ?(ms|s)\b|0\.[0-9]{3,}|127\.0\.0\.1:[0-9]+`)

// transcript is what a run said of each case.
func transcript(run *report.Run) string {
	var b strings.Builder
	for _, c := range run.Cases {
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
	for _, note := range run.Notes {
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

// TestRun: the ways in which cases pass and fail, through every door, as they are reported. The
// golden files hold both, so that each is the control of the other.
func TestRun(t *testing.T) {
	for _, name := range []string{"passes", "silent", "fails", "hostile"} {
		t.Run(name, func(t *testing.T) {
			var ended int
			run, err := scenario.Run(t.Context(), []*scenario.File{scenarios(t, name)}, scenario.RunOptions{
				Open: open, Env: env, Parallel: 2, CaseTime: 20 * time.Second,
				CaseDone: func(*report.Case) { ended++ },
			})
			if err != nil || run.Interrupted || ended != len(run.Cases) {
				t.Errorf("it ended %d of %d cases: %v", ended, len(run.Cases), err)
			}
			got := transcript(run)
			golden := filepath.Join("testdata", "run", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the cases of %s ended so:\n%s", name, got)
			}
		})
	}
}
