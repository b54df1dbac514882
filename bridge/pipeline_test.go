package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

const wantsNumber = `{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`

func TestBadArgumentsNeverReachThePage(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", wantsNumber))
	b := open(t, r, bridge.SiteOptions{})
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, input := range []string{``, `{`, `[]`, `1`, `null`, `{}`, `{"n":0}`, `{"n":"1"}`, `{"n":1,"x":1}`, `{"n":1,"n":1}`, `{"n":1}x`,
		"{\"n\":1,\"\xff\":1}", `{"n":1e999999}`, `{"n":1,"__proto__":{}}`, `{"n":1,"a":` + deep + `}`, `{"n":1,"a":"\ud800"}`} {
		_, e := do(t, b, "add", input, "")
		want(t, e, bridge.SchemaError, "", bridge.NotRun)
	}
	if calls := r.Calls(); len(calls) != 0 {
		t.Errorf("reached the page: %v", calls)
	}
	if res, e := do(t, b, "add", `{"n":1}`, ""); e != nil || string(res) != `{"n":1}` { // the positive control
		t.Errorf("got %v, %v", res, e)
	}
}

func TestViolationsHavePointers(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", wantsNumber)), bridge.SiteOptions{})
	_, e := do(t, b, "add", `{"n":0}`, "")
	list, ok := e.Details["errors"].([]map[string]string)
	if !ok || len(list) != 1 || list[0]["pointer"] != "/n" || !strings.Contains(e.Message, "n") {
		t.Errorf("details %v, message %q", e.Details, e.Message)
	}
}

func TestArgumentsAtTheLimit(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("any", "")), bridge.SiteOptions{})
	fill := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }
	if _, e := do(t, b, "any", fill(256<<10), ""); e != nil {
		t.Errorf("at the limit: %v", e)
	}
	_, e := do(t, b, "any", fill(256<<10+1), "")
	want(t, e, bridge.SchemaError, "", bridge.NotRun)
	if !errors.Is(e, bridge.ErrTooLarge) {
		t.Error("transports cannot tell that it is too large")
	}
}

func TestUnknownNames(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""), bridgetest.Tool("b", "")), bridge.SiteOptions{})
	_, e := do(t, b, "c", `{}`, "")
	want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun)
	if names, _ := e.Details["actions"].([]string); len(names) != 2 {
		t.Errorf("details %v", e.Details)
	}
	_, e = do(t, b, "", `{}`, "")
	want(t, e, bridge.SchemaError, "", bridge.NotRun)
	_, e = run(t, b, &bridge.Call{Site: "other", Tool: "a", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
	want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun)
}

func TestTheOnlyToolNeedsNoName(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	if _, e := do(t, b, "", `{"x":1}`, ""); e != nil || r.Calls()[0].Tool != "a" {
		t.Errorf("got %v, %v", r.Calls(), e)
	}
}

func TestCallersSeeAndDoWhatIsWritten(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")).Add("bank", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	call := func(c bridge.Caller, site string) *bridge.Error {
		_, e := run(t, b, &bridge.Call{Site: site, Tool: "a", Caller: c, Input: bridgetest.JSON(`{}`)})
		return e
	}
	agent := bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop"}}
	if e := call(agent, "shop"); e != nil {
		t.Error(e)
	}
	want(t, call(agent, "bank"), bridge.WebtoolNotFound, "", bridge.NotRun)
	want(t, call(bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}, "shop"), bridge.Forbidden, "", bridge.NotRun)
	if got := b.Sites(agent); len(got) != 1 || got[0].Name != "shop" {
		t.Errorf("sites %v", got)
	}
}

func TestConsent(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
	b := open(t, r, bridge.SiteOptions{})
	if _, e := do(t, b, "read", `{}`, ""); e != nil {
		t.Errorf("a reader needs no consent: %v", e)
	}
	_, e := do(t, b, "write", `{"a":1}`, "")
	want(t, e, bridge.ApprovalRequired, "", bridge.NotRun)
	if q, ok := e.Details["question"].(*bridge.Question); !ok || q.Tool != "write" || string(q.Input) != `{"a":1}` || q.Kind != "approve" {
		t.Errorf("question %+v", e.Details["question"])
	}
	_, e = do(t, b, "read", `{}`, `{"approval":"ask"}`)
	want(t, e, bridge.ApprovalRequired, "", bridge.NotRun)
	_, e = do(t, b, "write", `{}`, `{"approval":"auto"}`) // a request can never loosen
	want(t, e, bridge.ApprovalRequired, "", bridge.NotRun)
	if n := len(r.Calls()); n != 1 {
		t.Errorf("%d calls reached the page", n)
	}
}

// person answers every question the same way.
type person struct {
	answer bridge.Answer
	err    error
	asked  []bridge.Question
}

func (p *person) Ask(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	p.asked = append(p.asked, q)
	return p.answer, p.err
}

func TestAPersonDecides(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
	b := open(t, r, bridge.SiteOptions{})
	ask := func(p *person) *bridge.Error {
		_, e := run(t, b, &bridge.Call{Site: "shop", Tool: "write", Caller: bridge.Local(), Input: bridgetest.JSON(`{"a":1}`), Asker: p})
		return e
	}
	want(t, ask(&person{}), bridge.ApprovalDenied, "", bridge.NotRun)
	want(t, ask(&person{err: errors.New("gone")}), bridge.ApprovalRequired, "", bridge.NotRun)
	if len(r.Calls()) != 0 {
		t.Fatal("ran without consent")
	}
	yes := &person{answer: bridge.Answer{OK: true}}
	if e := ask(yes); e != nil || len(yes.asked) != 1 || len(r.Calls()) != 1 {
		t.Errorf("%v, asked %v, calls %v", e, yes.asked, r.Calls())
	}
}

func TestTheOperatorRefuses(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("delete-all", ""), bridgetest.Asking("write", ""), bridgetest.Tool("read", ""))
	b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeDeny, Tools: []policy.Rule{{Pattern: "delete-*", Level: policy.Never}}}})
	for _, tool := range []string{"delete-all", "write"} {
		_, e := do(t, b, tool, `{}`, "")
		want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
	}
	if _, e := do(t, b, "read", `{}`, ""); e != nil {
		t.Errorf("deny runs what would not ask: %v", e)
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("slow", ""))
		r.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step {
			<-ctx.Done()
			return bridge.AsError(context.Cause(ctx)).Step()
		})
		b := open(t, r, bridge.SiteOptions{CallTimeout: 7 * time.Second})
		began := time.Now()
		_, e := do(t, b, "slow", `{}`, "")
		want(t, e, bridge.InternalError, bridge.Timeout, bridge.Unknown)
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("took %v", took)
		}
		began = time.Now()
		_, e = do(t, b, "slow", `{}`, `{"timeout":1500}`)
		want(t, e, bridge.InternalError, bridge.Timeout, bridge.Unknown)
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if r.Leases() != 0 {
			t.Error("a page was not given back")
		}
	})
}

func TestAPanicIsOneFailedCall(t *testing.T) {
	var log bytes.Buffer
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step { panic("secret path") })
	b, err := bridge.New(r, bridge.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, e := do(t, b, "a", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.Unknown)
	if strings.Contains(e.Message, "secret") || !strings.Contains(log.String(), "secret path") {
		t.Errorf("message %q, log %q", e.Message, log.String())
	}
	if r.Leases() != 0 {
		t.Error("a page was not given back")
	}
	r.Handle("shop", bridgetest.Echo)
	if _, e := do(t, b, "a", `{}`, ""); e != nil {
		t.Errorf("the next call: %v", e)
	}
}

func TestTheLogHoldsNoArgumentsAndNoResults(t *testing.T) {
	var log bytes.Buffer
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", wantsNumber))
	b, err := bridge.New(r, bridge.Options{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	if _, e := do(t, b, "a", `{"n":424242}`, ""); e != nil {
		t.Fatal(e)
	}
	_, _ = do(t, b, "a", `{"n":"marker-secret"}`, "")
	for _, secret := range []string{"424242", "marker-secret"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %s: %s", secret, log.String())
		}
	}
	for _, word := range []string{"call: intent", "call: ok", "call: failed"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log lacks %q", word)
		}
	}
}
