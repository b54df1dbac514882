package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// TestExplain: a call gets what is said of it before, with what each layer wanted; and asking has no
// effect, however often it is done.
func TestExplain(t *testing.T) {
	s := inMemory(t)
	inbox := bridgetest.Tool("inbox", "")
	inbox.Annotations, inbox.Origin = json.RawMessage(`{"readOnlyHint":true,"untrustedContentHint":true}`), "https://mail.example"
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", `{"type":"object","properties":{"n":{"type":"integer"}}}`), bridgetest.Tool("read", "")).Add("mail", inbox)
	o := bridge.SiteOptions{Approval: once.Approval, Rate: policy.Rate{N: 12, Per: 3600e9}}
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": o, "mail": {}}, Memory: s.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	explain := func(tool, input string, c bridge.Caller) *bridge.Explanation {
		t.Helper()
		in := bridge.Call{Site: "shop", Tool: tool, Caller: c}
		if input != "" {
			in.Input = bridgetest.JSON(input)
		}
		var x *bridge.Explanation
		for range 20 { // more than the rate
			if x, err = bridge.Explain(t.Context(), b, &in); err != nil {
				t.Fatal(err)
			}
		}
		return x
	}
	decided := func(x *bridge.Explanation) (all string) {
		for _, l := range x.Layers {
			if all += " " + l.Name + "=" + l.Level.String(); l.Decided {
				all += "!"
			}
		}
		return strings.TrimSpace(all)
	}
	x := explain("write", "", bridge.Local())
	if got := decided(x); got != "operator=ask-once! site=auto hints=auto request=auto taint=auto unseen=auto" || x.Level != policy.Once || x.Rule.Pattern != "write" || !x.Ruled || x.Grant != "" || x.Refused != nil {
		t.Errorf("%s, %+v", got, x)
	}
	if x = explain("write", `{"n":"x"}`, bridge.Local()); x.Refused == nil || x.Refused.Code != bridge.SchemaError || x.Level != policy.Once {
		t.Errorf("arguments that do not fit: %+v", x)
	}
	if x = explain("write", "", bridge.Caller{Name: "sees", May: []bridge.Right{bridge.MayView}}); x.Refused == nil || x.Refused.Code != bridge.Forbidden || x.Layers != nil {
		t.Errorf("a caller that may not call: %+v", x)
	}
	if x = explain("write", "", bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}, Sites: []string{"mail"}}); x.Refused == nil || x.Layers != nil {
		t.Errorf("a caller of another site: %+v", x)
	}
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	if x = explain("write", "", bridge.Local()); x.Grant == "" || x.Level != policy.Once {
		t.Errorf("consent that stands: %+v", x)
	}
	if x = explain("write", "", bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}); x.Grant != "" {
		t.Errorf("it stands for another caller: %+v", x)
	}
	if _, e := run(t, b, &bridge.Call{Site: "mail", Tool: "inbox", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}); e != nil {
		t.Fatal(e)
	}
	r.Declare("shop", bridgetest.Asking("write", `{"type":"object","properties":{"n":{"type":"integer"}}}`), bridgetest.Tool("read", ""), bridgetest.Asking("later", ""))
	if x = explain("write", "", bridge.Local()); decided(x) != "operator=ask-once site=auto hints=auto request=auto taint=ask! unseen=auto" || x.Grant != "" {
		t.Errorf("who read of strangers: %s, %+v", decided(x), x)
	}
	if unseen, err := bridge.Unseen(t.Context(), b, bridge.Local(), "shop"); err != nil || len(unseen) != 1 || unseen[0] != "later" {
		t.Errorf("unseen are %v, %v", unseen, err)
	}
	if x = explain("later", "", bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}); decided(x) != "operator=ask! site=auto hints=auto request=auto taint=auto unseen=ask" {
		t.Errorf("a tool that nobody saw: %s", decided(x))
	}
	if calls := r.Calls(); len(calls) != 2 {
		t.Errorf("the pages were asked: %v", calls)
	}
	if _, e := do(t, b, "read", `{}`, ""); e != nil {
		t.Errorf("it took from the rate: %v", e)
	}

	view := bridge.Caller{Name: "view", May: []bridge.Right{bridge.MayView}}
	if _, err := bridge.StandingGrants(t.Context(), b, view); bridge.AsError(err).Code != bridge.Forbidden {
		t.Errorf("who may only see reads the grants: %v", err)
	}
	all, err := bridge.StandingGrants(t.Context(), b, operator)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	elsewhere := operator
	elsewhere.Sites = []string{"mail"}
	if err := bridge.RevokeGrant(t.Context(), b, elsewhere, all[0].ID); bridge.AsError(err).Code != bridge.WebtoolNotFound {
		t.Errorf("an operator of another site revokes it: %v", err)
	}
	if err := bridge.RevokeGrant(t.Context(), b, operator, all[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := bridge.RevokeGrant(t.Context(), b, operator, all[0].ID); bridge.AsError(err).Code != bridge.WebtoolNotFound {
		t.Errorf("revoked twice: %v", err)
	}
	if unseen, _ := bridge.Unseen(t.Context(), b, bridge.Local(), "shop"); len(unseen) != 0 {
		t.Errorf("no consent stands, and unseen are %v", unseen)
	}
}
