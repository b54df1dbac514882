package session

import (
	"slices"

	"github.com/pagetools/pagetools/bridge"
)

// adds reports whether a document registers a tool of a name that it did not have.
func (s *pageState) adds(ev ToolsChanged) bool {
	known := map[string]bool{}
	if i := s.find(ev.Document); i >= 0 {
		for _, t := range s.shown[i].Tools {
			known[t.Name] = true
		}
	}
	return slices.ContainsFunc(ev.Tools, func(t bridge.Declaration) bool { return !known[t.Name] })
}

// moved takes that a call moved the page: it counts as opened again when the new place has
// registered its tools, and at the latest when it is calm.
func (p *Page) moved(s *pageState, ev Moved) {
	if ev.Document != s.now.document || ev.Over && (ev.Number != s.now.moves || !s.now.moving) {
		return
	}
	s.now.moves, s.now.moving = ev.Number, !ev.Over
	if s.now.settled {
		s.unsettled, s.moved = 0, ev.Since
		s.quiet.Stop()
		p.mayHaveArrived(s)
	}
	p.publish(s)
}

// mayHaveArrived starts the quiet time after which a page that a call moved counts as opened: once
// the place has registered a tool that the one before did not have.
func (p *Page) mayHaveArrived(s *pageState) {
	if s.now.moving && !s.added.Before(s.moved) {
		s.quiet.Reset(quietTime)
	}
}
