package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/e2e/report"
)

type checkOptions struct {
	failOn, reporter, baseline, from, explain string
	rules, hosts, hostFiles, pages, clients   []string
	smoke                                     string
	update, effects                           bool
}

// The tools that --smoke calls.
const (
	smokeReadOnly = "read-only"
	smokeAll      = "all"
)

// allNames stands for all hosts, or all clients.
const allNames = "all"

const hostFileHelp = "`file` that describes another host, or changes one; can be repeated"

func checkCommand(p *Program) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check TARGET...",
		Short: "Judge the tools that pages and APIs declare",
		Long: "Opens the pages, and holds what they declare against rules: names, descriptions, schemas, " +
			"annotations,\ntexts that attack a model, frames, forms, and what the page does with its list. " +
			"A TARGET that is a document of OpenAPI (a file, or an address such as https://shop.example/openapi.json) is judged by its " +
			"x-llm, without a browser.\nIt calls tools only with --smoke, with arguments made from their schemas, each in a fresh page.\n`check --explain RULE` says what a rule finds and why that matters.\n" +
			"Ends with 1 when there are findings as severe as --fail-on says, and with 4 when a page does " +
			"not open.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.explain != "" {
				return explainRule(p.Stdout, o.explain)
			}
			k, err := newChecker(p, &o)
			if err != nil {
				return err
			}
			return k.run(cmd.Context(), args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.failOn, "fail-on", string(check.Error), "`severity` from which on findings end with 1: error, warning, info or never")
	f.StringArrayVar(&o.rules, "rule", nil, "`ID=SEVERITY`, where SEVERITY is off, info, warning or error; can be repeated")
	f.StringArrayVar(&o.pages, "page", nil, pageHelp)
	f.StringSliceVar(&o.hosts, "host", nil, "`names` of hosts, or all: what each makes of the tools")
	f.StringArrayVar(&o.hostFiles, "host-file", nil, hostFileHelp)
	f.StringSliceVar(&o.clients, "client", nil, ClientHelp)
	f.StringVar(&o.baseline, "baseline", "", "`file` with known findings, which do not count")
	f.BoolVar(&o.update, "update", false, "write the findings into the --baseline")
	f.StringVar(&o.smoke, "smoke", "", "also call the `tools`: read-only (those that declare readOnlyHint; the default) or all; questions of the page are declined")
	f.Lookup("smoke").NoOptDefVal = smokeReadOnly
	f.BoolVar(&o.effects, "effects", false, "with --smoke: look at what each call touches: network, storage, navigation, windows, downloads")
	f.StringVar(&o.from, "from", "", "`file` with a list of tools to judge without a browser: of `tools --format json`, of `lock`, or of tools/list")
	f.StringVar(&o.explain, "explain", "", "say what a `rule` finds, and why that matters")
	f.StringVar(&o.reporter, "reporter", "", reporterHelp)
	return c
}

func explainRule(w io.Writer, id string) error {
	text, err := check.Explain(id)
	if err != nil {
		return terminal.Usage("--explain: %w", err)
	}
	_, err = io.WriteString(w, text)
	return err
}

type checker struct {
	p       *Program
	o       *checkOptions
	judge   check.Options
	notes   []string
	hosts   []hosts.Host
	clients []hosts.Client
	sites   map[string]bridge.Site // by the address of a page
	known   *check.Baseline
	formats []report.Format
	begun   time.Time
}

// newChecker reads the flags before a browser starts.
func newChecker(p *Program, o *checkOptions) (*checker, error) {
	k := &checker{p: p, o: o, begun: time.Now(), known: &check.Baseline{}, sites: map[string]bridge.Site{}}
	if o.failOn == "never" {
		o.failOn = string(check.Off)
	} else if err := severity("--fail-on", o.failOn, "never"); err != nil {
		return nil, err
	}
	if err := o.checkSmoke(); err != nil {
		return nil, err
	}
	k.judge.Words, k.judge.Rules = k.p.Words, map[string]check.Setting{}
	for _, words := range o.rules {
		id, level, ok := strings.Cut(words, "=")
		if !ok {
			return nil, terminal.Usage("invalid value %q for --rule: write ID=SEVERITY, such as "+
				"tool-title-missing=off", text.Line(words))
		}
		if err := severity("--rule", level, string(check.Off)); err != nil {
			return nil, err
		}
		k.judge.Rules[id] = check.Setting{Severity: check.Severity(level)}
	}
	if _, err := check.Judge(&check.Snapshot{}, k.judge); err != nil {
		return nil, terminal.Usage("--rule: %w", err)
	}
	var err error
	if k.formats, err = formats(p, o.reporter); err != nil {
		return nil, err
	}
	if err := k.readHosts(); err != nil {
		return nil, err
	}
	if k.clients, err = readClients(o.clients); err != nil {
		return nil, err
	}
	err = k.readBaseline()
	return k, err
}

func (o *checkOptions) checkSmoke() error {
	switch {
	case !slices.Contains([]string{"", smokeReadOnly, smokeAll}, o.smoke):
		return terminal.Usage("invalid value %q for --smoke: must be %s or %s, as in --smoke=all",
			text.Line(o.smoke), smokeReadOnly, smokeAll)
	case o.effects && o.smoke == "":
		return terminal.Usage("--effects looks at calls: give --smoke or --smoke=all, too")
	case o.smoke != "" && o.from != "":
		return terminal.Usage("--smoke calls tools in a page, and --from judges a file: give one " +
			"of them")
	}
	return nil
}

func severity(flag, value, other string) error {
	known := []string{string(check.Error), string(check.Warning), string(check.Info), other}
	if slices.Contains(known, value) {
		return nil
	}
	return terminal.Usage("invalid value %q for %s: must be one of %s",
		text.Line(value), flag, strings.Join(known, ", "))
}

// knownHosts are the hosts that are known, with those of the files.
func knownHosts(names []string) (hosts.Set, error) {
	var described []hosts.File
	for _, name := range names {
		words, err := os.ReadFile(name)
		if err != nil {
			return hosts.Set{}, terminal.Usage("--host-file: %s %w",
				text.Line(name), config.Problem(err))
		}
		described = append(described, hosts.File{Name: name, Text: words})
	}
	set, err := hosts.Load(described...)
	if err != nil {
		return hosts.Set{}, terminal.Usage("--host-file: %w", err)
	}
	return set, nil
}

func (k *checker) readHosts() error {
	set, err := knownHosts(k.o.hostFiles)
	if err != nil {
		return err
	}
	for _, name := range k.o.hosts {
		if name == allNames {
			k.hosts = set.All()
			break
		}
		h, err := set.Get(name)
		if err != nil {
			return terminal.Usage("--host: %w, or %s", err, allNames)
		}
		k.hosts = append(k.hosts, h)
	}
	return nil
}

func (k *checker) readBaseline() error {
	if k.o.baseline == "" {
		if k.o.update {
			return terminal.Usage("--update needs --baseline FILE")
		}
		return nil
	}
	words, err := os.ReadFile(k.o.baseline)
	switch {
	case errors.Is(err, fs.ErrNotExist) && k.o.update:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return terminal.Usage("--baseline: %s %w; --update writes it",
			text.Line(k.o.baseline), config.Problem(err))
	case err != nil:
		return terminal.Usage("--baseline: %s %w; give a file that --update wrote",
			text.Line(k.o.baseline), config.Problem(err))
	}
	if k.known, err = check.ReadBaseline(words, k.p.Words); err != nil {
		return terminal.Usage("--baseline: %s: %w", text.Line(k.o.baseline), err)
	}
	return nil
}

func (k *checker) run(ctx context.Context, args []string) error {
	snapshots, err := k.look(ctx, args)
	if err != nil {
		return err
	}
	r := &report.Run{Command: "check", Version: k.p.Version, Started: k.begun, FailOn: check.Severity(k.o.failOn),
		Rules: describe(check.Rules())}
	var tables []string
	var found []check.Finding
	for _, s := range snapshots {
		var off []check.Finding
		if len(s.Adapters) > 0 && len(s.Pages) == 0 {
			r.Sites = append(r.Sites, report.Site{Target: s.Target})
		}
		if s.API != nil && len(s.Pages) == 0 {
			r.Sites = append(r.Sites, report.Site{Target: s.Target, URL: s.API.URL})
		}
		for _, page := range s.Pages {
			r.Sites = append(r.Sites, report.Site{Target: s.Target, URL: page.URL, Tools: len(page.Tools)})
			if len(k.hosts) > 0 {
				table := hosts.Matrix(page.Tools, hosts.Facts(page), k.hosts)
				tables, off = append(tables, table.Text()), append(off, table.Findings()...)
			}
			if len(k.clients) > 0 {
				more, shown, err := k.onClients(&page)
				if err != nil {
					return err
				}
				tables, off = append(tables, shown), append(off, more...)
			}
		}
		judge := k.judge
		judge.Hosts = func(*check.Snapshot) []check.Finding { return off }
		all, err := check.Judge(s, judge)
		if err != nil {
			return err // the settings were tried before
		}
		found = append(found, all...)
	}
	r.Notes = append(r.Notes, k.notes...)
	if err := k.compare(r, found); err != nil {
		return err
	}
	if k.hasList() {
		for _, t := range tables {
			fmt.Fprintln(k.p.Stdout, t)
		}
	}
	return k.p.finishRun(r, k.formats)
}

func (k *checker) hasList() bool {
	return slices.ContainsFunc(k.formats, func(f report.Format) bool { return f.Name == "list" })
}

// compare takes the known findings out, or writes all of them down.
func (k *checker) compare(r *report.Run, found []check.Finding) error {
	fresh, known, gone := k.known.Apply(found)
	r.Findings = fresh
	if k.o.update {
		r.Findings = nil
		if err := files.Write(k.o.baseline, check.NewBaseline(found).JSON(), 0o644); err != nil {
			return terminal.Usage("--baseline: %w", err)
		}
		r.Notes = append(r.Notes, fmt.Sprintf("%s are in %s now; %s left it.", text.Count(len(found), "finding"), k.o.baseline, text.Count(len(gone), "finding")))
		return nil
	}
	if len(known) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of %s do not count.", text.Count(len(known), "finding"), k.o.baseline))
	}
	if len(gone) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of %s do not occur any more: --update drops them.", text.Count(len(gone), "finding"), k.o.baseline))
	}
	return nil
}

func (p *Program) finishRun(r *report.Run, formats []report.Format) error {
	r.Took = time.Since(r.Started)
	return p.report(p.reporter(formats), r)
}

// lists says what --from takes.
const lists = "what `tools --format json` prints, pagetools.lock, an array of tools, or a result of tools/list"

// look returns what there is to judge: a file, or pages. Pages of one origin are one snapshot.
func (k *checker) look(ctx context.Context, args []string) ([]*check.Snapshot, error) {
	if k.o.from != "" {
		if len(args) > 0 {
			return nil, terminal.Usage("--from judges a file, and %q is a TARGET: give one of them",
				text.Line(args[0]))
		}
		words, err := os.ReadFile(k.o.from)
		if err != nil {
			return nil, terminal.Usage("--from: %s %w; give a file with %s", text.Line(k.o.from), config.Problem(err), lists)
		}
		s, err := check.FromFile(words)
		if err != nil {
			return nil, terminal.Usage("--from: %s: %w; give %s", text.Line(k.o.from), err, lists)
		}
		s.Target = cmp.Or(s.Target, k.o.from)
		return []*check.Snapshot{s}, nil
	}
	documents, args, err := k.documents(ctx, args)
	if err != nil {
		return nil, err
	}
	if len(documents) > 0 && len(args) == 0 {
		return documents, nil
	}
	targets, err := k.p.Targets(args)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 && len(k.p.Config().Adapters) > 0 {
		return k.scripts(ctx)
	}
	if len(targets) == 0 {
		return nil, terminal.Usage("check needs a TARGET, --from FILE, or sites in the " +
			"configuration file; see pagetools check --help")
	}
	if targets, err = morePages(targets, k.o.pages); err != nil {
		return nil, err
	}
	k.p.About(targets[0])
	a, err := k.p.Start(ctx, targets, Opening{Watched: true, Patient: true})
	if err != nil {
		return nil, err
	}
	defer k.p.End(a)
	pages, err := k.pages(ctx, a, targets)
	return append(documents, pages...), err
}

func (k *checker) pages(ctx context.Context, a *app.App, targets []*app.Target) ([]*check.Snapshot, error) {
	locked, err := ReadLock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []*check.Snapshot
	byOrigin := map[string]*check.Snapshot{}
	sites := map[*check.Snapshot][]*app.Target{}
	for _, t := range targets {
		k.p.About(t)
		page, err := k.page(ctx, a, t)
		if err != nil {
			return nil, err
		}
		s := byOrigin[t.Origin]
		if s == nil {
			s = &check.Snapshot{Target: t.Text, Live: true}
			for _, x := range a.Manager.Scripts(t.Name).All() {
				s.Adapters = append(s.Adapters, scriptOf(x, t.Origin))
			}
			byOrigin[t.Origin], all = s, append(all, s)
		}
		s.Pages, sites[s] = append(s.Pages, page), append(sites[s], t)
		for _, site := range a.Router.Sites() {
			if site.Name == t.Name {
				k.sites[page.URL] = site
			}
		}
		if k.o.smoke != "" {
			calls, err := k.callTools(ctx, a, t, page.URL)
			if err != nil {
				return nil, err
			}
			s.Calls = append(s.Calls, calls...)
		}
		if locked != nil {
			if tools, there := locked.entry(t); there {
				if s.Locked == nil {
					s.Locked = map[string]check.Tool{}
				}
				maps.Copy(s.Locked, lockedOf(tools))
			}
		}
	}
	for _, s := range all {
		if words := k.p.unnamed(ctx, sites[s]); words != "" {
			k.notes = append(k.notes, words)
		}
	}
	return all, nil
}

func (k *checker) page(ctx context.Context, a *app.App, t *app.Target) (check.Page, error) {
	defer k.p.Waiting("opening %s, until its tools are there", text.Line(t.Text))()
	return effects.Look(ctx, a, t.Name)
}

func (k *checker) callTools(ctx context.Context, a *app.App, t *app.Target, url string) ([]check.Call, error) {
	defer k.p.Waiting("calling the tools of %s", text.Line(t.Text))()
	calls, err := effects.Smoke(ctx, a, t.Name, effects.SmokeOptions{All: k.o.smoke == smokeAll, Effects: k.o.effects,
		Note: func(words string) { k.notes = append(k.notes, words) }})
	for i := range calls {
		calls[i].Page = url
	}
	return calls, err
}

// lockedOf are the tools of the lock file as the rules read them.
func lockedOf(tools map[string]lockedTool) map[string]check.Tool {
	all := map[string]check.Tool{}
	for name, t := range tools {
		all[name] = check.Tool{Name: name, Title: t.Title, Description: t.Description, Input: t.InputSchema,
			Output: t.OutputSchema, Annotations: t.Annotations, Origin: t.Origin, Frame: t.Frame, Adapter: t.Adapter}
	}
	return all
}
