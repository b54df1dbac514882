package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Rule is one thing that [Judge] looks for. [Explain] prints its texts, and its
// examples are tests of it.
type Rule struct {
	ID string
	// Severity applies to findings unless a setting says otherwise. Some rules have a second
	// one for worse cases; What says which.
	Severity Severity
	// Off is true when the rule runs only if a setting switches it on.
	Off    bool
	Family string
	// Options are the numbers and lists that a setting may change.
	Options []Option
	// Allows is true when a setting may list texts that the rule lets pass.
	Allows bool
	// What says what the rule finds, Why what that does to users, and Source where that comes
	// from.
	What, Why, Source string
	// Bad and Good are examples as JSON: a declaration, a list of them, or a part of a snapshot.
	// At is the pointer of the finding in the bad one.
	Bad, Good, At string

	find func(*run)
}

// Option is a value that a setting may change. It is a list when Words is not nil, and
// otherwise a number that is not negative.
type Option struct {
	Name   string
	Number float64
	Words  []string
	// OneOf are the words that a list may have; nil means any.
	OneOf []string
	// What says what it is, with its unit.
	What string
}

// Options say how to judge. The zero value runs every rule that is on by default.
type Options struct {
	// Rules are settings by the id of their rule.
	Rules map[string]Setting
	// Hosts returns what hosts do to the tools, for the rule host-off; nil means that no host was
	// named. Rule and Severity of what it returns are set by Judge where they are empty.
	Hosts func(*Snapshot) []Finding
	// Words rewords findings for a reader who knows options by other names.
	Words text.Words

	alone bool // a tool is judged alone, to verify its correction
}

// Setting changes one rule.
type Setting struct {
	// Severity replaces that of every finding of the rule; "" keeps it. Off switches the rule
	// off, and any other switches it on.
	Severity Severity
	// Values are options by name: numbers (int or float64) or lists ([]string or []any of
	// strings). Options switch a rule on that is off by default.
	Values map[string]any
	// Allow are texts that a rule about language lets pass, wherever they stand.
	Allow []string
}

// Families are the groups of rules, in the order of the documentation.
var families = []struct {
	name, title string
	rules       []Rule
}{
	{"page", "Page", pageRules},
	{"declaration", "Declaration", declarationRules},
	{"schema", "Schema", slices.Concat(schemaRules, parameterRules)},
	{"trust", "Annotations and trust", trustRules},
	{"injection", "Injection", injectionRules},
	{"exposure", "Exposure", exposureRules},
	{"forms", "Forms", formRules},
	{"lifecycle", "Lifecycle", lifecycleRules},
	{"smoke", "Smoke", smokeRules},
	{"effects", "Effects", effectRules},
	{"reach", "Reach", reachRules},
	{"adapters", "Adapters", adapterRules},
	{"opentools", "OpenTools documents", apiRules},
}

// Rules returns every rule, in the order of the documentation.
func Rules() []Rule {
	var all []Rule
	for _, f := range families {
		for _, r := range f.rules {
			r.Family = f.name
			all = append(all, r)
		}
	}
	return all
}

// ruleByID finds a rule; the error names the nearest one.
func ruleByID(id string) (*Rule, error) {
	rules := Rules()
	ids := make([]string, len(rules))
	for i := range rules {
		if rules[i].ID == id {
			return &rules[i], nil
		}
		ids[i] = rules[i].ID
	}
	return nil, fmt.Errorf("unknown rule %s: "+
		"%s", text.Quote(id), cmp.Or(text.DidYouMean(id, ids), "it is none of "+strings.Join(ids, ", ")))
}

// Explain returns what a rule finds, why that matters, with its source, a bad and a good
// example, and its options. The error of an unknown id names the nearest one.
func Explain(id string) (string, error) {
	r, err := ruleByID(id)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n\n%s\n\nSource: %s\n", r.ID, r.level(), r.What, r.Why, r.Source)
	for _, o := range r.Options {
		fmt.Fprintf(&b, "\nOption %s: %s (default: %s)", o.Name, o.What, o.value())
	}
	if len(r.Options) > 0 {
		b.WriteByte('\n')
	}
	if said := r.measured(); said != "" {
		fmt.Fprintf(&b, "\n%s\n", said)
	}
	fmt.Fprintf(&b, "\nBad:\n%s\n\nGood:\n%s\n", indented(r.Bad), indented(r.Good))
	return b.String(), nil
}

// corpusTools sets how many tools the applications of docs/corpus.md have.
const corpusTools = 166

// corpus counts, for rules on which opinions differ, their findings in these applications,
// and how many of them were wrong.
var corpus = map[string]struct{ found, wrong int }{
	"description-vague": {}, "description-injection": {}, "encoded-payload": {}, "split-payload": {},
	"unicode-smuggling": {}, "schema-description-drift": {}, "suspicious-result": {}, "similar-descriptions": {},
	"mutating-name-readonly": {}, "navigation-consequential": {}, "capability-trifecta": {},
	"sensitive-params": {}, "arbitrary-exec": {},
	"read-named-not-readonly": {30, 1}, "consequential-missing": {9, 0}, "untrusted-hint-missing": {1, 0},
	"naming-consistency": {1, 0}, "description-length": {4, 0}, "param-description-missing": {130, 11},
}

// measured says how often the rule was wrong in real applications, or is "".
func (r *Rule) measured() string {
	n, known := corpus[r.ID]
	if !known {
		return ""
	}
	if n.found == 0 {
		return fmt.Sprintf("In %d tools of real applications it found nothing (docs/corpus.md).", corpusTools)
	}
	return fmt.Sprintf("In %d tools of real applications it found something %d times, of which %d were wrong (docs/corpus.md).",
		corpusTools, n.found, n.wrong)
}

func (r *Rule) level() string {
	if r.Off {
		return string(r.Severity) + ", off by default"
	}
	return string(r.Severity)
}

func (o *Option) value() string {
	switch {
	case o.Words == nil:
		return fmt.Sprintf("%g", o.Number)
	case len(o.Words) == 0:
		return "none"
	}
	return strings.Join(o.Words, ", ")
}

// read returns the value of a setting in the type of the option.
func (o *Option) read(value any) (Option, error) {
	got := *o
	if o.Words == nil {
		switch n := value.(type) {
		case int:
			got.Number = float64(n)
		case float64:
			got.Number = n
		default:
			return got, fmt.Errorf("invalid value %s: must be a number", text.Quote(fmt.Sprint(value)))
		}
		if !(got.Number >= 0) { // also what is not a number
			return got, fmt.Errorf("invalid value %g: must not be negative", got.Number)
		}
		return got, nil
	}
	got.Words = []string{}
	switch list := value.(type) {
	case []string:
		got.Words = append(got.Words, list...)
	case []any:
		for _, item := range list {
			word, ok := item.(string)
			if !ok {
				return got, fmt.Errorf("invalid item %s: must be a text", text.Quote(fmt.Sprint(item)))
			}
			got.Words = append(got.Words, word)
		}
	default:
		return got, fmt.Errorf("invalid value %s: must be a list of texts", text.Quote(fmt.Sprint(value)))
	}
	for _, word := range got.Words {
		if o.OneOf != nil && !slices.Contains(o.OneOf, word) {
			return got, fmt.Errorf("invalid item %s: must be one of %s", text.Quote(word),
				strings.Join(o.OneOf, ", "))
		}
	}
	return got, nil
}

// configured returns the rule with a setting: its severity (Off when it does not run) and its
// options.
func (r *Rule) configured(s Setting) (*Rule, error) {
	c := *r
	c.Options = slices.Clone(r.Options)
	if r.Off && s.Severity == "" && len(s.Values) == 0 {
		c.Severity = Off
	}
	switch s.Severity {
	case "":
	case Off, Info, Warning, Error:
		c.Severity = s.Severity
	default:
		return nil, fmt.Errorf("invalid severity %s for %s: must be off, info, warning or error",
			text.Quote(string(s.Severity)), r.ID)
	}
	if len(s.Allow) > 0 && !r.Allows {
		return nil, fmt.Errorf("invalid setting allow for %s: only rules about language take it", r.ID)
	}
	names := make([]string, len(r.Options))
	for i, o := range r.Options {
		names[i] = o.Name
	}
	for _, name := range sortedKeys(s.Values) {
		i := slices.Index(names, name)
		if i < 0 {
			otherwise := "it has " + strings.Join(names, ", ")
			if len(names) == 0 {
				otherwise = "it has none"
			}
			return nil, fmt.Errorf("unknown option %s of %s: %s", text.Quote(name), r.ID,
				cmp.Or(text.DidYouMean(name, names), otherwise))
		}
		value, err := r.Options[i].read(s.Values[name])
		if err != nil {
			return nil, fmt.Errorf("option %s of %s: %w", name, r.ID, err)
		}
		c.Options[i] = value
	}
	return &c, nil
}
