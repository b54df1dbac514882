package cdp

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// ourIDs is where the ids of our own commands start, so that a reply is ours
// also when it names no session: Chromium answers a command to a session that
// is gone without one. Protocol ids are 32 bits wide.
const ourIDs = 1 << 30

// browserQueue bounds what waits for chromedp to read it.
const browserQueue = 1024

// link is the connection to one browser. It is the Transport that chromedp's
// Browser reads; messages of our own sessions never reach chromedp.
type link struct {
	inner chromedp.Transport
	next  atomic.Int64

	browser chan *cdproto.Message // what chromedp reads
	turn    chan struct{}         // held by who writes
	lost    chan struct{}         // closed when the connection is gone
	once    sync.Once
	err     error // valid after lost is closed

	mu      sync.Mutex
	targets map[cdptarget.SessionID]*target
	openers map[cdptarget.ID]*target // pages whose windows are theirs
	waiters map[int64]waiter
}

type waiter struct {
	target *target
	reply  chan reply // buffered; closed without a message when the target is gone
}

// reply is the answer to a command.
type reply struct {
	*cdproto.Message
	// after is how many events of the target came before it: who looks at its
	// effect has to look at theirs first.
	after int64
	// text is what the page script answered, when it came by an event.
	text *string
}

var _ chromedp.Transport = (*link)(nil)

func newLink(inner chromedp.Transport) *link {
	l := &link{inner: inner, browser: make(chan *cdproto.Message, browserQueue), turn: make(chan struct{}, 1),
		lost: make(chan struct{}), targets: map[cdptarget.SessionID]*target{}, openers: map[cdptarget.ID]*target{}, waiters: map[int64]waiter{}}
	l.next.Store(ourIDs)
	go l.readAll()
	return l
}

// readAll is the one reader. It never waits for a page's owner.
func (l *link) readAll() {
	for {
		msg := new(cdproto.Message)
		if err := l.inner.Read(context.Background(), msg); err != nil {
			l.fail(err)
			return
		}
		if l.ours(msg) {
			continue
		}
		select {
		case l.browser <- msg:
		case <-l.lost:
			return
		}
	}
}

// ours routes what belongs to our sessions, and reports whether it did.
func (l *link) ours(msg *cdproto.Message) bool {
	switch {
	case msg.ID >= ourIDs:
		l.answer(msg)
	case msg.SessionID != "":
		l.mu.Lock()
		t := l.targets[msg.SessionID]
		l.mu.Unlock()
		switch {
		case t == nil: // of a page that was closed recently
		case isTooLong(msg):
			t.fail(errFlood)
		case msg.Method != "":
			t.deliver(msg)
		}
	case msg.Method == cdproto.EventTargetAttachedToTarget:
		return l.attached(msg)
	case msg.Method == cdproto.EventTargetDetachedFromTarget:
		l.detached(msg)
	case msg.ID == 0 && msg.Method == "":
		// A message that was too long and names nobody: nobody waits for it.
	default:
		return false
	}
	return true
}

// detached fails the session of a target that is gone.
func (l *link) detached(msg *cdproto.Message) {
	var ev cdptarget.EventDetachedFromTarget
	if jsonv2.Unmarshal(msg.Params, &ev, chromedp.DefaultUnmarshalOptions) != nil {
		return
	}
	l.mu.Lock()
	t := l.targets[ev.SessionID]
	l.mu.Unlock()
	switch {
	case t == nil:
	case t != t.page: // a window
		t.fromPage(msg)
	default:
		t.fail(errClosed)
	}
}

// adopt makes the windows that a page opens its own, until it is gone.
func (l *link) adopt(id cdptarget.ID, t *target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.openers[id] = t
}

// attached hears of a page that the browser attached us to by itself, which waits
// for us: one that a page opened goes to its opener, others may run. It reports
// whether that was so.
func (l *link) attached(msg *cdproto.Message) bool {
	var ev cdptarget.EventAttachedToTarget
	if jsonv2.Unmarshal(msg.Params, &ev, chromedp.DefaultUnmarshalOptions) != nil || ev.TargetInfo == nil || !ev.WaitingForDebugger {
		return false
	}
	l.mu.Lock()
	opener := l.openers[ev.TargetInfo.OpenerID]
	l.mu.Unlock()
	if opener != nil && opener.reason() == nil {
		opener.fromPage(msg)
		return true
	}
	go func() { // the reader never writes
		bounded, cancel := farewell()
		defer cancel()
		_ = l.write(bounded, &cdproto.Message{ID: l.next.Add(1), SessionID: ev.SessionID, Method: runtime.CommandRunIfWaitingForDebugger})
	}()
	return true
}

// answer gives a reply to who waits for it.
func (l *link) answer(msg *cdproto.Message) {
	l.mu.Lock()
	w, ok := l.waiters[msg.ID]
	if ok && !isTooLong(msg) {
		delete(l.waiters, msg.ID)
	}
	l.mu.Unlock()
	switch {
	case !ok:
	case isTooLong(msg):
		w.target.fail(errFlood)
	default:
		w.target.heard()
		w.reply <- reply{Message: msg, after: w.target.delivered}
	}
}

// forget gives up a reply that nobody waits for any more.
func (l *link) forget(id int64) {
	l.mu.Lock()
	delete(l.waiters, id)
	l.mu.Unlock()
}

func isTooLong(msg *cdproto.Message) bool { return msg.Error != nil && msg.Error.Code == tooLongCode }

// write sends a message, one at a time. Who waits for its turn gives up with
// ctx; a pipe that takes nothing for writePatience fails, and with it the link.
func (l *link) write(ctx context.Context, msg *cdproto.Message) error {
	select {
	case l.turn <- struct{}{}:
	case <-l.lost:
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := l.inner.Write(ctx, msg)
	<-l.turn
	if err != nil {
		l.fail(err)
	}
	return err
}

// fail ends the connection and everybody who waits on it.
func (l *link) fail(err error) {
	l.once.Do(func() {
		if err == nil {
			err = io.EOF
		}
		l.err = err
		close(l.lost)
		_ = l.inner.Close()
		l.mu.Lock()
		all := make([]*target, 0, len(l.targets))
		for _, t := range l.targets {
			all = append(all, t)
		}
		l.mu.Unlock()
		for _, t := range all {
			t.fail(errLost)
		}
	})
}

// Read gives chromedp what is the browser's own.
func (l *link) Read(ctx context.Context, msg *cdproto.Message) error {
	select {
	case m := <-l.browser:
		*msg = *m
		return nil
	case <-l.lost:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Write sends a command of chromedp.
func (l *link) Write(ctx context.Context, msg *cdproto.Message) error { return l.write(ctx, msg) }

// Close ends the connection.
func (l *link) Close() error {
	l.fail(errors.New("closed by us"))
	return nil
}
