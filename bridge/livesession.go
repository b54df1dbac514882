package bridge

import (
	"context"
	"sync"
)

// LiveSession shows an operator the page of a session until the session is closed, whatever calls run
// in it. To look does not give the pen: it is the pen of the call that waits for a person in the page,
// as in Live. It is safe for concurrent use.
type LiveSession struct {
	bridge *Bridge
	by     Caller
	view   View
	id     string
	of     SessionName

	mu   sync.Mutex
	hand *Live // with which its person acts in the page for one call; nil: they did not
}

// ViewSession shows the page of a session, until Close. Errors are *Error: WEBTOOL_NOT_FOUND for a
// session that is not there or whose page cannot be seen, RATE_LIMIT when too many look, FORBIDDEN for
// a credential without the right to answer.
func ViewSession(ctx context.Context, b *Bridge, by Caller, id string) (*LiveSession, error) {
	of, e := sessionFor(b, by, id)
	if e != nil {
		return nil, e
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	view, err := b.sessions.ViewOne(ctx, id)
	if err != nil {
		return nil, AsError(err)
	}
	return &LiveSession{bridge: b, by: by, view: view, id: id, of: of}, nil
}

// PictureOfSession shows the page of a session as it is now, as a PNG. It returns the errors of ViewSession.
func PictureOfSession(ctx context.Context, b *Bridge, by Caller, id string) ([]byte, error) {
	if _, e := sessionFor(b, by, id); e != nil {
		return nil, e
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	return b.sessions.PictureOne(ctx, id)
}

// sessionFor returns the session of that id, for somebody who may see its page.
func sessionFor(b *Bridge, by Caller, id string) (SessionName, *Error) {
	if !by.Can(MayAnswer) {
		return SessionName{}, mayNotAnswer()
	}
	for _, s := range OpenSessions(b, by) {
		if s.ID == id {
			return SessionName{s.Caller, s.Site, s.Session}, nil
		}
	}
	return SessionName{}, sessionGone()
}

func sessionGone() *Error {
	return Errorf(WebtoolNotFound, "", NotRun, "This session is not there any more.")
}

// Frames is View.Frames.
func (l *LiveSession) Frames() <-chan Frame { return l.view.Frames() }

// Watch reports the call that waits for a person in the page, with who holds its pen, each time when
// that changes; a RunState without a question stands for none. It is over when the session is.
func (l *LiveSession) Watch(ctx context.Context) <-chan Event {
	out := make(chan Event)
	go l.tell(l.bridge.Watch(ctx, Interest{Caller: l.by, Runs: true, Sessions: true}), out, ctx.Done())
	return out
}

// tell sends the states to out, until the session is over or done is closed.
func (l *LiveSession) tell(changes <-chan Event, out chan<- Event, done <-chan struct{}) {
	defer close(out)
	type shown struct {
		question, pen string
		mine, over    bool
	}
	var last *shown
	for range changes {
		s := l.now()
		now := shown{pen: s.Pen, mine: l.Mine(), over: s.Over}
		if s.Question != nil {
			now.question = s.Question.ID
		}
		if last != nil && *last == now {
			continue
		}
		last = &now
		select {
		case out <- Event{Kind: RunChanged, Site: l.of.Site, Runs: []RunState{s}}:
		case <-done:
			return
		}
		if s.Over {
			return
		}
	}
}

// now returns the state of the call that waits, or of none.
func (l *LiveSession) now() RunState {
	if _, e := sessionFor(l.bridge, l.by, l.id); e != nil {
		return RunState{Over: true}
	}
	if r := l.waits(); r != nil {
		return r.state()
	}
	return RunState{}
}

// waits returns the call that waits for a person in the page, or nil.
func (l *LiveSession) waits() *Run {
	for _, r := range l.bridge.runs.under(byQuestion) {
		c := &r.pass.call
		if (SessionName{c.Caller.Name, c.Site, c.Session}) != l.of {
			continue
		}
		if q := r.Asks(); q != nil && q.Kind != Approve { // consent is asked without a page
			return r
		}
	}
	return nil
}

// Mine reports whether this view holds the pen of the call that waits.
func (l *LiveSession) Mine() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hand != nil && l.hand.run == l.waits() && l.hand.Mine()
}

// Take takes the pen of the call that waits for a person, and reports whether there is one and nobody
// else holds it.
func (l *LiveSession) Take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.waits()
	if r == nil {
		return false
	}
	if l.hand == nil || l.hand.run != r {
		l.hand = &Live{run: r, by: l.by, view: l.view}
	}
	return l.hand.Take()
}

// Drop lays the pen down, if this view holds it.
func (l *LiveSession) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hand != nil {
		l.hand.Drop()
	}
}

// Act is Live.Act.
func (l *LiveSession) Act(ctx context.Context, in Input) error {
	l.mu.Lock()
	hand := l.hand
	l.mu.Unlock()
	if hand == nil {
		return Errorf(Conflict, "", NotRun, "Take the pen first.")
	}
	return hand.Act(ctx, in)
}

// Text is Live.Text.
func (l *LiveSession) Text(ctx context.Context) (string, error) { return textOf(ctx, l.view, l.by) }

// Close ends the view.
func (l *LiveSession) Close() {
	l.Drop()
	l.view.Close()
}
