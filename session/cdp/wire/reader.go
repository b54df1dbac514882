package wire

import (
	"context"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// runPatience bounds the command that lets a target run.
const runPatience = 3 * time.Second

// New makes a connection over a transport. Its sessions deliver only the wanted
// events.
func New(inner chromedp.Transport, wanted map[cdproto.MethodType]bool) *Conn {
	c := &Conn{
		inner: inner, wanted: wanted,
		browser:  make(chan *cdproto.Message, browserQueue),
		turn:     make(chan struct{}, 1),
		lost:     make(chan struct{}),
		sessions: map[cdptarget.SessionID]*Session{},
		openers:  map[cdptarget.ID]*Session{},
		waiters:  map[int64]waiter{},
	}
	c.next.Store(ourIDs)
	go c.readAll()
	return c
}

// readAll alone reads the connection. It never waits for a page's owner.
func (c *Conn) readAll() {
	for {
		msg := new(cdproto.Message)
		if err := c.inner.Read(context.Background(), msg); err != nil {
			c.fail(err)
			return
		}
		if c.ours(msg) {
			continue
		}
		select {
		case c.browser <- msg:
		case <-c.lost:
			return
		}
	}
}

// ours routes what belongs to our sessions, and reports whether it did.
func (c *Conn) ours(msg *cdproto.Message) bool {
	switch {
	case msg.ID >= ourIDs:
		c.answer(msg)
	case msg.SessionID != "":
		c.mu.Lock()
		s := c.sessions[msg.SessionID]
		c.mu.Unlock()
		switch {
		case s == nil: // of a page that was closed recently
		case isTooLong(msg):
			s.Fail(ErrFlood)
		case msg.Method != "":
			s.deliver(msg)
		}
	case msg.Method == cdproto.EventTargetAttachedToTarget:
		return c.attached(msg)
	case msg.Method == cdproto.EventTargetDetachedFromTarget:
		c.detached(msg)
	case msg.ID == 0 && msg.Method == "":
		// A message that was too long and names nobody: nobody waits for it.
	default:
		return false
	}
	return true
}

// detached ends the session of a target that is gone.
func (c *Conn) detached(msg *cdproto.Message) {
	ev, ok := Decode[cdptarget.EventDetachedFromTarget](msg)
	if !ok {
		return
	}
	c.mu.Lock()
	s := c.sessions[ev.SessionID]
	c.mu.Unlock()
	switch {
	case s == nil:
	case s != s.page: // a window
		s.fromPage(msg)
	default:
		s.Fail(ErrClosed)
	}
}

// Adopt makes the windows that a page opens its own, until its session ends: the
// events of their targets are delivered to it.
func (c *Conn) Adopt(id cdptarget.ID, s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.openers[id] = s
}

// attached takes a page that the browser attached us to by itself, which waits
// for us: one that a page opened goes to its opener, others may run. It reports
// whether that was so.
func (c *Conn) attached(msg *cdproto.Message) bool {
	ev, ok := Decode[cdptarget.EventAttachedToTarget](msg)
	if !ok || ev.TargetInfo == nil || !ev.WaitingForDebugger {
		return false
	}
	c.mu.Lock()
	opener := c.openers[ev.TargetInfo.OpenerID]
	c.mu.Unlock()
	if opener != nil && opener.Reason() == nil {
		opener.fromPage(msg)
		return true
	}
	go func() { // the reader never writes
		bounded, cancel := context.WithTimeout(context.Background(), runPatience)
		defer cancel()
		_ = c.write(bounded, &cdproto.Message{
			ID: c.next.Add(1), SessionID: ev.SessionID, Method: runtime.CommandRunIfWaitingForDebugger,
		})
	}()
	return true
}

// answer passes a reply to its waiter.
func (c *Conn) answer(msg *cdproto.Message) {
	c.mu.Lock()
	w, ok := c.waiters[msg.ID]
	if ok && !isTooLong(msg) {
		delete(c.waiters, msg.ID)
	}
	c.mu.Unlock()
	switch {
	case !ok:
	case isTooLong(msg):
		w.session.Fail(ErrFlood)
	default:
		w.session.heard()
		w.reply <- Reply{Message: msg, After: w.session.delivered.Load()}
	}
}

func isTooLong(msg *cdproto.Message) bool { return msg.Error != nil && msg.Error.Code == tooLongCode }
