package bridge_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// credential is a caller, and what takes their credential back.
func credential(name string) (bridge.Caller, func()) {
	revoked := make(chan struct{})
	return bridge.Caller{Name: name, May: []bridge.Right{bridge.MayCall}, Revoked: revoked}, func() { close(revoked) }
}

// TestRevokedCalls (X5): calls that wait for a person end with the credential that
// they came with; their questions are void and their tokens name nothing. Those of
// others, also of the same caller with a new credential, go on.
func TestRevokedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("ask", ""))
		p := &pages{steps: []bridge.Kind{bridge.Confirm}}
		r.Handle("shop", p.invoke)
		b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "ask", Level: policy.Auto}}}})
		defer b.Close()
		old, takeBack := credential("agent")
		rotated, _ := credential("agent")
		other, _ := credential("other")
		call := func(c bridge.Caller, tool string) bridge.Call {
			return bridge.Call{Site: "shop", Tool: tool, Caller: c, Input: bridgetest.JSON(`{"a":1}`)}
		}
		type waits struct {
			call     bridge.Call
			question string
			token    string
		}
		park := func(c bridge.Caller, tool string, code bridge.Code) waits {
			in := call(c, tool)
			q, token := parked(t, b, &in, code)
			return waits{in, q.ID, token}
		}
		consent, dialog := park(old, "write", bridge.ApprovalRequired), park(old, "ask", bridge.InputRequired)
		others := park(other, "write", bridge.ApprovalRequired)
		polls := make(chan *bridge.Error, 1)
		go func() {
			in := consent.call
			in.Config = json.RawMessage(resuming(consent.token))
			polls <- serve(context.Background(), b, &in).Err
		}()
		synctest.Wait()
		began := time.Now()

		takeBack()
		renewed := park(rotated, "write", bridge.ApprovalRequired)
		b.Revoke()
		want(t, <-polls, bridge.Forbidden, "", bridge.NotRun)
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		for _, x := range []waits{consent, dialog} {
			want(t, bridge.AsError(b.Answer(operator, x.question, bridge.Answer{OK: true})), bridge.Conflict, "", bridge.NotRun)
			again := x.call
			again.Caller = rotated
			_, e := resume(t, b, again, resuming(x.token))
			want(t, e, bridge.ResumeNotFound, "", bridge.Unknown)
		}
		if r.Leases() != 0 {
			t.Errorf("%d pages are held", r.Leases())
		}
		ran := len(r.Calls())
		for _, x := range []waits{others, renewed} { // the positive control
			if err := b.Answer(operator, x.question, bridge.Answer{OK: true}); err != nil {
				t.Errorf("%s: %v", x.call.Caller.Name, err)
			}
			synctest.Wait()
		}
		if n := len(r.Calls()); n != ran+2 {
			t.Errorf("%d calls ran of those that go on", n-ran)
		}
		in := call(old, "write")
		want(t, serve(t.Context(), b, &in).Err, bridge.Forbidden, "", bridge.NotRun)
	})
}

// TestRevokedWhileItRuns: a call that was in its page when the credential was revoked
// returns nothing to its caller, and does not stop at a question.
func TestRevokedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, asks := range []bool{false, true} {
			r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
			goes := make(chan struct{})
			p := &pages{}
			if asks {
				p.steps = []bridge.Kind{bridge.Confirm}
			}
			r.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
				<-goes
				return p.invoke(ctx, inv)
			})
			b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
			caller, takeBack := credential("agent")
			out := make(chan served, 1)
			go func() {
				out <- serve(context.Background(), b, &bridge.Call{Site: "shop", Tool: "ask", Caller: caller, Input: bridgetest.JSON(`{}`)})
			}()
			synctest.Wait()
			takeBack()
			b.Revoke()
			close(goes)
			got := <-out
			if got.Err == nil || got.Err.Outcome != bridge.Unknown || got.Data != nil {
				t.Errorf("asking %v: %v, %v", asks, got.Data, got.Err)
			}
			if list := bridgetest.Questions(b, operator); len(list) > 0 || r.Leases() != 0 {
				t.Errorf("asking %v: %d questions, %d pages held", asks, len(list), r.Leases())
			}
			b.Close()
		}
	})
}

// TestAnswerAfterTheCredential: an answer that comes when the credential was revoked
// a moment before does not let the call go on, in its page neither.
func TestAnswerAfterTheCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pages{steps: []bridge.Kind{bridge.Confirm}}
		b, r, call := stopping(t, p)
		defer b.Close()
		caller, takeBack := credential("agent")
		call.Caller = caller
		q, _ := parked(t, b, &call, bridge.InputRequired)
		takeBack()
		_ = b.Answer(operator, q.ID, bridge.Answer{OK: true}) // it was open
		synctest.Wait()
		if len(p.answers) != 1 || p.answers[0] != "null" || r.Leases() != 0 {
			t.Errorf("the page was told %q, and %d are held", p.answers, r.Leases())
		}
	})
}

// TestRevokeRaces revokes credentials while calls stop for a person: none of them
// waits afterwards.
func TestRevokeRaces(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	var wait sync.WaitGroup
	for range 50 {
		caller, takeBack := credential("agent")
		for range 4 {
			wait.Go(func() {
				for range 5 {
					serve(context.Background(), b, &bridge.Call{Site: "shop", Tool: "write", Caller: caller, Input: bridgetest.JSON(`{}`)})
				}
			})
		}
		wait.Go(func() { takeBack(); b.Revoke() })
	}
	wait.Wait()
	// What was about to ask is withdrawn in the background.
	bridgetest.Await(b, operator, func(open []bridge.OpenQuestion) bool { return len(open) == 0 })
	if len(r.Calls()) > 0 {
		t.Errorf("%d calls ran", len(r.Calls()))
	}
}

// TestSetRates: new rates count at once; who has the same rate as before has not more
// of it.
func TestSetRates(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	now := time.Unix(1e9, 0)
	once := policy.Rate{N: 1, Per: time.Hour}
	b, err := bridge.New(r, bridge.Options{Rates: map[string]policy.Rate{"a": once}, Now: func() time.Time { return now },
		Sites: map[string]bridge.SiteOptions{"shop": {Approval: policy.Operator{Mode: policy.ModeAuto}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	allowed := func(name string, want bool) {
		t.Helper()
		caller, _ := credential(name)
		_, e := run(t, b, &bridge.Call{Site: "shop", Tool: "read", Caller: caller, Input: bridgetest.JSON(`{}`)})
		if got := e == nil; got != want || e != nil && e.Code != bridge.RateLimit {
			t.Errorf("%s: %v", name, e)
		}
	}
	allowed("a", true)
	b.SetRates(map[string]policy.Rate{"a": once, "b": once})
	allowed("a", false)
	allowed("b", true)
	allowed("b", false)
	b.SetRates(map[string]policy.Rate{"a": {N: 5, Per: time.Hour}})
	allowed("a", true)
	allowed("b", true)
}
