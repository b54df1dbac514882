package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// tables is the server of tests that are tables. Its renderers have so little
// memory that a page can use it up in a moment.
var tables = suite.Once(func() []string {
	site := suite.PageServer()
	return []string{
		"--approval", "auto", "--warm", "1", suite.OwnBrowser, "--chrome-arg=--js-flags=--max-old-space-size=128",
		"bad=" + site.Page("bad.html"), "live=" + site.Page("live.html"), "weather=" + site.Page("weather.html"),
		"readings=" + site.Page("readings.html"),
	}
})

// TestBadTools calls tools that end badly in one session, and a good one of the same page after
// each. A call whose page has gone or waits for a person has a page of its own.
func TestBadTools(t *testing.T) {
	t.Parallel()
	s := tables(t)
	failed := suite.Failure{Code: "TOOL_ERROR", Outcome: "failed"}
	late := suite.Failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}
	invalid := suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}
	tooLarge := suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_TOO_LARGE", Outcome: "unknown"}
	asks := suite.Failure{Code: "INPUT_REQUIRED", Outcome: "unknown"}
	navigated := suite.Failure{Code: "INTERNAL_ERROR", Reason: "PAGE_NAVIGATED", Outcome: "unknown"}
	tests := []struct {
		tool   string
		data   string // of a call that is ok
		status int
		want   suite.Failure // of one that is not; Message is not compared
		alone  bool
	}{
		{tool: "throw", status: http.StatusUnprocessableEntity, want: failed},
		{tool: "throw-later", status: http.StatusUnprocessableEntity, want: failed},
		{tool: "throw-nothing", status: http.StatusUnprocessableEntity, want: failed},
		{tool: "refuse", status: http.StatusUnprocessableEntity, want: failed},
		{tool: "hang", status: http.StatusGatewayTimeout, want: late},
		{tool: "loop-microtasks", status: http.StatusGatewayTimeout, want: late},
		{tool: "huge", status: http.StatusUnprocessableEntity, want: tooLarge},
		{tool: "cycle", status: http.StatusUnprocessableEntity, want: invalid},
		{tool: "symbol", status: http.StatusUnprocessableEntity, want: invalid},
		{tool: "function", status: http.StatusUnprocessableEntity, want: invalid},
		{tool: "deep", status: http.StatusUnprocessableEntity, want: invalid},
		{tool: "bigint", data: `"12345678901234567890"`},
		{tool: "undefined", data: `null`},
		{tool: "alert", data: `"seen"`},
		{tool: "confirm", status: http.StatusConflict, want: asks, alone: true},
		{tool: "prompt", status: http.StatusConflict, want: asks, alone: true},
		{tool: "navigate", status: http.StatusBadGateway, want: navigated, alone: true},
	}
	call := func(tool, more string) suite.Reply {
		return s.Ask("/webtools/bad", fmt.Sprintf(`{"action":%q,"request":{}%s}`, tool, more))
	}
	const session = `,"sessionId":"tools"`
	call("echo", session).Data(t) // the page is open: the time of a call is the tool's alone
	for _, test := range tests {
		t.Run(test.tool, func(t *testing.T) {
			more := session
			if test.want.Reason == "TIMEOUT" {
				more += `,"config":{"timeout":500}`
			} else if test.alone {
				more = ""
			}
			r := call(test.tool, more)
			if test.status == 0 {
				if got := string(r.Data(t)); got != test.data {
					t.Errorf("data is %s, want %s", got, test.data)
				}
			} else {
				suite.Compare(t, r, test.status, test.want)
			}
			if got := string(call("echo", session).Data(t)); got != `{}` {
				t.Errorf("the next call gave %s", got)
			}
		})
	}
}

// TestBadSession checks that a session survives what does not end its page, and that its caller is
// told once when its page is gone.
func TestBadSession(t *testing.T) {
	t.Parallel()
	s := tables(t)
	call := func(tool, config string) suite.Reply {
		return s.Ask("/webtools/bad", fmt.Sprintf(`{"sessionId":"bad","action":%q,"config":%s,"request":{}}`, tool, config))
	}
	call("echo", `{}`).Data(t)
	suite.Compare(t, call("loop", `{"timeout":500}`), http.StatusGatewayTimeout, suite.Failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"})
	call("echo", `{}`).Data(t)
	suite.Compare(t, call("crash", `{}`), http.StatusBadGateway, suite.Failure{Code: "INTERNAL_ERROR", Reason: "PAGE_CRASHED", Outcome: "unknown"})
	if r := call("echo", `{}`); r.Status == http.StatusGone { // at most once; the crash may have been its notice
		suite.Compare(t, r, http.StatusGone, suite.Failure{Code: "SESSION_EXPIRED", Outcome: "not_run"})
	}
	call("echo", `{}`).Data(t)
	suite.IsGood(t, s, "bad")
}
