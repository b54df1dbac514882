package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/pageconfig"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp"
)

// Stand is the site of a file, opened, and served as agents find it. Programs that run cases one by
// one, or that have none, such as tests in Go, hold one. It is safe for concurrent use.
type Stand struct {
	runner *runner
	file   *scenario.File
	app    *app.App
	site   string // the name of it
	page   string // what config changes about its pages, as JSON; "" is nothing
	base   string // where it is served
	origin string // of its pages
	folder bool   // whether it is files that we serve

	callTime time.Duration // at most, of a call
	ends     []func() error

	network *recording // nil: the page's own
	guests  guests
	tools   tally
}

func (r *runner) open(ctx context.Context, f *scenario.File) (*Stand, error) {
	on := &Stand{runner: r, file: f, guests: guests{callers: map[string]transport.Credential{}},
		tools: tally{declared: map[string]bool{}, called: map[string]bool{}}}
	if err := on.open(ctx); err != nil {
		on.Close()
		return nil, err
	}
	return on, nil
}

func (on *Stand) problem(at scenario.Position, format string, args ...any) error {
	return &scenario.Problems{List: []scenario.Problem{problem(on.file, at, format, args...)}}
}

func (on *Stand) open(ctx context.Context) error {
	site, folder, err := on.where()
	if err != nil {
		return err
	}
	t := &app.Target{Name: "site", Text: cmp.Or(folder, site.URL)}
	if folder != "" {
		t.Folder, t.Path = folder, site.URL
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return on.problem(site.Position, "invalid value %s for dir: it is not a folder; it is "+
				"relative to the file", scenario.Quoted(site.Dir))
		}
	} else if err := t.Read(); err != nil {
		return on.problem(site.Position, "invalid value for url: %s", err.Error())
	}
	login, err := on.config(site, t.Origin)
	if err != nil {
		return err
	}
	adapters, err := on.adapters(site)
	if err != nil {
		return err
	}
	if err := on.load(site.Network); err != nil {
		return err
	}
	if site.Serve != "" && !on.network.replays() {
		if on.runner.o.Starts != nil {
			on.runner.o.Starts(site.Serve)
		}
		end, err := app.StartCommand(ctx, site.Serve, site.URL)
		if err != nil {
			return &NotOpened{site.URL, err}
		}
		on.ends = append(on.ends, end)
	}
	on.site = t.Name
	on.app, err = on.runner.o.Open(ctx, t, func(o *app.Options) {
		s := &o.Sites[0]
		on.runner.underHost(o)
		on.callTime = o.Limits.WithDefaults().CallTimeout
		s.Page.Shared, s.Page.Warm, s.Page.Tab.Record = false, 0, true
		s.Page.Tab.Trace = on.runner.o.Trace != ""
		s.Page.Network = on.between(t)
		s.Page.Tab.Adapters = adapter.Beside(s.Page.Tab.Adapters, adapters)
		if login != nil {
			s.Page.Login = login
		}
		if limit := on.questionTime(); limit > 0 {
			o.Limits.Question = limit
		}
	})
	if err != nil {
		return err
	}
	on.ends = append(on.ends, on.app.Close)
	on.origin, on.folder = t.Origin, folder != ""
	if err := on.serve(ctx); err != nil {
		return err
	}
	return on.look(ctx, cmp.Or(folder, site.URL), t)
}

func (on *Stand) look(ctx context.Context, name string, t *app.Target) error {
	c, err := on.app.Manager.Await(ctx, bridge.Ref{Site: on.site, Caller: operator()})
	if err != nil {
		return &NotOpened{name, on.unplayed(err)}
	}
	for _, tool := range c.Tools() {
		on.tools.saw(tool.Name())
	}
	url, _, _ := on.app.Manager.Page(on.site)
	on.runner.run.Sites = append(on.runner.run.Sites, report.Site{Target: name, URL: cmp.Or(url, t.URL),
		Tools: len(c.Tools())})
	return nil
}

// where is the site to open, and the folder of it, if it is one.
func (on *Stand) where() (site scenario.Site, folder string, err error) {
	site = on.file.Site
	from := filepath.Dir(on.file.Name)
	if over := on.runner.o.Site; over.Dir != "" || over.URL != "" {
		site, from = over, "."
		site.Config, site.Network = on.file.Site.Config, on.file.Site.Network
		site.Position = on.file.Site.Position
	}
	site.Adapter = adaptersOf(on.file, on.runner.o.Site)
	if site.Dir == "" && site.URL == "" {
		return site, "", on.problem(scenario.Position{Line: 1, Column: 1},
			"site is missing: %s", on.runner.o.Words.Of("name the app"))
	}
	scope := &scenario.Scope{Env: on.runner.o.Env}
	for _, text := range []*string{&site.Dir, &site.URL, &site.Serve} {
		if *text, err = scope.Text(*text); err != nil {
			return site, "", on.problem(site.Position, "site: %s", err.Error())
		}
	}
	if site.Dir != "" {
		folder = under(from, site.Dir)
	}
	return site, folder, nil
}

// adaptersOf names the adapters of a file, and those of the site that takes its place.
func adaptersOf(f *scenario.File, over scenario.Site) (all []string) {
	for _, name := range f.Site.Adapter {
		if !strings.HasPrefix(name, adapter.Builtin) {
			name = beside(f, name)
		}
		all = append(all, name)
	}
	return append(all, over.Adapter...)
}

// adapters reads those of the site.
func (on *Stand) adapters(site scenario.Site) (all []*adapter.Adapter, err error) {
	for _, name := range site.Adapter {
		a, err := adapter.Read(name)
		if err != nil {
			return nil, on.problem(site.Position, "invalid value for adapter: %s", err.Error())
		}
		all = append(all, a)
	}
	if err := adapter.Check(all); err != nil {
		return nil, on.problem(site.Position, "invalid value for adapter: %s", err.Error())
	}
	return all, nil
}

// config reads what is changed about the pages: what calls can change, and a stored login.
func (on *Stand) config(site scenario.Site, origin string) (*pageconfig.Stored, error) {
	if !site.Config.Exists() {
		return nil, nil //nolint:nilnil // no login is a login
	}
	wrong := func(err error) error {
		return on.problem(site.Config.Position(), "invalid value for config: %s", err.Error())
	}
	value, err := (&scenario.Scope{Env: on.runner.o.Env}).Expand(site.Config)
	if err != nil {
		return nil, wrong(err)
	}
	text, err := value.JSON()
	if err != nil {
		return nil, wrong(err)
	}
	all := scenario.ReadAgain(text)
	name := all.Get("storageState").String()
	rest, err := all.Edit(func(key string) bool { return key == "storageState" })
	if err != nil {
		return nil, wrong(err)
	}
	if rest.Len() > 0 {
		on.page = string(rest.Text())
		if _, err := pageconfig.Parse(on.page); err != nil {
			return nil, wrong(errors.New("a setting has a value of the wrong type"))
		}
	}
	if name == "" {
		return nil, nil //nolint:nilnil // no login is a login
	}
	state, err := os.ReadFile(beside(on.file, name))
	if err != nil {
		return nil, wrong(fmt.Errorf("storageState: %w", err))
	}
	if origin == "" {
		return nil, wrong(errors.New("storageState needs url: the address of a folder is another one each time"))
	}
	stored, err := pageconfig.ParseStored(state, origin)
	if err != nil {
		return nil, wrong(fmt.Errorf("storageState: %w", err))
	}
	return stored, nil
}

// credential is a caller with a token that nobody can guess.
func credential(name string, may ...bridge.Right) transport.Credential {
	return transport.Credential{Caller: bridge.Caller{Name: name, May: may}, Token: rand.Text()}
}

// questionTime returns how long questions stay open where people do not answer, or too late; 0
// leaves them their usual time.
func (on *Stand) questionTime() time.Duration {
	var longest time.Duration
	anySilent := false
	for _, c := range on.file.Cases {
		for i := range c.Human {
			a := &c.Human[i].Answer
			longest, anySilent = max(longest, a.After), anySilent || silent(a)
		}
	}
	if !anySilent {
		return 0
	}
	return 2*longest + 2*time.Second
}

// serve serves the site on a port of its own, to callers with a credential.
func (on *Stand) serve(ctx context.Context) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving the tools: %w", err)
	}
	done := make(chan struct{})
	face, err := mcp.New(on.app.Bridge, mcp.Options{Version: on.runner.o.Version, Tools: "direct",
		Schemas: "faithful", Done: done})
	if err != nil {
		_ = l.Close()
		return err
	}
	on.app.Keep(l.Addr().String())
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second,
		Handler: transport.Guard(on.app.Mux(face, done), transport.Options{
			Listen: l.Addr().String(), Credentials: &on.guests.credentials,
			Callers:      []transport.Credential{credential("nobody", bridge.MayCall)},
			JSONRPCUnder: []string{"/mcp"}, MaxBodyUnder: transport.BodiesWithFiles(),
		})}
	on.base = "http://" + l.Addr().String()
	go func() { _ = server.Serve(l) }() // ends with Close
	on.ends = append(on.ends, func() error {
		close(done)
		return server.Close()
	})
	return nil
}

// Close ends all that Open began, the last one first.
func (on *Stand) Close() {
	for i := len(on.ends) - 1; i >= 0; i-- {
		_ = on.ends[i]() // its callers are gone
	}
}

// operator returns a caller that may answer all questions.
func operator() bridge.Caller {
	return bridge.Caller{Name: "operator", May: []bridge.Right{bridge.MayAnswer}}
}

// guests are the callers of attempts. Only they, and those who operate, reach the site.
type guests struct {
	credentials transport.Credentials

	admitting sync.Mutex
	callers   map[string]transport.Credential // by name
	number    int
}

// change changes the callers, and who may call.
func (g *guests) change(callers func()) {
	g.admitting.Lock()
	defer g.admitting.Unlock()
	callers()
	g.credentials.Replace(slices.Collect(maps.Values(g.callers)))
}

// admit makes a caller of its own for one attempt, with a credential. leave ends what the caller
// leaves behind.
func (on *Stand) admit(may ...bridge.Right) (c transport.Credential, leave func()) {
	g, over := &on.guests, make(chan struct{})
	g.change(func() {
		g.number++
		c = credential(fmt.Sprintf("test-%d", g.number), may...)
		c.Revoked = over // of the session; calls over HTTP have the listener's own
		g.callers[c.Name] = c
	})
	return c, func() {
		close(over)
		g.change(func() { delete(g.callers, c.Name) })
		on.app.Bridge.Revoke()
		on.app.Manager.Revoke()
	}
}

// tally counts the tools of a site that its cases meet, and collects what they came to.
type tally struct {
	counting sync.Mutex
	declared map[string]bool // the tools that were seen
	called   map[string]bool
	changes  []scenario.Change // values that are accepted
}

// saw notes that tools were there, and ran that one was called.
func (n *tally) saw(names ...string) {
	n.counting.Lock()
	defer n.counting.Unlock()
	for _, name := range names {
		n.declared[name] = true
	}
}

func (n *tally) ran(tool string) {
	n.counting.Lock()
	defer n.counting.Unlock()
	n.called[tool] = true
}

func (n *tally) changed(want scenario.Value, actual []byte, secrets *schema.Concealer) {
	n.counting.Lock()
	defer n.counting.Unlock()
	n.changes = append(n.changes, scenario.Change{Expected: want, Actual: actual, Secrets: secrets})
}

// accept hands over the changes after which the cases pass.
func (on *Stand) accept() error {
	if on.runner.o.Accept == nil || len(on.tools.changes) == 0 {
		return nil
	}
	return on.runner.o.Accept(on.file, on.tools.changes)
}

// DependsOn lists the files that a run of the file reads and writes, reports and traces apart, and
// the folder that it serves; "" is none. Of o it uses Site and Env. It leaves out what it cannot
// read.
func DependsOn(f *scenario.File, o Options) (reads, writes []string, folder string) {
	on := &Stand{runner: &runner{o: o}, file: f}
	_, folder, _ = on.where() // Files says what is wrong with it
	reads = []string{f.Name}
	add := func(to *[]string, name string) {
		if name != "" {
			*to = append(*to, beside(f, name))
		}
	}
	add(&reads, f.Lock)
	reads = append(reads, adaptersOf(f, o.Site)...)
	if n := f.Site.Network; n != nil {
		add(&reads, n.Replay)
		add(&writes, n.Record)
	}
	return reads, writes, folder
}

// beside is the path of a file that a file of scenarios names.
func beside(f *scenario.File, name string) string { return under(filepath.Dir(f.Name), name) }

// under is a path that is relative to a folder, unless it is absolute.
func under(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}
