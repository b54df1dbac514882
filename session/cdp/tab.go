package cdp

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// tab is one page. Its owner goroutine reads the page's events and keeps the
// awaited evaluation that tells of tools; calls run in their callers'
// goroutines.
type tab struct {
	browser  *instance
	target   *wire.Session
	context  cdp.BrowserContextID
	id       cdptarget.ID
	name     string // of the page script
	onClose  func()
	await    session.Await
	policy   session.Windows // of windows that it opens
	times    times
	calls    atomic.Int32 // in flight
	calling  calling
	closed   sync.Once
	closeErr error
	native   *nativeCalls // nil without the browser's own WebMCP
	origin   string       // of the site, where that is known
	settings *settings    // nil when nothing is set

	doc         atomic.Pointer[document]  // at the top
	framed      atomic.Pointer[documents] // in frames
	states      chan pushed               // state texts that came with replies
	found       chan *document            // the element that is awaited is in it
	swept       chan swept
	submissions chan *submission
	events      chan session.Event
}

// pushed is a registry state and the document that it belongs to.
type pushed struct {
	doc   *document
	state *shim.State
	after int64 // events that came before it
}

var _ session.Tab = (*tab)(nil)

// openTab makes a page, prepares it and starts its owner. onClose runs once,
// when the tab is closed.
func openTab(ctx context.Context, b *instance, o session.TabOptions, onClose func()) (*tab, error) {
	set, err := newSettings(b, o)
	if err != nil {
		return nil, err
	}
	tgt, contextID, id, err := b.newTarget(ctx, contextParams(o))
	if err != nil {
		bounded, cancel := farewell()
		defer cancel()
		_ = b.dispose(bounded, contextID, id)
		return nil, err
	}
	t := &tab{browser: b, target: tgt, context: contextID, id: id, name: shim.NewName(), onClose: onClose, await: o.Await, policy: o.Windows, times: b.times, origin: originOf(o.Origin), settings: set,
		states: make(chan pushed), found: make(chan *document), swept: make(chan swept), submissions: make(chan *submission), events: make(chan session.Event)}
	if b.native {
		t.native = newNative()
	}
	t.doc.Store(&document{target: tgt, policy: allowed, gone: make(chan struct{})})
	if b.adopts && t.policy == session.BridgeWindows {
		b.conn.Adopt(id, tgt)
	}
	if err := t.prepare(ctx); err != nil {
		tgt.Fail(errOurs)
		bounded, cancel := farewell()
		defer cancel()
		_ = b.dispose(bounded, contextID, id)
		return nil, fmt.Errorf("preparing a page: %w", err)
	}
	go t.own()
	return t, nil
}

// farewell bounds what is said at the end, apart from any call's context.
func farewell() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 3*time.Second)
}

// prepare sends what every page needs before it shows anything, in one go.
func (t *tab) prepare(ctx context.Context) error {
	commands := append(t.pageCommands(),
		command{page.CommandSetLifecycleEventsEnabled, page.SetLifecycleEventsEnabledParams{Enabled: t.await.Idle}},
		command{emulation.CommandSetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}})
	commands = append(commands, t.pageSettings()...)
	replies := make([]<-chan wire.Reply, len(commands))
	for i, c := range commands {
		reply, err := t.target.Send(ctx, c.method, c.params)
		if err != nil {
			return err
		}
		replies[i] = reply
	}
	_, err := cdp.Call(ctx, t.browser.root, browser.SetDownloadBehavior,
		browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: t.context})
	if err != nil {
		return fmt.Errorf("denying downloads: %w", err)
	}
	if t.native != nil {
		if err := hasWebMCP(ctx, t.target); err != nil {
			return err
		}
	}
	if err := t.settings.furnish(ctx, t.browser, t.context); err != nil {
		return err
	}
	for i, ch := range replies {
		select {
		case msg, ok := <-ch:
			if !ok {
				return t.target.Reason()
			}
			if msg.Error != nil {
				return prepareError(commands[i].method, msg.Error)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Load navigates and returns when the new document is committed. Calls in flight
// are aborted first.
func (t *tab) Load(ctx context.Context, address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return bridge.Errorf(bridge.InternalError, bridge.OriginBlocked, bridge.NotRun, "Only http and https addresses are opened.")
	}
	if t.calls.Load() > 0 {
		t.abortAll(ctx)
	}
	var res page.NavigateResult
	err := t.target.Call(ctx, page.CommandNavigate, page.NavigateParams{URL: address}, &res)
	switch {
	case t.target.Reason() != nil:
		return goneError(t.target.Reason(), bridge.NotRun)
	case err != nil && ctx.Err() != nil:
		bounded, cancel := farewell()
		defer cancel()
		_, _ = t.target.Send(bounded, page.CommandStopLoading, nil)
		return late(ctx, "The page did not arrive in time.")
	case err != nil:
		return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "The page cannot be opened.").With(err)
	case res.ErrorText != "":
		return loadError(res.ErrorText)
	}
	return nil
}

// abortAll ends the calls in flight in every document.
func (t *tab) abortAll(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, abortPatience)
	defer cancel()
	if t.native != nil {
		t.native.cancelForms(bounded)
	}
	var answers []<-chan wire.Reply
	t.everyDocument(func(d *document) {
		if ch, err := d.send(bounded, shim.Shutdown(t.name, "pagetools navigated the page.")); err == nil {
			answers = append(answers, ch)
		}
	})
	for _, ch := range answers {
		select {
		case <-ch:
		case <-bounded.Done():
			return
		}
	}
}

// Events gives what happens to the tab.
func (t *tab) Events() <-chan session.Event { return t.events }

// Close ends the page and forgets its browser context.
func (t *tab) Close(ctx context.Context) error {
	t.closed.Do(func() {
		t.target.Fail(errOurs)
		t.closeErr = t.browser.dispose(ctx, t.context, t.id)
		t.onClose()
	})
	return t.closeErr
}

// ownerState is what the owner goroutine holds.
type ownerState struct {
	queue     []session.Event // not yet read by the page's owner
	handled   int64           // events of the page so far
	top       *frame
	frames    map[cdp.FrameID]*frame // all of them, by the browser's id
	targets   map[cdptarget.SessionID]*wire.Session
	roots     map[cdptarget.SessionID]cdp.FrameID // the frames that are targets of their own
	watched   chan watched                        // answers of the outstanding evaluations
	awaited   awaited
	loading   bool                  // the load event came; Loaded follows the next answers
	hold      *time.Timer           // how long it waits for frames of other sites
	opened    int                   // windows so far
	sweeping  bool                  // windows are being closed
	known     map[cdptarget.ID]bool // windows that were left open; the sweep's while it runs
	again     bool                  // another one opened meanwhile
	open      []*dialog             // dialogs that are questions
	dialogs   int                   // since calm
	calm      time.Time
	submitted []*submission // that no document answered yet
}

func (t *tab) newOwnerState() *ownerState {
	s := &ownerState{watched: make(chan watched), targets: map[cdptarget.SessionID]*wire.Session{t.target.ID(): t.target},
		frames: map[cdp.FrameID]*frame{}, roots: map[cdptarget.SessionID]cdp.FrameID{}, awaited: awaited{stop: func() {}},
		known: map[cdptarget.ID]bool{}, hold: time.NewTimer(time.Hour)}
	s.hold.Stop() // until the load event waits for somebody
	s.top = &frame{id: cdp.FrameID(t.id), target: t.target, root: true, doc: t.doc.Load(), stop: func() {}, retry: retryTime}
	s.frames[s.top.id] = s.top
	return s
}

// own is the owner goroutine. It ends when the target is gone.
func (t *tab) own() {
	defer close(t.events)
	s := t.newOwnerState()
	defer s.hold.Stop()
	for {
		var out chan session.Event
		var first session.Event
		if len(s.queue) > 0 {
			out, first = t.events, s.queue[0]
		}
		select {
		case out <- first:
			s.queue = s.queue[1:]
		case msg := <-t.target.Events():
			t.handle(s, msg)
		case p := <-t.states:
			t.changed(s, p)
		case sub := <-t.submissions:
			t.submitted(s, sub)
		case d := <-t.found:
			t.elementFound(s, d)
		case w := <-s.watched:
			t.watchEnded(s, w)
		case <-s.hold.C:
			t.heldLong(s)
		case f := <-t.native.titled():
			t.formTitled(s, f)
		case w := <-t.swept:
			t.windowSwept(s, w)
		case <-t.target.Gone():
			s.end(t.target.Reason())
			t.last(s)
			return
		}
	}
}

// end stops what runs for the page's documents, and fails the frames that are
// targets of their own.
func (s *ownerState) end(reason error) {
	s.awaited.stop()
	for _, f := range s.frames {
		f.stop()
	}
	for _, child := range s.targets {
		child.Fail(reason)
	}
}

// last says goodbye: what is queued is delivered as far as somebody reads.
func (t *tab) last(s *ownerState) {
	bounded, cancel := farewell()
	defer cancel()
	s.queue = append(s.queue, session.Died{Err: goneError(t.target.Reason(), bridge.Unknown)})
	for _, ev := range s.queue {
		select {
		case t.events <- ev:
		case <-bounded.Done():
			return
		}
	}
}

// maxQueue bounds events that the page's owner has not read. Tool changes are
// coalesced and end with their document. More windows and dialogs are not told;
// a page that navigates so often is closed.
const maxQueue = 256

// emit queues an event; a tool change takes the place of an unread one of its
// document.
func (s *ownerState) emit(ev session.Event) {
	switch ev := ev.(type) {
	case session.ToolsChanged:
		if i := slices.IndexFunc(s.queue, func(old session.Event) bool { return tellsOf(old, ev.Document) }); i >= 0 {
			s.queue[i] = ev
			return
		}
	case session.DialogShown, session.WindowOpened, session.WindowClosed:
		if len(s.queue) >= maxQueue {
			return
		}
	}
	s.queue = append(s.queue, ev)
}

// forget tells that a document of a frame is gone. It reports whether there was
// room for that.
func (s *ownerState) forget(id string) bool {
	s.queue = slices.DeleteFunc(s.queue, func(old session.Event) bool { return tellsOf(old, id) })
	if len(s.queue) >= maxQueue {
		return false
	}
	s.queue = append(s.queue, session.FrameGone{Document: id})
	return true
}

// tellsOf reports whether an event is a tool change of the document.
func tellsOf(ev session.Event, id string) bool {
	c, ok := ev.(session.ToolsChanged)
	return ok && c.Document == id
}

func (t *tab) handle(s *ownerState, msg *cdproto.Message) {
	s.handled++
	from := s.targets[msg.SessionID]
	if from == nil {
		return // of a frame that is gone
	}
	switch msg.Method {
	case cdproto.EventPageFrameAttached:
		var ev page.EventFrameAttached
		if decode(msg, &ev) {
			s.place(ev.FrameID, ev.ParentFrameID)
		}
	case cdproto.EventPageFrameNavigated:
		var ev page.EventFrameNavigated
		switch {
		case !decode(msg, &ev) || ev.Frame == nil:
		case ev.Frame.ParentID != "":
			t.frameNavigated(s, from, ev.Frame)
		case from != t.target:
			t.windowNavigated(s, from, ev.Frame)
		default:
			t.navigated(s, ev.Frame)
		}
	case cdproto.EventPageFrameDetached:
		var ev page.EventFrameDetached
		if decode(msg, &ev) {
			t.frameDetached(s, from, &ev)
		}
	case cdproto.EventPageLifecycleEvent:
		t.lifecycle(s, msg)
	case cdproto.EventPageLoadEventFired:
		if from == t.target {
			t.loadEvent(s)
		}
	case cdproto.EventPageJavascriptDialogOpening:
		var ev page.EventJavascriptDialogOpening
		if decode(msg, &ev) {
			t.dialogOpens(s, from, &ev)
		}
	case cdproto.EventPageJavascriptDialogClosed:
		s.dialogCloses(from)
	case cdproto.EventPageWindowOpen:
		t.windowOpens(s)
	default:
		t.targetEvent(s, from, msg)
	}
	t.mayAnswer(s, msg)
}

func decode(msg *cdproto.Message, v any) bool {
	return jsonv2.Unmarshal(msg.Params, v, chromedp.DefaultUnmarshalOptions) == nil
}

// newDocument is what a frame begins to show.
func (s *ownerState) newDocument(in *frame, tgt *wire.Session, f *cdp.Frame) *document {
	origin := strings.TrimSuffix(f.SecurityOrigin, "/")
	if origin == "" || strings.HasPrefix(origin, ":") {
		origin = "null"
	}
	d := &document{id: string(f.LoaderID), url: f.URL, frameID: f.ID, target: tgt, origin: origin, gone: make(chan struct{})}
	d.frame, d.began, d.failed = in, s.handled, f.UnreachableURL != ""
	d.revision.Store(-1)
	return d
}

// navigated begins a new document at the top.
func (t *tab) navigated(s *ownerState, f *cdp.Frame) {
	t.leave(s, s.top)
	d := s.newDocument(s.top, t.target, f)
	d.policy = allowed
	s.top.doc = d
	t.doc.Store(d)
	t.publish(s)
	s.loading, s.top.retry = false, retryTime
	s.queue = slices.DeleteFunc(s.queue, ofOneDocument)
	if len(s.queue) >= maxQueue {
		t.target.Fail(wire.ErrFlood)
		return
	}
	s.emit(session.Navigated{Document: d.id, URL: d.url, Origin: d.origin})
	t.startWatch(s, s.top)
	t.startAwait(s, d)
}

// ofOneDocument reports whether an event says nothing any more when its document
// is gone.
func ofOneDocument(ev session.Event) bool {
	switch ev.(type) {
	case session.ToolsChanged, session.FrameGone, session.Loaded, session.Ready:
		return true
	}
	return false
}

// A page that opens more than maxDialogs dialogs within dialogWindow is closed:
// each of them stops every frame of it.
const (
	maxDialogs   = 100
	dialogWindow = 5 * time.Second
)
