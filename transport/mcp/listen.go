package mcp

import (
	"context"
	"encoding/json"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// coalesce is how long changes are collected before a client is told: pages
	// register many tools in a row.
	coalesce = 30 * time.Millisecond
	// beatEvery is how often a stream without news shows that it lives.
	beatEvery = 15 * time.Second
)

// watch follows the list of a scope, as an era sees it.
type watch struct {
	face    *Face
	scope   scope
	era     era
	changed <-chan struct{}
	last    string // the digest of the list that the client knows
}

// watch begins with the list as it is now: whoever is told after that that somebody
// watches misses nothing.
func (f *Face) watch(ctx context.Context, sc scope, e era) *watch {
	w := &watch{face: f, scope: sc, era: e, changed: f.b.Changes()}
	w.last = f.list(ctx, sc).digest(e)
	return w
}

// knows says which list the client has seen, before the watch began; "" is none.
func (w *watch) knows(digest string) *watch {
	if digest != "" && digest != w.last {
		w.last = digest
		now := make(chan struct{})
		close(now)
		w.changed = now
	}
	return w
}

// run tells of every change, and shows that the stream lives, until ctx ends, the
// process stops, or telling fails. What a client is told last is never older than
// the list.
func (w *watch) run(ctx context.Context, tell, beat func() error) {
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	for {
		select {
		case <-w.changed:
			if !rest(ctx, coalesce) {
				return
			}
		case <-beats.C:
			if beat() != nil {
				return
			}
			continue
		case <-ctx.Done():
			return
		case <-w.face.o.Done:
			return
		case <-w.scope.caller.Revoked:
			return
		}
		w.changed = w.face.b.Changes()
		if now := w.face.list(ctx, w.scope).digest(w.era); now != w.last {
			if tell() != nil {
				return
			}
			w.last = now
		}
	}
}

// rest waits, and reports whether ctx lives.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// listen serves subscriptions/listen: the library checks the request and says what
// it would subscribe to; the changes come from our own lists. Everything is tagged
// with the id of the request, as the client wrote it.
func (x *exchange) listen(ctx context.Context, lib *server.MCPServer, session *requestSession, text json.RawMessage) ([]byte, *rpcError) {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	replies := make(chan mcpgo.JSONRPCMessage, 1)
	go func() { replies <- lib.HandleMessage(lib.WithContext(asking, session), text) }() // ends with asking
	var allowed mcpgo.SubscriptionFilter
	select {
	case <-session.notes: // the acknowledgement, with the id that the library knows
		allowed, _ = session.SubscriptionFilter()
	case said := <-replies:
		if failed, ok := said.(mcpgo.JSONRPCError); ok {
			e := &rpcError{failed.Error.Code, failed.Error.Message, failed.Error.Data}
			return errorText(x.message.id, e), e
		}
		select {
		case <-session.notes: // it came before the reply, and nothing is subscribed to
		default:
		}
	case <-ctx.Done():
		return nil, rpcErrorf(mcpgo.INTERNAL_ERROR, "The request was cancelled.")
	}
	tag := map[string]any{mcpgo.MetaKeySubscriptionID: x.message.id}
	tell := func(method string, params map[string]any) error {
		params["_meta"] = tag
		return x.out.event(callText(nil, method, params))
	}
	var lists *watch
	if allowed.ToolsListChanged {
		lists = x.face.watch(ctx, x.scope, x.version())
	}
	if err := tell(mcpgo.MethodNotificationSubscriptionsAcknowledged, map[string]any{"notifications": allowed}); err != nil {
		return nil, rpcErrorf(mcpgo.INTERNAL_ERROR, "The client reads no stream.")
	}
	if lists != nil {
		lists.run(ctx, func() error { return tell(mcpgo.MethodNotificationToolsListChanged, map[string]any{}) }, x.beat)
	}
	result := map[string]any{"resultType": mcpgo.ResultTypeComplete, "_meta": tag}
	return replyText(x.message.id, encode(result)), nil
}

// beat shows that the stream lives, where that can be shown.
func (x *exchange) beat() error {
	if b, ok := x.out.(interface{ beat() error }); ok {
		return b.beat()
	}
	return nil
}
