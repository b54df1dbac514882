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

// TestStateOfTheNextDocument: a state that came after a navigation is not told as
// one of the document before, though the navigation still waits in the queue.
func TestStateOfTheNextDocument(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, say func(string), a *wire.Session) {
		p := &tab{target: a, id: "F", name: shim.NewName(), states: make(chan pushed), swept: make(chan swept), events: make(chan session.Event)}
		before := &document{id: "one", target: a, origin: "https://trusted.test"}
		p.doc.Store(before)
		s := p.newOwnerState()
		say(`{"method":"Page.frameNavigated","params":{"frame":{"id":"F","loaderId":"two","url":"https://other.test/","securityOrigin":"https://other.test"},"type":"Navigation"},"sessionId":"A"}`)
		say(`{"method":"Page.loadEventFired","params":{"timestamp":1},"sessionId":"A"}`)
		synctest.Wait()
		state := &shim.State{Revision: 5, Tools: []shim.Tool{{ID: 1, Name: "pay"}}}
		p.changed(s, pushed{doc: before, state: state, after: 2})
		for _, ev := range s.queue {
			if c, ok := ev.(session.ToolsChanged); ok {
				t.Errorf("told as of %s: %+v", c.Document, c.Tools)
			}
		}
		if d := p.doc.Load(); d.id != "two" || d.origin != "https://other.test" || !s.loading || s.handled != 2 {
			t.Errorf("the document is %s of %s, %d events were handled", d.id, d.origin, s.handled)
		}
		// Without the count of events the same state is told: the control.
		p.doc.Store(before)
		p.changed(s, pushed{doc: before, state: state})
		if _, told := s.queue[len(s.queue)-1].(session.ToolsChanged); !told {
			t.Error("the control tells nothing")
		}
		s.end(errOurs)
	})
}

// TestQueueOfATab: what nobody reads does not grow without end.
func TestQueueOfATab(t *testing.T) {
	t.Parallel()
	onConn(t, func(t *testing.T, say func(string), a *wire.Session) {
		p := &tab{target: a, id: "F", name: shim.NewName()}
		p.doc.Store(&document{target: a})
		s := p.newOwnerState()
		for i := range 1000 {
			s.emit(session.ToolsChanged{Revision: int64(i)})
		}
		if len(s.queue) != 1 {
			t.Errorf("%d changes of one document wait", len(s.queue))
		}
		for range 1000 {
			s.emit(session.DialogShown{})
			s.emit(session.WindowClosed{})
		}
		if len(s.queue) > maxQueue {
			t.Errorf("%d events wait", len(s.queue))
		}
		for range 1000 {
			say(`{"method":"Page.frameNavigated","params":{"frame":{"id":"F","loaderId":"x","url":"https://other.test/"},"type":"Navigation"},"sessionId":"A"}`)
			synctest.Wait()
			select {
			case msg := <-a.Events():
				p.handle(s, msg)
			case <-a.Gone():
			}
		}
		if a.Reason() == nil || len(s.queue) > maxQueue {
			t.Errorf("after a thousand documents that nobody read %d events wait, and the page is %v", len(s.queue), a.Reason())
		}
		s.end(errOurs)
	})
}
