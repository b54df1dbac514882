package cdp

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

// wire is a browser that a test plays.
type wire struct {
	in     chan *cdproto.Message
	out    chan *cdproto.Message
	closed chan struct{}
}

func newWire() *wire {
	return &wire{in: make(chan *cdproto.Message), out: make(chan *cdproto.Message, 1000), closed: make(chan struct{})}
}

func (w *wire) Read(_ context.Context, msg *cdproto.Message) error {
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

func (w *wire) Write(_ context.Context, msg *cdproto.Message) error {
	select {
	case w.out <- msg:
		return nil
	case <-w.closed:
		return io.ErrClosedPipe
	}
}

func (w *wire) Close() error {
	close(w.closed)
	return nil
}

// say sends what the browser says.
func (w *wire) say(text string) {
	m := new(cdproto.Message)
	if err := jsonv2.Unmarshal([]byte(text), m); err != nil {
		panic(err)
	}
	w.in <- m
}

// called runs a command and gives its end on a channel.
func called(t *target, ctx context.Context) <-chan error { //nolint:revive // the target is the subject
	done := make(chan error, 1)
	go func() { done <- t.Call(ctx, "A.b", nil, nil) }()
	synctest.Wait()
	return done
}

func onLink(t *testing.T, f func(t *testing.T, w *wire, l *link)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		l := newLink(w)
		defer l.Close()
		f(t, w, l)
	})
}

func TestLinkReplies(t *testing.T) {
	t.Parallel()
	onLink(t, func(t *testing.T, w *wire, l *link) {
		a := l.open("A")
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
		if len(l.waiters) != 0 {
			t.Errorf("%d waiters are left", len(l.waiters))
		}
	})
}

func TestLinkForgetsWhoLeft(t *testing.T) {
	t.Parallel()
	onLink(t, func(t *testing.T, w *wire, l *link) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := called(l.open("A"), ctx)
		cause := errors.New("gone home")
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) || len(l.waiters) != 0 {
			t.Errorf("%v, %d waiters", err, len(l.waiters))
		}
		<-w.out
		if err := l.targets["A"].Call(ctx, "A.b", nil, nil); !errors.Is(err, cause) || len(w.out) != 0 {
			t.Errorf("who left before: %v, %d commands", err, len(w.out))
		}
	})
}

// TestLinkRoutes: only the browser's own messages reach chromedp.
func TestLinkRoutes(t *testing.T) {
	t.Parallel()
	onLink(t, func(t *testing.T, w *wire, l *link) {
		a := l.open("A")
		w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		w.say(`{"method":"Page.windowOpen","sessionId":"unknown"}`)
		w.say(`{"method":"Page.frameResized","sessionId":"A"}`) // nobody heeds it
		w.say(`{"method":"Target.targetCreated","params":{}}`)
		w.say(`{"id":3,"result":{}}`)
		w.say(`{}`)
		var m cdproto.Message
		for _, want := range []string{"Target.targetCreated", ""} {
			if err := l.Read(t.Context(), &m); err != nil || string(m.Method) != want {
				t.Errorf("chromedp reads %+v, %v", m, err)
			}
		}
		synctest.Wait()
		if len(l.browser) != 0 || len(a.events) != 1 || a.delivered != 1 {
			t.Errorf("%d messages for chromedp, %d for the page", len(l.browser), len(a.events))
		}
	})
}

func TestLinkEnds(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		say  string
		want error
		all  bool // the other page ends too
	}{
		"crash":           {`{"method":"Inspector.targetCrashed","sessionId":"A"}`, errCrashed, false},
		"detached":        {`{"method":"Target.detachedFromTarget","params":{"sessionId":"A"}}`, errClosed, false},
		"a long event":    {`{"error":{"code":-1,"message":"too long"},"sessionId":"A"}`, errFlood, false},
		"a long reply":    {fmt.Sprintf(`{"id":%d,"error":{"code":-1,"message":"too long"}}`, ourIDs+1), errFlood, false},
		"the end":         {"", errLost, true},
		"forged detached": {`{"method":"Target.detachedFromTarget","params":{"sessionId":"B"},"sessionId":"A"}`, nil, false},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onLink(t, func(t *testing.T, w *wire, l *link) {
				a, b := l.open("A"), l.open("B")
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
				if (b.reason() != nil) != end.all {
					t.Errorf("the other page: %v", b.reason())
				}
				if end.want != nil {
					if err := a.Call(t.Context(), "A.b", nil, nil); !errors.Is(err, end.want) {
						t.Errorf("a later command: %v", err)
					}
				}
				if end.all {
					if late := l.open("C"); late.reason() == nil {
						t.Error("a page of a lost browser lives")
					}
					if err := l.Read(t.Context(), new(cdproto.Message)); !errors.Is(err, io.EOF) {
						t.Errorf("chromedp reads %v", err)
					}
				}
			})
		})
	}
}

// TestLinkFlood: a page that nobody reads is closed when its queue is full; the
// reader never waits for it.
func TestLinkFlood(t *testing.T) {
	t.Parallel()
	onLink(t, func(t *testing.T, w *wire, l *link) {
		a, b := l.open("A"), l.open("B")
		for range eventQueue {
			w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		}
		synctest.Wait()
		if a.reason() != nil {
			t.Fatalf("it is closed early: %v", a.reason())
		}
		for range 100 {
			w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		}
		done := called(b, t.Context())
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"B"}`, (<-w.out).ID))
		if err := <-done; err != nil || !errors.Is(a.reason(), errFlood) {
			t.Errorf("the other page: %v; the flooding one: %v", err, a.reason())
		}
		if l.targets["A"] != nil {
			t.Error("its session is still known")
		}
	})
}

// TestLinkSlowBrowser: a browser that does not read holds up nobody beyond their
// deadline.
func TestLinkSlowBrowser(t *testing.T) {
	t.Parallel()
	onLink(t, func(t *testing.T, w *wire, l *link) {
		w.out = make(chan *cdproto.Message) // it never reads
		a := l.open("A")
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
		if len(l.waiters) > 1 { // one of them is being written
			t.Errorf("%d waiters are left", len(l.waiters))
		}
	})
}

// TestLinkRepliesKnowTheirPlace: a reply says how many events came before it.
func TestLinkRepliesKnowTheirPlace(t *testing.T) {
	t.Parallel()
	onLink(t, func(t *testing.T, w *wire, l *link) {
		a := l.open(cdptarget.SessionID("A"))
		ch, err := a.send(t.Context(), "A.b", nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		}
		w.say(fmt.Sprintf(`{"id":%d,"result":{},"sessionId":"A"}`, (<-w.out).ID))
		w.say(`{"method":"Page.windowOpen","sessionId":"A"}`)
		if r := <-ch; r.after != 3 {
			t.Errorf("it came after %d events", r.after)
		}
	})
}
