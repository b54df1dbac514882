package report

import (
	"cmp"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// DocumentVersion is the version of [Document]. Members may be added to one version; what goes
// away or changes its meaning makes the next.
const DocumentVersion = 1

// Document is the output of the format json: one object, indented, with a line end after it.
// Lists are never null; members marked omitempty are left out when there is nothing to say.
// Times are RFC 3339 in UTC, durations whole milliseconds. Texts are cut at 8,000 characters and
// names at 500, with a mark that says so. Invisible characters are written as escapes of JSON.
// Pictures are not in it; their paths are.
type Document struct {
	Version     int            `json:"version"`
	Pagetools   string         `json:"pagetools"` // the version of the program
	Command     string         `json:"command"`   // check, test or diff
	Started     string         `json:"started"`
	TookMs      int64          `json:"tookMs"`
	Interrupted bool           `json:"interrupted"`
	FailOn      check.Severity `json:"failOn"`
	Failed      bool           `json:"failed"` // whether the run did not succeed
	// Owed is the part of the version that a diff asks to raise: major, minor, patch or none.
	Owed    string  `json:"owed,omitempty"`
	Summary Summary `json:"summary"`
	Sites   []Site  `json:"sites"`
	// Findings lists the findings of the run, in its order.
	Findings []check.Finding `json:"findings"`
	Cases    []CaseJSON      `json:"cases"`
	Notes    []string        `json:"notes"`
}

// Summary counts findings by severity and cases by status.
type Summary struct {
	Errors        int `json:"errors"`
	Warnings      int `json:"warnings"`
	Infos         int `json:"infos"`
	Cases         int `json:"cases"`
	Passed        int `json:"passed"`
	Failed        int `json:"failed"`
	Skipped       int `json:"skipped"`
	NotApplicable int `json:"notApplicable"`
}

// CaseJSON is a [Case].
type CaseJSON struct {
	File     string     `json:"file"`
	Line     int        `json:"line,omitempty"`
	Name     string     `json:"name"`
	Door     string     `json:"door,omitempty"`
	Status   Status     `json:"status"`
	Reason   string     `json:"reason,omitempty"`
	TookMs   int64      `json:"tookMs"`
	Tags     []string   `json:"tags"`
	Attempts int        `json:"attempts"`
	Steps    []StepJSON `json:"steps"`
	Failure  *Failure   `json:"failure,omitempty"`
	Trace    string     `json:"trace,omitempty"`
}

// StepJSON is a [Step].
type StepJSON struct {
	Name   string `json:"name"`
	Line   int    `json:"line,omitempty"`
	Status Status `json:"status"`
	TookMs int64  `json:"tookMs"`
}

func writeJSON(run *Run) ([]byte, error) {
	doc := Document{
		Version: DocumentVersion, Pagetools: run.Version, Command: run.Command,
		Started: run.Started.UTC().Format(time.RFC3339), TookMs: run.Took.Milliseconds(),
		Interrupted: run.Interrupted, FailOn: cmp.Or(run.FailOn, check.Error), Failed: run.Failed(), Owed: run.Owed,
		Summary: Summary{
			Errors: run.countFindings(check.Error), Warnings: run.countFindings(check.Warning),
			Infos: run.countFindings(check.Info), Cases: len(run.Cases), Passed: run.Count(Passed),
			Failed: run.Count(Failed), Skipped: run.Count(Skipped), NotApplicable: run.Count(NotApplicable),
		},
		Sites: run.Sites, Findings: run.Findings, Cases: []CaseJSON{}, Notes: run.Notes,
	}
	for i := range run.Cases {
		doc.Cases = append(doc.Cases, caseJSON(&run.Cases[i]))
	}
	return encode(doc)
}

func caseJSON(c *Case) CaseJSON {
	j := CaseJSON{
		File: c.File, Line: c.Line, Name: c.Name, Door: c.Door, Status: c.Status, Reason: c.Reason,
		TookMs: c.Took.Milliseconds(), Tags: c.Tags, Attempts: c.Attempts, Steps: []StepJSON{},
		Failure: c.Failure, Trace: c.Trace,
	}
	for _, s := range c.Steps {
		j.Steps = append(j.Steps, StepJSON{s.Name, s.Line, s.Status, s.Took.Milliseconds()})
	}
	return j
}

// jsonText writes characters of JSON as escapes that a terminal obeys, a person cannot see, or
// GitHub's runner takes for a command. The values stay what they are.
func jsonText(words string) string {
	return text.ForRunner(text.Escape(words))
}

// encode writes indented JSON whose invisible characters are escapes.
func encode(v any) ([]byte, error) {
	words, err := schema.EncodeFile(v)
	return []byte(jsonText(string(words))), err
}
