package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/trace"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport/console"
)

// What is recorded and kept, in memory only. A recording of a page has at most 2,000 messages and 2,000
// requests, of 4 MiB each; those of calls share the bytes of their session's.
const (
	recordFor     = 10 * time.Minute // the page of a session
	keepFor       = time.Hour        // a recording that is over
	maxRecorded   = 4                // sessions, and as many calls at once
	maxKeptCalls  = 50
	maxKeptBytes  = 32 << 20 // of calls, with their pictures
	maxPicture    = 2 << 20
	maxSteps      = 100 // questions and lines of progress, of a call
	maxConcealed  = 1000
	maxSecretText = 256 << 10 // bytes of what is concealed in a recording
	pictureTime   = time.Second
	recordingTime = 2 * time.Second // to begin
)

// Traces records the pages of calls and of sessions, for operators, where somebody asked for it. It is
// safe for concurrent use.
type Traces struct {
	app *App

	watched atomic.Int32 // sessions that are recorded now: without one, calls cost nothing

	mu       sync.Mutex
	sessions []*recordedSession // the oldest first
	calls    []*recordedCall    // the oldest first
	bytes    int                // of calls
	busy     int                // calls that are recorded by themselves now
}

var (
	_ bridge.Recorder = (*Traces)(nil)
	_ console.Traces  = (*Traces)(nil)
)

// recordedSession is a recording of the page of a session. What changes is behind the lock of Traces.
type recordedSession struct {
	bridge.SessionState
	session.Recording

	began, until time.Time
	over         bool
	secrets      []string // of the calls in it
	secretBytes  int
	full         bool // more secrets than are kept: nobody reads it
	stop         *time.Timer
}

// recordedCall is a recording of a call's page, from before the tool ran until the call left the page.
type recordedCall struct {
	traces    *Traces
	id, site  string
	page      bridge.Source
	on        session.Recording
	of        *recordedSession // nil: the call has a recording of its own
	from      mark
	secrets   []string
	began     time.Time
	ended     time.Time
	over      sync.Once
	problem   string // why nothing of the page is there
	seen      session.Traced
	pictures  [2]*trace.Picture // before and after
	following sync.Mutex        // holds the next two
	questions []*trace.Action
	lines     []progress
}

// progress is a line about how far a result had come.
type progress struct {
	at   time.Time
	text string
}

// mark counts what a recording had.
type mark struct{ messages, requests int }

// Record implements bridge.Recorder.
func (t *Traces) Record(ctx context.Context, c *bridge.RecordedCall) bridge.Recording {
	if !c.Record && t.watched.Load() == 0 {
		return nil
	}
	of := t.recording(c.Call)
	if of == nil && !c.Record {
		return nil
	}
	x := &recordedCall{traces: t, id: c.ID, site: c.Site, page: c.Page, of: of, secrets: c.Conceal(), began: time.Now()}
	bounded, cancel := context.WithTimeout(ctx, recordingTime)
	defer cancel()
	if of != nil {
		t.conceal(of, x.secrets)
		x.on = of.Recording
		before := x.on.Traced(bounded)
		x.from = mark{len(before.Messages), len(before.Requests)}
	} else {
		x.begin(bounded)
	}
	x.picture(ctx, 0)
	return x
}

// recording returns the recording of the session that a call runs in, or nil.
func (t *Traces) recording(c *bridge.Call) *recordedSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sessions {
		if !s.over && s.Caller == c.Caller.Name && s.Site == c.Site && s.Session == c.Session {
			return s
		}
	}
	return nil
}

// conceal adds to what nobody may read in the recording of a session.
func (t *Traces) conceal(s *recordedSession, secrets []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range secrets {
		if slices.Contains(s.secrets, one) {
			continue
		}
		s.secrets = append(s.secrets, one)
		s.secretBytes += len(one)
	}
	s.full = s.full || len(s.secrets) > maxConcealed || s.secretBytes > maxSecretText
	if s.full {
		s.secrets = nil
	}
}

// begin records the page for this call alone.
func (x *recordedCall) begin(ctx context.Context) {
	page, can := x.page.(session.Recordable)
	if !can {
		x.problem = "The call had no page: the site has an API."
		return
	}
	t := x.traces
	t.mu.Lock()
	full := t.busy >= maxRecorded
	if !full {
		t.busy++
	}
	t.mu.Unlock()
	if full {
		x.problem = fmt.Sprintf("The page was not recorded: %d others were.", maxRecorded)
		return
	}
	on, err := page.Record(ctx)
	if err != nil {
		x.problem = bridge.AsError(err).Message
		t.leave()
		return
	}
	x.on = on
}

func (t *Traces) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
}

// picture takes the picture before the call, or the one after it. A page that shows a dialog, or is
// gone, has none.
func (x *recordedCall) picture(ctx context.Context, i int) {
	page, can := x.page.(bridge.Page)
	if !can {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	if png, err := page.Screenshot(bounded); err == nil && len(png) <= maxPicture {
		x.pictures[i] = &trace.Picture{At: time.Now(), Data: png}
	}
}

// Asked implements bridge.Recording. What the person answered may be a secret: it is not kept.
func (x *recordedCall) Asked(q *bridge.Question) (answered func(*bridge.Answer)) {
	a := &trace.Action{Title: "asked: " + string(q.Kind), Began: time.Now(),
		Params: []trace.Param{{Name: "title", Text: q.Title}, {Name: "detail", Text: q.Detail}}}
	x.following.Lock()
	defer x.following.Unlock()
	if len(x.questions) < maxSteps {
		x.questions = append(x.questions, a)
	}
	return func(given *bridge.Answer) {
		x.following.Lock()
		defer x.following.Unlock()
		said := "declined, or not answered in time"
		switch {
		case given == nil:
			said = "the page went on by itself"
		case given.OK:
			said = "accepted"
		}
		a.Ended, a.Result = time.Now(), []trace.Param{{Name: "answer", Text: said}}
	}
}

// Progressed implements bridge.Recording.
func (x *recordedCall) Progressed(p bridge.Progress) {
	x.following.Lock()
	defer x.following.Unlock()
	if len(x.lines) < maxSteps {
		x.lines = append(x.lines, progress{time.Now(), p.Told().Message})
	}
}

// End implements bridge.Recording.
func (x *recordedCall) End() {
	x.over.Do(func() {
		x.picture(context.Background(), 1)
		if x.on != nil {
			ctx, cancel := context.WithTimeout(context.Background(), pictureTime)
			defer cancel()
			all := x.on.Traced(ctx)
			x.seen = session.Traced{Messages: all.Messages[min(x.from.messages, len(all.Messages)):],
				Requests: all.Requests[min(x.from.requests, len(all.Requests)):], Cut: all.Cut}
		}
		if x.of == nil && x.on != nil {
			x.on.Close()
			x.traces.leave()
		}
		x.ended = time.Now()
		x.traces.keep(x)
	})
}

// size counts the bytes that a call keeps.
func (x *recordedCall) size() (n int) {
	for _, p := range x.pictures {
		if p != nil {
			n += len(p.Data)
		}
	}
	const each = 200 // besides the texts, about
	for i := range x.seen.Messages {
		n += each + len(x.seen.Messages[i].Text) + len(x.seen.Messages[i].URL)
	}
	for i := range x.seen.Requests {
		r := &x.seen.Requests[i]
		n += 2*each + len(r.URL)
		for name, values := range r.Headers {
			n += each + len(name) + len(values[0])
		}
		for name, values := range r.Answered {
			n += each + len(name) + len(values[0])
		}
	}
	for _, q := range x.questions {
		n += each + len(q.Title) + len(q.Params[0].Text) + len(q.Params[1].Text)
	}
	for _, l := range x.lines {
		n += each + len(l.text)
	}
	for _, s := range x.secrets {
		n += len(s)
	}
	return n
}

// keep keeps a call that is over; older ones make room.
func (t *Traces) keep(x *recordedCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, x)
	t.bytes += x.size()
	for len(t.calls) > maxKeptCalls || t.bytes > maxKeptBytes && len(t.calls) > 1 {
		t.bytes -= t.calls[0].size()
		t.calls = slices.Delete(t.calls, 0, 1)
	}
	t.forget(time.Now())
}

// forget drops what was kept for long enough. Called with t.mu held.
func (t *Traces) forget(now time.Time) {
	t.calls = slices.DeleteFunc(t.calls, func(x *recordedCall) bool {
		old := now.Sub(x.ended) > keepFor
		if old {
			t.bytes -= x.size()
		}
		return old
	})
	t.sessions = slices.DeleteFunc(t.sessions, func(s *recordedSession) bool { return s.over && now.Sub(s.until) > keepFor })
}

// RecordSession implements console.Traces. One that is recorded already goes on.
func (t *Traces) RecordSession(ctx context.Context, of bridge.SessionState) error {
	if e := t.mayRecord(of.ID); e != nil {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, recordingTime)
	defer cancel()
	on, err := session.SessionsOf(t.app.Manager).RecordOne(ctx, of.ID)
	if err != nil {
		return bridge.AsError(err)
	}
	now := time.Now()
	s := &recordedSession{SessionState: of, Recording: on, began: now, until: now.Add(recordFor)}
	t.mu.Lock()
	same := slices.ContainsFunc(t.sessions, func(x *recordedSession) bool { return x.ID == of.ID && !x.over })
	if !same {
		t.admit(s)
	}
	t.mu.Unlock()
	if same { // somebody else was faster
		on.Close()
		return nil
	}
	go t.follow(s) // ends with the recording
	return nil
}

// mayRecord refuses a further recording where there are too many.
func (t *Traces) mayRecord(id string) *bridge.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	live := 0
	for _, s := range t.sessions {
		if s.ID != id && !s.over {
			live++
		}
	}
	if live >= maxRecorded {
		return bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "%d sessions are recorded at once at most: end another recording.", maxRecorded)
	}
	return nil
}

// admit takes a recording in; one of the same session that is over, or the oldest that is, makes room.
// Called with t.mu held.
func (t *Traces) admit(s *recordedSession) {
	t.sessions = slices.DeleteFunc(t.sessions, func(x *recordedSession) bool { return x.ID == s.ID })
	if len(t.sessions) >= 2*maxRecorded {
		if i := slices.IndexFunc(t.sessions, func(x *recordedSession) bool { return x.over }); i >= 0 {
			t.sessions = slices.Delete(t.sessions, i, i+1)
		}
	}
	t.sessions = append(t.sessions, s)
	t.watched.Add(1)
	s.stop = time.AfterFunc(recordFor, s.Close)
}

// follow notes when a recording is over, and closes it.
func (t *Traces) follow(s *recordedSession) {
	<-s.Over()
	s.stop.Stop()
	s.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	s.over, s.until = true, time.Now()
	t.watched.Add(-1)
	time.AfterFunc(keepFor+time.Second, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forget(time.Now())
	})
}

// StopSession implements console.Traces.
func (t *Traces) StopSession(id string) {
	if s := t.session(id); s != nil {
		s.Close()
	}
}

func (t *Traces) session(id string) *recordedSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(time.Now())
	for _, s := range t.sessions {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (t *Traces) call(id string) *recordedCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(time.Now())
	for _, x := range slices.Backward(t.calls) {
		if x.id == id {
			return x
		}
	}
	return nil
}

// Call implements console.Traces.
func (t *Traces) Call(id string) (console.Recorded, bool) {
	x := t.call(id)
	if x == nil {
		return console.Recorded{}, false
	}
	r := console.Recorded{Site: x.site, Since: x.began, Until: x.ended, Over: true, HAR: func(context.Context) ([]byte, error) {
		return harOf(t.app.o.Version, "call "+x.id, x.began, &x.seen, schema.Conceal(x.secrets))
	}, Did: x.did}
	for i, into := range []*[]byte{&r.Before, &r.After} {
		if p := x.pictures[i]; p != nil {
			*into = p.Data
		}
	}
	return r, true
}

// Session implements console.Traces.
func (t *Traces) Session(id string) (console.Recorded, bool) {
	s := t.session(id)
	if s == nil {
		return console.Recorded{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return console.Recorded{Site: s.Site, Since: s.began, Until: s.until, Over: s.over, HAR: func(ctx context.Context) ([]byte, error) {
		seen := s.Traced(ctx)
		t.mu.Lock()
		full, hidden := s.full, slices.Clone(s.secrets)
		t.mu.Unlock()
		if full {
			return nil, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The calls of this session had more secrets than can be left out of its recording. Record it anew.")
		}
		return harOf(t.app.o.Version, "session "+s.Session, s.began, seen, schema.Conceal(hidden))
	}}, true
}

// WriteTrace implements console.Traces.
func (t *Traces) WriteTrace(w io.Writer, c *console.TracedCall) error {
	x := t.call(c.Call)
	address, _, _ := t.app.Manager.Page(c.Site)
	if err := trace.Write(w, traceOf(c, x, address)); err != nil {
		return fmt.Errorf("writing the trace of a call: %w", err)
	}
	return nil
}
