package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Who lists the tools of a page for its author looks on when others would begin to use it: until
// some time after the load event, and until registrations have been quiet; all of it is bounded.
// What comes then is late. A page that takes tools back is looked at for as long as that may take.
const (
	lookTime = 2500 * time.Millisecond
	calmTime = time.Second
	lookMost = 5 * time.Second // after the load event
)

// mostListed bounds the names that are kept of a document.
const mostListed = 1024

// listed remembers what a document registered. The zero value is of one that registered nothing.
type listed struct {
	first map[string]time.Time // when each tool that was ever offered came
	// early are the tools that were there when the page counted as opened; nil until then, and
	// where nobody looks on.
	early   map[string]bool
	changed time.Time // when the last registration came or went
	taken   bool      // registrations went since the page counted as opened
}

// add takes down how the registrations changed, and what is offered of them.
func (l *listed) add(before, now []bridge.Declaration, catalog *bridge.Catalog) {
	same := func(a, b bridge.Declaration) bool { return a.ID == b.ID && a.Document == b.Document }
	if !slices.EqualFunc(before, now, same) {
		l.changed = time.Now()
		for i := 0; i < len(before) && l.early != nil && !l.taken; i++ {
			l.taken = !slices.ContainsFunc(now, func(d bridge.Declaration) bool { return same(d, before[i]) })
		}
	}
	if l.first == nil {
		l.first = map[string]time.Time{}
	}
	for _, t := range catalog.Tools() {
		if _, known := l.first[t.Name()]; !known && len(l.first) < mostListed {
			l.first[t.Name()] = time.Now()
		}
	}
}

// left names the tools that were offered, and are not any more.
func (l *listed) left(now *bridge.Catalog) (names []string) {
	for name := range l.first {
		if now.Tool(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// late returns findings about the tools that came when the page counted as opened already.
func (l *listed) late(now *bridge.Catalog, loaded time.Time) (all []bridge.Finding) {
	if l.early == nil {
		return nil
	}
	for _, t := range now.Tools() {
		if at, known := l.first[t.Name()]; known && !l.early[t.Name()] {
			all = append(all, bridge.Finding{Rule: bridge.RuleLate, Tool: t.Name(),
				Message: fmt.Sprintf("It was registered %s after the load event, when the page counted as opened: who lists the tools at once does not see it. "+
					"Register it while the page loads.", at.Sub(loaded).Round(100*time.Millisecond))})
		}
	}
	return all
}

// quieted is called when a page has been quiet for long enough: it counts as opened, unless
// somebody looks on.
func (p *Page) quieted(s *pageState) {
	if !p.patient || s.now.settled || !s.now.loaded {
		p.settle(s)
		return
	}
	if s.seen.early == nil {
		s.limit.Stop() // looking on has its own
		s.seen.early = map[string]bool{}
		for _, t := range s.now.catalog.Tools() {
			s.seen.early[t.Name()] = true
		}
	}
	p.lookOn(s)
}

// lookOn settles the page when nothing more is to be expected of it, now or later.
func (p *Page) lookOn(s *pageState) {
	end := s.loadedAt.Add(lookTime)
	if calm := s.seen.changed.Add(calmTime); calm.After(end) {
		end = calm
	}
	if most := s.loadedAt.Add(lookMost); s.seen.taken || end.After(most) {
		end = most
	}
	if left := time.Until(end); left > 0 {
		s.quiet.Reset(left)
		return
	}
	p.settle(s)
}
