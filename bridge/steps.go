package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Steps runs further calls, one after the other, in the place of a tool. Each of them passes the
// whole pipeline, with consent, rates, record and outcome of its own; the call around them has none
// of these. do runs one. Where the call is detached, do waits for persons, and the questions of its
// steps are the call's own; else a step that stops has the error of Serve, with details.resume.
type Steps func(ctx context.Context, do func(*Call) Step) Step

// StepsTime returns how long calls may take one after the other: at most Limits.AsyncTimeout. Those
// whose config names no timeout share what the others leave, where their own would be too much.
// Errors are *Error: of a caller that may not call, of a site that is not there, and CONFIG_ERROR
// where the timeouts that are named leave nothing.
func StepsTime(b *Bridge, all []*Call) (sum time.Duration, err error) {
	most := b.pipe.limits.AsyncTimeout
	var named, others time.Duration
	var unnamed []*Call
	for _, c := range all {
		if !c.Caller.Can(MayCall) {
			return 0, mayNotCall()
		}
		if _, err := b.pipe.siteFor(c.Site, c.Caller); err != nil {
			return 0, err
		}
		_, set, err := b.pipe.configured(c)
		var config struct {
			Timeout json.RawMessage `json:"timeout"`
		}
		switch {
		case err != nil: // the call ends with it, when its turn comes
		case len(c.Config) > 0 && json.Unmarshal(c.Config, &config) == nil && config.Timeout != nil:
			named += set.timeout
		default:
			others += set.timeout
			unnamed = append(unnamed, c)
		}
	}
	if named+others <= most {
		return named + others, nil
	}
	share := (most - named) / time.Duration(max(1, len(unnamed)))
	if share < time.Second && (named > most || len(unnamed) > 0) {
		return 0, Errorf(ConfigError, "", NotRun, "The steps may take %s together, and the timeouts in their config add up to %s. "+
			"Make fewer steps, or shorter ones.", most, named)
	}
	for _, c := range unnamed {
		patch := fmt.Appendf(nil, `{"timeout":%d}`, share.Milliseconds())
		if c.Config, err = mergePatch(c.Config, patch); err != nil {
			return 0, AsError(err)
		}
	}
	return most, nil
}

// runSteps runs the steps of a call.
func runSteps(ctx context.Context, r *Run) (s Step) {
	b, n := r.pass.bridge, 0
	defer func() {
		if p := recover(); p != nil {
			s = Errorf(InternalError, Internal, Unknown, "Something went wrong inside pagetools.").
				With(fmt.Errorf("panic: %v\n%s", p, debug.Stack())).Step()
		}
		s.Err = r.pass.ofCall(s.Err)
	}()
	if e := begun(ctx, r); e != nil {
		return e.Step()
	}
	if r.pass.call.Detached {
		r.mu.Lock()
		r.begun = true
		r.tally.moved.Signal()
		r.mu.Unlock()
	}
	ctx = WithMoved(ctx, nil) // an earlier step may have run
	return r.pass.call.Steps(ctx, func(c *Call) Step {
		var end Step
		if r.pass.call.Detached {
			end = waitFor(ctx, r, c)
			n++
			r.progressed(Progress{Parts: n, Last: schema.MustEncode(c.Tool)})
		} else {
			var run *Run
			run, end = b.Serve(ctx, c)
			_ = deliver(run, func() error { return nil })
		}
		if !b.runs.hold(r, end.bytes()) {
			return r.pass.ofCall(tooMuchToKeep()).Step()
		}
		return end
	})
}

// waitFor runs a step of a detached call to its end, however often it asks.
func waitFor(ctx context.Context, r *Run, c *Call) Step {
	run, _ := r.pass.bridge.startOrResume(ctx, c)
	goInto(r, run)
	defer goInto(r, nil)
	for last := ""; ; {
		q, end := run.Next(ctx)
		if q == nil {
			_ = deliver(run, func() error { return nil })
			return end
		}
		changed := run.whileAsking()
		noteAsking(r, q.ID != last)
		last = q.ID
		if changed == nil { // it was answered meanwhile
			continue
		}
		select {
		case <-changed:
			noteAsking(r, false)
		case <-ctx.Done():
			run.abort(stopped(ctx))
		}
	}
}

// stopped returns the error with which calls end when their context does.
func stopped(ctx context.Context) *Error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return e
	}
	return GaveUp(Unknown).With(context.Cause(ctx))
}

// goInto notes the step that runs now; nil is none.
func goInto(r, step *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = step
}

// noteAsking tells who looks at the call that its step asks another question, or asks no more.
func noteAsking(r *Run, another bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if another {
		r.asked++
	}
	r.tally.count(r.pass.bridge.pipe.now())
}

// stepAsks returns the question of the step that runs now, or nil. Called with r.mu held.
func stepAsks(r *Run) *Question {
	if r.step == nil {
		return nil
	}
	return r.step.Asks()
}

// asker returns the call that asks: the step of a call that runs some, or the call itself.
func asker(r *Run) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.step != nil {
		return r.step
	}
	return r
}
