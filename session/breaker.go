package session

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// breakAfter sets how many pages in a row the site must fail to send until it is left alone.
	breakAfter = 3
	// firstBreak is for how long it is left alone then, and lastBreak for how long at most, after
	// attempts that failed.
	firstBreak, lastBreak = time.Second, 5 * time.Minute
)

// breaker leaves a site alone that cannot be reached, although its catalog page is still open: no
// page is opened for callers until one that is nobody's was. Safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	why      *bridge.Error // it is left alone; nil: it is not
	next     time.Time     // when it is tried again
}

// leftAlone returns why no page of the site is opened now, and when it is tried again; nil where
// pages may be opened.
func (b *breaker) leftAlone() (why *bridge.Error, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why, b.next
}

// note takes how opening a page came out that was opened as for everybody. It reports true when the
// site is left alone from now on.
func (b *breaker) note(err error) (broke bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := unreachable(err); {
	case err == nil:
		b.failures = 0
	case e == nil || b.why != nil:
	default:
		if b.failures++; b.failures >= breakAfter {
			b.why, b.next = e, time.Now().Add(firstBreak)
			return true
		}
	}
	return false
}

// postpone notes that another attempt failed.
func (b *breaker) postpone(next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next = next
}

// mend lets calls open pages again.
func (b *breaker) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures, b.why = 0, nil
}

// unreachable returns the error of a site that could not be reached, and nil for every other one:
// a caller that gave up, a browser that was lost, no memory.
func unreachable(err error) *bridge.Error {
	if err == nil {
		return nil
	}
	if e := bridge.AsError(err); e.Reason == bridge.Unreachable {
		return e
	}
	return nil
}

// DetailNextTry is the detail with the time when a site is tried again that cannot be reached.
const DetailNextTry = "nextTry"

// triedAgain returns the error of a site for callers that come before it is tried again.
func triedAgain(e *bridge.Error, next time.Time) *bridge.Error {
	told := *e
	told.Details = maps.Clone(e.Details)
	told.Retry, told.Outcome = max(minRetry, time.Until(next)), bridge.NotRun
	return told.Detail(DetailNextTry, next.UTC().Format(time.RFC3339))
}

// opensFor opens a page of a site for a caller, unless the site is left alone, and notes how that
// came out where the page is as everybody's: what a caller's own options lead to is nobody else's
// trouble.
func opensFor(ctx context.Context, m *Manager, w *waiter) (*Page, error) {
	if why, next := w.site.breaker.leftAlone(); why != nil {
		e := triedAgain(why, next)
		e.Message += " It is left alone for now. " + bridge.TryAgain(e.Retry)
		return nil, e
	}
	page, err := openOwned(ctx, m, w.site, w.caller.Name, w.options, w.owner, w.site.compiled(), false)
	if w.options == nil && ctx.Err() == nil {
		noteReach(m, w.site, err)
	}
	return page, err
}

// noteReach takes how opening a page of a site came out. The first that finds that the site must be
// left alone begins to try it.
func noteReach(m *Manager, s *site, err error) {
	if !s.breaker.note(err) {
		return
	}
	m.o.Log.Warn("site: left alone, because it cannot be reached", "site", s.Name, "error", err)
	m.background.Go(func() { probe(m, s) }) // ends with the manager
}

// probe tries a site that is left alone, one page at a time, after pauses that grow, until it sends
// one.
func probe(m *Manager, s *site) {
	for pause := firstBreak; s.pause(pause); {
		err := reached(m, s)
		if unreachable(err) == nil && s.life.Err() == nil {
			m.o.Log.Info("site: it can be reached again", "site", s.Name)
			s.breaker.mend()
			m.with(func(st *state) { st.refill(s) })
			return
		}
		pause = min(2*pause, lastBreak)
		s.breaker.postpone(time.Now().Add(pause))
	}
}

// reached opens a page of the site, and closes it. Without a catalog page, which is tried anyway,
// it waits for that.
func reached(m *Manager, s *site) error {
	for changed := s.changes.Next(); s.page.Load() == nil; changed = s.changes.Next() {
		select {
		case <-changed:
		case <-s.life.Done():
			return context.Cause(s.life)
		}
	}
	page, err := m.openPage(s.life, s, "", nil, s.compiled(), false)
	if err == nil {
		page.close()
	}
	return err
}

// NextTry returns when a site is tried again that cannot be reached now, and false for one that
// can.
func NextTry(m *Manager, name string) (next time.Time, down bool) {
	s := m.sites.Load().named[name]
	if s == nil {
		return next, false
	}
	if why, next := s.breaker.leftAlone(); why != nil {
		return next, true
	}
	failure, again := s.failure.Load(), s.again.Load()
	if failure == nil || again == nil || failure.Reason != bridge.Unreachable {
		return next, false
	}
	return *again, true
}
