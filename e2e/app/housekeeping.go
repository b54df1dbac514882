package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/pagetools/pagetools/bridge/records/lease"
)

const (
	// sweepEvery sets how often one node removes the marks that deletions left in the engine, and how
	// old these are at least; sweepTime limits how long that may take.
	sweepEvery = 10 * time.Minute
	sweepTime  = time.Minute
	// sessionAge sets for how long a caller can learn that a session ended with its node.
	sessionAge = 24 * time.Hour
	// sessionIdle sets how long the page of a session waits in its browser for the next node.
	sessionIdle = 15 * time.Minute
)

// housekeeper does what some node must do from time to time, and looks whether nodes agree.
type housekeeper struct {
	self   func() (id string, holds bool)
	others func() []lease.Member
	every  time.Duration
	// config is this node's digest, and differs hears of nodes with another one; nil: nobody does.
	config  func() string
	differs func(node string)
	sweep   func(ctx context.Context, age time.Duration) (int, error)
	// tidy closes the pages of sessions that no node has had for the idle time, and removes the records after
	// the age.
	tidy func(ctx context.Context, idle, age time.Duration) (int, error)
	log  *slog.Logger

	told   map[string]string // the digest of each life that differs
	failed bool              // the last sweep
}

// run goes on until ctx ends.
func (h *housekeeper) run(ctx context.Context) {
	look, sweep := time.NewTicker(h.every), time.NewTicker(sweepEvery)
	defer look.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-look.C:
			h.compare()
		case <-sweep.C:
			if h.isFirst() {
				h.clean(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// compare tells of the nodes that have another configuration.
func (h *housekeeper) compare() {
	if h.config == nil || h.differs == nil {
		return
	}
	own, told := h.config(), map[string]string{}
	for _, m := range h.others() {
		if m.Config == "" || m.Config == own {
			continue
		}
		if told[m.ID] = m.Config; h.told[m.ID] != m.Config {
			h.differs(m.Node)
		}
	}
	h.told = told
}

// isFirst reports whether this is the living node with the smallest incarnation.
func (h *housekeeper) isFirst() bool {
	id, holds := h.self()
	if !holds {
		return false
	}
	for _, m := range h.others() {
		if m.ID < id {
			return false
		}
	}
	return true
}

// clean removes old marks. An engine that does not allow it keeps them.
func (h *housekeeper) clean(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	n, err := h.sweep(ctx, sweepEvery)
	switch {
	case err != nil && !h.failed:
		h.log.Warn("cluster: marks of what was deleted stay in the engine", slog.Any("error", err))
	case n > 0:
		h.log.Debug("cluster: marks of what was deleted are removed", slog.Int("marks", n))
	}
	h.failed = err != nil
	if n, err = h.tidy(ctx, sessionIdle, sessionAge); err != nil || n > 0 {
		h.log.Debug("cluster: sessions of nodes that ended are removed", slog.Int("sessions", n), slog.Any("error", err))
	}
}
