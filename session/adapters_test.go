package session_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestOtherAdapters (anyone 4.2): with other adapters the catalog page and warm pages are opened
// again, and pages of sessions stay; a catalog page that a session has stays, too.
func TestOtherAdapters(t *testing.T) {
	for name, row := range map[string]struct {
		options func(*session.Options)
		closed  int // pages that were open before
	}{
		"catalog page and spare": {func(o *session.Options) { o.Sites[0].Warm = 1 }, 2},
		"a page that is lent":    {func(o *session.Options) { o.Sites[0].Lend = true }, 0},
	} {
		inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { row.options(o) }, func(t *testing.T, w *world) {
			where := w.must(ref("s"), "where")
			_ = sessiontest.Wait(t.Context(), 5*time.Second)
			before := w.engine.Tabs()
			other := []*adapter.Adapter{{Adapter: bridge.Adapter{Name: "shop"}}}
			w.Scripts("shop").Set(other)
			synctest.Wait()
			_ = sessiontest.Wait(t.Context(), 5*time.Second)
			if got := w.Scripts("shop").All(); !slices.Equal(got, other) {
				t.Errorf("%s: the adapters are %v", name, got)
			}
			closed := 0
			for _, tab := range before {
				if tab.Dead() {
					closed++
				}
			}
			if closed != row.closed {
				t.Errorf("%s: %d pages were closed, want %d", name, closed, row.closed)
			}
			if again := w.must(ref("s"), "where"); again != where {
				t.Errorf("%s: the session moved from %s to %s", name, where, again)
			}
		})
	}
}

// TestTell: what is told of a site is among its findings until something else is told.
func TestTell(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		told := bridge.Finding{Rule: bridge.RuleAdapter, Message: "m"}
		w.Scripts("shop").Tell([]bridge.Finding{told})
		if got := w.Findings("shop"); !slices.Contains(got, told) {
			t.Errorf("the findings are %v", got)
		}
		w.Scripts("shop").Tell(nil)
		if got := w.Findings("shop"); slices.Contains(got, told) {
			t.Errorf("then they are %v", got)
		}
	})
}
