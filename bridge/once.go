package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// claimPatience bounds how long an outcome waits to be kept.
const claimPatience = 10 * time.Second

// ErrOtherCall is the cause of an Error about a key that names another call, so
// that a transport can tell it from a call that still runs.
var ErrOtherCall = errors.New("the key names another call")

// startOnce is start for a call with a key. When an equal call had the key before,
// startOnce returns that call, with its outcome or its open question. While that call
// still runs, and when the key belongs to a different call, the error is a CONFLICT
// (webtools reference, A19).
func (b *Bridge) startOnce(ctx context.Context, in *Call) *Run {
	r := b.newRun(in)
	r.digest = in.Digest()
	known, e := b.runs.claim(r)
	switch {
	case e != nil:
		return b.refused(ctx, in, e)
	case known == nil:
	case known.digest != r.digest:
		return b.refused(ctx, in, otherCall())
	case known.runs() && (!in.Detached || !known.pass.call.Detached):
		return b.refused(ctx, in, stillRuns())
	default:
		return known
	}
	end, fresh := claim(ctx, r)
	if fresh {
		r.begin(ctx)
		return r
	}
	b.runs.remove(r) // what is kept is asked for again
	r.mu.Lock()
	r.done, r.result = true, end
	r.tally.count(b.pipe.now())
	r.changes.Signal()
	r.mu.Unlock()
	return r
}

// claim makes the run the only one of its key, in all processes and over restarts.
// Where it is not, claim returns the outcome of the call that ran before.
func claim(ctx context.Context, r *Run) (end Step, fresh bool) {
	b := r.pass.bridge
	if b.pipe.memory.Replies == nil {
		return end, true
	}
	state, err := b.pipe.memory.Replies.Begin(ctx, r.pass.call.Caller.Name, r.pass.call.Key, r.digest)
	switch {
	case errors.Is(err, ErrTooManyKeys):
		return r.refuse(ctx, tooManyKeys()), false
	case err != nil:
		return r.refuse(ctx, notKept("This key cannot be kept now. Nothing ran.", err)), false
	}
	switch state.Status {
	case ReplyClaimed:
		r.claim = state.Claim
		return end, true
	case ReplyInFlight:
		return r.refuse(ctx, runsElsewhere()), false
	case ReplyOtherBody:
		return r.refuse(ctx, otherCall()), false
	case ReplyFinished:
		if end, err = decodeReply(state.Reply); err == nil {
			return end, false
		}
		b.pipe.log.Warn("keys: a reply cannot be read", slog.Any("error", err))
	case ReplyNodeLost:
		return r.refuse(ctx, LostNode()), false
	case ReplyUnknown:
	}
	return r.refuse(ctx, Errorf(InternalError, Internal, Unknown,
		"A call with this key began, and its outcome is lost. It does not run again.")), false
}

// begun notes that the call of a key is about to be dispatched.
func begun(ctx context.Context, r *Run) *Error {
	if r.claim == "" {
		return nil
	}
	if err := r.pass.bridge.pipe.memory.Replies.Begun(ctx, r.claim); err != nil {
		return notKept("It cannot be kept that the call with this key begins. Nothing ran.", err)
	}
	return nil
}

// tooManyKeys is the error where it is not known when a key is free again: because calls
// still run, or because the store does not say.
func tooManyKeys() *Error {
	e := Errorf(RateLimit, "", NotRun, "Too many keys are in use. Try again later, or without one.")
	e.Retry = time.Minute
	return e
}

func otherCall() *Error {
	return Errorf(Conflict, "", NotRun, "This key names another call.").With(ErrOtherCall)
}

func stillRuns() *Error {
	return Errorf(Conflict, "", NotRun, "The call with this key still runs. Ask again later, with the same key.")
}

// runsElsewhere is stillRuns for a call that this process does not have.
func runsElsewhere() *Error {
	return Errorf(Conflict, "", NotRun, "The call with this key runs in another pagetools process, "+
		"or waits for a person there. Ask again later, with the same key, or ask that process.")
}

// keptReply is an outcome in the form in which a store keeps it.
type keptReply struct {
	Data      json.RawMessage `json:"data,omitempty"`
	Violation *Violation      `json:"violation,omitempty"`
	LeftOut   int             `json:"leftOut,omitempty"`
	Changed   *Changed        `json:"changed,omitempty"`
	Files     []File          `json:"files,omitempty"`
	Error     *Error          `json:"error,omitempty"`
}

func encodeReply(end Step) ([]byte, error) {
	return schema.Encode(keptReply{end.Data, end.Violation, end.LeftOut, end.Changed, end.Files, end.Err})
}

func decodeReply(kept []byte) (Step, error) {
	var k keptReply
	if err := json.Unmarshal(kept, &k); err != nil {
		return Step{}, fmt.Errorf("reading a kept reply: %w", err)
	}
	return Step{Err: k.Error, Data: k.Data, Violation: k.Violation, LeftOut: k.LeftOut, Changed: k.Changed, Files: k.Files}, nil
}

// keyEnded keeps the outcome of a call for its key: in the store, where there is one. One
// that did not run may be tried again, but not while its caller has its token.
func keyEnded(r *Run) {
	b := r.pass.bridge
	notRun := r.result.Err != nil && r.result.Err.Outcome == NotRun
	stored := false
	if r.claim != "" {
		err := endClaim(r, notRun)
		if stored = err == nil; !stored {
			b.pipe.log.Warn("keys: an outcome is not kept", slog.String("call", r.pass.call.ID),
				slog.Any("error", err))
		}
	}
	if notRun || stored {
		r.mu.Lock()
		handed := r.handed
		r.mu.Unlock()
		b.runs.freeKey(r, handed)
		return
	}
	if !b.runs.hold(r, r.result.bytes()+r.bytes()) {
		r.mu.Lock()
		r.result = r.pass.ofCall(tooMuchToKeep()).Step()
		r.mu.Unlock()
	}
	b.runs.keepKey(r)
}

// endClaim keeps the outcome for further processes, or frees the key of a call that
// did not run.
func endClaim(r *Run, notRun bool) error {
	b := r.pass.bridge
	ctx, cancel := context.WithTimeout(context.Background(), claimPatience)
	defer cancel()
	if notRun {
		return b.pipe.memory.Replies.Abandon(ctx, r.claim)
	}
	reply, err := encodeReply(r.result)
	if err != nil {
		return err
	}
	return b.pipe.memory.Replies.Finish(ctx, r.claim, reply)
}
