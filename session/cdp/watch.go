package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// A document that changes its tools all the time is asked again after a pause
// that grows with the work it makes: workShare times the time that reading took.
// A document without the page script is asked again after retryTime, then twice
// that, and so on.
const (
	workShare = 8
	maxPause  = time.Second
	retryTime = 50 * time.Millisecond
)

// watched is what the awaited evaluation brought. The text is "" when it failed,
// which it does when the document goes away.
type watched struct {
	frame *frame
	doc   *document
	turn  int // of the frame's watch
	found *owner
	text  string
	after int64
}

// startWatch keeps one awaited evaluation outstanding on what the frame shows.
// One that belongs to an earlier document is given up.
func (t *tab) startWatch(s *ownerState, f *frame) { t.watchFrom(s, f, f.doc.revision.Load(), 0) }

// watchFrom is startWatch with another known revision, of which -1 is answered at
// once, and with a pause before.
func (t *tab) watchFrom(s *ownerState, f *frame, revision int64, pause time.Duration) {
	f.stop()
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	f.turn++
	go t.watchOnce(ctx, watched{frame: f, doc: f.doc, turn: f.turn}, f.reach(), shim.Watch(t.name, revision), pause, s.watched)
}

// watchOnce reaches the document, runs the evaluation and hands its text to the
// owner. It ends with ctx or with the page.
func (t *tab) watchOnce(ctx context.Context, w watched, reach reach, expression string, pause time.Duration, to chan<- watched) {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		case <-t.target.Gone():
			return
		}
	}
	var err error
	if reach.needed {
		w.found, err = reach.find(ctx, w.doc)
	}
	if err == nil && (w.found == nil || w.found.policy == allowed) {
		w.text, w.after, err = w.doc.evaluate(ctx, expression)
	}
	if err != nil {
		w.text = ""
	}
	select {
	case to <- w:
	case <-ctx.Done():
	case <-t.target.Gone():
	}
}

// watchEnded takes what the evaluation brought, and starts the next one.
func (t *tab) watchEnded(s *ownerState, w watched) {
	if w.frame.turn != w.turn {
		return // another watch took its place
	}
	t.catchUp(s, w.after)
	f := w.frame
	if f.turn != w.turn {
		return // the navigation started another
	}
	if w.found != nil {
		t.decided(s, f, w.found)
	}
	began := time.Now()
	state, err := shim.DecodeState(w.text)
	if err == nil && f.parent != nil && state.Doc.Origin != w.doc.origin {
		t.decided(s, f, &owner{policy: denied, origin: state.Doc.Origin}) // a sandbox that no attribute tells of
	}
	switch {
	case w.doc.policy == denied:
	case err == nil:
		w.doc.ready = true
		t.changed(s, pushed{doc: w.doc, state: state})
		f.retry = retryTime
		t.watchFrom(s, f, w.doc.revision.Load(), min(workShare*time.Since(began), maxPause))
	default:
		// The document is going away, or its script is not there yet. The next
		// navigation starts a new evaluation; this is for when there is none.
		t.watchFrom(s, f, w.doc.revision.Load(), f.retry)
		f.retry = min(2*f.retry, maxPause)
	}
	f.due = false
	t.mayBeLoaded(s)
	t.answerSubmissions(s)
}

// loadEvent tells of the load event when every document has said what it
// registered until then: a page that counts as opened must not look empty because
// it is busy. Documents with a process of their own are waited for not longer than
// foreignPatience.
func (t *tab) loadEvent(s *ownerState) {
	s.loading = true
	foreign := false
	for _, f := range s.frames {
		if f.doc == nil || f.doc.policy == denied {
			continue
		}
		if f.target != t.target {
			if f.parent == nil || f.parent.doc == nil || f.parent.doc.policy != allowed {
				continue // a window, or a frame that cannot have tools
			}
			foreign = true
		}
		f.due = true
		t.watchFrom(s, f, -1, 0)
	}
	if s.hold.Stop(); foreign {
		s.hold.Reset(foreignPatience)
	}
}

// foreignPatience is how long the load event waits for frames of other sites: a
// busy machine needs some time for another process, and one that hangs must not hold
// up the page.
const foreignPatience = time.Second

// heldLong lets the load event be told without the frames of other sites.
func (t *tab) heldLong(s *ownerState) {
	for _, f := range s.frames {
		if f.target != t.target {
			f.due = false
		}
	}
	t.mayBeLoaded(s)
}

func (t *tab) mayBeLoaded(s *ownerState) {
	if !s.loading {
		return
	}
	for _, f := range s.frames {
		if f.due {
			return
		}
	}
	s.loading = false
	s.emit(session.Loaded{Document: t.doc.Load().id})
}

// catchUp handles the events that came before something else that was heard:
// a reply of the next document must not be taken for one of this.
func (t *tab) catchUp(s *ownerState, after int64) {
	for s.handled < after {
		select {
		case msg := <-t.target.Events():
			t.handle(s, msg)
		case <-t.target.Gone():
			return
		}
	}
}

// changed tells of a newer state of a document that the page shows.
func (t *tab) changed(s *ownerState, p pushed) {
	t.catchUp(s, p.after)
	d := p.doc
	if t.document(d.id) != d || p.state.Revision <= d.revision.Load() {
		return
	}
	d.revision.Store(p.state.Revision)
	t.tell(s, d, p.state)
}

// tell tells of the tools of a document.
func (t *tab) tell(s *ownerState, d *document, state *shim.State) {
	d.native.script = state
	if d.where != (session.Frame{}) && !d.told && len(state.Tools)+len(state.Refused)+len(d.native.forms) == 0 {
		return // most frames have no tools
	}
	d.told = true
	set := session.ToolsChanged{Document: d.id, Frame: d.where, Revision: state.Revision, Title: state.Doc.Title,
		Tools: declarations(d, state), Refused: refusals(state)}
	t.withForms(d, &set)
	s.emit(set)
}

// declarations turns what the page script reported into what the bridge admits
// from. The origin is the browser's word, not the page's.
func declarations(d *document, s *shim.State) []bridge.Declaration {
	out := make([]bridge.Declaration, len(s.Tools))
	for i, x := range s.Tools {
		out[i] = bridge.Declaration{
			ID: x.ID, Document: d.id, Origin: d.origin, Frame: d.where.Path, Name: x.Name, Title: x.Title, Description: x.Description,
			Input: x.InputSchema, Output: x.OutputSchema, Annotations: annotations(x.Annotations),
		}
	}
	return out
}

// annotations gives the claims as a JSON object; nil when there is none.
func annotations(a shim.Annotations) json.RawMessage {
	b, err := json.Marshal(a)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}

func refusals(s *shim.State) []bridge.Finding {
	var out []bridge.Finding
	for _, r := range s.Refused {
		out = append(out, bridge.Finding{Rule: r.Rule, Tool: r.Name, Message: r.Message, Refused: true})
	}
	if s.Dropped > 0 {
		out = append(out, bridge.Finding{Rule: "too-many-tools", Refused: true,
			Message: fmt.Sprintf("The page declares %d tools more than are offered.", s.Dropped)})
	}
	return out
}
