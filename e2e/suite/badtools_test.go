package suite_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// tables is the server of tests that are tables. Its renderers have so little
// memory that a page can use it up in a moment.
var tables = once(func() []string {
	site := pageServer()
	return []string{
		"--approval", "auto", "--warm", "1", "--chrome-arg=--js-flags=--max-old-space-size=512",
		"bad=" + site.page("bad.html"), "live=" + site.page("live.html"), "weather=" + site.page("weather.html"),
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
		want         failure // of one that is not; Message is not compared
	}{
		{tool: "throw", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "throw-later", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "throw-nothing", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "refuse", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Outcome: "failed"}},
		{tool: "hang", config: short, status: http.StatusGatewayTimeout, want: failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}},
		{tool: "loop", config: short, status: http.StatusGatewayTimeout, want: failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}},
		{tool: "loop-microtasks", config: short, status: http.StatusGatewayTimeout, want: failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"}},
		{tool: "huge", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Reason: "RESULT_TOO_LARGE", Outcome: "unknown"}},
		{tool: "cycle", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "symbol", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "function", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "deep", status: http.StatusUnprocessableEntity, want: failure{Code: "TOOL_ERROR", Reason: "RESULT_INVALID", Outcome: "unknown"}},
		{tool: "bigint", data: `"12345678901234567890"`},
		{tool: "undefined", data: `null`},
		{tool: "confirm", status: http.StatusConflict, want: failure{Code: "INPUT_REQUIRED", Outcome: "unknown"}},
		{tool: "prompt", status: http.StatusConflict, want: failure{Code: "INPUT_REQUIRED", Outcome: "unknown"}},
		{tool: "alert", data: `"seen"`},
		{tool: "navigate", status: http.StatusBadGateway, want: failure{Code: "INTERNAL_ERROR", Reason: "PAGE_NAVIGATED", Outcome: "unknown"}},
		{tool: "crash", status: http.StatusBadGateway, want: failure{Code: "INTERNAL_ERROR", Reason: "PAGE_CRASHED", Outcome: "unknown"}},
	}
	for _, test := range tests {
		t.Run(test.tool, func(t *testing.T) {
			t.Parallel()
			more := ""
			if test.config != "" {
				// In a session whose page is open: the time is the tool's alone.
				more = fmt.Sprintf(`,"sessionId":%q`, test.tool)
				s.ask("/webtools/bad", `{"action":"echo","request":{}`+more+`}`).data(t)
				more += `,"config":` + test.config
			}
			r := s.ask("/webtools/bad", fmt.Sprintf(`{"action":%q,"request":{}%s}`, test.tool, more))
			if test.status == 0 {
				if got := string(r.data(t)); got != test.data {
					t.Errorf("data is %s, want %s", got, test.data)
				}
			} else {
				compare(t, r, test.status, test.want)
			}
			isGood(t, s, "bad")
		})
	}
}

// compare holds a reply to the contract's table of errors. An empty outcome is
// not compared.
func compare(t *testing.T, r reply, status int, want failure) {
	t.Helper()
	got := r.failed(t)
	if r.status != status || got.Code != want.Code || got.Reason != want.Reason || want.Outcome != "" && got.Outcome != want.Outcome {
		t.Errorf("%d %s\nwant %d %+v", r.status, shorten(r.body), status, want)
	}
	if ct := r.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("the content type is %q", ct)
	}
}

// isGood calls the good tool of a page.
func isGood(t *testing.T, s *server, site string) {
	t.Helper()
	r := s.ask("/webtools/"+site, `{"action":"echo","request":{"text":"still here"}}`)
	var got struct{ Text string }
	if err := json.Unmarshal(r.data(t), &got); err != nil || got.Text != "still here" {
		t.Errorf("the next call gave %s", shorten(r.body))
	}
}

// TestBadSession holds that a session survives what does not end its page, and
// that its caller is told once when its page is gone.
func TestBadSession(t *testing.T) {
	t.Parallel()
	s := tables(t)
	call := func(tool, config string) reply {
		return s.ask("/webtools/bad", fmt.Sprintf(`{"sessionId":"bad","action":%q,"config":%s,"request":{}}`, tool, config))
	}
	call("echo", `{}`).data(t)
	compare(t, call("loop", `{"timeout":500}`), http.StatusGatewayTimeout, failure{Code: "INTERNAL_ERROR", Reason: "TIMEOUT", Outcome: "unknown"})
	call("echo", `{}`).data(t)
	compare(t, call("crash", `{}`), http.StatusBadGateway, failure{Code: "INTERNAL_ERROR", Reason: "PAGE_CRASHED", Outcome: "unknown"})
	if r := call("echo", `{}`); r.status == http.StatusGone { // at most once; the crash may have been its notice
		compare(t, r, http.StatusGone, failure{Code: "SESSION_EXPIRED", Outcome: "not_run"})
	}
	call("echo", `{}`).data(t)
}
