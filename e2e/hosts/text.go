package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// RuleHostOff is the rule of findings about hosts.
const RuleHostOff = "host-off"

// mostFindings limits how many tools of one host have a finding of their own.
const mostFindings = 20

// Findings returns host-off for each host that refuses the page and for each tool that one drops
// (at most 20 of a host; then one says how many more). The caller decides whether their severities
// stay as they are.
func (t Table) Findings() (all []check.Finding) {
	for _, r := range t.Rows {
		all = append(all, t.off(r)...)
	}
	return all
}

func (t Table) hostOff(tool, pointer, text string) check.Finding {
	where := check.Where{Page: t.Page.URL, Tool: tool, Pointer: pointer}
	return check.Finding{Rule: RuleHostOff, Severity: check.Error, Message: text, Where: where}
}

var advice = map[string]string{
	"secure":           "Serve it over https.",
	"tools":            "Offer fewer tools, those first that matter most.",
	"descriptor-bytes": "Shorten descriptions and schemas.",
	"changes":          "Change the list less often, or let tools say that they do not apply.",
	"name":             "Rename the tool.",
	"property":         "Rename the property.",
	"description":      "Change the length of the description.",
	"surface":          "Register it with document.modelContext.registerTool.",
	"keywords":         "Say the same without it, or in the description.",
	"wants":            "Add it.",
}

func sentence(r Reason) string {
	what := cmp.Or(advice[r.Limit], "Make the input schema smaller.")
	return strings.ToUpper(r.Text[:1]) + r.Text[1:] + ". " + what
}

// Lost says why the host does not have a tool, or "" when it has it.
func (r Row) Lost(tool string) string {
	for _, cell := range r.Cells {
		if cell.Tool != tool || cell.State == Kept || cell.State == Changed {
			continue
		}
		var why []string
		for _, reason := range append(slices.Clone(cell.Reasons), r.Reasons...) {
			if reason.Over != Warn && reason.Over != DropRest || len(why) == 0 && reason.Over == DropRest {
				why = append(why, reason.Text)
			}
		}
		return fmt.Sprintf("%s does not have %s: %s%s", r.Host.Name, tool, strings.Join(why, "; "),
			r.Host.guessed())
	}
	return ""
}

func (t Table) off(r Row) []check.Finding {
	var all []check.Finding
	if r.State == Refused {
		for i, reason := range r.Reasons {
			if reason.Over != RefusePage {
				continue
			}
			if i >= mostFindings {
				text := fmt.Sprintf("%d more reasons for which %s takes no tool of the page.",
					len(r.Reasons)-i, r.Host.Name)
				return append(all, t.hostOff("", "", text))
			}
			text := sentence(reason) + r.Host.guessed()
			all = append(all, t.hostOff(reason.Tool, reason.Pointer, text))
		}
		return all
	}
	more, rest := 0, Reason{}
	for _, reason := range r.Reasons {
		if reason.Over == DropRest {
			rest = reason
			all = append(all, t.hostOff("", "", sentence(reason)+r.Host.guessed()))
		}
	}
	for _, cell := range r.Cells {
		if cell.State != Dropped {
			continue
		}
		i := slices.IndexFunc(cell.Reasons, func(x Reason) bool { return x.Over == DropTool })
		switch {
		case i < 0 && rest.Limit != "": // it is in the finding about the page
		case len(all) >= mostFindings:
			more++
		default:
			reason := cell.Reasons[max(i, 0)]
			text := sentence(reason) + r.Host.guessed()
			all = append(all, t.hostOff(cell.Tool, reason.Pointer, text))
		}
	}
	if more > 0 {
		text := fmt.Sprintf("%d more tools that %s drops.", more, r.Host.Name)
		all = append(all, t.hostOff("", "", text))
	}
	return all
}

// guessed warns where the host documents nothing.
func (h Host) guessed() string {
	if h.Reconstruction {
		return " (" + h.Name + " documents no limits; this one is a reconstruction of " + h.Date + ".)"
	}
	return ""
}

// CanAsk reports whether a person who uses the host can be shown a question of a kind: approve,
// confirm, prompt or interact. Where it is not known, known is false.
func (h Host) CanAsk(kind string) (can, known bool) {
	if len(h.Dialogs)+len(h.Elicitation) == 0 {
		return false, false
	}
	mode := "form"
	if kind == "interact" {
		mode = "url"
	}
	// A browser asks for consent by itself; a page's tool does not see it.
	consent := kind == "approve" && len(h.Dialogs) > 0
	return consent || slices.Contains(h.Dialogs, kind) || slices.Contains(h.Elicitation, mode), true
}

// Text returns the matrix for a terminal: one line for each host with its numbers, then what is
// lost in each, with the reason. Invisible characters are escaped.
func (t Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "host\tpage\tkept\tchanged\tdropped\tdate")
	for _, r := range t.Rows {
		count := map[State]int{}
		for _, cell := range r.Cells {
			count[cell.State]++
		}
		state := "on"
		if r.State == Refused {
			state = "off"
		}
		date := r.Host.Date
		if r.Host.Reconstruction {
			date += " (a reconstruction)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\n", text.EscapeLine(r.Host.Name), state, count[Kept],
			count[Changed], count[Dropped]+count[Refused], date)
	}
	_ = w.Flush() // a strings.Builder takes everything
	for _, r := range t.Rows {
		lines := r.details()
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", text.EscapeLine(r.Host.Name))
		}
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", text.EscapeLine(line))
		}
	}
	return b.String()
}

const mostLines = 40

func (r Row) details() []string {
	var lines []string
	for _, reason := range r.Reasons {
		of := "page"
		if reason.Tool != "" {
			of = "page, for " + text.Short(reason.Tool, longest)
		}
		lines = append(lines, of+": "+reason.Text)
	}
	for _, cell := range r.Cells {
		if r.State == Refused {
			break // nothing of a single tool matters
		}
		for _, reason := range cell.Reasons {
			if reason.Over == DropRest {
				continue // the page's own line says how many, and they are the last ones
			}
			lines = append(lines, fmt.Sprintf("%s %s: %s", cell.State,
				text.Short(cell.Tool, longest), reason.Text))
		}
	}
	if n := len(lines); n > mostLines {
		lines = append(lines[:mostLines:mostLines], fmt.Sprintf("and %d more", n-mostLines))
	}
	return lines
}

// longest limits how many characters of a stranger's name a sentence holds.
const longest = 80
