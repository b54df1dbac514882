package ticket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
)

// Errors of Begin: nothing ran, but for ErrBegun.
var (
	// ErrVoid says that the call is void: whoever passed it on has given it up, and does so elsewhere.
	ErrVoid = errors.New("the call is void")
	// ErrLapsed says that the life of this node ended, or that nobody can know whether it did.
	ErrLapsed = errors.New("the lease of this node ended before the call began")
	// ErrBegun says that the call came twice. The first may have run.
	ErrBegun = errors.New("the call has begun already")
)

const (
	// trust sets for how long after a call was passed on a ticket that is not there means something.
	trust = records.ShortAge - 5*time.Minute
	// rest sets how long to wait before another try.
	rest = 20 * time.Millisecond
)

// Call is one attempt at a call.
type Call struct {
	ID      string // letters, digits and "-"
	Attempt int    // from 1
}

func (c Call) key() string { return fmt.Sprintf("t.%s.%d", c.ID, c.Attempt) }

type form struct {
	What string `json:"what"`
	By   string `json:"by"`             // the life that made it
	Once string `json:"once,omitempty"` // of one Begin
}

const begun, void = "begun", "void"

// Begin makes the ticket of a call that is about to run in this life of this node. It tries again for
// as long as the life holds and ctx lasts. After nil, ask the life once more whether it holds, and
// dispatch with nothing in between.
func Begin(ctx context.Context, r records.Records, life *lease.Life, c Call) error {
	mine := form{What: begun, By: life.ID, Once: rand.Text()}
	for life.Holds() {
		is, err := makeOrRead(ctx, r, c, mine)
		switch {
		case err == nil && is == mine:
			return nil
		case err == nil && is.What == begun:
			return ErrBegun
		case err == nil:
			return ErrVoid
		case errors.Is(err, records.ErrInvalid):
			return err
		}
		if !records.Pause(ctx, rest) {
			return fmt.Errorf("%w: %w", ErrLapsed, err)
		}
	}
	return ErrLapsed
}

// Void makes the ticket of a call that was passed on at the moment sent, by these clocks, to a node that
// is lost: dead, or not reached. It tries until ctx ends. True means that the call did not run and
// never will; false that it may have run, with why nobody can know, if so.
func Void(ctx context.Context, r records.Records, by string, c Call, sent lease.Instant, clocks func() lease.Instant) (notRun bool, err error) {
	mine := form{What: void, By: by}
	for clocks().Within(trust, sent) {
		is, err := makeOrRead(ctx, r, c, mine)
		if err == nil {
			return is == mine && clocks().Within(trust, sent), nil
		}
		if errors.Is(err, records.ErrInvalid) || !records.Pause(ctx, rest) {
			return false, err
		}
	}
	return false, errors.New("the call was passed on too long ago")
}

// makeOrRead makes a ticket, or returns the one that is there. An error means that nobody knows yet.
func makeOrRead(ctx context.Context, r records.Records, c Call, mine form) (is form, err error) {
	value, err := records.Encode(mine)
	if err != nil {
		return form{}, err
	}
	if _, err = r.Create(ctx, c.key(), value); err == nil {
		return mine, nil
	}
	if !errors.Is(err, records.ErrExists) {
		return form{}, err
	}
	there, err := r.Get(ctx, c.key())
	if err != nil {
		return form{}, err
	}
	err = records.Decode(there.Value, &is)
	return is, err
}
