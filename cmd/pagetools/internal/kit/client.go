package kit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/hosts"
)

// List holds the tools of a site as clients of MCP get them.
type List struct {
	// Server names us in a client.
	Server string
	// Tools holds all tools of the site as JSON, also those that a client finds only later.
	Tools json.RawMessage
	// First counts the tools that the list has at first, with our own.
	First int
	// Findings name what differs from the page.
	Findings []bridge.Finding
}

// listed is a tool of a List.
type listed struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Meta         struct {
		Tool struct {
			Name string `json:"name"`
		} `json:"pagetools/tool"`
	} `json:"_meta"`
}

// The states of tools, besides the effects of rules.
const (
	toolOK      = "ok"
	toolChanged = "changed"
)

// clientTool tells what becomes of a tool in a client.
type clientTool struct {
	Name    string        `json:"name"`             // the page's
	Listed  string        `json:"listed,omitempty"` // as the client sees it
	State   string        `json:"state"`            // ok, changed, or an effect
	Text    string        `json:"text,omitempty"`   // why, in words
	Reasons []hosts.Break `json:"reasons,omitempty"`
}

// clientReport says what becomes of a site's tools in a client.
type clientReport struct {
	Client string        `json:"client"`
	Rules  string        `json:"rules"` // the month of the newest one
	OK     bool          `json:"ok"`    // nothing is dropped or refused
	Listed int           `json:"listed"`
	Tools  []clientTool  `json:"tools"`
	Limits []hosts.Break `json:"limits,omitempty"`
	Notes  []hosts.Break `json:"notes,omitempty"`

	offered int // tools of the page
}

// ClientHelp says what --client takes.
const ClientHelp = "`names` of clients of MCP, or all: what each does with the list that it gets"

// readClients returns the clients of --client.
func readClients(names []string) ([]hosts.Client, error) {
	set, err := hosts.Load()
	if err != nil {
		return nil, err
	}
	var all []hosts.Client
	for _, name := range names {
		if name == allNames {
			return set.Clients(), nil
		}
		c, err := set.Client(name)
		if err != nil {
			return nil, terminal.Usage("--client: %w, or %s", err, allNames)
		}
		all = append(all, c)
	}
	return all, nil
}

// Doctor judges the list that clients get of a site.
type Doctor struct {
	out     io.Writer
	text    bool
	clients []hosts.Client
}

// NewDoctor reads the names of clients before a browser starts.
func NewDoctor(out io.Writer, text bool, names []string) (*Doctor, error) {
	clients, err := readClients(names)
	return &Doctor{out, text, clients}, err
}

// Judge prints what becomes of the tools in each client. Declarations that were refused before any
// client saw them are dropped, too. It ends with 1 when a tool is lost.
func (d *Doctor) Judge(l List, refused []bridge.Finding) error {
	lost := false
	for i, c := range d.clients {
		r, err := judgeClient(c, l, refused)
		if err != nil {
			return err
		}
		lost = lost || !r.OK
		if !d.text {
			if err := terminal.Encode(d.out, r); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(d.out)
		}
		fmt.Fprint(d.out, r.text())
	}
	if lost {
		return &terminal.ShownError{Code: terminal.ExitFindings}
	}
	return nil
}

func judgeClient(c hosts.Client, l List, refused []bridge.Finding) (*clientReport, error) {
	var tools []listed
	if err := json.Unmarshal(l.Tools, &tools); err != nil {
		return nil, fmt.Errorf("reading our own list: %w", err)
	}
	r := &clientReport{Client: c.Name, Rules: c.Date(), OK: true, Listed: l.First, Tools: []clientTool{},
		Notes: c.Notes(), offered: len(tools)}
	limit := c.Count(l.First)
	if limit != nil {
		r.Limits = []hosts.Break{*limit}
		r.OK = !limit.Effect.Loses()
	}
	for i, t := range tools {
		one := clientTool{Name: cmp.Or(t.Meta.Tool.Name, t.Name), Listed: t.Name, State: toolOK}
		one.change(l.Findings)
		one.Reasons = c.Judge(l.Server, check.Tool{Name: t.Name, Title: t.Title, Description: t.Description,
			Input: t.InputSchema, Output: t.OutputSchema, Annotations: t.Annotations})
		if limit != nil && limit.Effect == hosts.Drops && i >= limit.Number {
			one.Reasons = append(one.Reasons, *limit)
		}
		one.settle()
		r.OK = r.OK && one.State != string(hosts.Drops) && one.State != string(hosts.Refuses)
		r.Tools = append(r.Tools, one)
	}
	for _, f := range refused {
		if f.Refused && f.Tool != "" {
			r.OK = false
			r.Tools = append(r.Tools, clientTool{Name: f.Tool, State: string(hosts.Drops),
				Text: "pagetools does not list it: " + f.Message + " (rule " + f.Rule + ")"})
		}
	}
	return r, nil
}

// change tells how the list differs from the page for this tool, which harms nobody.
func (t *clientTool) change(found []bridge.Finding) {
	var why []string
	for _, f := range found {
		if f.Tool != t.Name || f.Refused {
			continue
		}
		words, _, named := strings.Cut(f.Message, "; ")
		if named && strings.HasPrefix(f.Rule, "mcp-name") {
			words = "sent as " + t.Listed + ": " + strings.ToLower(words[:1]) + words[1:]
		}
		why = append(why, strings.TrimSuffix(words, "."))
	}
	if len(why) > 0 {
		t.State, t.Text = toolChanged, why[0]
	}
	if n := len(why); n > 1 {
		t.Text += fmt.Sprintf("; and %d more", n-1)
	}
}

// settle takes the worst effect of what the client does not take, and its words.
func (t *clientTool) settle() {
	for _, effect := range []hosts.Effect{hosts.Refuses, hosts.Drops, hosts.Cuts, hosts.Hides} {
		for _, b := range t.Reasons {
			if b.Effect != effect {
				continue
			}
			t.State, t.Text = string(effect), b.Text+" ("+b.Short()+")"
			if effect == hosts.Refuses {
				t.Text = "the whole request: " + t.Text
			}
			return
		}
	}
}

// most limits the characters of a name in its column.
const most = 40

// text returns the report for a terminal.
func (r *clientReport) text() string {
	width := len("results")
	for _, t := range r.Tools {
		width = max(width, len(text.Short(text.Line(t.Name), most)))
	}
	var b strings.Builder
	line := func(state, name, words string) {
		row := fmt.Sprintf("%-8s %-*s  %s", state, width, text.Short(text.Line(name), most), text.Line(words))
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	fmt.Fprintf(&b, "%s, rules of %s\n", r.Client, r.Rules)
	for _, t := range r.Tools {
		line(t.State, t.Name, t.Text)
	}
	if r.Listed != r.offered {
		line("note", text.Count(r.Listed, "tool"), "are listed at first; --mcp-tools direct lists all")
	}
	for _, l := range r.Limits {
		line("limit", text.Count(r.Listed, "tool"), l.Text+": --mcp-tools hybrid ("+l.Short()+")")
	}
	for _, n := range r.Notes {
		line("note", "results", n.Text+" ("+n.Short()+")")
	}
	return b.String()
}

// findings returns what a run of check tells of the reports.
func (r *clientReport) findings(page string) (all []check.Finding) {
	say := func(tool string, b *hosts.Break, effect hosts.Effect, words string) {
		f := check.Finding{Rule: hosts.RuleHostOff, Severity: check.Warning, Where: check.Where{Page: page, Tool: tool}}
		if effect.Loses() {
			f.Severity = check.Error
		}
		if b != nil {
			f.Where.Pointer = b.Pointer
		}
		f.Message = fmt.Sprintf("%s, %s: %s.", r.Client, effect, words)
		all = append(all, f)
	}
	for _, t := range r.Tools {
		for i, b := range t.Reasons {
			say(t.Name, &t.Reasons[i], b.Effect, b.Text+" ("+b.Source+")")
		}
	}
	for i, l := range r.Limits {
		say("", &r.Limits[i], l.Effect, fmt.Sprintf("%d tools are listed, and %s; --mcp-tools hybrid lists fewer (%s)",
			r.Listed, l.Text, l.Source))
	}
	return all
}

// onClients judges the list that clients of --client would get of the tools of a page.
func (k *checker) onClients(page *check.Page) (found []check.Finding, shown string, err error) {
	decls := make([]bridge.Declaration, len(page.Tools))
	for i, t := range page.Tools {
		decls[i] = bridge.Declaration{ID: int64(i + 1), Origin: t.Origin, Frame: t.Frame, Name: t.Name, Title: t.Title,
			Description: t.Description, Input: t.Input, Output: t.Output, Annotations: t.Annotations, Adapter: t.Adapter}
	}
	catalog, refused := bridge.NewCatalog(nil, decls, bridge.Limits{})
	l := k.p.Listed(k.sites[page.URL], catalog.Tools())
	for _, c := range k.clients {
		r, err := judgeClient(c, l, refused)
		if err != nil {
			return nil, "", err
		}
		if shown != "" {
			shown += "\n"
		}
		found, shown = append(found, r.findings(page.URL)...), shown+r.text()
	}
	return found, shown, nil
}
