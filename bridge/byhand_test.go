package bridge_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// TestByHand: what a person saw is their consent to a call that they make by hand, and to nothing
// else: not to another definition, to other arguments, to a level that rose meanwhile, to what the
// operator refuses; it gives no grant.
func TestByHand(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Asking("delete", ""), bridgetest.Tool("read", ""))
	b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "delete", Level: policy.Never}}}})
	list, err := b.Tools(t.Context(), bridge.Ref{Site: "shop", Caller: bridge.Local()})
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, tool := range list.Tools {
		digests[tool.Name()] = tool.Digest()
	}
	const input = `{"a":1}`
	sum := sha256.Sum256([]byte(input))
	saw := bridge.ByHand{Definition: digests["write"], Arguments: hex.EncodeToString(sum[:]), Level: policy.Ask}
	call := func(tool, config string, h *bridge.ByHand) *bridge.Error {
		_, e := run(t, b, &bridge.Call{Site: "shop", Tool: tool, Caller: bridge.Local(), Input: bridgetest.JSON(input), Config: []byte(config), ByHand: h})
		return e
	}
	for name, change := range map[string]func(*bridge.ByHand){
		"definition": func(h *bridge.ByHand) { h.Definition = digests["read"] },
		"arguments":  func(h *bridge.ByHand) { h.Arguments = "" },
		"level":      func(h *bridge.ByHand) { h.Level = policy.Auto },
	} {
		other := saw
		change(&other)
		e := call("write", "", &other)
		want(t, e, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		if e.Details["changed"] != name {
			t.Errorf("%s: %v", name, e.Details)
		}
	}
	never := saw
	never.Definition, never.Level = digests["delete"], policy.Never
	want(t, call("delete", "", &never), bridge.ApprovalDenied, "", bridge.NotRun)
	want(t, call("write", "", nil), bridge.ApprovalRequired, "", bridge.NotRun) // the control
	if calls := r.Calls(); len(calls) != 0 {
		t.Fatalf("it ran: %v", calls)
	}
	if e := call("write", "", &saw); e != nil || len(r.Calls()) != 1 {
		t.Errorf("what was seen: %v, %v", e, r.Calls())
	}
	if e := call("read", "", nil); e != nil {
		t.Error(e)
	}
	want(t, call("write", "", nil), bridge.ApprovalRequired, "", bridge.NotRun) // it was for one call
	changed := bridgetest.Asking("write", "")
	changed.Description += " And more."
	r.Declare("shop", changed)
	want(t, call("write", "", &saw), bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
}
