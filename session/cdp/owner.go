package cdp

import (
	"context"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// wanted are the events that owners handle. The reader drops the others.
var wanted = map[cdproto.MethodType]bool{
	cdproto.EventPageFrameAttached:                 true,
	cdproto.EventPageFrameNavigated:                true,
	cdproto.EventPageNavigatedWithinDocument:       true,
	cdproto.EventPageFrameDetached:                 true,
	cdproto.EventPageFrameRequestedNavigation:      true,
	cdproto.EventPageFrameStartedNavigating:        true,
	cdproto.EventPageFrameStoppedLoading:           true,
	cdproto.EventPageLoadEventFired:                true,
	cdproto.EventPageLifecycleEvent:                true,
	cdproto.EventPageJavascriptDialogOpening:       true,
	cdproto.EventPageJavascriptDialogClosed:        true,
	cdproto.EventPageWindowOpen:                    true,
	eventDownload:                                  true,
	eventDownloadProgress:                          true,
	cdproto.EventInspectorTargetCrashed:            true,
	cdproto.EventTargetAttachedToTarget:            true,
	cdproto.EventTargetDetachedFromTarget:          true,
	cdproto.EventFetchRequestPaused:                true,
	cdproto.EventFetchAuthRequired:                 true,
	cdproto.EventPageScreencastFrame:               true,
	cdproto.EventNetworkRequestWillBeSent:          true,
	cdproto.EventNetworkResponseReceived:           true,
	cdproto.EventNetworkDataReceived:               true,
	cdproto.EventNetworkWebSocketCreated:           true,
	cdproto.EventNetworkWebSocketFrameSent:         true,
	cdproto.EventNetworkLoadingFinished:            true,
	cdproto.EventNetworkLoadingFailed:              true,
	cdproto.EventStorageIndexedDBContentUpdated:    true,
	cdproto.EventStorageCacheStorageContentUpdated: true,
	cdproto.EventWebMCPToolsAdded:                  true,
	cdproto.EventWebMCPToolsRemoved:                true,
	cdproto.EventWebMCPToolResponded:               true,
}

// Events that cdproto leaves out. The first comes for a download that is refused, too.
const (
	eventDownload         cdproto.MethodType = "Page.downloadWillBegin"
	eventDownloadProgress cdproto.MethodType = "Page.downloadProgress"
)

// owner reads the events of a page, and has what follows from them. Its parts are used
// by its goroutine alone, which other goroutines reach through tasks.
type owner struct {
	target  *wire.Session
	events  chan session.Event // what the tab reports; closed at the end
	tasks   tasks
	setup   *setup
	invoker invoker

	out         outbox
	frames      *frames
	watcher     *watcher
	awaiter     *awaiter
	windows     *windows
	dialogs     *dialogs
	traffic     *traffic
	quota       *quota
	submissions *submissions
	moves       *moves
	saver       *saver
}

// own is the owner's goroutine. It ends when the target is gone.
func (o *owner) own() {
	defer close(o.events)
	defer o.end()
	for {
		var out chan session.Event
		var first session.Event
		if len(o.out.queue) > 0 {
			out, first = o.events, o.out.queue[0]
		}
		select {
		case out <- first:
			o.out.queue = o.out.queue[1:]
		case msg := <-o.target.Events():
			o.handle(msg)
		case task := <-o.tasks.queue:
			o.perform(task)
		case <-o.watcher.hold.C:
			o.watcher.withoutForeign()
			o.settle()
		case <-o.target.Gone():
			return
		}
	}
}

// settle reports what has become true.
func (o *owner) settle() {
	o.watcher.settle()
	o.submissions.settle()
	o.traffic.settle()
}

// perform does a task in its place among the events of the page.
func (o *owner) perform(t task) {
	for o.frames.handled < t.after {
		select {
		case msg := <-o.target.Events():
			o.handle(msg)
		case <-o.target.Gone():
			return
		}
	}
	t.do()
	o.settle()
}

// end stops what runs for the page. What is queued is delivered as far as somebody
// reads.
func (o *owner) end() {
	reason := o.target.Reason()
	o.awaiter.stop()
	o.moves.stop()
	o.watcher.hold.Stop()
	o.frames.end(reason)
	bounded, cancel := farewell()
	defer cancel()
	o.out.queue = append(o.out.queue, session.Died{Err: goneError(reason, bridge.Unknown)})
	for _, ev := range o.out.queue {
		select {
		case o.events <- ev:
		case <-bounded.Done():
			return
		}
	}
}

func (o *owner) handle(msg *cdproto.Message) {
	o.frames.handled++
	from := o.frames.targets[msg.SessionID]
	if from == nil {
		return // of a frame that is gone
	}
	switch msg.Method {
	case cdproto.EventPageFrameAttached:
		if ev, ok := wire.Decode[page.EventFrameAttached](msg); ok {
			o.frames.place(ev.FrameID, ev.ParentFrameID)
		}
	case cdproto.EventPageFrameNavigated:
		if ev, ok := wire.Decode[page.EventFrameNavigated](msg); ok && ev.Frame != nil {
			o.navigated(from, ev.Frame)
		}
	case cdproto.EventPageFrameDetached:
		if ev, ok := wire.Decode[page.EventFrameDetached](msg); ok {
			o.frames.detached(from, &ev)
		}
	case cdproto.EventPageNavigatedWithinDocument:
		if ev, ok := wire.Decode[page.EventNavigatedWithinDocument](msg); ok && o.frames.all[ev.FrameID] != nil {
			o.frames.all[ev.FrameID].moved = o.frames.handled
		}
	case cdproto.EventPageFrameStoppedLoading:
		ev, ok := wire.Decode[page.EventFrameStoppedLoading](msg)
		if f := o.frames.all[ev.FrameID]; ok && f != nil {
			f.stopped, f.left = o.frames.handled, time.Now()
		}
	case cdproto.EventPageFrameRequestedNavigation:
		if ev, ok := wire.Decode[page.EventFrameRequestedNavigation](msg); ok && o.frames.all[ev.FrameID] != nil {
			o.frames.all[ev.FrameID].requested, o.frames.all[ev.FrameID].asked = o.frames.handled, time.Now()
		}
	case cdproto.EventPageFrameStartedNavigating:
		if ev, ok := wire.Decode[page.EventFrameStartedNavigating](msg); ok && o.frames.all[ev.FrameID] != nil {
			o.frames.all[ev.FrameID].started = o.frames.handled
		}
	case cdproto.EventPageLifecycleEvent:
		o.awaiter.lifecycle(msg)
	case cdproto.EventPageLoadEventFired:
		if from == o.target {
			o.watcher.after(session.Loaded{Document: o.frames.top.doc.id})
		}
	case cdproto.EventPageJavascriptDialogOpening:
		if ev, ok := wire.Decode[page.EventJavascriptDialogOpening](msg); ok {
			o.dialogs.opens(from, &ev)
		}
	case cdproto.EventPageJavascriptDialogClosed:
		o.dialogs.closes(from)
	case cdproto.EventFetchRequestPaused:
		o.setup.reaching.requestPaused(o, from, msg)
	case cdproto.EventFetchAuthRequired:
		o.setup.reaching.authRequired(o, from, msg)
	case cdproto.EventNetworkRequestWillBeSent, cdproto.EventNetworkResponseReceived, cdproto.EventNetworkDataReceived,
		cdproto.EventNetworkWebSocketCreated, cdproto.EventNetworkWebSocketFrameSent,
		cdproto.EventNetworkLoadingFinished, cdproto.EventNetworkLoadingFailed:
		o.traffic.event(msg)
	default:
		o.targetEvent(from, msg)
	}
	o.settle()
}

// targetEvent handles events about targets, about what reaches out of the document, and those of
// the invoker.
func (o *owner) targetEvent(from *wire.Session, msg *cdproto.Message) {
	switch msg.Method {
	case cdproto.EventPageWindowOpen:
		o.traffic.note(doesOpen)
		o.windows.opens()
	case eventDownload:
		o.traffic.note(doesDownload)
		o.saver.event(msg)
	case eventDownloadProgress:
		o.saver.event(msg)
	case cdproto.EventStorageIndexedDBContentUpdated, cdproto.EventStorageCacheStorageContentUpdated:
		o.traffic.note(doesStore)
	case cdproto.EventTargetAttachedToTarget:
		ev, ok := wire.Decode[cdptarget.EventAttachedToTarget](msg)
		switch {
		case !ok || ev.TargetInfo == nil:
		case ev.TargetInfo.Type == "page":
			o.windows.attached(&ev)
		default:
			o.attached(from, &ev)
		}
	case cdproto.EventTargetDetachedFromTarget:
		if ev, ok := wire.Decode[cdptarget.EventDetachedFromTarget](msg); ok {
			o.frames.targetGone(ev.SessionID, wire.ErrClosed)
		}
	case cdproto.EventInspectorTargetCrashed:
		o.frames.targetGone(msg.SessionID, wire.ErrCrashed)
	default:
		o.invoker.event(from, msg)
	}
}

// navigated begins a new document.
func (o *owner) navigated(from *wire.Session, ev *cdp.Frame) {
	for _, c := range o.quota.bound(ev.URL) {
		_, _ = from.Send(context.Background(), c.Method, c.Params) // a target that is gone stores nothing
	}
	f := o.frames.navigate(from, ev)
	if f == nil {
		return
	}
	if f == o.frames.top {
		o.watcher.follow = nil
		d := f.doc
		if leave := o.setup.reaching.leave; leave != nil && !d.failed && !o.setup.reaching.mayShow(d.url, true) {
			leave() // no request told it, as when the person goes back to another site
			return
		}
		if !o.out.navigated(session.Navigated{Document: d.id, URL: d.url, Origin: d.origin}) {
			o.target.Fail(wire.ErrFlood)
			return
		}
		o.setup.reaching.came()
		o.awaiter.start(d)
	}
	if f.parent == nil || f.parent.doc != nil && f.parent.doc.policy == allowed {
		o.watcher.start(f)
	}
}

// attached takes a frame that became a target of its own, or a worker. It waits for us,
// so that it runs nothing before the page script is in it.
func (o *owner) attached(from *wire.Session, ev *cdptarget.EventAttachedToTarget) {
	child := from.Child(ev.SessionID)
	o.frames.targets[ev.SessionID] = child
	id := cdp.FrameID(ev.TargetInfo.TargetID)
	switch {
	case ev.TargetInfo.Type != frameType:
		child.Begin(o.setup.settings.worker())
	case o.frames.place(id, ev.TargetInfo.ParentFrameID) != nil:
		o.frames.roots[ev.SessionID] = id
		commands := o.setup.frame()
		if o.traffic.calls > 0 {
			commands = append(commands, o.traffic.enable())
		}
		child.Begin(commands)
		if !ev.WaitingForDebugger { // it was there before us, and reports no documents
			go o.survey(context.Background(), child, false)
		}
	default:
		child.Begin(o.setup.settings.frame()) // its tools are too many, its settings are not
	}
}

// tasks takes work from other goroutines to the owner of a page.
type tasks struct {
	queue chan task
	gone  <-chan struct{} // the page is
}

// task is work for the owner. It is done when the owner has handled so many events of
// the page: a reply of the next document must not be taken for one of this.
type task struct {
	after int64
	do    func()
}

// add hands over a task, and reports false when ctx ended or the page was gone first.
func (t tasks) add(ctx context.Context, after int64, do func()) bool {
	select {
	case t.queue <- task{after, do}:
		return true
	case <-t.gone:
	case <-ctx.Done():
	}
	return false
}

// ask waits until a task is done, and reports false when ctx ended or the page was gone first.
func (t tasks) ask(ctx context.Context, after int64, do func()) bool {
	done := make(chan struct{})
	t.add(ctx, after, func() { do(); close(done) })
	select {
	case <-done:
		return true
	case <-t.gone:
	case <-ctx.Done():
	}
	return false
}
