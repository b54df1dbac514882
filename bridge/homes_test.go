package bridge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// beside returns bridges over routers of their own, in the processes of one folder.
func beside(t *testing.T, f *bridgetest.Folder, names ...string) (all []*bridge.Bridge, of []*bridgetest.Router) {
	t.Helper()
	for _, name := range names {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Asking("other", ""))
		r.Add("bank", bridgetest.Asking("write", ""))
		b, err := bridge.New(r, bridge.Options{Memory: bridge.Memory{Homes: f.Process(name)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		all, of = append(all, b), append(of, r)
	}
	return all, of
}

// TestTokensOfOtherProcesses (N2): a token of another living process is told to be one; every other
// token that is not known says that its call may have run. No message advises to make the call
// again.
func TestTokensOfOtherProcesses(t *testing.T) {
	f := &bridgetest.Folder{}
	all, routers := beside(t, f, "ONE45672", "TWO45672", "DEAD4567")
	one, two, dead := all[0], all[1], all[2]
	call := write(`{"a":1}`)
	q, token := parked(t, one, &call, bridge.ApprovalRequired)
	spent := write(`{}`)
	sq, told := parked(t, one, &spent, bridge.ApprovalRequired)
	if err := one.Answer(operator, sq.ID, bridge.Answer{}); err != nil {
		t.Fatal(err)
	}
	_, _ = resume(t, one, spent, resuming(told))
	_, lost := parked(t, dead, &call, bridge.ApprovalRequired)
	f.Kill("DEAD4567")
	rest := token[8:]
	foreign, elsewhere, onBank := call, call, call
	foreign.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
	elsewhere.Input, onBank.Site = bridgetest.JSON(`{"a":2}`), "bank"
	alone := open(t, routers[1], bridge.SiteOptions{})
	defer alone.Close()
	for why, x := range map[string]struct {
		at      *bridge.Bridge
		call    bridge.Call
		token   string
		code    bridge.Code
		reason  bridge.Reason
		outcome bridge.Outcome
	}{
		"of another process":                      {two, call, token, bridge.Conflict, bridge.Elsewhere, bridge.Unknown},
		"of another process, told":                {two, call, told, bridge.Conflict, bridge.Elsewhere, bridge.Unknown},
		"of another process, for another caller":  {two, foreign, token, bridge.Conflict, bridge.Elsewhere, bridge.Unknown},
		"of another process, for another call":    {two, elsewhere, token, bridge.Conflict, bridge.Elsewhere, bridge.Unknown},
		"of another process, on another site":     {two, onBank, token, bridge.Conflict, bridge.Elsewhere, bridge.Unknown},
		"of a process that has ended":             {two, call, lost, bridge.ResumeNotFound, "", bridge.Unknown},
		"of a process that has ended, at a third": {one, call, lost, bridge.ResumeNotFound, "", bridge.Unknown},
		"of a process that never was":             {two, call, "NEVER234" + rest, bridge.ResumeNotFound, "", bridge.Unknown},
		"of this process, told":                   {one, call, told, bridge.ResumeNotFound, "", bridge.Unknown},
		"of this process, never made":             {two, call, "TWO45672" + rest, bridge.ResumeNotFound, "", bridge.Unknown},
		"of another caller":                       {one, foreign, token, bridge.ResumeNotFound, "", bridge.Unknown},
		"of a folder that this one has not":       {alone, call, token, bridge.ResumeNotFound, "", bridge.Unknown},
		"too short":                               {two, call, token[:len(token)-1], bridge.ResumeNotFound, "", bridge.NotRun},
		"too long":                                {two, call, token + "A", bridge.ResumeNotFound, "", bridge.NotRun},
		"in small letters":                        {two, call, strings.ToLower(token), bridge.ResumeNotFound, "", bridge.NotRun},
		"with a space":                            {two, call, " " + token[1:], bridge.ResumeNotFound, "", bridge.NotRun},
		"the name of a process":                   {two, call, token[:8], bridge.ResumeNotFound, "", bridge.NotRun},
		"a question":                              {two, call, q.ID, bridge.ResumeNotFound, "", bridge.NotRun},
	} {
		_, e := resume(t, x.at, x.call, resuming(x.token))
		want(t, e, x.code, x.reason, x.outcome)
		for _, words := range []string{"anew", "call again", "run again", "without resume"} {
			if strings.Contains(e.Message, words) {
				t.Errorf("%s: %q advises to repeat the call", why, e.Message)
			}
		}
	}
	if err := one.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if got, e := resume(t, one, call, resuming(token)); e != nil || got != `{"a":1}` {
		t.Errorf("at its own process: %s, %v", got, e)
	}
	if n, m := len(routers[0].Calls()), len(routers[1].Calls()); n != 1 || m != 0 {
		t.Errorf("%d and %d calls ran", n, m)
	}
}

// TestForeignSessionsAskNobody (N3): a call whose session another process has is refused before a
// person is asked, whatever it calls. Where the store cannot say, too.
func TestForeignSessionsAskNobody(t *testing.T) {
	f := &bridgetest.Folder{}
	all, routers := beside(t, f, "ONE45672", "TWO45672")
	agent := bridge.Caller{Name: "agent", Credential: "c", May: []bridge.Right{bridge.MayCall}}
	if _, err := f.Process("ONE45672").Open(t.Context(), bridge.SessionName{Caller: "agent", Site: "shop", ID: "s"}); err != nil {
		t.Fatal(err)
	}
	call := func(session, tool string) *bridge.Call {
		return &bridge.Call{Site: "shop", Tool: tool, Session: session, Caller: agent, Input: bridgetest.JSON(`{}`)}
	}
	for _, tool := range []string{"write", "nowhere", ""} {
		want(t, serve(t.Context(), all[1], call("s", tool)).Err, bridge.Conflict, bridge.Elsewhere, bridge.NotRun)
	}
	if list := bridgetest.Questions(all[1], operator); len(list) != 0 {
		t.Errorf("somebody is asked %v", list)
	}
	parked(t, all[0], call("s", "write"), bridge.ApprovalRequired)
	parked(t, all[1], call("t", "write"), bridge.ApprovalRequired)
	f.Kill("ONE45672")
	parked(t, all[1], call("s", "write"), bridge.ApprovalRequired)
	before := f.Calls()
	for _, c := range []*bridge.Call{call("", "write"), call(bridge.Unnamed, "write"), {Site: "shop", Tool: "write", Session: "s", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}} {
		parked(t, all[1], c, bridge.ApprovalRequired)
	}
	if n := f.Calls() - before; n != 0 {
		t.Errorf("calls of no named session asked the store %d times", n)
	}
	want(t, bridge.NoHome(bridge.SessionName{ID: "s"}, errors.New("the disk is full")), bridge.InternalError, bridge.Internal, bridge.NotRun)
	for i, r := range routers {
		if n := len(r.Calls()); n != 0 {
			t.Errorf("%d ran at %d", n, i)
		}
	}
}
