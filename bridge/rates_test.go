package bridge_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// limited is a bridge over one site, "shop", in a synctest bubble.
func limited(t *testing.T, o bridge.Options) (*bridge.Bridge, *bridgetest.Router) {
	t.Helper()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", `{"type":"object","properties":{"n":{"type":"integer"}}}`), bridgetest.Asking("write", ""), bridgetest.Tool("list", ""))
	b, err := bridge.New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

func callOf(caller, tool string) *bridge.Call {
	return &bridge.Call{Site: "shop", Tool: tool, Caller: bridge.Caller{Name: caller, May: []bridge.Right{bridge.MayCall}}, Input: bridgetest.JSON(`{}`)}
}

// limitedBy checks a refusal, and returns how long it says to wait.
func limitedBy(t *testing.T, e *bridge.Error, limit policy.Limit) time.Duration {
	t.Helper()
	want(t, e, bridge.RateLimit, "", bridge.NotRun)
	if e.Details["limit"] != string(limit) || e.Retry <= 0 {
		t.Errorf("details %v, retry after %v", e.Details, e.Retry)
	}
	return e.Retry
}

// TestRate: each limit refuses by its name, and who waits as long as it says is
// served.
func TestRate(t *testing.T) {
	minute := policy.Rate{N: 2, Per: time.Minute}
	for limit, o := range map[policy.Limit]bridge.Options{
		policy.LimitCaller: {Rates: map[string]policy.Rate{"agent": minute}},
		policy.LimitSite:   {Sites: map[string]bridge.SiteOptions{"shop": {Rate: minute}}},
		policy.LimitTool:   {Sites: map[string]bridge.SiteOptions{"shop": {Rates: []policy.RateRule{{Pattern: "re*", Rate: minute}}}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, r := limited(t, o)
			for range 2 {
				if _, e := run(t, b, callOf("agent", "read")); e != nil {
					t.Fatal(e)
				}
			}
			_, e := run(t, b, callOf("agent", "read"))
			wait := limitedBy(t, e, limit)
			if wait > 30*time.Second+time.Millisecond {
				t.Errorf("%s: retry after %v", limit, wait)
			}
			if _, e := run(t, b, callOf("agent", "list")); (e == nil) != (limit == policy.LimitTool) {
				t.Errorf("%s: another tool gets %v", limit, e)
			}
			// A proxy or a client waits whole seconds.
			<-time.After(wait.Truncate(time.Second) + time.Second)
			if _, e := run(t, b, callOf("agent", "read")); e != nil {
				t.Errorf("%s: after the wait: %v", limit, e)
			}
			if _, e = run(t, b, callOf("other", "read")); e != nil { // a flood is nobody else's
				t.Errorf("%s: another caller gets %v", limit, e)
			}
			if len(r.Calls()) < 3 {
				t.Errorf("%d ran", len(r.Calls()))
			}
		})
	}
}

// TestNonsenseCounts (B10): calls that cannot run count as others do.
func TestNonsenseCounts(t *testing.T) {
	for what, bad := range map[string]func(*bridge.Call){
		"tool": func(c *bridge.Call) { c.Tool = "nope" }, "input": func(c *bridge.Call) { c.Input = bridgetest.JSON(`{"n":"x"}`) },
		"config": func(c *bridge.Call) { c.Config = json.RawMessage(`{"nope":1}`) }, "version": func(c *bridge.Call) { c.Version = "9.9.9" },
	} {
		synctest.Test(t, func(t *testing.T) {
			b, _ := limited(t, bridge.Options{Rates: map[string]policy.Rate{"agent": {N: 2, Per: time.Hour}}})
			defer b.Close()
			for n := range 4 {
				c := callOf("agent", "read")
				bad(c)
				if _, e := run(t, b, c); e == nil || (e.Code == bridge.RateLimit) != (n >= 2) {
					t.Errorf("%s: the bad call %d gets %v", what, n, e)
				}
			}
		})
	}
}

// TestCountedOnce: a call that a person stopped, or that is sent again with its
// key, is one call.
func TestCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := limited(t, bridge.Options{Rates: map[string]policy.Rate{"agent": {N: 2, Per: 12 * time.Hour}}})
		defer b.Close()
		call := *callOf("agent", "write")
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		if _, e := resume(t, b, call, resuming(token)); e != nil {
			t.Fatal(e)
		}
		for range 5 {
			c := callOf("agent", "read")
			c.Key = "k"
			if _, e := run(t, b, c); e != nil {
				t.Fatal(e)
			}
		}
		if len(r.Calls()) != 2 {
			t.Errorf("%d ran", len(r.Calls()))
		}
		c := callOf("agent", "read") // the control: both are used up
		c.Key = "other"
		_, e := run(t, b, c)
		limitedBy(t, e, policy.LimitCaller)
		<-time.After(6 * time.Hour)
		if _, e := run(t, b, c); e != nil { // a key whose call was refused is free
			t.Error(e)
		}
	})
}

// TestR40LightCaller: two callers on one site. One calls as fast as it is let; the
// other, within its part, is served each time, as if it were alone.
func TestR40LightCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r := limited(t, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Rate: policy.Rate{N: 20, Per: time.Minute}}}})
		served, refused := map[string]int{}, map[string]int{}
		call := func(name string) {
			if _, e := run(t, b, callOf(name, "read")); e != nil {
				limitedBy(t, e, policy.LimitSite)
				refused[name]++
				return
			}
			served[name]++
		}
		call("light")
		call("heavy")
		<-time.After(time.Minute)
		for i := range 10 * 60 { // ten minutes, a second at a time
			<-time.After(time.Second)
			for range gatetest.Amount(10, 50) {
				call("heavy")
			}
			if i%10 == 9 {
				call("light")
			}
		}
		if served["light"] != 61 || refused["light"] != 0 {
			t.Errorf("the light caller: %d served, %d refused", served["light"], refused["light"])
		}
		// The heavy one has its half, too: ten at once and ten a minute, and what it had alone.
		if n := served["heavy"]; n < 100 || n > 20+10*11 {
			t.Errorf("the heavy caller: %d served", n)
		}
		if refused["heavy"] == 0 || len(r.Calls()) != served["heavy"]+served["light"] {
			t.Error("there was no flood")
		}
	})
}

// TestReadingCounts (B10): a request that runs no tool takes from the caller's rate, and from
// that of a site that the caller sees.
func TestReadingCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hourly := policy.Rate{N: 2, Per: time.Hour}
		b, _ := limited(t, bridge.Options{Rates: map[string]policy.Rate{"agent": hourly}, Sites: map[string]bridge.SiteOptions{"shop": {Rate: hourly}}})
		defer b.Close()
		blind := bridge.Caller{Name: "blind", May: []bridge.Right{bridge.MayCall}, Sites: []string{}}
		for range 5 { // what it cannot see, it cannot use up
			if e := b.Count(bridge.Ref{Site: "shop", Caller: blind}); e != nil {
				t.Fatal(e)
			}
		}
		agent := callOf("agent", "read").Caller
		if e := b.Count(bridge.Ref{Caller: agent}); e != nil {
			t.Fatal(e)
		}
		if _, e := run(t, b, callOf("agent", "read")); e != nil {
			t.Fatal(e)
		}
		limitedBy(t, b.Count(bridge.Ref{Site: "shop", Caller: agent}), policy.LimitCaller)
		_, e := run(t, b, callOf("agent", "read"))
		limitedBy(t, e, policy.LimitCaller)
		seeing := callOf("other", "read").Caller
		if e := b.Count(bridge.Ref{Site: "shop", Caller: seeing}); e != nil { // its part of the site's rate
			t.Fatal(e)
		}
		limitedBy(t, b.Count(bridge.Ref{Site: "shop", Caller: seeing}), policy.LimitSite)
	})
}

// TestRateOfGrant (reach 3): two people of one grant do not share its rate, and a new token of the
// same person does not fill it again.
func TestRateOfGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := limited(t, bridge.Options{})
		of := func(who, token string) *bridge.Call {
			c := callOf("acme:"+who, "read")
			c.Caller.Rate, c.Caller.CredentialID = policy.Rate{N: 2, Per: time.Minute}, token
			return c
		}
		for _, who := range []string{"ann", "bob"} {
			for _, token := range []string{"1", "2"} {
				if _, e := run(t, b, of(who, token)); e != nil {
					t.Fatalf("%s, token %s: %v", who, token, e)
				}
			}
			_, e := run(t, b, of(who, "3"))
			limitedBy(t, e, policy.LimitCaller)
		}
		ref := bridge.Ref{Site: "shop", Caller: of("ann", "4").Caller}
		if e := b.Count(ref); e == nil {
			t.Error("a list is not counted")
		}
	})
}
