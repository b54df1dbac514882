package session

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Acquire returns a page for one call. The error is an *bridge.Error.
func (m *Manager) Acquire(ctx context.Context, ref bridge.Ref) (bridge.Source, error) {
	s, err := m.sites.Load().of(ref)
	if err != nil {
		return nil, err
	}
	options, err := readPageOptions(s, ref)
	if err != nil {
		return nil, err
	}
	if s.shares(ref) {
		return m.acquireShared(ctx, s, ref, options)
	}
	l, err := m.acquire(ctx, s, ref, options)
	if err != nil {
		return nil, err
	}
	if ref.Session == "" {
		l.another = func(ctx context.Context) (*lease, error) { return m.acquire(ctx, s, ref, options) }
	}
	return l, nil
}

// maxShared bounds the calls that run on a shared page at once.
const maxShared = 64

// acquireShared returns the page that all calls share.
func (m *Manager) acquireShared(ctx context.Context, s *site, ref bridge.Ref,
	options *pageOptions) (bridge.Source, error) {
	switch {
	case options != nil && s.OnePage:
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
			"This site has one page, in a browser that a person uses: config changes nothing of it.")
	case options != nil:
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
			"This site's calls share one page. Config that changes a page needs a sessionId.")
	}
	page := s.page.Load()
	if page == nil || page.isDead() || page.isElsewhere() {
		waiting, cancel := bound(ctx, ref.Patience, nil)
		defer cancel()
		var err error
		if page, err = sharedPage(waiting, m, s); err != nil {
			return nil, err
		}
	}
	if e := page.busyAsking(ref.Caller.Name); e != nil {
		return nil, e
	}
	if e := s.shared.enter(maxShared, "Too many calls run on the page that all share."); e != nil {
		return nil, e
	}
	var shared bool
	if m.with(func(st *state) { shared = st.share(s) }); !shared {
		s.shared.leave()
		return nil, s.left()
	}
	return &lease{Page: page, manager: m, release: func(bool) {
		s.shared.leave()
		m.with(func(st *state) { st.leased--; s.letGo(st, 1); st.checkIdle() })
	}}, nil
}

// acquire waits for a page of the caller's own.
func (m *Manager) acquire(ctx context.Context, s *site, ref bridge.Ref,
	options *pageOptions) (*lease, error) {
	w := &waiter{ctx: ctx, site: s, key: keyOf(ref), caller: ref.Caller, options: options,
		beside: ref.Beside, until: ref.Until, grant: make(chan grant, 1)}
	var idle bool
	m.with(func(st *state) { idle = st.leaseIdle(w) })
	if idle {
		return m.leaseOf(<-w.grant, options), nil
	}
	ctx, cancel := bound(ctx, ref.Patience, nil)
	defer cancel()
	w.ctx = ctx
	m.with(func(st *state) { st.acquire(w) })
	if ref.Turn > 0 {
		timer := time.AfterFunc(ref.Turn, func() { m.with(func(st *state) { st.overdue(w) }) })
		defer timer.Stop()
	}
	select {
	case g := <-w.grant:
		switch {
		case g.err != nil:
			return nil, g.err
		case ctx.Err() == nil:
			return m.leaseOf(g, options), nil
		}
		w.grant <- g // it came in the moment in which w gave up
	case <-ctx.Done():
	}
	ended := waitEnded(ctx)
	m.with(func(st *state) {
		if retry := st.forget(w); ended.Reason == bridge.Overload {
			ended.Retry = retry
		}
	})
	return nil, ended
}

func (m *Manager) leaseOf(g grant, options *pageOptions) *lease {
	if g.ses != nil {
		options = g.ses.options
	}
	if g.ses == nil { // else others may run on it
		g.page.once = true
	}
	l := &lease{Page: g.page, opened: g.opened, config: options.given(), manager: m, ses: g.ses}
	l.release = func(reported bool) { m.with(func(st *state) { st.release(g, reported, l.until) }) }
	return l
}

// leaseIdle leases a session that is idle: the usual case, in which the call does not
// wait.
func (st *state) leaseIdle(w *waiter) bool {
	ses := st.sessions[w.key]
	if w.key.id == "" || ses == nil || ses.holders > 0 || st.draining || w.site.retired || w.caller.IsRevoked() ||
		!w.options.fits(ses.options) {
		return false
	}
	st.lease(ses, w)
	return true
}

// forget removes w, which gave up, from its queue, and releases a page that it got at
// the same moment. It returns what dequeue returns.
func (st *state) forget(w *waiter) (retry time.Duration) {
	select {
	case g := <-w.grant:
		if g.err == nil {
			st.release(g, false, time.Time{})
		}
		return 0
	default:
	}
	retry, _ = st.dequeue(w)
	return retry
}

// overdue refuses w when its turn did not come in time.
func (st *state) overdue(w *waiter) {
	if retry, waited := st.dequeue(w); waited {
		e := overload()
		e.Retry = retry
		w.grant <- grant{err: e}
	}
}

// dequeue takes w out of the queue that it waits in, and reports whether it
// waited in one and when those who still wait there have been served.
func (st *state) dequeue(w *waiter) (retry time.Duration, waited bool) {
	if st.queue.drop(w) {
		return st.queue.pace.wait(st.queue.n), true
	}
	if ses := st.sessions[w.key]; ses != nil && ses.waiting.drop(w) {
		return ses.pace.wait(len(ses.waiting)), true
	}
	return 0, false
}

// share counts a call on the shared page, unless no new calls are taken.
func (st *state) share(s *site) bool {
	if st.draining || s.retired {
		return false
	}
	st.leased++
	s.using++
	return true
}

// lease is a page that one call holds.
type lease struct {
	*Page
	opened   bool   // for this call
	config   string // with which it was
	manager  *Manager
	ses      *session // nil for a page without a session
	release  func(reported bool)
	reported bool      // the call's own error said that the page is lost
	until    time.Time // the end of the call's time
	// another returns a fresh page in the place of one that was dead on arrival;
	// nil where a page has state.
	another  func(context.Context) (*lease, error)
	watchers watchers
}

// Invoke runs the tool, and notes when its error reported the page's death. A spare page
// may have died unseen before anything was dispatched to it; then another one takes its
// place, once.
func (l *lease) Invoke(ctx context.Context, inv bridge.Invocation) bridge.Step {
	if a := inv.Agreed; a != nil && (a.Document == bridge.NewPage && !l.opened || a.Config != l.config) {
		return otherDocument(inv.Tool).Step()
	}
	began, patience := time.Now(), inv.Patience
	l.until = began.Add(inv.Timeout)
	step := l.Page.Invoke(ctx, inv)
	if step.Err != nil && l.another != nil && deadOnArrival(step.Err) {
		l.release(false)
		l.release = func(bool) {}
		waiting, cancel := bound(ctx, rest(patience, began), nil)
		next, failed := l.another(waiting)
		cancel()
		if failed != nil {
			return bridge.AsError(failed).Step()
		}
		l.Page, l.release, next.until = next.Page, next.release, l.until
		inv.Patience = rest(patience, began)
		if e := inv.Refused(ctx); e != nil {
			return e.Step()
		}
		step = l.Page.Invoke(ctx, inv)
	}
	return l.noted(step)
}

// noted notes how a call ended, also after a question. While a page asks, calls that
// wait for its session are refused.
func (l *lease) noted(step bridge.Step) bridge.Step {
	switch {
	case step.Pause != nil:
		goOn := step.Pause.Continue
		step.Pause.Continue = func(ctx context.Context, a *bridge.Answer) bridge.Step { return l.noted(goOn(ctx, a)) }
		if l.ses == nil {
			break
		}
		if e := l.busyAsking(l.ses.key.caller); e != nil {
			l.manager.with(func(st *state) { st.refuseWaiting(l.ses, e) })
		}
	case step.Err != nil:
		switch step.Err.Reason {
		case bridge.PageCrashed, bridge.BrowserLost:
			l.reported = true
		case bridge.PageNavigated: // without end, so that the page was closed
			l.reported = l.isDead()
		default: // the page lives
		}
	}
	return step
}

// deadOnArrival reports whether nothing was dispatched because the page or its
// browser died.
func deadOnArrival(e *bridge.Error) bool {
	return e.Outcome == bridge.NotRun &&
		(e.Reason == bridge.PageCrashed || e.Reason == bridge.BrowserLost)
}

// Release returns the page. Nobody sees it for this call any more.
func (l *lease) Release() {
	l.watchers.end()
	l.release(l.reported)
}
