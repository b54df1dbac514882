package kit

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/report"
	kitrun "github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

type recordOptions struct {
	out, name, mcp string
	headed, force  bool
}

// onStdio is the value of --mcp for one client on stdin and stdout.
const onStdio = "stdio"

func recordCommand(p *Program) *cobra.Command {
	var o recordOptions
	c := &cobra.Command{
		Use:   "record [NAME=]TARGET",
		Short: "Write what an agent does with a site's tools as a scenario that tests it",
		Long: "Opens a site, serves its tools over MCP and as webtools, and records the calls: their " +
			"arguments, results and\nerrors, in order, and what people answered to questions of the " +
			"page and to dialogs. Each session of a caller\nis a case. At the end of stdin, or with " +
			"Ctrl-C, the cases run again: what differs from run to run becomes a\nmatcher, and the " +
			"file is written. When the cases do not pass, the file is written as well, and the exit\n" +
			"code is 1.\n\nWith --headed you see the page, and can act in it. Recorded are only calls " +
			"that come through MCP or as\nwebtools, and answers that are given there, with `pagetools " +
			"approve` or in the console: neither what you click,\ntype or answer in the window, nor " +
			"calls by which the page runs its own tools.",
		Args: p.Exactly(1, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return record(cmd.Context(), p, args[0], o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.out, "output", "o", "", "`file` to write; the default is NAME.webtool.yaml here")
	f.StringVar(&o.name, "case", "recorded", "`name` of the case; further ones have a number more")
	f.StringVar(&o.mcp, "mcp", "",
		"where agents call the tools: stdio, or an `address` such as 127.0.0.1:7400 for MCP over HTTP and webtools")
	f.BoolVar(&o.headed, "headed", false, "show the browser; without --mcp, agents call at --listen")
	f.BoolVar(&o.force, "force", false, "write the file also where there is one")
	return c
}

// isAddress reports whether an address can be listened on, as far as its form says.
func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// record serves a site until its caller is done, and writes what that did.
func record(ctx context.Context, p *Program, arg string, o recordOptions) error {
	if o.mcp == "" && !o.headed {
		return terminal.Usage("record needs a way to the tools: give --mcp stdio, --mcp ADDRESS, " +
			"or --headed")
	}
	if o.mcp != "" && o.mcp != onStdio && !isAddress(o.mcp) {
		return terminal.Usage("invalid value %q for --mcp: must be stdio, or an address such as "+
			"127.0.0.1:7400", text.Line(o.mcp))
	}
	if strings.TrimSpace(o.name) == "" || !text.IsPlain(o.name) {
		return terminal.Usage("invalid value %q for --case: must be a name on one line, without invisible "+
			"characters", text.Line(o.name))
	}
	if o.headed {
		p.Config().Headless = false
		if err := p.NeedsDisplay("record --headed"); err != nil {
			return err
		}
	}
	t, err := parseTarget(arg)
	if err != nil {
		return err
	}
	o.out = cmp.Or(o.out, t.Name+".webtool.yaml")
	if _, err := os.Lstat(o.out); err == nil && !o.force {
		return terminal.Usage("%s is there: --force writes it again, and -o FILE another one",
			text.Line(o.out))
	}
	if p.Config().IsDefault("approval") {
		p.Config().Approval = policy.ModeAuto // as for the scenarios that come of it
	}
	var seen scenario.Recorder
	if o.mcp != "" && o.mcp != onStdio {
		p.Config().Listen = o.mcp
	}
	if err := p.Serve(ctx, t, o.mcp == onStdio, seen.Observe); err != nil {
		return err
	}
	recording, missed := seen.Recording(o.name)
	if missed > 0 {
		p.Say("note: calls that were left out, because there is no such tool, or nobody answered what "+
			"they asked: %d", missed)
	}
	if recording.Dir, recording.URL, err = siteBeside(t, o.out); err != nil {
		return err
	}
	recording.Adapters = p.adaptersBeside(o.out)
	return p.writeRecording(context.WithoutCancel(ctx), recording, o.out)
}

// parseTarget reads [NAME=]TARGET, of which the settings say nothing, and names it.
func parseTarget(arg string) (*app.Target, error) {
	t, err := app.ParseTarget(arg)
	if err == nil {
		err = app.NameAll([]*app.Target{t})
	}
	return t, asUsage(err)
}

// siteBeside names a target in a file: a folder relative to it, or an address.
func siteBeside(t *app.Target, file string) (dir, url string, err error) {
	if t.Folder == "" {
		return "", t.URL, canBeWritten(t)
	}
	folder, err := filepath.Abs(t.Folder)
	if err != nil {
		return "", "", terminal.Usage("%w", err)
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", "", terminal.Usage("%w", err)
	}
	if dir, err = filepath.Rel(filepath.Dir(file), folder); err != nil {
		dir = folder // on another drive
	}
	return filepath.ToSlash(dir), "", nil
}

// mostReplays limits how often a recording runs until what differs is known: what a call returned
// may be sent with the next one, whose result is seen only when that is right.
const mostReplays = 4

// writeRecording writes a recording, and replays and writes it until it passes.
func (p *Program) writeRecording(ctx context.Context, r *scenario.Recording, out string) error {
	var run *report.Run
	var changed bool
	words, err := r.Text()
	if err != nil {
		return terminal.Found("%w", err)
	}
	if err := recorded(out, words); err != nil { // what was done cannot be done again
		return err
	}
	t := tester{p: p, o: &testOptions{}, env: r.Variable}
	defer func() { _ = t.browsers.Close() }()
	for range mostReplays {
		var f *scenario.File
		if f, err = scenario.Read(out, words); err != nil {
			return terminal.Usage("%w", err)
		}
		if run, err = t.replay(ctx, f, nil); err != nil || run.Count(report.Failed) == 0 {
			break
		}
		if changed, err = t.loosen(ctx, r, f); err != nil || !changed {
			break
		}
		if words, err = r.Text(); err != nil {
			return terminal.Usage("%w", err)
		}
	}
	if e := recorded(out, words); e != nil {
		return e
	}
	if err != nil {
		return terminal.Unreachable("%s was written, and could not be replayed: %w",
			text.Line(out), err)
	}
	if names := r.Variables(); names != nil {
		p.Say("arguments that are secret are not in %s: set %s before it runs", text.Line(out), strings.Join(names, ", "))
	}
	return p.replayed(run, out)
}

// loosen runs the cases of a recording, and makes matchers of what differs.
func (t *tester) loosen(ctx context.Context, r *scenario.Recording, f *scenario.File) (bool, error) {
	changed := false
	_, err := t.replay(ctx, f, func(_ *scenario.File, all []scenario.Change) error {
		changed = r.Loosen(f, all)
		return nil
	})
	return changed, err
}

// looks sets how often each case runs to find what differs: a value with two states is the same in
// half of the runs.
const looks = 5

// replay runs the cases of a file as test does. With accept they run some more times, through the
// door whose results files have.
func (t *tester) replay(ctx context.Context, f *scenario.File,
	accept func(*scenario.File, []scenario.Change) error) (*report.Run, error) {
	defer t.p.Waiting("replaying what was recorded")()
	o := kitrun.Options{Open: t.open, Env: t.env, Version: t.p.Version, Accept: accept}
	if accept != nil {
		o.Select.Via, o.Repeat = []scenario.Door{scenario.ThroughWebtool}, looks
	}
	return kitrun.Files(ctx, []*scenario.File{f}, o)
}

func (p *Program) replayed(run *report.Run, out string) error {
	for _, c := range run.Cases {
		if c.Status != report.Failed {
			continue
		}
		where := ""
		if c.Failure.Path != "" {
			where = ", at " + c.Failure.Path
		}
		fmt.Fprintf(p.Stderr, "pagetools: %s\n", text.Line(fmt.Sprintf("%s:%d: %s (%s): %s: %s%s",
			out, c.Failure.Line, c.Name, c.Door, c.Failure.Step, c.Failure.Message, where)))
	}
	if n := run.Count(report.Failed); n > 0 {
		return terminal.Found("%s was written, and %d of its cases do not pass "+
			"again: change what they expect", out, n)
	}
	p.Say("wrote %s, which passes. Next: pagetools test %s", text.Line(out), text.Line(out))
	return nil
}
