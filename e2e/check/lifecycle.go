package check

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

const stamp = `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user.",`

const (
	yearOptional = stamp + `"inputSchema":{"type":"object","properties":{` + goodYear + `}}}`
	yearRequired = stamp + `"inputSchema":{"type":"object","properties":{` + goodYear + `},"required":["year"]}}`
)

var lifecycleRules = []Rule{
	{ID: "registers-late", Severity: Warning, find: each((*run).eachPage, findLate),
		Options: []Option{{Name: "max", Number: 3, What: "seconds after the navigation in which tools must be registered"}},
		What: "A tool was registered for the first time when the page counted as opened already (the load event, and 100 ms without a registration), " +
			"or more than three seconds after the navigation. The page is looked at for 2.5 seconds after the load event at least, and for 5 at most.",
		Why:    "An agent lists the tools when the page has loaded, and does not find it.",
		Source: "playwright-webmcp, timeline rules",
		Bad:    `{"timeline":[{"at":"4s","kind":"register","tool":"add_stamp"}]}`, Good: `{"timeline":[{"at":"200ms","kind":"register","tool":"add_stamp"}]}`},
	{ID: "churn", Severity: Warning, find: each((*run).eachPage, findChurn),
		Options: []Option{{Name: "max", Number: 3, What: "changes of a tool after it was registered"}},
		What:    "A tool was unregistered, registered again or replaced more than three times.",
		Why:     "Each change makes agents read the list again, a call in between finds no tool, and hosts stop listening after some changes.",
		Source:  "playwright-webmcp, timeline rules; limits of hosts",
		Bad: `{"timeline":[{"at":"1ms","kind":"register","tool":"add_stamp"},{"at":"2ms","kind":"replace","tool":"add_stamp"},{"at":"3ms","kind":"replace","tool":"add_stamp"},` +
			`{"at":"4ms","kind":"replace","tool":"add_stamp"},{"at":"5ms","kind":"replace","tool":"add_stamp"}]}`,
		Good: `{"timeline":[{"at":"1ms","kind":"register","tool":"add_stamp"},{"at":"2ms","kind":"replace","tool":"add_stamp"}]}`},
	{ID: "register-unhandled", Severity: Warning, find: each((*run).declarations, findUnhandled),
		What:   "registerTool rejected a declaration, and the page did not handle the rejection.",
		Why:    "The tool is missing, and neither the page nor its developer knows.",
		Source: "WebMCP draft, registerTool returns a promise",
		Bad:    `{"rejected":[{"name":"add_wish","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it.","reason":"NotAllowedError","message":"Not allowed.","unhandled":true}]}`,
		Good:   goodTool},
	{ID: "deprecated-surface", Severity: Warning, find: each((*run).eachPage, findDeprecated),
		What:   "Tools are registered through provideContext or navigator.modelContext.",
		Why:    "Browsers have removed both (in March 2026, and in Chrome 152).",
		Source: "history of the WebMCP draft",
		Bad:    stamp + `"surface":"navigator"}`, Good: stamp + `"surface":"document"}`},
	{ID: "cross-page-drift", Severity: Warning, find: findDrifting,
		What:   "Two pages of the site have a tool of one name with different contracts.",
		Why:    "An agent that has learned the tool on one page calls it wrongly on the other.",
		Source: "pagetools",
		Bad:    `{"pages":[{"url":"https://shop.example/","tools":[` + yearOptional + `]},{"url":"https://shop.example/b","tools":[` + yearRequired + `]}]}`,
		Good:   `{"pages":[{"url":"https://shop.example/","tools":[` + yearOptional + `]},{"url":"https://shop.example/b","tools":[` + yearOptional + `]}]}`, At: "/inputSchema"},
	{ID: "unstable-version", Severity: Warning, find: each((*run).eachPage, findUnstable),
		What:   "Two loads of the page declare different tools.",
		Why:    "Whoever pinned or reviewed the tools has to do it again each time. A date, a counter or a user's name in a description is the usual reason.",
		Source: "pagetools, versions of webtools",
		Bad:    `{"tools":[` + yearOptional + `],"again":[` + yearRequired + `]}`, Good: `{"tools":[` + yearOptional + `],"again":[` + yearOptional + `]}`, At: "/inputSchema"},
	{ID: "contract-changed", Severity: Error, find: findContract,
		What: "A tool is not as the lock file says. An error when callers break: the tool is gone, has another name, takes less or promises less, or asks a person " +
			"more often. A warning when they do not: a new tool, more input, fewer questions. Information when only words changed.",
		Why:    "Agents and scripts were written for the tools of the lock file.",
		Source: "semantic versioning of webtools",
		Bad:    `{"tools":[` + yearRequired + `],"locked":{"add_stamp":` + yearOptional + `}}`, Good: `{"tools":[` + yearOptional + `],"locked":{"add_stamp":` + yearOptional + `}}`, At: "/inputSchema/required"},
}

func findLate(r *run, p *page) {
	most := time.Duration(r.number("max") * float64(time.Second))
	seen, reported := map[string]bool{}, map[string]bool{}
	for _, e := range p.Timeline {
		if e.Kind != "register" || seen[e.Tool] {
			continue
		}
		seen[e.Tool] = true
		if e.At > most {
			r.report(place{page: p, name: e.Tool}, "The tool %s was registered after %s: register "+
				"it within %s.", text.Quote(e.Tool), e.At.Round(time.Millisecond), most)
			reported[e.Tool] = true
		}
	}
	for _, f := range p.Findings {
		if f.Rule == bridge.RuleLate && !reported[f.Tool] {
			r.report(place{page: p, name: f.Tool}, "%s", quoteLong(f.Message))
		}
	}
}

func findChurn(r *run, p *page) {
	most := int(r.number("max"))
	events := map[string]int{}
	for _, e := range p.Timeline {
		events[e.Tool]++
	}
	for _, name := range sortedKeys(events) {
		if changes := events[name] - 1; changes > most {
			r.report(place{page: p, name: name}, "The tool %s changed %d times after it was registered: "+
				"register it once, and let its function look at the state.", text.Quote(name), changes)
		}
	}
}

func findUnhandled(r *run, t *tool) {
	if t.rejected != nil && t.rejected.Unhandled {
		r.report(t.at(""), "The registration of %s was rejected (%s), and nobody handled that: "+
			"await registerTool, and catch.", text.Quote(t.Name), strings.TrimSuffix(t.rejected.why(), "."))
	}
}

func findDeprecated(r *run, p *page) {
	used := map[string][]string{}
	for _, t := range p.tools {
		if t.Surface == "provideContext" || t.Surface == "navigator" {
			used[t.Surface] = append(used[t.Surface], t.Name)
		}
	}
	for _, surface := range sortedKeys(used) {
		r.report(place{page: p}, "Registered through %s: %s. Use document.modelContext.registerTool.",
			surface, quoteAll(used[surface]))
	}
}

// contract returns what callers rely on, comparable.
func contract(t *Tool) [4]string {
	canonical := func(raw json.RawMessage) string {
		c, err := schema.Canonical(raw)
		if err != nil {
			return string(raw)
		}
		return string(c)
	}
	return [4]string{text.Line(t.Description), canonical(inputOf(t)), canonical(t.Output),
		canonical(t.Annotations)}
}

// contractParts are the members that contract compares.
var contractParts = [4]string{"description", "inputSchema", "outputSchema", "annotations"}

// inputOf is the input schema; a tool without one takes any object.
func inputOf(t *Tool) json.RawMessage {
	if raw := strings.TrimSpace(string(t.Input)); raw == "" || raw == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Input
}

// differing names the members in which two declarations differ.
func differing(a, b *Tool) (parts []string) {
	x, y := contract(a), contract(b)
	for i, part := range contractParts {
		if x[i] != y[i] {
			parts = append(parts, part)
		}
	}
	return parts
}

func findDrifting(r *run) {
	if !r.s.Live {
		return // a file may have several sites
	}
	first := map[string]*tool{}
	for _, p := range r.pages {
		for _, t := range p.tools {
			key := t.origin() + "\x00" + t.Name
			before := first[key]
			if before == nil {
				first[key] = t
				continue
			}
			if before.page == p || before.page.URL == p.URL {
				continue
			}
			if parts := differing(before.declared, t.declared); len(parts) > 0 {
				r.report(t.at("/"+parts[0]), "The tool %s is another one on %s (%s "+
					"differ): use one contract, or two names.", text.Quote(t.Name), text.Quote(before.page.URL), strings.Join(parts, ", "))
			}
		}
	}
}

// findUnstable compares two loads. A manifest comes beside its page, in its own time: that only one
// load has its tools says nothing.
func findUnstable(r *run, p *page) {
	if p.Again == nil {
		return
	}
	again := map[string]*Tool{}
	for i := range p.Again {
		again[p.Again[i].Frame+"\x00"+p.Again[i].Name] = &p.Again[i]
	}
	for _, t := range p.tools {
		key := t.Frame + "\x00" + t.Name
		second := again[key]
		delete(again, key)
		if second == nil {
			if t.Surface == "manifest" {
				continue
			}
			r.report(t.at(""), "The second load of the page does not have the tool %s: register it "+
				"on every load.", text.Quote(t.Name))
			continue
		}
		if parts := differing(t.declared, second); len(parts) > 0 {
			r.report(t.at("/"+parts[0]), "Two loads of the page declare %s "+
				"differently (%s): leave out what changes.", text.Quote(t.Name), strings.Join(parts, ", "))
		}
	}
	for _, key := range sortedKeys(again) {
		name := again[key].Name
		if again[key].Surface == "manifest" {
			continue
		}
		r.report(place{page: p, name: name}, "Only the second load of the page has the tool %s: "+
			"register it on every load.", text.Quote(name))
	}
}

func findContract(r *run) {
	if r.s.Locked == nil || len(r.pages) == 0 {
		return
	}
	seen := map[string]bool{}
	var gone, added []*Tool
	places := map[*Tool]place{}
	r.tools(func(t *tool) {
		seen[t.Name] = true
		locked, there := r.s.Locked[t.Name]
		switch {
		case !there:
			added = append(added, t.declared)
			places[t.declared] = t.at("")
		case locked.Description != "" || len(locked.Input) > 0: // files of version 1 have digests only
			for _, c := range compareTools(&locked, t.declared) {
				r.changed(t.at(""), c)
			}
		}
	})
	for _, name := range sortedKeys(r.s.Locked) {
		if t := r.s.Locked[name]; !seen[name] {
			gone = append(gone, &t)
		}
	}
	renamed := renames(gone, added)
	for _, t := range gone {
		to := renamed[t]
		if to == nil {
			r.changed(place{page: r.pages[0], name: t.Name}, goneTool(t.Name))
			continue
		}
		for _, c := range append([]Change{renamedTool(t, to)}, compareTools(t, to)...) {
			r.changed(places[to], c)
		}
		delete(places, to)
	}
	for _, t := range added {
		if at, there := places[t]; there {
			r.changed(at, newTool(t.Name))
		}
	}
}

// changed reports how a tool differs from the lock file.
func (r *run) changed(at place, c Change) {
	at.pointer, at.severity = c.Pointer, severities[c.Change]
	r.report(at, r.reword.Of("Since the lock file: %s; %s (%s)."), c.What,
		c.Reason, strings.ToLower(words[c.Change]))
}
