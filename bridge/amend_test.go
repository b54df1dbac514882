package bridge_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

const orderSchema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":9},"s":{"type":"string"}}}`

func allow(input string) (bridge.Answer, bridge.Amendment) {
	return bridge.Answer{OK: true}, bridge.Amendment{Input: bridgetest.JSON(input)}
}

// TestChangedArguments: a call runs with the arguments that an operator gave with their yes, after the audit
// has both digests, and its caller is told. A token and a key mean the call as it was sent.
func TestChangedArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("order", orderSchema))
		audit := &spyAudit{}
		b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{})
		defer b.Close()
		var before []bridge.AuditRecord
		r.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
			before = audit.take()
			return bridge.Step{Data: inv.Input}
		})
		call := bridge.Call{Site: "shop", Tool: "order", Caller: bridge.Local(), Input: bridgetest.JSON(`{"n":7}`), Key: "k", TellsChanges: true}
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		if open := bridgetest.Questions(b, operator); len(open) != 1 || !open[0].Edit {
			t.Fatalf("it cannot be edited: %+v", open)
		}
		if s, err := bridge.ArgumentsSchema(b, operator, q.ID); err != nil || !strings.Contains(string(s), `"maximum":9`) {
			t.Errorf("the schema is %s, %v", s, err)
		}
		a, bad := allow(`{"n":10}`)
		err := bridge.AsError(bridge.AnswerWith(b, operator, q.ID, a, bad))
		want(t, err, bridge.SchemaError, "", bridge.NotRun)
		if at, _ := err.Details["errors"].([]map[string]string); len(at) != 1 || at[0]["pointer"] != "/n" {
			t.Errorf("what does not fit is %v", err.Details)
		}
		a, more := allow(`{"n":2, "s":"x"}`)
		if err := bridge.AnswerWith(b, operator, q.ID, a, more); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(before) != 1 || len(before[0].Requested) != 64 || len(before[0].Arguments) != 64 || before[0].Requested == before[0].Arguments ||
			before[0].Approval != q.ID || before[0].Approver != "person" {
			t.Fatalf("before the call, the audit has %+v", before)
		}
		again := call
		end := serve(t.Context(), b, &again) // the same key
		if end.Err != nil || string(end.Data) != `{"n":2, "s":"x"}` || end.Changed == nil || end.Changed.By != "person" || string(end.Changed.Input) != `{"n":2, "s":"x"}` {
			t.Fatalf("got %s, %v, %+v", end.Data, end.Err, end.Changed)
		}
		resumed := call
		resumed.Key, resumed.Config = "", []byte(resuming(token))
		if end := serve(t.Context(), b, &resumed); end.Err != nil || end.Changed == nil {
			t.Errorf("by its token: %v, %+v", end.Err, end.Changed)
		}
		if calls := r.Calls(); len(calls) != 1 {
			t.Errorf("it ran %d times", len(calls))
		}
	})
}

// TestChangedAreRefused: changed arguments go with a yes to one call, where the reply tells it and all arguments are
// shown, and with nothing else; a tool that changed meanwhile, and one that is forbidden now, do not run with them.
func TestChangedAreRefused(t *testing.T) {
	secret := bridgetest.Asking("secret", `{"type":"object","properties":{"pw":{"type":"string","writeOnly":true}}}`)
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("order", orderSchema), secret)
	b := remembering(t, r, inMemory(t).Memory, bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "order", Level: policy.Once}}}})
	for name, x := range map[string]struct {
		tool  string
		tells bool
		a     bridge.Answer
		more  bridge.Amendment
	}{
		"a no":            {"order", true, bridge.Answer{}, bridge.Amendment{Input: bridgetest.JSON(`{"n":1}`)}},
		"always":          {"order", true, bridge.Answer{OK: true, Always: true}, bridge.Amendment{Input: bridgetest.JSON(`{"n":1}`)}},
		"not told":        {"order", false, bridge.Answer{OK: true}, bridge.Amendment{Input: bridgetest.JSON(`{"n":1}`)}},
		"a secret":        {"secret", true, bridge.Answer{OK: true}, bridge.Amendment{Input: bridgetest.JSON(`{}`)}},
		"no object":       {"order", true, bridge.Answer{OK: true}, bridge.Amendment{Input: bridgetest.JSON(`[]`)}},
		"too long":        {"order", true, bridge.Answer{OK: true}, bridge.Amendment{Input: bridgetest.JSON(`{"n":1,"s":"` + strings.Repeat("x", 256<<10) + `"}`)}},
		"a yes, and why":  {"order", true, bridge.Answer{OK: true}, bridge.Amendment{Reason: "because"}},
		"a reason of 201": {"order", true, bridge.Answer{}, bridge.Amendment{Reason: strings.Repeat("é", 201)}},
	} {
		call := bridge.Call{Site: "shop", Tool: x.tool, Caller: bridge.Local(), Input: bridgetest.JSON(`{"n":7}`), TellsChanges: x.tells}
		q, _ := parked(t, b, &call, bridge.ApprovalRequired)
		if err := bridge.AnswerWith(b, operator, q.ID, x.a, x.more); err == nil || bridge.AsError(err).Code != bridge.SchemaError {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := bridge.ArgumentsSchema(b, operator, q.ID); err != nil || (s != nil) != (x.tool == "order" && x.tells) {
			t.Errorf("%s: the schema is %s, %v", name, s, err)
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil { // it is still open
			t.Errorf("%s: %v", name, err)
		}
	}
	call := bridge.Call{Site: "shop", Tool: "order", Caller: bridge.Local(), Input: bridgetest.JSON(`{"n":7}`), TellsChanges: true}
	q, token := parked(t, b, &call, bridge.ApprovalRequired)
	r.Declare("shop", bridgetest.Asking("order", strings.Replace(orderSchema, "9", "1", 1)))
	a, more := allow(`{"n":2}`)
	if err := bridge.AnswerWith(b, operator, q.ID, a, more); err != nil {
		t.Fatal(err)
	}
	_, e := resume(t, b, call, resuming(token))
	want(t, e, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
	if c := e.ChangedOf(); c == nil || string(c.Input) != `{"n":2}` {
		t.Errorf("of the change it says %+v", c)
	}
	call.Input = bridgetest.JSON(`{"n":0}`)
	q, token = parked(t, b, &call, bridge.ApprovalRequired)
	a, more = allow(`{"n":1}`)
	never := bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "order", Level: policy.Never}}}}
	set, err := b.PrepareSites(map[string]bridge.SiteOptions{"shop": never})
	if err != nil {
		t.Fatal(err)
	}
	set(func() { r.Renew("shop", bridgetest.Asking("order", strings.Replace(orderSchema, "9", "1", 1))) })
	if err := bridge.AnswerWith(b, operator, q.ID, a, more); err != nil {
		t.Fatal(err)
	}
	_, e = resume(t, b, call, resuming(token))
	want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
	if calls := r.Calls(); len(calls) != 0 {
		t.Errorf("it ran: %v", calls)
	}
}

// TestReason: the caller of a call that is refused gets the person's words, as theirs, on one line.
func TestReason(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Asking("order", "")), bridge.SiteOptions{})
	defer b.Close()
	call := bridge.Call{Site: "shop", Tool: "order", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	q, token := parked(t, b, &call, bridge.ApprovalRequired)
	if err := bridge.AnswerWith(b, operator, q.ID, bridge.Answer{}, bridge.Amendment{Reason: " too\n\"dear\"\u202e: ask\tme first "}); err != nil {
		t.Fatal(err)
	}
	_, e := resume(t, b, call, resuming(token))
	want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
	if e.Details["reason"] != `too "dear": ask me first` || e.Message != `"order" was refused: a person said no. The person says: "too \"dear\": ask me first"` {
		t.Errorf("it says %q, and %v", e.Message, e.Details)
	}
}
