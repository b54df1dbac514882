package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// The elements of JUnit's format as Jenkins describes it: a suite for each page with findings and
// for each file with cases. Times are seconds.
type (
	junitRun struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Skipped   *junitProblem `xml:"skipped"`
		Error     *junitProblem `xml:"error"`
		Failure   *junitProblem `xml:"failure"`
		Out       string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr,omitempty"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// point is one thing that passed or not, for formats that know nothing else.
type point struct {
	suite, name string
	took        time.Duration
	skipped     string // why it did not run; "" means that it did
	severity    string // of a failure; "" means that it passed
	message     string // one or more lines
	details     string // lines that explain a failure
	attached    string // the path of a file
}

// points returns all that a run has to tell as a list: its cases, its findings, where there are
// no cases each site that was opened, and that it was interrupted.
func (r *Run) points() []point {
	var all []point
	if len(r.Cases) == 0 {
		for _, s := range r.Sites {
			all = append(all, point{suite: s.Target, name: "opened, with " + text.Count(s.Tools, "tool")})
		}
	}
	for _, f := range r.Findings {
		all = append(all, r.findingPoint(f))
	}
	for i := range r.Cases {
		all = append(all, r.Cases[i].point())
	}
	if r.Interrupted {
		all = append(all, point{
			suite: "pagetools " + r.Command, name: "runs to its end", severity: "interrupted",
			message: "The run was interrupted: the rest was not run.",
		})
	}
	return all
}

func (r *Run) findingPoint(f check.Finding) point {
	p := point{suite: page(f.Where), message: f.Message,
		name:    strings.Join(said(f.Rule, f.Where.Tool, f.Where.Pointer), " "),
		details: strings.Join(said(position(f.Where.Script), frame(f.Where), f.Fix), "\n")}
	if r.Fails(f) {
		p.severity = string(f.Severity)
	} else {
		p.message = string(f.Severity) + ": " + p.message
	}
	return p
}

func (c *Case) point() point {
	p := point{suite: c.File, name: c.label(), took: c.Took, attached: c.Trace}
	switch c.Status {
	case Passed:
	case Skipped, NotApplicable:
		p.skipped = cmp.Or(c.why(), "nothing says why")
	case Failed:
		p.severity = "failed"
		p.message, p.details = worded(c.explain())
	}
	return p
}

// worded returns the message among what explains a failure, and the rest as lines.
func worded(parts []part) (message, details string) {
	var b strings.Builder
	for _, p := range parts {
		if p.Title == "message" {
			message = p.Text
			continue
		}
		sep := ": "
		if p.Block {
			sep = ":\n"
		}
		b.WriteString(p.Title + sep + p.Text + "\n")
	}
	return message, b.String()
}

// attaches marks a path on the server, for servers that look for it anywhere in an
// output.
const attaches = "[[ATTACHMENT|"

func writeJUnit(run *Run) ([]byte, error) {
	doc := junitRun{Name: "pagetools " + text.EscapeLine(run.Command), Time: seconds(run.Took)}
	took := map[string]time.Duration{}
	for _, p := range run.points() {
		for _, words := range []*string{&p.suite, &p.name, &p.skipped, &p.message, &p.details} {
			*words = strings.ReplaceAll(*words, attaches, "[[ATTACHMENT |") // by a stranger
		}
		s := at(&doc.Suites, func(s *junitSuite) bool { return s.Name == text.EscapeLine(p.suite) })
		s.Name = text.EscapeLine(p.suite)
		s.Timestamp = run.Started.UTC().Format("2006-01-02T15:04:05")
		took[s.Name] += p.took
		s.Time = seconds(took[s.Name])
		s.add(p)
	}
	for _, s := range doc.Suites {
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
	}
	words, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(words, '\n')...), nil
}

func (s *junitSuite) add(p point) {
	c := junitCase{Name: text.EscapeLine(p.name), ClassName: s.Name, Time: seconds(p.took)}
	problem := &junitProblem{
		Message: text.EscapeLine(p.message), Type: p.severity,
		Text: lines(strings.TrimSpace(p.message + "\n" + p.details)),
	}
	switch {
	case p.skipped != "":
		c.Skipped = &junitProblem{Text: text.EscapeLine(p.skipped)} // Jenkins reads it, and has no message here
		s.Skipped++
	case p.severity == "interrupted":
		c.Error = problem
		s.Errors++
	case p.severity != "":
		c.Failure = problem
		s.Failures++
	default:
		c.Out = lines(strings.TrimSpace(p.message + "\n" + p.details))
	}
	if p.attached != "" { // as servers of Jenkins and GitLab link it
		c.Out = strings.TrimSpace(c.Out + "\n" + attaches + text.EscapeLine(p.attached) + "]]")
	}
	s.Tests++
	s.Cases = append(s.Cases, c)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
