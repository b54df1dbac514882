// Package report writes what a run of the test kit found, in the formats that people and
// their tools read.
//
//	formats, err := report.Parse("reports", "list,junit:out/junit.xml")
//	reporter := report.New(formats, report.Options{Out: os.Stdout})
//	reporter.CaseDone(&one) // as cases end
//	err = reporter.Done(run)
//
// Names, descriptions, messages and results are strangers' texts. Each format escapes them for
// its own reader, and characters that nobody can see are written as ​ in all of them; texts
// longer than 8,000 characters, and names longer than 500, are cut with a mark. No such text
// becomes a path.
package report

import (
	"time"

	"github.com/pagetools/pagetools/e2e/check"
)

// Run holds all that one command found. The reporters read it, and change nothing.
type Run struct {
	// Command is "check", "test" or "diff"; Version is the version of pagetools.
	Command, Version string
	Started          time.Time
	Took             time.Duration
	Sites            []Site
	Findings         []check.Finding
	Cases            []Case
	// FailOn is the severity from which on findings fail the run; "" is an error, and "off" is
	// none.
	FailOn check.Severity
	// Rules describe the rules that ran; those of findings that are not among them are known by
	// their id only.
	Rules []Rule
	// Interrupted is true when the run was ended before it was done.
	Interrupted bool
	// Owed is the version bump that a diff suggests: "major", "minor", "patch" or "none"; ""
	// for other commands.
	Owed string
	// Notes are said once for the whole run, such as a question that nobody was asked.
	Notes []string

	folder string // where a report is written, from which it links what is beside it
}

// Rule describes a rule to a reader of findings.
type Rule struct {
	ID       string
	Severity check.Severity // its default
	What     string         // what it finds, a sentence
	Why      string         // why that matters
}

// Site is one that was opened.
type Site struct {
	Target string `json:"target"`
	URL    string `json:"url,omitempty"`
	Tools  int    `json:"tools"`
}

// Status says how a case ended.
type Status string

// How a case can end.
const (
	Passed        Status = "passed"
	Failed        Status = "failed"
	Skipped       Status = "skipped"
	NotApplicable Status = "not-applicable" // this door does not have what the case expects
)

// Case is one scenario through one door.
type Case struct {
	File string
	Line int
	Name string
	// Door is "page", "webtool" or "mcp".
	Door     string
	Status   Status
	Reason   string // why it was skipped or is not applicable
	Took     time.Duration
	Tags     []string
	Attempts int
	Failure  *Failure
	Steps    []Step
	// Trace is the path of the trace, a file trace.zip; "" is none.
	Trace string
}

// Step is one step of a case.
type Step struct {
	Name   string // such as "call add-stamp"
	Line   int
	Status Status
	Took   time.Duration
}

// Failure says why a case failed.
type Failure struct {
	Step    string `json:"step,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Path says where expected and actual differ, such as "content[0].text".
	Path string `json:"path,omitempty"`
	// Expected and Actual are indented JSON, in which the line of the path begins with "> ".
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Console and Requests are the page's errors and failed requests in the step.
	Console  []string `json:"console"`
	Requests []string `json:"requests"`
	// Before and After are pictures of the page, as PNG; nil is none.
	Before []byte `json:"-"`
	After  []byte `json:"-"`
	// BeforePath and AfterPath say where they were written; "" is nowhere.
	BeforePath string `json:"before,omitempty"`
	AfterPath  string `json:"after,omitempty"`
	// Again is the command line that repeats just this case.
	Again string `json:"again,omitempty"`
}
