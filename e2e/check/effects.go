package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

const (
	touched = `{"tools":[{"name":"show_stamp","title":"Show stamp","description":"Shows one stamp of the collection, with its year.","annotations":{"readOnlyHint":true}},` +
		`{"name":"put_stamp","title":"Put stamp","description":"Puts a rarity into the album of the signed-in user.","annotations":{%s}}],` +
		`"calls":[{"page":"https://shop.example/","valid":true,"result":{"ok":true},`
	post = `{"method":"POST","url":"https://shop.example/stamps","body":"amount=100"}`
)

var effectRules = []Rule{
	{ID: "effect-readonly", Severity: Error, find: each((*run).calls, findReadOnly),
		What: "A tool with readOnlyHint changed something when it was called: it sent a request that is not GET, HEAD or OPTIONS, wrote cookies, storage, IndexedDB or caches, " +
			"left the page, opened a window, submitted a form, or downloaded a file.",
		Why:    "Hosts run read-only tools without asking a person.",
		Source: "WebMCP draft, readOnlyHint; RFC 9110, 9.2.1, safe methods",
		Bad:    touchedBy("") + `"tool":"show_stamp","effects":{"requests":[` + post + `]}}]}`,
		Good:   touchedBy("") + `"tool":"show_stamp","effects":{"requests":[{"method":"GET","url":"https://shop.example/stamps"}]}}]}`},
	{ID: "effect-undeclared", Severity: Warning, find: findUndeclared,
		What:   "A tool changed something when it was called, and says nothing by consequentialHint or destructiveHint, neither true nor false. Forms have no way to say it.",
		Why:    "The host does not know whether a person should confirm the call.",
		Source: "WebMCP draft, consequentialHint; MCP specification, destructiveHint",
		Bad:    touchedBy("") + `"tool":"put_stamp","effects":{"requests":[` + post + `]}}]}`,
		Good:   touchedBy(`"destructiveHint":false`) + `"tool":"put_stamp","effects":{"requests":[` + post + `]}}]}`},
	{ID: "not-idempotent", Severity: Warning, find: each((*run).calls, findNotIdempotent),
		What:   "A tool with idempotentHint changed more when the same call was made again: a POST or PATCH, a window, a download, or something that the first call did not touch.",
		Why:    "Agents repeat such a call when its answer was lost.",
		Source: "MCP specification, idempotentHint; RFC 9110, 9.2.2",
		Bad:    touchedBy(`"destructiveHint":false,"idempotentHint":true`) + `"tool":"put_stamp","effects":{"requests":[` + post + `]},"second":{"requests":[` + post + `]}}]}`,
		Good: touchedBy(`"destructiveHint":false,"idempotentHint":true`) + `"tool":"put_stamp","effects":{"requests":[{"method":"PUT","url":"https://shop.example/stamps/1"}]},` +
			`"second":{"requests":[{"method":"PUT","url":"https://shop.example/stamps/1"}]}}]}`},
	{ID: "confirmation-mismatch", Severity: Error, find: each((*run).calls, findConfirmation),
		What: "A person was asked, and the question does not have an argument that was then sent: an amount, a price, a quantity or a recipient, by the name of the argument. " +
			"Ids do not count, because pages show names for them.",
		Why:    "The person agreed to something else than what happened.",
		Source: "what you see is what you sign",
		Bad:    touchedBy(`"consequentialHint":true`) + `"tool":"put_stamp","arguments":{"amount":100},"asked":["Buy it for 10?"],"effects":{"requests":[` + post + `]}}]}`,
		Good:   touchedBy(`"consequentialHint":true`) + `"tool":"put_stamp","arguments":{"amount":100},"asked":["Buy it for 100.00?"],"effects":{"requests":[` + post + `]}}]}`},
	{ID: "egress-outside-policy", Severity: Warning, find: each((*run).calls, findEgress),
		What:   "A call wanted to reach an address that the policy of the check refuses.",
		Why:    "In production it goes there.",
		Source: "pagetools, egress policy",
		Bad:    touchedBy("") + `"tool":"show_stamp","effects":{"blocked":["https://tracker.example/c"]}}]}`,
		Good:   touchedBy("") + `"tool":"show_stamp","effects":{}}]}`},
}

func touchedBy(annotations string) string { return fmt.Sprintf(touched, annotations) }

var reachRules = []Rule{
	{ID: "host-off", Severity: Error, find: findHosts,
		What:   "A host or a client of MCP that was named would drop a tool, or all tools of the page.",
		Why:    "They do so without a word to the page.",
		Source: "descriptions of hosts, and the source that each rule of a client names",
		Bad:    `{"hosts":"one tool too many"}`, Good: `{"tools":[` + goodTool + `]}`},
}

// safe are the methods that change nothing (RFC 9110, 9.2.1).
var safe = []string{"GET", "HEAD", "OPTIONS", "TRACE", ""}

func (e *Effects) changes() []string {
	if e == nil {
		return nil
	}
	var all []string
	for _, q := range e.Requests {
		if !slices.Contains(safe, strings.ToUpper(q.Method)) {
			all = append(all, "it sent "+strings.ToUpper(q.Method)+" "+q.URL)
		}
	}
	for _, x := range []struct {
		what string
		list []string
	}{{"it wrote ", e.Storage}, {"it went to ", e.Navigated}, {"it opened ", e.Windows},
		{"it submitted ", e.Submitted}, {"it downloaded ", e.Downloads}} {
		for _, item := range x.list {
			all = append(all, x.what+item)
		}
	}
	return all
}

func findReadOnly(r *run, c toolCall) {
	if changes := c.Effects.changes(); len(changes) > 0 && c.tool != nil && c.tool.claims("readOnlyHint") {
		r.report(c.at, "The tool declares readOnlyHint, and changed something (%s): correct the hint, or "+
			"the tool.", quoteAll(changes))
	}
}

func findUndeclared(r *run) {
	told := map[*tool]bool{} // one call of a tool says it
	r.calls(func(c toolCall) {
		changes := c.Effects.changes()
		if len(changes) == 0 || c.tool == nil || told[c.tool] || c.tool.mute() || c.tool.claims("readOnlyHint") {
			return
		}
		told[c.tool] = true
		_, consequential := c.tool.hint("consequentialHint")
		_, destructive := c.tool.hint("destructiveHint")
		if !consequential && !destructive {
			r.report(c.at, "The tool changed something (%s), and declares neither consequentialHint nor "+
				"destructiveHint: declare one, true or false.", quoteAll(changes))
		}
	})
}

func findNotIdempotent(r *run, c toolCall) {
	if c.tool == nil || !c.tool.claims("idempotentHint") || c.Second == nil {
		return
	}
	first := c.Effects.changes()
	again := slices.DeleteFunc(c.Second.changes(), func(change string) bool {
		repeats := strings.HasPrefix(change, "it sent POST ") || strings.HasPrefix(change, "it sent PATCH ") ||
			strings.HasPrefix(change, "it opened ") || strings.HasPrefix(change, "it downloaded ")
		return !repeats && slices.Contains(first, change)
	})
	if len(again) > 0 {
		r.report(c.at, "The tool declares idempotentHint, and the second call changed more (%s): correct "+
			"the hint, or the tool.", quoteAll(again))
	}
}

// number finds the numbers of a text, with or without separators of thousands.
var number = regexp.MustCompile(`\d+(?:[,'’ \x{00A0}\x{202F}]\d{3})*(?:[.,]\d+)?`)

// shows reports whether a person who read the text saw the value. Numbers are compared as
// numbers, also when the text has them in units of a hundred, as prices are sent in cents.
func shows(text string, value schema.Value) bool {
	if value.IsString() {
		return strings.Contains(fold(text), fold(value.String()))
	}
	want, err := strconv.ParseFloat(string(value.Text()), 64)
	if err != nil {
		return true // not a value that people read
	}
	for _, found := range number.FindAllString(text, 100) {
		for _, decimalSign := range []string{".", ","} {
			digits := strings.Map(func(c rune) rune {
				switch {
				case c >= '0' && c <= '9':
					return c
				case string(c) == decimalSign:
					return '.'
				}
				return -1
			}, found)
			if got, err := strconv.ParseFloat(digits, 64); err == nil && (got == want || got*100 == want) {
				return true
			}
		}
	}
	return false
}

func findConfirmation(r *run, c toolCall) {
	v := vocabulary()
	asked := strings.Join(append(slices.Clone(c.Asked), c.Dialogs...), "\n")
	if strings.TrimSpace(asked) == "" || len(c.Effects.changes()) == 0 {
		return
	}
	for name, value := range parsed(c.Arguments).Members() {
		if v.names("material", splitWords(name)) && sent(c.Effects, value) && !shows(asked, value) {
			r.report(c.at, "The person was asked %s, and %s of the argument %s was sent: show it in the "+
				"question.",
				text.Quote(asked), text.Quote(string(value.Text())), text.Quote(name))
		}
	}
}

// sent reports whether a request that changes something has a value in it.
func sent(e *Effects, value schema.Value) bool {
	text := value.String()
	if !value.IsString() {
		text = string(value.Text())
	}
	return text != "" && slices.ContainsFunc(e.Requests, func(q Request) bool {
		return !slices.Contains(safe, strings.ToUpper(q.Method)) && strings.Contains(q.URL+"\n"+q.Body, text)
	})
}

func findEgress(r *run, c toolCall) {
	if c.Effects != nil && len(c.Effects.Blocked) > 0 {
		r.report(c.at, "The call wanted to reach what the policy refuses (%s): leave it out, or allow it.",
			quoteAll(c.Effects.Blocked))
	}
}

func findHosts(r *run) {
	if r.hosts == nil {
		return
	}
	for _, f := range r.hosts(r.s) {
		f.Rule = r.rule.ID
		if f.Severity == "" || r.fixed {
			f.Severity = r.rule.Severity
		}
		if f.Where.Target == "" {
			f.Where.Target = r.s.Target
		}
		r.add(f)
	}
}
