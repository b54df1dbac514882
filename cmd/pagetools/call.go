package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

func callCommand(p *program) *cobra.Command {
	var input, to, dir string
	c := &cobra.Command{
		Use:   "call TARGET TOOL [key=value...] [key=@file...]",
		Short: "Run one tool of a page or an API, and print its result",
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return terminal.Usage("call needs TARGET and TOOL; see pagetools call --help")
			case 1:
				return terminal.Usage("call needs TARGET and TOOL, and there is only %q; see "+
					"pagetools call --help", text.Line(args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return call(cmd.Context(), p, args[0], args[1], args[2:], input, stateTarget(to), saveDir(dir))
		},
	}
	c.Flags().StringVar(&input, "input", "", "the arguments: JSON, @file, or - for standard input")
	c.Flags().StringVar(&dir, "save", "", "write the files that the page saves in the call into this folder, under cleaned names and over no file")
	saveFlag(c, &to)
	return c
}

func call(ctx context.Context, p *program, arg, tool string, pairs []string, input string,
	to stateTarget, dir saveDir) error {
	if err := to.check(p.conf); err != nil {
		return err
	}
	folder, err := dir.open(p.conf)
	if err != nil {
		return err
	}
	if folder != nil {
		defer func() { _ = folder.Close() }()
	}
	pl := answering()
	pl.remember = true
	a, t, err := p.one(ctx, arg, pl)
	if err != nil {
		return err
	}
	defer p.end(a)
	caller := bridge.Local()
	catalog, err := p.await(ctx, a, t, bridge.Ref{Site: t.Name, Caller: caller})
	if err != nil {
		return err
	}
	if catalog.Tool(tool) == nil && !t.pageless {
		if catalog, err = awaitTool(ctx, p, a, t, tool); err != nil {
			return err
		}
	}
	sayUnmet(p, a, t)
	c, err := readCall(catalog, tool, pairs, input, p.stdin)
	if err != nil {
		return err
	}
	if known := catalog.Tool(tool); known != nil {
		sayMisspelled(p, c.Input, known.InputSchema())
	}
	page, err := to.page(ctx, a, t)
	if err != nil {
		return err
	}
	asker, done := p.asker(input == "-")
	defer done()
	c.Site, c.Caller, c.Asker = t.Name, caller, asker
	end, err := runCall(ctx, p, a.Bridge, c)
	sayChanged(p, end)
	if failed := takeFiles(p, a.Bridge, end.Files, folder); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	if v := end.Violation; v != nil {
		p.say("warning: %s (result%s: %s)", text.Line(v.Message),
			text.Line(v.Errors[0].Pointer), text.Line(v.Errors[0].Message))
	}
	if err := printResult(p.stdout, p.conf.Format, end.Data); err != nil {
		return err
	}
	return to.save(ctx, p, page)
}

// sayChanged says that a person changed the arguments.
func sayChanged(p *program, end bridge.Step) {
	c := end.Changed
	if end.Err != nil {
		c = end.Err.ChangedOf()
	}
	if c != nil {
		p.say("%s changed the arguments: the call ran with %s", text.Line(c.By), text.Line(string(c.Input)))
	}
}

// readCall makes a call of a tool of the catalog, or of one that is not there.
func readCall(catalog *bridge.Catalog, tool string, pairs []string, input string,
	stdin io.Reader) (*bridge.Call, error) {
	var schema json.RawMessage
	if known := catalog.Tool(tool); known != nil {
		schema = known.InputSchema()
	}
	in, err := readInput(schema, input, pairs, stdin)
	return &bridge.Call{ID: rand.Text(), Tool: tool, Input: in, TellsChanges: true}, err
}

// sayMisspelled names arguments that the tool does not declare, and that are probably misspelled: a
// schema that allows others takes them without a word.
func sayMisspelled(p *program, given bridge.Value, schema json.RawMessage) {
	said := map[string]bool{}
	misspelled(schema, given, func(name, near string) {
		if !said[name] && len(said) < maxNamed {
			p.say("warning: the tool declares no argument %s; did you mean %s?", text.Quote(name), text.Line(near))
		}
		said[name] = true
	})
}

// runCall runs a call, says that it does, and shows how far its result has come. Its error is in
// words for a person.
func runCall(ctx context.Context, p *program, b *bridge.Bridge,
	c *bridge.Call) (bridge.Step, error) {
	say, done := p.following("running %s", text.Line(c.Tool))
	defer done()
	running, over := context.WithCancel(ctx)
	defer over()
	c.Started = func(r *bridge.Run) { go showParts(running, r, say) }
	end := b.Complete(ctx, c)
	if end.Err != nil {
		return end, withNames(c.Tool, p.conf, p.target, end.Err)
	}
	return end, nil
}

// showParts says how far the result of a call has come that arrives in parts, until ctx ends.
func showParts(ctx context.Context, r *bridge.Run, say func(string)) {
	for {
		p, more := r.Progress()
		if p != nil {
			say(partLine(p))
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// partLine returns a part as a person reads it.
func partLine(p *bridge.Progress) string {
	said := p.Told()
	at := strconv.Itoa(p.Parts)
	if said.At != nil {
		at = strconv.FormatFloat(*said.At, 'g', 6, 64)
	}
	if said.Total != nil {
		at += "/" + strconv.FormatFloat(*said.Total, 'g', 6, 64)
	}
	return strings.TrimSuffix("pagetools: "+at+" "+said.Message, " ")
}

// lateTool sets how long a call waits for a tool that the page does not have yet.
const lateTool = 5 * time.Second

// awaitTool waits until an open page has a tool, and returns what it has then, with the tool
// or without.
func awaitTool(ctx context.Context, p *program, a *app.App, t *target,
	tool string) (*bridge.Catalog, error) {
	defer p.waiting("waiting for the tool %s", text.Line(tool))()
	bounded, cancel := context.WithTimeout(ctx, lateTool)
	defer cancel()
	ref := bridge.Ref{Site: t.Name, Caller: bridge.Local()}
	for range a.Bridge.Watch(bounded, bridge.Interest{Caller: ref.Caller, Tools: true}) {
		if catalog, err := a.Router.Catalog(ref); err != nil || catalog.Tool(tool) != nil {
			return catalog, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return a.Router.Catalog(ref)
}

// sayUnmet says what a page was to wait for and did not come, and what came late.
func sayUnmet(p *program, a *app.App, t *target) {
	for _, f := range a.Findings(t.Name) {
		if f.Rule == bridge.RuleUnmet || f.Rule == bridge.RuleLate {
			p.say("warning: %s", findingText(f))
		}
	}
}

// whyNone says that the page of a target has no tools, and what went wrong there.
func whyNone(p *program, a *app.App, t *target) string {
	catalog, err := a.Router.Catalog(bridge.Ref{Site: t.Name, Caller: bridge.Local()})
	if err != nil {
		return noTools(nil, nil, p.conf, t)
	}
	return strings.TrimSuffix(noTools(a.Findings(t.Name), catalog.Left(), p.conf, t)+" "+catalog.Trouble(""), " ")
}

// withNames adds the names of the tools to the error about an unknown tool, and every
// violation to the error about arguments.
func withNames(tool string, conf *config.Config, t *target, err error) error {
	e := bridge.AsError(err)
	c := *e
	if names, ok := e.Details["actions"].([]string); ok {
		c.Message = strings.Replace(c.Message, "There is no action", "There is no tool", 1)
		none := fmt.Sprintf(", and none came within %s.", lateTool)
		switch {
		case t != nil && t.pageless && len(names) == 0:
			none = ": the API offers no tools."
		case t != nil && t.pageless:
			none = "."
		case len(names) == 0:
			none = ": the page has no tools" + none
		}
		c.Message = strings.Replace(c.Message, "\" here.", "\" here"+none, 1) +
			noTool(tool, names, conf, t)
	}
	if list, ok := e.Details["errors"].([]map[string]string); ok && len(list) > 0 {
		parts := make([]string, len(list))
		for i, v := range list {
			parts[i] = v["message"]
		}
		c.Message = "the arguments do not fit: " + strings.Join(parts, "; ") +
			". " + aim("tools", t) + " lists what the tool takes."
	}
	return &c
}

// printResult prints text blocks as text, and anything else as JSON.
func printResult(w io.Writer, format string, data json.RawMessage) error {
	data = bytes.TrimSpace(data)
	if format != "text" {
		var line bytes.Buffer // an API may answer in several
		if json.Compact(&line, data) != nil {
			line.Reset()
			line.Write(data)
		}
		_, err := fmt.Fprintf(w, "{\"data\":%s}\n", text.Escape(line.String()))
		return err
	}
	if words, ok := onlyText(data); ok {
		_, err := fmt.Fprintln(w, text.Lines(words))
		return err
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, data, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(data)
	}
	_, err := fmt.Fprintln(w, text.Escape(pretty.String()))
	return err
}

// onlyText returns the text of a string, or of a result that has text blocks and
// nothing else.
func onlyText(data json.RawMessage) (string, bool) {
	v, err := bridge.ReadValue("the result", data)
	if err != nil || v.IsString() {
		return v.String(), err == nil
	}
	var parts []string
	for block := range v.Get("content").Elements() {
		if text := block.Get("text"); block.Get("type").String() == "text" && text.IsString() {
			parts = append(parts, text.String())
		}
	}
	only := v.Len() == 1 && len(parts) > 0 && len(parts) == v.Get("content").Len()
	return strings.Join(parts, "\n"), only
}
