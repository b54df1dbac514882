package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

func lockCommand(p *program) *cobra.Command {
	var o lockOptions
	c := &cobra.Command{
		Use:   "lock [NAME=]TARGET...",
		Short: "Write down what the tools are like, for serve --locked",
		Long: "Writes names, descriptions and schemas of the tools to " + lockName + ". With --check " +
			"it writes nothing,\nprints what differs from the file, and ends with 1 if something does; " +
			"without a TARGET it checks\nall targets of the file.",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := readLock()
			switch {
			case o.check && err != nil:
				return err
			case errors.Is(err, fs.ErrNotExist):
				l = newLock()
			case err != nil:
				return err
			}
			if o.check && len(args) == 0 && len(p.conf.Sites) == 0 {
				args = slices.Sorted(maps.Keys(l.Targets))
			}
			targets, err := p.targets(args)
			if err != nil {
				return err
			}
			if len(targets) == 0 {
				return usage("lock needs a TARGET, or sites in the configuration file")
			}
			return lock(cmd.Context(), p, l, targets, o)
		},
	}
	c.Flags().BoolVar(&o.check, "check", false,
		"write nothing, print what differs, and end with 1 if something does")
	c.Flags().BoolVar(&o.force, "force", false, "lock also a page that declares no tools")
	return c
}

type lockOptions struct{ check, force bool }

// lock opens the sites, and writes the file or compares it with them. Targets that are in it
// and were not named stay as they are.
func lock(ctx context.Context, p *program, l *lockFile, targets []*target, o lockOptions) error {
	a, err := p.start(ctx, plan{targets: targets, single: true})
	if err != nil {
		return err
	}
	defer p.end(a)
	var all []change
	for _, t := range targets {
		now, err := lockedTools(ctx, a, t)
		if err != nil {
			return err
		}
		p.sayUnmet(a, t)
		was, there := l.entry(t)
		if o.check && !there {
			return usage("%s does not have %s: run pagetools lock for it first", lockName, t.Text)
		}
		if !o.check && !o.force && len(now) == 0 {
			return &exitError{exitFindings, fmt.Errorf("%s declares no tools, so %s stays as it is; "+
				"--force locks it without any", t.Text, lockName)}
		}
		all = append(all, changes(t, was, now)...)
		l.set(t, now)
	}
	if o.check {
		all = slices.DeleteFunc(all, func(c change) bool { return c.Change == "same" })
	} else if err := l.write(); err != nil {
		return err
	}
	if err := printChanges(p.stdout, p.conf.Format, all); err != nil {
		return err
	}
	if o.check && len(all) > 0 {
		return &exitError{exitFindings, fmt.Errorf("%s, seen against %s; `pagetools lock` "+
			"accepts what there is now", count(len(all), "difference"), lockName)}
	}
	return nil
}

// printChanges prints what differs, for a person or as lines of JSON.
func printChanges(w io.Writer, format string, all []change) error {
	for _, c := range all {
		if format != "text" {
			if err := terminal.Encode(w, c); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(w, "%-7s  %s  %s\n", c.Change, c.Site,
			terminal.Plain(c.Tool)); err != nil {
			return err
		}
		for _, d := range c.Details {
			if _, err := fmt.Fprintf(w, "         %s\n", terminal.Plain(d.String())); err != nil {
				return err
			}
		}
		for _, text := range c.Means {
			if _, err := fmt.Fprintf(w, "         %s\n", terminal.Plain(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockedTools are the tools of a site as they are written down.
func lockedTools(ctx context.Context, a *app.App, t *target) (map[string]lockedTool, error) {
	return a.LockedTools(ctx, bridge.Ref{Site: t.Name, Caller: bridge.Local()}, t.Folder != "")
}

// warnOfLock prints which tools are not offered because they differ from the lock.
func warnOfLock(ctx context.Context, p *program, a *app.App, l *lockFile, t *target) {
	now, err := lockedTools(ctx, a, t)
	if err != nil {
		return // that the site is not open is said elsewhere
	}
	said := map[string]string{
		"new":     "is not in " + lockName + ", and not offered",
		"changed": "is not as " + lockName + " has it, and not offered",
		"gone":    "is in " + lockName + ", and the page does not offer it",
	}
	was, _ := l.entry(t)
	for _, c := range changes(t, was, now) {
		if c.Change != "same" {
			p.say("warning: %s: %s %s", t.Name, terminal.Plain(c.Tool), said[c.Change])
		}
	}
}
