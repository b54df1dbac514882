package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// ruled are rules of an operator for the shop: consent to buy may be kept.
var ruled = bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "b*", Level: policy.Once}}}}

// servePolicy is a page whose site shop is under those rules, and knows one caller.
func servePolicy(t *testing.T, o console.Options) *page {
	t.Helper()
	o.Callers = func() []bridge.Caller {
		return []bridge.Caller{{Name: "agent", May: []bridge.Right{bridge.MayCall}, Credential: "one"}, {Name: "banker", May: []bridge.Right{bridge.MayCall}, Sites: []string{"bank"}}}
	}
	o.RuleAt = func(site string, rule policy.Rule) string { return "rules.yaml:7 " + site + " " + rule.Pattern }
	p := servePageOf(t, memory(t), o, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": ruled}})
	p.Router.Add("bank", bridgetest.Tool("pay", ""))
	set, err := p.PrepareSites(map[string]bridge.SiteOptions{"shop": ruled, "bank": {}})
	if err != nil {
		t.Fatal(err)
	}
	set(func() {})
	return p
}

// always has a person agree to calls of buy for good.
func (p *page) always(t *testing.T, caller bridge.Caller) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := p.Start(ctx, &bridge.Call{Site: "shop", Tool: "buy", Caller: caller, Input: bridgetest.JSON(`{}`)})
	q, end := run.Next(ctx)
	if q == nil {
		t.Fatalf("it asks nothing: %+v", end)
	}
	if err := p.Answer(bridge.Caller{Name: "ada", May: []bridge.Right{bridge.MayAnswer}}, q.ID, bridge.Answer{OK: true, Always: true}); err != nil {
		t.Fatal(err)
	}
	if q, end := run.Next(ctx); q != nil || end.Err != nil {
		t.Fatalf("it ended with %+v", end)
	}
}

// TestPolicy: a caller with the right view reads what would become of a call, with every layer and the
// rule, for the sites that it sees; nothing comes of it.
func TestPolicy(t *testing.T) {
	p := servePolicy(t, console.Options{})
	ask := func(token, query string) (int, string) {
		t.Helper()
		return p.as(t, token, http.MethodGet, "/api/policy?"+query, "")
	}
	status, body := ask(viewing, "site=shop&tool=buy&caller=agent")
	for _, want := range []string{`"node":"here","site":"shop","tool":"buy","caller":"agent","known":true,"level":"ask-once","layer":"operator"`, `"mode":"ask"`,
		`"rule":{"pattern":"b*","origin":"","level":"ask-once","at":"rules.yaml:7 shop b*"}`, `{"name":"operator","level":"ask-once","reason":"the operator's rule \"b*\"","decided":true}`,
		`{"name":"unseen","level":"auto","reason":"","decided":false}`, `"standing":false`, `"refused":null`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("without %s: %d %s", want, status, body)
		}
	}
	for _, x := range []struct {
		token, query string
		status       int
		want         string
	}{
		{viewing, "site=shop&tool=buy&caller=stranger", 200, `"known":false,"level":"ask-once"`},
		{viewing, "site=shop&tool=buy&caller=banker", 200, `"known":true,"level":"","layer":"","reason":"","mode":"ask","rule":null,"layers":[],"standing":false,"refused":{`},
		{viewing, "site=shop&tool=buy&caller=agent&input=" + url.QueryEscape(`[]`), 200, `"message":"request must be a JSON object, such as {}."`},
		{viewing, "site=shop&tool=buy&caller=agent&input=%7B", 400, `input must be JSON`},
		{viewing, "site=shop&tool=none&caller=agent", 404, `WEBTOOL_NOT_FOUND`},
		{viewing, "site=shop&tool=buy", 400, `caller is missing`},
		{shopper, "site=bank&tool=pay&caller=agent", 404, `No site with this name is served.`},
		{agent, "site=shop&tool=buy&caller=agent", 403, `right view`},
	} {
		if status, body := ask(x.token, x.query); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s: %d %s, want %s", x.query, status, body, x.want)
		}
	}
	if _, body := p.as(t, viewing, http.MethodGet, "/api/callers", ""); body != `{"items":[{"node":"here","name":"agent","rights":["call"],"sites":null},{"node":"here","name":"banker","rights":["call"],"sites":["bank"]}],"next":null}` {
		t.Errorf("the callers are %s", body)
	}
	if _, body := p.as(t, shopper, http.MethodGet, "/api/callers", ""); strings.Contains(body, "bank") || !strings.Contains(body, `"sites":["shop"]`) {
		t.Errorf("who sees only the shop reads %s", body)
	}
	if calls := p.Router.Calls(); len(calls) != 0 || p.OpenQuestions() != 0 {
		t.Errorf("it had effects: %v", calls)
	}
}

// TestGrants: who may answer reads what consent stands, and whether it covers anything, and takes it back;
// what came after it is told as seen by nobody.
func TestGrants(t *testing.T) {
	there, err := bridge.New(bridgetest.NewRouter().Add("garden", bridgetest.Tool("dig", "")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(there.Close)
	peer := other{transport.Trusted(transport.NewMux(console.New(there, console.Options{Node: "there"}).Routes()...), person, transport.Options{})}
	p := servePolicy(t, console.Options{Peers: func() map[string]http.RoundTripper {
		return map[string]http.RoundTripper{"there": peer, "stuck": silent{}}
	}})
	one := bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}, Credential: "one"}
	two := one
	two.Credential = "two"
	p.always(t, two)
	p.always(t, one)
	list := func() (all []struct{ ID, Caller, Tool, GivenBy, State string }) {
		t.Helper()
		status, body := p.as(t, answerer, http.MethodGet, "/api/grants", "")
		var l struct {
			Items []struct{ ID, Caller, Tool, GivenBy, State string }
		}
		if json.Unmarshal([]byte(body), &l) != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return l.Items
	}
	all := list()
	if len(all) != 2 || all[0].State != "stands" || all[0].GivenBy != "ada" || all[0].Tool != "buy" || all[1].State != "credential" {
		t.Fatalf("the grants are %+v", all)
	}
	if _, body := p.as(t, viewing, http.MethodGet, "/api/policy?site=shop&tool=buy&caller=agent", ""); !strings.Contains(body, `"standing":true`) {
		t.Errorf("the call is %s", body)
	}
	if status, body := p.as(t, viewing, http.MethodGet, "/api/grants", ""); status != http.StatusForbidden {
		t.Errorf("who may only see reads %d %s", status, body)
	}
	p.Router.Declare("shop", bridgetest.Asking("buy", `{"type":"object","title":"other"}`), bridgetest.Tool("find", ""), bridgetest.Tool("later", ""))
	if now := list(); now[0].State != "changed" {
		t.Errorf("of a tool that changed: %+v", now)
	}
	if _, body := p.as(t, viewing, http.MethodGet, "/api/policy/unseen", ""); body != `{"items":[{"node":"here","site":"shop","tool":"later"}],"next":null,"missing":[{"node":"stuck"}]}` {
		t.Errorf("unseen are %s", body)
	}
	p.Router.Declare("shop")
	if now := list(); now[0].State != "gone" {
		t.Errorf("of a tool that is gone: %+v", now)
	}
	if status, body := p.as(t, viewing, http.MethodDelete, "/api/grants/"+all[0].ID, ""); status != http.StatusForbidden || len(list()) != 2 {
		t.Errorf("who may only see revokes: %d %s", status, body)
	}
	if status, body := p.as(t, shopper, http.MethodDelete, "/api/grants/"+all[0].ID, ""); status != http.StatusOK {
		t.Errorf("revoking: %d %s", status, body)
	}
	if status, body := p.as(t, answerer, http.MethodDelete, "/api/grants/"+all[0].ID, ""); status != http.StatusNotFound {
		t.Errorf("revoking again: %d %s", status, body)
	}
	if now := list(); len(now) != 1 || now[0].ID != all[1].ID {
		t.Errorf("left are %+v", now)
	}
}
