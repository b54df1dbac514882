package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

func toolsCommand(p *program) *cobra.Command {
	var to string
	var strict, watches bool
	c := &cobra.Command{
		Use:   "tools TARGET",
		Short: "List the tools of a page, or of an API",
		Long: "Lists the tools of a page and of its API, and says on stderr what went wrong in them. Ends\n" +
			"with 4 when the site answered with an error status, and, with --strict, with 1 when there\n" +
			"is anything to say, or no tool.",
		Args: exactly(1, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tools(cmd.Context(), p, args[0], strict, watches, stateTarget(to))
		},
	}
	c.Flags().BoolVar(&strict, "strict", false,
		"end with 1 when the page or its declarations have findings")
	c.Flags().BoolVar(&watches, watchFlag, false, "list again when a file of an adapter changes")
	saveFlag(c, &to)
	return c
}

// exactly checks the number of arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			more := ""
			if len(args) > n {
				more = fmt.Sprintf(", and %q is too much", text.Line(args[n]))
			}
			return terminal.Usage("%s needs %s%s; see %s --help",
				cmd.Name(), what, more, cmd.CommandPath())
		}
		return nil
	}
}

// toolList has the JSON of tools.
type toolList struct {
	Site    string     `json:"site"`
	Origin  string     `json:"origin"`
	Version string     `json:"version"`
	Tools   []toolItem `json:"tools"`
	// Findings lists what went wrong in the page and with its declarations.
	Findings []bridge.Finding `json:"findings,omitempty"`

	left []string // tools that the page offered, and took back
}

type toolItem struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Digest       string          `json:"digest"`
	Origin       string          `json:"origin,omitempty"` // of a tool in a frame
	Frame        string          `json:"frame,omitempty"`
	Adapter      *bridge.Adapter `json:"adapter,omitempty"` // that adds it to the page
}

func tools(ctx context.Context, p *program, arg string, strict, watches bool, to stateTarget) error {
	if err := to.check(p.conf); err != nil {
		return err
	}
	t, err := p.readTarget(arg)
	if err != nil {
		return err
	}
	p.target = t
	pl := listing(t)
	for again := true; again; {
		a, e := p.start(ctx, pl)
		if e != nil {
			return e
		}
		if err = listTools(ctx, p, a, t, strict, to); watches && ctx.Err() == nil {
			again, err = p.changed(ctx, a, pl, err)
		} else {
			again = false
		}
		p.end(a)
	}
	return err
}

// changed prints how a listing ended, and waits until an adapter is another. It reports false when
// ctx ended first.
func (p *program) changed(ctx context.Context, a *app.App, pl plan, ended error) (bool, error) {
	if ended != nil {
		p.finish(ctx, ended)
	}
	f, err := p.follow(a, pl)
	if err != nil {
		return false, err
	}
	defer f.close()
	p.say("watching for changes; Ctrl-C ends")
	for {
		if _, of, err := f.next(ctx); err != nil || len(of) > 0 {
			return err == nil, err
		}
	}
}

// listTools prints the tools of an open target.
func listTools(ctx context.Context, p *program, a *app.App, t *target, strict bool, to stateTarget) error {
	page, err := to.page(ctx, a, t)
	if err != nil {
		return err
	}
	ref := bridge.Ref{Site: t.Name, Caller: bridge.Local()}
	catalog, err := p.await(ctx, a, t, ref)
	if err != nil {
		return err
	}
	var version string
	if p.conf.Format == "json" { // the others do not have it
		doc, err := a.Bridge.Webtool(ctx, ref, "", "")
		if err != nil {
			return err
		}
		version = doc.Version
	}
	list := toolList{Site: t.Name, Origin: t.Origin, Version: version, Tools: []toolItem{},
		Findings: a.Findings(t.Name), left: catalog.Left()}
	for _, f := range list.Findings {
		if t.pageless && f.Rule == bridge.RuleEmpty && p.conf.Format == "text" {
			continue // the last line says it
		}
		p.say("warning: %s", findingText(f))
	}
	for _, x := range catalog.Tools() {
		item := toolItem{Name: x.Name(), Title: x.Title(), Description: x.Description(),
			InputSchema:  x.InputSchema(),
			OutputSchema: x.OutputSchema(), Annotations: x.Annotations(), Digest: x.Digest(),
			Frame: x.Frame(), Adapter: x.Adapter()}
		if item.Frame != "" {
			item.Origin = x.Origin()
		}
		list.Tools = append(list.Tools, item)
	}
	if err := printTools(p, list); err != nil {
		return err
	}
	if err := to.save(ctx, p, page); err != nil {
		return err
	}
	return verdict(list, strict)
}

// findingText is a finding in one line for a person.
func findingText(f bridge.Finding) string {
	words := text.Line(f.Message) + " (" + f.Rule + ")"
	if f.Tool != "" {
		words = text.Line(f.Tool) + ": " + words
	}
	return words
}

// verdict returns how the run ends after what was found and printed.
func verdict(list toolList, strict bool) error {
	findings := list.Findings
	failed := func(f bridge.Finding) bool { return f.Rule == bridge.RuleStatus }
	if slices.ContainsFunc(findings, failed) {
		return &terminal.ShownError{Code: terminal.ExitUnreachable}
	}
	if strict && len(findings) > 0 {
		return terminal.Found("%s, and --strict accepts none", text.Count(len(findings), "finding"))
	}
	if strict && len(list.Tools) == 0 {
		return terminal.Found("--strict needs at least one tool")
	}
	return nil
}

// write writes the list as one line of JSON, a tool at a time: there may be thousands.
func (l toolList) write(w io.Writer) error {
	rest := l
	rest.Tools = nil
	words := func(v any) string { return text.Escape(string(schema.MustEncode(v))) }
	before, after, _ := strings.Cut(words(rest), `"tools":null`) // quotes in texts are escaped
	out := bufio.NewWriterSize(w, 64<<10)                        // Flush has the error of each write
	_, _ = out.WriteString(before + `"tools":[`)
	for i, t := range l.Tools {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.WriteString(words(t))
	}
	_, _ = out.WriteString("]" + after + "\n")
	return out.Flush()
}

func printTools(p *program, list toolList) error {
	switch p.conf.Format {
	case "json":
		return list.write(p.stdout)
	case "ndjson":
		for _, t := range list.Tools {
			if err := terminal.Encode(p.stdout, t); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.Tools) == 0 {
		p.say("%s", noTools(list.Findings, list.left, p.conf, p.target))
		return nil
	}
	var text bytes.Buffer // a write for each: there may be thousands
	colors, paragraph := terminal.ColorsOf(p.stdout), paragraphs(p.stdout)
	for _, t := range list.Tools {
		printTool(&text, t, colors, paragraph)
		_, _ = text.WriteTo(p.stdout) // which keeps the error
	}
	return p.stdout.Err()
}

// printTool prints a tool for a person: its name, what it does, its parameters.
func printTool(w *bytes.Buffer, t toolItem, colors terminal.Colors, paragraph func(string) string) {
	w.WriteString(colors.Strong(t.Name))
	if t.Title != "" && !strings.HasPrefix(t.Description, t.Title) {
		w.WriteString("  (" + text.Line(t.Title) + ")")
	}
	claims, _ := bridge.ReadValue("annotations", t.Annotations) // they were admitted, or are not there
	claim := func(name string) bool { return string(claims.Get(name).Text()) == "true" }
	if claim("destructiveHint") {
		w.WriteString("  " + colors.Alarm("[destroys something]"))
	}
	if claim("consequentialHint") {
		w.WriteString("  " + colors.Warn("[has consequences]"))
	}
	if t.Frame == "" && claim("readOnlyHint") { // what a frame says of that does not count
		w.WriteString("  [reads only]")
	}
	if t.Frame != "" {
		w.WriteString("  [in the frame \"" + text.Line(t.Frame) + "\", " + text.Line(t.Origin) + "]")
	}
	if t.Adapter != nil {
		w.WriteString("  [from adapter " + t.Adapter.String() + "]")
	}
	w.WriteString("\n" + paragraph(text.Line(t.Description)))
	for _, prm := range nested(t.InputSchema) {
		line := text.Line(prm.name) + ": " + text.Line(prm.takes)
		if prm.required {
			line += ", required"
		}
		if prm.description != "" {
			line += ". " + text.Line(prm.description)
		}
		w.WriteString(paragraph(line))
	}
}

// paragraphs indents paragraphs: as wide as a terminal, or in one line where there is none.
func paragraphs(w *terminal.Stream) func(text string) string {
	const indent = "    "
	if !terminal.Is(w) {
		return func(text string) string { return indent + text + "\n" }
	}
	width := terminal.Width(w)
	return func(text string) string {
		return strings.Join(terminal.Wrap(indent+text, width, indent+"  "), "\n") + "\n"
	}
}
