package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Change is one way in which a tool, or a list of them, differs from before.
type Change struct {
	// Page is the page of the tool, by its key in a lock file or its address; "" is unknown.
	Page string
	// Tool is the name of the tool now, or of one that is gone. Was is its name before, when it
	// has another one.
	Tool, Was string
	// Pointer is the place in the declaration as JSON has it; "" is all of it. Gone is true when
	// the place is in the old declaration, because the new one has nothing there.
	Pointer string
	Gone    bool
	// Change is Patch, Minor or Major.
	Change schema.Change
	// What says what changed, and Reason what follows for callers. Texts of strangers in them
	// are quoted, cut, and without invisible characters.
	What, Reason string
}

var words = map[schema.Change]string{schema.Major: "Breaking", schema.Minor: "Minor",
	schema.Patch: "Patch"}

// String says what changed, how bad that is, and why.
func (c Change) String() string { return words[c.Change] + ": " + c.What + "; " + c.Reason + "." }

var severities = map[schema.Change]Severity{schema.Major: Error, schema.Minor: Warning,
	schema.Patch: Info}

// Finding returns the change as a finding of the rule contract-changed: what breaks callers is an
// error, what does not a warning, and words are information.
func (c Change) Finding() Finding {
	return Finding{Rule: "contract-changed", Severity: severities[c.Change], Message: c.String(),
		Where: Where{Page: c.Page, Tool: text.Short(c.Tool, maxName), Pointer: text.Short(c.Pointer,
			maxPointer)}}
}

// Owed returns the greatest of the changes: the part of a version to raise. Same is none.
func Owed(changes []Change) schema.Change {
	owed := schema.Same
	for _, c := range changes {
		owed = max(owed, c.Change)
	}
	return owed
}

// Diff returns how the tools of one snapshot differ from those of another, the worst first. Of
// two with one page each those are compared; of others the pages of one name. A snapshot with
// several pages is compared with one that is not a lock file by the page of the same name, and an
// error says that there is none.
func Diff(before, now *Snapshot) ([]Change, error) {
	pairs, err := pairPages(before, now)
	if err != nil {
		return nil, err
	}
	var all []Change
	for _, p := range pairs {
		changes := diffTools(p.before, p.now)
		for i := range changes {
			changes[i].Page = p.name
		}
		all = append(all, changes...)
	}
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Change, a.Change), cmp.Compare(a.Page, b.Page),
			cmp.Compare(a.Tool, b.Tool))
	})
	return all, nil
}

// pagePair is a page before and now. A page that is not there has no tools.
type pagePair struct {
	name        string
	before, now []Tool
}

func (p *Page) name() string { return cmp.Or(p.Target, p.URL) }

func pairPages(before, now *Snapshot) ([]pagePair, error) {
	if len(before.Pages) == 1 && len(now.Pages) == 1 {
		a, b := &before.Pages[0], &now.Pages[0]
		return []pagePair{{cmp.Or(b.name(), a.name()), a.Tools, b.Tools}}, nil
	}
	if before.Source != sourceLock && len(before.Pages) == 1 && len(now.Pages) > 1 {
		p, err := pageOfLock(now, &before.Pages[0])
		return []pagePair{{before.Pages[0].name(), before.Pages[0].Tools, p.Tools}}, err
	}
	if now.Source != sourceLock && len(now.Pages) == 1 && len(before.Pages) > 1 {
		p, err := pageOfLock(before, &now.Pages[0])
		return []pagePair{{now.Pages[0].name(), p.Tools, now.Pages[0].Tools}}, err
	}
	byName := map[string]*pagePair{}
	for i := range before.Pages {
		p := &before.Pages[i]
		byName[p.name()] = &pagePair{name: p.name(), before: p.Tools}
	}
	for i := range now.Pages {
		p := &now.Pages[i]
		if byName[p.name()] == nil {
			byName[p.name()] = &pagePair{name: p.name()}
		}
		byName[p.name()].now = p.Tools
	}
	var all []pagePair
	for _, name := range sortedKeys(byName) {
		all = append(all, *byName[name])
	}
	return all, nil
}

// pageOfLock returns the page of a lock file that another page is to be compared with.
func pageOfLock(lock *Snapshot, with *Page) (*Page, error) {
	var names []string
	for i := range lock.Pages {
		if p := &lock.Pages[i]; p.name() != "" && (p.name() == with.Target || p.name() == with.URL) {
			return p, nil
		}
		names = append(names, lock.Pages[i].name())
	}
	return &Page{}, fmt.Errorf("%s has %d targets, and none of them is the other list: it has %s",
		text.Quote(lock.Target), len(names), quoteAll(names))
}

// diffTools compares two lists by the names of the tools. Of tools with one name the first counts.
func diffTools(before, now []Tool) (all []Change) {
	old, fresh := byName(before), byName(now)
	var gone, added []*Tool
	for i := range before {
		t := &before[i]
		switch {
		case old[t.Name] != t:
		case fresh[t.Name] == nil:
			gone = append(gone, t)
		default:
			all = append(all, compareTools(t, fresh[t.Name])...)
		}
	}
	for i := range now {
		if t := &now[i]; fresh[t.Name] == t && old[t.Name] == nil {
			added = append(added, t)
		}
	}
	renamed := renames(gone, added)
	for _, t := range gone {
		if to := renamed[t]; to != nil {
			all = append(append(all, renamedTool(t, to)), compareTools(t, to)...)
			added = slices.DeleteFunc(added, func(x *Tool) bool { return x == to })
		} else {
			all = append(all, goneTool(t.Name))
		}
	}
	for _, t := range added {
		all = append(all, newTool(t.Name))
	}
	return all
}

func byName(tools []Tool) map[string]*Tool {
	all := make(map[string]*Tool, len(tools))
	for i := range tools {
		if all[tools[i].Name] == nil {
			all[tools[i].Name] = &tools[i]
		}
	}
	return all
}

func goneTool(name string) Change {
	return Change{Tool: name, Gone: true, Change: schema.Major, What: "the tool is gone",
		Reason: "calls of it fail"}
}

func newTool(name string) Change {
	return Change{Tool: name, Change: schema.Minor, What: "the tool is new",
		Reason: "calls that were right still are"}
}

func renamedTool(before, now *Tool) Change {
	return Change{Tool: now.Name, Was: before.Name, Pointer: "/name", Change: schema.Major,
		What:   "the tool was called " + text.Quote(before.Name),
		Reason: "calls by the old name fail: keep a tool of that name for a while"}
}

func compareTools(before, now *Tool) (all []Change) {
	add := func(pointer string, change schema.Change, what, reason string) {
		all = append(all, Change{Tool: now.Name, Pointer: pointer, Change: change, What: what,
			Reason: reason})
	}
	if a, b := text.Line(before.Description), text.Line(now.Description); a != b {
		add("/description", schema.Patch, "description "+said(a, b, text.Quote),
			"calls that were right still are, but agents may choose the tool for other tasks")
	}
	if a, b := text.Line(before.Title), text.Line(now.Title); a != b {
		add("/title", schema.Patch, "title "+said(a, b, text.Quote), "people see another name")
	}
	if what := adapterChange(before.Adapter, now.Adapter); what != "" {
		add("/adapter", schema.Patch, what, "other code answers the calls: read it, and agree to it again")
	}
	all = append(all, compareSchemas(now.Name, "/inputSchema", inputOf(before), inputOf(now),
		schema.Request)...)
	all = append(all, compareResults(before, now)...)
	all = append(all, compareHints(before, now)...)
	switch {
	case before.Frame == "" && now.Frame != "":
		add("/frame", schema.Major, "the tool is in a frame now", "what a frame claims of its tools "+
			"does not count, so that a person may be asked")
	case before.Frame != "" && now.Frame == "":
		add("/frame", schema.Minor, "the tool is not in a frame any more",
			"calls that were right still are")
	case before.Frame != "" && public(before.Origin) && public(now.Origin) &&
		before.Origin != now.Origin:
		add("/origin", schema.Major, "origin "+said(before.Origin, now.Origin, text.Quote),
			"another site runs the calls, which policies may not allow")
	}
	return all
}

// adapterChange says how the scripts differ that add a tool to its page; "" is not at all.
func adapterChange(before, now *bridge.Adapter) string {
	switch {
	case before == nil && now == nil:
		return ""
	case before == nil:
		return "adapter changed: " + text.Quote(now.String()) + " adds the tool now, and not the page"
	case now == nil:
		return "adapter changed: the page itself has the tool now, and not " + text.Quote(before.String())
	case *before == *now:
		return ""
	case before.String() == now.String():
		return "adapter changed: another file calls itself " + text.Quote(now.String())
	}
	return "adapter changed: " + said(before.String(), now.String(), text.Quote)
}

// public reports whether an origin is not of this machine: those have another port each time.
func public(from string) bool {
	u, err := url.Parse(from)
	return err == nil && from != "" && !origin.Loopback(u.Hostname())
}

func compareSchemas(tool, at string, before, now json.RawMessage, d schema.Direction) []Change {
	if string(before) == string(now) {
		return nil
	}
	var all []Change
	for _, x := range schema.Differences(before, now, d) {
		all = append(all, Change{Tool: tool, Pointer: at + x.Pointer, Gone: x.Gone, Change: x.Change,
			What: x.What, Reason: x.Reason})
	}
	return all
}

// compareResults compares schemas of results. A promise that is new breaks nobody.
func compareResults(before, now *Tool) []Change {
	one := Change{Tool: now.Name, Pointer: "/outputSchema"}
	switch empty := len(before.Output) == 0; {
	case empty && len(now.Output) == 0:
		return nil
	case empty:
		one.Change, one.What = schema.Minor, "there is a schema of results now"
		one.Reason = "results are promised to be like that, and were not before"
	case len(now.Output) == 0:
		one.Change, one.What, one.Gone = schema.Major, "the schema of results is gone", true
		one.Reason = "results may be what callers do not expect"
	default:
		return compareSchemas(now.Name, "/outputSchema", before.Output, now.Output, schema.Response)
	}
	return []Change{one}
}
