package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// peer is a client that we know from one request to the next: of a session of an
// older era, or on the other end of stdio.
type peer struct {
	mu       sync.Mutex
	declared mcpgo.ClientCapabilities
	listed   string // the digest of the list that it got last
	spoken   era
	asked    int
	pending  map[string]chan *message // our requests that wait for a reply
	running  map[string]context.CancelCauseFunc
	gone     chan struct{} // closed when there is no client any more
	once     sync.Once
}

func newPeer() *peer {
	return &peer{pending: map[string]chan *message{}, running: map[string]context.CancelCauseFunc{}, gone: make(chan struct{})}
}

func (p *peer) version() era {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spoken
}

func (p *peer) setVersion(v string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoken = era(v)
}

// list gives the digest of the list that the client got last, or "".
func (p *peer) list() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listed
}

func (p *peer) gotList(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = digest
}

func (p *peer) capabilities() mcpgo.ClientCapabilities {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.declared
}

func (p *peer) setCapabilities(c mcpgo.ClientCapabilities) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.declared = c
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
func (p *peer) ask(ctx context.Context, out stream, method mcpgo.MCPMethod, params any) (json.RawMessage, error) {
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
		return nil, err
	}
	select {
	case m := <-reply:
		if m.failed != nil {
			return nil, errNoClient
		}
		return m.result, nil
	case <-p.gone:
		return nil, errNoClient
	case <-ctx.Done():
		_ = out.event(callText(nil, string(mcpgo.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": "Nobody waits for the answer any more."}))
		return nil, context.Cause(ctx)
	}
}

// replied gives a reply to who waits for it. One that nobody waits for is dropped.
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
func (p *peer) begin(ctx context.Context, id json.RawMessage) (running context.Context, end func()) {
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
func (p *peer) cancelled(params json.RawMessage) {
	var n struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &n) != nil {
		return
	}
	p.mu.Lock()
	cancel := p.running[string(n.ID)]
	p.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

var errCancelled = rpcErrorf(mcpgo.INTERNAL_ERROR, "The request was cancelled.")
