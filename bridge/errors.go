package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
)

// Code is the stable, public class of a failure. The names come from the webtools interface of
// 2025-06-30 and from the outside contract.
type Code string

// The codes. Every 5xx of a transport carries InternalError and a Reason.
const (
	SchemaError      Code = "SCHEMA_ERROR"
	ConfigError      Code = "CONFIG_ERROR"
	WebtoolNotFound  Code = "WEBTOOL_NOT_FOUND"
	VersionMismatch  Code = "VERSION_MISMATCH"
	ApprovalRequired Code = "APPROVAL_REQUIRED"
	ApprovalDenied   Code = "APPROVAL_DENIED"
	InputRequired    Code = "INPUT_REQUIRED"
	Conflict         Code = "CONFLICT"
	ResumeNotFound   Code = "RESUME_NOT_FOUND"
	SessionExpired   Code = "SESSION_EXPIRED"
	ToolError        Code = "TOOL_ERROR"
	Unauthorized     Code = "UNAUTHORIZED"
	Forbidden        Code = "FORBIDDEN"
	MethodNotAllowed Code = "METHOD_NOT_ALLOWED"
	RateLimit        Code = "RATE_LIMIT"
	Cancelled        Code = "CANCELLED"
	InternalError    Code = "INTERNAL_ERROR"
)

// Codes lists every code, for completeness tests of the transports.
func Codes() []Code {
	return []Code{
		SchemaError, ConfigError, WebtoolNotFound, VersionMismatch, ApprovalRequired,
		ApprovalDenied, InputRequired, Conflict, ResumeNotFound, SessionExpired, ToolError, Unauthorized,
		Forbidden, MethodNotAllowed, RateLimit, Cancelled, InternalError,
	}
}

// Reason refines a Code. The empty Reason is common.
type Reason string

// The reasons, grouped by the code that they refine.
const (
	// VersionMismatch.
	ToolChanged Reason = "TOOL_CHANGED"
	// ToolError.
	ResultInvalid  Reason = "RESULT_INVALID"
	ResultTooLarge Reason = "RESULT_TOO_LARGE"
	// AwaitingSubmission: a form is filled in, and waits for a person to submit it.
	AwaitingSubmission Reason = "AWAITING_SUBMISSION"
	// SiteRefused: a form was sent, and the site answered it with an error, or not at all.
	SiteRefused Reason = "SITE_REFUSED"
	// NotSubmitted: the page stopped a form.
	NotSubmitted Reason = "NOT_SUBMITTED"
	// Conflict.
	// Elsewhere: another process with the same data folder has the session, or the call.
	Elsewhere Reason = "ELSEWHERE"
	// InternalError.
	Timeout       Reason = "TIMEOUT"
	PageNavigated Reason = "PAGE_NAVIGATED"
	PageCrashed   Reason = "PAGE_CRASHED"
	PageHung      Reason = "PAGE_HUNG"
	Unreachable   Reason = "UNREACHABLE"
	Certificate   Reason = "CERTIFICATE"
	OriginBlocked Reason = "ORIGIN_BLOCKED"
	BrowserLost   Reason = "BROWSER_LOST"
	Draining      Reason = "DRAINING"
	Overload      Reason = "OVERLOAD"
	// NodeLost: the node of a cluster that had the call has ended. NoQuorum: it cannot be found out
	// which node has it, because the engine of the cluster, or that node, does not answer; or the engine
	// could not be told what the caller read.
	NodeLost Reason = "NODE_LOST"
	NoQuorum Reason = "NO_QUORUM"
	Internal Reason = "INTERNAL"
)

// Reasons lists every reason, for completeness tests of the transports.
func Reasons() []Reason {
	return []Reason{
		ToolChanged, ResultInvalid, ResultTooLarge, AwaitingSubmission, SiteRefused, NotSubmitted, Elsewhere, Timeout, PageNavigated,
		PageCrashed, PageHung, Unreachable, Certificate, OriginBlocked, BrowserLost, Draining, Overload, NodeLost, NoQuorum, Internal,
	}
}

// Outcome says what a failed call did, so that a caller knows whether it may
// repeat it.
type Outcome string

// The outcomes of a failed call.
const (
	// NotRun: nothing reached the page; safe to repeat.
	NotRun Outcome = "not_run"
	// Failed: the tool ran and refused.
	Failed Outcome = "failed"
	// Unknown: it may have run, or it ran and its result is lost.
	Unknown Outcome = "unknown"
)

// DetailCall is the detail that names the call of an error, by its id in the log, in the
// record of calls and in the audit.
const DetailCall = "call"

// Error is the only type of error that leaves the bridge.
type Error struct {
	Code    Code    `json:"code"`
	Reason  Reason  `json:"reason,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Message is one safe sentence for strangers. It never holds paths, stacks
	// or the text of a library.
	Message string `json:"message"`
	// Details is JSON-encodable, and public. Nil means none.
	Details map[string]any `json:"details,omitempty"`
	// Retry says when a repeat makes sense, rounded up to seconds by transports;
	// zero means not said.
	Retry time.Duration `json:"-"`
	// Err is the cause, for the log only.
	Err error `json:"-"`
}

// Error returns the code, the message and the cause. It is for logs.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Reason != "" {
		s += " (" + string(e.Reason) + ")"
	}
	s += ": " + e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Attrs returns what a line of the log says of the failure.
func (e *Error) Attrs() []slog.Attr {
	all := []slog.Attr{slog.String("code", string(e.Code)), slog.String("reason", string(e.Reason)),
		slog.String("outcome", string(e.Outcome))}
	if e.Err != nil {
		all = append(all, slog.Any("error", e.Err))
	}
	return all
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a formatted message.
func Errorf(c Code, r Reason, o Outcome, format string, args ...any) *Error {
	return &Error{Code: c, Reason: r, Outcome: o, Message: fmt.Sprintf(format, args...)}
}

// With adds the cause and returns e.
func (e *Error) With(cause error) *Error {
	e.Err = cause
	return e
}

// Detail adds one public detail and returns e.
func (e *Error) Detail(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// AsError returns err as an Error. Any other error becomes an INTERNAL_ERROR
// with an unknown outcome and a sentence that says nothing of its cause.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(InternalError, Internal, Unknown,
		"Something went wrong inside pagetools.").With(err)
}

// RetryAfter returns the wait in whole seconds, rounded up: at least one (RFC 9110, 10.2.3).
func RetryAfter(wait time.Duration) int64 {
	return max(1, int64((wait+time.Second-1)/time.Second))
}

// Seconds is RetryAfter in words.
func Seconds(wait time.Duration) string {
	return text.Count(int(RetryAfter(wait)), "second")
}

// TryAgain is the sentence that says how long to wait.
func TryAgain(wait time.Duration) string { return "Try again in " + Seconds(wait) + "." }

// IsDenied reports whether a person or our own policy denied the call. A site that says so in its
// own words is not meant.
func (e *Error) IsDenied() bool { return e.Code == ApprovalDenied && e.Details["untrusted"] == nil }

// NoSite returns the error of a Router that does not have the site.
func NoSite() *Error { return Errorf(WebtoolNotFound, "", NotRun, "There is no such site here.") }

// Replaced returns the error of a call that met a change or the removal of its site by the operator:
// before it got there, or in a page that had to go.
func Replaced(o Outcome) *Error {
	e := Errorf(InternalError, Draining, o, "The operator has changed or removed the site of this call, and ended it.")
	if o == NotRun {
		e.Message = "The operator has changed or removed the site of this call before the call got there. Nothing ran: make it again."
	}
	e.Retry = time.Second
	return e
}

// GaveUp returns the error of a call whose caller did not wait for its end.
func GaveUp(o Outcome) *Error { return Errorf(Cancelled, "", o, "The caller gave up.") }
