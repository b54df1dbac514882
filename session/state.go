package session

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// key names a session: another caller's id names another session.
type key struct{ caller, site, id string }

func keyOf(r bridge.Ref) key { return key{r.Caller.Name, r.Site, r.Session} }

// maxSessionQueue bounds the calls that wait for one session's page, and maxBeside
// those that may have it at once because they only read.
const maxSessionQueue, maxBeside = 128, 32

// state belongs to the manager's owner goroutine. Its methods run there.
type state struct {
	manager  *Manager
	live     int            // pages that calls and sessions hold, or are being opened for them
	held     map[string]int // of these, those of each caller that has any
	opening  int            // of these, the ones that are being opened
	active   time.Time      // when a call last began or ended
	closing  int            // pages that are being closed
	leased   int            // calls that hold a page
	queue    queue
	sessions map[key]*session
	tombs    map[key]tomb
	spares   map[*site]*spares
	fresh    map[*Page]held // pages of calls without a session
	draining bool
	leaving  bool // sessions whose pages outlive this process are left to others
	closed   bool
	over     bool // closed, and no page is left
	idle     []func()
}

// session is one caller's page.
type session struct {
	id      string // names it to operators
	key     key
	site    *site
	page    *Page         // nil while it opens
	caller  bridge.Caller // that it was opened for, with their credential
	options *pageOptions  // that the page was opened with
	home    int64         // its epoch in Homes; 0: none
	// lasts says that another process can go on with the page, and attached that this one did.
	lasts, attached bool

	holders int  // calls that hold the page, or wait while it opens
	beside  bool // they only read: others that do may join them
	lost    bool // the error of one of them reported that the page is gone
	evicted bool // its page was closed under the calls that hold it
	uses    int
	calls   int
	created time.Time
	last    time.Time
	expiry  *time.Timer
	waiting waiters
	pace    pace

	watchers watchers // of operators who look at the session

	until <-chan struct{} // ends it; nil is never
	ended bool            // until is closed
}

// spares are warm pages of one site.
type spares struct {
	ready   []*Page
	opening int
	wanted  time.Time   // since when one is missing that no moment was quiet enough for; zero: none is
	later   *time.Timer // looks again
}

// waiter is a call that wants a page.
type waiter struct {
	ctx     context.Context //nolint:containedctx // a waiter is a call that is parked in a queue
	site    *site
	key     key // id is empty for a fresh page
	caller  bridge.Caller
	options *pageOptions
	beside  bool  // it may have the page beside others that may, too
	owner   Owner // of the page that is opened for it
	grant   chan grant

	until <-chan struct{} // ends the session that is opened for it
}

// home is the name of the session that w wants, where one process has it.
func (w *waiter) home(of bridge.Homes) (bridge.SessionName, bool) {
	return bridge.HomeIn(of, bridge.Ref{Site: w.key.site, Session: w.key.id, Caller: w.caller})
}

type grant struct {
	page   *Page
	opened bool // for this call
	ses    *session
	site   *site
	caller string // of a page without a session
	err    error
}

// acquire answers w.grant, now or later.
func (st *state) acquire(w *waiter) {
	if st.draining {
		w.grant <- grant{err: draining()}
		return
	}
	if w.caller.IsRevoked() { // after Revoke nothing else looks
		w.grant <- grant{err: bridge.Revoked()}
		return
	}
	if w.site.retired {
		w.grant <- grant{err: w.site.left()}
		return
	}
	if w.key.id != "" {
		if st.dropTombstone(w.key) {
			w.grant <- grant{err: expired()}
			return
		}
		if ses := st.sessions[w.key]; ses != nil {
			st.join(ses, w)
			return
		}
	}
	if st.room(w.key.caller) {
		st.open(w)
		return
	}
	st.enqueue(w)
}

func expired() *bridge.Error {
	return bridge.Errorf(bridge.SessionExpired, "", bridge.NotRun,
		"The session is gone, with its state. The next call with its id starts a new one.")
}

// join queues w for a session's page, which it gets when its turn comes.
func (st *state) join(ses *session, w *waiter) {
	if !w.options.fits(ses.options) {
		w.grant <- grant{err: otherPage()}
		return
	}
	if ses.page != nil && ses.holders > 0 {
		if e := ses.page.busyAsking(w.key.caller); e != nil {
			w.grant <- grant{err: e}
			return
		}
	}
	if len(ses.waiting) == 0 && ses.admits(w) {
		st.lease(ses, w)
		return
	}
	switch n := len(ses.waiting); {
	case n >= maxSessionQueue:
		w.grant <- grant{err: ses.pace.refused(n, "Too many calls wait for this session.")}
		return
	case n == 0:
		ses.pace.begin(time.Now())
	}
	ses.waiting = append(ses.waiting, w)
}

func (st *state) refuseWaiting(ses *session, err *bridge.Error) {
	for _, w := range ses.waiting.drain() {
		w.grant <- grant{err: err}
	}
}

// admits reports whether w may have the page now, when no call waits for it: no call holds
// it, or all calls that hold it only read, and so does w.
func (ses *session) admits(w *waiter) bool {
	return ses.holders == 0 || ses.page != nil && ses.beside && w.beside && ses.holders < maxBeside
}

func (st *state) lease(ses *session, w *waiter) {
	if ses.holders == 0 {
		ses.beside = w.beside
	}
	ses.holders++
	ses.uses++
	ses.calls++
	if ses.expiry != nil {
		ses.expiry.Stop()
	}
	st.leased++
	ses.site.using++
	st.active = time.Now()
	w.grant <- grant{page: ses.page, ses: ses, site: ses.site}
}

// open takes a spare or opens a page for w, for which there is room.
func (st *state) open(w *waiter) {
	st.hold(w.key.caller, 1)
	var ses *session
	if w.key.id != "" {
		now := time.Now()
		ses = &session{id: rand.Text(), key: w.key, site: w.site, caller: w.caller, options: w.options, created: now,
			last: now, holders: 1, beside: w.beside, until: w.until, pace: newPace(1)}
		st.sessions[w.key] = ses
	}
	st.opening++
	if name, ok := w.home(st.manager.o.Homes); ok {
		m := st.manager
		m.background.Go(func() { m.claim(w, ses, name) }) // ends as openPage does
		return
	}
	st.openOwn(w, ses)
}

// openOwn goes on with open, when no other process has the session.
func (st *state) openOwn(w *waiter, ses *session) {
	if w.options == nil {
		if page := w.site.lendable(); page != nil && ses != nil {
			w.site.lent = page
			st.opened(w, ses, page, nil)
			return
		}
		if page := st.takeSpare(w.site); page != nil {
			st.opened(w, ses, page, nil)
			st.refill(w.site)
			return
		}
	}
	st.makeRoomFor(w.site)
	m := st.manager
	m.background.Go(func() { // ends with openPage, which ends with w's context or the manager
		ctx, cancel := context.WithCancelCause(w.ctx)
		defer context.AfterFunc(w.site.life, func() { cancel(context.Cause(w.site.life)) })()
		page, err := opensFor(ctx, m, w)
		cancel(nil)
		m.with(func(st *state) { st.opened(w, ses, page, err) })
	})
}

// opened ends open: w gets the page, or an error.
func (st *state) opened(w *waiter, ses *session, page *Page, err error) {
	st.opening--
	switch {
	case st.closed:
		err = draining()
	case w.site.retired:
		err = w.site.left()
	case w.caller.IsRevoked():
		err = bridge.Revoked()
	case err == nil && beganAnyway(st, w, ses, page):
		return
	case w.ctx.Err() != nil:
		err = waitEnded(w.ctx)
	}
	if err != nil {
		if page != nil {
			st.close(page)
		}
		st.hold(w.key.caller, -1)
		var further []*waiter
		if ses != nil {
			ses.unname(st)
			further = ses.waiting.drain()
			if ses.home != 0 {
				st.closeSession(ses)
			}
		}
		w.grant <- grant{err: err}
		st.next()
		st.move(further)
		st.checkIdle()
		return
	}
	st.leased++
	w.site.using++
	st.active = time.Now()
	if ses != nil {
		begin(st, ses, page)
	} else if page != w.site.lent {
		st.fresh[page] = held{w.key.caller, time.Now()}
	}
	w.grant <- grant{page: page, opened: page != w.site.lent, ses: ses, site: w.site, caller: w.key.caller}
	if ses != nil {
		st.admit(ses)
	}
}

// move sends the calls that waited for a session that is gone through acquire
// again, after those that waited for its page.
func (st *state) move(further []*waiter) {
	for _, w := range further {
		st.acquire(w)
	}
}

// remove closes a session that no call holds. With a tombstone, the caller's next call
// reports SESSION_EXPIRED, once.
func (st *state) remove(ses *session, tombstone bool) {
	if ses.expiry != nil {
		ses.expiry.Stop()
	}
	ses.unname(st)
	st.manager.changed(ses.key.site)
	othersOf(st.manager)
	st.hold(ses.key.caller, -1)
	if tombstone {
		st.leaveTombstone(ses)
	}
	st.closeSession(ses)
}

// release ends a lease. reported is true when the call's own error said that the page is
// lost; the page itself may not know it yet.
// A page without a session is closed when what its call started is over, at the latest then.
func (st *state) release(g grant, reported bool, until time.Time) {
	st.leased--
	st.active = time.Now()
	if g.ses == nil {
		if !st.closeSettled(g, until) {
			st.hold(g.caller, -1)
			st.close(g.page)
			g.site.letGo(st, 1)
			st.next()
		}
		st.checkIdle()
		return
	}
	ses := g.ses
	ses.holders--
	ses.last = time.Now()
	ses.lost = ses.lost || reported
	var further []*waiter
	switch over := ses.evicted || st.isOver(ses); {
	case ses.holders > 0 && over:
		ses.beside = false // nobody joins the others
	case ses.holders > 0:
		st.admit(ses)
	case ses.evicted:
		st.hold(ses.key.caller, -1)
	case over:
		further = ses.waiting.drain()
		st.remove(ses, !ses.lost && !ses.ended && (!st.closed || ses.page.isDead()))
	default:
		st.handOver(ses)
	}
	g.site.letGo(st, 1)
	st.next()
	st.move(further)
	st.checkIdle()
}

// isOver reports whether a session that became free must end.
func (st *state) isOver(ses *session) bool {
	return ses.lost || ses.ended || st.closed || ses.page.isDead() ||
		ses.last.Sub(ses.created) >= st.manager.o.MaxAge || st.owed(ses)
}

// admit hands a session's page to the calls that wait for it and whose turn it is.
func (st *state) admit(ses *session) {
	for len(ses.waiting) > 0 {
		w := ses.waiting[0]
		left := w.ctx.Err() != nil
		if !left && !ses.admits(w) {
			return
		}
		ses.waiting.drop(w)
		if !left {
			ses.pace.turn(ses.last)
			st.lease(ses, w)
		}
	}
}

// handOver hands the session to a call that waits for it, or starts its idle time.
func (st *state) handOver(ses *session) {
	st.admit(ses)
	if ses.holders > 0 {
		return
	}
	if st.leaving && ses.lasts {
		leave(st, ses)
		st.next()
		return
	}
	m := st.manager
	idle := m.o.FirstIdle
	if ses.uses > 1 {
		idle = m.o.Idle
	}
	idle = min(idle, max(0, m.o.MaxAge-time.Since(ses.created)))
	ses.expiry = time.AfterFunc(idle, func() {
		m.with(func(st *state) {
			if st.sessions[ses.key] == ses && ses.holders == 0 && time.Since(ses.last) >= idle {
				st.remove(ses, true)
				st.next()
			}
		})
	})
}

// asked counts a question about a session's page as a use: the page must still be there when a
// person has answered.
func (st *state) asked(ses *session) {
	ses.uses++
	ses.last = time.Now()
	if ses.holders == 0 {
		ses.expiry.Stop()
		st.handOver(ses)
	}
}

func (st *state) refuseQueued(err *bridge.Error) {
	for _, w := range st.queue.clear() {
		w.grant <- grant{err: err}
	}
	for _, ses := range st.sessions {
		st.refuseWaiting(ses, err)
	}
}

// close ends a page without waiting for it.
func (st *state) close(p *Page) {
	st.closing++
	delete(st.fresh, p)
	m := st.manager
	m.background.Go(func() { // ends within closeTab's bound
		p.close()
		m.with(func(st *state) { st.closing-- })
	})
}

// closeSettled ends the page of one call, which is held until what the call started is over. It
// reports whether the page knows when that is.
func (st *state) closeSettled(g grant, until time.Time) bool {
	if _, ok := g.page.tab.(Settler); !ok {
		return false
	}
	m := st.manager
	m.background.Go(func() { // ends with until or the manager
		ctx, cancel := context.WithDeadline(m.life, until)
		defer cancel()
		g.page.settled(ctx)
		m.with(func(st *state) {
			st.hold(g.caller, -1)
			st.close(g.page)
			g.site.letGo(st, 1)
			st.next()
		})
	})
	return true
}

// ended reports whether there is nothing more to do, ever.
func (st *state) ended() bool {
	return st.closed && st.live == 0 && st.closing == 0 && st.spareCount() == 0
}

func (st *state) whenIdle(f func()) {
	st.idle = append(st.idle, f)
	st.checkIdle()
}

func (st *state) checkIdle() {
	if st.leased > 0 || st.opening > 0 {
		return
	}
	for _, f := range st.idle {
		f()
	}
	st.idle = nil
}

// closeAll closes pages that no call holds; a leased page is closed when it is released.
func (st *state) closeAll() {
	st.closed = true
	for _, ses := range st.sessions {
		switch {
		case ses.holders > 0:
		case st.leaving && ses.lasts && !ses.page.isDead():
			leave(st, ses)
		default:
			st.remove(ses, false)
		}
	}
	for _, s := range st.manager.sites.Load().list {
		st.dropSpares(s)
	}
}
