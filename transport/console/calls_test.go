package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// list is one part of the list of calls.
type list struct {
	Items []struct {
		Node, Call, Site, Tool, Caller, Status, Stage, Code, Decision, Rule, Approver, Approval string
		Waited                                                                                  int64
		Began, Asked, Answered, Ran, At                                                         time.Time
	}
	Next    *string
	Missing []struct{ Node string }
}

func (l *list) names() string {
	var all []string
	for _, x := range l.Items {
		all = append(all, x.Tool+" "+x.Status)
	}
	return strings.Join(all, ", ")
}

// calls lists calls, once there are so many.
func (p *page) calls(t *testing.T, token, query string, many int) (out list) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		out = list{}
		status, body := p.as(t, token, http.MethodGet, "/api/calls"+query, "")
		if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		if len(out.Items) == many {
			return out
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s, want %d", query, body, many)
		}
	}
}

func (p *page) do(t *testing.T, site, tool, id string) {
	t.Helper()
	p.Serve(t.Context(), &bridge.Call{Site: site, Tool: tool, ID: id, Caller: bridge.Local(), Input: bridgetest.JSON(`{"secret":"in-the-arguments"}`)})
}

// TestCalls: who may view reads all calls with their stages, what was decided and why, and who allowed
// it, without arguments and results; in parts, filtered, and nothing of other sites.
func TestCalls(t *testing.T) {
	p := servePage(t, memory(t), console.Options{Records: &console.Records{}})
	id := p.asks(t)
	if c := p.calls(t, viewing, "?q=status:running", 1).Items[0]; c.Stage != "asked" || c.Decision != "ask" || c.Rule != "nothing says that this tool may run unasked" || c.Asked.IsZero() || !c.Ran.IsZero() {
		t.Errorf("a call that asks is %+v", c)
	}
	if err := p.Answer(person, id, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	c := p.calls(t, viewing, "?q=status:ok", 1).Items[0]
	if c.Approver != "person" || c.Approval != id || c.Answered.Before(c.Asked) || c.Ran.Before(c.Answered) || c.At.Before(c.Ran) || c.Began.After(c.Asked) || c.Node != "here" || c.Caller != "local" {
		t.Errorf("a call that was allowed is %+v", c)
	}
	p.Router.Answer("shop", `{"secret":"in-the-result"}`, nil)
	p.do(t, "shop", "find", "F1")
	p.do(t, "nowhere", "find", "N1")
	p.do(t, "shop", strings.Repeat("long", 500), "L1")
	if got := p.calls(t, viewing, "", 4); got.names() != strings.Repeat("long", 31)+"l… error, find error, find ok, buy ok" && !strings.HasSuffix(got.names(), "… error, find error, find ok, buy ok") {
		t.Errorf("the calls are %s", got.names())
	}
	if got := p.calls(t, shopper, "", 3); strings.Contains(got.names(), "find error") {
		t.Errorf("who sees some sites sees %s", got.names())
	}
	if status, _ := p.as(t, shopper, http.MethodGet, "/api/calls/N1", ""); status != http.StatusNotFound {
		t.Errorf("who sees some sites reads a call of another: %d", status)
	}
	_, all := p.as(t, viewing, http.MethodGet, "/api/calls", "")
	_, one := p.as(t, viewing, http.MethodGet, "/api/calls/F1", "")
	if strings.Contains(all+one, "in-the-") || !strings.Contains(one, `"kept":false,"input":null,"result":null,"error":null`) || !strings.Contains(one, `"argumentBytes":29`) || !strings.Contains(one, `"resultBytes":26`) {
		t.Errorf("one call is %s", one)
	}
	var parts []string
	for next := ""; ; {
		part := p.calls(t, viewing, "?limit=3"+next, min(3, 4-len(parts)))
		for _, x := range part.Items {
			parts = append(parts, x.Call)
		}
		if part.Next == nil {
			break
		}
		p.do(t, "shop", "find", "") // what comes meanwhile moves nothing
		next = "&before=" + *part.Next
	}
	if len(parts) != 4 || parts[0] != "L1" || parts[3] != c.Call {
		t.Errorf("in parts they are %v", parts)
	}
	for query, want := range map[string]string{"q=nope:1": `unknown word`, "limit=0": "for limit", "before=eA": "not a cursor of calls"} {
		if status, body := p.as(t, viewing, http.MethodGet, "/api/calls?"+query, ""); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	for _, path := range []string{"/api/calls", "/api/calls/F1"} {
		if status, body := p.as(t, agent, http.MethodGet, path, ""); status != http.StatusForbidden || !strings.Contains(body, "right view") {
			t.Errorf("an agent gets %s: %d %s", path, status, body)
		}
	}
}

// TestPayloadsOfAll: with Observe, arguments and results of others' calls are kept for who may answer, in a
// bounded number, without secrets; and what a person made keeps its place and its key.
func TestPayloadsOfAll(t *testing.T) {
	records := &console.Records{}
	p := servePage(t, memory(t), console.Options{Records: records})
	p.Router.Declare("shop", bridgetest.Tool("find", `{"type":"object","properties":{"pin":{"type":"string","format":"password"}}}`))
	ada := p.login(t, "ada")
	own := p.made(t, ada, `{"site":"shop","tool":"find","input":{"n":1.10},"key":"k"}`)
	p.became(t, ada, own, "ended")
	ran := len(p.Router.Calls())
	for n := range 150 {
		p.Serve(t.Context(), &bridge.Call{Site: "shop", Tool: "find", ID: fmt.Sprintf("F%03d", n), Caller: bridge.Local(), Input: bridgetest.JSON(`{"pin":"1234","n":9007199254740992}`)})
	}
	p.calls(t, viewing, "?limit=200", 151)
	for token, want := range map[string]string{answerer: `"kept":true,"input":{"pin":"***","n":9007199254740992},"result":{`, viewing: `"kept":false,"input":null,"result":null`} {
		if _, body := p.as(t, token, http.MethodGet, "/api/calls/F149", ""); !strings.Contains(body, want) || !strings.Contains(body, `"caller":"local"`) || !strings.Contains(body, `"status":"ok"`) {
			t.Errorf("a call of another caller is %s, want %s", body, want)
		}
	}
	for id, want := range map[string]string{"F049": `"kept":false`, "F050": `"kept":true`, own: `"input":{"n":1.10}`} {
		if _, body := p.as(t, answerer, http.MethodGet, "/api/calls/"+id, ""); !strings.Contains(body, want) {
			t.Errorf("%s is %s, want %s", id, body, want)
		}
	}
	if again := p.made(t, ada, `{"site":"shop","tool":"find","input":{"n":1.10},"key":"k"}`); again != own || len(p.Router.Calls()) != ran+150 {
		t.Errorf("the same key is another call: %s and %s", own, again)
	}
}

// TestCallsOfOtherNodes: the calls of all processes are one list, those that do not answer are named, and
// arguments of another process's calls are only for who may answer.
func TestCallsOfOtherNodes(t *testing.T) {
	b, err := bridge.New(bridgetest.NewRouter().Add("garden", bridgetest.Tool("dig", "")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	records := &console.Records{}
	records.Gather(t.Context(), b, "there")
	there := other{transport.Trusted(transport.NewMux(console.New(b, console.Options{Node: "there", Records: records}).Routes()...), bridge.Caller{Name: "socket", May: []bridge.Right{bridge.MayAnswer, bridge.MayCall}}, transport.Options{})}
	var stuck atomic.Bool
	p := servePage(t, memory(t), console.Options{Records: &console.Records{}, Peers: func() map[string]http.RoundTripper {
		if stuck.Load() {
			return map[string]http.RoundTripper{"there": there, "stuck": silent{}}
		}
		return map[string]http.RoundTripper{"there": there}
	}})
	var made struct{ Call string }
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://console/api/calls", strings.NewReader(`{"site":"garden","tool":"dig","input":{"deep":1.10},"key":"k"}`))
	r.Header.Set("Content-Type", "application/json")
	resp, _ := there.RoundTrip(r)
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Call == "" {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	p.do(t, "shop", "find", "H1")
	stuck.Store(true)
	got := p.calls(t, viewing, "?q="+url.QueryEscape("-tool:buy tool:find,dig"), 2)
	stuck.Store(false)
	if got.Items[0].Node != "here" || got.Items[1].Node != "there" || len(got.Missing) != 1 || got.Missing[0].Node != "stuck" {
		t.Errorf("the calls are %+v", got)
	}
	first := p.calls(t, viewing, "?limit=1", 1)
	if second := p.calls(t, viewing, "?limit=1&before="+*first.Next, 1); second.Items[0].Node != "there" || second.Next != nil {
		t.Errorf("behind %+v is %+v", first, second)
	}
	for token, want := range map[string]string{answerer: `"kept":true,"input":{"deep":1.10}`, viewing: `"kept":false,"input":null`} {
		if status, body := p.as(t, token, http.MethodGet, "/api/calls/"+made.Call, ""); status != http.StatusOK || !strings.Contains(body, want) || !strings.Contains(body, `"node":"there"`) {
			t.Errorf("a call of another process: %d %s, want %s", status, body, want)
		}
	}
	if status, body := p.as(t, shopper, http.MethodGet, "/api/calls/"+made.Call, ""); status != http.StatusNotFound {
		t.Errorf("who sees some sites of this process: %d %s", status, body)
	}
}
