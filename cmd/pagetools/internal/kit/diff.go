package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/report"
)

type diffOptions struct{ base, failOn, reporter string }

func diffCommand(p *Program) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what changed about tools, and which version that owes",
		Long: "Compares two lists of tools: each of OLD and NEW is a lock file, what " +
			"`tools --format json` prints, a\nresult of tools/list, or a TARGET, which is opened. " +
			"Each difference is breaking, minor or patch, with the\nreason, and the end says which " +
			"part of the version to raise. `diff --base REVISION` compares\n" + lockName +
			" with the one that git has of a revision.\n" +
			"Ends with 1 when there are differences as bad as --fail-on says.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return diffRun(cmd.Context(), p, &o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.base, "base", "", "`revision` of git whose "+lockName+" is OLD; "+
		"NEW is the one here unless you name another")
	f.StringVar(&o.failOn, "fail-on", "breaking", "the least `difference` that ends with 1: "+
		"breaking, minor, any or never")
	f.StringVar(&o.reporter, "reporter", "", reporterHelp)
	return c
}

// failOn are the values of --fail-on, and the severities of findings that they stand for.
var failOn = map[string]check.Severity{"breaking": check.Error, "minor": check.Warning,
	"any": check.Info, "never": check.Off}

func diffRun(ctx context.Context, p *Program, o *diffOptions, args []string) error {
	began := time.Now()
	severity, known := failOn[o.failOn]
	if !known {
		return terminal.Usage("invalid value %q for --fail-on: must be one of breaking, minor, "+
			"any, never", text.Line(o.failOn))
	}
	formats, err := formats(p, o.reporter)
	if err != nil {
		return err
	}
	before, now, err := p.sides(ctx, o, args)
	if err != nil {
		return err
	}
	changes, err := check.Diff(before, now)
	if err != nil {
		return terminal.Usage("%w; give lock files, or the TARGET as it is there", err)
	}
	r := &report.Run{Command: "diff", Version: p.Version, Started: began, FailOn: severity,
		Rules: describe(slices.DeleteFunc(check.Rules(),
			func(r check.Rule) bool { return r.ID != "contract-changed" }))}
	for _, s := range []*check.Snapshot{before, now} {
		tools := 0
		for _, page := range s.Pages {
			tools += len(page.Tools)
		}
		r.Sites = append(r.Sites, report.Site{Target: s.Target, Tools: tools})
	}
	for _, c := range changes {
		f := c.Finding()
		f.Where.Target = now.Target
		r.Findings = append(r.Findings, f)
	}
	r.Owed = owed[check.Owed(changes)].part
	r.Notes = append(r.Notes, owed[check.Owed(changes)].note)
	if before.Source == noBase {
		r.Notes = append(r.Notes, before.Target+" is not there, so that every tool is new.")
	}
	return p.finishRun(r, formats)
}

// owed says what a change asks of the next version.
var owed = map[schema.Change]struct{ part, note string }{
	schema.Same: {"none", "Version owed: none, because nothing changed."},
	schema.Patch: {"patch", "Version owed: patch, such as 1.4.2 to 1.4.3. Before 1.0.0 it is the " +
		"same, such as 0.4.2 to 0.4.3."},
	schema.Minor: {"minor", "Version owed: minor, such as 1.4.2 to 1.5.0. Before 1.0.0 semantic " +
		"versioning promises nothing, and 0.4.2 to 0.4.3 is the custom."},
	schema.Major: {"major", "Version owed: major, such as 1.4.2 to 2.0.0. Before 1.0.0 semantic " +
		"versioning promises nothing, and 0.4.2 to 0.5.0 is the custom."},
}

// describe returns rules as reports have them.
func describe(rules []check.Rule) []report.Rule {
	all := make([]report.Rule, len(rules))
	for i, r := range rules {
		all[i] = report.Rule{ID: r.ID, Severity: r.Severity, What: r.What, Why: r.Why}
	}
	return all
}

func (p *Program) sides(ctx context.Context, o *diffOptions,
	args []string) (before, now *check.Snapshot, err error) {
	switch {
	case o.base == "" && len(args) != 2:
		return nil, nil, terminal.Usage("diff needs OLD and NEW, or --base REVISION; see " +
			"pagetools diff --help")
	case o.base != "" && len(args) > 1:
		return nil, nil, terminal.Usage("--base REVISION is OLD, and %q and %q are too many: "+
			"give at most NEW", text.Line(args[0]), text.Line(args[1]))
	case o.base != "":
		if len(args) == 0 {
			args = []string{lockName}
		}
		before, err = lockOf(ctx, o.base)
	default:
		before, err = p.side(ctx, args[0])
	}
	if err != nil {
		return nil, nil, err
	}
	now, err = p.side(ctx, args[len(args)-1])
	return before, now, err
}

// side reads a file, or opens a target.
func (p *Program) side(ctx context.Context, arg string) (*check.Snapshot, error) {
	info, err := os.Stat(arg)
	if err == nil && !info.IsDir() {
		words, err := os.ReadFile(arg)
		if err != nil {
			return nil, terminal.Usage("%s %w", text.Line(arg), config.Problem(err))
		}
		return listOf(arg, words)
	}
	if arg == lockName && err != nil {
		return nil, terminal.Usage("%w", noLock{err})
	}
	return p.open(ctx, arg)
}

func listOf(name string, words []byte) (*check.Snapshot, error) {
	s, err := check.FromFile(words)
	if err != nil {
		return nil, terminal.Usage("%s: %w; give a lock file, what `tools --format json` prints, or a result "+
			"of tools/list", text.Line(name), err)
	}
	s.Target = name
	return s, nil
}

// open returns the tools of a target as a lock file would have them.
func (p *Program) open(ctx context.Context, arg string) (*check.Snapshot, error) {
	pages, err := p.toolsOf(ctx, arg)
	if err != nil {
		return nil, err
	}
	t := pages[0].Target
	page := check.Page{Target: lockKey(t.Text), URL: t.URL, Tools: inOrder(pages[0].tools)}
	return &check.Snapshot{Target: t.Text, Live: true, Pages: []check.Page{page}}, nil
}

// inOrder are tools as the rules read them, by name.
func inOrder(tools map[string]lockedTool) (list []check.Tool) {
	all := lockedOf(tools)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// openedPage is a page that was opened, and its tools; none says why it has none.
type openedPage struct {
	*app.Target
	tools    map[string]lockedTool
	adapters []bridge.Adapter // that it ran
	none     string
}

// toolsOf opens a target, and other pages of its site. A page with an error status is not one to
// write down or compare.
func (p *Program) toolsOf(ctx context.Context, arg string, more ...string) (pages []openedPage, err error) {
	t, err := p.Target(arg)
	if err != nil {
		return nil, err
	}
	targets, err := morePages([]*app.Target{t}, more)
	if err != nil {
		return nil, err
	}
	p.About(t)
	a, err := p.Start(ctx, targets, Opening{Patient: true})
	if err != nil {
		return nil, err
	}
	defer p.End(a)
	for _, t := range targets {
		p.About(t)
		x := openedPage{Target: t, adapters: a.Adapters(t.Name)}
		done := p.Waiting("opening %s, until its tools are there", text.Line(t.Text))
		x.tools, err = lockedTools(ctx, a, t)
		done()
		if err != nil {
			return nil, err
		}
		p.Unmet(a, t)
		for _, f := range a.Findings(t.Name) {
			if f.Rule == bridge.RuleStatus {
				return nil, terminal.Unreachable("%s: %s (%s)",
					text.Line(t.Text), text.Line(f.Message), f.Rule)
			}
		}
		if len(x.tools) == 0 {
			x.none = p.NoTools(a, t)
		}
		pages = append(pages, x)
	}
	return pages, nil
}

// noBase is the source of a lock file that a revision does not have.
const noBase = "nothing"

// lockOf returns the lock file that a revision has in this folder, which need not be the
// repository's root. A revision without the file has no tools.
func lockOf(ctx context.Context, revision string) (*check.Snapshot, error) {
	name := text.Line(revision) + ":" + lockName
	if strings.HasPrefix(revision, "-") || strings.ContainsAny(revision, ":\x00") {
		return nil, terminal.Usage("invalid value %q for --base: must be a revision of git, "+
			"such as origin/main", text.Line(revision))
	}
	show := exec.CommandContext(ctx, "git", "show", revision+":./"+lockName)
	show.Env = append(os.Environ(), "LC_ALL=C")
	var problem bytes.Buffer
	show.Stderr = &problem
	words, err := show.Output()
	said := problem.String()
	switch {
	case err == nil:
		return listOf(name, words)
	case errors.Is(err, exec.ErrNotFound):
		return nil, terminal.Usage("--base needs git, and it is not installed: install it, or " +
			"give OLD and NEW")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case strings.Contains(said, "does not exist in '") || strings.Contains(said, "but not in '"):
		return &check.Snapshot{Target: name, Source: noBase, Pages: []check.Page{}}, nil
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(said), "fatal: "), "\n")
	if line == "" {
		line = fmt.Sprint(err)
	}
	return nil, terminal.Usage("--base: git does not show %s: %s. A clone in CI may lack the revision: "+
		"`git fetch` brings it", name, strings.TrimSuffix(text.Line(line), "."))
}
