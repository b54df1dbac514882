package bridge

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// This file is about what operators see of sessions and browsers.

// SessionState is a session with its page, as an operator sees it.
type SessionState struct {
	// ID names it in this process; no other session of any process has the same. Session has the
	// caller's name for it.
	ID, Caller, Site, Session string
	// Since says when it was opened, and Used when a call last began or ended in it.
	Since, Used time.Time
	// Calls counts those that it served, Running those that hold its page now, and Waiting those that
	// wait for it.
	Calls, Running, Waiting int
	// Address and Title describe the document that it shows, in the page's own words.
	Address, Title string
}

// Pool counts pages.
type Pool struct {
	// Held counts those that calls and sessions hold, of Limit at most; Spare those that stand by; and
	// Queued the calls that wait for one.
	Held, Spare, Queued, Limit int
	// PerCaller bounds those of one caller.
	PerCaller int
	// Caller holds most of them, and Of says how many.
	Caller string
	Of     int
	// Oldest names the caller that has held a page for longest, and Since says since when. They are
	// empty where no page is held.
	Oldest string
	Since  time.Time
	// NoMemory is true when the memory that is left holds no further page.
	NoMemory bool
}

// BrowserState is a browser that serves pages.
type BrowserState struct {
	// Name is the endpoint's in the configuration, and Max bounds its tabs; "" and 0 for one that has none.
	Name string
	Max  int
	// State is "running", "starting", "idle" (it starts when a page is wanted) or "down": the log says
	// why. Kind is as in the option --browser; "" for one that pagetools did not start.
	State, Kind, Version string
	// Since says when it started; the zero time where none runs.
	Since time.Time
	// Tabs counts its tabs now, and Opened those since it started. One that had many is replaced.
	Tabs, Opened int
	// Memory counts the bytes that it and its processes take: their proportional set size. 0 is not known.
	Memory uint64
	// Started counts browsers that this one replaced, and itself; Failed those that did not start.
	Started, Failed int
	// Lost are the newest of those that ended by themselves, the newest last.
	Lost []LostBrowser
}

// LostBrowser is a browser that ended by itself.
type LostBrowser struct {
	At time.Time
	// Cause is "ended" (its process, or the connection to it) or "silent" (it did not answer any more).
	Cause string
}

// Sessions keeps the sessions of callers. The session manager implements it.
type Sessions interface {
	// All lists those that have a page, in no order. No I/O.
	All() []SessionState
	// CloseOne ends a session with its page; its caller's next call has the error SESSION_EXPIRED. Where
	// calls run in it, it does nothing unless all is true: then they end with it. It returns how many run,
	// and whether the session is there.
	CloseOne(id string, all bool) (running int, there bool)
	// ViewOne shows the page of a session until it is closed, and PictureOne as it is now, as a PNG.
	// Errors are *Error.
	ViewOne(ctx context.Context, id string) (View, error)
	PictureOne(ctx context.Context, id string) ([]byte, error)
	// NotifyOf makes changed the function that is called when a session was opened or closed. changed
	// must not block.
	NotifyOf(changed func())
}

// OpenSessions lists the sessions that an operator may see, the oldest first.
func OpenSessions(b *Bridge, by Caller) []SessionState {
	all := []SessionState{}
	if b.sessions == nil || !by.Can(MayView) {
		return all
	}
	for _, s := range b.sessions.All() {
		if by.Sees(s.Site) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y SessionState) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.ID, y.ID)) })
	return all
}

// CloseSession ends a session for an operator. all ends the calls that run in it, too. Errors are
// *Error: WEBTOOL_NOT_FOUND for a session that is not there, CONFLICT with details.running where calls
// run in it and all is false, FORBIDDEN for a credential without the right to answer.
func CloseSession(b *Bridge, by Caller, id string, all bool) error {
	if !by.Can(MayAnswer) {
		return mayNotAnswer()
	}
	if _, e := sessionFor(b, by, id); e != nil {
		return e
	}
	switch running, there := b.sessions.CloseOne(id, all); {
	case !there:
		return sessionGone()
	case running > 0 && !all:
		return Errorf(Conflict, "", NotRun, "A call runs in this session. It would end with it, and nobody could say whether it did its work.").
			Detail("running", running)
	}
	return nil
}

// SessionsChanged says that sessions were opened or closed.
const SessionsChanged EventKind = "sessions"

// sessionsChanged tells those who watch sessions that there are others.
func (ws *watchers) sessionsChanged() {
	ws.each(func(w *watcher) {
		if w.what.Sessions {
			w.mu.Lock()
			w.sessions = true
			w.mu.Unlock()
			w.kick()
		}
	})
}
