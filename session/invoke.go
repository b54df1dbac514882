package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Invoke runs the tool once. Its errors are *bridge.Error, or *bridge.Stopped.
func (p *Page) Invoke(ctx context.Context, inv bridge.Invocation) (json.RawMessage, error) {
	for {
		t, err := p.findWithin(ctx, inv)
		if err != nil {
			return nil, err
		}
		document := p.view.Load().document
		began := time.Now()
		running, cancel := bound(ctx, inv.Timeout, bridge.TimedOut(inv.Timeout))
		reply, err := p.tab.Invoke(running, Invocation{Document: t.Document(), Tool: t.Registration(), Input: inv.Input, MaxBytes: inv.MaxBytes})
		cancel()
		if errors.Is(err, ErrGone) {
			// Nothing ran: the page replaced the registration. An equal one may
			// be there, or on its way; find decides on what the page says now.
			if err := p.awaitChange(ctx, t); err != nil {
				return nil, err
			}
			continue
		}
		p.used.Store(&document)
		return p.replied(ctx, clock{left: inv.Timeout, whole: inv.Timeout}.after(began), reply, err)
	}
}

// clock is the time of a call. It stands still while a question is open.
type clock struct{ left, whole time.Duration }

// after takes off what passed since began.
func (c clock) after(began time.Time) clock {
	if c.whole > 0 {
		c.left = max(time.Millisecond, c.left-time.Since(began))
	}
	return c
}

// replied takes what the tab came to.
func (p *Page) replied(ctx context.Context, c clock, reply Reply, err error) (json.RawMessage, error) {
	if asked, ok := errors.AsType[*Asked](err); ok {
		return nil, &bridge.Stopped{Question: asked.Question, Over: asked.Over,
			Continue: func(ctx context.Context, a *bridge.Answer) (json.RawMessage, error) {
				began := time.Now()
				running, cancel := bound(ctx, c.left, bridge.TimedOut(c.whole))
				defer cancel()
				reply, err := asked.Continue(running, a)
				return p.replied(ctx, c.after(began), reply, err)
			}}
	}
	if err != nil {
		return nil, p.blamed(err)
	}
	p.awaitRevision(ctx, reply)
	return reply.Result, nil
}

// asking is what the calls on a page wait for. Several may run on it at once.
type asking struct {
	newest atomic.Pointer[bridge.Question] // nil: nothing is waited for

	mu   sync.Mutex
	open []*bridge.Question
}

// replace ends the question was, and opens now; nil is none.
func (a *asking) replace(was, now *bridge.Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = slices.DeleteFunc(a.open, func(q *bridge.Question) bool { return q == was })
	if now != nil {
		a.open = append(a.open, now)
	}
	var newest *bridge.Question
	if n := len(a.open); n > 0 {
		newest = a.open[n-1]
	}
	a.newest.Store(newest)
}

// busyAsking refuses a call to a page that waits for a person; nil lets it
// through.
func (p *Page) busyAsking() *bridge.Error {
	q := p.asks.newest.Load()
	if q == nil {
		return nil
	}
	return bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The page waits for a person to answer another call.").Detail("question", q)
}

// awaitRevision makes a caller read its own writes: the list that the call left
// behind is visible before the call returns.
func (p *Page) awaitRevision(ctx context.Context, r Reply) {
	if p.view.Load().hasSeen(r) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := p.await(bounded, func(v *view) bool { return v.hasSeen(r) })
	if err != nil && ctx.Err() == nil {
		p.log.Warn("page: the list behind a reply did not arrive", "revision", r.Revision, "error", err)
	}
}

// hasSeen reports whether the view is at least as new as a reply, or its document
// is gone. A document in a frame may not have been told yet: it had no tools.
func (v *view) hasSeen(r Reply) bool {
	revision, shown := v.revisions[r.Document]
	if !shown {
		return v.document != r.Document
	}
	return revision >= r.Revision
}
