package bridge

import (
	"cmp"
	"context"
	"time"
)

// This file is about calls that outlive the requests of their callers: Call.Detached, and any other
// call that has a token.

// Status says how far a call is, in the words of MCP.
type Status string

// The statuses. Cancelled is a call that its caller's own cancel ended.
const (
	Working       Status = "working"
	InputAwaited  Status = "input_required"
	Completed     Status = "completed"
	CancelledCall Status = "cancelled"
)

// State is a call as its caller reads it between requests.
type State struct {
	// ID is the token of the call, which also resumes it; empty when the call was over before its
	// caller got it.
	ID string
	// Site and Tool name the tool; Tool may be empty until the call is dispatched.
	Site, Tool string
	// Form repeats Call.Form.
	Form   string
	Status Status
	// Version counts the changes of the rest.
	Version int64
	// Created has the time of the call, Updated that of its last change. The ID names the call
	// until Expires at most.
	Created, Updated, Expires time.Time
	// Progress is nil while no part of a result came.
	Progress *Progress
	// Question is open, when the status is InputAwaited, and Asked counts those of the call.
	Question *Question
	Asked    int
	// End is the outcome, when the call is over.
	End Step
}

// IsOver reports whether the call ended.
func (s *State) IsOver() bool { return s.Status == Completed || s.Status == CancelledCall }

// tally counts the changes of a call. The lock of its Run is held.
type tally struct {
	n     int64
	at    time.Time // of the last change
	moved Changes
}

func (t *tally) count(now time.Time) {
	t.n, t.at = t.n+1, now
	t.moved.Signal()
}

// detachPatience bounds how long Detach waits for a call to begin: its site may have to be opened.
const detachPatience = time.Second

// Detach runs a call whose life is the bridge's, or finds it as Serve does. It returns when the
// call is over, or asks; otherwise after d or, where d is zero, when the call was dispatched or
// some time has passed. A call that is not over then goes on, whatever becomes of ctx, and is kept
// for its caller under the ID of the state. An outcome is written in Deliver of the run.
func (b *Bridge) Detach(ctx context.Context, in *Call, d time.Duration) (*Run, State) {
	in.Detached = true
	r, _ := b.startOrResume(ctx, in)
	r.mu.Lock()
	r.fetching++
	r.detached = true
	r.begun = r.begun || !r.pass.call.Detached // it had stopped, and was resumed
	r.mu.Unlock()
	defer unfetched(ctx, r)
	timer := time.NewTimer(cmp.Or(d, detachPatience))
	defer timer.Stop()
	for waited := false; ; {
		s, changed := hand(r, waited, d > 0)
		if changed == nil {
			return r, s
		}
		select {
		case <-changed:
		case <-timer.C:
			waited = true
		case <-ctx.Done():
			s.Status, s.End = Completed, r.pass.ofCall(GaveUp(Unknown).With(context.Cause(ctx))).Step()
			return r, s
		}
	}
}

// hand returns the state of a call that is over, or whose caller gets its token now. Otherwise
// changed is closed when that may be different.
func hand(r *Run, waited, toEnd bool) (s State, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.done:
	case waited, r.pause != nil, r.begun && !toEnd, stepAsks(r) != nil:
		r.handed = true
	default:
		changed = r.tally.moved.Next()
	}
	s = stateOf(r)
	if r.done && (!r.handed || r.pass.bridge.runs.find(handle{by: byToken, name: r.token}) != r) {
		s.ID = ""
	}
	return s, changed
}

// unfetched notes that Detach returns. When nobody gets the outcome of a call, it is not kept.
func unfetched(ctx context.Context, r *Run) {
	r.mu.Lock()
	r.fetching--
	token, lost := r.token, ctx.Err() != nil && r.done && !r.handed && r.pass.call.Detached
	r.mu.Unlock()
	if lost {
		r.pass.bridge.runs.drop(handle{by: byToken, name: token}, r)
	}
}

// detach runs the call in the background, under its token.
func detach(ctx context.Context, r *Run) {
	b := r.pass.bridge
	_, set, _ := b.pipe.configured(&r.pass.call) // an error ends the call in the pipeline
	patience, token := max(set.timeout, minPatience), b.pipe.names.token()
	if e := b.runs.keep(r, token, r.since.Add(patience), false); e != nil {
		r.end(r.refuse(ctx, e))
		return
	}
	ctx, cancel := context.WithCancelCause(b.life)
	r.mu.Lock()
	r.token, r.patience, r.cancel = token, patience, cancel
	r.mu.Unlock()
	b.background.Go(func() { // ends with the call's own deadline
		defer cancel(nil)
		r.settle(r.run(ctx))
	})
}

// began notes that a detached call is about to be dispatched.
func began(r *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.named = true, r.pass.tool.name
	r.tally.moved.Signal()
}

// stateOf returns the state of a call. Its caller counts as told of a question in it. Called with
// r.mu held.
func stateOf(r *Run) State {
	call := &r.pass.call
	s := State{ID: r.token, Site: call.Site, Tool: cmp.Or(r.named, call.Tool), Form: call.Form,
		Status: Working, Version: r.tally.n, Asked: r.asked, Created: r.pass.started, Updated: r.tally.at,
		Progress: r.progress.Load(), Expires: r.since.Add(r.patience + keepFor)}
	switch {
	case r.done && r.cancelled && r.result.Err != nil && r.result.Err.Code == Cancelled:
		s.Status, s.End, s.Expires = CancelledCall, r.result, s.Updated.Add(keepFor)
	case r.done:
		s.Status, s.End, s.Expires = Completed, r.result, s.Updated.Add(keepFor)
	case r.pause != nil:
		s.Status, s.Question = InputAwaited, r.asks().forCaller()
		s.Expires = s.Question.ExpiresAt.Add(r.patience + keepFor)
		r.told = s.Question.ID
	default:
		if q := stepAsks(r); q != nil {
			s.Status, s.Question = InputAwaited, q
			r.step.tell(q)
		}
	}
	return s
}

// LongCall is a call that is found by its token. It is safe for concurrent use.
type LongCall struct{ run *Run }

// LongCall finds a call of the caller by its token. Errors are *Error, those of Resume among them.
func (b *Bridge) LongCall(by Caller, token string) (*LongCall, error) {
	if !by.Can(MayCall) {
		return nil, mayNotCall()
	}
	r := b.runs.find(handle{by: byToken, name: token})
	switch {
	case by.IsRevoked():
		return nil, Revoked()
	case r == nil || r.pass.call.Caller.Name != by.Name || !by.Sees(r.pass.call.Site):
		return nil, b.lost(token)
	}
	return &LongCall{r}, nil
}

// Run returns the call itself, or the step of it that runs now.
func (c *LongCall) Run() *Run { return asker(c.run) }

// State returns the call as it is, and a channel that is closed when that has changed. Its caller
// counts as told of the open question, and of the outcome.
func (c *LongCall) State() (s State, changed <-chan struct{}) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done && r.pass.call.Again {
		r.pass.bridge.runs.fetched(r) // an equal call is another one from now on
	}
	return stateOf(r), r.tally.moved.Next()
}

// Keep lets the call go on when nobody waits for it any more, because its caller gets the token
// now. It is false for a call that is over, or asks.
func (c *LongCall) Keep() bool {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.run.done || c.run.pause != nil {
		return false
	}
	c.run.detached, c.run.handed = true, true
	return true
}

// byCancel is the error of a call that its caller's cancel ended.
func byCancel(o Outcome) *Error {
	return Errorf(Cancelled, "", o, "The call was cancelled before it ended.")
}

// Cancel ends the call, and does not wait for that: what runs is aborted in the page. Of a call
// that waits in the page, it declines the question, and the call goes on from there; one that waits
// for consent ends without having run. It reports false for a call that is over.
func (c *LongCall) Cancel(by Caller) bool {
	r := c.run
	for {
		r.mu.Lock()
		q, cancel, done := r.asks(), r.cancel, r.done
		declines := q != nil && q.Kind != Approve && !q.Foreign
		r.cancelled = r.cancelled || !done && !declines
		r.mu.Unlock()
		switch {
		case done:
			return false
		case declines:
			if e := r.answer(q.ID, &Answer{}, by.Name); e != nil {
				continue // somebody answered it a moment before
			}
		case q != nil:
			if p, e := r.close(q.ID, nil, by.Name); e == nil { // else the answer finds that it is cancelled
				r.pass.bridge.background.Go(func() { r.drop(p, byCancel(Unknown)) }) // ends when the page lets go
			}
		case cancel != nil:
			cancel(byCancel(Unknown))
		}
		return true
	}
}

// Forget drops what is kept of a call that is over. Its key, where it has one, still names its
// outcome.
func (c *LongCall) Forget() {
	c.run.mu.Lock()
	token, done := c.run.token, c.run.done
	c.run.mu.Unlock()
	if done {
		c.run.pass.bridge.runs.drop(handle{by: byToken, name: token}, c.run)
	}
}

// Answer takes an answer to a question that State has told, from the call's own caller. Errors are
// *Error: FORBIDDEN without the right to answer, CONFLICT for a question that is not open any more,
// SCHEMA_ERROR for an answer that does not fit, and the error of the call that asks something else.
func (c *LongCall) Answer(by Caller, question string, a Answer) error {
	if !by.Can(MayCall) || !by.Can(MayAnswer) {
		return mayNotAnswer()
	}
	a.question = question
	run := asker(c.run)
	if !run.wasTold(question) {
		return Errorf(Conflict, "", NotRun, "This is not the open question of the call: read the call again.")
	}
	return asPlain(answerOwn(run, &a, by))
}

// abort ends the run, wherever it is: what waits in a page is aborted there.
func (r *Run) abort(cause *Error) {
	if rest := r.halt(cause); rest != nil {
		rest()
	}
}

// halt cancels what runs, or closes the open question. Then rest ends the call, which
// may wait for the page.
func (r *Run) halt(cause *Error) (rest func()) {
	r.mu.Lock()
	cancel, q := r.cancel, r.asks()
	r.mu.Unlock()
	switch {
	case q != nil:
		if p, e := r.close(q.ID, nil, nobody); e == nil { // else somebody answered it
			return func() { r.drop(p, cause) }
		}
	case cancel != nil:
		cancel(cause)
	}
	return nil
}

// drop ends a call whose question was closed without an answer.
func (r *Run) drop(p *Pause, cause *Error) {
	r.observe(Observed{Question: &p.Question})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	r.settle(p.Continue(ctx, nil))
}
