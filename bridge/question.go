package bridge

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Kind is what a question is about.
type Kind string

// The kinds of questions.
const (
	// Approve: policy wants consent before the call starts.
	Approve Kind = "approve"
	// Confirm and Prompt: the page opened a dialog of JavaScript.
	Confirm Kind = "confirm"
	Prompt  Kind = "prompt"
	// Interact: the page wants a person to act in it (requestUserInteraction, or
	// a form that waits for its submit).
	Interact Kind = "interact"
)

// Question is a call that stopped and waits for a person. Title is ours; detail
// is the page's own text, and not to be trusted.
type Question struct {
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Schema says what the value of an answer looks like, where one has a value.
	Schema json.RawMessage `json:"schema,omitempty"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Origin string          `json:"origin"`
	// ExpiresAt is when the question counts as declined.
	ExpiresAt time.Time `json:"expiresAt"`

	always bool // the answer may be kept
}

// Answer is what a person said.
type Answer struct {
	OK bool `json:"ok"`
	// Value is the text of a prompt, or what an interaction resolves to.
	Value json.RawMessage `json:"value,omitempty"`
	// Always keeps the consent for further calls, where that is allowed.
	Always bool `json:"always,omitempty"`

	question, by string // which question it answered, and who did
}

// check refuses an answer that does not fit its question. The question stays
// open.
func (q *Question) check(a Answer) *Error {
	switch {
	case a.Always && (!a.OK || !q.always):
		return Errorf(SchemaError, "", NotRun, "This answer cannot be kept: \"always\" is for consent to tools whose level is ask-once.")
	case len(a.Value) == 0:
		return nil
	case !a.OK || q.Kind == Approve || q.Kind == Confirm:
		return Errorf(SchemaError, "", NotRun, "This answer takes no value.")
	case schema.CheckJSON(a.Value, maxInputDepth) != nil:
		return Errorf(SchemaError, "", NotRun, "The answer's value is not JSON.")
	case q.Kind == Prompt && a.Value[0] != '"':
		return Errorf(SchemaError, "", NotRun, "The answer's value must be a string.")
	}
	return nil
}

// Stopped is the error of Source.Invoke when the tool stopped for a person: its
// page waits.
type Stopped struct {
	// Question has what the page knows: kind, title, detail and schema.
	Question Question
	// Over is closed when the page ended the question itself, or is gone.
	Over <-chan struct{}
	// Continue gives the answer to the page and goes on as Invoke does. It is
	// called once; with nil when Over is closed, or when ctx has ended and the
	// tool shall be aborted.
	Continue func(ctx context.Context, a *Answer) (json.RawMessage, error)
}

// Error makes it travel.
func (*Stopped) Error() string { return "the tool waits for a person" }

// stop is a call that waits, on its way out of the pipeline.
type stop struct {
	question Question
	over     <-chan struct{}
	resume   func(ctx context.Context, a *Answer) (*Result, error)
}

// Error makes it travel.
func (*stop) Error() string { return "the call waits for a person" }

// stoppedError is what a caller is told who does not wait.
func stoppedError(q *Question, token string) *Error {
	var e *Error
	if q.Kind == Approve {
		e = Errorf(ApprovalRequired, "", NotRun, "%q needs a person's consent. The call goes on when it is resumed.", q.Tool)
	} else {
		e = Errorf(InputRequired, "", Unknown, "%q waits for a person. The call goes on when it is resumed.", q.Tool)
	}
	return e.Detail("question", q).Detail("resume", token)
}
