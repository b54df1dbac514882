package session

import (
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// queue holds the calls that wait for a page. Callers are served in turns, the
// calls of one caller in order.
type queue struct {
	n     int     // calls
	lines []*line // the first has its turn next
	pace  pace
}

// line holds the calls of one caller. It is never empty.
type line struct {
	caller  string
	waiting waiters
}

// place returns where the line of a caller is, or -1.
func (q *queue) place(caller string) int {
	return slices.IndexFunc(q.lines, func(l *line) bool { return l.caller == caller })
}

// push puts w at the end of its caller's line.
func (q *queue) push(w *waiter) {
	if q.n == 0 {
		q.pace.begin(time.Now())
	}
	q.n++
	i := q.place(w.key.caller)
	if i < 0 {
		i = len(q.lines)
		q.lines = append(q.lines, &line{caller: w.key.caller})
	}
	q.lines[i].waiting = append(q.lines[i].waiting, w)
}

// drop takes w out, and reports whether it was in.
func (q *queue) drop(w *waiter) bool {
	i := q.place(w.key.caller)
	if i < 0 || !q.lines[i].waiting.drop(w) {
		return false
	}
	q.n--
	if len(q.lines[i].waiting) == 0 {
		q.lines = slices.Delete(q.lines, i, i+1)
	}
	return true
}

// serve takes w, whose turn it is, out: its caller's next turn comes after those of
// all others.
func (q *queue) serve(w *waiter) {
	i := q.place(w.key.caller)
	l := q.lines[i]
	q.lines = append(slices.Delete(q.lines, i, i+1), l)
	q.drop(w)
	q.pace.turn(time.Now())
}

// displace returns the call that has to go for w when the queue is full: the newest
// of the caller with the longest line, where that makes the lines more equal, or w itself.
func (q *queue) displace(w *waiter) *waiter {
	most, mine := 0, 1
	if i := q.place(w.key.caller); i >= 0 {
		mine += len(q.lines[i].waiting)
	}
	newest := w
	for _, l := range q.lines {
		if n := len(l.waiting); n > max(most, mine) {
			most, newest = n, l.waiting[n-1]
		}
	}
	return newest
}

// clear empties the queue and returns all calls that waited in it.
func (q *queue) clear() []*waiter {
	var all []*waiter
	for _, l := range q.lines {
		all = append(all, l.waiting...)
	}
	q.lines, q.n = nil, 0
	return all
}

// waiters holds calls in their order.
type waiters []*waiter

// drain takes all of them out.
func (ws *waiters) drain() waiters {
	all := *ws
	*ws = nil
	return all
}

// drop takes w out, and reports whether it was in.
func (ws *waiters) drop(w *waiter) bool {
	i := slices.Index(*ws, w)
	if i < 0 {
		return false
	}
	*ws = slices.Delete(*ws, i, i+1)
	return true
}

// Bounds of the wait that a refused call is advised.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// firstPace sets how long serving a call is assumed to take before it was observed.
const firstPace = time.Second

// pace says how fast a queue moves: the time from one turn to the next, recently. Only turns
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
	for _, s := range st.manager.sites.Load().list {
		st.refill(s)
	}
}

// serve serves the first call whose turn it is and for which there is room. It reports
// whether the queue got shorter.
func (st *state) serve() bool {
	for _, l := range st.queue.lines {
		w := l.waiting[0]
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
	limit := limitOf(st)
	full := st.held[caller] >= st.manager.o.maxHeld(limit)
	if st.live < limit && !full {
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
	if st.queue.n == 0 || len(ses.waiting) == 0 {
		return false
	}
	for _, n := range st.held {
		if n > st.held[ses.key.caller] {
			return false
		}
	}
	i := slices.IndexFunc(st.queue.lines, func(l *line) bool { return st.held[l.caller] == 0 })
	if i < 0 {
		return false
	}
	l := st.queue.lines[i]
	st.queue.lines = slices.Insert(slices.Delete(st.queue.lines, i, i+1), 0, l)
	return true
}
