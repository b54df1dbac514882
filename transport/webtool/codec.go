package webtool

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport"
)

// codec writes the replies of a dialect.
type codec struct {
	succeed func(w http.ResponseWriter, r *http.Request, end bridge.Step)
	// fail writes an error; action is true when the webtool exists and the
	// action does not.
	fail func(w http.ResponseWriter, r *http.Request, e *bridge.Error, action bool)
}

// codecs by whether the dialect is the older one.
var codecs = map[bool]codec{
	false: {succeed: succeed, fail: fail},
	true:  {succeed: succeedOlder, fail: failOlder},
}

// details holds the remarks beside a result's data.
type details struct {
	Files           []transport.FileBody `json:"files,omitempty"`
	LeftOut         int                  `json:"leftOut,omitempty"`
	Changed         *bridge.Changed      `json:"changed,omitempty"`
	SchemaViolation *bridge.Violation    `json:"schemaViolation,omitempty"`
}

// succeed replies {"status":"ok","data":…}, with "details" when the data does not fit its
// own schema or was cut, when a person changed the arguments, or when the page saved files. The data is not encoded again.
func succeed(w http.ResponseWriter, r *http.Request, end bridge.Step) {
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteBytes(w, r, http.StatusOK, succeeded(r, end))
}

func succeeded(r *http.Request, end bridge.Step) []byte {
	const head = `{"status":"ok","data":`
	tail := []byte("}")
	if end.Violation != nil || end.LeftOut > 0 || end.Changed != nil || len(end.Files) > 0 {
		more := details{transport.FilesOf(r, end.Files), end.LeftOut, end.Changed, end.Violation}
		tail = slices.Concat([]byte(`,"details":`), schema.MustEncode(more), tail)
	}
	body := make([]byte, 0, len(head)+len(end.Data)+len(tail))
	return append(append(append(body, head...), end.Data...), tail...)
}

// fail replies {"status":"error","error":{…}}.
func fail(w http.ResponseWriter, r *http.Request, e *bridge.Error, _ bool) {
	transport.SetResume(w, e)
	transport.WriteError(w, r, named(e))
}

// succeedOlder replies with the bare result.
func succeedOlder(w http.ResponseWriter, r *http.Request, end bridge.Step) {
	w.Header().Set("Cache-Control", "no-store")
	transport.LinkFiles(w, r, end.Files)
	transport.WriteBytes(w, r, http.StatusOK, end.Data)
}

// failOlder replies {"error":"message"}.
func failOlder(w http.ResponseWriter, r *http.Request, e *bridge.Error, action bool) {
	transport.SetResume(w, e)
	transport.WriteErrorAs(w, r, e, olderStatus(e, action), olderError{transport.NewErrorBody(named(e)).Message})
}

type olderError struct {
	Error string `json:"error"`
}

// The forms of replies, for calls that outlive their request.
const (
	formCurrent      = "" // also that of calls of other faces
	formOlder        = "older"
	formOlderActions = "older, several actions"
	formBatch        = "batch"
)

func formOf(older, single bool) string {
	switch {
	case !older:
		return formCurrent
	case single:
		return formOlder
	}
	return formOlderActions
}

// Forms returns the forms of replies, by Call.Form.
func Forms() map[string]transport.Form {
	older := func(several bool) transport.Form {
		return func(_ *http.Request, end bridge.Step) (int, []byte) {
			if e := end.Err; e != nil {
				return olderStatus(e, several && isUnknownAction(e)), schema.MustEncode(olderError{transport.NewErrorBody(named(e)).Message})
			}
			return http.StatusOK, end.Data
		}
	}
	return map[string]transport.Form{
		formCurrent: func(r *http.Request, end bridge.Step) (int, []byte) {
			if end.Err != nil {
				return transport.Status(end.Err), transport.ErrorText(named(transport.WithFiles(r, end)))
			}
			return http.StatusOK, succeeded(r, end)
		},
		formOlder: older(false), formOlderActions: older(true), formBatch: batchForm,
	}
}

// maxNamed limits how many actions fit into a message.
const maxNamed = 12

// named says which actions there are, where one is meant that there is not.
func named(e *bridge.Error) *bridge.Error {
	names, ok := e.Details["actions"].([]string)
	if !ok || !isUnknownAction(e) || len(names) == 0 {
		return e
	}
	told := *e
	told.Message += " Available: " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		told.Message += fmt.Sprintf(", and %d more", more)
	}
	told.Message += "."
	return &told
}

// same stands for the status of the current dialect.
const same = 0

// older is the last column of the contract's table of errors.
var older = map[bridge.Code]int{
	bridge.SchemaError:      same,
	bridge.ConfigError:      same,
	bridge.WebtoolNotFound:  same, // but an unknown action is 400
	bridge.VersionMismatch:  same,
	bridge.ApprovalRequired: same,
	bridge.ApprovalDenied:   same,
	bridge.InputRequired:    same,
	bridge.Conflict:         same,
	bridge.ResumeNotFound:   http.StatusBadRequest,
	bridge.SessionExpired:   same,
	bridge.ToolError:        http.StatusBadRequest,
	bridge.Unauthorized:     same,
	bridge.Forbidden:        same,
	bridge.MethodNotAllowed: same,
	bridge.RateLimit:        same,
	bridge.Cancelled:        same, // never written
	bridge.InternalError:    same,
}

func olderStatus(e *bridge.Error, action bool) int {
	if action {
		return http.StatusBadRequest
	}
	if status := older[e.Code]; status != same {
		return status
	}
	return transport.Status(e)
}
