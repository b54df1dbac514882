package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Markdown returns a run as GitHub's Markdown, such as for the summary of a job. Texts of
// strangers are escaped: they make no element, no link and no mention.
func Markdown(run *Run) []byte {
	text, _ := writeMarkdown(bounded(run)) // it writes to memory
	return text
}

// writeMarkdown is Markdown of a run that is bounded.
func writeMarkdown(run *Run) ([]byte, error) {
	var b bytes.Buffer
	verdict := "passed"
	if run.Failed() {
		verdict = "failed"
	}
	fmt.Fprintf(&b, "## pagetools %s %s\n\n%s\n", prose(run.Command), verdict, run.summary())
	for _, note := range run.Notes {
		fmt.Fprintf(&b, "\n> %s\n", prose(note))
	}
	if len(run.Findings) > 0 {
		b.WriteString("\n### Findings\n")
	}
	for _, g := range run.groups() {
		fmt.Fprintf(&b, "\n#### %s\n\n", prose(g.Page))
		b.WriteString("| Severity | Tool | Rule | Finding |\n|---|---|---|---|\n")
		for _, t := range g.Tools {
			for _, f := range t.Findings {
				rule := prose(f.Rule)
				if u := helpURL(f.Rule); u != "" {
					rule = "[" + rule + "](" + u + ")"
				}
				text := prose(f.Message)
				for _, s := range said(f.Where.Pointer, position(f.Where.Script)) {
					text += "<br>" + prose(s)
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", severity(f.Severity), prose(t.Tool), rule, text)
			}
		}
	}
	run.markdownCases(&b)
	return b.Bytes(), nil
}

func (r *Run) markdownCases(b *bytes.Buffer) {
	if len(r.Cases) == 0 {
		return
	}
	b.WriteString("\n### Cases\n\n| Result | Case | Time |\n|---|---|---|\n")
	for i := range r.Cases {
		c := &r.Cases[i]
		text := prose(c.File + ": " + c.label())
		if c.Reason != "" {
			text += "<br>" + prose(c.Reason)
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", prose(string(c.Status)), text, took(c.Took))
	}
	for _, f := range r.failures() {
		fmt.Fprintf(b, "\n#### Failed: %s\n", prose(f.label()))
		for _, p := range f.explain() {
			if p.Block {
				fmt.Fprintf(b, "\n%s:\n\n%s", p.Title, fenced(p.Text))
			} else {
				fmt.Fprintf(b, "\n%s: %s\n", p.Title, prose(p.Text))
			}
		}
	}
}

// special are the characters of which Markdown, or GitHub's kind of it, makes something within a
// line, or at its beginning.
const special = "\\`*_[]~|$:.-+"

// prose is a text of which Markdown makes nothing. What GitHub looks for after it made HTML
// (mentions, references to issues) is an element of its own.
func prose(s string) string {
	var b strings.Builder
	for _, r := range text.EscapeLine(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@' || r == '#':
			b.WriteString("<span>" + string(r) + "</span>")
		case strings.ContainsRune(special, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fenced is a text as a block of code, whose fence is longer than any in the text.
func fenced(s string) string {
	text := lines(s)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
