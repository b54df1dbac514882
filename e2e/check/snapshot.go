package check

import (
	"encoding/json"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Snapshot records what was seen of one site, as plain data: a live page and a file with a
// list of tools yield the same. The rules read it, and nothing else.
type Snapshot struct {
	// Target names the site: an address, a folder or a file.
	Target string
	// Pages are the pages that were opened, in order. A list from a file is one page without
	// an URL.
	Pages []Page
	// API is the document that the tools are of; nil is none.
	API *API
	// Adapters are the operator's scripts that its pages run, or that are judged alone.
	Adapters []Script
	// Locked are the tools of the lock file; nil means that there is none for this site.
	Locked map[string]Tool
	// Calls records the calls of tools; nil means that none was called.
	Calls []Call
	// Source says what a file was taken for, such as "a lock file"; "" for pages in a browser.
	Source string
	// Live is true when a browser showed the pages. Rules about what only a browser can see
	// skip a list from a file.
	Live bool
}

// Page is a page at the moment when its tools had settled.
type Page struct {
	URL string
	// Target names the page in a lock file: its address or its folder; "" elsewhere.
	Target string
	Tools  []Tool
	// Rejected are declarations that are not offered, with the reason in the bridge's words.
	Rejected []Rejected
	// Timeline lists the changes that the page made to its list, in order; empty for a
	// list from a file.
	Timeline []Event
	Frames   []Frame
	Forms    []Form
	// Findings tells of the page and its declarations as every command does, in the bridge's words.
	Findings []bridge.Finding
	// Left names the tools that the page offered, and took back.
	Left []string
	// Again lists the tools of a second load of the page; nil means that there was none.
	Again []Tool
}

// Tool is a declaration as the page gave it, before anything was taken out of it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	// Others are the members that no browser reads, as a JSON object in which a function is null.
	// An inputSchema that is a function is among them, or a list of the names under which it has
	// types of JavaScript, such as String.
	Others json.RawMessage `json:"others,omitempty"`
	// ExposedTo are the origins that the tool is offered to, as the page wrote them.
	ExposedTo []string `json:"exposedTo,omitempty"`
	// Origin is the origin of the document, and Frame names the frame; "" is the top.
	Origin string `json:"origin,omitempty"`
	Frame  string `json:"frame,omitempty"`
	// Adapter is the operator's script that adds it to the page; nil is none.
	Adapter *bridge.Adapter `json:"adapter,omitempty"`
	// Surface says how it was registered: "document", "navigator", "provideContext", "form",
	// "manifest"; "" is unknown.
	Surface string `json:"surface,omitempty"`
	// Script says where it was registered; nil where the browser does not know.
	Script *Position `json:"script,omitempty"`
}

// Script is an adapter: a script of the operator that adds tools to pages.
type Script struct {
	Name string `json:"name"`
	File string `json:"file"`
	// Source is its text.
	Source string `json:"source"`
	// Origins are regular expressions of the origins that it is for.
	Origins []string `json:"origins,omitempty"`
	// Problem says why it is no JavaScript, and Line where; "" is nothing.
	Problem string `json:"problem,omitempty"`
	Line    int    `json:"line,omitempty"`
	// Ignored are the keys of its header that mean nothing, by their lines.
	Ignored map[int]string `json:"ignored,omitempty"`
}

// Position is a place in a script or a file. Lines and columns count from 1; 0 is unknown.
type Position struct {
	URL    string `json:"url"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Rejected is a declaration that the browser or the bridge did not accept.
type Rejected struct {
	Tool
	Reason  string // the code of the bridge's finding
	Message string
	// Unhandled is true when the page never looked at the rejected registration.
	Unhandled bool
}

// Event is one change of a page's list of tools.
type Event struct {
	At time.Duration // since the navigation
	// Kind is "register", "unregister" or "replace".
	Kind string
	Tool string
}

// Frame is a frame of a page.
type Frame struct {
	URL string
	// Registers is true when its document registered a tool; Allowed when the frame may.
	Registers, Allowed bool
}

// Form is a form of a page: one that declares a tool, or one that could.
type Form struct {
	// Name and Description are its toolname and tooldescription; Declares is true when it has
	// one of them.
	Name, Description string
	Declares          bool
	AutoSubmit        bool
	Action            string
	Fields            []Field
	// Schema is the input schema of the form's tool; nil when it has none.
	Schema json.RawMessage
	// Mismatch says what the schema admits and the form's own validation refuses, or the
	// other way round; "" is nothing.
	Mismatch string
}

// Field is a field of a form.
type Field struct {
	Name, Type, Label, Description string
	// Autocomplete is the attribute of that name, such as "cc-number".
	Autocomplete string
}

// Call records one call of a tool.
type Call struct {
	Page, Tool string
	Arguments  json.RawMessage
	// Valid is whether the arguments fit the tool's input schema.
	Valid bool
	// Invented is true when they have values that the schema does not name, such as an id: the
	// tool may know none like that.
	Invented bool
	// Result is the result's JSON; nil when the call failed. Error is the message then, and
	// Code the contract's code.
	Result      json.RawMessage
	Error, Code string
	// Thrown is the name of what the tool threw, such as "TypeError"; "" is unknown.
	Thrown string
	// Reason is the contract's reason that refines the code, such as "RESULT_INVALID".
	Reason string
	Took   time.Duration
	// OutputViolation says how the result breaks the output schema; "" means that it does
	// not.
	OutputViolation string
	// CancelIgnored is true when the tool went on after its signal was aborted.
	CancelIgnored bool
	// Dialogs lists the texts of the JavaScript dialogs that it opened.
	Dialogs []string
	// Asked are the questions that it put by requestUserInteraction; WithoutAgent is true when
	// it asked although it was given no agent.
	Asked        []string
	WithoutAgent bool
	// Effects lists what the call touched; nil means that nobody looked.
	Effects *Effects
	// Second are the effects of the same call made again; nil means that it was not.
	Second *Effects
	// Other is the result of the same call made again; nil means that it was not.
	Other json.RawMessage
}

// Effects lists what a call touched.
type Effects struct {
	Requests  []Request
	Storage   []string // "cookie", "localStorage", "sessionStorage", "indexedDB", "cache": what was written
	Navigated []string
	Windows   []string
	Submitted []string
	Downloads []string
	// Blocked are the addresses that the operator's policy refused.
	Blocked []string
}

// None reports whether nothing was touched.
func (e *Effects) None() bool {
	return len(e.Requests)+len(e.Storage)+len(e.Navigated)+len(e.Submitted)+len(e.Windows)+len(e.Downloads) == 0
}

// Request is one that a call sent.
type Request struct {
	Method, URL string
	Body        string
}
