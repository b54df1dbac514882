package cdp

import (
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"
)

// The browser tells that a window is about to open, not that it did. So it is
// looked for a few times: after each of sweepTimes.
var sweepTimes = []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// windowOpens starts a sweep, or lets another one follow the one that runs.
func (t *tab) windowOpens(s *ownerState) {
	if s.sweeping {
		s.again = true
		return
	}
	s.sweeping = true
	go t.sweep()
}

func (t *tab) sweepEnded(s *ownerState) {
	s.sweeping = false
	if s.again {
		s.again = false
		t.windowOpens(s)
	}
}

// sweep closes the windows that the page opened. A page has one at a time; it
// ends with the last of sweepTimes.
func (t *tab) sweep() {
	closed := map[cdptarget.ID]bool{}
	for _, pause := range sweepTimes {
		select {
		case <-time.After(pause):
		case <-t.target.gone:
			return
		}
		for _, window := range t.windows() {
			if closed[window.TargetID] {
				continue
			}
			closed[window.TargetID] = true
			bounded, cancel := farewell()
			_, _ = cdp.Call(bounded, t.browser.root, cdptarget.CloseTarget, cdptarget.CloseTargetParams{TargetID: window.TargetID})
			cancel()
			address := window.URL
			if address == "" {
				address = "about:blank"
			}
			if !t.tellSwept(address) {
				return
			}
		}
	}
	t.tellSwept("")
}

func (t *tab) tellSwept(address string) bool {
	select {
	case t.swept <- address:
		return true
	case <-t.target.gone:
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
