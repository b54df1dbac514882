package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// change is an event of the stream: a question that opened, or one that closed.
type change struct {
	event string // opened, closed or ready
	data  []byte
}

// The events of the stream.
const (
	opened = "opened"
	closed = "closed"
	ready  = "ready"
)

// closedID is the data of closed.
type closedID struct {
	ID string `json:"id"`
}

// follow returns the changes that the caller may see, here and in other processes, until
// ctx ends.
func (f *Face) follow(ctx context.Context, c bridge.Caller) <-chan change {
	out := make(chan change)
	var all sync.WaitGroup
	all.Go(func() { f.followOwn(ctx, c, out) })
	if f.mayLookElsewhere(c) {
		all.Go(func() { f.followPeers(ctx, out) })
	}
	go func() { // ends with ctx
		all.Wait()
		close(out)
	}()
	return out
}

// send reports false when ctx ended first.
func send(ctx context.Context, out chan<- change, event string, v any) bool {
	data, err := json.Marshal(v)
	if err != nil {
		return true // strings and JSON: cannot happen
	}
	select {
	case out <- change{event, data}:
		return true
	case <-ctx.Done():
		return false
	}
}

// followOwn sends what this process asks. One event comes for each change, not the list:
// questions are as long as strangers make them.
func (f *Face) followOwn(ctx context.Context, c bridge.Caller, out chan<- change) {
	open := map[int64]string{} // the question of each call
	begun := false
	for ev := range f.b.Watch(ctx, bridge.Interest{Caller: c, Runs: true}) {
		now := map[int64]*bridge.OpenQuestion{}
		for _, s := range ev.Runs {
			now[s.Run] = s.Question
		}
		if ev.Kind == bridge.Snapshot {
			for run := range open { // what it does not name is not open
				if _, named := now[run]; !named {
					now[run] = nil
				}
			}
		}
		for run, q := range now {
			was := open[run]
			if was != "" && (q == nil || q.ID != was) {
				delete(open, run)
				if !send(ctx, out, closed, closedID{was}) {
					return
				}
			}
			if q != nil && q.ID != was {
				open[run] = q.ID
				if !send(ctx, out, opened, q) {
					return
				}
			}
		}
		if !begun {
			begun = send(ctx, out, ready, struct{}{})
		}
	}
}

// followPeers sends what other processes ask.
func (f *Face) followPeers(ctx context.Context, out chan<- change) {
	followEach(ctx, f.peers, func(_ string, peer http.RoundTripper) { followPeer(ctx, peer, out) })
}

// maxEvent bounds an event of another process, in bytes.
const maxEvent = 4 << 20

// followPeer passes the changes of another process on, until it ends: then its questions
// are not open any more.
func followPeer(ctx context.Context, peer http.RoundTripper, out chan<- change) {
	open := map[string]bool{}
	defer func() {
		for id := range open {
			if !send(ctx, out, closed, closedID{id}) {
				return
			}
		}
	}()
	_ = readPeer(ctx, peer, "/api/events", maxEvent, func(event string, data []byte) bool { // dead, or not ours
		if event != opened && event != closed {
			return true
		}
		var q closedID
		if json.Unmarshal(data, &q) != nil || q.ID == "" {
			return false
		}
		if event == opened {
			open[q.ID] = true
		} else {
			delete(open, q.ID)
		}
		return send(ctx, out, event, json.RawMessage(data))
	})
}

// heartbeat sets how often a stream without news shows that it lives.
const heartbeat = 15 * time.Second

// events streams what opens and closes. A slow reader misses questions that were open for
// a short time.
func (f *Face) events(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	write := func(format string, args ...any) bool {
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	changes := f.follow(ctx, c)
	defer func() { // also of what is on its way
		cancel()
		for range changes {
		}
	}()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for ok := !c.IsRevoked(); ok; {
		select {
		case ch, more := <-changes:
			if !more {
				return // the request ended
			}
			ok = write("event: %s\ndata: %s\n\n", ch.event, ch.data)
		case <-beat.C:
			ok = write(": still here\n\n")
		case <-c.Revoked:
			return
		case <-f.done:
			return
		}
	}
}
