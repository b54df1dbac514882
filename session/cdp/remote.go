package cdp

import (
	"context"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
)

// Times of endpoints of a pool.
const (
	claimTime = time.Minute      // until a browser is had
	firstRest = time.Second      // of one that failed
	lastRest  = 60 * time.Second // where it fails again and again
)

// NewRemote makes an engine over browsers that somebody else runs. It gets
// browser contexts of our own, and leaves those running that were not started for it.
func NewRemote(o RemoteOptions) (*Engine, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("a remote browser needs an address")
	}
	e := newEngine(o.Log)
	for _, at := range o.Endpoints {
		s := &slot{name: at.Name, max: at.Max, reattach: o.Reattach && !o.Native && !at.Once && at.URL != ""}
		if at.Name != "" {
			s.startTime, s.first, s.last = claimTime, firstRest, lastRest
		}
		if at.URL == "" { // it is there for us alone
			s.recycle, s.age = usualRecycle, usualAge
		}
		s.connect = func(ctx context.Context) (*instance, error) {
			b, err := e.claim(ctx, at)
			if err != nil {
				return nil, err
			}
			if s.reattach {
				_, b.reattaches, err = e.reattaches(ctx, b.claim)
				if err != nil || !b.reattaches {
					e.log.Warn("browser: its pages end with this process", append(s.named(), "error", err)...)
				}
			}
			b.native, b.words = o.Native, o.Words
			b.confine(o.Proxy)
			return b, nil
		}
		e.add(s)
	}
	return e, nil
}

// claim has a browser from an endpoint, and connects to it.
func (e *Engine) claim(ctx context.Context, at endpoint.Endpoint) (*instance, error) {
	c, err := at.Claim(ctx, e.log)
	if err != nil {
		return nil, err
	}
	b, err := e.dial(ctx, c)
	if err != nil {
		c.Release()
		return nil, err
	}
	b.claim = c
	return b, nil
}

// pauseAfter returns how long the slot is left alone after a start that failed: as long as the endpoint
// says, or twice as long as the last time.
func (s *slot) pauseAfter(err error) time.Duration {
	pause := min(max(2*s.pause, s.first), s.last)
	if busy, ok := errors.AsType[*endpoint.BusyError](err); ok && busy.After > 0 {
		return min(busy.After, longestRest)
	}
	return pause
}

// longestRest bounds what an endpoint may ask for.
const longestRest = time.Hour

// noPlace says that no endpoint has a place for another tab.
func noPlace() *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.Overload, bridge.NotRun, "The browsers have no place for another page.")
	e.Retry = time.Second
	return e
}
