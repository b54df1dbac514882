package cdp

import (
	"slices"

	"github.com/pagetools/pagetools/session"
)

// maxQueue bounds events that the tab's reader has not taken. Tool changes are
// coalesced and end with their document. More windows and dialogs are not reported;
// a page that navigates so often is closed.
const maxQueue = 256

// outbox queues a tab's events until they are read. Only the owner uses it.
type outbox struct{ queue []session.Event }

// emit queues an event; a tool change takes the place of an unread one of its
// document.
func (b *outbox) emit(ev session.Event) {
	switch ev := ev.(type) {
	case session.ToolsChanged:
		i := slices.IndexFunc(b.queue,
			func(old session.Event) bool { return isChangeOf(old, ev.Document) })
		if i >= 0 {
			b.queue[i] = ev
			return
		}
	case session.DialogShown, session.WindowOpened, session.WindowClosed, session.Refused:
		if len(b.queue) >= maxQueue {
			return
		}
	}
	b.queue = append(b.queue, ev)
}

// navigated queues that another document is at the top, which ends what was reported
// of the one before. It reports whether there was room.
func (b *outbox) navigated(ev session.Navigated) bool {
	b.queue = slices.DeleteFunc(b.queue, ofOneDocument)
	return b.add(ev)
}

// frameGone queues that a document of a frame is gone. It reports whether there was
// room.
func (b *outbox) frameGone(document string) bool {
	b.queue = slices.DeleteFunc(b.queue,
		func(old session.Event) bool { return isChangeOf(old, document) })
	return b.add(session.FrameGone{Document: document})
}

func (b *outbox) add(ev session.Event) bool {
	if len(b.queue) >= maxQueue {
		return false
	}
	b.queue = append(b.queue, ev)
	return true
}

// isChangeOf reports whether an event is a tool change of the document.
func isChangeOf(ev session.Event, document string) bool {
	c, ok := ev.(session.ToolsChanged)
	return ok && c.Document == document
}

// ofOneDocument reports whether an event says nothing any more when its document
// is gone.
func ofOneDocument(ev session.Event) bool {
	switch ev.(type) {
	case session.ToolsChanged, session.FrameGone, session.Loaded, session.Ready, session.Moved:
		return true
	}
	return false
}
