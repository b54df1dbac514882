package cdp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// The browser tells that a window is about to open, not that it did. So it is
// looked for a few times: after each of sweepTimes.
var sweepTimes = []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// swept is what a sweep found: a window that was left open or closed, or its own
// end, which has no address.
type swept struct {
	address string
	closed  bool
}

// windowOpens starts a sweep, or lets another one follow the one that runs.
func (t *tab) windowOpens(s *ownerState) {
	if t.bridgesWindows() {
		return // windowTarget hears of it
	}
	if s.sweeping {
		s.again = true
		return
	}
	s.sweeping = true
	go t.sweep(s.known)
}

// bridgesWindows reports whether the windows of the page are ours before their
// scripts run.
func (t *tab) bridgesWindows() bool {
	return t.policy == session.BridgeWindows && t.browser.adopts
}

func (t *tab) windowSwept(s *ownerState, w swept) {
	switch {
	case w.address == "":
		s.sweeping = false
		if s.again {
			s.again = false
			t.windowOpens(s)
		}
	case w.closed:
		s.emit(session.WindowClosed{URL: w.address})
	default:
		s.emit(session.WindowOpened{URL: w.address})
	}
}

// sweep looks for the windows that the page opened, and closes those that it may
// not have. A page has one sweep at a time; it ends with the last of sweepTimes.
func (t *tab) sweep(known map[cdptarget.ID]bool) {
	closed := map[cdptarget.ID]bool{}
	for _, pause := range sweepTimes {
		select {
		case <-time.After(pause):
		case <-t.target.Gone():
			return
		}
		open := t.windows()
		maps.DeleteFunc(known, func(id cdptarget.ID, _ bool) bool {
			return !slices.ContainsFunc(open, func(w *cdptarget.Info) bool { return w.TargetID == id })
		})
		for _, window := range open {
			id := window.TargetID
			if known[id] || closed[id] {
				continue
			}
			w := swept{address: addressOf(window), closed: t.policy == session.CloseWindows || len(known) >= session.MaxWindows}
			if w.closed {
				closed[id] = true
				t.closeWindow(id)
			} else {
				known[id] = true
			}
			if !t.tellSwept(w) {
				return
			}
		}
	}
	t.tellSwept(swept{})
}

func addressOf(window *cdptarget.Info) string {
	if window.URL == "" {
		return "about:blank"
	}
	return window.URL
}

func (t *tab) closeWindow(id cdptarget.ID) {
	bounded, cancel := farewell()
	defer cancel()
	_, _ = cdp.Call(bounded, t.browser.root, cdptarget.CloseTarget, cdptarget.CloseTargetParams{TargetID: id})
}

func (t *tab) tellSwept(w swept) bool {
	select {
	case t.swept <- w:
		return true
	case <-t.target.Gone():
		return false
	}
}

// windows lists the pages that are in the tab's browser context, or that it
// opened, besides itself.
func (t *tab) windows() (found []*cdptarget.Info) {
	bounded, cancel := farewell()
	defer cancel()
	all, err := cdp.Call(bounded, t.browser.root, cdptarget.GetTargets, cdptarget.GetTargetsParams{})
	if err != nil {
		return nil
	}
	for _, x := range all.TargetInfos {
		ours := t.context != "" && x.BrowserContextID == t.context || x.OpenerID == t.id
		if ours && x.Type == "page" && x.TargetID != t.id {
			found = append(found, x)
		}
	}
	return found
}

// adoptWindows makes the browser attach us to every page before its scripts run.
func (b *instance) adoptWindows(ctx context.Context) error {
	yes := true
	_, err := cdp.Call(ctx, b.root, cdptarget.SetAutoAttach, cdptarget.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true,
		Flatten: &yes, Filter: cdptarget.Filter{{Exclude: false, Type: "page"}}})
	if err != nil {
		return fmt.Errorf("adopting windows: %w", err)
	}
	b.adopts = true
	return nil
}

// windowTarget takes a window that the page opened: its documents are offered as
// those of a frame at the top. It waits for us, so that it runs nothing before the
// page script is in it.
func (t *tab) windowTarget(s *ownerState, ev *cdptarget.EventAttachedToTarget) {
	open := 0
	for _, f := range s.frames {
		if f.window > 0 {
			open++
		}
	}
	child := t.target.Child(ev.SessionID)
	s.targets[ev.SessionID] = child
	if open >= session.MaxWindows || len(s.frames) > maxFrames {
		// Its opener waits until it runs, and it does not close before.
		begin(child, nil)
		go t.closeWindow(ev.TargetInfo.TargetID)
		s.emit(session.WindowClosed{URL: addressOf(ev.TargetInfo)})
		return
	}
	id := cdp.FrameID(ev.TargetInfo.TargetID)
	s.roots[ev.SessionID] = id
	s.opened++
	s.frames[id] = &frame{id: id, window: s.opened, target: child, root: true, stop: func() {}, retry: retryTime}
	begin(child, append(t.pageCommands(), t.pageSettings()...))
	s.emit(session.WindowOpened{URL: addressOf(ev.TargetInfo)})
}

// windowNavigated begins a new document in a window.
func (t *tab) windowNavigated(s *ownerState, tgt *wire.Session, ev *cdp.Frame) {
	f := s.frames[ev.ID]
	if f == nil || f.window == 0 {
		return
	}
	t.leave(s, f)
	f.doc, f.retry = s.newDocument(f, tgt, ev), retryTime
	f.doc.where, f.doc.policy = f.where(), allowed
	t.publish(s)
	t.startWatch(s, f)
}
