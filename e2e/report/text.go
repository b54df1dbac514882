package report

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// How many characters of strangers a report holds: of names and addresses, and of texts.
const (
	longestName = 500
	longestText = 8000
)

func shorten(s *string) { *s = text.Cut(*s, longestText) }

func shortenNames(all ...*string) {
	for _, s := range all {
		*s = text.Cut(*s, longestName)
	}
}

// bounded returns a copy of a run in which every text is as long as a report may have it, and
// valid UTF-8.
func bounded(run *Run) *Run {
	r := *run
	shortenNames(&r.Command, &r.Version, &r.Owed)
	r.Sites = mapped(r.Sites, func(s *Site) { shortenNames(&s.Target, &s.URL) })
	r.Rules = mapped(r.Rules, func(x *Rule) {
		shortenNames(&x.ID)
		x.What, x.Why = text.Cut(x.What, longestText), text.Cut(x.Why, longestText)
	})
	r.Findings = mapped(r.Findings, func(f *check.Finding) {
		w := &f.Where
		shortenNames(&f.Rule, &w.Target, &w.Page, &w.Frame, &w.Tool, &w.Pointer)
		f.Message, f.Fix = text.Cut(f.Message, longestText), text.Cut(f.Fix, longestText)
		if f.Where.Script != nil {
			script := *f.Where.Script
			shortenNames(&script.URL)
			f.Where.Script = &script
		}
	})
	r.Notes = mapped(r.Notes, shorten)
	r.Cases = mapped(r.Cases, func(c *Case) { *c = boundedCase(*c) })
	return &r
}

func boundedCase(c Case) Case {
	shortenNames(&c.File, &c.Name, &c.Door, &c.Trace)
	c.Reason = text.Cut(c.Reason, longestText)
	c.Tags = mapped(c.Tags, func(s *string) { shortenNames(s) })
	c.Steps = mapped(c.Steps, func(s *Step) { shortenNames(&s.Name) })
	if c.Failure != nil {
		f := *c.Failure
		shortenNames(&f.Step, &f.Path, &f.BeforePath, &f.AfterPath)
		f.Message, f.Again = text.Cut(f.Message, longestText), text.Cut(f.Again, longestText)
		f.Expected, f.Actual = text.Cut(f.Expected, longestText), text.Cut(f.Actual, longestText)
		f.Console, f.Requests = mapped(f.Console, shorten), mapped(f.Requests, shorten)
		c.Failure = &f
	}
	return c
}

// mapped returns a copy of a list after each of its elements was changed. It is never nil.
func mapped[T any](list []T, change func(*T)) []T {
	copied := make([]T, len(list))
	copy(copied, list)
	for i := range copied {
		change(&copied[i])
	}
	return copied
}

// lines makes invisible characters visible, and those that a terminal obeys. Line ends stay.
func lines(s string) string {
	return text.Escape(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(s))
}

// severities lists the severities of findings, from bad to good.
var severities = []check.Severity{check.Error, check.Warning, check.Info}

// severity is a word of ours, whatever a finding holds.
func severity(s check.Severity) string {
	if slices.Contains(severities, s) {
		return string(s)
	}
	return "unknown"
}

// Fails reports whether a finding fails the run.
func (r *Run) Fails(f check.Finding) bool {
	return f.Severity.AtLeast(cmp.Or(r.FailOn, check.Error))
}

// Failed reports whether the run did not succeed: by a case, or by a finding as severe as FailOn
// says.
func (r *Run) Failed() bool {
	return r.Interrupted || r.Count(Failed) > 0 || slices.ContainsFunc(r.Findings, r.Fails)
}

// Count returns how many cases ended in a way.
func (r *Run) Count(s Status) (n int) {
	for i := range r.Cases {
		if r.Cases[i].Status == s {
			n++
		}
	}
	return n
}

func (r *Run) countFindings(s check.Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

func (r *Run) summary() string {
	var parts []string
	if len(r.Cases) == 0 || len(r.Findings) > 0 {
		parts = append(parts, text.Count(r.countFindings(check.Error), "error")+", "+
			text.Count(r.countFindings(check.Warning), "warning")+", "+
			strconv.Itoa(r.countFindings(check.Info))+" info")
	}
	if len(r.Cases) > 0 {
		words := text.Count(len(r.Cases), "case") + ": " + strconv.Itoa(r.Count(Passed)) + " passed"
		for _, s := range []Status{Failed, Skipped, NotApplicable} {
			if n := r.Count(s); n > 0 {
				words += ", " + strconv.Itoa(n) + " " + strings.ReplaceAll(string(s), "-", " ")
			}
		}
		parts = append(parts, words)
	}
	tools := 0
	for _, s := range r.Sites {
		tools += s.Tools
	}
	if len(r.Sites) > 0 {
		parts = append(parts, text.Count(tools, "tool")+" of "+text.Count(len(r.Sites), "site"))
	}
	words := strings.Join(parts, "; ") + "; " + took(r.Took)
	if r.Interrupted {
		words += "; interrupted: the rest was not run"
	}
	return words
}

func took(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

func page(w check.Where) string {
	return cmp.Or(w.Page, w.Target, "all pages")
}

// frame names the frame of a finding, or is "".
func frame(w check.Where) string {
	if w.Frame == "" {
		return ""
	}
	return "in the frame " + w.Frame
}

// said returns the texts that are not empty.
func said(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// position is a place in a script, such as app.js:12:3, or "".
func position(p *check.Position) string {
	if p == nil {
		return ""
	}
	text := p.URL
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			text += ":" + strconv.Itoa(p.Column)
		}
	}
	return text
}

// label names a case: its name, and the door that it went through.
func (c *Case) label() string {
	if c.Door == "" {
		return c.Name
	}
	return c.Name + " (" + c.Door + ")"
}

func (c *Case) why() string {
	if c.Status == NotApplicable {
		return "not applicable: " + c.Reason
	}
	return c.Reason
}

// group is the findings about one page, by tool. The page itself is the tool "".
type group struct {
	Page  string
	Tools []toolGroup
}

type toolGroup struct {
	Tool     string
	Findings []check.Finding
}

// groups sorts findings by page and tool, each in the order of its first one.
func (r *Run) groups() []group {
	var all []group
	for _, f := range r.Findings {
		g := at(&all, func(g *group) bool { return g.Page == page(f.Where) })
		g.Page = page(f.Where)
		t := at(&g.Tools, func(t *toolGroup) bool { return t.Tool == f.Where.Tool })
		t.Tool = f.Where.Tool
		t.Findings = append(t.Findings, f)
	}
	return all
}

// at returns the element that fits, or a new one at the end.
func at[T any](list *[]T, fits func(*T) bool) *T {
	for i := range *list {
		if fits(&(*list)[i]) {
			return &(*list)[i]
		}
	}
	*list = append(*list, *new(T))
	return &(*list)[len(*list)-1]
}

// helpURL returns where a rule is documented, or "" for an id that cannot be one.
func helpURL(id string) string {
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return ""
		}
	}
	if id == "" {
		return ""
	}
	return "https://github.com/pagetools/pagetools/blob/main/docs/rules/" + id + ".md"
}

// localFile returns the path of a place that is a file here, and not a script on a server.
func localFile(place string) (string, bool) {
	u, err := url.Parse(place)
	if err == nil && u.Scheme == "file" {
		return u.Path, u.Path != ""
	}
	return place, place != "" && (err != nil || u.Scheme == "" || len(u.Scheme) == 1) // C:\x.js
}
