package calls

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport"
)

// beatEvery sets how often a stream without news shows that it lives, and patience how long a
// client may take to read what was written.
const beatEvery, patience = 15 * time.Second, 30 * time.Second

const eventStream = "text/event-stream"

// streams reports whether a request wants an event stream: it accepts one, and no JSON.
func streams(r *http.Request) bool {
	var all []string
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		name, _, _ := strings.Cut(part, ";")
		all = append(all, strings.ToLower(strings.TrimSpace(name)))
	}
	return r.Method == http.MethodGet && slices.Contains(all, eventStream) && !slices.Contains(all, "application/json")
}

// stream sends the call now and at each change, until it is over (HTML, 9.2). A client that comes
// again for what it has seen the end of is told not to.
func (f *Face) stream(w http.ResponseWriter, r *http.Request, c *bridge.LongCall) {
	s, changed := c.State()
	if s.IsOver() && r.Header.Get("Last-Event-ID") == fmt.Sprint(s.Version) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !f.enter(w, r) {
		return
	}
	defer f.leave(r)
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(patience)) // a recorder of a test has no connection
		_, err := w.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
	caller := transport.CallerOf(r.Context())
	ctx, end := caller.Until(r.Context())
	defer end()
	beats := time.NewTicker(beatEvery)
	defer beats.Stop()
	for sent := int64(0); ; s, changed = c.State() {
		if s.Version != sent {
			if !send(f.event(r, &s)) || s.IsOver() {
				return
			}
			sent = s.Version
		}
		select {
		case <-changed:
		case <-beats.C:
			if !send(": \n\n") {
				return
			}
		case <-ctx.Done():
			return
		case <-caller.Revoked:
			return
		case <-f.o.Done:
			return
		}
	}
}

// event is the event of a state.
func (f *Face) event(r *http.Request, s *bridge.State) string {
	data := schema.MustEncode(f.call(r, s))
	data = bytes.ReplaceAll(data, []byte("\n"), []byte(" ")) // of a page's own JSON: an event has lines
	data = bytes.ReplaceAll(data, []byte("\r"), []byte(" "))
	return fmt.Sprintf("event: call\nid: %d\ndata: %s\n\n", s.Version, data)
}
