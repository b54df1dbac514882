package bridgetest

import (
	"context"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge"
)

// View is the view of a page that a Router's lease returns.
type View struct {
	mu     sync.Mutex
	frames chan bridge.Frame
	acts   []bridge.Input
	closed bool
}

var _ bridge.View = (*View)(nil)

// NewView returns a view that shows nothing yet.
func NewView() *View { return &View{frames: make(chan bridge.Frame, 1)} }

// Show makes f the newest frame.
func (v *View) Show(f bridge.Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	select {
	case <-v.frames:
	default:
	}
	v.frames <- f
}

// Frames returns the newest frame.
func (v *View) Frames() <-chan bridge.Frame { return v.frames }

// Act records the input.
func (v *View) Act(_ context.Context, in bridge.Input) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The view is closed.")
	}
	v.acts = append(v.acts, in)
	return nil
}

// Text returns a text that has a character which nobody sees.
func (*View) Text(context.Context) (string, error) { return "text of the\u200b page", nil }

// Acts lists what was done.
func (v *View) Acts() []bridge.Input {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.acts)
}

// Close ends the view.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.closed = true
		close(v.frames)
	}
}
