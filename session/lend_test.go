package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// lending makes the catalog page the caller's.
func lending(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Lend = true }

// TestOneCallerOnePage (E13): where the catalog page is lent, a session's first call gets it,
// and so do those that follow; another session, and a call with config, get a page of their own.
func TestOneCallerOnePage(t *testing.T) {
	inWorld(t, shop, lending, func(t *testing.T, w *world) {
		if got, again := w.must(ref("s"), "where"), w.must(ref("s"), "where"); got != again || w.engine.Opened() != 1 {
			t.Errorf("the calls ran in %s and %s, and %d pages were opened", got, again, w.engine.Opened())
		}
		if url, _, _ := w.Page("shop"); url != address {
			t.Errorf("the catalog page shows %q", url)
		}
		w.must(ref("other"), "where")
		w.must(ref(""), "where")
		if n := w.engine.Opened(); n != 3 {
			t.Errorf("with another session, and a call without one, %d pages were opened", n)
		}
	})
	inWorld(t, shop, lending, func(t *testing.T, w *world) {
		r := ref("s")
		r.Page = `{"locale":"de-DE"}`
		w.must(r, "where")
		if n := w.engine.Opened(); n != 2 {
			t.Errorf("for config %d pages were opened", n)
		}
	})
	inWorld(t, shop, nil, func(t *testing.T, w *world) { // the control
		w.must(ref("s"), "where")
		if n := w.engine.Opened(); n != 2 {
			t.Errorf("without lending %d pages were opened", n)
		}
	})
}

// TestLentPageDies: the next call of the session that had it gets the new catalog page.
func TestLentPageDies(t *testing.T) {
	inWorld(t, shop, lending, func(t *testing.T, w *world) {
		before := w.must(ref("s"), "where")
		_, err := w.call(t.Context(), ref("s"), "crash", "{}")
		fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
		if after := w.must(ref("s"), "where"); after == before || w.engine.Opened() != 2 {
			t.Errorf("then it is %s after %s, with %d pages", after, before, w.engine.Opened())
		}
	})
	inWorld(t, shop, lending, func(t *testing.T, w *world) { // and one that nobody used
		before := w.must(ref("s"), "where")
		<-time.After(time.Hour)
		if n := len(w.engine.Tabs()); n != 1 || w.engine.Opened() != 2 {
			t.Errorf("after an hour there are %d tabs, and %d were opened", n, w.engine.Opened())
		}
		_, err := w.call(t.Context(), ref("s"), "where", "{}")
		if err != nil {
			fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		}
		if after := w.must(ref("s"), "where"); after == before || w.engine.Opened() != 2 {
			t.Errorf("then it is %s after %s, with %d pages", after, before, w.engine.Opened())
		}
	})
}

// TestConsentOnALentPage: the page is there before the session's first call, and consent is
// bound to it.
func TestConsentOnALentPage(t *testing.T) {
	run := func(t *testing.T, w *world, catalog *bridge.Catalog, document string) error {
		t.Helper()
		lease, err := w.Acquire(t.Context(), ref("s"))
		succeeds(t, err)
		defer lease.Release()
		_, err = came(lease.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("where"), Agreed: &bridge.Agreed{Document: document},
			Input: json.RawMessage("{}"), MaxBytes: 100}))
		return err
	}
	for document, ok := range map[string]bool{"": true, bridge.NewPage: false, "another": false} {
		inWorld(t, shop, lending, func(t *testing.T, w *world) {
			catalog, err := w.Await(t.Context(), ref("s"))
			succeeds(t, err)
			if shown := w.Shows(ref("s")); shown == nil || shown.URL != address {
				t.Errorf("a person is shown %+v", shown)
			}
			if document == "" {
				document = catalog.Tool("where").Document()
			}
			if err := run(t, w, catalog, document); ok {
				succeeds(t, err)
			} else {
				fails(t, err, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
			}
		})
	}
}
