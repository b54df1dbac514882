package cdp

import (
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// maxLost bounds the lost browsers that an engine remembers.
const maxLost = 20

// remember notes that a browser ended by itself. Called with e.mu held.
func (e *Engine) remember(cause string) {
	e.losses = append(e.losses, bridge.LostBrowser{At: time.Now(), Cause: cause})
	if len(e.losses) > maxLost {
		e.losses = slices.Delete(e.losses, 0, len(e.losses)-maxLost)
	}
}

// State returns how the browser of the engine is now. weighed adds what it takes of memory, which
// reads a file of each of its processes.
func (e *Engine) State(weighed bool) bridge.BrowserState {
	e.mu.Lock()
	s := bridge.BrowserState{State: "idle", Kind: string(e.kind), Version: e.version, Started: e.counts.Started, Failed: e.counts.Failed,
		Lost: slices.Clone(e.losses)}
	b := e.current
	switch {
	case b != nil && b.alive():
		s.State, s.Since, s.Tabs, s.Opened = "running", b.began, b.open, b.opened
	case e.opening != nil:
		s.State = "starting"
	case e.lastErr != nil:
		s.State = "down"
	}
	e.mu.Unlock()
	if weighed && s.State == "running" && b.process != nil {
		s.Memory = b.process.Memory()
	}
	return s
}
