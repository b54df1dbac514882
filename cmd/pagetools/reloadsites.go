package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

// targetsToServe reads those of the command line and those of the file, of which there must be one.
func (p *program) targetsToServe(args []string) ([]*target, error) {
	targets, err := p.targets(args)
	if err == nil && len(targets) == 0 {
		err = terminal.Usage("serve needs a TARGET, or sites in the configuration file")
	}
	return targets, err
}

// lockHas refuses targets that the lock does not have, where there is one.
func (pl *plan) lockHas(targets []*target) error {
	for _, t := range targets {
		if pl.locked == nil {
			return nil
		}
		if err := pl.locked.Has(t.Target); err != nil {
			return err
		}
	}
	return nil
}

// siteChange has the sites of a file that was read again.
type siteChange struct {
	*app.Change

	targets []*target
}

// prepareSites makes ready what the file says of sites now. Other settings than those of
// sites stay as they were at the start.
func (c *callers) prepareSites(ctx context.Context, a *app.App, file *config.Config) (*siteChange, error) {
	p := &program{stdout: c.p.stdout, stderr: c.p.stderr, flags: c.p.flags, log: c.p.log, conf: c.p.conf.WithSites(file)}
	targets, err := p.targetsToServe(c.plan.args)
	if err != nil {
		return nil, err
	}
	pl := c.plan
	pl.targets = targets
	if err := pl.lockHas(targets); err != nil {
		return nil, err
	}
	if _, err := ownBrowser(p, pl); err != nil {
		return nil, err
	}
	sites, err := sitesOf(p, pl)
	if err != nil {
		return nil, err
	}
	change, err := a.PrepareSites(ctx, sites)
	if err != nil {
		return nil, err
	}
	return &siteChange{change, targets}, nil
}

// apply makes them the sites.
func (x *siteChange) apply(c *callers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan.targets = x.targets
	x.Apply()
}

// said says what is different; "" is nothing.
func (x *siteChange) said() string {
	said := ""
	for _, of := range []struct {
		what  string
		names []string
	}{{"added", x.Added}, {"changed", x.Changed}, {"removed", x.Removed}} {
		if len(of.names) > 0 {
			said += fmt.Sprintf("; %s: %s", of.what, strings.Join(of.names, ", "))
		}
	}
	return said
}

// tell says what came of the sites that are new, when they were opened or have failed.
func (x *siteChange) tell(ctx context.Context, p *program, a *app.App) {
	begun := slices.Concat(x.Added, x.Changed)
	if len(begun) == 0 || a.WaitOpened(ctx) != nil {
		return
	}
	for _, name := range begun {
		status := a.Status(name)
		if status == "unknown" { // the next change removed it
			continue
		}
		if status != "open" {
			p.say("%s: not opened: %s", name, text.Line(status))
			continue
		}
		d, err := a.Bridge.Webtool(ctx, bridge.Ref{Site: name, Caller: bridge.Local()}, "", "")
		if err != nil {
			p.say("%s: %s", name, text.Line(bridge.AsError(err).Message))
			continue
		}
		var tools []string
		for _, t := range d.Actions {
			tools = append(tools, t.Name)
		}
		p.say("%s:%s", name, strings.TrimPrefix(toolsLine(tools, ""), " "))
		for _, f := range a.Findings(name) {
			p.say("warning: %s: %s", name, findingText(f))
		}
	}
}

// readAdapters has the pages run the adapters of files that have changed, and watches those of the
// targets that there are now.
func (c *callers) readAdapters(ctx context.Context, f *follower, changed []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.pl.targets = c.plan.targets
	for _, t := range f.changed(ctx, changed) {
		f.a.Manager.Scripts(t.Name).Set(t.adapters)
	}
	return f.watch()
}
