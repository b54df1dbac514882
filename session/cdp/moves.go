package cdp

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// A page that a call moved to another address is calm when its document has not changed for
// calmAfter. One that always changes, or that is still on its way to another document, is given
// movePatience.
const (
	calmAfter    = time.Second
	movePatience = 3 * time.Second
)

// moves reports what calls do to the address of the page: the routers of applications change the
// address first, and show, and register, what belongs to it later. Only the owner uses it.
type moves struct {
	frames  *frames
	watcher *watcher
	tasks   tasks
	count   int64
	stop    context.CancelFunc // ends the look at the page
}

// look reports a move that began after so many events of the page, by a call of a document, and
// returns the number of the move; 0 when there was none. Another document counts as opened in its
// own time.
func (m *moves) look(of *document, began int64, since time.Time) int64 {
	top := m.frames.top
	if of.frame == nil || of.frame.doc != of || top.doc.began > began {
		return 0
	}
	if max(top.moved, of.frame.moved, top.requested, top.started) <= began {
		return 0
	}
	m.count++
	m.stop()
	ctx, cancel := context.WithTimeout(context.Background(), movePatience+time.Second)
	m.stop = cancel
	m.watcher.out.emit(session.Moved{Document: top.doc.id, Number: m.count, Since: since})
	go m.follow(ctx, of, top.doc, m.count)
	return m.count
}

// follow waits until the document is calm, and the page is not on its way to another one. It ends
// with ctx or with the page.
func (m *moves) follow(ctx context.Context, of, top *document, number int64) {
	_, after, _ := of.inWorld(ctx, shim.Calm(calmAfter, movePatience)) // or it goes away
	leaves := false
	if m.tasks.ask(ctx, after, func() { f := m.frames.top; leaves = f.started > f.stopped }) && leaves {
		select {
		case <-top.gone:
		case <-ctx.Done():
		}
	}
	m.tasks.add(context.Background(), 0, func() {
		if m.count == number && m.frames.top.doc == top {
			m.watcher.after(session.Moved{Document: top.id, Number: number, Over: true})
		}
	})
}

// moved adds to the end of a call that the call moved the page.
func (t *tab) moved(ctx context.Context, d *document, began int64, since time.Time, step bridge.Step) bridge.Step {
	if p := step.Pause; p != nil {
		goOn := p.Continue
		p.Continue = func(ctx context.Context, a *bridge.Answer) bridge.Step {
			return t.moved(ctx, d, began, since, goOn(ctx, a))
		}
		return step
	}
	now := t.target.Delivered()
	if now == began {
		return step // the usual case
	}
	number := make(chan int64, 1)
	if !t.owner.tasks.add(ctx, now, func() { number <- t.owner.moves.look(d, began, since) }) {
		return step
	}
	select {
	case step.Move = <-number:
		if step.Err != nil && step.Move > 0 {
			step.Document = d.id
		}
	case <-t.target.Gone():
	}
	return step
}
