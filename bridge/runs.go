package bridge

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxRuns bounds the calls that wait for a person or whose outcome is kept,
	// and maxOfCaller those of one caller: who asks without end tires people.
	maxRuns, maxOfCaller = 10_000, 2000
	// keepFor is how long the outcome of a run is kept for its token, and how
	// long it is known who answered.
	keepFor = 15 * time.Minute
)

// runs are the calls that stopped.
type runs struct {
	mu       sync.Mutex
	byToken  map[string]*Run
	ofCaller map[string]int    // how many of byToken
	keys     map[string]*keys  // by caller
	open     map[string]*Run   // by the id of the open question
	answered map[string]string // who answered a question
	changed  chan struct{}     // closed when open changes; made for who watches
	closed   bool
}

// OpenQuestion is a question that waits, as an operator sees it.
type OpenQuestion struct {
	Question

	Site   string    `json:"site"`
	Caller string    `json:"caller"`
	Since  time.Time `json:"since"`
	// Always is true when the answer may be kept for further calls, Picture when
	// the page that asks can be seen.
	Always  bool `json:"always"`
	Picture bool `json:"picture"`
}

// keepRun keeps a run that asks q under its token, unless its caller or all of
// them have too many: then it says when there is room.
func (b *Bridge) keepRun(r *Run, q *Question) *Error {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	caller := r.call.Caller.Name
	if b.runs.byToken[r.token] == nil {
		switch {
		case r.call.Caller.IsRevoked():
			return TakenBack()
		case b.runs.closed:
			e := draining()
			e.Outcome = NotRun
			return e
		case b.runs.ofCaller[caller] >= maxOfCaller:
			return b.runs.full(b.now(), caller)
		case len(b.runs.byToken) >= maxRuns:
			return b.runs.full(b.now(), "")
		}
		b.runs.byToken[r.token] = r
		b.runs.ofCaller[caller]++
	}
	r.until = q.ExpiresAt.Add(keepFor)
	return nil
}

// full refuses one more run. It says when the first of those that are kept, of the
// caller or of all, goes by itself: nobody answers, and nobody fetches the outcome.
// Called with mu held.
func (s *runs) full(now time.Time, caller string) *Error {
	var first time.Time
	for _, r := range s.byToken {
		if (caller == "" || r.call.Caller.Name == caller) && (first.IsZero() || r.until.Before(first)) {
			first = r.until
		}
	}
	e := Errorf(RateLimit, "", NotRun, "Too many calls wait for a person. Answer them or fetch their outcomes, or try again later.")
	e.Retry = max(time.Second, first.Sub(now))
	return e
}

// keepResult keeps the outcome of a run for who comes back.
func (b *Bridge) keepResult(r *Run) {
	b.runs.mu.Lock()
	r.until = b.now().Add(keepFor)
	b.runs.mu.Unlock()
	timer := time.AfterFunc(keepFor, func() { b.forgetRun(r.token) })
	r.mu.Lock()
	r.expiry = timer
	r.mu.Unlock()
}

func (b *Bridge) forgetRun(token string) {
	b.runs.mu.Lock()
	r := b.runs.byToken[token]
	if r != nil {
		delete(b.runs.byToken, token)
		if b.runs.ofCaller[r.call.Caller.Name]--; b.runs.ofCaller[r.call.Caller.Name] == 0 {
			delete(b.runs.ofCaller, r.call.Caller.Name)
		}
	}
	b.runs.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expiry != nil { // it may be about to ask
		r.expiry.Stop()
	}
}

// opening makes a question known by its id, before anybody is told of it.
func (b *Bridge) opening(id string, r *Run) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	b.runs.open[id] = r
}

// opened tells operators of a run's question.
func (b *Bridge) opened(r *Run) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	b.runs.show()
	switch {
	case b.runs.closed:
		go r.abort(draining())
	case r.call.Caller.IsRevoked(): // Revoke was there a moment before
		go r.abort(TakenBack())
	}
}

// closed tells operators that a question is not open any more.
func (b *Bridge) closed(id, by string) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	delete(b.runs.open, id)
	b.runs.answered[id] = by
	time.AfterFunc(keepFor, func() {
		b.runs.mu.Lock()
		defer b.runs.mu.Unlock()
		delete(b.runs.answered, id)
	})
	b.runs.show()
}

// show wakes who watches. Called with mu held.
func (s *runs) show() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Questions lists the open questions of the sites that the caller may know of,
// the oldest first, and gives a channel that is closed when the list changes.
func (b *Bridge) Questions(c Caller) ([]OpenQuestion, <-chan struct{}) {
	b.runs.mu.Lock()
	if b.runs.changed == nil {
		b.runs.changed = make(chan struct{})
	}
	changed := b.runs.changed
	all := make([]*Run, 0, len(b.runs.open))
	for _, r := range b.runs.open {
		all = append(all, r)
	}
	b.runs.mu.Unlock()
	list := make([]OpenQuestion, 0, len(all))
	for _, r := range all {
		if !c.Sees(r.call.Site) {
			continue
		}
		r.mu.Lock()
		if r.question != nil {
			list = append(list, OpenQuestion{Question: *r.question, Site: r.call.Site, Caller: r.call.Caller.Name,
				Since: r.question.ExpiresAt.Add(-b.limits.Question), Always: r.question.always, Picture: r.page != nil})
		}
		r.mu.Unlock()
	}
	slices.SortFunc(list, func(x, y OpenQuestion) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.ID, y.ID)) })
	return list, changed
}

// OpenQuestions is how many calls wait for a person now.
func (b *Bridge) OpenQuestions() int {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	return len(b.runs.open)
}

// Answer gives an operator's answer to a question. The first one wins; who comes
// later is told who was first. Errors are *Error: WEBTOOL_NOT_FOUND for a question
// that never was, CONFLICT for one that is not open any more, FORBIDDEN for a
// credential without the right.
func (b *Bridge) Answer(by Caller, id string, a Answer) error {
	if !by.Can(MayAnswer) {
		return mayNotAnswer()
	}
	b.runs.mu.Lock()
	r := b.runs.open[id]
	who, known := b.runs.answered[id]
	b.runs.mu.Unlock()
	switch {
	case r != nil && by.Sees(r.call.Site):
		if e := r.answer(id, &a, by.Name); e == nil || e.Code != Conflict {
			return asPlain(e)
		}
		b.runs.mu.Lock()
		who = b.runs.answered[id]
		b.runs.mu.Unlock()
		fallthrough
	case known:
		e := Errorf(Conflict, "", NotRun, "The question is not open any more: it expired, or its page took it back.")
		if who != nobody {
			e.Message = "The question was answered already, by " + printable(who) + "."
		}
		return e.Detail("answeredBy", who)
	}
	return Errorf(WebtoolNotFound, "", NotRun, "There is no such question.")
}

// asPlain keeps a nil *Error from becoming an error that is not nil.
func asPlain(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

// attach finds the call that a request resumes, and gives it the answer that the
// request brings.
func (b *Bridge) attach(in *Call, token string, answer *Answer) (*Run, *Error) {
	b.runs.mu.Lock()
	r := b.runs.byToken[token]
	b.runs.mu.Unlock()
	if r == nil || r.call.Caller.Name != in.Caller.Name || r.call.Site != in.Site {
		return nil, Errorf(ResumeNotFound, "", NotRun, "No call of yours waits under this token.")
	}
	if e := r.matches(in); e != nil {
		return nil, e
	}
	if answer == nil {
		return r, nil
	}
	q := r.Asks()
	if q == nil {
		return r, nil // somebody else was first; the call went on
	}
	if e := r.answer(q.ID, answer, in.Caller.Name); e != nil && e.Code != Conflict {
		return nil, e
	}
	return r, nil
}

// Served is what a caller is told who may come back later.
type Served struct {
	Result *Result
	Err    *Error
	run    *Run
}

// Written says that the reply reached the caller. The token of a call that ended
// names nothing any more.
func (r *Served) Written() {
	if r.run != nil {
		r.run.Spend()
	}
}

// Serve runs a call, or resumes the one that config.resume names, for callers
// that come back: it waits at most config.wait for a person, and a call that
// stopped goes on without them. Its error then has details.question and
// details.resume.
func (b *Bridge) Serve(ctx context.Context, in *Call) Served {
	r, wait, err := b.startOrResume(ctx, in)
	if err != nil {
		return Served{Err: AsError(err)}
	}
	q, res, err := r.Await(ctx, wait)
	switch {
	case err != nil:
		return Served{Err: AsError(err), run: r}
	case q != nil:
		r.tell(q)
		return Served{Err: stoppedError(q, r.Token())}
	}
	return Served{Result: res, run: r}
}

func (b *Bridge) startOrResume(ctx context.Context, in *Call) (*Run, time.Duration, error) {
	if len(in.Config) == 0 {
		r, err := b.startOnce(ctx, in)
		return r, 0, err
	}
	if !in.Caller.Can(MayCall) {
		return nil, 0, mayNotCall()
	}
	site, err := b.siteFor(in.Site, in.Caller)
	if err != nil {
		return nil, 0, err
	}
	set, err := site.readSettings(in.Config, in.Caller)
	if err != nil {
		return nil, 0, err
	}
	if set.resume == "" {
		r, err := b.startOnce(ctx, in)
		return r, set.wait, err
	}
	r, e := b.attach(in, set.resume, set.answer)
	if e != nil {
		return nil, 0, e
	}
	if r.hasNews() {
		return r, 0, nil // the next question came before its caller did
	}
	return r, set.wait, nil
}

// StopAsking ends the calls that wait for a person. Further questions are declined.
func (b *Bridge) StopAsking() {
	for _, r := range b.close() {
		if r.Asks() != nil {
			r.abort(draining())
		}
	}
}

// Close ends what goes on without its callers, and waits for that.
func (b *Bridge) Close() {
	all := b.close()
	for _, r := range all {
		r.abort(draining())
	}
	b.endLife(draining())
	b.background.Wait()
	for _, r := range all {
		b.forgetRun(r.token)
	}
}

// close takes no more questions, and gives the calls that stopped.
func (b *Bridge) close() []*Run {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	b.runs.closed = true
	all := make([]*Run, 0, len(b.runs.byToken))
	for _, r := range b.runs.byToken {
		all = append(all, r)
	}
	return all
}

func draining() *Error {
	return Errorf(InternalError, Draining, Unknown, "pagetools is shutting down.")
}
