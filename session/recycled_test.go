package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestRecycledBrowser: what nobody holds moves to the next browser, so that the one before can
// end, and the site is there all the time.
func TestRecycledBrowser(t *testing.T) {
	for name, row := range map[string]struct {
		options func(*session.Options)
		broken  bool
		left    int // tabs of the first browser that are open in the end
		spares  int
	}{
		"site and spare":        {func(*session.Options) {}, false, 0, 1},
		"a page that all share": {func(o *session.Options) { o.Sites[0].Shared = true }, false, 1, 0},
		"a page that is lent":   {func(o *session.Options) { o.Sites[0].Lend = true }, false, 1, 1},
		"nothing opens":         {func(*session.Options) {}, true, 1, 0},
	} {
		inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) {
			o.Sites[0].Warm = 1
			row.options(o)
		}, func(t *testing.T, w *world) {
			_ = sessiontest.Wait(t.Context(), 5*time.Second)
			before := w.engine.Tabs()
			if row.broken {
				w.engine.Handle(address, func(d *sessiontest.Document) { d.Crash() })
			}
			for _, tab := range before {
				tab.Recycle()
				tab.Recycle() // which is told once
			}
			for range 50 {
				if c, err := w.Catalog(ref("")); err != nil || c.Tool("slow") == nil {
					t.Fatalf("%s: meanwhile the site is not there: %v", name, err)
				}
				synctest.Wait()
				_ = sessiontest.Wait(t.Context(), 100*time.Millisecond)
			}
			left := 0
			for _, tab := range before {
				if !tab.Dead() {
					left++
				}
			}
			if left != row.left {
				t.Errorf("%s: %d tabs of the first browser are open, want %d", name, left, row.left)
			}
			if c := w.Counts(); c.Spares != row.spares {
				t.Errorf("%s: there are %+v, want %d spares", name, c, row.spares)
			}
		})
	}
}
