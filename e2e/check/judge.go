package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// mostFindings limits how many findings a rule may have on one page. What is more is counted.
const mostFindings = 50

// Judge holds a snapshot against the rules, and returns the findings: without duplicates,
// sorted by severity, target, page, tool, rule and pointer, and at most 50 of a rule on a page,
// with one that says how many more there are. The snapshot must not be changed meanwhile. An
// error names an unknown rule or option, or an invalid value.
func Judge(s *Snapshot, o Options) ([]Finding, error) {
	for _, id := range sortedKeys(o.Rules) {
		if _, err := ruleByID(id); err != nil {
			return nil, err
		}
	}
	all := Rules()
	var todo []*Rule
	ids := map[string]bool{}
	for i := range all {
		ids[all[i].ID] = true
		r, err := all[i].configured(o.Rules[all[i].ID])
		if err != nil {
			return nil, err
		}
		if r.Severity != Off {
			todo = append(todo, r)
		}
	}
	pages, api := prepare(s), readAPI(s.API)
	var found []Finding
	fixes := map[string]*tool{}
	for _, rule := range todo {
		setting := o.Rules[rule.ID]
		r := &run{s: s, rule: rule, pages: pages, api: api, hosts: o.Hosts, reword: o.Words,
			fixed: setting.Severity != "", allowed: folded(setting.Allow), counts: map[string]int{}, omitted: map[string]Severity{},
			seen: map[string]bool{}, fixes: fixes, ids: ids}
		rule.find(r)
		found = append(found, r.finish()...)
	}
	if !o.alone {
		verify(s, o, fixes, found)
	}
	slices.SortStableFunc(found, compareFindings)
	return found, nil
}

// rank orders severities, the worst first.
func rank(s Severity) int {
	return slices.Index([]Severity{Error, Warning, Info, Off}, s)
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(rank(a.Severity), rank(b.Severity)),
		cmp.Compare(a.Where.Target, b.Where.Target),
		cmp.Compare(a.Where.Page, b.Where.Page),
		cmp.Compare(a.Where.Tool, b.Where.Tool),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Where.Pointer, b.Where.Pointer),
		cmp.Compare(a.Message, b.Message))
}

// run is one rule at work on a snapshot.
type run struct {
	s       *Snapshot
	rule    *Rule
	pages   []*page
	api     *description // nil is none
	hosts   func(*Snapshot) []Finding
	reword  text.Words
	fixed   bool // the setting replaces every severity
	allowed []string
	found   []Finding
	counts  map[string]int      // findings by page, those that are only counted too
	omitted map[string]Severity // the worst of those, by page
	seen    map[string]bool
	fixes   map[string]*tool // by the text of their corrections
	ids     map[string]bool  // of all rules
}

type place struct {
	page     *page
	tool     *tool
	pointer  string
	severity Severity  // "" is the rule's
	certain  bool      // how to correct it: tool.fix does
	script   *Position // nil means the tool's
	// name and url stand for a tool and a page that were not prepared.
	name, url string
}

// at is a place in the declaration of a tool.
func (t *tool) at(pointer string) place { return place{tool: t, pointer: pointer} }

// at is a place in a schema, by the rest of its pointer.
func (n node) at(rest string) place { return n.tool.at(n.pointer + rest) }

// report adds a finding, unless there are enough of this rule on this page. Texts of strangers
// in it are quoted.
func (r *run) report(at place, format string, args ...any) {
	w := Where{Target: r.s.Target, Pointer: text.Short(at.pointer, maxPointer),
		Tool: text.Short(at.name, maxName), Page: text.Short(at.url, maxPointer)}
	if at.tool != nil {
		at.page = cmp.Or(at.page, at.tool.page)
		w.Tool, w.Frame = text.Short(at.tool.Name, maxName), text.Short(at.tool.Frame, maxName)
		w.Script = at.tool.Script
	}
	if at.script != nil {
		w.Script = at.script
	}
	if at.page != nil {
		w.Page = at.page.URL
	}
	f := Finding{Rule: r.rule.ID, Severity: r.rule.Severity, Where: w}
	if at.severity != "" && !r.fixed {
		f.Severity = at.severity
	}
	if r.counts[w.Page] >= mostFindings {
		r.omit(f)
		return
	}
	f.Message = fmt.Sprintf(format, args...)
	if at.certain {
		f.Fix = at.tool.fix()
		r.fixes[f.Fix] = at.tool
	}
	r.add(f)
}

// add keeps a finding that is not there yet.
func (r *run) add(f Finding) {
	key := strings.Join([]string{f.Where.Page, f.Where.Frame, f.Where.Tool, f.Where.Pointer,
		f.Message}, "\x00")
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	if r.counts[f.Where.Page] >= mostFindings {
		r.omit(f)
		return
	}
	r.counts[f.Where.Page]++
	r.found = append(r.found, f)
}

// omit counts a finding that is left out, and keeps the worst severity of those.
func (r *run) omit(f Finding) {
	page := f.Where.Page
	r.counts[page]++
	if worst, there := r.omitted[page]; !there || rank(f.Severity) < rank(worst) {
		r.omitted[page] = f.Severity
	}
}

// finish says how many findings were left out.
func (r *run) finish() []Finding {
	for _, url := range sortedKeys(r.counts) {
		if more := r.counts[url] - mostFindings; more > 0 {
			r.found = append(r.found, Finding{Rule: r.rule.ID, Severity: r.omitted[url],
				Message: fmt.Sprintf("There are %d more of these on this page: correct those that are "+
					"listed, and check again.", more),
				Where: Where{Target: r.s.Target, Page: url}})
		}
	}
	return r.found
}

// The bounds of what a finding repeats of strangers' texts, in bytes.
const (
	maxName    = 256
	maxPointer = 1 << 10
	maxQuoted  = 80
	maxFix     = 32 << 10
)

// quoteAll quotes the first few of a list.
func quoteAll(list []string) string { return text.FewQuoted(list, 5) }

// option finds an option by name. Every name is a constant of the same table.
func (r *run) option(name string) *Option {
	for i := range r.rule.Options {
		if r.rule.Options[i].Name == name {
			return &r.rule.Options[i]
		}
	}
	panic("the rule " + r.rule.ID + " has no option " + name)
}

func (r *run) number(name string) float64 { return r.option(name).Number }
func (r *run) words(name string) []string { return r.option(name).Words }

// each makes a search for one rule of one for each of some things, such as (*run).tools.
func each[T any](all func(*run, func(T)), find func(*run, T)) func(*run) {
	return func(r *run) { all(r, func(x T) { find(r, x) }) }
}

func (r *run) eachPage(visit func(*page)) {
	for _, p := range r.pages {
		visit(p)
	}
}

// tools calls a function for every declaration that is offered.
func (r *run) tools(visit func(*tool)) {
	for _, p := range r.pages {
		for _, t := range p.tools {
			visit(t)
		}
	}
}

// declarations calls a function for every declaration, those that are not offered too: for rules
// that say why they are not. Nothing else is judged of them.
func (r *run) declarations(visit func(*tool)) {
	for _, p := range r.pages {
		for _, t := range p.all {
			visit(t)
		}
	}
}

// params calls a function for every parameter of a tool, at every depth.
func (r *run) params(visit func(node)) {
	r.tools(func(t *tool) { t.params(visit) })
}

// toolCall is a call with its tool, which is nil when the snapshot has no declaration of it, and
// the place of findings about it.
type toolCall struct {
	*Call

	tool *tool
	at   place
}

func (r *run) calls(visit func(toolCall)) {
	index := map[[2]string]*tool{}
	r.tools(func(t *tool) {
		if key := [2]string{t.page.URL, t.Name}; index[key] == nil {
			index[key] = t
		}
	})
	for i := range r.s.Calls {
		c := &r.s.Calls[i]
		t := index[[2]string{c.Page, c.Tool}]
		visit(toolCall{c, t, place{tool: t, name: c.Tool, url: c.Page}})
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// indented is JSON on lines, of which only the first are shown when there are many.
func indented(text string) string {
	const most = 40
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	lines := strings.Split(b.String(), "\n")
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("… and %d more lines", more))
	}
	return strings.Join(lines, "\n")
}
