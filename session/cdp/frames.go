package cdp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// wanted are the events that owners handle. The reader drops the others.
var wanted = map[cdproto.MethodType]bool{
	cdproto.EventPageFrameAttached:           true,
	cdproto.EventPageFrameNavigated:          true,
	cdproto.EventPageFrameDetached:           true,
	cdproto.EventPageFrameStoppedLoading:     true,
	cdproto.EventPageLoadEventFired:          true,
	cdproto.EventPageLifecycleEvent:          true,
	cdproto.EventPageJavascriptDialogOpening: true,
	cdproto.EventPageJavascriptDialogClosed:  true,
	cdproto.EventPageWindowOpen:              true,
	cdproto.EventInspectorTargetCrashed:      true,
	cdproto.EventTargetAttachedToTarget:      true,
	cdproto.EventTargetDetachedFromTarget:    true,
	cdproto.EventFetchRequestPaused:          true,
	cdproto.EventPageScreencastFrame:         true,
	cdproto.EventWebMCPToolsAdded:            true,
	cdproto.EventWebMCPToolsRemoved:          true,
	cdproto.EventWebMCPToolResponded:         true,
}

// maxFrames bounds the frames of a page whose tools are offered; those that come
// later are not looked at.
const maxFrames = 64

// frame is a place for documents: the top of the page, or a frame in it. Only the
// owner uses it.
type frame struct {
	id       cdp.FrameID
	parent   *frame // nil at the top, and for a window
	window   int    // counts the windows of the page; zero for everything else
	children []*frame
	name     string
	target   *wire.Session // that shows it now
	root     bool          // it is the top one of its target
	doc      *document
	stopped  int64 // events of the page until loading stopped

	stop  func()        // ends the watch
	turn  int           // counts watches
	retry time.Duration // before the next watch when this one fails
	due   bool          // the load event waits for it
}

// reach says how the document of a frame is found, and by which policy.
type reach struct {
	needed        bool
	via           *wire.Session // of the document that holds the frame
	frame         cdp.FrameID
	root          bool
	origin, about string // of the document, by the browser; about is its address when that has no origin
	parent        string // origin of the document that holds the frame
}

// owner is what was found out about a frame's document.
type owner struct {
	policy policy
	origin string
}

// reach says what has to be found out before the document can be watched.
func (f *frame) reach() reach {
	if f.parent == nil || f.doc.policy == allowed {
		return reach{}
	}
	r := reach{needed: true, via: f.parent.doc.target, frame: f.id, root: f.root, origin: f.doc.origin, parent: f.parent.doc.origin}
	if f.doc.origin == "null" {
		r.about = f.doc.url
	}
	return r
}

// find asks the browser for the element that holds the frame, which has the
// policy, and for a handle of its document. Chromium needs no enabled domain for
// that.
func (r reach) find(ctx context.Context, d *document) (*owner, error) {
	held, err := cdp.Call(ctx, r.via, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: r.frame})
	if err != nil {
		return nil, err
	}
	described, err := cdp.Call(ctx, r.via, dom.DescribeNode, dom.DescribeNodeParams{BackendNodeID: held.BackendNodeID})
	if err != nil {
		return nil, err
	}
	if described.Node == nil {
		return nil, errNoFrame
	}
	attributes := attributesOf(described.Node)
	found := &owner{policy: denied, origin: r.origin}
	if sandbox, has := attributes["sandbox"]; has && !slices.Contains(strings.Fields(strings.ToLower(sandbox)), "allow-same-origin") {
		found.origin = "null"
		return found, nil
	}
	if r.about == "about:blank" || r.about == "about:srcdoc" {
		found.origin = r.parent
	}
	if !toolsAllowed(attributes, found.origin, r.parent) {
		return found, nil
	}
	found.policy = allowed
	if r.root {
		return found, nil
	}
	if described.Node.ContentDocument == nil {
		return nil, errNoFrame
	}
	resolved, err := cdp.Call(ctx, r.via, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: described.Node.ContentDocument.BackendNodeID})
	if err != nil {
		return nil, err
	}
	d.object.Store(&resolved.Object.ObjectID)
	return found, nil
}

// errNoFrame says that a frame went away, or to another target, meanwhile.
var errNoFrame = errors.New("the frame has no document here")

func attributesOf(n *cdp.Node) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(n.Attributes); i += 2 {
		all[strings.ToLower(n.Attributes[i])] = n.Attributes[i+1]
	}
	return all
}

// decided takes what was found out about a frame's document. Frames in it are
// looked at only now: without its parent none may have tools.
func (t *tab) decided(s *ownerState, f *frame, found *owner) {
	f.doc.policy, f.doc.origin = found.policy, found.origin
	t.publish(s)
	if found.policy == denied {
		return
	}
	for _, c := range f.children {
		if c.doc != nil && c.doc.policy == undecided {
			t.startWatch(s, c)
		}
	}
}

// publish makes the documents that may have tools known to calls.
func (t *tab) publish(s *ownerState) {
	all := documents{}
	for _, f := range s.frames {
		if f != s.top && f.doc != nil && f.doc.policy == allowed {
			all[f.doc.id] = f.doc
		}
	}
	t.framed.Store(&all)
}

// place makes a frame below another one, or gives nil when there are too many.
func (s *ownerState) place(id, parent cdp.FrameID) *frame {
	if f := s.frames[id]; f != nil {
		return f
	}
	p := s.frames[parent]
	if p == nil || len(s.frames) > maxFrames {
		return nil
	}
	f := &frame{id: id, parent: p, stop: func() {}, retry: retryTime}
	s.frames[id] = f
	p.children = append(p.children, f)
	return f
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

// frameNavigated begins a new document in a frame.
func (t *tab) frameNavigated(s *ownerState, tgt *wire.Session, ev *cdp.Frame) {
	f := s.place(ev.ID, ev.ParentID)
	if f == nil {
		return
	}
	t.leave(s, f)
	f.target, f.root, f.name, f.retry = tgt, s.roots[tgt.ID()] == ev.ID, ev.Name, retryTime
	f.doc = s.newDocument(f, tgt, ev)
	f.doc.where = f.where()
	if f.parent.doc != nil && f.parent.doc.policy == allowed {
		t.startWatch(s, f)
	}
}

// leave forgets what a frame shows, and the frames in it.
func (t *tab) leave(s *ownerState, f *frame) {
	for _, c := range f.children {
		t.leave(s, c)
		delete(s.frames, c.id)
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
	d.leave()
	if d.policy == allowed && f != s.top {
		t.publish(s)
	}
	if d.told && !s.forget(d.id) {
		t.target.Fail(wire.ErrFlood)
	}
}

// remove forgets a frame.
func (t *tab) remove(s *ownerState, f *frame) {
	if f == s.top {
		return
	}
	t.leave(s, f)
	delete(s.frames, f.id)
	if f.parent != nil {
		f.parent.children = slices.DeleteFunc(f.parent.children, func(c *frame) bool { return c == f })
	}
	t.mayBeLoaded(s)
}

// frameDetached ends a frame, or hands it over to another target, which may have
// said so already.
func (t *tab) frameDetached(s *ownerState, tgt *wire.Session, ev *page.EventFrameDetached) {
	f := s.frames[ev.FrameID]
	switch {
	case f == nil:
	case ev.Reason != page.FrameDetachedReasonSwap:
		t.remove(s, f)
	case f.target == tgt:
		t.leave(s, f)
		t.mayBeLoaded(s)
	}
}

// targetEvent handles what the browser tells of targets, and of its own WebMCP.
func (t *tab) targetEvent(s *ownerState, from *wire.Session, msg *cdproto.Message) {
	switch msg.Method {
	case cdproto.EventTargetAttachedToTarget:
		var ev cdptarget.EventAttachedToTarget
		switch {
		case !decode(msg, &ev) || ev.TargetInfo == nil:
		case ev.TargetInfo.Type == "page":
			t.windowTarget(s, &ev)
		default:
			t.frameTarget(s, from, &ev)
		}
	case cdproto.EventTargetDetachedFromTarget:
		var ev cdptarget.EventDetachedFromTarget
		if decode(msg, &ev) {
			t.targetGone(s, ev.SessionID, wire.ErrClosed)
		}
	case cdproto.EventInspectorTargetCrashed:
		t.targetGone(s, msg.SessionID, wire.ErrCrashed)
	case cdproto.EventFetchRequestPaused:
		t.requestPaused(s, from, msg)
	default:
		t.nativeEvent(s, from, msg)
	}
}

// frameType is the type of a frame that is a target of its own. Workers are
// attached to as well, only to let them run: Chromium makes them wait also when
// the filter leaves them out.
const frameType = "iframe"

// frameTarget takes a frame that became a target of its own. It waits for us, so
// that it runs nothing before the page script is in it.
func (t *tab) frameTarget(s *ownerState, tgt *wire.Session, ev *cdptarget.EventAttachedToTarget) {
	child := tgt.Child(ev.SessionID)
	s.targets[ev.SessionID] = child
	var commands []command
	id := cdp.FrameID(ev.TargetInfo.TargetID)
	switch {
	case ev.TargetInfo.Type != frameType:
		commands = t.workerSettings()
	case s.place(id, ev.TargetInfo.ParentFrameID) != nil:
		s.roots[ev.SessionID] = id
		commands = append(t.pageCommands(), t.frameSettings()...)
	default:
		commands = t.frameSettings() // its tools are too many, its settings are not
	}
	begin(child, commands)
}

// begin prepares a target that waits for us, and lets it run.
func begin(t *wire.Session, commands []command) {
	for _, c := range append(commands, command{runtime.CommandRunIfWaitingForDebugger, nil}) {
		_, _ = t.Send(context.Background(), c.method, c.params) // a target that is gone tells so itself
	}
}

// targetGone forgets what a frame's target showed.
func (t *tab) targetGone(s *ownerState, id cdptarget.SessionID, reason error) {
	child := s.targets[id]
	if child == nil || child == t.target {
		return
	}
	child.Fail(reason)
	delete(s.targets, id)
	delete(s.roots, id)
	for _, f := range s.frames {
		if f.target == child {
			t.remove(s, f)
		}
	}
}

// command is one command of ours.
type command struct {
	method string
	params any
}

// pageCommands prepare a target before it shows anything.
func (t *tab) pageCommands() []command {
	yes, source := true, shim.Source(t.name)
	switch {
	case t.native != nil:
		source = shim.NativeSource(t.name)
	case t.browser.attended:
		source = shim.SourceAttended(t.name)
	}
	commands := []command{
		{page.CommandEnable, page.EnableParams{}},
		{inspector.CommandEnable, nil},
		{page.CommandAddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source}},
		{cdptarget.CommandSetAutoAttach, cdptarget.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes,
			Filter: cdptarget.Filter{{Exclude: false, Type: frameType}, {Exclude: false, Type: "worker"}}}},
	}
	if t.native != nil {
		commands = append(commands, command{webmcp.CommandEnable, nil})
	}
	return commands
}

// errNoWebMCP says that a browser has no WebMCP of its own.
var errNoWebMCP = errors.New("the browser has no WebMCP of its own: start it with --enable-features=WebMCP, or use the engine shim")

// hasWebMCP fails when the feature is off: the domain is there all the same. An
// empty page has no WebMCP, and knows the policy of it.
func hasWebMCP(ctx context.Context, t *wire.Session) error {
	var res evaluateResult
	err := t.Call(ctx, runtime.CommandEvaluate, evaluateParams{Expression: shim.HasNative, ReturnByValue: true, Silent: true}, &res)
	if err != nil {
		return err
	}
	if text, err := res.text(); err != nil || text != "true" {
		return errNoWebMCP
	}
	return nil
}

// prepareError says which command a page did not take.
func prepareError(method string, cause *cdproto.Error) error {
	if method == webmcp.CommandEnable {
		return fmt.Errorf("%w (%w)", errNoWebMCP, cause)
	}
	if err := settingsError(method, cause); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", method, cause)
}
