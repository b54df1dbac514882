package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/kit"
	"github.com/pagetools/pagetools/e2e/app"
)

func kitCommands(p *program) []*cobra.Command {
	v := &kitVerbs{p: p}
	return kit.Commands(&kit.Program{
		Stdout: p.stdout, Stderr: p.stderr, Version: ownVersion(), Released: isReleased(ownVersion()), Words: optionWords,
		Config: func() *config.Config { return p.conf }, Reload: v.reload,
		Say: p.say, Waiting: p.waiting, Finish: p.finish, End: p.end, Exactly: exactly,
		NeedsDisplay: func(verb string) error { return needsDisplay(p.conf, verb) },
		About:        func(t *app.Target) { p.target = v.of(t) },
		Listed:       p.listed,
		Target:       v.one, Targets: v.targets, Start: v.start, Serve: v.serve,
		Unmet:   func(a *app.App, t *app.Target) { sayUnmet(p, a, v.of(t)) },
		NoTools: func(a *app.App, t *app.Target) string { return whyNone(p, a, v.of(t)) },
	})
}

// kitVerbs does for the kit what it asks of the program.
type kitVerbs struct {
	p   *program
	all []*target // that were read
}

// of returns what is known of a target. One that a scenario names has nothing in the settings.
func (v *kitVerbs) of(t *app.Target) *target {
	for _, known := range v.all {
		if known.Target == t {
			return known
		}
	}
	found := &target{Target: t, named: true}
	for _, c := range v.p.conf.Sites { // nothing else of it is a test's
		if c.Target == t.Text || t.Folder != "" && absolutePath(c.Target) == absolutePath(t.Folder) {
			found.config.Adapters = c.Adapters
		}
	}
	return found
}

func (v *kitVerbs) one(arg string) (*app.Target, error) {
	t, err := v.p.readTarget(arg)
	if err != nil {
		return nil, err
	}
	v.all = append(v.all, t)
	return t.Target, nil
}

func (v *kitVerbs) targets(args []string) ([]*app.Target, error) {
	all, err := v.p.targets(args)
	if err != nil {
		return nil, err
	}
	v.all = append(v.all, all...)
	out := make([]*app.Target, len(all))
	for i, t := range all {
		out[i] = t.Target
	}
	return out, nil
}

func (v *kitVerbs) start(ctx context.Context, targets []*app.Target, o kit.Opening) (*app.App, error) {
	all := make([]*target, len(targets))
	for i, t := range targets {
		all[i] = v.of(t)
	}
	pl := answering(all...)
	pl.patient = o.Patient
	if o.Watched {
		pl.pages = watched
	}
	return v.p.startWith(ctx, pl, o.Complete)
}

// serve ends without an error when a signal ends it. What went wrong in a call goes wrong again
// when it is replayed, and is not logged again.
func (v *kitVerbs) serve(ctx context.Context, t *app.Target, stdio bool, observe func(bridge.Observed)) (err error) {
	p := v.p
	pl := plan{targets: []*target{v.of(t)}, observe: observe}
	p.target, p.endsBySignal = pl.targets[0], true
	if stdio {
		pl.pages = lent
		err = serveMCP(ctx, p, pl)
	} else {
		err = serve(ctx, p, pl, false)
	}
	if !p.conf.Verbose {
		p.log = slog.New(slog.DiscardHandler)
	}
	if _, signaled := errors.AsType[errInterrupted](err); signaled {
		return nil
	}
	return err
}

func (v *kitVerbs) reload(then func() error) error {
	p := v.p
	next, err := p.flags.Reload(p.conf)
	if err != nil {
		return err
	}
	warnOfFile(p.stderr, next)
	before := p.conf
	p.conf = next
	if err := then(); err != nil {
		p.conf = before
		return err
	}
	return nil
}
