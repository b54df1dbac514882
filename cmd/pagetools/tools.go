package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
)

func (p *program) toolsCommand() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "tools TARGET",
		Short: "List the tools of a page",
		Args:  exactly(1, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.tools(cmd.Context(), args[0], stateTarget(to))
		},
	}
	saveFlag(c, &to)
	return c
}

// exactly checks the number of arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s needs %s; see pagetools %s --help", cmd.Name(), what, cmd.Name())
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
func (p *program) one(ctx context.Context, arg string, pl plan) (*app, *target, error) {
	t, err := parseTarget(arg)
	if err != nil {
		return nil, nil, err
	}
	if err := nameAll([]*target{t}); err != nil {
		return nil, nil, err
	}
	for _, c := range p.file.sites { // the file may say more about the same site
		if c.target == t.text || (c.name != "" && c.name == t.name) {
			t.config = c
		}
	}
	p.progress("opening %s", plain(t.text))
	pl.targets, pl.single = []*target{t}, true
	a, err := p.start(ctx, pl)
	return a, t, err
}

func (p *program) tools(ctx context.Context, arg string, to stateTarget) error {
	if err := to.check(); err != nil {
		return err
	}
	a, t, err := p.one(ctx, arg, plan{})
	if err != nil {
		return err
	}
	defer a.close()
	page, err := to.page(ctx, a, t)
	if err != nil {
		return err
	}
	ref := bridge.Ref{Site: t.name, Caller: bridge.Local()}
	catalog, err := a.manager.Await(ctx, ref)
	if err != nil {
		return err
	}
	doc, err := a.bridge.Webtool(ctx, ref, "", "")
	if err != nil {
		return err
	}
	for _, f := range a.manager.Findings(t.name) {
		p.say("warning: %s: %s (%s)", plain(f.Tool), plain(f.Message), f.Rule)
	}
	list := toolList{Site: t.name, Origin: t.origin, Version: doc.Version, Tools: []toolItem{}}
	for _, x := range catalog.Tools() {
		item := toolItem{Name: x.Name(), Title: x.Title(), Description: x.Description(), InputSchema: x.InputSchema(),
			OutputSchema: x.OutputSchema(), Annotations: x.Annotations(), Digest: x.Digest(), Frame: x.Frame()}
		if item.Frame != "" {
			item.Origin = x.Origin()
		}
		list.Tools = append(list.Tools, item)
	}
	if err := p.printTools(list); err != nil {
		return err
	}
	return to.save(ctx, p, page)
}

func (p *program) printTools(list toolList) error {
	switch p.set.format {
	case "json":
		return p.encode(list)
	case "ndjson":
		for _, t := range list.Tools {
			if err := p.encode(t); err != nil {
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
	return nil
}

// printTool prints a tool for a person: its name, what it does, its parameters.
func printTool(w io.Writer, t toolItem) {
	head := t.Name
	if t.Title != "" {
		head += "  (" + plain(t.Title) + ")"
	}
	if t.Frame != "" {
		head += "  [in the frame \"" + plain(t.Frame) + "\", " + plain(t.Origin) + "]"
	}
	fmt.Fprintf(w, "%s\n    %s\n", head, plain(t.Description))
	for _, prm := range parameters(t.InputSchema) {
		line := "    " + plain(prm.name) + ": " + plain(strings.Join(prm.types, " or "))
		if prm.required {
			line += ", required"
		}
		if prm.description != "" {
			line += ". " + plain(prm.description)
		}
		fmt.Fprintln(w, line)
	}
}
