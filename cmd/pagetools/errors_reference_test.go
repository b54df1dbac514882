package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

//go:generate go test . -count=1 -run TestErrorsReference -reference

var newReference = flag.Bool("reference", false, "write docs/errors.md anew")

const (
	errorsPage  = "../../docs/errors.md"
	errorsBegin = "<!-- From here on made by go generate from cmd/pagetools. -->\n"
)

// TestErrorsReference (D10): the page of errors is made from the codes and reasons of the
// bridge, the statuses of the transport and the exit codes of the command line. Every code
// and reason has words. What is above the table is written by hand.
func TestErrorsReference(t *testing.T) {
	t.Parallel()
	old, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, found := strings.Cut(string(old), errorsBegin)
	if !found {
		t.Fatalf("%s has no line %q", errorsPage, errorsBegin)
	}
	for _, code := range bridge.Codes() {
		if !slices.ContainsFunc(failures, func(f failureRow) bool { return f.code == code }) {
			t.Errorf("%s has no words", code)
		}
	}
	for _, reason := range bridge.Reasons() {
		if !slices.ContainsFunc(failures, func(f failureRow) bool { return f.reason == reason }) {
			t.Errorf("%s has no words", reason)
		}
	}
	now := byHand + errorsBegin + errorsReference()
	if *newReference {
		if err := os.WriteFile(errorsPage, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if now != string(old) {
		t.Errorf("%s is not current: go generate ./cmd/pagetools", errorsPage)
	}
}

// errorsReference writes the table.
func errorsReference() string {
	var b strings.Builder
	fmt.Fprint(&b, "\n| code | reason | HTTP | exit code | outcome | what it means | what to do |\n|---|---|---|---|---|---|---|\n")
	for _, f := range failures {
		e := bridge.Errorf(f.code, f.reason, bridge.Unknown, "x")
		if f.cause != nil {
			e = e.With(f.cause)
		}
		status := fmt.Sprint(transport.Status(e))
		if f.code == bridge.Cancelled {
			status = "" // nobody is there to read it
		}
		reason := ""
		if f.reason != "" {
			reason = "`" + string(f.reason) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d | %s | %s | %s |\n", f.code, reason, status, exitCode(e), f.outcomes, f.means, f.do)
	}
	return b.String()
}

// failureRow is one row of the page.
type failureRow struct {
	code      bridge.Code
	reason    bridge.Reason
	cause     error // what tells two statuses of one code apart
	outcomes  string
	means, do string
}

const (
	notRun  = "`not_run`"
	failed  = "`failed`"
	unknown = "`unknown`"
	either  = "`not_run` or `unknown`"
	ofForm  = "`failed` or `unknown`"
)

// failures are the words of the page, in the order of a call's life.
var failures = []failureRow{
	{bridge.Unauthorized, "", nil, notRun, "There is no credential; with `oauth`, also one that does not count, or not any more.", "Send `Authorization: Bearer TOKEN`. `WWW-Authenticate` says where to log in."},
	{bridge.Forbidden, "", nil, notRun, "The credential is wrong, or lacks the right, the scope or the site, or the request comes from a foreign origin or host.", "Use the right credential. A page of your own needs `--cors`, another host name `--allow-host`."},
	{bridge.MethodNotAllowed, "", nil, notRun, "The path does not take this method.", "`Allow` lists those that it takes."},
	{bridge.SchemaError, "", nil, notRun, "The body or the arguments are not as the document of the webtool says.", "Correct them: `details.errors` has JSON pointers."},
	{bridge.SchemaError, "", bridge.ErrTooLarge, notRun, "The body is too large.", "Send less."},
	{bridge.ConfigError, "", nil, notRun, "`config` has a key that the operator did not allow, or a bad value. On the command line: a bad flag, variable or file.", "Leave the key out, or list it in `allow-config`."},
	{bridge.WebtoolNotFound, "", nil, notRun, "There is no such site, version or tool now.", "Read the list again; `details.actions` has it."},
	{bridge.VersionMismatch, "", nil, notRun, "The version that the call names is not the one that would run.", "Read the current document, and name its version."},
	{bridge.VersionMismatch, bridge.ToolChanged, nil, notRun, "The tool or its page changed after a person agreed.", "Make the call again. The person is asked again."},
	{bridge.RateLimit, "", nil, notRun, "A rate or the queue is full.", "Wait for `Retry-After`; `details.limit` names the rate."},
	{bridge.ApprovalRequired, "", nil, notRun, "A person has to agree first.", "Tell the person, and [resume](questions.md#resume-a-call)."},
	{bridge.ApprovalDenied, "", nil, notRun, "A person or the operator said no, or nobody answered in time.", "Stop. Do not ask again."},
	{bridge.InputRequired, "", nil, unknown, "The page asks a person, and the call waits in it.", "Tell the person, and [resume](questions.md#resume-a-call)."},
	{bridge.InputRequired, bridge.AwaitingSubmission, nil, unknown, "A form is filled in, and a person has to submit it.", "The same."},
	{bridge.Conflict, "", nil, notRun, "Another call of this session waits for a person, or the call with this `Idempotency-Key` still runs.", "Wait for that one."},
	{bridge.Conflict, "", bridge.ErrOtherCall, notRun, "This `Idempotency-Key` belongs to another call.", "Use a new key for a new call."},
	{bridge.Conflict, bridge.Elsewhere, nil, either, "Another pagetools process with the same data folder has the session, or the call of the token.", "Send it to that process: see [two processes behind a balancer](operate.md#two-processes-behind-a-balancer). Do not make a call again that it has."},
	{bridge.ResumeNotFound, "", nil, either, "There is no call with this token: it is spent, too old, another caller's, or its process has ended. `not_run` only where the text cannot be a token.", "If you had its result, it is done. Otherwise look at the page before you call again."},
	{bridge.SessionExpired, "", nil, notRun, "The page of your session is gone, with its state.", "Call again: that starts a new page."},
	{bridge.ToolError, "", nil, failed, "The tool ran, and said that it failed.", "Read the message. The same arguments will likely fail again."},
	{bridge.ToolError, bridge.ResultInvalid, nil, unknown, "The tool ran, and its result cannot be written as JSON, or does not fit its `outputSchema` where `strict-output` is on.", "Look at the page before you call again."},
	{bridge.ToolError, bridge.ResultTooLarge, nil, unknown, "The tool ran, and its result is too large.", "Ask for less, or raise `limits: {result: BYTES}`."},
	{bridge.ToolError, bridge.SiteRefused, nil, ofForm, "A form was sent, and the site answered with a status of 400 or more, or not at all.", "`details.page` has the status and what the page says."},
	{bridge.ToolError, bridge.NotSubmitted, nil, ofForm, "The page stopped a form, and nothing was sent.", "`details.page` says which fields are wrong, and what the page says; the message, with what its script failed."},
	{bridge.InternalError, bridge.Unreachable, nil, notRun, "The site does not answer.", "`pagetools doctor TARGET` names the step that fails. With `Retry-After`, the site is left alone until `details.nextTry`."},
	{bridge.InternalError, bridge.Unreachable, transport.ErrIssuerAway, notRun, "The issuer of the token does not answer, and its keys are not known.", "Wait for `Retry-After`, and send it again."},
	{bridge.InternalError, bridge.Certificate, nil, notRun, "The browser does not accept the site's certificate.", "For a site of your own: `--accept-insecure-certs`."},
	{bridge.InternalError, bridge.OriginBlocked, nil, notRun, "The site leads to an origin that was not named.", "If it is the site's own: `--allow-origin`."},
	{bridge.InternalError, bridge.PageHung, nil, notRun, "The page answers nothing.", "Repeat it. If it goes on, run `pagetools doctor TARGET`."},
	{bridge.InternalError, bridge.PageNavigated, nil, unknown, "The page went elsewhere during the call.", "Look at the page before you call again."},
	{bridge.InternalError, bridge.PageCrashed, nil, unknown, "The page crashed during the call.", "Look at the page before you call again."},
	{bridge.InternalError, bridge.Timeout, nil, unknown, "The tool took too long, and was told to stop.", "Look at the page before you call again. `--call-timeout` gives tools longer."},
	{bridge.InternalError, bridge.BrowserLost, nil, either, "The browser ended, or cannot be started.", "Wait for `Retry-After`, and look at `outcome`."},
	{bridge.InternalError, bridge.Draining, nil, either, "pagetools is being stopped, or its operator changed or removed the site meanwhile.", "Wait for `Retry-After`, and look at `outcome`."},
	{bridge.InternalError, bridge.Overload, nil, either, "There is no memory for a page, or the call waited for one for as long as it may.", "Wait for `Retry-After`, and look at `outcome`."},
	{bridge.InternalError, bridge.NodeLost, nil, unknown, "The node of a cluster that had the call has ended.", "Look at the page, or the site, before you call again."},
	{bridge.InternalError, bridge.NoQuorum, nil, either, "The node of a cluster that has the session or the call, or the engine that knows which one that is, does not answer. With `unknown`, also: the result is untrusted content, and withheld, because the engine could not be told who read it.", "Wait for `Retry-After`, and look at `outcome`."},
	{bridge.InternalError, bridge.Internal, nil, either, "Something is wrong inside pagetools.", "Look at `outcome`. The log has the cause: `--verbose`."},
	{bridge.Cancelled, "", nil, either, "The caller gave up, which only the log says, or cancelled its [long call](long-calls.md#cancel-it).", "Look at the page before you call again, unless `outcome` is `not_run`."},
}
