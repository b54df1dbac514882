package mcp

import (
	"context"
	"encoding/json"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// coalesce sets how long changes are collected before a client is told: pages
	// register many tools in a row.
	coalesce = 30 * time.Millisecond
	// beatEvery sets how often a stream without news shows that it lives.
	beatEvery = 15 * time.Second
)

// watch follows the list of a scope, as clients of a protocol version see it.
type watch struct {
	face     *Face
	scope    scope
	protocol protocol
	card     bool // the client draws the card
	events   <-chan bridge.Event
	used     <-chan struct{} // closed when the caller has found or called other tools
	last     string          // the digest of the list that the client knows
	stale    bool            // last differs from the list at the beginning
}

// watch begins with the list as it is now: whoever is told after that that somebody
// watches misses nothing. It ends with ctx.
func (f *Face) watch(ctx context.Context, sc scope, e protocol, card bool) *watch {
	w := &watch{face: f, scope: sc, protocol: e, card: card,
		events: f.b.Watch(ctx, bridge.Interest{Caller: sc.caller, Tools: true, Runs: true})}
	<-w.events // the snapshot
	w.last = w.digest(ctx)
	return w
}

// digest returns the digest of the current list.
func (w *watch) digest(ctx context.Context) string {
	_, w.used = w.face.usedBy(w.scope)
	return w.face.listed(ctx, w.scope, w.card).Digest(w.protocol)
}

// knows says which list the client has seen, before the watch began; "" is none.
func (w *watch) knows(digest string) *watch {
	if digest != "" && digest != w.last {
		w.last, w.stale = digest, true
	}
	return w
}

// run tells of every change, and shows that the stream lives, until ctx ends, the
// credential of the caller expires or is revoked, the process stops, or telling fails. What a
// client is told last is never older than the list.
func (w *watch) run(ctx context.Context, tell, beat func() error) {
	ctx, end := w.scope.caller.Until(ctx)
	defer end()
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	for w.stale || w.changed(ctx, beats.C, beat) {
		if !rest(ctx, coalesce) {
			return
		}
		w.stale = false
		if now := w.digest(ctx); now != w.last {
			if tell() != nil {
				return
			}
			w.last = now
		}
	}
}

// changed waits until a list of the scope may have changed, and shows meanwhile that
// the stream lives. It is false when nobody listens any more.
func (w *watch) changed(ctx context.Context, beats <-chan time.Time, beat func() error) bool {
	for {
		select {
		case <-w.used:
			return true
		case ev := <-w.events:
			if w.scope.site == "" || ev.Site == "" || ev.Site == w.scope.site {
				return true
			}
		case <-beats:
			if beat() != nil {
				return false
			}
		case <-ctx.Done():
			return false
		case <-w.face.o.Done:
			return false
		case <-w.scope.caller.Revoked:
			return false
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

// listen is subscriptions/listen. Everything is tagged with the id of the request, as
// the client wrote it.
func (x *exchange) listen(ctx context.Context) (json.RawMessage, *rpcError) {
	want := x.message.params.Get("notifications")
	if want.Exists() && !want.IsNull() && !want.IsObject() {
		return nil, badRequest("notifications must be an object.")
	}
	var allowed mcpgo.SubscriptionFilter
	switch v := want.Get("toolsListChanged"); string(v.Text()) {
	case "true":
		allowed.ToolsListChanged = true
	case "", "false", "null":
	default:
		return nil, badRequest("toolsListChanged must be a boolean.")
	}
	tasks, e := x.followed(want.Get("taskIds"))
	if e != nil {
		return nil, e
	}
	tag := map[string]any{mcpgo.MetaKeySubscriptionID: x.message.id}
	tell := func(method string, params map[string]any) error {
		params["_meta"] = tag
		return x.out.event(callText(nil, method, params))
	}
	var lists *watch
	if allowed.ToolsListChanged {
		lists = x.face.watch(ctx, x.scope, x.protocol, drawsCards(x))
	}
	agreed := struct {
		mcpgo.SubscriptionFilter

		TaskIDs []string `json:"taskIds,omitempty"`
	}{SubscriptionFilter: allowed}
	for _, long := range tasks {
		agreed.TaskIDs = append(agreed.TaskIDs, long.Run().Token())
	}
	err := tell(mcpgo.MethodNotificationSubscriptionsAcknowledged,
		map[string]any{"notifications": agreed})
	if err != nil {
		return nil, rpcErrorf(mcpgo.INTERNAL_ERROR, "The client reads no stream.")
	}
	ctx, stop := x.scope.caller.Until(ctx)
	followed := x.follow(ctx, tasks, tell)
	if lists != nil {
		changed := func() error { return tell(mcpgo.MethodNotificationToolsListChanged, map[string]any{}) }
		lists.run(ctx, changed, x.beat)
	} else {
		x.linger(ctx, followed)
	}
	stop()
	<-followed // nothing is told after the reply
	return encode(map[string]any{"resultType": mcpgo.ResultTypeComplete, "_meta": tag}), nil
}

// linger shows that the stream lives, until done is closed or nobody listens any more.
func (x *exchange) linger(ctx context.Context, done <-chan struct{}) {
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	for {
		select {
		case <-beats.C:
			if x.beat() != nil {
				return
			}
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-x.face.o.Done:
			return
		case <-x.scope.caller.Revoked:
			return
		}
	}
}

// beat shows that the stream lives, where that can be shown.
func (x *exchange) beat() error {
	if b, ok := x.out.(interface{ beat() error }); ok {
		return b.beat()
	}
	return nil
}
