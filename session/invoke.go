package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// rest returns the rest of d, which began then: at least a moment. Zero, which means no
// bound, stays zero.
func rest(d time.Duration, began time.Time) time.Duration {
	if d <= 0 {
		return 0
	}
	return max(time.Millisecond, d-time.Since(began))
}

// Invoke runs the tool once.
func (p *Page) Invoke(ctx context.Context, inv bridge.Invocation) bridge.Step {
	arrived, patience := time.Now(), inv.Patience
	waited := false
	for ; ; waited = true {
		inv.Patience = rest(patience, arrived)
		t, late, err := p.findWithin(ctx, inv)
		if err != nil {
			return bridge.AsError(err).Step()
		}
		if waited || late {
			if e := inv.Refused(ctx); e != nil {
				return e.Step()
			}
		}
		document := p.view.Load().document
		began := time.Now()
		limit := inv.Timeout
		if left := rest(patience, arrived); left > 0 && (limit <= 0 || left < limit) {
			limit = left
		}
		whole := cmp.Or(inv.Timeout, limit)
		running, cancel := bound(ctx, limit, bridge.TimedOut(whole))
		step := p.tab.Invoke(running, Invocation{Document: t.Document(), Tool: t.Registration(),
			Caller: inv.Caller, Input: inv.Input, MaxBytes: inv.MaxBytes, Once: p.once,
			Progress: inv.Progress, Files: inv.Files})
		cancel()
		if step.Err != nil && errors.Is(step.Err, ErrGone) {
			// Nothing ran: the page replaced the registration. An equal one may
			// be there, or on its way; find decides on what the page says now.
			if err := p.awaitChange(ctx, t); err != nil {
				return bridge.AsError(err).Step()
			}
			if patience > 0 && time.Since(arrived) >= patience {
				return bridge.Errorf(bridge.InternalError, bridge.PageHung, bridge.NotRun,
					"The page registers %q anew all the time. The call did not reach it.", t.Name()).Step()
			}
			continue
		}
		p.used.Store(&document)
		return p.replied(ctx, inv, clock{left: limit, whole: whole}.after(began), 0, step)
	}
}

// clock is the time of a call. It stands still while a question is open.
type clock struct{ left, whole time.Duration }

// after subtracts the time since began.
func (c clock) after(began time.Time) clock {
	if c.whole > 0 {
		c.left = max(time.Millisecond, c.left-time.Since(began))
	}
	return c
}

// replied handles the step that the tab ended with, after the call asked so many questions.
func (p *Page) replied(ctx context.Context, inv bridge.Invocation, c clock, asked int,
	step bridge.Step) bridge.Step {
	switch {
	case step.Err != nil:
		if step.Err = p.blamed(step.Err); step.Move > 0 {
			p.awaitRevision(ctx, step)
		}
	case step.Pause == nil:
		p.awaitRevision(ctx, step)
	default:
		goOn := step.Pause.Continue
		step.Pause.Question = inv.Complete(step.Pause.Question)
		step.Pause.Continue = func(ctx context.Context, a *bridge.Answer) bridge.Step {
			began := time.Now()
			running, cancel := bound(ctx, c.left, bridge.TimedOut(c.whole))
			defer cancel()
			return p.replied(ctx, inv, c.after(began), asked+1, goOn(running, a))
		}
		if inv.Questions == 0 || asked < inv.Questions { // else nobody is asked
			p.pauses.add(inv.Caller, step.Pause)
		}
	}
	return step
}

// pauses holds the questions that the calls on a page wait for. Several may run on it at
// once. A question that was answered leaves when the next one comes.
type pauses struct {
	any atomic.Bool // something is in list

	mu   sync.Mutex
	list []paused
}

type paused struct {
	*bridge.Pause

	caller string // whose call it is
}

func (ps *pauses) add(caller string, p *bridge.Pause) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.list = append(slices.DeleteFunc(ps.list, answered), paused{p, caller})
	ps.any.Store(true)
}

// open returns the newest question that waits for an answer, or nil.
func (ps *pauses) open() *paused {
	if !ps.any.Load() { // the usual case
		return nil
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.list = slices.DeleteFunc(ps.list, answered)
	ps.any.Store(len(ps.list) > 0)
	if n := len(ps.list); n > 0 {
		newest := ps.list[n-1]
		return &newest
	}
	return nil
}

func answered(p paused) bool { return !p.Open() }

// busyAsking refuses a call to a page that waits for a person; nil lets it
// through. Only the caller whose call asks is told what.
func (p *Page) busyAsking(caller string) *bridge.Error {
	asks := p.pauses.open()
	if asks == nil {
		return nil
	}
	e := bridge.Errorf(bridge.Conflict, "", bridge.NotRun,
		"The page waits for a person to answer another call.")
	if asks.caller != caller || asks.Question.Foreign {
		return e
	}
	return e.Detail("question", &asks.Question)
}

// awaitRevision makes a caller read its own writes: the list that the call left
// behind is visible before the call returns.
func (p *Page) awaitRevision(ctx context.Context, r bridge.Step) {
	if p.view.Load().hasSeen(r) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := p.await(bounded, func(v *view) bool { return v.hasSeen(r) })
	if err != nil && ctx.Err() == nil {
		p.log.Warn("page: the list behind a reply did not arrive", "revision", r.Revision, "error",
			err)
	}
}

// hasSeen reports whether the view is at least as new as a reply, or its document
// is gone. A document in a frame may not have been reported yet: it had no tools.
func (v *view) hasSeen(r bridge.Step) bool {
	revision, shown := v.revisions[r.Document]
	if !shown {
		return v.document != r.Document
	}
	return revision >= r.Revision && v.moves >= r.Move
}
