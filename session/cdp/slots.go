package cdp

import (
	"context"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// slot is a place for one browser: the one that the engine starts, or that of an endpoint.
type slot struct {
	name    string // of the endpoint; "" for the only one
	connect func(ctx context.Context) (*instance, error)
	// reattach says that tabs may outlive this process, if the browser lets them.
	reattach bool
	max      int           // tabs at once; zero means any number
	recycle  int           // tabs after which another browser takes over; zero means never
	age      time.Duration // after which one does; zero means any
	// startTime bounds how long a browser may take to start, or to let us in; zero means 20 s.
	startTime time.Duration
	// first and last bound the time between starts that failed; zero means 100 ms, and 5 s.
	first, last time.Duration

	// These are guarded by the engine.
	current *instance     // for new tabs
	opening bool          // a browser starts
	failed  time.Time     // when the last start failed
	pause   time.Duration // before the next one
	lastErr error         // of the last start
	open    int           // tabs now, and those that open, in all its browsers
	version string        // of the newest browser
	counts  Counts
	losses  []bridge.LostBrowser // the newest
}

// Usual values of slots.
const (
	usualRecycle = 200
	usualAge     = 24 * time.Hour
	startTime    = 20 * time.Second
	firstPause   = 100 * time.Millisecond
	lastPause    = 5 * time.Second
)

// add adds a slot.
func (e *Engine) add(s *slot) *slot {
	if s.startTime == 0 {
		s.startTime = startTime
	}
	if s.first == 0 {
		s.first, s.last = firstPause, lastPause
	}
	e.slots = append(e.slots, s)
	return s
}

// runs returns the browser of a slot; nil where none runs.
func (s *slot) runs() *instance {
	if s.current != nil && s.current.alive() {
		return s.current
	}
	return nil
}

// Room returns how many tabs there are places for now, with those that are open: endpoints that are left
// alone have none. It is for engines whose endpoints all have a Max.
func (e *Engine) Room() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.slots {
		if s.runs() != nil || !s.rests() {
			n += s.max
		}
	}
	return n
}

// OnRoom has changed called when Room may return something else. Call it before the first tab.
func (e *Engine) OnRoom(changed func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed = changed
}

// rests reports whether the slot is left alone, because it failed a moment ago.
func (s *slot) rests() bool { return time.Since(s.failed) < s.pause }

// isFull reports whether it has no place for another tab.
func (s *slot) isFull() bool { return s.max > 0 && s.open >= s.max }

// hasMore reports whether a greater share of its places is taken than of another's.
func (s *slot) hasMore(than *slot) bool { return s.open*max(1, than.max) > than.open*max(1, s.max) }

// tell wakes whoever waits for a browser. Called with e.mu held.
func (e *Engine) tell() {
	close(e.news)
	e.news = make(chan struct{})
	if e.changed != nil {
		go e.changed()
	}
}

// instance returns a browser, starting one when none runs. With forTab a tab is reserved in it. An
// endpoint that takes its time keeps nobody from the others.
func (e *Engine) instance(ctx context.Context, forTab bool) (*instance, error) {
	return e.await(ctx, e.slots, forTab)
}

// at returns the browser of an endpoint, and connects to it where we are not. With forTab a tab is
// reserved in it.
func (e *Engine) at(ctx context.Context, name string, forTab bool) (*instance, error) {
	for i, s := range e.slots {
		if s.name == name {
			return e.await(ctx, e.slots[i:i+1], forTab)
		}
	}
	return nil, errors.New("there is no endpoint of that name")
}

// await returns a browser of one of the slots, of which each is tried once.
func (e *Engine) await(ctx context.Context, of []*slot, forTab bool) (*instance, error) {
	began := time.Now()
	late := time.NewTimer(e.times.place)
	defer late.Stop()
	for {
		e.mu.Lock()
		b, err := e.pick(of, began, forTab)
		news := e.news
		e.mu.Unlock()
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-news:
		case <-late.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pick returns the running browser with the smallest share, and has those start that do not run, and
// did not fail since began. It returns neither a browser nor an error while one starts, or may get a place.
// Called with e.mu held.
func (e *Engine) pick(of []*slot, began time.Time, forTab bool) (*instance, error) {
	if e.closed {
		return nil, errOurs
	}
	var best *slot
	var failure error
	starts, full := false, false
	for _, s := range of {
		if b := s.runs(); b != nil && forTab && s.tooOld(b) {
			e.log.Info("browser: recycled", "age", time.Since(b.began))
			e.replace(b)
		}
		switch b := s.runs(); {
		case b != nil && forTab && s.isFull():
			full = true
		case b != nil:
			if best == nil || best.hasMore(s) {
				best = s
			}
		case s.opening:
			starts = true
		case s.rests() || s.failed.After(began): // everybody gets the answer of a moment ago
			if failure == nil {
				failure = s.lastErr
			}
		default:
			e.begin(s)
			starts = true
		}
	}
	switch {
	case best != nil:
		b := best.current
		if forTab {
			e.reserve(b)
		}
		return b, nil
	case starts, full && time.Since(began) < e.times.place:
		return nil, nil //nolint:nilnil // it is waited for
	case full:
		return nil, noPlace()
	}
	return nil, failure
}

// begin has a browser start, unless one runs or starts. Called with e.mu held.
func (e *Engine) begin(s *slot) {
	if !e.closed && !s.opening && s.runs() == nil {
		s.opening = true
		go e.start(s)
	}
}

// start starts a browser and tells who waits. One of a pool that failed is tried again after its rest.
func (e *Engine) start(s *slot) {
	ctx, cancel := context.WithTimeout(e.life, s.startTime)
	defer cancel()
	b, err := s.connect(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.tell()
	s.opening = false
	s.lastErr = err
	if err != nil {
		s.counts.Failed++
		s.failed = time.Now()
		s.pause = s.pauseAfter(err)
		e.log.Error("browser: not started", append(s.named(), "error", err)...)
		if s.max > 0 {
			time.AfterFunc(s.pause, func() {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.begin(s)
			})
		}
		return
	}
	go b.ping(func() { e.logIn(b) })
	go b.weigh(e.heavy)
	s.counts.Started++
	e.log.Info("browser: started", append(s.named(), "version", b.version, "kind", string(b.kind))...)
	s.pause = 0
	b.slot, s.current, s.version, e.version = s, b, b.version, b.version
	e.all = append(e.dropDead(), b)
	if e.closed {
		go e.retire(b)
	}
}

// named returns the name of the endpoint, for the log.
func (s *slot) named() []any {
	if s.name == "" {
		return nil
	}
	return []any{"endpoint", s.name}
}

// reserve counts a tab that is about to open, so that its browser is not closed
// before. Called with e.mu held.
func (e *Engine) reserve(b *instance) {
	b.open++
	b.slot.open++
	b.opened++
	if b.slot.recycle > 0 && b.opened >= b.slot.recycle {
		e.log.Info("browser: recycled", append(b.slot.named(), "tabs", b.opened)...)
		e.replace(b)
	}
}

// replace makes the next tab open in another browser, and tells the tabs of this one. Called
// with e.mu held.
func (e *Engine) replace(b *instance) {
	b.slot.current = nil
	for t := range b.tabs {
		go t.recycled()
	}
	if b.open == 0 {
		go e.retire(b)
	}
}

// tooOld reports whether another browser has to take over from b, because of its age.
func (s *slot) tooOld(b *instance) bool {
	return s.age > 0 && b.opened > 0 && time.Since(b.began) >= s.age
}

// isOpening reports whether a browser starts. Called with e.mu held.
func (e *Engine) isOpening() bool {
	for _, s := range e.slots {
		if s.opening {
			return true
		}
	}
	return false
}

// Down returns why no browser runs that could be had: the error of the last start, when
// that failed everywhere. It is for the log, and not for strangers.
func (e *Engine) Down() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.slots {
		if s.lastErr == nil {
			return nil
		}
	}
	return e.slots[0].lastErr
}
