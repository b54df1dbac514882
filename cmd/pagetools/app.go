package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/transport"
)

// app is everything that a command needs, wired.
type app struct {
	engine  *cdp.Engine            // of the first site
	kind    string                 // of that engine
	engines map[string]*cdp.Engine // by kind, as the sites need them
	manager *session.Manager
	bridge  *bridge.Bridge
	metrics *transport.Metrics
	memory  *store.Store // nil for commands that run nothing
	forget  func()       // closes it
	stops   []func()     // of folder servers
}

// plan is what a command wants beyond the settings.
type plan struct {
	targets []*target
	// single is true for commands that end after one answer: no spare pages, and
	// the catalogue page serves the call.
	single bool
	// ask is true when the person at the terminal answers questions.
	ask bool
	// login is true when a person is going to log in: the site opens without the
	// profile of the file, and windows that it opens stay.
	login bool
	// engine is the kind of engine for all of them; "" leaves it to the settings.
	engine string
	// remember is true for commands that run tools: what they do is recorded.
	remember bool
	// locked is what tools must be like; nil means whatever they are.
	locked *lockFile
	// files serve a target that is embedded, by name.
	files map[string]fs.FS
}

// start opens the sites. The caller must close the app.
func (p *program) start(ctx context.Context, pl plan) (*app, error) {
	a := &app{engines: map[string]*cdp.Engine{}}
	var err error
	a.kind = p.set.engine
	if len(pl.targets) > 0 {
		a.kind = p.kindOf(pl, pl.targets[0])
	}
	if a.engine, err = p.engineOf(a, a.kind); err != nil {
		return nil, err
	}
	if pl.remember {
		if a.memory, err = p.openMemory(ctx); err != nil {
			a.close()
			return nil, err
		}
		a.forget = func() { p.closeMemory(a.memory) }
	}
	if err := p.serveFolders(ctx, a, pl); err != nil {
		a.close()
		return nil, err
	}
	sites, options, err := p.sites(a, pl)
	if err != nil {
		a.close()
		return nil, err
	}
	limits := p.file.limits.bridge
	limits.CallTimeout = p.set.callTimeout
	a.manager = session.New(session.Options{
		Engine: a.engine, Sites: sites, MaxSessions: p.set.maxSessions, Queue: p.file.limits.queue, Limits: limits, Log: p.log,
		FirstIdle: p.file.limits.firstIdle, Idle: p.file.limits.idle, MaxAge: p.file.limits.maxAge,
	})
	a.metrics = transport.NewMetrics(a.manager.Sites(), a.load)
	memory := remembered(a.memory)
	memory.Calls = a.metrics.Counting(memory.Calls)
	a.bridge, err = bridge.New(a.manager, bridge.Options{Sites: options, Rates: p.file.rates(), Limits: limits, Memory: memory, Log: p.log})
	if err != nil {
		a.close()
		return nil, usage("%w", err)
	}
	return a, nil
}

// sites describes the targets, for the manager and for the bridge.
func (p *program) sites(a *app, pl plan) ([]session.SiteOptions, map[string]bridge.SiteOptions, error) {
	if p.set.storageState != "" && len(pl.targets) > 0 && !slices.ContainsFunc(pl.targets, func(t *target) bool { return t.named }) {
		return nil, nil, usage("--storage-state is for sites of the command line, and there is none; a site of the file has default-profile")
	}
	sites := make([]session.SiteOptions, len(pl.targets))
	options := map[string]bridge.SiteOptions{}
	for i, t := range pl.targets {
		sites[i] = p.sessionOptions(t, pl.single)
		if pl.login && sites[i].Tab.Windows == session.CloseWindows {
			sites[i].Tab.Windows = session.ReportWindows
		}
		if err := p.logins(pl, t, &sites[i]); err != nil {
			return nil, nil, err
		}
		var err error
		if sites[i].Engine, err = p.engineOf(a, p.kindOf(pl, t)); err != nil {
			return nil, nil, err
		}
		o := p.bridgeOptions(t)
		if pl.locked != nil {
			o.Locked = pl.locked.actions(t.name)
		}
		options[t.name] = o
	}
	return sites, options, nil
}

// close ends everything that start began.
func (a *app) close() {
	if a.bridge != nil {
		a.bridge.Close()
	}
	if a.manager != nil {
		_ = a.manager.Close()
	} else {
		for _, e := range a.engines {
			_ = e.Close()
		}
	}
	for _, stop := range a.stops {
		stop()
	}
	if a.forget != nil { // last: what ends above is recorded
		a.forget()
	}
}

func (p *program) serveFolders(ctx context.Context, a *app, pl plan) error {
	for _, t := range pl.targets {
		files := pl.files[t.name]
		if files == nil && t.folder != "" {
			root, err := os.OpenRoot(t.folder) // links cannot lead out of it
			if err != nil {
				return usage("opening %s: %w", plain(t.text), err)
			}
			files = root.FS()
			a.stops = append(a.stops, func() { _ = root.Close() })
		}
		if files == nil {
			continue
		}
		address, stop, err := serveFolder(ctx, files)
		if err != nil {
			return err
		}
		a.stops = append(a.stops, stop)
		t.url, t.origin = address, strings.TrimSuffix(address, "/")
	}
	return nil
}

func (p *program) sessionOptions(t *target, single bool) session.SiteOptions {
	o := session.SiteOptions{
		Site: bridge.Site{Name: t.name, Target: t.text, Origin: t.origin, Local: t.folder != ""},
		URL:  t.url, Shared: single || p.set.state == "shared", Warm: p.set.warm,
		WaitFor: t.config.waitFor, Tab: session.TabOptions{Windows: t.config.windows}, Origins: append(p.set.allowOrigins, t.config.allowOrigins...),
	}
	if t.config.shared != nil && !single {
		o.Shared = *t.config.shared
	}
	if t.config.warm != nil {
		o.Warm = *t.config.warm
	}
	if single {
		o.Warm = 0
	}
	return o
}

// bridgeOptions combines the flags and the file: an approval or a rate that the
// file gives the site counts unless the flag or the environment says otherwise.
func (p *program) bridgeOptions(t *target) bridge.SiteOptions {
	o := bridge.SiteOptions{Approval: policy.Operator{Mode: p.set.approval}, Params: t.config.params, AllowConfig: t.config.allowConfig,
		Rate: p.set.rate, Rates: t.config.rates, CallTimeout: p.set.callTimeout}
	if t.config.rate != (policy.Rate{}) && p.from["rate"] != fromFlag && p.from["rate"] != fromEnv {
		o.Rate = t.config.rate
	}
	if c := t.config.approval; c != nil {
		o.Approval.Tools = c.Tools
		if c.Mode != "" && p.from["approval"] != fromFlag && p.from["approval"] != fromEnv {
			o.Approval.Mode = c.Mode
		}
	}
	return o
}

// The kinds of engines: how pages get WebMCP.
const (
	engineShim   = "shim"   // our script
	engineNative = "native" // the browser's own
)

var engineKinds = []string{engineShim, engineNative}

// kindOf is the kind of engine of a target: what the file says of it, unless the
// command, the flag or the environment says otherwise.
func (p *program) kindOf(pl plan, t *target) string {
	if pl.engine != "" {
		return pl.engine
	}
	if t.config.engine != "" && p.from["engine"] != fromFlag && p.from["engine"] != fromEnv {
		return t.config.engine
	}
	return p.set.engine
}

// engineOf gives the app's engine of a kind, and makes it when it is the first of
// that.
func (p *program) engineOf(a *app, kind string) (*cdp.Engine, error) {
	if e := a.engines[kind]; e != nil {
		return e, nil
	}
	if len(a.engines) > 0 && p.set.userDataDir != "" {
		return nil, usage("--user-data-dir is one browser's, and the sites need two: one engine for all of them, or no --user-data-dir")
	}
	e, err := p.newEngine(kind)
	if err == nil {
		a.engines[kind] = e
	}
	return e, err
}

// newEngine makes an engine as the settings say.
func (p *program) newEngine(kind string) (*cdp.Engine, error) {
	s := &p.set
	native := kind == engineNative
	if address := s.browserURL + s.wsEndpoint; address != "" {
		header, err := s.headers()
		if err != nil {
			return nil, err
		}
		return cdp.NewRemote(cdp.RemoteOptions{URL: address, Header: header, Native: native, Log: p.log})
	}
	w, h, _ := s.size()
	dir := s.userDataDir
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, usage("--user-data-dir: %w", err)
		}
		dir = abs
	}
	if err := chrome.Clean(""); err != nil {
		p.log.Warn("cleaning up after a predecessor", "error", err)
	}
	e, err := cdp.NewLocal(cdp.LocalOptions{
		Options: chrome.Options{
			Path: s.executablePath, NoSandbox: s.noSandbox, Headful: !s.headless, AcceptInsecureCerts: s.acceptInsecureCerts,
			ProxyServer: s.proxyServer, Width: w, Height: h, UserDataDir: dir, Args: s.chromeArgs,
		},
		RecycleAfter: p.file.limits.recycle, Native: native, Log: p.log,
		AdoptWindows: slices.ContainsFunc(p.file.sites, func(s siteConfig) bool { return s.windows == session.BridgeWindows }),
	})
	return e, engineError(err)
}

// engineError says what to do when there can be no browser.
func engineError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, chrome.ErrNoBrowser):
		return unreachable("%w. Install one (Debian: apt-get install chromium), or name it with --executable-path.", err)
	case errors.Is(err, chrome.ErrRoot):
		return unreachable("%w. Run as another user, or give --no-sandbox or PAGETOOLS_NO_SANDBOX=1.", err)
	}
	return usage("%w", err)
}

// headers reads --ws-header.
func (s *settings) headers() (http.Header, error) {
	h := http.Header{}
	for _, line := range s.wsHeaders {
		name, value, ok := strings.Cut(line, ":")
		if !ok || textproto.TrimString(name) == "" {
			return nil, usage("--ws-header is like 'Authorization: Bearer …'")
		}
		h.Add(textproto.TrimString(name), textproto.TrimString(value))
	}
	return h, nil
}

// say prints one line for a person on stderr, unless they want quiet.
func (p *program) say(format string, args ...any) {
	if !p.set.quiet {
		fmt.Fprintf(p.stderr, "pagetools: "+format+"\n", args...)
	}
}

// progress tells a person at the terminal what takes so long.
func (p *program) progress(format string, args ...any) {
	if terminal(p.stderr) {
		p.say(format, args...)
	}
}
