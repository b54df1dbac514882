package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session"
)

// Tab is a tab of the fake engine. Tests may crash it and reach its document.
type Tab struct {
	*page

	engine *Engine
	owner  session.Owner
	// declared is guarded by mu.
	declared *session.Declared
	events   chan session.Event
	wake     chan struct{}
	gone     chan struct{}

	queue []queued
	seq   int
	died  *bridge.Error
}

// queued is an event that nobody read yet.
type queued struct {
	seq int
	ev  session.Event
}

var _ session.Tab = (*Tab)(nil)

// tell hands the events to the one reader. It ends after Died, or a while after
// the death when nobody reads.
func (t *Tab) tell() {
	defer close(t.events)
	var patience <-chan time.Time
	for {
		t.mu.Lock()
		var first queued
		var out chan session.Event
		if len(t.queue) > 0 {
			first, out = t.queue[0], t.events
		}
		if t.died != nil && patience == nil {
			timer := time.NewTimer(3 * time.Second)
			defer timer.Stop()
			patience = timer.C
		}
		t.mu.Unlock()
		select {
		case out <- first.ev:
			t.mu.Lock()
			if len(t.queue) > 0 && t.queue[0].seq == first.seq { // else it was replaced meanwhile
				t.queue = t.queue[1:]
			}
			t.mu.Unlock()
			if _, last := first.ev.(session.Died); last {
				return
			}
		case <-t.wake:
		case <-patience:
			return
		}
	}
}

// put queues an event; t.mu is held.
func (t *Tab) put(ev session.Event) {
	if n := len(t.queue); n > 0 {
		old, was := t.queue[n-1].ev.(session.ToolsChanged)
		now, is := ev.(session.ToolsChanged)
		if was && is && old.Document == now.Document {
			t.queue = t.queue[:n-1]
		}
	}
	t.seq++
	t.queue = append(t.queue, queued{t.seq, ev})
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Events returns what happens.
func (t *Tab) Events() <-chan session.Event { return t.events }

// Load shows the document at the address.
func (t *Tab) Load(ctx context.Context, address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return bridge.Errorf(bridge.InternalError, bridge.OriginBlocked, bridge.NotRun, "Only http and https addresses are opened.")
	}
	script, arrive := t.engine.lookup(address)
	if arrive != nil {
		done := make(chan error, 1)
		go func() { done <- arrive(ctx) }()
		select {
		case err := <-done:
			if err != nil {
				return asLost(ctx, err)
			}
		case <-t.gone:
			return t.death(bridge.NotRun)
		case <-ctx.Done():
			return session.Stopped(ctx, bridge.NotRun)
		}
	} else if script == nil {
		return Unreachable()
	}
	if t.Dead() {
		return t.death(bridge.NotRun)
	}
	t.show(address, script)
	return nil
}

// show replaces the document.
func (p *page) show(address string, script Script) {
	u, _ := url.Parse(address)
	d := &Document{page: p, id: fmt.Sprintf("doc-%d", p.browser.id()), url: address, origin: origin.OfURL(u), tools: map[string]*registration{}, depth: 1}
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	for id := range p.frames {
		p.undeclare(id)
	}
	if p.doc != nil {
		p.undeclare(p.doc.id)
	}
	p.doc, p.frames, p.hung, p.bare = d, nil, false, len(p.tabs) == 0
	p.endCalls(func(*Document) bool { return true })
	p.unqueue(func(ev session.Event) bool {
		switch ev.(type) {
		case session.ToolsChanged, session.FrameGone, session.Loaded, session.Ready, session.Moved:
			return true
		}
		return false
	})
	p.emit(session.Navigated{Document: d.id, URL: d.url, Origin: d.origin})
	p.mu.Unlock()
	if script != nil {
		script(d)
	}
	d.flush()
	if !d.unfinished {
		d.Loaded()
	}
}

// endCalls ends the calls in documents that are not shown any more; p.mu is held.
func (p *page) endCalls(gone func(*Document) bool) {
	for c := range p.calls {
		if gone(c.Document) {
			c.finish(nil, bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown, "The page navigated away during the call."))
		}
	}
}

// Document returns the tab's document; nil before the first.
func (p *page) Document() *Document {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doc
}

// Invoke runs a registered tool once.
func (t *Tab) Invoke(ctx context.Context, inv session.Invocation) bridge.Step {
	t.mu.Lock()
	switch {
	case t.died != nil:
		t.mu.Unlock()
		return t.death(bridge.NotRun).Step()
	case ctx.Err() != nil:
		t.mu.Unlock()
		return session.Stopped(ctx, bridge.NotRun).Step()
	case t.isPast():
		t.mu.Unlock()
		return session.OtherOwner().Step()
	case t.hung:
		t.mu.Unlock()
		return bridge.Errorf(bridge.InternalError, bridge.PageHung, bridge.NotRun, "The page does not react. The call did not reach it.").Step()
	}
	d := t.doc
	if f := t.frames[inv.Document]; f != nil {
		d = f
	}
	reg := (*registration)(nil)
	if d != nil && d.id == inv.Document {
		reg = d.byID(inv.Tool)
	}
	if reg == nil {
		t.mu.Unlock()
		return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "The page does not offer this tool any more.").With(session.ErrGone).Step()
	}
	life, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &Call{Document: d, Input: inv.Input, tool: reg.tool.Name, caller: inv.Caller, moves: d.moves, ctx: life, done: make(chan struct{}), asks: make(chan asks)}
	if t.calls == nil {
		t.calls = map[*Call]struct{}{}
	}
	t.calls[c] = struct{}{}
	t.mu.Unlock()
	t.engine.ran(reg.tool.Name)
	go c.run(reg.tool, inv.MaxBytes)
	return t.wait(ctx, c, abort)
}

// Close ends the tab, and the page where it is its owner's.
func (t *Tab) Close(ctx context.Context) error {
	if t.owner.Holds != nil && !t.owner.Holds() {
		return t.Detach(ctx)
	}
	t.die(bridge.Draining, "pagetools closed the page.")
	t.engine.forget(t)
	return nil
}

// Crash ends the tab as a crash of its renderer does.
func (p *page) Crash() { p.die(bridge.PageCrashed, "The page crashed.") }

// Recycle reports that another browser takes the place of the tab's.
func (t *Tab) Recycle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(session.Recycled{})
}

// Dead reports whether the tab is gone.
func (t *Tab) Dead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.died != nil
}

func (t *Tab) death(o bridge.Outcome) *bridge.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := *t.died
	c.Outcome = o
	return &c
}

// Document is a page of the fake engine. Its methods may be called by its script,
// by its tools and by tests.
type Document struct {
	page            *page
	id, url, origin string
	frame           session.Frame

	// Guarded by tab.mu.
	title      string
	revision   int64
	lastID     int64
	tools      map[string]*registration
	depth      int // the script runs: changes are reported when it ends
	dirty      bool
	loaded     bool
	ready      bool
	unfinished bool
	moves      int64
}

type registration struct {
	id   int64
	tool Tool
}

// Tool describes a tool that a document registers.
type Tool struct {
	// Name is required; Description is its name when it is empty.
	Name, Title, Description   string
	Input, Output, Annotations json.RawMessage
	// Run answers a call; nil answers with null. See [Call] for its errors.
	Run func(c *Call) (json.RawMessage, error)
}

// ID identifies the document.
func (d *Document) ID() string { return d.id }

// Title changes the document's title.
func (d *Document) Title(title string) {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	d.title, d.dirty = title, true
	if d.depth == 0 {
		d.push()
	}
}

// Register adds a tool, or replaces the one of its name.
func (d *Document) Register(tools ...Tool) {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	for _, x := range tools {
		if x.Description == "" {
			x.Description = x.Name
		}
		d.lastID++
		d.tools[x.Name] = &registration{id: d.lastID, tool: x}
		d.changed()
	}
}

// Unregister takes a tool away.
func (d *Document) Unregister(name string) {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	delete(d.tools, name)
	d.changed()
}

func (d *Document) changed() {
	d.revision++
	d.dirty = true
	if d.depth == 0 {
		d.push()
	}
}

// flush ends the script.
func (d *Document) flush() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	d.depth--
	d.dirty = true // also when there is nothing: that is reported once
	d.push()
}

// push reports the whole set; page.mu is held.
func (d *Document) push() {
	if !d.dirty || d.page.doc != d && d.page.frames[d.id] != d || d.page.over {
		return
	}
	d.dirty = false
	for _, t := range d.page.tabs {
		d.tell(t)
	}
}

// tell reports the whole set to a tab, unless its owner is past; page.mu is held.
func (d *Document) tell(t *Tab) {
	if t.isPast() {
		return
	}
	all := slices.SortedFunc(maps.Values(d.tools), func(a, b *registration) int { return int(a.id - b.id) })
	ev := session.ToolsChanged{Document: d.id, Frame: d.frame, Revision: d.revision, Title: d.title}
	for _, r := range all {
		x := r.tool
		ev.Tools = append(ev.Tools, bridge.Declaration{ID: r.id, Document: d.id, Origin: d.origin, Frame: d.frame.Path, Name: x.Name, Title: x.Title,
			Description: x.Description, Input: x.Input, Output: x.Output, Annotations: x.Annotations})
	}
	t.declared.Fit(&ev)
	t.put(ev)
}

// byID finds a registration; page.mu is held.
func (d *Document) byID(id int64) *registration {
	for _, r := range d.tools {
		if r.id == id {
			return r
		}
	}
	return nil
}

// Frame shows a document in a frame that may have tools. An empty origin means the
// page's.
func (d *Document) Frame(name, origin string, script Script) *Document {
	path := name
	if d.frame.Path != "" {
		path = d.frame.Path + "/" + name
	}
	if origin == "" {
		origin = d.origin
	}
	f := &Document{page: d.page, id: fmt.Sprintf("doc-%d", d.page.browser.id()), url: origin + "/" + name, origin: origin,
		frame: session.Frame{Path: path, Depth: d.frame.Depth + 1}, tools: map[string]*registration{}, depth: 1}
	d.page.mu.Lock()
	if d.page.frames == nil {
		d.page.frames = map[string]*Document{}
	}
	d.page.frames[f.id] = f
	d.page.mu.Unlock()
	script(f)
	f.flush()
	return f
}

// Remove takes a frame out of the page, or makes it show another document.
func (d *Document) Remove() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	if d.page.frames[d.id] != d {
		return
	}
	delete(d.page.frames, d.id)
	d.page.undeclare(d.id)
	d.page.endCalls(func(of *Document) bool { return of == d })
	d.page.unqueue(func(ev session.Event) bool {
		c, ok := ev.(session.ToolsChanged)
		return ok && c.Document == d.id
	})
	d.page.emit(session.FrameGone{Document: d.id})
}

// Unfinished says that no load event follows the script by itself.
func (d *Document) Unfinished() { d.unfinished = true }

// Loaded fires the load event.
func (d *Document) Loaded() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	if d.loaded || d.page.doc != d || d.page.over {
		return
	}
	d.loaded = true
	d.page.emit(session.Loaded{Document: d.id})
}

// Ready says that what the tab awaits holds.
func (d *Document) Ready() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	if d.ready = true; d.page.doc == d && !d.page.over {
		d.page.emit(session.Ready{Document: d.id})
	}
}

// Navigate shows another document, as a link or location.href does. A document
// that is gone does nothing.
func (d *Document) Navigate(address string) {
	if d.page.Document() != d {
		return
	}
	script, _ := d.page.browser.lookup(address)
	d.page.show(address, script)
}

// Reload shows the same address again.
func (d *Document) Reload() { d.Navigate(d.url) }

// Dialog shows a JavaScript dialog and returns how it was answered.
func (d *Document) Dialog(kind, message string) bool {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	accepted := kind == "alert" || kind == "beforeunload"
	if !d.page.over {
		d.page.emit(session.DialogShown{Kind: kind, Message: message, Accepted: accepted})
	}
	return accepted
}

// OpenWindow opens a window, which is closed at once.
func (d *Document) OpenWindow(address string) {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	if !d.page.over {
		d.page.emit(session.WindowClosed{URL: address})
	}
}

// Crash ends the tab.
func (d *Document) Crash() { d.page.Crash() }

// Hang makes the document answer nothing any more.
func (d *Document) Hang() {
	d.page.mu.Lock()
	defer d.page.mu.Unlock()
	d.page.hung = true
}

// Origin is the document's origin.
func (d *Document) Origin() string { return d.origin }

// join makes an address of a path of the document's site.
func (d *Document) join(path string) string { return strings.TrimSuffix(d.origin, "/") + path }
