package bridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

const (
	// keyAge is how long a key is remembered.
	keyAge = 24 * time.Hour
	// maxKeys bounds the keys in use. A key is never forgotten early: its call
	// would run again.
	maxKeys = 10_000
)

// ErrOtherCall is the cause of an Error about a key that names another call, so
// that a transport can tell it from a call that still runs.
var ErrOtherCall = errors.New("the key names another call")

// callerKey is a caller's own name for a call.
type callerKey struct{ caller, key string }

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
	known := b.runs.byKey[name]
	if known == nil && len(b.runs.byKey) >= maxKeys {
		b.runs.mu.Unlock()
		e := Errorf(RateLimit, "", NotRun, "Too many keys are in use. Try again later, or without one.")
		e.Retry = time.Minute
		return nil, e
	}
	if known == nil {
		known = &keyed{call: digest, run: b.newRun(in)}
		b.runs.byKey[name] = known
		b.runs.mu.Unlock()
		known.run.settle(b.run(ctx, known.run.call))
		return known.run, nil
	}
	b.runs.mu.Unlock()
	switch {
	case known.call != digest:
		return nil, Errorf(Conflict, "", NotRun, "This key names another call.").With(ErrOtherCall)
	case known.run.runs():
		return nil, Errorf(Conflict, "", NotRun, "The call with this key still runs.")
	}
	return known.run, nil
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
	if r.err != nil && r.err.Outcome == NotRun {
		b.forgetKey(name, r)
		return
	}
	time.AfterFunc(keyAge, func() { b.forgetKey(name, r) })
}

func (b *Bridge) forgetKey(name callerKey, r *Run) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	if k := b.runs.byKey[name]; k != nil && k.run == r {
		delete(b.runs.byKey, name)
	}
}

// canonicalOr gives the canonical form of JSON, or what is no JSON as it is.
func canonicalOr(b []byte) []byte {
	if c, err := schema.Canonical(b); err == nil {
		return c
	}
	return b
}

// callDigest tells calls apart. How the JSON is written makes no difference.
func callDigest(in *Call) [sha256.Size]byte {
	sum := sha256.New()
	for _, part := range []string{in.Site, in.Tool, in.Session, in.Version, string(canonicalOr(in.Config)), string(canonicalOr(in.Input))} {
		size := sha256.Sum256([]byte(part)) // of one length, so that parts cannot run into each other
		sum.Write(size[:])
	}
	if in.Single {
		sum.Write([]byte{1})
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
