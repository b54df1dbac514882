package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// Options say how cases run. Open is required.
type Options struct {
	// Select says which cases run.
	Select scenario.Options
	// Open starts what serves a target. It calls complete with its options, which have that target
	// as their site, before the app starts. Files closes the app. An error ends the run.
	Open func(ctx context.Context, t *app.Target, complete func(*app.Options)) (*app.App, error)
	// Site replaces the sites of the files; its Dir is relative to the current folder. A zero one
	// replaces none.
	Site scenario.Site
	// Host sets the limits of the pages and the interface that they meet; nil means ours.
	Host *hosts.Host
	// Model makes the calls of cases that come from evals: it returns the next call, or nil when
	// the model is done. Nil makes the expected calls.
	Model func(ctx context.Context, r *scenario.ModelRequest) (*scenario.ModelCall, error)
	// Env returns a variable of the environment, as in [scenario.Scope].
	Env func(name string) (string, bool)
	// Retries says how often a case is repeated that fails, unless it says so itself. With Repeat,
	// each case runs that many times, and fails when one of them does; zero means one.
	Retries, Repeat int
	// Parallel says how many cases of a file run at once; zero means one.
	Parallel int
	// MinCoverage is the least part of the tools of a site that the cases of a file call, in
	// percent; zero asks for none.
	MinCoverage float64
	// CaseTime is the longest that one case may take through one door, without the time that its
	// person takes; zero means a minute.
	CaseTime time.Duration
	// Pictures makes a picture of the page before each step, for reports that show it.
	Pictures bool
	// Trace is TraceOn for a trace of each case, TraceRetainOnFailure for those of cases that fail,
	// and "" for none. Each is a file trace.zip in a folder of its own below TraceDir, which is
	// made when it is not there. It has the arguments of calls as they were sent, with the values
	// of the environment.
	Trace, TraceDir string
	// Accept takes what the values that are expected must be so that the cases of a file pass, as
	// [scenario.Update] does. Nil accepts nothing: what does not match fails.
	Accept func(f *scenario.File, changes []scenario.Change) error
	// Recorded takes a file that site.network records, as a whole. It is called with the cases of a
	// file that all ran. Nil refuses files that record.
	Recorded func(name string, text []byte) error
	// Again returns the command that repeats the case of a file with this name, or all of the file
	// for "". The report has it. Nil means that there is none.
	Again func(file, name string) string
	// Words rewords problems and failures for a reader who knows options by other names.
	Words text.Words
	// CaseDone is called as cases end, one at a time; nil is not called.
	CaseDone func(*report.Case)
	// Starts is told of each command that a file or Site starts, before it runs; nil is not told.
	Starts func(command string)
	// Version is the version of pagetools.
	Version string
}

// again returns the command that repeats the case, or the file for "", if there is one.
func (o *Options) again(file, name string) string {
	if o.Again == nil {
		return ""
	}
	return o.Again(file, name)
}

// NotOpened is the error of a site that could not be opened.
type NotOpened struct {
	Site string // as its file names it
	Err  error
}

// Error names the site.
func (e *NotOpened) Error() string { return e.Site + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *NotOpened) Unwrap() error { return e.Err }

// Files runs the selected cases of the files, each through its doors, and each time in a fresh page
// of a fresh browser context. It returns the report also with an error: a [*scenario.Problems]
// where files ask for what cannot be done, or a [*NotOpened] for each site that did not open; the
// cases of the other files ran. When ctx ends, what runs is ended, and the report says that it was
// interrupted.
func Files(ctx context.Context, files []*scenario.File, o Options) (*report.Run, error) {
	out := &report.Run{Command: "test", Version: o.Version, Started: time.Now(), FailOn: "off"}
	selected, err := scenario.Select(files, o.Select)
	if err != nil {
		return out, err
	}
	if err := o.able(selected); err != nil {
		return out, err
	}
	r := newRunner(o, out)
	var all error
	for len(selected) > 0 && ctx.Err() == nil {
		f := selected[0].File
		n := 1
		for n < len(selected) && selected[n].File == f {
			n++
		}
		all = errors.Join(all, r.file(ctx, f, selected[:n]))
		selected = selected[n:]
	}
	out.Took, out.Interrupted = time.Since(out.Started), ctx.Err() != nil
	return out, all
}

// able reports what the files ask for and what cannot be done, before anything is opened.
func (o *Options) able(selected []scenario.Selected) error {
	wrong := &scenario.Problems{}
	var last *scenario.File
	for i := range selected {
		f := selected[i].File
		if f == last {
			continue
		}
		last = f
		wrong.List = append(wrong.List, o.overreach(f)...)
		if n := f.Site.Network; n != nil && n.Record != "" && o.Recorded == nil {
			wrong.List = append(wrong.List, problem(f, n.Position, "network cannot be recorded here: %s",
				o.Words.Of("write replay in the place of record")))
		}
		if _, at, err := rules(f); err != nil {
			wrong.List = append(wrong.List, problem(f, at, "lint: %s", err.Error()))
		}
	}
	if wrong.List == nil {
		return nil
	}
	return wrong
}

func problem(f *scenario.File, at scenario.Position, format string, args ...any) scenario.Problem {
	return scenario.Problem{File: f.Name, Position: at,
		Message: text.EscapeLine(fmt.Sprintf(format, args...))}
}

type runner struct {
	o Options

	reporting sync.Mutex // guards run
	run       *report.Run
}

func newRunner(o Options, out *report.Run) *runner {
	o.Parallel, o.Repeat = max(o.Parallel, 1), max(o.Repeat, 1)
	o.CaseTime = cmp.Or(o.CaseTime, time.Minute)
	return &runner{o: o, run: out}
}

func (r *runner) done(c report.Case) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.run.Cases = append(r.run.Cases, c)
	if r.o.CaseDone != nil {
		r.o.CaseDone(&c)
	}
}

// note says something once for the whole run.
func (r *runner) note(format string, args ...any) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	if text := text.EscapeLine(fmt.Sprintf(format, args...)); !slices.Contains(r.run.Notes, text) {
		r.run.Notes = append(r.run.Notes, text)
	}
}

func (r *runner) file(ctx context.Context, f *scenario.File, selected []scenario.Selected) error {
	begun := len(r.run.Cases)
	defer func() { r.inOrder(begun, selected) }()
	idle := func(s scenario.Selected) bool { return r.reasonToSkip(&s) != "" }
	if !slices.ContainsFunc(selected, func(s scenario.Selected) bool { return !idle(s) }) {
		for i := range selected {
			r.done(skipped(&selected[i], r.reasonToSkip(&selected[i])))
		}
		return nil
	}
	on, err := r.open(ctx, f)
	if err != nil {
		if ctx.Err() == nil {
			r.pseudo(f, "site", f.Site.Position, err.Error())
		}
		for i := range selected {
			r.done(skipped(&selected[i], "the site was not opened"))
		}
		return err
	}
	defer on.Close()
	on.cases(ctx, selected)
	if ctx.Err() != nil {
		return nil
	}
	on.lint(ctx)
	on.coverage()
	return errors.Join(on.accept(), on.recorded(selected))
}

// inOrder sorts the cases of a file, which ended in any order, as they were selected.
func (r *runner) inOrder(begun int, selected []scenario.Selected) {
	place := func(c report.Case) int {
		i := slices.IndexFunc(selected, func(s scenario.Selected) bool {
			return s.Case.Name == c.Name && string(s.Door) == c.Door
		})
		if i < 0 {
			return len(selected)
		}
		return i
	}
	slices.SortStableFunc(r.run.Cases[begun:], func(a, b report.Case) int { return place(a) - place(b) })
}

// reasonToSkip says why a case does not run, or is "".
func (r *runner) reasonToSkip(s *scenario.Selected) string {
	if s.Case.Eval != nil && s.Case.Eval.NoCall && r.o.Model == nil {
		return "no call is expected, which cannot be tested without a model"
	}
	return s.Case.Skip
}

func newCase(s *scenario.Selected) report.Case {
	return report.Case{File: s.File.Name, Line: s.Case.Line, Name: s.Case.Name, Door: string(s.Door),
		Tags: s.Case.Tags, Attempts: 1}
}

func skipped(s *scenario.Selected, reason string) report.Case {
	c := newCase(s)
	c.Status, c.Reason = report.Skipped, reason
	return c
}

// cases runs each case through its doors, one after another, and several cases at once.
func (on *Stand) cases(ctx context.Context, selected []scenario.Selected) {
	slots := make(chan struct{}, on.runner.o.Parallel)
	var running sync.WaitGroup
	for len(selected) > 0 {
		n := 1
		for n < len(selected) && selected[n].Case == selected[0].Case {
			n++
		}
		doors := selected[:n]
		selected = selected[n:]
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			turns := on.Turns()
			for i := range doors {
				on.runner.done(turns.Through(ctx, &doors[i]))
			}
		})
	}
	running.Wait()
}

// Turns are the runs of one case through its doors, one after another.
type Turns struct {
	on     *Stand
	before []*attempt // that passed
}

// Through runs the case through one door, and compares it with the doors before.
func (u *Turns) Through(ctx context.Context, s *scenario.Selected) report.Case {
	if reason := u.on.runner.reasonToSkip(s); reason != "" {
		return skipped(s, reason)
	}
	c, last := u.on.repeated(ctx, s, u.before)
	if ctx.Err() != nil {
		c = skipped(s, "the run was interrupted")
	}
	if c.Status == report.Passed {
		u.before = append(u.before, last)
	}
	return c
}

// repeated runs a case through one door as often as it shall be, and returns the last attempt.
func (on *Stand) repeated(ctx context.Context, s *scenario.Selected, before []*attempt,
) (c report.Case, last *attempt) {
	passed := 0
	for n := 1; n <= on.runner.o.Repeat && ctx.Err() == nil; n++ {
		var once report.Case
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf("-repeat-%d", n)
		}
		once, last = on.retried(ctx, s, before, suffix)
		if once.Status != report.Failed {
			passed++
		}
		if n == 1 || c.Status != report.Failed {
			once.Took += c.Took
			c = once
		} else {
			c.Took += once.Took
		}
		if on.runner.o.Repeat > 1 {
			c.Attempts = n
		}
	}
	if on.runner.o.Repeat > 1 && c.Status != report.NotApplicable && ctx.Err() == nil {
		on.runner.note("%s: %d of %d runs passed: %s.", s.Name(), passed, on.runner.o.Repeat,
			passAt(on.runner.o.Repeat, passed))
	}
	return c, last
}

// passAt returns the probability that one of k runs passes, for k = 1 and k = n, when some of n
// passed: the unbiased estimate of pass@k.
func passAt(n, passed int) string {
	var words []string
	for k := range maps.Keys(map[int]bool{1: true, n: true}) {
		fail := 1.0
		for i := range k {
			fail *= float64(max(n-passed-i, 0)) / float64(n-i)
		}
		words = append(words, fmt.Sprintf("pass@%d %.2f", k, 1-fail))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// retried runs a case until it passes, or is not repeated any more.
func (on *Stand) retried(ctx context.Context, s *scenario.Selected, before []*attempt, suffix string,
) (report.Case, *attempt) {
	retries := on.runner.o.Retries
	if s.Case.Retries != nil {
		retries = *s.Case.Retries
	}
	for n := 1; ; n++ {
		t := on.attempt(s)
		t.suffix = suffix
		if n > 1 {
			t.suffix += fmt.Sprintf("-retry-%d", n-1)
		}
		c := t.run(ctx, before)
		c.Attempts = n
		if c.Status != report.Failed || n > retries || ctx.Err() != nil {
			return c, t
		}
	}
}
