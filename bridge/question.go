package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Kind names the subject of a question.
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
	ID     string `json:"id,omitempty"` // empty where models read it
	Kind   Kind   `json:"kind"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Schema says what the value of an answer looks like, where one has a value.
	Schema json.RawMessage `json:"schema,omitempty"`
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	// Secrets are the JSON pointers of those arguments that nobody reads: the tool marks them as
	// secret, and Input has "***" in their place.
	Secrets []string `json:"secrets,omitempty"`
	Origin  string   `json:"origin"`
	// Hints are the names of what the page claims of its tool, Frame that of the frame
	// that offers it, Session the caller's name for its state.
	Hints   []string `json:"hints,omitempty"`
	Frame   string   `json:"frame,omitempty"`
	Session string   `json:"session,omitempty"`
	// Operation describes the call's request to an API; nil for a tool of a page.
	Operation *Operation `json:"operation,omitempty"`
	// Adapter is the operator's script that adds the tool to the page; nil is none.
	Adapter *Adapter `json:"adapter,omitempty"`
	// Page is the page that a call would run in, for consent; nil where a new one is
	// opened as the site has it.
	Page *ConfiguredPage `json:"page,omitempty"`
	// Form is true where a form waits for its submit: a yes submits it, unless somebody did in the
	// page.
	Form bool `json:"form,omitempty"`
	// Among says how many calls it may be of, when that is not certain: the page opened a
	// dialog while several were at work in it. Each of them then asks, and an answer to
	// one is an answer to all. Foreign is true when they are not all of one caller: then
	// only operators are shown what it says, and only they can answer.
	Among   int  `json:"among,omitempty"`
	Foreign bool `json:"-"`
	// ExpiresAt says when the question counts as declined.
	ExpiresAt time.Time `json:"expiresAt"`

	always bool            // the answer may be kept
	auto   policy.Decision // what the operator's mode auto would decide of consent
	why    []Wanted        // who wants consent
}

// conceal masks secrets in what the page says, and where it is: it may repeat them.
func (q *Question) conceal(secrets *schema.Concealer) {
	q.Detail = secrets.In(q.Detail)
	if p := q.Page; p != nil {
		q.Page = &ConfiguredPage{URL: secrets.In(p.URL), Title: secrets.In(p.Title), Config: p.Config}
	}
	if !secrets.Shows(string(q.Schema)) {
		return
	}
	// A default that is masked would be sent back as an answer.
	if described, err := ReadValue("the schema", q.Schema); err == nil {
		if described, err = described.Edit(func(name string) bool { return name == "default" }); err == nil {
			q.Schema = described.Text()
		}
	}
	if secrets.Shows(string(q.Schema)) {
		q.Schema = nil
	}
}

// AskedByMode reports whether consent is needed only because the operator's mode is not auto:
// neither a rule, nor what the page claims, nor the request wants it.
func (q *Question) AskedByMode() bool { return q.Kind == Approve && q.auto.Level == policy.Auto }

// MayAlways reports whether the answer may be kept for further calls.
func (q *Question) MayAlways() bool { return q.always }

// OnceByMode reports whether the answer could be kept, were the operator's mode not stricter than
// what the site published.
func (q *Question) OnceByMode() bool {
	return q.Kind == Approve && q.Operation != nil && !q.always && q.auto.Level == policy.Once
}

// Fact is something that a person should know before answering.
type Fact struct{ Name, Text string }

// claims puts hints in words.
var claims = map[string]string{
	"destructiveHint":      "destructive",
	"consequentialHint":    "consequential",
	"untrustedContentHint": "returning the words of strangers",
	"readOnlyHint":         "read-only",
}

// Facts returns what to know of the call besides title, detail and arguments, the gravest first.
// Names are ours; a text, always one line, holds words of the page or of the caller.
func (q *Question) Facts() []Fact {
	var facts []Fact
	add := func(name, words string) {
		if words = text.Line(words); words != "" {
			facts = append(facts, Fact{name, words})
		}
	}
	for _, hint := range q.Hints {
		add("The "+q.Speaker()+" marks this tool as", claims[hint])
	}
	q.Operation.facts(add)
	if q.Adapter != nil {
		add("Adapter", "A tool that your adapter "+q.Adapter.String()+" adds to "+hostOf(q.Origin))
	}
	add("Origin", q.Origin)
	add("Frame", q.Frame)
	add("Session", q.Session)
	if p := q.Page; p != nil {
		add("Page", strings.TrimSpace(p.URL+" "+p.Title))
		add("Opened with", string(p.Config))
	}
	return facts
}

// hostOf returns the host of an origin, with its port.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}

// Speaker returns the author of the detail and the claims: "page" or "API".
func (q *Question) Speaker() string {
	if q.Operation != nil {
		return "API"
	}
	return "page"
}

// forCaller is the question as the caller of its call gets it.
func (q *Question) forCaller() *Question {
	if !q.Foreign {
		return q
	}
	own := *q
	own.Title = "The page asks something while calls of several callers are at work in it. Only an operator can answer."
	own.Detail, own.Schema = "", nil
	return &own
}

// Answer holds a person's answer.
type Answer struct {
	OK bool `json:"ok"`
	// Value is the text of a prompt, or what an interaction resolves to.
	Value json.RawMessage `json:"value,omitempty"`
	// Always keeps the consent for further calls, where that is allowed.
	Always bool `json:"always,omitempty"`

	question, by string // which question it answered, and who did
	input        Value  // see Amendment
	reason       string
}

// check refuses an answer that does not fit its question. The question stays
// open.
func (q *Question) check(a Answer) *Error {
	switch {
	case a.Always && (!a.OK || !q.always):
		return Errorf(SchemaError, "", NotRun,
			"This answer cannot be kept: \"always\" is for consent to tools whose level is ask-once.")
	case len(a.Value) == 0:
		return q.checkAdded(a)
	case !a.OK || q.Kind == Approve || q.Kind == Confirm:
		return Errorf(SchemaError, "", NotRun, "This answer takes no value.")
	case schema.CheckJSON(a.Value, maxInputDepth) != nil:
		return Errorf(SchemaError, "", NotRun, "The answer's value is not JSON.")
	case q.Kind == Prompt && a.Value[0] != '"':
		return Errorf(SchemaError, "", NotRun, "The answer's value must be a string.")
	}
	return q.checkAdded(a)
}

// Pause is a call that waits for a person: for consent, or in its page.
type Pause struct {
	Question Question
	// Over is closed when the page ended the question itself, or is gone. Nil means
	// that only an answer ends the question.
	Over <-chan struct{}
	// Continue takes the answer and goes on until the next step. It is called at
	// most once: with nil when Over is closed, or when ctx has ended and the call
	// must be aborted.
	Continue func(ctx context.Context, a *Answer) Step

	amendable *amendable // nil: the arguments stay as they are
	taken     atomic.Bool
}

// Take closes the question, and reports whether it was open. Of several answers, one
// closes it; its giver then calls Continue.
func (p *Pause) Take() bool { return p.taken.CompareAndSwap(false, true) }

// Open reports whether the question waits for an answer.
func (p *Pause) Open() bool { return !p.taken.Load() }
