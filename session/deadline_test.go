package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestCallsEndAtTheirDeadline (B9): whatever a call waits for, it has one deadline: its timeout,
// or ten seconds where that is longer. Tools that run are stopped at it.
func TestCallsEndAtTheirDeadline(t *testing.T) {
	const s = time.Second
	for name, x := range map[string]struct {
		timeout time.Duration
		arrives time.Duration // each page
		late    time.Duration // the tool, in it
		runs    time.Duration // the tool
		ends    time.Duration
		reason  bridge.Reason // "" when it succeeds
		outcome bridge.Outcome
	}{
		"nothing is slow":       {20 * s, 0, 0, s, s, "", ""},
		"a slow tool":           {20 * s, 0, 0, 60 * s, 20 * s, bridge.Timeout, bridge.Unknown},
		"all is slow":           {20 * s, 7 * s, 4 * s, 60 * s, 20 * s, bridge.Timeout, bridge.Unknown},
		"slow, and in time":     {20 * s, 7 * s, 2 * s, s, 7*s + 100*time.Millisecond + 10*s, "", ""},
		"a short timeout":       {2 * s, 3 * s, 0, 60 * s, 3*s + 3*s + 2*s + 100*time.Millisecond, bridge.Timeout, bridge.Unknown},
		"a short one, all slow": {2 * s, 4 * s, s, 60 * s, 10 * s, bridge.Timeout, bridge.Unknown},
		"pages that are slower": {12 * s, 9 * s, 0, s, 12 * s, bridge.Overload, bridge.NotRun},
	} {
		t.Run(name, func(t *testing.T) {
			page := func(late time.Duration) sessiontest.Script {
				return func(d *sessiontest.Document) {
					tool := slow("slow", x.runs)
					tool.Annotations = json.RawMessage(`{"readOnlyHint":true}`)
					if late == 0 {
						d.Register(tool)
						return
					}
					d.Register(named("other"))
					later(late, func() { d.Register(tool) })
				}
			}
			arriving := func(_ *session.Options, e *sessiontest.Engine) {
				e.Arrive(address, func(ctx context.Context) error { return sessiontest.Wait(ctx, x.arrives) })
			}
			inWorld(t, first(page(0), page(x.late)), arriving, func(t *testing.T, w *world) {
				b, err := bridge.New(w.Manager, bridge.Options{})
				succeeds(t, err)
				defer b.Close()
				if x.arrives == 0 { // nor does the site have to be opened
					_, err := w.Await(t.Context(), ref(""))
					succeeds(t, err)
				}
				began := time.Now()
				_, err = b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: "slow", Caller: bridge.Local(), Input: value(t, `{}`),
					Config: json.RawMessage(fmt.Sprintf(`{"timeout":%d}`, x.timeout.Milliseconds()))})
				lasts(t, time.Since(began), x.ends)
				e, _ := errors.AsType[*bridge.Error](err)
				switch {
				case x.reason == "":
					succeeds(t, err)
				case e == nil || e.Reason != x.reason || e.Outcome != x.outcome:
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}

func value(t *testing.T, text string) bridge.Value {
	t.Helper()
	v, err := bridge.ReadValue("the arguments", json.RawMessage(text))
	succeeds(t, err)
	return v
}

// elusive is an engine whose pages register the tool that is called anew, each time, a
// moment before the call reaches them.
type elusive struct{ *sessiontest.Engine }

type elusiveTab struct {
	session.Tab

	in *sessiontest.Tab
}

func (e elusive) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	tab, err := e.Engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return elusiveTab{tab, tab.(*sessiontest.Tab)}, nil
}

func (t elusiveTab) Invoke(ctx context.Context, inv session.Invocation) bridge.Step {
	_ = sessiontest.Wait(ctx, 100*time.Millisecond)
	t.in.Document().Register(named("new"))
	return t.Tab.Invoke(ctx, inv)
}

// TestToolThatIsAlwaysNew (B9): a page that registers a tool anew whenever it is called keeps
// no call for ever, and none reaches it.
func TestToolThatIsAlwaysNew(t *testing.T) {
	always := func(o *session.Options, e *sessiontest.Engine) { o.Engine = elusive{e} }
	inWorld(t, func(d *sessiontest.Document) { d.Register(named("new")) }, always, func(t *testing.T, w *world) {
		catalog, err := w.Await(t.Context(), ref("s"))
		succeeds(t, err)
		lease, err := w.Acquire(t.Context(), ref("s"))
		succeeds(t, err)
		defer lease.Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err = came(lease.Invoke(ctx, bridge.Invocation{Tool: catalog.Tool("new"), Input: json.RawMessage("{}"),
			MaxBytes: 100, Patience: 5 * time.Second, Timeout: 5 * time.Second}))
		if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Outcome != bridge.NotRun {
			t.Errorf("it ended with %v", err) // whichever of the two clocks is first says why
		}
		lasts(t, time.Since(began), 5*time.Second)
		if n := w.engine.Runs("new"); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	})
}
