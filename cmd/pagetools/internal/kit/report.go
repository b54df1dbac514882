package kit

import (
	"errors"
	"os"
	"slices"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/report"
)

const reporterHelp = "`formats`, with commas: list, json, junit:FILE, sarif:FILE, github, " +
	"markdown:FILE, html:FOLDER, tap"

// formats reads --reporter; without it there is a list, JSON with --format json, and where GitHub
// runs us the format that it shows beside a change.
func formats(p *Program, spec string) ([]report.Format, error) {
	switch {
	case spec != "":
	case p.Config().Format != "text":
		spec = "json"
	case os.Getenv("GITHUB_ACTIONS") == "true":
		spec = "list,github"
	default:
		spec = "list"
	}
	all, err := report.Parse("--reporter", spec)
	if err != nil {
		return nil, terminal.Usage("%w", err)
	}
	return all, nil
}

func (p *Program) reporter(all []report.Format) report.Reporter {
	return report.New(all, report.Options{Out: p.Stdout.Commands(), Color: terminal.ColorsOf(p.Stdout).On()})
}

// report writes the reports of a run that is done, and returns how the program ends by it.
func (p *Program) report(out report.Reporter, r *report.Run) error {
	if name := os.Getenv("GITHUB_STEP_SUMMARY"); name != "" {
		if err := appendTo(name, report.Markdown(r)); err != nil {
			p.Say("warning: GITHUB_STEP_SUMMARY: %v", err)
		}
	}
	if err := out.Done(r); err != nil {
		return terminal.Usage("--reporter: %w", err)
	}
	if slices.ContainsFunc(r.Findings, r.Fails) || r.Count(report.Failed) > 0 {
		return &terminal.ShownError{Code: terminal.ExitFindings}
	}
	return nil
}

func appendTo(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // the runner names it
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
