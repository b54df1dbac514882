package cdp

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// maxFrames bounds the frames of a page whose tools are offered; those that come
// later are not looked at.
const maxFrames = 64

// frame is a place for documents: the top of the page, or a frame in it.
type frame struct {
	id       cdp.FrameID
	parent   *frame // nil at the top, and for a window
	window   int    // counts the windows of the page; zero for everything else
	children []*frame
	name     string
	target   *wire.Session // that shows it now
	root     bool          // it is the top one of its target
	doc      *document
	// Events of the page until a navigation was requested, and until one started.
	requested, started int64
	asked              time.Time // when it was requested
	stopped, moved     int64     // events of the page until loading stopped, and until the address changed
	left               time.Time // when loading stopped
	saved              int64     // events of the page until it began to save a file

	stop  func()        // ends the watch
	turn  int           // counts watches
	retry time.Duration // before the next watch when this one fails
	due   bool          // the load event waits for it
}

// frames are the places of a page and its targets. Only the owner uses it.
type frames struct {
	page    *wire.Session
	shown   *documents
	out     *outbox
	handled int64 // events of the page so far
	top     *frame
	all     map[cdp.FrameID]*frame
	targets map[cdptarget.SessionID]*wire.Session
	roots   map[cdptarget.SessionID]cdp.FrameID // the frames that are targets of their own
	windows int                                 // that were opened so far
	// declared counts what their documents declare.
	declared *session.Declared
}

// newFrames begins with an empty document at the top.
func newFrames(s *wire.Session, id cdptarget.ID, shown *documents, out *outbox,
	declared *session.Declared) *frames {
	fs := &frames{
		page: s, shown: shown, out: out, declared: declared,
		all:     map[cdp.FrameID]*frame{},
		targets: map[cdptarget.SessionID]*wire.Session{s.ID(): s},
		roots:   map[cdptarget.SessionID]cdp.FrameID{},
	}
	fs.top = fs.add(&frame{id: cdp.FrameID(id), target: s, root: true})
	fs.top.doc = &document{target: s, policy: allowed, gone: make(chan struct{})}
	shown.top.Store(fs.top.doc)
	return fs
}

func (fs *frames) add(f *frame) *frame {
	f.stop, f.retry = func() {}, retryTime
	fs.all[f.id] = f
	return f
}

// place makes a frame below another one, or returns nil when there are too many.
func (fs *frames) place(id, parent cdp.FrameID) *frame {
	if f := fs.all[id]; f != nil {
		return f
	}
	p := fs.all[parent]
	if p == nil || len(fs.all) > maxFrames {
		return nil
	}
	f := fs.add(&frame{id: id, parent: p})
	p.children = append(p.children, f)
	return f
}

// openWindow makes a place for a window of the page, or returns nil when there are
// too many.
func (fs *frames) openWindow(id cdp.FrameID, target *wire.Session) *frame {
	open := 0
	for _, f := range fs.all {
		if f.window > 0 {
			open++
		}
	}
	if open >= session.MaxWindows || len(fs.all) > maxFrames {
		return nil
	}
	fs.windows++
	fs.roots[target.ID()] = id
	return fs.add(&frame{id: id, window: fs.windows, target: target, root: true})
}

// navigate begins a new document in the frame that it belongs to, and returns the
// frame; nil when the frame is not looked at.
func (fs *frames) navigate(target *wire.Session, ev *cdp.Frame) *frame {
	f := fs.top
	switch {
	case ev.ParentID != "":
		f = fs.place(ev.ID, ev.ParentID)
	case target != fs.page:
		f = fs.all[ev.ID]
	}
	if f == nil {
		return nil
	}
	fs.leave(f)
	f.doc, f.target, f.retry = newDocument(target, ev, fs.handled), target, retryTime
	f.doc.frame = f
	if f.parent != nil {
		f.name, f.root = ev.Name, fs.roots[target.ID()] == ev.ID
	}
	f.doc.where = f.where()
	if f.parent != nil {
		return f
	}
	f.doc.policy = allowed
	if f == fs.top {
		fs.shown.top.Store(f.doc)
	}
	fs.publish()
	return f
}

// decide takes what was found out about a frame's document.
func (fs *frames) decide(f *frame, found *holder) {
	f.doc.policy, f.doc.origin = found.policy, found.origin
	fs.publish()
}

// publish makes the documents that may have tools known to calls.
func (fs *frames) publish() {
	all := map[string]*document{}
	for _, f := range fs.all {
		if f != fs.top && f.doc != nil && f.doc.policy == allowed {
			all[f.doc.id] = f.doc
		}
	}
	fs.shown.framed.Store(&all)
}

// leave forgets what a frame shows, and the frames in it.
func (fs *frames) leave(f *frame) {
	for _, c := range f.children {
		fs.leave(c)
		delete(fs.all, c.id)
	}
	f.children = nil
	f.stop()
	f.turn++
	f.due = false
	d := f.doc
	f.doc = nil
	if d == nil {
		return
	}
	close(d.gone)
	fs.declared.Gone(d.id)
	if d.policy == allowed && f != fs.top {
		fs.publish()
	}
	if d.reported && !fs.out.frameGone(d.id) {
		fs.page.Fail(wire.ErrFlood)
	}
}

func (fs *frames) remove(f *frame) {
	if f == fs.top {
		return
	}
	fs.leave(f)
	delete(fs.all, f.id)
	if f.parent != nil {
		f.parent.children = slices.DeleteFunc(f.parent.children,
			func(c *frame) bool { return c == f })
	}
}

// detached ends a frame, or hands it over to another target, which may have said so
// already.
func (fs *frames) detached(target *wire.Session, ev *page.EventFrameDetached) {
	f := fs.all[ev.FrameID]
	switch {
	case f == nil:
	case ev.Reason != page.FrameDetachedReasonSwap:
		fs.remove(f)
	case f.target == target:
		fs.leave(f)
	}
}

// targetGone forgets what a frame's target showed.
func (fs *frames) targetGone(id cdptarget.SessionID, reason error) {
	child := fs.targets[id]
	if child == nil || child == fs.page {
		return
	}
	child.Fail(reason)
	delete(fs.targets, id)
	delete(fs.roots, id)
	for _, f := range fs.all {
		if f.target == child {
			fs.remove(f)
		}
	}
}

// end stops what runs for the page's documents, and ends the sessions on frames that
// are targets of their own.
func (fs *frames) end(reason error) {
	for _, f := range fs.all {
		f.stop()
	}
	for _, child := range fs.targets {
		child.Fail(reason)
	}
}

// where names the place of a frame, so that the same place in another load of the
// page has the same name.
func (f *frame) where() session.Frame {
	switch {
	case f.window > 0:
		return session.Frame{Path: "window-" + strconv.Itoa(f.window), Depth: 1}
	case f.parent == nil:
		return session.Frame{}
	}
	above := f.parent.where()
	same := 0
	for _, c := range f.parent.children {
		if c.name == f.name {
			same++
		}
	}
	step := f.name
	if same != 1 || !plainName.MatchString(step) {
		step = strconv.Itoa(slices.Index(f.parent.children, f))
	}
	if above.Path != "" {
		step = above.Path + "/" + step
	}
	return session.Frame{Path: step, Depth: above.Depth + 1}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,31}$`)
