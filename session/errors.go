package session

import (
	"context"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// notRun returns a page's death as the outcome of a call that never reached it.
func notRun(e *bridge.Error) *bridge.Error {
	c := *e
	c.Outcome = bridge.NotRun
	return &c
}

func overload() *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.Overload, bridge.NotRun,
		"The call waited past its deadline and did not run.")
}

// memoryPatience is after which time a call may be repeated for which there was no memory.
const memoryPatience = 5 * time.Second

func noMemory() *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.Overload, bridge.NotRun,
		"The machine does not have the memory for another page.")
	e.Retry = memoryPatience
	return e
}

// waitEnded returns the outcome of a call whose time ended before it was
// dispatched.
func waitEnded(ctx context.Context) *bridge.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return overload().With(context.Cause(ctx))
	}
	return bridge.GaveUp(bridge.NotRun).With(context.Cause(ctx))
}
