package wire

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// ourIDs says where the ids of our own commands start, so that a reply is ours
// also when it names no session: Chromium answers a command to a session that
// is gone without one. Protocol ids are 32 bits wide.
const ourIDs = 1 << 30

// browserQueue bounds what waits for chromedp to read it.
const browserQueue = 1024

// Conn is the connection to one browser. It is the Transport that chromedp's
// Browser reads; messages of our own sessions never reach chromedp. It is safe for
// concurrent use.
type Conn struct {
	inner  chromedp.Transport
	wanted map[cdproto.MethodType]bool // events that sessions deliver
	next   atomic.Int64

	browser chan *cdproto.Message // what chromedp reads
	turn    chan struct{}         // held by the goroutine that writes
	lost    chan struct{}         // closed when the connection is gone
	once    sync.Once
	err     error // valid after lost is closed

	mu       sync.Mutex
	sessions map[cdptarget.SessionID]*Session
	openers  map[cdptarget.ID]*Session // pages whose windows are theirs
	waiters  map[int64]waiter
}

type waiter struct {
	session *Session
	reply   chan Reply // buffered; closed without a message when the session ends
}

// Reply is the answer to a command.
type Reply struct {
	*cdproto.Message
	// After says how many events of the page came before it: a reader of its effect
	// has to read them first.
	After int64
}

var _ chromedp.Transport = (*Conn)(nil)

// forget gives up a reply that nobody waits for any more.
func (c *Conn) forget(id int64) {
	c.mu.Lock()
	delete(c.waiters, id)
	c.mu.Unlock()
}

// write sends a message, one at a time. A caller that waits for its turn gives up
// with ctx; a pipe that takes nothing for writePatience fails, and with it the
// connection.
func (c *Conn) write(ctx context.Context, msg *cdproto.Message) error {
	select {
	case c.turn <- struct{}{}:
	case <-c.lost:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := c.inner.Write(ctx, msg)
	<-c.turn
	if err != nil {
		c.fail(err)
	}
	return err
}

// fail ends the connection and everybody who waits on it.
func (c *Conn) fail(err error) {
	c.once.Do(func() {
		if err == nil {
			err = io.EOF
		}
		c.err = err
		close(c.lost)
		_ = c.inner.Close()
		c.mu.Lock()
		all := slices.Collect(maps.Values(c.sessions))
		c.mu.Unlock()
		for _, s := range all {
			s.Fail(ErrLost)
		}
	})
}

// Read returns to chromedp what is the browser's own.
func (c *Conn) Read(ctx context.Context, msg *cdproto.Message) error {
	select {
	case m := <-c.browser:
		*msg = *m
		return nil
	case <-c.lost:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Write sends a command of chromedp.
func (c *Conn) Write(ctx context.Context, msg *cdproto.Message) error { return c.write(ctx, msg) }

// Lost is closed when the connection is gone.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Close ends the connection.
func (c *Conn) Close() error {
	c.fail(errors.New("closed by us"))
	return nil
}
