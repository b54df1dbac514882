package app

import (
	"context"
	"errors"
	"sync"

	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/egress"
)

// Browsers holds browsers that outlive the apps that use them, and the proxy through which their
// pages reach the network. All these apps must have the first one's options about browsers.
// The zero value has started none yet. It is safe for concurrent use.
type Browsers struct {
	mu      sync.Mutex
	proxy   *egress.Proxy
	engines map[string]*cdp.Engine // by kind
}

// Close ends them. No app that uses them may be open.
func (b *Browsers) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all error
	for _, e := range b.engines {
		all = errors.Join(all, e.Close())
	}
	if b.proxy != nil {
		all = errors.Join(all, b.proxy.Close())
	}
	b.proxy, b.engines = nil, nil
	return all
}

// through returns the proxy, which start starts when there is none.
func (b *Browsers) through(ctx context.Context,
	start func(context.Context) (*egress.Proxy, error)) (p *egress.Proxy, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proxy == nil {
		b.proxy, err = start(ctx)
	}
	return b.proxy, err
}

// engine returns the engine of a kind, which start makes when there is none.
func (b *Browsers) engine(kind string, start func() (*cdp.Engine, error)) (*cdp.Engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.engines[kind]; e != nil {
		return e, nil
	}
	e, err := start()
	if err != nil {
		return nil, err
	}
	if b.engines == nil {
		b.engines = map[string]*cdp.Engine{}
	}
	b.engines[kind] = e
	return e, nil
}

// lent is an engine that its manager does not close: [Browsers] does.
type lent struct{ *cdp.Engine }

// Close implements session.Engine.
func (lent) Close() error { return nil }
