package wire

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

// Why a session ended. Callers of Fail may have reasons of their own.
var (
	ErrLost    = errors.New("the browser is lost")
	ErrCrashed = errors.New("the renderer crashed")
	ErrClosed  = errors.New("the target was closed")
	ErrFlood   = errors.New("the page floods its channel")
)

// eventQueue bounds the events of one page that wait for its owner. A page that
// fills it is closed.
const eventQueue = 2048

// inbox holds the events of one page: those of its own target and of the
// frames that are targets of their own, in one order.
type inbox struct {
	wanted map[cdproto.MethodType]bool // the others are dropped
	events chan *cdproto.Message
	// delivered counts what went into events; only the connection's reader changes it.
	delivered atomic.Int64
}

// Session is a CDP session of ours on a page, or on a frame, worker or window of it
// that is a target of its own. It implements cdp.Session, and is safe for
// concurrent use.
type Session struct {
	*inbox
	conn  *Conn
	id    cdptarget.SessionID
	page  *Session // the page that a frame belongs to; a page is its own
	gone  chan struct{}
	last  atomic.Int64 // when a reply was heard, in nanoseconds of start
	asked atomic.Bool  // Lively was

	mu  sync.Mutex
	err error // why gone is closed
}

var _ cdp.Session = (*Session)(nil)

// start is the beginning of the monotonic clock of heard.
var start = time.Now()

// Open registers a session on a page.
func (c *Conn) Open(id cdptarget.SessionID) *Session { return c.OpenFor(id, c.wanted) }

// OpenFor is Open for a session that delivers other events than those of the connection.
func (c *Conn) OpenFor(id cdptarget.SessionID, wanted map[cdproto.MethodType]bool) *Session {
	s := &Session{
		conn: c, id: id, gone: make(chan struct{}),
		inbox: &inbox{wanted: wanted, events: make(chan *cdproto.Message, eventQueue)},
	}
	s.page = s
	return c.register(id, s)
}

// Child registers a session on a target that belongs to the page. Its events wait
// with those of the page.
func (s *Session) Child(id cdptarget.SessionID) *Session {
	return s.conn.register(id,
		&Session{conn: s.conn, id: id, inbox: s.inbox, page: s.page, gone: make(chan struct{})})
}

func (c *Conn) register(id cdptarget.SessionID, s *Session) *Session {
	s.heard()
	c.mu.Lock()
	c.sessions[id] = s
	c.mu.Unlock()
	select {
	case <-c.lost:
		s.Fail(ErrLost)
	default:
	}
	return s
}

// ID is the session's id.
func (s *Session) ID() cdptarget.SessionID { return s.id }

// Page is the session on the page that the target belongs to; a page's is its own.
func (s *Session) Page() *Session { return s.page }

// Events are the events of the page, in order, for one reader: its owner.
func (s *Session) Events() <-chan *cdproto.Message { return s.events }

// Delivered returns how many events of the page came so far.
func (s *Session) Delivered() int64 { return s.delivered.Load() }

// Gone is closed when the session has ended.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// fromPage makes an event that the browser addressed to nobody one of the page's.
func (s *Session) fromPage(msg *cdproto.Message) {
	own := *msg
	own.SessionID = s.page.id
	s.page.deliver(&own)
}

func (s *Session) heard() { s.last.Store(int64(time.Since(start))) }

// Lively reports whether a reply came within the time. The first time it reports
// false: the commands that prepared the target say nothing about its scripts.
func (s *Session) Lively(within time.Duration) bool {
	silent := time.Since(start) - time.Duration(s.last.Load())
	return s.asked.Swap(true) && silent < within
}

// deliver queues an event for the page's owner, and never waits.
func (s *Session) deliver(msg *cdproto.Message) {
	if msg.Method == cdproto.EventInspectorTargetCrashed {
		s.Fail(ErrCrashed)
		if s == s.page {
			return
		}
	}
	if !s.wanted[msg.Method] {
		return
	}
	select {
	case s.events <- msg:
		s.delivered.Add(1)
	default:
		s.page.Fail(ErrFlood)
	}
}

// Fail ends the session and every command that waits on it. The first reason
// counts.
func (s *Session) Fail(err error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	close(s.gone)
	s.mu.Unlock()
	c := s.conn
	c.mu.Lock()
	delete(c.sessions, s.id)
	maps.DeleteFunc(c.openers, func(_ cdptarget.ID, of *Session) bool { return of == s })
	for id, w := range c.waiters {
		if w.session == s {
			delete(c.waiters, id)
			close(w.reply)
		}
	}
	c.mu.Unlock()
}

// Reason returns why the session ended; nil while it goes on.
func (s *Session) Reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Send dispatches a command; its reply comes on the channel. The waiter is
// registered before the command is sent. With an error nothing was sent.
func (s *Session) Send(ctx context.Context, method string, params any) (<-chan Reply, error) {
	_, ch, err := s.dispatch(ctx, method, params)
	return ch, err
}

// Await is Send for a reply that may never come; forget gives it up.
func (s *Session) Await(ctx context.Context, method string,
	params any) (reply <-chan Reply, forget func(), err error) {
	id, ch, err := s.dispatch(ctx, method, params)
	return ch, func() { s.conn.forget(id) }, err
}

func (s *Session) dispatch(ctx context.Context, method string,
	params any) (int64, <-chan Reply, error) {
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
	c := s.conn
	id := c.next.Add(1)
	w := waiter{session: s, reply: make(chan Reply, 1)}
	c.mu.Lock()
	if s.Reason() != nil {
		c.mu.Unlock()
		return 0, nil, s.Reason()
	}
	c.waiters[id] = w
	c.mu.Unlock()
	msg := &cdproto.Message{ID: id, SessionID: s.id, Method: cdproto.MethodType(method),
		Params: raw}
	if err := c.write(ctx, msg); err != nil {
		c.forget(id)
		if reason := s.Reason(); reason != nil {
			return 0, nil, reason
		}
		return 0, nil, err
	}
	return id, w.reply, nil
}

// Call sends a command, waits for its reply and decodes it into res, which may
// be nil. A page that dies fails it at once.
func (s *Session) Call(ctx context.Context, method string, params, res any) error {
	_, err := s.CallAfter(ctx, method, params, res)
	return err
}

// CallAfter is Call, and returns how many events of the page came before the reply.
func (s *Session) CallAfter(ctx context.Context, method string, params,
	res any) (after int64, err error) {
	id, ch, err := s.dispatch(ctx, method, params)
	if err != nil {
		return 0, err
	}
	select {
	case r, ok := <-ch:
		switch {
		case !ok:
			return 0, s.Reason()
		case r.Error != nil:
			return r.After, r.Error
		case res == nil:
			return r.After, nil
		}
		return r.After, jsonv2.Unmarshal(r.Result, res, chromedp.DefaultUnmarshalOptions)
	case <-ctx.Done():
		s.conn.forget(id)
		return 0, context.Cause(ctx)
	}
}

// Subscribe is not offered: the tab's owner reads all events from one queue, in
// order. The returned channel is closed.
func (s *Session) Subscribe(string) (<-chan jsonv2.Value, func()) {
	ch := make(chan jsonv2.Value)
	close(ch)
	return ch, func() {}
}
