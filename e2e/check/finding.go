// Package check judges the tools that a web app declares: it holds what was seen of a site
// against rules, and returns what an author should know.
//
// The rules are pure functions over a [Snapshot], so that a list in a file and a live page are
// judged alike.
package check

import "slices"

// Severity says how much a finding matters.
type Severity string

// The severities, in order.
const (
	Off     Severity = "off"
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// AtLeast reports whether a severity is as bad as another one, or worse. Nothing is as bad as Off.
func (s Severity) AtLeast(least Severity) bool {
	order := []Severity{Error, Warning, Info}
	i := slices.Index(order, s)
	return i >= 0 && i <= slices.Index(order, least)
}

// Finding is something to tell the author of a declaration.
type Finding struct {
	// Rule is the id of the rule, such as "tool-name-valid".
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// Message is one or two sentences: what is wrong, with the value, then what to do.
	Message string `json:"message"`
	Where   Where  `json:"where"`
	// Fix is the corrected declaration as JSON text, where one is certain.
	Fix string `json:"fix,omitempty"`
}

// Where is the place of a finding. Empty members are unknown.
type Where struct {
	Target string `json:"target,omitempty"`
	Page   string `json:"page,omitempty"` // its URL
	Frame  string `json:"frame,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Pointer is a JSON pointer into the declaration, or into the document of an API; "" is all of
	// it.
	Pointer string    `json:"pointer,omitempty"`
	Script  *Position `json:"script,omitempty"`
}
