package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

func attachCommand(p *program) *cobra.Command {
	var guess bool
	c := &cobra.Command{
		Use:   "attach URL",
		Short: "Say how a site offers tools, and which",
		Long: "Looks for what a site offers in both ways: its API, where it publishes one as OpenTools (OpenAPI\n" +
			"with x-llm), and the tools that its page declares (WebMCP). Says how each was found, what consent\n" +
			"its tools need, and how to use it. Nothing is run. Ends with 4 when the site offers neither.",
		Args: exactly(1, "URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return attach(cmd.Context(), p, args[0], guess)
		},
	}
	c.Flags().BoolVar(&guess, "guess", false, "look for a document at usual addresses, too, such as /v3/api-docs")
	return c
}

type attached struct {
	Site  string         `json:"site"`
	URL   string         `json:"url"`
	API   *attachedAPI   `json:"api,omitempty"`
	Page  *attachedPage  `json:"page,omitempty"`
	Tools []attachedTool `json:"tools"`
	// Findings lists what went wrong in both.
	Findings []bridge.Finding `json:"findings,omitempty"`
}

type attachedAPI struct {
	Name     string `json:"name"`
	Document string `json:"document"`
	Route    string `json:"route"`
	Auth     string `json:"auth,omitempty"`
	// Operations are all of the document, and Tools those that are offered.
	Operations int `json:"operations"`
	Tools      int `json:"tools"`
	// Omitted says how many of the others are no tools, and why.
	Omitted []string `json:"omitted,omitempty"`
	Logins  []string `json:"logins,omitempty"`

	expose string // what would offer others
}

type attachedPage struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Tools int    `json:"tools"`
}

type attachedTool struct {
	Name string `json:"name"`
	From string `json:"from"` // api or page
	// Request holds what a call of an API sends.
	Request     string `json:"request,omitempty"`
	Consent     string `json:"consent"` // auto, ask-once, ask or never
	Destructive bool   `json:"destructive,omitempty"`
	Cost        string `json:"cost,omitempty"`
	Description string `json:"description"`
}

func attach(ctx context.Context, p *program, arg string, guess bool) error {
	t, err := p.readTarget(arg)
	if err != nil {
		return err
	}
	if t.Folder != "" {
		return terminal.Usage("%s is a folder: attach is for what is on the network; tools "+
			"lists those of a folder", text.Line(t.Text))
	}
	pl := answering()
	pl.api = app.API{Full: true, Guess: guess}
	how := apiOptions(p.conf, pl, t)
	a, t, err := p.one(ctx, arg, pl)
	if how.Mode == app.AutoAPI && (errors.Is(err, chrome.ErrNoBrowser) || errors.Is(err, chrome.ErrNoShell) || errors.Is(err, chrome.ErrRoot)) {
		p.say("warning: without a browser the page is not looked at: %v", err)
		pl.api.Mode = app.OnlyAPI
		a, t, err = p.one(ctx, arg, pl)
	}
	if err != nil {
		return err
	}
	defer p.end(a)
	out, err := lookAt(ctx, p, a, t)
	if err != nil {
		return err
	}
	if p.conf.Format != "text" {
		return terminal.Encode(p.stdout, out)
	}
	for _, f := range out.Findings {
		if f.Rule == bridge.RuleEmpty {
			continue // it is said below, with what to do
		}
		p.say("warning: %s", findingText(f))
	}
	out.print(p.stdout)
	return p.stdout.Err()
}

// lookAt looks in both ways.
func lookAt(ctx context.Context, p *program, a *app.App, t *target) (*attached, error) {
	defer p.waiting("looking for an API and for tools at %s", text.Line(t.Text))()
	out := &attached{Site: t.Name, URL: t.URL, Tools: []attachedTool{}}
	ref := bridge.Ref{Site: t.Name, Caller: bridge.Local()}
	var problems []string
	if a.APIs != nil {
		about, catalog, err := a.APIs.About(ctx, t.Name)
		if err != nil {
			problems = append(problems, bridge.AsError(err).Message)
		} else {
			out.API = describeAPI(about, catalog)
			if out.API.expose = exposing(about.Omitted, apiOptions(p.conf, plan{}, t).Expose); out.API.Tools == 0 {
				t.about = about
				out.API.expose = apiFix(p.conf, t)
			}
		}
	}
	if a.Engine != nil {
		catalog, err := a.Manager.Await(ctx, ref)
		if err != nil {
			problems = append(problems, bridge.AsError(err).Message)
		} else if n := len(catalog.Tools()); n > 0 || out.API == nil {
			address, title, _ := a.Manager.Page(t.Name)
			out.Page = &attachedPage{address, title, n}
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if out.API == nil && (out.Page == nil || out.Page.Tools == 0) {
		if out.Page != nil {
			problems = append(problems, "Its page offers none.")
		}
		return nil, terminal.Unreachable("%s offers no tools. %s",
			text.Line(t.Text), text.Line(strings.Join(problems, " ")))
	}
	l, err := a.Bridge.ToolsNow(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, tool := range l.Tools {
		terms := l.Terms(tool)
		x := attachedTool{Name: tool.Name(), From: "page", Consent: terms.Level.String(), Destructive: terms.Destructive,
			Description: tool.Description()}
		if op := tool.Operation(); op != nil {
			x.From, x.Request, x.Cost = "api", op.Method+" "+op.URL, op.Cost
		}
		out.Tools = append(out.Tools, x)
	}
	out.Findings = a.Findings(t.Name)
	return out, nil
}

func describeAPI(about *opentools.About, catalog *bridge.Catalog) *attachedAPI {
	x := &attachedAPI{Name: about.Name(), Document: about.URL.String(), Route: string(about.Route), Auth: about.Auth,
		Operations: about.Operations, Tools: len(catalog.Tools()), Omitted: about.Omitted.Reasons()}
	for _, login := range about.Logins {
		x.Logins = append(x.Logins, login.Name)
	}
	return x
}

// print says the same to a person.
func (x *attached) print(w *terminal.Stream) {
	colors := terminal.ColorsOf(w)
	if api := x.API; api != nil {
		fmt.Fprintf(w, "%s  %q, found by %s\n    %s\n", colors.Strong("OpenTools"), text.Line(api.Name), api.Route, text.Line(api.Document))
		fmt.Fprintf(w, "    %s of %s\n", text.Count(api.Tools, "tool"), text.Count(api.Operations, "operation"))
		if len(api.Omitted) > 0 {
			fmt.Fprintf(w, "    not offered: %s\n", strings.Join(api.Omitted, ", "))
		}
		if api.expose != "" {
			fmt.Fprintf(w, "    %s\n", api.expose)
		}
		if len(api.Logins) > 0 {
			fmt.Fprintf(w, "    some need a login: pagetools auth login %s\n", text.Line(x.URL))
		}
	}
	if page := x.Page; page != nil {
		fmt.Fprintf(w, "%s  %q\n    %s\n    %s declared\n", colors.Strong("WebMCP"), text.Line(page.Title), text.Line(page.URL), text.Count(page.Tools, "tool"))
	}
	fmt.Fprintln(w)
	paragraph := paragraphs(w)
	for _, t := range x.Tools {
		marks := []string{t.From, consentWords[t.Consent]}
		if t.Destructive {
			marks = append(marks, "destructive")
		}
		if t.Cost != "" {
			marks = append(marks, "costs "+t.Cost)
		}
		fmt.Fprintf(w, "%s  [%s]\n", colors.Strong(t.Name), strings.Join(slices.DeleteFunc(marks, func(m string) bool { return m == "" }), ", "))
		first, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprint(w, paragraph(text.Line(first)))
	}
	if len(x.Tools) > 0 {
		fmt.Fprintf(w, "\nuse it: pagetools call %s %s\n        pagetools mcp %[1]s\n", text.Line(x.URL), text.Line(x.first()))
	}
}

// first is a tool to begin with: one that runs unasked where there is one.
func (x *attached) first() string {
	for _, t := range x.Tools {
		if t.Consent == policy.Auto.String() {
			return t.Name
		}
	}
	return x.Tools[0].Name
}

// consentWords say what a level means.
var consentWords = map[string]string{"auto": "runs unasked", "ask-once": "asks, and remembers", "ask": "asks", "never": "refused"}
