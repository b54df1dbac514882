package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// inOne makes the site one page in all.
func inOne(o *session.Options, _ *sessiontest.Engine) {
	o.Sites[0].Shared, o.Sites[0].OnePage = true, true
}

// TestOnePage: all calls run on one page, whoever makes them in whichever session, and none changes it.
func TestOnePage(t *testing.T) {
	inWorld(t, shop, inOne, func(t *testing.T, w *world) {
		where := w.must(ref("s"), "where")
		for _, r := range []bridge.Ref{ref("s"), ref("other"), ref(""), {Site: "shop", Session: "s", Caller: bridge.Caller{Name: "another"}}} {
			if got := w.must(r, "where"); got != where {
				t.Errorf("the calls ran in %s and %s", where, got)
			}
			if shown := w.Shows(r); shown == nil || shown.URL != address {
				t.Errorf("a person is shown %+v", shown)
			}
		}
		for _, session := range []string{"s", ""} {
			r := ref(session)
			r.Page = `{"locale":"de-DE"}`
			_, err := w.call(t.Context(), r, "where", "{}")
			fails(t, err, bridge.ConfigError, "", bridge.NotRun)
		}
		if n := w.engine.Opened(); n != 1 {
			t.Errorf("%d pages were opened", n)
		}
	})
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }, func(t *testing.T, w *world) { // the control
		w.must(ref("s"), "where")
		if n := w.engine.Opened(); n != 2 {
			t.Errorf("without it %d pages were opened", n)
		}
	})
}

// TestOnePageDies: a call that had begun does not know how it ended, and the next one runs on a new page.
func TestOnePageDies(t *testing.T) {
	inWorld(t, shop, inOne, func(t *testing.T, w *world) {
		before := w.must(ref("s"), "where")
		_, err := w.call(t.Context(), ref("s"), "crash", "{}")
		fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
		if after := w.must(ref("s"), "where"); after == before || w.engine.Opened() != 2 {
			t.Errorf("then it is %s after %s, with %d pages", after, before, w.engine.Opened())
		}
	})
}

// TestOnePageOfOtherAdapters: the page is closed before the next one opens.
func TestOnePageOfOtherAdapters(t *testing.T) {
	inWorld(t, shop, inOne, func(t *testing.T, w *world) {
		before := w.must(ref("s"), "where")
		first := w.engine.Tabs()[0]
		w.engine.OnOpen(func(context.Context) error {
			if !first.Dead() {
				t.Error("there are two pages")
			}
			return nil
		})
		w.Scripts("shop").Set([]*adapter.Adapter{{Adapter: bridge.Adapter{Name: "shop"}}})
		synctest.Wait()
		_ = sessiontest.Wait(t.Context(), 5*time.Second)
		if after := w.must(ref("s"), "where"); after == before || w.engine.Opened() != 2 {
			t.Errorf("then it is %s after %s, with %d pages", after, before, w.engine.Opened())
		}
	})
}
