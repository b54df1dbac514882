package cdp

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// nobody takes what is written and keeps nothing.
type nobody struct{ io.Writer }

func (nobody) Close() error { return nil }

// onConn runs a test with a session on a browser that the test plays: say sends
// what the browser says, and nobody reads what it hears.
func onConn(t *testing.T, f func(t *testing.T, say func(string), a *wire.Session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := wire.New(wire.NewPipe(r, nobody{io.Discard}), wanted)
		defer c.Close()
		f(t, func(text string) { _, _ = io.WriteString(w, text+"\x00") }, c.Open("A"))
	})
}

// TestStateOfTheNextDocument: a state that came after a navigation is not reported as
// one of the document before, though the navigation still waits in the queue.
func TestStateOfTheNextDocument(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, say func(string), a *wire.Session) {
		p := newTab(&instance{tabs: map[*tab]bool{}}, place{target: a, id: "F"}, shim.NewName(), session.TabOptions{}, nil)
		s := p.owner
		before := s.frames.top.doc
		before.id, before.origin = "one", "https://trusted.test"
		say(`{"method":"Page.frameNavigated","params":{"frame":{"id":"F","loaderId":"two","url":"https://other.test/","securityOrigin":"https://other.test"},"type":"Navigation"},"sessionId":"A"}`)
		say(`{"method":"Page.loadEventFired","params":{"timestamp":1},"sessionId":"A"}`)
		synctest.Wait()
		state := &shim.State{Revision: 5, Tools: []shim.Tool{{ID: 1, Name: "pay"}}}
		s.perform(task{after: 2, do: func() { s.watcher.changed(before, state) }})
		for _, ev := range s.out.queue {
			if c, ok := ev.(session.ToolsChanged); ok {
				t.Errorf("told as of %s: %+v", c.Document, c.Tools)
			}
		}
		if d := p.shown.top.Load(); d.id != "two" || d.origin != "https://other.test" || len(s.watcher.follow) != 1 || s.frames.handled != 2 {
			t.Errorf("the document is %s of %s, %d events were handled", d.id, d.origin, s.frames.handled)
		}
		// Without the count of events the same state is reported: the control.
		p.shown.top.Store(before)
		s.perform(task{do: func() { s.watcher.changed(before, state) }})
		if _, reported := s.out.queue[len(s.out.queue)-1].(session.ToolsChanged); !reported {
			t.Error("the control reports nothing")
		}
		s.frames.end(errOurs)
	})
}

// TestQueueOfATab: what nobody reads does not grow without end.
func TestQueueOfATab(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, say func(string), a *wire.Session) {
		s := newTab(&instance{tabs: map[*tab]bool{}}, place{target: a, id: "F"}, shim.NewName(), session.TabOptions{}, nil).owner
		for i := range 1000 {
			s.out.emit(session.ToolsChanged{Revision: int64(i)})
		}
		if len(s.out.queue) != 1 {
			t.Errorf("%d changes of one document wait", len(s.out.queue))
		}
		for range 1000 {
			s.out.emit(session.DialogShown{})
			s.out.emit(session.WindowClosed{})
		}
		if len(s.out.queue) > maxQueue {
			t.Errorf("%d events wait", len(s.out.queue))
		}
		for range 1000 {
			say(`{"method":"Page.frameNavigated","params":{"frame":{"id":"F","loaderId":"x","url":"https://other.test/"},"type":"Navigation"},"sessionId":"A"}`)
			synctest.Wait()
			select {
			case msg := <-a.Events():
				s.handle(msg)
			case <-a.Gone():
			}
		}
		if a.Reason() == nil || len(s.out.queue) > maxQueue {
			t.Errorf("after a thousand documents that nobody read %d events wait, and the page is %v", len(s.out.queue), a.Reason())
		}
		s.frames.end(errOurs)
	})
}
