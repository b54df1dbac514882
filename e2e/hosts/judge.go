package hosts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// Client is a program or an API that reads tools over MCP, with the rules that are known of it.
type Client struct {
	Name  string
	Rules []Rule

	limits  map[string]Limits // of the hosts that rules name
	subsets map[string]schema.Subset
}

// Clients returns all clients of which rules are known, sorted by name.
func (s Set) Clients() (all []Client) {
	subsets := map[string]schema.Subset{}
	for _, one := range schema.Subsets() {
		subsets[one.Name] = one
	}
	for _, rule := range table {
		i := slices.IndexFunc(all, func(c Client) bool { return c.Name == rule.Client })
		if i < 0 {
			i, all = len(all), append(all, Client{Name: rule.Client, limits: map[string]Limits{}, subsets: subsets})
		}
		switch {
		case rule.host != "":
			host := s.hosts[rule.host]
			rule.Date, all[i].limits[rule.host] = host.Date, host.Limits
		case rule.subset != "":
			rule.Date = subsets[rule.subset].Date
		}
		all[i].Rules = append(all[i].Rules, rule)
	}
	slices.SortFunc(all, func(a, b Client) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Client returns a client. The error names the nearest one, and those that there are.
func (s Set) Client(name string) (Client, error) {
	var names []string
	for _, c := range s.Clients() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Client{}, fmt.Errorf("unknown client %q%s", text.Line(name), suggest(name, names))
}

// Date returns the month of the newest rule, such as 2026-11.
func (c Client) Date() string {
	newest := ""
	for _, rule := range c.Rules {
		newest = max(newest, rule.Date)
	}
	return newest[:len("2026-11")]
}

// Break is a rule that a tool, or the list, breaks.
type Break struct {
	Rule
	// Pointer is the place in the tool as the list has it.
	Pointer string `json:"pointer,omitempty"`
	Text    string `json:"text"`
	// Number is the limit of tools, where it was passed.
	Number int `json:"number,omitempty"`
}

// Short returns the source as people write it: owner/name#number for an issue on GitHub.
func (b Break) Short() string {
	if m := issue.FindStringSubmatch(b.Source); m != nil {
		return m[1] + "#" + m[2]
	}
	return strings.TrimPrefix(b.Source, "https://")
}

var issue = regexp.MustCompile(`^https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/([0-9]+)$`)

// mostBreaks bounds how often a tool is told to break one rule.
const mostBreaks = 5

// Judge returns what the client does not take of a tool of the list that it gets, each rule at most
// five times. Server is the client's name for the server.
func (c Client) Judge(server string, t check.Tool) (broken []Break) {
	refused := map[string][]schema.Refusal{}
	for _, rule := range c.Rules {
		add := func(pointer, format string, args ...any) {
			broken = append(broken, Break{Rule: rule, Pointer: pointer, Text: fmt.Sprintf(format, args...)})
		}
		if subset, ok := c.subsets[rule.subset]; ok {
			if _, done := refused[rule.subset]; !done {
				refused[rule.subset] = subset.Check(t.Input)
			}
			n := 0
			for _, r := range refused[rule.subset] {
				if r.Rule == rule.What && n < mostBreaks {
					n++
					add("/inputSchema"+r.Pointer, "%s%s", place(r.Pointer), r.Text)
				}
			}
			continue
		}
		limits := c.limits[rule.host]
		switch rule.What {
		case "name":
			if why := rule.name(limits.Name, server, t.Name); why != "" {
				add("/name", "%s", why)
			}
		case "description":
			if n := utf8.RuneCountInString(t.Description); n > limits.Description.Max {
				add("/description", "the description has %d characters; it takes %d", n, limits.Description.Max)
			}
		default:
			if why := outputs(rule.What, t.Output); why != "" {
				add("/outputSchema", "%s", why)
			}
		}
	}
	return broken
}

// Count returns what the client does about a list of n tools, or nil.
func (c Client) Count(n int) *Break {
	for _, rule := range c.Rules {
		if rule.What != "tools" {
			continue
		}
		if most := c.limits[rule.host].Tools.Max; n > most {
			return &Break{Rule: rule, Number: most, Text: fmt.Sprintf("%s takes %d at most", c.Name, most)}
		}
	}
	return nil
}

// Notes returns what no list shows: what becomes of results.
func (c Client) Notes() (notes []Break) {
	for _, rule := range c.Rules {
		if rule.What == resultsLength {
			notes = append(notes, Break{Rule: rule, Text: "results of more than some 25,000 tokens are shortened"})
		}
	}
	return notes
}

// name says why a name is not taken with what the client puts before it.
func (r Rule) name(l *Limit, server, name string) string {
	before := 0
	if r.front != "" {
		before = utf8.RuneCountInString(strings.Replace(r.front, "%s", server, 1)) - r.counted
	}
	switch n := utf8.RuneCountInString(name); {
	case n+before > l.Max && before > 0:
		return fmt.Sprintf("the name has %d characters; with the server's name before it, there is room for %d",
			n, max(0, l.Max-before))
	case n > l.Max:
		return fmt.Sprintf("the name has %d characters; it takes %d", n, l.Max)
	case l.pattern != nil && !l.pattern.MatchString(name):
		return fmt.Sprintf("the name %q does not match %s", text.Short(name, longest), l.Pattern)
	}
	return ""
}

// outputs says what of a schema of results is not taken.
func outputs(what string, raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	value, err := schema.Read(raw, deepest)
	if err != nil {
		return ""
	}
	switch what {
	case outputType:
		if value.Get("type").String() != "object" {
			return "the schema of results is not of type object"
		}
	case outputDraft:
		if draft := value.Get("$schema"); draft.Exists() && !strings.Contains(draft.String(), "2020-12") {
			return "$schema of results is of another draft than 2020-12"
		}
	case outputRef:
		if _, err := schema.Compile(raw, schema.Limits{Bytes: 4 * len(raw), Subschemas: len(raw), Expansions: len(raw)}); err != nil {
			return "the schema of results does not hold together: " + err.Error()
		}
	}
	return ""
}

// place names the schema at a pointer by its properties, as "address.zip: "; "" is the root.
func place(pointer string) string {
	var names []string
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		if token == "properties" && (i == 0 || tokens[i-1] != "properties") {
			continue
		}
		names = append(names, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	if len(names) == 0 || names[0] == "$schema" {
		return ""
	}
	return text.Short(text.Line(strings.Join(names, ".")), longest) + ": "
}
