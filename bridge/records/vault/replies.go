package vault

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
)

// Replies keeps the claims of idempotency keys, and the replies, for all nodes. Safe for concurrent use.
// Make one with NewReplies.
type Replies struct {
	vault

	used usage

	mu sync.Mutex
	// claims has the claims of this node, until their end is kept.
	claims map[string]*claim
}

var _ bridge.Replies = (*Replies)(nil)

// NewReplies returns the replies of the cluster.
func NewReplies(o Options) *Replies {
	o.MaxKeys = cmp.Or(o.MaxKeys, 10_000)
	o.MaxReplyBytes, o.MaxAllBytes = cmp.Or(o.MaxReplyBytes, 32<<20), cmp.Or(o.MaxAllBytes, 256<<20)
	return &Replies{vault: vault{o}, used: newUsage(&o), claims: map[string]*claim{}}
}

// The states of a key.
const (
	stateClaimed = "claimed" // nothing of the call ran
	stateBegun   = "begun"   // it may have run
	stateDone    = "done"    // the reply follows
	stateLost    = "lost"    // it ran, and the reply is not kept
	stateDead    = "dead"    // it began, and its node has ended; in no record
)

// entry stands in the box of a key before the reply, in JSON and a line feed.
type entry struct {
	State  string `json:"state"`
	By     string `json:"by"`    // the life of the node that has the claim
	Claim  string `json:"claim"` // a word of its own
	Digest string `json:"digest"`
}

// claim is one of this node. Its call uses it, one step after the other.
type claim struct {
	entry

	caller, key string
	at          box
	counted     bool
	// over says that nothing ran, which could not be kept: whoever finds the claim may take it.
	over bool
}

func (e entry) bytes(reply []byte) ([]byte, error) {
	text, err := json.Marshal(e)
	return append(append(text, '\n'), reply...), err
}

// readEntry reads a box. Without a record, the entry has no state.
func (r *Replies) readEntry(ctx context.Context, key string) (e entry, reply []byte, at box, err error) {
	at, err = r.read(ctx, key)
	if torn := errors.Is(err, errTorn); err != nil && !torn || at.revision == 0 {
		return e, nil, at, err
	} else if torn { // only replies are so long
		return entry{State: stateLost}, nil, at, nil
	}
	text, reply, _ := bytes.Cut(at.data, []byte{'\n'})
	if err := json.Unmarshal(text, &e); err != nil {
		return e, nil, at, fmt.Errorf("reading an idempotency key: %w", err)
	}
	return e, reply, at, nil
}

func (r *Replies) keyOf(caller, key string) string { return "k." + r.o.Name("key", caller, key) }

// Home returns the life of the node that has an open claim on a key; "" is none. It is asked where a
// request with a key is served, and does no I/O for claims of this node.
func (r *Replies) Home(ctx context.Context, caller, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if r.has(caller, key) {
		return r.o.Self(), nil
	}
	e, _, _, err := r.readEntry(ctx, r.keyOf(caller, key))
	if err != nil {
		return "", fmt.Errorf("looking for an idempotency key: %w", err)
	}
	if e.State == stateClaimed || e.State == stateBegun {
		return e.By, nil
	}
	return "", nil
}

// has reports whether a call of this node runs under a key.
func (r *Replies) has(caller, key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.claims {
		if c.caller == caller && c.key == key && !c.over {
			return true
		}
	}
	return false
}

// Begin implements bridge.Replies.
func (r *Replies) Begin(ctx context.Context, caller, key, digest string) (bridge.ReplyState, error) {
	c := &claim{entry: entry{State: stateClaimed, By: r.o.Self(), Claim: newID(), Digest: digest}, caller: caller, key: key}
	r.mu.Lock()
	r.claims[c.Claim] = c // before the record: nobody takes it for one that was left
	r.mu.Unlock()
	var state bridge.ReplyState
	err := patiently(ctx, "claiming an idempotency key", func(ctx context.Context) (err error) {
		state, err = r.try(ctx, c)
		return err
	})
	if err != nil || state.Status != bridge.ReplyClaimed {
		r.close(c.Claim)
		r.used.free(c)
	}
	return state, err
}

// try claims a key once, or says what it is. The error is records.ErrChanged where somebody changed it
// meanwhile.
func (r *Replies) try(ctx context.Context, c *claim) (bridge.ReplyState, error) {
	e, reply, at, err := r.readEntry(ctx, r.keyOf(c.caller, c.key))
	if err != nil {
		return bridge.ReplyState{}, err
	}
	free, err := at.revision == 0, error(nil)
	if !free {
		free, err = r.judge(ctx, &e)
	}
	switch {
	case err != nil:
		return bridge.ReplyState{}, err
	case free:
		if err := r.claim(ctx, c, at); err != nil {
			return bridge.ReplyState{}, err
		}
		r.close(e.Claim) // where it was left
		return bridge.ReplyState{Status: bridge.ReplyClaimed, Claim: c.Claim}, nil
	case e.Digest != c.Digest && e.Claim != "":
		return bridge.ReplyState{Status: bridge.ReplyOtherBody, Claim: e.Claim}, nil
	case e.State == stateDone:
		return bridge.ReplyState{Status: bridge.ReplyFinished, Claim: e.Claim, Reply: reply}, nil
	case e.State == stateDead:
		return bridge.ReplyState{Status: bridge.ReplyNodeLost, Claim: e.Claim}, nil
	case e.State == stateLost:
		return bridge.ReplyState{Status: bridge.ReplyUnknown, Claim: e.Claim}, nil
	}
	return bridge.ReplyState{Status: bridge.ReplyInFlight, Claim: e.Claim}, nil
}

// judge reports whether a claim is one of a node that can never begin the call. One that began with a node
// that has ended is dead.
func (r *Replies) judge(ctx context.Context, e *entry) (free bool, err error) {
	if e.State != stateClaimed && e.State != stateBegun {
		return false, nil
	}
	var ended bool
	if e.By == r.o.Self() {
		r.mu.Lock()
		own := r.claims[e.Claim]
		free, ended = own != nil && own.over, own == nil
		r.mu.Unlock()
	} else if ended, err = r.o.Dead(ctx, e.By); err != nil {
		return false, err
	}
	switch {
	case !ended:
		return free, nil
	case e.State == stateClaimed:
		return true, nil
	}
	if e.State = stateDead; e.By == r.o.Self() {
		e.State = stateLost // this node lives
	}
	return false, nil
}

// claim puts a claim in the place of what was read.
func (r *Replies) claim(ctx context.Context, c *claim, was box) error {
	if !r.used.count(c) {
		return fact{bridge.ErrTooManyKeys}
	}
	data, err := c.bytes(nil)
	if err != nil {
		return err
	}
	if c.at, err = r.write(ctx, was, data); err != nil {
		return err
	}
	c.at.data = nil
	return nil
}

// find returns an open claim of this node, or bridge.ErrClaimLost.
func (r *Replies) find(token string) (*claim, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.claims[token]; c != nil && !c.over {
		return c, nil
	}
	return nil, bridge.ErrClaimLost
}

// close forgets a claim.
func (r *Replies) close(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claims, token)
}

// change writes what a claim has become, or removes it where it is nothing. The error is
// bridge.ErrClaimLost where another node has the key.
func (r *Replies) change(ctx context.Context, c *claim, state string, reply []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	next := c.entry
	next.State = state
	data, err := next.bytes(reply)
	for tried := false; err == nil; tried = true {
		if state == "" {
			err = r.remove(ctx, c.at)
		} else {
			var at box
			if at, err = r.write(ctx, c.at, data); err == nil {
				c.State, c.at = state, at
				c.at.data = nil
			}
		}
		if !errors.Is(err, records.ErrChanged) {
			return err
		}
		// A step before may have happened after all.
		e, _, is, readErr := r.readEntry(ctx, c.at.key)
		if err = readErr; err == nil && (e.Claim != c.Claim || e.State == stateDone || tried) {
			return bridge.ErrClaimLost
		}
		c.at = is
		c.at.data = nil
	}
	return err
}

// Begun implements bridge.Replies.
func (r *Replies) Begun(ctx context.Context, token string) error {
	c, err := r.find(token)
	if err != nil || c.State == stateBegun {
		return err
	}
	if err = r.change(ctx, c, stateBegun, nil); err != nil {
		return unreachable(fmt.Errorf("noting that a call begins: %w", err))
	}
	return nil
}

// Finish implements bridge.Replies. After another error than bridge.ErrClaimLost this node has the only
// copy of the reply.
func (r *Replies) Finish(ctx context.Context, token string, reply []byte) error {
	c, err := r.find(token)
	if err != nil {
		return err
	}
	state, size := stateDone, int64(len(reply))+1
	if size > r.o.MaxReplyBytes || len(reply) > maxBox-part {
		state, reply, size = stateLost, nil, 0
	}
	err = r.change(ctx, c, state, reply)
	r.close(c.Claim)
	if err != nil {
		size = 0
	}
	for _, old := range r.used.keep(c, size) {
		r.drop(ctx, old)
	}
	if err != nil {
		return fmt.Errorf("keeping a reply: %w", err)
	}
	return nil
}

// drop removes a reply from the records, for room. Its key stays, so that nothing runs twice.
func (r *Replies) drop(ctx context.Context, c *claim) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e := c.entry
	e.State = stateLost
	if data, err := e.bytes(nil); err == nil {
		_, _ = r.write(ctx, c.at, data) // else it ends with its day
	}
}

// Abandon implements bridge.Replies.
func (r *Replies) Abandon(ctx context.Context, token string) error {
	c, err := r.find(token)
	if err != nil {
		return err
	}
	err = r.change(ctx, c, "", nil)
	r.used.free(c)
	if err == nil || errors.Is(err, bridge.ErrClaimLost) {
		r.close(c.Claim)
		return err
	}
	r.mu.Lock()
	c.over = true
	r.mu.Unlock()
	return fmt.Errorf("giving up an idempotency key: %w", err)
}
