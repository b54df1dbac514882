package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// Call is one request to run a tool.
type Call struct {
	// Site and Tool name what to run. Required.
	Site, Tool string
	// Session is the caller's name for its state; empty means none.
	Session string
	Caller  Caller
	// Input is the arguments: an object. See ReadValue.
	Input Value
	// Config is the per-request configuration, a JSON object, or nil.
	Config json.RawMessage
	// Version pins what may run: a version of the webtool that Single selects.
	// Empty and "latest" mean what is current.
	Version string
	// Single is true when the call came to the tool's own webtool: Version is
	// then one of its own history.
	Single bool
	// Key is the caller's own name for this call: a call with the same key is the
	// same call, and does not run again. Empty means none.
	Key string
	// Again makes an equal call of the same caller, while this one waits for a person
	// or before its outcome was fetched, return this one instead of running.
	Again bool
	// Beside lets the call run at the same time as others of its session that have it,
	// where the page claims of all their tools that they only read. That claim decides
	// about the page's own calls, and about nothing else.
	Beside bool
	// ByHand says what the caller had on the screen, who is a person and makes the call by hand;
	// nil for everybody else. Only a transport that knows this of its caller sets it.
	ByHand *ByHand
	// Asker reaches a person during the call; nil means that nobody can be
	// asked.
	Asker Asker
	// Detached gives the call the life of the bridge: Start returns at once, and it has its token
	// from the beginning, so that it can go on without whoever waits for it; see [Bridge.Detach]
	// and [LongCall.Keep].
	Detached bool
	// Steps, where there are some, run in the place of a tool; see [Steps].
	Steps Steps
	// Until ends the session of the call, once it is closed and no call holds the session's page.
	// The call that opens the session decides; nil is never.
	Until <-chan struct{}
	// Form names the form of replies, for whoever writes the outcome in another request. The
	// transport of the call chooses it; empty is any.
	Form string
	// TellsChanges says that the transport tells its caller when a person changed the arguments; where
	// it does not, nobody can change them.
	TellsChanges bool
	// ID names the call in the log, in the record of calls, in the audit and in its errors.
	// Empty means a random one.
	ID string
	// TraceParent says where the call belongs in a trace (W3C Trace Context, 3.2): a traceparent
	// of version 00, or empty.
	TraceParent string
	// Record asks the Recorder for a recording of the page while the call is in it.
	Record bool
	// Started gets the Run of a new call at its first moment, long before Start returns it; nil
	// means that nobody looks at it meanwhile.
	Started func(*Run)

	ticket func(context.Context) *Error // of WithTicket; nil: nobody passed the request on
	moved  func()                       // of WithMoved; nil: nobody passes it on
}

// ByHand says what a person saw when they made a call: that is their consent to it, in the place of
// a question. It holds for nothing else, gives no grant, and lifts no refusal of the operator's.
type ByHand struct {
	// Definition is the digest of the tool's definition, and Arguments the hex SHA-256 of the text of
	// the arguments.
	Definition, Arguments string
	// Level repeats what the call would do, as they saw it.
	Level policy.Level
}

// Digest tells calls of one caller apart: by site, tool, session, version, config
// and arguments, as a hex SHA-256. How their JSON is written makes no difference.
func (c *Call) Digest() string {
	sum := sha256.New()
	for _, part := range []string{
		c.Site, c.Tool, c.Session, c.Version, string(canonicalOrRaw(c.Config)), string(c.Input.Canonical()),
	} {
		size := sha256.Sum256([]byte(part)) // of one length, so that parts cannot run into each other
		sum.Write(size[:])
	}
	if c.Single {
		sum.Write([]byte{1})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Value is a JSON value that was read once, at the edge, with its text.
type Value = schema.Value

// ReadValue reads exactly one JSON value by the strict rules that hold for arguments:
// UTF-8 without half surrogates, no member name twice, nothing behind the value, at
// most maxInputDepth+1 levels (arguments and what they are wrapped in), no absurd
// numbers. what names the value in the message. The error is an *Error.
func ReadValue(what string, b json.RawMessage) (Value, error) {
	v, err := schema.Read(b, maxInputDepth+1)
	if err != nil {
		return v, Errorf(SchemaError, "", NotRun, "%s must be JSON: %s", what, syntaxText(err)).With(err)
	}
	return v, nil
}

// matches refuses a request to resume that is not the call's own. A token is no
// license to run something else.
func (r *Run) matches(in *Call) *Error {
	mine := &r.pass.call
	r.mu.Lock()
	name, arguments := r.named, r.arguments
	if arguments == "" {
		arguments = digestOf(mine.Input.Canonical())
	}
	r.mu.Unlock()
	if in.Session == mine.Session && in.Single == mine.Single &&
		(in.Tool == mine.Tool || in.Tool == name) && digestOf(in.Input.Canonical()) == arguments {
		return nil
	}
	return Errorf(SchemaError, "", NotRun,
		"This token belongs to a call with a different action, sessionId or request.")
}

// IsRevoked reports whether the credential that the caller came with was revoked.
func (c Caller) IsRevoked() bool {
	select {
	case <-c.Revoked: // a nil one is never closed
		return true
	default:
		return false
	}
}

// Until returns a context that ends when the caller's credential expires, for what streams to it.
func (c Caller) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Expires.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, c.Expires)
}

// Revoked is the error for a caller whose credential was revoked.
func Revoked() *Error {
	return Errorf(Forbidden, "", NotRun, "This credential was revoked.")
}

// Observed reports one event of a call to Options.Observe: an answer to its question, or its end.
type Observed struct {
	// Call is as its caller made it, Tool what it ran; nil when it got to none. Began says when.
	Call  *Call
	Tool  *Tool
	Began time.Time
	// Question is one that was closed, by Answer, which is nil when it ended without one. At the
	// end of the call Question is nil, and End has the result or the error.
	Question *Question
	Answer   *Answer
	End      Step
}

// Shown returns the arguments as whoever is asked about them reads them: without those that the schema
// marks as secret, and with the size and the digest of files. It is false where the tool is not known.
func (o *Observed) Shown() (Value, bool) {
	if o.Tool == nil || !o.Call.Input.Exists() {
		return Value{}, false
	}
	return o.Tool.shown(o.Call.Input), true
}

// observe reports how a question of the run, or the run itself, ended.
func (r *Run) observe(o Observed) {
	if r.pass.bridge.pipe.observer == nil || r.pass.call.Steps != nil {
		return
	}
	call := r.pass.call
	o.Call, o.Tool, o.Began = &call, r.pass.tool, r.pass.started
	r.pass.bridge.pipe.observer(o)
}
