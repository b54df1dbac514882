package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/calls"
	"github.com/pagetools/pagetools/transport/mcp"
	"github.com/pagetools/pagetools/transport/openapi"
	"github.com/pagetools/pagetools/transport/webtool"
)

// Mux returns what one listener serves: health, metrics, webtools, long calls, MCP, OpenTools, and
// what the server is.
// done ends what waits for calls; nil is never.
func (a *App) Mux(face *mcp.Face, done <-chan struct{}) *transport.Mux {
	forms := webtool.Forms()
	maps.Copy(forms, openapi.Forms())
	mux := transport.NewMux(transport.Health(a.readiness)...)
	mux.Add(a.Metrics.Routes(a.o.Log)...)
	mux.Add(webtool.New(a.Bridge, webtool.Options{Log: a.o.Log}).Routes()...)
	mux.Add(calls.New(a.Bridge, calls.Options{Forms: forms, Done: done}).Routes()...)
	mux.Add(face.Routes()...)
	mux.Add(openapi.New(a.Bridge, openapi.Options{Version: a.o.Version, Log: a.o.Log}).Routes()...)
	mux.Add(transport.About(a.Bridge.Sites)...)
	return mux
}

// Drain lets calls in flight finish, until ctx ends. Nothing is asked any more.
func (a *App) Drain(ctx context.Context) {
	a.draining.Store(true)
	a.Bridge.StopAsking()
	a.Manager.Drain(ctx)
}

func (a *App) load() transport.Load {
	l := transport.Load{Questions: a.Bridge.OpenQuestions()}
	l.Pages, l.Spares, l.Queued = a.Manager.Pages()
	l.Bytes, l.Files = a.Bridge.FileBytes()
	l.Down = map[string]bool{}
	for _, s := range a.Router.Sites() {
		_, l.Down[s.Name] = session.NextTry(a.Manager, s.Name)
	}
	if a.Proxy != nil {
		c := a.Proxy.Counts()
		l.Opened, l.Failed = int(c.Opened), int(c.Failed)
		for _, n := range c.Refused {
			l.Refused += int(n)
		}
	}
	l.Endpoints = map[string]string{}
	for _, e := range a.running() {
		for _, s := range e.States(false) {
			if s.Name != "" {
				l.Endpoints[s.Name] = s.State
			}
		}
		c := e.Counts()
		l.Browsers.Started += c.Started
		l.Browsers.Failed += c.Failed
		l.Browsers.Ended += c.Lost[cdp.LostEnded]
		l.Browsers.Silent += c.Lost[cdp.LostSilent]
	}
	return l
}

// room counts the sessions that have a page, and the pages that there is room for.
func (a *App) room() (sessions, free int) {
	p := a.Pool()
	if free = max(0, p.Limit-p.Held); a.hasPool() && a.Engine != nil {
		free = min(free, a.Engine.Room()) // without a browser one call learns that there is none
	}
	return len(session.SessionsOf(a.Manager).All()), free
}

// Pool counts the pages, for operators.
func (a *App) Pool() bridge.Pool { return a.Manager.Pool() }

// BrowserStates returns the browsers, for operators, with what they take of memory if weighed is true.
func (a *App) BrowserStates(weighed bool) []bridge.BrowserState {
	all := []bridge.BrowserState{}
	for _, e := range a.running() {
		all = append(all, e.States(weighed)...)
	}
	slices.SortFunc(all, func(x, y bridge.BrowserState) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Version, y.Version))
	})
	return all
}

// readiness returns what /readyz reports.
func (a *App) readiness() transport.Readiness {
	if a.Manager.Tried() { // what is added later opens while the others are served
		a.tried.Store(true)
	}
	ready := a.tried.Load() && (a.Engine == nil || a.Engine.Version() != "")
	r := transport.Readiness{Ready: ready, Draining: a.draining.Load(), Sites: map[string]string{},
		NextTry: map[string]time.Time{}, Findings: map[string][]bridge.Finding{}}
	for _, e := range a.running() {
		if e.Down() != nil {
			r.Browser = "The browser cannot be started; the log of pagetools says why."
		}
	}
	for _, s := range a.Router.Sites() {
		r.Sites[s.Name], r.Findings[s.Name] = a.Status(s.Name), a.Findings(s.Name)
		if next, down := session.NextTry(a.Manager, s.Name); down {
			r.NextTry[s.Name] = next
		}
	}
	if a.o.Memory != nil && a.o.Memory.Audit != nil && a.o.Memory.Audit.Healthy() != nil {
		r.Audit = "calls cannot be recorded: those that may change something are refused"
	}
	return r
}
