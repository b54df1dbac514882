package session_test

import (
	"encoding/json"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestOtherDocument: an invocation that names the document that a person was shown does
// not run on another one, however equal its tools are.
func TestOtherDocument(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		w.must(ref("s"), "where")
		catalog, err := w.Await(t.Context(), ref("s"))
		succeeds(t, err)
		lease, err := w.Acquire(t.Context(), ref("s"))
		succeeds(t, err)
		defer lease.Release()
		shown := catalog.Tool("where")
		inv := bridge.Invocation{Tool: shown, Document: shown.Document(), Input: json.RawMessage("{}"), MaxBytes: 100}
		_, err = came(lease.Invoke(t.Context(), inv)) // the positive control
		succeeds(t, err)
		inv.Document = "another"
		_, err = came(lease.Invoke(t.Context(), inv))
		fails(t, err, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
	})
}

// TestNewPage (A1, A2): who agreed when there was no page gets one that was opened for the
// call, and no other; the page that calls share is one that is there.
func TestNewPage(t *testing.T) {
	run := func(t *testing.T, w *world, r bridge.Ref, document string) error {
		t.Helper()
		catalog, err := w.Await(t.Context(), r)
		succeeds(t, err)
		lease, err := w.Acquire(t.Context(), r)
		succeeds(t, err)
		defer lease.Release()
		_, err = came(lease.Invoke(t.Context(), bridge.Invocation{
			Tool: catalog.Tool("where"), Document: document, Input: json.RawMessage("{}"), MaxBytes: 100}))
		return err
	}
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		for _, r := range []bridge.Ref{ref("s"), ref("")} {
			if w.Shows(r) {
				t.Errorf("%q has a page before its first call", r.Session)
			}
			succeeds(t, run(t, w, r, bridge.NewPage)) // the positive control
		}
		if !w.Shows(ref("s")) || w.Shows(ref("")) || w.Shows(ref("other")) {
			t.Error("the session's page is not seen, or another one is")
		}
		fails(t, run(t, w, ref("s"), bridge.NewPage), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		succeeds(t, run(t, w, ref(""), bridge.NewPage))
	})
	shared := func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }
	inWorld(t, shop, shared, func(t *testing.T, w *world) {
		if !w.Shows(ref("")) || w.Shows(ref("s")) {
			t.Error("the shared page is not seen, or a session has it")
		}
		catalog, err := w.Await(t.Context(), ref(""))
		succeeds(t, err)
		succeeds(t, run(t, w, ref(""), catalog.Tool("where").Document()))
		fails(t, run(t, w, ref(""), bridge.NewPage), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		fails(t, run(t, w, ref(""), "another"), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
	})
}
