package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// wished is the beginning of a declaration that was refused, in an example.
const wished = `{"rejected":[{"name":"add_wish","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it.",`

// The rules of a page have the ids under which every other command tells of the same.
var pageRules = []Rule{
	{ID: "no-tools", Severity: Error, find: each((*run).eachPage, findNone),
		What:   "The page offers no tools: it declares none, all that it declares are refused, or it took them back.",
		Why:    "There is nothing for an agent. Either registration failed, or it comes only after something that the check did not do.",
		Source: "playwright-webmcp, no-tools",
		Bad:    `{"tools":[]}`, Good: goodTool},
	{ID: "tool-refused", Severity: Error, find: each((*run).declarations, findRefused),
		What:   "The browser or pagetools does not accept a declaration, for a reason that no other rule says.",
		Why:    "The page has a tool that no agent ever sees.",
		Source: "WebMCP draft, registerTool; limits of pagetools",
		Bad:    wished + `"reason":"registration-refused","message":"The registration was refused: Required member is undefined."}]}`, Good: goodTool},
	ofPage(bridge.RuleStatus, Error, "The site answers with an HTTP status that is an error.",
		"What was opened is an error page, and not the application.", "RFC 9110, 15", "The site answered 404 Not Found."),
	ofPage(bridge.RuleUncaught, Warning, "A script of the page ends with an error that nobody catches.",
		"What the script would have registered after that is missing.", "HTML, report an exception", "SyntaxError: Unexpected string (https://shop.example/app.js:2)"),
	ofPage(bridge.RuleRejection, Warning, "A promise is rejected, and nobody handles that.",
		"What would have followed, such as a registration, does not happen.", "HTML, unhandledrejection", "Unhandled rejection: TypeError: Failed to fetch"),
	ofPage("console-error", Warning, "The page logs an error while it is opened.",
		"Frameworks log there what went wrong in the application.", "Console standard, error", "console.error: The catalog cannot be read."),
	ofPage(bridge.RuleScript, Warning, "A script of the page, or what it imports, does not load.",
		"What it would have registered is missing.", "HTML, error events of scripts", "A script did not load, or what it imports: https://shop.example/app.js"),
	ofPage(bridge.RulePolicy, Warning, "The page's own Content-Security-Policy keeps a script from running.",
		"What it would have registered is missing.", "Content Security Policy 3, script-src",
		"The page's Content-Security-Policy keeps a script from running: script-src-elem does not allow inline"),
	ofPage(bridge.RuleNetwork, Warning, "pagetools keeps the page from an address: it reaches its own origin and public addresses only, unless you allow more.",
		"What the page loads from there, such as a development server on another port, is missing here, and is there in your own browser.", "SECURITY.md, network reach",
		"The page was kept from http://127.0.0.1:5173: it is another port of this machine."),
	ofPage(bridge.RuleServer, Info, "An MCP server runs in the page, and speaks to other scripts only.",
		"Agents do not get its tools, unless an adapter adds them.", "MCP-B, TabServerTransport",
		`An MCP server runs in the page (channel "mcp-default"), and speaks to other scripts only.`),
	ofPage(bridge.RuleUnmet, Warning, "What you asked to wait for does not come in time.",
		"The page was looked at before it was ready.", "pagetools, opened pages", `The page did not fulfil wait-for in time: the tool "add_stamp".`),
	{ID: "otherwise-offered", Severity: Warning, find: each((*run).eachPage, findOther),
		What:   "pagetools offers a tool otherwise than the page declares it, or has something else to tell of the page, that no other rule says.",
		Why:    "Agents get another tool than the page's author reviewed.",
		Source: "pagetools, admission of declarations",
		Bad:    `{"findings":[{"rule":"frame-name-taken","tool":"add_stamp","message":"Another tool of the page has the same name; that of the frame is offered as add_stamp_1f2e."}]}`, Good: goodTool},
}

// ofPage is a rule for what every command tells of a page under the same id.
func ofPage(id string, s Severity, what, why, source, message string) Rule {
	return Rule{ID: id, Severity: s, find: each((*run).eachPage, findOfPage), What: what, Why: why, Source: source,
		Bad: string(schema.MustEncode(map[string]any{"findings": []bridge.Finding{{Rule: id, Message: message}}})), Good: goodTool}
}

func findOfPage(r *run, p *page) {
	for _, f := range p.Findings {
		if f.Rule == r.rule.ID && !f.Refused {
			r.report(place{page: p, name: f.Tool}, "%s", quoteLong(f.Message))
		}
	}
}

// findOther reports what no rule has the id of.
func findOther(r *run, p *page) {
	for _, f := range p.Findings {
		smuggling := func(t *tool) bool {
			return t.Name == f.Tool && (smuggled(t.Title) != nil || smuggled(t.Description) != nil)
		}
		if f.Rule == "hidden-characters" && slices.ContainsFunc(p.tools, smuggling) {
			continue // unicode-smuggling says it
		}
		if !r.ids[f.Rule] && !f.Refused {
			r.report(place{page: p, name: f.Tool}, "%s (%s).", strings.TrimSuffix(quoteLong(f.Message), "."), f.Rule)
		}
	}
}

// mostCauses bounds what is said of why a page has no tools.
const mostCauses = 3

func findNone(r *run, p *page) {
	if len(p.tools) > 0 {
		return
	}
	var words string
	switch n := len(p.Rejected); {
	case n > 0:
		var names []string
		for _, x := range p.Rejected {
			if x.Name != "" && !slices.Contains(names, x.Name) {
				names = append(names, x.Name)
			}
		}
		words = "all that it declares are refused"
		if len(names) > 0 {
			words += " (" + quoteAll(names) + ")"
		}
	case len(p.Left) > 0:
		words = "it offered " + quoteAll(p.Left) + ", and took them back"
	default:
		words = "it declares none"
	}
	said := []string{"The page offers no tools: " + words + "."}
	for _, f := range bridge.Causes(p.Findings, "") {
		if len(said) <= mostCauses && !f.Refused {
			said = append(said, strings.TrimRight(quoteLong(f.Message), ".")+".")
		}
	}
	said = append(said, r.reword.Of("Wait for a tool that comes late, or open the page where they are registered."))
	r.report(place{page: p}, "%s", strings.Join(said, " "))
}

// ofPage reports whether what was refused is not one declaration: there are too many, or the
// document may have none.
func (r *Rejected) ofPage() bool {
	return r.Name == "" && r.Reason != "" && r.Reason != "name-missing" && r.Reason != "registration-refused"
}

// why says in words why the declaration was refused.
func (r *Rejected) why() string {
	words := strings.TrimPrefix(r.Message, refused)
	if r.unread() {
		words += " Give registerTool one object with name, description, inputSchema and execute."
	}
	if words = text.Said(words); words != "" && strings.HasPrefix(r.Message, refused) {
		words = refused + words
	}
	return quoteLong(cmp.Or(words, r.Reason, "The page does not say why."))
}

// refused begins the findings of engines about a registration that was refused.
const refused = "The registration was refused: "

// unread reports whether what was given is not an object, so that nothing of it is known.
func (r *Rejected) unread() bool {
	return strings.Contains(r.Message, "is not of type 'ModelContextTool'")
}

func (t *tool) unread() bool { return t.rejected != nil && t.rejected.unread() }

// explained reports whether a rule of its own says why a declaration is refused.
func (t *tool) explained() bool {
	x := t.rejected
	known := t.Surface != "" || t.Origin != "" || x.Reason == "description-missing"
	switch {
	case t.unread():
		return false
	case x.isTaken(), x.Reason == "annotations-invalid", slices.ContainsFunc(t.misnamed, func(m misnamed) bool { return slices.Contains(wanting, m.means) }):
		return true
	case x.ofPage():
		return false
	case !isName(t.Name), known && !t.isDescribed():
		return true
	case strings.HasPrefix(x.Reason, "schema-") && (t.written.Exists() || t.inputErr != nil || t.output.Exists() || t.outputErr != nil):
		return true
	}
	return slices.ContainsFunc(t.page.Forms, func(f Form) bool { return f.Declares && f.Name == t.Name }) ||
		slices.ContainsFunc(t.ExposedTo, func(entry string) bool {
			u := address(entry)
			return strings.Contains(entry, "*") || u == nil || !Trustworthy(u)
		})
}

func findRefused(r *run, t *tool) {
	if t.rejected == nil || t.explained() {
		return
	}
	message := t.rejected.why()
	if t.rejected.ofPage() {
		r.report(place{page: t.page}, "%s", message)
		return
	}
	r.report(t.at(""), "The tool %s is not offered. %s", text.Quote(t.Name), message)
}
