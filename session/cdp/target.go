package cdp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Why a target is gone.
var (
	errLost    = errors.New("the browser is lost")
	errCrashed = errors.New("the renderer crashed")
	errClosed  = errors.New("the target was closed")
	errFlood   = errors.New("the page floods its channel")
	errKilled  = errors.New("the page did not give in to a deadline")
	errOurs    = errors.New("closed by us")
)

// eventQueue bounds the events of one page that wait for its owner. A page that
// fills it is closed.
const eventQueue = 2048

// fromPage makes an event that the browser told nobody in particular one of the
// page's.
func (t *target) fromPage(msg *cdproto.Message) {
	own := *msg
	own.SessionID = t.page.session
	t.page.deliver(&own)
}

// inbox is where the events of one page wait: those of its own target and of the
// frames that are targets of their own, in one order.
type inbox struct {
	events chan *cdproto.Message
	// delivered counts what went into events; only the link's reader uses it.
	delivered int64
}

// target is our session on one page, or on a frame of it that is a target of its
// own. It implements cdp.Session.
type target struct {
	*inbox
	link    *link
	session cdptarget.SessionID
	page    *target // the page that a frame belongs to; a page is its own
	gone    chan struct{}
	last    atomic.Int64 // when a reply was heard, in nanoseconds of start
	called  atomic.Bool  // there was a call

	mu  sync.Mutex
	err error // why gone is closed
}

var _ cdp.Session = (*target)(nil)

// start is the beginning of the monotonic clock of heard.
var start = time.Now()

// open registers a session on a page.
func (l *link) open(id cdptarget.SessionID) *target {
	t := &target{link: l, session: id, inbox: &inbox{events: make(chan *cdproto.Message, eventQueue)}, gone: make(chan struct{})}
	t.page = t
	return l.register(id, t)
}

// openFrame registers a session on a frame of a page. Its events wait with those
// of the page.
func (l *link) openFrame(id cdptarget.SessionID, of *target) *target {
	return l.register(id, &target{link: l, session: id, inbox: of.inbox, page: of.page, gone: make(chan struct{})})
}

func (l *link) register(id cdptarget.SessionID, t *target) *target {
	t.heard()
	l.mu.Lock()
	l.targets[id] = t
	l.mu.Unlock()
	select {
	case <-l.lost:
		t.fail(errLost)
	default:
	}
	return t
}

func (t *target) heard() { t.last.Store(int64(time.Since(start))) }

// silent is how long ago the page's last reply was.
func (t *target) silent() time.Duration { return time.Since(start) - time.Duration(t.last.Load()) }

// deliver queues an event for the page's owner, and never waits.
func (t *target) deliver(msg *cdproto.Message) {
	if msg.Method == cdproto.EventInspectorTargetCrashed {
		t.fail(errCrashed)
		if t == t.page {
			return
		}
	}
	if !heeded[msg.Method] {
		return
	}
	select {
	case t.events <- msg:
		t.delivered++
	default:
		t.page.fail(errFlood)
	}
}

// fail ends the session and every command that waits on it. The first reason
// counts.
func (t *target) fail(err error) {
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		return
	}
	t.err = err
	close(t.gone)
	t.mu.Unlock()
	l := t.link
	l.mu.Lock()
	delete(l.targets, t.session)
	maps.DeleteFunc(l.openers, func(_ cdptarget.ID, of *target) bool { return of == t })
	for id, w := range l.waiters {
		if w.target == t {
			delete(l.waiters, id)
			close(w.reply)
		}
	}
	l.mu.Unlock()
}

// reason is why the target is gone; nil while it is not.
func (t *target) reason() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// send dispatches a command; its reply comes on the channel. The waiter is
// registered before the command is sent. With an error nothing was sent.
func (t *target) send(ctx context.Context, method string, params any) (<-chan reply, error) {
	_, ch, err := t.dispatch(ctx, method, params)
	return ch, err
}

func (t *target) dispatch(ctx context.Context, method string, params any) (int64, <-chan reply, error) {
	if ctx.Err() != nil {
		return 0, nil, context.Cause(ctx)
	}
	var raw jsonv2.Value
	if params != nil {
		b, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
		if err != nil {
			return 0, nil, fmt.Errorf("encoding %s: %w", method, err)
		}
		raw = b
	}
	l := t.link
	id := l.next.Add(1)
	w := waiter{target: t, reply: make(chan reply, 1)}
	l.mu.Lock()
	if t.reason() != nil {
		l.mu.Unlock()
		return 0, nil, t.reason()
	}
	l.waiters[id] = w
	l.mu.Unlock()
	msg := &cdproto.Message{ID: id, SessionID: t.session, Method: cdproto.MethodType(method), Params: raw}
	if err := l.write(ctx, msg); err != nil {
		l.forget(id)
		if reason := t.reason(); reason != nil {
			return 0, nil, reason
		}
		return 0, nil, err
	}
	return id, w.reply, nil
}

// Call sends a command, waits for its reply and decodes it into res, which may
// be nil. A page that dies fails it at once.
func (t *target) Call(ctx context.Context, method string, params, res any) error {
	_, err := t.call(ctx, method, params, res)
	return err
}

// call is Call, and tells how many events came before the reply.
func (t *target) call(ctx context.Context, method string, params, res any) (after int64, err error) {
	id, ch, err := t.dispatch(ctx, method, params)
	if err != nil {
		return 0, err
	}
	select {
	case r, ok := <-ch:
		switch {
		case !ok:
			return 0, t.reason()
		case r.Error != nil:
			return r.after, r.Error
		case res == nil:
			return r.after, nil
		}
		return r.after, jsonv2.Unmarshal(r.Result, res, chromedp.DefaultUnmarshalOptions)
	case <-ctx.Done():
		t.link.forget(id)
		return 0, context.Cause(ctx)
	}
}

// Subscribe is not offered: the tab's owner reads all events from one queue, in
// order. The channel that it gives is closed.
func (t *target) Subscribe(string) (<-chan jsonv2.Value, func()) {
	ch := make(chan jsonv2.Value)
	close(ch)
	return ch, func() {}
}
