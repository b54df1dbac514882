package bridge_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// TestAsksBeforehand: what would be asked about is known before a call: by the operator's rules, by
// what is declared, by consent that is kept, and by what the caller has read.
func TestAsksBeforehand(t *testing.T) {
	s, _ := kept(t, t.TempDir())
	untrusted := bridgetest.Tool("inbox", "")
	untrusted.Annotations = []byte(`{"readOnlyHint":true,"untrustedContentHint":true}`)
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("change", ""), bridgetest.Asking("write", ""), bridgetest.Asking("never", ""), untrusted)
	b := remembering(t, r, s.Memory, bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{
		{Pattern: "write", Level: policy.Once}, {Pattern: "never", Level: policy.Never}}}})
	asks := func(by bridge.Caller, want map[string]bool) {
		t.Helper()
		catalog, err := r.Catalog(bridge.Ref{Site: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range catalog.Tools() {
			if got := bridge.Asks(t.Context(), b, bridge.Ref{Site: "shop", Caller: by}, tool); got != want[tool.Name()] {
				t.Errorf("%s asks about %s: %v", by.Name, tool.Name(), got)
			}
		}
	}
	asks(bridge.Local(), map[string]bool{"change": true, "write": true})
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	asks(bridge.Local(), map[string]bool{"change": true}) // consent to "write" is kept
	asks(bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}, map[string]bool{"change": true, "write": true})
	asks(bridge.Caller{Name: "elsewhere", Sites: []string{"mail"}}, map[string]bool{})
}

// TestCardNeedsElicit: on a card, only the call's own caller answers and acts, with the right to
// elicit, and no question that may be another's; an operator's rights are none there. "always" is
// never kept.
func TestCardNeedsElicit(t *testing.T) {
	b, r, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Interact, bridge.Interact}})
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	long, err := b.LongCall(call.Caller, token)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	close(gone)
	revoked := call.Caller
	revoked.Revoked = gone
	for name, by := range map[string]bridge.Caller{
		"without the right": {Name: call.Caller.Name, May: []bridge.Right{bridge.MayCall, bridge.MayAnswer}},
		"another":           {Name: "other", May: []bridge.Right{bridge.MayCall, bridge.MayElicit, bridge.MayAnswer}},
		"revoked":           revoked,
	} {
		if err := long.AnswerOnCard(by, q.ID, bridge.Answer{OK: true}); bridge.AsError(err).Code != bridge.Forbidden {
			t.Errorf("%s answers: %v", name, err)
		}
		if _, err := long.LiveOnCard(t.Context(), by, q.ID); err == nil || bridge.AsError(err).Code != bridge.Forbidden || len(r.Views()) > 0 {
			t.Errorf("%s sees the page: %v", name, err)
		}
	}
	live, err := long.LiveOnCard(t.Context(), call.Caller, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	refusedWith(t, live.ActAll(t.Context(), []bridge.Input{aClick}), bridge.Conflict) // without the pen
	live.Take()
	refusedWith(t, live.ActAll(t.Context(), []bridge.Input{aClick, {Type: "drag"}}), bridge.SchemaError)
	if n := len(r.Views()[0].Acts()); n != 0 {
		t.Errorf("%d acts of a list with a wrong one", n)
	}
	if err := live.ActAll(t.Context(), []bridge.Input{aClick, aClick}); err != nil || len(r.Views()[0].Acts()) != 2 {
		t.Errorf("acts: %v", err)
	}
	refusedWith(t, long.AnswerOnCard(call.Caller, "another question", bridge.Answer{OK: true}), bridge.Conflict)
	if g, _ := long.Glance(); g.Question == nil || g.Question.ID != q.ID || !g.Picture || g.Over {
		t.Errorf("the question is %+v", g)
	}
	if err := long.AnswerOnCard(call.Caller, q.ID, bridge.Answer{OK: true, Always: true}); err != nil {
		t.Error(err)
	}
	for { // what the page asks next is not what the person sees
		g, changed := long.Glance()
		if g.Question != nil {
			break
		}
		<-changed
	}
	if refusedWith(t, live.ActAll(t.Context(), []bridge.Input{aClick}), bridge.Conflict); !live.Mine() {
		t.Error("the pen is gone")
	}
}
