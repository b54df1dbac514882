package bridge

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// maxQuestions bounds the questions of one call. Further ones are declined.
const maxQuestions = 5

// nobody is the name of the answerer when a question expires, or when its page ends it.
const nobody = ""

// Run is a call that can stop at questions, and be resumed later from another
// request. It runs once, however many callers wait for it. It is safe for concurrent use.
type Run struct {
	pass   passage
	number int64  // of the call in this process
	digest string // of a call with a key

	// Behind the lock of the registry.
	names  []handle    // under which it is found
	over   bool        // it ended
	until  time.Time   // its token names it that long at most
	forget *time.Timer // its token, after it ended
	held   int64       // bytes in the account of its caller
	// keyGoes says that its key is free when its token is.
	keyGoes bool

	mu      sync.Mutex
	tally   tally   // of State
	changes Changes // of the next three
	pause   *Pause  // the question that waits
	result  Step    // when it is done
	done    bool
	token   string // "" until it stopped once, or was detached
	claim   string // on its key; "" without one
	named   string // the tool that it runs, known with the first question
	told    string // the question that its caller got last
	// arguments is their digest, when they are not held any more.
	arguments string
	asked     int
	page      Page // that asks; nil when nothing can be seen
	expiry    *time.Timer
	cancel    context.CancelCauseFunc // of what runs in the background
	cancelled bool                    // its caller wants it to end, wherever it is
	detached  bool                    // it does not end with who waits for it
	begun     bool                    // it was dispatched, when it is detached
	handed    bool                    // its caller knows that it is detached, and its token
	since     time.Time               // when it last began to run, and
	patience  time.Duration           // how long it may then, when it is detached or asked
	waiting   int                     // callers that wait in Next while it runs
	// fetching counts the callers in Await, who take the outcome.
	fetching   int
	step       *Run   // that a call with Steps runs now
	delivering int    // replies with the outcome that are being written
	pen        *Live  // whose input reaches the page; nil: nobody's
	actor      string // who acted in the page last, since the question is open
	persons    string // for the audit
	facts      Facts  // for watchers

	entered  atomic.Bool              // it is no repetition of another call
	ran      atomic.Bool              // it was dispatched
	progress atomic.Pointer[Progress] // nil: no part of the result came
	parted   Changes                  // of progress
}

func (b *Bridge) newRun(in *Call) *Run {
	r := &Run{pass: b.enter(in)}
	r.since = r.pass.started
	r.tally.count(r.since)
	b.runs.add(r)
	if in.Started != nil {
		in.Started(r)
		r.pass.call.Started = nil
	}
	return r
}

// refused is a run that has nothing but an error: of a call that ended before it began. It
// is in the log and in the record like any other.
func (b *Bridge) refused(ctx context.Context, in *Call, e *Error) *Run {
	r := &Run{pass: b.enter(in), done: true}
	r.result = r.refuse(ctx, e)
	r.observe(Observed{End: r.result})
	learn(r) // nobody has it yet
	r.facts.over(r.result, b.pipe.now())
	b.watchers.moved(r)
	return r
}

// refuse ends a call that cannot begin.
func (r *Run) refuse(ctx context.Context, e *Error) Step {
	return r.pass.bridge.pipe.audit(ctx, r, func(context.Context, *Run) Step { return e.Step() })
}

// begin runs the call until it ends or stops at its first question, or in the background.
func (r *Run) begin(ctx context.Context) {
	entered(r)
	if r.pass.call.Detached {
		detach(ctx, r)
		return
	}
	r.settle(r.run(ctx))
}

// Token names the run to its caller; "" when it never stopped.
func (r *Run) Token() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.token
}

// ID names the call; see Call.ID.
func (r *Run) ID() string { return r.pass.call.ID }

// Tool returns the tool that ran, once Next returned a result.
func (r *Run) Tool() *Tool { return r.pass.tool }

// Asks returns the question that the call waits for now, as its caller gets it, or nil.
func (r *Run) Asks() *Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.asks(); q != nil {
		return q.forCaller()
	}
	return nil
}

// asks is Asks with r.mu held.
func (r *Run) asks() *Question {
	if r.pause == nil {
		return nil
	}
	return &r.pause.Question
}

// Next waits until the run stops at a question, which it returns, or ends: then it
// returns the step with the result or the error. While it runs, a caller whose ctx
// ends aborts it, unless others wait too.
func (r *Run) Next(ctx context.Context) (*Question, Step) {
	for {
		q, end, changed := r.look()
		if changed == nil {
			return q, end
		}
		select {
		case <-changed:
			r.mu.Lock()
			r.waiting--
			r.mu.Unlock()
		case <-ctx.Done():
			r.leave()
			return nil, r.pass.ofCall(GaveUp(Unknown).With(context.Cause(ctx))).Step()
		}
	}
}

// look returns the open question or the end. Where there is neither, the caller
// counts as one that waits until changed is closed.
func (r *Run) look() (q *Question, end Step, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.done:
		if r.pass.call.Again && r.token != "" {
			r.pass.bridge.runs.fetched(r)
		}
		return nil, r.result, nil
	case r.pause != nil:
		return r.asks().forCaller(), Step{}, nil
	}
	r.waiting++
	return nil, Step{}, r.changes.Next()
}

// leave notes that one caller no longer waits. The last one to leave aborts the run.
func (r *Run) leave() {
	r.mu.Lock()
	r.waiting--
	cancel := r.cancel
	last := r.waiting == 0 && r.pause == nil && !r.done && !r.detached
	r.mu.Unlock()
	if last && cancel != nil {
		cancel(GaveUp(Unknown))
	}
}

// Await is Next, and waits first at most d for the open question to be answered.
func (r *Run) Await(ctx context.Context, d time.Duration) (*Question, Step) {
	r.mu.Lock()
	r.fetching++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fetching--
	}()
	if changed := r.whileAsking(); d > 0 && changed != nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done(): // the call stays where it is
			return nil, r.pass.ofCall(GaveUp(Unknown).With(context.Cause(ctx))).Step()
		}
	}
	return r.Next(ctx)
}

// whileAsking is closed when the open question is not open any more; nil when there is
// none.
func (r *Run) whileAsking() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pause == nil {
		return nil
	}
	return r.changes.Next()
}

// tell notes that the caller gets a question.
func (r *Run) tell(q *Question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = q.ID
}

// wasTold reports whether the question is the last one that the caller got.
func (r *Run) wasTold(question string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return question == r.told
}

// hasNews reports whether the run waits with a question that its caller has not got yet.
func (r *Run) hasNews() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pause != nil && r.pause.Question.ID != r.told
}

// runs reports whether the call neither ended nor waits for a person.
func (r *Run) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.done && r.pause == nil
}

// settle handles the step that a part of the call ended with: an end, or a question.
func (r *Run) settle(s Step) {
	if s.Pause == nil {
		r.end(s)
		return
	}
	r.mu.Lock()
	r.asked++
	r.named, r.patience = s.Pause.Question.Tool, r.pass.patience()
	full := r.asked > maxQuestions
	token := cmp.Or(r.token, r.pass.bridge.pipe.names.token())
	r.mu.Unlock()
	if full {
		r.decline(s.Pause)
		return
	}
	if e := r.pass.bridge.runs.keep(r, token, s.Pause.Question.ExpiresAt, true); e != nil {
		revoked := r.pass.call.Caller.IsRevoked()
		if revoked {
			e = Revoked()
		}
		if revoked || s.Pause.Question.Kind == Approve {
			s.Pause.Take()
			r.drop(s.Pause, e)
		} else {
			r.decline(s.Pause)
		}
		return
	}
	r.ask(s.Pause, token)
}

// decline goes on without asking anybody.
func (r *Run) decline(p *Pause) {
	p.Take()
	if p.Question.Among > 0 { // another call is asked
		r.goOn(p, nil)
		return
	}
	r.goOn(p, &Answer{})
}

// ask opens a question. Operators can answer it before its caller has got it.
func (r *Run) ask(p *Pause, token string) {
	id := p.Question.ID
	r.pass.bridge.runs.name(r, handle{by: byQuestion, name: id})
	r.mu.Lock()
	r.pause, r.token, r.actor = p, token, nobody
	r.page, _ = r.pass.source.(Page)
	r.expiry = time.AfterFunc(r.pass.bridge.pipe.limits.Question,
		func() { _ = r.answer(id, &Answer{}, nobody) })
	now := r.pass.bridge.pipe.now()
	r.tally.count(now)
	learn(r)
	r.facts.asked(now)
	r.changes.Signal()
	answered, cancelled := r.changes.Next(), r.cancelled
	r.mu.Unlock()
	if p.Over != nil {
		go r.watchOver(p.Over, id, answered)
	}
	r.pass.bridge.watchers.watched(r)
	e := cmp.Or(r.pass.bridge.runs.mayAsk(r), r.pass.bridge.pipe.gone(r, p))
	if e == nil && cancelled { // a moment before it was asked
		e = byCancel(Unknown)
	}
	if e != nil {
		go r.abort(e)
	}
}

// watchOver goes on when the page ends its question itself.
func (r *Run) watchOver(over <-chan struct{}, id string, answered <-chan struct{}) {
	select {
	case <-over:
		_ = r.answer(id, nil, r.whoActed())
	case <-answered:
	}
}

// answer closes the open question and lets the call go on; a nil answer is the
// page's own.
func (r *Run) answer(id string, a *Answer, by string) *Error {
	p, e := r.close(id, a, by)
	if e != nil {
		return e
	}
	switch {
	case a != nil:
		given := *a
		given.question, given.by = id, by
		a = &given
	case by != nobody: // their acts in the page were the answer
		r.pass.approval, r.pass.approver = id, by
	}
	done := r.goOn(p, a)
	if a != nil && a.Always { // the next call may come as soon as they know
		select {
		case <-done:
		case <-time.After(keptWithin):
		}
	}
	return nil
}

// keptWithin sets how long whoever gives consent for further calls waits until it is kept. It takes
// longer where a page must be opened first.
const keptWithin = 5 * time.Second

// close closes the open question. Of several answers at once, only one gets the pause;
// the others get a CONFLICT.
func (r *Run) close(id string, a *Answer, by string) (*Pause, *Error) {
	r.mu.Lock()
	p := r.pause
	if p == nil || p.Question.ID != id {
		r.mu.Unlock()
		return nil, Errorf(Conflict, "", NotRun, "The question is not open any more.")
	}
	if a != nil {
		if e := p.Question.check(*a); e != nil {
			r.mu.Unlock()
			return nil, e
		}
	}
	p.Take()
	tookPart(r, by)
	r.expiry.Stop()
	r.pause, r.page, r.since = nil, nil, r.pass.bridge.pipe.now()
	r.tally.count(r.since)
	r.facts.answered(r.since)
	r.changes.Signal()
	r.mu.Unlock()
	r.pass.bridge.runs.answeredBy(id, closing{by, okOf(a, by)}, r)
	r.pass.bridge.watchers.watched(r)
	return p, nil
}

// goOn runs the next part of the call in the background. What it returns is closed when the consent
// in the answer is kept, or cannot be.
func (r *Run) goOn(p *Pause, a *Answer) <-chan struct{} {
	done := make(chan struct{})
	r.pass.answered = sync.OnceFunc(func() { close(done) })
	r.observe(Observed{Question: &p.Question, Answer: a})
	ctx, cancel := context.WithCancelCause(r.pass.bridge.life)
	r.mu.Lock()
	r.cancel = cancel
	cancelled := r.cancelled
	r.mu.Unlock()
	switch {
	case r.pass.call.Caller.IsRevoked(): // no answer counts any more
		cancel(Revoked())
		a = nil
	case cancelled:
		cancel(byCancel(Unknown))
		a = nil
	}
	r.pass.bridge.background.Go(func() { // ends with the call's own deadline
		defer cancel(nil)
		s := p.Continue(ctx, a)
		r.pass.answered()
		r.settle(s)
	})
	return done
}

// end keeps the outcome for callers that wait or come back, and for the key.
func (r *Run) end(s Step) {
	r.observe(Observed{End: s})
	if r.Token() != "" || r.pass.call.Key != "" {
		r.pass.bridge.runs.slim(r)
		if p := r.progress.Load(); p != nil {
			r.progress.Store(p.brief())
		}
	}
	r.mu.Lock()
	token, asked := r.token, r.asked > 0
	keeps := r.handed || r.waiting+r.fetching == 0 // else it goes to who waits
	// Nobody knows the token of such a call.
	lost := keeps && r.pass.call.Detached && !r.handed && !asked
	if token != "" && keeps && !lost && r.pass.call.Steps == nil && !r.pass.bridge.runs.hold(r, s.bytes()) {
		s = r.pass.ofCall(tooMuchToKeep()).Step()
	}
	if r.cancelled && s.Err != nil && s.Err.Code == Cancelled {
		e := byCancel(s.Err.Outcome).With(s.Err)
		e.Details = s.Err.Details
		s = r.pass.ofCall(e).Step()
	}
	r.done, r.result = true, s
	now := r.pass.bridge.pipe.now()
	r.tally.count(now)
	learn(r)
	r.facts.over(s, now)
	r.changes.Signal()
	r.mu.Unlock()
	r.pass.bridge.runs.ended(r, token)
	if lost {
		r.pass.bridge.runs.drop(handle{by: byToken, name: token}, r)
	}
	if asked {
		r.pass.bridge.watchers.watched(r)
	} else {
		r.pass.bridge.watchers.moved(r)
	}
	if r.pass.call.Key != "" { // last, because a store may take its time
		keyEnded(r)
	}
}

// tooMuchToKeep takes the place of a result that nobody waits for, when its caller has left
// as much as is kept for one.
func tooMuchToKeep() *Error {
	return Errorf(ToolError, ResultTooLarge, Unknown,
		"The call ended, and its result was not kept: too much waits for you to fetch it.")
}

// bytes estimates the memory that the call holds while it waits.
func (r *Run) bytes() int64 {
	n := r.pass.call.Input.Bytes() + int64(len(r.pass.call.Config)) + 1<<10
	if r.pass.tool != nil {
		n += r.pass.tool.bytes()
	}
	return n
}

// Elicited takes the answer that the caller's own client got from its person to the
// open question of that id. Errors are *Error: FORBIDDEN without the right to
// elicit, and for a yes to an act in the page that is no submit of a form, which is done when the
// page or an operator says so; CONFLICT when the question is not open any more, SCHEMA_ERROR for an
// answer that does not fit.
func (r *Run) Elicited(id string, a Answer, by Caller) error {
	q := r.Asks()
	if !by.Can(MayElicit) || by.IsRevoked() || by.Name != r.pass.call.Caller.Name || q != nil && q.Foreign {
		return mayNotAnswer()
	}
	if a.OK && q != nil && q.ID == id && q.Kind == Interact && !q.Form {
		return mayNotAnswer()
	}
	return asPlain(r.answer(id, &a, by.Name))
}
