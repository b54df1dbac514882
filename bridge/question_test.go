package bridge_test

import (
	"context"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestForeignDialog (A4): a dialog that may be of another caller's call is not shown to the
// caller, and not answered by it in any way; an operator sees it, and whose call it may be.
func TestForeignDialog(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
	foreign := true
	r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm, Title: "The page asks.", Detail: "Delete Ann's account?", Among: 2, Foreign: foreign},
			bridgetest.Then(`"done"`))
	})
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	call := bridge.Call{Site: "shop", Tool: "ask", Input: bridgetest.JSON(`{}`),
		Caller: bridge.Caller{Name: "both", May: []bridge.Right{bridge.MayCall, bridge.MayAnswer, bridge.MayElicit}}}
	q, token := parked(t, b, &call, bridge.InputRequired)
	if q.Detail != "" || q.Among != 2 || q.Title == "The page asks." {
		t.Errorf("the caller is shown %+v", q)
	}
	_, e := resume(t, b, call, answering(token, q.ID))
	want(t, e, bridge.Forbidden, "", bridge.NotRun)
	run, err := b.Resume(t.Context(), &call, token)
	if err != nil {
		t.Fatal(err)
	}
	want(t, bridge.AsError(run.Elicited(q.ID, bridge.Answer{OK: true}, call.Caller)), bridge.Forbidden, "", bridge.NotRun)
	list := bridgetest.Questions(b, operator)
	if len(list) != 1 || list[0].Detail != "Delete Ann's account?" || list[0].Caller != "both" || list[0].Tool != "ask" {
		t.Fatalf("the operator sees %+v", list)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if got, e := resume(t, b, call, resuming(token)); e != nil || got != `"done"` {
		t.Errorf("got %s, %v", got, e)
	}
	foreign = false // the positive control: all of them are the caller's own
	q, token = parked(t, b, &call, bridge.InputRequired)
	if q.Detail != "Delete Ann's account?" {
		t.Errorf("the caller is shown %+v", q)
	}
	if got, e := resume(t, b, call, answering(token, q.ID)); e != nil || got != `"done"` {
		t.Errorf("got %s, %v", got, e)
	}
}

// TestNobodyActedInThePage (E9): a client's yes is no act in a page. Its no ends the question.
func TestNobodyActedInThePage(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Confirm, bridge.Interact, bridge.Interact}}
	b, _, call := stopping(t, p)
	defer b.Close()
	run := b.Start(t.Context(), &call)
	q, _ := run.Next(t.Context())
	if err := run.Elicited(q.ID, bridge.Answer{OK: true}, call.Caller); err != nil { // the control
		t.Fatal(err)
	}
	q, _ = run.Next(t.Context())
	want(t, bridge.AsError(run.Elicited(q.ID, bridge.Answer{OK: true}, call.Caller)), bridge.Forbidden, "", bridge.NotRun)
	if now := run.Asks(); now == nil || now.ID != q.ID {
		t.Fatalf("then it asks %+v", now)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	q, _ = run.Next(t.Context())
	if err := run.Elicited(q.ID, bridge.Answer{}, call.Caller); err != nil {
		t.Errorf("a no is refused: %v", err)
	}
	if _, end := run.Next(t.Context()); string(end.Data) != `["{\"ok\":true}","{\"ok\":true}","{\"ok\":false}"]` {
		t.Errorf("it ended with %s, %v", end.Data, end.Err)
	}
}
