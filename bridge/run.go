package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// maxQuestions bounds the questions of one call. Further ones are declined.
const maxQuestions = 5

// Run is a call that can stop at questions, and be resumed later from another
// request. It runs once, whoever waits for it. It is safe for concurrent use.
type Run struct {
	bridge *Bridge
	call   *call
	until  time.Time // it is kept that long at most, once it stopped; behind the lock of bridge.runs

	mu       sync.Mutex
	changed  chan struct{} // closed when one of the next four changes; made for who waits
	open     *stop         // the question that waits, with what goes on after it
	question *Question     // what is told of it
	page     Pictured      // that asks; nil when nothing can be seen
	result   *Result
	err      *Error // why it failed
	done     bool
	token    string // "" until it stopped once
	tool     string // what it runs, known with the first question
	told     string // the question that the caller was told of last
	asked    int
	expiry   *time.Timer
	cancel   context.CancelCauseFunc // of what runs in the background
	waiting  int                     // callers that wait in Next while it runs
	watched  chan struct{}           // closed when what Live.State says changes; made for who watches
	pen      *Live                   // whose input reaches the page; nil: nobody's
	actor    string                  // who acted in the page last, since the question is open
}

// Start runs a call until it ends or stops at its first question. While ctx
// lives and nobody is asked, its end aborts the call.
func (b *Bridge) Start(ctx context.Context, in *Call) *Run {
	r := b.newRun(in)
	r.settle(b.run(ctx, r.call))
	return r
}

func (b *Bridge) newRun(in *Call) *Run {
	return &Run{bridge: b, call: &call{Call: *in, outcome: NotRun, started: b.now()}}
}

// Do runs a call. Questions go to the call's Asker; without one, a call that
// stops is left to whoever may answer, and the error says so. The error is
// always an *Error.
func (b *Bridge) Do(ctx context.Context, in *Call) (*Result, error) {
	r, _, err := b.startOrResume(ctx, in)
	if err != nil {
		return nil, err
	}
	for {
		q, res, err := r.Next(ctx)
		switch {
		case q == nil:
			r.Spend()
			return res, err
		case in.Asker == nil:
			return nil, stoppedError(q, r.Token())
		}
		answer, err := r.askWith(ctx, in.Asker, q)
		switch {
		case ctx.Err() != nil:
			r.abort(gaveUp())
		case err != nil:
			e := stoppedError(q, r.Token()).With(err)
			r.abort(e)
			return nil, e
		default: // somebody else may have been first
			_ = r.answer(q.ID, &answer, in.Caller.Name)
		}
	}
}

// askWith asks until there is an answer, or the question is over.
func (r *Run) askWith(ctx context.Context, asker Asker, q *Question) (Answer, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := r.change()
	if r.Asks() != q {
		return Answer{}, nil
	}
	stopAsking := make(chan struct{})
	defer close(stopAsking)
	go func() { // ends with askWith
		select {
		case <-changed:
			cancel()
		case <-stopAsking:
		}
	}()
	answer, err := asker.Ask(asking, *q)
	if asking.Err() != nil && ctx.Err() == nil {
		return Answer{}, nil
	}
	return answer, err
}

// Token names the run to its caller; "" when it never stopped.
func (r *Run) Token() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token
}

// change is closed when the run shows something else.
func (r *Run) change() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// Next waits until the run stops at a question or ends. While it runs, a caller
// whose ctx ends aborts it, unless others wait too.
func (r *Run) Next(ctx context.Context) (*Question, *Result, error) {
	for {
		changed := r.change()
		q, res, err, shows := r.look()
		if shows {
			return q, res, err
		}
		select {
		case <-changed:
			r.mu.Lock()
			r.waiting--
			r.mu.Unlock()
		case <-ctx.Done():
			r.leave()
			return nil, nil, gaveUp().With(context.Cause(ctx))
		}
	}
}

// look gives the open question or the end, and whether there is one. Else the
// caller counts as one that waits.
func (r *Run) look() (q *Question, res *Result, err error, shows bool) { //nolint:revive // the error is the call's, not of looking
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.done && r.err != nil:
		return nil, nil, r.err, true
	case r.done:
		return nil, r.result, nil, true
	case r.question != nil:
		return r.question, nil, nil, true
	}
	r.waiting++
	return nil, nil, nil, false
}

// leave is one caller less that waits while the run runs.
func (r *Run) leave() {
	r.mu.Lock()
	r.waiting--
	cancel := r.cancel
	last := r.waiting == 0 && r.question == nil && !r.done
	r.mu.Unlock()
	if last && cancel != nil {
		cancel(gaveUp())
	}
}

func gaveUp() *Error { return Errorf(Cancelled, "", Unknown, "The caller gave up.") }

// Await is Next, and waits first at most d for the open question to be answered.
func (r *Run) Await(ctx context.Context, d time.Duration) (*Question, *Result, error) {
	changed := r.change()
	if d > 0 && r.Asks() != nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done(): // the call stays where it is
			return nil, nil, gaveUp().With(context.Cause(ctx))
		}
	}
	return r.Next(ctx)
}

// tell notes that the caller is told of a question.
func (r *Run) tell(q *Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = q.ID
}

// hasNews reports whether the run shows something that its caller was not told of.
func (r *Run) hasNews() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.question != nil && r.question.ID != r.told
}

// Spend forgets a run whose final reply was written. Its token names nothing any
// more.
func (r *Run) Spend() {
	r.mu.Lock()
	token, done := r.token, r.done
	r.mu.Unlock()
	if token != "" && done {
		r.bridge.forgetRun(token)
	}
}

// settle takes what a part of the call came to.
func (r *Run) settle(res *Result, err error) {
	s, stopped := errors.AsType[*stop](err)
	if !stopped {
		r.end(res, err)
		return
	}
	q := s.question
	q.ID, q.ExpiresAt = rand.Text(), r.bridge.now().Add(r.bridge.limits.Question)
	r.mu.Lock()
	r.asked++
	r.tool = q.Tool
	if r.token == "" {
		r.token = rand.Text()
	}
	full := r.asked > maxQuestions
	r.mu.Unlock()
	if full {
		r.goOn(s, &Answer{})
		return
	}
	if e := r.bridge.keepRun(r, &q); e != nil {
		if r.call.Caller.IsRevoked() {
			r.drop(s, TakenBack())
			return
		}
		r.mu.Lock()
		r.token = "" // nobody knows it: there is nothing to keep for it
		r.mu.Unlock()
		if q.Kind == Approve {
			r.end(nil, e)
			return
		}
		r.goOn(s, &Answer{})
		return
	}
	r.ask(s, &q)
}

// ask opens a question. Operators can answer it before anybody is told of it.
func (r *Run) ask(s *stop, q *Question) {
	r.sayAsking(q)
	r.bridge.opening(q.ID, r)
	r.mu.Lock()
	r.open, r.question, r.actor = s, q, nobody
	r.page, _ = r.call.lease.(Pictured)
	r.expiry = time.AfterFunc(r.bridge.limits.Question, func() { _ = r.answer(q.ID, &Answer{}, nobody) })
	r.show()
	answered := make(chan struct{})
	r.changed = answered
	r.mu.Unlock()
	if s.over != nil {
		go r.watchOver(s.over, q.ID, answered)
	}
	r.bridge.opened(r)
}

// sayAsking tells the page's keeper what the page waits for; nil is nothing.
func (r *Run) sayAsking(q *Question) {
	if lease := r.call.lease; lease != nil {
		lease.Asking(q)
	}
}

// nobody is who answers a question that expires, or that its page takes back.
const nobody = ""

// watchOver goes on when the page ends its question itself.
func (r *Run) watchOver(over <-chan struct{}, id string, answered <-chan struct{}) {
	select {
	case <-over:
		_ = r.answer(id, nil, r.whoActed())
	case <-answered:
	}
}

// whoActed gives who acted in the page last while it asks.
func (r *Run) whoActed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actor
}

// show wakes who waits. Called with r.mu held.
func (r *Run) show() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	r.tellWatchers()
}

// answer closes the open question and lets the call go on; a nil answer is the
// page's own.
func (r *Run) answer(id string, a *Answer, by string) *Error {
	s, e := r.close(id, a, by)
	if e != nil {
		return e
	}
	switch {
	case a != nil:
		given := *a
		given.question, given.by = id, by
		a = &given
	case by != nobody: // their acts in the page were the answer
		r.call.approval, r.call.approver = id, by
	}
	r.goOn(s, a)
	return nil
}

// close takes the open question from everybody who was told of it.
func (r *Run) close(id string, a *Answer, by string) (*stop, *Error) {
	s, e := r.take(id, a)
	if e == nil {
		r.bridge.closed(id, by)
		r.sayAsking(nil)
	}
	return s, e
}

// take closes the open question. Only one of those who answer gets it.
func (r *Run) take(id string, a *Answer) (*stop, *Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.question == nil || r.question.ID != id {
		return nil, Errorf(Conflict, "", NotRun, "The question is not open any more.")
	}
	if a != nil {
		if e := r.question.check(*a); e != nil {
			return nil, e
		}
	}
	s := r.open
	r.expiry.Stop()
	r.open, r.question, r.page = nil, nil, nil
	r.show()
	return s, nil
}

// goOn runs the next part of the call in the background.
func (r *Run) goOn(s *stop, a *Answer) {
	ctx, cancel := context.WithCancelCause(r.bridge.life)
	r.mu.Lock()
	r.cancel = cancel
	r.mu.Unlock()
	if r.call.Caller.IsRevoked() { // no answer counts any more
		cancel(TakenBack())
		a = nil
	}
	r.bridge.background.Go(func() { // ends with the call's own deadline
		defer cancel(nil)
		r.settle(s.resume(ctx, a))
	})
}

// abort ends the run, wherever it is: what waits in a page is aborted there.
func (r *Run) abort(cause *Error) {
	if rest := r.halt(cause); rest != nil {
		rest()
	}
}

// halt cancels what runs, or takes the open question from everybody. Then there is
// more to do, which may wait for the page.
func (r *Run) halt(cause *Error) (rest func()) {
	r.mu.Lock()
	cancel, q := r.cancel, r.question
	r.mu.Unlock()
	switch {
	case q != nil:
		if s, e := r.close(q.ID, nil, nobody); e == nil { // else somebody answered it
			return func() { r.drop(s, cause) }
		}
	case cancel != nil:
		cancel(cause)
	}
	return nil
}

// drop ends what waits: nobody answers it any more.
func (r *Run) drop(s *stop, cause *Error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	r.settle(s.resume(ctx, nil))
}

func (r *Run) end(res *Result, err error) {
	r.mu.Lock()
	r.done, r.result = true, res
	if err != nil {
		r.result, r.err = nil, AsError(err)
	}
	r.show()
	stopped := r.token != ""
	r.mu.Unlock()
	if stopped {
		r.bridge.keepResult(r)
	}
	if r.call.Key != "" {
		r.bridge.keyEnded(r)
	}
}

// matches refuses a request to resume that is not the call's own. A token is no
// licence to run something else.
func (r *Run) matches(in *Call) *Error {
	mine := r.call
	r.mu.Lock()
	name := r.tool
	r.mu.Unlock()
	if in.Session != mine.Session || in.Single != mine.Single || in.Tool != mine.Tool && in.Tool != name || !sameJSON(in.Input, mine.Input) {
		return Errorf(SchemaError, "", NotRun, "The call under this token has another action, sessionId or request.")
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(canonicalOrRaw(a), canonicalOrRaw(b)) }
