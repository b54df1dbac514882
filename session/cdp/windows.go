package cdp

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/session"
)

// The browser reports that a window is about to open, not that it did. So it is
// looked for a few times: after each of sweepTimes.
var sweepTimes = []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// windows holds the windows that a page opened. Only the owner uses it.
type windows struct {
	of     *instance
	in     cdp.BrowserContextID
	id     cdptarget.ID // of the page
	policy session.Windows
	frames *frames
	setup  *setup
	out    *outbox
	tasks  tasks

	sweeping bool
	again    bool                  // another one opened meanwhile
	known    map[cdptarget.ID]bool // those that were left open; the sweep's while it runs
}

// bridged reports whether the windows of the page are ours before their scripts run.
func (w *windows) bridged() bool { return w.policy == session.BridgeWindows && w.of.adopts }

// opens starts a sweep, or lets another one follow the one that runs.
func (w *windows) opens() {
	switch {
	case w.bridged(): // attached follows
	case w.sweeping:
		w.again = true
	default:
		w.sweeping = true
		go w.sweep()
	}
}

func (w *windows) swept() {
	w.sweeping = false
	if w.again {
		w.again = false
		w.opens()
	}
}

// sweep looks for the windows that the page opened, and closes those that it may
// not have; in a browser that a person uses, none. A page has one sweep at a time; it ends with the
// last of sweepTimes.
func (w *windows) sweep() {
	ctx := context.Background()
	closed := map[cdptarget.ID]bool{}
	for _, pause := range sweepTimes {
		select {
		case <-time.After(pause):
		case <-w.tasks.gone:
			return
		}
		open := w.list()
		maps.DeleteFunc(w.known, func(id cdptarget.ID, _ bool) bool {
			return !slices.ContainsFunc(open,
				func(x *cdptarget.Info) bool { return x.TargetID == id })
		})
		for _, x := range open {
			if w.known[x.TargetID] || closed[x.TargetID] {
				continue
			}
			var found session.Event = session.WindowOpened{URL: addressOf(x)}
			if w.of.guest == nil && (w.policy == session.CloseWindows || len(w.known) >= session.MaxWindows) {
				found = session.WindowClosed{URL: addressOf(x)}
				closed[x.TargetID] = true
				w.of.closeTarget(x.TargetID)
			} else {
				w.known[x.TargetID] = true
			}
			if !w.tasks.add(ctx, 0, func() { w.out.emit(found) }) {
				return
			}
		}
	}
	w.tasks.add(ctx, 0, w.swept)
}

func addressOf(window *cdptarget.Info) string {
	if window.URL == "" {
		return "about:blank"
	}
	return window.URL
}

// list returns the pages that are in the tab's browser context, or that it opened,
// besides itself.
func (w *windows) list() (found []*cdptarget.Info) {
	bounded, cancel := farewell()
	defer cancel()
	all, err := cdp.Call(bounded, w.of.root, cdptarget.GetTargets, cdptarget.GetTargetsParams{})
	if err != nil {
		return nil
	}
	for _, x := range all.TargetInfos {
		ours := w.in != "" && x.BrowserContextID == w.in || x.OpenerID == w.id
		if ours && x.Type == "page" && x.TargetID != w.id {
			found = append(found, x)
		}
	}
	return found
}

// attached takes a window that the page opened: its documents are offered as those of
// a frame at the top. It waits for us, so that it runs nothing before the page script
// is in it.
func (w *windows) attached(ev *cdptarget.EventAttachedToTarget) {
	child := w.frames.page.Child(ev.SessionID)
	w.frames.targets[ev.SessionID] = child
	if w.frames.openWindow(cdp.FrameID(ev.TargetInfo.TargetID), child) == nil {
		// Its opener waits until it runs, and it does not close before.
		child.Begin(nil)
		go w.of.closeTarget(ev.TargetInfo.TargetID)
		w.out.emit(session.WindowClosed{URL: addressOf(ev.TargetInfo)})
		return
	}
	child.Begin(w.setup.page())
	w.out.emit(session.WindowOpened{URL: addressOf(ev.TargetInfo)})
}
