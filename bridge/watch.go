package bridge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Interest says what to watch.
type Interest struct {
	// Caller bounds the events to the sites that it may know of.
	Caller Caller
	// Tools asks for changes of tool lists, Runs for what calls that ask, or that
	// asked, come to, and Calls for each stage of all calls.
	Tools, Runs, Calls bool
	// Every gathers changes for that long before it reports them, so that a short call is one event,
	// and costs less. Zero reports at once.
	Every time.Duration
	// Sessions asks for an event when a session was opened or closed.
	Sessions bool

	run *Run // only this call
}

// EventKind names the subject of an Event.
type EventKind string

// The kinds of events.
const (
	// Snapshot comes first, and again where the reader was too slow. It replaces all
	// events before it.
	Snapshot EventKind = "snapshot"
	// ToolsChanged says that a tool list of Site, or of a session there, may have
	// become another.
	ToolsChanged EventKind = "tools"
	// RunChanged says what became of a call.
	RunChanged EventKind = "run"
)

// Stage says how far a call is.
type Stage string

// The stages of a call.
const (
	// StageQueued: it is checked, or waits for its page.
	StageQueued Stage = "queued"
	// StageAsked: it waits for a person.
	StageAsked Stage = "asked"
	// StageRuns: it was dispatched.
	StageRuns Stage = "runs"
	// StageEnded: it has an outcome.
	StageEnded Stage = "ended"
)

// Event is something that happened.
type Event struct {
	Kind EventKind
	Site string
	// Runs holds the one call of RunChanged. Of a Snapshot it holds all that ask, and, with
	// Interest.Calls, all that are not over.
	Runs []RunState
	// Seq numbers the events of a watch, from 1.
	Seq int64
}

// RunState is a call as a watcher sees it.
type RunState struct {
	// Run numbers the call in this process.
	Run int64
	// Question is the call's open question; nil while it runs.
	Question *OpenQuestion
	// Pen is the name of the person who holds the pen (see Live); empty is nobody.
	Pen string
	// Over is true when the call has ended.
	Over bool
	// Call is the call's own id, Session its caller's name for its state.
	Call, Site, Tool, Caller, Session string
	Stage                             Stage
	// Began says when the call came, and At when it got to the stage, or was seen there.
	Began, At time.Time
	// Outcome is "ok" or that of the error, Code and Reason those of the error. They are empty
	// before the end.
	Outcome, Code, Reason string

	Facts
}

// Watch reports changes until ctx ends; then the channel is closed. A Snapshot comes
// first. Several changes of one call while its reader is slow become one event, with the
// newest state; a reader that is slower than that gets another Snapshot.
func (b *Bridge) Watch(ctx context.Context, what Interest) <-chan Event {
	w := &watcher{bridge: b, what: what, out: make(chan Event), wake: make(chan struct{}, 1),
		behind: true}
	b.watchers.add(w)
	w.kick()
	go w.tell(ctx)
	return w.out
}

// watched tells the watchers that something about a call that asks, or asked, may have changed.
func (ws *watchers) watched(r *Run) {
	ws.each(func(w *watcher) {
		if w.what.run == r || w.what.run == nil && (w.what.Runs || w.what.Calls) && w.what.Caller.Sees(r.pass.call.Site) {
			w.note(r, "")
		}
	})
}

// moved tells those who watch all calls that a call got to another stage.
func (ws *watchers) moved(r *Run) {
	if ws.calls.Load() == 0 || r.pass.call.Steps != nil {
		return
	}
	ws.each(func(w *watcher) {
		if w.what.Calls && w.what.Caller.Sees(r.pass.call.Site) {
			w.note(r, "")
		}
	})
}

// toolsChanged tells the watchers that a list of the site may have changed.
func toolsChanged(b *Bridge, site string) {
	if s := b.pipe.sites.Load().named[site]; s != nil {
		s.forgetLater(b.pipe.router)
	}
	b.watchers.each(func(w *watcher) {
		if w.what.Tools && w.what.Caller.Sees(site) {
			w.note(nil, site)
		}
	})
}

type watchers struct {
	count atomic.Int32
	calls atomic.Int32 // of those, with Interest.Calls
	mu    sync.Mutex
	all   map[*watcher]struct{}
}

func (ws *watchers) add(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = map[*watcher]struct{}{}
	}
	ws.all[w] = struct{}{}
	ws.count.Add(1)
	if w.what.Calls {
		ws.calls.Add(1)
	}
}

func (ws *watchers) remove(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
	ws.count.Add(-1)
	if w.what.Calls {
		ws.calls.Add(-1)
	}
}

func (ws *watchers) each(f func(*watcher)) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		f(w)
	}
}

// maxNoted bounds what a reader is behind with, and maxCallsNoted one who watches all calls.
const maxNoted, maxCallsNoted = 64, 8192

type watcher struct {
	bridge *Bridge
	what   Interest
	out    chan Event
	wake   chan struct{}

	seq int64 // of the goroutine of tell

	mu     sync.Mutex
	behind bool // it needs a snapshot
	runs   []*Run
	noted  map[*Run]bool // those of runs
	sites  []string
	// sessions is true when there are others than the reader knows.
	sessions bool
}

// note remembers that a call or a site changed, until the reader takes the event.
func (w *watcher) note(r *Run, site string) {
	most := maxNoted
	if w.what.Calls {
		most = maxCallsNoted
	}
	w.mu.Lock()
	switch {
	case w.behind && !w.what.Calls: // the snapshot has it, but for calls that ended
	case len(w.runs)+len(w.sites) >= most:
		w.behind, w.runs, w.noted, w.sites = true, nil, nil, nil
	case r != nil && !w.noted[r]:
		w.runs = append(w.runs, r)
		if w.noted == nil {
			w.noted = map[*Run]bool{}
		}
		w.noted[r] = true
	case r == nil && !slices.Contains(w.sites, site):
		w.sites = append(w.sites, site)
	}
	w.mu.Unlock()
	w.kick()
}

func (w *watcher) kick() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// tell sends the events to the reader, until ctx ends.
func (w *watcher) tell(ctx context.Context) {
	defer close(w.out)
	defer w.bridge.watchers.remove(w)
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		if w.what.Every > 0 && !w.rest(ctx) {
			return
		}
		for _, ev := range w.news() {
			w.seq++
			ev.Seq = w.seq
			select {
			case w.out <- ev:
			case <-ctx.Done():
				return
			}
		}
	}
}

// rest waits while changes are gathered, and reports whether the watch goes on.
func (w *watcher) rest(ctx context.Context) bool {
	timer := time.NewTimer(w.what.Every)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// news returns the events that the reader has not got yet, with the state of now.
func (w *watcher) news() []Event {
	w.mu.Lock()
	behind, runs, sites, sessions := w.behind, w.runs, w.sites, w.sessions
	w.behind, w.runs, w.noted, w.sites, w.sessions = false, nil, nil, nil, false
	w.mu.Unlock()
	var events []Event
	if behind {
		events = append(events, Event{Kind: Snapshot, Runs: w.asking()})
	}
	if sessions {
		events = append(events, Event{Kind: SessionsChanged})
	}
	for _, site := range sites {
		events = append(events, Event{Kind: ToolsChanged, Site: site})
	}
	for _, r := range runs {
		events = append(events, Event{Kind: RunChanged, Site: r.pass.call.Site,
			Runs: []RunState{r.state()}})
	}
	return events
}

// asking returns the calls with an open question, the oldest question first.
func (w *watcher) asking() []RunState {
	if w.what.run != nil {
		return []RunState{w.what.run.state()}
	}
	var of []*Run
	switch {
	case w.what.Calls:
		of = w.bridge.runs.every()
	case w.what.Runs:
		of = w.bridge.runs.under(byQuestion)
	}
	var all []RunState
	for _, r := range of {
		if s := r.state(); !s.Over && (s.Question != nil || w.what.Calls && r.entered.Load() && r.pass.call.Steps == nil) && w.what.Caller.Sees(r.pass.call.Site) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b RunState) int { return cmp.Or(a.since().Compare(b.since()), cmp.Compare(a.Run, b.Run)) })
	return all
}

// since says since when a person is asked, or else when the call began.
func (s *RunState) since() time.Time {
	if s.Question != nil {
		return s.Question.Since
	}
	return s.Began
}

// state returns the call as a watcher sees it.
func (r *Run) state() RunState {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := &r.pass.call
	s := RunState{Run: r.number, Question: r.openQuestion(), Over: r.done,
		Call: call.ID, Site: call.Site, Tool: cmp.Or(r.facts.tool, r.named, call.Tool), Caller: call.Caller.Name, Session: call.Session,
		Stage: StageQueued, Began: r.pass.started, At: r.pass.bridge.pipe.now(), Facts: r.facts}
	if r.pen != nil {
		s.Pen = r.pen.by.Name
	}
	switch {
	case r.done:
		s.Stage, s.Outcome = StageEnded, "ok"
		if !s.Ended.IsZero() {
			s.At = s.Ended
		}
		if e := r.result.Err; e != nil {
			s.Outcome, s.Code, s.Reason = string(e.Outcome), string(e.Code), string(e.Reason)
		}
	case s.Question != nil:
		s.Stage = StageAsked
	case r.ran.Load():
		s.Stage = StageRuns
	}
	return s
}

// Inbox collects the open questions from the events of a watch. The zero value is empty.
// It is not safe for concurrent use.
type Inbox struct{ byRun map[int64]OpenQuestion }

// Take takes an event, and reports whether the questions may have changed.
func (in *Inbox) Take(ev Event) bool {
	if ev.Kind == Snapshot || in.byRun == nil {
		in.byRun = map[int64]OpenQuestion{}
	}
	for _, s := range ev.Runs {
		if s.Question != nil {
			in.byRun[s.Run] = *s.Question
		} else {
			delete(in.byRun, s.Run)
		}
	}
	return ev.Kind != ToolsChanged && ev.Kind != SessionsChanged
}

// Questions returns the open questions, the oldest first.
func (in *Inbox) Questions() []OpenQuestion {
	list := make([]OpenQuestion, 0, len(in.byRun))
	list = slices.AppendSeq(list, maps.Values(in.byRun))
	slices.SortFunc(list, func(x, y OpenQuestion) int {
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.ID, y.ID))
	})
	return list
}
