package sessiontest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

var (
	_ session.Reattacher = (*Engine)(nil)
	_ session.Detachable = (*Tab)(nil)
)

// browser is a fake browser, which engines of several processes may use.
type browser struct {
	mu     sync.Mutex // never taken with that of a page held
	sites  map[string]Script
	arrive map[string]func(ctx context.Context) error
	pages  map[string]*page // that are open
	next   int
	runs   map[string]int
}

// page is a page of the browser. Tabs are attached to it.
type page struct {
	browser *browser
	id      string

	mu      sync.Mutex
	options session.TabOptions
	tabs    []*Tab
	left    chan struct{} // closed when no tab is attached
	epoch   int64         // the highest of its owners
	by      string        // who made it
	bare    bool          // its document has no page script, because it came while no tab was attached
	over    bool
	doc     *Document
	frames  map[string]*Document // by id
	calls   map[*Call]struct{}
	hung    bool
	stored  pageconfig.Stored // cookies and localStorage of the site
}

// Another returns an engine over the same browser, as another process has it.
func (e *Engine) Another() *Engine { return &Engine{browser: e.browser} }

// Has reports whether the page of a handle is there.
func (b *browser) Has(handle []byte) bool { return b.find(handle) != nil }

// Pages returns how many pages the browser has.
func (b *browser) Pages() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pages)
}

// Lose kills the browser: every tab dies with it. New tabs get a new one.
func (b *browser) Lose() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.pages))
	b.mu.Unlock()
	for _, p := range all {
		p.die(bridge.BrowserLost, "The browser was lost.")
	}
}

// Cut ends the engine as a SIGKILL of its process does: tabs that have an owner go on without it.
func (e *Engine) Cut() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	for _, t := range e.Tabs() {
		if t.owner.Epoch > 0 {
			t.leave(bridge.BrowserLost, "The browser was lost.")
		} else {
			t.die(bridge.BrowserLost, "The browser was lost.")
		}
	}
}

// Reattaches implements session.Reattacher.
func (e *Engine) Reattaches() bool { return true }

// find returns the page of a handle, or nil.
func (b *browser) find(handle []byte) *page {
	var id string
	if json.Unmarshal(handle, &id) != nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pages[id]
}

// Attach goes on with a tab. OnOpen runs in it, too.
func (e *Engine) Attach(ctx context.Context, handle []byte, o session.TabOptions) (session.Tab, error) {
	e.mu.Lock()
	before := e.opens
	e.mu.Unlock()
	var err error
	if before != nil {
		err = before(ctx)
	}
	p := e.find(handle)
	if p == nil {
		return nil, asLost(ctx, err)
	}
	p.mu.Lock()
	past, bad := o.Owner.Epoch < p.epoch, p.bare || p.hung || p.doc == nil
	p.mu.Unlock()
	switch {
	case past, o.Owner.Holds != nil && !o.Owner.Holds():
		return nil, lost(bridge.NotRun)
	case bad, err != nil, ctx.Err() != nil:
		p.die(bridge.BrowserLost, "The page was not attached to.")
		return nil, asLost(ctx, err)
	}
	return e.attach(p, o)
}

// Dispose closes a page.
func (e *Engine) Dispose(_ context.Context, handle []byte) error {
	if p := e.find(handle); p != nil {
		p.die(bridge.Draining, "pagetools closed the page.")
	}
	return nil
}

// Sweep closes the pages of makers that are over and that nobody keeps.
func (e *Engine) Sweep(ctx context.Context, over func(ctx context.Context, by string) bool, kept func(context.Context) ([][]byte, error)) (n int, err error) {
	e.mu.Lock()
	left := maps.Clone(e.pages)
	e.mu.Unlock()
	maps.DeleteFunc(left, func(_ string, p *page) bool { return p.by == "" || !over(ctx, p.by) })
	if len(left) == 0 {
		return 0, nil
	}
	handles, err := kept(ctx)
	if err != nil {
		return 0, err
	}
	for _, handle := range handles {
		if p := e.find(handle); p != nil {
			delete(left, p.id)
		}
	}
	for _, p := range left {
		p.die(bridge.Draining, "pagetools closed the page.")
	}
	return len(left), nil
}

// Handle names the page, where it has an owner.
func (t *Tab) Handle() []byte {
	if t.owner.Epoch == 0 {
		return nil
	}
	text, err := json.Marshal(t.id)
	if err != nil {
		panic("encoding a text: " + err.Error())
	}
	return text
}

// Detach ends the tab, and leaves the page as it is.
func (t *Tab) Detach(context.Context) error {
	t.leave(bridge.Draining, "pagetools left the page.")
	t.engine.forget(t)
	return nil
}

// add attaches a tab, and tells it what there is. Called with browser.mu held.
func (p *page) add(t *Tab, o session.TabOptions) {
	p.browser.pages[p.id] = p
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tabs) == 0 {
		p.left = make(chan struct{})
	}
	p.tabs, p.epoch, p.options = append(p.tabs, t), max(p.epoch, o.Owner.Epoch), o
	if p.doc == nil {
		return
	}
	t.put(session.Navigated{Document: p.doc.id, URL: p.doc.url, Origin: p.doc.origin})
	p.doc.tell(t)
	for _, f := range p.frames {
		f.tell(t)
	}
	if p.doc.loaded {
		t.put(session.Loaded{Document: p.doc.id})
	}
	if p.doc.ready {
		t.put(session.Ready{Document: p.doc.id})
	}
}

// alone is closed when no tab is attached to the page any more.
func (p *page) alone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// isPast reports whether the page has a newer owner; mu is held.
func (t *Tab) isPast() bool { return t.owner.Epoch < t.epoch }

// isOthers reports whether the page is another process's.
func (t *Tab) isOthers() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.isPast() || t.owner.Holds != nil && !t.owner.Holds()
}

// leave ends a tab alone.
func (t *Tab) leave(r bridge.Reason, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(bridge.Errorf(bridge.InternalError, r, bridge.Unknown, "%s", text))
	if t.tabs = slices.DeleteFunc(t.tabs, func(o *Tab) bool { return o == t }); len(t.tabs) == 0 && !isClosed(t.left) {
		close(t.left)
	}
}

// end reports the end of a tab, once; mu is held.
func (t *Tab) end(err *bridge.Error) {
	if t.died != nil {
		return
	}
	t.died = err
	close(t.gone)
	t.put(session.Died{Err: err})
}

// die ends the page, with its tabs.
func (p *page) die(r bridge.Reason, text string) {
	p.browser.mu.Lock()
	delete(p.browser.pages, p.id)
	p.browser.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	err := bridge.Errorf(bridge.InternalError, r, bridge.Unknown, "%s", text)
	for c := range p.calls {
		c.finish(nil, err)
	}
	for _, t := range p.tabs {
		t.end(err)
	}
}

// emit reports an event to the tabs; mu is held.
func (p *page) emit(ev session.Event) {
	for _, t := range p.tabs {
		t.put(ev)
	}
}

// unqueue drops events that nobody read yet; mu is held.
func (p *page) unqueue(drops func(session.Event) bool) {
	for _, t := range p.tabs {
		t.queue = slices.DeleteFunc(t.queue, func(q queued) bool { return drops(q.ev) })
	}
}

// undeclare forgets what a document declared; mu is held.
func (p *page) undeclare(document string) {
	for _, t := range p.tabs {
		t.declared.Gone(document)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
