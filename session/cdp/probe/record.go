package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// recorded are the events that say what a page says and asks for.
var recorded = map[cdproto.MethodType]bool{
	cdproto.EventTargetAttachedToTarget:   true,
	cdproto.EventTargetDetachedFromTarget: true,
	cdproto.EventNetworkRequestWillBeSent: true,
	cdproto.EventNetworkResponseReceived:  true,
	cdproto.EventNetworkLoadingFinished:   true,
	cdproto.EventNetworkLoadingFailed:     true,
	cdproto.EventRuntimeConsoleAPICalled:  true,
	cdproto.EventRuntimeExceptionThrown:   true,
	cdproto.EventLogEntryAdded:            true,
}

// Recording keeps what a page, its frames and its workers say and ask for. One goroutine reads the
// events; the page that floods it ends it.
type Recording struct {
	o       Options
	page    *wire.Session
	targets map[cdptarget.SessionID]*wire.Session // of the goroutine of read
	tracer  *tracer
	began   time.Time

	handled atomic.Int64 // events
	moved   bridge.Changes
	once    sync.Once
	done    chan struct{} // closed by Close
	over    chan struct{}
}

var _ session.Recording = (*Recording)(nil)

// Record attaches to a tab's page, and keeps what it says and asks for from now on.
func Record(ctx context.Context, o Options) (*Recording, error) {
	attached, err := cdp.Call(ctx, o.Browser, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: o.ID, Flatten: new(true)})
	if err != nil {
		return nil, fmt.Errorf("attaching to a page to record it: %w", err)
	}
	on := o.Conn.OpenFor(attached.SessionID, recorded)
	r := &Recording{o: o, page: on, targets: map[cdptarget.SessionID]*wire.Session{on.ID(): on},
		tracer: &tracer{flying: map[string]flying{}}, began: time.Now(), done: make(chan struct{}), over: make(chan struct{})}
	go r.read()
	if err := on.Apply(ctx, recording(true), func() error { return nil }); err != nil {
		r.Close()
		return nil, err
	}
	r.await(ctx, on.Delivered()) // the browser began with what was said before
	r.tracer.forget()
	return r, nil
}

// recording returns the commands that record a target. The browser keeps no bodies for us.
func recording(document bool) []wire.Command {
	all := []wire.Command{
		{Method: network.CommandEnable, Params: network.EnableParams{MaxTotalBufferSize: new(int64(1)),
			MaxResourceBufferSize: new(int64(1))}},
		{Method: runtime.CommandEnable},
		{Method: cdptarget.CommandSetAutoAttach,
			Params: wire.AutoAttach(frameType, "worker", "shared_worker", "service_worker")},
	}
	if document {
		all = append(all, wire.Command{Method: cdplog.CommandEnable})
	}
	return all
}

// read reads the events until the tab or the session is gone.
func (r *Recording) read() {
	defer func() {
		for _, t := range r.targets {
			t.Fail(wire.ErrClosed)
		}
		close(r.over)
		r.moved.Signal()
	}()
	for {
		select {
		case msg := <-r.page.Events():
			r.handle(msg)
			r.handled.Add(1)
			r.moved.Signal()
		case <-r.page.Gone():
			if errors.Is(r.page.Reason(), wire.ErrFlood) {
				r.tracer.cutOff()
			}
			return
		case <-r.o.Target.Gone():
			return
		case <-r.done:
			return
		}
	}
}

func (r *Recording) handle(msg *cdproto.Message) {
	from, known := r.targets[msg.SessionID]
	if !known {
		return
	}
	switch msg.Method {
	case cdproto.EventTargetAttachedToTarget:
		if ev, ok := wire.Decode[cdptarget.EventAttachedToTarget](msg); ok && ev.TargetInfo != nil {
			child := from.Child(ev.SessionID)
			r.targets[ev.SessionID] = child
			child.Begin(recording(ev.TargetInfo.Type == frameType))
		}
	case cdproto.EventTargetDetachedFromTarget:
		if ev, ok := wire.Decode[cdptarget.EventDetachedFromTarget](msg); ok && ev.SessionID != r.page.ID() {
			if t := r.targets[ev.SessionID]; t != nil {
				t.Fail(wire.ErrClosed)
				delete(r.targets, ev.SessionID)
			}
		}
	case cdproto.EventRuntimeConsoleAPICalled, cdproto.EventRuntimeExceptionThrown, cdproto.EventLogEntryAdded:
		if x, level, at, ok := saidIn(msg, true); ok && (from == r.page || !r.isOld(at)) {
			r.tracer.note(x, level, at)
		}
	default:
		r.tracer.request(msg)
	}
}

// Over implements session.Recording.
func (r *Recording) Over() <-chan struct{} { return r.over }

// isOld reports whether a frame or a worker said something before the recording began: the browser
// tells of that, too, when it is asked. Clocks of other machines may differ a little.
func (r *Recording) isOld(at runtime.Timestamp) bool {
	return saidAt(at).Before(r.began.Add(-time.Second))
}

// Traced implements session.Recording. It waits until what happened until now is kept.
func (r *Recording) Traced(ctx context.Context) *session.Traced {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if after, err := r.page.CallAfter(ctx, runtime.CommandGetIsolateID, nil, nil); err == nil {
		r.await(ctx, after)
	}
	return r.tracer.traced()
}

// await waits until so many events are kept.
func (r *Recording) await(ctx context.Context, after int64) {
	for {
		moved := r.moved.Next()
		if r.handled.Load() >= after {
			return
		}
		select {
		case <-moved:
		case <-r.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// farewellTime bounds how long a browser is waited for that is told to detach.
const farewellTime = time.Second

// Close implements session.Recording.
func (r *Recording) Close() {
	r.once.Do(func() {
		close(r.done)
		r.page.Fail(wire.ErrClosed)
		bounded, cancel := context.WithTimeout(context.Background(), farewellTime)
		defer cancel()
		_, _ = cdp.Call(bounded, r.o.Browser, cdptarget.DetachFromTarget, // one that is gone is detached
			cdptarget.DetachFromTargetParams{SessionID: r.page.ID()})
	})
	<-r.over
}

// saidIn reads what an event says, of the console or by the browser; without all, errors only.
func saidIn(msg *cdproto.Message, all bool) (x session.Said, level string, at runtime.Timestamp, ok bool) {
	level = "error"
	switch msg.Method {
	case cdproto.EventRuntimeConsoleAPICalled:
		ev, ok := wire.Decode[runtime.EventConsoleAPICalled](msg)
		if !ok {
			return x, "", 0, false
		}
		level, at = cmp.Or(levels[ev.Type], "log"), ev.Timestamp
		if level != "error" && !all {
			return x, "", 0, false
		}
		x = consoleSaid(&ev)
	case cdproto.EventRuntimeExceptionThrown:
		ev, ok := wire.Decode[runtime.EventExceptionThrown](msg)
		if !ok || ev.ExceptionDetails == nil {
			return x, "", 0, false
		}
		thrown := ev.ExceptionDetails
		at = ev.Timestamp
		x = session.Said{Kind: "exception", Text: exception(thrown), URL: thrown.URL,
			Line: int(thrown.LineNumber) + 1}
	default:
		ev, ok := wire.Decode[cdplog.EventEntryAdded](msg)
		if !ok || ev.Entry == nil || ev.Entry.Level != cdplog.EntryLevelError {
			return x, "", 0, false
		}
		x = session.Said{Kind: "browser", Text: ev.Entry.Text, URL: ev.Entry.URL,
			Line: int(ev.Entry.LineNumber)}
		at = ev.Entry.Timestamp
	}
	x.Text, x.URL = text.Short(x.Text, maxSaid), text.Short(x.URL, maxAddress)
	return x, level, at, true
}
