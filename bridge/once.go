package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// keyAge is how long a key is remembered.
	keyAge = 24 * time.Hour
	// maxKeys bounds the keys that one caller has in use. A key is never forgotten
	// early: its call would run again.
	maxKeys = 10_000
	// claimPatience bounds how long an outcome waits to be kept.
	claimPatience = 10 * time.Second
)

// ErrOtherCall is the cause of an Error about a key that names another call, so
// that a transport can tell it from a call that still runs.
var ErrOtherCall = errors.New("the key names another call")

// callerKey is a caller's own name for a call.
type callerKey struct{ caller, key string }

// keys are those of one caller.
type keys struct {
	calls map[string]*keyed
	until []time.Time // the ends of those whose calls ended, the first one first
}

// keyed is the call that a key names.
type keyed struct {
	call [sha256.Size]byte
	run  *Run
}

// startOnce is Start, but a call whose key names one that was there before is that
// one: its outcome, or the question that it waits with. One that still runs, and a
// key that names another call, are a CONFLICT (webtools reference, A19).
func (b *Bridge) startOnce(ctx context.Context, in *Call) (*Run, error) {
	if in.Key == "" {
		return b.Start(ctx, in), nil
	}
	name := callerKey{in.Caller.Name, in.Key}
	digest := callDigest(in)
	b.runs.mu.Lock()
	mine := b.runs.keys[name.caller]
	if mine == nil {
		mine = &keys{calls: map[string]*keyed{}}
		b.runs.keys[name.caller] = mine
	}
	known := mine.calls[name.key]
	if known == nil && len(mine.calls) >= maxKeys {
		e := tooManyKeys()
		if len(mine.until) > 0 {
			e.Retry = max(time.Second, mine.until[0].Sub(b.now()))
		}
		b.runs.mu.Unlock()
		return nil, e
	}
	if known == nil {
		r := b.newRun(in)
		mine.calls[name.key] = &keyed{call: digest, run: r}
		b.runs.mu.Unlock()
		fresh, e := b.claim(ctx, r, name, digest)
		if !fresh { // what is kept is asked for again
			b.forgetKey(name, r)
			return r, asPlain(e)
		}
		r.settle(b.run(ctx, r.call))
		return r, nil
	}
	b.runs.mu.Unlock()
	switch {
	case known.call != digest:
		return nil, otherCall()
	case known.run.runs():
		return nil, stillRuns()
	}
	return known.run, nil
}

// claim makes the run the only one of its key, in all processes and over restarts.
// False means that the call ran before, and the run has its outcome.
func (b *Bridge) claim(ctx context.Context, r *Run, name callerKey, digest [sha256.Size]byte) (fresh bool, e *Error) {
	if b.memory.Replies == nil {
		return true, nil
	}
	state, err := b.memory.Replies.Begin(ctx, name.caller, name.key, hex.EncodeToString(digest[:]))
	switch {
	case errors.Is(err, ErrTooManyKeys):
		return false, tooManyKeys()
	case err != nil:
		return false, notKept("This key cannot be kept now. Nothing ran.", err)
	}
	switch state.Status {
	case ReplyClaimed:
		r.call.claim = state.Claim
		return true, nil
	case ReplyInFlight:
		return false, stillRuns()
	case ReplyOtherBody:
		return false, otherCall()
	case ReplyFinished:
		res, failed, err := decodeReply(state.Reply)
		if err == nil {
			r.mu.Lock()
			r.done, r.result, r.err = true, res, failed
			r.show()
			r.mu.Unlock()
			return false, nil
		}
		b.log.Warn("keys: a reply cannot be read", slog.Any("error", err))
	case ReplyUnknown:
	}
	return false, Errorf(InternalError, Internal, Unknown, "A call with this key began, and its outcome is lost. It does not run again.")
}

// tooManyKeys is for calls that still run, and for a store: when a key is free again
// is not known.
func tooManyKeys() *Error {
	e := Errorf(RateLimit, "", NotRun, "Too many keys are in use. Try again later, or without one.")
	e.Retry = time.Minute
	return e
}

func otherCall() *Error {
	return Errorf(Conflict, "", NotRun, "This key names another call.").With(ErrOtherCall)
}

func stillRuns() *Error {
	return Errorf(Conflict, "", NotRun, "The call with this key still runs.")
}

// keptReply is an outcome as it is kept.
type keptReply struct {
	Data  json.RawMessage `json:"data,omitempty"`
	Error *keptError      `json:"error,omitempty"`
}

type keptError struct {
	Code    Code           `json:"code"`
	Reason  Reason         `json:"reason,omitempty"`
	Outcome Outcome        `json:"outcome"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

func encodeReply(res *Result, failed *Error) ([]byte, error) {
	var k keptReply
	if failed != nil {
		k.Error = &keptError{failed.Code, failed.Reason, failed.Outcome, failed.Message, failed.Details}
	} else {
		k.Data = res.Data
	}
	return EncodeJSON(k)
}

func decodeReply(kept []byte) (*Result, *Error, error) {
	var k keptReply
	if err := json.Unmarshal(kept, &k); err != nil {
		return nil, nil, fmt.Errorf("reading a kept reply: %w", err)
	}
	if e := k.Error; e != nil {
		return nil, &Error{Code: e.Code, Reason: e.Reason, Outcome: e.Outcome, Message: e.Message, Details: e.Details}, nil
	}
	return &Result{Data: k.Data}, nil, nil
}

// runs reports whether the call neither ended nor waits for a person.
func (r *Run) runs() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.done && r.question == nil
}

// keyEnded keeps the outcome of a call for its key. One that did not run may be
// tried again.
func (b *Bridge) keyEnded(r *Run) {
	name := callerKey{r.call.Caller.Name, r.call.Key}
	notRun := r.err != nil && r.err.Outcome == NotRun
	if r.call.claim != "" {
		if err := b.endClaim(r, notRun); err != nil {
			b.log.Warn("keys: an outcome is not kept", slog.String("call", r.call.ID), slog.Any("error", err))
		}
	}
	if notRun {
		b.forgetKey(name, r)
		return
	}
	b.runs.mu.Lock()
	if mine := b.runs.keys[name.caller]; mine != nil {
		mine.until = append(mine.until, b.now().Add(keyAge))
	}
	b.runs.mu.Unlock()
	time.AfterFunc(keyAge, func() {
		b.runs.mu.Lock()
		if mine := b.runs.keys[name.caller]; mine != nil && len(mine.until) > 0 {
			mine.until = mine.until[1:]
		}
		b.runs.mu.Unlock()
		b.forgetKey(name, r)
	})
}

// endClaim keeps the outcome for further processes, or frees the key of a call that
// did not run.
func (b *Bridge) endClaim(r *Run, notRun bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), claimPatience)
	defer cancel()
	if notRun {
		return b.memory.Replies.Abandon(ctx, r.call.claim)
	}
	reply, err := encodeReply(r.result, r.err)
	if err != nil {
		return err
	}
	return b.memory.Replies.Finish(ctx, r.call.claim, reply)
}

func (b *Bridge) forgetKey(name callerKey, r *Run) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	mine := b.runs.keys[name.caller]
	if mine == nil || mine.calls[name.key] == nil || mine.calls[name.key].run != r {
		return
	}
	delete(mine.calls, name.key)
	if len(mine.calls) == 0 {
		delete(b.runs.keys, name.caller)
	}
}

// callDigest tells calls apart. How the JSON is written makes no difference.
func callDigest(in *Call) [sha256.Size]byte {
	sum := sha256.New()
	for _, part := range []string{in.Site, in.Tool, in.Session, in.Version, string(canonicalOrRaw(in.Config)), string(canonicalOrRaw(in.Input))} {
		size := sha256.Sum256([]byte(part)) // of one length, so that parts cannot run into each other
		sum.Write(size[:])
	}
	if in.Single {
		sum.Write([]byte{1})
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
