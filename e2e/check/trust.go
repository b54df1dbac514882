package check

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

var hintNames = []string{"readOnlyHint", "untrustedContentHint", "consequentialHint", "destructiveHint",
	"idempotentHint", "openWorldHint", "debugging"}

var trustRules = []Rule{
	{ID: "annotations-explicit", Severity: Warning, Off: true, find: each((*run).tools, findExplicit),
		Options: []Option{{Name: "fields", Words: []string{"readOnlyHint"}, OneOf: hintNames, What: "the hints that each tool must declare"}},
		What:    "A tool does not declare the hints that the project wants.",
		Why:     "A default that nobody chose decides whether a person is asked.",
		Source:  "playwright-webmcp, annotations-explicit",
		Bad:     exampleHead + `"annotations":{"untrustedContentHint":true}}`, Good: exampleHead + `"annotations":{"readOnlyHint":false}}`, At: "/annotations"},
	{ID: "annotations-literal", Severity: Error, find: each((*run).declarations, findLiteral),
		What:   "The annotations are not an object, or longer than 4 KB, or a hint is not true or false, such as the text \"true\".",
		Why:    "A browser takes any text for true; other hosts ignore it. The page and the host then believe different things.",
		Source: "WebMCP draft, ToolAnnotations; WebIDL, boolean",
		Bad:    exampleHead + `"annotations":{"consequentialHint":"true"}}`, Good: exampleHead + `"annotations":{"consequentialHint":true}}`, At: "/annotations/consequentialHint"},
	{ID: "mutating-name-readonly", Severity: Error, find: each((*run).tools, findMutating),
		What:   "The name says that the tool changes something, and readOnlyHint is true.",
		Why:    "Hosts run read-only tools without asking a person.",
		Source: "WebMCP draft, readOnlyHint",
		Bad:    exampleHead + `"annotations":{"readOnlyHint":true}}`, Good: exampleHead + `"annotations":{"readOnlyHint":false}}`, At: "/annotations/readOnlyHint"},
	{ID: "read-named-not-readonly", Severity: Warning, find: findReadNamed,
		What: "The name says that the tool only looks, and readOnlyHint is not true. A tool that was seen to change something does not count, nor " +
			"do search, query and lookup, which in many applications also set what the page shows.",
		Why:    "Hosts then ask a person before every look, and people learn to agree without reading.",
		Source: "WebMCP draft, readOnlyHint",
		Bad:    `{"name":"list_stamps","title":"List stamps","description":"Lists the rarities in the collection, newest first."}`,
		Good:   `{"name":"list_stamps","title":"List stamps","description":"Lists the rarities in the collection, newest first.","annotations":{"readOnlyHint":true}}`, At: "/annotations/readOnlyHint"},
	{ID: "consequential-missing", Severity: Warning, find: each((*run).tools, findConsequential),
		What:   "The name says that money, messages or data are gone afterwards, and neither consequentialHint nor destructiveHint is true.",
		Why:    "The host does not know that a person should confirm the call.",
		Source: "WebMCP draft, consequentialHint; MCP specification, destructiveHint",
		Bad:    `{"name":"delete_stamp","title":"Delete stamp","description":"Takes a stamp out of the collection for ever."}`,
		Good:   `{"name":"delete_stamp","title":"Delete stamp","description":"Takes a stamp out of the collection for ever.","annotations":{"consequentialHint":true}}`, At: "/annotations"},
	{ID: "navigation-consequential", Severity: Warning, find: findNavigation,
		What: "The tool leaves the page (by its name, or as was seen in a call), and does not declare consequentialHint, or declares readOnlyHint. " +
			"A name does not count where a parameter lists the views to choose from: these are mostly views within the page.",
		Why:    "A navigation takes away what the person sees, and the tools of the page with it.",
		Source: "playwright-webmcp, navigation-consequential",
		Bad:    `{"name":"navigate_home","title":"Go home","description":"Leaves this page for the front page of the shop."}`,
		Good:   `{"name":"navigate_home","title":"Go home","description":"Leaves this page for the front page of the shop.","annotations":{"consequentialHint":true}}`, At: "/annotations"},
	{ID: "untrusted-hint-missing", Severity: Warning, find: each((*run).tools, findUntrusted),
		What: "The name says that the tool reads what others wrote (comments, reviews, messages, other pages), or the description does, " +
			"and untrustedContentHint is not true.",
		Why:    "The host does not know that the result may hold instructions.",
		Source: "WebMCP draft, untrustedContentHint",
		Bad:    `{"name":"list_reviews","title":"List reviews","description":"Lists what buyers wrote about a stamp, newest first.","annotations":{"readOnlyHint":true}}`,
		Good:   `{"name":"list_reviews","title":"List reviews","description":"Lists what buyers wrote about a stamp, newest first.","annotations":{"readOnlyHint":true,"untrustedContentHint":true}}`, At: "/annotations/untrustedContentHint"},
	{ID: "debugging-exposed", Severity: Warning, find: each((*run).tools, findDebugging),
		What:   "The tool declares debugging, or its name says that it is for the page's developers.",
		Why:    "It shows agents of strangers what only developers should see, and takes a place in the list.",
		Source: "WebMCP draft, annotations.debugging",
		Bad:    `{"name":"show_state","title":"Show state","description":"Returns the internal state of the shop's store.","annotations":{"readOnlyHint":true,"debugging":true}}`,
		Good:   `{"name":"show_state","title":"Show state","description":"Returns how far the current order has come.","annotations":{"readOnlyHint":true}}`, At: "/annotations/debugging"},
	{ID: "capability-trifecta", Severity: Warning, find: each((*run).eachPage, findTrifecta),
		What: "One page has a tool that reads what is private, a tool that reads what strangers wrote (by untrustedContentHint or by name), and a tool that sends something out. " +
			"Names decide, by the lists of words of this package. A sending tool that declares consequentialHint or destructiveHint does not count: a person is asked.",
		Why:    "A stranger's text can then make the agent read private data and send it away.",
		Source: "the lethal trifecta of agents; playwright-webmcp, capability-trifecta",
		Bad:    trifecta(""), Good: trifecta(`,"annotations":{"consequentialHint":true}`)},
}

func trifecta(annotations string) string {
	return `[{"name":"list_orders","title":"List orders","description":"Lists what the signed-in user bought, newest first.","annotations":{"readOnlyHint":true}},` +
		`{"name":"list_reviews","title":"List reviews","description":"Lists what buyers wrote about a stamp.","annotations":{"readOnlyHint":true,"untrustedContentHint":true}},` +
		`{"name":"share_wish","title":"Share a wish","description":"Tells another collector which rarity is wanted."` + annotations + `}]`
}

func findExplicit(r *run, t *tool) {
	for _, name := range r.words("fields") {
		if _, said := t.hint(name); !said {
			r.report(t.at("/annotations"), "The tool does not declare %s: add true or false.", name)
		}
	}
}

// mostNotes limits how long annotations may be, in bytes; the bridge offers no tool with longer
// ones.
const mostNotes = 4 << 10

func findLiteral(r *run, t *tool) {
	raw := strings.TrimSpace(string(t.Annotations))
	switch at := t.at("/annotations"); {
	case raw == "" || raw == "null":
	case len(raw) > mostNotes:
		r.report(at, "The annotations have %d bytes: use at most %d.", len(raw), mostNotes)
	case !t.notes.IsObject():
		r.report(at, "The annotations are not a JSON object: write {\"readOnlyHint\":true} or "+
			"leave them out.")
	}
	for _, name := range hintNames {
		v := t.notes.Get(name)
		words := string(v.Text())
		if !v.Exists() || words == "true" || words == "false" {
			continue
		}
		at := t.at("/annotations/" + name)
		meant := strings.ToLower(v.String())
		at.certain = meant == "true" || meant == "false"
		r.report(at, "The value of %s is %s: it must be true or false.", name, text.Quote(words))
	}
}

func findMutating(r *run, t *tool) {
	if t.claims("readOnlyHint") && t.kind() == "change" {
		r.report(t.at("/annotations/readOnlyHint"), "The name %s says that the tool "+
			"changes something, and readOnlyHint is true: correct one of them.", text.Quote(t.Name))
	}
}

// mute reports whether a tool has no way to declare a hint: it is a form. What is wrong with the
// form itself, rules of their own say.
func (t *tool) mute() bool { return t.Surface == "form" }

func findReadNamed(r *run) {
	v := vocabulary()
	changes := map[*tool]bool{}
	r.calls(func(c toolCall) {
		changes[c.tool] = changes[c.tool] || len(c.Effects.changes()) > 0
	})
	r.tools(func(t *tool) {
		yes, said := t.hint("readOnlyHint")
		// get_or_create looks first, and changes something then.
		if yes || changes[t] || t.mute() || t.kind() != "read" || v.has("change", t.words[1:]...) || t.guarded() {
			return
		}
		if v.has("steers", t.words[0]) {
			return
		}
		at := t.at("/annotations/readOnlyHint")
		if said {
			r.report(at, "The name %s says that the tool only looks, and readOnlyHint is false: rename it, "+
				"or correct the hint.", text.Quote(t.Name))
			return
		}
		r.report(at, "The name %s says that the tool only looks: declare readOnlyHint: true if "+
			"that is so.", text.Quote(t.Name))
	})
}

func findConsequential(r *run, t *tool) {
	if verb := t.verb("consequential"); verb != "" && !t.mute() && t.kind() != "" && !t.guarded() && !t.claims("readOnlyHint") {
		r.report(t.at("/annotations"), "The name says %s, and neither "+
			"consequentialHint nor destructiveHint is true: declare one of them.", text.Quote(verb))
	}
}

func findNavigation(r *run) {
	navigates := map[*tool]string{}
	r.calls(func(c toolCall) {
		if c.tool != nil && c.Effects != nil && len(c.Effects.Navigated) > 0 {
			navigates[c.tool] = "it left the page when it was called"
		}
	})
	r.tools(func(t *tool) {
		if navigates[t] == "" && t.verb("navigate") != "" && !t.choosesView() {
			navigates[t] = "its name says that it leaves the page"
		}
		at := t.at("/annotations")
		switch why := navigates[t]; {
		case why == "" || t.mute():
		case t.claims("readOnlyHint"):
			r.report(at, "The tool declares readOnlyHint, and %s: declare consequentialHint instead.", why)
		case !t.guarded():
			r.report(at, "The tool does not declare consequentialHint, and %s: declare it.", why)
		}
	})
}

// choosesView reports whether a parameter lists the places that the tool goes to. These are
// views of the same application, which mostly stay in the page.
func (t *tool) choosesView() bool {
	for _, property := range t.input.Get("properties").Members() {
		if property.Get("enum").Len() > 1 {
			return true
		}
	}
	return false
}

// byOthers finds in a description that people wrote what a tool returns.
var byOthers = regexp.MustCompile(`(?i)\b(?:written|posted|submitted|left|sent) by (?:other |our |its )?(?:users|customers|guests|visitors|buyers|members|people|others|strangers)\b|\buser[- ]generated\b`)

// foreign reports whether a tool reads what strangers wrote: by its verb and what that is about, or
// by its description.
func (t *tool) foreign() bool {
	v := vocabulary()
	if len(t.words) == 0 {
		return false
	}
	first := t.words[0]
	reads := t.kind() == "read" || v.has("digest", first)
	return v.has("scrapes", first) || reads && (v.has("untrusted", t.words[1:]...) || byOthers.MatchString(clipped(t.Description)))
}

func findUntrusted(r *run, t *tool) {
	if _, said := t.hint("untrustedContentHint"); !said && !t.mute() && t.foreign() {
		r.report(t.at("/annotations/untrustedContentHint"), "The tool %s returns what others wrote, as its name or its "+
			"description says: declare untrustedContentHint: true.", text.Quote(t.Name))
	}
}

func findDebugging(r *run, t *tool) {
	v := vocabulary()
	switch {
	case t.claims("debugging"):
		r.report(t.at("/annotations/debugging"), "The tool is declared as a "+
			"debugging tool: register it in development builds only.")
	case v.has("debugging", t.words...):
		r.report(t.at("/name"), "The name %s says that the tool is for the page's "+
			"developers: register it in development builds only.", text.Quote(t.Name))
	}
}

func findTrifecta(r *run, p *page) {
	v := vocabulary()
	var private, foreign, out []string
	for _, t := range p.tools {
		reads := t.kind() == "read" || t.claims("readOnlyHint")
		if reads && v.has("private", t.words...) {
			private = append(private, t.Name)
		}
		if t.claims("untrustedContentHint") || t.foreign() {
			foreign = append(foreign, t.Name)
		}
		if t.verb("outward") != "" && !reads && !t.guarded() {
			out = append(out, t.Name)
		}
	}
	if len(private) > 0 && len(foreign) > 0 && len(out) > 0 {
		r.report(place{page: p}, "Tools read private data (%s) and what strangers wrote (%s), and "+
			"tools send something out without a person (%s): declare consequentialHint on the last.", quoteAll(private),
			quoteAll(foreign), quoteAll(out))
	}
}

// parsed reads a small JSON value of a call; what is not JSON is the zero Value.
func parsed(raw json.RawMessage) schema.Value {
	v, _ := schema.Read(raw, maxDepth) // the zero Value says it
	return v
}
