package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Start runs a call until it ends or stops at its first question. While ctx lives and
// nobody is asked, the end of ctx aborts the call. For a detached call it returns at once. A call
// that was there before, under its key or as Call.Again says, is returned as it is.
// Config.resume is not read; see Serve.
func (b *Bridge) Start(ctx context.Context, in *Call) *Run {
	if e := endIn(ctx); e != nil {
		return b.refused(ctx, in, e)
	}
	in, e := ticketed(ctx, in)
	if e != nil {
		return b.refused(ctx, in, e)
	}
	if in.Again {
		if r := b.runs.again(in); r != nil {
			return r
		}
	}
	if in.Key != "" {
		return b.startOnce(ctx, in)
	}
	r := b.newRun(in)
	r.begin(ctx)
	return r
}

// Resume finds the call that waits, or whose outcome is kept, under a token. in is
// the same call again: a token is not a license for another. It waits, within ctx, for
// a reply with the outcome that is being written. Errors are *Error: RESUME_NOT_FOUND,
// CONFLICT (ELSEWHERE) for a call of another living process, or SCHEMA_ERROR for another action,
// session or input.
func (b *Bridge) Resume(ctx context.Context, in *Call, token string) (*Run, error) {
	if e := endIn(ctx); e != nil {
		return nil, e
	}
	h := handle{by: byToken, name: token}
	r := b.runs.find(h)
	if r != nil && r.pass.call.Caller.Name == in.Caller.Name {
		r.undelivered(ctx)
		r = b.runs.find(h)
	}
	if r == nil || r.pass.call.Caller.Name != in.Caller.Name || r.pass.call.Site != in.Site {
		return nil, b.lost(token)
	}
	if e := r.matches(in); e != nil {
		return nil, e
	}
	return r, nil
}

// Waiting lists the calls of a session that wait for a person, the oldest first; without a
// site, those on all sites.
func (b *Bridge) Waiting(ref Ref) []*Run {
	if b.runs.questions() == 0 { // the usual case
		return nil
	}
	return ref.of(b.runs.under(byQuestion))
}

// Stopped lists the calls of a session that an equal call goes on with, because they ask for that
// (Call.Again), the oldest first: they wait for a person, or have ended, and their outcome was not
// fetched. Without a site, it lists those on all sites.
func (ref Ref) Stopped(b *Bridge) []*Run { return ref.of(b.runs.under(byDigest)) }

// of returns the calls of the session, the oldest first.
func (ref Ref) of(all []*Run) []*Run {
	mine := slices.DeleteFunc(all, func(r *Run) bool {
		c := &r.pass.call
		return c.Caller.Name != ref.Caller.Name || c.Session != ref.Session ||
			ref.Site != "" && c.Site != ref.Site || !ref.Caller.Sees(c.Site)
	})
	slices.SortFunc(mine, func(a, b *Run) int { return cmp.Compare(a.number, b.number) })
	return mine
}

// Number names the call in this process. It opens nothing.
func (r *Run) Number() int64 { return r.number }

// Site is the name of the site that the call is for.
func (r *Run) Site() string { return r.pass.call.Site }

// GiveUp declines the open question of the caller's own call. That needs no right to
// answer: it never agrees. Errors are *Error: FORBIDDEN when the question may be another
// caller's, CONFLICT when none is open any more.
func (r *Run) GiveUp(by Caller) error {
	q := r.Asks()
	switch {
	case by.Name != r.pass.call.Caller.Name || by.IsRevoked() || q != nil && q.Foreign:
		return mayNotAnswer()
	case q == nil:
		return Errorf(Conflict, "", NotRun, "The question is not open any more.")
	}
	return asPlain(r.answer(q.ID, &Answer{}, by.Name))
}

// Serve runs a call, or resumes the one that config.resume names, for callers that
// come back: it waits at most config.wait for a person, and a call that stopped goes
// on without them. The step then has an error with details.question and
// details.resume, and the run has nothing to deliver: the call's own token is good until
// its outcome was told. The reply is written in Deliver of the run.
func (b *Bridge) Serve(ctx context.Context, in *Call) (*Run, Step) {
	r, wait := b.startOrResume(ctx, in)
	q, end := r.Await(ctx, wait)
	if q == nil {
		return r, end
	}
	r.tell(q)
	e := r.stoppedError(q)
	e.Message += " It goes on when there is an answer: resume it for its outcome."
	return &Run{pass: b.enter(in), done: true, result: e.Step()}, e.Step()
}

// startOrResume reads what config says of a call that waits.
func (b *Bridge) startOrResume(ctx context.Context, in *Call) (*Run, time.Duration) {
	if e := endIn(ctx); e != nil {
		return b.refused(ctx, in, e), 0
	}
	set, err := b.mayResume(in)
	if e := AsError(err); e != nil && e.Code == WebtoolNotFound {
		if token := in.resumes(); token != "" { // it began when the site was there
			return formerly(ctx, b, in, token, e), 0
		}
	}
	if err != nil || set.resume == "" { // the pipeline refuses what is wrong, and records it
		return b.Start(ctx, in), set.wait
	}
	r, err := b.Resume(ctx, in, set.resume)
	if err != nil {
		return b.refused(ctx, in, AsError(err)), 0
	}
	if a := set.answer; a != nil {
		if !r.wasTold(a.question) {
			return r, 0 // the open question is told, not answered
		}
		e := answerOwn(r, a, in.Caller)
		if e != nil && e.Code != Conflict { // else somebody else was first
			return b.refused(ctx, in, e), 0
		}
	}
	if r.hasNews() {
		return r, 0 // the next question came before its caller did
	}
	return r, set.wait
}

// answerOwn takes an answer of the call's own caller to a question that it was told of.
func answerOwn(r *Run, a *Answer, by Caller) *Error {
	if q := r.Asks(); q != nil && q.Foreign {
		return mayNotAnswer()
	}
	return r.answer(a.question, a, by.Name)
}

func (b *Bridge) mayResume(in *Call) (settings, error) {
	if len(in.Config) == 0 {
		return settings{}, nil
	}
	if !in.Caller.Can(MayCall) {
		return settings{}, mayNotCall()
	}
	_, set, err := b.pipe.configured(in)
	return set, err
}

// Do runs a call and returns its result. Questions go to the call's Asker; without
// one, a call that stops is left to whoever may answer, and the error says so. The
// error is always an *Error.
func (b *Bridge) Do(ctx context.Context, in *Call) ([]byte, error) {
	end := b.Complete(ctx, in)
	return end.Data, asPlain(end.Err)
}

// Complete is Do for callers that want all that the call came to: never a Pause.
func (b *Bridge) Complete(ctx context.Context, in *Call) Step {
	r, _ := b.startOrResume(ctx, in)
	for {
		q, end := r.Next(ctx)
		switch {
		case q == nil:
			_ = deliver(r, func() error { return nil })
			return end
		case in.Asker == nil:
			return r.stoppedError(q).Step()
		}
		answer, err := askUntilOver(ctx, r, in.Asker, q)
		switch {
		case ctx.Err() != nil:
			r.abort(GaveUp(Unknown))
		case err != nil:
			e := r.stoppedError(q).With(err)
			r.abort(e)
			return e.Step()
		default: // somebody else may have been first
			_ = r.answer(q.ID, &answer, in.Caller.Name)
		}
	}
}

// askUntilOver asks until there is an answer, or the question of the call is over.
func askUntilOver(ctx context.Context, r *Run, asker Asker, q *Question) (Answer, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	open, changed := r.asks(), r.changes.Next()
	r.mu.Unlock()
	if open == nil || open.ID != q.ID {
		return Answer{}, nil
	}
	stopAsking := make(chan struct{})
	defer close(stopAsking)
	go func() { // ends with askUntilOver
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

// stoppedError is the error for a caller that does not wait for the person. Its cause, for
// operators, says why even the mode auto asks, or why it does not.
func (r *Run) stoppedError(q *Question) *Error {
	var e *Error
	if q.Kind == Approve {
		e = Errorf(ApprovalRequired, "", NotRun,
			"%q needs a person's consent.", q.Tool).With(errors.New(q.auto.Reason))
	} else {
		e = Errorf(InputRequired, "", Unknown,
			"The page asked a person, and %q waits for the answer.", q.Tool)
	}
	return r.pass.ofCall(e.Detail("question", q).Detail("resume", r.Token()))
}

// StopAsking ends the calls that wait for a person. Further questions are declined.
func (b *Bridge) StopAsking() {
	b.runs.close()
	for _, r := range b.runs.under(byQuestion) {
		r.abort(draining())
	}
}

// Close ends the calls that go on without their callers, and waits for them.
func (b *Bridge) Close() {
	b.runs.close()
	all := b.runs.under(byToken)
	for _, r := range all {
		r.abort(draining())
	}
	b.endLife(draining())
	b.background.Wait()
	for _, r := range all {
		b.runs.drop(handle{by: byToken, name: r.Token()}, r)
	}
	b.files.drop(func(*keptFile) bool { return true })
}

// Revoke ends what a caller left when its credential was revoked: its calls that wait
// for a person end, their questions are void, their tokens name nothing, and its files are gone. It
// does not wait for pages. Calls that run go on to their end, but nobody gets their results.
func (b *Bridge) Revoke() {
	for _, r := range b.runs.under(byToken) {
		if !r.pass.call.Caller.IsRevoked() {
			continue
		}
		if rest := r.halt(Revoked()); rest != nil {
			b.background.Go(rest) // ends when the page lets go
		}
		b.runs.drop(handle{by: byToken, name: r.Token()}, r)
	}
	b.files.drop(func(k *keptFile) bool { return k.caller.IsRevoked() })
}

// asPlain keeps a nil *Error from becoming an error that is not nil.
func asPlain(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}
