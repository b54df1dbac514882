package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

func toolsCommand(p *program) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "tools TARGET",
		Short: "List the tools of a page",
		Args:  exactly(1, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tools(cmd.Context(), p, args[0], stateTarget(to))
		},
	}
	saveFlag(c, &to)
	return c
}

// exactly checks the number of arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			more := ""
			if n > 0 && len(args) > n {
				more = fmt.Sprintf(", and %q is too much", terminal.Plain(args[n]))
			}
			return usage("%s needs %s%s; see %s --help", cmd.Name(), what, more, cmd.CommandPath())
		}
		return nil
	}
}

// toolList is what tools --format json prints.
type toolList struct {
	Site    string     `json:"site"`
	Origin  string     `json:"origin"`
	Version string     `json:"version"`
	Tools   []toolItem `json:"tools"`
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
}

// one opens a single target of the command line, without those of the file.
func (p *program) one(ctx context.Context, arg string, pl plan) (*app.App, *target, error) {
	t, err := parseTarget(arg)
	if err != nil {
		return nil, nil, err
	}
	if err := nameAll(t); err != nil {
		return nil, nil, err
	}
	for _, c := range p.conf.Sites { // the file may say more about the same site
		if c.Target == t.Text || (c.Name != "" && c.Name == t.Name) {
			t.config = c
		}
	}
	pl.targets, pl.single = []*target{t}, true
	a, err := p.start(ctx, pl)
	return a, t, err
}

// await waits until the page of a target is opened, and says so.
func (p *program) await(ctx context.Context, a *app.App, t *target,
	ref bridge.Ref) (*bridge.Catalog, error) {
	defer p.waiting("opening %s, until its tools are there", terminal.Plain(t.Text))()
	return a.Manager.Await(ctx, ref)
}

func tools(ctx context.Context, p *program, arg string, to stateTarget) error {
	if err := to.check(); err != nil {
		return err
	}
	a, t, err := p.one(ctx, arg, plan{})
	if err != nil {
		return err
	}
	defer p.end(a)
	page, err := to.page(ctx, a, t)
	if err != nil {
		return err
	}
	ref := bridge.Ref{Site: t.Name, Caller: bridge.Local()}
	catalog, err := p.await(ctx, a, t, ref)
	if err != nil {
		return err
	}
	doc, err := a.Bridge.Webtool(ctx, ref, "", "")
	if err != nil {
		return err
	}
	for _, f := range a.Findings(t.Name) {
		p.say("warning: %s: %s (%s)", terminal.Plain(f.Tool), terminal.Plain(f.Message), f.Rule)
	}
	list := toolList{Site: t.Name, Origin: t.Origin, Version: doc.Version, Tools: []toolItem{}}
	for _, x := range catalog.Tools() {
		item := toolItem{Name: x.Name(), Title: x.Title(), Description: x.Description(),
			InputSchema:  x.InputSchema(),
			OutputSchema: x.OutputSchema(), Annotations: x.Annotations(), Digest: x.Digest(),
			Frame: x.Frame()}
		if item.Frame != "" {
			item.Origin = x.Origin()
		}
		list.Tools = append(list.Tools, item)
	}
	if err := printTools(p, list); err != nil {
		return err
	}
	return to.save(ctx, p, page)
}

func printTools(p *program, list toolList) error {
	switch p.conf.Format {
	case "json":
		return terminal.Encode(p.stdout, list)
	case "ndjson":
		for _, t := range list.Tools {
			if err := terminal.Encode(p.stdout, t); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list.Tools) == 0 {
		p.say("the page declares no tools. `pagetools doctor TARGET` says what it does.")
		return nil
	}
	for _, t := range list.Tools {
		printTool(p.stdout, t)
	}
	return p.stdout.Err()
}

// printTool prints a tool for a person: its name, what it does, its parameters.
func printTool(w *terminal.Stream, t toolItem) {
	head := terminal.ColorsOf(w).Strong(t.Name)
	if t.Title != "" {
		head += "  (" + terminal.Plain(t.Title) + ")"
	}
	if t.Frame != "" {
		head += "  [in the frame \"" + terminal.Plain(t.Frame) + "\", " + terminal.Plain(t.Origin) + "]"
	}
	fmt.Fprintln(w, head)
	printWrapped(w, terminal.Plain(t.Description))
	for _, prm := range parameters(t.InputSchema) {
		line := "    " + terminal.Plain(prm.name) + ": " + terminal.Plain(strings.Join(prm.types,
			" or "))
		if prm.required {
			line += ", required"
		}
		if prm.description != "" {
			line += ". " + terminal.Plain(prm.description)
		}
		printWrapped(w, line[4:])
	}
}

// printWrapped prints an indented paragraph: as wide as a terminal, or in one line where
// there is none.
func printWrapped(w *terminal.Stream, text string) {
	const indent = "    "
	lines := []string{indent + text}
	if terminal.Is(w) {
		lines = terminal.Wrap(indent+text, terminal.Width(w), indent+"  ")
	}
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}
