package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What a decoder accepts at most, whatever the page's half promises.
const (
	maxTools    = 256
	maxRefused  = 64
	maxProblems = 32
	maxHeader   = 256 << 10
	maxState    = 64 << 20
	maxParts    = 10_000
	maxSafe     = 1<<53 - 1 // the largest integer that JavaScript counts to
)

// A Kind says how a call ended.
type Kind string

// The ends of a call; the package comment has their meaning.
const (
	OK        Kind = "ok"
	Failed    Kind = "error"
	Aborted   Kind = "aborted"
	Gone      Kind = "gone"
	Invalid   Kind = "invalid"
	TooLarge  Kind = "too_large"
	Unhandled Kind = "unhandled"
	Submitted Kind = "submitted"
	Awaiting  Kind = "awaiting"
	Unsure    Kind = "unsure"
	Handled   Kind = "handled"
	// Unsubmitted: the form did not leave.
	Unsubmitted Kind = "unsubmitted"
	Asking      Kind = "asking" // it goes on: Wait
	// Partial: the result arrives in parts, and it goes on: Wait.
	Partial Kind = "parts"
)

// PastEpoch is the Name of a reply of kind Gone to an owner of an epoch before the newest; see As.
const PastEpoch = "epoch"

// A Reply says how one call ended.
type Reply struct {
	Kind     Kind
	Revision int64
	Ran      bool            // whether code of the page may have run
	Payload  json.RawMessage // the result, valid JSON; only with OK
	Name     string          // of the error that the page threw; may be empty
	Message  string
	State    *State // nil when the caller knew Revision already
	// Parts says how many parts of the result there are, when some came that no reply has told; 0
	// is none. Last is the last of them, valid JSON.
	Parts int
	Last  json.RawMessage
	// Saves says how often the scripts of the document clicked links that save something since the
	// call began, where SavesSource's script is, and Far how often links that save something of a
	// server.
	Saves, Far int64
}

// A State holds the tools of one document at one revision.
type State struct {
	Revision int64     `json:"rev"`
	Doc      Doc       `json:"doc"`
	Tools    []Tool    `json:"tools"`
	Refused  []Refusal `json:"refused"`
	Dropped  int64     `json:"dropped"` // how many tools were left out because there were too many
	Short    int64     `json:"short"`   // how many of the rest there was no room for
	Problems []Problem `json:"problems"`
	More     bool      `json:"more"` // there were more problems
}

// A Doc is the document that the tools belong to.
type Doc struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Origin string `json:"origin"` // "null" for an opaque one
	Lang   string `json:"lang"`
	Status int    `json:"status"` // of HTTP; 0 when it is not known
	Icon   string `json:"icon"`   // the address of a picture of it as the page has it; may be empty
}

// A Tool is one registration. Nothing in it is trusted; the schemas are valid JSON, or nil when
// there are none.
type Tool struct {
	ID           int64           `json:"id"`
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"-"`
	OutputSchema json.RawMessage `json:"-"`
	Annotations  Annotations     `json:"annotations"`
	Via          string          `json:"via"` // registerTool, provideContext, form or manifest
	// Adapter is the Index of the adapter that registered it; 0 is none.
	Adapter int `json:"adapter"`
}

// Annotations are the hints of a page; nil is a hint that the page did not set.
type Annotations struct {
	Title             string `json:"title,omitempty"`
	ReadOnlyHint      *bool  `json:"readOnlyHint,omitempty"`
	DestructiveHint   *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint    *bool  `json:"idempotentHint,omitempty"`
	OpenWorldHint     *bool  `json:"openWorldHint,omitempty"`
	UntrustedHint     *bool  `json:"untrustedContentHint,omitempty"`
	ConsequentialHint *bool  `json:"consequentialHint,omitempty"`
	Debugging         *bool  `json:"debugging,omitempty"`
	Autosubmit        *bool  `json:"autosubmit,omitempty"` // of a form: it submits itself
}

// A Refusal is a tool that the page's half did not send.
type Refusal struct {
	Name    string `json:"name"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// A Problem is something that went wrong in a document.
type Problem struct {
	Kind    string `json:"kind"` // error, rejection, console, registration or adapter
	Name    string `json:"name"` // of the tool; only of a registration
	Message string `json:"message"`
	At      string `json:"at"`      // URL and line of a script; may be empty
	Adapter int    `json:"adapter"` // the Index of the adapter that it is about; 0 is none
}

// UnmarshalJSON reads the schemas, which come as strings.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type plain Tool
	wire := struct {
		*plain
		InputSchema  *string `json:"inputSchema"`
		OutputSchema *string `json:"outputSchema"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	var err error
	if t.InputSchema, err = schema(wire.InputSchema); err != nil {
		return fmt.Errorf("the input schema of tool %d: %w", t.ID, err)
	}
	if t.OutputSchema, err = schema(wire.OutputSchema); err != nil {
		return fmt.Errorf("the output schema of tool %d: %w", t.ID, err)
	}
	return nil
}

var errNotJSON = errors.New("not JSON")

func schema(text *string) (json.RawMessage, error) {
	if text == nil {
		return nil, nil
	}
	raw := json.RawMessage(*text)
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	return raw, nil
}

// DecodeState reads a state text. Unknown members are ignored. The "" that ends a superseded Watch
// is an error here.
func DecodeState(text string) (*State, error) {
	if len(text) > maxState {
		return nil, fmt.Errorf("the state text: %d bytes, more than %d", len(text), maxState)
	}
	if !strings.HasPrefix(text, "{") {
		return nil, errors.New("the state text: not an object")
	}
	var s State
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("the state text: %w", err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("the state text: %w", err)
	}
	return &s, nil
}

func (s *State) check() error {
	if !isCount(s.Revision) || !isCount(s.Dropped) || !isCount(s.Short) {
		return errors.New("a number is out of range")
	}
	if len(s.Tools) > maxTools || len(s.Refused) > maxRefused {
		return fmt.Errorf("%d tools and %d refused ones, more than %d and %d", len(s.Tools),
			len(s.Refused), maxTools, maxRefused)
	}
	if len(s.Problems) > maxProblems {
		return fmt.Errorf("%d problems, more than %d", len(s.Problems), maxProblems)
	}
	ids := make(map[int64]bool, len(s.Tools))
	for _, t := range s.Tools {
		if t.ID < 1 || t.ID > maxSafe || ids[t.ID] {
			return fmt.Errorf("the tool id %d is out of range or given twice", t.ID)
		}
		ids[t.ID] = true
		switch t.Via {
		case "registerTool", "provideContext", "form", "manifest":
		default:
			return fmt.Errorf("tool %d came by an unknown way", t.ID)
		}
	}
	return nil
}

// DecodeReply reads a reply text.
func DecodeReply(text string) (*Reply, error) {
	line, rest, found := strings.Cut(text, "\n")
	if !found || len(line) > maxHeader {
		return nil, errors.New("the reply's header: no line")
	}
	var h struct {
		Kind    Kind            `json:"k"`
		Rev     int64           `json:"rev"`
		Ran     bool            `json:"ran"`
		Len     int64           `json:"len"`
		State   int64           `json:"state"`
		Name    string          `json:"name"`
		Message string          `json:"message"`
		Parts   int64           `json:"parts"`
		Last    json.RawMessage `json:"last"`
		Saves   int64           `json:"saves"`
		Far     int64           `json:"far"`
	}
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		return nil, fmt.Errorf("the reply's header: %w", err)
	}
	if !isCount(h.Rev) || !isCount(h.Saves) || !isCount(h.Far) || !isCount(h.Len) || !isCount(h.State) ||
		h.Len+h.State != int64(len(rest)) {
		return nil, fmt.Errorf("the reply's header: %d and %d bytes announced, %d there", h.Len,
			h.State, len(rest))
	}
	if h.Parts < 0 || h.Parts > maxParts || (h.Parts > 0) != (h.Last != nil) {
		return nil, errors.New("the reply's header: the parts are out of range")
	}
	r := &Reply{Kind: h.Kind, Revision: h.Rev, Ran: h.Ran, Name: h.Name, Message: h.Message, Parts: int(h.Parts), Last: h.Last, Saves: h.Saves, Far: h.Far}
	if err := r.payload(rest[:h.Len]); err != nil {
		return nil, err
	}
	if h.State == 0 {
		return r, nil
	}
	state, err := DecodeState(rest[h.Len:])
	if err != nil {
		return nil, err
	}
	if state.Revision != h.Rev {
		return nil, fmt.Errorf("the reply is of revision %d, its state of %d", h.Rev,
			state.Revision)
	}
	r.State = state
	return r, nil
}

// payload checks and takes the payload: one copy.
func (r *Reply) payload(text string) error {
	switch r.Kind {
	case OK:
		raw := json.RawMessage(text)
		if !utf8.Valid(raw) || !jsontext.Value(raw).IsValid(anyNames, anyText) {
			return fmt.Errorf("the reply's payload: %w", errNotJSON)
		}
		r.Payload = raw
	case Failed, Aborted, Gone, Invalid, TooLarge, Unhandled, Submitted, Awaiting, Unsure, Handled, Unsubmitted, Asking, Partial:
		if text != "" {
			return fmt.Errorf("the reply's payload: %d bytes with kind %s", len(text), r.Kind)
		}
	default:
		return errors.New("the reply's header: an unknown kind")
	}
	return nil
}

// What JSON.stringify writes: also a name twice, and half of a surrogate pair.
var anyNames, anyText = jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)

func isCount(n int64) bool { return n >= 0 && n <= maxSafe }
