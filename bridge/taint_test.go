package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// failing keeps taints, or fails.
type failing struct {
	mu     sync.Mutex
	err    error
	writes int
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) Taint(context.Context, string, string, time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	return f.err
}

func (f *failing) Tainted(context.Context, string, string, time.Time) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return false, f.err
}

// untrusting has a tool whose results are untrusted, one that only reads, and one that changes something.
func untrusting() *bridgetest.Router {
	inbox := bridgetest.Tool("inbox", "")
	inbox.Annotations = json.RawMessage(`{"readOnlyHint":true,"untrustedContentHint":true}`)
	inbox.Origin = "https://mail.example"
	return bridgetest.NewRouter().Add("mail", inbox).Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("read", ""))
}

// nodeWith is a bridge of a node of a cluster; alone, one of a process.
func nodeWith(t *testing.T, r *bridgetest.Router, taints bridge.Taints, alone bool) *bridge.Bridge {
	t.Helper()
	auto := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}
	o := bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": auto, "mail": auto}, Memory: bridge.Memory{Taints: taints}}
	if !alone {
		o.Node = func() string { return "K3X9QAAB" }
	}
	b, err := bridge.New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

var errEngine = errors.New("the engine does not answer")

// TestTaintIsKnownFirst: in a cluster, nobody gets anything of an untrusted page before every node knows
// who does: no result, no error in the page's words, no question and no progress. A process alone goes on.
func TestTaintIsKnownFirst(t *testing.T) {
	secret := func(e error) bool { return e != nil && strings.Contains(e.Error(), "SECRET") }
	for name, end := range map[string]bridgetest.Handler{
		"a result": func(context.Context, bridge.Invocation) bridge.Step {
			return bridge.Step{Data: json.RawMessage(`"SECRET"`)}
		},
		"an error": func(context.Context, bridge.Invocation) bridge.Step {
			return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "SECRET").Step()
		},
		"a question": func(context.Context, bridge.Invocation) bridge.Step {
			return bridge.Step{Pause: &bridge.Pause{Question: bridge.Question{Kind: bridge.Confirm, Title: "SECRET"},
				Continue: func(context.Context, *bridge.Answer) bridge.Step {
					return bridge.Step{Data: json.RawMessage(`"SECRET"`)}
				}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			taints := &failing{}
			call := func(b *bridge.Bridge) ([]byte, *bridge.Error) {
				return run(t, b, &bridge.Call{Site: "mail", Tool: "inbox", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
			}
			r := untrusting()
			r.Handle("mail", end)
			b := nodeWith(t, r, taints, false)
			if data, e := call(b); !strings.Contains(string(data), "SECRET") && !secret(e) && (e == nil || e.Code != bridge.InputRequired) {
				t.Fatalf("the control: %s, %v", data, e)
			}
			taints.fail(errEngine)
			b = nodeWith(t, r, taints, false)
			data, e := call(b)
			want(t, e, bridge.InternalError, bridge.NoQuorum, bridge.Unknown)
			if len(data) > 0 || secret(e) || len(bridgetest.Questions(b, operator)) > 0 || r.Leases() > 0 && name != "a question" {
				t.Errorf("%s, %v; pages that are held: %d", data, e, r.Leases())
			}
			if data, e := call(nodeWith(t, r, taints, true)); !strings.Contains(string(data), "SECRET") && !secret(e) && (e == nil || e.Code != bridge.InputRequired) {
				t.Errorf("a process alone: %s, %v", data, e)
			}
		})
	}
}

// TestTaintsThatCannotBeRead (scale 25.1): in a cluster whose engine is gone, calls that only read go on,
// and those that may change something are asked about.
func TestTaintsThatCannotBeRead(t *testing.T) {
	taints := &failing{}
	b := nodeWith(t, untrusting(), taints, false)
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Fatalf("the control: %v", e)
	}
	taints.fail(errEngine)
	if _, e := do(t, b, "read", `{}`, ""); e != nil {
		t.Errorf("reading: %v", e)
	}
	call := write(`{}`)
	parked(t, b, &call, bridge.ApprovalRequired)
}

// TestTaintsAreWrittenSeldom: a caller that reads on is written once in a minute.
func TestTaintsAreWrittenSeldom(t *testing.T) {
	taints := &failing{}
	b := nodeWith(t, untrusting(), taints, false)
	for range 20 {
		if _, e := run(t, b, &bridge.Call{Site: "mail", Tool: "inbox", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}); e != nil {
			t.Fatal(e)
		}
	}
	if taints.writes != 1 {
		t.Errorf("%d writes", taints.writes)
	}
}

// TestProgressOfTaint: what an untrusted page says on its way is told when every node knows, and never
// where that cannot be.
func TestProgressOfTaint(t *testing.T) {
	for _, fails := range []error{nil, errEngine} {
		synctest.Test(t, func(t *testing.T) {
			r := untrusting()
			r.Handle("mail", func(_ context.Context, inv bridge.Invocation) bridge.Step {
				for part := 1; part <= 3; part++ {
					inv.Progress(bridge.Progress{Parts: part, Last: json.RawMessage(`"SECRET"`)})
				}
				synctest.Wait()
				return bridge.Step{Data: json.RawMessage(`1`)}
			})
			b := nodeWith(t, r, &failing{err: fails}, false)
			s := b.Start(t.Context(), &bridge.Call{Site: "mail", Tool: "inbox", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
			p, _ := s.Progress()
			if fails == nil && (p == nil || p.Parts != 3) || fails != nil && p != nil {
				t.Errorf("with %v: %+v", fails, p)
			}
			if _, end := s.Next(t.Context()); (end.Err != nil) != (fails != nil) {
				t.Error(end.Err)
			}
			b.Close()
		})
	}
}
