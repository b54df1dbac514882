package cdp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
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

// foreignPatience sets how long the load event waits for frames of other sites: a
// busy machine needs some time for another process, and one that hangs must not hold
// up the page.
const foreignPatience = time.Second

// anyRoom limits the tools of each document in answers that come at any time, and mostRoom
// those of the document whose turn it is, in bytes.
const anyRoom, mostRoom = 256 << 10, 8 << 20

// largePatience limits how long a document that says much may keep the others from it.
const largePatience = 10 * time.Second

// watcher keeps one awaited evaluation outstanding on every document that may have
// tools, and reports what comes of them. Only the owner uses it.
type watcher struct {
	name    string // of the page script
	frames  *frames
	out     *outbox
	tasks   tasks
	invoker invoker
	words   text.Words
	// adapters run in its documents.
	adapters []*adapter.Adapter
	// unparsed says which of them are no JavaScript.
	unparsed []bridge.Finding
	follow   []session.Event // of the document at the top, after the next answers
	hold     *time.Timer     // ends the wait for frames of other sites
	// large is held by who takes more than anyRoom: one document of the page at a time,
	// so that each knows what room those before it left.
	large chan struct{}
}

// watched holds the result of an awaited evaluation. The text is "" when it failed, as it
// does when the document goes away.
type watched struct {
	frame *frame
	doc   *document
	turn  int // of the frame's watch
	large bool
	held  int64 // bytes that are counted of the document
	found *holder
	text  string
	after int64
}

// start watches what the frame shows now, and gives up an evaluation that belongs to
// an earlier document.
func (w *watcher) start(f *frame) { w.from(f, f.doc.revision.Load(), 0) }

// from is start with another known revision, of which -1 is answered at once, and with
// a pause before.
func (w *watcher) from(f *frame, revision int64, pause time.Duration) {
	w.watch(f, revision, pause, false)
}

func (w *watcher) watch(f *frame, revision int64, pause time.Duration, large bool) {
	f.stop()
	ctx, cancel := context.WithCancel(context.Background())
	f.stop = cancel
	f.turn++
	x := watched{frame: f, doc: f.doc, turn: f.turn, large: large, held: w.frames.declared.Held(f.doc.id)}
	go w.once(ctx, x, f.reach(), revision, pause)
}

// once reaches the document, runs the evaluation and hands its text to the owner. It
// ends with ctx or with the page.
func (w *watcher) once(ctx context.Context, x watched, reach reach, revision int64,
	pause time.Duration) {
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		case <-w.tasks.gone:
			return
		}
	}
	var err error
	bounded := ctx
	room := int64(anyRoom)
	if x.large {
		select {
		case w.large <- struct{}{}:
			context.AfterFunc(ctx, func() { <-w.large }) // the next watch ends ctx
		case <-ctx.Done():
			return
		}
		var cancel func()
		bounded, cancel = context.WithTimeout(ctx, largePatience)
		defer cancel()
		room += min(w.frames.declared.Room(), mostRoom) + x.held
	}
	if reach.needed {
		x.found, err = reach.find(bounded, x.doc)
	}
	if err == nil && (x.found == nil || x.found.policy == allowed) {
		x.text, x.after, err = x.doc.evaluate(bounded, shim.Watch(w.name, revision, room))
	}
	if err != nil {
		x.text = ""
	}
	w.tasks.add(ctx, x.after, func() { w.ended(x) })
}

// ended takes what the evaluation brought, and starts the next one.
func (w *watcher) ended(x watched) {
	f := x.frame
	if f.turn != x.turn {
		return // another watch took its place
	}
	if x.found != nil {
		w.decide(f, x.found)
	}
	began := time.Now()
	state, err := shim.DecodeState(x.text)
	if err == nil && f.parent != nil && state.Doc.Origin != x.doc.origin {
		w.decide(f, &holder{policy: denied, origin: state.Doc.Origin}) // a sandbox that no attribute names
	}
	switch {
	case x.doc.policy == denied:
	case err == nil && state.Short > 0 && !x.large:
		w.watch(f, -1, 0, true)
		return
	case err == nil:
		x.doc.ready = true
		w.take(x.doc, state)
		f.retry = retryTime
		w.from(f, x.doc.revision.Load(), min(workShare*time.Since(began), maxPause))
	default:
		// The document is going away, or its script is not there yet. The next
		// navigation starts a new evaluation; this is for when there is none.
		w.from(f, x.doc.revision.Load(), f.retry)
		f.retry = min(2*f.retry, maxPause)
	}
	f.due = false
}

// decide takes what was found out about a frame's document. Frames in it are looked
// at only now: without its parent none may have tools.
func (w *watcher) decide(f *frame, found *holder) {
	w.frames.decide(f, found)
	if found.policy == denied {
		return
	}
	for _, c := range f.children {
		if c.doc != nil && c.doc.policy == undecided {
			w.start(c)
		}
	}
}

// after reports an event when every document has said what it registered until now: a
// page that counts as opened must not look empty because it is busy. Documents with a
// process of their own are waited for not longer than foreignPatience.
func (w *watcher) after(ev session.Event) {
	w.follow = append(w.follow, ev)
	foreign := false
	for _, f := range w.frames.all {
		if f.doc == nil || f.doc.policy == denied {
			continue
		}
		if f.target != w.frames.page {
			if f.parent == nil || f.parent.doc == nil || f.parent.doc.policy != allowed {
				continue // a window, or a frame that cannot have tools
			}
			foreign = true
		}
		f.due = true
		w.from(f, -1, 0)
	}
	w.hold.Stop()
	if foreign {
		w.hold.Reset(foreignPatience)
	}
}

// withoutForeign reports what follows without the frames of other sites.
func (w *watcher) withoutForeign() {
	for _, f := range w.frames.all {
		if f.target != w.frames.page {
			f.due = false
		}
	}
}

// settle reports what follows when nothing is due any more.
func (w *watcher) settle() {
	for _, f := range w.frames.all {
		if f.due {
			return
		}
	}
	for _, ev := range w.follow {
		w.out.emit(ev)
	}
	w.follow = nil
}

// changed takes a state of a document that came with a reply. The document's watch brings
// what there was no room for in it.
func (w *watcher) changed(d *document, state *shim.State) {
	if state.Short == 0 {
		w.take(d, state)
	}
}

// take takes a state of a document, and reports it when it is newer, or when the page's title
// came in the meantime.
func (w *watcher) take(d *document, state *shim.State) {
	known := d.revision.Load()
	top := d.where == (session.Frame{})
	switch {
	case w.frames.shown.find(d.id) != d || state.Revision < known:
		return
	case state.Revision > known:
		d.revision.Store(state.Revision)
		d.state = state
	case top && d.state != nil && d.state.Doc != state.Doc:
		d.state.Doc = state.Doc
	default:
		return
	}
	w.report(d)
}

func (w *watcher) report(d *document) {
	set := session.ToolsChanged{
		Document: d.id, Frame: d.where, Revision: d.state.Revision * revisions, Title: d.state.Doc.Title, Icon: icon(d),
		Tools: w.declarations(d), Findings: w.findings(d),
	}
	w.invoker.complete(d, &set)
	silent := len(set.Tools)+len(d.state.Refused) == 0
	forms := map[int64]bool{}
	for _, x := range d.state.Tools {
		if x.Via == "form" {
			forms[x.ID] = true
		}
	}
	d.forms.Store(&forms)
	before := len(set.Tools)
	if w.frames.declared.Fit(&set); len(set.Tools) < before { // nor are they kept here
		d.state.Tools = slices.Clone(d.state.Tools[:min(len(set.Tools), len(d.state.Tools))])
	}
	if d.where != (session.Frame{}) && !d.reported && silent {
		return // most frames have no tools, and what goes wrong in them is not about tools
	}
	d.reported = true
	w.out.emit(set)
}

// icon is the address of the document's icon, when that is of its own origin: clients
// fetch it, and nobody else shall hear of them.
func icon(d *document) string {
	page, err := url.Parse(d.state.Doc.URL)
	if err != nil || d.state.Doc.Icon == "" {
		return ""
	}
	at, err := page.Parse(d.state.Doc.Icon)
	if err != nil || at.User != nil || origin.OfURL(at) != d.origin {
		return ""
	}
	return at.String()
}

// declarations turns what the page script reported into what the bridge admits
// from. The origin is the browser's word, not the page's.
func (w *watcher) declarations(d *document) []bridge.Declaration {
	out := make([]bridge.Declaration, len(d.state.Tools))
	for i, x := range d.state.Tools {
		out[i] = bridge.Declaration{
			ID: x.ID, Document: d.id, Origin: d.origin, Frame: d.where.Path, Name: x.Name, Title: x.Title, Description: x.Description,
			Input: x.InputSchema, Output: x.OutputSchema, Annotations: annotations(x.Annotations),
		}
		if by := w.adapter(x.Adapter); by != nil {
			out[i].Adapter = &by.Adapter
		}
	}
	return out
}

// annotations returns the claims as a JSON object; nil when there is none.
func annotations(a shim.Annotations) json.RawMessage {
	b, err := json.Marshal(a)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}
