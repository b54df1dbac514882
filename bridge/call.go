package bridge

import (
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
	// Input is the JSON text of the arguments: an object.
	Input json.RawMessage
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
	// Beside lets the call run beside others of its session that have it, where all
	// of them are of tools that their page claims to only read. The claim counts for
	// that page only, and for nothing else.
	Beside bool
	// Asker reaches a person during the call; nil means that nobody can be
	// asked.
	Asker Asker
	// ID correlates log lines, and Trace is the trace that the call belongs to
	// (W3C Trace Context). Both may be empty.
	ID, Trace string
}

// Result is what a call that succeeded gives.
type Result struct {
	// Data is JSON text, shaped by config.output.
	Data json.RawMessage
	// Tool is what ran.
	Tool *Tool
}

// call is a Call on its way through the pipeline, with what the stages found.
type call struct {
	Call
	site     *siteState
	tool     *Tool
	pinned   *schema.Schema // of a pinned version that differs from the tool's; nil: none
	settings settings
	input    json.RawMessage // after parameter defaults
	decision policy.Decision
	unseen   bool     // nobody has seen the tool since consent was given on its site
	counted  bool     // against the rates
	consent  *consent // what a person said, when somebody was asked
	approval string   // the grant or the question that it runs under, and
	approver string   // the person
	ticket   int64    // of its intent in the audit; 0: none
	claim    string   // on its key; "" without one
	lease    Lease    // the page that runs it
	outcome  Outcome  // what is known if a stage panics
	started  time.Time
}
