package main

import (
	"sync/atomic"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// hangups decides what a SIGHUP means. It ends the program, as the end of its terminal
// does, unless serve follows it: then serve reads the callers again.
type hangups struct {
	followed  atomic.Bool
	came      chan struct{} // one for all that were not looked at yet
	terminals []any         // streams that were terminals when following began
}

// follow makes SIGHUP come over the channel from now on. It is called once.
func (h *hangups) follow(streams ...any) <-chan struct{} {
	for _, s := range streams {
		if terminal.Is(s) {
			h.terminals = append(h.terminals, s)
		}
	}
	h.followed.Store(true)
	return h.came
}

// take takes one SIGHUP, and reports whether the program goes on. The end of a terminal
// sends one too.
func (h *hangups) take() bool {
	if !h.followed.Load() {
		return false
	}
	for _, s := range h.terminals {
		if !terminal.Is(s) {
			return false
		}
	}
	select {
	case h.came <- struct{}{}:
	default:
	}
	return true
}
