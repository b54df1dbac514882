package console

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// keptEvents bounds the events of a node that a reader can miss and still get.
	keptEvents = 256
	// lingers sets how long events are gathered after the last reader left: its page comes back.
	lingers = time.Minute
)

// hub gathers what happens in this process and in the others, for all streams together. It gathers
// nothing while there is no stream. It is safe for concurrent use; nothing waits for a reader.
type hub struct {
	face    *Face
	changes bridge.Changes // of what news returns

	mu      sync.Mutex
	readers int
	stop    context.CancelFunc // nil: it does not gather
	rests   *time.Timer        // after the last reader left
	nodes   map[string]*node   // those whose snapshot came
	settled bool               // a node that is not there does not answer
}

// node holds what is known of one process. Events are numbered from the time when it was found, so
// that a reader who comes from the hub of another process gets a snapshot.
type node struct {
	own    bool
	last   int64
	events []event // the newest
	open   map[string]map[string]item
}

// The kinds of what is open.
const (
	ofQuestions = "questions"
	ofCalls     = "calls"
	ofSites     = "sites"
	ofSessions  = "sessions"
)

// event is a change of a node.
type event struct {
	n    int64
	name string
	site string // whose callers may see it; "" is only for those who see all, everySite for all
	data []byte
}

// everySite is no name of a site.
const everySite = "*"

// item is a question, a call or a site, in JSON.
type item struct {
	site string
	data json.RawMessage
}

// snapshotJSON replaces all that was known of its node.
type snapshotJSON struct {
	Node      string            `json:"node"`
	Reset     bool              `json:"reset"`
	Questions []json.RawMessage `json:"questions"`
	Sites     []json.RawMessage `json:"sites"`
	Calls     []json.RawMessage `json:"calls"`
	Sessions  []json.RawMessage `json:"sessions"`
}

// batch holds what a reader has not got yet of a node: events, a snapshot, or that it is lost.
type batch struct {
	node     string
	last     int64
	events   []event
	snapshot *snapshotJSON
	lost     bool
}

// join begins to gather, where nobody does, until leave and some time after.
func (h *hub) join() (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers++
	if h.rests != nil {
		h.rests.Stop()
		h.rests = nil
	}
	if h.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.stop, h.nodes, h.settled = cancel, map[string]*node{}, false
		go h.untilDone(ctx)
		go h.gatherOwn(ctx)
		go h.gatherBrowsers(ctx)
		go h.gatherAudit(ctx)
		if h.face.peers != nil {
			go h.gatherPeers(ctx)
		}
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.readers--; h.readers == 0 && h.stop != nil {
			h.rests = time.AfterFunc(lingers, h.rest)
		}
	}
}

// rest stops gathering when there is no reader.
func (h *hub) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers == 0 && h.stop != nil {
		h.stop()
		h.stop, h.rests = nil, nil
	}
}

// untilDone stops gathering at the end of the face. Some time after the beginning it says that
// nodes which did not come are lost.
func (h *hub) untilDone(ctx context.Context) {
	settle := time.NewTimer(peerTime)
	defer settle.Stop()
	for {
		select {
		case <-settle.C:
			h.mu.Lock()
			h.settled = ctx.Err() == nil
			h.mu.Unlock()
			h.changes.Signal()
		case <-h.face.done:
			h.end(ctx)
			return
		case <-ctx.Done():
			return
		}
	}
}

// end stops what gathers until ctx ends.
func (h *hub) end(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil && ctx.Err() == nil {
		h.stop()
		h.stop = nil
	}
}

// replace takes a snapshot of a node.
func (h *hub) replace(ctx context.Context, name string, own bool, open map[string]map[string]item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	n := h.nodes[name]
	if n == nil {
		n = &node{own: own, last: time.Now().UnixMicro()}
		h.nodes[name] = n
	}
	n.last++
	n.open, n.events = open, nil // readers of now get the snapshot
	h.changes.Signal()
}

// note takes an event of a node: what it names under kind is x from now on, or not open any more.
func (h *hub) note(ctx context.Context, name string, e event, kind, id string, x *item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.nodes[name]
	if ctx.Err() != nil || n == nil {
		return
	}
	n.last++
	e.n = n.last
	if n.events = append(n.events, e); len(n.events) > keptEvents {
		n.events = n.events[1:] // append makes room anew
	}
	switch {
	case kind == "":
	case x == nil:
		delete(n.open[kind], id)
	default:
		n.open[kind][id] = *x
	}
	h.changes.Signal()
}

// lose forgets a node that does not answer any more.
func (h *hub) lose(ctx context.Context, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() == nil {
		delete(h.nodes, name)
		h.changes.Signal()
	}
}

// news returns what a reader has not got yet.
func (h *hub) news(at position, c bridge.Caller, elsewhere bool) (all []batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		n := h.nodes[name]
		pos, known := at[name]
		switch {
		case !n.own && !elsewhere, known && pos == n.last:
		case known && len(n.events) > 0 && pos >= n.events[0].n-1 && pos < n.last:
			b := batch{node: name, last: n.last}
			for _, e := range n.events {
				if e.n > pos && (c.Sites == nil || e.site == everySite || e.site != "" && c.Sees(e.site)) {
					b.events = append(b.events, e)
				}
			}
			all = append(all, b)
		default:
			all = append(all, batch{node: name, last: n.last, snapshot: &snapshotJSON{name, known,
				n.seen(ofQuestions, c), n.seen(ofSites, c), n.seen(ofCalls, c), n.seen(ofSessions, c)}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if h.settled && h.nodes[name] == nil {
			all = append(all, batch{node: name, lost: true})
		}
	}
	return all
}

// seen lists what is open of a kind and a caller may see, in the order of the ids.
func (n *node) seen(kind string, c bridge.Caller) []json.RawMessage {
	all := []json.RawMessage{}
	for _, id := range slices.Sorted(maps.Keys(n.open[kind])) {
		if x := n.open[kind][id]; c.Sites == nil || c.Sees(x.site) {
			all = append(all, x.data)
		}
	}
	return all
}

// gatherPeers follows the streams of the other processes.
func (h *hub) gatherPeers(ctx context.Context) {
	followEach(ctx, h.face.peers, func(name string, peer http.RoundTripper) {
		_ = readPeer(ctx, peer, "/api/events", maxSnapshot, func(event string, data []byte) bool { // dead, or older than this
			h.relay(ctx, name, event, data)
			return true
		})
		h.lose(ctx, name)
	})
}

// maxSnapshot bounds an event of another process, in bytes: questions are as long as strangers make
// them.
const maxSnapshot = 256 << 20

// relay takes an event of another process.
func (h *hub) relay(ctx context.Context, name, kind string, data []byte) {
	var in struct {
		ID        string            `json:"id"`
		Call      string            `json:"call"`
		Questions []json.RawMessage `json:"questions"`
		Sites     []json.RawMessage `json:"sites"`
		Calls     []json.RawMessage `json:"calls"`
		Sessions  []json.RawMessage `json:"sessions"`
		Site      json.RawMessage   `json:"site"`
	}
	if json.Unmarshal(data, &in) != nil {
		return
	}
	e := event{name: kind, data: data}
	switch kind {
	case evSnapshot:
		h.replace(ctx, name, false, map[string]map[string]item{ofQuestions: keyed(in.Questions, "id"), ofCalls: keyed(in.Calls, "call"), ofSites: keyed(in.Sites, "name"),
			ofSessions: keyed(in.Sessions, "id")})
	case evOpened, evChanged:
		h.note(ctx, name, e, ofQuestions, in.ID, &item{data: data})
	case evClosed:
		h.note(ctx, name, e, ofQuestions, in.ID, nil)
	case evStarted, evStage:
		h.note(ctx, name, e, ofCalls, in.Call, &item{data: data})
	case evEnded:
		h.note(ctx, name, e, ofCalls, in.Call, nil)
	case evTools:
		h.note(ctx, name, e, ofSites, keyOf(in.Site, "name"), &item{data: in.Site})
	case evSessionOpened:
		h.note(ctx, name, e, ofSessions, in.ID, &item{data: data})
	case evSessionClosed:
		h.note(ctx, name, e, ofSessions, in.ID, nil)
	case evPen, evBrowser, evStats, evAudit:
		h.note(ctx, name, e, "", "", nil)
	default: // of a newer process
	}
}

func keyed(all []json.RawMessage, by string) map[string]item {
	out := make(map[string]item, len(all))
	for _, data := range all {
		out[keyOf(data, by)] = item{data: data}
	}
	return out
}

// keyOf returns a member that is a string.
func keyOf(data json.RawMessage, member string) (key string) {
	var x map[string]json.RawMessage
	if json.Unmarshal(data, &x) == nil {
		_ = json.Unmarshal(x[member], &key)
	}
	return key
}
