package transport

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// statuses is the table of the contract by code. Reasons of INTERNAL_ERROR have
// their own.
var statuses = map[bridge.Code]int{
	bridge.SchemaError:      http.StatusBadRequest,
	bridge.ConfigError:      http.StatusBadRequest,
	bridge.WebtoolNotFound:  http.StatusNotFound,
	bridge.VersionMismatch:  http.StatusConflict,
	bridge.ApprovalRequired: http.StatusForbidden,
	bridge.ApprovalDenied:   http.StatusForbidden,
	bridge.InputRequired:    http.StatusConflict,
	bridge.Conflict:         http.StatusConflict,
	bridge.ResumeNotFound:   http.StatusNotFound,
	bridge.SessionExpired:   http.StatusGone,
	bridge.ToolError:        http.StatusUnprocessableEntity,
	bridge.Unauthorized:     http.StatusUnauthorized,
	bridge.Forbidden:        http.StatusForbidden,
	bridge.MethodNotAllowed: http.StatusMethodNotAllowed,
	bridge.RateLimit:        http.StatusTooManyRequests,
	bridge.Cancelled:        statusGaveUp,
	bridge.InternalError:    http.StatusInternalServerError,
}

// internals are the statuses of INTERNAL_ERROR by reason.
var internals = map[bridge.Reason]int{
	bridge.Timeout:       http.StatusGatewayTimeout,
	bridge.PageNavigated: http.StatusBadGateway,
	bridge.PageCrashed:   http.StatusBadGateway,
	bridge.PageHung:      http.StatusBadGateway,
	bridge.Unreachable:   http.StatusBadGateway,
	bridge.Certificate:   http.StatusBadGateway,
	bridge.OriginBlocked: http.StatusBadGateway,
	bridge.BrowserLost:   http.StatusServiceUnavailable,
	bridge.Draining:      http.StatusServiceUnavailable,
	bridge.Overload:      http.StatusServiceUnavailable,
	bridge.NodeLost:      http.StatusBadGateway,
	bridge.NoQuorum:      http.StatusServiceUnavailable,
	bridge.Internal:      http.StatusInternalServerError,
}

// Status is the HTTP status of an error, by the table of the contract.
func Status(e *bridge.Error) int {
	switch {
	case e.Code == bridge.SchemaError && errors.Is(e.Err, bridge.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case e.Code == bridge.Conflict && errors.Is(e.Err, bridge.ErrOtherCall):
		return http.StatusUnprocessableEntity
	case e.Code == bridge.SchemaError && errors.Is(e.Err, errMediaType):
		return http.StatusUnsupportedMediaType
	case errors.Is(e.Err, ErrIssuerAway):
		return http.StatusServiceUnavailable
	}
	status, known := statuses[e.Code]
	if !known {
		return http.StatusInternalServerError
	}
	if e.Code == bridge.InternalError {
		if s, ok := internals[e.Reason]; ok {
			return s
		}
	}
	return status
}

// ErrorBody is the public form of an error: {"code","message","reason"?,
// "outcome","details"?}.
type ErrorBody struct {
	Code    bridge.Code    `json:"code"`
	Message string         `json:"message"`
	Reason  bridge.Reason  `json:"reason,omitempty"`
	Outcome bridge.Outcome `json:"outcome"`
	Details map[string]any `json:"details,omitempty"`
}

// NewErrorBody returns the public form of e. The message is never empty.
func NewErrorBody(e *bridge.Error) ErrorBody {
	return ErrorBody{Code: e.Code, Reason: e.Reason, Details: e.Details,
		Message: cmp.Or(e.Message, "The call failed, and nothing more is known."),
		Outcome: cmp.Or(e.Outcome, bridge.Unknown)}
}

// envelope is an error in the current dialect of the webtools documents.
type envelope struct {
	Status string    `json:"status"`
	Error  ErrorBody `json:"error"`
}

// rpcEnvelope is an error that no JSON-RPC message was read for (JSON-RPC 2.0, 5.1).
type rpcEnvelope struct {
	JSONRPC string   `json:"jsonrpc"`
	ID      *int     `json:"id"`
	Error   rpcError `json:"error"`
}

type rpcError struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    ErrorBody `json:"data"`
}

// RPCCode is the code of JSON-RPC: an invalid request, or one of our own, outside
// of what the specifications have for themselves.
func RPCCode(e *bridge.Error) int {
	if e.Code == bridge.SchemaError || e.Code == bridge.MethodNotAllowed ||
		e.Code == bridge.WebtoolNotFound {
		return -32600
	}
	return -31000 - Status(e)
}

// DetailRequest is the detail that names the request of an error, by its id in the log, where
// there is no call.
const DetailRequest = "request"

// InRequest returns the public form of an error that names its call, or else its request by
// this id. Details that cannot be encoded are left out.
func InRequest(b ErrorBody, id string) ErrorBody {
	if _, err := schema.Encode(b.Details); err != nil {
		b.Details = nil
	}
	if b.Details[bridge.DetailCall] == nil && b.Details[DetailRequest] == nil && id != "" {
		details := make(map[string]any, len(b.Details)+1)
		maps.Copy(details, b.Details)
		details[DetailRequest] = id
		b.Details = details
	}
	return b
}

func bodyOf(r *http.Request, e *bridge.Error) ErrorBody {
	return InRequest(NewErrorBody(e), RequestID(r.Context()))
}

// WriteError writes e in the envelope {"status":"error","error":{…}}.
func WriteError(w http.ResponseWriter, r *http.Request, e *bridge.Error) {
	body := bodyOf(r, e)
	WriteErrorAs(w, r, e, Status(e), envelope{"error", body})
}

// note has the line of the log say what went wrong.
func note(r *http.Request, e *bridge.Error) {
	if in := infoOf(r.Context()); in != nil {
		in.err = e
	}
}

// WriteText writes a body whose headers are set, but for its length. The log says e, unless it is
// nil.
func WriteText(w http.ResponseWriter, r *http.Request, status int, body []byte, e *bridge.Error) {
	if e != nil {
		note(r, e)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // as WriteBytes
}

// WriteErrorAs writes e in the words of a face: v is the body, status its
// status. Headers and log are the same as for every error.
func WriteErrorAs(w http.ResponseWriter, r *http.Request, e *bridge.Error, status int, v any) {
	note(r, e)
	if in := infoOf(r.Context()); in != nil && in.jsonRPC {
		v = rpcEnvelope{"2.0", nil, rpcError{RPCCode(e), e.Message, bodyOf(r, e)}}
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	switch {
	case e.Retry > 0 || status == http.StatusTooManyRequests:
		h.Set("Retry-After", strconv.FormatInt(bridge.RetryAfter(e.Retry), 10))
	case e.Reason == bridge.Draining:
		h.Set("Retry-After", afterDraining)
	}
	WriteJSON(w, r, status, v)
}

// afterDraining sets how many seconds a client waits before it tries again: a supervisor has
// started another process by then.
const afterDraining = "5"

// WriteJSON writes v as JSON. A value that cannot be encoded is our own bug.
func WriteJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	b, err := schema.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("encoding a reply: %v", err))
	}
	WriteBytes(w, r, status, b)
}

// jsonType is shared by all replies and never changed.
var jsonType = []string{"application/json"}

// WriteBytes writes JSON text as it is.
func WriteBytes(w http.ResponseWriter, _ *http.Request, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = nosniff
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no reply; the server drops the body of a HEAD itself
}
