package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// TestExitCodes is the contract's list, complete over codes and reasons.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	codes := map[bridge.Code]int{
		bridge.SchemaError: 2, bridge.ConfigError: 2, bridge.WebtoolNotFound: 2,
		bridge.Unauthorized: 3, bridge.Forbidden: 3,
		bridge.ApprovalRequired: 6, bridge.ApprovalDenied: 6,
		bridge.VersionMismatch: 5, bridge.Conflict: 5, bridge.ResumeNotFound: 5, bridge.SessionExpired: 5, bridge.ToolError: 5,
		bridge.MethodNotAllowed: 5, bridge.RateLimit: 5, bridge.Cancelled: 5, bridge.InternalError: 5,
	}
	for _, code := range bridge.Codes() {
		want, ok := codes[code]
		if !ok {
			if !strings.HasPrefix(string(code), "INPUT_") {
				t.Errorf("%s is in no line of this table", code)
				continue
			}
			want = 6
		}
		if got := exitCode(&bridge.Error{Code: code}); got != want {
			t.Errorf("%s exits %d, want %d", code, got, want)
		}
	}
	reasons := map[bridge.Reason]int{
		bridge.Unreachable: 4, bridge.Certificate: 4, bridge.OriginBlocked: 4, bridge.BrowserLost: 4, bridge.Draining: 4, bridge.Overload: 4, bridge.NoQuorum: 4,
		bridge.Timeout: 5, bridge.PageNavigated: 5, bridge.PageCrashed: 5, bridge.PageHung: 5, bridge.NodeLost: 5, bridge.Internal: 5,
	}
	others := map[bridge.Reason]bridge.Code{
		bridge.ToolChanged: bridge.VersionMismatch, bridge.ResultInvalid: bridge.ToolError, bridge.ResultTooLarge: bridge.ToolError,
		bridge.AwaitingSubmission: bridge.ToolError, bridge.SiteRefused: bridge.ToolError, bridge.NotSubmitted: bridge.ToolError,
		bridge.Elsewhere: bridge.Conflict,
	}
	for _, reason := range bridge.Reasons() {
		code, want := bridge.InternalError, reasons[reason]
		if other, ok := others[reason]; ok {
			code, want = other, 5
		}
		if got := exitCode(&bridge.Error{Code: code, Reason: reason}); got != want {
			t.Errorf("%s (%s) exits %d, want %d", code, reason, got, want)
		}
	}
}

// TestFinish prints each kind of failure in both forms.
func TestFinish(t *testing.T) {
	t.Parallel()
	live := context.Background()
	ended := func(s os.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(live)
		cancel(errInterrupted{s})
		return ctx
	}
	cancelled := bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.")
	tests := []struct {
		name       string
		ctx        context.Context
		err        error
		code       int
		text, json string // part of what is printed
	}{
		{"well", live, nil, 0, "", ""},
		{"usage", live, terminal.Usage("bad\x1b[1m"), 2, "pagetools: bad[1m", `"code":"CONFIG_ERROR","reason":"","message":"bad\u001b[1m","outcome":"not_run"`},
		{"no browser", live, terminal.Unreachable("none"), 4, "none", `"code":"INTERNAL_ERROR","reason":"BROWSER_LOST"`},
		{"tool", live, bridge.Errorf(bridge.ToolError, "", bridge.Failed, "no"), 5, "pagetools: no", `"code":"TOOL_ERROR","reason":"","message":"no","outcome":"failed"`},
		{"consent", live, bridge.Errorf(bridge.ApprovalRequired, "", bridge.NotRun, "who?"), 6, "Run it on a terminal", `"APPROVAL_REQUIRED"`},
		{"cause", live, bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun, "Lost.").With(errors.New("why")), 4, "Lost. why.", `"message":"Lost."`},
		{"anything", live, errors.New("odd"), 5, "odd", `"code":"INTERNAL_ERROR","reason":"INTERNAL"`},
		{"shown", live, &terminal.ShownError{Code: 1}, 1, "", ""},
		{"help", live, errUsageShown, 2, "", ""},
		{"interrupted", ended(os.Interrupt), cancelled, 130, "", `"code":"CANCELLED","reason":"","message":"The caller gave up.","outcome":"unknown"`},
		{"interrupted, served", ended(os.Interrupt), nil, 130, "", ""},
		{"terminated", ended(syscall.SIGTERM), cancelled, 130, "", `"CANCELLED"`},
		{"terminated, served", ended(syscall.SIGTERM), nil, 0, "", ""},
	}
	for _, test := range tests {
		for format, want := range map[string]string{"text": test.text, "json": test.json, "ndjson": test.json} {
			var out, said bytes.Buffer
			p := &program{stdout: terminal.NewStream(&out), stderr: terminal.NewStream(&said), conf: &config.Config{Format: format}, log: slog.New(slog.DiscardHandler)}
			if code := p.finish(test.ctx, test.err); code != test.code {
				t.Errorf("%s, %s: exit code %d, want %d", test.name, format, code, test.code)
			}
			lines := strings.Count(said.String(), "\n")
			if out.Len() > 0 || !strings.Contains(said.String(), want) || (want == "") != (said.Len() == 0) || (want != "" && lines != 1) {
				t.Errorf("%s, %s: stdout %q, stderr %q", test.name, format, out.String(), said.String())
			}
			if format != "text" && want != "" && !json.Valid(said.Bytes()) {
				t.Errorf("%s: %q is no JSON", test.name, said.String())
			}
		}
	}
}
