package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
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
		inv := bridge.Invocation{Tool: shown, Agreed: &bridge.Agreed{Document: shown.Document()}, Input: json.RawMessage("{}"), MaxBytes: 100}
		_, err = came(lease.Invoke(t.Context(), inv)) // the positive control
		succeeds(t, err)
		inv.Agreed.Document = "another"
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
			Tool: catalog.Tool("where"), Agreed: &bridge.Agreed{Document: document}, Input: json.RawMessage("{}"), MaxBytes: 100}))
		return err
	}
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		for _, r := range []bridge.Ref{ref("s"), ref("")} {
			if w.Shows(r) != nil {
				t.Errorf("%q has a page before its first call", r.Session)
			}
			succeeds(t, run(t, w, r, bridge.NewPage)) // the positive control
		}
		if w.Shows(ref("s")) == nil || w.Shows(ref("")) != nil || w.Shows(ref("other")) != nil {
			t.Error("the session's page is not seen, or another one is")
		}
		fails(t, run(t, w, ref("s"), bridge.NewPage), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		succeeds(t, run(t, w, ref(""), bridge.NewPage))
	})
	shared := func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }
	inWorld(t, shop, shared, func(t *testing.T, w *world) {
		if w.Shows(ref("")) == nil || w.Shows(ref("s")) != nil {
			t.Error("the shared page is not seen, or a session has it")
		}
		catalog, err := w.Await(t.Context(), ref(""))
		succeeds(t, err)
		succeeds(t, run(t, w, ref(""), catalog.Tool("where").Document()))
		fails(t, run(t, w, ref(""), bridge.NewPage), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		fails(t, run(t, w, ref(""), "another"), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
	})
}

// TestOtherConfig (A6): consent for a page as the site has it does not cover one that was
// opened with config, nor the other way round; what a session's page was opened with is
// known without opening another.
func TestOtherConfig(t *testing.T) {
	const german = `{"locale":"de-DE"}`
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		w.must(asking("s", german), "where")
		w.must(ref("plain"), "where")
		if s := w.Shows(ref("s")); s == nil || s.Config != german || s.URL != address {
			t.Errorf("the session's page is %+v", s)
		}
		for _, c := range []struct {
			ref    bridge.Ref
			agreed string
			runs   bool
		}{
			{ref("s"), german, true}, {ref("s"), "", false}, {ref("plain"), "", true}, {ref("plain"), german, false},
			{ref(""), "", true}, {ref(""), german, false}, {asking("", german), german, true}, {asking("", german), "", false},
			{asking("new", german), german, true}, {asking("newer", german), "", false},
		} {
			catalog, err := w.Await(t.Context(), c.ref)
			succeeds(t, err)
			lease, err := w.Acquire(t.Context(), c.ref)
			succeeds(t, err)
			_, err = came(lease.Invoke(t.Context(), bridge.Invocation{
				Tool: catalog.Tool("where"), Agreed: &bridge.Agreed{Config: c.agreed}, Input: json.RawMessage("{}"), MaxBytes: 100}))
			lease.Release()
			if c.runs {
				succeeds(t, err)
			} else {
				fails(t, err, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
			}
		}
	})
}

// TestOwnTools (A7): a tool is the site's own by the origin of its document, whether that
// is the page or a frame; of an origin that the operator named besides, too.
func TestOwnTools(t *testing.T) {
	const foreign, allowed = "https://ads.test", "https://also.test"
	script := func(d *sessiontest.Document) {
		d.Register(named("page"))
		d.Frame("own", origin, func(d *sessiontest.Document) { d.Register(named("own_frame")) })
		d.Frame("also", allowed, func(d *sessiontest.Document) { d.Register(named("also_frame")) })
		d.Frame("ads", foreign, func(d *sessiontest.Document) { d.Register(named("foreign_frame"), named("page")) })
	}
	also := func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Origins = []string{allowed} }
	inWorld(t, script, also, func(t *testing.T, w *world) {
		b, err := bridge.New(w, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Approval: policy.Operator{Mode: policy.ModeAuto}}}})
		succeeds(t, err)
		defer b.Close()
		list, err := b.Tools(t.Context(), ref(""))
		succeeds(t, err)
		if len(list.Tools) != 5 {
			t.Fatalf("there are %d tools", len(list.Tools))
		}
		for _, tool := range list.Tools {
			in, err := bridge.ReadValue("request", json.RawMessage("{}"))
			succeeds(t, err)
			_, step := b.Serve(t.Context(), &bridge.Call{Site: "shop", Tool: tool.Name(), Input: in,
				Caller: bridge.Caller{Name: "for " + tool.Name(), May: []bridge.Right{bridge.MayCall}}}) // who reads one origin is asked about another
			if tool.Origin() != foreign {
				succeeds(t, asError(step.Err))
				continue
			}
			fails(t, asError(step.Err), bridge.ApprovalRequired, "", bridge.NotRun)
		}
	})
}

// TestConflictIsForItsCaller (A5): that the shared page waits for a person is told to
// everybody, and what for only to the caller whose call it is.
func TestConflictIsForItsCaller(t *testing.T) {
	script := func(d *sessiontest.Document) {
		d.Register(sessiontest.Tool{Name: "ask", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			return json.Marshal(c.Ask(bridge.Confirm, "Delete Ann's account?", nil).OK)
		}})
	}
	shared := func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }
	inWorld(t, script, shared, func(t *testing.T, w *world) {
		catalog, err := w.Await(t.Context(), ref(""))
		succeeds(t, err)
		lease, err := w.Acquire(t.Context(), ref(""))
		succeeds(t, err)
		defer lease.Release()
		step := lease.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("ask"), Caller: "local", Input: json.RawMessage(`{"of":"Ann"}`), Answer: time.Minute})
		if step.Pause == nil {
			t.Fatal(step.Err)
		}
		other := ref("")
		other.Caller.Name = "other"
		_, err = w.Acquire(t.Context(), other)
		if e := fails(t, err, bridge.Conflict, "", bridge.NotRun); len(e.Details) > 0 || strings.Contains(e.Message, "Ann") {
			t.Errorf("another caller is told %v %v", e.Message, e.Details)
		}
		_, err = w.Acquire(t.Context(), ref(""))
		if q, ok := fails(t, err, bridge.Conflict, "", bridge.NotRun).Details["question"].(*bridge.Question); !ok || string(q.Input) != `{"of":"Ann"}` {
			t.Errorf("its own caller is told %+v", q)
		}
		step.Pause.Take()
		_, err = came(step.Pause.Continue(t.Context(), &bridge.Answer{OK: true}))
		succeeds(t, err)
	})
}

func asError(e *bridge.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// TestAskedSessionStays: a person has five minutes, and the page that they were asked about is
// still the one in which the call runs, also when the session was used once before.
func TestAskedSessionStays(t *testing.T) {
	page := func(d *sessiontest.Document) {
		reads := named("where")
		reads.Annotations = json.RawMessage(`{"readOnlyHint":true}`)
		d.Register(reads, named("write"))
	}
	for _, gone := range []bool{false, true} {
		inWorld(t, page, func(o *session.Options, _ *sessiontest.Engine) {
			if gone {
				o.Idle = time.Minute
			}
		}, func(t *testing.T, w *world) {
			b, err := bridge.New(w.Manager, bridge.Options{})
			succeeds(t, err)
			defer b.Close()
			call := bridge.Call{Site: "shop", Session: "s", Tool: "where", Caller: bridge.Local(), Input: value(t, `{}`)}
			shown, err := b.Do(t.Context(), &call)
			succeeds(t, err)
			_ = sessiontest.Wait(t.Context(), 50*time.Second)
			asks := call
			asks.Tool = "write"
			run := b.Start(t.Context(), &asks)
			q, end := run.Next(t.Context())
			if q == nil {
				t.Fatal(end.Err)
			}
			_ = sessiontest.Wait(t.Context(), 4*time.Minute)
			succeeds(t, run.Elicited(q.ID, bridge.Answer{OK: true}, bridge.Local()))
			q, end = run.Next(t.Context())
			switch {
			case q != nil:
				t.Errorf("it asks again: %s", q.Title)
			case gone: // as the operator wanted it
				e := fails(t, end.Err, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
				if !strings.Contains(e.Message, "The session's page was closed after a person agreed") {
					t.Errorf("it says %q", e.Message)
				}
			case end.Err != nil || string(end.Data) != string(shown):
				t.Errorf("%s, %v; want %s", end.Data, end.Err, shown)
			}
		})
	}
}
