package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// The events of the one stream.
const (
	evSnapshot = "snapshot"
	evOpened   = "question.opened"
	evChanged  = "question.changed"
	evClosed   = "question.closed"
	evTools    = "tools"
	evStarted  = "call.started"
	evStage    = "call.stage"
	evEnded    = "call.ended"
	evPen      = "pen"
	evBrowser  = "browser"
	evStats    = "stats"
	evAudit    = "audit"

	evSessionOpened = "session.opened"
	evSessionClosed = "session.closed"

	evNode       = "node" // one does not answer any more
	streamHeader = "text/event-stream"
)

// position says up to which event of each node a reader has read.
type position map[string]int64

// readPosition reads Last-Event-ID: "node:n", joined by commas. What it cannot read counts as
// nothing: the reader gets a snapshot.
func readPosition(id string) position {
	p := position{}
	for part := range strings.SplitSeq(id, ",") {
		node, number, _ := strings.Cut(part, ":")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 && node != "" {
			p[node] = n
		}
	}
	return p
}

func (p position) String() string {
	var all []string
	for _, node := range slices.Sorted(maps.Keys(p)) {
		all = append(all, node+":"+strconv.FormatInt(p[node], 10))
	}
	return strings.Join(all, ",")
}

// writer writes events to one reader.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	at      position
}

// send writes an event, and reports whether the reader is there.
func (w *writer) send(event string, data []byte) bool {
	_, err := fmt.Fprintf(w.w, "id: %s\nevent: %s\ndata: %s\n\n", w.at, event, data)
	return err == nil
}

const (
	// heartbeat sets how often a stream without news shows that it lives.
	heartbeat = 15 * time.Second
	// gathers sets how long news is gathered after what was sent last: a page of many calls is woken
	// less often. What comes after a rest is sent at once.
	gathers = 25 * time.Millisecond
)

// stream is GET /api/events: what happens in all nodes, from a snapshot of each, or from
// Last-Event-ID on. A reader that is slower than the events that are kept gets a snapshot again.
// It ends with the caller's credential.
func (f *Face) stream(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	ctx, cancel := c.Until(r.Context())
	defer cancel()
	h := w.Header()
	h.Set("Content-Type", streamHeader)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	out := &writer{w, http.NewResponseController(w), readPosition(r.Header.Get("Last-Event-ID"))}
	leave := f.hub.join()
	defer leave()
	over := make(chan struct{})
	defer close(over)
	go out.release(ctx, c.Revoked, f.done, over) // ends with the stream
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	rested := time.NewTimer(0)
	defer rested.Stop()
	for ok := !c.IsRevoked(); ok; {
		select {
		case <-rested.C:
		case <-c.Revoked:
			return
		case <-ctx.Done():
			return
		case <-f.done:
			return
		}
		rested.Reset(gathers)
		changed := f.hub.changes.Next()
		if ok = f.hub.tell(out, c, f.mayLookElsewhere(c)) && out.control.Flush() == nil; !ok {
			return
		}
		select {
		case <-changed:
		case <-beat.C:
			f.keepUsed(ctx, c)
			_, err := fmt.Fprint(w, ": beat\n\n")
			ok = err == nil && out.control.Flush() == nil
		case <-c.Revoked:
			return
		case <-ctx.Done():
			return
		case <-f.done:
			return
		}
	}
}

// grace bounds how long a reader takes what is on its way when its stream has to end.
const grace = 500 * time.Millisecond

// release lets go of a reader that takes nothing when its credential or the program ends.
func (w *writer) release(ctx context.Context, revoked, done, over <-chan struct{}) {
	select {
	case <-revoked:
	case <-done:
	case <-ctx.Done():
	case <-over:
	}
	select {
	case <-over: // the usual case: the reader gets a whole end
	case <-time.After(grace):
		_ = w.control.SetWriteDeadline(time.Unix(1, 0))
	}
}

// tell writes what the reader has not got yet, and reports whether it is there.
func (h *hub) tell(out *writer, c bridge.Caller, elsewhere bool) bool {
	for _, b := range h.news(out.at, c, elsewhere) {
		switch {
		case b.lost:
			delete(out.at, b.node)
			if !out.send(evNode, mustJSON(nodeJSON{b.node, "lost"})) {
				return false
			}
		case b.snapshot != nil:
			out.at[b.node] = b.last
			if !out.send(evSnapshot, mustJSON(b.snapshot)) {
				return false
			}
		default:
			for _, e := range b.events {
				out.at[b.node] = e.n
				if !out.send(e.name, e.data) {
					return false
				}
			}
			out.at[b.node] = b.last // what the caller may not see counts, too
		}
	}
	return true
}

// nodeJSON says what became of a node.
type nodeJSON struct {
	Node  string `json:"node"`
	State string `json:"state"`
}

// mustJSON encodes what is made of strings, times and JSON.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding an event: %v", err))
	}
	return data
}

// meJSON tells the page about who uses it.
type meJSON struct {
	Name    string         `json:"name"`
	Rights  []bridge.Right `json:"rights"`
	Sites   []string       `json:"sites"` // null is all
	Node    string         `json:"node"`
	Version string         `json:"version"`
	// Features names the parts of this API that the server has.
	Features []string `json:"features"`
	// Until says when the login ends at the latest; null is never.
	Until *time.Time `json:"until"`
	// Login is its ID; "" where the credential was configured.
	Login string `json:"login"`
	// Start is the place in the page where its reader begins; "" is the inbox.
	Start string `json:"start"`
}

func (f *Face) me(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	out := meJSON{Name: strings.TrimPrefix(c.Name, callerPrefix), Rights: []bridge.Right{}, Sites: c.Sites, Node: f.node, Version: f.version,
		Features: features(f, c), Login: loginOf(c), Start: f.start}
	for _, right := range operatorRights {
		if c.Can(right) {
			out.Rights = append(out.Rights, right)
		}
	}
	if !c.Expires.IsZero() {
		out.Until = &c.Expires
	}
	write(w, r, out)
}
