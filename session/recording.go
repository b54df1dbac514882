package session

import (
	"context"

	"github.com/pagetools/pagetools/bridge"
)

// Recordable is a Tab whose page can be recorded while it serves calls. It is optional.
type Recordable interface {
	// Record keeps what the page says and asks for from now on, until the recording is closed or the
	// page is gone. It costs the page something, and nothing before and after. Errors are
	// *bridge.Error.
	Record(ctx context.Context) (Recording, error)
}

// Recording keeps what a page says and asks for. It is safe for concurrent use.
type Recording interface {
	// Traced returns what was kept until now, also when the recording is over.
	Traced(ctx context.Context) *Traced
	// Over is closed when nothing more is kept.
	Over() <-chan struct{}
	// Close ends it. It is idempotent.
	Close()
}

var _ Recordable = (*lease)(nil)

// Record implements Recordable, for the page of a call.
func (l *lease) Record(ctx context.Context) (Recording, error) { return recordingOf(ctx, l.tab) }

// RecordOne records the page of a session. The error is a *bridge.Error.
func (s Sessions) RecordOne(ctx context.Context, id string) (Recording, error) {
	ses := s.find(id)
	if ses == nil {
		return nil, unseen()
	}
	return recordingOf(ctx, ses.page.tab)
}

func recordingOf(ctx context.Context, tab Tab) (Recording, error) {
	recorded, ok := tab.(Recordable)
	if !ok {
		return nil, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "This page cannot be recorded.")
	}
	return recorded.Record(ctx)
}
