package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// Run runs the scenarios of the files that match a pattern of [filepath.Glob], *.webtool.yaml or
// *evals.json, each case through its doors: a subtest for each file, below it one for each case,
// and below that one for each door, such as
//
//	go test -run 'TestScenarios/stamps.webtool.yaml/adds_a_stamp/mcp'
//
// Cases run in parallel. A case that fails prints what pagetools test prints; one that a door does
// not have is skipped there, with the reason. lock and lint of a file become further subtests of
// those names. At most one Options replaces the sites of the files, but for their config.
// To write results into the files, use pagetools test --update.
func Run(t *testing.T, glob string, options ...Options) {
	t.Helper()
	var over Options
	switch {
	case len(options) > 1:
		t.Fatal("Run takes at most one Options")
	case len(options) == 1:
		over = options[0]
		if err := over.check(); err != nil {
			t.Fatal(err)
		}
		if over.Config != nil {
			t.Fatal("Config of the Options of Run must be nil: the files have it")
		}
	}
	names, err := filepath.Glob(glob)
	if err != nil {
		t.Fatalf("invalid value %q for the files: %s", glob, err)
	}
	if len(names) == 0 {
		t.Fatalf("no file matches %q", glob)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) { runFile(t, name, over) })
	}
}

func runFile(t *testing.T, name string, over Options) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.ReadAs(name, text)
	if err != nil {
		t.Fatalf("\n%s", err)
	}
	selected, err := scenario.Select([]*scenario.File{f}, scenario.Options{CI: inCI()})
	if err != nil {
		t.Fatalf("\n%s", err)
	}
	s := &running{file: f}
	s.stand = sync.OnceValues(func() (*run.Stand, error) {
		ctx, end := context.WithCancel(context.Background()) // until the stand is closed
		stand, err := run.Open(ctx, f, run.Options{Open: opener(0), Env: os.LookupEnv,
			Site: scenario.Site{Dir: over.Dir, URL: over.URL, Serve: over.Serve, Adapter: over.Adapters}})
		s.close = func() {
			if err == nil {
				stand.Close()
			}
			end()
		}
		return stand, err
	})
	t.Cleanup(func() {
		if s.close != nil {
			s.close()
		}
	})
	for len(selected) > 0 {
		n := 1
		for n < len(selected) && selected[n].Case == selected[0].Case {
			n++
		}
		doors := selected[:n]
		t.Run(doors[0].Case.Name, func(t *testing.T) {
			t.Parallel()
			s.doors(t, doors)
		})
		selected = selected[n:]
	}
	s.declarations(t)
}

type running struct {
	file  *scenario.File
	stand func() (*run.Stand, error) // opened by the first case that needs it
	close func()                     // nil when none did
}

func (s *running) doors(t *testing.T, doors []scenario.Selected) {
	t.Helper()
	c := doors[0].Case
	if c.Skip != "" {
		t.Skip(c.Skip)
	}
	stand, err := s.stand()
	if err != nil {
		notOpened(t, "opening the site of "+s.file.Name, err)
	}
	turns := stand.Turns()
	for _, one := range doors {
		t.Run(string(one.Door), func(t *testing.T) {
			ended(t, turns.Through(t.Context(), &one))
		})
	}
}

func ended(t *testing.T, c report.Case) {
	t.Helper()
	switch c.Status {
	case report.Failed:
		t.Error("\n" + strings.TrimRight(c.Text(), "\n"))
	case report.Skipped, report.NotApplicable:
		t.Skip(c.Reason)
	default:
	}
}

func (s *running) declarations(t *testing.T) {
	t.Helper()
	judged := sync.OnceValues(func() (*report.Run, error) {
		stand, err := s.stand()
		if err != nil {
			return nil, err
		}
		return stand.Judge(context.Background()), nil
	})
	for _, name := range []string{"lock", "lint"} {
		if name == "lock" && s.file.Lock == "" || name == "lint" && s.file.Lint == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			all, err := judged()
			if err != nil {
				notOpened(t, "opening the site of "+s.file.Name, err)
			}
			for _, c := range all.Cases {
				if c.Name == name || c.Name == "lint" && c.Failure != nil && len(all.Cases) == 1 {
					// What could not be judged is one case, for both.
					if c.Status == report.Failed && len(all.Findings) > 0 {
						t.Log("\n" + strings.TrimRight(all.FindingsText(), "\n"))
					}
					ended(t, c)
				}
			}
		})
	}
}
