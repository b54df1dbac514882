package session_test

import (
	"context"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestTurn bounds the wait for other calls, and not the opening of a page for the
// call itself.
func TestTurn(t *testing.T) {
	alone := func(o *session.Options, _ *sessiontest.Engine) { o.MaxSessions = 1 }
	for _, id := range []string{"", "s"} {
		inWorld(t, shop, alone, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			r := ref(id)
			held, err := w.Acquire(t.Context(), r)
			succeeds(t, err)
			r.Turn = 500 * time.Millisecond
			began := time.Now()
			_, err = w.Acquire(t.Context(), r)
			fails(t, err, bridge.InternalError, bridge.Overload, bridge.NotRun)
			lasts(t, time.Since(began), r.Turn)
			held.Release()
			next, err := w.Acquire(t.Context(), r)
			succeeds(t, err)
			next.Release()
		})
	}
	inWorld(t, shop, func(_ *session.Options, e *sessiontest.Engine) {
		e.Arrive(address, func(ctx context.Context) error { return sessiontest.Wait(ctx, 2*time.Second) })
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		r := ref("")
		r.Turn = 500 * time.Millisecond
		page, err := w.Acquire(t.Context(), r)
		succeeds(t, err)
		page.Release()
	})
}
