package session

import (
	"container/list"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// queue holds the calls that wait for a page. Callers are served in turns, the
// calls of one caller in order.
type queue struct {
	n     int // calls
	lines list.List
	of    map[string]*line
	pace  pace
}

// line is the calls of one caller. It is never empty.
type line struct {
	caller  string
	waiting list.List     // of *waiter
	place   *list.Element // in queue.lines, of which the first has its turn next
}

func (l *line) first() *waiter { return l.waiting.Front().Value.(*waiter) }

// push puts w at the end of its caller's line.
func (q *queue) push(w *waiter) {
	if q.n == 0 {
		q.pace.begin(time.Now())
	}
	q.n++
	l := q.of[w.key.caller]
	if l == nil {
		l = &line{caller: w.key.caller}
		l.place = q.lines.PushBack(l)
		q.of[l.caller] = l
	}
	l.waiting.PushBack(w)
}

// drop takes w out, and reports whether it was in.
func (q *queue) drop(w *waiter) bool {
	l := q.of[w.key.caller]
	if l == nil || !drop(&l.waiting, w) {
		return false
	}
	q.n--
	if l.waiting.Len() == 0 {
		q.lines.Remove(l.place)
		delete(q.of, l.caller)
	}
	return true
}

// serve takes w, whose turn it is, out: its caller's next turn comes after those of
// all others.
func (q *queue) serve(w *waiter) {
	q.lines.MoveToBack(q.of[w.key.caller].place)
	q.drop(w)
	q.pace.turn(time.Now())
}

// displace returns the call that has to go for w when the queue is full: the newest
// of the caller with the longest line, where that makes the lines more equal, or w itself.
func (q *queue) displace(w *waiter) *waiter {
	most, mine := 0, 1
	if l := q.of[w.key.caller]; l != nil {
		mine += l.waiting.Len()
	}
	newest := w
	for e := q.lines.Front(); e != nil; e = e.Next() {
		if l := e.Value.(*line); l.waiting.Len() > max(most, mine) {
			most, newest = l.waiting.Len(), l.waiting.Back().Value.(*waiter)
		}
	}
	return newest
}

// clear empties the queue and returns all calls that waited in it.
func (q *queue) clear() []*waiter {
	var all []*waiter
	for e := q.lines.Front(); e != nil; e = e.Next() {
		all = append(all, drain(&e.Value.(*line).waiting)...)
	}
	q.lines.Init()
	clear(q.of)
	q.n = 0
	return all
}

// drain empties a list of waiters.
func drain(l *list.List) []*waiter {
	var all []*waiter
	for e := l.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*waiter))
	}
	l.Init()
	return all
}

func drop(l *list.List, w *waiter) bool {
	for e := l.Front(); e != nil; e = e.Next() {
		if e.Value == w {
			l.Remove(e)
			return true
		}
	}
	return false
}

// Bounds of the wait that a refused call is advised.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// firstPace is how long serving a call is assumed to take before it was observed.
const firstPace = time.Second

// pace is how fast a queue moves: the time from one turn to the next, recently. Only turns
// of calls that waited count.
type pace struct {
	pages int // that serve the queue
	last  time.Time
	every time.Duration
}

func newPace(pages int) pace { return pace{pages: pages, every: firstPace / time.Duration(pages)} }

// begin notes that a call waits from now on.
func (p *pace) begin(now time.Time) { p.last = now }

// turn notes that a call that waited was served.
func (p *pace) turn(now time.Time) {
	p.every += (now.Sub(p.last) - p.every) / 8
	p.last = now
}

// wait estimates how long n turns take. When none came for long, turns have become
// slower than they were: no page was free in all that time.
func (p *pace) wait(n int) time.Duration {
	every := max(p.every, time.Since(p.last)/time.Duration(p.pages))
	return min(max(time.Duration(n)*every, minRetry), maxRetry)
}

// refused is the error that too many calls wait. It says when to repeat: when the calls
// that wait now have been served.
func (p *pace) refused(n int, text string) *bridge.Error {
	wait := p.wait(n)
	e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "%s %s", text, bridge.TryAgain(wait))
	e.Retry = wait
	return e
}

// enqueue puts w into the queue. When that is full, w or a call of another is refused.
func (st *state) enqueue(w *waiter) {
	if st.queue.n >= st.manager.o.Queue {
		out := st.queue.displace(w)
		out.grant <- grant{err: st.queue.pace.refused(st.queue.n,
			"Too many calls wait for a page.")}
		if out == w {
			return
		}
		st.queue.drop(out)
	}
	st.queue.push(w)
}

// next serves the queue while there is room.
func (st *state) next() {
	for st.serve() {
	}
	if st.queue.n > 0 {
		return
	}
	for _, s := range st.manager.sites {
		st.refill(s)
	}
}

// serve serves the first call whose turn it is and for which there is room. It reports
// whether the queue got shorter.
func (st *state) serve() bool {
	for e := st.queue.lines.Front(); e != nil; e = e.Next() {
		w := e.Value.(*line).first()
		ses := st.sessions[w.key]
		switch {
		case w.ctx.Err() != nil:
			st.queue.drop(w)
		case w.key.id != "" && ses != nil:
			st.queue.drop(w)
			st.join(ses, w)
		case st.room(w.key.caller):
			st.queue.serve(w)
			st.open(w)
		default:
			continue
		}
		return true
	}
	return false
}

// hold counts the pages of a caller, and of all.
func (st *state) hold(caller string, n int) {
	st.live += n
	if st.held[caller] += n; st.held[caller] == 0 {
		delete(st.held, caller)
	}
}

// room reports whether one more page of the caller may live, and closes an idle one for
// it where it must.
func (st *state) room(caller string) bool {
	full := st.held[caller] >= st.manager.o.maxHeld()
	if st.live < st.manager.o.MaxSessions && !full {
		return true
	}
	var victim *session
	for _, s := range st.sessions {
		if s.holders > 0 || s.page == nil || !st.yields(s, caller) || full && s.key.caller != caller {
			continue
		}
		if victim == nil || st.evictBefore(s, victim) {
			victim = s
		}
	}
	if victim == nil {
		return false
	}
	st.remove(victim, true)
	return true
}

// yields reports whether an idle session may be closed for a call of the caller: when it
// is the caller's own, when the caller holds no page, or when the session's caller holds so
// many more pages that closing one makes both more equal. So no caller loses a page to one
// that holds as many.
func (st *state) yields(s *session, caller string) bool {
	mine := st.held[caller]
	return s.key.caller == caller || mine == 0 || st.held[s.key.caller] > mine+1
}

// evictBefore orders idle sessions: single-use ones first, then those of the
// caller who holds most pages, then the least recently used.
func (st *state) evictBefore(a, b *session) bool {
	single := a.uses <= 1
	heldA, heldB := st.held[a.key.caller], st.held[b.key.caller]
	switch {
	case single != (b.uses <= 1):
		return single
	case !single && heldA != heldB:
		return heldA > heldB
	}
	return a.last.Before(b.last)
}

// owed reports whether a session that became free, and for which further calls wait, must
// be closed: its caller holds most pages, and another caller waits that holds none, whose
// turn is next. Otherwise a caller that keeps every session busy would keep every page for
// ever.
func (st *state) owed(ses *session) bool {
	if st.queue.n == 0 || ses.waiting.Len() == 0 {
		return false
	}
	for _, n := range st.held {
		if n > st.held[ses.key.caller] {
			return false
		}
	}
	for e := st.queue.lines.Front(); e != nil; e = e.Next() {
		if st.held[e.Value.(*line).caller] == 0 {
			st.queue.lines.MoveToFront(e)
			return true
		}
	}
	return false
}
