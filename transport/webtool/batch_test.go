package webtool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

var operator = bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}

// newBatchWorld is a world whose tools come to what their arguments say: {"is": VALUE}, or
// {"fails": OUTCOME}, or {"times": N, "item": VALUE} for a list. The others return their arguments,
// and ask first when these have "asks".
func newBatchWorld(t *testing.T, o bridge.Options, callers ...transport.Credential) *world {
	t.Helper()
	w := newWorld(t, o, callers...)
	w.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
		in := bridgetest.JSON(string(inv.Input))
		switch {
		case in.Get("times").Exists():
			n, _ := strconv.Atoi(string(in.Get("times").Text()))
			item := string(in.Get("item").Text())
			return bridge.Step{Data: json.RawMessage("[" + strings.Repeat(item+",", n-1) + item + "]")}
		case in.Get("is").Exists():
			return bridge.Step{Data: in.Get("is").Text()}
		case in.Get("fails").Exists():
			return bridge.Errorf(bridge.ToolError, "", bridge.Outcome(in.Get("fails").String()), "Not today.").Step()
		case in.Get("asks").Exists():
			return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm}, bridgetest.Then(`{"agreed":true}`))
		}
		return bridge.Step{Data: inv.Input}
	})
	return w
}

// steps makes the body of a batch.
func steps(more string, requests ...string) string {
	var all []string
	for i, r := range requests {
		id := fmt.Sprint("step", i)
		if i < 26 {
			id = string(rune('a' + i))
		}
		all = append(all, fmt.Sprintf(`{"id":%q,"action":"add","request":%s}`, id, r))
	}
	return fmt.Sprintf(`{"steps":[%s]%s}`, strings.Join(all, ","), more)
}

// batchReply is the reply of a batch, read.
type batchReply struct {
	Status string
	Steps  []struct {
		ID, Status string
		Data       json.RawMessage
		Error      failure
	}
}

func (r reply) batch(t *testing.T) batchReply {
	t.Helper()
	var b batchReply
	if err := json.Unmarshal([]byte(r.body), &b); err != nil || r.StatusCode != http.StatusOK || b.Status != "ok" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return b
}

// said is a short form: "a ok 1, b SCHEMA_ERROR not_run, c skipped".
func (b batchReply) said() string {
	var all []string
	for _, s := range b.Steps {
		words := s.ID + " " + s.Status
		switch s.Status {
		case "ok":
			words += " " + string(s.Data)
		case "error":
			words = fmt.Sprintf("%s %s %s", s.ID, s.Error.Code, s.Error.Outcome)
		}
		all = append(all, words)
	}
	return strings.Join(all, ", ")
}

// TestBatch: steps run in order, in one page, with what earlier ones came to.
func TestBatch(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	body := `{"sessionId":"s1","steps":[{"id":"a","action":"add","request":{"is":{"stamps":[{"name":"Blue Mauritius"}]}}},
		{"id":"b","action":"count","request":{"year":1847,"#name":{"resultOf":"a","path":"/stamps/0/name"}}}],"onError":"stop"}`
	w.post(t, "/webtools/shop/batch", body).want(t, 200, `{"status":"ok","steps":[{"id":"a","status":"ok","data":{"stamps":[{"name":"Blue Mauritius"}]}},`+
		`{"id":"b","status":"ok","data":{"year":1847,"name":"Blue Mauritius"},"details":{"schemaViolation":`+violation(t, w)+`}}]}`)
	calls := w.Calls()[:2]
	if calls[0].Ref.Session != "s1" || calls[1].Ref.Session != "s1" || calls[0].Ref.Until != nil || calls[1].Input != `{"year":1847,"name":"Blue Mauritius"}` {
		t.Errorf("calls: %+v", calls)
	}

	before := len(w.Calls())
	w.post(t, "/webtools/shop/batch/", steps("", `{"n":1}`, `{"n":2}`)).want(t, 200,
		`{"status":"ok","steps":[{"id":"a","status":"ok","data":{"n":1}},{"id":"b","status":"ok","data":{"n":2}}]}`)
	w.post(t, "/webtools/shop/batch", steps("", `{}`)).batch(t)
	own := w.Calls()[before:]
	if own[0].Ref.Session == "" || own[0].Ref.Session != own[1].Ref.Session || own[2].Ref.Session == own[0].Ref.Session {
		t.Errorf("without a session, the pages are %q", []string{own[0].Ref.Session, own[1].Ref.Session, own[2].Ref.Session})
	}
	for _, c := range own {
		select {
		case <-c.Ref.Until:
		default:
			t.Error("the page of a batch that is over stays")
		}
	}
}

// violation returns the remark of a plain call about the result of count.
func violation(t *testing.T, w *world) string {
	t.Helper()
	var r struct {
		Details struct{ SchemaViolation json.RawMessage }
	}
	_ = json.Unmarshal([]byte(w.post(t, "/webtools/shop", `{"action":"count","sessionId":"x","request":{"year":1847,"name":"Blue Mauritius"}}`).body), &r)
	return string(r.Details.SchemaViolation)
}

const stampsOf = `{"is":{"stamps":[{"name":"blue","tags":["a","b"]},{"name":"red","tags":["c"]}],"a/b":{"m~n":7},"":"empty","*":"star",` +
	`"list":[[1],[2,[3]]],"##x":{"resultOf":"a","path":""},"__proto__":{"polluted":true},"null":null}}`

// TestReferences (RFC 8620, 3.7): each reference, and what the page gets for it.
func TestReferences(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	ref := func(path string) string { return fmt.Sprintf(`{"resultOf":"a","path":%q}`, path) }
	for request, want := range map[string]string{
		`{"#v":` + ref("/stamps/0/name") + `}`:               `{"v":"blue"}`,
		`{"x":[{"y":{"#v":` + ref("/stamps/1/name") + `}}]}`: `{"x":[{"y":{"v":"red"}}]}`,
		`{"#v":` + ref("/stamps/*/name") + `}`:               `{"v":["blue","red"]}`,
		`{"#v":` + ref("/stamps/*/tags") + `}`:               `{"v":["a","b","c"]}`,
		`{"#v":` + ref("/stamps/*/tags/*") + `}`:             `{"v":["a","b","c"]}`,
		`{"#v":` + ref("/stamps/*/tags/0") + `}`:             `{"v":["a","c"]}`,
		`{"#v":` + ref("/list/*") + `}`:                      `{"v":[1,2,[3]]}`,
		`{"#v":` + ref("/a~1b/m~0n") + `}`:                   `{"v":7}`,
		`{"#v":` + ref("/") + `}`:                            `{"v":"empty"}`,
		`{"#v":` + ref("/*") + `}`:                           `{"v":"star"}`,
		`{"#v":` + ref("/null") + `}`:                        `{"v":null}`,
		`{"##v":` + ref("/nothing") + `}`:                    `{"#v":{"resultOf":"a","path":"/nothing"}}`,
		`{"###v":1,"##":2}`:                                  `{"##v":1,"#":2}`,
		`{"\u0023v":` + ref("/stamps/0/name") + `}`:          `{"v":"blue"}`,
		`{"#__proto__":` + ref("/stamps/0/name") + `,"#constructor":` + ref("/stamps/0/tags") + `}`: `{"__proto__":"blue","constructor":["a","b"]}`,
		`{"#v":` + ref("/__proto__/polluted") + `}`:                                                 `{"v":true}`,
		`{"#v":` + ref("/#x") + `}`:                                                                 `{"v":{"resultOf":"a","path":""}}`, // data is no reference
		`{"plain":"#v","x":["#y"]}`:                                                                 `{"plain":"#v","x":["#y"]}`,
	} {
		got := w.post(t, "/webtools/shop/batch", steps("", stampsOf, request)).batch(t)
		if s := got.Steps[1]; s.Status != "ok" || string(s.Data) != want {
			t.Errorf("%s: %s %s %+v, want %s", request, s.Status, s.Data, s.Error, want)
		}
	}
	ran := len(w.Calls())
	for _, request := range []string{
		`{"#v":` + ref("/nothing") + `}`, `{"#v":` + ref("/stamps/2") + `}`, `{"#v":` + ref("/stamps/-") + `}`, `{"#v":` + ref("/stamps/00") + `}`,
		`{"#v":` + ref("/stamps/-1") + `}`, `{"#v":` + ref("/stamps/length") + `}`, `{"#v":` + ref("/constructor") + `}`, `{"#v":` + ref("/stamps/*/none") + `}`,
		`{"#v":` + ref("/stamps/0/name/0") + `}`, `{"#v":` + ref("/stamps/4294967296") + `}`, `{"#v":` + ref("stamps") + `}`, `{"#v":` + ref("/a~2b") + `}`, `{"#v":` + ref("/a~") + `}`,
		`{"#v":{"resultOf":"b","path":""}}`, `{"#v":{"resultOf":"c","path":""}}`, `{"#v":{"resultOf":"nobody","path":""}}`, `{"#v":{"resultOf":"","path":""}}`,
		`{"#v":1}`, `{"#v":null}`, `{"#v":[]}`, `{"#v":{}}`, `{"#v":{"resultOf":"a"}}`, `{"#v":{"path":"/"}}`, `{"#v":{"resultOf":1,"path":""}}`,
		`{"#v":{"resultOf":"a","path":"","more":1}}`, `{"v":1,"#v":` + ref("") + `}`, `{"#":1}`, `{"x":[[{"#v":2}]]}`,
	} {
		got := w.post(t, "/webtools/shop/batch", steps("", stampsOf, request, `{}`)).batch(t)
		if s := got.Steps[1]; s.Error.Code != bridge.SchemaError || s.Error.Outcome != bridge.NotRun || s.Error.Details["errors"] == nil || got.Steps[2].Status != "skipped" {
			t.Errorf("%s: %s %+v", request, got.said(), s.Error)
		}
	}
	for _, c := range w.Calls()[ran:] {
		if !strings.Contains(c.Input, "stamps") {
			t.Errorf("it ran: %+v", c)
		}
	}
}

// TestReferencesAreBounded: what references bring, and what finding it costs, is bounded; and what
// is just within the bounds arrives.
func TestReferencesAreBounded(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	list := func(n int, item string) string { return fmt.Sprintf(`{"times":%d,"item":%s}`, n, item) }
	refs := func(n int, path string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"#v":{"resultOf":"a","path":%q}}`, path)
		}
		return `{"x":[` + strings.Join(all, ",") + `]}`
	}
	for why, x := range map[string]struct {
		first, second string
		ok            bool
	}{
		"a large result, once":                 {list(1000, `"0123456789"`), refs(1, ""), true},
		"a large result, a hundred times":      {list(10_000, `"0123456789"`), refs(100, ""), false},
		"nothing of a long list, without end":  {list(60_000, `[]`), refs(1000, "/*"), false},
		"one of a long list, many times":       {list(60_000, `1`), refs(1000, "/59999"), true},
		"lists in lists":                       {list(20_000, `[[[]]]`), refs(10, "/*/*/*/*"), false},
		"more than a tool takes":               {list(25_000, `"0123456789"`), refs(1, ""), false},
		"more than a tool takes, from a list":  {list(25_000, `["0123456789"]`), refs(1, "/*"), false},
		"a path of many tokens that leads off": {list(1, `1`), refs(1, strings.Repeat("/0", 50_000)), false},
	} {
		got := w.post(t, "/webtools/shop/batch", steps("", x.first, x.second)).batch(t)
		if s := got.Steps[1]; x.ok != (s.Status == "ok") || !x.ok && (s.Error.Code != bridge.SchemaError || s.Error.Outcome != bridge.NotRun || len(s.Error.Message) > 1000) {
			t.Errorf("%s: %s %+v", why, s.Status, s.Error)
		}
	}
}

// TestBatchBodies: a batch that cannot be read runs nothing.
func TestBatchBodies(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	many := func(n int) string { return steps("", slices.Repeat([]string{`{}`}, n)...) }
	ids := func(one, two string) string {
		return fmt.Sprintf(`{"steps":[{"id":%s,"action":"add","request":{}},{"id":%s,"action":"add","request":{}}]}`, one, two)
	}
	long := func(n int) string {
		body := steps("", `{"s":"`+strings.Repeat("x", n)+`"}`)
		return body
	}
	w.post(t, "/webtools/shop/batch", many(32)).batch(t)
	w.post(t, "/webtools/shop/batch", long(256<<10-len(long(0)))).batch(t)
	w.post(t, "/webtools/shop/batch", ids(`"a"`, `"`+strings.Repeat("x", 64)+`"`)).batch(t)
	ran := len(w.Calls())
	w.post(t, "/webtools/shop/batch", long(256<<10-len(long(0))+1)).wantError(t, 413, bridge.SchemaError, "", bridge.NotRun)
	for _, body := range []string{
		many(33), `{"steps":[]}`, `{}`, `[]`, `{"steps":{}}`, `{"steps":[1]}`, `{"steps":[{"id":"a","action":"add"}]}`, `{"steps":[{"action":"add","request":{}}]}`,
		ids(`"a"`, `"a"`), ids(`"a"`, `""`), ids(`"a"`, `1`), ids(`"a"`, `"b c"`), ids(`"a"`, `"ä"`), ids(`"a"`, `"b\n"`), ids(`"a"`, `"`+strings.Repeat("x", 65)+`"`),
		`{"steps":[{"id":"a","action":1,"request":{}}]}`, steps(`,"onError":"ignore"`, `{}`), steps(`,"onError":true`, `{}`), steps(`,"onerror":"continue"`, `{}`),
		steps(`,"sessionId":""`, `{}`), steps(`,"sessionId":7`, `{}`), steps(`,"session_id":"s"`, `{}`), steps(`,"config":[]`, `{}`), steps(`,"config":{"resume":"x"}`, `{}`),
		`{"steps":[{"id":"a","action":"add","request":{},"payload":{}}]}`, steps(`,"steps":[]`, `{}`),
	} {
		w.post(t, "/webtools/shop/batch", body).wantError(t, 400, bridge.SchemaError, "", bridge.NotRun)
	}
	w.post(t, "/webtools/shop/batch", many(1), "Pagetools-Resume: abc").wantError(t, 400, bridge.SchemaError, "", bridge.NotRun)
	w.post(t, "/webtools/nowhere/batch", many(1)).wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
	if got := w.get(t, "/webtools/shop/batch"); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("GET: %d, %s", got.StatusCode, got.Header.Get("Allow"))
	}
	if len(w.Calls()) != ran {
		t.Error("something ran")
	}
}

// TestBatchErrors: what an error of a step does to those after it.
func TestBatchErrors(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	fails := func(o bridge.Outcome) string { return fmt.Sprintf(`{"fails":%q}`, o) }
	for _, x := range []struct{ more, first, want string }{
		{"", fails("failed"), "a TOOL_ERROR failed, b skipped, c skipped"},
		{`,"onError":"stop"`, fails("not_run"), "a TOOL_ERROR not_run, b skipped, c skipped"},
		{`,"onError":"continue"`, fails("failed"), `a TOOL_ERROR failed, b ok {"n":1}, c SCHEMA_ERROR not_run`},
		{`,"onError":"continue"`, fails("not_run"), `a TOOL_ERROR not_run, b ok {"n":1}, c SCHEMA_ERROR not_run`},
		{`,"onError":"continue"`, fails("unknown"), "a TOOL_ERROR unknown, b skipped, c skipped"},
	} {
		got := w.post(t, "/webtools/shop/batch", steps(x.more, x.first, `{"n":1}`, `{"#v":{"resultOf":"a","path":""}}`)).batch(t)
		if got.said() != x.want {
			t.Errorf("%s %s: %s, want %s", x.more, x.first, got.said(), x.want)
		}
	}
	unknown := strings.Replace(steps(`,"onError":"continue"`, `{}`, `{}`), `"action":"add"`, `"action":"nothing"`, 1)
	if got := w.post(t, "/webtools/shop/batch", unknown).batch(t); got.said() != "a WEBTOOL_NOT_FOUND not_run, b ok {}" || got.Steps[0].Error.Details["actions"] == nil {
		t.Errorf("an unknown action: %s", got.said())
	}
}

// TestEachStepIsACall: a batch has no consent, no rate and no rights of its own.
func TestEachStepIsACall(t *testing.T) {
	t.Parallel()
	two := policy.Rate{N: 2, Per: time.Hour}
	w := newBatchWorld(t, bridge.Options{Rates: map[string]policy.Rate{"agent": two}},
		transport.Credential{Token: "agent-token-of-the-tests", Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}},
		transport.Credential{Token: "other-token-of-the-tests", Caller: bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}, Sites: []string{"weather"}}},
		transport.Credential{Token: "person-token-of-the-tests", Caller: bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}})
	agent := "Authorization: Bearer agent-token-of-the-tests"
	if got := w.post(t, "/webtools/shop/batch", steps("", `{}`, `{}`, `{}`), agent).batch(t); got.said() != "a ok {}, b ok {}, c RATE_LIMIT not_run" {
		t.Errorf("beyond the rate: %s", got.said())
	}
	w.post(t, "/webtools/shop/batch", steps("", `{}`), "Authorization: Bearer other-token-of-the-tests").wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
	w.post(t, "/webtools/shop/batch", steps("", `{}`), "Authorization: Bearer person-token-of-the-tests").wantError(t, 403, bridge.Forbidden, "", bridge.NotRun)
	w.post(t, "/webtools/shop/batch", steps("", `{}`)).wantError(t, 401, bridge.Unauthorized, "", bridge.NotRun)
}

// TestBatchAsks: a question stops a batch, with what ran, and its call goes on in the same page.
func TestBatchAsks(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	buy := func(request string) string {
		return strings.Replace(request, `"id":"b","action":"add"`, `"id":"b","action":"buy"`, 1)
	}
	for _, x := range []struct {
		body   string
		status int
		code   bridge.Code
		out    bridge.Outcome
	}{
		{steps("", `{"n":1}`, `{"asks":1}`, `{}`), 409, bridge.InputRequired, bridge.Unknown},
		{buy(steps(`,"onError":"continue"`, `{"n":1}`, `{"asks":1}`, `{}`)), 403, bridge.ApprovalRequired, bridge.NotRun},
	} {
		got := w.post(t, "/webtools/shop/batch", x.body)
		e := got.wantError(t, x.status, x.code, "", x.out)
		session, _ := e.Details["sessionId"].(string)
		if ran, _ := json.Marshal(e.Details["steps"]); e.Details["step"] != "b" || string(ran) != `[{"data":{"n":1},"id":"a","status":"ok"}]` || session == "" ||
			got.Header.Get("Pagetools-Resume") != e.Details["resume"] {
			t.Errorf("it says %s", got.body)
		}
		question := e.Details["question"].(map[string]any)["id"].(string)
		if err := w.bridge.Answer(operator, question, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		action := map[bridge.Code]string{bridge.InputRequired: "add", bridge.ApprovalRequired: "buy"}[x.code]
		next := w.post(t, "/webtools/shop", fmt.Sprintf(`{"action":%q,"sessionId":%q,"request":{"asks":1},"config":{"resume":%q,"wait":60000}}`, action, session, e.Details["resume"]))
		if x.code == bridge.ApprovalRequired { // consent, and then the page asks
			e := next.wantError(t, 409, bridge.InputRequired, "", bridge.Unknown)
			question := e.Details["question"].(map[string]any)["id"].(string)
			if err := w.bridge.Answer(operator, question, bridge.Answer{OK: true}); err != nil {
				t.Fatal(err)
			}
			next = w.post(t, "/webtools/shop", fmt.Sprintf(`{"action":%q,"sessionId":%q,"request":{"asks":1},"config":{"resume":%q,"wait":60000}}`, action, session, e.Details["resume"]))
		}
		next.want(t, 200, `{"status":"ok","data":{"agreed":true}}`)
		calls := w.Calls()
		if calls[len(calls)-1].Ref.Session != session || calls[len(calls)-2].Ref.Session != session {
			t.Errorf("other pages: %+v", calls)
		}
	}
}

// TestBatchKeys: a batch that is sent again with its key runs no step twice, and goes on where it
// stopped; each step has a key of its own.
func TestBatchKeys(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	body := steps("", `{"n":1}`, `{"fails":"failed"}`, `{"n":3}`)
	first := w.post(t, "/webtools/shop/batch", body, "Idempotency-Key: k").batch(t)
	again := w.post(t, "/webtools/shop/batch", body, "Idempotency-Key: k").batch(t)
	if len(w.Calls()) != 2 || first.said() != again.said() || first.said() != `a ok {"n":1}, b TOOL_ERROR failed, c skipped` {
		t.Errorf("%d calls ran: %s; then %s", len(w.Calls()), first.said(), again.said())
	}
	session := w.Calls()[0].Ref.Session
	one := fmt.Sprintf(`{"action":"add","sessionId":%q,"request":{"n":1}}`, session)
	w.post(t, "/webtools/shop", one, "Idempotency-Key: k/a").want(t, 200, `{"status":"ok","data":{"n":1}}`)
	goOn := w.post(t, "/webtools/shop/batch", steps(`,"onError":"continue"`, `{"n":1}`, `{"fails":"failed"}`, `{"n":3}`), "Idempotency-Key: k").batch(t)
	if len(w.Calls()) != 3 || goOn.said() != `a ok {"n":1}, b TOOL_ERROR failed, c ok {"n":3}` || w.Calls()[2].Ref.Session != session {
		t.Errorf("it goes on to %s, with %+v", goOn.said(), w.Calls())
	}
	other := w.post(t, "/webtools/shop/batch", steps("", `{"n":2}`), "Idempotency-Key: k").batch(t)
	if other.said() != "a CONFLICT not_run" {
		t.Errorf("another step under the same key: %s", other.said())
	}
}

// TestBatchTime: the timeouts of the steps are bounded together, and those that name none share.
func TestBatchTime(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{Limits: bridge.Limits{AsyncTimeout: 10 * time.Minute}})
	minutes := func(all ...int) string {
		var s []string
		for i, m := range all {
			config := ""
			if m > 0 {
				config = fmt.Sprintf(`,"config":{"timeout":%d}`, m*60_000)
			}
			s = append(s, fmt.Sprintf(`{"id":"s%d","action":"add","request":{}%s}`, i, config))
		}
		return fmt.Sprintf(`{"steps":[%s]}`, strings.Join(s, ","))
	}
	w.post(t, "/webtools/shop/batch", minutes(5, 5)).batch(t)
	w.post(t, "/webtools/shop/batch", minutes(append(slices.Repeat([]int{0}, 30), 5)...)).batch(t)
	w.post(t, "/webtools/shop/batch", minutes(5, 5, 1)).wantError(t, 400, bridge.ConfigError, "", bridge.NotRun)
	w.post(t, "/webtools/shop/batch", minutes(5, 5, 0)).wantError(t, 400, bridge.ConfigError, "", bridge.NotRun)
	if got := w.post(t, "/webtools/shop/batch", minutes(6, 0)).batch(t); got.said() != "s0 CONFIG_ERROR not_run, s1 skipped" {
		t.Errorf("a step longer than a call may be: %s", got.said())
	}
	all := steps(`,"config":{"output":"text","maxOutputBytes":4}`, `{"is":"ab"}`, `{"is":"abcd"}`)
	if got := w.post(t, "/webtools/shop/batch", all).batch(t); got.Steps[1].Error.Reason != bridge.ResultTooLarge {
		t.Errorf("config of all: %s", got.said())
	}
	own := strings.Replace(all, `"request":{"is":"abcd"}`, `"request":{"is":"abcd"},"config":{"maxOutputBytes":100}`, 1)
	if got := w.post(t, "/webtools/shop/batch", own).batch(t); got.Steps[1].Status != "ok" {
		t.Errorf("config of a step: %s", got.said())
	}
}

// TestBatchHandles: a batch that outlives its request is one call: it asks what its steps ask, goes
// on when that is answered, and ends as its request would have.
func TestBatchHandles(t *testing.T) {
	t.Parallel()
	w := newBatchWorld(t, bridge.Options{})
	begin := func(body string, header ...string) *bridge.LongCall {
		t.Helper()
		r := w.post(t, "/webtools/shop/batch", body, append(header, "Prefer: respond-async")...)
		if r.StatusCode != http.StatusAccepted || !strings.Contains(r.body, `"action":"batch"`) {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
		c, err := w.bridge.LongCall(bridge.Local(), strings.TrimPrefix(r.Header.Get("Location"), "/calls/"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	until := func(c *bridge.LongCall, is func(*bridge.State) bool) bridge.State {
		t.Helper()
		for {
			s, changed := c.State()
			if is(&s) {
				return s
			}
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatalf("it stays %+v", s)
			}
		}
	}
	asks := func(s *bridge.State) bool { return s.Question != nil }
	over := (*bridge.State).IsOver
	answerer := bridge.Local()
	answerer.May = append(slices.Clone(answerer.May), bridge.MayAnswer)

	c := begin(steps("", `{"n":1}`, `{"asks":1}`, `{"#v":{"resultOf":"b","path":"/agreed"}}`))
	s := until(c, asks)
	if s.Status != bridge.InputAwaited || s.Progress == nil || s.Progress.Parts != 1 {
		t.Errorf("it waits as %+v", s)
	}
	if err := c.Answer(answerer, s.Question.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	s = until(c, over)
	if status, reply := webtool.Forms()[s.Form](nil, s.End); status != 200 || string(reply) != `{"status":"ok","steps":[{"id":"a","status":"ok","data":{"n":1}},`+
		`{"id":"b","status":"ok","data":{"agreed":true}},{"id":"c","status":"ok","data":{"v":true}}]}` {
		t.Errorf("it came to %d %s", status, reply)
	}

	c = begin(steps("", `{"n":1}`, `{"asks":1}`, `{}`))
	until(c, asks)
	if !c.Cancel(bridge.Local()) {
		t.Error("it cannot be cancelled")
	}
	s = until(c, over)
	if s.Status != bridge.CancelledCall || s.End.Err.Outcome != bridge.Unknown || s.End.Err.Details["steps"] == nil {
		t.Errorf("cancelled: %s %+v", s.Status, s.End.Err)
	}
	if left := bridgetest.Questions(w.bridge, operator); len(left) > 0 {
		t.Errorf("questions of it stay: %+v", left)
	}

	body := steps("", `{"n":1}`, `{"asks":1}`)
	one, two := begin(body, "Idempotency-Key: k"), begin(body, "Idempotency-Key: k")
	first, second := until(one, asks), until(two, asks)
	if first.ID != second.ID || first.Question.ID != second.Question.ID {
		t.Error("the same key has two handles")
	}
	one.Cancel(bridge.Local())
	until(one, over)
}

// TestBatchCarriesItsNode: the session that a batch makes for itself begins, in a cluster, with the
// node that has it. Under a key it has one name at all nodes, which the directory finds.
func TestBatchCarriesItsNode(t *testing.T) {
	t.Parallel()
	for want, node := range map[string]func() string{"batch-": nil, "K3X7QAABbatch-": func() string { return "K3X7QAAB" }} {
		w := newBatchWorld(t, bridge.Options{Node: node})
		for range 2 {
			e := w.post(t, "/webtools/shop/batch", steps("", `{"asks":1}`)).wantError(t, 409, bridge.InputRequired, "", bridge.Unknown)
			if session, _ := e.Details["sessionId"].(string); !strings.HasPrefix(session, want) {
				t.Errorf("the session is %q", session)
			}
		}
		e := w.post(t, "/webtools/shop/batch", steps("", `{"asks":1}`), transport.KeyHeader+": K").wantError(t, 409, bridge.InputRequired, "", bridge.Unknown)
		if session := e.Details["sessionId"]; session != transport.BatchSession("K") {
			t.Errorf("under a key the session is %q", session)
		}
	}
}
