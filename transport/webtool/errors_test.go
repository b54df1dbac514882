package webtool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
)

// row is one row of the contract's table of errors: what the site does, what is
// sent, and what comes back in each dialect.
type row struct {
	name    string
	script  func(w *world)
	path    string // default: the shop
	body    string // current dialect; %s variants are made from it
	older   string
	status  int
	code    bridge.Code
	reason  bridge.Reason
	outcome bridge.Outcome
	legacy  int // status of the older dialect
	header  map[string]string
	ran     bool // the call reaches the site
}

const (
	callAdd  = `{"action":"add","request":{"a":1}}`
	olderAdd = `{"session_id":"s","action":"add","payload":{"a":1}}`
)

// answers scripts an error of the site.
func answers(code bridge.Code, reason bridge.Reason, o bridge.Outcome) func(*world) {
	return func(w *world) {
		e := bridge.Errorf(code, reason, o, "In words for people.").With(errors.New("secret /usr/lib/x.go:12"))
		e.Retry = 1500 * time.Millisecond
		w.Answer("shop", "", e)
	}
}

// refuses scripts that no page can be had.
func refuses(reason bridge.Reason) func(*world) {
	return func(w *world) {
		w.FailAcquire("shop", bridge.Errorf(bridge.InternalError, reason, bridge.NotRun, "In words for people."))
	}
}

func internalRows() []row {
	var rows []row
	add := func(status int, outcome bridge.Outcome, reasons ...bridge.Reason) {
		for _, reason := range reasons {
			r := row{name: string(reason), body: callAdd, older: olderAdd, status: status, code: bridge.InternalError, reason: reason, outcome: outcome, legacy: status}
			if r.script = refuses(reason); outcome == bridge.Unknown {
				r.script, r.ran = answers(bridge.InternalError, reason, outcome), true
			}
			rows = append(rows, r)
		}
	}
	add(504, bridge.Unknown, bridge.Timeout)
	add(502, bridge.Unknown, bridge.PageNavigated, bridge.PageCrashed, bridge.NodeLost)
	add(502, bridge.NotRun, bridge.PageHung, bridge.Unreachable, bridge.Certificate, bridge.OriginBlocked)
	add(503, bridge.Unknown, bridge.BrowserLost)
	add(503, bridge.NotRun, bridge.Draining, bridge.Overload, bridge.NoQuorum)
	add(500, bridge.Unknown, bridge.Internal)
	return rows
}

func rows() []row {
	scripted := func(status, legacy int, code bridge.Code, reason bridge.Reason, o bridge.Outcome) row {
		return row{name: strings.TrimSuffix(string(code)+" "+string(reason), " "), script: answers(code, reason, o), body: callAdd, older: olderAdd,
			status: status, legacy: legacy, code: code, reason: reason, outcome: o, ran: true}
	}
	return append(internalRows(),
		row{name: "not JSON", body: `{`, status: 400, code: bridge.SchemaError, outcome: bridge.NotRun},
		row{name: "not an object", body: `[]`, status: 400, code: bridge.SchemaError, outcome: bridge.NotRun},
		row{name: "duplicate keys", body: `{"action":"add","action":"buy","request":{}}`, status: 400, code: bridge.SchemaError, outcome: bridge.NotRun},
		row{name: "request missing", body: `{"action":"add"}`, older: `{"action":"add","session_id":"s"}`, status: 400, code: bridge.SchemaError, outcome: bridge.NotRun, legacy: 400},
		row{name: "request and payload", body: `{"action":"add","request":{},"payload":{}}`, status: 400, code: bridge.SchemaError, outcome: bridge.NotRun},
		row{name: "too large", body: `{"action":"add","request":{"a":"` + strings.Repeat("x", 256<<10) + `"}}`, older: `{"action":"add","payload":{"a":"` + strings.Repeat("x", 256<<10) + `"}}`,
			status: 413, code: bridge.SchemaError, outcome: bridge.NotRun, legacy: 413},
		row{name: "request does not fit", path: "/webtools/weather", body: `{"request":{"location":1,"x":2}}`, older: `{"action":"get_current","payload":{"location":1}}`,
			status: 400, code: bridge.SchemaError, outcome: bridge.NotRun, legacy: 400},
		row{name: "action missing", body: `{"request":{}}`, older: `{"payload":{}}`, status: 400, code: bridge.SchemaError, outcome: bridge.NotRun, legacy: 400},
		row{name: "config does not fit", body: `{"action":"add","config":{"timeout":"x"},"request":{}}`, older: `{"action":"add","config":{"timeout":"x"},"payload":{}}`,
			status: 400, code: bridge.ConfigError, outcome: bridge.NotRun, legacy: 400},
		row{name: "config is no object", body: `{"action":"add","config":null,"request":{}}`, older: `{"action":"add","config":[],"payload":{}}`,
			status: 400, code: bridge.ConfigError, outcome: bridge.NotRun, legacy: 400},
		row{name: "config not allowed", body: `{"action":"add","config":{"headers":{}},"request":{}}`, older: `{"action":"add","config":{"headers":{}},"payload":{}}`,
			status: 400, code: bridge.ConfigError, outcome: bridge.NotRun, legacy: 400},
		row{name: "unknown site", path: "/webtools/nowhere", body: callAdd, older: olderAdd, status: 404, code: bridge.WebtoolNotFound, outcome: bridge.NotRun, legacy: 404},
		row{name: "unknown version", body: `{"action":"add","version":"9.9.9","request":{}}`, older: `{"action":"add","version":"9.9.9","payload":{}}`,
			status: 404, code: bridge.WebtoolNotFound, outcome: bridge.NotRun, legacy: 404},
		row{name: "unknown action", body: `{"action":"nope","request":{}}`, older: `{"action":"nope","payload":{}}`, status: 404, code: bridge.WebtoolNotFound, outcome: bridge.NotRun, legacy: 400},
		row{name: "unknown one-action webtool", path: "/webtools/shop/actions/nope", body: `{"request":{}}`, older: `{"payload":{}}`, status: 404, code: bridge.WebtoolNotFound, outcome: bridge.NotRun, legacy: 404},
		row{name: "action is not the path's", path: "/webtools/shop/actions/add", body: `{"action":"buy","request":{}}`, older: `{"action":"buy","payload":{}}`,
			status: 404, code: bridge.WebtoolNotFound, outcome: bridge.NotRun, legacy: 400},
		row{name: "consent", body: `{"action":"buy","request":{}}`, older: `{"action":"buy","payload":{}}`, status: 403, code: bridge.ApprovalRequired, outcome: bridge.NotRun, legacy: 403},
		row{name: "the page asks", script: func(w *world) {
			w.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
				return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm}, bridgetest.Then("1"))
			})
		}, body: callAdd, older: olderAdd, status: 409, code: bridge.InputRequired, outcome: bridge.Unknown, legacy: 409, ran: true},
		row{name: "resume", body: `{"action":"add","config":{"resume":"t"},"request":{}}`, older: `{"action":"add","config":{"resume":"t"},"payload":{}}`,
			status: 404, code: bridge.ResumeNotFound, outcome: bridge.NotRun, legacy: 400},
		row{name: "result is no JSON", script: func(w *world) { w.Answer("shop", `{"a":`, nil) }, body: callAdd, older: olderAdd,
			status: 422, code: bridge.ToolError, reason: bridge.ResultInvalid, outcome: bridge.Unknown, legacy: 400, ran: true},
		row{name: "isError", script: func(w *world) {
			w.Answer("shop", `{"isError":true,"content":[{"type":"text","text":"sold out"}]}`, nil)
		}, body: callAdd, older: olderAdd,
			status: 422, code: bridge.ToolError, outcome: bridge.Failed, legacy: 400, ran: true},
		row{name: "an error that is none of ours", script: func(w *world) { w.Answer("shop", "", errors.New("secret /usr/lib/x.go:12")) }, body: callAdd, older: olderAdd,
			status: 500, code: bridge.InternalError, reason: bridge.Internal, outcome: bridge.Unknown, legacy: 500, ran: true},
		scripted(409, 409, bridge.VersionMismatch, "", bridge.NotRun),
		scripted(409, 409, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun),
		scripted(403, 403, bridge.ApprovalDenied, "", bridge.NotRun),
		scripted(409, 409, bridge.Conflict, "", bridge.NotRun),
		scripted(409, 409, bridge.Conflict, bridge.Elsewhere, bridge.NotRun),
		scripted(410, 410, bridge.SessionExpired, "", bridge.NotRun),
		scripted(422, 400, bridge.ToolError, "", bridge.Failed),
		scripted(422, 400, bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown),
		scripted(422, 400, bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed),
		scripted(422, 400, bridge.ToolError, bridge.SiteRefused, bridge.Unknown),
		scripted(422, 400, bridge.ToolError, bridge.NotSubmitted, bridge.Failed),
		scripted(403, 403, bridge.Forbidden, "", bridge.NotRun),
		func() row {
			r := scripted(429, 429, bridge.RateLimit, "", bridge.NotRun)
			r.header = map[string]string{"Retry-After": "2"}
			return r
		}(),
	)
}

// TestErrors is the contract's table of errors, from outside.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, row := range rows() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bridge.Options{})
			if row.path == "" {
				row.path = "/webtools/shop"
			}
			// The control: the site, the path and the dialects work.
			w.post(t, "/webtools/shop", callAdd).want(t, 200, `{"status":"ok","data":{"a":1}}`)
			w.post(t, "/webtools/shop", olderAdd).want(t, 200, `{"a":1}`)
			before := len(w.Calls())
			if row.script != nil {
				row.script(w)
			}
			got := w.post(t, row.path, row.body)
			got.wantError(t, row.status, row.code, row.reason, row.outcome)
			for key, value := range row.header {
				if got.Header.Get(key) != value {
					t.Errorf("%s: %q, want %q", key, got.Header.Get(key), value)
				}
			}
			noLeak(t, got)
			calls := 0
			if row.ran {
				calls = 1
			}
			if n := len(w.Calls()) - before; n != calls {
				t.Errorf("the site was called %d times, want %d", n, calls)
			}
			if row.older == "" {
				return
			}
			old := w.post(t, row.path, row.older)
			old.wantOlder(t, row.legacy)
			noLeak(t, old)
		})
	}
}

// noLeak is N20.
func noLeak(t *testing.T, r reply) {
	t.Helper()
	for _, leak := range []string{"secret", "goroutine", ".go:", "/usr/"} {
		if strings.Contains(r.body, leak) {
			t.Errorf("the reply leaks %q: %s", leak, r.body)
		}
	}
}

// TestTableIsComplete: every code that a call can end with has a row, and every
// reason.
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range rows() {
		seen[string(r.code)], seen[string(r.reason)] = true, true
	}
	elsewhere := map[bridge.Code]string{
		bridge.Unauthorized: "TestCallers", bridge.MethodNotAllowed: "TestMethods", bridge.Cancelled: "TestDisconnect",
	}
	for _, c := range bridge.Codes() {
		if seen[string(c)] == (elsewhere[c] != "") {
			t.Errorf("%s must have a row, or a test of its own", c)
		}
	}
	for _, r := range bridge.Reasons() {
		if !seen[string(r)] {
			t.Errorf("%s has no row", r)
		}
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	details := func(path, body string) string {
		var e struct{ Error failure }
		if err := json.Unmarshal([]byte(w.post(t, path, body).body), &e); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(e.Error.Details)
		return idText.ReplaceAllString(string(b), `"$1":"ID"`)
	}
	for _, test := range []struct{ path, body, want string }{
		{"/webtools/weather", `{"request":{"location":1}}`, `{"call":"ID","errors":[{"message":"`},
		{"/webtools/weather", `{"request":{"location":1}}`, `"pointer":"/location"`},
		{"/webtools/shop", `{"action":"nope","request":{}}`, `{"actions":["add","buy","count"],"call":"ID","reason":"action"}`},
		{"/webtools/shop", `{"request":{}}`, `{"actions":["add","buy","count"],"call":"ID"}`},
		{"/webtools/shop/actions/add", `{"action":"buy","request":{}}`, `{"actions":["add"],"reason":"action","request":"ID"}`},
		{"/webtools/shop", `{"action":"buy","request":{"a":1}}`, `"question":{`},
		{"/webtools/nowhere/actions/add", `{"action":"buy","request":{}}`, `{"call":"ID"}`},
	} {
		if got := details(test.path, test.body); !strings.Contains(got, test.want) {
			t.Errorf("%s %s: details %s, want %s", test.path, test.body, got, test.want)
		}
	}
}

func TestResumeTokenInHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	w.Answer("shop", "", bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "Waits.").Detail("resume", "the-token"))
	for _, body := range []string{callAdd, olderAdd} {
		if got := w.post(t, "/webtools/shop", body); got.Header.Get("Pagetools-Resume") != "the-token" {
			t.Errorf("no token: %v", got.Header)
		}
	}
}

func TestCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{},
		transport.Credential{Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop"}}, Token: "a"},
		transport.Credential{Caller: bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}, Token: "p"})
	w.post(t, "/webtools/shop", callAdd).wantError(t, 401, bridge.Unauthorized, "", bridge.NotRun)
	w.post(t, "/webtools/shop", callAdd, "Authorization: Bearer x").wantError(t, 403, bridge.Forbidden, "", bridge.NotRun)
	w.post(t, "/webtools/shop", callAdd, "Authorization: Bearer p").wantError(t, 403, bridge.Forbidden, "", bridge.NotRun)
	w.post(t, "/webtools/shop", olderAdd, "Authorization: Bearer p").wantOlder(t, 403)
	w.post(t, "/webtools/shop", callAdd, "Authorization: Bearer a").want(t, 200, `{"status":"ok","data":{"a":1}}`)
	if c := w.Calls()[0].Ref.Caller.Name; c != "agent" {
		t.Errorf("the site saw the caller %q", c)
	}
	// A site that the caller may not see is one that does not exist.
	hidden := w.post(t, "/webtools/weather/actions/get_current", `{"action":"x","request":{}}`, "Authorization: Bearer a")
	absent := w.post(t, "/webtools/nowhere/actions/get_current", `{"action":"x","request":{}}`, "Authorization: Bearer a")
	same := idText.ReplaceAllString(strings.ReplaceAll(hidden.body, "weather", "nowhere"), "")
	if same != idText.ReplaceAllString(absent.body, "") || hidden.StatusCode != absent.StatusCode {
		t.Errorf("hidden %s, absent %s", hidden.body, absent.body)
	}
	index := w.get(t, "/webtools", "Authorization: Bearer a")
	if strings.Contains(index.body, "weather") || !strings.Contains(index.body, "shop") {
		t.Errorf("index: %s", index.body)
	}
	// What needs a credential is not for shared caches.
	got := w.get(t, "/webtools/shop/1.0.0", "Authorization: Bearer a")
	if got.Header.Get("Cache-Control") != "private, max-age=31536000, immutable" {
		t.Errorf("Cache-Control: %q", got.Header.Get("Cache-Control"))
	}
}
