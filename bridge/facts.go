package bridge

import "time"

// Facts tell how a call came to where it is, without its arguments and its result. A watcher of all
// calls gets them; what came before there was one is not known, but for questions.
type Facts struct {
	// Asked says when a person was asked first, Answered when the last question was closed, Ran when
	// the tool was dispatched, and Ended when there was an outcome. They are zero before.
	Asked, Answered, Ran, Ended time.Time
	// Delivered says when its caller had the outcome; zero where they did not fetch it, or nobody writes
	// it for them.
	Delivered time.Time
	// Waited says how long the call waited for persons, up to Answered.
	Waited time.Duration
	// Decision is the level of the call, Layer names who wanted it first, and Rule says why. They are
	// empty before the decision.
	Decision, Layer, Rule string
	// Approval names the grant or the question that the call runs under, and Approver the person.
	Approval, Approver string
	// Version repeats the version that the caller pinned, Trace has the id of the trace.
	Version, Trace             string
	ArgumentBytes, ResultBytes int64

	opened time.Time // the open question
	tool   string    // that was found
}

// learn notes what is known of the call by now, if anybody watches. The goroutine that runs the call
// calls it, with r.mu held.
func learn(r *Run) {
	if r.pass.bridge.watchers.calls.Load() == 0 {
		return
	}
	p, f := &r.pass, &r.facts
	f.Approval, f.Approver = p.approval, p.approver
	f.Version, f.Trace = p.call.Version, p.trace()
	f.ArgumentBytes = max(f.ArgumentBytes, int64(len(p.call.Input.Text()))) // they are not held to the end
	if f.Decision = p.decided(); f.Decision != "" {
		f.Layer, f.Rule = p.decision.Layer, p.decision.Reason
	}
	if p.tool != nil {
		f.tool = p.tool.name
	}
}

// entered notes that the call is one of its own, and begins.
func entered(r *Run) {
	r.entered.Store(true)
	if r.pass.bridge.watchers.calls.Load() == 0 {
		return
	}
	r.mu.Lock()
	learn(r)
	r.mu.Unlock()
	r.pass.bridge.watchers.moved(r)
}

// dispatched notes that the tool is about to run.
func dispatched(r *Run) {
	r.ran.Store(true)
	if r.pass.bridge.watchers.calls.Load() == 0 {
		return
	}
	r.mu.Lock()
	r.facts.Ran = r.pass.bridge.pipe.now()
	learn(r)
	r.mu.Unlock()
	r.pass.bridge.watchers.moved(r)
}

// delivered notes that the caller has the outcome, if anybody watches.
func delivered(r *Run) {
	if r.pass.bridge.watchers.calls.Load() == 0 || !r.entered.Load() { // a reply that is no outcome
		return
	}
	r.mu.Lock()
	first := r.done && r.facts.Delivered.IsZero()
	if first {
		r.facts.Delivered = r.pass.bridge.pipe.now()
	}
	r.mu.Unlock()
	if first {
		r.pass.bridge.watchers.moved(r)
	}
}

// over notes the outcome, with r.mu held.
func (f *Facts) over(s Step, now time.Time) { f.Ended, f.ResultBytes = now, int64(len(s.Data)) }

// asked notes that a question is open, with r.mu held.
func (f *Facts) asked(now time.Time) {
	f.opened = now
	if f.Asked.IsZero() {
		f.Asked = now
	}
}

// answered notes that the question is closed, with r.mu held.
func (f *Facts) answered(now time.Time) {
	f.Waited, f.Answered = f.Waited+now.Sub(f.opened), now
}
