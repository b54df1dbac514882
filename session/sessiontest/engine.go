package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// Script plays a document that arrives: it registers tools and more.
// The load event follows when it returns.
type Script func(d *Document)

// Engine is a fake session.Engine. It is safe for concurrent use, and works in a
// testing/synctest bubble. An address that nobody handles cannot be reached.
type Engine struct {
	*browser

	opens  func(ctx context.Context) error
	tabs   []*Tab
	opened int
	closed bool
}

var _ session.Engine = (*Engine)(nil)

// NewEngine makes an engine without pages.
func NewEngine() *Engine {
	return &Engine{browser: &browser{sites: map[string]Script{}, pages: map[string]*page{},
		arrive: map[string]func(context.Context) error{}, runs: map[string]int{}}}
}

// Handle says what the document at the address does.
func (e *browser) Handle(address string, s Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sites[address] = s
	delete(e.arrive, address)
}

// Arrive runs before a document at the address is shown: it may wait within ctx,
// and an error means that no document comes. Nil takes it away.
func (e *browser) Arrive(address string, f func(ctx context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arrive[address] = f
}

// OnOpen runs in every Open, which an error fails. Nil takes it away.
func (e *Engine) OnOpen(f func(ctx context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opens = f
}

// Tabs lists the tabs that are open, oldest first.
func (e *Engine) Tabs() []*Tab {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.tabs)
}

// Opened returns how many tabs were opened so far.
func (e *Engine) Opened() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

// Runs returns how often tools of the name began to run.
func (e *browser) Runs(tool string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[tool]
}

// Open makes a tab.
func (e *Engine) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	stored, err := furnish(o)
	if err != nil {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun, "%s.", err)
	}
	e.mu.Lock()
	before := e.opens
	e.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, asLost(ctx, err)
		}
	}
	if ctx.Err() != nil {
		return nil, session.Stopped(ctx, bridge.NotRun)
	}
	p := &page{browser: e.browser, id: fmt.Sprintf("page-%d", e.id()), stored: stored, by: o.Owner.By}
	return e.attach(p, o)
}

// attach makes a tab of a page.
func (e *Engine) attach(p *page, o session.TabOptions) (*Tab, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, lost(bridge.NotRun)
	}
	t := &Tab{page: p, engine: e, owner: o.Owner, declared: session.NewDeclared(o),
		events: make(chan session.Event), wake: make(chan struct{}, 1), gone: make(chan struct{})}
	e.tabs = append(e.tabs, t)
	e.opened++
	p.add(t, o)
	go t.tell()
	return t, nil
}

// Close ends every tab.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	for _, t := range e.Tabs() {
		if t.isOthers() {
			t.leave(bridge.BrowserLost, "The browser was lost.")
		} else {
			t.die(bridge.BrowserLost, "The browser was lost.")
		}
	}
	return nil
}

func (e *Engine) forget(t *Tab) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tabs = slices.DeleteFunc(e.tabs, func(o *Tab) bool { return o == t })
}

func (e *browser) lookup(address string) (Script, func(context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sites[address], e.arrive[address]
}

func (e *browser) ran(tool string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[tool]++
}

// id returns names that are never used twice.
func (e *browser) id() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	return e.next
}

func lost(o bridge.Outcome) *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.BrowserLost, o,
		"The browser is not available.")
}

func asLost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return session.Stopped(ctx, bridge.NotRun)
	}
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		return e
	}
	return lost(bridge.NotRun).With(err)
}

// Unreachable returns an error for Arrive to return for a site that is down.
func Unreachable() *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
		"The site cannot be reached (ERR_CONNECTION_REFUSED).")
}

// Wait returns when d has passed or ctx ended.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting: %w", context.Cause(ctx))
	}
}
