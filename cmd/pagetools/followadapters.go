package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/watch"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session/adapter"
)

// watchFlag is the flag of verbs that read adapters again when their files change.
const watchFlag = "watch"

// follower reads the adapters of targets again when their files change.
type follower struct {
	p  *program
	a  *app.App
	pl plan
	w  *watch.Watcher
	// others are files that are watched, besides those of adapters.
	others []string
}

// follow begins to watch the files of adapters, and others. The caller must close it.
func (p *program) follow(a *app.App, pl plan, others ...string) (*follower, error) {
	w, err := watch.New()
	if err != nil {
		return nil, err
	}
	f := &follower{p: p, a: a, pl: pl, w: w, others: others}
	if err := f.watch(); err != nil {
		f.close()
		return nil, terminal.Usage("--%s: %w", watchFlag, err)
	}
	return f, nil
}

// watch watches the files of the targets that there are.
func (f *follower) watch() error {
	set := watch.Set{Files: f.others}
	for _, t := range f.pl.targets {
		set.Files = append(set.Files, filesOf(t.adapters)...)
	}
	return f.w.Watch(set)
}

func (f *follower) close() { _ = f.w.Close() }

func filesOf(all []*adapter.Adapter) (names []string) {
	for _, a := range all {
		if !strings.HasPrefix(a.File, adapter.Builtin) {
			names = append(names, absolutePath(a.File))
		}
	}
	return names
}

func absolutePath(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// next waits for changes, and returns the files, and the targets that have other adapters by them.
func (f *follower) next(ctx context.Context) (changed []string, of []*target, err error) {
	if changed, err = f.w.Next(ctx); err != nil {
		return nil, nil, err
	}
	return changed, f.changed(ctx, changed), nil
}

// changed returns the targets that have other adapters by files that have changed.
func (f *follower) changed(ctx context.Context, changed []string) (of []*target) {
	for _, t := range f.pl.targets {
		mine := filesOf(t.adapters)
		is := func(name string) bool { return slices.Contains(mine, name) }
		if slices.ContainsFunc(changed, is) && f.reread(ctx, t) {
			of = append(of, t)
		}
	}
	return of
}

// reread reads the adapters of a target again, and reports whether they are others. What cannot be
// used leaves those before, with a finding.
func (f *follower) reread(ctx context.Context, t *target) bool {
	all, err := f.p.readAdapters(f.pl, t)
	for i := 0; err == nil && i < len(all); i++ {
		if f.pl.locked != nil {
			err = f.pl.locked.HasAdapter(t.Target, all[i].Adapter, text.Line(all[i].File))
		}
		if err == nil {
			err = f.a.Parses(ctx, all[i])
		}
	}
	if err != nil && ctx.Err() == nil {
		finding := bridge.Finding{Rule: bridge.RuleAdapter,
			Message: "A file of an adapter has changed and cannot be used, so that those before stay: " +
				text.Line(err.Error())}.Cleaned()
		f.a.Manager.Scripts(t.Name).Tell([]bridge.Finding{finding})
		f.p.say("warning: %s: %s", t.Name, findingText(finding))
	}
	if err != nil || slices.EqualFunc(all, t.adapters, (*adapter.Adapter).Same) {
		return false
	}
	f.a.Manager.Scripts(t.Name).Tell(nil)
	for i, a := range all {
		if !slices.ContainsFunc(t.adapters, a.Same) {
			f.p.say("%s: %s is read again", t.Name, servedAdapter{a.Adapter, all[i].File})
		}
	}
	t.adapters = all
	return true
}

// followed has the pages of serve run adapters as their files are, and its sites and callers be as
// the configuration file has them, until ctx ends or stop is called.
func (p *program) followed(ctx context.Context, a *app.App, who *callers) (stop func(), err error) {
	file := ""
	var others []string
	if p.conf.File != "" {
		file = absolutePath(p.conf.File)
		others = append(others, file)
	}
	who.mu.Lock()
	f, err := p.follow(a, who.plan, others...)
	who.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		for {
			changed, err := f.w.Next(ctx)
			if err == nil {
				if file != "" && slices.Contains(changed, file) { // first: it says which adapters there are
					_, _ = who.ask(ctx, nil)
				}
				err = who.readAdapters(ctx, f, changed)
			}
			if err != nil {
				if ctx.Err() == nil {
					p.say("warning: --%s: changes are not seen any more: %v", watchFlag, err)
				}
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		f.close()
	}, nil
}
