package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// list writes for a terminal: a line for each case as it ends, then findings by page and tool,
// then each failure with all that explains it, then a summary.
type list struct {
	out   io.Writer
	color bool
	live  int // cases that were written as they ended
}

// The colors of a terminal, as it names them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

// paint colors our own words, never those of strangers that were not made visible.
func (l *list) paint(color, text string) string {
	if !l.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

var ofSeverity = map[check.Severity]string{
	check.Error: red, check.Warning: yellow, check.Info: blue,
}

// words maps how a case ended to its word and color, all of one width.
var words = map[Status]struct{ word, color string }{
	Passed: {"ok  ", green}, Failed: {"FAIL", red}, Skipped: {"skip", yellow},
	NotApplicable: {"n/a ", dim},
}

func (l *list) caseDone(c Case) {
	l.live++
	w := words[c.Status]
	said := fmt.Sprintf("%s %s: %s", l.paint(w.color, w.word), text.EscapeLine(c.File),
		text.EscapeLine(c.label()))
	if c.Attempts > 1 {
		said += fmt.Sprintf(" after %d attempts", c.Attempts)
	}
	switch c.Status {
	case Skipped, NotApplicable:
		said += ": " + text.EscapeLine(c.Reason)
	default:
		said += " " + l.paint(dim, took(c.Took))
	}
	_, _ = io.WriteString(l.out, text.ForRunner(said)+"\n") // the reader went away
}

func (l *list) done(run *Run) error {
	if l.live == 0 {
		for _, c := range run.Cases {
			l.caseDone(c)
		}
	}
	var b bytes.Buffer
	if len(run.Cases) > 0 {
		b.WriteByte('\n')
	}
	l.findings(&b, run)
	for _, f := range run.failures() {
		first := f.ways[0]
		fmt.Fprintf(&b, "%s %s %s\n", l.paint(red, "FAILED"), text.EscapeLine(first.place(first.Line)),
			l.paint(bold, text.EscapeLine(f.label())))
		l.parts(&b, f.explain())
		b.WriteByte('\n')
	}
	for _, note := range run.Notes {
		fmt.Fprintf(&b, "note: %s\n", text.EscapeLine(note))
	}
	color := green
	if run.Failed() {
		color = red
	}
	fmt.Fprintln(&b, l.paint(color, run.summary()))
	_, err := io.WriteString(l.out, text.ForRunner(b.String()))
	return err
}

func (l *list) findings(b *bytes.Buffer, run *Run) {
	for _, g := range run.groups() {
		fmt.Fprintln(b, l.paint(bold, text.EscapeLine(g.Page)))
		for _, t := range g.Tools {
			if t.Tool != "" {
				fmt.Fprintf(b, "  %s\n", l.paint(bold, text.EscapeLine(t.Tool)))
			}
			fix := "" // it covers all findings of the tool, and is printed once
			for _, f := range t.Findings {
				if f.Fix == fix {
					f.Fix = ""
				}
				fix = cmp.Or(f.Fix, fix)
				l.finding(b, f)
			}
		}
		b.WriteByte('\n')
	}
}

func (l *list) finding(b *bytes.Buffer, f check.Finding) {
	severity := l.paint(ofSeverity[f.Severity], fmt.Sprintf("%-7s", severity(f.Severity)))
	fmt.Fprintf(b, "    %s %s: %s\n", severity, text.EscapeLine(f.Rule), text.EscapeLine(f.Message))
	where := said(f.Where.Pointer, position(f.Where.Script), frame(f.Where))
	if len(where) > 0 {
		where := strings.Join(mapped(where, one), "  ")
		fmt.Fprintf(b, "            %s\n", l.paint(dim, where))
	}
	if f.Fix != "" {
		fmt.Fprintf(b, "            fix: %s\n", indented(f.Fix, "            ")[12:])
	}
}

func (l *list) parts(b *bytes.Buffer, parts []part) {
	for _, part := range parts {
		if !part.Block {
			fmt.Fprintf(b, "  %s: %s\n", part.Title, text.EscapeLine(part.Text))
			continue
		}
		fmt.Fprintf(b, "  %s:\n", part.Title)
		for words := range strings.SplitSeq(lines(part.Text), "\n") {
			if strings.HasPrefix(words, "> ") {
				words = l.paint(red, words)
			}
			fmt.Fprintf(b, "    %s\n", words)
		}
	}
}

// Text returns a list's text of why the case failed, for callers that print no list.
func (c *Case) Text() string {
	var b bytes.Buffer
	whole := boundedCase(*c)
	(&list{}).parts(&b, whole.explain())
	return text.ForRunner(b.String())
}

// FindingsText returns a list's text of the run's findings, for callers that print no
// list.
func (r *Run) FindingsText() string {
	var b bytes.Buffer
	(&list{}).findings(&b, bounded(r))
	return text.ForRunner(b.String())
}

// line returns where the case failed, or where it begins.
func (c *Case) line() int {
	if c.Failure == nil {
		return c.Line
	}
	return cmp.Or(c.Failure.Line, c.Line)
}

// place is a line of the file of a case, such as shop.webtool.yaml:12.
func (c *Case) place(at int) string {
	if at == 0 {
		return c.File
	}
	return fmt.Sprintf("%s:%d", c.File, at)
}

// part is one thing that explains a failure. A block has lines, another part is one.
type part struct {
	Title, Text string
	Block       bool
	own         bool // another way in which the case fails alike has another text here
}

// explain returns all that there is to say of why a case failed.
func (c *Case) explain() []part {
	f := c.Failure
	if f == nil {
		f = &Failure{Message: "It failed, and nothing says why."}
	}
	var all []part
	add := func(title, words string, block bool) {
		if words != "" {
			all = append(all, part{Title: title, Text: words, Block: block})
		}
	}
	own := func(title, words string) {
		if words != "" {
			all = append(all, part{Title: title, Text: words, own: true})
		}
	}
	where := f.Step
	if f.Line > 0 {
		where = strings.TrimSpace(where + " at " + c.place(f.Line))
	}
	add("step", where, false)
	add("message", f.Message, strings.Contains(f.Message, "\n"))
	add("differs at", f.Path, false)
	add("expected", f.Expected, true)
	add("actual", f.Actual, true)
	add("console", strings.Join(mapped(f.Console, one), "\n"), true)
	add("failed requests", strings.Join(mapped(f.Requests, one), "\n"), true)
	own("picture before", f.BeforePath)
	own("picture after", f.AfterPath)
	own("trace", c.traced())
	own("repeat it", f.Again)
	return all
}

// traced names the trace of a case, and how it is looked at; "" is none.
func (c *Case) traced() string {
	if c.Trace == "" {
		return ""
	}
	return c.Trace + " (npx playwright show-trace " + text.ShellWord(c.Trace) + ")"
}

func one(s *string) { *s = text.EscapeLine(*s) }

// indented is a text whose lines are visible and indented.
func indented(s, by string) string {
	return by + strings.ReplaceAll(lines(strings.TrimRight(s, "\n")), "\n", "\n"+by)
}
