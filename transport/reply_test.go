package transport

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// refining are the reasons that do not belong to INTERNAL_ERROR: they change no
// status.
var refining = map[bridge.Reason]bridge.Code{
	bridge.ToolChanged: bridge.VersionMismatch, bridge.ResultInvalid: bridge.ToolError, bridge.ResultTooLarge: bridge.ToolError,
	bridge.AwaitingSubmission: bridge.ToolError, bridge.SiteRefused: bridge.ToolError, bridge.NotSubmitted: bridge.ToolError,
	bridge.Elsewhere: bridge.Conflict,
}

// TestStatusIsComplete fails when a new code or reason has no status.
func TestStatusIsComplete(t *testing.T) {
	t.Parallel()
	for _, code := range bridge.Codes() {
		status, ok := statuses[code]
		if !ok {
			t.Errorf("%s has no status", code)
		}
		if status >= 500 && code != bridge.InternalError {
			t.Errorf("%s is a %d; every 5xx is INTERNAL_ERROR", code, status)
		}
		if got := Status(&bridge.Error{Code: code}); got != status {
			t.Errorf("%s: %d, want %d", code, got, status)
		}
	}
	if len(statuses) != len(bridge.Codes()) {
		t.Error("statuses has a code that the bridge does not have")
	}
	for _, reason := range bridge.Reasons() {
		status, internal := internals[reason]
		code, refines := refining[reason]
		switch {
		case internal == refines:
			t.Errorf("%s must be in exactly one table", reason)
		case internal && (status < 500 || Status(&bridge.Error{Code: bridge.InternalError, Reason: reason}) != status):
			t.Errorf("%s: %d", reason, status)
		case refines && Status(&bridge.Error{Code: code, Reason: reason}) != statuses[code]:
			t.Errorf("%s changes the status of %s", reason, code)
		}
	}
	if len(internals)+len(refining) != len(bridge.Reasons()) {
		t.Error("a table has a reason that the bridge does not have")
	}
}

func TestStatusByCause(t *testing.T) {
	t.Parallel()
	for want, e := range map[int]*bridge.Error{
		413: {Code: bridge.SchemaError, Err: bridge.ErrTooLarge},
		415: {Code: bridge.SchemaError, Err: errMediaType},
		400: {Code: bridge.SchemaError, Err: errors.New("else")},
		422: {Code: bridge.ToolError, Err: bridge.ErrTooLarge},
		500: {Code: "NEW"},
	} {
		if got := Status(e); got != want {
			t.Errorf("%v: %d, want %d", e, got, want)
		}
	}
	away := bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "x")
	if away.Retry = time.Second; Status(away) != http.StatusBadGateway {
		t.Errorf("a site that is tried again: %d", Status(away))
	}
	if got := Status(away.With(errors.Join(ErrIssuerAway, errors.New("x")))); got != http.StatusServiceUnavailable {
		t.Errorf("an issuer that is away: %d", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for retry, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", time.Second: "1", 1001 * time.Millisecond: "2", time.Hour: "3600"} {
		w := httptest.NewRecorder()
		WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), &bridge.Error{Code: bridge.RateLimit, Retry: retry})
		if got := w.Header().Get("Retry-After"); got != want {
			t.Errorf("%s: %q, want %q", retry, got, want)
		}
	}
	w := httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), &bridge.Error{Code: bridge.InternalError, Reason: bridge.Draining})
	if got := w.Header().Get("Retry-After"); got != "5" || w.Code != http.StatusServiceUnavailable {
		t.Errorf("draining: %d, Retry-After %q", w.Code, got)
	}
	w = httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), &bridge.Error{Code: bridge.Conflict})
	if got := w.Header().Get("Retry-After"); got != "" {
		t.Errorf("Retry-After %q without need", got)
	}
}

func TestWriteErrorKeepsTheForm(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"x"`)
	e := &bridge.Error{Code: bridge.ToolError, Details: map[string]any{"bad": func() {}}, Err: errors.New("/secret/path")}
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil), e)
	want := `{"status":"error","error":{"code":"TOOL_ERROR","message":"The call failed, and nothing more is known.","outcome":"unknown"}}`
	if w.Body.String() != want || w.Header().Get("ETag") != "" {
		t.Errorf("%s", w.Body)
	}
	w = httptest.NewRecorder()
	WriteError(w, httptest.NewRequest(http.MethodGet, "/", nil),
		bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "a < b & \xff").Detail("n", 1))
	if !strings.Contains(w.Body.String(), `a < b & `) || !strings.Contains(w.Body.String(), `"details":{"n":1}`) {
		t.Errorf("%s", w.Body)
	}
}

// TestOrderOfChecks holds the list to the contract's order.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	checks := Guard(http.NotFoundHandler(), Options{}).(*guard).checks
	names := make([]string, 0, len(checks))
	for _, c := range checks {
		names = append(names, c.name)
	}
	if got := strings.Join(names, " "); got != "head host origin caller body" {
		t.Errorf("order: %s", got)
	}
}
