package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/e2e/report"
	kitrun "github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

type testOptions struct {
	via, tags, hostFiles    []string
	run, reporter, host     string
	model                   string
	dir, url, serve         string
	repeat, parallel        int
	retries                 int
	minCoverage             float64
	update, schema, exports bool
	trace, traceDir         string
	headed, watch, trust    bool
}

func testCommand(p *Program) *cobra.Command {
	o := testOptions{repeat: 1, parallel: min(runtime.NumCPU(), 4)}
	c := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run scenarios of the tools that pages declare",
		Long: "Runs the scenarios of files *.webtool.yaml: each case through the page's own " +
			"executeTool, as a webtool, and\nover MCP, each time in a fresh page, and compares what " +
			"comes of it. What a person is asked is answered by\nthe scenario. PATH is a file or a " +
			"folder; the default is the current one. Files *evals.json are run, too, with\n--url or " +
			"--dir, or by their names. A file that is only found in a folder opens public pages and those below\n" +
			"the folder, and starts nothing: name it, or give --trust.\nEnds with 1 when a case fails, with 2 for a file that is wrong, " +
			"and with 4 when a site does not open.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.schema {
				_, err := p.Stdout.Write(append(scenario.Schema(), '\n'))
				return err
			}
			return (&tester{p: p, o: &o}).run(cmd.Context(), args)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.via, "via", nil, "`doors` that cases run through, of those that they have: page, webtool, mcp, all")
	f.StringVar(&o.run, "run", "", "run only cases whose FILE/CASE/DOOR matches this `pattern`")
	f.StringSliceVar(&o.tags, "tag", nil, "run only cases with one of these `tags`")
	f.Var(config.AtMost(&o.repeat, 1000), "repeat", "run each case so many times, and say how many passed")
	f.Var(config.AtMost(&o.retries, 10), "retries", "repeat a case that fails, at most so many times")
	f.Var(config.AtMost(&o.parallel, 64), "parallel", "run so many cases of a file at once")
	f.Float64Var(&o.minCoverage, "min-coverage", 0, "fail when cases call less than this `percent` of the tools of their site")
	f.BoolVar(&o.update, "update", false, "write results that are not as expected into the files")
	f.StringVar(&o.dir, "dir", "", "`folder` to serve in the place of the files' sites")
	f.StringVar(&o.url, "url", "", "`address` of the app in the place of the files' sites; beside --dir the path of its first page")
	f.StringVar(&o.host, "host", "", "run the pages as under this `host`: with its interface and its limits (check --help)")
	f.StringArrayVar(&o.hostFiles, "host-file", nil, hostFileHelp)
	f.StringVar(&o.serve, "serve", "", "`command` that starts the app under --url; it is ended afterwards")
	f.StringVar(&o.trace, "trace", "off", "write `traces` of cases, which Playwright's viewer shows: off, on, retain-on-failure (of cases that fail)")
	f.StringVar(&o.traceDir, "trace-dir", "test-results", "`folder` of the traces, one folder in it for each case and door")
	f.BoolVar(&o.headed, "headed", false, "show the browser")
	f.BoolVar(&o.trust, "trust", false, "take the files that folders have as if each were named: they may start commands,\nread the environment, and open what is on this machine and its network")
	f.BoolVar(&o.watch, "watch", false, "run again when scenarios, the folder that is served or the settings change")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of scenario files")
	f.StringVar(&o.model, "model-cmd", "", "`command` that plays the model of evals: it gets {messages, tools} on stdin, and writes\n{\"call\": {\"name\", \"arguments\"}}, or {\"call\": null} at the end; cases run as webtools without --via")
	f.BoolVar(&o.exports, "export-evals", false, "print the cases as an evals.json, and run none")
	f.StringVar(&o.reporter, "reporter", "", reporterHelp)
	return c
}

// tester is one run of test, or with --watch all of them.
type tester struct {
	p        *Program
	o        *testOptions
	browsers app.Browsers                // of all sites, and of all runs
	env      func(string) (string, bool) // what record knows; nil in test
}

func (t *tester) run(ctx context.Context, args []string) error {
	if err := t.headed(); err != nil {
		return err
	}
	defer func() { _ = t.browsers.Close() }()
	if !t.o.watch || t.o.exports {
		return t.once(ctx, args)
	}
	selection, err := t.selection()
	switch {
	case err != nil:
		return err
	case t.o.update: // with results that are never the same it would not come to rest
		return terminal.Usage("--update writes the files for whose changes --watch waits: give " +
			"one of them")
	case selection.CI:
		return terminal.Usage("--watch waits for somebody who changes files, and CI is set: " +
			"remove --watch")
	}
	return t.watch(ctx, args)
}

func (t *tester) headed() error {
	if !t.o.headed {
		return nil
	}
	t.p.Config().Headless = false
	return t.p.NeedsDisplay("test")
}

func (t *tester) site() scenario.Site {
	return scenario.Site{Dir: t.o.dir, URL: t.o.url, Serve: t.o.serve}
}

func (t *tester) once(ctx context.Context, args []string) error {
	selection, err := t.selection()
	if err != nil {
		return err
	}
	all, err := t.read(args)
	if err != nil {
		return err
	}
	if t.o.exports {
		return t.export(all, selection)
	}
	isEval := func(c *scenario.Case) bool { return c.Eval != nil }
	if t.o.model != "" && !slices.ContainsFunc(all, func(f *scenario.File) bool { return slices.ContainsFunc(f.Cases, isEval) }) {
		t.p.Say("note: --model-cmd plays evals, and there are none in these files")
	}
	formats, err := formats(t.p, t.o.reporter)
	if err != nil {
		return err
	}
	host, err := t.host()
	if err != nil {
		return err
	}
	if t.p.Config().IsDefault("approval") {
		t.p.Config().Approval = policy.ModeAuto // a scenario is the consent to what it calls
	}
	out := t.p.reporter(formats)
	o := t.options(formats, out)
	o.Select, o.Host = selection, host
	done, err := kitrun.Files(ctx, all, o)
	if errors.Is(context.Cause(ctx), errChanged) {
		return nil // the next run reports
	}
	if problems, wrong := errors.AsType[*scenario.Problems](err); wrong && len(done.Cases) == 0 {
		return t.p.shown(problems)
	}
	if none, ok := errors.AsType[*scenario.NoMatch](err); ok {
		return t.noMatch(none)
	}
	failed := t.p.report(out, done)
	var closed *kitrun.NotOpened
	var ended *terminal.ExitError
	switch {
	case err == nil, ctx.Err() != nil:
		return failed
	case errors.As(err, &closed):
		return terminal.Unreachable("%s", err.Error())
	case errors.As(err, &ended):
		return ended
	}
	return terminal.Usage("%w", err)
}

// mostNames bounds how many cases or tags an error names.
const mostNames = 10

// noMatch says which flags selected nothing, and what they could select.
func (t *tester) noMatch(e *scenario.NoMatch) error {
	var flags, near []string
	if t.o.run != "" {
		flags = append(flags, "--run "+text.ShellWord(t.o.run))
		near = append(near, text.DidYouMean(t.o.run, e.Cases))
	}
	for _, tag := range t.o.tags {
		flags = append(flags, "--tag "+text.ShellWord(tag))
		near = append(near, text.DidYouMean(tag, e.Tags))
	}
	for _, way := range t.o.via {
		flags = append(flags, "--via "+text.ShellWord(way))
	}
	near = slices.DeleteFunc(near, func(one string) bool { return one == "" })
	if len(near) > 0 {
		return terminal.Usage("no case matches %s: %s", strings.Join(flags, " "), near[0])
	}
	what, names := "the cases are", e.Cases
	if t.o.run == "" && len(t.o.tags) > 0 && len(e.Tags) > 0 {
		what, names = "the tags are", e.Tags
	}
	return terminal.Usage("no case matches %s: %s %s", strings.Join(flags, " "), what, text.FewQuoted(names, mostNames))
}

// options say how cases run, but for which they are, and under which host.
func (t *tester) options(formats []report.Format, out report.Reporter) kitrun.Options {
	o := kitrun.Options{
		Open: t.open, Env: os.LookupEnv, Version: t.p.Version,
		Site:    t.site(),
		Retries: t.o.retries, Repeat: t.o.repeat, Parallel: t.o.parallel,
		MinCoverage: t.o.minCoverage, CaseDone: out.CaseDone, Recorded: recorded,
		TraceDir: t.o.traceDir,
		Pictures: slices.ContainsFunc(formats, func(f report.Format) bool { return f.Name == "html" }),
	}
	if t.o.update {
		o.Accept = accept
	}
	if t.o.model != "" {
		o.Model = t.ask
	}
	o.Again, o.Words, o.Starts = t.again, t.p.Words, t.starts
	if t.o.trace != "off" {
		o.Trace = t.o.trace
	}
	return o
}

// again is the command line that repeats the case of a file, or all of it, for a POSIX shell.
func (t *tester) again(file, name string) string {
	flags := [][2]string{{"dir", t.o.dir}, {"url", t.o.url}, {"serve", t.o.serve}, {"host", t.o.host},
		{"model-cmd", t.o.model}}
	for _, file := range t.p.Config().Adapters {
		flags = append(flags, [2]string{"adapter", file})
	}
	for _, file := range t.o.hostFiles {
		flags = append(flags, [2]string{"host-file", file})
	}
	word := func(s string) string { return text.ShellWord(text.EscapeLine(s)) }
	line := "pagetools test"
	for _, f := range flags {
		if f[1] != "" {
			line += " --" + f[0] + " " + word(f[1])
		}
	}
	run := ""
	if name != "" {
		run = " --run " + word("^"+regexp.QuoteMeta(name)+"$")
	}
	if strings.HasPrefix(file, "-") {
		return line + run + " -- " + word(file)
	}
	return line + " " + word(file) + run
}

// starts says which command is about to run.
func (t *tester) starts(command string) { t.p.Say("starting %s", text.Line(command)) }

func (t *tester) selection() (o scenario.Options, err error) {
	o.Tags, o.CI = t.o.tags, os.Getenv("CI") != "" && os.Getenv("CI") != "false"
	if t.o.run != "" {
		if o.Run, err = regexp.Compile(t.o.run); err != nil {
			return o, terminal.Usage("invalid value %q for --run: must be a regular expression, "+
				"such as %q", text.Line(t.o.run), "buys.*/mcp$")
		}
	}
	if t.o.model != "" && len(t.o.via) == 0 {
		o.Via = []scenario.Door{scenario.ThroughWebtool} // a model is not the same twice
	}
	for _, word := range t.o.via {
		door := scenario.Door(word)
		switch {
		case word == "all":
			o.Via = append(o.Via, scenario.Doors()...)
		case slices.Contains(scenario.Doors(), door):
			o.Via = append(o.Via, door)
		default:
			return o, terminal.Usage("invalid value %q for --via: must be page, webtool, mcp or "+
				"all", text.Line(word))
		}
	}
	if !slices.Contains([]string{"off", kitrun.TraceOn, kitrun.TraceRetainOnFailure}, t.o.trace) {
		return o, terminal.Usage("invalid value %q for --trace: must be off, on or "+
			"retain-on-failure", text.Line(t.o.trace))
	}
	if t.o.traceDir == "" {
		return o, terminal.Usage("--trace-dir must name a folder")
	}
	if t.o.minCoverage < 0 || t.o.minCoverage > 100 {
		return o, terminal.Usage("invalid value %g for --min-coverage: must be from 0 to 100",
			t.o.minCoverage)
	}
	if t.o.serve != "" && t.o.url == "" {
		return o, terminal.Usage("--serve needs --url: the address under which the command " +
			"serves the app")
	}
	if t.o.serve != "" && t.o.dir != "" {
		return o, terminal.Usage("--serve and --dir both name the app: give one of them")
	}
	return o, nil
}

// ask has the program of --model-cmd make the next call.
func (t *tester) ask(ctx context.Context, r *scenario.ModelRequest) (*scenario.ModelCall, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	reply, err := app.AskCommand(ctx, t.o.model, text)
	if err != nil {
		return nil, err
	}
	return scenario.ParseModelReply(reply)
}

// host returns the host under which the pages run, or nil.
func (t *tester) host() (*hosts.Host, error) {
	set, err := knownHosts(t.o.hostFiles)
	if err != nil || t.o.host == "" {
		return nil, err
	}
	h, err := set.Get(t.o.host)
	if err != nil {
		return nil, terminal.Usage("--host: %w", err)
	}
	return &h, nil
}

// shown says each problem of files on a line of its own, as compilers do.
func (p *Program) shown(err error) error {
	if err == nil || p.Config().JSON() {
		return asUsage(err)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(p.Stderr, "pagetools: "+text.Line(line))
	}
	return &terminal.ShownError{Code: terminal.ExitUsage}
}

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return terminal.Usage("%w", err)
}

// export prints the cases of all files as one evals.json.
func (t *tester) export(all []*scenario.File, o scenario.Options) error {
	whole := &scenario.File{}
	selected, err := scenario.Select(all, o)
	if none, ok := errors.AsType[*scenario.NoMatch](err); ok {
		return t.noMatch(none)
	}
	if err != nil {
		return t.p.shown(err)
	}
	for _, s := range selected { // once, through however many doors
		if !slices.Contains(whole.Cases, s.Case) {
			whole.Cases = append(whole.Cases, s.Case)
		}
	}
	text, err := scenario.ExportEvals(whole)
	if err != nil {
		return err
	}
	_, err = t.p.Stdout.Write(text)
	return err
}

func (t *tester) open(ctx context.Context, to *app.Target, complete func(*app.Options)) (*app.App, error) {
	t.p.About(to)
	return t.p.Start(ctx, []*app.Target{to}, Opening{Watched: true, Complete: func(o *app.Options) {
		o.Browsers = &t.browsers
		complete(o)
	}})
}

// recorded writes what pages got from the network, or what was done with their tools.
func recorded(name string, text []byte) error {
	return place(name, text, 0o600) // it may hold what is nobody's business
}

// accept writes what is into a file, in the place of what was expected.
func accept(f *scenario.File, changes []scenario.Change) error {
	words, err := os.ReadFile(f.Name)
	if err != nil {
		return terminal.Usage("--update: %s %w", text.Line(f.Name), config.Problem(err))
	}
	if json.Valid(words) {
		return terminal.Usage("--update: %s is JSON, of another program; change it by hand",
			text.Line(f.Name))
	}
	next, err := scenario.Update(words, changes)
	if err != nil {
		return terminal.Usage("--update: %s: %w", text.Line(f.Name), err)
	}
	info, err := os.Stat(f.Name)
	if err != nil {
		return terminal.Usage("--update: %s %w", text.Line(f.Name), config.Problem(err))
	}
	if err := files.Write(f.Name, next, info.Mode().Perm()); err != nil {
		return terminal.Usage("--update: %w", err)
	}
	return nil
}
