package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	cdptarget "github.com/chromedp/cdproto/target"
)

// browser is one that a test plays.
type browser struct {
	in     chan *cdproto.Message
	out    chan *cdproto.Message
	closed chan struct{}
}

func newBrowser() *browser {
	return &browser{in: make(chan *cdproto.Message), out: make(chan *cdproto.Message, 1000), closed: make(chan struct{})}
}

func (w *browser) Read(_ context.Context, msg *cdproto.Message) error {
	select {
	case m, ok := <-w.in:
		if !ok {
			return io.EOF
		}
		*msg = *m
		return nil
	case <-w.closed:
		return io.ErrClosedPipe
	}
}

func (w *browser) Write(_ context.Context, msg *cdproto.Message) error {
	select {
	case w.out <- msg:
		return nil
	case <-w.closed:
		return io.ErrClosedPipe
	}
}

func (w *browser) Close() error {
	close(w.closed)
	return nil
}

// say sends what the browser says.
func (w *browser) say(text string) {
	m := new(cdproto.Message)
	if err := jsonv2.Unmarshal([]byte(text), m); err != nil {
		panic(err)
	}
	w.in <- m
}

// called runs a command and returns its end on a channel.
func called(s *Session, ctx context.Context) <-chan error { //nolint:revive // the session is the subject
	done := make(chan error, 1)
	go func() { done <- s.Call(ctx, "A.b", nil, nil) }()
	synctest.Wait()
	return done
}

// wanted are the events that the tests' sessions deliver.
var wanted = map[cdproto.MethodType]bool{"Page.windowOpen": true, "Inspector.targetCrashed": true, "Target.detachedFromTarget": true}

func onConn(t *testing.T, f func(t *testing.T, w *browser, c *Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newBrowser()
		c := New(w, wanted)
		defer c.Close()
		f(t, w, c)
	})
}

func TestConnReplies(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, w *browser, c *Conn) {
		a := c.Open("A")
		first, second := called(a, t.Context()), called(a, t.Context())
		x, y := <-w.out, <-w.out
		if x.SessionID != "A" || x.ID < ourIDs || x.ID == y.ID {
			t.Fatalf("it sent %+v and %+v", x, y)
		}
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"A"}`, ourIDs+9999)) // nobody waits for it
		w.say(fmt.Sprintf(`{"id":%d,"error":{"code":-32001,"message":"no such session"}}`, y.ID))
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"A"}`, x.ID))
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"A"}`, x.ID)) // twice
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-second; err == nil || err.Error() != "no such session (-32001)" {
			t.Errorf("a reply without a session: %v", err)
		}
		if len(c.waiters) != 0 {
			t.Errorf("%d waiters are left", len(c.waiters))
		}
	})
}

func TestConnForgetsWhoLeft(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, w *browser, c *Conn) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := called(c.Open("A"), ctx)
		cause := errors.New("gone home")
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) || len(c.waiters) != 0 {
			t.Errorf("%v, %d waiters", err, len(c.waiters))
		}
		<-w.out
		if err := c.sessions["A"].Call(ctx, "A.b", nil, nil); !errors.Is(err, cause) || len(w.out) != 0 {
			t.Errorf("who left before: %v, %d commands", err, len(w.out))
		}
	})
}

// TestConnRoutes: only the browser's own messages reach chromedp.
func TestConnRoutes(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, w *browser, c *Conn) {
		a := c.Open("A")
		w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		w.say(`{"method":"Page.windowOpen","sessionId":"unknown"}`)
		w.say(`{"method":"Page.frameResized","sessionId":"A"}`) // nobody wants it
		w.say(`{"method":"Target.targetCreated","params":{}}`)
		w.say(`{"id":3,"result":{}}`)
		w.say(`{}`)
		var m cdproto.Message
		for _, want := range []string{"Target.targetCreated", ""} {
			if err := c.Read(t.Context(), &m); err != nil || string(m.Method) != want {
				t.Errorf("chromedp reads %+v, %v", m, err)
			}
		}
		synctest.Wait()
		if len(c.browser) != 0 || len(a.events) != 1 || a.Delivered() != 1 {
			t.Errorf("%d messages for chromedp, %d for the page", len(c.browser), len(a.events))
		}
	})
}

func TestConnEnds(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		say  string
		want error
		all  bool // the other page ends too
	}{
		"crash":           {`{"method":"Inspector.targetCrashed","sessionId":"A"}`, ErrCrashed, false},
		"detached":        {`{"method":"Target.detachedFromTarget","params":{"sessionId":"A"}}`, ErrClosed, false},
		"a long event":    {`{"error":{"code":-1,"message":"too long"},"sessionId":"A"}`, ErrFlood, false},
		"a long reply":    {fmt.Sprintf(`{"id":%d,"error":{"code":-1,"message":"too long"}}`, ourIDs+1), ErrFlood, false},
		"the end":         {"", ErrLost, true},
		"forged detached": {`{"method":"Target.detachedFromTarget","params":{"sessionId":"B"},"sessionId":"A"}`, nil, false},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onConn(t, func(t *testing.T, w *browser, c *Conn) {
				a, b := c.Open("A"), c.Open("B")
				done := called(a, t.Context())
				if end.say == "" {
					close(w.in)
				} else {
					w.say(end.say)
				}
				synctest.Wait()
				select {
				case err := <-done:
					if !errors.Is(err, end.want) {
						t.Errorf("the call ended with %v", err)
					}
				default:
					if end.want != nil {
						t.Error("the call goes on")
					}
				}
				if (b.Reason() != nil) != end.all {
					t.Errorf("the other page: %v", b.Reason())
				}
				if end.want != nil {
					if err := a.Call(t.Context(), "A.b", nil, nil); !errors.Is(err, end.want) {
						t.Errorf("a later command: %v", err)
					}
				}
				if end.all {
					if late := c.Open("C"); late.Reason() == nil {
						t.Error("a page of a lost browser lives")
					}
					if err := c.Read(t.Context(), new(cdproto.Message)); !errors.Is(err, io.EOF) {
						t.Errorf("chromedp reads %v", err)
					}
				}
			})
		})
	}
}

// TestConnFlood: a page that nobody reads is closed when its queue is full; the
// reader never waits for it.
func TestConnFlood(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, w *browser, c *Conn) {
		a, b := c.Open("A"), c.Open("B")
		for range eventQueue {
			w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		}
		synctest.Wait()
		if a.Reason() != nil {
			t.Fatalf("it is closed early: %v", a.Reason())
		}
		for range 100 {
			w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		}
		done := called(b, t.Context())
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"B"}`, (<-w.out).ID))
		if err := <-done; err != nil || !errors.Is(a.Reason(), ErrFlood) {
			t.Errorf("the other page: %v; the flooding one: %v", err, a.Reason())
		}
		if c.sessions["A"] != nil {
			t.Error("its session is still known")
		}
	})
}

// TestConnSlowBrowser: a browser that does not read holds up nobody beyond their
// deadline.
func TestConnSlowBrowser(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, w *browser, c *Conn) {
		w.out = make(chan *cdproto.Message) // it never reads
		a := c.Open("A")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 100 {
			go func() { _ = a.Call(ctx, "A.b", nil, nil) }()
		}
		synctest.Wait() // one of them writes, and waits for writePatience in a real pipe
		began := time.Now()
		err := a.Call(ctx, "A.b", nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		synctest.Wait()
		if len(c.waiters) > 1 { // one of them is being written
			t.Errorf("%d waiters are left", len(c.waiters))
		}
	})
}

// TestConnRepliesKnowTheirPlace: a reply says how many events came before it.
func TestConnRepliesKnowTheirPlace(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, w *browser, c *Conn) {
		a := c.Open(cdptarget.SessionID("A"))
		ch, err := a.Send(t.Context(), "A.b", nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		}
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"A"}`, (<-w.out).ID))
		w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		if r := <-ch; r.After != 3 {
			t.Errorf("it came after %d events", r.After)
		}
	})
}
