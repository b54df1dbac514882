package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// ErrGone is the cause of an error of Tab.Invoke when the registration does not
// exist any more. Nothing ran.
var ErrGone = errors.New("the registration is gone")

// Times of the contract's section on sites, catalogs and sessions.
const (
	quietTime  = 100 * time.Millisecond // after the load event, without a registration
	emptyTime  = 5 * time.Second        // after it, at most, while there is no tool
	settleTime = 10 * time.Second       // at most, until a page counts as opened
	lateTool   = 5 * time.Second        // that a call waits for a tool of a fresh page, once it has loaded
)

// A page that shows more than maxNavigations documents in loopWindow, or more
// than maxUnsettled in a row that never count as opened, navigates without end. So
// does one that has shown more than slowUnsettled and is loading the next when it
// should have been opened: a busy machine shows fewer.
const (
	maxNavigations = 20
	loopWindow     = 10 * time.Second
	maxUnsettled   = 10
	slowUnsettled  = 4
)

// Page is one tab with the catalog of what its document registers. One
// goroutine owns it; the catalog is an immutable snapshot.
type Page struct {
	tab     Tab
	owner   Owner    // where the page outlives this process
	origins []string // whose documents count as the site's own
	wait    WaitFor
	patient bool // it is looked at for longer before it counts as opened
	limits  bridge.Limits
	changed func() // called when the catalog has changed
	log     *slog.Logger

	view   atomic.Pointer[view]
	views  bridge.Changes         // of view
	used   atomic.Pointer[string] // the document that a call was last dispatched to
	pauses pauses
	closer atomic.Pointer[bridge.Error] // why somebody closes it; nil: nobody does
	once   bool                         // it is closed after one call; set before that
	dead   chan struct{}
	died   *bridge.Error // valid after dead is closed
	// recycled is closed when another browser takes the place of the page's.
	recycled chan struct{}
	over     <-chan struct{} // closed when the site was taken out; set before own runs
}

// WaitFor overrides when a page counts as opened: when all that it names holds.
// The zero value means the load event and 100 ms without a registration; without a tool, 5 s after
// the load event.
type WaitFor struct {
	// Tools are the names of tools that must be registered.
	Tools []string
	Await
	// Quiet says how long there must be no registration after all the rest.
	Quiet time.Duration
}

// isNone reports whether nothing is to be waited for in particular.
func (w WaitFor) isNone() bool { return len(w.Tools) == 0 && w.Await == (Await{}) && w.Quiet == 0 }

// missing returns the first tool that is not there yet, or "".
func (w WaitFor) missing(c *bridge.Catalog) string {
	for _, name := range w.Tools {
		if c.Tool(name) == nil {
			return name
		}
	}
	return ""
}

// view holds what a page shows at one moment.
type view struct {
	document, url, title, icon string
	// revisions maps the ids of the documents that it shows to their revisions: the one
	// at the top, and those in frames that have tools.
	revisions map[string]int64
	declared  []bridge.Declaration // in the page's own words
	catalog   *bridge.Catalog
	// loaded is true after the document's load event, settled when the page counts
	// as opened.
	loaded, settled bool
	// moves numbers what calls did to the address, and moving says that what the last of them led
	// to may not be there yet.
	moves  int64
	moving bool
	// since says when this document appeared.
	since time.Time
}

// newPage makes the page of a tab; own must run from now on. The origins decide
// which documents are the site's own. changed is called when the catalog has changed, and
// must not block. A patient page counts as opened when nothing more is to be expected.
func newPage(tab Tab, origins []string, wait WaitFor, patient bool, l bridge.Limits, changed func(),
	log *slog.Logger) *Page {
	p := &Page{tab: tab, origins: origins, wait: wait, patient: patient && wait.isNone(), limits: l, changed: changed, log: log,
		dead: make(chan struct{}), recycled: make(chan struct{})}
	empty, _ := bridge.NewCatalog(nil, nil, l)
	p.view.Store(&view{catalog: empty, since: time.Now()})
	return p
}

// pageState belongs to the owner goroutine.
type pageState struct {
	now   view
	shown []ToolsChanged   // by document, the top first, then frames by depth
	prev  *bridge.Catalog  // the last catalog that had tools: compiled schemas
	ready bool             // what the tab awaits holds
	more  []bridge.Finding // of the document, besides those of its tools
	// loadedAt says when the document's load event came, and added when a tool came of a name that
	// was not there.
	loadedAt, added time.Time
	seen            listed // what the document registered until now
	quiet           *time.Timer
	limit           *time.Timer
	visited         []time.Time
	moved           time.Time // when the call began that moved the page last
	// unsettled counts the documents since one counted as opened.
	unsettled int
	blame     *bridge.Error        // why we closed the tab ourselves
	lines     func(time.Time) bool // whether the log may get one
}

// own is the owner goroutine. It ends when the tab's events end. prev lends its
// compiled schemas; it may be nil.
func (p *Page) own(prev *bridge.Catalog) {
	s := &pageState{now: *p.view.Load(), prev: prev, quiet: time.NewTimer(time.Hour),
		limit: time.NewTimer(time.Hour), lines: policy.Burst(logBurst, time.Second)}
	s.quiet.Stop()
	s.limit.Stop() // until a document arrives: what shows nothing cannot be opened
	defer s.quiet.Stop()
	defer s.limit.Stop()
	over := p.over
	for {
		select {
		case <-over:
			over = nil
			s.blame = cmp.Or(s.blame, bridge.Replaced(bridge.Unknown))
			go closeTab(p.tab) // ends within its bound
		case ev, ok := <-p.tab.Events():
			d, died := ev.(Died)
			if !ok || died {
				p.finish(cmp.Or(s.blame, p.closer.Load(), d.Err))
				return
			}
			p.handle(s, ev)
		case <-s.quiet.C:
			p.quieted(s)
		case <-s.limit.C:
			if s.unsettled > slowUnsettled && !s.now.loaded {
				p.endless(s)
			} else {
				p.settle(s)
			}
		}
	}
}

func (p *Page) finish(err *bridge.Error) {
	if err == nil {
		err = bridge.Errorf(bridge.InternalError, bridge.PageCrashed, bridge.Unknown,
			"The page was closed.")
	}
	p.died = err
	close(p.dead)
}

func (p *Page) handle(s *pageState, ev Event) {
	switch ev := ev.(type) {
	case Navigated:
		p.navigated(s, ev)
	case Loaded:
		if ev.Document == s.now.document {
			s.now.loaded, s.loadedAt = true, time.Now()
			p.publish(s)
			p.mayBeQuiet(s)
		}
	case Ready:
		if ev.Document == s.now.document {
			s.ready = true
			p.mayBeQuiet(s)
		}
	case Moved:
		p.moved(s, ev)
	case ToolsChanged:
		p.toolsChanged(s, ev)
	case FrameGone:
		if i := s.find(ev.Document); i >= 0 {
			s.shown = slices.Delete(s.shown, i, i+1)
			p.list(s)
		}
	case Refused:
		p.refused(s, ev)
	case Recycled:
		if !isClosed(p.recycled) {
			close(p.recycled)
		}
	default:
		if s.lines(time.Now()) {
			p.note(ev)
		}
	}
}

// A page writes at most so many lines into the log at once, and then one in a second.
const logBurst = 64

// note logs what happened to a page and changes nothing.
func (p *Page) note(ev Event) {
	switch ev := ev.(type) {
	case DialogShown:
		p.log.Info("page: dialog", "kind", ev.Kind, "accepted", ev.Accepted)
	case WindowOpened:
		p.log.Info("page: it opened a window", "url", ev.URL)
	case WindowClosed:
		p.log.Info("page: a window that it opened was closed", "url", ev.URL)
	}
}

func (p *Page) navigated(s *pageState, ev Navigated) {
	now := time.Now()
	s.visited = append(s.visited, now)
	for len(s.visited) > 0 && now.Sub(s.visited[0]) > loopWindow {
		s.visited = s.visited[1:]
	}
	if s.now.settled {
		s.unsettled = 0
	}
	if s.unsettled++; len(s.visited) > maxNavigations || s.unsettled > maxUnsettled {
		p.endless(s)
		return
	}
	if s.now.settled || s.now.document == "" || s.seen.early != nil {
		s.limit.Reset(settleTime)
	}
	empty, _ := bridge.NewCatalog(nil, nil, p.limits)
	s.now = view{document: ev.Document, url: ev.URL, catalog: empty, since: now}
	s.ready, s.shown, s.more, s.seen = false, nil, nil, listed{}
	s.quiet.Stop()
	p.publish(s)
}

// endless closes a page that navigates without end.
func (p *Page) endless(s *pageState) {
	if s.blame == nil {
		s.blame = bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown,
			"The page navigates without end and was closed.")
		go closeTab(p.tab)
	}
}

func (p *Page) toolsChanged(s *pageState, ev ToolsChanged) {
	top := ev.Document == s.now.document
	if top != (ev.Frame == Frame{}) {
		return // of a document that is gone
	}
	adds := s.adds(ev)
	switch i := s.find(ev.Document); {
	case i < 0:
		s.shown = append(s.shown, ev)
		slices.SortStableFunc(s.shown, func(a, b ToolsChanged) int {
			return cmp.Or(cmp.Compare(a.Frame.Depth, b.Frame.Depth),
				cmp.Compare(a.Frame.Path, b.Frame.Path))
		})
	case ev.Revision == s.shown[i].Revision && top:
		if s.now.title != ev.Title || s.now.icon != ev.Icon {
			s.now.title, s.now.icon = ev.Title, ev.Icon
			p.publish(s)
		}
		return
	case ev.Revision <= s.shown[i].Revision:
		return
	default:
		s.shown[i] = ev
	}
	for i := range ev.Tools {
		d := &ev.Tools[i]
		d.Document, d.Frame = ev.Document, ev.Frame.Path
		d.Own = slices.Contains(p.origins, d.Origin)
		d.Seal()
	}
	if top {
		s.now.title, s.now.icon = ev.Title, ev.Icon
	}
	p.list(s)
	if adds {
		s.added = time.Now()
	}
	switch {
	case s.now.settled:
		p.mayHaveArrived(s)
	case ev.Revision > 0: // else nothing was ever registered
		p.mayBeQuiet(s)
	}
}

// find returns the position of a document in s.shown, or -1.
func (s *pageState) find(document string) int {
	return slices.IndexFunc(s.shown, func(c ToolsChanged) bool { return c.Document == document })
}

// list makes the catalog of what all documents register now.
func (p *Page) list(s *pageState) {
	var all []bridge.Declaration
	var reported []bridge.Finding
	revisions := make(map[string]int64, len(s.shown))
	for _, c := range s.shown {
		all, reported = append(all, c.Tools...), append(reported, c.Findings...)
		revisions[c.Document] = c.Revision
	}
	before := s.now.catalog.Findings()
	catalog, found := bridge.NewCatalog(s.prev, all, p.limits)
	s.seen.add(s.now.declared, all, catalog)
	s.now.declared = all
	s.now.revisions = revisions
	s.now.catalog = catalog.With(told(slices.Concat(reported, found, s.more))).WithLeft(s.seen.left(catalog))
	if len(s.now.catalog.Tools()) > 0 {
		s.prev = s.now.catalog
	}
	for _, f := range s.now.catalog.Findings() {
		if !slices.Contains(before, f) && s.lines(time.Now()) {
			p.log.Warn("page: finding", "rule", f.Rule, "tool", f.Tool, "message", f.Message,
				"refused", f.Refused)
		}
	}
	p.publish(s)
}

// mayBeQuiet starts, or starts again, the quiet time after which the page
// counts as opened.
func (p *Page) mayBeQuiet(s *pageState) {
	if s.now.settled {
		return
	}
	switch {
	case s.seen.early != nil:
		p.lookOn(s)
	case p.wait.isNone():
		switch {
		case !s.now.loaded:
		case len(s.now.catalog.Tools()) > 0:
			s.quiet.Reset(quietTime)
		default: // it may wait for a framework before it registers
			s.quiet.Reset(max(quietTime, emptyTime-time.Since(s.loadedAt)))
		}
	case p.wait.missing(s.now.catalog) != "", p.wait.Await != (Await{}) && !s.ready:
		s.quiet.Stop()
	case p.wait.Quiet > 0:
		s.quiet.Reset(p.wait.Quiet)
	case len(s.now.catalog.Tools()) == 0: // the script that made the element registers, too
		s.quiet.Reset(quietTime)
	default:
		p.settle(s)
	}
}

func (p *Page) settle(s *pageState) {
	if s.now.settled {
		if s.now.moving {
			s.now.moving = false
			p.publish(s)
		}
		return
	}
	s.quiet.Stop()
	s.limit.Stop()
	s.now.settled = true
	s.more = append(s.more, s.seen.late(s.now.catalog, s.loadedAt)...)
	if unmet := p.unmet(s); unmet != "" {
		s.more = append(s.more, bridge.Finding{Rule: bridge.RuleUnmet,
			Message: "The page did not fulfil wait-for in time: " + unmet + "."})
	}
	if len(s.more) > 0 {
		p.list(s)
		return
	}
	p.publish(s)
}

// publish makes a copy of the owner's view visible and wakes the calls that wait.
func (p *Page) publish(s *pageState) {
	v := s.now
	old := p.view.Swap(&v)
	p.views.Signal()
	if old.catalog != v.catalog {
		p.changed()
	}
}

// await waits until ok is true for a view. It fails when the page dies or ctx
// ends; the error is then the page's own, or ctx's cause.
func (p *Page) await(ctx context.Context, ok func(*view) bool) (*view, error) {
	for {
		next := p.views.Next()
		v := p.view.Load()
		if ok(v) {
			return v, nil
		}
		select {
		case <-next:
		case <-p.dead:
			return nil, p.died
		case <-ctx.Done():
			return v, context.Cause(ctx)
		}
	}
}

// opened waits until the page counts as opened, within ctx.
func (p *Page) opened(ctx context.Context) (*view, error) { return p.await(ctx, (*view).isOpen) }

// isOpen reports whether the page counts as opened, at the place to which a call moved it.
func (v *view) isOpen() bool { return v.settled && !v.moving }

// bound is a context that ends after d with the cause; zero means no bound.
func bound(ctx context.Context, d time.Duration,
	cause error) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, cause)
}

// blamed says why we closed the page ourselves, when that ended the call. When
// the call's error is the page's death, the page is known to be dead afterwards.
func (p *Page) blamed(e *bridge.Error) *bridge.Error {
	switch e.Reason {
	case bridge.Draining, bridge.PageCrashed, bridge.BrowserLost:
	default:
		return e
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-p.dead: // follows at once
	case <-timer.C:
		return e
	}
	if e.Reason != bridge.Draining {
		return e
	}
	why := *p.died
	why.Outcome = e.Outcome
	return &why
}

func (p *Page) close() { closeTab(p.tab) }

// settled waits until what the page's only call started has reached the site, within ctx.
func (p *Page) settled(ctx context.Context) {
	if p.isDead() {
		return
	}
	for _, request := range p.tab.(Settler).Settle(ctx) {
		p.log.Warn("page: it is closed while a request that a call started is under way", "request", request)
	}
}

// isDead reports whether the page is gone for good.
func (p *Page) isDead() bool { return isClosed(p.dead) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closeTab closes a tab within a bound of its own.
func closeTab(t Tab) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = t.Close(ctx)
}
