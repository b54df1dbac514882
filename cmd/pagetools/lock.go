package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/files"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

// lockName is the file with the digests of tools at the time of pagetools lock.
const lockName = "pagetools.lock"

// lockFile is its content.
type lockFile struct {
	LockfileVersion int                   `json:"lockfileVersion"`
	Sites           map[string]lockedSite `json:"sites"`
}

type lockedSite struct {
	Target string `json:"target"`
	// Tools are the digests of the tools' definitions, by name.
	Tools map[string]string `json:"tools"`
}

func lockCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "lock [NAME=]TARGET...",
		Short: "Write down what the tools are like, for serve --locked",
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := p.targets(args)
			if err != nil {
				return err
			}
			if len(targets) == 0 {
				return usage("lock needs a TARGET, or sites in the configuration file")
			}
			return lock(cmd.Context(), p, targets)
		},
	}
}

// lock opens the sites and writes the file. Sites that are in it and were not named
// stay as they are.
func lock(ctx context.Context, p *program, targets []*target) error {
	before, err := readLock()
	if errors.Is(err, fs.ErrNotExist) {
		before, err = &lockFile{LockfileVersion: 1, Sites: map[string]lockedSite{}}, nil
	}
	if err != nil {
		return err
	}
	a, err := p.start(ctx, plan{targets: targets, single: true})
	if err != nil {
		return err
	}
	defer p.end(a)
	for _, t := range targets {
		now, err := a.Bridge.ToolDigests(ctx, bridge.Ref{Site: t.Name, Caller: bridge.Local()})
		if err != nil {
			return err
		}
		for _, c := range changes(before.Sites[t.Name].Tools, now) {
			fmt.Fprintf(p.stdout, "%-7s  %s  %s\n", c.word, t.Name, terminal.Plain(c.tool))
		}
		before.Sites[t.Name] = lockedSite{Target: t.Text, Tools: now}
	}
	return before.write()
}

// change is how a tool differs from the lock: new, changed, same or gone.
type change struct{ tool, word string }

// changes compares digests of tools, by name.
func changes(before, now map[string]string) (all []change) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		word := "same"
		switch was, there := before[name]; {
		case !there:
			word = "new"
		case was != now[name]:
			word = "changed"
		}
		all = append(all, change{name, word})
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := now[name]; !there {
			all = append(all, change{name, "gone"})
		}
	}
	return all
}

func readLock() (*lockFile, error) {
	b, err := os.ReadFile(lockName)
	if err != nil {
		return nil, usage("reading %s: %w", lockName, err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	l := &lockFile{}
	if err := dec.Decode(l); err != nil {
		return nil, usage("%s cannot be read: %w", lockName, err)
	}
	if l.LockfileVersion != 1 {
		return nil, usage("%s has version %d; this pagetools knows 1", lockName, l.LockfileVersion)
	}
	if l.Sites == nil {
		l.Sites = map[string]lockedSite{}
	}
	return l, nil
}

// write replaces the file as a whole.
func (l *lockFile) write() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(l); err != nil {
		return fmt.Errorf("encoding %s: %w", lockName, err)
	}
	if err := files.Replace(lockName, b.Bytes(), 0o644); err != nil {
		return usage("%w", err)
	}
	return nil
}

// forTargets checks that the file has all sites.
func (l *lockFile) forTargets(targets []*target) error {
	for _, t := range targets {
		if _, there := l.Sites[t.Name]; !there {
			return usage("%s has no site %s: run pagetools lock for it first", lockName, t.Name)
		}
	}
	return nil
}

// actions are the digests of a site's tools; never nil, so that a site without
// tools is locked, too.
func (l *lockFile) actions(site string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, l.Sites[site].Tools)
	return out
}

// warnOfLock prints which tools are not offered because they differ from the lock.
func warnOfLock(ctx context.Context, p *program, a *app.App, l *lockFile, t *target) {
	now, err := a.Bridge.ToolDigests(ctx, bridge.Ref{Site: t.Name, Caller: bridge.Local()})
	if err != nil {
		return // that the site is not open is said elsewhere
	}
	said := map[string]string{
		"new":     "is not in " + lockName + ", and not offered",
		"changed": "is not as " + lockName + " has it, and not offered",
		"gone":    "is in " + lockName + ", and the page does not offer it",
	}
	for _, c := range changes(l.Sites[t.Name].Tools, now) {
		if c.word != "same" {
			p.say("warning: %s: %s %s", t.Name, terminal.Plain(c.tool), said[c.word])
		}
	}
}
