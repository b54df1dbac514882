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
	}
})

// TestBadTools calls tools that end badly, and a good one of the same page after
// each.
func TestBadTools(t *testing.T) {
	t.Parallel()
	s := tables(t)
	const short = `{"timeout":500}`
	tests := []struct {
		tool, config string
		data         string // of a call that is ok
		status       int
		want         suite.Failure // of one that is not; Message is not compared
	}{
		{tool: "throw", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "throw-later", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "throw-nothing", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "refuse", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "hang", config: short, status: http.StatusGatewayTimeout, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}},
		{tool: "loop", config: short, status: http.StatusGatewayTimeout, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}},
		{tool: "loop-microtasks", config: short, status: http.StatusGatewayTimeout, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}},
		{tool: "huge", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_TOO_LARGE", Outcome: "unknown"}},
		{tool: "cycle", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "symbol", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "function", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "deep", status: http.StatusUnprocessableEntity, want: suite.Failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "bigint", data: `"12345678901234567890"`},
		{tool: "undefined", data: `null`},
		{tool: "confirm", status: http.StatusConflict, want: suite.Failure{Code: "INPUT_REQUIRED", Outcome: "unknown"}},
		{tool: "prompt", status: http.StatusConflict, want: suite.Failure{Code: "INPUT_REQUIRED", Outcome: "unknown"}},
		{tool: "alert", data: `"seen"`},
		{tool: "navigate", status: http.StatusBadGateway, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "PAGE_NAVIGATED", Outcome: "unknown"}},
		{tool: "crash", status: http.StatusBadGateway, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "PAGE_CRASHED", Outcome: "unknown"}},
	}
	for _, test := range tests {
		t.Run(test.tool, func(t *testing.T) {
			t.Parallel()
			more := ""
			if test.config != "" {
				// In a session whose page is open: the time is the tool's alone.
				more = fmt.Sprintf(`,"sessionId":%q`, test.tool)
				s.Ask("/webtools/bad", `{"action":"echo","request":{}`+more+`}`).Data(t)
				more += `,"config":` + test.config
			}
			r := s.Ask("/webtools/bad", fmt.Sprintf(`{"action":%q,"request":{}%s}`, test.tool, more))
			if test.status == 0 {
				if got := string(r.Data(t)); got != test.data {
					t.Errorf("data is %s, want %s", got, test.data)
				}
			} else {
				suite.Compare(t, r, test.status, test.want)
			}
			suite.IsGood(t, s, "bad")
		})
	}
}

// TestBadSession holds that a session survives what does not end its page, and
// that its caller is told once when its page is gone.
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
}
