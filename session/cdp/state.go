package cdp

import (
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// maxLost bounds the lost browsers that a slot remembers.
const maxLost = 20

// lose notes that a browser ended by itself.
func (e *Engine) lose(b *instance, cause string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := b.slot
	if s == nil { // it is not there yet
		return
	}
	if s.counts.Lost == nil {
		s.counts.Lost = map[string]int{}
	}
	s.counts.Lost[cause]++
	s.losses = append(s.losses, bridge.LostBrowser{At: time.Now(), Cause: cause})
	if len(s.losses) > maxLost {
		s.losses = slices.Delete(s.losses, 0, len(s.losses)-maxLost)
	}
	e.tell()
	if s.max > 0 {
		e.begin(s)
	}
	e.log.Warn("browser: lost", append(s.named(), "cause", cause)...)
}

// Counts returns how many browsers were started and lost until now.
func (e *Engine) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := Counts{Lost: map[string]int{}}
	for _, s := range e.slots {
		c.Started += s.counts.Started
		c.Failed += s.counts.Failed
		for cause, n := range s.counts.Lost {
			c.Lost[cause] += n
		}
	}
	return c
}

// States returns how the browsers of the engine are now. weighed adds what they take of memory, which
// reads a file of each of their processes.
func (e *Engine) States(weighed bool) (all []bridge.BrowserState) {
	var processes []*chrome.Process
	e.mu.Lock()
	for _, s := range e.slots {
		x := bridge.BrowserState{Name: s.name, Max: s.max, State: s.state(), Kind: string(e.kind), Started: s.counts.Started, Failed: s.counts.Failed,
			Version: s.version, Lost: slices.Clone(s.losses)}
		var process *chrome.Process
		if b := s.runs(); b != nil {
			x.Since, x.Tabs, x.Opened, process = b.began, b.open, b.opened, b.process
		}
		all, processes = append(all, x), append(processes, process)
	}
	e.mu.Unlock()
	for i, p := range processes {
		if weighed && p != nil {
			all[i].Memory = p.Memory()
		}
	}
	return all
}

// state returns the state of a slot, as in [bridge.BrowserState]. Called with the engine's mu held.
func (s *slot) state() string {
	switch {
	case s.runs() != nil:
		return "running"
	case s.opening:
		return "starting"
	case s.lastErr != nil:
		return "down"
	}
	return "idle"
}
