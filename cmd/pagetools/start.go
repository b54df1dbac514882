package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/kit"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/egress"
)

// plan says what a command wants beyond the settings: serving, speaking and answering begin one.
type plan struct {
	targets []*target
	args    []string // those of the targets that the command line names
	pages   pages
	// patient commands list the tools for the page's author: they look at its pages for longer.
	patient bool
	// engine is the kind of engine for all of them; "" leaves it to the settings.
	engine string
	// api says how APIs are looked for, where it is not as the settings say.
	api app.API
	// observe gets the calls; nil is nobody.
	observe func(bridge.Observed)
	// remember is true for commands that run tools: what they do is recorded.
	remember bool
	// watched has adapters, and the file of serve, be read again when they change.
	watched bool
	// changes is true where the sites of the file are read again.
	changes bool
	// locked holds what tools must be like; nil means whatever they are.
	locked *kit.Lock
	// start is the place in the operators' page where a person begins; "" is the inbox.
	start string
	// node is this process among those of a cluster; nil is none.
	node    *node
	cluster *app.ClusterOptions // what it is to be
	// files serve a target that is embedded, by name.
	files map[string]fs.FS
}

// pages says what the pages of a command are for.
type pages int

const (
	shared  pages = iota // many callers, each with sessions of their own
	lent                 // one caller, with one page: the catalog page
	single               // one answer: no spare pages, and the catalog page serves the call
	watched              // single, for the test kit: pages note what they do with their tools
	entered              // single, for a person who is going to log in, wherever that leads
)

// alone reports whether the command ends after one answer.
func (p pages) alone() bool { return p >= single }

// serving is the plan of a command that serves many callers.
func serving(targets []*target) plan { return plan{targets: targets, remember: true} }

// speaking is the plan of a command that serves one caller.
func speaking(targets []*target) plan { return plan{targets: targets, pages: lent, remember: true} }

// listing is the plan of a command that lists the tools of pages for their author, and ends.
func listing(targets ...*target) plan { return plan{targets: targets, pages: single, patient: true} }

// answering is the plan of a command that ends after one answer.
func answering(targets ...*target) plan { return plan{targets: targets, pages: single} }

// start opens the sites of a plan. The caller must close the app.
func (p *program) start(ctx context.Context, pl plan) (*app.App, error) {
	return p.startWith(ctx, pl, nil)
}

// startWith is start with options that complete has changed; nil leaves them.
func (p *program) startWith(ctx context.Context, pl plan, complete func(*app.Options),
) (*app.App, error) {
	o, err := options(p, pl)
	if err != nil {
		return nil, err
	}
	p.sayOwn()
	if complete != nil {
		complete(&o)
	}
	if pl.remember {
		o.Bridge.Tracer = p.startTracing(ctx)
		if o.Memory, err = p.openMemory(ctx); err != nil {
			return nil, err
		}
	}
	a, err := app.Start(ctx, o)
	switch {
	case err == nil:
		return a, nil
	case errors.Is(err, chrome.ErrNoBrowser), errors.Is(err, chrome.ErrNoShell):
		browser, _ := chromeOptions(p.conf) // it started with them
		return nil, terminal.Unreachable("%w. %s", err, installAdvice(browser))
	case errors.Is(err, chrome.ErrRoot):
		return nil, terminal.Unreachable("as root the browser needs --no-sandbox; give it only " +
			"when every site is trusted. Run as another user, or give --no-sandbox or " +
			"PAGETOOLS_NO_SANDBOX=1.")
	}
	return nil, terminal.Usage("%w", err)
}

// one opens a single target of the command line, without those of the file.
func (p *program) one(ctx context.Context, arg string, pl plan) (*app.App, *target, error) {
	t, err := p.readTarget(arg)
	if err != nil {
		return nil, nil, err
	}
	p.target, pl.targets = t, []*target{t}
	a, err := p.start(ctx, pl)
	return a, t, err
}

// readTarget reads and names a single target, of which the file may say more.
func (p *program) readTarget(arg string) (*target, error) {
	t, err := parseTarget(arg)
	if err != nil {
		for _, c := range p.conf.Sites {
			if c.Name == arg && arg != "" {
				return nil, terminal.Usage("%s is the name of a site in %s, and TARGET is an "+
					"address or a folder: give %s",
					arg, text.Line(p.conf.File), text.Line(c.Target))
			}
		}
		return nil, err
	}
	if err := nameAll(t); err != nil {
		return nil, err
	}
	for _, c := range p.conf.Sites {
		if c.Target == t.Text || (c.Name != "" && c.Name == t.Name) {
			t.config = c
		}
	}
	return t, nil
}

// await waits until the page of a target is opened, and says so.
func (p *program) await(ctx context.Context, a *app.App, t *target,
	ref bridge.Ref) (*bridge.Catalog, error) {
	defer p.waiting("opening %s, until its tools are there", text.Line(t.Text))()
	catalog, err := a.Router.Await(ctx, ref)
	t.pageless = a.Engine == nil
	if a.APIs != nil && err == nil {
		t.about = a.APIs.Known(t.Name)
	}
	return catalog, err
}

// end closes an app or what it remembers. Records that are lost are said.
func (p *program) end(c io.Closer) {
	if err := c.Close(); err != nil {
		p.say("warning: not everything could be recorded: %v", err)
	}
}

// target is one site as named on the command line or in the file.
type target struct {
	*app.Target
	config config.Site
	named  bool // on the command line

	// about is its API, and pageless says that it has nothing else; both as await found it.
	about    *opentools.About
	pageless bool
	// adapters run in its pages; nil until they were read.
	adapters []*adapter.Adapter
}

// targets reads those of the command line and those of the file.
func (p *program) targets(args []string) ([]*target, error) {
	var out []*target
	for _, c := range p.conf.Sites {
		t := &target{Target: &app.Target{Name: c.Name, Text: c.Target}, config: c}
		if err := t.Read(); err != nil {
			return nil, terminal.Usage("%s:%d: %w", p.conf.File, c.Line, err)
		}
		out = append(out, t)
	}
	for _, a := range args {
		t, err := parseTarget(a)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nameAll(out...)
}

// parseTarget reads [NAME=]TARGET.
func parseTarget(arg string) (*target, error) {
	t, err := app.ParseTarget(arg)
	if err != nil {
		return nil, terminal.Usage("%w", err)
	}
	return &target{Target: t, named: true}, nil
}

// nameAll names every target, each differently.
func nameAll(targets ...*target) error {
	all := make([]*app.Target, len(targets))
	for i, t := range targets {
		all[i] = t.Target
	}
	if err := app.NameAll(all); err != nil {
		return terminal.Usage("%w", err)
	}
	return nil
}

// options describes a plan for the app.
func options(p *program, pl plan) (app.Options, error) {
	c := p.conf
	remote, err := endpoints(c)
	if err != nil {
		return app.Options{}, err
	}
	browser, err := chromeOptions(c)
	if err != nil {
		return app.Options{}, err
	}
	o := app.Options{
		Engine: kindOf(p.conf, pl, nil), Words: optionWords, Log: p.log, Version: ownVersion(), Limits: c.Limits.Bridge(),
		Remote: cdp.RemoteOptions{Endpoints: remote},
		Local:  cdp.LocalOptions{Options: browser, RecycleAfter: c.Limits.RecycleAfter},
		Manager: session.Options{
			MaxSessions: c.MaxSessions, Queue: c.Limits.Queue, Several: len(c.Callers) > 1,
			FirstIdle: c.Limits.FirstIdle, Idle: c.Limits.Idle, MaxAge: c.Limits.MaxAge,
		},
		Bridge: bridge.Options{Rates: c.Rates(), Observe: observers(p, pl)},
	}
	if o.Own, err = ownBrowser(p, pl); err != nil {
		return o, err
	}
	o.Limits.CallTimeout = c.CallTimeout
	if o.Upstream, err = upstream(c); err != nil {
		return o, err
	}
	if o.Egress, err = egressOptions(c, pl.pages != shared); err != nil {
		return o, err
	}
	named := func(t *target) bool { return t.named }
	if c.StorageState != "" && len(pl.targets) > 0 && !slices.ContainsFunc(pl.targets, named) {
		return o, terminal.Usage("--storage-state is for sites of the command line, and there is " +
			"none; a site of the file has default-profile")
	}
	if o.Credentials, err = credentials(p); err != nil {
		return o, err
	}
	o.Changes = pl.changes
	pl.node.configure(&o)
	o.Sites, err = sitesOf(p, pl)
	return o, err
}

// sitesOf describes the sites of a plan for the app.
func sitesOf(p *program, pl plan) (all []app.Site, err error) {
	c := p.conf
	for _, t := range pl.targets {
		s := app.Site{
			Target: t.Target, Engine: kindOf(c, pl, t), Files: pl.files[t.Name],
			Page: pageOptions(c, pl, t), Tools: toolOptions(c, t), API: apiOptions(c, pl, t),
		}
		if err := logins(p, pl, t, &s.Page); err != nil {
			return nil, err
		}
		if s.Page.Tab.Adapters, err = p.adapters(pl, t, &s.Page); err != nil {
			return nil, err
		}
		if pl.locked != nil {
			s.Tools.Locked = pl.locked.Digests(t.Target)
		}
		all = append(all, s)
	}
	return all, p.adaptersFit(pl)
}

// upstream is the operator's own proxy; nil is none.
func upstream(c *config.Config) (*url.URL, error) {
	if c.ProxyServer == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	u, err := egress.ParseUpstream(c.ProxyServer)
	if err != nil {
		return nil, terminal.Usage("--proxy-server: %w", err)
	}
	return u, nil
}

// chromeOptions says which browser is started, and how.
func chromeOptions(c *config.Config) (chrome.Options, error) {
	o := chrome.Options{
		Path: c.ExecutablePath, Kind: chrome.Kind(c.Browser), NoSandbox: c.NoSandbox,
		Headful: !c.Headless, AcceptInsecureCerts: c.AcceptInsecureCerts,
		Width: c.Viewport.Width, Height: c.Viewport.Height,
		Args: c.ChromeArgs, Windows: slices.ContainsFunc(c.Sites, func(s config.Site) bool {
			return windowPolicies[s.Windows] != session.CloseWindows
		}),
	}
	if c.UserDataDir != "" {
		dir, err := filepath.Abs(c.UserDataDir)
		if err != nil {
			return o, terminal.Usage("--user-data-dir: %w", err)
		}
		o.UserDataDir = dir
	}
	return o, nil
}

// windowPolicies names what may become of windows that pages open.
var windowPolicies = map[string]session.Windows{
	"": session.CloseWindows, "close": session.CloseWindows,
	"report": session.ReportWindows, "bridge": session.BridgeWindows,
}

// pageOptions says how the pages of a target are opened.
func pageOptions(c *config.Config, pl plan, t *target) session.SiteOptions {
	s := t.config
	o := session.SiteOptions{
		Shared: c.State == "shared", Warm: c.Warm, Patient: pl.patient,
		Tab:     session.TabOptions{Windows: windowPolicies[s.Windows], Record: pl.pages == watched, Reach: &policy.Reach{Anywhere: pl.pages == entered}},
		WaitFor: waitFor(c, s.WaitFor), ForbidParams: s.ForbidParams,
	}
	for _, origin := range slices.Concat(c.AllowOrigins, s.AllowOrigins) {
		o.Origins = append(o.Origins, string(origin))
	}
	for _, n := range slices.Concat(c.AllowPrivate, s.AllowPrivate) {
		o.Tab.Reach.Private = append(o.Tab.Reach.Private, netip.MustParsePrefix(string(n)))
	}
	if s.State != "" {
		o.Shared = s.State == "shared"
	}
	if s.Warm != nil {
		o.Warm = *s.Warm
	}
	o.Tab.Downloads = cmp.Or(s.Downloads, c.Downloads) == "results" && pl.pages != watched && pl.pages != entered
	if pl.pages != shared {
		o.Shared, o.Lend, o.Warm = pl.pages.alone() || o.Shared, pl.pages == lent, 0
	}
	if pl.pages == entered && o.Tab.Windows == session.CloseWindows {
		o.Tab.Windows = session.ReportWindows
	}
	return o
}

// waitFor returns what the file says of the site, or of all sites.
func waitFor(c *config.Config, of config.WaitFor) session.WaitFor {
	if of != (config.WaitFor{}) {
		w := session.WaitFor{Quiet: of.Idle.Quiet,
			Await: session.Await{Selector: of.Selector, Idle: of.Idle.On}}
		if of.Tool != "" {
			w.Tools = []string{of.Tool}
		}
		return w
	}
	tools, selectors, idle := c.Waits()
	await := session.Await{Selector: strings.Join(selectors, ""), Idle: idle}
	return session.WaitFor{Tools: tools, Await: await}
}

// toolOptions combines the settings and the file: an approval or a rate that the
// file has for the site counts unless the flag or the environment says otherwise.
func toolOptions(c *config.Config, t *target) bridge.SiteOptions {
	s := t.config
	o := bridge.SiteOptions{
		Approval: policy.Operator{Mode: c.Approval, Tools: s.Approval.Tools}, Params: s.Params,
		Rate: c.Rate, Rates: s.Rates, CallTimeout: c.CallTimeout,
		StrictOutput: s.StrictOutput, Results: c.Results.Policy(),
	}
	if s.Results.Line != 0 {
		o.Results = s.Results.Policy()
	}
	for _, key := range s.AllowConfig {
		o.AllowConfig = append(o.AllowConfig, string(key))
	}
	if s.Rate != (policy.Rate{}) && !c.Insisted("rate") {
		o.Rate = s.Rate
	}
	if s.Approval.Mode != "" && !c.Insisted("approval") {
		o.Approval.Mode = s.Approval.Mode
	}
	return o
}

// credentials opens those of APIs that the data folder has. Nobody is logged in where there is
// none.
func credentials(p *program) (*oauth.Store, error) {
	dir, err := dataFolder(p.conf)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		dir = ""
	}
	s, err := oauth.OpenStore(dir)
	if err != nil {
		return nil, terminal.Usage("%w; name another folder with --data-dir", err)
	}
	return s, nil
}

// apiOptions says how the API of a target is used. The test kit and logins are about pages.
func apiOptions(c *config.Config, pl plan, t *target) app.API {
	mode, expose := c.OpenTools, c.Expose
	if t.config.OpenTools != "" && !c.Insisted("opentools") {
		mode = t.config.OpenTools
	}
	if t.config.Expose != "" && !c.Insisted("expose") {
		expose = t.config.Expose
	}
	if pl.pages == watched || pl.pages == entered {
		return app.API{}
	}
	o := pl.api
	o.Mode = cmp.Or(o.Mode, app.Mode(mode))
	o.Expose = opentools.Expose(strings.TrimPrefix(expose, "marked"))
	return o
}

// kindOf is the kind of engine of a target: what the file says of it, unless the
// command, the flag or the environment says otherwise. Without a target it returns the settings of
// sites of which nothing is said.
func kindOf(c *config.Config, pl plan, t *target) string {
	switch {
	case pl.engine != "":
		return pl.engine
	case t != nil && t.config.Engine != "" && !c.Insisted("engine"):
		return t.config.Engine
	}
	return c.Engine
}

// say prints one line for a person on stderr, unless they want quiet.
func (p *program) say(format string, args ...any) {
	if !p.conf.Quiet {
		line := fmt.Sprintf(format, args...)
		if rest, warns := strings.CutPrefix(line, "warning: "); warns {
			line = terminal.ColorsOf(p.stderr).Warn("warning:") + " " + rest
		}
		fmt.Fprintf(p.stderr, "pagetools: %s\n", line)
	}
}

func (p *program) sayAll(lines []string) {
	for _, line := range lines {
		p.say("%s", line)
	}
}

// waiting tells a person at the terminal what takes so long, until done is called.
func (p *program) waiting(format string, args ...any) (done func()) {
	_, done = p.following(format, args...)
	return done
}

// following is waiting, and shows at once what say is called with.
func (p *program) following(format string, args ...any) (say func(string), done func()) {
	if p.conf.Quiet {
		return func(string) {}, func() {}
	}
	return p.stderr.Follow("pagetools: " + fmt.Sprintf(format, args...))
}

// observers returns who gets the calls of all callers; nil is nobody.
func observers(p *program, pl plan) func(bridge.Observed) {
	keeps := p.conf.ConsolePayloads == "all"
	switch {
	case !keeps:
		return pl.observe
	case pl.observe == nil:
		return p.records.Observe
	}
	return func(o bridge.Observed) {
		pl.observe(o)
		p.records.Observe(o)
	}
}
