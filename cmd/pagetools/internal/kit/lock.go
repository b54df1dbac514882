package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
)

func lockCommand(p *Program) *cobra.Command {
	var o lockOptions
	c := &cobra.Command{
		Use:   "lock [NAME=]TARGET...",
		Short: "Write down what the tools are like, for serve --locked",
		Long: "Writes names, descriptions and schemas of the tools to " + lockName + ". With --check " +
			"it writes nothing,\nprints what differs from the file, and ends with 1 if something does; " +
			"without a TARGET it checks\nall targets of the file.",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := ReadLock()
			switch {
			case o.check && err != nil:
				return err
			case errors.Is(err, fs.ErrNotExist):
				l = newLock()
			case err != nil:
				return err
			}
			if o.check && len(args) == 0 && len(p.Config().Sites) == 0 {
				args = slices.Sorted(maps.Keys(l.Targets))
				if err := unnamed(args); err != nil {
					return err
				}
			}
			targets, err := p.Targets(args)
			if err != nil {
				return err
			}
			if len(targets) == 0 {
				return terminal.Usage("lock needs a TARGET, or sites in the configuration file")
			}
			return lock(cmd.Context(), p, l, targets, o)
		},
	}
	c.Flags().BoolVar(&o.check, "check", false,
		"write nothing, print what differs, and end with 1 if something does")
	c.Flags().BoolVar(&o.force, "force", false, "lock also a page that offers no tools")
	return c
}

// unnamed returns the error of a target that only the lock file names, and that is neither public
// nor below this folder: the file may be a stranger's.
func unnamed(targets []string) error {
	for _, t := range targets {
		address := strings.Contains(t, "://")
		if address && !origin.Public(t) || !address && files.Inside(".", t) != nil {
			return terminal.Usage("%s has the target %s, which is neither a public address nor a folder "+
				"below this one: if you trust it, name it: pagetools lock --check %s", lockName,
				text.Line(t), text.Line(text.Operand(t)))
		}
	}
	return nil
}

type lockOptions struct{ check, force bool }

// lock opens the sites, and writes the file or compares it with them. Targets that are in it
// and were not named stay as they are.
func lock(ctx context.Context, p *Program, l *Lock, targets []*app.Target, o lockOptions) error {
	a, err := p.Start(ctx, targets, Opening{Patient: true})
	if err != nil {
		return err
	}
	defer p.End(a)
	var all []change
	for _, t := range targets {
		now, err := lockedTools(ctx, a, t)
		if err != nil {
			return err
		}
		p.Unmet(a, t)
		if err := l.Has(t); o.check && err != nil {
			return err
		}
		was, _ := l.entry(t)
		if !o.check && !o.force && len(now) == 0 {
			return terminal.Found("%s offers no tools, so %s stays as it is; "+
				"--force locks it without any", t.Text, lockName)
		}
		all = append(all, changes(t, was, now)...)
		l.set(t, now, a.Adapters(t.Name))
	}
	if o.check {
		all = slices.DeleteFunc(all, func(c change) bool { return c.Change == "same" })
	} else if err := l.write(); err != nil {
		return err
	}
	if err := printChanges(p.Stdout, p.Config().Format, all); err != nil {
		return err
	}
	if o.check && len(all) > 0 {
		return terminal.Found("%s, seen against %s; `pagetools lock` "+
			"accepts what there is now", text.Count(len(all), "difference"), lockName)
	}
	return nil
}

func printChanges(out *terminal.Stream, format string, all []change) error {
	for _, c := range all {
		if format != "text" {
			if err := terminal.Encode(out, c); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%-7s  %s  %s\n", c.Change, c.Site, text.Line(c.Tool))
		for _, d := range c.Details {
			fmt.Fprintf(out, "         %s\n", text.Line(d.String()))
		}
		for _, words := range c.Means {
			fmt.Fprintf(out, "         %s\n", text.Line(words))
		}
	}
	return out.Err()
}

// lockedTools are the tools of a site as they are written down.
func lockedTools(ctx context.Context, a *app.App, t *app.Target) (map[string]lockedTool, error) {
	return a.LockedTools(ctx, bridge.Ref{Site: t.Name, Caller: bridge.Local()}, t.Folder != "")
}

// Differences says which tools of an open target are not offered because they differ from the lock.
// That the site is not open is said elsewhere.
func (l *Lock) Differences(ctx context.Context, a *app.App, t *app.Target) (all []string) {
	now, err := lockedTools(ctx, a, t)
	if err != nil {
		return nil
	}
	said := map[string]string{
		"new":     "is not in " + lockName + ", and not offered",
		"changed": "is not as " + lockName + " has it, and not offered",
		"gone":    "is in " + lockName + ", and the page does not offer it",
	}
	was, _ := l.entry(t)
	for _, c := range changes(t, was, now) {
		if c.Change != "same" {
			all = append(all, fmt.Sprintf("warning: %s: %s %s", t.Name, text.Line(c.Tool), said[c.Change]))
		}
	}
	return all
}

// lockName is the file with the tools at the time of pagetools lock.
const lockName = "pagetools.lock"

// Lock is its content. Its keys are addresses, and folders from here.
type Lock struct{ app.Lock }

type (
	lockedTarget = app.LockedTarget
	lockedTool   = app.LockedTool
)

func newLock() *Lock {
	return &Lock{Lock: app.Lock{LockfileVersion: app.LockVersion, Targets: map[string]lockedTarget{}}}
}

// lockKey is the key of a target: another path of a host is another key, and another
// spelling of the same one is not.
func lockKey(text string) string {
	if u, err := url.Parse(text); err == nil && strings.Contains(text, "://") {
		u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
		if u.Path == "" {
			u.Path = "/"
		}
		return u.String()
	}
	path := filepath.Clean(text)
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if from, err := filepath.Rel(here, path); err == nil {
			path = from
		}
	}
	return filepath.ToSlash(path)
}

func (l *Lock) entry(t *app.Target) (tools map[string]lockedTool, there bool) {
	e, there := l.Targets[lockKey(t.Text)]
	return e.Tools, there
}

func (l *Lock) set(t *app.Target, tools map[string]lockedTool, by []bridge.Adapter) {
	l.Targets[lockKey(t.Text)] = lockedTarget{Tools: tools, Adapters: by}
}

// HasAdapter returns the error of an adapter of a target that is not as the file has it.
func (l *Lock) HasAdapter(t *app.Target, by bridge.Adapter, file string) error {
	for _, locked := range l.Targets[lockKey(t.Text)].Adapters {
		switch {
		case locked == by:
			return nil
		case locked.Name == by.Name:
			return terminal.Usage("%s has the adapter %s with sha256:%s, and %s is another file, with sha256:%s: "+
				"read what changed, then run pagetools lock again", lockName, locked, locked.SHA256, file, by.SHA256)
		}
	}
	return terminal.Usage("%s does not have the adapter %s (%s): read it, then run pagetools lock again", lockName, by, file)
}

// noLock says that there is no file to compare with.
type noLock struct{ error }

func (e noLock) Error() string {
	return fmt.Sprintf("%s %v: `pagetools lock TARGET` writes it", lockName, config.Problem(e.error))
}

func (e noLock) Unwrap() error { return e.error }

// ReadLock reads the lock file of this folder.
func ReadLock() (*Lock, error) {
	b, err := os.ReadFile(lockName)
	if err != nil {
		return nil, terminal.Usage("%w", noLock{err})
	}
	l := newLock()
	if err := json.Unmarshal(b, &struct {
		LockfileVersion *int `json:"lockfileVersion"`
	}{&l.LockfileVersion}); err != nil {
		return nil, terminal.Usage("%s is not whole JSON: restore it, or remove it and run "+
			"pagetools lock again", lockName)
	}
	if l.LockfileVersion != app.LockVersion {
		return nil, terminal.Usage("%s has version %d, and this pagetools reads %d: use the pagetools "+
			"that wrote it, or remove the file and run pagetools lock again", lockName,
			l.LockfileVersion, app.LockVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l.Lock); err != nil {
		return nil, terminal.Usage("%s is not as pagetools lock writes it (%w): restore it, or remove it and run "+
			"pagetools lock again", lockName, err)
	}
	if l.Targets == nil {
		l.Targets = map[string]lockedTarget{}
	}
	return l, nil
}

// write replaces the file as a whole.
func (l *Lock) write() error {
	text, err := l.Text()
	if err != nil {
		return err
	}
	return replace(lockName, text)
}

// Has returns the error of a target that the file does not have.
func (l *Lock) Has(t *app.Target) error {
	if _, there := l.entry(t); !there {
		return terminal.Usage("%s does not have %s: run pagetools lock for it first",
			lockName, t.Text)
	}
	return nil
}

// Digests returns the digests of a target's tools; never nil, so that a target without tools is
// locked, too.
func (l *Lock) Digests(t *app.Target) map[string]string {
	out := map[string]string{}
	tools, _ := l.entry(t)
	for name, tool := range tools {
		out[name] = tool.Digest
	}
	return out
}

// change says how a tool differs from the lock: new, changed, same or gone.
type change struct {
	Change  string       `json:"change"`
	Site    string       `json:"site"`
	Target  string       `json:"target"`
	Tool    string       `json:"tool"`
	Details []difference `json:"details,omitempty"`
	// Means are the same differences in the words of diff: breaking, minor or patch, and why.
	Means []string `json:"means,omitempty"`
}

// difference describes a change in one place of a definition. From is nil where it is new, and
// To where it is gone.
type difference struct {
	Where string `json:"where"`
	From  any    `json:"from,omitempty"`
	To    any    `json:"to,omitempty"`
}

// String returns the difference in a line, with values as JSON.
func (d difference) String() string {
	text := func(v any) string {
		words, _ := schema.Encode(v) // it was JSON
		return string(words)
	}
	switch {
	case d.From == nil && d.To == nil:
		return d.Where
	case d.From == nil:
		return "+ " + d.Where + ": " + text(d.To)
	case d.To == nil:
		return "- " + d.Where + ": " + text(d.From)
	}
	return "~ " + d.Where + ": " + text(d.From) + " -> " + text(d.To)
}

func changes(t *app.Target, before, now map[string]lockedTool) (all []change) {
	add := func(word, tool string) *change {
		all = append(all, change{Change: word, Site: t.Name, Target: lockKey(t.Text), Tool: tool})
		return &all[len(all)-1]
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch was, there := before[name]; {
		case !there:
			add("new", name)
		case was.Digest != now[name].Digest:
			c := add("changed", name)
			c.Details, c.Means = edits(was, now[name]), means(name, was, now[name])
		default:
			add("same", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := now[name]; !there {
			add("gone", name)
		}
	}
	return all
}

func edits(a, b lockedTool) (all []difference) {
	tree := func(t lockedTool) (tree any) {
		t.Digest = ""
		text, _ := json.Marshal(t)
		_ = json.Unmarshal(text, &tree)
		return tree
	}
	diff("", tree(a), tree(b), &all)
	if len(all) == 0 {
		return []difference{{Where: "the digest alone: the file was edited, " +
			"or another pagetools wrote it"}}
	}
	return all
}

// means says what the changes of a definition are for callers.
func means(name string, a, b lockedTool) (all []string) {
	var sides [2]*check.Snapshot
	for i, t := range []lockedTool{a, b} {
		one := inOrder(map[string]lockedTool{name: t})
		sides[i] = &check.Snapshot{Pages: []check.Page{{Tools: one}}}
	}
	changes, _ := check.Diff(sides[0], sides[1]) // one page each is always compared
	for _, c := range changes {
		text := c.String()
		if c.Pointer != "" {
			text += " At " + c.Pointer + "."
		}
		all = append(all, text)
	}
	return all
}

// diff compares two values of JSON. Members of objects are compared one by one.
func diff(where string, a, b any, all *[]difference) {
	inA, objectA := a.(map[string]any)
	inB, objectB := b.(map[string]any)
	if !objectA || !objectB {
		if !reflect.DeepEqual(a, b) {
			*all = append(*all, difference{where, a, b})
		}
		return
	}
	names := slices.Concat(slices.Collect(maps.Keys(inA)), slices.Collect(maps.Keys(inB)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		at := strings.TrimPrefix(where+schema.Pointer(name), "/")
		diff(at, inA[name], inB[name], all)
	}
}
