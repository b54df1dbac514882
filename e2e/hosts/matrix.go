package hosts

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// State says what becomes of a tool, or of a page.
type State string

// The states, from good to bad.
const (
	Kept    State = "kept"
	Changed State = "changed" // it is there, and something of it is lost
	Dropped State = "dropped" // it is not there, and others are
	Refused State = "refused" // nothing of the page is there
)

// Reason says why something is not as it was declared, or what the host complains about.
type Reason struct {
	// Limit is the key of what was passed in the host's file, such as "tools".
	Limit string
	Over  Over
	Text  string // a sentence with the numbers
	// Tool is the tool for which a page is refused; "" is the page itself. Pointer is the place
	// in its declaration; "" is all of it.
	Tool, Pointer string
}

// Cell is one tool as one host has it.
type Cell struct {
	Tool    string
	State   State
	Reasons []Reason
}

// Row is a page as one host has it. Reasons concern the whole page.
type Row struct {
	Host    Host
	State   State
	Reasons []Reason
	Cells   []Cell // one for each tool, in their order
}

// Table holds a row for each host.
type Table struct {
	Page Page
	Rows []Row
}

// Matrix returns what becomes of each tool in each host. Tools are judged in the order given,
// which must be the order of their registration.
func Matrix(tools []check.Tool, page Page, hosts []Host) Table {
	sizes := make([]measured, len(tools))
	for i, t := range tools {
		sizes[i] = measure(t.Input)
	}
	table := Table{Page: page}
	for _, host := range hosts {
		r := Row{Host: host, State: Kept}
		for i, t := range tools {
			r.Cells = append(r.Cells, host.tool(t, sizes[i]))
		}
		r.whole(tools, page)
		table.Rows = append(table.Rows, r)
	}
	return table
}

// over returns the reason when a number is not within a limit. The text says what the number is,
// with %d for it.
func (l *Limit) over(h *Host, key string, have int, text string) (Reason, bool) {
	if l == nil {
		return Reason{}, false
	}
	reason := Reason{Limit: key, Over: l.Over, Text: fmt.Sprintf(text, have)}
	switch {
	case l.Max > 0 && have > l.Max:
		reason.Text += fmt.Sprintf("; %s takes %d", h.Name, l.Max)
	case have < l.Min:
		reason.Text += fmt.Sprintf("; %s needs at least %d", h.Name, l.Min)
	default:
		return Reason{}, false
	}
	return reason, true
}

// judge collects the reasons of one tool.
type judge struct {
	host *Host
	cell Cell
}

func (j *judge) add(limit string, over Over, pointer, format string, args ...any) {
	j.cell.Reasons = append(j.cell.Reasons,
		Reason{Limit: limit, Over: over, Pointer: pointer, Text: fmt.Sprintf(format, args...)})
}

// number judges a number, and reports whether it was within its limit.
func (j *judge) number(l *Limit, key string, have int, pointer, text string) bool {
	reason, over := l.over(j.host, key, have, text)
	if over {
		j.add(key, l.Over, pointer, "%s", reason.Text)
	}
	return !over
}

// name judges the characters of a name after their number.
func (j *judge) name(l *Limit, key, name, pointer, what string) {
	n := utf8.RuneCountInString(name)
	words := what + " has %d characters"
	if key == "property" {
		words = what + " " + strings.ReplaceAll(text.Short(name, longest), "%", "%%") + " has %d characters"
	}
	if !j.number(l, key, n, pointer, words) || l == nil || l.pattern == nil {
		return
	}
	if !l.pattern.MatchString(name) {
		j.add(key, l.Over, pointer, "%s %q does not match %s, as %s wants",
			what, text.Short(name, longest), l.Pattern, j.host.Name)
	}
}

func (h *Host) tool(t check.Tool, m measured) Cell {
	j := &judge{host: h, cell: Cell{Tool: t.Name, State: Kept}}
	l := h.Limits
	j.surface(t)
	j.name(l.Name, "name", t.Name, "/name", "the name")
	j.number(l.Description, "description", utf8.RuneCountInString(t.Description), "/description",
		"the description has %d characters")
	j.number(l.Schema, "schema-bytes", len(compact(t.Input)), "/inputSchema",
		"the input schema has %d bytes")
	j.number(l.Depth, "schema-depth", m.depth, "/inputSchema", "the input schema is %d schemas deep")
	j.number(l.Properties, "schema-properties", m.properties, "/inputSchema",
		"the input schema has %d properties")
	if l.Property != nil {
		for _, name := range m.names {
			if len(j.cell.Reasons) >= mostFindings {
				break
			}
			j.name(l.Property, "property", name, "/inputSchema", "the property")
		}
	}
	j.keywords(m)
	for _, want := range h.Wants {
		if !slices.ContainsFunc(want.Any, func(path string) bool { return has(t, path) }) {
			j.add("wants", want.Over, "", "there is no %s, which %s wants", text.List(want.Any, "or"), h.Name)
		}
	}
	for _, r := range j.cell.Reasons {
		if r.Over != Warn { // what refuses the page is settled for all of its tools at once
			j.cell.State = Dropped
		}
	}
	if j.cell.State == Kept {
		j.losses(t)
	}
	return j.cell
}

func (j *judge) losses(t check.Tool) {
	for _, loss := range j.host.Loses {
		for _, path := range loss.Members {
			if !has(t, path) {
				continue
			}
			j.cell.State = Changed
			j.add("loses", Warn, "/"+strings.ReplaceAll(path, ".", "/"), "%s takes no notice of %s",
				j.host.Name, path)
		}
	}
}

func (j *judge) surface(t check.Tool) {
	s := j.host.Surface
	if s == nil {
		return
	}
	missing := ""
	switch t.Surface {
	case "document", "navigator":
		if !slices.Contains(s.Objects, t.Surface) {
			missing = t.Surface + ".modelContext"
		}
	case "provideContext":
		if len(s.Methods) > 0 && !slices.Contains(s.Methods, t.Surface) {
			missing = "provideContext"
		}
	}
	if missing != "" {
		j.add("surface", DropTool, "", "it is registered through %s, which %s does not have", missing,
			j.host.Name)
	}
}

func (j *judge) keywords(m measured) {
	k := j.host.Keywords
	if k == nil {
		return
	}
	refused := func(words []string, in map[string]bool, where string) {
		for _, word := range words {
			if in[word] {
				j.add("keywords", k.Over, "/inputSchema", "the input schema has %s%s, which %s refuses", word,
					where, j.host.Name)
			}
		}
	}
	refused(k.Root, m.root, " at its root")
	refused(k.Any, m.any, "")
}

func (r *Row) whole(tools []check.Tool, page Page) {
	h := &r.Host
	if h.Secure && page.Insecure {
		r.refuse(Reason{Limit: "secure", Over: RefusePage,
			Text: "the origin is not secure; " + h.Name + " wants https, or a loopback address"})
	}
	for _, cell := range r.Cells {
		for _, reason := range cell.Reasons {
			if reason.Over == RefusePage {
				reason.Tool = cell.Tool
				r.refuse(reason)
			}
		}
	}
	r.sum(tools, h.Limits.Tools, "tools", "%d tools", func(check.Tool) int { return 1 })
	if d := h.Limits.Descriptor; d != nil {
		r.sum(tools, d, "descriptor-bytes", "%d bytes of declarations", func(t check.Tool) int {
			return descriptorBytes(t, d.Of)
		})
	}
	changes, over := h.Limits.Changes.over(h, "changes", page.Changes,
		"%d changes of the list of tools")
	if over {
		r.passed(changes)
	}
	if r.State == Refused {
		for i := range r.Cells {
			r.Cells[i].State = Refused
		}
	}
}

// sum judges what the tools that are there come to, all together.
func (r *Row) sum(tools []check.Tool, l *Limit, key, text string, of func(check.Tool) int) {
	if l == nil {
		return
	}
	total, within := 0, 0
	for i, t := range tools {
		if r.Cells[i].State == Dropped && !r.refusedBy(i) {
			continue
		}
		total += of(t)
		if total <= l.Max {
			within++
			continue
		}
		if l.Over == DropRest {
			r.Cells[i].State = Dropped
			r.Cells[i].Reasons = append(r.Cells[i].Reasons, Reason{
				Limit: key, Over: DropRest,
				Text: fmt.Sprintf("it is beyond the first %d tools that %s takes", within, r.Host.Name),
			})
		}
	}
	if reason, over := l.over(&r.Host, key, total, text); over {
		r.passed(reason)
	}
}

// refusedBy reports whether the tool is one for which the host refuses the page: such a one counts.
func (r *Row) refusedBy(i int) bool {
	return slices.ContainsFunc(r.Cells[i].Reasons, func(x Reason) bool { return x.Over == RefusePage })
}

func (r *Row) passed(reason Reason) {
	switch reason.Over {
	case RefusePage:
		reason.Text += " and switches the page off"
		r.State = Refused
	case DropRest:
		reason.Text += ", and drops the rest"
	default:
		reason.Text += ", and complains"
	}
	r.Reasons = append(r.Reasons, reason)
}

func (r *Row) refuse(reason Reason) {
	r.State = Refused
	r.Reasons = append(r.Reasons, reason)
}
