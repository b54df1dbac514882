package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// peer is a client that we know from one request to the next: of a session of an
// older protocol version, or on the other end of stdio.
type peer struct {
	mu       sync.Mutex
	protocol protocol // of the handshake
	can      elicits  // as declared there
	listed   string   // the digest of the list that it got last
	unkept   int64    // the broken promises that its last list leaves out, as in Bridge.Unkept
	asked    int
	pending  map[string]chan *message // our requests that wait for a reply
	running  map[string]context.CancelCauseFunc
	gone     chan struct{} // closed when there is no client any more
	once     sync.Once
}

var (
	errNoClient  = errors.New("the client cannot be asked")
	errCancelled = errors.New("the client cancelled the request")
)

func newPeer() *peer {
	return &peer{pending: map[string]chan *message{}, running: map[string]context.CancelCauseFunc{},
		gone: make(chan struct{})}
}

// met notes what the handshake came to.
func (p *peer) met(e protocol, can elicits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.protocol, p.can = e, can
}

// client returns the results of the handshake.
func (p *peer) client() (protocol, elicits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.protocol, p.can
}

// list returns the digest of the list that the client got last, or "".
func (p *peer) list() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listed
}

// gotList notes a list that the client got whole. Only who began with a handshake is told
// of changes by it, and has a digest.
func (p *peer) gotList(digest string, unkept int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unkept = unkept
	if digest != "" {
		p.listed = digest
	}
}

// knows reports whether the client's last list leaves the outputSchema of a broken promise
// out. Nobody knows what a client without a session or a pipe of its own has.
func (p *peer) knows(broken *bridge.Violation) bool {
	if p == nil || broken.Number < 0 {
		return broken.Number < 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return broken.Number <= p.unkept
}

// leave says that the client sends nothing any more: it answers no request of ours.
func (p *peer) leave() { p.once.Do(func() { close(p.gone) }) }

// end says that there is no client any more. What runs for it is cancelled.
func (p *peer) end() {
	p.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.running {
		cancel(errNoClient)
	}
}

// ask sends a request of ours and waits for the reply. When ctx ends before, the
// client is told that nobody waits any more.
func (p *peer) ask(ctx context.Context, out stream, method mcpgo.MCPMethod,
	params any) (bridge.Value, error) {
	reply := make(chan *message, 1)
	p.mu.Lock()
	p.asked++
	id := encode(fmt.Sprintf("pagetools-%d", p.asked))
	p.pending[string(id)] = reply
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pending, string(id))
	}()
	if err := out.event(callText(id, string(method), params)); err != nil {
		return bridge.Value{}, err
	}
	select {
	case m := <-reply:
		if !m.result.Exists() {
			return bridge.Value{}, errNoClient
		}
		return m.result, nil
	case <-p.gone:
		return bridge.Value{}, errNoClient
	case <-ctx.Done():
		_ = out.event(callText(nil, string(mcpgo.MethodNotificationCancelled), map[string]any{
			"requestId": id, "reason": "Nobody waits for the answer any more.",
		}))
		return bridge.Value{}, context.Cause(ctx)
	}
}

// replied hands a reply to the request that waits for it. A reply that no request waits
// for is dropped.
func (p *peer) replied(m *message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if reply := p.pending[string(m.id)]; reply != nil {
		delete(p.pending, string(m.id))
		reply <- m
	}
}

// begin notes a request of the client, so that it can cancel it. An id that is in
// use is not noted again: cancelling would be of both.
func (p *peer) begin(ctx context.Context,
	id json.RawMessage) (running context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := string(id)
	p.mu.Lock()
	_, taken := p.running[key]
	if !taken {
		p.running[key] = cancel
	}
	p.mu.Unlock()
	return ctx, func() {
		cancel(nil)
		if taken {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, key)
	}
}

// cancelled ends the request that a notification names.
func (p *peer) cancelled(m *message) {
	p.mu.Lock()
	cancel := p.running[string(m.params.Get("requestId").Text())]
	p.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

// notified takes a notification of the client.
func (p *peer) notified(m *message) {
	if m.method == string(mcpgo.MethodNotificationCancelled) {
		p.cancelled(m)
	}
}
